/* namespaces - the seven namespaces of a run, and who it is in them. namespaces(7), user_namespaces(7).
 *
 * unshare(2) and fork(2), not clone(2) with flags: that needs the fewest system calls of a container's own filter.
 */
#ifndef POLICY_NAMESPACES_H
#define POLICY_NAMESPACES_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct namespace_rule {
	int flag;	/* CLONE_NEW… */
	uint32_t layer; /* the bit it earns, see common/layers.h */
	const char *name;
	const char *why;
};

/* Row i of the table, or NULL behind the last; the first is the user namespace. */
const struct namespace_rule *namespaces_rule(size_t i);

/* Enters a new user namespace and makes the process dumpable again, for else it may not write its own maps.
 * Returns 0 or a negative errno. */
int namespaces_enter_user(void);

/* Maps SANDBOX_UID and SANDBOX_GID, and nothing else, to these ids outside; forbids setgroups(2).
 * Returns 0 or a negative errno. */
int namespaces_map_ids(uid_t outer_uid, gid_t outer_gid);

/* Enters the other six. The next child is pid 1 of the new pid namespace. Returns 0 or a negative errno. */
int namespaces_enter_rest(void);

/* Sets the constant host name. A container may refuse it (EPERM): the caller degrades.
 * Returns 0 or a negative errno. */
int namespaces_name_host(void);

/* How many namespaces a sandbox has. */
#define NAMESPACES 7

/* Opens all namespaces of the calling process, in the order of the table, close-on-exec; /proc must be one that shows
 * it. On success the descriptors are the caller's, on failure none is left open. Returns 0 or a negative errno. */
int namespaces_open(int fds[NAMESPACES]);

/* Enters all of them, in that order; for a process alone in its thread group. Of the pid namespace its next child will
 * be a part. Takes the rights that it has over the first one: it must be in its parent, as the same user, or be in it.
 * The descriptors stay the caller's. Returns 0 or a negative errno. setns(2). */
int namespaces_join(const int fds[NAMESPACES]);

/* Enters the user namespace, and for the next child the pid namespace, of those. Returns as namespaces_join. */
int namespaces_join_above(const int fds[NAMESPACES]);

/* The bits of all rows. */
uint32_t namespaces_layers(void);

#endif
