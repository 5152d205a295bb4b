/* pool - see the header. Places here; interpreters in pool_lines.c. */
#include "worker/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "common/clock.h"
#include "common/log.h"
#include "common/mechanism.h"
#include "common/stage.h"
#include "worker/pool_lines.h"
#include "worker/watch.h"

/* As many as five parked places, four interpreters and a run have, and some. */
#define FILES 128
/* What a copy takes to come in: milliseconds. One that takes longer is not worth waiting for, and its interpreter is
 * stopped, or worse. */
#define ENTER_US UINT64_C(1000000)
/* How long a program waits for a warm place that is being made. */
#define PATIENCE_US UINT64_C(500000)
/* How long all of a kind's parked places are kept ready after a program had to wait for one. */
#define HURRY_US UINT64_C(200000)

/* What waits must not take the descriptors that a run needs. */
static bool has_few_files(void)
{
	struct rlimit limit;

	return !getrlimit(RLIMIT_NOFILE, &limit) && limit.rlim_cur < FILES;
}

void pool_init(struct pool *pool, const struct inside *inside, const struct warm_settings *settings)
{
	bool wanted = settings->on && inside->pristine.filter;

	*pool = (struct pool){
		.inside = inside, .settings = settings, .off = !wanted || has_few_files()};
	if (wanted && pool->off)
		log_event(LOG_WARN, "warm.off", LOG_REASON("why", "few files may be open"));
}

static struct place **free_slot(struct pool *pool)
{
	for (size_t i = 0; i < POOL_PLACES; i++)
		if (!pool->places[i])
			return &pool->places[i];
	return NULL;
}

/* Where it is parked; place may be NULL: a free slot. NULL when there is none. */
static struct place **parked_slot(struct pool *pool, enum place_kind kind,
				  const struct place *place)
{
	for (size_t i = 0; i < POOL_PARKED; i++)
		if (pool->parked[kind][i] == place)
			return &pool->parked[kind][i];
	return NULL;
}

static void forget_parked(struct pool *pool, const struct place *place)
{
	struct place **parked = parked_slot(pool, place->kind, place);

	if (parked)
		*parked = NULL;
}

static unsigned int count_parked(const struct pool *pool, enum place_kind kind)
{
	unsigned int n = 0;

	for (size_t i = 0; i < POOL_PARKED; i++)
		n += pool->parked[kind][i] != NULL;
	return n;
}

/* Starts building a place and parks it, where there is a free slot for it. Returns NULL when there is no room, or not even a process. */
static struct place *build(struct pool *pool, enum place_kind kind, struct pristine *below)
{
	struct purpose purpose = {.above = below ? below->sandbox.namespaces : NULL};
	struct place **slot = free_slot(pool), **parked = parked_slot(pool, kind, NULL);
	struct place *place = slot && parked ? calloc(1, sizeof(*place)) : NULL;

	if (!place)
		return NULL;
	*slot = place;
	*place = (struct place){.kind = kind, .below = below, .since_us = clock_us()};
	if (below)
		pristine_hold(below);
	sandbox_init(&place->sandbox);
	/* What fails is seen, and told, as what ends is: by note_end, or who asks pool_failed. */
	sandbox_spawn(&place->sandbox, pool->inside, &purpose);
	*parked = place;
	return place;
}

void pool_drop(struct pool *pool, struct place *place)
{
	for (size_t i = 0; i < POOL_PLACES; i++)
		if (pool->places[i] == place)
			pool->places[i] = NULL;
	forget_parked(pool, place);
	if (place->below)
		pristine_release(place->below);
	sandbox_clear(&place->sandbox);
	free(place);
}

/* What is reaped, and nobody has a use for. */
static bool is_litter(struct pool *pool, const struct place *place)
{
	return !place->taken && place->sandbox.state == SANDBOX_REAPED &&
	       !parked_slot(pool, place->kind, place);
}

void pool_leave(struct pool *pool, struct place *place)
{
	place->taken = false;
	if (is_litter(pool, place))
		pool_drop(pool, place);
}

/* One that is not wanted any more; it is dropped when it is reaped. */
static void discard(struct pool *pool, struct place *place)
{
	forget_parked(pool, place);
	sandbox_kill(&place->sandbox);
}

static struct pristine *serving(const struct pool *pool, enum place_kind kind)
{
	struct pristine *pristine = kind == PLACE_COLD ? NULL : pool->lines[kind].serving;

	return pristine && pristine->state == PRISTINE_SERVING ? pristine : NULL;
}

/* A parked copy of an interpreter that serves no more, or has been replaced. */
static void discard_old(struct pool *pool)
{
	for (int kind = PLACE_BARE; kind < PLACE_KINDS; kind++) {
		for (size_t i = 0; i < POOL_PARKED; i++) {
			struct place *place = pool->parked[kind][i];

			if (place && place->below != serving(pool, (enum place_kind)kind))
				discard(pool, place);
		}
	}
}

