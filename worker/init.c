/* init - theory of operation
 *
 * Init is our own code and not the program, for three reasons: pid 1 gets no default signal action, orphans of the
 * program must be reaped, and when the main program ends somebody must end the rest; the kernel does that when pid 1
 * exits (pid_namespaces(7)). It has no capability, runs under the run's own seccomp filter, and is not dumpable.
 *
 * It waits for two things at once: its socket, and SIGCHLD, which is blocked but for the time in ppoll(2).
 */
#include "worker/init.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fds.h"
#include "common/limits.h"
#include "common/stage.h"
#include "policy/rlimits.h"
#include "worker/child.h"
#include "worker/gate/plan.h"
#include "worker/inside.h"
#include "worker/report.h"

#define LIFTED 10

static void on_child(int signal_number)
{
	(void)signal_number;
}

static void watch_children(sigset_t *unblocked)
{
	struct sigaction action = {.sa_handler = on_child};
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGCHLD);
	sigprocmask(SIG_BLOCK, &blocked, unblocked);
	sigaction(SIGCHLD, &action, NULL);
}

/* Out of the way of the numbers that descriptors are to get. */
static int lift(int fd)
{
	return fcntl(fd, F_DUPFD_CLOEXEC, LIFTED);
}

/* A pristine interpreter has two descriptors more, and bounds of its own. */
static int arrange_pristine(const struct inside *inside, const int fds[GIVE_ALL_FDS])
{
	if (dup2(fds[GIVE_CONTROL], GATE_CONTROL) < 0 || dup2(fds[GIVE_PLAN], GATE_PLAN) < 0)
		return -errno;
	return rlimits_apply_pristine(&inside->limits);
}

struct beginning {
	const struct inside *inside;
	int sock;
	const int *fds; /* GIVE_ALL_FDS of them */
	const sigset_t *mask;
};

/* The child that becomes the program: pid 2, leader of its session, default signals, three descriptors. Its memory is
 * init's until exec, and it changes none that init uses. */
static int become_program(void *ctx)
{
	const struct beginning *begin = ctx;
	const struct inside *inside = begin->inside;
	char *argv[] = {(char *)(uintptr_t)inside->python, (char *)(uintptr_t)SANDBOX_PROGRAM,
			NULL};
	bool pristine = begin->fds[GIVE_CONTROL] >= 0;
	int sock = lift(begin->sock);
	int fds[GIVE_ALL_FDS];
	int r;

	for (int i = 0; i < GIVE_ALL_FDS; i++)
		fds[i] = lift(begin->fds[i]);
	if (chdir(SANDBOX_HOME) || dup2(fds[GIVE_STDIN], 0) < 0 || dup2(fds[GIVE_STDOUT], 1) < 0 ||
	    dup2(fds[GIVE_STDERR], 2) < 0)
		report_failure(sock, STAGE_EXEC, errno);
	sigprocmask(SIG_SETMASK, begin->mask, NULL);
	setsid();
	r = pristine ? arrange_pristine(inside, fds) : rlimits_apply_program(&inside->limits);
	report_step(sock, STAGE_LIMITS, r);
	execve(inside->python, argv, inside->environment);
	report_failure(sock, STAGE_EXEC, errno);
}

static pid_t start(const struct inside *inside, int sock, int fds[GIVE_ALL_FDS],
		   const sigset_t *mask)
{
	struct beginning begin = {.inside = inside, .sock = sock, .fds = fds, .mask = mask};
	pid_t pid;

	report_step(sock, STAGE_PROGRAM,
		    fds_copy(fds[GIVE_PROGRAM], SANDBOX_HOME "/" SANDBOX_PROGRAM));
	/* From here on the program may have had effects. */
	report_step(sock, STAGE_PROGRAM, report_taken(sock));
	pid = child_make(become_program, &begin, CLONE_VFORK);
	if (pid < 0)
		report_failure(sock, STAGE_EXEC, errno);
	for (int i = 0; i < GIVE_ALL_FDS; i++)
		cleanup_fd(&fds[i]);
	return pid;
}

/* Follows an order; the end of the stream is the order to end. Returns the main program. */
static pid_t obey(const struct inside *inside, int sock, const sigset_t *mask)
{
	int fds[GIVE_ALL_FDS];
	struct order order;

	if (report_take(sock, &order, fds) <= 0)
		_exit(0);
	return order.kind == ORDER_ADOPT ? order.pid : start(inside, sock, fds, mask);
}

static bool workspace_full(void)
{
	struct statvfs fs;

	return !statvfs(SANDBOX_HOME, &fs) && (!fs.f_bavail || !fs.f_ffree);
}

static void say_ended(int sock, int status, const struct rusage *main_usage)
{
	struct report report = {.kind = REPORT_ENDED,
				.status = status,
				.disk_full = workspace_full(),
				.main_cpu_us = clock_cpu_us(main_usage)};

	report_send(sock, &report);
}

/* Reaps whatever has ended. Returns whether the main program is among it. */
static bool reap(int sock, pid_t program)
{
	bool ended = false;
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
		if (pid == program) {
			say_ended(sock, status, &usage);
			ended = true;
		}
	return ended;
}

/* An order is followed before anybody is reaped: who was adopted may have ended already. */
void init_main(const struct inside *inside, bool stay, int sock, uint32_t layers, int listener)
{
	struct pollfd event = {.fd = sock, .events = POLLIN};
	pid_t program = 0;
	sigset_t mask;

	watch_children(&mask);
	report_ready(sock, layers, 0, listener);
	for (;;) {
		int n = ppoll(&event, 1, NULL, &mask);

		if (n < 0)
			n = poll(&event, 1, 0);
		if (n > 0 && program)
			_exit(0);
		if (n > 0)
			program = obey(inside, sock, &mask);
		if (reap(sock, program) && !stay)
			_exit(0);
	}
}
