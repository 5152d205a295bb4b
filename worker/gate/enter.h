/* enter - how a copy of a pristine interpreter gets into a sandbox that the worker built, and then gets its program.
 *
 * It knows nothing of Python. The pristine interpreter calls enter_open, says that it serves, and then for each sandbox
 * enter_next and enter_fork; a copy goes on with enter_wait. What fails in a copy ends it, and the worker is told.
 */
#ifndef WORKER_GATE_ENTER_H
#define WORKER_GATE_ENTER_H

#include <stdbool.h>
#include <stdint.h>

struct enter;

/* Takes the descriptors that the worker gave: the socket over which it is told of sandboxes, and the plan (plan.h).
 * Returns NULL with errno. It lives as long as the process. */
struct enter *enter_open(int control, int plan);

/* The modules to import, in this order, separated by commas; "" for none. Lives as long as enter. */
const char *enter_modules(const struct enter *enter);

/* Tells the worker that copies can be had; loaded has bit i set when module i of the list is there. Or, when error is not
 * 0, a positive errno, that there will be none. Returns 0 or a negative errno. */
int enter_ready(struct enter *enter, uint32_t loaded, int error);

/* Waits for the next sandbox; hurried says that a program waits for the copy, or may do so. Returns 1; 0 when there will be
 * none; or a negative errno. */
int enter_next(struct enter *enter, bool *hurried);

/* Makes a copy of the process in that sandbox: a child of its init, with every wall up. Returns 0 in the copy, in the
 * pristine interpreter 1, or a negative errno when there is none. */
int enter_fork(struct enter *enter);

/* In the copy: says that it is ready, waits for the program, and returns when /sandbox/main.py is written, 0, 1 and 2
 * are the run's pipes and every other descriptor is closed. Exits when there will be no program. */
void enter_wait(struct enter *enter);

/* In a process that exits with this status, when all its exit functions have run: the copy itself tells the worker so, by
 * a system call that its filter refuses (report.h), and is killed while it waits for the answer, which takes the end of
 * its memory off the caller's time. Returns when it is another process, when the program has left any, or when refusals
 * are not noted: it is to exit as ever. */
void enter_leave(struct enter *enter, int status);

#endif
