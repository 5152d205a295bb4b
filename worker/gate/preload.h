/* preload - modules that the pristine interpreter imports ahead of programs, and hides from those that do not:
 * preload.py.
 */
#ifndef WORKER_GATE_PRELOAD_H
#define WORKER_GATE_PRELOAD_H

#include <stdbool.h>
#include <stdint.h>

#include "worker/gate/python.h"

/* In the pristine interpreter: imports and hides what names says, as enter_modules has it, from the dict globals of
 * __main__. *loaded gets bit i set when import i went well. Returns 0, or -1 with a Python exception. */
int preload_start(const char *names, PyObject *globals, uint32_t *loaded);

/* Says whether all that preload_start imported has exit functions that do nothing that is seen. */
bool preload_ends_unseen(void);

/* In the copy, as soon as there is one: new random numbers for what is preloaded. */
void preload_refresh(void);

/* Does what most programs do. For a process that gets no program: nothing of it is taken back. */
void preload_rehearse(void);

#endif
