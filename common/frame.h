/* frame - the only words supervisor and worker exchange.
 *
 * A frame is one fixed-size struct on a SOCK_SEQPACKET pair, with zero or two file descriptors. Bytes of the caller
 * never travel in it: they sit in sealed memfds (see blob.h). A frame which breaks any rule is a broken peer, not a
 * bad request: there is no recovery, the caller closes the link.
 *
 * Both ends are built from one source on one machine: native byte order, and a READY frame whose build id differs is
 * refused. There is no reassembly and no length to trust: a packet of any other size than the struct is refused.
 */
#ifndef COMMON_FRAME_H
#define COMMON_FRAME_H

#include <stddef.h>
#include <stdint.h>

#define FRAME_VERSION 1
#define FRAME_SIZE 128
#define FRAME_FDS 2
#define FRAME_BLOCKED 8
/* The largest number of a system call that is told; Linux has no half as many. */
#define FRAME_MAX_CALL 1023

enum frame_type { FRAME_READY = 1, FRAME_RUN, FRAME_CANCEL, FRAME_DONE, FRAME_FAIL, FRAME_WARM };

/* Which way a frame travels: a RUN that comes from the worker is refused. */
enum frame_way { FRAME_TO_WORKER, FRAME_TO_SUPERVISOR };

/* Flags of DONE. */
enum frame_flag {
	FRAME_TIMED_OUT = 1 << 0,     /* the deadline killed it */
	FRAME_STDOUT_CUT = 1 << 1,    /* stdout lost bytes at its end, to the cap */
	FRAME_CANCELLED = 1 << 2,     /* a CANCEL killed it */
	FRAME_MEMORY_KILLED = 1 << 3, /* the memory watch killed it, or the kernel for memory */
	FRAME_CPU_USED_UP = 1 << 4,   /* the main program had used up its hard limit of CPU time */
	FRAME_DISK_FULL = 1 << 5,     /* the workspace was full when the main program ended */
	FRAME_STDERR_CUT = 1 << 6,    /* and stderr */
	FRAME_TRUNCATED = FRAME_STDOUT_CUT | FRAME_STDERR_CUT,
	FRAME_NOTING = 1 << 7, /* refused system calls were noted, the first ones in blocked */
	FRAME_FORKED = 1 << 8, /* it began as a copy of a pristine interpreter, and not by exec */
	FRAME_PRELOADED =
		1 << 9, /* of one that had loaded a module for it; only with FRAME_FORKED */
	FRAME_FORK_REFUSED = 1 << 10, /* its cgroup refused it a process or thread */
	FRAME_FLAGS = (1 << 11) - 1
};

/* The sandbox can be built and the worker waits for a RUN. id is 0. */
struct frame_ready {
	uint64_t build_id;
	uint32_t layers;	 /* bits of layers.h, as a trial sandbox had them */
	uint32_t python_version; /* PY_VERSION_HEX >> 8, for example 0x030b02 */
	uint32_t by_cgroup;	 /* bits of mechanism.h */
};

/* Run the program in fds[0] with fds[1] as its stdin; both sealed memfds. id is the run's number, never 0. */
struct frame_run {
	uint64_t output_max_bytes;
	uint32_t deadline_ms; /* wall clock of the program, at least 1 */
	uint32_t uses;	      /* bits of warm.h: what the program seems to import; a guess */
};

/* The run ended; fds[0] is its stdout, fds[1] its stderr, both sealed memfds. No process of it is alive. */
struct frame_done {
	uint64_t wall_us;
	uint64_t cpu_us; /* user and system time of all processes that were waited for */
	uint64_t
		peak_rss_bytes; /* as its cgroup counted; else the largest sum seen by the watch, or the largest single process */
	int32_t exit_code;  /* 0..255, -1 when a signal ended it */
	uint32_t signal;    /* 0, or the number of the signal that ended the main program */
	uint32_t flags;	    /* enum frame_flag */
	uint32_t layers;    /* bits of layers.h that were active for this very run */
	uint32_t by_cgroup; /* bits of mechanism.h: the limits that its cgroup held */
	uint16_t blocked
		[FRAME_BLOCKED]; /* numbers + 1 of the first refused system calls, each once; 0 ends the list */
};

/* The run could not be made (id: its number), or no sandbox can be built at all (id 0, instead of READY). */
struct frame_fail {
	uint32_t stage; /* enum stage */
	int32_t error; /* a positive errno, or an enum interpreter_reason for STAGE_INTERPRETER; 0 when there is none */
};

/* What is warm has changed: what waits for the next program. id is 0. */
struct frame_warm {
	uint32_t
		bare; /* 1: a pristine interpreter waits; 0: none does, programs are started by exec */
	uint32_t
		modules; /* bits of warm.h: what another one that waits has loaded; 0 when there is none */
	uint32_t unfit;	  /* bits of warm.h: what this worker will not load ahead any more */
	uint32_t started; /* pristine interpreters that this worker has started */
	uint32_t failed;  /* those that did not get ready, or ended by themselves */
};

struct frame {
	uint32_t version;
	uint16_t type;
	uint16_t nfds;
	uint64_t id;
	union {
		struct frame_ready ready;
		struct frame_run run;
		struct frame_done done;
		struct frame_fail fail;
		struct frame_warm warm;
		uint8_t bytes[FRAME_SIZE - 16];
	};
};

_Static_assert(sizeof(struct frame) == FRAME_SIZE, "a frame has one size");

/* Fills in the head of a frame of this type and id, with the number of descriptors its type has; the body is zero. */
void frame_init(struct frame *frame, enum frame_type type, uint64_t id);

/* Says whether a frame which came this way with nfds descriptors keeps every rule: version, type, direction, number of
 * descriptors, id zero or not as its type wants, bounds of each body field, every unused byte zero. Pure.
 * Returns 0, or -EPROTO. */
int frame_check(const struct frame *frame, size_t nfds, enum frame_way way);

/* Sends one frame with its descriptors (frame->nfds of them; fds may be NULL when that is 0).
 * Consumes fds: they are closed on success and on failure alike, and set to -1. Never blocks, never raises SIGPIPE.
 * Returns 0, -EPIPE when the peer is gone, -EAGAIN when the socket is full, or another negative errno. */
int frame_send(int sock, const struct frame *frame, int fds[FRAME_FDS]);

/* Receives one frame that travels this way. On success fds[] holds its descriptors, owned by the caller, close-on-exec,
 * and -1 in the unused places. On any failure no descriptor stays open.
 * Returns 1 for a frame, 0 at the end of the stream, -EAGAIN when a non-blocking socket has none,
 * -EPROTO for anything that breaks a rule, -ECONNRESET once when the peer has gone without having received the last
 * frame that was sent to it (call again for what it had sent itself), or another negative errno. */
int frame_recv(int sock, struct frame *frame, int fds[FRAME_FDS], enum frame_way way);

#endif
