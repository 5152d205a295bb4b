/* access - may this request come in? Judges the head alone, before a byte of a body is read. Pure.
 *
 * In this order: Origin (403), Host (403), unknown path (404), /healthz (open to all), CORS preflight, token (401).
 *
 * Origin is what a browser says of the page that sends; programs send none and pass. Host is what stops a page whose
 * name was made to resolve to our address (DNS rebinding): such a page is of the same origin to its browser, but has its
 * own name in Host. It is checked on loopback, and everywhere when a list of hosts was given. A request without Host is
 * HTTP/1.0 and comes from no browser, so where no list was given it passes as long as it has no Origin either.
 */
#ifndef SUPERVISOR_ACCESS_H
#define SUPERVISOR_ACCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/head.h"

/* The one path that is open to all: GET and HEAD without a body. Host is not checked there, as balancers send any. */
#define ACCESS_HEALTH_PATH "/healthz"

struct access; /* the lists, parsed once */

/* Where the request came in, as listener_kind has it. */
enum access_place { ACCESS_OPEN, ACCESS_LOOPBACK, ACCESS_UNIX };

struct access_spec {
	const char *
		origins; /* MCP_EXEC_ALLOWED_ORIGINS; NULL or empty: none but those of this machine */
	const char *hosts; /* MCP_EXEC_ALLOWED_HOSTS; the same */
	/* Whether that is the token, in a time that does not depend on the content. NULL: no token is asked for. */
	bool (*token_matches)(const char *data, size_t len);
	const char *const
		*paths; /* that exist and want the token; the array must outlive the access */
	size_t n_paths;
};

/* Reads the lists: values separated by commas, blanks or both. Copies them. An origin is scheme://host[:port], a host is
 * name[:port], and without a port any. Returns 0, -ENOMEM, or -EINVAL with one sentence in error that names the variable
 * and shows a right value. *access is freed by access_free. */
int access_new(const struct access_spec *spec, struct access **access, char *error, size_t size);

/* Frees; NULL is allowed. */
void access_free(struct access *access);

enum access_verdict {
	ACCESS_PASS,
	ACCESS_PREFLIGHT, /* OPTIONS of a browser before its request: 204 and the CORS fields for answer->origin */
	ACCESS_REFUSED
};

struct access_answer {
	int status; /* of a refusal: 400, 401, 403, 404, 405; else 0 */
	const char *
		message; /* of a refusal, literal; a 405 is for /healthz, and allows GET and HEAD */
	bool wrong_token; /* of a 401: a token came, and it is wrong */
	struct slice
		origin; /* the allowed Origin of the request, for CORS fields; data NULL: none. Points into the
				head; set whatever the verdict */
};

/* Judges a head that head_parse took. Paths are compared as they are sent, but for one "/" at their end. */
enum access_verdict access_judge(const struct access *access, const struct head *head,
				 enum access_place place, struct access_answer *answer);

/* Says whether that Origin may come in. */
bool access_origin_allowed(const struct access *access, const char *origin, size_t len);

#endif
