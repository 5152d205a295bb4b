/* Unit tests of scan: grammar, duplicate keys, slices, and what random damage does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/limits.h"
#include "supervisor/scan.h"

/* The text is copied to a block of its size, so that a sanitizer sees any byte read too far. */
static enum scan_verdict verdict_of(const char *text, size_t len)
{
	char *copy = malloc(len ? len : 1);
	struct scan scan;

	assert_non_null(copy);
	memcpy(copy, text, len);
	scan_message(copy, len, &scan);
	free(copy);
	return scan.verdict;
}

#define VERDICT(literal) verdict_of(literal, sizeof(literal) - 1)

static void assert_slice(struct slice slice, const char *expected)
{
	assert_non_null(slice.data);
	assert_int_equal(slice.len, strlen(expected));
	assert_memory_equal(slice.data, expected, slice.len);
}

static void test_accepts_json(void **state)
{
	static const char *const good[] = {"{}",
					   "[]",
					   "null",
					   "true",
					   "false",
					   "0",
					   "-0",
					   "-0.0e-0",
					   "10",
					   "1.25",
					   "1e5",
					   "1E+5",
					   "12e-07",
					   "1e400",
					   "\"\"",
					   " \t\r\n{ \"a\" : [ 1 , null , \"x\" ] } \n",
					   "[[],{},[{}],\"\"]",
					   "{\"a\":{\"a\":{\"a\":1}},\"b\":{\"a\":1}}",
					   "{\"a\":1,\"A\":2,\"\":3}",
					   "[{\"a\":1},{\"a\":1}]",
					   "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\uD83D\\uDE00\"",
					   "\"\x7f\"",
					   "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
					   "\"\xef\xbf\xbf\"",
					   "\"\\uffff\"",
					   "[\"\\ud800\"]",
					   "[\"\\ud800\\ud800\\udc00\"]",
					   "[\"\\u0000\"]"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		if (verdict_of(good[i], strlen(good[i])) != SCAN_OK)
			fail_msg("refused: %s", good[i]);
}

static void test_refuses_what_is_not_json(void **state)
{
	static const char *const bad[] = {"",
					  " ",
					  "\xef\xbb\xbf{}",
					  "{",
					  "}",
					  "[",
					  "]",
					  "[1",
					  "[1,",
					  "[1,]",
					  "[,1]",
					  "[1 2]",
					  "[1]]",
					  "[1],",
					  "[1}",
					  "{\"a\":1]",
					  "{} {}",
					  "{}x",
					  "{\"a\"}",
					  "{\"a\":}",
					  "{\"a\" 1}",
					  "{\"a\":1,}",
					  "{,\"a\":1}",
					  "{a:1}",
					  "{'a':1}",
					  "{1:1}",
					  "{\"a\":1 \"b\":2}",
					  "{\"a\"::1}",
					  "{null:1}",
					  "01",
					  "-01",
					  "+1",
					  "-",
					  "--1",
					  "1.",
					  ".5",
					  "1.e1",
					  "1e",
					  "1e+",
					  "0x10",
					  "1_000",
					  "NaN",
					  "Infinity",
					  "-Infinity",
					  "nan",
					  "nul",
					  "nulll",
					  "True",
					  "truefalse",
					  "\"",
					  "\"abc",
					  "\"\\\"",
					  "\"\\x41\"",
					  "\"\\u12\"",
					  "\"\\u12g4\"",
					  "\"\\U0041\"",
					  "\"a\nb\"",
					  "\"a\tb\"",
					  "\"\x1f\"",
					  "\"\xff\xfe\"",
					  "\"\xc0\x80\"",
					  "\"\xed\xa0\x80\"",
					  "\"\xf4\x90\x80\x80\"",
					  "\"\xe2\x82\"",
					  "\"\x80\"",
					  "[\xc3\xa9]",
					  "// x\n{}",
					  "{}/**/",
					  "{\"\xff\":1}",
					  "\v{}",
					  "\xc2\xa0{}"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (verdict_of(bad[i], strlen(bad[i])) != SCAN_NOT_JSON)
			fail_msg("accepted: %s", bad[i]);
	assert_int_equal(VERDICT("\"a\0b\""), SCAN_NOT_JSON);
	assert_int_equal(VERDICT("{}\0"), SCAN_NOT_JSON);
	assert_int_equal(VERDICT("\"\\\0\""), SCAN_NOT_JSON);
	assert_int_equal(VERDICT("[\0]"), SCAN_NOT_JSON);
}

static void test_refuses_every_proper_prefix(void **state)
{
	static const char text[] =
		"{\"a\":[1.5e3,\"\\ud83d\\ude00\\n\xe2\x82\xac\",true,null,{\"b\":{}}]}";

	(void)state;
	for (size_t len = 0; len < sizeof(text) - 1; len++)
		if (verdict_of(text, len) != SCAN_NOT_JSON)
			fail_msg("accepted a prefix of %zu bytes", len);
	assert_int_equal(verdict_of(text, sizeof(text) - 1), SCAN_OK);
}

static void test_says_why_it_is_no_json(void **state)
{
	struct scan scan;

	(void)state;
	scan_message("[1] x", 5, &scan);
	assert_int_equal(scan.verdict, SCAN_NOT_JSON);
	assert_non_null(scan.reason);
	scan_message("[1]", 3, &scan);
	assert_null(scan.reason);
}

static void test_bounds_nesting(void **state)
{
	char text[4 * MAX_JSON_DEPTH];

	(void)state;
	memset(text, '[', sizeof(text));
	memset(text + MAX_JSON_DEPTH, ']', MAX_JSON_DEPTH);
	assert_int_equal(verdict_of(text, (size_t)2 * MAX_JSON_DEPTH), SCAN_OK);
	text[MAX_JSON_DEPTH] = '[';
	memset(text + MAX_JSON_DEPTH + 1, ']', MAX_JSON_DEPTH + 1);
	assert_int_equal(verdict_of(text, (size_t)2 * (MAX_JSON_DEPTH + 1)), SCAN_TOO_DEEP);
}

static void test_survives_a_hundred_thousand_brackets(void **state)
{
	_cleanup_free_ char *text = malloc(100000);
	struct scan scan;

	(void)state;
	assert_non_null(text);
	memset(text, '[', 100000);
	scan_message(text, 100000, &scan);
	assert_int_equal(scan.verdict, SCAN_TOO_DEEP);
	assert_string_equal(scan.reason, "nesting too deep");
}

static void test_bounds_numbers_to_what_cjson_reads(void **state)
{
	char text[64];

	(void)state;
	memset(text, '9', sizeof(text));
	assert_int_equal(verdict_of(text, 63), SCAN_OK);
	assert_int_equal(verdict_of(text, 64), SCAN_TOO_MUCH);
}

static void test_refuses_duplicate_keys_by_meaning(void **state)
{
	(void)state;
	assert_int_equal(VERDICT("{\"a\":1,\"a\":1}"), SCAN_DUPLICATE);
	assert_int_equal(VERDICT("{\"\":1,\"\":1}"), SCAN_DUPLICATE);
	assert_int_equal(VERDICT("{\"code\":1,\"c\\u006fde\":2}"), SCAN_DUPLICATE);
	assert_int_equal(VERDICT("{\"/\":1,\"\\/\":2}"), SCAN_DUPLICATE);
	assert_int_equal(VERDICT("{\"\\ud83d\\ude00\":1,\"\xf0\x9f\x98\x80\":2}"), SCAN_DUPLICATE);
	assert_int_equal(VERDICT("[{\"x\":[{\"k\":{},\"k\":[]}]}]"), SCAN_DUPLICATE);
	assert_int_equal(VERDICT("{\"k\":{\"z\":1},\"m\":1,\"k\":2}"), SCAN_DUPLICATE);
	assert_int_equal(VERDICT("{\"a\":1,\"a\\u0000\":2}"), SCAN_OK);
	assert_int_equal(VERDICT("{\"a\":1,\"\\u0061\\u0061\":2}"), SCAN_OK);
}

static void test_grammar_comes_before_duplicates(void **state)
{
	(void)state;
	assert_int_equal(VERDICT("{\"a\":1,\"a\":1"), SCAN_NOT_JSON);
}

/* An object of count keys, of which the last is that of number twin. */
static char *many_keys(size_t count, size_t twin, size_t *len)
{
	char *text = malloc(count * 16 + 3);
	char *at = text;

	assert_non_null(text);
	*at++ = '{';
	for (size_t i = 0; i < count; i++)
		at += snprintf(at, 16, "%s\"%zx\":1", i ? "," : "", i + 1 == count ? twin : i);
	*at++ = '}';
	*len = (size_t)(at - text);
	return text;
}

static void test_finds_a_duplicate_among_any_number_of_keys(void **state)
{
	(void)state;
	for (size_t count = 2; count < 70; count++) {
		size_t len;
		_cleanup_free_ char *twin = many_keys(count, (count - 1) / 2, &len);

		assert_int_equal(verdict_of(twin, len), SCAN_DUPLICATE);
	}
	for (size_t count = 1; count < 70; count++) {
		size_t len;
		_cleanup_free_ char *unique = many_keys(count, count - 1, &len);

		assert_int_equal(verdict_of(unique, len), SCAN_OK);
	}
}

/* The object itself is a value too. */
static void test_is_fast_with_as_many_keys_as_may_be(void **state)
{
	const size_t most = MAX_JSON_VALUES - 1;
	size_t unique_len, twin_len, long_len;
	_cleanup_free_ char *unique = many_keys(most, most - 1, &unique_len);
	_cleanup_free_ char *twin = many_keys(most, 0, &twin_len);
	_cleanup_free_ char *too_long = many_keys(most + 1, most, &long_len);
	uint64_t start = clock_ms();

	(void)state;
	assert_int_equal(verdict_of(twin, twin_len), SCAN_DUPLICATE);
	assert_int_equal(verdict_of(unique, unique_len), SCAN_OK);
	assert_int_equal(verdict_of(too_long, long_len), SCAN_TOO_MUCH);
	/* Comparing each with each would take minutes. */
	assert_true(clock_ms() - start < 20000);
}

static void test_notes_where_values_lie(void **state)
{
	static const char text[] =
		"{\"jsonrpc\":\"2.0\",\"id\": 9007199254740993 ,\"params\":{\"requestId\":\"r\\n\","
		"\"code\":1,\"arguments\":{\"stdin\":\"in\",\"code\":\"a\\u0000b\",\"id\":3,"
		"\"arguments\":{\"code\":5}},\"_meta\":{\"progressToken\":-7,\"x\":[{\"id\":1}]},"
		"\"x\":{\"_meta\":{\"progressToken\":8}}},\"code\":\"no\",\"result\":{\"id\":4}}";
	struct scan scan;

	(void)state;
	scan_message(text, sizeof(text) - 1, &scan);
	assert_int_equal(scan.verdict, SCAN_OK);
	assert_int_equal(scan.root, SCAN_OBJECT);
	assert_slice(scan.id, "9007199254740993");
	assert_slice(scan.request_id, "\"r\\n\"");
	assert_slice(scan.progress_token, "-7");
	assert_slice(scan.stdin_text, "\"in\"");
	assert_slice(scan.code, "\"a\\u0000b\"");
	assert_false(scan.escaped_nul);
	assert_false(scan.lone_surrogate);
}

static void test_notes_values_of_any_type_and_escaped_names(void **state)
{
	static const char text[] = "{\"\\u0069d\":{\"a\":[]},\"p\\u0061rams\":{\"arguments\":"
				   "{\"cod\\u0065\":[1, 2],\"stdin\":null}}}";
	struct scan scan;

	(void)state;
	scan_message(text, sizeof(text) - 1, &scan);
	assert_slice(scan.id, "{\"a\":[]}");
	assert_slice(scan.code, "[1, 2]");
	assert_slice(scan.stdin_text, "null");
	assert_null(scan.request_id.data);
	assert_null(scan.progress_token.data);
}

static void test_notes_nothing_in_arrays(void **state)
{
	static const char text[] = "[{\"id\":1,\"params\":{\"requestId\":2}}]";
	struct scan scan;

	(void)state;
	scan_message(text, sizeof(text) - 1, &scan);
	assert_int_equal(scan.root, SCAN_ARRAY);
	assert_null(scan.id.data);
	assert_null(scan.request_id.data);
	scan_message("{\"params\":[{\"requestId\":2}]}", 28, &scan);
	assert_int_equal(scan.verdict, SCAN_OK);
	assert_null(scan.request_id.data);
	scan_message("7", 1, &scan);
	assert_int_equal(scan.root, SCAN_SCALAR);
}

static void test_keeps_the_id_of_a_message_with_duplicates(void **state)
{
	static const char text[] = "{\"params\":{\"a\":1,\"a\":2},\"id\":\"seven\"}";
	struct scan scan;

	(void)state;
	scan_message(text, sizeof(text) - 1, &scan);
	assert_int_equal(scan.verdict, SCAN_DUPLICATE);
	assert_slice(scan.id, "\"seven\"");
}

static void check_flags(const char *text, bool lone_surrogate, bool escaped_nul)
{
	struct scan scan;

	scan_message(text, strlen(text), &scan);
	if (scan.verdict != SCAN_OK || scan.lone_surrogate != lone_surrogate ||
	    scan.escaped_nul != escaped_nul)
		fail_msg("wrong flags for %s", text);
}

static void test_tells_surrogates_and_nuls_outside_of_code_and_stdin(void **state)
{
	(void)state;
	check_flags("{\"a\":\"\\ud800\"}", true, false);
	check_flags("{\"a\":\"\\udc00\"}", true, false);
	check_flags("{\"a\":\"\\udc00\\ud800\"}", true, false);
	check_flags("{\"a\":\"\\ud800x\\udc00\"}", true, false);
	check_flags("{\"a\":\"\\ud800\\n\"}", true, false);
	check_flags("{\"a\":\"\\ud800\\ud800\\udc00\"}", true, false);
	check_flags("{\"a\":\"\\ud800\\udc00\"}", false, false);
	check_flags("{\"\\udbff\":1}", true, false);
	check_flags("{\"a\\u0000\":1}", false, true);
	check_flags("{\"id\":\"\\u0000\"}", false, true);
	check_flags("{\"a\":\"\\\\u0000\"}", false, false);
	check_flags("{\"params\":{\"arguments\":{\"code\":\"\\ud800\\u0000\"}}}", false, false);
	check_flags("{\"params\":{\"arguments\":{\"stdin\":\"\\ud800\\u0000\"}}}", false, false);
	check_flags("{\"params\":{\"arguments\":{\"code\":[\"\\ud800\"]}}}", true, false);
	check_flags("{\"params\":{\"arguments\":{\"code\":\"\",\"x\":\"\\u0000\"}}}", false, true);
	check_flags("{\"params\":{\"code\":\"\\u0000\"}}", false, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accepts_json),
		cmocka_unit_test(test_refuses_what_is_not_json),
		cmocka_unit_test(test_refuses_every_proper_prefix),
		cmocka_unit_test(test_says_why_it_is_no_json),
		cmocka_unit_test(test_bounds_nesting),
		cmocka_unit_test(test_survives_a_hundred_thousand_brackets),
		cmocka_unit_test(test_bounds_numbers_to_what_cjson_reads),
		cmocka_unit_test(test_refuses_duplicate_keys_by_meaning),
		cmocka_unit_test(test_grammar_comes_before_duplicates),
		cmocka_unit_test(test_finds_a_duplicate_among_any_number_of_keys),
		cmocka_unit_test(test_is_fast_with_as_many_keys_as_may_be),
		cmocka_unit_test(test_notes_where_values_lie),
		cmocka_unit_test(test_notes_values_of_any_type_and_escaped_names),
		cmocka_unit_test(test_notes_nothing_in_arrays),
		cmocka_unit_test(test_keeps_the_id_of_a_message_with_duplicates),
		cmocka_unit_test(test_tells_surrogates_and_nuls_outside_of_code_and_stdin),
	};

	return cmocka_run_group_tests_name("scan", tests, NULL, NULL);
}
