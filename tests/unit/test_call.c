/* Unit tests of call. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/call.h"

/* Tries a move in a child. Returns whether it was survived. */
static bool can_move(enum call_state from, enum call_state to)
{
	const struct rlimit no_core = {0, 0};
	struct call call = {.state = from};
	pid_t pid = fork();
	int status = 0;

	if (pid == 0) {
		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL);
		call_move(&call, to);
		_exit(call.state == to ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT));
	return status == 0;
}

static void test_moves_are_those_of_the_diagram(void **state)
{
	static const bool allowed[4][4] = {
		[CALL_QUEUED] =
			{[CALL_RUNNING] = true, [CALL_ANSWERED] = true, [CALL_CANCELLED] = true},
		[CALL_RUNNING] =
			{[CALL_QUEUED] = true, [CALL_ANSWERED] = true, [CALL_CANCELLED] = true},
	};

	(void)state;
	for (unsigned int from = 0; from < 4; from++)
		for (unsigned int to = 0; to < 4; to++)
			assert_int_equal(can_move((enum call_state)from, (enum call_state)to),
					 allowed[from][to]);
}

static void test_new_call_is_queued_and_owns_nothing(void **state)
{
	struct call *call = call_new();

	(void)state;
	assert_non_null(call);
	assert_int_equal(call->state, CALL_QUEUED);
	assert_int_equal(call->request.program_fd, -1);
	assert_int_equal(call->request.stdin_fd, -1);
	call_free(call);
	call_free(NULL);
}

static void test_free_closes_what_the_call_owns(void **state)
{
	struct call *call = call_new();
	int program = blob_new();
	int input = blob_new();

	(void)state;
	assert_true(program >= 0 && input >= 0);
	call->request.program_fd = program;
	call->request.stdin_fd = input;
	buf_add_string(&call->request.warnings, "\"x\"");
	call_free(call);
	assert_int_equal(fcntl(program, F_GETFD), -1);
	assert_int_equal(errno, EBADF);
	assert_int_equal(fcntl(input, F_GETFD), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_moves_are_those_of_the_diagram),
		cmocka_unit_test(test_new_call_is_queued_and_owns_nothing),
		cmocka_unit_test(test_free_closes_what_the_call_owns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
