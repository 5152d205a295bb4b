/* Unit tests of utf8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/utf8.h"

static bool is_scalar(uint32_t code)
{
	return code < 0x110000 && (code < 0xD800 || code > 0xDFFF);
}

static void test_reads_back_every_code_point_and_refuses_surrogates(void **state)
{
	(void)state;
	for (uint32_t code = 0; code < 0x110000; code++) {
		char bytes[4];
		size_t len = utf8_put(bytes, code);
		uint32_t read = UINT32_MAX;
		size_t n = utf8_next(bytes, len, &read, NULL);

		if (n != (is_scalar(code) ? len : 0) || (n > 0 && read != code))
			fail_msg("code point U+%04X", code);
	}
}

static void test_writes_the_bytes_of_the_standard(void **state)
{
	char bytes[4];

	(void)state;
	assert_int_equal(utf8_put(bytes, 0x7F), 1);
	assert_memory_equal(bytes, "\x7F", 1);
	assert_int_equal(utf8_put(bytes, 0x80), 2);
	assert_memory_equal(bytes, "\xC2\x80", 2);
	assert_int_equal(utf8_put(bytes, 0x20AC), 3);
	assert_memory_equal(bytes, "\xE2\x82\xAC", 3);
	assert_int_equal(utf8_put(bytes, 0xD800), 3);
	assert_memory_equal(bytes, "\xED\xA0\x80", 3);
	assert_int_equal(utf8_put(bytes, 0x10FFFF), 4);
	assert_memory_equal(bytes, "\xF4\x8F\xBF\xBF", 4);
}

struct bad_case {
	const char *bytes;
	size_t len;
	size_t bad;
};

/* Maximal subparts: Unicode 15.0, section 3.9, "U+FFFD substitution of maximal subparts", tables 3-8 to 3-11. */
static const struct bad_case BAD[] = {
	{"\x80", 1, 1},
	{"\xBF\x80", 2, 1},
	{"\xC0\xAF", 2, 1},
	{"\xC1\xBF", 2, 1},
	{"\xC2", 1, 1},
	{"\xC2\x41", 2, 1},
	{"\xE0\x80\xBF", 3, 1},
	{"\xE0\xA0", 2, 2},
	{"\xE1\x80\xE2", 3, 2},
	{"\xED\xA0\x80", 3, 1},
	{"\xF0\x80\x80\x41", 4, 1},
	{"\xF0\x90\x80", 3, 3},
	{"\xF0\x90\x80\x41", 4, 3},
	{"\xF1\x80\xE1", 3, 2},
	{"\xF4\x90\x80\x80", 4, 1},
	{"\xF4\x91\x92\x93", 4, 1},
	{"\xF5\x80\x80\x80", 4, 1},
	{"\xFF", 1, 1},
	{"\xE2\x82\x41", 3, 2},
};

static void test_measures_the_maximal_subpart_to_replace(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
		size_t bad = 0;

		if (utf8_next(BAD[i].bytes, BAD[i].len, NULL, &bad) != 0 || bad != BAD[i].bad)
			fail_msg("row %zu: subpart of %zu bytes", i, bad);
		assert_false(utf8_valid(BAD[i].bytes, BAD[i].len));
	}
}

static void test_takes_valid_text_with_nuls(void **state)
{
	static const char text[] = "a\0\xC3\xA9\xE2\x82\xAC\xF0\x9F\x90\x8D";

	(void)state;
	assert_true(utf8_valid(text, sizeof(text) - 1));
	assert_true(utf8_valid("", 0));
	for (size_t len = sizeof(text) - 2; len > 8; len--)
		assert_false(utf8_valid(text, len));
}

struct whole_case {
	const char *bytes;
	size_t whole;
};

static const struct whole_case WHOLE[] = {
	{"", 0},
	{"abc", 3},
	{"ab\xC3", 2},
	{"ab\xC3\xA9", 4},
	{"ab\xE2", 2},
	{"ab\xE2\x82", 2},
	{"ab\xE2\x82\xAC", 5},
	{"\xF0", 0},
	{"a\xF0\x9F", 1},
	{"a\xF0\x9F\x90", 1},
	{"a\xF0\x9F\x90\x8D", 5},
	/* Not cut short but wrong: that is for the repair. */
	{"a\xFF", 2},
	{"a\x80", 2},
	{"a\xE0\x80", 3},
	{"a\xED\xA0", 3},
	{"a\xF4\x90\x80", 4},
	{"a\x80\x80\x80\x80", 5},
};

static void test_leaves_out_only_a_sequence_that_was_cut_short(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(WHOLE) / sizeof(WHOLE[0]); i++) {
		if (utf8_whole(WHOLE[i].bytes, strlen(WHOLE[i].bytes)) != WHOLE[i].whole)
			fail_msg("row %zu", i);
	}
}

static void test_knows_white_space_and_the_byte_order_mark(void **state)
{
	/* PropList-15.0.0, White_Space, and U+FEFF. */
	static const uint32_t spaces[] = {0x9,	  0xA,	  0xB,	  0xC,	  0xD,	  0x20,	  0x85,
					  0xA0,	  0x1680, 0x2000, 0x2001, 0x2002, 0x2003, 0x2004,
					  0x2005, 0x2006, 0x2007, 0x2008, 0x2009, 0x200A, 0x2028,
					  0x2029, 0x202F, 0x205F, 0x3000, 0xFEFF};
	size_t found = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(spaces) / sizeof(spaces[0]); i++)
		assert_true(utf8_is_space(spaces[i]));
	for (uint32_t code = 0; code < 0x110000; code++)
		found += utf8_is_space(code);
	assert_int_equal(found, sizeof(spaces) / sizeof(spaces[0]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_back_every_code_point_and_refuses_surrogates),
		cmocka_unit_test(test_writes_the_bytes_of_the_standard),
		cmocka_unit_test(test_measures_the_maximal_subpart_to_replace),
		cmocka_unit_test(test_takes_valid_text_with_nuls),
		cmocka_unit_test(test_leaves_out_only_a_sequence_that_was_cut_short),
		cmocka_unit_test(test_knows_white_space_and_the_byte_order_mark),
	};

	return cmocka_run_group_tests_name("utf8", tests, NULL, NULL);
}
