/* lines - collects bytes up to a newline. */
#include "supervisor/lines.h"

#include <string.h>

/* What one long line needed is not kept for ever. */
#define KEPT_BYTES ((size_t)1024 * 1024)

void lines_init(struct lines *lines, uint64_t max_bytes)
{
	*lines = (struct lines){.max_bytes = max_bytes};
}

/* Puts what comes behind a full buffer into its last bytes; older ones of the tail make room. */
static void slide(struct buf *line, const char *data, size_t len)
{
	size_t tail = line->len < LINES_TAIL_BYTES ? line->len : LINES_TAIL_BYTES;
	size_t fresh = len < tail ? len : tail;
	char *start = line->data + line->len - tail;

	memmove(start, start + fresh, tail - fresh);
	memcpy(start + tail - fresh, data + len - fresh, fresh);
}

/* One byte more than the maximum is kept, for it may be the "\r" of the line's end. */
static void collect(struct lines *lines, const char *data, size_t len)
{
	size_t room = (size_t)(lines->max_bytes + 1 - lines->line.len);
	size_t kept = len < room ? len : room;

	if (lines->lost)
		return;
	buf_add(&lines->line, data, kept);
	if (lines->line.error != 0) {
		lines->lost = true;
		buf_clear(&lines->line);
	} else if (len > kept) {
		lines->cut = true;
		slide(&lines->line, data + kept, len - kept);
	}
}

static bool is_blank(const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (text[i] != ' ' && text[i] != '\t' && text[i] != '\r')
			return false;
	return true;
}

static void finish(struct lines *lines, lines_handle handle, void *ctx)
{
	const char *text = lines->line.data;
	size_t len = lines->line.len;

	if (!lines->cut && len > 0 && text[len - 1] == '\r')
		len--;
	if (lines->lost)
		handle(ctx, NULL, 0);
	else if (len > lines->max_bytes || !is_blank(text, len))
		handle(ctx, text, len);
	lines->cut = false;
	lines->lost = false;
	if (lines->line.capacity > KEPT_BYTES)
		buf_clear(&lines->line);
	else
		buf_reset(&lines->line);
}

void lines_feed(struct lines *lines, const char *data, size_t len, lines_handle handle, void *ctx)
{
	while (len > 0) {
		const char *newline = memchr(data, '\n', len);
		size_t part = newline != NULL ? (size_t)(newline - data) : len;
		size_t eaten = newline != NULL ? part + 1 : part;

		collect(lines, data, part);
		if (newline != NULL)
			finish(lines, handle, ctx);
		data += eaten;
		len -= eaten;
	}
}

void lines_end(struct lines *lines, lines_handle handle, void *ctx)
{
	if (lines->lost || lines->line.len > 0)
		finish(lines, handle, ctx);
}

void lines_clear(struct lines *lines)
{
	buf_clear(&lines->line);
}
