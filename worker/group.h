/* group - the cgroup of one sandbox below the delegated one (delegation.h). Its builder makes it and goes into it before
 * it does anything else, so that all that is ever in the sandbox begins there; but for a copy of a pristine interpreter,
 * which begins in that one's and is moved before it gets a byte of a program. */
#ifndef WORKER_GROUP_H
#define WORKER_GROUP_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/limits.h"
#include "worker/delegation.h"

struct group {
	int base; /* directory of the delegated cgroup, which outlives it; -1: there is no group */
	char name[48];
};

/* What the kernel has counted. */
struct group_facts {
	bool out_of_memory;  /* something in it was killed for memory */
	bool refused_fork;   /* a process or thread was refused for their number */
	uint64_t peak_bytes; /* 0: not known */
};

/* Names the next one, for a run or a pristine interpreter; without a delegation there is none. */
void group_init(struct group *group, struct delegation *delegation, bool pristine);

/* Makes it with its limits, and moves the calling process into it. Returns 0 or a negative errno. */
int group_enter(const struct group *group, const struct limits *limits);

/* Moves a process into it. Returns 0 or a negative errno. Does nothing where there is none. */
int group_add(const struct group *group, pid_t pid);

/* Says whether it still can hold these limits (bits of mechanism.h): a user's manager may take back what it did not mean to
 * give. */
bool group_stands(const struct group *group, uint32_t by_cgroup);

/* Reads what it has counted, all zero where there is none. */
void group_look(const struct group *group, struct group_facts *facts);

/* Kills what is left in it and removes it. A group that was never made is allowed. */
void group_end(struct group *group);

/* Says whether this is a name that group_init gives. Pure. */
bool group_is_one(const char *name);

/* Kills all that is in it, and removes it. */
void group_remove(int base, const char *name);

/* The value of a line "KEY NUMBER" of a file of events; 0 without one. Pure. */
uint64_t group_count(const char *events, const char *key);

#endif
