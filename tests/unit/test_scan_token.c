/* Unit tests of scan: elements of arrays, and what slices are and mean. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "common/cleanup.h"
#include "supervisor/scan.h"

static void assert_slice(struct slice slice, const char *expected)
{
	assert_non_null(slice.data);
	assert_int_equal(slice.len, strlen(expected));
	assert_memory_equal(slice.data, expected, slice.len);
}

static void test_finds_the_elements_of_an_array(void **state)
{
	static const char text[] = " [ {\"a\":[1,2]} ,\"],\\\"[\",[ [] , {} ],-1 \n, null]\n";
	struct slice elements[5];

	(void)state;
	assert_int_equal(scan_elements(text, elements, 5), 5);
	assert_slice(elements[0], "{\"a\":[1,2]}");
	assert_slice(elements[1], "\"],\\\"[\"");
	assert_slice(elements[2], "[ [] , {} ]");
	assert_slice(elements[3], "-1");
	assert_slice(elements[4], "null");
	assert_int_equal(scan_elements(text, elements, 2), 5);
	assert_int_equal(scan_elements("[ ]", elements, 5), 0);
	assert_int_equal(scan_elements("[1]", elements, 5), 1);
	assert_slice(elements[0], "1");
}

static void test_knows_what_a_slice_is(void **state)
{
	const struct slice absent = {NULL, 0};

	(void)state;
	assert_true(slice_is_string(slice_of("\"\"")));
	assert_false(slice_is_string(slice_of("1")));
	assert_false(slice_is_string(absent));
	assert_true(slice_is_integer(slice_of("0")));
	assert_true(slice_is_integer(slice_of("-12345678901234567890")));
	assert_false(slice_is_integer(slice_of("1.0")));
	assert_false(slice_is_integer(slice_of("1e2")));
	assert_false(slice_is_integer(slice_of("01")));
	assert_false(slice_is_integer(slice_of("-")));
	assert_false(slice_is_integer(slice_of("\"1\"")));
	assert_false(slice_is_integer(absent));
	assert_true(slice_is_number(slice_of("1.5e3")));
	assert_false(slice_is_number(slice_of("1.5e")));
	assert_false(slice_is_number(slice_of("true")));
	assert_false(slice_is_number(absent));
	assert_true(slice_equal(slice_of("1"), slice_of("1")));
	assert_false(slice_equal(slice_of("1"), slice_of("\"1\"")));
	assert_false(slice_equal(slice_of("1"), slice_of("12")));
	assert_false(slice_equal(absent, absent));
}

static void check_unescape(const char *text, const char *expected, size_t len)
{
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	assert_int_equal(slice_unescape(slice_of(text), &out), 0);
	assert_int_equal(out.error, 0);
	assert_int_equal(out.len, len);
	if (len > 0)
		assert_memory_equal(out.data, expected, len);
}

static void test_resolves_escapes(void **state)
{
	(void)state;
	check_unescape("\"\"", "", 0);
	check_unescape("\"plain\"", "plain", 5);
	check_unescape("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\/\b\f\n\r\t", 8);
	check_unescape("\"a\\u0000b\"", "a\0b", 3);
	check_unescape("\"\\u00e9\\u20AC\\ud83d\\ude00\"", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80",
		       9);
	check_unescape("\"\xc3\xa9\\u0041\"",
		       "\xc3\xa9"
		       "A",
		       3);
	check_unescape("\"\\\\u0041\"", "\\u0041", 6);
}

static void test_refuses_to_resolve_lone_surrogates(void **state)
{
	static const char *const lone[] = {"\"\\ud800\"", "\"\\udc00\"", "\"x\\ud800y\"",
					   "\"\\ud800\\ud800\"", "\"\\udc00\\ud800\""};
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof(lone) / sizeof(lone[0]); i++)
		assert_int_equal(slice_unescape(slice_of(lone[i]), &out), -EILSEQ);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_the_elements_of_an_array),
		cmocka_unit_test(test_knows_what_a_slice_is),
		cmocka_unit_test(test_resolves_escapes),
		cmocka_unit_test(test_refuses_to_resolve_lone_surrogates),
	};

	return cmocka_run_group_tests_name("scan_token", tests, NULL, NULL);
}
