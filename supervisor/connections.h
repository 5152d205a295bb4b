/* connections - everything between a listening socket and one whole request that may come in.
 *
 * A connection is accepted, the head of each of its requests is judged (head, access) before a byte of the body is
 * asked for, the body is collected within bounds, and only then is there an exchange. What is refused is answered here.
 * Requests on one connection are served one after the other, in their order; what was sent ahead waits, bounded.
 *
 * Written by hand for a reason: evhttp (libevent 2.1.12) cannot have its requests judged before their bodies, has no
 * deadline for a whole request, does not notice a client that leaves while its answer is awaited, ends the process when
 * reading is on then, and frees connections without a word. With the head read here (head.h says why), a status line and
 * the sizes of chunks are all that was left for it. libevent gives the loop, the timers and the buffers.
 */
#ifndef SUPERVISOR_CONNECTIONS_H
#define SUPERVISOR_CONNECTIONS_H

#include <event2/event.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/access.h"
#include "supervisor/exchange.h"
#include "supervisor/listen.h"
#include "supervisor/metrics.h"

struct connections;

/* How long, in milliseconds; the reasons stand in limits.h. */
struct connections_times {
	uint32_t head_ms;
	uint32_t request_ms;
	uint32_t idle_ms;
	uint32_t stall_ms;
	uint32_t keep_alive_ms;
};

struct connections_spec {
	struct event_base *base;
	const struct listeners
		*listeners; /* non-blocking; stay open for as long as there are connections */
	const struct access *access;
	uint64_t body_max;   /* bytes of one request's content; 413 beyond */
	uint64_t answer_max; /* bytes of the longest answer; what is unread is bounded by it */
	uint32_t max_connections;
	const struct connections_times *times; /* NULL: those of limits.h */
	struct metrics *metrics;	       /* may be NULL */
	/* Called from the loop with a whole request. It answers the exchange, or keeps it after exchange_on_gone. */
	void (*serve)(struct exchange *exchange, void *ctx);
	void *ctx;
};

/* Begins to accept. What spec points to is borrowed; spec itself and its times are copied. Returns 0 or -ENOMEM. */
int connections_new(const struct connections_spec *spec, struct connections **made);

/* Drain: accepts nobody from now on, closes the connections that have no request, refuses the requests that are not
 * whole yet (503), and closes each of the others after its answer; serve is not called any more. The listening sockets
 * are left to their owner, who should close them now, so that clients are refused. */
void connections_stop(struct connections *connections);

/* How many there are, those that are being closed included: at most max_connections and one. */
size_t connections_count(const struct connections *connections);

/* Closes everything at once and frees it; gone is not called. Not to be called from serve or gone. NULL is fine. */
void connections_free(struct connections *connections);

#endif
