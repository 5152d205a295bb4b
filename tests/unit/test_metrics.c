/* Unit tests of metrics. With the argument --text it prints a text instead, for a parser that is not ours. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/mechanism.h"
#include "common/version.h"
#include "supervisor/metrics.h"

/* The text, NUL-terminated; to be cleared. */
static struct buf text_of(const struct metrics *metrics, const struct metrics_now *now)
{
	struct buf text = BUF_INIT;

	metrics_text(&text, metrics, now);
	buf_add_byte(&text, '\0');
	assert_int_equal(text.error, 0);
	return text;
}

static void assert_text(const struct metrics *metrics, const struct metrics_now *now,
			const char *piece)
{
	struct buf text = text_of(metrics, now);

	if (!strstr(text.data, piece))
		fail_msg("%s\nis not in\n%s", piece, text.data);
	buf_clear(&text);
}

static const struct metrics_now nothing;

static struct outcome done(uint64_t wall_us)
{
	return (struct outcome){.kind = OUTCOME_DONE, .done = {.wall_us = wall_us}};
}

static uint64_t total(const uint64_t *counts, size_t n)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += counts[i];
	return sum;
}

static uint64_t observed(const struct metrics_histogram *histogram)
{
	return total(histogram->buckets, METRICS_BOUNDS + 1);
}

static void test_everything_is_there_from_the_start(void **state)
{
	static const char *const pieces[] = {
		("# HELP mcp_exec_build_info Always 1; version and build of supervisor and "
		 "worker.\n"
		 "# TYPE mcp_exec_build_info gauge\n"
		 "mcp_exec_build_info{version=\"" MCP_EXEC_VERSION "\",build=\""),
		"\nprocess_start_time_seconds 0\n",
		("# TYPE mcp_exec_runs_total counter\n"
		 "mcp_exec_runs_total{outcome=\"ok\"} 0\n"
		 "mcp_exec_runs_total{outcome=\"error\"} 0\n"
		 "mcp_exec_runs_total{outcome=\"wall_time\"} 0\n"
		 "mcp_exec_runs_total{outcome=\"cpu_time\"} 0\n"
		 "mcp_exec_runs_total{outcome=\"memory\"} 0\n"
		 "mcp_exec_runs_total{outcome=\"processes\"} 0\n"
		 "mcp_exec_runs_total{outcome=\"disk\"} 0\n"
		 "mcp_exec_runs_total{outcome=\"signal\"} 0\n"
		 "mcp_exec_runs_total{outcome=\"no_sandbox\"} 0\n"
		 "mcp_exec_runs_total{outcome=\"lost\"} 0\n"
		 "mcp_exec_runs_total{outcome=\"busy\"} 0\n"
		 "mcp_exec_runs_total{outcome=\"cancelled\"} 0\n#"),
		"mcp_exec_run_seconds_bucket{le=\"0.005\"} 0\n",
		("mcp_exec_run_seconds_bucket{le=\"+Inf\"} 0\n"
		 "mcp_exec_run_seconds_sum 0.000000\n"
		 "mcp_exec_run_seconds_count 0\n#"),
		"\nmcp_exec_cpu_seconds_total 0.000000\n",
		"\nmcp_exec_output_truncated_total 0\n",
		"\nmcp_exec_invalid_calls_total 0\n",
		"\nmcp_exec_worker_starts_total 0\n",
		("mcp_exec_run_starts_total{start=\"cold\"} 0\n"
		 "mcp_exec_run_starts_total{start=\"warm\"} 0\n"
		 "mcp_exec_run_starts_total{start=\"preloaded\"} 0\n#"),
		("mcp_exec_warm_interpreters{kind=\"bare\"} 0\n"
		 "mcp_exec_warm_interpreters{kind=\"preloaded\"} 0\n#"),
		"\nmcp_exec_interpreter_starts_total 0\n",
		"\nmcp_exec_interpreter_failures_total 0\n",
		"mcp_exec_http_responses_total{code=\"200\"} 0\n",
		("mcp_exec_http_responses_total{code=\"505\"} 0\n"
		 "mcp_exec_http_responses_total{code=\"other\"} 0\n#"),
	};
	const struct metrics metrics = {.started_s = 0};

	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++)
		assert_text(&metrics, &nothing, pieces[i]);
}

