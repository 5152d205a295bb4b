/* listen - theory of operation
 *
 * Where the sockets come from is decided once: systemd's win, for whoever wrote a socket unit has said there who may
 * connect. What was opened is read back from the kernel (getsockname), so that name, port and kind are what they are and
 * not what was asked for.
 */
#include "supervisor/listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/log.h"
#include "supervisor/ascii.h"
#include "supervisor/listen_internal.h"

#define FIRST_HANDED_OVER 3 /* SD_LISTEN_FDS_START of sd_listen_fds(3) */
#define DEFAULT_LOOPBACK "localhost:8080"
#define DEFAULT_OPEN ":8080"
#define UNIX_PREFIX "unix:"

union name {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
	struct sockaddr_un local;
};

static bool is_loopback_v4(const void *address)
{
	return *(const unsigned char *)address == 127;
}

static bool is_loopback_v6(const struct in6_addr *address)
{
	return IN6_IS_ADDR_LOOPBACK(address) ||
	       (IN6_IS_ADDR_V4MAPPED(address) && is_loopback_v4(&address->s6_addr[12]));
}

static void name_v4(struct listener *listener, const struct sockaddr_in *address)
{
	char text[INET_ADDRSTRLEN] = "";

	inet_ntop(AF_INET, &address->sin_addr, text, sizeof(text));
	snprintf(listener->name, sizeof(listener->name), "%s:%u", text, ntohs(address->sin_port));
	listener->kind = is_loopback_v4(&address->sin_addr) ? LISTENER_LOOPBACK : LISTENER_OPEN;
}

static void name_v6(struct listener *listener, const struct sockaddr_in6 *address)
{
	char text[INET6_ADDRSTRLEN] = "", interface[IF_NAMESIZE] = "";
	int only_v6 = 1;
	socklen_t len = sizeof(only_v6);

	/* As it was asked for: [::] alone would mean IPv6 alone. */
	(void)getsockopt(listener->fd, IPPROTO_IPV6, IPV6_V6ONLY, &only_v6, &len);
	if (!only_v6 && IN6_IS_ADDR_UNSPECIFIED(&address->sin6_addr)) {
		snprintf(listener->name, sizeof(listener->name), ":%u", ntohs(address->sin6_port));
		listener->kind = LISTENER_OPEN;
		return;
	}
	inet_ntop(AF_INET6, &address->sin6_addr, text, sizeof(text));
	if (address->sin6_scope_id != 0)
		(void)if_indextoname(address->sin6_scope_id, interface);
	snprintf(listener->name, sizeof(listener->name), "[%s%s%s]:%u", text, *interface ? "%" : "",
		 interface, ntohs(address->sin6_port));
	listener->kind = is_loopback_v6(&address->sin6_addr) ? LISTENER_LOOPBACK : LISTENER_OPEN;
}

/* An abstract name begins with a zero byte and has no end but its length: unix(7). */
static void name_local(struct listener *listener, const struct sockaddr_un *address, size_t len)
{
	const char *path = address->sun_path;
	size_t used = len - offsetof(struct sockaddr_un, sun_path);
	bool abstract = used > 0 && path[0] == '\0';

	snprintf(listener->name, sizeof(listener->name), UNIX_PREFIX "%s%.*s", abstract ? "@" : "",
		 (int)used - abstract, path + abstract);
	listener->kind = LISTENER_UNIX;
}

static bool name_listener(struct listener *listener)
{
	union name name = {.any = {.sa_family = AF_UNSPEC}};
	socklen_t len = sizeof(name);

	if (getsockname(listener->fd, &name.any, &len) < 0)
		return false;
	if (name.any.sa_family == AF_INET)
		name_v4(listener, &name.v4);
	else if (name.any.sa_family == AF_INET6)
		name_v6(listener, &name.v6);
	else if (name.any.sa_family == AF_UNIX)
		name_local(listener, &name.local, len);
	else
		return false;
	return true;
}

struct listener *listeners_add(struct listeners *listeners, int fd)
{
	struct listener *listener = &listeners->list[listeners->count];

	if (listeners->count == MAX_LISTENERS)
		return NULL;
	*listener = (struct listener){.fd = fd};
	if (!name_listener(listener))
		return NULL;
	listeners->count++;
	return listener;
}

uint64_t listen_handed_over(void)
{
	uint64_t pid = ascii_number(getenv("LISTEN_PID"));
	uint64_t count = getenv("LISTEN_FDS") != NULL ? ascii_number(getenv("LISTEN_FDS")) : 0;

	(void)unsetenv("LISTEN_PID");
	(void)unsetenv("LISTEN_PIDFDID");
	(void)unsetenv("LISTEN_FDS");
	(void)unsetenv("LISTEN_FDNAMES");
	return pid == (uint64_t)getpid() ? count : 0;
}

static int get_option(int fd, int option)
{
	int value = -1;
	socklen_t len = sizeof(value);

	return getsockopt(fd, SOL_SOCKET, option, &value, &len) < 0 ? -1 : value;
}

