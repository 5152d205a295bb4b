/* link_bench - one link to the fake worker, and what it told. */
#ifndef TESTS_UNIT_LINK_BENCH_H
#define TESTS_UNIT_LINK_BENCH_H

#include <errno.h>
#include <event2/event.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "common/clock.h"
#include "supervisor/metrics.h"
#include "supervisor/worker_link.h"
#include "tests/unit/fake.h"
#include "tests/unit/fd_count.h"

#define WAIT_MS 3000
#define OUTPUT_MAX 1000

struct bench {
	struct config config;
	struct spawn_spec spec;
	struct event_base *base;
	struct worker_link *link;
	int fds_before;
	struct metrics metrics;
	int idle, unusable, ended, unread;
	unsigned int stage;
	int error;
	uint64_t run_id;
	enum outcome_kind kind;
	struct frame_done done;
	char out[64];
	char err[64];
};

static inline void on_idle(void *ctx)
{
	((struct bench *)ctx)->idle++;
}

static inline void on_unusable(void *ctx, unsigned int stage, int error)
{
	struct bench *bench = ctx;

	bench->unusable++;
	bench->stage = stage;
	bench->error = error;
	assert_int_equal(worker_link_state(bench->link), LINK_DOWN);
}

static inline void copy(char to[64], const struct blob_view *view)
{
	size_t n = view->size < 63 ? view->size : 63;

	if (n > 0)
		memcpy(to, view->data, n);
	to[n] = '\0';
}

static inline void on_ended(void *ctx, uint64_t run_id, const struct outcome *outcome)
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

static inline void on_unread(void *ctx, uint64_t run_id)
{
	struct bench *bench = ctx;

	bench->unread++;
	bench->run_id = run_id;
	assert_int_equal(worker_link_state(bench->link), LINK_DOWN);
}

static inline void bench_init(struct bench *bench, const char *mode)
{
	const struct link_events events = {
		.idle = on_idle, .unusable = on_unusable, .ended = on_ended, .unread = on_unread};

	memset(bench, 0, sizeof(*bench));
	bench->fds_before = fd_count();
	fake_open(&bench->spec, &bench->config, mode);
	bench->base = event_base_new();
	assert_non_null(bench->base);
	assert_int_equal(worker_link_new(bench->base, &bench->spec, &bench->metrics, &events, bench,
					 &bench->link),
			 0);
}

/* Nothing may be left: no process, no descriptor. */
static inline void bench_clear(struct bench *bench)
{
	worker_link_free(bench->link);
	event_base_free(bench->base);
	close(bench->spec.worker_fd);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
	assert_int_equal(fd_count(), bench->fds_before);
}

/* Runs the loop until count is n, or so many milliseconds have passed. */
static inline void wait_long(struct bench *bench, const int *count, int n, uint64_t ms)
{
	uint64_t until = clock_ms() + ms;

	while (*count < n && clock_ms() < until) {
		event_base_loop(bench->base, EVLOOP_NONBLOCK);
		usleep(1000);
	}
	assert_int_equal(*count, n);
}

static inline void wait_for(struct bench *bench, const int *count, int n)
{
	wait_long(bench, count, n, WAIT_MS);
}

static inline void start(struct bench *bench)
{
	worker_link_start(bench->link);
	assert_int_equal(bench->idle + bench->unusable, 0);
	wait_for(bench, &bench->idle, 1);
	assert_int_equal(worker_link_state(bench->link), LINK_IDLE);
}

static inline int give_for(struct bench *bench, uint64_t run_id, uint32_t timeout_ms)
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

static inline int give(struct bench *bench, uint64_t run_id)
{
	return give_for(bench, run_id, 1000);
}

static inline void run(struct bench *bench)
{
	assert_int_equal(give(bench, 42), 0);
	assert_int_equal(bench->ended, 0);
	assert_int_equal(worker_link_state(bench->link), LINK_BUSY);
	wait_for(bench, &bench->ended, 1);
	assert_int_equal(bench->run_id, 42);
}

#endif
