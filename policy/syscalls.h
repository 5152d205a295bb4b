/* syscalls - the table of a run's seccomp filter (filter.h): an allow-list, compiled once, loaded per run. A call that
 * is refused on purpose has a row with an errno of its own and the reason.
 */
#ifndef POLICY_SYSCALLS_H
#define POLICY_SYSCALLS_H

#include "policy/filter.h"

/* Row i of the table, or NULL behind the last. */
const struct filter_rule *syscalls_rule(size_t i);

#endif
