/* pristine - one pristine interpreter: a Python that has started, and maybe loaded modules, and of which programs are
 * copies. It never sees a byte of a caller's: it lives in a sandbox of its own, has no descriptor that ever carries
 * one, and the copies, which do, are in sandboxes of theirs.
 *
 *   BUILDING ──its sandbox is ready──▶ LOADING ──it says so──▶ SERVING ──ended, killed──▶ ENDING ──reaped──▶ GONE
 *      └──────────────────────────────────┴─────────────────────────────────────────────────▲
 *
 * The sandboxes of its copies lie below its own namespaces, and would die with these: so when the interpreter ends, its
 * init stays until it is told to go (pristine_end), which is when the last of them is gone.
 */
#ifndef WORKER_PRISTINE_H
#define WORKER_PRISTINE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "common/warm.h"
#include "worker/inside.h"
#include "worker/sandbox.h"
#include "worker/watch.h"

enum pristine_state {
	PRISTINE_GONE,
	PRISTINE_BUILDING,
	PRISTINE_LOADING,
	PRISTINE_SERVING,
	PRISTINE_ENDING
};

struct pristine {
	enum pristine_state state;
	struct sandbox sandbox;
	int control; /* our end; -1 when there is none */
	int output;  /* what it prints, or -1 */
	const struct inside *inside;
	const struct warm_modules *table;
	uint32_t modules; /* bits of what it is to load, and when it serves, of what it has */
	uint32_t missing; /* bits of what could not be loaded */
	bool printed; /* it printed before it served: a program would have, too, and a copy cannot */
	bool served;  /* it came so far */
	uint64_t since_us;
	uint32_t copies;    /* it was asked for */
	unsigned int users; /* sandboxes that lie below it */
	struct watch watch;
};

#define PRISTINE_POLLS (SANDBOX_POLLS + 2)
/* Copies have the hash seed and the address layout of their interpreter: no more than so many are made. */
#define PRISTINE_COPIES 500

/* Starts one with these modules (bits of table); pristine must be zeroed. inside and table must outlive it.
 * Returns 0, or a negative errno: it is GONE then. */
int pristine_start(struct pristine *pristine, const struct inside *inside,
		   const struct warm_modules *table, uint32_t modules, uint64_t now_us);

void pristine_poll(const struct pristine *pristine, struct pollfd polls[PRISTINE_POLLS]);

/* Reads what there is, and goes on. */
void pristine_read(struct pristine *pristine, const struct pollfd polls[PRISTINE_POLLS]);

/* Ends one that takes too long, or too much memory. Returns milliseconds until it wants to be asked again, -1 never. */
int pristine_tick(struct pristine *pristine, uint64_t now_us);

/* Sends a copy of a SERVING one into a sandbox that wants one (sandbox_wants_copy); the sandbox reports when it is in.
 * hurried: a program waits for it, or may soon. Returns 0, -ESRCH when none can be had any more, or another negative errno. */
int pristine_send_copy(struct pristine *pristine, struct sandbox *sandbox, bool hurried);

/* A sandbox is to lie below it; one is gone, and if it was the last and no more copies are made, so is it. */
void pristine_hold(struct pristine *pristine);
void pristine_release(struct pristine *pristine);

/* Tells it that the worker waited for this pid. */
void pristine_reaped(struct pristine *pristine, pid_t pid, const struct rusage *usage);

/* Kills the interpreter, and not its init: no more copies are made. */
void pristine_stop(struct pristine *pristine);

/* Kills everything in its namespaces, the sandboxes below too. It is GONE when it was reaped. */
void pristine_end(struct pristine *pristine);

/* Closes what is left of one that is GONE, or never will be since the worker ends. */
void pristine_clear(struct pristine *pristine);

#endif
