/* listen_internal - the parts of listen.h: how each kind of address becomes a listener. */
#ifndef SUPERVISOR_LISTEN_INTERNAL_H
#define SUPERVISOR_LISTEN_INTERNAL_H

#include "supervisor/listen.h"
#include "supervisor/listen_address.h"

/* How many connections may wait to be accepted; the kernel lowers it to net.core.somaxconn. */
#define LISTEN_BACKLOG 4096

#define LISTEN_TOO_MANY "there are more addresses than this server can listen on, which is 16"
_Static_assert(MAX_LISTENERS == 16, "the sentence has the number");

/* Takes a listening socket over, and finds its kind and its name. Returns the new listener, or NULL when there is no
 * place or no name; then fd is still the caller's. */
struct listener *listeners_add(struct listeners *listeners, int fd);

/* Opens all that an address of the kinds LISTEN_ANY, LISTEN_NAME and LISTEN_BRACKET means. Contract as listen_open, but
 * what was opened before stays. */
int listen_inet(struct listeners *listeners, const struct listen_address *address, char *error,
		size_t error_size);

/* Makes a unix socket, in the place of a stale one that was ours, and gives it to the user that config->user means.
 * Contract as listen_inet. */
int listen_unix(struct listeners *listeners, const char *path, const char *user, char *error,
		size_t error_size);

#endif
