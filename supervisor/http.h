/* http - serves Streamable HTTP and SSE: not here yet, this only waits for SIGTERM. */
#ifndef SUPERVISOR_HTTP_H
#define SUPERVISOR_HTTP_H

#include "supervisor/config.h"
#include "supervisor/listen.h"
#include "supervisor/spawn.h"

/* Serves the listeners until SIGTERM or SIGINT. Returns the exit code. */
int http_serve(const struct config *config, const struct spawn_spec *spec,
	       struct listeners *listeners);

#endif
