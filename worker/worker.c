/* worker - theory of operation
 *
 * One thread, one poll loop, one run at a time. The worker holds one sandbox that is ready before a request comes; a
 * RUN gives it the program, and when that sandbox is gone the next one is built. It waits for frames of the supervisor,
 * reports of the sandbox, notes of its filter, SIGCHLD (by signalfd), three pipes, and time.
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
#include <sys/prctl.h>
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
#include "worker/run.h"
#include "worker/sandbox.h"

enum {
	AT_LINK,
	AT_SIGNAL,
	AT_SANDBOX,
	AT_NOTIFY,
	AT_CAPTURE,
	POLLS = AT_CAPTURE + CAPTURE_STREAMS
};

struct worker {
	int link;
	int signals;
	uint32_t python_version;
	const struct inside *inside;
	struct sandbox sandbox; /* the one that is ready, or that the run is in */
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

static void log_failure(const struct sandbox *sandbox)
{
	log_event(LOG_WARN, "sandbox.failed", LOG_STAGE("stage", sandbox->failed_stage),
		  LOG_ERRNO("error", sandbox->failed_error));
}

/* Builds the next sandbox. When even the fork fails it stays REAPED. */
static void build(struct worker *worker)
{
	sandbox_clear(&worker->sandbox);
	if (sandbox_spawn(&worker->sandbox, worker->inside) < 0)
		log_failure(&worker->sandbox);
}

static void announce(struct worker *worker)
{
	struct frame frame;

	frame_init(&frame, FRAME_READY, 0);
	frame.ready.build_id = BUILD_ID;
	frame.ready.layers = worker->sandbox.layers;
	frame.ready.python_version = worker->python_version;
	worker->announced = true;
	if (frame_send(worker->link, &frame, NULL) < 0)
		leave(worker, 1);
}

/* No sandbox was ever ready: the supervisor is told why, and starts another worker when there is a call to try for. */
static void give_up(struct worker *worker)
{
	struct frame frame;

	frame_init(&frame, FRAME_FAIL, 0);
	frame.fail.stage = worker->sandbox.failed_stage;
	frame.fail.error = worker->sandbox.failed_error;
	frame_send(worker->link, &frame, NULL);
	leave(worker, 1);
}

static bool is_complete(uint32_t layers)
{
	/* The watch belongs to a run, not to a sandbox. */
	uint32_t wanted = layers_required() & ~(uint32_t)LAYER_MEMORY_WATCH;

	return (layers & wanted) == wanted;
}

static void on_ready(struct worker *worker)
{
	if (!is_complete(worker->sandbox.layers)) {
		sandbox_kill(&worker->sandbox);
		return;
	}
	if (!worker->announced)
		announce(worker);
	if (worker->run.id && !worker->run.started)
		run_start(&worker->run, &worker->sandbox, &worker->inside->limits);
}

/* The sandbox is gone: answers the run that was in it, or that waited for it, and builds the next one. One that failed
 * while nobody waited is not built again before there is a run to try it for. */
static void on_reaped(struct worker *worker)
{
	bool stale = worker->sandbox.failed_stage == STAGE_SYSTEM &&
		     worker->sandbox.failed_error == ESTALE;
	bool had_run = worker->run.id != 0;

	if (!worker->announced) {
		give_up(worker);
		return;
	}
	if (worker->sandbox.failed_stage != STAGE_NONE && !worker->run.killed)
		log_failure(&worker->sandbox);
	if (had_run &&
	    run_answer(&worker->run, &worker->sandbox, &worker->inside->limits, worker->link) < 0)
		leave(worker, 1);
	/* The interpreter is not what it was: another worker asks it again. */
	if (stale)
		leave(worker, 1);
	if (had_run && !worker->done)
		build(worker);
	else
		sandbox_clear(&worker->sandbox);
}

