/* shim - shell scripts that play Python interpreters, in a home directory made for each test. */
#ifndef TESTS_UNIT_SHIM_H
#define TESTS_UNIT_SHIM_H

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/fds.h"
#include "worker/interpreter.h"

#define SHIM_PATH 160
/* 3.63.2: no system has settings for it in /etc. */
#define SHIM_VERSION "212738"

/* The home of the user; everything here is below it. */
static char shim_home[64];

static inline const char *shim_at(const char *name)
{
	static char paths[64][SHIM_PATH];
	static int next;
	char *path = paths[next++ % 64];

	snprintf(path, SHIM_PATH, "%s/%.80s", shim_home, name);
	return path;
}

static inline const char *shim_dir(const char *name)
{
	const char *path = shim_at(name);

	mkdir(path, 0755);
	return path;
}

static inline const char *shim_file(const char *name, const void *data, size_t len, mode_t mode)
{
	const char *path = shim_at(name);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	assert_true(fd >= 0);
	assert_int_equal(fds_write_all(fd, data, len), 0);
	close(fd);
	return path;
}

/* An interpreter below home that answers these bytes. */
static inline const char *shim_raw(const char *name, const char *answer, size_t len)
{
	static const char script[] = "#!/bin/sh\necho noise\nexec cat \"$0.answer\" >&3\n";
	char file[256];

	snprintf(file, sizeof(file), "%s.answer", name);
	shim_file(file, answer, len, 0644);
	return shim_file(name, script, sizeof(script) - 1, 0755);
}

/* The same from words, of which NULL is the last. */
static inline const char *shim_make(const char *name, const char *const *words)
{
	char answer[8192] = "mcp-exec-answer\0"
			    "1";
	size_t len = sizeof("mcp-exec-answer") + 2;

	for (; *words; words++) {
		size_t n = strlen(*words) + 1;

		assert_true(len + n <= sizeof(answer));
		memcpy(answer + len, *words, n);
		len += n;
	}
	assert_true(len + sizeof("mcp-exec-end") + 2 <= sizeof(answer));
	memcpy(answer + len, "mcp-exec-end\0001", sizeof("mcp-exec-end") + 2);
	return shim_raw(name, answer, len + sizeof("mcp-exec-end") + 2);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

/* One that is whole: its executable surely exists. */
#define GOOD(...)                                                                                  \
	WORDS("version", SHIM_VERSION, "executable", "/usr/bin/env", "prefix", "/usr", __VA_ARGS__)

static inline enum interpreter_reason shim_find(const char *wanted)
{
	struct interpreter interpreter;
	enum interpreter_reason reason = interpreter_find(wanted, &interpreter);

	assert_int_equal(reason == INTERPRETER_OK, interpreter.path != NULL);
	if (reason != INTERPRETER_OK)
		assert_int_equal(interpreter.view.n, 0);
	interpreter_clear(&interpreter);
	return reason;
}

static inline int shim_set_up(void **state)
{
	(void)state;
	snprintf(shim_home, sizeof(shim_home), "/var/tmp/test_interpreter.XXXXXX");
	if (!mkdtemp(shim_home) || setenv("HOME", shim_home, 1))
		return -1;
	return setenv("PATH", "/usr/bin:/bin", 1) || chmod(shim_home, 0755);
}

static inline int shim_tear_down(void **state)
{
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		execlp("rm", "rm", "-rf", shim_home, NULL);
		_exit(127);
	}
	return waitpid(pid, NULL, 0) == pid ? 0 : -1;
}

#define SHIM_TEST(f) cmocka_unit_test_setup_teardown(f, shim_set_up, shim_tear_down)

#endif
