/* Unit tests of worker_link: what is said about warm starts, and runs that no worker received. */
#include <errno.h>
#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/link_bench.h"

static void test_tells_what_a_program_seems_to_import(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "uses");
	start(&bench);
	run(&bench);
	assert_string_equal(bench.out, "5");
	bench_clear(&bench);
}

static void assert_warm(const struct bench *bench, uint32_t bare, uint32_t modules,
			uint32_t started, uint32_t failed)
{
	const struct frame_warm *warm = worker_link_warm(bench->link);

	assert_int_equal(warm->bare, bare);
	assert_int_equal(warm->modules, modules);
	assert_int_equal(warm->started, started);
	assert_int_equal(warm->failed, failed);
}

static void test_keeps_what_is_warm_until_the_worker_ends(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "warm");
	assert_warm(&bench, 0, 0, 0, 0);
	start(&bench);
	run(&bench);
	assert_int_equal(bench.kind, OUTCOME_DONE);
	assert_warm(&bench, 0, 5, 2, 1);
	assert_int_equal(bench.metrics.interpreters_started, 2);
	assert_int_equal(bench.metrics.interpreters_failed, 1);
	/* The fake dies of this one. */
	assert_int_equal(give(&bench, 13), 0);
	wait_for(&bench, &bench.ended, 2);
	assert_int_equal(bench.kind, OUTCOME_LOST);
	assert_warm(&bench, 0, 0, 0, 0);
	worker_link_start(bench.link);
	wait_for(&bench, &bench.idle, 3);
	assert_int_equal(give(&bench, 44), 0);
	wait_for(&bench, &bench.ended, 3);
	/* Those of both workers. */
	assert_int_equal(bench.metrics.interpreters_started, 4);
	assert_int_equal(bench.metrics.interpreters_failed, 2);
	bench_clear(&bench);
}

static void test_what_cannot_be_warm_ends_the_worker(void **state)
{
	static const char *const modes[] = {"warm-falls", "warm-unknown"};

	(void)state;
	for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
		struct bench bench;

		bench_init(&bench, modes[i]);
		start(&bench);
		run(&bench);
		assert_int_equal(bench.kind, OUTCOME_LOST);
		assert_int_equal(bench.metrics.interpreters_started, 1);
		bench_clear(&bench);
	}
}

/* What it says before it goes is heard all the same. */
static void test_a_run_that_the_worker_never_received_is_told_apart(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "unread");
	start(&bench);
	assert_int_equal(give(&bench, 42), 0);
	wait_for(&bench, &bench.unread, 1);
	assert_int_equal(bench.run_id, 42);
	assert_int_equal(bench.ended, 0);
	assert_int_equal(bench.metrics.interpreters_started, 7);
	bench.config.python = "ready";
	worker_link_start(bench.link);
	wait_for(&bench, &bench.idle, 2);
	assert_int_equal(give(&bench, 42), 0);
	wait_for(&bench, &bench.ended, 1);
	assert_int_equal(bench.kind, OUTCOME_DONE);
	assert_string_equal(bench.out, "code");
	bench_clear(&bench);
}

/* A cancel may be what was not received, and a cancelled run is to be given to nobody. */
static void test_a_cancelled_run_is_lost_and_not_unread(void **state)
{
	(void)state;
	for (int late = 0; late < 2; late++) {
		struct bench bench;
		siginfo_t gone;

		bench_init(&bench, "unread");
		start(&bench);
		assert_int_equal(give(&bench, 42), 0);
		if (late) {
			/* It has gone by then, and one frame or word of the kernel is heard at a time. */
			assert_int_equal(waitid(P_ALL, 0, &gone, WEXITED | WNOWAIT), 0);
			event_base_loop(bench.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
			assert_int_equal(bench.ended + bench.unread, 0);
		}
		worker_link_cancel(bench.link, 42);
		wait_for(&bench, &bench.ended, 1);
		assert_int_equal(bench.kind, OUTCOME_LOST);
		assert_int_equal(bench.unread, 0);
		bench_clear(&bench);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tells_what_a_program_seems_to_import),
		cmocka_unit_test(test_keeps_what_is_warm_until_the_worker_ends),
		cmocka_unit_test(test_what_cannot_be_warm_ends_the_worker),
		cmocka_unit_test(test_a_run_that_the_worker_never_received_is_told_apart),
		cmocka_unit_test(test_a_cancelled_run_is_lost_and_not_unread),
	};

	/* as harden_early does */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
