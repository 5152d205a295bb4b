/* confine - the seccomp filters that the server's own two programs put on themselves before a caller's first byte.
 *
 * A filter is inherited, so they lie inside each other: that of a pristine interpreter allows what a run may do and what
 * it takes to enter a sandbox, the worker's that and what it takes to build one, the supervisor's that and what it takes
 * to serve. Neither can trace, load code into the kernel, use
 * a keyring, open a file by its handle or change the machine, whatever a message has made of it.
 */
#ifndef POLICY_CONFINE_H
#define POLICY_CONFINE_H

#include <stddef.h>

#include "policy/filter.h"

/* How many filters are on each program when it has started, beyond those that were there before. */
#define CONFINE_SUPERVISOR_FILTERS 1
#define CONFINE_WORKER_FILTERS 2

/* Row i of what a pristine interpreter's copies need beside the table of a run (syscalls.h) until they have given up
 * their rights, or NULL behind the last. */
const struct filter_rule *confine_pristine_rule(size_t i);

/* Row i of what the worker needs beside that, or NULL behind the last. */
const struct filter_rule *confine_worker_rule(size_t i);

/* Row i of what the supervisor needs beside that, or NULL behind the last. */
const struct filter_rule *confine_supervisor_rule(size_t i);

/* Both confine the calling process and all that it will start, for good; no_new_privs must be set. Returns 0 or a
 * negative errno. */
int confine_worker(void);
int confine_supervisor(void);

/* Compiles the filter of a pristine interpreter, to be put on by filter_apply. filter->filter is the caller's, to be
 * freed by free(). Returns 0 or a negative errno. */
int confine_compile_pristine(struct sock_fprog *filter);

#endif
