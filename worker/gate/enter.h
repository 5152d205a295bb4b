/* enter - how a copy of the pristine interpreter gets into a sandbox, see ARCHITECTURE.md.
 *
 * Nothing of it touches Python. The order of calls: enter_open, enter_modules, enter_ready, and then for each copy
 * enter_next, enter_fork, and in the copy enter_wait. Errors are negative errno.
 */
#ifndef WORKER_GATE_ENTER_H
#define WORKER_GATE_ENTER_H

#include <stdint.h>

struct enter;

/* In the pristine interpreter, before all others. control is the socket to the worker, plan what copies are bound by;
 * both stay open and owned by the result, which lives as long as the process. Returns NULL and sets errno. */
struct enter *enter_open(int control, int plan);

/* What is to be preloaded: names for an import statement with commas between them and no blanks, "" for none. The text
 * lives as long as the struct. */
const char *enter_modules(const struct enter *enter);

/* Tells the worker that this process serves. loaded has bit i set when module i of enter_modules is preloaded. error
 * is 0, or an errno: ENOTSUP for an interpreter that cannot be copied, which then exits. Returns 0 or -errno. */
int enter_ready(struct enter *enter, uint32_t loaded, int error);

/* Waits for the next sandbox to enter. Returns 1, 0 when there will be none, -errno. */
int enter_next(struct enter *enter);

/* Makes the copy. Returns 0 in it, alone in its sandbox and locked down; 1 or -errno in the pristine interpreter. */
int enter_fork(struct enter *enter);

/* In the copy: says that it is ready and waits for the program. When it returns, main.py is written, 0, 1 and 2 are
 * the run's pipes, and everything else is closed but *report: a descriptor that is closed on exec and that the caller
 * closes before any code of the program runs, or -1. Returns 0; exits the process when no program will come. */
int enter_wait(struct enter *enter, int *report);

#endif
