/* worker_link - theory of operation
 *
 * The link owns one worker process, one end of the socket to it, and two timers. `begin` starts a worker (at once or
 * after the back-off); `limit` is the watchdog, armed while an answer is due: READY while STARTING, DONE or FAIL while
 * BUSY. One frame is received per wake-up of the loop and judged by the state alone: each state knows which types it
 * may get, and anything else ends the worker. There is no resynchronisation.
 *
 * Every end of a worker goes through bring_down: the socket is closed, which tells the worker to kill its sandboxes and
 * exit; after a short grace it is killed; it is always reaped, so that its pid is never in doubt.
 *
 * As pid 1 of a container we inherit what loses its parent, and reap it: a sandbox's init only vanishes when the
 * processes that were in it are waited for.
 */
#include "supervisor/worker_link.h"

#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/layers.h"
#include "common/log.h"
#include "common/version.h"
#include "supervisor/backoff.h"
#include "supervisor/metrics.h"
#include "supervisor/reap.h"

#define START_LIMIT_MS 20000
#define RUN_SLACK_MS 10000 /* beyond the deadline of a run, and after a cancel */
#define LOST_GRACE_MS 50
#define FREE_GRACE_MS 300

struct worker_link {
	const struct spawn_spec *spec;
	struct metrics *metrics;
	struct link_events events;
	void *ctx;
	struct event_base *base;
	struct event *begin;
	struct event *limit;
	struct event *readable; /* NULL while DOWN */
	struct event *child;	/* NULL unless we are pid 1 */
	enum link_state state;
	pid_t pid; /* 0 while DOWN */
	int sock;
	struct frame_ready ready; /* what the worker said; zero while DOWN or STARTING */
	struct frame_warm warm;	  /* what the worker said last; zero while DOWN */
	uint64_t run_id;	  /* while BUSY */
	bool cancelled;		  /* the same: we asked for its end */
	bool unread;		  /* the same: the worker has gone and never received it */
	uint64_t output_max_bytes;
	struct backoff backoff;
};

static void arm(struct event *timer, uint64_t ms)
{
	const struct timeval delay = {.tv_sec = (time_t)(ms / 1000),
				      .tv_usec = (suseconds_t)(ms % 1000 * 1000)};

	event_add(timer, &delay);
}

/* The worker itself is left alone, even when it is dead already: bring_down waits for it by its pid. */
static void on_child(evutil_socket_t number, short what, void *ctx)
{
	const struct worker_link *link = ctx;

	(void)number;
	(void)what;
	reap_orphans(link->pid);
}

/* Ends the worker, whatever it does, and returns its wait status. */
static int bring_down(struct worker_link *link, int grace_ms)
{
	int status;

	if (link->readable != NULL)
		event_free(link->readable);
	link->readable = NULL;
	event_del(link->limit);
	cleanup_fd(&link->sock);
	link->state = LINK_DOWN;
	link->ready = (struct frame_ready){.build_id = 0};
	link->warm = (struct frame_warm){.bare = 0};
	if (link->pid == 0)
		return 0;
	status = reap_child(link->pid, grace_ms);
	link->pid = 0;
	if (link->child != NULL)
		reap_orphans(0);
	return status;
}

static void give_up(struct worker_link *link, unsigned int stage, int error)
{
	if (stage == STAGE_INTERPRETER)
		log_event(LOG_ERROR, "worker.unusable", LOG_STAGE("stage", stage),
			  LOG_STATIC("reason", interpreter_reason_name(error)));
	else
		log_event(LOG_ERROR, "worker.unusable", LOG_STAGE("stage", stage),
			  LOG_ERRNO("errno", error));
	link->events.unusable(link->ctx, stage, error);
}

