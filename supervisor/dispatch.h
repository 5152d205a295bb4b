/* dispatch - one run at a time: brings the queue and the worker link together.
 *
 * A call that is submitted waits in the queue until the link is idle. When no sandbox can be had, every call that waits
 * is answered with the reason, and the next call tries again. Runs are serialized; scaling out is done with replicas.
 */
#ifndef SUPERVISOR_DISPATCH_H
#define SUPERVISOR_DISPATCH_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/call.h"
#include "supervisor/spawn.h"

struct event_base;
struct dispatch;
struct metrics;

/* Makes it and starts the worker at once. spec and metrics are borrowed for its life; calls and starts of the worker are
 * counted in metrics, which may be NULL. Returns 0 or a negative errno. */
int dispatch_new(struct event_base *base, const struct spawn_spec *spec, struct metrics *metrics,
		 struct dispatch **dispatch);

/* Takes a call in state CALL_QUEUED; call->ended will be called, possibly from within (queue full), unless it is
 * cancelled. */
void dispatch_submit(struct dispatch *dispatch, struct call *call);

/* Cancels a queued or running call: moves it to CALL_CANCELLED, ended is never called, and the call may be freed at
 * once. The next call starts when the processes of this one are dead. */
void dispatch_cancel(struct dispatch *dispatch, struct call *call);

/* While held, no queued call is started (the client does not read its answers). */
void dispatch_hold(struct dispatch *dispatch, bool hold);

/* Which place a call has in the queue, 1 for the next one; 0 when it is running. */
size_t dispatch_place(const struct dispatch *dispatch, const struct call *call);

/* Calls visit for each call that is running or waits; visit must not submit or cancel one. */
void dispatch_each(const struct dispatch *dispatch, void (*visit)(struct call *call, void *ctx),
		   void *ctx);

/* Calls that are queued or running, cancelled ones whose processes still die included. */
size_t dispatch_pending(const struct dispatch *dispatch);

/* Calls that are queued. */
size_t dispatch_queue_length(const struct dispatch *dispatch);

/* Whether the worker has a run, a cancelled one whose processes still die included. */
bool dispatch_is_running(const struct dispatch *dispatch);

/* Why no sandbox can be had (OUTCOME_FAILED), from the attempt that failed until a worker is ready again: it is a call
 * that makes the next attempt, or dispatch_retry. NULL: one is there or on its way. */
const struct outcome *dispatch_trouble(const struct dispatch *dispatch);
void dispatch_retry(struct dispatch *dispatch);

/* Whether a worker has been ready at all. */
bool dispatch_has_stood(const struct dispatch *dispatch);

/* What is warm in the worker that there is; all zero when there is none. Borrowed. */
const struct frame_warm *dispatch_warm(const struct dispatch *dispatch);

/* What it said when it was ready, likewise. */
const struct frame_ready *dispatch_ready(const struct dispatch *dispatch);

/* Ends the worker and frees it; calls still in it are forgotten without an answer. NULL is allowed. */
void dispatch_free(struct dispatch *dispatch);

#endif
