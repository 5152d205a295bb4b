/* ending - how the interpreter ends after the program. */
#ifndef WORKER_GATE_ENDING_H
#define WORKER_GATE_ENDING_H

#include <stdbool.h>

/* In the pristine interpreter: finds what ending_exit needs. Returns 0, or -1 with a Python exception. */
int ending_prepare(void);

/* In the copy, before it waits: looks as ending_exit will, so that the pages which that writes to are the copy's own
 * before the program comes. Changes nothing that a program can see. */
void ending_rehearse(void);

/* Ends the process with this status, or by SIGINT when the program was interrupted; everything that a program can see
 * of it is as at the end of a plain interpreter. */
_Noreturn void ending_exit(int status, bool interrupted);

#endif
