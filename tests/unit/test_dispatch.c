/* Unit tests of dispatch, against the fake worker. */
#include <errno.h>
#include <event2/event.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "common/clock.h"
#include "common/layers.h"
#include "supervisor/dispatch.h"
#include "supervisor/metrics.h"
#include "tests/unit/fake.h"
#include "tests/unit/fd_count.h"

#define WAIT_MS 3000
#define MAX_CALLS 8

struct bench {
	struct config config;
	struct spawn_spec spec;
	struct metrics metrics;
	struct event_base *base;
	struct dispatch *dispatch;
	int fds_before;
	int answers;
	enum outcome_kind kinds[MAX_CALLS];
	char programs[MAX_CALLS + 1]; /* first byte of each stdout, in the order of the answers */
	unsigned int stage;
	int error;
};

static void on_ended(struct call *call, const struct outcome *outcome)
{
	struct bench *bench = call->ctx;

	assert_int_equal(call->state, CALL_ANSWERED);
	assert_true(call->run_id != 0);
	bench->kinds[bench->answers] = outcome->kind;
	bench->programs[bench->answers] = outcome->out.size > 0 ? outcome->out.data[0] : '-';
	bench->answers++;
	bench->stage = outcome->stage;
	bench->error = outcome->error;
	call_free(call);
}

static void bench_init(struct bench *bench, const char *mode, uint32_t max_queue)
{
	memset(bench, 0, sizeof(*bench));
	bench->fds_before = fd_count();
	fake_open(&bench->spec, &bench->config, mode);
	bench->config.max_queue = max_queue;
	bench->base = event_base_new();
	assert_non_null(bench->base);
	assert_int_equal(dispatch_new(bench->base, &bench->spec, &bench->metrics, &bench->dispatch),
			 0);
}

static void bench_clear(struct bench *bench)
{
	dispatch_free(bench->dispatch);
	event_base_free(bench->base);
	close(bench->spec.worker_fd);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(fd_count(), bench->fds_before);
}

static void spin(struct bench *bench, uint64_t ms)
{
	uint64_t until = clock_ms() + ms;

	while (clock_ms() < until) {
		event_base_loop(bench->base, EVLOOP_NONBLOCK);
		usleep(500);
	}
}

static void wait_answers(struct bench *bench, int n)
{
	uint64_t until = clock_ms() + WAIT_MS;

	while (bench->answers < n && clock_ms() < until)
		spin(bench, 10);
	assert_int_equal(bench->answers, n);
}

static void wait_ready(struct bench *bench)
{
	uint64_t until = clock_ms() + WAIT_MS;

	while (!dispatch_has_stood(bench->dispatch) && clock_ms() < until)
		event_base_loop(bench->base, EVLOOP_NONBLOCK);
	assert_true(dispatch_has_stood(bench->dispatch));
}

static struct call *submit(struct bench *bench, const char *program)
{
	struct call *call = call_new();

	assert_non_null(call);
	call->request.program_fd = blob_from(program, strlen(program));
	call->request.stdin_fd = blob_from("", 0);
	call->request.timeout_ms = 1000;
	call->request.output_max_bytes = 1000;
	call->ended = on_ended;
	call->ctx = bench;
	dispatch_submit(bench->dispatch, call);
	return call;
}

/* So many calls in all have ended, and n of them like this. */
static void assert_counted(const struct bench *bench, enum metrics_outcome outcome, uint64_t n,
			   uint64_t all)
{
	uint64_t total = 0;

	for (size_t i = 0; i < METRICS_OUTCOME_COUNT; i++)
		total += bench->metrics.runs[i];
	assert_int_equal(bench->metrics.runs[outcome], n);
	assert_int_equal(total, all);
}

static void test_answers_in_the_order_of_asking(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "ready", 8);
	submit(&bench, "a");
	submit(&bench, "b");
	submit(&bench, "c");
	assert_int_equal(dispatch_pending(bench.dispatch), 3);
	assert_int_equal(dispatch_queue_length(bench.dispatch), 3);
	assert_false(dispatch_is_running(bench.dispatch));
	assert_null(dispatch_trouble(bench.dispatch));
	wait_answers(&bench, 3);
	assert_string_equal(bench.programs, "abc");
	assert_int_equal(dispatch_pending(bench.dispatch), 0);
	assert_counted(&bench, METRICS_OK, 3, 3);
	assert_int_equal(bench.metrics.worker_starts, 1);
	bench_clear(&bench);
}

