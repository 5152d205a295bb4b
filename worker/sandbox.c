/* sandbox - see the header. */
#include "worker/sandbox.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/stage.h"
#include "worker/lockdown.h"
#include "worker/processes.h"

/* The diagram of the header: may it go from a to b? Anything else is a bug of ours. */
static void move_to(struct sandbox *sandbox, enum sandbox_state next)
{
	static const unsigned int allowed[] = {
		[SANDBOX_REAPED] = 1U << SANDBOX_BUILDING,
		[SANDBOX_BUILDING] = 1U << SANDBOX_READY | 1U << SANDBOX_ENDING,
		[SANDBOX_READY] = 1U << SANDBOX_RUNNING | 1U << SANDBOX_ENDING,
		[SANDBOX_RUNNING] = 1U << SANDBOX_ENDING,
		[SANDBOX_ENDING] = 1U << SANDBOX_REAPED,
	};

	if (!(allowed[sandbox->state] & 1U << next))
		abort();
	sandbox->state = next;
}

static void note_failure(struct sandbox *sandbox, uint32_t stage, int error)
{
	if (sandbox->failed_stage == STAGE_NONE) {
		sandbox->failed_stage = stage;
		sandbox->failed_error = error;
	}
}

/* Who says from here on that he is done is refused that, and goes on to his end as ever. */
static void begin_end(struct sandbox *sandbox)
{
	sandbox->notify.main = 0;
	if (sandbox->state != SANDBOX_ENDING && sandbox->state != SANDBOX_REAPED)
		move_to(sandbox, SANDBOX_ENDING);
}

void sandbox_init(struct sandbox *sandbox)
{
	memset(sandbox, 0, sizeof(*sandbox));
	sandbox->sock = -1;
	sandbox->gate = -1;
	sandbox->group.base = -1;
	sandbox->notify.listener = -1;
	for (size_t i = 0; i < NAMESPACES; i++)
		sandbox->namespaces[i] = -1;
}

int sandbox_spawn(struct sandbox *sandbox, const struct inside *inside,
		  const struct purpose *purpose)
{
	struct purpose grouped = *purpose;
	int pair[2];
	pid_t pid;
	int r;

	grouped.group = &sandbox->group;
	sandbox->by_copy = purpose->above;
	group_init(&sandbox->group, inside->delegation, purpose->pristine);
	if ((r = report_pair(pair)) < 0) {
		note_failure(sandbox, STAGE_FORK, -r);
		return r;
	}
	_cleanup_fd_ int ours = pair[0];
	_cleanup_fd_ int theirs = pair[1];

	pid = fork();
	if (pid == 0)
		inside_main(inside, &grouped, theirs);
	if (pid < 0) {
		note_failure(sandbox, STAGE_FORK, errno);
		return -errno;
	}
	sandbox->sock = take_fd(&ours);
	sandbox->builder = pid;
	move_to(sandbox, SANDBOX_BUILDING);
	return 0;
}

/* The last one who is to be ready makes the sandbox READY. */
static void note_ready(struct sandbox *sandbox)
{
	if (sandbox->state == SANDBOX_BUILDING && sandbox->init && sandbox->layers &&
	    (!sandbox->by_copy || sandbox->copy_layers))
		move_to(sandbox, SANDBOX_READY);
}

static void take_listener(struct sandbox *sandbox, int *listener)
{
	notify_clear(&sandbox->notify);
	notify_init(&sandbox->notify, take_fd(listener), clock_us());
}

/* What init or, before it is, the builder says. */
static void handle(struct sandbox *sandbox, const struct report *report,
		   struct report_beside *beside)
{
	switch ((enum report_kind)report->kind) {
	case REPORT_SPAWNED:
		sandbox->init = beside->sender;
		for (size_t i = 0; i < NAMESPACES; i++)
			sandbox->namespaces[i] = take_fd(&beside->fds[i]);
		break;
	case REPORT_READY:
		sandbox->layers = report->layers;
		take_listener(sandbox, &beside->fds[0]);
		break;
	case REPORT_FAILED:
		note_failure(sandbox, report->stage, report->error);
		begin_end(sandbox);
		break;
	case REPORT_ENDED:
		/* One that was done dies of being killed. */
		if (sandbox->ended)
			break;
		sandbox->report = *report;
		sandbox->ended = true;
		begin_end(sandbox);
		break;
	case REPORT_TAKEN:
		sandbox->taken = true;
		break;
	case REPORT_SERVING:
		break;
	}
}

