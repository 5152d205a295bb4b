/* collector - Python's garbage collector, which keeps a list of all objects that may refer to others. */
#ifndef WORKER_GATE_COLLECTOR_H
#define WORKER_GATE_COLLECTOR_H

#include <stdbool.h>

#include "worker/gate/python.h"

/* Before anything else in the pristine interpreter: notes how far the collector is on its way to the next collections, as
 * a program would meet it. Returns 0, or -1 with a Python exception. */
int collector_note(void);

/* In the pristine interpreter, with the module gc: finds its functions, and lets those by which a program could see
 * that objects are frozen unfreeze them first. Returns 0, or -1 with a Python exception. */
int collector_prepare(PyObject *gc);

/* The last thing before copies are made: takes every object that there is off the list, so that what a program made
 * can be told from it, and no collection touches the others. Returns 0, or -1 with a Python exception. */
int collector_freeze(void);

/* The last thing before the copy waits: takes the collector to where collector_note met it, so that objects get old as
 * they would. In which order those end that the end of the interpreter finds depends on it. */
void collector_resume(void);

/* Puts them back, unless that was done or the program has frozen everything itself. Leaves an exception as
 * it is. */
void collector_unfreeze(void);

/* The same at the end of the interpreter, so that what was frozen comes before what the program made, as it does in a
 * plain interpreter: its last collections end objects in this order. */
void collector_unfreeze_in_order(void);

/* Whether objects are frozen as collector_freeze left them, and the collector has nothing to say or to call at the end
 * of the interpreter. */
bool collector_is_quiet(void);

/* A new list of the objects that were made since collector_freeze; NULL when there are very many. No exception. */
PyObject *collector_objects(void);

#endif
