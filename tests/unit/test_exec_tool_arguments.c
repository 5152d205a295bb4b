/* Unit tests of exec_tool: arguments to requests. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "supervisor/exec_tool.h"

static const struct config config = {
	.default_timeout_s = 30,
	.max_timeout_s = 300,
	.max_output_bytes = MAX_OUTPUT_BYTES,
	.max_stdin_bytes = 8,
	.max_code_bytes = 40,
	.max_queue = 64,
	.python = "python3",
	.limits = {.memory_bytes = 256 * MIB,
		   .tmp_bytes = 64 * MIB,
		   .max_processes = 128,
		   .cpus = 1,
		   .max_cpu_s = 300},
};

/* What became of one set of arguments. */
struct attempt {
	int err;
	struct call_request request;
	struct buf error;
};

static void attempt_clear(struct attempt *attempt)
{
	cleanup_fd(&attempt->request.program_fd);
	cleanup_fd(&attempt->request.stdin_fd);
	buf_clear(&attempt->request.warnings);
	buf_clear(&attempt->error);
}

#define _attempt_ _cleanup_(attempt_clear) struct attempt

static struct attempt try_with(const struct config *with, const char *arguments)
{
	struct attempt attempt = {.request = {.program_fd = -1, .stdin_fd = -1}};
	_cleanup_(buf_clear) struct buf text = BUF_INIT;
	_cleanup_(rpc_clear) struct rpc_message message;

	buf_printf(&text,
		   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
		   "\"exec\",\"arguments\":%s}}",
		   arguments);
	rpc_parse(text.data, text.len, &message);
	if (message.kind != RPC_REQUEST)
		fail_msg("bad test arguments: %s", arguments);
	attempt.err = exec_tool_arguments(with, &message, &attempt.request, &attempt.error);
	buf_add_byte(&attempt.error, '\0');
	buf_add_byte(&attempt.request.warnings, '\0');
	return attempt;
}

static struct attempt try(const char *arguments)
{
	return try_with(&config, arguments);
}

static void assert_blob(int fd, const char *data, size_t len)
{
	struct blob_view view;

	assert_int_equal(blob_view(fd, MIB, &view), 0);
	assert_int_equal(view.size, len);
	assert_memory_equal(view.data, data, len);
	blob_view_clear(&view);
}

static void test_takes_code_stdin_and_timeout(void **state)
{
	_attempt_ attempt = try("{\"code\":\"print(\\\"\\u00e9\\\")\\n\",\"stdin\":\"in\\n\","
				"\"timeout_s\":7}");

	(void)state;
	assert_int_equal(attempt.err, 0);
	assert_blob(attempt.request.program_fd, "print(\"\xc3\xa9\")\n", 12);
	assert_blob(attempt.request.stdin_fd, "in\n", 3);
	assert_int_equal(attempt.request.timeout_ms, 7000);
	assert_int_equal(attempt.request.output_max_bytes, MAX_OUTPUT_BYTES);
	assert_string_equal(attempt.request.warnings.data, "");
}

static void test_tells_what_the_program_seems_to_import(void **state)
{
	struct config warm = config;

	(void)state;
	assert_int_equal(warm_modules_read(&warm.warm.modules, "", NULL), 0);
	for (int on = 1; on >= 0; on--) {
		warm.warm.on = on;
		_attempt_ attempt =
			try_with(&warm, "{\"code\":\"import os\\nfrom \\u0070andas import x\"}");

		assert_int_equal(attempt.err, 0);
		assert_int_equal(attempt.request.uses, on ? 1 << 1 : 0);
	}
}

static void test_nuls_are_data(void **state)
{
	_attempt_ attempt = try("{\"code\":\"print(1)\\u0000\\nx\",\"stdin\":\"a\\u0000b\"}");

	(void)state;
	assert_int_equal(attempt.err, 0);
	assert_blob(attempt.request.program_fd, "print(1)\0\nx", 11);
	assert_blob(attempt.request.stdin_fd, "a\0b", 3);
}

static void test_absent_and_null_stdin_are_empty(void **state)
{
	_attempt_ absent = try("{\"code\":\"x\"}");
	_attempt_ null = try("{\"code\":\"x\",\"stdin\":null}");

	(void)state;
	assert_int_equal(absent.err, 0);
	assert_blob(absent.request.stdin_fd, "", 0);
	assert_int_equal(null.err, 0);
	assert_blob(null.request.stdin_fd, "", 0);
	assert_string_equal(null.request.warnings.data, "");
}