/* How many are to be parked: one, but while programs come faster than that. */
static unsigned int wanted_parked(const struct pool *pool, enum place_kind kind, uint64_t now_us)
{
	return now_us < pool->hurry_until_us[kind] ? POOL_PARKED : 1;
}

void pool_fill(struct pool *pool, bool idle, uint64_t now_us)
{
	if (!pool->off)
		lines_fill(pool, idle, now_us);
	discard_old(pool);
	for (enum place_kind kind = PLACE_BARE; kind < PLACE_KINDS; kind++) {
		struct pristine *pristine = serving(pool, kind);

		while (pristine && pristine->copies < PRISTINE_COPIES &&
		       count_parked(pool, kind) < wanted_parked(pool, kind, now_us) &&
		       build(pool, kind, pristine))
			continue;
	}
	if (!count_parked(pool, PLACE_COLD) && !pool->cold_failed)
		build(pool, PLACE_COLD, NULL);
}

struct place *pool_try(struct pool *pool)
{
	return build(pool, PLACE_COLD, NULL);
}

void pool_note_use(struct pool *pool, uint32_t uses, uint64_t now_us)
{
	for (size_t i = 0; i < pool->settings->modules.n; i++)
		if (uses >> i & 1)
			pool->used_us[i] = now_us;
}

/* Where the program belongs, as far as interpreters go that serve, or will so soon that it pays to wait. */
static enum place_kind wanted_kind(const struct pool *pool, uint32_t uses, uint64_t now_us)
{
	const struct pristine *loaded = serving(pool, PLACE_LOADED);

	if (pool->off)
		return PLACE_COLD;
	if (lines_worth_waiting(pool, uses, now_us) || (loaded && (loaded->modules & uses)))
		return PLACE_LOADED;
	return serving(pool, PLACE_BARE) ? PLACE_BARE : PLACE_COLD;
}

static bool is_ready(const struct place *place)
{
	return place && place->sandbox.state == SANDBOX_READY;
}

/* Returns NULL when none is ready. */
static struct place *unpark(struct pool *pool, enum place_kind kind)
{
	for (size_t i = 0; i < POOL_PARKED; i++) {
		struct place *place = pool->parked[kind][i];

		if (!is_ready(place))
			continue;
		pool->parked[kind][i] = NULL;
		place->taken = true;
		return place;
	}
	return NULL;
}

/* Whether a warm place of this kind will be there soon. */
static bool is_coming(const struct pool *pool, enum place_kind kind, uint32_t uses,
		      uint64_t waited_us, uint64_t now_us)
{
	if (kind == PLACE_COLD)
		return false;
	if (kind == PLACE_LOADED && lines_worth_waiting(pool, uses, now_us))
		return true;
	return waited_us < PATIENCE_US && serving(pool, kind) &&
	       (count_parked(pool, kind) || serving(pool, kind)->copies < PRISTINE_COPIES);
}

struct place *pool_take(struct pool *pool, uint32_t uses, bool cold, uint64_t since_us,
			uint64_t now_us)
{
	enum place_kind kind = cold ? PLACE_COLD : wanted_kind(pool, uses, now_us);
	struct place *place = unpark(pool, kind);

	if (place)
		return place;
	if (is_coming(pool, kind, uses, now_us - since_us, now_us)) {
		pool->hurry_until_us[kind] = now_us + HURRY_US;
		return NULL;
	}
	place = kind == PLACE_LOADED ? unpark(pool, PLACE_BARE) : NULL;
	if (!place)
		place = unpark(pool, PLACE_COLD);
	if (!place && !count_parked(pool, PLACE_COLD))
		build(pool, PLACE_COLD, NULL);
	return place;
}

struct place *pool_failed(struct pool *pool)
{
	struct place *place = pool->parked[PLACE_COLD][0];

	if (!place || place->sandbox.state != SANDBOX_REAPED)
		return NULL;
	pool->cold_failed = !sandbox_was_killed(&place->sandbox);
	return place;
}

void pool_poll(const struct pool *pool, struct pollfd polls[POOL_POLLS])
{
	for (size_t i = 0; i < POOL_POLLS; i++)
		polls[i] = (struct pollfd){.fd = -1};
	for (size_t i = 0; i < POOL_PLACES; i++)
		if (pool->places[i])
			sandbox_poll(&pool->places[i]->sandbox, polls + i * SANDBOX_POLLS);
	lines_poll(pool, polls + POOL_PLACES * SANDBOX_POLLS);
}

/* Init has built it: now somebody is to come in. */
static void send_copy(struct pool *pool, struct place *place)
{
	bool hurried = clock_us() < pool->hurry_until_us[place->kind];

	if (sandbox_wants_copy(&place->sandbox) &&
	    pristine_send_copy(place->below, &place->sandbox, hurried) < 0)
		discard(pool, place);
}

