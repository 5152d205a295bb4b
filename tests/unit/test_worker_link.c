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
#include "tests/unit/fake.h"
#include "tests/unit/fd_count.h"

#define WAIT_MS 3000
#define OUTPUT_MAX 1000

/* One link and what it told. */
struct bench {
	struct config config;
	struct spawn_spec spec;
	struct event_base *base;
	struct worker_link *link;
	int fds_before;
	int idle, unusable, ended;
	unsigned int stage;
	int error;
	uint64_t run_id;
	enum outcome_kind kind;
	struct frame_done done;
	char out[64];
	char err[64];
};

static void on_idle(void *ctx)
{
	((struct bench *)ctx)->idle++;
}

static void on_unusable(void *ctx, unsigned int stage, int error)
{
	struct bench *bench = ctx;

	bench->unusable++;
	bench->stage = stage;
	bench->error = error;
	assert_int_equal(worker_link_state(bench->link), LINK_DOWN);
}

static void copy(char to[64], const struct blob_view *view)
{
	size_t n = view->size < 63 ? view->size : 63;

	if (n > 0)
		memcpy(to, view->data, n);
	to[n] = '\0';
}

static void on_ended(void *ctx, uint64_t run_id, const struct outcome *outcome)
{
	struct bench *bench = ctx;

	bench->ended++;
	bench->run_id = run_id;
	bench->kind = outcome->kind;
	bench->done = outcome->done;
	if (outcome->kind == OUTCOME_FAILED) {
		bench->stage = outcome->stage;
		bench->error = outcome->error;
	}
	copy(bench->out, &outcome->out);
	copy(bench->err, &outcome->err);
}

static void bench_init(struct bench *bench, const char *mode)
{
	const struct link_events events = {
		.idle = on_idle, .unusable = on_unusable, .ended = on_ended};

	memset(bench, 0, sizeof(*bench));
	bench->fds_before = fd_count();
	fake_open(&bench->spec, &bench->config, mode);
	bench->base = event_base_new();
	assert_non_null(bench->base);
	assert_int_equal(
		worker_link_new(bench->base, &bench->spec, NULL, &events, bench, &bench->link), 0);
}

/* Nothing may be left: no process, no descriptor. */
static void bench_clear(struct bench *bench)
{
	worker_link_free(bench->link);
	event_base_free(bench->base);
	close(bench->spec.worker_fd);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(fd_count(), bench->fds_before);
}

/* Runs the loop until count is n, or so many milliseconds have passed. */
static void wait_long(struct bench *bench, const int *count, int n, uint64_t ms)
{
	uint64_t until = clock_ms() + ms;

	while (*count < n && clock_ms() < until) {
		event_base_loop(bench->base, EVLOOP_NONBLOCK);
		usleep(1000);
	}
	assert_int_equal(*count, n);
}

static void wait_for(struct bench *bench, const int *count, int n)
{
	wait_long(bench, count, n, WAIT_MS);
}

static void start(struct bench *bench)
{
	worker_link_start(bench->link);
	assert_int_equal(bench->idle + bench->unusable, 0);
	wait_for(bench, &bench->idle, 1);
	assert_int_equal(worker_link_state(bench->link), LINK_IDLE);
}

static int give_for(struct bench *bench, uint64_t run_id, uint32_t timeout_ms)
{
	const struct call_request request = {.program_fd = blob_from("code", 4),
					     .stdin_fd = blob_from("in\0put", 6),
					     .uses = 5,
					     .timeout_ms = timeout_ms,
					     .output_max_bytes = OUTPUT_MAX};
	int r = worker_link_run(bench->link, run_id, &request);

	close(request.program_fd);
	close(request.stdin_fd);
	return r;
}

static int give(struct bench *bench, uint64_t run_id)
{
	return give_for(bench, run_id, 1000);
}

static void run(struct bench *bench)
{
	assert_int_equal(give(bench, 42), 0);
	assert_int_equal(bench->ended, 0);
	assert_int_equal(worker_link_state(bench->link), LINK_BUSY);
	wait_for(bench, &bench->ended, 1);
	assert_int_equal(bench->run_id, 42);
}

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
		cmocka_unit_test(test_tells_what_a_program_seems_to_import),
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
