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
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/stage.h"
#include "policy/rlimits.h"
#include "worker/inside.h"
#include "worker/report.h"

#define PROGRAM "main.py"

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

static int write_program(int program)
{
	_cleanup_fd_ int fd =
		open(SANDBOX_HOME "/" PROGRAM, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	off_t offset = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		n = sendfile(fd, program, &offset, 1 << 20);
	} while (n > 0);
	return n < 0 ? -errno : 0;
}

/* The child that becomes the program: pid 2, leader of its session, default signals, three descriptors. */
static _Noreturn void become_program(const struct inside *inside, int sock, const int fds[GIVE_FDS],
				     const sigset_t *mask)
{
	char *argv[] = {(char *)(uintptr_t)inside->python, (char *)(uintptr_t)PROGRAM, NULL};

	if (chdir(SANDBOX_HOME) || dup2(fds[GIVE_STDIN], 0) < 0 || dup2(fds[GIVE_STDOUT], 1) < 0 ||
	    dup2(fds[GIVE_STDERR], 2) < 0)
		report_failure(sock, STAGE_EXEC, errno);
	sigprocmask(SIG_SETMASK, mask, NULL);
	setsid();
	if (rlimits_apply_program(&inside->limits) < 0)
		report_failure(sock, STAGE_LIMITS, errno);
	execve(inside->python, argv, inside->environment);
	report_failure(sock, STAGE_EXEC, errno);
}

static pid_t start(const struct inside *inside, int sock, const sigset_t *mask)
{
	int fds[GIVE_FDS];
	pid_t pid;
	int r = report_take(sock, fds);

	if (r <= 0)
		_exit(0);
	if ((r = write_program(fds[GIVE_PROGRAM])) < 0)
		report_failure(sock, STAGE_PROGRAM, -r);
	pid = fork();
	if (pid == 0)
		become_program(inside, sock, fds, mask);
	if (pid < 0)
		report_failure(sock, STAGE_EXEC, errno);
	for (int i = 0; i < GIVE_FDS; i++)
		close(fds[i]);
	return pid;
}

static bool workspace_full(void)
{
	struct statvfs fs;

	return !statvfs(SANDBOX_HOME, &fs) && (!fs.f_bavail || !fs.f_ffree);
}

static _Noreturn void end(int sock, int status, const struct rusage *main_usage)
{
	struct report report = {.kind = REPORT_ENDED,
				.status = status,
				.disk_full = workspace_full(),
				.main_cpu_us = clock_cpu_us(main_usage)};

	report_send(sock, &report);
	_exit(0);
}

/* Reaps whatever has ended; does not return when the main program is among it. */
static void reap(int sock, pid_t program)
{
	struct rusage usage;
	int status;
	pid_t pid;

	while ((pid = wait4(-1, &status, WNOHANG, &usage)) > 0)
		if (pid == program)
			end(sock, status, &usage);
}

void init_main(const struct inside *inside, int sock, uint32_t layers, int listener)
{
	struct pollfd event = {.fd = sock, .events = POLLIN};
	pid_t program = 0;
	sigset_t mask;

	watch_children(&mask);
	report_ready(sock, layers, listener);
	for (;;) {
		int n = ppoll(&event, 1, NULL, &mask);

		if (n > 0 && !program)
			program = start(inside, sock, &mask);
		else if (n > 0)
			_exit(0);
		reap(sock, program);
	}
}