/* The worker is gone or not to be trusted: grace_ms is 0 for the latter. error tells a start that failed why. */
static void lose(struct worker_link *link, int grace_ms, int error)
{
	const struct outcome lost = {.kind = OUTCOME_LOST};
	enum link_state before = link->state;
	uint64_t run_id = link->run_id;
	int status = bring_down(link, grace_ms);

	backoff_note_death(&link->backoff, clock_ms());
	log_event(LOG_ERROR, "worker.lost", LOG_ERRNO("errno", error),
		  LOG_I64("exit", WIFEXITED(status) ? WEXITSTATUS(status) : -1),
		  LOG_I64("signal", WIFSIGNALED(status) ? WTERMSIG(status) : 0),
		  LOG_U64("backoff_ms", link->backoff.delay_ms));
	if (before == LINK_STARTING)
		give_up(link, STAGE_WORKER, error);
	else if (before == LINK_BUSY && link->unread && !link->cancelled)
		link->events.unread(link->ctx, run_id);
	else if (before == LINK_BUSY)
		link->events.ended(link->ctx, run_id, &lost);
	/* A worker that was ready before can be so again, and the next call should not have to wait for it. */
	if (before != LINK_STARTING)
		worker_link_start(link);
}

/* The receiver of ended may already have given the next run. */
static void end_run(struct worker_link *link, const struct outcome *outcome)
{
	event_del(link->limit);
	link->state = LINK_IDLE;
	link->backoff.delay_ms = 0;
	link->events.ended(link->ctx, link->run_id, outcome);
	if (link->state == LINK_IDLE)
		link->events.idle(link->ctx);
}

/* The worker refuses a sandbox that lacks a wall; that it did is looked at once more. */
static bool has_walls(uint32_t layers, uint32_t but)
{
	uint32_t wanted = layers_required() & ~but;

	return (layers & wanted) == wanted;
}

static void log_ready(const struct worker_link *link, const struct frame_ready *ready)
{
	const uint32_t optional = ((1U << LAYER_COUNT) - 1) & ~layers_required();

	log_event(LOG_INFO, "worker.ready",
		  LOG_U64("weaker", __builtin_popcount(optional & ~ready->layers)),
		  LOG_U64("python_major", ready->python_version >> 16),
		  LOG_U64("python_minor", ready->python_version >> 8 & 0xff),
		  LOG_U64("python_micro", ready->python_version & 0xff),
		  LOG_U64("ms", clock_ms() - link->backoff.begun_ms));
}

static int take_ready(struct worker_link *link, const struct frame *frame)
{
	if (frame->ready.build_id != (uint64_t)BUILD_ID ||
	    !has_walls(frame->ready.layers, LAYER_MEMORY_LIMIT))
		return -EPROTO;
	event_del(link->limit);
	link->state = LINK_IDLE;
	link->ready = frame->ready;
	log_ready(link, &frame->ready);
	link->events.idle(link->ctx);
	return 0;
}

/* A worker that says why it cannot work did not die: the next call may try again at once. */
static int take_refusal(struct worker_link *link, const struct frame *frame)
{
	bring_down(link, LOST_GRACE_MS);
	give_up(link, frame->fail.stage, frame->fail.error);
	return 0;
}

static void end_failed(struct worker_link *link, unsigned int stage, int error)
{
	const struct outcome failed = {.kind = OUTCOME_FAILED, .stage = stage, .error = error};

	end_run(link, &failed);
}

/* Both outputs share one cap, whatever the worker says it kept to. */
static int take_done(struct worker_link *link, const struct frame *frame, const int fds[FRAME_FDS])
{
	_cleanup_(blob_view_clear) struct blob_view out = {.size = 0};
	_cleanup_(blob_view_clear) struct blob_view err = {.size = 0};
	struct outcome outcome = {.kind = OUTCOME_DONE, .done = frame->done};
	bool cancelled = frame->done.flags & FRAME_CANCELLED;
	int r;

	/* One that we cancelled may never have had a sandbox. */
	if (cancelled ? !link->cancelled : !has_walls(frame->done.layers, 0))
		return -EPROTO;
	r = blob_view(fds[0], link->output_max_bytes, &out);
	if (r == 0)
		r = blob_view(fds[1], link->output_max_bytes - out.size, &err);
	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE) {
		/* That is no fault of the worker's. */
		end_failed(link, STAGE_CAPTURE, -r);
		return 0;
	}
	if (r < 0)
		return r;
	outcome.out = out;
	outcome.err = err;
	end_run(link, &outcome);
	return 0;
}