/* Where not even a process can be had, nothing will be reaped that the run could be answered for. */
static void build_for_run(struct worker *worker)
{
	build(worker);
	if (worker->sandbox.state == SANDBOX_REAPED &&
	    run_answer(&worker->run, &worker->sandbox, &worker->inside->limits, worker->link) < 0)
		leave(worker, 1);
}

static void on_run(struct worker *worker, const struct frame *frame, int fds[FRAME_FDS])
{
	if (worker->run.id) {
		log_event(LOG_ERROR, "link.broken", LOG_WORD("why", "a second run"));
		leave(worker, 1);
		return;
	}
	run_begin(&worker->run, frame->id, &frame->run, fds);
	if (worker->sandbox.state == SANDBOX_READY)
		run_start(&worker->run, &worker->sandbox, &worker->inside->limits);
	else if (worker->sandbox.state == SANDBOX_REAPED)
		build_for_run(worker);
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
		run_kill(&worker->run, &worker->sandbox, FRAME_CANCELLED);
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
		sandbox_reaped(&worker->sandbox, pid, &usage);
}

static void fill_polls(const struct worker *worker, struct pollfd polls[POLLS])
{
	polls[AT_LINK] = (struct pollfd){.fd = worker->link, .events = POLLIN};
	polls[AT_SIGNAL] = (struct pollfd){.fd = worker->signals, .events = POLLIN};
	polls[AT_SANDBOX] = (struct pollfd){.fd = worker->sandbox.sock, .events = POLLIN};
	notify_poll(&worker->sandbox.notify, &polls[AT_NOTIFY]);
	capture_poll(&worker->run.capture, polls + AT_CAPTURE);
}

/* Does what it is time for. Returns milliseconds until there is more, -1 for never. */
static int tick(struct worker *worker)
{
	uint64_t now_us = clock_us();
	int run_ms = run_tick(&worker->run, &worker->sandbox, now_us);
	int notify_ms = notify_answer(&worker->sandbox.notify, now_us);

	return run_ms < 0 || (notify_ms >= 0 && notify_ms < run_ms) ? notify_ms : run_ms;
}

/* One turn: wait, then what happened, in the order in which it may depend on each other. */
static void turn(struct worker *worker)
{
	enum sandbox_state before = worker->sandbox.state;
	struct pollfd polls[POLLS];
	int wait_ms = tick(worker);
	int n;

	fill_polls(worker, polls);
	n = poll(polls, POLLS, wait_ms);
	if (n > 0 && worker->run.started && !worker->run.capture_error)
		run_capture(&worker->run, &worker->sandbox, polls + AT_CAPTURE);
	if (n > 0)
		notify_receive(&worker->sandbox.notify, &polls[AT_NOTIFY]);
	if (n > 0 && polls[AT_SANDBOX].revents)
		sandbox_read(&worker->sandbox);
	if (n > 0 && polls[AT_SIGNAL].revents)
		on_signal(worker);
	if (before == SANDBOX_BUILDING && worker->sandbox.state == SANDBOX_READY)
		on_ready(worker);
	if (before != SANDBOX_REAPED && worker->sandbox.state == SANDBOX_REAPED)
		on_reaped(worker);
	if (n > 0 && polls[AT_LINK].revents && !worker->done)
		on_link(worker);
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

int worker_serve(int link, const struct inside *inside, uint32_t python_version)
{
	struct worker worker = {.link = link,
				.signals = open_signals(),
				.python_version = python_version,
				.inside = inside,
				.sandbox = {.sock = -1, .notify = {.listener = -1}},
				.run = {.capture = {.pipes = {-1, -1, -1}}}};

	/* Each builder exits on purpose: init is to become our child. */
	if (worker.signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
		return 1;
	ignore_endings();
	build(&worker);
	if (worker.sandbox.state == SANDBOX_REAPED)
		give_up(&worker);
	while (!worker.done)
		turn(&worker);
	sandbox_destroy(&worker.sandbox);
	sandbox_clear(&worker.sandbox);
	/* The link may have ended in the middle of a run. */
	watch_clear(&worker.run.watch);
	close(worker.signals);
	return worker.exit_code;
}
