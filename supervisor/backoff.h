/* backoff - how long the next start of something that dies quickly waits. Pure: all times are those of clock_ms. */
#ifndef SUPERVISOR_BACKOFF_H
#define SUPERVISOR_BACKOFF_H

#include <stdint.h>

#define BACKOFF_MIN_MS 100
#define BACKOFF_MAX_MS 5000
#define BACKOFF_SETTLED_MS 10000 /* who lived this long did not die quickly */

/* All zero at first: the next start does not wait. */
struct backoff {
	uint64_t begun_ms; /* when it was started */
	uint64_t delay_ms; /* 0 again when it did its work */
	uint64_t not_before_ms;
};

/* It died: after a quick death the next start waits BACKOFF_MIN_MS, twice as long each time, up to BACKOFF_MAX_MS. */
void backoff_note_death(struct backoff *backoff, uint64_t now_ms);

/* How long the next start has still to wait. */
uint64_t backoff_left(const struct backoff *backoff, uint64_t now_ms);

#endif
