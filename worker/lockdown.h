/* lockdown - the last steps into a sandbox: a process that stands in all its namespaces and its view gives up its rights.
 *
 * Two kinds of process do it: init, and a copy of a pristine interpreter, which enters later (gate/enter.h).
 */
#ifndef WORKER_LOCKDOWN_H
#define WORKER_LOCKDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/inside.h"

/* Puts the calling process under Landlock, the granted CPUs, rlimits, no capability, no_new_privs and the filter, in an
 * order in which each still works. A copy of a pristine interpreter gets the CPUs that init has, and its own kind may look
 * at it; not at init, which has the worker's memory. A step that fails is reported on sock, and ends the process. Adds to layers what holds. Returns the listener
 * of the filter, or -1. */
int lockdown_apply(const struct inside *inside, bool copy, int sock, uint32_t *layers);

/* What lockdown_apply adds to layers, when all of it holds. */
uint32_t lockdown_layers(void);

/* The same for a pristine interpreter: no Landlock, which would hold for the other files of its copies too, no one CPU,
 * and a filter that lets copies enter their sandboxes. */
void lockdown_apply_pristine(const struct inside *inside, int sock);

#endif