static void test_every_call_counts_in_one_outcome(void **state)
{
	static const struct {
		struct outcome outcome;
		const char *err;
		enum metrics_outcome want;
	} rows[] = {
		{{.kind = OUTCOME_DONE}, "", METRICS_OK},
		{{.kind = OUTCOME_DONE, .done = {.flags = FRAME_STDOUT_CUT}}, "", METRICS_OK},
		{{.kind = OUTCOME_DONE}, "MemoryError", METRICS_OK},
		{{.kind = OUTCOME_DONE, .done = {.exit_code = 1}}, "ValueError", METRICS_ERROR},
		{{.kind = OUTCOME_DONE, .done = {.exit_code = 1, .flags = FRAME_STDERR_CUT}},
		 "",
		 METRICS_ERROR},
		{{.kind = OUTCOME_DONE, .done = {.signal = SIGKILL, .flags = FRAME_TIMED_OUT}},
		 "",
		 METRICS_WALL_TIME},
		{{.kind = OUTCOME_DONE, .done = {.signal = SIGXCPU}}, "", METRICS_CPU_TIME},
		{{.kind = OUTCOME_DONE, .done = {.exit_code = 1}}, "MemoryError", METRICS_MEMORY},
		{{.kind = OUTCOME_DONE, .done = {.exit_code = 1}},
		 "RuntimeError: can't start new thread",
		 METRICS_PROCESSES},
		{{.kind = OUTCOME_DONE, .done = {.exit_code = 1, .flags = FRAME_DISK_FULL}},
		 "",
		 METRICS_DISK},
		{{.kind = OUTCOME_DONE, .done = {.exit_code = -1, .signal = SIGSEGV}},
		 "",
		 METRICS_SIGNAL},
		{{.kind = OUTCOME_DONE,
		  .done = {.exit_code = -1, .signal = SIGSEGV, .flags = FRAME_STDOUT_CUT}},
		 "",
		 METRICS_SIGNAL},
		{{.kind = OUTCOME_FAILED, .stage = STAGE_FORK}, "", METRICS_NO_SANDBOX},
		{{.kind = OUTCOME_LOST}, "", METRICS_LOST},
		{{.kind = OUTCOME_BUSY}, "", METRICS_BUSY},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct metrics metrics = {.started_s = 0};
		struct outcome outcome = rows[i].outcome;

		outcome.out.data = "";
		outcome.err = (struct blob_view){.data = rows[i].err, .size = strlen(rows[i].err)};
		metrics_run(&metrics, &outcome);
		assert_int_equal(metrics.runs[rows[i].want], 1);
		assert_int_equal(total(metrics.runs, METRICS_OUTCOME_COUNT), 1);
		assert_int_equal(metrics.truncated, (outcome.done.flags & FRAME_TRUNCATED) ? 1 : 0);
	}
}

static void test_a_bound_belongs_to_its_bucket(void **state)
{
	static const uint64_t walls[] = {1, 5000, 5001, 300000000, 300000001};
	struct metrics metrics = {.started_s = 0};

	(void)state;
	for (size_t i = 0; i < sizeof(walls) / sizeof(walls[0]); i++) {
		struct outcome outcome = done(walls[i]);

		metrics_run(&metrics, &outcome);
	}
	assert_text(&metrics, &nothing,
		    "# TYPE mcp_exec_run_seconds histogram\n"
		    "mcp_exec_run_seconds_bucket{le=\"0.005\"} 2\n"
		    "mcp_exec_run_seconds_bucket{le=\"0.01\"} 3\n"
		    "mcp_exec_run_seconds_bucket{le=\"0.025\"} 3\n");
	assert_text(&metrics, &nothing,
		    "mcp_exec_run_seconds_bucket{le=\"120.0\"} 3\n"
		    "mcp_exec_run_seconds_bucket{le=\"300.0\"} 4\n"
		    "mcp_exec_run_seconds_bucket{le=\"+Inf\"} 5\n"
		    "mcp_exec_run_seconds_sum 600.010003\n"
		    "mcp_exec_run_seconds_count 5\n");
}

