/* Unit tests of lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/lines.h"

struct notes {
	struct buf seen;
	uint64_t max_bytes;
};

/* What was handed over, each line in brackets, "!" for one that was too long. */
static void note(void *ctx, const char *text, size_t len)
{
	struct notes *notes = ctx;

	assert_non_null(text);
	if (len > notes->max_bytes)
		buf_add_byte(&notes->seen, '!');
	else
		buf_printf(&notes->seen, "[%.*s]", (int)len, text);
}

/* Feeds text in pieces of every size and compares. */
static void assert_lines(const char *text, uint64_t max_bytes, const char *expected)
{
	size_t len = strlen(text);

	for (size_t piece = 1; piece <= len + 1; piece++) {
		struct lines lines;
		struct notes notes = {.max_bytes = max_bytes};

		lines_init(&lines, max_bytes);
		for (size_t at = 0; at < len; at += piece)
			lines_feed(&lines, text + at, piece < len - at ? piece : len - at, note,
				   &notes);
		lines_end(&lines, note, &notes);
		lines_clear(&lines);
		buf_add_byte(&notes.seen, '\0');
		assert_string_equal(notes.seen.data, expected);
		buf_clear(&notes.seen);
	}
}

static void test_cuts_at_newlines(void **state)
{
	(void)state;
	assert_lines("a\nbc\nd\n", 10, "[a][bc][d]");
}

static void test_takes_carriage_returns_and_skips_blank_lines(void **state)
{
	(void)state;
	assert_lines("a\r\n\r\n\n \t\nb\n", 10, "[a][b]");
	assert_lines("", 10, "");
	assert_lines("\r\n", 10, "");
}

static void test_last_line_may_lack_its_newline(void **state)
{
	(void)state;
	assert_lines("a\nb", 10, "[a][b]");
	assert_lines("a\r", 10, "[a]");
}

static void test_keeps_carriage_returns_within_a_line(void **state)
{
	(void)state;
	assert_lines("a\rb\n", 10, "[a\rb]");
}

static void test_a_line_may_have_exactly_the_maximum(void **state)
{
	(void)state;
	assert_lines("1234\n1234\r\n1234", 4, "[1234][1234][1234]");
}

static void test_drops_a_long_line_and_goes_on(void **state)
{
	(void)state;
	assert_lines("12345\nab\n", 4, "![ab]");
	assert_lines("12345\r\nab\n", 4, "![ab]");
	assert_lines("123456789012345\nab\n123456\n", 4, "![ab]!");
	assert_lines("ab\n12345678", 4, "[ab]!");
}

static void test_a_nul_is_data(void **state)
{
	struct lines lines;
	struct notes notes = {.max_bytes = 10};

	(void)state;
	lines_init(&lines, 10);
	lines_feed(&lines, "\0\n", 2, note, &notes);
	lines_clear(&lines);
	/* "%.*s" stops at the NUL, the brackets show that a line came */
	assert_int_equal(notes.seen.len, 2);
	buf_clear(&notes.seen);
}

static void note_or_lost(void *ctx, const char *text, size_t len)
{
	struct notes *notes = ctx;

	if (text == NULL)
		buf_add_string(&notes->seen, "lost");
	else
		note(ctx, text, len);
}

static void test_a_line_that_finds_no_memory_is_told_and_the_next_one_is_read(void **state)
{
	struct notes notes = {.max_bytes = 10};
	struct lines lines;

	(void)state;
	lines_init(&lines, 10);
	lines.line.max_bytes = 4; /* more cannot be had */
	lines_feed(&lines, "123", 3, note_or_lost, &notes);
	lines_feed(&lines, "456", 3, note_or_lost, &notes);
	lines_feed(&lines, "7\nab\n12345", 10, note_or_lost, &notes);
	lines_end(&lines, note_or_lost, &notes);
	lines_clear(&lines);
	buf_add_byte(&notes.seen, '\0');
	assert_string_equal(notes.seen.data, "lost[ab]lost");
	buf_clear(&notes.seen);
}

static void keep(void *ctx, const char *text, size_t len)
{
	struct buf *kept = ctx;

	buf_reset(kept);
	buf_add(kept, text, len);
}

static void test_keeps_start_and_end_of_a_long_line(void **state)
{
	enum { MAX = 3 * LINES_TAIL_BYTES, LEN = 10 * LINES_TAIL_BYTES };
	static const size_t pieces[] = {1, 7, LINES_TAIL_BYTES - 1, MAX, LEN + 1};
	char line[LEN + 1];

	(void)state;
	for (size_t i = 0; i < LEN; i++)
		line[i] = (char)('a' + i % 23);
	line[LEN] = '\n';
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		struct lines lines;
		struct buf kept = BUF_INIT;

		lines_init(&lines, MAX);
		for (size_t at = 0; at < sizeof(line); at += pieces[i])
			lines_feed(&lines, line + at,
				   pieces[i] < sizeof(line) - at ? pieces[i] : sizeof(line) - at,
				   keep, &kept);
		lines_clear(&lines);
		assert_int_equal(kept.len, MAX + 1);
		assert_memory_equal(kept.data, line, MAX + 1 - LINES_TAIL_BYTES);
		assert_memory_equal(kept.data + MAX + 1 - LINES_TAIL_BYTES,
				    line + LEN - LINES_TAIL_BYTES, LINES_TAIL_BYTES);
		buf_clear(&kept);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuts_at_newlines),
		cmocka_unit_test(test_takes_carriage_returns_and_skips_blank_lines),
		cmocka_unit_test(test_last_line_may_lack_its_newline),
		cmocka_unit_test(test_keeps_carriage_returns_within_a_line),
		cmocka_unit_test(test_a_line_may_have_exactly_the_maximum),
		cmocka_unit_test(test_drops_a_long_line_and_goes_on),
		cmocka_unit_test(test_a_nul_is_data),
		cmocka_unit_test(test_a_line_that_finds_no_memory_is_told_and_the_next_one_is_read),
		cmocka_unit_test(test_keeps_start_and_end_of_a_long_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
