/* printable - text of the operator's as a terminal may be shown it. */
#ifndef COMMON_PRINTABLE_H
#define COMMON_PRINTABLE_H

#include <stddef.h>

/* Copies len bytes of text into out: printable ASCII as it is, everything else as "?". What does not fit into size
 * bytes, which are at least 4, is cut and ends in "...". Returns out. */
const char *printable_copy(char *out, size_t size, const char *text, size_t len);

#endif
