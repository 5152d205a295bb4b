/* buf - bytes that grow up to a hard maximum. */
#include "common/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_CAPACITY 256

static size_t buf_max(const struct buf *buf)
{
	return buf->max_bytes > 0 && buf->max_bytes < SIZE_MAX / 2 ? buf->max_bytes : SIZE_MAX / 2;
}

/* Doubling keeps the cost of many small appends linear. */
static size_t next_capacity(const struct buf *buf, size_t needed)
{
	size_t max = buf_max(buf);
	size_t capacity = buf->capacity > 0 ? buf->capacity : FIRST_CAPACITY;

	while (capacity < needed)
		capacity = capacity > max / 2 ? max : capacity * 2;
	return capacity < max ? capacity : max;
}

static int buf_grow(struct buf *buf, size_t needed)
{
	size_t capacity = next_capacity(buf, needed);
	/* One byte behind the capacity takes the NUL that vsnprintf always writes. */
	char *data = realloc(buf->data, capacity + 1);

	if (!data)
		return -ENOMEM;
	buf->data = data;
	buf->capacity = capacity;
	return 0;
}

char *buf_reserve(struct buf *buf, size_t len)
{
	if (buf->error)
		return NULL;
	if (len > buf_max(buf) || buf->len > buf_max(buf) - len)
		buf->error = -EFBIG;
	else if (!buf->data || len > buf->capacity - buf->len)
		buf->error = buf_grow(buf, buf->len + len);
	return buf->error ? NULL : buf->data + buf->len;
}

void buf_grown(struct buf *buf, size_t len)
{
	buf->len += len;
}

void buf_add(struct buf *buf, const void *data, size_t len)
{
	char *place = len > 0 ? buf_reserve(buf, len) : NULL;

	if (!place)
		return;
	memcpy(place, data, len);
	buf_grown(buf, len);
}

void buf_add_byte(struct buf *buf, char byte)
{
	buf_add(buf, &byte, 1);
}

void buf_add_string(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text));
}

/* Measures first: a second pass costs less than a guess that is wrong. */
void buf_printf(struct buf *buf, const char *format, ...)
{
	va_list args;
	char *place;
	int len;

	va_start(args, format);
	len = vsnprintf(NULL, 0, format, args);
	va_end(args);
	if (len < 0 && !buf->error)
		buf->error = -EFBIG;
	place = len > 0 ? buf_reserve(buf, (size_t)len) : NULL;
	if (!place)
		return;
	va_start(args, format);
	vsnprintf(place, (size_t)len + 1, format, args);
	va_end(args);
	buf_grown(buf, (size_t)len);
}

void buf_consume(struct buf *buf, size_t len)
{
	if (len == 0)
		return;
	buf->len -= len;
	memmove(buf->data, buf->data + len, buf->len);
}

void buf_reset(struct buf *buf)
{
	buf->len = 0;
	buf->error = 0;
}

void buf_clear(struct buf *buf)
{
	free(buf->data);
	*buf = (struct buf){.max_bytes = buf->max_bytes};
}
