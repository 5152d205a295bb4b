/* watch - memory of a run as a whole, where no cgroup counts it: by looking, every few milliseconds.
 *
 * The worker sums what the run's processes have (processes.h) and moves each one's soft RLIMIT_DATA to what it has plus
 * what the whole run may still grow. So reservations that are never touched cost nothing, and a program that grows
 * meets a MemoryError, which it can report. Pages shared after a fork are counted once per process at first; where that
 * matters the proportional set size decides. Past the limit the run is killed.
 *
 * Many processes that grow at once can overshoot between two looks. Shared anonymous mappings count as a whole, touched
 * or not. Memory of the kernel other than page tables (buffers of sockets and pipes, watches) is not seen.
 */
#ifndef WORKER_WATCH_H
#define WORKER_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/limits.h"
#include "worker/processes.h"

struct watch {
	struct limits limits;
	pid_t init;
	uint64_t next_us; /* clock_us of the next look */
	uint64_t peak_bytes;
	struct processes *now; /* owned; NULL before the first look */
	struct processes *before;
	/* The last proportional sum, what the plain sum was then, and when there may be another: if it can wait, and if
	 * it is urgent. */
	uint64_t precise_bytes;
	uint64_t plain_bytes;
	uint64_t precise_us;
	uint64_t urgent_us;
	unsigned int strikes; /* sure looks in a row that found too much */
	/* The last sum of shared mappings, and when it is due again. */
	uint64_t shared_bytes;
	uint64_t shared_us;
};

/* Starts watching the processes under init. Returns 0 or -ENOMEM. */
int watch_init(struct watch *watch, const struct limits *limits, pid_t init, uint64_t now_us);

/* Looks, if it is time. Returns whether the run has more memory than it may and must be killed. */
bool watch_look(struct watch *watch, uint64_t now_us);

/* Frees what it owns; an all-zero watch is allowed. */
void watch_clear(struct watch *watch);

/* Puts the next look off, to then at the earliest. */
void watch_defer(struct watch *watch, uint64_t until_us);

/* One look at a run that has not begun, by which its limits are what they will be. Returns the bytes that it has, and
 * had from the process that it is a copy of. */
uint64_t watch_settle(const struct limits *limits, pid_t init);

#endif
