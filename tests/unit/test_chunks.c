/* Unit tests of chunks: framing, bounds, and what random damage does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "common/cleanup.h"
#include "common/limits.h"
#include "supervisor/chunks.h"

#define PLENTY 100000

/* Feeds len bytes in pieces of one size, each in a block of its own, so that a sanitizer sees any byte read too far.
 * Returns how many were used, or the error; content holds the content. */
static ssize_t feed(const char *text, size_t len, size_t piece, uint64_t max, struct buf *content,
		    bool *done)
{
	struct chunks chunks = {0};
	size_t used = 0;

	while (used < len && !chunks_done(&chunks)) {
		size_t part = piece < len - used ? piece : len - used;
		_cleanup_free_ char *copy = malloc(part);
		ssize_t r;

		assert_non_null(copy);
		memcpy(copy, text + used, part);
		r = chunks_feed(&chunks, copy, part, content, max);
		if (r < 0)
			return r;
		assert_true((size_t)r == part || (chunks_done(&chunks) && (size_t)r < part));
		used += (size_t)r;
	}
	assert_int_equal(chunks.bytes, content->len);
	*done = chunks_done(&chunks);
	return (ssize_t)used;
}

/* Whatever the pieces: used bytes, or an error, or used is the length and the body is not over. */
static void assert_feed(const char *text, size_t len, ssize_t used, const char *expected, bool over)
{
	for (size_t piece = 1; piece <= len; piece++) {
		_cleanup_(buf_clear) struct buf content = BUF_INIT;
		bool done = false;
		ssize_t r = feed(text, len, piece, PLENTY, &content, &done);

		if (r != used)
			fail_msg("%zd, not %zd, in pieces of %zu: %s", r, used, piece, text);
		if (r < 0)
			continue;
		assert_int_equal(done, over);
		assert_int_equal(content.len, strlen(expected));
		assert_memory_equal(content.len ? content.data : "", expected, content.len);
	}
}

static void assert_body(const char *text, const char *expected)
{
	char more[512];

	assert_feed(text, strlen(text), (ssize_t)strlen(text), expected, true);
	/* What comes behind it is left alone. */
	snprintf(more, sizeof(more), "%sGET /", text);
	assert_feed(more, strlen(more), (ssize_t)strlen(text), expected, true);
}

static void assert_broken(const char *text)
{
	assert_feed(text, strlen(text), -EPROTO, "", false);
}

static void test_reads_bodies(void **state)
{
	(void)state;
	assert_body("0\r\n\r\n", "");
	assert_body("3\r\nabc\r\n0\r\n\r\n", "abc");
	assert_body("1\r\na\r\n2\r\nbc\r\n00\r\n\r\n", "abc");
	assert_body("A\r\n0123456789\r\n000000000000000a\r\n0123456789\r\n0\r\n\r\n",
		    "01234567890123456789");
	assert_body("9\r\n012345678\r\nF\r\n0123456789abcde\r\nf\r\n0123456789abcde\r\n0\r\n\r\n",
		    "0123456780123456789abcde0123456789abcde");
	assert_body("5\r\n\r\n0\r\n\r\n0\r\n\r\n", "\r\n0\r\n");
}

static void test_drops_extensions_and_trailer(void **state)
{
	(void)state;
	assert_body("3;a=b;c=\"d e\"\r\nabc\r\n0;x\r\n\r\n", "abc");
	assert_body("3;\r\nabc\r\n0\r\nX-MCP-AUTH: token\r\nA:\r\n\r\n", "abc");
}

static void test_waits_for_the_end(void **state)
{
	static const char text[] = "3;a\r\nabc\r\n0\r\nA: b\r\n\r\n";

	(void)state;
	for (size_t len = 1; len < strlen(text); len++) {
		size_t have = len > 5 ? len - 5 : 0;
		char content[4] = "abc";

		content[have < 3 ? have : 3] = '\0';
		assert_feed(text, len, (ssize_t)len, content, false);
	}
}

