/* loop - event bases, and the signals that end a server. */
#ifndef SUPERVISOR_LOOP_H
#define SUPERVISOR_LOOP_H

#include <event2/event.h>

/* A new event base that can watch files, too (stdin may be one, and epoll refuses those). NULL when there is none. */
struct event_base *loop_new_for_files(void);

enum { LOOP_TERM, LOOP_INT, LOOP_HUP, LOOP_SIGNALS };

/* Calls back at SIGTERM, SIGINT and SIGHUP. A SIGHUP that was ignored when we were started, as by nohup(1), stays
 * ignored. events are owned by the caller, see loop_unwatch_signals. Returns 0 or -ENOMEM. */
int loop_watch_signals(struct event_base *base, struct event *events[static LOOP_SIGNALS],
		       event_callback_fn callback, void *ctx);
void loop_unwatch_signals(struct event *events[static LOOP_SIGNALS]);

#endif
