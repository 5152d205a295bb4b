/* backoff - see the header. */
#include "supervisor/backoff.h"

void backoff_note_death(struct backoff *backoff, uint64_t now_ms)
{
	if (now_ms - backoff->begun_ms >= BACKOFF_SETTLED_MS)
		backoff->delay_ms = 0;
	else if (backoff->delay_ms == 0)
		backoff->delay_ms = BACKOFF_MIN_MS;
	else if (backoff->delay_ms < BACKOFF_MAX_MS / 2)
		backoff->delay_ms *= 2;
	else
		backoff->delay_ms = BACKOFF_MAX_MS;
	backoff->not_before_ms = now_ms + backoff->delay_ms;
}

uint64_t backoff_left(const struct backoff *backoff, uint64_t now_ms)
{
	return now_ms < backoff->not_before_ms ? backoff->not_before_ms - now_ms : 0;
}
