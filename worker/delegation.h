/* delegation - the cgroup that the server may divide, if it was given one.
 *
 *   NAME             the delegated cgroup, without processes: its memory, processes and CPUs are divided
 *   NAME/supervisor  the server's own processes
 *   NAME/run-N       one run, from its first process on (group.h)
 *   NAME/pristine-N  one pristine interpreter
 *
 * A cgroup that has processes cannot give controllers to others below it, so the server's processes go into one of their
 * own: systemd puts them there (DelegateSubgroup= of the unit, from version 254), or they are put there here.
 */
#ifndef WORKER_DELEGATION_H
#define WORKER_DELEGATION_H

#include <stdint.h>

#include "common/mechanism.h"

struct delegation {
	int dir; /* of the delegated cgroup, locked against other servers; -1: there is none */
	uint32_t by_cgroup; /* what it can limit, as bits of mechanism.h */
	uint64_t made;	    /* groups, ever: the next one's number */
	const char *why;    /* there is none: a literal; else NULL */
};

/* Looks for it by what this process may write to, moves itself and its parent if it must, and removes what servers
 * before it have left there. Where none is wanted or found, delegation says why.
 * Returns 0, or -ENOENT when one is required that can limit all, and there is none. */
int delegation_find(struct delegation *delegation, enum cgroup_wish wish);

/* Closes it. */
void delegation_clear(struct delegation *delegation);

#endif