static void test_a_full_queue_answers_busy_at_once(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "slow", 1);
	submit(&bench, "a");
	submit(&bench, "b");
	assert_int_equal(bench.answers, 1);
	assert_int_equal(bench.kinds[0], OUTCOME_BUSY);
	spin(&bench, 100);
	/* a runs by now, so one may wait */
	submit(&bench, "c");
	submit(&bench, "d");
	assert_int_equal(bench.answers, 2);
	wait_answers(&bench, 4);
	assert_string_equal(bench.programs, "--ac");
	assert_counted(&bench, METRICS_BUSY, 2, 4);
	assert_counted(&bench, METRICS_OK, 2, 4);
	bench_clear(&bench);
}

static void test_a_lost_run_is_not_run_again(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "die-in-run", 8);
	submit(&bench, "a");
	submit(&bench, "b");
	wait_answers(&bench, 2);
	assert_int_equal(bench.kinds[0], OUTCOME_LOST);
	assert_int_equal(bench.kinds[1], OUTCOME_LOST);
	spin(&bench, 200);
	assert_int_equal(bench.answers, 2);
	assert_counted(&bench, METRICS_LOST, 2, 2);
	assert_true(bench.metrics.worker_starts >= 2);
	assert_null(dispatch_trouble(bench.dispatch));
	bench_clear(&bench);
}

static void test_without_a_sandbox_all_that_wait_are_answered(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "fail-stage", 8);
	submit(&bench, "a");
	submit(&bench, "b");
	while (bench.answers == 0)
		event_base_loop(bench.base, EVLOOP_ONCE);
	/* by one worker */
	assert_int_equal(bench.answers, 2);
	assert_int_equal(bench.kinds[1], OUTCOME_FAILED);
	assert_int_equal(bench.stage, STAGE_NAMESPACES);
	assert_int_equal(bench.error, EPERM);
	assert_int_equal(dispatch_trouble(bench.dispatch)->kind, OUTCOME_FAILED);
	/* each later call tries again */
	submit(&bench, "c");
	assert_int_equal(bench.answers, 2);
	wait_answers(&bench, 3);
	assert_counted(&bench, METRICS_NO_SANDBOX, 3, 3);
	assert_int_equal(dispatch_trouble(bench.dispatch)->kind, OUTCOME_FAILED);
	bench.config.python = "ready";
	submit(&bench, "d");
	wait_answers(&bench, 4);
	assert_int_equal(bench.kinds[3], OUTCOME_DONE);
	assert_null(dispatch_trouble(bench.dispatch));
	assert_int_equal(bench.metrics.worker_starts, 3);
	bench_clear(&bench);
}

/* Nothing was executed, so a second worker is tried; not a third. */
static void test_a_run_that_no_worker_takes_is_tried_twice(void **state)
{
	struct bench bench;
	uint64_t before = clock_ms();

	(void)state;
	bench_init(&bench, "deaf", 8);
	submit(&bench, "a");
	wait_answers(&bench, 1);
	assert_int_equal(bench.kinds[0], OUTCOME_FAILED);
	assert_int_equal(bench.stage, STAGE_WORKER);
	assert_int_equal(bench.error, EPIPE);
	/* one back-off */
	assert_in_range(clock_ms() - before, 100, 299);
	bench_clear(&bench);
}

static void test_a_run_that_no_worker_received_is_given_to_the_next(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "unread", 8);
	wait_ready(&bench);
	bench.config.python = "ready";
	submit(&bench, "a");
	submit(&bench, "b");
	wait_answers(&bench, 2);
	assert_string_equal(bench.programs, "ab");
	assert_counted(&bench, METRICS_OK, 2, 2);
	assert_int_equal(bench.metrics.worker_starts, 2);
	bench_clear(&bench);
}

static void test_a_run_that_two_workers_never_received_is_answered(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "unread", 8);
	submit(&bench, "a");
	wait_answers(&bench, 1);
	assert_int_equal(bench.kinds[0], OUTCOME_FAILED);
	assert_int_equal(bench.stage, STAGE_WORKER);
	assert_int_equal(bench.error, ECONNRESET);
	assert_int_equal(bench.metrics.worker_starts, 2);
	assert_int_equal(dispatch_pending(bench.dispatch), 0);
	bench_clear(&bench);
}

