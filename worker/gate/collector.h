/* collector - Python's garbage collector, which keeps a list of all objects that may refer to others. */
#ifndef WORKER_GATE_COLLECTOR_H
#define WORKER_GATE_COLLECTOR_H

#include <stdbool.h>

#include "worker/gate/python.h"

/* In the pristine interpreter, with the module gc: finds its functions, and lets those by which a program could see
 * that objects are frozen unfreeze them first. Returns 0, or -1 with a Python exception. */
int collector_prepare(PyObject *gc);

/* The last thing before copies are made: takes every object that there is off the list, so that what a program made
 * can be told from it, and no collection touches the others. Returns 0, or -1 with a Python exception. */
int collector_freeze(void);

/* Puts them back, unless that was done or the program has frozen everything itself. Leaves an exception as
 * it is. */
void collector_unfreeze(void);

/* Whether objects are frozen as collector_freeze left them, and the collector has nothing to say or to call at the end
 * of the interpreter. */
bool collector_is_quiet(void);

/* A new list of the objects that were made since collector_freeze; NULL when there are very many. No exception. */
PyObject *collector_objects(void);

#endif
