/* reap - see the header. */
#include "supervisor/reap.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>

#include "common/cleanup.h"
#include "common/fds.h"

int reap_child(pid_t pid, int grace_ms)
{
	_cleanup_fd_ int handle = fds_open_process(pid);
	struct pollfd ended = {.fd = handle, .events = POLLIN};
	int status = 0;

	if (handle < 0 || poll(&ended, 1, grace_ms) != 1)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

void reap_orphans(pid_t but)
{
	siginfo_t info = {.si_pid = 0};

	while (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0 &&
	       info.si_pid != but) {
		waitpid(info.si_pid, NULL, 0);
		info.si_pid = 0;
	}
}
