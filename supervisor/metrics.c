/* metrics - counting, and the text.
 *
 * Times are kept in whole microseconds and printed as such with a decimal point put in: no rounding, and no locale,
 * which could make the point a comma.
 */
#include "supervisor/metrics.h"

#include <inttypes.h>
#include <string.h>

#include "common/mechanism.h"
#include "common/version.h"

#define US_PER_S UINT64_C(1000000)

/* From what a warm sandbox takes for nothing to the longest run that is allowed unless somebody allows more. */
static const struct {
	uint64_t us;
	const char *label;
} bounds[METRICS_BOUNDS] = {
	{5000, "0.005"},    {10000, "0.01"},	  {25000, "0.025"},	{50000, "0.05"},
	{100000, "0.1"},    {250000, "0.25"},	  {500000, "0.5"},	{1000000, "1.0"},
	{2500000, "2.5"},   {5000000, "5.0"},	  {10000000, "10.0"},	{30000000, "30.0"},
	{60000000, "60.0"}, {120000000, "120.0"}, {300000000, "300.0"},
};

#define OUTCOME_NAME(symbol, name) name,
static const char *const outcome_names[METRICS_OUTCOME_COUNT] = {METRICS_OUTCOMES(OUTCOME_NAME)};
#undef OUTCOME_NAME

static const int statuses[] = {200, 202, 204, 400, 401, 403, 404, 405, 406,
			       408, 413, 415, 417, 431, 500, 501, 503, 505};
_Static_assert(sizeof(statuses) / sizeof(statuses[0]) == METRICS_STATUS_COUNT,
	       "each status has its counter");

/*** Counting ***/

static void observe(struct metrics_histogram *histogram, uint64_t us)
{
	size_t i = 0;

	while (i < METRICS_BOUNDS && us > bounds[i].us)
		i++;
	histogram->buckets[i]++;
	histogram->sum_us += us;
}

/* The limit "output" is none of ours: cut output ends no run. */
static enum metrics_outcome classify_done(const struct outcome *outcome)
{
	const char *limit = outcome_limit(outcome);

	for (size_t i = 0; limit && i < METRICS_OUTCOME_COUNT; i++)
		if (strcmp(outcome_names[i], limit) == 0)
			return (enum metrics_outcome)i;
	if (outcome->done.signal != 0)
		return METRICS_SIGNAL;
	return outcome->done.exit_code == 0 ? METRICS_OK : METRICS_ERROR;
}

static enum metrics_outcome classify(const struct outcome *outcome)
{
	switch (outcome->kind) {
	case OUTCOME_DONE:
		return classify_done(outcome);
	case OUTCOME_FAILED:
		return METRICS_NO_SANDBOX;
	case OUTCOME_LOST:
		return METRICS_LOST;
	case OUTCOME_BUSY:
		return METRICS_BUSY;
	}
	return METRICS_LOST;
}

/* One that was cancelled before its program had started took no time. */
static void count_done(struct metrics *metrics, const struct outcome *outcome)
{
	const struct frame_done *done = &outcome->done;

	if (done->wall_us > 0) {
		observe(&metrics->run_time, done->wall_us);
		metrics->starts[outcome_start(outcome)]++;
	}
	metrics->cpu_us += done->cpu_us;
	if (done->flags & FRAME_TRUNCATED)
		metrics->truncated++;
}

void metrics_run(struct metrics *metrics, const struct outcome *outcome)
{
	if (!metrics)
		return;
	metrics->runs[classify(outcome)]++;
	if (outcome->kind != OUTCOME_BUSY)
		observe(&metrics->queue_wait, outcome->queue_us);
	if (outcome->kind == OUTCOME_DONE)
		count_done(metrics, outcome);
}

void metrics_cancelled(struct metrics *metrics, uint64_t queue_us, const struct outcome *outcome)
{
	if (!metrics)
		return;
	metrics->runs[METRICS_CANCELLED]++;
	observe(&metrics->queue_wait, queue_us);
	if (outcome && outcome->kind == OUTCOME_DONE)
		count_done(metrics, outcome);
}

