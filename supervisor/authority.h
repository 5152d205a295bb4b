/* authority - host[:port], as a Host field, a target in absolute-form and an Origin have it (RFC 3986, 3.2). Pure.
 *
 * Narrower than the RFC: no user information, no empty port, and of the characters of a name only those that names have,
 * so neither "*" nor ",". Proxies and browsers read what is left in the same way.
 */
#ifndef SUPERVISOR_AUTHORITY_H
#define SUPERVISOR_AUTHORITY_H

#include <stdbool.h>

#include "supervisor/scan.h"

#define AUTHORITY_NO_PORT (-1)

struct authority {
	struct slice host; /* never empty; an IPv6 address with its brackets */
	int port;	   /* 0 to 65535, or AUTHORITY_NO_PORT */
};

/* Cuts text up; the slices point into it. Returns whether it is one. */
bool authority_parse(struct slice text, struct authority *authority);

#endif
