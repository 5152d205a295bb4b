/* program - runs the caller's program in the copy of the interpreter, as `python3 main.py` does. */
#ifndef WORKER_GATE_PROGRAM_H
#define WORKER_GATE_PROGRAM_H

/* Runs the file at path as __main__, and ends the process as Python would. */
_Noreturn void program_run(const char *path);

#endif
