/* slice - bytes that lie in somebody else's text. Pure. */
#ifndef SUPERVISOR_SLICE_H
#define SUPERVISOR_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Borrowed, and not ended by a NUL. Of a value in a message: as it stands there, quotes included for a string. data is
 * NULL when there is none. */
struct slice {
	const char *data;
	size_t len;
};

/* Text that ends in a NUL, as a slice. */
static inline struct slice slice_of(const char *text)
{
	return (struct slice){text, strlen(text)};
}

/* Says whether both are there and have the same bytes. */
static inline bool slice_equal(struct slice a, struct slice b)
{
	return a.data && b.data && a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

#endif
