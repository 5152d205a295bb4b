/* Unit tests of worker_link, against a fake worker that breaks one rule at a time. */
#include <errno.h>
#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/layers.h"
#include "supervisor/worker_link.h"
#include "tests/unit/link_bench.h"

static void test_hands_over_a_run_and_its_outcome(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "ready");
	start(&bench);
	run(&bench);
	assert_int_equal(bench.kind, OUTCOME_DONE);
	assert_string_equal(bench.out, "code");
	assert_memory_equal(bench.err, "in\0put", 6);
	assert_int_equal(bench.done.wall_us, 1234);
	assert_int_equal(bench.idle, 2);
	assert_int_equal(worker_link_state(bench.link), LINK_IDLE);
	bench_clear(&bench);
}

static void test_takes_no_second_run_while_busy(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "slow");
	assert_int_equal(give(&bench, 41), -EBUSY);
	start(&bench);
	assert_int_equal(give(&bench, 42), 0);
	assert_int_equal(give(&bench, 43), -EBUSY);
	wait_for(&bench, &bench.ended, 1);
	assert_int_equal(bench.run_id, 42);
	bench_clear(&bench);
}

static void test_starting_twice_starts_one_worker(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "ready");
	worker_link_start(bench.link);
	start(&bench);
	worker_link_start(bench.link);
	event_base_loop(bench.base, EVLOOP_NONBLOCK);
	assert_int_equal(bench.idle, 1);
	bench_clear(&bench);
}

#define LOST(name, mode)                                                                           \
	{                                                                                          \
#name, loses_the_run, NULL, NULL, (void *)(uintptr_t)(mode)                        \
	}

/* A worker that goes wrong while it runs something costs that run, and is replaced on request. */
static void loses_the_run(void **state)
{
	const char *mode = *state;
	struct bench bench;

	bench_init(&bench, mode);
	start(&bench);
	run(&bench);
	assert_int_equal(bench.kind, OUTCOME_LOST);
	assert_int_equal(bench.idle, 1);
	assert_int_equal(bench.unusable, 0);
	assert_int_equal(worker_link_state(bench.link), LINK_DOWN);
	assert_int_equal(give(&bench, 43), -EBUSY);
	worker_link_start(bench.link);
	wait_for(&bench, &bench.idle, 2);
	assert_int_equal(bench.ended, 1);
	bench_clear(&bench);
}

static void test_failure_of_a_run_leaves_the_worker(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "fail-run");
	start(&bench);
	run(&bench);
	assert_int_equal(bench.kind, OUTCOME_FAILED);
	assert_int_equal(bench.stage, STAGE_FORK);
	assert_int_equal(bench.error, EAGAIN);
	assert_int_equal(bench.idle, 2);
	bench_clear(&bench);
}

static void assert_unusable(const char *mode, unsigned int stage, int error)
{
	struct bench bench;

	bench_init(&bench, mode);
	worker_link_start(bench.link);
	assert_int_equal(bench.unusable, 0);
	wait_for(&bench, &bench.unusable, 1);
	assert_int_equal(bench.stage, stage);
	assert_int_equal(bench.error, error);
	assert_int_equal(bench.idle, 0);
	assert_int_equal(bench.ended, 0);
	bench_clear(&bench);
}

static void test_a_worker_that_refuses_says_why(void **state)
{
	(void)state;
	assert_unusable("fail-stage", STAGE_NAMESPACES, EPERM);
}

static void test_death_at_start_is_told(void **state)
{
	(void)state;
	assert_unusable("die-at-start", STAGE_WORKER, ECHILD);
}

static void test_another_build_is_refused(void **state)
{
	(void)state;
	assert_unusable("wrong-build", STAGE_WORKER, EPROTO);
}

static void test_a_sandbox_without_a_wall_is_refused(void **state)
{
	(void)state;
	assert_unusable("wall-less-start", STAGE_WORKER, EPROTO);
}

static void test_garbage_at_start_is_refused(void **state)
{
	(void)state;
	assert_unusable("garbage-at-start", STAGE_WORKER, EPROTO);
}

static void test_a_binary_that_cannot_start_is_told(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "ready");
	close(bench.spec.worker_fd);
	bench.spec.worker_fd = open("/dev/null", O_PATH | O_CLOEXEC);
	worker_link_start(bench.link);
	wait_for(&bench, &bench.unusable, 1);
	assert_int_equal(bench.stage, STAGE_WORKER);
	/* What execveat said, from the child. */
	assert_int_equal(bench.error, EACCES);
	bench_clear(&bench);
}

/* An outcome nobody asked for comes while the link is IDLE: no callback, but the worker is gone. */
static void test_an_unasked_outcome_ends_the_worker(void **state)
{
	struct bench bench;
	uint64_t until = clock_ms() + WAIT_MS;

	(void)state;
	bench_init(&bench, "unasked");
	worker_link_start(bench.link);
	wait_for(&bench, &bench.idle, 1);
	while (worker_link_state(bench.link) == LINK_IDLE && clock_ms() < until)
		event_base_loop(bench.base, EVLOOP_NONBLOCK);
	assert_int_equal(worker_link_state(bench.link), LINK_DOWN);
	assert_int_equal(bench.ended, 0);
	assert_int_equal(bench.unusable, 0);
	bench_clear(&bench);
}

