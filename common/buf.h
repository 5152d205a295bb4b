/* buf - bytes that grow up to a hard maximum.
 *
 * Allocation failure and overflow of the maximum are remembered (error) and every later append does nothing, so that a
 * writer appends a whole message and looks once at the end. The bytes are not NUL-terminated; they may hold NULs.
 */
#ifndef COMMON_BUF_H
#define COMMON_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf {
	char *data; /* NULL while nothing was appended */
	size_t len;
	size_t capacity;  /* private */
	size_t max_bytes; /* 0: no maximum but SIZE_MAX / 2 */
	int error;	  /* 0, -ENOMEM or -EFBIG: sticky */
};

#define BUF_INIT                                                                                   \
	{                                                                                          \
		.data = NULL                                                                       \
	}

/* Appends a copy of data. */
void buf_add(struct buf *buf, const void *data, size_t len);
void buf_add_byte(struct buf *buf, char byte);
/* Appends a NUL-terminated string without its NUL. */
void buf_add_string(struct buf *buf, const char *text);
/* Appends formatted text. */
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Makes room for len bytes behind the end and returns where to write them, NULL on error; buf_grown says how many
 * came. */
char *buf_reserve(struct buf *buf, size_t len);
void buf_grown(struct buf *buf, size_t len);
/* Removes len bytes from the front, len <= buf->len. */
void buf_consume(struct buf *buf, size_t len);
/* Empties it and keeps the memory; clears the error. */
void buf_reset(struct buf *buf);
/* Frees the memory; the buf may be used again. Usable with _cleanup_(buf_clear). */
void buf_clear(struct buf *buf);

#endif
