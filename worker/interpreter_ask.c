/* interpreter_ask - see the header. */
#include "worker/interpreter_ask.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fds.h"

#define ANSWER_FD 3
#define MAGIC "mcp-exec-answer"
#define MAGIC_END "mcp-exec-end"

/* Everything over a descriptor of its own: shims and .pth files print. A venv has no user site of its own. */
static const char script[] =
	"import os, site, sys, sysconfig\n"
	"out = ['" MAGIC
	"', '1', 'version', str(sys.hexversion >> 8), 'executable', sys.executable or '']\n"
	"def put(key, *values):\n"
	"    for value in values:\n"
	"        if value and isinstance(value, str): out.extend((key, value))\n"
	"put('base_prefix', sys.base_prefix, sys.base_exec_prefix)\n"
	"put('prefix', sys.prefix, sys.exec_prefix)\n"
	"paths = sysconfig.get_paths()\n"
	"put('library', *(paths.get(k) for k in ('stdlib', 'platstdlib', 'purelib', 'platlib')))\n"
	"put('library', *site.getsitepackages())\n"
	"user = site.getusersitepackages()\n"
	"if sys.prefix == sys.base_prefix and os.path.isdir(user):\n"
	"    put('user_site', user); put('user_base', site.getuserbase())\n"
	"put('path', *sys.path)\n"
	"put('" MAGIC_END "', '1')\n"
	"os.write(3, b''.join(os.fsencode(s) + b'\\0' for s in out))\n";

static _Noreturn void become(const char *path, int answer)
{
	char *argv[] = {(char *)(uintptr_t)path, (char *)(uintptr_t) "-I", (char *)(uintptr_t) "-c",
			(char *)(uintptr_t)script, NULL};
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int keep[] = {0, 1, 2, ANSWER_FD};
	sigset_t none;

	setsid();
	signal(SIGPIPE, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Moved out of the way first: dup2 of a descriptor to itself keeps it close-on-exec. */
	answer = fcntl(answer, F_DUPFD, 10);
	if (null < 0 || answer < 0 || chdir("/") || dup2(null, 0) < 0 || dup2(null, 1) < 0 ||
	    dup2(null, 2) < 0 || dup2(answer, ANSWER_FD) < 0 || fds_close_all_but(keep, 4) < 0)
		_exit(126);
	execv(path, argv);
	_exit(127);
}

static bool is_complete(const struct ask_answer *answer)
{
	static const char end[] = MAGIC_END "\0001";

	return answer->len >= sizeof(end) &&
	       !memcmp(answer->text + answer->len - sizeof(end), end, sizeof(end));
}

/* Reads to the end of the answer, the deadline, or a full buffer. Not to the end of file: what a shim leaves behind may
 * hold the pipe. */
static int collect(int fd, uint32_t timeout_ms, struct ask_answer *answer)
{
	uint64_t deadline_ms = clock_ms() + timeout_ms;

	answer->len = 0;
	while (answer->len < ASK_BYTES && !is_complete(answer)) {
		struct pollfd event = {.fd = fd, .events = POLLIN};
		uint64_t now_ms = clock_ms();
		ssize_t n;

		int ready;

		if (now_ms >= deadline_ms)
			return -ETIMEDOUT;
		ready = poll(&event, 1, (int)(deadline_ms - now_ms));
		if (ready < 0 && errno != EINTR)
			return -errno;
		if (ready <= 0)
			continue;
		n = read(fd, answer->text + answer->len, ASK_BYTES - answer->len);
		if (n < 0 && errno != EINTR)
			return -errno;
		if (n == 0)
			return 0;
		answer->len += n > 0 ? (size_t)n : 0;
	}
	return is_complete(answer) ? 0 : -EPROTO;
}

static int check(const struct ask_answer *answer)
{
	bool whole = answer->len && answer->text[answer->len - 1] == '\0';

	return whole && ask_get(answer, MAGIC) && ask_get(answer, "version") &&
			       ask_get(answer, "executable")
		       ? 0
		       : -EPROTO;
}

int interpreter_ask(const char *path, uint32_t timeout_ms, struct ask_answer *answer)
{
	int ends[2];
	pid_t pid;
	int r;

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	_cleanup_fd_ int ours = ends[0];
	_cleanup_fd_ int theirs = ends[1];

	pid = fork();
	if (pid == 0)
		become(path, theirs);
	if (pid < 0)
		return -errno;
	cleanup_fd(&theirs);
	r = collect(ours, timeout_ms, answer);
	/* The session it leads: a shim may have children. */
	kill(-pid, SIGKILL);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
		continue;
	return r < 0 ? r : check(answer);
}

static size_t after(const struct ask_answer *answer, size_t position)
{
	return position + strnlen(answer->text + position, answer->len - position) + 1;
}

const char *ask_next(const struct ask_answer *answer, const char *key, size_t *position)
{
	while (*position < answer->len) {
		const char *name = answer->text + *position;
		size_t value = after(answer, *position);

		if (value >= answer->len)
			return NULL;
		*position = after(answer, value);
		if (!strcmp(name, key))
			return answer->text + value;
	}
	return NULL;
}

const char *ask_get(const struct ask_answer *answer, const char *key)
{
	size_t position = 0;

	return ask_next(answer, key, &position);
}