static const char *wrong_with(int fd)
{
	int domain = get_option(fd, SO_DOMAIN);

	if (fcntl(fd, F_GETFD) < 0)
		return "is not open";
	if (domain < 0)
		return "is no socket";
	if (get_option(fd, SO_TYPE) != SOCK_STREAM)
		return "is no stream socket (ListenStream= in the socket unit)";
	if (domain != AF_INET && domain != AF_INET6 && domain != AF_UNIX)
		return "is a socket of another family than IPv4, IPv6 and unix";
	if (get_option(fd, SO_ACCEPTCONN) != 1)
		return "does not listen (the socket unit needs Accept=no)";
	return NULL;
}

static int take_one(struct listeners *listeners, int fd, char *error, size_t size)
{
	const char *wrong = wrong_with(fd);
	int flags = fcntl(fd, F_GETFL);

	if (wrong == NULL &&
	    (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0 ||
	     listeners_add(listeners, fd) == NULL))
		wrong = "cannot be used";
	if (wrong == NULL)
		return 0;
	snprintf(error, size,
		 "Descriptor %d, which systemd handed over (LISTEN_FDS), %s; listening stream "
		 "sockets are needed.",
		 fd, wrong);
	return -EINVAL;
}

static int take_handed_over(struct listeners *listeners, const struct config *config,
			    uint64_t count, char *error, size_t size)
{
	int r = 0;

	if (count > MAX_LISTENERS) {
		snprintf(error, size,
			 "LISTEN_FDS must be a number from 1 to %d; the socket unit may have so "
			 "many ListenStream= lines.",
			 MAX_LISTENERS);
		return -EINVAL;
	}
	listeners->from_systemd = true;
	if (config->addr != NULL)
		log_event(LOG_INFO, "config.addr_unused", LOG_U64("descriptors", count));
	for (int i = 0; i < (int)count && r == 0; i++)
		r = take_one(listeners, FIRST_HANDED_OVER + i, error, size);
	return r;
}

static int open_address(struct listeners *listeners, const struct listen_address *address,
			const char *user, char *error, size_t size)
{
	if (address->kind == LISTEN_PATH)
		return listen_unix(listeners, address->text, user, error, size);
	return listen_inet(listeners, address, error, size);
}

static int open_addresses(struct listeners *listeners, const char *list, const char *user,
			  char *error, size_t size)
{
	struct listen_address address;
	int r;

	while ((r = listen_address_next(&list, &address, error, size)) > 0) {
		r = open_address(listeners, &address, user, error, size);
		if (r < 0)
			return r;
	}
	if (r == 0 && listeners->count == 0) {
		snprintf(error, size,
			 "MCP_EXEC_ADDR (--addr) has no address; it must be :PORT, HOST:PORT, "
			 "[IPV6]:PORT or unix:/PATH.");
		return -EINVAL;
	}
	return r;
}

int listen_open(struct listeners *listeners, const struct config *config, bool has_token,
		uint64_t handed_over, char *error, size_t error_size)
{
	const char *list = has_token ? DEFAULT_OPEN : DEFAULT_LOOPBACK;
	int r;

	*listeners = (struct listeners){.count = 0};
	if (config->addr != NULL)
		list = config->addr;
	if (handed_over > 0)
		r = take_handed_over(listeners, config, handed_over, error, error_size);
	else
		r = open_addresses(listeners, list, config->user, error, error_size);
	if (r < 0)
		listen_close(listeners);
	return r;
}

static const char *kind_name(enum listener_kind kind)
{
	static const char *const names[] = {[LISTENER_OPEN] = "open",
					    [LISTENER_LOOPBACK] = "loopback",
					    [LISTENER_UNIX] = "unix"};

	return names[kind];
}

void listen_log(const struct listeners *listeners, bool has_token)
{
	const struct listener *open = NULL;

	for (size_t i = 0; i < listeners->count; i++) {
		const struct listener *listener = &listeners->list[i];

		log_event(LOG_INFO, "http.listen", LOG_SETTING("addr", listener->name),
			  LOG_STATIC("kind", kind_name(listener->kind)),
			  LOG_STATIC("auth", has_token ? "token" : "none"));
		if (has_token || listener->kind != LISTENER_OPEN)
			continue;
		log_event(LOG_WARN, "http.unguarded", LOG_SETTING("addr", listener->name));
		open = listener;
	}
	if (open != NULL)
		fprintf(stderr,
			"%smcp-exec: Whoever can reach %s may run programs here, for no token is "
			"set: set MCP_EXEC_AUTH_TOKEN, or let MCP_EXEC_ADDR be 127.0.0.1:8080 or "
			"a unix socket.\n",
			log_prefix(LOG_WARN), open->name);
}

/* Somebody else may have put another socket there meanwhile, and our user may not be allowed to: both are fine. */
static void remove_made(const struct listener *listener)
{
	const char *path = listener->name + strlen(UNIX_PREFIX);
	struct stat status;

	if (lstat(path, &status) == 0 && status.st_dev == listener->device &&
	    status.st_ino == listener->inode)
		(void)unlink(path);
}

void listen_close(struct listeners *listeners)
{
	for (size_t i = 0; i < listeners->count; i++) {
		if (listeners->list[i].made)
			remove_made(&listeners->list[i]);
		close(listeners->list[i].fd);
	}
	listeners->count = 0;
}
