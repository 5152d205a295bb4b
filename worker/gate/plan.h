/* plan - what a pristine interpreter must know to lock its copies down and to load modules, in a memfd that it inherits.
 *
 * Written by the worker and read by the gate, which are one build: numbers are native, and nothing is converted.
 */
#ifndef WORKER_GATE_PLAN_H
#define WORKER_GATE_PLAN_H

#include "common/blob.h"
#include "worker/inside.h"

/* The descriptors that a pristine interpreter has beside 0, 1, 2. */
#define GATE_CONTROL 3
#define GATE_PLAN 4

/* A plan that was read. */
struct plan {
	struct inside inside; /* limits, view, filter and noting; points into blob */
	const char
		*modules; /* what to import, in this order, separated by commas; points into blob */
	struct blob_view blob;
};

/* Writes what a lockdown needs of inside, and the modules to import, in order, separated by commas ("" for none).
 * Returns a sealed memfd, the caller's, or a negative errno. */
int plan_write(const struct inside *inside, const char *modules);

/* Reads one; fd stays the caller's. The plan is to be cleared. Returns 0 or a negative errno. */
int plan_read(int fd, struct plan *plan);

void plan_clear(struct plan *plan);

#endif
