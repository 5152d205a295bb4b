/* stamps - a build of both programs that notes when a call passes certain points, for steps.py.
 *
 * It is the product's own objects, with some calls between them led through here (wrap.h); what that adds is a look at
 * the clock for each point, and one line on stderr for each call: when it is over, or nearly. Never part of what is
 * shipped.
 */
#ifndef BENCH_STAMPS_H
#define BENCH_STAMPS_H

#include <stddef.h>
#include <stdint.h>

/* A point, and when the call passed it; CLOCK_MONOTONIC, which all processes of a machine share. */
struct stamp {
	const char *name;
	int64_t ns;
};

int64_t stamp_now_ns(void);

/* Writes "stamps NAME=NS …" to stderr. */
void stamps_tell(const struct stamp *stamps, size_t n);

#endif
