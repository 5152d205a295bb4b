/* Unit tests of outcome: limits and signals by the facts of a run. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/outcome.h"

struct ending {
	const char *limit;
	int exit_code;
	int signal;
	uint32_t flags;
	const char *err;
};

static const char *limit_of(const struct ending *ending)
{
	const char *text = ending->err ? ending->err : "";
	const struct outcome outcome = {
		.kind = OUTCOME_DONE,
		.done = {.exit_code = ending->exit_code,
			 .signal = (uint32_t)ending->signal,
			 .flags = ending->flags},
		.out = {.data = "", .size = 0},
		.err = {.data = text, .size = strlen(text)},
	};

	return outcome_limit(&outcome);
}

static void check(const struct ending *endings, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *limit = limit_of(&endings[i]);

		if (strcmp(limit ? limit : "-", endings[i].limit ? endings[i].limit : "-") != 0)
			fail_msg("case %zu: %s", i, limit ? limit : "none");
	}
}

#define CHECK(endings) check(endings, sizeof(endings) / sizeof((endings)[0]))

#define TRACEBACK "Traceback (most recent call last):\n  File \"/sandbox/main.py\", line 1\n"

static void test_infers_limits_from_flags_and_signals(void **state)
{
	static const struct ending endings[] = {
		{NULL, 0, 0, 0, NULL},
		{NULL, 3, 0, 0, NULL},
		{"wall_time", -1, SIGKILL, FRAME_TIMED_OUT, NULL},
		{"cpu_time", -1, SIGXCPU, 0, NULL},
		{"cpu_time", -1, SIGKILL, FRAME_CPU_USED_UP, NULL},
		{NULL, -1, SIGKILL, 0, NULL},
		{NULL, -1, SIGTERM, FRAME_CPU_USED_UP, NULL},
		{"memory", -1, SIGKILL, FRAME_MEMORY_KILLED, NULL},
		{"disk", 1, 0, FRAME_DISK_FULL, "whatever\n"},
		{"processes", 1, 0, FRAME_FORK_REFUSED | FRAME_DISK_FULL, "whatever\n"},
		{"memory", -1, SIGKILL, FRAME_FORK_REFUSED | FRAME_MEMORY_KILLED, NULL},
		{NULL, 0, 0, FRAME_FORK_REFUSED, NULL},
		{"output", 0, 0, FRAME_TRUNCATED, NULL},
		{"output", 1, 0, FRAME_TRUNCATED, NULL},
		{NULL, -1, SIGSEGV, 0, NULL},
	};

	(void)state;
	CHECK(endings);
}

static void test_infers_limits_from_the_last_line_of_a_traceback(void **state)
{
	static const struct ending endings[] = {
		{"memory", 1, 0, 0, TRACEBACK "MemoryError\n"},
		{"memory", 1, 0, 0, TRACEBACK "MemoryError"},
		{"memory", 1, 0, 0, TRACEBACK "MemoryError: no room\n\n  \n"},
		{"memory", 1, 0, 0, "MemoryError\r\n"},
		{"memory", 1, 0, 0,
		 TRACEBACK "object type name: MemoryError\nobject repr     : MemoryError()\n"
			   "lost sys.stderr\n"},
		{"memory", 1, 0, 0,
		 TRACEBACK "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 8 GiB\n"},
		{"memory", 1, 0, 0,
		 TRACEBACK "numpy._core._exceptions._ArrayMemoryError: Unable to allocate 8 GiB\n"},
		{"memory", 1, 0, 0, TRACEBACK "OSError: [Errno 12] Cannot allocate memory\n"},
		{"processes", 1, 0, 0,
		 TRACEBACK
		 "    os.fork()\nBlockingIOError: [Errno 11] Resource temporarily unavailable\n"},
		{"processes", 1, 0, 0, TRACEBACK "RuntimeError: can't start new thread\n"},
		{"disk", 1, 0, 0,
		 TRACEBACK "OSError: [Errno 28] No space left on device: '/tmp/x'\n"},
		{"disk", 1, 0, 0, TRACEBACK "OSError: [Errno 27] File too large\n"},
		{"disk", 1, 0, 0, TRACEBACK "sqlite3.OperationalError: database or disk is full\n"},
	};

	(void)state;
	CHECK(endings);
}

static void test_is_not_taken_in_by_similar_lines(void **state)
{
	static const struct ending endings[] = {
		{NULL, 1, 0, 0, "MemoryErrors\n"},
		{NULL, 1, 0, 0, "caught MemoryError\n"},
		{NULL, 1, 0, 0, "my.MemoryError\n"},
		{NULL, 1, 0, 0, "MemoryError\nValueError: other\n"},
		{NULL, 1, 0, 0, "ValueError: MemoryError\n"},
		{NULL, 1, 0, 0, "object type name: ValueError\nlost sys.stderr\n"},
		{NULL, 1, 0, 0, "OSError: [Errno 2] No such file\n"},
		{NULL, 1, 0, 0, "OSError: [Errno 288] x\n"},
		{NULL, 1, 0, 0, "OSError: [Errno 1] Operation not permitted\n"},
		{NULL, 1, 0, 0, "OSError: [Errno 122] x\n"},
		{NULL, 1, 0, 0, "OSError: [Errno 28"},
		{NULL, 1, 0, 0, "BlockingIOError: [Errno 28] x\n"},
		{NULL, 1, 0, 0, TRACEBACK "    s.recv(1)\nBlockingIOError: [Errno 11] x\n"},
		{NULL, 1, 0, 0, "RuntimeError: other\n"},
		{NULL, 1, 0, 0, "sqlite3.OperationalError: disk I/O error\n"},
		{NULL, 1, 0, 0, "ValueError: database or disk is full\n"},
		{NULL, 1, 0, 0, "OSError"},
		{NULL, 1, 0, 0, ":"},
	};

	(void)state;
	CHECK(endings);
}

static void test_a_program_that_ended_well_met_no_limit_but_output(void **state)
{
	static const struct ending endings[] = {
		{NULL, 0, 0, 0, "MemoryError\n"},
		{NULL, 0, 0, FRAME_DISK_FULL, NULL},
		{NULL, 0, 0, FRAME_MEMORY_KILLED, NULL},
		{"output", 0, 0, FRAME_TRUNCATED | FRAME_DISK_FULL, "MemoryError\n"},
	};

	(void)state;
	CHECK(endings);
}

static void test_the_first_limit_wins(void **state)
{
	const uint32_t all = FRAME_FLAGS;
	const uint32_t no_time = all & ~(uint32_t)FRAME_TIMED_OUT;
	const struct ending endings[] = {
		{"wall_time", -1, SIGKILL, all, "MemoryError"},
		{"cpu_time", -1, SIGKILL, no_time, "MemoryError"},
		{"memory", 1, 0, no_time, "RuntimeError: can't start new thread"},
		{"processes", 1, 0, FRAME_DISK_FULL | FRAME_TRUNCATED,
		 "RuntimeError: can't start new thread"},
		{"disk", 1, 0, FRAME_DISK_FULL | FRAME_TRUNCATED, ""},
	};

	(void)state;
	CHECK(endings);
}

static const char *name_of(int number)
{
	const struct outcome outcome = {.done = {.signal = (uint32_t)number}};

	return outcome_signal(&outcome);
}

static void test_names_signals(void **state)
{
	(void)state;
	assert_null(name_of(0));
	assert_string_equal(name_of(SIGSEGV), "SIGSEGV");
	assert_string_equal(name_of(SIGKILL), "SIGKILL");
	assert_string_equal(name_of(SIGABRT), "SIGABRT");
	assert_string_equal(name_of(SIGSYS), "SIGSYS");
	assert_string_equal(name_of(SIGRTMIN + 3), "SIGRTMIN+3");
	for (int number = 1; number < SIGRTMAX + 5; number++)
		assert_non_null(name_of(number));
}

static void test_tells_what_a_run_was_started_from(void **state)
{
	static const struct {
		uint32_t flags;
		const char *name;
	} rows[] = {{0, "cold"},
		    {FRAME_NOTING | FRAME_TIMED_OUT, "cold"},
		    {FRAME_FORKED, "warm"},
		    {FRAME_FORKED | FRAME_PRELOADED | FRAME_NOTING, "preloaded"}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct outcome outcome = {.done = {.flags = rows[i].flags}};

		assert_string_equal(outcome_start_name(outcome_start(&outcome)), rows[i].name);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_infers_limits_from_flags_and_signals),
		cmocka_unit_test(test_infers_limits_from_the_last_line_of_a_traceback),
		cmocka_unit_test(test_is_not_taken_in_by_similar_lines),
		cmocka_unit_test(test_a_program_that_ended_well_met_no_limit_but_output),
		cmocka_unit_test(test_the_first_limit_wins),
		cmocka_unit_test(test_names_signals),
		cmocka_unit_test(test_tells_what_a_run_was_started_from),
	};

	return cmocka_run_group_tests_name("outcome", tests, NULL, NULL);
}