static void note_ready(struct pool *pool, struct place *place)
{
	if (place->kind == PLACE_COLD || place->settled || !is_ready(place))
		return;
	place->settled = true;
	if (!(pool->inside->limits.by_cgroup & BY_CGROUP_MEMORY))
		place->inherited_bytes = watch_settle(&pool->inside->limits, place->sandbox.init);
	lines_worked(pool, place->below);
}

/* A parked place that ended by itself. A cold one stays, for pool_failed. */
static void note_end(struct pool *pool, struct place *place)
{
	if (!parked_slot(pool, place->kind, place))
		return;
	if (is_ready(place) && place->kind == PLACE_COLD)
		pool->cold_failed = false;
	if (place->kind == PLACE_COLD ||
	    (place->sandbox.state != SANDBOX_ENDING && place->sandbox.state != SANDBOX_REAPED))
		return;
	lines_failed_copy(pool, place);
	discard(pool, place);
}

static void go_on(struct pool *pool)
{
	for (size_t i = 0; i < POOL_PLACES; i++) {
		struct place *place = pool->places[i];

		if (!place)
			continue;
		send_copy(pool, place);
		note_ready(pool, place);
		note_end(pool, place);
		if (is_litter(pool, place))
			pool_drop(pool, place);
	}
	lines_sweep(pool);
}

void pool_read(struct pool *pool, const struct pollfd polls[POOL_POLLS])
{
	for (size_t i = 0; i < POOL_PLACES; i++)
		if (pool->places[i])
			sandbox_read(&pool->places[i]->sandbox, polls + i * SANDBOX_POLLS);
	lines_read(pool, polls + POOL_PLACES * SANDBOX_POLLS);
	go_on(pool);
}

void pool_reaped(struct pool *pool, pid_t pid, const struct rusage *usage)
{
	for (size_t i = 0; i < POOL_PLACES; i++)
		if (pool->places[i])
			sandbox_reaped(&pool->places[i]->sandbox, pid, usage);
	lines_reaped(pool, pid, usage);
	go_on(pool);
}

/* A copy that does not come in: its interpreter is stopped, or worse. */
static int tick_place(struct pool *pool, struct place *place, uint64_t now_us)
{
	uint64_t late_us = place->since_us + ENTER_US;

	if (place->kind == PLACE_COLD || place->sandbox.state != SANDBOX_BUILDING)
		return -1;
	if (now_us < late_us)
		return clock_wait_ms(late_us, now_us);
	lines_failed_copy(pool, place);
	pristine_stop(place->below);
	discard(pool, place);
	return 0;
}

/* Nobody waits for the second any more. */
static int tick_parked(struct pool *pool, enum place_kind kind, uint64_t now_us)
{
	if (count_parked(pool, kind) < 2)
		return -1;
	if (now_us < pool->hurry_until_us[kind])
		return clock_wait_ms(pool->hurry_until_us[kind], now_us);
	for (size_t i = 1; i < POOL_PARKED; i++)
		if (pool->parked[kind][i])
			discard(pool, pool->parked[kind][i]);
	return -1;
}

int pool_tick(struct pool *pool, uint64_t now_us)
{
	int next_ms = lines_tick(pool, now_us);

	for (enum place_kind kind = PLACE_BARE; kind < PLACE_KINDS; kind++)
		next_ms = clock_sooner_ms(next_ms, tick_parked(pool, kind, now_us));
	for (size_t i = 0; i < POOL_PLACES; i++) {
		struct place *place = pool->places[i];

		if (!place)
			continue;
		next_ms = clock_sooner_ms(next_ms, notify_answer(&place->sandbox.notify, now_us));
		next_ms = clock_sooner_ms(next_ms, tick_place(pool, place, now_us));
	}
	return next_ms;
}

bool pool_warm(struct pool *pool, struct frame_warm *warm)
{
	const struct pristine *loaded = serving(pool, PLACE_LOADED);
	bool news;

	*warm = (struct frame_warm){.bare = serving(pool, PLACE_BARE) ? 1 : 0,
				    .modules = loaded ? loaded->modules : 0,
				    .unfit = pool->unfit,
				    .started = pool->started,
				    .failed = pool->failed};
	news = memcmp(warm, &pool->said, sizeof(*warm)) != 0;
	pool->said = *warm;
	return news;
}

void pool_clear(struct pool *pool)
{
	struct rusage usage;
	pid_t pid;

	for (size_t i = 0; i < POOL_PLACES; i++)
		if (pool->places[i])
			discard(pool, pool->places[i]);
	lines_end(pool);
	while ((pid = wait4(-1, NULL, 0, &usage)) > 0 || (pid < 0 && errno == EINTR))
		if (pid > 0)
			pool_reaped(pool, pid, &usage);
	for (size_t i = 0; i < POOL_PLACES; i++)
		if (pool->places[i])
			pool_drop(pool, pool->places[i]);
	lines_clear(pool);
}
