/* enter - theory of operation
 *
 * A sandbox's user namespace is a child of the pristine interpreter's own, made by the same user; so whoever is in the
 * latter may enter the former, without any capability, and has all of them there (user_namespaces(7)). What enters a
 * pid namespace is the next child. So there are three processes:
 *
 *   the pristine interpreter ──vfork──▶ the one that enters ──vfork──▶ the first one inside ──fork──▶ the copy
 *
 * The two in between exit at once. The first one inside makes the copy a grandchild: when it exits, the sandbox's init
 * becomes the copy's parent, as it is the parent of a program that is started by exec. The copy is ready when that one is
 * gone and waited for, which is the part of the pristine interpreter's init. vfork(2) shares memory, so the
 * page tables are copied once. It leaves the stack as it was at the time of the fork, and the copy may return where the
 * others must not: their frames are its own, copied memory.
 */
#include "worker/gate/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fds.h"
#include "common/layers.h"
#include "common/packet.h"
#include "policy/namespaces.h"
#include "policy/rlimits.h"
#include "worker/gate/plan.h"
#include "worker/lockdown.h"
#include "worker/report.h"

/* An analyser that knows vfork(2) wants the child to call nothing but exec; the one of LLVM 14 ends in a crash here. */
#ifdef __clang_analyzer__
#define vfork fork
#endif

struct enter {
	int control;
	struct plan plan;
	int namespaces[NAMESPACES]; /* of the next sandbox */
	int gate;		    /* the copy's socket to the worker */
	pid_t maker;		    /* of the copy, the first one inside; as it is known there */
	pid_t copy;		    /* 0 but in a copy that has its program */
	uint32_t layers;	    /* of the copy */
	int listener;
};

struct enter *enter_open(int control, int plan)
{
	struct enter *enter = calloc(1, sizeof(*enter));
	int r;

	if (!enter)
		return NULL;
	enter->control = control;
	fcntl(control, F_SETFD, FD_CLOEXEC);
	r = plan_read(plan, &enter->plan);
	close(plan);
	if (r == 0)
		return enter;
	free(enter);
	errno = -r;
	return NULL;
}

const char *enter_modules(const struct enter *enter)
{
	return enter->plan.modules;
}

int enter_ready(struct enter *enter, uint32_t loaded, int error)
{
	struct report report = {.kind = error ? REPORT_FAILED : REPORT_SERVING,
				.stage = STAGE_EXEC,
				.error = error,
				.loaded = loaded};

	return report_send(enter->control, &report);
}

int enter_next(struct enter *enter, bool *hurried)
{
	int fds[NAMESPACES + 1];
	size_t n = 0;
	char byte;
	int r = packet_recv(enter->control, &byte, sizeof(byte), fds, NAMESPACES + 1, &n);

	if (r == 1 && n != NAMESPACES + 1) {
		while (n)
			close(fds[--n]);
		return -EPROTO;
	}
	if (r != 1)
		return r;
	*hurried = byte != 0;
	memcpy(enter->namespaces, fds, sizeof(enter->namespaces));
	enter->gate = fds[NAMESPACES];
	return 1;
}

static void close_next(struct enter *enter)
{
	for (size_t i = 0; i < NAMESPACES; i++)
		cleanup_fd(&enter->namespaces[i]);
	cleanup_fd(&enter->gate);
}

/* The last walls, before anything of Python's runs again. */
static void lock_down(struct enter *enter)
{
	const struct inside *inside = &enter->plan.inside;
	int keep[] = {0, 1, 2, enter->gate};

	report_step(enter->gate, STAGE_DESCRIPTORS,
		    fds_close_all_but(keep, sizeof(keep) / sizeof(*keep)));
	report_step(enter->gate, STAGE_SESSION, setsid() < 0 ? -errno : 0);
	report_step(enter->gate, STAGE_JOIN, chdir(SANDBOX_HOME) ? -errno : 0);
	report_step(enter->gate, STAGE_LIMITS, rlimits_apply_copy(&inside->limits));
	enter->listener = lockdown_apply(inside, true, enter->gate, &enter->layers);
}

static void wait_for(pid_t pid)
{
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		;
}

/* Each waits for the one that it made: nobody else needs to be well for that. */
int enter_fork(struct enter *enter)
{
	pid_t entering = vfork(), inside, copy;
	int error = errno;

	if (entering == 0) {
		report_step(enter->gate, STAGE_JOIN, namespaces_join(enter->namespaces));
		inside = vfork();
		if (inside == 0) {
			enter->maker = getpid();
			copy = fork();
			if (copy == 0) {
				lock_down(enter);
				return 0;
			}
			report_step(enter->gate, STAGE_FORK, copy < 0 ? -errno : 0);
			_exit(0);
		}
		report_step(enter->gate, STAGE_FORK, inside < 0 ? -errno : 0);
		wait_for(inside);
		_exit(0);
	}
	if (entering < 0)
		report_failed(enter->gate, STAGE_FORK, error);
	else
		wait_for(entering);
	close_next(enter);
	return entering < 0 ? -error : 1;
}

static int take_streams(int fds[GIVE_ALL_FDS])
{
	for (int i = GIVE_STDIN; i <= GIVE_STDERR; i++)
		if (dup2(fds[i], i - GIVE_STDIN) < 0)
			return -errno;
	for (int i = 0; i < GIVE_ALL_FDS; i++)
		cleanup_fd(&fds[i]);
	return 0;
}

/* The maker has its memory in common with the pristine interpreter, and would take signals from a program. Landlock, where
 * it scopes them, refuses one to whoever is there. */
static void outlive(pid_t maker)
{
	static const struct timespec pause = {.tv_nsec = 50000};

	while (kill(maker, 0) == 0 || errno == EPERM)
		nanosleep(&pause, NULL);
}

void enter_wait(struct enter *enter)
{
	int fds[GIVE_ALL_FDS];
	struct order order;

	/* Now, since that takes a moment, too: nothing that is left needs it. */
	plan_clear(&enter->plan);
	outlive(enter->maker);
	report_step(enter->gate, STAGE_INIT,
		    report_ready(enter->gate, enter->layers, getpid(), enter->listener));
	if (report_take(enter->gate, &order, fds) != 1 || order.kind != ORDER_START)
		_exit(0);
	report_step(enter->gate, STAGE_PROGRAM,
		    fds_copy(fds[GIVE_PROGRAM], SANDBOX_HOME "/" SANDBOX_PROGRAM));
	report_step(enter->gate, STAGE_EXEC, take_streams(fds));
	enter->copy = getpid();
	/* From here on the program may have had effects. */
	report_step(enter->gate, STAGE_EXEC, report_taken(enter->gate));
	cleanup_fd(&enter->gate);
}

/* kill(2): -1 is everybody but init and oneself. */
static bool is_alone(void)
{
	return kill(-1, 0) < 0 && errno == ESRCH;
}

void enter_leave(struct enter *enter, int status)
{
	struct statvfs fs;
	sigset_t all;

	if (!enter->copy || enter->copy != getpid() || !is_alone())
		return;
	fflush(NULL);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	/* What others had of the streams is closed, too: there are no others. */
	close(STDIN_FILENO);
	close(STDOUT_FILENO);
	close(STDERR_FILENO);
	syscall(DONE_CALL, DONE_WORD, status & 0xff,
		!statvfs(SANDBOX_HOME, &fs) && (!fs.f_bavail || !fs.f_ffree), 0);
}
