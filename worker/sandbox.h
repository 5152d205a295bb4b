/* sandbox - one sandbox, from the worker's side: spawn it, give it a program, kill it, reap it.
 *
 *   BUILDING ──ready──▶ READY ──give──▶ RUNNING ──ended, kill──▶ ENDING ──reaped──▶ REAPED
 *      │                  │                                        ▲
 *      └──failed, kill────┴────────────────────────────────────────┘
 *
 * REAPED means that init was waited for (one that was never heard of exits by itself, and has run nothing), and so that
 * no process of the sandbox is alive: the kernel lets pid 1 go only when its namespace is empty (pid_namespaces(7)).
 */
#ifndef WORKER_SANDBOX_H
#define WORKER_SANDBOX_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

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
	int sock;      /* our end; -1 once it is closed */
	pid_t builder; /* 0 once it was waited for */
	pid_t init;    /* 0 until it is known */
	uint32_t layers;
	uint32_t failed_stage; /* STAGE_NONE, or what failed first */
	int failed_error;
	bool ended;	     /* report holds REPORT_ENDED */
	struct rusage usage; /* when it is REAPED: of init and everything that was in it */
	struct report report;
	struct notify notify; /* what its filter refused */
};

/* Starts building one; sandbox must be REAPED and hold no descriptor, as after sandbox_clear.
 * Returns 0; or a negative errno, and failed_stage says what failed. */
int sandbox_spawn(struct sandbox *sandbox, const struct inside *inside);

/* Reads what its socket holds; to be called when it is readable. */
void sandbox_read(struct sandbox *sandbox);

/* Gives a READY sandbox its program and the run's ends of three pipes; the descriptors stay the caller's.
 * Returns 0 or a negative errno. */
int sandbox_give(struct sandbox *sandbox, const int fds[GIVE_FDS]);

/* Kills everything in it. Its end is told by sandbox_reaped. Does nothing when it is REAPED or already dying. */
void sandbox_kill(struct sandbox *sandbox);

/* Tells it that the worker waited for this pid, and what it had used (wait4(-1, …)). */
void sandbox_reaped(struct sandbox *sandbox, pid_t pid, const struct rusage *usage);

/* Kills it and waits until it is REAPED. */
void sandbox_destroy(struct sandbox *sandbox);

/* Closes what is left of a REAPED one, whose descriptors are -1 when it has none, and makes it blank. */
void sandbox_clear(struct sandbox *sandbox);

#endif
