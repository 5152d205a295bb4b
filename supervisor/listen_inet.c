/* listen_inet - IPv4 and IPv6: one address of the settings may be several sockets. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "supervisor/listen_internal.h"

/* How often another free port is tried until one is free in all families. */
#define PORT_TRIES 16

/* The socket addresses of one address, and which of them may be missing. */
struct group {
	struct sockaddr_storage list[MAX_LISTENERS + 1]; /* so that too many are noticed */
	size_t count;
	bool dual;     /* IPv6's "any" is to take IPv4, too */
	bool optional; /* IPv6 is used where the machine has it */
};

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
	/* Both have the port in the same place. */
	((struct sockaddr_in *)address)->sin_port = htons(port);
}

static uint16_t get_port(int fd)
{
	struct sockaddr_in6 address = {.sin6_port = 0};
	socklen_t len = sizeof(address);

	if (getsockname(fd, (struct sockaddr *)&address, &len) < 0)
		return 0;
	return ntohs(address.sin6_port);
}

static socklen_t size_of(const struct sockaddr_storage *address)
{
	return address->ss_family == AF_INET6 ? sizeof(struct sockaddr_in6)
					      : sizeof(struct sockaddr_in);
}

/* SO_REUSEADDR: connections of a server that has just ended do not keep the port. */
static int open_socket(const struct sockaddr_storage *address, bool dual, int *out)
{
	_cleanup_fd_ int fd =
		socket(address->ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int on = 1, alone = !dual;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) < 0)
		return -errno;
	if (address->ss_family == AF_INET6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &alone, sizeof(alone)) < 0)
		return -errno;
	if (bind(fd, (const struct sockaddr *)address, size_of(address)) < 0 ||
	    listen(fd, LISTEN_BACKLOG) < 0)
		return -errno;
	*out = take_fd(&fd);
	return 0;
}

static int open_one(struct listeners *listeners, const struct sockaddr_storage *address, bool dual,
		    uint16_t *port)
{
	struct sockaddr_storage wanted = *address;
	_cleanup_fd_ int fd = -1;
	int r;

	set_port(&wanted, *port);
	r = open_socket(&wanted, dual, &fd);
	if (r < 0)
		return r;
	*port = get_port(fd);
	if (listeners_add(listeners, fd) == NULL)
		return -E2BIG;
	(void)take_fd(&fd);
	return 0;
}

static bool is_missing(const struct sockaddr_storage *address, int r)
{
	return address->ss_family == AF_INET6 && (r == -EAFNOSUPPORT || r == -EADDRNOTAVAIL);
}

static void close_from(struct listeners *listeners, size_t count)
{
	while (listeners->count > count)
		close(listeners->list[--listeners->count].fd);
}

/* at: the index of the address that failed. */
static int open_all(struct listeners *listeners, const struct group *group, uint16_t port,
		    bool same, size_t *at)
{
	uint16_t wanted = port;
	int r = 0;

	for (*at = 0; *at < group->count; ++*at) {
		const struct sockaddr_storage *address = &group->list[*at];

		if (!same)
			wanted = port;
		r = open_one(listeners, address, group->dual, &wanted);
		if (r < 0 && !(group->optional && is_missing(address, r)))
			return r;
	}
	return 0;
}

/* With port 0 the first socket gets a free port, and the others want the same. */
static int open_group(struct listeners *listeners, const struct group *group, uint16_t port,
		      size_t *at)
{
	size_t before = listeners->count;
	int r = -EADDRINUSE;

	for (int i = 0; i <= PORT_TRIES && r == -EADDRINUSE; i++) {
		close_from(listeners, before);
		r = open_all(listeners, group, port, i < PORT_TRIES, at);
		if (port != 0)
			break;
	}
	return r;
}

/* What to do about it, behind "ADDRESS cannot be listened on". */
static const char *remedy(int r)
{
	switch (r) {
	case -EADDRINUSE:
		return "it is in use, by another program or by an address that stands before it; "
		       "end that program, or choose another port";
	case -EACCES:
		return "a port below 1024 takes more rights; start as root, which is given up "
		       "afterwards, let systemd open it, or choose a higher port";
	case -EADDRNOTAVAIL:
		return "this machine does not have that address";
	case -EAFNOSUPPORT:
		return "this machine has no IPv6";
	case -EINVAL:
		return "an IPv6 address that begins with fe80 needs its interface, as in "
		       "[fe80::1%eth0]:8080";
	case -E2BIG:
		return LISTEN_TOO_MANY;
	default:
		return strerror(-r);
	}
}

