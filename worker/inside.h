/* inside - the child's side of a sandbox: a straight list of steps, each with its name, up to a pid 1 that waits. */
#ifndef WORKER_INSIDE_H
#define WORKER_INSIDE_H

#include <linux/filter.h>
#include <stdint.h>

#include "policy/view.h"

/* Everything the steps need, prepared by the worker before the fork; nothing in it is a secret or a caller's. */
struct inside {
	struct limits limits;
	struct view_plan view;
	struct sock_fprog filter; /* compiled, see policy/filter.h */
	struct sock_fprog noting; /* the same table, noting; empty where the kernel cannot */
	char **environment;
	const char *python; /* absolute path of the interpreter as it is to be started */
};

/* Runs in a forked child of the worker, and never returns: builds the sandbox and reports on sock, which is its own.
 * Ends as two processes: this one exits as soon as pid 1 exists. */
_Noreturn void inside_main(const struct inside *inside, int sock);

#endif
