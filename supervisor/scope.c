/* scope - theory of operation
 *
 * systemd-run(1) --scope would do the same and then become us again: a server that is started twice, and none at all when
 * that goes wrong after it was begun. busctl(1), which comes with it, names our process to the manager instead, and is
 * waited for; what it says is of no interest, for we see in /proc whether we were moved.
 */
#include "supervisor/scope.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fds.h"
#include "common/hierarchy.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/signals.h"

#define BUSCTL "/usr/bin/busctl"
/* Tens of milliseconds where it works and nothing else is in the way. */
#define ANSWER_MS 3000
#define MOVED_MS 1000
#define PAUSE_NS 1000000

/* Says whether path is a cgroup that is ours alone already, or has no controllers that would be worth one. */
static bool is_settled(const char *path)
{
	_cleanup_fd_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	const pid_t self = getpid();
	char text[4 * KIB];

	if (dir < 0 || hierarchy_read(dir, "cgroup.controllers", text, sizeof(text)) < 0 ||
	    !hierarchy_lists(text, "memory"))
		return true;
	return faccessat(dir, "cgroup.subtree_control", W_OK, 0) == 0 &&
	       hierarchy_read(dir, "cgroup.procs", text, sizeof(text)) > 0 &&
	       hierarchy_only(text, &self, 1);
}

/* The user's manager listens there. */
static bool has_manager(void)
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	char path[PATH_MAX];
	struct stat status;

	if (!runtime || *runtime != '/' ||
	    snprintf(path, sizeof(path), "%s/systemd/private", runtime) >= (int)sizeof(path))
		return false;
	return stat(path, &status) == 0 && S_ISSOCK(status.st_mode) && access(BUSCTL, X_OK) == 0;
}

static char *entry_of(const char *name)
{
	size_t len = strlen(name);

	for (char **entry = environ; entry && *entry; entry++)
		if (strncmp(*entry, name, len) == 0 && (*entry)[len] == '=')
			return *entry;
	return NULL;
}

static _Noreturn void become_busctl(const char *scope, const char *pid)
{
	char *runtime = entry_of("XDG_RUNTIME_DIR"), *bus = entry_of("DBUS_SESSION_BUS_ADDRESS");
	char *environment[] = {runtime, bus, NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int keep[] = {0, 1, 2};

	signals_reset();
	if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0 ||
	    fds_close_all_but(keep, sizeof(keep) / sizeof(*keep)) < 0)
		_exit(127);
	execle(BUSCTL, "busctl", "--user", "--quiet", "call", "org.freedesktop.systemd1",
	       "/org/freedesktop/systemd1", "org.freedesktop.systemd1.Manager",
	       "StartTransientUnit", "ssa(sv)a(sa(sv))", scope, "fail", "4", "Description", "s",
	       "mcp-exec", "PIDs", "au", "1", pid, "Delegate", "b", "true", "CollectMode", "s",
	       "inactive-or-failed", "0", (char *)NULL, environment);
	_exit(127);
}

/* Returns whether it ended well, and in time. */
static bool wait_for(pid_t pid)
{
	_cleanup_fd_ int process = fds_open_process(pid);
	struct pollfd ended = {.fd = process, .events = POLLIN};
	int status = -1;

	if (process < 0 || poll(&ended, 1, ANSWER_MS) != 1)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The manager's answer comes before it has moved us. */
static bool was_moved(const char *before)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	uint64_t end_ms = clock_ms() + MOVED_MS;
	char path[PATH_MAX];

	do {
		if (hierarchy_own(path, sizeof(path)) == 0 && strcmp(path, before) != 0)
			return true;
		nanosleep(&pause, NULL);
	} while (clock_ms() < end_ms);
	return false;
}

void scope_enter(void)
{
	char before[PATH_MAX], scope[64], pid[16];
	uint64_t start_ms = clock_ms();
	bool moved;
	pid_t child;

	if (geteuid() == 0 || !has_manager() || hierarchy_own(before, sizeof(before)) < 0 ||
	    is_settled(before))
		return;
	snprintf(pid, sizeof(pid), "%d", getpid());
	/* A pid comes again, and the scope of one that was killed may be there still. */
	snprintf(scope, sizeof(scope), "mcp-exec-%s-%llx.scope", pid,
		 (unsigned long long)clock_us());
	child = fork();
	if (child == 0)
		become_busctl(scope, pid);
	moved = child > 0 && wait_for(child) && was_moved(before);
	log_event(LOG_INFO, "cgroup.scope", LOG_BOOL("moved", moved),
		  LOG_U64("ms", clock_ms() - start_ms));
}