static int take_failure(struct worker_link *link, const struct frame *frame)
{
	end_failed(link, frame->fail.stage, frame->fail.error);
	return 0;
}

/* Its counters start anew with each worker, and ours do not. */
static int take_warm(struct worker_link *link, const struct frame_warm *warm)
{
	const struct frame_warm *before = &link->warm;
	const struct warm_modules *modules = &link->spec->config->warm.modules;
	char names[WARM_LIST_BYTES];

	if (warm->started < before->started || warm->failed < before->failed ||
	    (warm->modules | warm->unfit) >> modules->n != 0)
		return -EPROTO;
	metrics_interpreters(link->metrics, warm->started - before->started,
			     warm->failed - before->failed);
	link->warm = *warm;
	warm_modules_list(modules, warm->modules, names);
	log_event(LOG_INFO, "warm.changed", LOG_BOOL("bare", warm->bare),
		  LOG_SETTING("modules", names), LOG_U64("started", warm->started),
		  LOG_U64("failed", warm->failed));
	return 0;
}

/* What a frame means in this state. Returns 0, or a negative errno for a frame that must not come now. */
static int take(struct worker_link *link, const struct frame *frame, const int fds[FRAME_FDS])
{
	if (frame->type == FRAME_WARM)
		return take_warm(link, &frame->warm);
	if (link->state == LINK_STARTING && frame->type == FRAME_READY)
		return take_ready(link, frame);
	if (link->state == LINK_STARTING && frame->type == FRAME_FAIL && frame->id == 0)
		return take_refusal(link, frame);
	if (link->state != LINK_BUSY || frame->id != link->run_id)
		return -EPROTO;
	if (frame->type == FRAME_DONE)
		return take_done(link, frame, fds);
	return frame->type == FRAME_FAIL ? take_failure(link, frame) : -EPROTO;
}

static void on_readable(evutil_socket_t sock, short what, void *ctx)
{
	struct worker_link *link = ctx;
	int fds[FRAME_FDS] = {-1, -1};
	struct frame frame;
	int r = frame_recv(sock, &frame, fds, FRAME_TO_SUPERVISOR);

	(void)what;
	if (r == -EAGAIN)
		return;
	/* The last frame that we sent is a run, or a cancel of it behind it. What the worker said before it went, and its
	 * end, come next. */
	if (r == -ECONNRESET) {
		link->unread = link->state == LINK_BUSY && !link->cancelled;
		return;
	}
	if (r == 0) {
		lose(link, LOST_GRACE_MS, ECHILD);
		return;
	}
	if (r > 0)
		r = take(link, &frame, fds);
	cleanup_fd(&fds[0]);
	cleanup_fd(&fds[1]);
	if (r < 0)
		lose(link, 0, -r);
}

static void on_limit(evutil_socket_t none, short what, void *ctx)
{
	(void)none;
	(void)what;
	lose(ctx, 0, ETIMEDOUT);
}

static int begin(struct worker_link *link)
{
	int r = spawn_worker(link->spec, &link->pid, &link->sock);

	if (r < 0) {
		link->pid = 0;
		return r;
	}
	metrics_worker_started(link->metrics);
	link->backoff.begun_ms = clock_ms();
	link->state = LINK_STARTING;
	link->readable = event_new(link->base, link->sock, EV_READ | EV_PERSIST, on_readable, link);
	if (link->readable == NULL || event_add(link->readable, NULL) < 0)
		return -ENOMEM;
	arm(link->limit, START_LIMIT_MS);
	log_event(LOG_INFO, "worker.start", LOG_I64("pid", link->pid));
	return 0;
}

