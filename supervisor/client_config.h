/* client_config - what a person puts into the settings of an MCP client, so that it starts this server or finds it. */
#ifndef SUPERVISOR_CLIENT_CONFIG_H
#define SUPERVISOR_CLIENT_CONFIG_H

#include <stddef.h>
#include <stdio.h>

#include "supervisor/options.h"

/* Writes the snippet for the client of that name to out, and for a person where it belongs to notes. The server in it is
 * this very program, or a container of an image, or one at a URL, as the options say; the settings that were given as
 * flags go in as arguments, which the caller has read once, so that no wrong one does. Without a name: lists the clients
 * on out. Returns 0; or, with one sentence in error, -EINVAL for what cannot be written or goes not together, the errno
 * with which our own path cannot be found, or -ENOMEM. */
int client_config_write(FILE *out, FILE *notes, struct options *options, char *error,
			size_t error_size);

#endif
