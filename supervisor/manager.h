/* manager - tells the service manager that started us whether we serve, by the protocol of sd_notify(3): it is started
 * when there is a sandbox, is asked to wait while calls end, and ends us when the event loop stands still.
 *
 * Without libsystemd: all of it is one datagram with a few lines of text to a socket that a variable names, and that
 * library is large, in a process that should have little, and needless for everybody who has no such service.
 *
 * On stdio nothing is told. There the answer to initialize is what a client waits for, and the variable may be that of
 * an editor, which is a service of its own.
 */
#ifndef SUPERVISOR_MANAGER_H
#define SUPERVISOR_MANAGER_H

#include <stdbool.h>
#include <stdint.h>

struct event;
struct event_base;

/* What the environment asks of us. */
struct manager_wish {
	const char *socket;   /* NULL: nobody wants to be told; borrowed from the environment */
	uint64_t watchdog_us; /* 0: no watchdog */
};

enum manager_state { MANAGER_STARTS, MANAGER_SERVES, MANAGER_HAS_NO_SANDBOX, MANAGER_ENDS };

/* How we are. Numbers, so that nothing of a caller's can be told. */
struct manager_news {
	enum manager_state state;
	uint64_t running; /* calls */
	uint64_t waiting;
};

struct manager {
	int fd; /* -1: nobody is told */
	uint64_t watchdog_us;
	struct event *ping; /* NULL: no watchdog, or not begun */
	bool ready;
	bool told;		  /* there is something in last */
	struct manager_news last; /* what was told, and when */
	uint64_t last_ms;
};

/* Reads NOTIFY_SOCKET, and WATCHDOG_USEC where WATCHDOG_PID is not another process's, and takes all three out of the
 * environment, so that no child believes to be meant. */
struct manager_wish manager_take(void);

/* Connects to the socket: while we may still be root, and before a filter. A manager that wants nothing is closed, see
 * manager_close. Returns 0; or a negative errno, and then the manager is closed, too: -EINVAL for a name that is
 * neither a path nor "@" and an abstract name, or too long. */
int manager_open(struct manager *manager, const struct manager_wish *wish);

/* From now on the loop answers the watchdog, twice in its time. base is borrowed until manager_close. Returns 0 or
 * -ENOMEM. */
int manager_watch(struct manager *manager, struct event_base *base);

/* Tells how we are, when that is new: a state at once, numbers alone only every few seconds. It never waits; what could
 * not be told is told at the next call, so this is to be called again and again. */
void manager_tell(struct manager *manager, const struct manager_news *news);

/* Ends it. Nothing is told. One that was closed may be closed again, or be told things. */
void manager_close(struct manager *manager);

#endif
