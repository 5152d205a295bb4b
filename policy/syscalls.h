/* syscalls - the seccomp filter of a run: an allow-list, compiled once, loaded per run. seccomp(2).
 *
 * What is not on the list gets ENOSYS, the answer of an older kernel, which every caller must cope with. A call that is
 * refused on purpose has a row with an errno of its own and the reason. Calls of a foreign ABI (int 0x80, x32) get
 * ENOSYS as well. Names are resolved by libseccomp: a name that this machine's architecture lacks is left out.
 */
#ifndef POLICY_SYSCALLS_H
#define POLICY_SYSCALLS_H

#include <linux/filter.h>
#include <stddef.h>

/* How an argument is compared; the filter sees 64 bits, so an allowed value must match all of them. */
enum syscall_compare { SYSCALL_ANY, SYSCALL_EQUAL, SYSCALL_MASKED, SYSCALL_GREATER };

struct syscall_condition {
	enum syscall_compare compare;
	unsigned int arg;
	unsigned long long mask; /* SYSCALL_MASKED */
	unsigned long long value;
};

#define SYSCALL_CONDITIONS 3

/* One row: the call is allowed (error 0) or refused with error, when all its conditions hold. */
struct syscall_rule {
	const char *name;
	int error;
	struct syscall_condition conditions[SYSCALL_CONDITIONS];
	const char *why;
};

/* Row i of the table, or NULL behind the last. */
const struct syscall_rule *syscalls_rule(size_t i);

/* Compiles the table. filter->filter is the caller's, to be freed by free(). Returns 0 or a negative errno. */
int syscalls_compile(struct sock_fprog *filter);

/* Loads a compiled filter for the calling process and everything it starts; no_new_privs must be set.
 * Returns 0 or a negative errno. */
int syscalls_apply(const struct sock_fprog *filter);

#endif
