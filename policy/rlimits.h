/* rlimits - resource limits of every process of a run. setrlimit(2).
 *
 * Memory of the run as a whole is not here: RLIMIT_AS and RLIMIT_DATA count reservations, of which every thread and
 * OpenBLAS make large ones that are never touched. RLIMIT_DATA only gets a first value, which worker/watch.c then moves
 * with what is really used, so that a program meets a MemoryError rather than a kill. Where a cgroup counts, it stays at
 * its highest.
 */
#ifndef POLICY_RLIMITS_H
#define POLICY_RLIMITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

#include "common/limits.h"

/* One row, for print and tests; soft and hard are computed from limits. */
struct rlimit_rule {
	int resource;
	bool program_only; /* not for init, see rlimits_apply_program */
	const char *name;
	const char *why;
};

/* Row i of the table, or NULL behind the last. */
const struct rlimit_rule *rlimits_rule(size_t i);

/* What row i sets for these limits. */
struct rlimit rlimits_value(size_t i, const struct limits *limits);

/* Sets the rows that init has too, for the calling process and what it starts. A hard limit that is already lower
 * stays. Returns 0 or a negative errno. */
int rlimits_apply(const struct limits *limits);

/* Sets the rest, for the process that is about to become the program: a run could use up init's CPU time, and the
 * memory of a build with sanitizers is beyond any limit. Returns 0 or a negative errno. */
int rlimits_apply_program(const struct limits *limits);

/* The same for a program that is a copy of a pristine interpreter: what it has reserved already may be beyond the first
 * value of the moved limit, so that is as high as it may be until the watch has looked. */
int rlimits_apply_copy(const struct limits *limits);

/* Bounds what a pristine interpreter can reserve, as a program that no watch looks at. Returns as above. */
int rlimits_apply_pristine(const struct limits *limits);

/* The share of memory_bytes that may be used before growth fails: the rest is head room for the watch. */
uint64_t rlimits_data_budget(const struct limits *limits);

#endif
