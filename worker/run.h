/* run - one run of a program, from its RUN frame to its DONE or FAIL: the place it has, its pipes, its clock.
 *
 * The worker's loop owns one and drives it; everything that ends a run (the program, the deadline, a CANCEL, the memory
 * watch) only kills the sandbox, and the answer is made in one place when the sandbox is REAPED. A place that was lost
 * before it took the program has run nothing of it: such a run begins again, elsewhere.
 */
#ifndef WORKER_RUN_H
#define WORKER_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include "common/frame.h"
#include "worker/capture.h"
#include "worker/group.h"
#include "worker/pool.h"
#include "worker/watch.h"

struct run {
	uint64_t id; /* 0: no run */
	struct frame_run request;
	int program; /* blobs */
	int stdin_blob;
	struct place *place; /* NULL while it waits for one */
	unsigned int
		lost; /* how many places were, before they took the program: the next one is cold */
	bool started;
	bool looked;	   /* whether a copy has taken the program */
	uint32_t killed;   /* enum frame_flag: why we killed it, 0 when we did not */
	uint64_t since_us; /* it came */
	uint64_t started_us;
	struct capture capture;
	struct watch watch;	  /* of its memory, where no cgroup counts that */
	struct group_facts facts; /* what a cgroup counted, at its end */
	int capture_error;
};

/* Takes a RUN frame's request and descriptors. run must have id 0. */
void run_begin(struct run *run, uint64_t id, const struct frame_run *request, int fds[FRAME_FDS]);

/* Starts it in a place that is READY, which it borrows. Returns 0, or a negative errno: the sandbox is killed, and the
 * answer will be FAIL. */
int run_start(struct run *run, struct place *place, const struct limits *limits);

/* Moves what the pipes have, as poll found them. A failure kills the sandbox, and the answer will be FAIL. */
void run_capture(struct run *run, const struct pollfd polls[CAPTURE_STREAMS]);

/* What time it is for: kills at the deadline, looks at memory. Returns milliseconds until it wants to be called again,
 * -1 for never. */
int run_tick(struct run *run, uint64_t now_us);

/* Kills it for a reason (FRAME_CANCELLED, …). Before it has a place, it only remembers. */
void run_kill(struct run *run, enum frame_flag reason);

/* At its end, before it is answered: asks its cgroup, and so learns whether the kernel killed it for memory. */
void run_look_back(struct run *run);

/* Says, when its sandbox is REAPED, whether the program was never taken; then it is as before run_start, but for lost,
 * and has no place. */
bool run_is_lost(struct run *run);

/* Counts one more place that was lost before it took the program. Returns whether it is worth another try. */
bool run_lose(struct run *run);

/* Answers on link when the sandbox is REAPED, and ends the run: id is 0 afterwards. sandbox is that of its place, or the
 * one that failed while it waited, or NULL when it was cancelled before. max_cpu_s is the limit it ran under. Returns 0
 * or a negative errno of frame_send. */
int run_answer(struct run *run, const struct sandbox *sandbox, const struct limits *limits,
	       int link);

/* Frees what a run has that is never answered. */
void run_clear(struct run *run);

#endif
