/* http - serves MCP clients over HTTP: Streamable HTTP or SSE, and beside them /healthz and /metrics.
 *
 * SIGTERM drains: nobody is accepted any more, calls that are there are answered, for at most drain_s seconds; then, or
 * at a second one, or at SIGINT and SIGHUP at once, what runs is killed. Exit 0. When the first sandbox cannot be had,
 * the server ends with the reason and the remedy on stderr: exit 69.
 */
#ifndef SUPERVISOR_HTTP_H
#define SUPERVISOR_HTTP_H

#include "supervisor/access.h"
#include "supervisor/config.h"
#include "supervisor/listen.h"
#include "supervisor/manager.h"
#include "supervisor/spawn.h"

/* What serving takes, all borrowed. */
struct http_spec {
	const struct config *config;
	const struct spawn_spec *spawn;
	struct listeners *listeners; /* closed when drain begins, and at the end */
	const struct access *access;
	bool has_token;		 /* access asks for one: for listen_log */
	struct manager *manager; /* may be closed; closed at the end */
};

/* The paths of a transport that want the token, for struct access_spec. */
const char *const *http_paths(enum transport transport, size_t *count);

/* Serves until a signal comes. Returns the exit code. */
int http_serve(const struct http_spec *spec);

#endif