void metrics_refused(struct metrics *metrics)
{
	if (metrics)
		metrics->invalid_calls++;
}

void metrics_worker_started(struct metrics *metrics)
{
	if (metrics)
		metrics->worker_starts++;
}

void metrics_interpreters(struct metrics *metrics, uint64_t started, uint64_t failed)
{
	if (!metrics)
		return;
	metrics->interpreters_started += started;
	metrics->interpreters_failed += failed;
}

void metrics_http(struct metrics *metrics, int status)
{
	size_t i = 0;

	if (!metrics)
		return;
	while (i < METRICS_STATUS_COUNT && statuses[i] != status)
		i++;
	metrics->responses[i]++;
}

/*** The text ***/

static void add_head(struct buf *out, const char *name, const char *type, const char *help)
{
	buf_printf(out, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, type);
}

static void add_number(struct buf *out, const char *name, const char *type, const char *help,
		       uint64_t value)
{
	add_head(out, name, type, help);
	buf_printf(out, "%s %" PRIu64 "\n", name, value);
}

static void add_seconds(struct buf *out, const char *name, const char *suffix, uint64_t us)
{
	buf_printf(out, "%s%s %" PRIu64 ".%06" PRIu64 "\n", name, suffix, us / US_PER_S,
		   us % US_PER_S);
}

static void add_histogram(struct buf *out, const char *name, const char *help,
			  const struct metrics_histogram *histogram)
{
	uint64_t count = 0;

	add_head(out, name, "histogram", help);
	for (size_t i = 0; i <= METRICS_BOUNDS; i++) {
		count += histogram->buckets[i];
		buf_printf(out, "%s_bucket{le=\"%s\"} %" PRIu64 "\n", name,
			   i < METRICS_BOUNDS ? bounds[i].label : "+Inf", count);
	}
	add_seconds(out, name, "_sum", histogram->sum_us);
	buf_printf(out, "%s_count %" PRIu64 "\n", name, count);
}

/* The build id is what the worker must have, too. */
static void add_process(struct buf *out, const struct metrics *metrics)
{
	add_head(out, "mcp_exec_build_info", "gauge",
		 "Always 1; version and build of supervisor and worker.");
	buf_printf(out, "mcp_exec_build_info{version=\"%s\",build=\"%016" PRIx64 "\"} 1\n",
		   MCP_EXEC_VERSION, (uint64_t)BUILD_ID);
	add_head(out, "process_start_time_seconds", "gauge",
		 "When the process started, in seconds since the Unix epoch.");
	buf_printf(out, "process_start_time_seconds %jd\n", (intmax_t)metrics->started_s);
}

static void add_runs(struct buf *out, const struct metrics *metrics)
{
	static const char runs[] = "mcp_exec_runs_total", cpu[] = "mcp_exec_cpu_seconds_total",
			  starts[] = "mcp_exec_run_starts_total";

	add_head(out, runs, "counter", "Calls that have ended, by how they ended.");
	for (size_t i = 0; i < METRICS_OUTCOME_COUNT; i++)
		buf_printf(out, "%s{outcome=\"%s\"} %" PRIu64 "\n", runs, outcome_names[i],
			   metrics->runs[i]);
	add_head(out, starts, "counter", "Programs that ran, by what they were started from.");
	for (size_t i = 0; i < OUTCOME_START_COUNT; i++)
		buf_printf(out, "%s{start=\"%s\"} %" PRIu64 "\n", starts,
			   outcome_start_name((enum outcome_start)i), metrics->starts[i]);
	add_histogram(out, "mcp_exec_run_seconds", "Wall clock time of programs that ran.",
		      &metrics->run_time);
	add_histogram(out, "mcp_exec_queue_wait_seconds",
		      "Time that calls waited before they ran, or ended without.",
		      &metrics->queue_wait);
	add_head(out, cpu, "counter", "CPU time of programs that ran.");
	add_seconds(out, cpu, "", metrics->cpu_us);
	add_number(out, "mcp_exec_output_truncated_total", "counter",
		   "Runs whose output was longer than the limit.", metrics->truncated);
	add_number(out, "mcp_exec_invalid_calls_total", "counter",
		   "Calls that were refused for their arguments.", metrics->invalid_calls);
}

