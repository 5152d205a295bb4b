/* sandbox - one sandbox, from the worker's side: spawn it, give it a program, kill it, reap it.
 *
 *   BUILDING ──ready──▶ READY ──give──▶ RUNNING ──ended, kill──▶ ENDING ──reaped──▶ REAPED
 *      │                  │                                        ▲
 *      └──failed, kill────┴────────────────────────────────────────┘
 *
 * REAPED means that init was waited for (one that was never heard of exits by itself, and has run nothing), and so that
 * no process of the sandbox is alive: the kernel lets pid 1 go only when its namespace is empty (pid_namespaces(7)).
 *
 * Who becomes the program: a child of init, by exec; or a copy of a pristine interpreter, which enters when init has
 * built everything, over a second socket, the gate. Such a sandbox is READY when the copy is, too.
 */
#ifndef WORKER_SANDBOX_H
#define WORKER_SANDBOX_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#include "worker/group.h"
#include "worker/inside.h"
#include "worker/notify.h"
#include "worker/report.h"

enum sandbox_state {
	SANDBOX_REAPED,
	SANDBOX_BUILDING,
	SANDBOX_READY,
	SANDBOX_RUNNING,
	SANDBOX_ENDING
};

struct sandbox {
	enum sandbox_state state;
	bool by_copy;		    /* a copy of a pristine interpreter is to come in */
	int sock;		    /* our end; -1 once it is closed */
	int gate;		    /* our end of the copy's socket, or -1 */
	int namespaces[NAMESPACES]; /* for who is to enter, or -1 */
	pid_t builder;		    /* 0 once it was waited for */
	pid_t init;		    /* 0 until it is known */
	uint32_t layers;	    /* of init; 0 until it is ready */
	uint32_t copy_layers;	    /* of the copy; 0 until it is ready */
	uint32_t failed_stage;	    /* STAGE_NONE, or what failed first */
	int failed_error;
	bool taken; /* init has the program, and will run it */
	bool ended; /* report holds how the main program ended */
	bool done;  /* a copy that has said so: nothing of its program is left to run */
	pid_t copy; /* by_copy: 0 until it is ready */
	struct rusage
		usage; /* when it is REAPED: of init and everything that was in it; done: of the copy */
	struct report report;
	struct group group;   /* its cgroup, until it is cleared */
	struct notify notify; /* what its filter refused */
};

/* Makes it blank: REAPED, and without a descriptor. */
void sandbox_init(struct sandbox *sandbox);

/* Starts building one for this purpose; sandbox must be as after sandbox_init.
 * Returns 0; or a negative errno, and failed_stage says what failed. */
int sandbox_spawn(struct sandbox *sandbox, const struct inside *inside,
		  const struct purpose *purpose);

/* How many descriptors of a sandbox are to be polled. */
#define SANDBOX_POLLS 3

/* Fills in what to poll for; a negative descriptor where there is nothing. */
void sandbox_poll(const struct sandbox *sandbox, struct pollfd polls[SANDBOX_POLLS]);

/* Reads what its sockets and its filter's listener hold, as poll found it. */
void sandbox_read(struct sandbox *sandbox, const struct pollfd polls[SANDBOX_POLLS]);

/* Says whether init has built a sandbox that a copy is to enter, and none was sent for yet. */
bool sandbox_wants_copy(const struct sandbox *sandbox);

/* Makes the gate, for a copy that is sent for now. *gate is the copy's end, the caller's, beside which the copy needs the
 * namespaces. Returns 0 or a negative errno. */
int sandbox_open_gate(struct sandbox *sandbox, int *gate);

/* Gives a READY sandbox its program and the run's ends of three pipes, or what more a pristine interpreter gets; the
 * descriptors stay the caller's. Returns 0 or a negative errno. */
int sandbox_give(struct sandbox *sandbox, const int *fds, size_t nfds);

/* Says whether a program that was given has begun, for all that is known: 0; -EAGAIN when a copy may yet begin it, or
 * -ECONNRESET when the copy died before that, or could not. */
int sandbox_taken(const struct sandbox *sandbox);

/* Says of a REAPED one whether it stood, and ended without a word: that says nothing of the next one. */
bool sandbox_was_killed(const struct sandbox *sandbox);

/* The walls of whoever is the program. */
uint32_t sandbox_layers(const struct sandbox *sandbox);

/* Kills everything in it. Its end is told by sandbox_reaped. Does nothing when it is REAPED or already dying. */
void sandbox_kill(struct sandbox *sandbox);

/* Kills one that was READY because of what was found out about it since. */
void sandbox_refuse(struct sandbox *sandbox, enum stage stage, int error);

/* Kills one that is done. Returns whether nothing in it can run any more, as it waits for the kernel alone; then usage is
 * the program's. Else it was a program that said so, and left others: it is over when it is REAPED. */
bool sandbox_finish(struct sandbox *sandbox);

/* Tells it that the worker waited for this pid, and what it had used (wait4(-1, …)). */
void sandbox_reaped(struct sandbox *sandbox, pid_t pid, const struct rusage *usage);

/* Closes what is left of it, and makes it blank. */
void sandbox_clear(struct sandbox *sandbox);

#endif
