/* report - what worker and the processes of a sandbox tell each other, over a socket pair of the sandbox's own.
 *
 * From inside: who pid 1 is, that the sandbox is ready, which step failed, how the main program ended. From the worker:
 * one message with four descriptors, which starts the run. The end of the stream tells each side that the other is
 * dead: the socket is init's lifeline, for PDEATHSIG is lost where a parent exits on purpose.
 * A run never holds the socket: it is close-on-exec, and init, which holds it, is not dumpable. Nor does it ever hold
 * the listener of its filter (notify.h), which comes with REPORT_READY: init has closed its own before it takes a
 * program.
 */
#ifndef WORKER_REPORT_H
#define WORKER_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "common/stage.h"

enum report_kind {
	REPORT_SPAWNED = 1, /* pid: pid 1 of the sandbox, as the worker sees it */
	REPORT_READY,  /* layers, maybe a listener: every wall stands, init waits for a program */
	REPORT_FAILED, /* stage, error: a step failed, nothing was run */
	REPORT_ENDED /* status, …: the main program ended; init exits, and everything else is killed */
};

struct report {
	uint32_t kind;
	uint32_t stage; /* enum stage */
	int32_t error;	/* positive errno */
	uint32_t layers;
	int32_t pid;
	int32_t status;	    /* of wait(2) */
	uint32_t disk_full; /* the workspace had no byte or no inode left */
	uint32_t unused;
	uint64_t main_cpu_us; /* of the main program and what it waited for */
};

/* What starts a run. */
enum give_fd { GIVE_PROGRAM, GIVE_STDIN, GIVE_STDOUT, GIVE_STDERR, GIVE_FDS };

/* Sends a report from inside. Returns 0 or a negative errno. */
int report_send(int sock, const struct report *report);

/* Sends that a step failed with this positive errno, and exits: for the processes inside. */
_Noreturn void report_failure(int sock, enum stage stage, int error);

/* Sends REPORT_READY, with the listener of the seccomp filter when that is not -1 and can be sent. Closes it in every
 * case. Returns 0 or a negative errno. */
int report_ready(int sock, uint32_t layers, int listener);

/* Receives one. *listener becomes the caller's, or -1: only REPORT_READY may bring one.
 * Returns 1, 0 at the end of the stream, -EAGAIN, or another negative errno. */
int report_recv(int sock, struct report *report, int *listener);

/* Gives the program and three pipe ends; the descriptors stay the caller's. Returns 0 or a negative errno. */
int report_give(int sock, const int fds[GIVE_FDS]);

/* Takes them, inside. Returns 1, 0 at the end of the stream, or a negative errno. */
int report_take(int sock, int fds[GIVE_FDS]);

#endif