static void test_no_digit_is_lost(void **state)
{
	struct metrics metrics = {.started_s = 1767225600};
	const struct metrics_now now = {.queue_depth = SIZE_MAX};

	(void)state;
	metrics.cpu_us = UINT64_MAX;
	metrics.invalid_calls = UINT64_MAX;
	assert_text(&metrics, &now, "\nmcp_exec_cpu_seconds_total 18446744073709.551615\n");
	assert_text(&metrics, &now, "\nmcp_exec_invalid_calls_total 18446744073709551615\n");
	assert_text(&metrics, &now, "\nprocess_start_time_seconds 1767225600\n");
	metrics.cpu_us = 1000001;
	assert_text(&metrics, &now, "\nmcp_exec_cpu_seconds_total 1.000001\n");
}

static void test_all_but_busy_calls_have_waited(void **state)
{
	const struct outcome busy = {.kind = OUTCOME_BUSY}, lost = {.kind = OUTCOME_LOST},
			     failed = {.kind = OUTCOME_FAILED, .queue_us = 7000000};
	struct outcome outcome = done(1000);
	struct metrics metrics = {.started_s = 0};

	(void)state;
	outcome.queue_us = 20000;
	outcome.done.cpu_us = 300;
	metrics_run(&metrics, &outcome);
	metrics_run(&metrics, &busy);
	metrics_run(&metrics, &lost);
	metrics_run(&metrics, &failed);
	assert_int_equal(observed(&metrics.queue_wait), 3);
	assert_int_equal(metrics.queue_wait.sum_us, 7020000);
	assert_int_equal(observed(&metrics.run_time), 1);
	assert_int_equal(metrics.cpu_us, 300);
	assert_text(&metrics, &nothing,
		    "mcp_exec_queue_wait_seconds_bucket{le=\"+Inf\"} 3\n"
		    "mcp_exec_queue_wait_seconds_sum 7.020000\n"
		    "mcp_exec_queue_wait_seconds_count 3\n");
}

static void test_a_cancelled_call_is_nothing_else(void **state)
{
	const struct outcome lost = {.kind = OUTCOME_LOST};
	struct outcome ran = done(4000), never_started = done(0);
	struct metrics metrics = {.started_s = 0};

	(void)state;
	ran.done.cpu_us = 3000;
	metrics_cancelled(&metrics, 1, NULL);
	metrics_cancelled(&metrics, 2, &lost);
	metrics_cancelled(&metrics, 3, &never_started);
	metrics_cancelled(&metrics, 4, &ran);
	assert_int_equal(metrics.runs[METRICS_CANCELLED], 4);
	assert_int_equal(total(metrics.runs, METRICS_OUTCOME_COUNT), 4);
	assert_int_equal(observed(&metrics.queue_wait), 4);
	assert_int_equal(metrics.queue_wait.sum_us, 10);
	assert_int_equal(observed(&metrics.run_time), 1);
	assert_int_equal(metrics.cpu_us, 3000);
}

static void test_responses_count_by_their_status(void **state)
{
	static const int others[] = {0, -1, 100, 201, 418, 599, 2000};
	struct metrics metrics = {.started_s = 0};

	(void)state;
	metrics_http(&metrics, 200);
	metrics_http(&metrics, 200);
	metrics_http(&metrics, 405);
	metrics_http(&metrics, 505);
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		metrics_http(&metrics, others[i]);
	assert_text(&metrics, &nothing, "mcp_exec_http_responses_total{code=\"200\"} 2\n");
	assert_text(&metrics, &nothing, "mcp_exec_http_responses_total{code=\"204\"} 0\n");
	assert_text(&metrics, &nothing, "mcp_exec_http_responses_total{code=\"405\"} 1\n");
	assert_text(&metrics, &nothing,
		    "mcp_exec_http_responses_total{code=\"505\"} 1\n"
		    "mcp_exec_http_responses_total{code=\"other\"} 7\n");
}

