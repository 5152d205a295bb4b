/* Unit tests of json: quoting any bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/utf8.h"
#include "supervisor/json.h"
#include "supervisor/scan.h"

static void check(const char *text, size_t len, const char *expected, bool replaced)
{
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	assert_int_equal(json_quote(&out, text, len), replaced);
	assert_int_equal(out.error, 0);
	assert_int_equal(out.len, strlen(expected));
	assert_memory_equal(out.data, expected, out.len);
}

#define CHECK(literal, expected, replaced) check(literal, sizeof(literal) - 1, expected, replaced)

static void test_copies_plain_text(void **state)
{
	(void)state;
	CHECK("", "\"\"", false);
	CHECK("abc /'<>", "\"abc /'<>\"", false);
	CHECK("\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
	      false);
}

static void test_escapes_quotes_controls_and_separators(void **state)
{
	(void)state;
	CHECK("a\"b\\c", "\"a\\\"b\\\\c\"", false);
	CHECK("\b\f\n\r\t", "\"\\b\\f\\n\\r\\t\"", false);
	CHECK("\0\x01\x1f\x7f", "\"\\u0000\\u0001\\u001f\\u007f\"", false);
	CHECK("\xc2\x85\xe2\x80\xa8\xe2\x80\xa9", "\"\\u0085\\u2028\\u2029\"", false);
	CHECK("a\0b", "\"a\\u0000b\"", false);
}

static void test_replaces_each_maximal_subpart(void **state)
{
	(void)state;
	CHECK("\xff\xfe\0abc\x80\n", "\"\xef\xbf\xbd\xef\xbf\xbd\\u0000abc\xef\xbf\xbd\\n\"", true);
	/* Unicode 15.0, table 3-11. */
	CHECK("\xe1\x80\xe2\xf0\x91\x92\xf1\xbf\x41",
	      "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd"
	      "A\"",
	      true);
	CHECK("\xed\xa0\x80", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd\"", true);
	CHECK("\xe2\x82", "\"\xef\xbf\xbd\"", true);
}

static void test_reads_back_every_character(void **state)
{
	(void)state;
	for (uint32_t code = 0; code < 0x110000; code += code < 0x3000 ? 1 : 97) {
		_cleanup_(buf_clear) struct buf quoted = BUF_INIT, read = BUF_INIT;
		struct scan scan;
		char bytes[4];
		size_t len = utf8_put(bytes, code);

		if (code >= 0xd800 && code <= 0xdfff)
			continue;
		json_quote(&quoted, bytes, len);
		scan_message(quoted.data, quoted.len, &scan);
		assert_int_equal(scan.verdict, SCAN_OK);
		assert_null(memchr(quoted.data, '\n', quoted.len));
		assert_int_equal(slice_unescape((struct slice){quoted.data, quoted.len}, &read), 0);
		assert_int_equal(read.len, len);
		assert_memory_equal(read.data, bytes, len);
	}
}

static void test_makes_json_of_any_two_bytes(void **state)
{
	(void)state;
	for (unsigned int pair = 0; pair < 0x10000; pair++) {
		_cleanup_(buf_clear) struct buf out = BUF_INIT;
		const char bytes[2] = {(char)(pair >> 8), (char)pair};
		struct scan scan;
		bool replaced = json_quote(&out, bytes, 2);

		scan_message(out.data, out.len, &scan);
		if (scan.verdict != SCAN_OK || replaced == utf8_valid(bytes, 2))
			fail_msg("bytes %04x", pair);
	}
}

/* What is not plain is found wherever it stands among what is, and whatever stands before it. */
static void test_finds_each_byte_at_each_place(void **state)
{
	static const char around[] = "0123456789abcdefghijklmn";

	(void)state;
	for (unsigned int byte = 0; byte < 256; byte++)
		for (size_t place = 0; place < sizeof(around) - 1; place++) {
			_cleanup_(buf_clear) struct buf alone = BUF_INIT, expected = BUF_INIT;
			char text[sizeof(around)], one = (char)byte;
			bool bad = json_quote(&alone, &one, 1);

			memcpy(text, around, sizeof(around));
			text[place] = one;
			buf_add_byte(&expected, '"');
			buf_add(&expected, around, place);
			buf_add(&expected, alone.data + 1, alone.len - 2);
			buf_add_string(&expected, around + place + 1);
			buf_add_string(&expected, "\"");
			buf_add_byte(&expected, '\0');
			check(text, sizeof(around) - 1, expected.data, bad);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_copies_plain_text),
		cmocka_unit_test(test_escapes_quotes_controls_and_separators),
		cmocka_unit_test(test_replaces_each_maximal_subpart),
		cmocka_unit_test(test_reads_back_every_character),
		cmocka_unit_test(test_makes_json_of_any_two_bytes),
		cmocka_unit_test(test_finds_each_byte_at_each_place),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
