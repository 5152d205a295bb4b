/* stub_enter - worker/gate/enter.h without a sandbox, for tests of what the copy of the interpreter does.
 *
 * Over the control socket comes one message for each program, with five descriptors: the directory to run in, the
 * program, and its 0, 1 and 2. The answer is the status that wait has for it. The plan is a text: the modules to preload.
 */
#include "worker/gate/enter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { DIRECTORY, PROGRAM, STREAMS, FDS = STREAMS + 3 };

struct enter {
	int control, fds[FDS];
	unsigned int copies; /* so far: every other one is hurried */
	char modules[1024];
};

struct enter *enter_open(int control, int plan)
{
	struct enter *enter = calloc(1, sizeof(*enter));

	if (!enter || pread(plan, enter->modules, sizeof(enter->modules) - 1, 0) < 0)
		return NULL;
	enter->control = control;
	return enter;
}

const char *enter_modules(const struct enter *enter)
{
	return enter->modules;
}

int enter_ready(struct enter *enter, uint32_t loaded, int error)
{
	uint32_t words[2] = {loaded, (uint32_t)error};

	return send(enter->control, words, sizeof(words), 0) < 0 ? -errno : 0;
}

int enter_next(struct enter *enter, bool *hurried)
{
	union {
		char bytes[CMSG_SPACE(sizeof(enter->fds))];
		struct cmsghdr head;
	} space;
	char byte;
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data,
				 .msg_iovlen = 1,
				 .msg_control = &space,
				 .msg_controllen = sizeof(space)};
	ssize_t n = recvmsg(enter->control, &message, MSG_CMSG_CLOEXEC);

	if (n <= 0)
		return n < 0 ? -errno : 0;
	if (!CMSG_FIRSTHDR(&message) ||
	    CMSG_FIRSTHDR(&message)->cmsg_len != CMSG_LEN(sizeof(enter->fds)))
		return -EBADMSG;
	memcpy(enter->fds, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(enter->fds));
	*hurried = enter->copies++ % 2;
	return 1;
}

/* The pristine interpreter waits for its copy, and tells how that ended. */
int enter_fork(struct enter *enter)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0)
		return 0;
	for (int i = 0; i < FDS; i++)
		close(enter->fds[i]);
	if (pid < 0)
		return -errno;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return send(enter->control, &status, sizeof(status), 0) < 0 ? -errno : 1;
}

void enter_wait(struct enter *enter)
{
	int file;
	off_t offset = 0;
	bool failed;

	setsid();
	failed = fchdir(enter->fds[DIRECTORY]) < 0;
	file = open("main.py", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	failed = failed || file < 0;
	while (!failed && sendfile(file, enter->fds[PROGRAM], &offset, 1 << 20) > 0)
		;
	for (int i = 0; !failed && i < 3; i++)
		failed = dup2(enter->fds[STREAMS + i], i) < 0;
	if (failed)
		_exit(99);
	closefrom(3);
}

void enter_leave(struct enter *enter, int status)
{
	(void)enter;
	(void)status;
}