static void test_quick_deaths_delay_the_next_start(void **state)
{
	struct bench bench;
	uint64_t before;

	(void)state;
	bench_init(&bench, "die-at-start");
	before = clock_ms();
	for (int i = 1; i <= 4; i++) {
		worker_link_start(bench.link);
		wait_for(&bench, &bench.unusable, i);
	}
	/* 0 + 100 + 200 + 400 */
	assert_in_range(clock_ms() - before, 700, 2000);
	bench_clear(&bench);
}

static void test_a_refusal_delays_nothing(void **state)
{
	struct bench bench;
	uint64_t before;

	(void)state;
	bench_init(&bench, "fail-stage");
	before = clock_ms();
	for (int i = 1; i <= 4; i++) {
		worker_link_start(bench.link);
		wait_for(&bench, &bench.unusable, i);
	}
	assert_true(clock_ms() - before < 700);
	bench_clear(&bench);
}

static void test_cancel_reaches_the_running_one_only(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "wait");
	start(&bench);
	assert_int_equal(give(&bench, 42), 0);
	worker_link_cancel(bench.link, 41);
	for (int i = 0; i < 5; i++) {
		usleep(10000);
		event_base_loop(bench.base, EVLOOP_NONBLOCK);
	}
	assert_int_equal(bench.ended, 0);
	worker_link_cancel(bench.link, 42);
	wait_for(&bench, &bench.ended, 1);
	assert_int_equal(bench.kind, OUTCOME_DONE);
	assert_true((bench.done.flags & FRAME_CANCELLED) != 0);
	assert_int_equal(bench.idle, 2);
	bench_clear(&bench);
}

/* The fake does not even look whether its socket is closed. */
static void test_free_kills_a_worker_that_hangs(void **state)
{
	struct bench bench;
	uint64_t before;

	(void)state;
	bench_init(&bench, "hang");
	start(&bench);
	assert_int_equal(give(&bench, 42), 0);
	usleep(50000);
	before = clock_ms();
	bench_clear(&bench);
	assert_in_range(clock_ms() - before, 250, 600);
}

static void test_free_lets_a_good_worker_go_at_once(void **state)
{
	struct bench bench;
	uint64_t before;

	(void)state;
	bench_init(&bench, "ready");
	start(&bench);
	before = clock_ms();
	bench_clear(&bench);
	assert_true(clock_ms() - before < 200);
}

/* Its limit is 10 s beyond the deadline, too long for every day. */
static void test_watchdog_ends_a_run_that_never_answers(void **state)
{
	struct bench bench;

	(void)state;
	if (getenv("SLOW_TESTS") == NULL)
		skip();
	bench_init(&bench, "hang");
	start(&bench);
	assert_int_equal(give_for(&bench, 42, 1), 0);
	wait_long(&bench, &bench.ended, 1, 12000);
	assert_int_equal(bench.kind, OUTCOME_LOST);
	bench_clear(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hands_over_a_run_and_its_outcome),
		cmocka_unit_test(test_takes_no_second_run_while_busy),
		cmocka_unit_test(test_starting_twice_starts_one_worker),
		LOST(test_death_in_a_run_loses_it, "die-in-run"),
		LOST(test_garbage_loses_the_run, "garbage"),
		LOST(test_short_packet_loses_the_run, "short"),
		LOST(test_outcome_of_another_run_loses_the_run, "wrong-id"),
		LOST(test_ready_in_a_run_loses_the_run, "ready-again"),
		LOST(test_a_run_without_a_wall_is_lost, "wall-less-run"),
		LOST(test_unsealed_output_loses_the_run, "unsealed"),
		LOST(test_output_that_is_no_memfd_loses_the_run, "no-memfd"),
		LOST(test_output_beyond_the_common_cap_loses_the_run, "oversize"),
		LOST(test_descriptors_too_many_lose_the_run, "extra-fds"),
		cmocka_unit_test(test_failure_of_a_run_leaves_the_worker),
		cmocka_unit_test(test_a_worker_that_refuses_says_why),
		cmocka_unit_test(test_death_at_start_is_told),
		cmocka_unit_test(test_another_build_is_refused),
		cmocka_unit_test(test_a_sandbox_without_a_wall_is_refused),
		cmocka_unit_test(test_garbage_at_start_is_refused),
		cmocka_unit_test(test_a_binary_that_cannot_start_is_told),
		cmocka_unit_test(test_an_unasked_outcome_ends_the_worker),
		cmocka_unit_test(test_quick_deaths_delay_the_next_start),
		cmocka_unit_test(test_a_refusal_delays_nothing),
		cmocka_unit_test(test_cancel_reaches_the_running_one_only),
		cmocka_unit_test(test_free_kills_a_worker_that_hangs),
		cmocka_unit_test(test_free_lets_a_good_worker_go_at_once),
		cmocka_unit_test(test_watchdog_ends_a_run_that_never_answers),
	};

	/* as harden_early does */
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
