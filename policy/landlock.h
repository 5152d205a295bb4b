/* landlock - a second wall around files: rules that the kernel checks at every open, whatever was mounted. landlock(7).
 *
 * The view decides what can be named; these rules hold for what is reached in another way too, such as a directory of
 * the old root that was left open. They also refuse every mount and ptrace of whatever is outside, and from ABI 6 on
 * (Linux 6.12) signals and abstract sockets to it. Ports are not handled: that would forbid bind(2) on the run's
 * own loopback interface.
 */
#ifndef POLICY_LANDLOCK_H
#define POLICY_LANDLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "policy/view.h"

/* One row: what may be done below a place of the view. */
struct landlock_rule {
	const char *where;
	uint64_t rights; /* LANDLOCK_ACCESS_FS_… */
	const char *why;
};

/* Row i of the table, or NULL behind the last. */
const struct landlock_rule *landlock_rule(size_t i);

/* The name of the right 1 << bit, or NULL behind the last that is known here. */
const char *landlock_right_name(unsigned int bit);

/* The kernel's ABI number, or 0 when it has none that will do: no Landlock, switched off, kept from us by a container's
 * filter, or ABI 1, which forbids every rename and link between two directories. */
int landlock_abi(void);

/* Puts the calling process and all its children under the rules, for good; the view stands, and nothing is mounted any
 * more. no_new_privs must be set, or CAP_SYS_ADMIN there.
 * Returns 1, 0 where landlock_abi is 0 (nothing was done), or a negative errno. */
int landlock_apply(const struct view_plan *plan);

#endif
