/* manager - see the header. */
#include "supervisor/manager.h"

#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "supervisor/ascii.h"

#define NUMBERS_MS 5000
#define PING_MIN_US 1000
/* The parts of its time after which the watchdog is answered, and after which an answer that failed is tried again. */
#define PING_PART 2
#define PING_AGAIN_PART 16

struct manager_wish manager_take(void)
{
	const char *pid = getenv("WATCHDOG_PID");
	uint64_t us = ascii_number(getenv("WATCHDOG_USEC"));
	struct manager_wish wish = {.socket = getenv("NOTIFY_SOCKET")};

	if (us != UINT64_MAX && (pid == NULL || ascii_number(pid) == (uint64_t)getpid()))
		wish.watchdog_us = us;
	(void)unsetenv("NOTIFY_SOCKET");
	(void)unsetenv("WATCHDOG_USEC");
	(void)unsetenv("WATCHDOG_PID");
	return wish;
}

/* An abstract name begins with a zero byte and has no end but its length: unix(7). */
static int make_address(const char *name, struct sockaddr_un *address, socklen_t *size)
{
	size_t len = strlen(name);

	*address = (struct sockaddr_un){.sun_family = AF_UNIX};
	if ((name[0] != '/' && name[0] != '@') || len < 2 || len >= sizeof(address->sun_path))
		return -EINVAL;
	memcpy(address->sun_path, name, len);
	if (name[0] == '@')
		address->sun_path[0] = '\0';
	*size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len);
	return 0;
}

int manager_open(struct manager *manager, const struct manager_wish *wish)
{
	struct sockaddr_un address;
	socklen_t size = 0;
	int r;

	*manager = (struct manager){.fd = -1};
	if (wish->socket == NULL || *wish->socket == '\0')
		return 0;
	r = make_address(wish->socket, &address, &size);
	if (r < 0)
		return r;
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, size) < 0)
		return -errno;
	manager->fd = take_fd(&fd);
	manager->watchdog_us = wish->watchdog_us;
	return 0;
}

static bool put(const struct manager *manager, const char *text)
{
	return send(manager->fd, text, strlen(text), MSG_NOSIGNAL) >= 0;
}

static void arm(const struct manager *manager, unsigned int part)
{
	uint64_t us = manager->watchdog_us / part > PING_MIN_US ? manager->watchdog_us / part
								: PING_MIN_US;
	const struct timeval delay = {.tv_sec = (time_t)(us / 1000000),
				      .tv_usec = (suseconds_t)(us % 1000000)};

	event_add(manager->ping, &delay);
}

static void on_ping(evutil_socket_t none, short what, void *ctx)
{
	const struct manager *manager = ctx;

	(void)none;
	(void)what;
	arm(manager, put(manager, "WATCHDOG=1") ? PING_PART : PING_AGAIN_PART);
}

int manager_watch(struct manager *manager, struct event_base *base)
{
	if (manager->fd < 0 || manager->watchdog_us == 0)
		return 0;
	manager->ping = evtimer_new(base, on_ping, manager);
	if (manager->ping == NULL)
		return -ENOMEM;
	arm(manager, PING_PART);
	return 0;
}

static bool is_new(const struct manager *manager, const struct manager_news *news, uint64_t now)
{
	const struct manager_news *last = &manager->last;

	if (!manager->told || news->state != last->state)
		return true;
	return (news->running != last->running || news->waiting != last->waiting) &&
	       now >= manager->last_ms + NUMBERS_MS;
}

void manager_tell(struct manager *manager, const struct manager_news *news)
{
	static const char *const states[] = {
		[MANAGER_STARTS] = "Waits for the first sandbox",
		[MANAGER_SERVES] = "Serves",
		[MANAGER_HAS_NO_SANDBOX] = "No sandbox can be had, the log says why",
		[MANAGER_ENDS] = "Ends",
	};
	bool ready = manager->ready || news->state == MANAGER_SERVES;
	uint64_t now = clock_ms();
	char text[256];

	if (manager->fd < 0 || !is_new(manager, news, now))
		return;
	snprintf(text, sizeof(text),
		 "%s%sSTATUS=%s; calls: %" PRIu64 " running, %" PRIu64 " waiting",
		 ready && !manager->ready ? "READY=1\n" : "",
		 news->state == MANAGER_ENDS ? "STOPPING=1\n" : "", states[news->state],
		 news->running, news->waiting);
	if (!put(manager, text))
		return;
	manager->told = true;
	manager->ready = ready;
	manager->last = *news;
	manager->last_ms = now;
}

void manager_close(struct manager *manager)
{
	if (manager->ping != NULL)
		event_free(manager->ping);
	manager->ping = NULL;
	cleanup_fd(&manager->fd);
}
