/* utf8 - well-formed UTF-8 by Unicode 15.0, table 3-7. Pure. */
#include "common/utf8.h"

/* What a first byte promises: the length of the sequence and the bounds of its second byte. */
struct promise {
	size_t len; /* 0: no sequence begins with this byte */
	uint8_t low, high;
};

static struct promise promise_of(uint8_t first)
{
	if (first < 0x80)
		return (struct promise){1, 0, 0};
	if (first < 0xC2 || first > 0xF4)
		return (struct promise){0, 0, 0};
	if (first < 0xE0)
		return (struct promise){2, 0x80, 0xBF};
	/* Narrower second bytes keep out overlong forms, surrogates and what lies beyond U+10FFFF.
	 */
	if (first < 0xF0)
		return (struct promise){3, first == 0xE0 ? 0xA0 : 0x80,
					first == 0xED ? 0x9F : 0xBF};
	return (struct promise){4, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF};
}

/* How many of the promised bytes are there, at least 1. */
static size_t kept_bytes(const uint8_t *p, size_t len, struct promise promise)
{
	size_t n = 1;

	while (n < promise.len && n < len && p[n] >= promise.low && p[n] <= promise.high) {
		promise.low = 0x80;
		promise.high = 0xBF;
		n++;
	}
	return n;
}

static uint32_t decode(const uint8_t *p, size_t len)
{
	static const uint8_t first_mask[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
	uint32_t code = p[0] & first_mask[len];

	for (size_t i = 1; i < len; i++)
		code = code << 6 | (p[i] & 0x3F);
	return code;
}

size_t utf8_next(const char *p, size_t len, uint32_t *code, size_t *bad)
{
	const uint8_t *bytes = (const uint8_t *)p;
	struct promise promise = promise_of(bytes[0]);
	size_t n = kept_bytes(bytes, len, promise);

	if (n != promise.len) {
		if (bad)
			*bad = n;
		return 0;
	}
	if (code)
		*code = decode(bytes, n);
	return n;
}

bool utf8_valid(const char *p, size_t len)
{
	size_t n;

	for (size_t at = 0; at < len; at += n) {
		n = utf8_next(p + at, len - at, NULL, NULL);
		if (n == 0)
			return false;
	}
	return true;
}

size_t utf8_whole(const char *p, size_t len)
{
	/* A sequence that was cut short has at most three bytes. */
	for (size_t tail = 1; tail <= 3 && tail <= len; tail++) {
		const uint8_t *bytes = (const uint8_t *)p + len - tail;
		struct promise promise = promise_of(bytes[0]);

		if (promise.len > tail && kept_bytes(bytes, tail, promise) == tail)
			return len - tail;
	}
	return len;
}

size_t utf8_put(char out[4], uint32_t code)
{
	static const uint8_t first_bits[] = {0, 0, 0xC0, 0xE0, 0xF0};
	size_t len = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;

	for (size_t i = len - 1; i > 0; i--) {
		out[i] = (char)(0x80 | (code & 0x3F));
		code >>= 6;
	}
	out[0] = (char)(first_bits[len] | code);
	return len;
}

bool utf8_is_space(uint32_t code)
{
	static const struct {
		uint32_t first, last;
	} spaces[] = {
		{0x0009, 0x000D}, {0x0020, 0x0020}, {0x0085, 0x0085}, {0x00A0, 0x00A0},
		{0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F},
		{0x205F, 0x205F}, {0x3000, 0x3000}, {0xFEFF, 0xFEFF},
	};

	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++) {
		if (code >= spaces[i].first && code <= spaces[i].last)
			return true;
	}
	return false;
}