static void explain(const struct sockaddr_storage *address, uint16_t port, int r, char *error,
		    size_t size)
{
	char text[INET6_ADDRSTRLEN] = "";
	bool v6 = address->ss_family == AF_INET6;

	if (v6)
		inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)address)->sin6_addr, text,
			  sizeof(text));
	else
		inet_ntop(AF_INET, &((const struct sockaddr_in *)address)->sin_addr, text,
			  sizeof(text));
	snprintf(error, size, "%s%s%s:%u cannot be listened on (MCP_EXEC_ADDR, --addr): %s.",
		 v6 ? "[" : "", text, v6 ? "]" : "", port, remedy(r));
}

/* A name may be in /etc/hosts twice. */
static bool is_known(const struct group *group, const struct sockaddr_storage *address)
{
	for (size_t i = 0; i < group->count; i++)
		if (memcmp(&group->list[i], address, sizeof(*address)) == 0)
			return true;
	return false;
}

static void add(struct group *group, const struct sockaddr *address, size_t len)
{
	struct sockaddr_storage whole;

	memset(&whole, 0, sizeof(whole));
	memcpy(&whole, address, len);
	if (group->count <= MAX_LISTENERS && !is_known(group, &whole))
		group->list[group->count++] = whole;
}

static void add_v4(struct group *group, in_addr_t address)
{
	const struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};

	add(group, (const struct sockaddr *)&v4, sizeof(v4));
}

static void add_v6(struct group *group, const struct in6_addr *address)
{
	const struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_addr = *address};

	add(group, (const struct sockaddr *)&v6, sizeof(v6));
}

static int look_up(struct group *group, const struct listen_address *address, char *error,
		   size_t size)
{
	const struct addrinfo hints = {
		.ai_family = address->kind == LISTEN_BRACKET ? AF_INET6 : AF_UNSPEC,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = address->kind == LISTEN_BRACKET ? AI_NUMERICHOST : 0};
	struct addrinfo *found;
	int r = getaddrinfo(address->text, NULL, &hints, &found);

	if (r == 0) {
		for (const struct addrinfo *entry = found; entry != NULL; entry = entry->ai_next)
			add(group, entry->ai_addr, entry->ai_addrlen);
		freeaddrinfo(found);
		return 0;
	}
	snprintf(error, size,
		 "\"%s\" in MCP_EXEC_ADDR (--addr) cannot be looked up: %s; it must be a name or "
		 "an address of this machine.",
		 address->text, r == EAI_SYSTEM ? strerror(errno) : gai_strerror(r));
	return r == EAI_NONAME ? -EINVAL : -EHOSTUNREACH;
}

/* Not every machine names both addresses of localhost, and nobody but us should be able to say what it is. */
static int find_addresses(struct group *group, const struct listen_address *address, char *error,
			  size_t size)
{
	if (address->kind == LISTEN_NAME && strcasecmp(address->text, "localhost") == 0) {
		group->optional = true;
		add_v4(group, INADDR_LOOPBACK);
		add_v6(group, &in6addr_loopback);
		return 0;
	}
	if (address->kind != LISTEN_ANY)
		return look_up(group, address, error, size);
	group->dual = true;
	add_v6(group, &in6addr_any);
	return 0;
}

int listen_inet(struct listeners *listeners, const struct listen_address *address, char *error,
		size_t error_size)
{
	struct group group = {.count = 0};
	size_t at = 0;
	int r = find_addresses(&group, address, error, error_size);

	if (r < 0)
		return r;
	r = open_group(listeners, &group, address->port, &at);
	if (r < 0 && address->kind == LISTEN_ANY && is_missing(&group.list[0], r)) {
		group.count = 0;
		add_v4(&group, INADDR_ANY);
		r = open_group(listeners, &group, address->port, &at);
	}
	if (r < 0)
		explain(&group.list[at], address->port, r, error, error_size);
	/* Of what the system refuses this is none: it is the setting that is wrong. */
	return r == -E2BIG ? -EINVAL : r;
}
