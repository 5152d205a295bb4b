/* filter - seccomp filters as tables of rows, compiled by libseccomp; the only user of its header. seccomp(2).
 *
 * Of the rows of a call the first one that fits decides; so a last row without conditions says what every other use of
 * the call gets. What fits no row gets ENOSYS, the answer of an older kernel, which every caller must cope with; so do
 * calls of a foreign ABI (int 0x80, x32). Names are resolved by libseccomp: one that this machine's architecture lacks
 * is left out.
 *
 * A table can be compiled twice. In the plain filter the kernel answers each refused call. In the noting one a refusal
 * that is not quiet is a note to whoever holds the filter's listener (seccomp_unotify(2)), who answers it with
 * filter_verdict: the same errno. What is allowed, and what is refused quietly, costs the same in both.
 */
#ifndef POLICY_FILTER_H
#define POLICY_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
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
#define FILTER_ARGS 6

/* One row: the call is allowed (error 0) or refused with error, when all its conditions hold. Rows of one call must not
 * both fit, but for a last one without conditions: libseccomp promises no order. */
struct filter_rule {
	const char *name;
	int error;
	struct filter_condition conditions[FILTER_CONDITIONS];
	const char *why;
	bool quiet; /* honest programs try it and cope with the refusal: it explains no failure */
};

/* A table: row i, or NULL behind the last. */
typedef const struct filter_rule *filter_table(size_t i);

/* Compiles a table to its plain filter. filter->filter is the caller's, to be freed by free(). Returns 0 or a negative
 * errno. */
int filter_compile(filter_table *table, struct sock_fprog *filter);

/* The same, to its noting filter. Fails where the kernel knows no notes. */
int filter_compile_noting(filter_table *table, struct sock_fprog *filter);

/* What a call of the native ABI gets by the table: 0 when it is allowed, or its errno. Pure. */
int filter_verdict(filter_table *table, int number, const unsigned long long args[FILTER_ARGS]);

/* Loads a compiled filter for the calling process and everything it starts; no_new_privs must be set.
 * Returns 0 or a negative errno. */
int filter_apply(const struct sock_fprog *filter);

/* Loads a noting filter, and opens its listener. Whoever can use that can let refused calls pass: it must be out of
 * reach before any other program is. Returns it, close-on-exec, or a negative errno: -EINVAL before Linux 5.19, -EBUSY
 * where a filter around us has a listener; nothing is loaded then. */
int filter_listen(const struct sock_fprog *filter);

/* Compiles what one of n tables allows to a filter for a process that will load a stricter one into its children, or be
 * the parent of one that does: it leaves that one its say (see REFUSED_ABOVE). filter->filter is the caller's, to be freed
 * by free(). Returns 0 or a negative errno. */
int filter_compile_confining(filter_table *const tables[], size_t n, struct sock_fprog *filter);

#endif
