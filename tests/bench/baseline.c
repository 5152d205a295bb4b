/* baseline - the cheapest way to run a program without any wall around it, as a measure for what a sandbox costs.
 *
 * One call: a fresh directory, main.py written into it, `python3 main.py` spawned there with pipes on its three
 * standard streams, both outputs read to their ends, everything removed.
 *
 * usage: baseline PYTHON PROGRAM
 */
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/bench/turns.h"

extern char **environ;

enum { IN, OUT, ERR, STREAMS };

struct program {
	char *python;
	char text[1 << 16];
	size_t len;
};

static void write_program(const char *path, const struct program *program)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	must(fd >= 0, path);
	must(write(fd, program->text, program->len) == (ssize_t)program->len, path);
	close(fd);
}

static pid_t spawn(const struct program *program, const char *dir, char *path, int ends[STREAMS])
{
	char *argv[] = {program->python, path, NULL};
	posix_spawn_file_actions_t actions;
	int theirs[STREAMS];
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	for (int i = IN; i < STREAMS; i++) {
		int pair[2];

		must(pipe2(pair, O_CLOEXEC) == 0, "pipe2");
		theirs[i] = pair[i == IN ? 0 : 1];
		ends[i] = pair[i == IN ? 1 : 0];
		posix_spawn_file_actions_adddup2(&actions, theirs[i], i);
	}
	posix_spawn_file_actions_addchdir_np(&actions, dir);
	must(posix_spawn(&pid, program->python, &actions, NULL, argv, environ) == 0,
	     program->python);
	posix_spawn_file_actions_destroy(&actions);
	for (int i = IN; i < STREAMS; i++)
		close(theirs[i]);
	return pid;
}

static void drain(const int ends[STREAMS])
{
	struct pollfd streams[] = {{.fd = ends[OUT], .events = POLLIN},
				   {.fd = ends[ERR], .events = POLLIN}};
	static char dropped[1 << 16];
	int still_open = 2;

	while (still_open > 0) {
		must(poll(streams, 2, -1) > 0, "poll");
		for (int i = 0; i < 2; i++) {
			if (streams[i].revents == 0 ||
			    read(streams[i].fd, dropped, sizeof(dropped)) > 0)
				continue;
			close(streams[i].fd);
			streams[i].fd = -1;
			still_open--;
		}
	}
}

static void call(void *ctx)
{
	const struct program *program = ctx;
	char dir[] = "/tmp/mcp-exec-bench-XXXXXX";
	char path[sizeof(dir) + sizeof("/main.py")];
	int ends[STREAMS];
	int status;
	pid_t pid;

	must(mkdtemp(dir) != NULL, dir);
	snprintf(path, sizeof(path), "%s/main.py", dir);
	write_program(path, program);
	pid = spawn(program, dir, path, ends);
	close(ends[IN]);
	drain(ends);
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	unlink(path);
	rmdir(dir);
	must(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the program failed");
}

int main(int argc, char **argv)
{
	static struct program program;
	ssize_t len;
	int fd;

	if (argc != 3) {
		fprintf(stderr, "usage: baseline PYTHON PROGRAM\n");
		return 64;
	}
	fd = open(argv[2], O_RDONLY | O_CLOEXEC);
	len = fd < 0 ? -1 : read(fd, program.text, sizeof(program.text));
	must(len >= 0, argv[2]);
	program.python = argv[1];
	program.len = (size_t)len;
	take_turns(call, &program);
	return 0;
}