static void test_a_cancelled_run_that_no_worker_received_is_given_to_none(void **state)
{
	struct bench bench;
	struct call *first;

	(void)state;
	bench_init(&bench, "unread", 8);
	wait_ready(&bench);
	first = submit(&bench, "a");
	assert_int_equal(first->state, CALL_RUNNING);
	bench.config.python = "ready";
	dispatch_cancel(bench.dispatch, first);
	call_free(first);
	submit(&bench, "b");
	wait_answers(&bench, 1);
	assert_string_equal(bench.programs, "b");
	assert_counted(&bench, METRICS_CANCELLED, 1, 2);
	bench_clear(&bench);
}

static void test_a_cancelled_queued_call_is_never_answered(void **state)
{
	struct bench bench;
	struct call *second;

	(void)state;
	bench_init(&bench, "slow", 8);
	submit(&bench, "a");
	second = submit(&bench, "b");
	submit(&bench, "c");
	spin(&bench, 50);
	dispatch_cancel(bench.dispatch, second);
	assert_int_equal(second->state, CALL_CANCELLED);
	call_free(second);
	wait_answers(&bench, 2);
	assert_string_equal(bench.programs, "ac");
	assert_counted(&bench, METRICS_CANCELLED, 1, 3);
	assert_int_equal(bench.metrics.queue_wait.buckets[METRICS_BOUNDS], 0);
	bench_clear(&bench);
}

static void test_a_cancelled_run_is_never_answered_and_the_next_one_starts(void **state)
{
	struct bench bench;
	struct call *first;
	struct call *second;

	(void)state;
	bench_init(&bench, "wait", 8);
	first = submit(&bench, "a");
	spin(&bench, 100);
	assert_int_equal(first->state, CALL_RUNNING);
	second = submit(&bench, "b");
	dispatch_cancel(bench.dispatch, first);
	call_free(first);
	/* until its processes are dead */
	assert_int_equal(dispatch_pending(bench.dispatch), 2);
	assert_int_equal(dispatch_queue_length(bench.dispatch), 1);
	assert_true(dispatch_is_running(bench.dispatch));
	assert_counted(&bench, METRICS_CANCELLED, 0, 0);
	assert_int_equal(second->state, CALL_QUEUED);
	spin(&bench, 100);
	assert_int_equal(second->state, CALL_RUNNING);
	assert_int_equal(bench.answers, 0);
	dispatch_cancel(bench.dispatch, second);
	call_free(second);
	spin(&bench, 100);
	assert_int_equal(dispatch_pending(bench.dispatch), 0);
	assert_int_equal(bench.answers, 0);
	assert_counted(&bench, METRICS_CANCELLED, 2, 2);
	/* the second waited for the first one to run and to die */
	assert_true(bench.metrics.queue_wait.sum_us >= 1000);
	assert_int_equal(bench.metrics.queue_wait.buckets[METRICS_BOUNDS], 0);
	bench_clear(&bench);
}

static void test_a_hold_keeps_the_next_call_waiting(void **state)
{
	struct bench bench;

	(void)state;
	bench_init(&bench, "ready", 8);
	dispatch_hold(bench.dispatch, true);
	submit(&bench, "a");
	spin(&bench, 100);
	assert_int_equal(bench.answers, 0);
	assert_int_equal(dispatch_pending(bench.dispatch), 1);
	dispatch_hold(bench.dispatch, false);
	wait_answers(&bench, 1);
	bench_clear(&bench);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers_in_the_order_of_asking),
		cmocka_unit_test(test_a_full_queue_answers_busy_at_once),
		cmocka_unit_test(test_a_lost_run_is_not_run_again),
		cmocka_unit_test(test_without_a_sandbox_all_that_wait_are_answered),
		cmocka_unit_test(test_a_run_that_no_worker_takes_is_tried_twice),
		cmocka_unit_test(test_a_run_that_no_worker_received_is_given_to_the_next),
		cmocka_unit_test(test_a_run_that_two_workers_never_received_is_answered),
		cmocka_unit_test(test_a_cancelled_run_that_no_worker_received_is_given_to_none),
		cmocka_unit_test(test_a_cancelled_queued_call_is_never_answered),
		cmocka_unit_test(test_a_cancelled_run_is_never_answered_and_the_next_one_starts),
		cmocka_unit_test(test_a_hold_keeps_the_next_call_waiting),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