/* A tool error whose text holds a phrase. */
static void check_error(const char *arguments, const char *phrase)
{
	_attempt_ attempt = try(arguments);

	if (attempt.err != -EINVAL)
		fail_msg("%s: %d", arguments, attempt.err);
	if (!strstr(attempt.error.data, phrase))
		fail_msg("%s: \"%s\" lacks \"%s\"", arguments, attempt.error.data, phrase);
	assert_int_equal(attempt.request.program_fd, -1);
	assert_int_equal(attempt.request.stdin_fd, -1);
}

static void test_refuses_code_that_is_no_text(void **state)
{
	static const char *const bad[] = {"{}",
					  "{\"code\":null}",
					  "{\"code\":123}",
					  "{\"code\":[\"print(1)\"]}",
					  "{\"code\":\"\"}",
					  "{\"code\":\"\\n\\t  \"}",
					  "{\"code\":\"\\ufeff\"}",
					  "{\"code\":\"\\u00a0\\u2003\\u2028\\u3000\"}"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		check_error(bad[i], "code");
		check_error(bad[i], "{\"code\": \"print(2+2)\"}");
	}
}

static void test_suggests_code_for_a_name_like_it(void **state)
{
	(void)state;
	check_error("{\"Code\":\"print(1)\"}", "\"Code\" is unknown: did you mean \"code\"?");
	check_error("{\"script\":\"print(1)\"}", "did you mean \"code\"?");
}

static void test_refuses_lone_surrogates_and_says_so(void **state)
{
	(void)state;
	check_error("{\"code\":\"print(1) # \\ud800\"}", "code holds half of a surrogate pair");
	check_error("{\"code\":\"x\",\"stdin\":\"\\udc00\"}",
		    "stdin holds half of a surrogate pair");
}

static void test_caps_count_utf8_bytes(void **state)
{
	_attempt_ exact = try("{\"code\":\"x\",\"stdin\":\"\\u20ac\\u20acab\"}");

	(void)state;
	assert_int_equal(exact.err, 0);
	check_error("{\"code\":\"x\",\"stdin\":\"\\u20ac\\u20acabc\"}",
		    "stdin has 9 bytes; the limit is 8 bytes");
	check_error("{\"code\":\"0123456789012345678901234567890123456789a\"}",
		    "code has 41 bytes; the limit is 40 bytes");
}

static void test_refuses_other_types_of_stdin(void **state)
{
	(void)state;
	check_error("{\"code\":\"x\",\"stdin\":5}", "stdin must be a string");
	check_error("{\"code\":\"x\",\"stdin\":[]}", "stdin must be a string");
	check_error("{\"code\":\"x\",\"stdin\":false}", "stdin must be a string");
}

static void check_timeout(const char *value, uint32_t seconds, const char *warning)
{
	char arguments[128];

	snprintf(arguments, sizeof(arguments), "{\"code\":\"x\",\"timeout_s\":%s}", value);
	{
		_attempt_ attempt = try(arguments);
		const char *warnings = attempt.request.warnings.data;

		if (attempt.err != 0 || attempt.request.timeout_ms != seconds * 1000)
			fail_msg("%s: %d, %u", value, attempt.err, attempt.request.timeout_ms);
		if (warning ? !strstr(warnings, warning) : warnings[0] != '\0')
			fail_msg("%s: warnings %s", value, warnings);
	}
}

static void test_takes_timeouts_as_people_mean_them(void **state)
{
	(void)state;
	check_timeout("null", 30, NULL);
	check_timeout("0", 30, NULL);
	check_timeout("-0.0", 30, NULL);
	check_timeout("\"0\"", 30, NULL);
	check_timeout("1", 1, NULL);
	check_timeout("300", 300, NULL);
	check_timeout("5.0", 5, NULL);
	check_timeout("1e2", 100, NULL);
	check_timeout("\"5\"", 5, NULL);
	check_timeout("\"10\"", 10, NULL);
	check_timeout("\"2.0\"", 2, NULL);
}

static void test_clamps_timeouts_and_says_so(void **state)
{
	(void)state;
	check_timeout("-5", 1, "timeout_s -5 is below 1; 1 was used");
	check_timeout("\"-5\"", 1, "timeout_s -5 is below 1");
	check_timeout("301", 300, "timeout_s 301 is above the maximum; 300 was used");
	check_timeout("1e3", 300, "above the maximum");
	check_timeout("99999999999999999999", 300, "above the maximum");
	check_timeout("-99999999999999999999", 1, "below 1");
	check_timeout("1e300", 300, "above the maximum");
	check_timeout("4294967297", 300, "above the maximum");
}

