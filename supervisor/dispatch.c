/* dispatch - theory of operation
 *
 * One place decides what happens next: pump. It is called whenever something changed (a call came, the link is idle,
 * the hold ended) and gives the oldest call to the link if that is idle, or starts the worker if it is down. A running
 * call that is cancelled is forgotten here at once, only its run_id stays, until the link says that its processes are
 * dead.
 *
 * A worker may be found dead at the very moment a run is handed to it, or have died before it received it, which the
 * kernel tells. Nothing was executed then, so that call goes back to the front, once; if the next worker does not take it
 * either, it is answered. So a call keeps its descriptors until it has ended.
 */
#include "supervisor/dispatch.h"

#include <errno.h>
#include <stdlib.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "supervisor/metrics.h"
#include "supervisor/outcome.h"
#include "supervisor/queue.h"
#include "supervisor/worker_link.h"

struct dispatch {
	struct worker_link *link;
	struct metrics *metrics; /* NULL: nothing is counted */
	struct queue queue;
	struct call *running; /* NULL: none, or the run was cancelled */
	uint64_t running_id;  /* 0: no run */
	uint64_t waited_us;   /* how long that run had waited */
	uint64_t last_id;
	uint64_t retried_id;
	bool held;
	struct outcome trouble; /* the last failure, while in_trouble */
	bool in_trouble;
	bool has_stood;
};

static void log_done(uint64_t run_id, const struct outcome *outcome)
{
	const struct frame_done *done = &outcome->done;
	const char *limit = outcome_limit(outcome);

	log_event(LOG_INFO, "exec.done", LOG_U64("id", run_id), LOG_I64("exit", done->exit_code),
		  LOG_U64("signal", done->signal), LOG_U64("wall_ms", done->wall_us / 1000),
		  LOG_U64("queue_ms", outcome->queue_us / 1000), LOG_U64("out", outcome->out.size),
		  LOG_U64("err", outcome->err.size),
		  LOG_U64("peak_kib", done->peak_rss_bytes / 1024),
		  LOG_STATIC("limit", limit ? limit : "none"),
		  LOG_STATIC("start", outcome_start_name(outcome_start(outcome))),
		  LOG_BOOL("truncated", done->flags & FRAME_TRUNCATED),
		  LOG_BOOL("timed_out", done->flags & FRAME_TIMED_OUT),
		  LOG_BOOL("cancelled", done->flags & FRAME_CANCELLED));
}

static void log_failed(uint64_t run_id, unsigned int stage, int error)
{
	if (stage == STAGE_INTERPRETER)
		log_event(LOG_WARN, "exec.failed", LOG_U64("id", run_id), LOG_STAGE("stage", stage),
			  LOG_STATIC("reason", interpreter_reason_name(error)));
	else
		log_event(LOG_WARN, "exec.failed", LOG_U64("id", run_id), LOG_STAGE("stage", stage),
			  LOG_ERRNO("errno", error));
}

static void log_outcome(uint64_t run_id, const struct outcome *outcome)
{
	switch (outcome->kind) {
	case OUTCOME_DONE:
		log_done(run_id, outcome);
		break;
	case OUTCOME_FAILED:
		log_failed(run_id, outcome->stage, outcome->error);
		break;
	case OUTCOME_LOST:
		log_event(LOG_ERROR, "exec.lost", LOG_U64("id", run_id));
		break;
	case OUTCOME_BUSY:
		log_event(LOG_WARN, "exec.busy", LOG_U64("id", run_id));
		break;
	}
}

/* The call may be freed in ended: it is not touched afterwards. */
static void answer(struct dispatch *dispatch, struct call *call, const struct outcome *outcome)
{
	log_outcome(call->run_id, outcome);
	metrics_run(dispatch->metrics, outcome);
	call_move(call, CALL_ANSWERED);
	call->ended(call, outcome);
}

static void answer_failed(struct dispatch *dispatch, struct call *call, unsigned int stage,
			  int error)
{
	const struct outcome failed = {.kind = OUTCOME_FAILED,
				       .stage = stage,
				       .error = error,
				       .queue_us = clock_us() - call->queued_us};

	answer(dispatch, call, &failed);
}

/* No worker has received it: puts it back, or answers it the second time. */
static void put_back(struct dispatch *dispatch, struct call *call, int error)
{
	if (dispatch->retried_id == call->run_id) {
		answer_failed(dispatch, call, STAGE_WORKER, error);
		return;
	}
	dispatch->retried_id = call->run_id;
	log_event(LOG_WARN, "exec.again", LOG_U64("id", call->run_id), LOG_ERRNO("errno", error));
	queue_push_front(&dispatch->queue, call);
}

/* Returns whether pump should look again. */
static bool start_next(struct dispatch *dispatch)
{
	struct call *call = queue_pop(&dispatch->queue);
	int r = worker_link_run(dispatch->link, call->run_id, &call->request);

	if (r == 0) {
		call_move(call, CALL_RUNNING);
		dispatch->running = call;
		dispatch->running_id = call->run_id;
		dispatch->waited_us = clock_us() - call->queued_us;
		return false;
	}
	if (r == -EPIPE)
		put_back(dispatch, call, EPIPE);
	else
		answer_failed(dispatch, call, STAGE_WORKER, -r);
	return true;
}

