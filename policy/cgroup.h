/* cgroup - what is written to the cgroup of one run, or of one pristine interpreter, before anything is in it. Kernel:
 * Documentation/admin-guide/cgroup-v2.rst. */
#ifndef POLICY_CGROUP_H
#define POLICY_CGROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"

/* One file. */
struct cgroup_rule {
	uint32_t bit; /* of mechanism.h: it is written where a cgroup holds this limit */
	const char *file;
	bool optional; /* kernels may be built without what it switches */
	const char *why;
};

#define CGROUP_VALUE_BYTES 48

/* Row i of the table, or NULL behind the last. */
const struct cgroup_rule *cgroup_rule(size_t i);

/* What row i writes for these limits. */
void cgroup_value(size_t i, const struct limits *limits, char value[CGROUP_VALUE_BYTES]);

/* Writes all that limits->by_cgroup asks for to the cgroup with this directory. Returns 0 or a negative errno. */
int cgroup_apply(int dir, const struct limits *limits);

#endif
