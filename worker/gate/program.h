/* program - runs the caller's program in the copy of the interpreter, as `python3 main.py` does. */
#ifndef WORKER_GATE_PROGRAM_H
#define WORKER_GATE_PROGRAM_H

#include "worker/gate/python.h"

/* Runs the file at path with the dict globals of __main__, and ends the process as Python would. Before the first
 * instruction of the program it closes report, which may be -1. */
_Noreturn void program_run(PyObject *globals, const char *path, int report);

#endif
