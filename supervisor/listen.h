/* listen - the sockets that clients of http and sse connect to: opened from MCP_EXEC_ADDR, or handed over by systemd.
 *
 * All of it happens while we may still be root. Nobody is accepted here.
 */
#ifndef SUPERVISOR_LISTEN_H
#define SUPERVISOR_LISTEN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "supervisor/config.h"

#define MAX_LISTENERS 16

/* Who can reach a listener: other machines, this machine, whoever may write to the file. */
enum listener_kind { LISTENER_OPEN, LISTENER_LOOPBACK, LISTENER_UNIX };

struct listener {
	int fd;
	enum listener_kind kind;
	char name[128]; /* as it is logged: 127.0.0.1:8080, [::]:8080, unix:/path */
	bool made; /* a unix socket that we made, and that is ours to remove while it is this inode */
	dev_t device;
	ino_t inode;
};

struct listeners {
	struct listener list[MAX_LISTENERS];
	size_t count;
	bool from_systemd; /* descriptors that were handed over; MCP_EXEC_ADDR was not looked at */
};

/* Takes the sockets of socket activation when there are any, else opens those of config->addr, else the default: port
 * 8080, on loopback alone while there is no token. All are non-blocking and close-on-exec, and owned by listeners. A
 * unix socket made by root is given to the user that config->user means. Logs what is unused; the listeners themselves
 * are logged by listen_log.
 * Returns 0; -EINVAL when a setting or what was handed over is wrong, or another negative errno when the system refuses
 * an address, both with one sentence in error and with nothing left open. */
int listen_open(struct listeners *listeners, const struct config *config, bool has_token,
		char *error, size_t error_size);

/* One line of log for each listener, and a warning, in the log and in words on stderr, for each that other machines can
 * reach while there is no token. */
void listen_log(const struct listeners *listeners, bool has_token);

/* Closes them, and removes the unix sockets that we made, if they are still the same and we still may. */
void listen_close(struct listeners *listeners);

#endif
