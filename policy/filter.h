/* filter - seccomp filters as tables of rows, compiled by libseccomp; the only user of its header. seccomp(2).
 *
 * What is in no row gets ENOSYS, the answer of an older kernel, which every caller must cope with; so do calls of a
 * foreign ABI (int 0x80, x32). Names are resolved by libseccomp: one that this machine's architecture lacks is left out.
 */
#ifndef POLICY_FILTER_H
#define POLICY_FILTER_H

#include <linux/filter.h>
#include <stddef.h>

/* How an argument is compared; the filter sees 64 bits, so an allowed value must match all of them. */
enum filter_compare { FILTER_ANY, FILTER_EQUAL, FILTER_MASKED, FILTER_GREATER };

struct filter_condition {
	enum filter_compare compare;
	unsigned int arg;
	unsigned long long mask; /* FILTER_MASKED */
	unsigned long long value;
};

#define FILTER_CONDITIONS 3

/* One row: the call is allowed (error 0) or refused with error, when all its conditions hold. */
struct filter_rule {
	const char *name;
	int error;
	struct filter_condition conditions[FILTER_CONDITIONS];
	const char *why;
};

/* A table: row i, or NULL behind the last. */
typedef const struct filter_rule *filter_table(size_t i);

/* Compiles a table. filter->filter is the caller's, to be freed by free(). Returns 0 or a negative errno. */
int filter_compile(filter_table *table, struct sock_fprog *filter);

/* Loads a compiled filter for the calling process and everything it starts; no_new_privs must be set.
 * Returns 0 or a negative errno. */
int filter_apply(const struct sock_fprog *filter);

/* Confines the calling process, and everything it starts, to what one of n tables allows; for a process that will load a
 * stricter filter into its children, or be the parent of one that does. no_new_privs must be set.
 * Returns 0 or a negative errno. */
int filter_confine(filter_table *const tables[], size_t n);

#endif