static void on_begin(evutil_socket_t none, short what, void *ctx)
{
	struct worker_link *link = ctx;
	int r = begin(link);

	(void)none;
	(void)what;
	if (r == 0)
		return;
	link->backoff.begun_ms = clock_ms();
	bring_down(link, 0);
	backoff_note_death(&link->backoff, clock_ms());
	give_up(link, STAGE_WORKER, -r);
}

static bool make_events(struct worker_link *link)
{
	link->begin = evtimer_new(link->base, on_begin, link);
	link->limit = evtimer_new(link->base, on_limit, link);
	if (link->begin == NULL || link->limit == NULL)
		return false;
	if (getpid() != 1)
		return true;
	link->child = evsignal_new(link->base, SIGCHLD, on_child, link);
	return link->child != NULL && event_add(link->child, NULL) == 0;
}

int worker_link_new(struct event_base *base, const struct spawn_spec *spec, struct metrics *metrics,
		    const struct link_events *events, void *ctx, struct worker_link **link)
{
	struct worker_link *made = calloc(1, sizeof(*made));

	if (made == NULL)
		return -ENOMEM;
	made->base = base;
	made->spec = spec;
	made->metrics = metrics;
	made->events = *events;
	made->ctx = ctx;
	made->sock = -1;
	made->state = LINK_DOWN;
	if (!make_events(made)) {
		worker_link_free(made);
		return -ENOMEM;
	}
	*link = made;
	return 0;
}

void worker_link_start(struct worker_link *link)
{
	if (link->state != LINK_DOWN || evtimer_pending(link->begin, NULL))
		return;
	arm(link->begin, backoff_left(&link->backoff, clock_ms()));
}

const struct frame_ready *worker_link_ready(const struct worker_link *link)
{
	return &link->ready;
}

const struct frame_warm *worker_link_warm(const struct worker_link *link)
{
	return &link->warm;
}

enum link_state worker_link_state(const struct worker_link *link)
{
	return link->state;
}

int worker_link_run(struct worker_link *link, uint64_t run_id, const struct call_request *request)
{
	struct frame frame;
	int r;

	if (link->state != LINK_IDLE)
		return -EBUSY;
	_cleanup_fd_ int program = fcntl(request->program_fd, F_DUPFD_CLOEXEC, 3);
	_cleanup_fd_ int input = fcntl(request->stdin_fd, F_DUPFD_CLOEXEC, 3);

	if (program < 0 || input < 0)
		return -errno;
	int fds[FRAME_FDS] = {take_fd(&program), take_fd(&input)};

	frame_init(&frame, FRAME_RUN, run_id);
	frame.run.deadline_ms = request->timeout_ms;
	frame.run.output_max_bytes = request->output_max_bytes;
	frame.run.uses = request->uses;
	r = frame_send(link->sock, &frame, fds);
	if (r < 0) {
		lose(link, 0, -r); /* IDLE: no callback comes of it */
		return r;
	}
	link->state = LINK_BUSY;
	link->run_id = run_id;
	link->cancelled = false;
	link->unread = false;
	link->output_max_bytes = request->output_max_bytes;
	arm(link->limit, (uint64_t)request->timeout_ms + RUN_SLACK_MS);
	return 0;
}

/* A worker to which nothing can be sent is about to be found dead by on_readable, or by the watchdog. */
void worker_link_cancel(struct worker_link *link, uint64_t run_id)
{
	struct frame frame;

	if (link->state != LINK_BUSY || link->run_id != run_id)
		return;
	link->cancelled = true;
	frame_init(&frame, FRAME_CANCEL, run_id);
	(void)frame_send(link->sock, &frame, NULL);
	arm(link->limit, RUN_SLACK_MS);
}

void worker_link_free(struct worker_link *link)
{
	if (link == NULL)
		return;
	if (link->pid != 0)
		bring_down(link, FREE_GRACE_MS);
	if (link->begin != NULL)
		event_free(link->begin);
	if (link->limit != NULL)
		event_free(link->limit);
	if (link->child != NULL)
		event_free(link->child);
	free(link);
}