static void test_refuses_timeouts_that_are_no_whole_numbers(void **state)
{
	static const char *const bad[] = {"\"soon\"", "\"\"",	 "\"5s\"",    "\" 5\"",	 "5.5",
					  "1.5",      "0.5",	 "-1.5",      "true",	 "false",
					  "[]",	      "[5]",	 "{}",	      "1e400",	 "-1e400",
					  "\"nan\"",  "\"inf\"", "\"1e400\"", "\"0x5\"", "\"5.5\""};
	char arguments[128];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(arguments, sizeof(arguments), "{\"code\":\"x\",\"timeout_s\":%s}", bad[i]);
		check_error(arguments, "timeout_s must be a whole number of seconds from 1 to 300");
	}
}

static void check_warnings(const char *arguments, const char *expected)
{
	_attempt_ attempt = try(arguments);

	assert_int_equal(attempt.err, 0);
	assert_string_equal(attempt.request.warnings.data, expected);
}

#define IGNORED(name) "\"unknown argument \\\"" name "\\\" was ignored\""
#define MEANT(name, meant)                                                                         \
	"\"unknown argument \\\"" name "\\\" was ignored; did you mean \\\"" meant "\\\"?\""

static void test_names_unknown_arguments_and_the_near_one(void **state)
{
	(void)state;
	check_warnings("{\"code\":\"x\",\"language\":\"python\",\"context\":{}}",
		       IGNORED("language") "," IGNORED("context"));
	check_warnings("{\"code\":\"x\",\"timeout\":5}", MEANT("timeout", "timeout_s"));
	check_warnings("{\"code\":\"x\",\"Timeout_S\":5}", MEANT("Timeout_S", "timeout_s"));
	check_warnings("{\"code\":\"x\",\"timeoutMs\":5}", MEANT("timeoutMs", "timeout_s"));
	check_warnings("{\"code\":\"x\",\"time_out\":5}", MEANT("time_out", "timeout_s"));
	check_warnings("{\"code\":\"x\",\"timout_s\":5}", MEANT("timout_s", "timeout_s"));
	check_warnings("{\"code\":\"x\",\"Code\":5}", IGNORED("Code"));
	check_warnings("{\"code\":\"x\",\"timeout\":5,\"timeout_s\":5}", IGNORED("timeout"));
	check_warnings("{\"code\":\"x\",\"timeout\":5,\"timeout_s\":null}",
		       MEANT("timeout", "timeout_s"));
	check_warnings("{\"code\":\"x\",\"input\":5}", MEANT("input", "stdin"));
	check_warnings("{\"code\":\"x\",\"stdIn\":5}", MEANT("stdIn", "stdin"));
	check_warnings("{\"code\":\"x\",\"\":5}", IGNORED(""));
	check_warnings("{\"code\":\"x\",\"a\\\"\\n\":5}", IGNORED("a\\\"\\n"));
}

static void test_names_few_and_short(void **state)
{
	(void)state;
	check_warnings("{\"code\":\"x\",\"k1\":1,\"k2\":1,\"k3\":1,\"k4\":1,\"k5\":1,\"k6\":1}",
		       IGNORED("k1") "," IGNORED("k2") "," IGNORED("k3") "," IGNORED(
			       "k4") "," IGNORED("k5") ",\"and 1 more unknown argument was "
						       "ignored\"");
	check_warnings("{\"code\":\"x\",\"k1\":1,\"k2\":1,\"k3\":1,\"k4\":1,\"k5\":1,\"k6\":1,"
		       "\"k7\":1}",
		       IGNORED("k1") "," IGNORED("k2") "," IGNORED("k3") "," IGNORED(
			       "k4") "," IGNORED("k5") ",\"and 2 more unknown arguments were "
						       "ignored\"");
	/* 39 bytes and a character of two: it is not cut in half. */
	check_warnings("{\"code\":\"x\",\"012345678901234567890123456789012345678\xc3\xa9z\":1}",
		       IGNORED("012345678901234567890123456789012345678..."));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_takes_code_stdin_and_timeout),
		cmocka_unit_test(test_tells_what_the_program_seems_to_import),
		cmocka_unit_test(test_nuls_are_data),
		cmocka_unit_test(test_absent_and_null_stdin_are_empty),
		cmocka_unit_test(test_refuses_code_that_is_no_text),
		cmocka_unit_test(test_suggests_code_for_a_name_like_it),
		cmocka_unit_test(test_refuses_lone_surrogates_and_says_so),
		cmocka_unit_test(test_caps_count_utf8_bytes),
		cmocka_unit_test(test_refuses_other_types_of_stdin),
		cmocka_unit_test(test_takes_timeouts_as_people_mean_them),
		cmocka_unit_test(test_clamps_timeouts_and_says_so),
		cmocka_unit_test(test_refuses_timeouts_that_are_no_whole_numbers),
		cmocka_unit_test(test_names_unknown_arguments_and_the_near_one),
		cmocka_unit_test(test_names_few_and_short),
	};

	return cmocka_run_group_tests_name("exec_tool_arguments", tests, NULL, NULL);
}
