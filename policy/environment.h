/* environment - the variables of a run: built, never inherited. */
#ifndef POLICY_ENVIRONMENT_H
#define POLICY_ENVIRONMENT_H

#include <stddef.h>

#include "common/limits.h"

/* One row; the value is fixed text, or made from the limits or the interpreter when it is NULL. */
struct environment_rule {
	const char *name;
	const char *value;
	const char *why;
};

/* Row i of the table, or NULL behind the last. */
const struct environment_rule *environment_rule(size_t i);

/* Makes the NULL-terminated array of "NAME=value" for execve(2). user_base is PYTHONUSERBASE, or NULL when the user's
 * own packages are not in the view; bin_dir is put before the system's PATH, or NULL.
 * Returns the array, to be freed by environment_free, or NULL when memory is out. */
char **environment_build(const struct limits *limits, const char *user_base, const char *bin_dir);

void environment_free(char **environment);

#endif
