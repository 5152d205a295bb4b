/* worker - theory of operation
 *
 * One thread, one poll loop, one run at a time. A RUN gets a place of the pool's, which holds what is ready before a
 * request comes: sandboxes, and in them interpreters. When its sandbox is gone it is answered, and the pool makes the
 * next place. The loop waits for frames of the supervisor, whatever the pool has, SIGCHLD (by signalfd), three pipes, and
 * time.
 *
 * It holds no secret, and never looks at a byte of a caller: programs and outputs pass through as descriptors. When the
 * supervisor is gone, so are its runs: each init ends when the worker's end of its socket is closed.
 */
#include "worker/worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/frame.h"
#include "common/layers.h"
#include "common/log.h"
#include "common/stage.h"
#include "common/version.h"
#include "worker/pool.h"
#include "worker/run.h"

/* A program that takes longer does not lose time by what is made beside it. */
#define FILL_US UINT64_C(20000)

/* How often a run that waits looks whether it has waited long enough. */
#define LOOK_MS 20

enum {
	AT_LINK,
	AT_SIGNAL,
	AT_CAPTURE,
	AT_POOL = AT_CAPTURE + CAPTURE_STREAMS,
	POLLS = AT_POOL + POOL_POLLS
};

struct worker {
	int link;
	int signals;
	uint32_t python_version;
	const struct inside *inside;
	struct pool pool;
	struct run run;
	bool announced; /* READY was sent */
	bool done;	/* the supervisor is gone, or broke the protocol */
	int exit_code;
};

static void leave(struct worker *worker, int exit_code)
{
	worker->done = true;
	worker->exit_code = exit_code;
}

static void announce(struct worker *worker, const struct sandbox *sandbox)
{
	struct frame frame;

	frame_init(&frame, FRAME_READY, 0);
	frame.ready.build_id = BUILD_ID;
	frame.ready.layers = sandbox->layers;
	frame.ready.python_version = worker->python_version;
	frame.ready.by_cgroup = worker->inside->limits.by_cgroup;
	worker->announced = true;
	if (frame_send(worker->link, &frame, NULL) < 0)
		leave(worker, 1);
}

/* No sandbox was ever ready: the supervisor is told why, and starts another worker when there is a call to try for. */
static void give_up(struct worker *worker, const struct sandbox *sandbox)
{
	struct frame frame;

	frame_init(&frame, FRAME_FAIL, 0);
	frame.fail.stage = sandbox ? sandbox->failed_stage : STAGE_FORK;
	frame.fail.error = sandbox ? sandbox->failed_error : EAGAIN;
	frame_send(worker->link, &frame, NULL);
	leave(worker, 1);
}

/* What is warm has changed: the supervisor counts it. */
static void tell_warm(struct worker *worker)
{
	struct frame_warm warm;
	struct frame frame;

	if (!worker->announced || !pool_warm(&worker->pool, &warm))
		return;
	frame_init(&frame, FRAME_WARM, 0);
	frame.warm = warm;
	if (frame_send(worker->link, &frame, NULL) < 0)
		leave(worker, 1);
}

static void log_failure(const struct sandbox *sandbox)
{
	log_event(LOG_WARN, "sandbox.failed", LOG_STAGE("stage", sandbox->failed_stage),
		  LOG_ERRNO("error", sandbox->failed_error));
}

static void answer(struct worker *worker, const struct sandbox *sandbox)
{
	if (run_answer(&worker->run, sandbox, &worker->inside->limits, worker->link) < 0)
		leave(worker, 1);
}

/* The interpreter, or the cgroup that was divided, is not what it was: another worker looks again. */
static bool is_stale(const struct sandbox *sandbox)
{
	return (sandbox->failed_stage == STAGE_SYSTEM && sandbox->failed_error == ESTALE) ||
	       sandbox->failed_stage == STAGE_CGROUP;
}

/* The cold place is gone. When none can be had, whoever waits is told so. */
static void on_failed(struct worker *worker, struct place *place)
{
	const struct sandbox *sandbox = &place->sandbox;
	bool waits = worker->run.id && !worker->run.place;

	log_failure(sandbox);
	if (!worker->announced)
		give_up(worker, sandbox);
	else if (waits && (!sandbox_was_killed(sandbox) || !run_lose(&worker->run)))
		answer(worker, sandbox);
	if (is_stale(sandbox))
		leave(worker, 1);
	pool_drop(&worker->pool, place);
}

