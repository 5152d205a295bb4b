/* answer - the head of an HTTP response, written out. Pure. */
#ifndef SUPERVISOR_ANSWER_H
#define SUPERVISOR_ANSWER_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "supervisor/slice.h"

/* How the peer learns where the content ends. */
enum answer_framing {
	ANSWER_NO_CONTENT, /* as the status says: 204 */
	ANSWER_LENGTH,
	ANSWER_CHUNKED,
	ANSWER_UNTIL_CLOSE
};

struct answer {
	int status;
	const char *type;    /* of the content; NULL: there is none */
	struct slice more;   /* further fields, each with its CRLF, or data NULL */
	struct slice origin; /* an allowed Origin, for which CORS fields are added, or data NULL */
	enum answer_framing framing;
	size_t len; /* of the content */
	bool close; /* the connection ends after this answer */
};

/* Appends status line, fields and the empty line; out->error as ever. What is no stream is not to be stored. */
void answer_head(struct buf *out, const struct answer *answer);

#endif
