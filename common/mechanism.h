/* mechanism - by what the limits of a run as a whole are held: by a cgroup of its own where the server has been given
 * one to divide, and else by the next best. Which it is goes with READY and DONE, as bits. */
#ifndef COMMON_MECHANISM_H
#define COMMON_MECHANISM_H

#include <stddef.h>
#include <stdint.h>

enum by_cgroup {
	BY_CGROUP_MEMORY = 1 << 0,
	BY_CGROUP_PROCESSES = 1 << 1,
	BY_CGROUP_CPUS = 1 << 2,
	BY_CGROUP_ALL = (1 << 3) - 1
};

struct mechanism {
	uint32_t bit;
	const char *limit;	/* what is limited, as in results and metrics */
	const char *controller; /* of cgroup v2 */
	const char *otherwise;	/* what holds it without a cgroup */
};

/* Row i, or NULL behind the last. */
const struct mechanism *mechanism_row(size_t i);

/* The bits of the limits whose controllers are in a list of them, as cgroup.controllers has it. Pure. */
uint32_t mechanism_bits(const char *controllers);

/* "cgroup", or what else holds this limit. A literal. */
const char *mechanism_name(const struct mechanism *row, uint32_t by_cgroup);

/* What the operator wants of cgroups: MCP_EXEC_CGROUP. */
enum cgroup_wish { CGROUP_AUTO, CGROUP_OFF, CGROUP_REQUIRED, CGROUP_WISHES };

/* Its word. A literal. */
const char *mechanism_wish_name(enum cgroup_wish wish);

/* Finds the wish of a word. Returns 0 or -EINVAL. */
int mechanism_wish(const char *word, enum cgroup_wish *wish);

#endif
