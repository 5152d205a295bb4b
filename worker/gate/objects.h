/* objects - can a program see that its objects end? */
#ifndef WORKER_GATE_OBJECTS_H
#define WORKER_GATE_OBJECTS_H

#include <stdbool.h>

#include "worker/gate/python.h"

/* In the pristine interpreter: finds the types that are known. Returns 0, or -1 with a Python exception. */
int objects_prepare(void);

/* Whether the end of no object in the list runs code or writes anything: none has a finalizer, but for closed files;
 * nor has a class whose objects would not be in the list; and no weak reference calls what the program wrote. False
 * when there is doubt. Runs no code of the program. */
bool objects_end_unseen(PyObject *list);

#endif