/* A copy was born in its interpreter's cgroup, and waits: from its program's first byte on it is in its sandbox's. */
static int take_copy(struct sandbox *sandbox, const struct report *report,
		     struct report_beside *beside)
{
	int r = group_add(&sandbox->group, beside->sender);

	if (r < 0)
		note_failure(sandbox, STAGE_CGROUP, -r);
	if (r < 0 || (r = report_adopt(sandbox->sock, report->pid)) < 0)
		return r;
	sandbox->copy_layers = report->layers;
	sandbox->copy = beside->sender;
	take_listener(sandbox, &beside->fds[0]);
	sandbox->notify.main = sandbox->copy;
	return 0;
}

/* What the copy says, or who tried to make it. */
static void handle_copy(struct sandbox *sandbox, const struct report *report,
			struct report_beside *beside)
{
	if (report->kind == REPORT_READY && sandbox->sock >= 0 &&
	    take_copy(sandbox, report, beside) == 0)
		return;
	note_failure(sandbox, report->kind == REPORT_FAILED ? report->stage : STAGE_JOIN,
		     report->kind == REPORT_FAILED ? report->error : EPROTO);
	sandbox_kill(sandbox);
}

static void note_done(struct sandbox *sandbox)
{
	const struct notify_done *done = &sandbox->notify.done;

	if (!done->said || sandbox->state != SANDBOX_RUNNING)
		return;
	sandbox->report = (struct report){.kind = REPORT_ENDED,
					  .status = W_EXITCODE(done->status, 0),
					  .disk_full = done->disk_full};
	sandbox->ended = true;
	sandbox->done = true;
	begin_end(sandbox);
}

/* Nothing is left that could be waited for, and nobody can speak any more. */
static void note_end(struct sandbox *sandbox)
{
	if (sandbox->state == SANDBOX_REAPED || sandbox->builder || sandbox->init ||
	    sandbox->sock >= 0)
		return;
	if (!sandbox->ended)
		note_failure(sandbox, STAGE_INIT, ECHILD);
	begin_end(sandbox);
	move_to(sandbox, SANDBOX_REAPED);
}

typedef void report_handler(struct sandbox *, const struct report *, struct report_beside *);

/* Reads a socket until it has no more. Returns whether it has ended, by its end or by nonsense. */
static bool read_socket(struct sandbox *sandbox, const int *sock, report_handler *handler)
{
	struct report_beside beside;
	struct report report;
	int r = -EAGAIN;

	while (*sock >= 0 && (r = report_recv(*sock, &report, &beside)) == 1) {
		handler(sandbox, &report, &beside);
		for (size_t i = 0; i < NAMESPACES; i++)
			cleanup_fd(&beside.fds[i]);
		note_ready(sandbox);
	}
	return r != -EAGAIN;
}

/* reaped is a process that was waited for just now: its number may be another's already. */
static void read_reports(struct sandbox *sandbox, pid_t reaped)
{
	if (!read_socket(sandbox, &sandbox->sock, handle))
		return;
	/* Nothing in it speaks to us any more. */
	cleanup_fd(&sandbox->sock);
	begin_end(sandbox);
	if (sandbox->init && sandbox->init != reaped)
		kill(sandbox->init, SIGKILL);
}

static void read_gate(struct sandbox *sandbox)
{
	if (!read_socket(sandbox, &sandbox->gate, handle_copy))
		return;
	cleanup_fd(&sandbox->gate);
	note_failure(sandbox, STAGE_JOIN, ECHILD);
	sandbox_kill(sandbox);
}

void sandbox_poll(const struct sandbox *sandbox, struct pollfd polls[SANDBOX_POLLS])
{
	/* When the program has been given, the gate says no more than that it was taken: see sandbox_taken. */
	bool silent = sandbox->state != SANDBOX_BUILDING && sandbox->state != SANDBOX_READY;

	polls[0] = (struct pollfd){.fd = sandbox->sock, .events = POLLIN};
	polls[1] = (struct pollfd){.fd = silent ? -1 : sandbox->gate, .events = POLLIN};
	notify_poll(&sandbox->notify, &polls[2]);
}

void sandbox_read(struct sandbox *sandbox, const struct pollfd polls[SANDBOX_POLLS])
{
	notify_receive(&sandbox->notify, &polls[2]);
	note_done(sandbox);
	if (polls[1].fd >= 0 && polls[1].revents)
		read_gate(sandbox);
	if (polls[0].fd >= 0 && polls[0].revents)
		read_reports(sandbox, 0);
	note_end(sandbox);
}

