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

/* How many descriptors, from 3 on, systemd handed over to this very process (sd_listen_fds(3)); 0 when none. Removes
 * its variables from the environment, whomever they were meant for. */
uint64_t listen_handed_over(void);

/* Takes handed_over descriptors from 3 on when there are any, else opens the addresses of config->addr, else the default:
 * port 8080, on loopback alone while there is no token. All are non-blocking and close-on-exec, and owned by listeners. A
 * unix socket made by root is given to the user that harden_user will make us.
 * Returns 0; -EINVAL when a setting or what was handed over is wrong; or another negative errno when the system refuses
 * an address. Then there is one sentence in error, and nothing is left open. */
int listen_open(struct listeners *listeners, const struct config *config, bool has_token,
		uint64_t handed_over, char *error, size_t error_size);

/* One line of log for each listener. For each that other machines can reach while there is no token a warning beside
 * it, and one sentence on stderr for people. */
void listen_log(const struct listeners *listeners, bool has_token);

/* Closes them, and removes the unix sockets that we made, if they are still the same and we still may. */
void listen_close(struct listeners *listeners);

#endif
