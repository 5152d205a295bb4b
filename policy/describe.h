/* describe - prints every policy table, for people and for the tests that compare documents with them. */
#ifndef POLICY_DESCRIBE_H
#define POLICY_DESCRIBE_H

#include <stdio.h>

#include "common/limits.h"

/* Writes all tables: layers, namespaces, view, Landlock, these limits, environment, system calls of our own programs
 * and of a run. */
void describe_policy(FILE *out, const struct limits *limits);

#endif