bool sandbox_wants_copy(const struct sandbox *sandbox)
{
	return sandbox->by_copy && sandbox->state == SANDBOX_BUILDING && sandbox->init &&
	       sandbox->layers && sandbox->gate < 0;
}

int sandbox_open_gate(struct sandbox *sandbox, int *gate)
{
	int pair[2];
	int r = report_pair(pair);

	if (r < 0)
		return r;
	sandbox->gate = pair[0];
	*gate = pair[1];
	return 0;
}

int sandbox_give(struct sandbox *sandbox, const int *fds, size_t nfds)
{
	int r = report_give(sandbox->by_copy ? sandbox->gate : sandbox->sock, fds, nfds);

	if (r == 0)
		move_to(sandbox, SANDBOX_RUNNING);
	return r;
}

/* Init ended without a word, and without having said that it has the program. */
static bool was_lost(const struct sandbox *sandbox)
{
	return sandbox->state == SANDBOX_REAPED && !sandbox->taken && !sandbox->ended &&
	       sandbox->failed_stage == STAGE_INIT;
}

/* A copy says so before it begins (REPORT_TAKEN), or that it could not write its program down, and nobody reads it before
 * it is asked for here. Whether the order was received would not do: one that has a signal to die of may have received
 * it. */
int sandbox_taken(const struct sandbox *sandbox)
{
	struct report report;
	ssize_t n = 0;

	if (!sandbox->by_copy)
		return was_lost(sandbox) ? -ECONNRESET : 0;
	if (sandbox->gate >= 0)
		n = recv(sandbox->gate, &report, sizeof(report), MSG_DONTWAIT | MSG_PEEK);
	if (n == sizeof(report) && report.kind == REPORT_TAKEN)
		return 0;
	return n < 0 && errno == EAGAIN ? -EAGAIN : -ECONNRESET;
}

bool sandbox_was_killed(const struct sandbox *sandbox)
{
	return sandbox->layers && sandbox->failed_stage == STAGE_INIT;
}

uint32_t sandbox_layers(const struct sandbox *sandbox)
{
	if (!sandbox->by_copy)
		return sandbox->layers;
	return sandbox->layers & (sandbox->copy_layers | ~lockdown_layers());
}

void sandbox_kill(struct sandbox *sandbox)
{
	if (sandbox->state == SANDBOX_REAPED)
		return;
	begin_end(sandbox);
	if (sandbox->init)
		kill(sandbox->init, SIGKILL);
	else if (sandbox->sock >= 0)
		/* Init, if it ever is, exits when it finds its socket closed. */
		shutdown(sandbox->sock, SHUT_RDWR);
}

void sandbox_refuse(struct sandbox *sandbox, enum stage stage, int error)
{
	note_failure(sandbox, stage, error);
	sandbox_kill(sandbox);
}

bool sandbox_finish(struct sandbox *sandbox)
{
	struct process_usage usage;
	bool alone = sandbox->init && process_is_alone(sandbox->copy, sandbox->init, &usage);

	if (alone)
		sandbox->usage = (struct rusage){
			.ru_utime = {.tv_sec = (time_t)(usage.cpu_us / 1000000),
				     .tv_usec = (suseconds_t)(usage.cpu_us % 1000000)},
			.ru_maxrss = (long)(usage.peak_bytes / KIB)};
	sandbox->done = false;
	sandbox_kill(sandbox);
	return alone;
}

void sandbox_reaped(struct sandbox *sandbox, pid_t pid, const struct rusage *usage)
{
	if (sandbox->state == SANDBOX_REAPED)
		return;
	/* What it said before it died comes first. */
	read_reports(sandbox, pid);
	if (pid == sandbox->builder) {
		sandbox->builder = 0;
	} else if (pid == sandbox->init) {
		sandbox->init = 0;
		sandbox->usage = *usage;
		/* Whoever else held the other end is dead, too. */
		read_reports(sandbox, pid);
	}
	note_end(sandbox);
}

void sandbox_clear(struct sandbox *sandbox)
{
	cleanup_fd(&sandbox->sock);
	cleanup_fd(&sandbox->gate);
	for (size_t i = 0; i < NAMESPACES; i++)
		cleanup_fd(&sandbox->namespaces[i]);
	notify_clear(&sandbox->notify);
	group_end(&sandbox->group);
	sandbox_init(sandbox);
}
