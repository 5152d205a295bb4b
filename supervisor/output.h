/* output - lines that go out on a descriptor which must never hold us up, and what of them waits.
 *
 * Descriptors that others share keep their flags: O_NONBLOCK is never set on one. A socket is written with MSG_DONTWAIT.
 * Of anything else that may block at most PIPE_BUF bytes are written when poll(2) says so, which a pipe takes without
 * blocking (pipe(7)).
 */
#ifndef SUPERVISOR_OUTPUT_H
#define SUPERVISOR_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

struct output {
	int fd; /* borrowed */
	bool is_socket;
	bool may_block;
	struct buf kept;
	size_t sent;	     /* bytes at the front of kept that are written already */
	uint64_t written_ms; /* when something was last taken */
};

/* may_block: whether a write to fd may, if it is no socket. */
void output_init(struct output *output, int fd, bool may_block);

/* How many bytes wait. */
size_t output_waiting(const struct output *output);

/* Writes text as a line: what goes out at once, and the rest is kept. Returns 0 or -ENOMEM. A write that fails is tried
 * again, and told, by output_write. */
int output_line(struct output *output, const char *text, size_t len);

/* Writes some of what waits, which must be something. Returns 0 or the negative errno of the write. */
int output_write(struct output *output);

/* Frees what waits. */
void output_clear(struct output *output);

#endif
