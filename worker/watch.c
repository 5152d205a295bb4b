/* watch - see the header. prlimit(2). */
#include "worker/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "common/clock.h"
#include "policy/rlimits.h"

#define MIN_INTERVAL_US 1000
#define MAX_INTERVAL_US 5000
/* As fast as a program was seen to touch new memory: the time to use up what is left decides when to look again. */
#define GROWTH_BYTES_PER_US (8 * KIB)
/* A proportional sum reads every page table entry: at most so much CPU time at once, and a tenth of the time, or half
 * of it when the run seems to be over its limit. */
#define PRECISE_BUDGET_US 200000
#define PRECISE_PAUSE 10
#define URGENT_PAUSE 1
/* Lists of mappings are read at most so often, and at most so much CPU time goes into it at once. */
#define SHARED_PAUSE_US 20000
#define SHARED_BUDGET_US 50000
/* Processes are read one after the other, and one may fork in between: what it shares is then counted for both. */
#define STRIKES_OF_MANY 2
/* A soft limit that is off by less is not moved. */
#define LIMIT_STEP (4 * MIB)

int watch_init(struct watch *watch, const struct limits *limits, pid_t init, uint64_t now_us)
{
	*watch = (struct watch){.limits = *limits,
				.init = init,
				.next_us = now_us + MIN_INTERVAL_US,
				.now = malloc(sizeof(*watch->now)),
				.before = malloc(sizeof(*watch->before))};
	/* They are large, and only what is looked at of them is touched. */
	if (watch->now && watch->before) {
		watch->now->n = watch->before->n = 0;
		return 0;
	}
	watch_clear(watch);
	return -ENOMEM;
}

void watch_clear(struct watch *watch)
{
	free(watch->now);
	free(watch->before);
	*watch = (struct watch){.now = NULL};
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t smaller(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static void look_at_mappings(struct watch *watch, uint64_t now_us)
{
	uint64_t start_us = clock_us(), end_us;

	if (now_us < watch->shared_us)
		return;
	watch->shared_bytes = processes_shared_mappings(watch->now, SHARED_BUDGET_US);
	end_us = clock_us();
	watch->shared_us = end_us + larger(SHARED_PAUSE_US, (end_us - start_us) * PRECISE_PAUSE);
}

static uint64_t total(const struct watch *watch, struct process_sums sums)
{
	return sums.anon_bytes + larger(sums.shmem_bytes, watch->shared_bytes);
}

/* Alone, a process shares no page with another of the run; far below the limit it does not matter. */
static bool needs_precision(const struct watch *watch, uint64_t plain)
{
	return watch->now->n > 1 && plain > watch->limits.memory_bytes / 2;
}

static void look_precisely(struct watch *watch, uint64_t plain)
{
	uint64_t start_us = clock_us(), end_us, spent_us;

	watch->precise_bytes = total(watch, processes_proportional(watch->now, PRECISE_BUDGET_US));
	watch->plain_bytes = plain;
	end_us = clock_us();
	spent_us = end_us - start_us;
	watch->precise_us = end_us + spent_us * PRECISE_PAUSE;
	watch->urgent_us = end_us + spent_us * URGENT_PAUSE;
}

/* The last proportional sum, plus all that has come since. */
static uint64_t estimate(const struct watch *watch, uint64_t plain)
{
	uint64_t grown = plain > watch->plain_bytes ? plain - watch->plain_bytes : 0;

	return watch->precise_bytes + grown;
}

/* What the run has, as well as it can be known now; *sure says whether that is enough to kill it. */
static uint64_t weigh(struct watch *watch, uint64_t now_us, bool *sure)
{
	uint64_t plain;
	bool urgent;

	look_at_mappings(watch, now_us);
	plain = total(watch, processes_sums(watch->now));
	*sure = true;
	if (!needs_precision(watch, plain))
		return plain;
	urgent = !watch->precise_us || estimate(watch, plain) > watch->limits.memory_bytes;
	if (now_us >= (urgent ? watch->urgent_us : watch->precise_us)) {
		look_precisely(watch, plain);
		return watch->precise_bytes;
	}
	*sure = false;
	return estimate(watch, plain);
}

static void move_limit(pid_t pid, uint64_t wanted)
{
	struct rlimit now;
	uint64_t apart;

	if (prlimit(pid, RLIMIT_DATA, NULL, &now))
		return;
	wanted = smaller(wanted, now.rlim_max);
	apart = larger(wanted, now.rlim_cur) - smaller(wanted, now.rlim_cur);
	if (apart < LIMIT_STEP)
		return;
	now.rlim_cur = wanted;
	/* Fails when it has just ended. */
	prlimit(pid, RLIMIT_DATA, &now, NULL);
}

static void move_limits(const struct watch *watch, uint64_t sum)
{
	uint64_t budget = rlimits_data_budget(&watch->limits);
	uint64_t room = budget > sum ? budget - sum : 0;

	for (size_t i = 0; i < watch->now->n; i++)
		if (watch->now->list[i].counted)
			move_limit(watch->now->list[i].pid, watch->now->list[i].data_bytes + room);
}

static uint64_t interval_us(const struct watch *watch, uint64_t sum)
{
	uint64_t left = watch->limits.memory_bytes > sum ? watch->limits.memory_bytes - sum : 0;

	return smaller(larger(left / GROWTH_BYTES_PER_US, MIN_INTERVAL_US), MAX_INTERVAL_US);
}

bool watch_look(struct watch *watch, uint64_t now_us)
{
	uint64_t start_us = clock_us(), sum;
	struct processes *before = watch->now;
	bool sure;

	if (now_us < watch->next_us)
		return false;
	watch->now = watch->before;
	watch->before = before;
	processes_look(watch->now, watch->init, before);
	sum = weigh(watch, now_us, &sure);
	if (sure)
		watch->peak_bytes = larger(watch->peak_bytes, sum);
	move_limits(watch, sum);
	/* A look at many processes takes long: at most half of the time goes into it. */
	watch->next_us = now_us + interval_us(watch, sum) + 2 * (clock_us() - start_us);
	if (sure)
		watch->strikes = sum > watch->limits.memory_bytes ? watch->strikes + 1 : 0;
	return watch->strikes >= (watch->now->n > 1 ? STRIKES_OF_MANY : 1);
}

void watch_defer(struct watch *watch, uint64_t until_us)
{
	watch->next_us = larger(watch->next_us, until_us);
}

uint64_t watch_settle(const struct limits *limits, pid_t init)
{
	uint64_t now_us = clock_us(), bytes;
	struct watch watch;

	if (watch_init(&watch, limits, init, now_us) < 0)
		return 0;
	watch_look(&watch, watch.next_us);
	bytes = watch.peak_bytes;
	watch_clear(&watch);
	return bytes;
}