static void test_refuses_what_is_read_in_two_ways(void **state)
{
	static const char *const broken[] = {
		"\r\n",
		"\n",
		";a\r\n",
		" 3\r\nabc\r\n0\r\n\r\n",
		"3 \r\nabc\r\n0\r\n\r\n",
		"3 ;a\r\nabc\r\n0\r\n\r\n",
		"+3\r\nabc\r\n0\r\n\r\n",
		"-1\r\nabc\r\n0\r\n\r\n",
		"0x3\r\nabc\r\n0\r\n\r\n",
		"3h\r\nabc\r\n0\r\n\r\n",
		"00000000000000003\r\nabc\r\n0\r\n\r\n",
		"3\nabc\r\n0\r\n\r\n",
		"3\r\rabc\r\n0\r\n\r\n",
		"3;a\nabc\r\n0\r\n\r\n",
		"3;\x01\r\nabc\r\n0\r\n\r\n",
		"3\r\nabc0\r\n\r\n",
		"3\r\nabcd\r\n0\r\n\r\n",
		"3\r\nabc\n0\r\n\r\n",
		"3\r\nabc\r0\r\n\r\n",
		"3\r\nabc\r\n\r\n0\r\n\r\n",
		"3\r\nabc\r\n0\r\n\n",
		"0\r\nA : b\r\n\r\n",
		"0\r\n A: b\r\n\r\n",
		"0\r\nA\r\n\r\n",
		"0\r\nA: b\n\r\n",
		"0\r\nA: b\r\n c\r\n\r\n",
		"0\r\nA: \x7f\r\n\r\n",
		"0\r\n: b\r\n\r\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++)
		assert_broken(broken[i]);
	assert_feed("3\0\r\nabc\r\n0\r\n\r\n", 14, -EPROTO, "", false);
	assert_feed("3;\0\r\nabc\r\n0\r\n\r\n", 15, -EPROTO, "", false);
}

static void test_an_error_stays(void **state)
{
	_cleanup_(buf_clear) struct buf content = BUF_INIT;
	struct chunks chunks = {0};

	(void)state;
	assert_int_equal(chunks_feed(&chunks, "x", 1, &content, PLENTY), -EPROTO);
	assert_int_equal(chunks_feed(&chunks, "0\r\n\r\n", 5, &content, PLENTY), -EPROTO);
	assert_int_equal(chunks_feed(&chunks, "", 0, &content, PLENTY), -EPROTO);
	assert_false(chunks_done(&chunks));
}

static void test_bounds_the_content(void **state)
{
	static const char text[] = "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";

	(void)state;
	for (uint64_t max = 0; max < 7; max++) {
		_cleanup_(buf_clear) struct buf content = BUF_INIT;
		bool done = false;
		ssize_t r = feed(text, strlen(text), 1, max, &content, &done);

		assert_int_equal(r, max < 5 ? -EFBIG : (ssize_t)strlen(text));
		assert_true(content.len <= max);
	}
}

/* Before a byte of it came, and without one of them being counted wrong. */
static void test_a_size_that_is_too_large_is_told_at_once(void **state)
{
	static const char *const sizes[] = {"186a1", "7fffffffffffffff", "8000000000000000",
					    "ffffffffffffffff", "fffffffffffffffff"};

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_feed(sizes[i], strlen(sizes[i]), -EFBIG, "", false);
	assert_feed("186a0\r\n", 7, 7, "", false);
	assert_feed("1\r\na\r\n186a0\r\n", 13, -EFBIG, "", false);
}

static void test_tells_when_there_is_no_room(void **state)
{
	_cleanup_(buf_clear) struct buf content = {.max_bytes = 2};
	struct chunks chunks = {0};

	(void)state;
	assert_int_equal(chunks_feed(&chunks, "3\r\nabc", 6, &content, PLENTY), -EFBIG);
}

/* Sends what is dropped, again and again: before and repeat. Returns the error that ends it. */
static ssize_t flood(const char *before, const char *repeat, size_t *sent)
{
	_cleanup_(buf_clear) struct buf content = BUF_INIT;
	struct chunks chunks = {0};
	ssize_t r = chunks_feed(&chunks, before, strlen(before), &content, PLENTY);

	for (*sent = 0; r >= 0 && *sent < 1000 * KIB; *sent += strlen(repeat))
		r = chunks_feed(&chunks, repeat, strlen(repeat), &content, PLENTY);
	return r;
}

static void test_bounds_what_is_dropped(void **state)
{
	size_t sent = 0;

	(void)state;
	assert_int_equal(flood("1;", "aaaa", &sent), -EPROTO);
	assert_in_range(sent, HTTP_HEAD_BYTES, HTTP_HEAD_BYTES + 8);
	assert_int_equal(flood("", "1;a\r\nx\r\n", &sent), -EPROTO);
	assert_int_equal(flood("0\r\n", "a", &sent), -EPROTO);
	assert_in_range(sent, HTTP_HEAD_BYTES, HTTP_HEAD_BYTES + 8);
	assert_int_equal(flood("0\r\na:", " ", &sent), -EPROTO);
	assert_int_equal(flood("0\r\n", "a:\r\n", &sent), -EPROTO);
}

static uint32_t random_next(uint32_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 17;
	*seed ^= *seed << 5;
	return *seed;
}

/* A second reader, as simple as can be, for a whole body in one piece: the length of the body, or 0. It knows no bounds
 * and takes trailer and extensions for granted. */
static size_t read_plainly(const char *text, size_t len, struct buf *content)
{
	size_t at = 0;

	for (;;) {
		const char *end = memmem(text + at, len - at, "\r\n", 2);
		size_t size = end ? strtoul(text + at, NULL, 16) : 0;

		if (!end)
			return 0;
		at = (size_t)(end - text) + 2;
		if (size == 0)
			break;
		if (size > len - at || len - at - size < 2)
			return 0;
		buf_add(content, text + at, size);
		at += size + 2;
	}
	while (len - at >= 2 && memcmp(text + at, "\r\n", 2) != 0) {
		const char *end = memmem(text + at, len - at, "\r\n", 2);

		if (!end)
			return 0;
		at = (size_t)(end - text) + 2;
	}
	return len - at >= 2 ? at + 2 : 0;
}

static void damage(char *text, size_t *len, uint32_t *seed)
{
	static const char bytes[] = "\0\r\n\t ;:0123aFx+-\x80\xff";
	size_t at = random_next(seed) % *len;

	if (random_next(seed) % 3 == 0) {
		memmove(text + at, text + at + 1, *len - at - 1);
		*len -= *len > 1 ? 1 : 0;
	} else {
		text[at] = bytes[random_next(seed) % (sizeof(bytes) - 1)];
	}
}

/* Whatever is accepted, a plain reader reads in the same way, and in whatever pieces it comes. */
static void test_holds_for_damaged_bodies(void **state)
{
	static const char base[] =
		"3;a=b\r\nabc\r\n12\r\n0123456789abcdef\r\n\r\n0\r\nA: b\r\n\r\n";
	uint32_t seed = 20260728;
	size_t accepted = 0;

	(void)state;
	for (size_t i = 0; i < 20000; i++) {
		_cleanup_(buf_clear) struct buf content = BUF_INIT;
		_cleanup_(buf_clear) struct buf plain = BUF_INIT;
		char text[sizeof(base)];
		size_t len = strlen(base);
		bool done = false;
		ssize_t r;

		memcpy(text, base, sizeof(base));
		for (uint32_t n = random_next(&seed) % 4; n > 0; n--)
			damage(text, &len, &seed);
		text[len] = '\0';
		r = feed(text, len, 1 + random_next(&seed) % len, PLENTY, &content, &done);
		if (r < 0 || !done)
			continue;
		accepted++;
		assert_int_equal(read_plainly(text, len, &plain), r);
		assert_int_equal(content.len, plain.len);
		if (plain.len > 0)
			assert_memory_equal(content.data, plain.data, plain.len);
	}
	/* Both sides were met, or the test says little. */
	assert_in_range(accepted, 5000, 15000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_bodies),
		cmocka_unit_test(test_drops_extensions_and_trailer),
		cmocka_unit_test(test_waits_for_the_end),
		cmocka_unit_test(test_refuses_what_is_read_in_two_ways),
		cmocka_unit_test(test_an_error_stays),
		cmocka_unit_test(test_bounds_the_content),
		cmocka_unit_test(test_a_size_that_is_too_large_is_told_at_once),
		cmocka_unit_test(test_tells_when_there_is_no_room),
		cmocka_unit_test(test_bounds_what_is_dropped),
		cmocka_unit_test(test_holds_for_damaged_bodies),
	};

	return cmocka_run_group_tests_name("chunks", tests, NULL, NULL);
}
