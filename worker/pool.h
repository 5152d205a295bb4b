/* pool - the sandboxes that are ready before a program comes, and the pristine interpreters whose copies wait in them.
 *
 * A *place* is a sandbox and how Python gets into it; whoever runs a program in one need not know more:
 *   cold     init starts `python3 main.py`;
 *   bare     a copy of an interpreter that has just started waits for the program;
 *   loaded   the same, of one that has modules loaded: those that programs used lately, and those the operator named.
 * One place of each kind is kept ready, and while programs come faster than places are made, two of each warm one, made
 * side by side. A program goes by what it seems to import: a wrong guess costs time and nothing else. Whatever goes wrong
 * with a warm place, there is the cold one, which needs nothing but the worker.
 *
 * The interpreters are replaced now and then, as all copies of one share hash seed and address layout; and when other
 * modules are used, or none for a while. Those that failed are tried again after a pause that doubles; modules that
 * could not be loaded, or that print while they are, are left to the programs for good.
 */
#ifndef WORKER_POOL_H
#define WORKER_POOL_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/frame.h"
#include "common/warm.h"
#include "worker/inside.h"
#include "worker/pristine.h"
#include "worker/sandbox.h"

enum place_kind { PLACE_COLD, PLACE_BARE, PLACE_LOADED, PLACE_KINDS };

struct place {
	enum place_kind kind;
	bool taken; /* by pool_take: whoever did gives it back by pool_drop or pool_leave */
	struct sandbox sandbox;
	struct pristine *below; /* NULL, or whose copy it has */
	bool settled;		/* ready, and its interpreter has shown that it can */
	uint64_t since_us;
	uint64_t
		inherited_bytes; /* of memory, which loaded modules take and no program asked for */
};

/* Parked, running and dying at a time; and interpreters that serve, come and go. */
#define POOL_PLACES 16
#define POOL_PARKED 2 /* of a kind */
#define POOL_PRISTINES 8
#define POOL_POLLS (POOL_PLACES * SANDBOX_POLLS + POOL_PRISTINES * PRISTINE_POLLS)

/* One line of interpreters: at most one serves, and one is on its way. */
struct line {
	struct pristine *serving;
	struct pristine *coming;
	uint64_t retry_us;     /* none is started before */
	unsigned int failures; /* in a row */
};

struct pool {
	const struct inside *inside;
	const struct warm_settings *settings;
	struct place *places[POOL_PLACES];		/* all there are */
	struct pristine *pristines[POOL_PRISTINES];	/* all there are */
	struct place *parked[PLACE_KINDS][POOL_PARKED]; /* of the cold kind the first alone */
	uint64_t hurry_until_us[PLACE_KINDS]; /* a program had to wait: a second one is parked */
	struct line lines[PLACE_KINDS];	      /* of the warm kinds */
	uint64_t used_us[WARM_MODULES_MAX];   /* when a program last used it; 0: never */
	uint32_t unfit;			      /* modules that cannot be loaded ahead */
	bool off;			      /* no warm place */
	bool cold_failed; /* the last cold place: none is built before there is a program to try for */
	uint32_t started, failed; /* interpreters, ever */
	struct frame_warm said;	  /* what is warm, as it was last asked for */
};

/* settings and inside must outlive it. Nothing is started yet. */
void pool_init(struct pool *pool, const struct inside *inside,
	       const struct warm_settings *settings);

/* Kills everything that is left, waits for it and frees it. */
void pool_clear(struct pool *pool);

/* Starts what is to be ready and is not. Where that fails, why is in the log. idle says that no program runs, and
 * another interpreter takes nothing from one. */
void pool_fill(struct pool *pool, bool idle, uint64_t now_us);

/* A trial that the machine allows sandboxes: a cold place is made ready. Returns it, still the pool's; NULL when even
 * the fork failed. */
struct place *pool_try(struct pool *pool);

/* Remembers that a program uses these modules. */
void pool_note_use(struct pool *pool, uint32_t uses, uint64_t now_us);

/* Takes the best READY place for a program with these uses, which began to wait at since_us. Returns NULL when none is
 * ready: one is being made, and it is worth waiting for it. cold: no other than a cold one. */
struct place *pool_take(struct pool *pool, uint32_t uses, bool cold, uint64_t since_us,
			uint64_t now_us);

/* The cold place that ended before it had a program, if there is one: why no place can be had. It is to be dropped. */
struct place *pool_failed(struct pool *pool);

/* Gives a place back when it is REAPED, and frees it. */
void pool_drop(struct pool *pool, struct place *place);

/* Gives a place back that is dying; it is dropped when it is REAPED. */
void pool_leave(struct pool *pool, struct place *place);

/* Fills in POOL_POLLS descriptors; pool_read then reads what poll found, and goes on with what it is about. */
void pool_poll(const struct pool *pool, struct pollfd polls[POOL_POLLS]);
void pool_read(struct pool *pool, const struct pollfd polls[POOL_POLLS]);

/* What it is time for. Returns milliseconds until there is more, -1 for never. */
int pool_tick(struct pool *pool, uint64_t now_us);

/* Tells it that the worker waited for this pid. */
void pool_reaped(struct pool *pool, pid_t pid, const struct rusage *usage);

/* Says what is warm now. Returns whether that is something else than the last time. */
bool pool_warm(struct pool *pool, struct frame_warm *warm);

#endif
