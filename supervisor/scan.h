/* scan - the first reader of every message: is it JSON, and where do the values lie that must not be touched?
 *
 * Written by hand for a reason: cJSON gives no offsets, turns ids beyond 2^53 into other ids, cuts strings at \u0000,
 * accepts trailing garbage, raw control characters, 01, 1e400 and duplicate keys, refuses lone surrogates without
 * saying so, and does not validate UTF-8. This one pass (RFC 8259 grammar, RFC 3629 UTF-8, depth MAX_JSON_DEPTH, no
 * duplicate key) accepts what every reader of JSON reads the same way, and nothing else. Pure; no recursion; never
 * reads beyond len.
 */
#ifndef SUPERVISOR_SCAN_H
#define SUPERVISOR_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "common/buf.h"

/* A part of a text that somebody else owns. Of a value in a message: as it stands there, quotes included for a string;
 * data is NULL when the member is absent. */
struct slice {
	const char *data;
	size_t len;
};

enum scan_verdict {
	SCAN_OK,
	SCAN_NOT_JSON,	/* grammar, UTF-8, empty, trailing bytes: -32700 */
	SCAN_DUPLICATE, /* an object has a key twice: -32600 */
	SCAN_NO_MEMORY,
	SCAN_TOO_DEEP, /* may be JSON, but for our limits: -32700 */
	SCAN_TOO_MUCH  /* the same for the number of values and the length of one: -32600 */
};

enum scan_root { SCAN_OBJECT, SCAN_ARRAY, SCAN_SCALAR };

struct scan {
	enum scan_verdict verdict;
	enum scan_root root;
	const char *
		reason; /* a short literal for SCAN_NOT_JSON and SCAN_TOO_…, such as "nesting too deep"; else NULL */
	struct slice
		id; /* member id of the root object; filled in whenever it was read before the verdict */
	struct slice progress_token; /* params._meta.progressToken */
	struct slice request_id;     /* params.requestId */
	struct slice code;	     /* params.arguments.code */
	struct slice stdin_text;     /* params.arguments.stdin */
	bool lone_surrogate; /* a string other than code and stdin holds an escape like \ud800 on its own */
	bool escaped_nul; /* a string other than code and stdin holds \u0000 */
};

/* Reads one message. The slices point into text. */
void scan_message(const char *text, size_t len, struct scan *scan);

/* For a message that scan_message found to be an array: finds its elements. Fills in up to max slices and returns the
 * number of elements there are (which may be larger than max). */
size_t scan_elements(const char *text, struct slice *elements, size_t max);

/* Text that ends in a NUL, as a slice. */
static inline struct slice slice_of(const char *text)
{
	return (struct slice){text, strlen(text)};
}

/* Says what a slice is. */
bool slice_is_string(struct slice slice);
bool slice_is_integer(struct slice slice); /* -?(0|[1-9][0-9]*), no fraction, no exponent */
bool slice_is_number(struct slice slice);
bool slice_equal(struct slice a, struct slice b); /* same text */

/* Appends the string that a string slice means, escapes resolved, as UTF-8; NULs are data.
 * Returns 0, or -EILSEQ when it holds a lone surrogate (nothing useful is in out then); out->error as ever. */
int slice_unescape(struct slice slice, struct buf *out);

#endif