/* The run's sandbox is gone. */
static void on_reaped(struct worker *worker)
{
	struct place *place = worker->run.place;
	struct sandbox *sandbox = &place->sandbox;
	bool stale = is_stale(sandbox);

	run_look_back(&worker->run);
	if (sandbox->failed_stage != STAGE_NONE && !worker->run.killed)
		log_failure(sandbox);
	if (!run_is_lost(&worker->run))
		answer(worker, sandbox);
	if (stale)
		leave(worker, 1);
	pool_drop(&worker->pool, place);
}

/* The program has ended, and nothing of it can run any more: what is left of its sandbox dies while its answer is read. */
static void on_done(struct worker *worker)
{
	struct place *place = worker->run.place;

	if (!sandbox_finish(&place->sandbox))
		return;
	run_look_back(&worker->run);
	answer(worker, &place->sandbox);
	pool_leave(&worker->pool, place);
}

static bool is_complete(uint32_t layers)
{
	/* That is told of a run, not of a sandbox. */
	uint32_t wanted = layers_required() & ~(uint32_t)LAYER_MEMORY_LIMIT;

	return (layers & wanted) == wanted;
}

/* Gives a run that waits the best place there is. */
static void find_place(struct worker *worker)
{
	struct run *run = &worker->run;
	struct place *place;

	if (run->killed) {
		answer(worker, NULL);
		return;
	}
	place = pool_take(&worker->pool, run->request.uses, run->lost > 0, run->since_us,
			  clock_us());
	if (!place)
		return;
	if (is_complete(sandbox_layers(&place->sandbox)) &&
	    group_stands(&place->sandbox.group, worker->inside->limits.by_cgroup)) {
		run_start(run, place, &worker->inside->limits);
		return;
	}
	run->place = place;
	sandbox_refuse(&place->sandbox, STAGE_CGROUP, ESTALE);
}

static void on_trial(struct worker *worker, struct sandbox *sandbox)
{
	if (is_complete(sandbox->layers))
		announce(worker, sandbox);
	else
		sandbox_kill(sandbox);
}

/* What the events of a turn have led to. */
static void go_on(struct worker *worker)
{
	struct run *run = &worker->run;
	struct place *failed = pool_failed(&worker->pool);
	struct place *trial = worker->pool.parked[PLACE_COLD][0];
	uint64_t now_us = clock_us();
	bool busy;

	if (failed)
		on_failed(worker, failed);
	else if (!worker->announced && trial && trial->sandbox.state == SANDBOX_READY)
		on_trial(worker, &trial->sandbox);
	if (run->place && run->place->sandbox.state == SANDBOX_REAPED)
		on_reaped(worker);
	else if (run->place && run->place->sandbox.done)
		on_done(worker);
	if (run->id && !run->place && worker->announced && !worker->done)
		find_place(worker);
	busy = run->id != 0;
	if (worker->announced && !worker->done &&
	    (!busy || !run->started || now_us - run->started_us > FILL_US))
		pool_fill(&worker->pool, !busy, now_us);
	tell_warm(worker);
}

static void on_run(struct worker *worker, const struct frame *frame, int fds[FRAME_FDS])
{
	if (worker->run.id) {
		log_event(LOG_ERROR, "link.broken", LOG_REASON("why", "a second run"));
		leave(worker, 1);
		return;
	}
	run_begin(&worker->run, frame->id, &frame->run, fds);
	if (worker->announced)
		find_place(worker);
	pool_note_use(&worker->pool, frame->run.uses, worker->run.since_us);
}

