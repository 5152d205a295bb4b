/* lines - cuts a stream of bytes into lines of a maximum length. Pure.
 *
 * A line ends with "\n" or "\r\n"; blank ones are skipped; the last one may lack its end. A line that is too long is
 * cut as it comes: its start and its last LINES_TAIL_BYTES stay, so that an id can be looked for in them.
 */
#ifndef SUPERVISOR_LINES_H
#define SUPERVISOR_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

#define LINES_TAIL_BYTES 2048

struct lines {
	struct buf line;
	uint64_t max_bytes;
	bool cut;  /* the line is too long: something in it is left out */
	bool lost; /* memory was out: nothing of the line is kept */
};

/* Called with each line, without its end. A len above the maximum means that the line was too long and may be cut; text
 * is NULL for one that there was no memory for. */
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
