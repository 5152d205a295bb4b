/* run - see the header. */
#include "worker/run.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/blob.h"
#include "common/cleanup.h"
#include "common/clock.h"
#include "common/layers.h"
#include "common/mechanism.h"
#include "common/stage.h"

/* A copy that is well takes its program in well under a millisecond. */
#define TAKE_US UINT64_C(1000000)
/* Beyond, something ends them on purpose. */
#define MAX_LOST 3

void run_begin(struct run *run, uint64_t id, const struct frame_run *request, int fds[FRAME_FDS])
{
	*run = (struct run){.id = id,
			    .request = *request,
			    .program = take_fd(&fds[0]),
			    .stdin_blob = take_fd(&fds[1]),
			    .since_us = clock_us(),
			    .capture = {.pipes = {-1, -1, -1}, .blobs = {-1, -1, -1}, .sink = -1}};
}

/* Nobody polls what is closed: a pipe that is not read would be reported again and again. */
static void give_up_capture(struct run *run, int error)
{
	run->capture_error = error;
	capture_clear(&run->capture);
	sandbox_kill(&run->place->sandbox);
}

/* What a copy has from its interpreter is not the program's doing. A cgroup does not count it, and needs no watch. */
static int start_watch(struct run *run, const struct limits *limits)
{
	struct limits raised = *limits;

	if (limits->by_cgroup & BY_CGROUP_MEMORY)
		return 0;
	if (run->place->kind == PLACE_LOADED)
		raised.memory_bytes += run->place->inherited_bytes;
	return watch_init(&run->watch, &raised, run->place->sandbox.init, clock_us());
}

/* The blobs stay ours: the copy that gets them may be lost. */
static int give(struct run *run, const struct limits *limits)
{
	int fds[GIVE_FDS] = {run->program, -1, -1, -1};
	int stdin_blob = fcntl(run->stdin_blob, F_DUPFD_CLOEXEC, 0);
	int r = stdin_blob < 0 ? -errno
			       : capture_init(&run->capture, stdin_blob,
					      run->request.output_max_bytes, fds + GIVE_STDIN);

	if (r == 0)
		r = start_watch(run, limits);
	if (r == 0)
		r = sandbox_give(&run->place->sandbox, fds, GIVE_FDS);
	for (int i = GIVE_STDIN; i < GIVE_FDS; i++)
		cleanup_fd(&fds[i]);
	return r;
}

int run_start(struct run *run, struct place *place, const struct limits *limits)
{
	int r;

	run->place = place;
	r = give(run, limits);
	/* Who is gone is told from our own wants, and that the run is lost is seen when all are reaped. */
	if (r < 0 && r != -EPIPE) {
		give_up_capture(run, r);
		return r;
	}
	if (r < 0)
		sandbox_kill(&place->sandbox);
	run->started = true;
	run->started_us = clock_us();
	return 0;
}

void run_kill(struct run *run, enum frame_flag reason)
{
	struct sandbox *sandbox = run->place ? &run->place->sandbox : NULL;

	/* Too late: it has ended by itself, and that is what will be told. */
	if (sandbox && (sandbox->state == SANDBOX_ENDING || sandbox->state == SANDBOX_REAPED))
		return;
	run->killed |= reason;
	if (sandbox)
		sandbox_kill(sandbox);
}

void run_capture(struct run *run, const struct pollfd polls[CAPTURE_STREAMS])
{
	int r = capture_move(&run->capture, polls);

	if (r < 0)
		give_up_capture(run, r);
}

/* Kills it when it is time for that. */
static void judge(struct run *run, struct sandbox *sandbox, uint64_t deadline_us, uint64_t now_us)
{
	if (now_us >= deadline_us)
		run_kill(run, FRAME_TIMED_OUT);
	else if (run->watch.now && watch_look(&run->watch, now_us))
		run_kill(run, FRAME_MEMORY_KILLED);
	else if (!run->looked && now_us - run->started_us >= TAKE_US) {
		/* A copy that does not take its program is as good as lost: it was stopped. */
		run->looked = true;
		if (sandbox_taken(sandbox) == -EAGAIN)
			sandbox_kill(sandbox);
	}
}

/* For its memory; or, once, whether it has begun. -1: never. */
static int next_look_ms(const struct run *run, uint64_t now_us)
{
	if (run->watch.now)
		return clock_wait_ms(run->watch.next_us, now_us);
	return run->looked ? -1 : clock_wait_ms(run->started_us + TAKE_US, now_us);
}

int run_tick(struct run *run, uint64_t now_us)
{
	uint64_t deadline_us = run->started_us + run->request.deadline_ms * UINT64_C(1000);
	struct sandbox *sandbox = run->place ? &run->place->sandbox : NULL;

	if (!sandbox || !run->started || sandbox->state != SANDBOX_RUNNING)
		return -1;
	judge(run, sandbox, deadline_us, now_us);
	if (sandbox->state != SANDBOX_RUNNING)
		return -1;
	return clock_sooner_ms(next_look_ms(run, now_us), clock_wait_ms(deadline_us, now_us));
}

void run_look_back(struct run *run)
{
	group_look(&run->place->sandbox.group, &run->facts);
	if (run->facts.out_of_memory)
		run->killed |= FRAME_MEMORY_KILLED;
}

bool run_lose(struct run *run)
{
	if (run->lost >= MAX_LOST)
		return false;
	run->lost++;
	return true;
}

