/* damage - random changes to a text that was good, the same in every run. */
#ifndef TESTS_UNIT_DAMAGE_H
#define TESTS_UNIT_DAMAGE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t random_next(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* Changes one byte, takes one out or puts one in; text has room for one more. bytes, n of them: what means something. */
static inline void damage(char *text, size_t *len, uint32_t *seed, const char *bytes, size_t n)
{
	size_t at = random_next(seed) % *len;

	switch (random_next(seed) % 5) {
	case 0:
		text[at] = bytes[random_next(seed) % n];
		break;
	case 1:
		text[at] = (char)random_next(seed);
		break;
	case 2:
		memmove(text + at, text + at + 1, *len - at - 1);
		*len -= *len > 1 ? 1 : 0;
		break;
	case 3:
		text[at] ^= 0x20;
		break;
	default:
		memmove(text + at + 1, text + at, *len - at);
		text[at] = text[random_next(seed) % *len];
		*len += 1;
	}
}

#endif