static void pump(struct dispatch *dispatch)
{
	while (!dispatch->held && dispatch->running_id == 0 && dispatch->queue.head != NULL) {
		enum link_state state = worker_link_state(dispatch->link);

		if (state == LINK_DOWN)
			worker_link_start(dispatch->link);
		if (state != LINK_IDLE || !start_next(dispatch))
			return;
	}
}

static void on_idle(void *ctx)
{
	struct dispatch *dispatch = ctx;

	dispatch->in_trouble = false;
	dispatch->has_stood = true;
	pump(dispatch);
}

/* Only those that wait now: a call that comes in while these are answered tries again. */
static void on_unusable(void *ctx, unsigned int stage, int error)
{
	struct dispatch *dispatch = ctx;

	dispatch->in_trouble = true;
	dispatch->trouble =
		(struct outcome){.kind = OUTCOME_FAILED, .stage = stage, .error = error};
	for (size_t n = dispatch->queue.length; n > 0 && dispatch->queue.head != NULL; n--)
		answer_failed(dispatch, queue_pop(&dispatch->queue), stage, error);
	pump(dispatch);
}

static void on_ended(void *ctx, uint64_t run_id, const struct outcome *outcome)
{
	struct dispatch *dispatch = ctx;
	struct call *call = take_ptr(dispatch->running);
	struct outcome told = *outcome;

	dispatch->running_id = 0;
	told.queue_us = dispatch->waited_us;
	if (call == NULL) {
		log_outcome(run_id, &told);
		metrics_cancelled(dispatch->metrics, told.queue_us, &told);
	} else {
		answer(dispatch, call, &told);
	}
	/* idle follows otherwise */
	if (outcome->kind == OUTCOME_LOST)
		pump(dispatch);
}

static void on_unread(void *ctx, uint64_t run_id)
{
	struct dispatch *dispatch = ctx;
	struct call *call = take_ptr(dispatch->running);

	(void)run_id;
	dispatch->running_id = 0;
	call_move(call, CALL_QUEUED);
	put_back(dispatch, call, ECONNRESET);
	pump(dispatch);
}

int dispatch_new(struct event_base *base, const struct spawn_spec *spec, struct metrics *metrics,
		 struct dispatch **dispatch)
{
	const struct link_events events = {
		.idle = on_idle, .unusable = on_unusable, .ended = on_ended, .unread = on_unread};
	struct dispatch *made = calloc(1, sizeof(*made));
	int r;

	if (made == NULL)
		return -ENOMEM;
	made->metrics = metrics;
	queue_init(&made->queue, spec->config->max_queue);
	r = worker_link_new(base, spec, metrics, &events, made, &made->link);
	if (r < 0) {
		free(made);
		return r;
	}
	worker_link_start(made->link);
	*dispatch = made;
	return 0;
}

void dispatch_submit(struct dispatch *dispatch, struct call *call)
{
	const struct outcome busy = {.kind = OUTCOME_BUSY};

	call->run_id = ++dispatch->last_id;
	call->queued_us = clock_us();
	if (queue_push(&dispatch->queue, call) < 0)
		answer(dispatch, call, &busy);
	else
		pump(dispatch);
}

void dispatch_cancel(struct dispatch *dispatch, struct call *call)
{
	if (queue_remove(&dispatch->queue, call)) {
		log_event(LOG_INFO, "exec.cancelled", LOG_U64("id", call->run_id));
		metrics_cancelled(dispatch->metrics, clock_us() - call->queued_us, NULL);
	} else if (dispatch->running == call) {
		dispatch->running = NULL;
		worker_link_cancel(dispatch->link, dispatch->running_id);
	}
	call_move(call, CALL_CANCELLED);
}

void dispatch_hold(struct dispatch *dispatch, bool hold)
{
	dispatch->held = hold;
	pump(dispatch);
}

size_t dispatch_place(const struct dispatch *dispatch, const struct call *call)
{
	return queue_place(&dispatch->queue, call);
}

void dispatch_each(const struct dispatch *dispatch, void (*visit)(struct call *call, void *ctx),
		   void *ctx)
{
	if (dispatch->running != NULL)
		visit(dispatch->running, ctx);
	for (struct call *call = dispatch->queue.head; call != NULL; call = call->next)
		visit(call, ctx);
}

size_t dispatch_pending(const struct dispatch *dispatch)
{
	return dispatch_queue_length(dispatch) + dispatch_is_running(dispatch);
}

size_t dispatch_queue_length(const struct dispatch *dispatch)
{
	return dispatch->queue.length;
}

bool dispatch_is_running(const struct dispatch *dispatch)
{
	return dispatch->running_id != 0;
}

const struct outcome *dispatch_trouble(const struct dispatch *dispatch)
{
	return dispatch->in_trouble ? &dispatch->trouble : NULL;
}

void dispatch_retry(struct dispatch *dispatch)
{
	worker_link_start(dispatch->link);
}

const struct frame_ready *dispatch_ready(const struct dispatch *dispatch)
{
	return worker_link_ready(dispatch->link);
}

const struct frame_warm *dispatch_warm(const struct dispatch *dispatch)
{
	return worker_link_warm(dispatch->link);
}

bool dispatch_has_stood(const struct dispatch *dispatch)
{
	return dispatch->has_stood;
}

void dispatch_free(struct dispatch *dispatch)
{
	if (dispatch == NULL)
		return;
	worker_link_free(dispatch->link);
	free(dispatch);
}