/* Whoever cancelled wants no other try. */
bool run_is_lost(struct run *run)
{
	if (!run->place || run->killed & FRAME_CANCELLED || !run->started || run->capture_error ||
	    sandbox_taken(&run->place->sandbox) == 0 || !run_lose(run))
		return false;
	watch_clear(&run->watch);
	run->facts = (struct group_facts){.peak_bytes = 0};
	capture_clear(&run->capture);
	lseek(run->stdin_blob, 0, SEEK_SET);
	run->place = NULL;
	run->started = false;
	run->killed = 0;
	return true;
}

static int signal_of(const struct sandbox *sandbox)
{
	if (!sandbox->ended)
		return SIGKILL;
	return WIFSIGNALED(sandbox->report.status) ? WTERMSIG(sandbox->report.status) : 0;
}

static uint32_t flags_of(const struct run *run, const struct sandbox *sandbox, int signal_number,
			 const struct limits *limits)
{
	uint32_t flags = run->killed;

	if (run->capture.cut[CAPTURE_STDOUT])
		flags |= FRAME_STDOUT_CUT;
	if (run->capture.cut[CAPTURE_STDERR])
		flags |= FRAME_STDERR_CUT;
	if (run->place && run->place->kind != PLACE_COLD)
		flags |= FRAME_FORKED;
	if (run->place && run->place->kind == PLACE_LOADED)
		flags |= FRAME_PRELOADED;
	if (sandbox->notify.noting)
		flags |= FRAME_NOTING;
	if (sandbox->report.disk_full)
		flags |= FRAME_DISK_FULL;
	if (run->facts.refused_fork)
		flags |= FRAME_FORK_REFUSED;
	if (signal_number == SIGKILL && sandbox->ended &&
	    sandbox->report.main_cpu_us >= limits->max_cpu_s * UINT64_C(1000000))
		flags |= FRAME_CPU_USED_UP;
	return flags;
}

static void fill_done(const struct run *run, const struct sandbox *sandbox,
		      const struct limits *limits, struct frame_done *done)
{
	int signal_number = signal_of(sandbox);
	uint64_t watched = run->watch.peak_bytes,
		 largest = (uint64_t)sandbox->usage.ru_maxrss * KIB;

	done->wall_us = run->started ? clock_us() - run->started_us : 0;
	done->cpu_us = clock_cpu_us(&sandbox->usage);
	done->peak_rss_bytes = run->facts.peak_bytes ? run->facts.peak_bytes
			       : watched > largest   ? watched
						     : largest;
	done->exit_code = signal_number ? -1 : WEXITSTATUS(sandbox->report.status);
	done->signal = (uint32_t)signal_number;
	done->flags = flags_of(run, sandbox, signal_number, limits);
	memcpy(done->blocked, sandbox->notify.blocked, sizeof(done->blocked));
	done->layers = sandbox_layers(sandbox) | (run->started ? LAYER_MEMORY_LIMIT : 0);
	done->by_cgroup = run->started ? limits->by_cgroup : 0;
}

/* A run that was cancelled before it had pipes has printed nothing. */
static int take_output(struct run *run, int fds[FRAME_FDS])
{
	int r = run->started ? capture_finish(&run->capture) : 0;

	for (int i = 0; r == 0 && i < FRAME_FDS; i++) {
		fds[i] = run->started ? take_fd(&run->capture.blobs[i + 1]) : blob_from("", 0);
		r = fds[i] < 0 ? fds[i] : 0;
	}
	return r;
}

static int answer_fail(const struct run *run, uint32_t stage, int error, int link)
{
	struct frame frame;

	frame_init(&frame, FRAME_FAIL, run->id);
	frame.fail.stage = stage;
	frame.fail.error = error;
	return frame_send(link, &frame, NULL);
}

static int answer_done(struct run *run, const struct sandbox *sandbox, const struct limits *limits,
		       int link)
{
	int fds[FRAME_FDS] = {-1, -1};
	struct frame frame;
	int r = take_output(run, fds);

	if (r < 0) {
		for (int i = 0; i < FRAME_FDS; i++)
			cleanup_fd(&fds[i]);
		return answer_fail(run, STAGE_CAPTURE, -r, link);
	}
	frame_init(&frame, FRAME_DONE, run->id);
	fill_done(run, sandbox, limits, &frame.done);
	return frame_send(link, &frame, fds);
}

/* A run that was cancelled before it had a place. */
static int answer_cancelled(struct run *run, const struct limits *limits, int link)
{
	static const struct sandbox none = {.sock = -1, .gate = -1, .notify = {.listener = -1}};

	return answer_done(run, &none, limits, link);
}

int run_answer(struct run *run, const struct sandbox *sandbox, const struct limits *limits,
	       int link)
{
	int r;

	if (!sandbox)
		r = answer_cancelled(run, limits, link);
	else if (run->capture_error)
		r = answer_fail(run, run->started ? STAGE_CAPTURE : STAGE_PROGRAM,
				-run->capture_error, link);
	else if (sandbox->failed_stage != STAGE_NONE && !run->killed)
		r = answer_fail(run, sandbox->failed_stage, sandbox->failed_error, link);
	else
		r = answer_done(run, sandbox, limits, link);
	run_clear(run);
	return r;
}

void run_clear(struct run *run)
{
	watch_clear(&run->watch);
	capture_clear(&run->capture);
	cleanup_fd(&run->program);
	cleanup_fd(&run->stdin_blob);
	*run = (struct run){.capture = run->capture, .program = -1, .stdin_blob = -1};
}
