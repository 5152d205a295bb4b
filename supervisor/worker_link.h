/* worker_link - the one connection to the one worker: start, run, cancel, watch, start again.
 *
 *   DOWN ──start──▶ STARTING ──READY──▶ IDLE ──run──▶ BUSY
 *    ▲                 │                 ▲  │           │
 *    └──FAIL, EOF──────┴──EOF────────────┼──┴───EOF─────┤
 *                                        └────DONE,FAIL─┘
 *
 * EOF, a broken frame or the watchdog while BUSY fails the running call as LOST; it is never run a second time, for it
 * may have had effects. Only when the kernel says that the worker had not even received the run, none of it was executed
 * (UNREAD), and whoever gave it may give it again. The next worker_link_start is delayed after quick deaths (doubling from 100 ms to 5 s).
 * The supervisor believes no descriptor from the worker: seals and size are checked before anything is mapped.
 */
#ifndef SUPERVISOR_WORKER_LINK_H
#define SUPERVISOR_WORKER_LINK_H

#include <stdint.h>

#include "supervisor/call.h"
#include "supervisor/spawn.h"

struct event_base;
struct metrics;
struct worker_link;

enum link_state { LINK_DOWN, LINK_STARTING, LINK_IDLE, LINK_BUSY };

struct link_events {
	/* The worker is ready for a run: after READY, and after the end of each run. */
	void (*idle)(void *ctx);
	/* No sandbox can be had (FAIL instead of READY: stage, error), or the worker ended before READY
	 * (STAGE_WORKER and a positive errno). The link is DOWN. */
	void (*unusable)(void *ctx, unsigned int stage, int error);
	/* The run ended; outcome is borrowed. queue_us is not filled in. Followed by idle, or by nothing when the link
	 * went down with it (OUTCOME_LOST). */
	void (*ended)(void *ctx, uint64_t run_id, const struct outcome *outcome);
	/* Instead of ended, for a run that was not cancelled: the worker ended before it had received it. The link is
	 * DOWN. */
	void (*unread)(void *ctx, uint64_t run_id);
};

/* Makes a link that is DOWN. spec and metrics are borrowed for its life; metrics counts starts and may be NULL.
 * Returns 0 or a negative errno. */
int worker_link_new(struct event_base *base, const struct spawn_spec *spec, struct metrics *metrics,
		    const struct link_events *events, void *ctx, struct worker_link **link);

/* Starts the worker if the link is DOWN (after the back-off, if one is due); does nothing otherwise.
 * What comes of it is told by idle or unusable, never from within this call. */
void worker_link_start(struct worker_link *link);

enum link_state worker_link_state(const struct worker_link *link);

/* What is warm, as the worker said it last; all zero when it said nothing, and while there is none. Borrowed. */
const struct frame_warm *worker_link_warm(const struct worker_link *link);

/* What the worker said when it was ready; all zero while there is none. Borrowed. */
const struct frame_ready *worker_link_ready(const struct worker_link *link);

/* Gives a run to an IDLE worker. request is borrowed; the worker gets copies of its descriptors. Returns 0; -EBUSY when
 * not IDLE, or the errno of a copy that cannot be made; or another negative errno, after which the link is DOWN and no
 * ended will come for this run. */
int worker_link_run(struct worker_link *link, uint64_t run_id, const struct call_request *request);

/* Asks the worker to kill that run; ended comes as ever, with FRAME_CANCELLED. Does nothing for another run_id. */
void worker_link_cancel(struct worker_link *link, uint64_t run_id);

/* Ends the worker: closes the socket, waits up to 300 ms, then kills it, and reaps it. Frees the link. No callback is
 * made. NULL is allowed. */
void worker_link_free(struct worker_link *link);

#endif
