/* chunks - a state machine over the bytes of a chunked body. */
#include "supervisor/chunks.h"

#include <errno.h>

#include "common/limits.h"
#include "supervisor/ascii.h"
#include "supervisor/head.h"

/* As many as a size of 64 bits has. */
#define MAX_DIGITS 16

/* Without a digit there is no size. */
static enum chunks_state after_size(struct chunks *chunks, char c)
{
	int value = ascii_hex(c);

	if (value >= 0 && chunks->digits < MAX_DIGITS) {
		chunks->left = chunks->left << 4 | (unsigned int)value;
		chunks->digits++;
		return CHUNKS_SIZE;
	}
	if (chunks->digits > 0 && c == '\r')
		return CHUNKS_SIZE_LF;
	return chunks->digits > 0 && c == ';' ? CHUNKS_EXTENSION : CHUNKS_BROKEN;
}

/* What is dropped ends with a CR, and is bounded: it costs the peer nothing to send it for ever. */
static enum chunks_state after_dropped(struct chunks *chunks, bool allowed, enum chunks_state next)
{
	return allowed && ++chunks->dropped <= HTTP_HEAD_BYTES ? next : CHUNKS_BROKEN;
}

static enum chunks_state after_newline(char c, enum chunks_state next)
{
	return c == '\n' ? next : CHUNKS_BROKEN;
}

static enum chunks_state next_size(struct chunks *chunks, char c)
{
	chunks->digits = 0;
	return after_newline(c, CHUNKS_SIZE);
}

static enum chunks_state step(struct chunks *chunks, char c)
{
	switch (chunks->state) {
	case CHUNKS_SIZE:
		return after_size(chunks, c);
	case CHUNKS_EXTENSION:
		return c == '\r' ? CHUNKS_SIZE_LF
				 : after_dropped(chunks, head_is_text(c), CHUNKS_EXTENSION);
	case CHUNKS_SIZE_LF:
		return after_newline(c, chunks->left > 0 ? CHUNKS_DATA : CHUNKS_TRAILER);
	case CHUNKS_DATA_CR:
		return c == '\r' ? CHUNKS_DATA_LF : CHUNKS_BROKEN;
	case CHUNKS_DATA_LF:
		return next_size(chunks, c);
	case CHUNKS_TRAILER:
		return c == '\r' ? CHUNKS_END_LF
				 : after_dropped(chunks, head_is_token(c), CHUNKS_NAME);
	case CHUNKS_NAME:
		return c == ':' ? CHUNKS_VALUE
				: after_dropped(chunks, head_is_token(c), CHUNKS_NAME);
	case CHUNKS_VALUE:
		return c == '\r' ? CHUNKS_VALUE_LF
				 : after_dropped(chunks, head_is_text(c), CHUNKS_VALUE);
	case CHUNKS_VALUE_LF:
		return after_newline(c, CHUNKS_TRAILER);
	case CHUNKS_END_LF:
		return after_newline(c, CHUNKS_DONE);
	case CHUNKS_DATA:
	case CHUNKS_DONE:
	case CHUNKS_BROKEN:
		break;
	}
	return CHUNKS_BROKEN;
}

/* Takes as much of the chunk as there is, len > 0. */
static size_t take(struct chunks *chunks, const char *data, size_t len, struct buf *out)
{
	size_t part = chunks->left < len ? (size_t)chunks->left : len;

	buf_add(out, data, part);
	chunks->bytes += part;
	chunks->left -= part;
	if (chunks->left == 0)
		chunks->state = CHUNKS_DATA_CR;
	return part;
}

ssize_t chunks_feed(struct chunks *chunks, const char *data, size_t len, struct buf *out,
		    uint64_t max)
{
	size_t at = 0;

	while (at < len && chunks->state != CHUNKS_DONE && chunks->state != CHUNKS_BROKEN) {
		if (chunks->state == CHUNKS_DATA)
			at += take(chunks, data + at, len - at, out);
		else
			chunks->state = step(chunks, data[at++]);
		if (chunks->bytes > max || chunks->left > max - chunks->bytes)
			return -EFBIG;
		if (out->error != 0)
			return out->error;
	}
	return chunks->state == CHUNKS_BROKEN ? -EPROTO : (ssize_t)at;
}

bool chunks_done(const struct chunks *chunks)
{
	return chunks->state == CHUNKS_DONE;
}
