/* pool_lines - see the header. */
#include "worker/pool_lines.h"

#include <stdlib.h>

#include "common/clock.h"
#include "common/log.h"

/* When the next one is started, so that it serves before the last copy of this one is made; or so long after it began
 * to serve. README and SECURITY.md say so. */
#define NEXT_COPIES (PRISTINE_COPIES - 20)
#define MAX_AGE_US UINT64_C(1800000000)
/* One that is loading for longer is not worth waiting for. */
#define WORTH_US UINT64_C(2000000)
/* The pause after a failure: doubled each time, up to the longest. */
#define PAUSE_US UINT64_C(1000000)
#define LONGEST_PAUSE_US UINT64_C(300000000)
/* Modules with which an interpreter did not get ready so often are left alone. */
#define TRIES_TO_LOAD 2

static void retire(struct pristine **place)
{
	if (*place)
		pristine_stop(*place);
	*place = NULL;
}

static void note_failure(struct pool *pool, struct line *line, uint64_t now_us)
{
	uint64_t pause_us = PAUSE_US << (line->failures < 16 ? line->failures : 16);

	line->failures++;
	line->retry_us = now_us + (pause_us < LONGEST_PAUSE_US ? pause_us : LONGEST_PAUSE_US);
	pool->failed++;
	log_event(LOG_WARN, "pristine.failed", LOG_U64("failures", line->failures));
}

/* The modules that an interpreter should have loaded now. */
static uint32_t wanted_modules(const struct pool *pool, uint64_t now_us)
{
	const struct warm_settings *settings = pool->settings;
	uint32_t wanted = settings->modules.always;

	for (size_t i = 0; i < settings->modules.n; i++)
		if (pool->used_us[i] &&
		    now_us - pool->used_us[i] < settings->idle_s * UINT64_C(1000000))
			wanted |= 1U << i;
	return wanted & ~pool->unfit;
}

static void log_unfit(const struct pool *pool, uint32_t modules, const char *why)
{
	for (size_t i = 0; i < pool->settings->modules.n; i++)
		if (modules >> i & 1)
			log_event(LOG_WARN, "module.not_loaded_ahead",
				  LOG_SETTING("name", pool->settings->modules.at[i].name),
				  LOG_REASON("why", why));
}

static void make_unfit(struct pool *pool, uint32_t modules, const char *why)
{
	log_unfit(pool, modules & ~pool->unfit, why);
	pool->unfit |= modules;
}

/* What it printed is part of what a program prints that imports it, and would be missing in a copy. */
static bool is_fit(struct pool *pool, enum place_kind kind, const struct pristine *pristine)
{
	make_unfit(pool, pristine->missing, "its import failed, or left more than modules");
	if (pristine->missing)
		return false;
	if (!pristine->printed)
		return kind == PLACE_BARE || pristine->modules;
	if (kind == PLACE_LOADED) {
		make_unfit(pool, pristine->modules, "an import printed");
		return false;
	}
	log_event(LOG_WARN, "warm.off", LOG_REASON("why", "the interpreter prints when it starts"));
	pool->off = true;
	return false;
}

/* The next one: does it serve, or has it failed? */
static void look_at_coming(struct pool *pool, enum place_kind kind, uint64_t now_us)
{
	struct line *line = &pool->lines[kind];
	struct pristine *coming = line->coming;

	if (!coming || coming->state == PRISTINE_BUILDING || coming->state == PRISTINE_LOADING)
		return;
	if (coming->state == PRISTINE_SERVING && is_fit(pool, kind, coming)) {
		retire(&line->serving);
		line->serving = coming;
		log_event(LOG_INFO, "pristine.serving", LOG_U64("modules", coming->modules),
			  LOG_U64("ms", (now_us - coming->since_us) / 1000));
		coming->since_us = now_us;
		line->coming = NULL;
		return;
	}
	if (coming->state != PRISTINE_SERVING)
		note_failure(pool, line, now_us);
	if (!coming->served && kind == PLACE_LOADED && line->failures >= TRIES_TO_LOAD)
		make_unfit(pool, coming->modules, "with it no interpreter got ready");
	retire(&line->coming);
}

static void look_at_serving(struct pool *pool, struct line *line, uint64_t now_us)
{
	if (!line->serving || line->serving->state == PRISTINE_SERVING)
		return;
	note_failure(pool, line, now_us);
	retire(&line->serving);
}

static bool is_used_up(const struct pristine *pristine, uint64_t now_us)
{
	return pristine->copies >= NEXT_COPIES ||
	       (pristine->copies > 1 && now_us - pristine->since_us >= MAX_AGE_US);
}

static void start(struct pool *pool, struct line *line, uint32_t modules, uint64_t now_us)
{
	struct pristine *pristine;

	for (size_t i = 0; i < POOL_PRISTINES; i++) {
		if (pool->pristines[i])
			continue;
		pristine = calloc(1, sizeof(*pristine));
		if (!pristine || pristine_start(pristine, pool->inside, &pool->settings->modules,
						modules, now_us) < 0) {
			free(pristine);
			note_failure(pool, line, now_us);
			return;
		}
		pool->pristines[i] = line->coming = pristine;
		pool->started++;
		return;
	}
}

