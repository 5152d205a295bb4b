/* report - what worker and the processes of a sandbox tell each other, over socket pairs of the sandbox's own.
 *
 * From inside: who pid 1 is, that the sandbox is ready, which step failed, how the main program ended. From the worker:
 * orders. The end of the stream tells each side that the other is dead: the socket is init's lifeline, for PDEATHSIG is
 * lost where a parent exits on purpose.
 * A run never holds a socket: init's is close-on-exec, and init is not dumpable; a copy of a pristine interpreter closes
 * its own when it has the program. Nor does a run ever hold the listener of its filter (notify.h), which comes with
 * REPORT_READY: who sent it has closed his own before he takes a program.
 */
#ifndef WORKER_REPORT_H
#define WORKER_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/stage.h"
#include "policy/namespaces.h"

enum report_kind {
	REPORT_SPAWNED =
		1,    /* from pid 1 itself, with all its namespaces when a copy is to enter them */
	REPORT_READY, /* layers, maybe a listener: every wall stands, the sender waits for orders */
	REPORT_FAILED, /* stage, error: a step failed, nothing was run */
	REPORT_ENDED, /* status, …: the main program ended; init exits, and everything else is killed */
	REPORT_TAKEN,  /* the program is there, and will be run */
	REPORT_SERVING /* a pristine interpreter waits for sandboxes to enter; loaded */
};

struct report {
	uint32_t kind;
	uint32_t stage; /* enum stage */
	int32_t error;	/* positive errno */
	uint32_t layers;
	int32_t pid;	    /* REPORT_READY of a copy: its own, as init knows it */
	int32_t status;	    /* of wait(2) */
	uint32_t disk_full; /* the workspace had no byte or no inode left */
	uint32_t loaded;    /* REPORT_SERVING: a bit for each of the modules that it was to load */
	uint64_t main_cpu_us; /* of the main program and what it waited for */
};

/* What a report brings beside itself. */
struct report_beside {
	pid_t sender;	     /* as the receiver sees it, when it asked for senders */
	int fds[NAMESPACES]; /* SPAWNED: the namespaces; READY: a listener; -1 where there is none */
};

/* What a copy does when nothing of its program is left to run: this refused call, of which the filter's listener is told,
 * with this word, its exit status, and whether the workspace was full. A program that does it itself ends itself, as by
 * exit. To the kernel it would be a wrong magic number. reboot(2), seccomp_unotify(2). */
#define DONE_CALL SYS_reboot
#define DONE_WORD 0x65786563

enum order_kind {
	ORDER_START = 1, /* the program and three pipe ends, as give_fd says: run it */
	ORDER_ADOPT	 /* pid: a copy came in, and is the main program */
};

struct order {
	uint32_t kind;
	int32_t pid;
};

/* What starts a run; and a pristine interpreter, which has two more. */
enum give_fd {
	GIVE_PROGRAM,
	GIVE_STDIN,
	GIVE_STDOUT,
	GIVE_STDERR,
	GIVE_FDS,
	GIVE_CONTROL = GIVE_FDS,
	GIVE_PLAN,
	GIVE_ALL_FDS
};

/* Makes a socket pair for reports. pair[0] is the worker's: it does not block, and the kernel names the senders there.
 * Returns 0, or a negative errno and there is none. */
int report_pair(int pair[2]);

/* Sends a report from inside. Returns 0 or a negative errno. */
int report_send(int sock, const struct report *report);

/* Sends that a step failed with this positive errno. Returns 0 or a negative errno. */
int report_failed(int sock, enum stage stage, int error);

/* The same, and exits: for the processes inside. */
_Noreturn void report_failure(int sock, enum stage stage, int error);

/* The same when r is negative, an errno; for a list of steps. */
void report_step(int sock, enum stage stage, int r);

/* Sends REPORT_SPAWNED, with the namespaces that namespaces_open gave when namespaces is not NULL; they are closed.
 * Returns 0 or a negative errno. */
int report_spawned(int sock, int namespaces[NAMESPACES]);

/* Sends REPORT_READY, with the listener of the seccomp filter when that is not -1 and can be sent. Closes it in every
 * case. pid is 0 but for a copy. Returns 0 or a negative errno. */
int report_ready(int sock, uint32_t layers, pid_t pid, int listener);

/* Sends REPORT_TAKEN. Returns 0 or a negative errno. */
int report_taken(int sock);

/* Receives one. The descriptors become the caller's: as many as its kind has, or it is refused.
 * Returns 1, 0 at the end of the stream, -EAGAIN, or another negative errno. */
int report_recv(int sock, struct report *report, struct report_beside *beside);

/* Orders to start what fds are (GIVE_FDS or GIVE_ALL_FDS of them); they stay the caller's. Returns 0 or a negative errno. */
int report_give(int sock, const int *fds, size_t nfds);

/* Orders init to take pid, as it knows it, for the main program. Returns 0 or a negative errno. */
int report_adopt(int sock, pid_t pid);

/* Takes an order, inside. What ORDER_START brings becomes the caller's, -1 where there is none.
 * Returns 1, 0 at the end of the stream, or a negative errno. */
int report_take(int sock, struct order *order, int fds[GIVE_ALL_FDS]);

#endif
