/* child - for tests of what cannot be undone in a process: the body of such a test runs in a child. */
#ifndef TESTS_UNIT_CHILD_H
#define TESTS_UNIT_CHILD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

/* Within a body of child_check: ends the child with the number of this line, modulo 128, when it does not hold. */
#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition))                                                                  \
			_exit(__LINE__ & 0x7f);                                                    \
	} while (0)

/* Runs body in a child. Returns what it returned, 0..255, or -1 when a signal ended it. */
static inline int child_run(int (*body)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(body());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* Runs body in a child; every CHECK in it must hold. */
static inline void child_check(void (*body)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		body();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

#endif
