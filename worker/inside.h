/* inside - the child's side of a sandbox: a straight list of steps, each with its name, up to a pid 1 that waits. */
#ifndef WORKER_INSIDE_H
#define WORKER_INSIDE_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "policy/view.h"

struct delegation;
struct group;

/* Everything the steps need, prepared by the worker before the fork; nothing in it is a secret or a caller's. */
struct inside {
	struct limits limits;
	struct view_plan view;
	struct sock_fprog filter; /* compiled, see policy/filter.h */
	struct sock_fprog noting; /* the same table, noting; empty where the kernel cannot */
	struct sock_fprog
		pristine; /* of a pristine interpreter, see policy/confine.h; empty without one */
	struct delegation *delegation; /* cgroups that can be had; or NULL */
	char **environment;
	const char *python; /* absolute path of the interpreter as it is to be started */
};

/* What one sandbox is for. */
struct purpose {
	bool pristine; /* for a pristine interpreter, which will make copies of itself, and not for a run */
	const struct group *group; /* its cgroup, or NULL */
	const int *
		above; /* NULL; or the namespaces of the one (NAMESPACES of them) whose copy will come into this sandbox:
			   * it is built below them, for only its parent may enter a user namespace without a capability */
};

/* Runs in a forked child of the worker, and never returns: builds the sandbox and reports on sock, which is its own.
 * This process exits as soon as pid 1 exists, which is the worker's child, too. */
_Noreturn void inside_main(const struct inside *inside, const struct purpose *purpose, int sock);

#endif