static void add_queue(struct buf *out, const struct metrics *metrics, const struct metrics_now *now)
{
	add_number(out, "mcp_exec_queue_depth", "gauge", "Calls that wait.", now->queue_depth);
	add_number(out, "mcp_exec_queue_limit", "gauge", "Calls that may wait.", now->queue_limit);
	add_number(out, "mcp_exec_running", "gauge", "1 while a program runs.", now->running);
	add_number(out, "mcp_exec_worker_starts_total", "counter",
		   "Worker processes that were started; the first one counts, too.",
		   metrics->worker_starts);
	add_number(out, "mcp_exec_worker_up", "gauge",
		   "0 when the last worker could make no sandbox, or did not start.",
		   now->worker_up);
}

/* Neither while no worker has said so. */
static void add_limits(struct buf *out, const struct metrics_now *now)
{
	static const char name[] = "mcp_exec_limit_by";
	bool known = now->ready.build_id != 0;
	const struct mechanism *row;

	add_head(out, name, "gauge",
		 "1 for what holds a limit of runs: a cgroup, or the next best.");
	for (size_t i = 0; (row = mechanism_row(i)); i++) {
		bool by_cgroup = now->ready.by_cgroup & row->bit;

		buf_printf(out, "%s{limit=\"%s\",mechanism=\"cgroup\"} %d\n", name, row->limit,
			   known && by_cgroup);
		buf_printf(out, "%s{limit=\"%s\",mechanism=\"%s\"} %d\n", name, row->limit,
			   row->otherwise, known && !by_cgroup);
	}
}

static void add_warm(struct buf *out, const struct metrics *metrics, const struct metrics_now *now)
{
	static const char interpreters[] = "mcp_exec_warm_interpreters";
	static const char modules[] = "mcp_exec_warm_modules";

	add_head(out, interpreters, "gauge", "Interpreters that wait for programs.");
	buf_printf(out, "%s{kind=\"bare\"} %u\n", interpreters, now->warm.bare);
	buf_printf(out, "%s{kind=\"preloaded\"} %d\n", interpreters, now->warm.modules != 0);
	if (now->modules) {
		add_head(out, modules, "gauge", "1 while one of them has the module loaded.");
		for (size_t i = 0; i < now->modules->n; i++)
			buf_printf(out, "%s{module=\"%s\"} %u\n", modules, now->modules->at[i].name,
				   now->warm.modules >> i & 1);
	}
	add_number(out, "mcp_exec_interpreter_starts_total", "counter",
		   "Such interpreters that were started.", metrics->interpreters_started);
	add_number(out, "mcp_exec_interpreter_failures_total", "counter",
		   "Those that did not get ready, or ended by themselves.",
		   metrics->interpreters_failed);
}

static void add_http(struct buf *out, const struct metrics *metrics, const struct metrics_now *now)
{
	static const char responses[] = "mcp_exec_http_responses_total";

	add_head(out, responses, "counter", "HTTP responses, by status.");
	for (size_t i = 0; i < METRICS_STATUS_COUNT; i++)
		buf_printf(out, "%s{code=\"%d\"} %" PRIu64 "\n", responses, statuses[i],
			   metrics->responses[i]);
	buf_printf(out, "%s{code=\"other\"} %" PRIu64 "\n", responses,
		   metrics->responses[METRICS_STATUS_COUNT]);
	add_number(out, "mcp_exec_http_connections", "gauge", "Open connections.",
		   now->connections);
	add_number(out, "mcp_exec_sessions", "gauge", "Open sessions of the legacy protocol.",
		   now->sessions);
}

void metrics_text(struct buf *out, const struct metrics *metrics, const struct metrics_now *now)
{
	add_process(out, metrics);
	add_runs(out, metrics);
	add_queue(out, metrics, now);
	add_limits(out, now);
	add_warm(out, metrics, now);
	add_http(out, metrics, now);
}