static void fill(struct pool *pool, enum place_kind kind, bool idle, uint64_t now_us)
{
	uint32_t wanted = kind == PLACE_LOADED ? wanted_modules(pool, now_us) : 0;
	struct line *line = &pool->lines[kind];

	look_at_serving(pool, line, now_us);
	look_at_coming(pool, kind, now_us);
	if (kind == PLACE_LOADED && !wanted)
		retire(&line->serving);
	if (pool->off || line->coming || !idle || now_us < line->retry_us ||
	    (kind == PLACE_LOADED && !wanted))
		return;
	if (!line->serving || line->serving->modules != wanted || is_used_up(line->serving, now_us))
		start(pool, line, wanted, now_us);
}

void lines_fill(struct pool *pool, bool idle, uint64_t now_us)
{
	fill(pool, PLACE_BARE, idle, now_us);
	/* The first program finds a bare one sooner. */
	fill(pool, PLACE_LOADED, idle && !pool->lines[PLACE_BARE].coming, now_us);
}

bool lines_worth_waiting(const struct pool *pool, uint32_t uses, uint64_t now_us)
{
	const struct line *line = &pool->lines[PLACE_LOADED];
	uint32_t had = line->serving ? line->serving->modules : 0;

	return line->coming && line->coming->state != PRISTINE_GONE &&
	       line->coming->state != PRISTINE_ENDING &&
	       now_us - line->coming->since_us < WORTH_US && (line->coming->modules & uses & ~had);
}

void lines_worked(struct pool *pool, const struct pristine *pristine)
{
	for (int kind = PLACE_BARE; kind < PLACE_KINDS; kind++)
		if (pool->lines[kind].serving == pristine)
			pool->lines[kind].failures = 0;
}

void lines_failed_copy(struct pool *pool, const struct place *place)
{
	struct line *line = &pool->lines[place->kind];

	log_event(LOG_WARN, "copy.failed", LOG_STAGE("stage", place->sandbox.failed_stage),
		  LOG_ERRNO("error", place->sandbox.failed_error));
	/* Its interpreter is in doubt; another one has to show that it can. */
	if (line->serving == place->below)
		pristine_stop(line->serving);
}

void lines_poll(const struct pool *pool, struct pollfd polls[POOL_PRISTINES * PRISTINE_POLLS])
{
	for (size_t i = 0; i < POOL_PRISTINES; i++)
		if (pool->pristines[i])
			pristine_poll(pool->pristines[i], polls + i * PRISTINE_POLLS);
}

void lines_read(struct pool *pool, const struct pollfd polls[POOL_PRISTINES * PRISTINE_POLLS])
{
	for (size_t i = 0; i < POOL_PRISTINES; i++)
		if (pool->pristines[i])
			pristine_read(pool->pristines[i], polls + i * PRISTINE_POLLS);
}

/* When a line has something to do that no event tells. What is over already is done at the next event. */
static int tick_line(const struct pool *pool, enum place_kind kind, uint64_t now_us)
{
	const struct line *line = &pool->lines[kind];
	uint32_t always = pool->settings->modules.always;
	uint32_t passing = line->serving ? line->serving->modules & ~always : 0;
	int next_ms = -1;

	if (!line->coming && now_us < line->retry_us)
		next_ms = clock_wait_ms(line->retry_us, now_us);
	for (size_t i = 0; i < pool->settings->modules.n; i++) {
		uint64_t end_us = pool->used_us[i] + pool->settings->idle_s * UINT64_C(1000000);

		if (passing >> i & 1 && now_us < end_us)
			next_ms = clock_sooner_ms(next_ms, clock_wait_ms(end_us, now_us));
	}
	return next_ms;
}

int lines_tick(struct pool *pool, uint64_t now_us)
{
	int next_ms = -1;

	for (size_t i = 0; i < POOL_PRISTINES; i++)
		if (pool->pristines[i])
			next_ms =
				clock_sooner_ms(next_ms, pristine_tick(pool->pristines[i], now_us));
	for (int kind = PLACE_BARE; !pool->off && kind < PLACE_KINDS; kind++)
		next_ms = clock_sooner_ms(next_ms, tick_line(pool, (enum place_kind)kind, now_us));
	return next_ms;
}

void lines_reaped(struct pool *pool, pid_t pid, const struct rusage *usage)
{
	for (size_t i = 0; i < POOL_PRISTINES; i++)
		if (pool->pristines[i])
			pristine_reaped(pool->pristines[i], pid, usage);
}

/* No line has one that is gone: look_at_serving and look_at_coming have let go of it. */
void lines_sweep(struct pool *pool)
{
	for (size_t i = 0; i < POOL_PRISTINES; i++) {
		struct pristine *pristine = pool->pristines[i];
		bool held = false;

		for (int kind = PLACE_BARE; kind < PLACE_KINDS; kind++)
			held |= pool->lines[kind].serving == pristine ||
				pool->lines[kind].coming == pristine;
		if (!pristine || held || pristine->users || pristine->state != PRISTINE_GONE)
			continue;
		pool->pristines[i] = NULL;
		pristine_clear(pristine);
		free(pristine);
	}
}

void lines_end(struct pool *pool)
{
	for (size_t i = 0; i < POOL_PRISTINES; i++)
		if (pool->pristines[i])
			pristine_end(pool->pristines[i]);
}

void lines_clear(struct pool *pool)
{
	for (size_t i = 0; i < POOL_PRISTINES; i++) {
		if (!pool->pristines[i])
			continue;
		pristine_clear(pool->pristines[i]);
		free(pool->pristines[i]);
		pool->pristines[i] = NULL;
	}
}
