/* watch - memory of a run as a whole, where no cgroup counts it: by looking, every few milliseconds.
 *
 * The worker walks the run's processes from outside, sums their anonymous and shared memory, and moves each one's soft
 * RLIMIT_DATA to what it has plus what the whole run may still grow. So reservations that are never touched cost
 * nothing, and a program that grows meets a MemoryError, which it can report. Pages shared after a fork are counted once
 * per process at first; when that sum passes the limit, the proportional set size decides, and then the run is killed.
 * Many processes that grow at once can overshoot between two looks.
 */
#ifndef WORKER_WATCH_H
#define WORKER_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/limits.h"

struct watch {
	struct limits limits;
	pid_t init;
	uint64_t next_us;    /* clock_us of the next look */
	uint64_t precise_us; /* no proportional sum before this */
	uint64_t peak_bytes;
};

/* Starts watching the processes under init. */
void watch_init(struct watch *watch, const struct limits *limits, pid_t init, uint64_t now_us);

/* Looks, if it is time. Returns whether the run has more memory than it may and must be killed. */
bool watch_look(struct watch *watch, uint64_t now_us);

#endif
