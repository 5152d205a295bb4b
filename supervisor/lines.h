/* lines - cuts a stream of bytes into lines of a maximum length. Pure.
 *
 * A line ends with "\n" or "\r\n"; blank ones are skipped; the last one may lack its end. A line that is too long is
 * dropped as it comes, up to its newline, and reported once.
 */
#ifndef SUPERVISOR_LINES_H
#define SUPERVISOR_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct lines {
	struct buf line;
	uint64_t max_bytes;
	bool dropping; /* the line was too long: its rest is not kept */
};

/* Called with each whole line, without its end; text is NULL for one that was too long (or had no memory). */
typedef void (*lines_handle)(void *ctx, const char *text, size_t len);

/* An empty splitter for lines of at most max_bytes. */
void lines_init(struct lines *lines, uint64_t max_bytes);

/* Takes the next bytes of the stream. */
void lines_feed(struct lines *lines, const char *data, size_t len, lines_handle handle, void *ctx);

/* The stream has ended: what came without a newline is a line too. */
void lines_end(struct lines *lines, lines_handle handle, void *ctx);

/* Frees the memory. */
void lines_clear(struct lines *lines);

#endif
