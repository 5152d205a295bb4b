/* head - a strict reader of the head of an HTTP request: request line and fields (RFC 9112, RFC 9110). Pure.
 *
 * Written by hand for a reason: the one library at hand, evhttp (libevent 2.1.12), cuts a header at a NUL, takes bare
 * LF, "Name : value", folded lines, "Content-Length: +2" and "Transfer-Encoding: gzip, chunked", reads what follows
 * "Transfer-Encoding:<tab>chunked" or the head of a HEAD request as the next request, keeps duplicates, and calls back
 * only after the whole body. What is taken here every parser reads in the same way, so that a proxy in front of us sees
 * the same request; a test compares with evhttp. No recursion, no allocation; never reads beyond len.
 */
#ifndef SUPERVISOR_HEAD_H
#define SUPERVISOR_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"
#include "supervisor/slice.h"

struct head_field {
	struct slice name;
	struct slice value; /* without white space around it; may be empty, data is never NULL */
};

enum head_body {
	HEAD_BODY_NONE,	  /* no length and no encoding, or a length of 0 */
	HEAD_BODY_LENGTH, /* as many bytes as length says */
	HEAD_BODY_CHUNKED
};

/* All slices point into the text that was read, but for a path that the target left out. */
struct head {
	struct slice
		method; /* as it stands: GET, HEAD, POST, PUT, DELETE, OPTIONS, TRACE or PATCH */
	struct slice target;	/* as it stands */
	struct slice authority; /* of a target in absolute-form, host[:port]; else data NULL */
	struct slice
		path; /* of the target, without the query, not decoded; never empty; "*" for OPTIONS */
	struct slice query; /* behind "?", maybe empty; data NULL when there is no "?" */
	unsigned int minor; /* HTTP/1.minor: 0 or 1 */
	enum head_body body;
	uint64_t length; /* of HEAD_BODY_LENGTH, bytes, at least 1; else 0 */
	bool expects_continue; /* the client of HTTP/1.1 waits for "100 Continue" before it sends its body */
	size_t count;
	struct head_field fields[HTTP_FIELDS];
};

/* Where a head ends: looks for the empty line. *at is where to go on, 0 at first; each call gets the same text, longer
 * than before. Returns the length of the head, its empty line included, or 0 while that has not come; the caller bounds
 * how long it may become. Bare LF counts as the end of a line here, so that a head that uses it is judged and refused. */
size_t head_end(const char *text, size_t len, size_t *at);

/* Reads text, which holds one whole head as head_end found it and must stay where it is while head is used. Returns 0, or
 * the HTTP status that refuses it (400, 417, 431, 501, 505) with a short literal in *reason; then nothing in head counts.
 * Duplicates of Authorization and X-MCP-AUTH are left to access, which answers them as a wrong token. */
int head_parse(const char *text, size_t len, struct head *head, const char **reason);

/* The value of the first field of that name, in any case; data NULL when there is none. */
struct slice head_get(const struct head *head, const char *name);

/* How many fields of that name there are. */
size_t head_count(const struct head *head, const char *name);

/* Says whether two texts are the same but for the case of letters of ASCII. */
bool head_alike(struct slice a, struct slice b);

/* Says whether a byte may stand in a token, such as a method or a field's name (RFC 9110, 5.6.2). */
bool head_is_token(char c);

/* Says whether a byte may stand in a field's value: no control character but the tab; bytes above 0x7f are data. */
bool head_is_text(char c);

#endif