static void test_what_is_so_now_is_told(void **state)
{
	const struct metrics_now now = {.queue_depth = 1,
					.queue_limit = 2,
					.connections = 3,
					.sessions = 4,
					.running = true,
					.worker_up = true};
	struct metrics metrics = {.started_s = 0};

	(void)state;
	metrics_worker_started(&metrics);
	metrics_refused(&metrics);
	metrics_refused(&metrics);
	assert_text(&metrics, &now, "\nmcp_exec_queue_depth 1\n");
	assert_text(&metrics, &now, "\nmcp_exec_queue_limit 2\n");
	assert_text(&metrics, &now, "\nmcp_exec_http_connections 3\n");
	assert_text(&metrics, &now, "\nmcp_exec_sessions 4\n");
	assert_text(&metrics, &now, "\nmcp_exec_running 1\n");
	assert_text(&metrics, &now, "\nmcp_exec_worker_up 1\n");
	assert_text(&metrics, &nothing, "\nmcp_exec_running 0\n");
	assert_text(&metrics, &nothing, "\nmcp_exec_worker_up 0\n");
	assert_text(&metrics, &now, "\nmcp_exec_worker_starts_total 1\n");
	assert_text(&metrics, &now, "\nmcp_exec_invalid_calls_total 2\n");
}

static void test_programs_count_by_what_they_were_started_from(void **state)
{
	struct metrics metrics = {.started_s = 0};
	struct outcome outcome = done(5);

	(void)state;
	metrics_run(&metrics, &outcome);
	outcome.done.flags = FRAME_FORKED;
	metrics_run(&metrics, &outcome);
	metrics_cancelled(&metrics, 1, &outcome);
	outcome.done.flags = FRAME_FORKED | FRAME_PRELOADED;
	outcome.done.wall_us = 0; /* cancelled before it had started */
	metrics_cancelled(&metrics, 1, &outcome);
	assert_text(&metrics, &nothing,
		    "mcp_exec_run_starts_total{start=\"cold\"} 1\n"
		    "mcp_exec_run_starts_total{start=\"warm\"} 2\n"
		    "mcp_exec_run_starts_total{start=\"preloaded\"} 0\n");
}

static void test_what_is_warm_is_told(void **state)
{
	struct metrics metrics = {.started_s = 0};
	struct warm_modules modules;
	struct metrics_now now = {.warm = {.bare = 1, .modules = 9}, .modules = &modules};

	(void)state;
	assert_int_equal(warm_modules_read(&modules, "scipy.stats", NULL), 0);
	metrics_interpreters(&metrics, 3, 1);
	metrics_interpreters(&metrics, 2, 0);
	assert_text(&metrics, &now,
		    "mcp_exec_warm_interpreters{kind=\"bare\"} 1\n"
		    "mcp_exec_warm_interpreters{kind=\"preloaded\"} 1\n");
	assert_text(&metrics, &now,
		    "mcp_exec_warm_modules{module=\"numpy\"} 1\n"
		    "mcp_exec_warm_modules{module=\"pandas\"} 0\n"
		    "mcp_exec_warm_modules{module=\"matplotlib\"} 0\n"
		    "mcp_exec_warm_modules{module=\"scipy.stats\"} 1\n#");
	assert_text(&metrics, &now, "\nmcp_exec_interpreter_starts_total 5\n");
	assert_text(&metrics, &now, "\nmcp_exec_interpreter_failures_total 1\n");
}

