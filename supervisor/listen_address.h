/* listen_address - how an address to listen on is written: one item of MCP_EXEC_ADDR. Pure: nothing is looked up.
 *
 *   :8080  host:8080  127.0.0.1:8080  [::1]:8080  [fe80::1%eth0]:8080  unix:/run/mcp-exec.sock
 */
#ifndef SUPERVISOR_LISTEN_ADDRESS_H
#define SUPERVISOR_LISTEN_ADDRESS_H

#include <stddef.h>
#include <stdint.h>

enum listen_address_kind {
	LISTEN_ANY,	/* every address of the machine, IPv4 and IPv6 */
	LISTEN_NAME,	/* a name or an IPv4 address */
	LISTEN_BRACKET, /* an IPv6 address, with %interface or without */
	LISTEN_PATH	/* a unix socket */
};

struct listen_address {
	enum listen_address_kind kind;
	uint16_t port;	/* 0: one that is free; not of LISTEN_PATH */
	char text[256]; /* host, IPv6 address or path; fits sun_path then; "" of LISTEN_ANY */
};

/* Reads the next item behind *list, which is moved; items are separated by commas and blanks. Returns 1 with address, 0
 * when there is no more, or -EINVAL with one sentence in error that has the right spelling. */
int listen_address_next(const char **list, struct listen_address *address, char *error,
			size_t error_size);

#endif
