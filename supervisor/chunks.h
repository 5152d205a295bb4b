/* chunks - where does a chunked body end, and what is in it (RFC 9112, 7.1)? Pure.
 *
 * Written by hand for a reason: evhttp (libevent 2.1.12) takes "+5", "0x5" and bare LF, answers 413 to extensions, waits
 * for whole chunks, and puts the fields of a trailer among those of the head, where they were not judged.
 */
#ifndef SUPERVISOR_CHUNKS_H
#define SUPERVISOR_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/buf.h"

enum chunks_state {
	CHUNKS_SIZE,
	CHUNKS_EXTENSION,
	CHUNKS_SIZE_LF,
	CHUNKS_DATA,
	CHUNKS_DATA_CR,
	CHUNKS_DATA_LF,
	CHUNKS_TRAILER, /* at the start of a line: a field or the end */
	CHUNKS_NAME,
	CHUNKS_VALUE,
	CHUNKS_VALUE_LF,
	CHUNKS_END_LF,
	CHUNKS_DONE,
	CHUNKS_BROKEN
};

/* All zeros is the start of a body; it holds no memory. */
struct chunks {
	uint64_t bytes; /* of content so far */
	/* private */
	enum chunks_state state;
	unsigned int digits; /* of the size that is being read */
	uint64_t left;	     /* of the chunk */
	uint64_t dropped;    /* bytes of extensions and trailer so far, over the whole body */
};

/* Reads on and appends content to out. Extensions and the trailer are read and dropped, HTTP_HEAD_BYTES of them at most.
 * Returns how many bytes of data were used: all of them, or fewer when the body ended within. Else -EPROTO: this is no
 * chunked body; -EFBIG: more than max bytes of content, which is said as soon as a chunk announces it; or out->error.
 * After an error there is nothing more to read. */
ssize_t chunks_feed(struct chunks *chunks, const char *data, size_t len, struct buf *out,
		    uint64_t max);

/* Says whether the body is over, trailer included. */
bool chunks_done(const struct chunks *chunks);

#endif