static void test_what_holds_the_limits_is_told(void **state)
{
	struct metrics metrics = {.started_s = 0};
	struct metrics_now now = {.ready = {.by_cgroup = BY_CGROUP_MEMORY}};

	(void)state;
	assert_text(&metrics, &now,
		    "mcp_exec_limit_by{limit=\"memory\",mechanism=\"cgroup\"} 0\n"
		    "mcp_exec_limit_by{limit=\"memory\",mechanism=\"polling\"} 0\n"
		    "mcp_exec_limit_by{limit=\"processes\",mechanism=\"cgroup\"} 0\n"
		    "mcp_exec_limit_by{limit=\"processes\",mechanism=\"rlimit\"} 0\n"
		    "mcp_exec_limit_by{limit=\"cpus\",mechanism=\"cgroup\"} 0\n"
		    "mcp_exec_limit_by{limit=\"cpus\",mechanism=\"affinity\"} 0\n#");
	now.ready.build_id = 1;
	assert_text(&metrics, &now,
		    "mcp_exec_limit_by{limit=\"memory\",mechanism=\"cgroup\"} 1\n"
		    "mcp_exec_limit_by{limit=\"memory\",mechanism=\"polling\"} 0\n"
		    "mcp_exec_limit_by{limit=\"processes\",mechanism=\"cgroup\"} 0\n"
		    "mcp_exec_limit_by{limit=\"processes\",mechanism=\"rlimit\"} 1\n"
		    "mcp_exec_limit_by{limit=\"cpus\",mechanism=\"cgroup\"} 0\n"
		    "mcp_exec_limit_by{limit=\"cpus\",mechanism=\"affinity\"} 1\n#");
}

static void test_without_metrics_nothing_is_counted(void **state)
{
	const struct outcome outcome = done(1);

	(void)state;
	metrics_run(NULL, &outcome);
	metrics_cancelled(NULL, 1, &outcome);
	metrics_refused(NULL);
	metrics_worker_started(NULL);
	metrics_interpreters(NULL, 1, 1);
	metrics_http(NULL, 200);
}

/* As after some use, so that no family is all zero. */
static int print_text(void)
{
	struct outcome outcomes[] = {done(900),
				     done(30000),
				     done(5000000),
				     done(UINT64_C(1) << 40),
				     {.kind = OUTCOME_BUSY},
				     {.kind = OUTCOME_LOST}};
	struct warm_modules modules;
	const struct metrics_now now = {
		.queue_depth = 3,
		.queue_limit = 64,
		.running = true,
		.worker_up = true,
		.ready = {.build_id = 1, .by_cgroup = BY_CGROUP_MEMORY | BY_CGROUP_PROCESSES},
		.warm = {.bare = 1, .modules = 2},
		.modules = &modules};
	struct metrics metrics = {.started_s = 1767225600};
	struct buf text = BUF_INIT;

	for (size_t i = 0; i < sizeof(outcomes) / sizeof(outcomes[0]); i++) {
		outcomes[i].queue_us = i * 70000;
		outcomes[i].done.cpu_us = 123456;
		outcomes[i].done.flags = i == 1 ? FRAME_STDOUT_CUT : FRAME_FORKED;
		metrics_run(&metrics, &outcomes[i]);
	}
	metrics_cancelled(&metrics, 1500000, NULL);
	metrics_refused(&metrics);
	metrics_worker_started(&metrics);
	metrics_http(&metrics, 200);
	metrics_http(&metrics, 599);
	metrics_interpreters(&metrics, 2, 1);
	if (warm_modules_read(&modules, "", NULL))
		return 1;
	metrics_text(&text, &metrics, &now);
	if (text.error || fwrite(text.data, 1, text.len, stdout) != text.len)
		return 1;
	buf_clear(&text);
	return 0;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_is_there_from_the_start),
		cmocka_unit_test(test_every_call_counts_in_one_outcome),
		cmocka_unit_test(test_a_bound_belongs_to_its_bucket),
		cmocka_unit_test(test_no_digit_is_lost),
		cmocka_unit_test(test_all_but_busy_calls_have_waited),
		cmocka_unit_test(test_a_cancelled_call_is_nothing_else),
		cmocka_unit_test(test_responses_count_by_their_status),
		cmocka_unit_test(test_what_is_so_now_is_told),
		cmocka_unit_test(test_programs_count_by_what_they_were_started_from),
		cmocka_unit_test(test_what_is_warm_is_told),
		cmocka_unit_test(test_what_holds_the_limits_is_told),
		cmocka_unit_test(test_without_metrics_nothing_is_counted),
	};

	if (argc == 2 && strcmp(argv[1], "--text") == 0)
		return print_text();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