static void on_link(struct worker *worker)
{
	int fds[FRAME_FDS];
	struct frame frame;
	int r = frame_recv(worker->link, &frame, fds, FRAME_TO_WORKER);

	/* An answer that the supervisor did not hear before it went: its end comes next. */
	if (r == -EAGAIN || r == -ECONNRESET)
		return;
	if (r <= 0) {
		leave(worker, r < 0);
		return;
	}
	if (frame.type == FRAME_RUN)
		on_run(worker, &frame, fds);
	else if (frame.id == worker->run.id)
		run_kill(&worker->run, FRAME_CANCELLED);
	for (int i = 0; i < FRAME_FDS; i++)
		cleanup_fd(&fds[i]);
}

static void on_signal(struct worker *worker)
{
	struct signalfd_siginfo info;
	struct rusage usage;
	pid_t pid;

	if (read(worker->signals, &info, sizeof(info)) < 0 && errno == EAGAIN)
		return;
	while ((pid = wait4(-1, NULL, WNOHANG, &usage)) > 0)
		pool_reaped(&worker->pool, pid, &usage);
}

/* poll(2) takes no more entries than this process may have descriptors, so those without one are left out. Returns as
 * poll does. */
static int poll_used(struct pollfd polls[POLLS], int wait_ms)
{
	struct pollfd used[POLLS];
	size_t places[POLLS], n = 0;
	int r;

	for (size_t i = 0; i < POLLS; i++) {
		polls[i].revents = 0;
		if (polls[i].fd < 0)
			continue;
		places[n] = i;
		used[n++] = polls[i];
	}
	r = poll(used, n, wait_ms);
	for (size_t i = 0; r > 0 && i < n; i++)
		polls[places[i]].revents = used[i].revents;
	return r;
}

static void fill_polls(const struct worker *worker, struct pollfd polls[POLLS])
{
	polls[AT_LINK] = (struct pollfd){.fd = worker->link, .events = POLLIN};
	polls[AT_SIGNAL] = (struct pollfd){.fd = worker->signals, .events = POLLIN};
	capture_poll(&worker->run.capture, polls + AT_CAPTURE);
	pool_poll(&worker->pool, polls + AT_POOL);
}

/* Does what it is time for. Returns milliseconds until there is more, -1 for never. */
static int tick(struct worker *worker)
{
	uint64_t now_us = clock_us();
	bool waits = worker->run.id && !worker->run.place;
	int run_ms = waits ? LOOK_MS : run_tick(&worker->run, now_us);

	return clock_sooner_ms(run_ms, pool_tick(&worker->pool, now_us));
}

/* One turn: wait, then what happened, in the order in which it may depend on each other. */
static void turn(struct worker *worker)
{
	struct pollfd polls[POLLS];
	int wait_ms = tick(worker);
	int n;

	fill_polls(worker, polls);
	n = poll_used(polls, wait_ms);
	if (n < 0 && errno != EINTR) {
		log_event(LOG_ERROR, "worker.broken", LOG_ERRNO("error", errno));
		leave(worker, 1);
		return;
	}
	if (n > 0 && worker->run.started && !worker->run.capture_error)
		run_capture(&worker->run, polls + AT_CAPTURE);
	if (n > 0)
		pool_read(&worker->pool, polls + AT_POOL);
	if (n > 0 && polls[AT_SIGNAL].revents)
		on_signal(worker);
	if (n > 0 && polls[AT_LINK].revents && !worker->done)
		on_link(worker);
	go_on(worker);
}

static int open_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	if (sigprocmask(SIG_BLOCK, &set, NULL))
		return -errno;
	return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* It is the end of the link that ends us. systemd and shells send these to all of a group at once, while the supervisor
 * still waits for the run that we have. */
static void ignore_endings(void)
{
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
}

int worker_serve(int link, const struct inside *inside, const struct warm_settings *warm,
		 uint32_t python_version)
{
	struct worker worker = {.link = link,
				.signals = open_signals(),
				.python_version = python_version,
				.inside = inside,
				.run = {.capture = {.pipes = {-1, -1, -1}}}};

	if (worker.signals < 0)
		return 1;
	ignore_endings();
	pool_init(&worker.pool, inside, warm);
	if (!pool_try(&worker.pool))
		give_up(&worker, NULL);
	while (!worker.done)
		turn(&worker);
	pool_clear(&worker.pool);
	/* The link may have ended in the middle of a run. */
	run_clear(&worker.run);
	close(worker.signals);
	return worker.exit_code;
}
