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
#include "common/stage.h"

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

static void begin_end(struct sandbox *sandbox)
{
	if (sandbox->state != SANDBOX_ENDING && sandbox->state != SANDBOX_REAPED)
		move_to(sandbox, SANDBOX_ENDING);
}

static void make_blank(struct sandbox *sandbox)
{
	memset(sandbox, 0, sizeof(*sandbox));
	sandbox->sock = -1;
	sandbox->notify.listener = -1;
}

int sandbox_spawn(struct sandbox *sandbox, const struct inside *inside)
{
	int pair[2];
	pid_t pid;

	make_blank(sandbox);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair)) {
		note_failure(sandbox, STAGE_FORK, errno);
		return -errno;
	}
	_cleanup_fd_ int ours = pair[0];
	_cleanup_fd_ int theirs = pair[1];

	pid = fork();
	if (pid == 0)
		inside_main(inside, theirs);
	if (pid < 0) {
		note_failure(sandbox, STAGE_FORK, errno);
		return -errno;
	}
	sandbox->sock = take_fd(&ours);
	sandbox->builder = pid;
	move_to(sandbox, SANDBOX_BUILDING);
	return 0;
}

static void handle(struct sandbox *sandbox, const struct report *report, int listener)
{
	switch ((enum report_kind)report->kind) {
	case REPORT_SPAWNED:
		sandbox->init = report->pid;
		break;
	case REPORT_READY:
		sandbox->layers = report->layers;
		notify_clear(&sandbox->notify);
		notify_init(&sandbox->notify, listener, clock_us());
		break;
	case REPORT_FAILED:
		note_failure(sandbox, report->stage, report->error);
		begin_end(sandbox);
		break;
	case REPORT_ENDED:
		sandbox->report = *report;
		sandbox->ended = true;
		begin_end(sandbox);
		break;
	}
}

/* Builder and init are two processes: either may be heard first. */
static bool is_ready(const struct sandbox *sandbox)
{
	return sandbox->state == SANDBOX_BUILDING && sandbox->init && sandbox->layers;
}

/* reaped is a process that was waited for just now: its number may be another's already. */
static void read_reports(struct sandbox *sandbox, pid_t reaped)
{
	struct report report;
	int r = -EAGAIN, listener;

	while (sandbox->sock >= 0 && (r = report_recv(sandbox->sock, &report, &listener)) == 1) {
		handle(sandbox, &report, listener);
		if (is_ready(sandbox))
			move_to(sandbox, SANDBOX_READY);
	}
	if (r == -EAGAIN)
		return;
	/* The end of the stream, or nonsense: nothing in it speaks to us any more. */
	cleanup_fd(&sandbox->sock);
	begin_end(sandbox);
	if (sandbox->init && sandbox->init != reaped)
		kill(sandbox->init, SIGKILL);
}

void sandbox_read(struct sandbox *sandbox)
{
	read_reports(sandbox, 0);
}

int sandbox_give(struct sandbox *sandbox, const int fds[GIVE_FDS])
{
	int r = report_give(sandbox->sock, fds);

	if (r == 0)
		move_to(sandbox, SANDBOX_RUNNING);
	return r;
}

void sandbox_kill(struct sandbox *sandbox)
{
	if (sandbox->state == SANDBOX_REAPED)
		return;
	begin_end(sandbox);
	if (sandbox->init)
		kill(sandbox->init, SIGKILL);
	else
		/* Init, if it ever is, exits when it finds its socket closed. */
		shutdown(sandbox->sock, SHUT_RDWR);
}

void sandbox_reaped(struct sandbox *sandbox, pid_t pid, const struct rusage *usage)
{
	if (sandbox->state == SANDBOX_REAPED)
		return;
	/* What it said before it died comes first: the builder tells init's pid just before it exits. */
	read_reports(sandbox, pid);
	if (pid == sandbox->builder) {
		sandbox->builder = 0;
	} else if (pid == sandbox->init) {
		sandbox->init = 0;
		sandbox->usage = *usage;
	}
	if (sandbox->builder || sandbox->init)
		return;
	if (!sandbox->ended)
		note_failure(sandbox, STAGE_INIT, ECHILD);
	begin_end(sandbox);
	move_to(sandbox, SANDBOX_REAPED);
}

void sandbox_destroy(struct sandbox *sandbox)
{
	sandbox_kill(sandbox);
	while (sandbox->state != SANDBOX_REAPED) {
		struct rusage usage;
		pid_t pid = wait4(-1, NULL, 0, &usage);

		if (pid < 0 && errno != EINTR)
			break;
		if (pid > 0)
			sandbox_reaped(sandbox, pid, &usage);
	}
}

void sandbox_clear(struct sandbox *sandbox)
{
	cleanup_fd(&sandbox->sock);
	notify_clear(&sandbox->notify);
	make_blank(sandbox);
}
