/* Unit tests of mcp: calls of the tool, their cancellation, and batches. */
#include "tests/unit/mcp_fake.h"

#include <sys/resource.h>

static void test_a_notification_runs_nothing(void **state)
{
	struct fake *fake = *state;

	check_silent(fake, NOTIFICATION("tools/call",
					"\"name\":\"exec\",\"arguments\":{\"code\":\"x\"}"));
	assert_int_equal(fake->dispatch.count, 0);
}

static void test_answers_a_call_when_its_run_has_ended(void **state)
{
	struct fake *fake = *state;
	cJSON *answer;
	const cJSON *result;

	check_silent(fake, CALL("\"c1\"", "print(1)", ""));
	assert_int_equal(fake->dispatch.count, 1);
	assert_int_equal(fake->dispatch.calls[0]->request.timeout_ms, 30000);
	check_answer(fake, REQUEST("2", "ping", ""),
		     "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	fake_end(fake, 0, "1\n");
	answer = read_answer(fake);
	result = rpc_get(answer, "result");
	assert_string_equal(rpc_get_string(answer, "id"), "c1");
	assert_string_equal(rpc_get_string(rpc_get(result, "structuredContent"), "stdout"), "1\n");
	assert_true(cJSON_IsFalse(rpc_get(result, "isError")));
	assert_null(rpc_get(result, "resultType"));
	assert_null(rpc_get(rpc_get(result, "_meta"), "io.modelcontextprotocol/serverInfo"));
	cJSON_Delete(answer);
}

static void test_answers_a_modern_call_in_its_form(void **state)
{
	struct fake *fake = *state;
	cJSON *answer;
	const cJSON *result;

	fake_handle(fake, INITIALIZE("2024-11-05"));
	check_silent(fake, CALL("1", "print(1)", "," MODERN));
	fake_end(fake, 0, "");
	answer = read_answer(fake);
	result = rpc_get(answer, "result");
	check_modern_result(result);
	assert_non_null(rpc_get(rpc_get(result, "_meta"), "io.github.mcp-exec/run"));
	assert_non_null(rpc_get(result, "structuredContent"));
	assert_null(rpc_get(result, "ttlMs"));
	cJSON_Delete(answer);
}

static void test_old_versions_get_no_structured_content(void **state)
{
	struct fake *fake = *state;

	fake_handle(fake, INITIALIZE("2025-03-26"));
	check_silent(fake, CALL("1", "print(1)", ""));
	fake_end(fake, 0, "");
	check_mentions(fake, "\"content\"");
	assert_null(strstr(fake->sent.data, "structuredContent"));
}

static void test_bad_arguments_are_a_tool_error(void **state)
{
	struct fake *fake = *state;

	cJSON_Delete(answer_to(fake, REQUEST("1", "tools/call", "\"name\":\"exec\"")));
	check_mentions(fake, "\"isError\":true");
	cJSON_Delete(answer_to(fake,
			       REQUEST("1", "tools/call", "\"name\":\"exec\",\"arguments\":null")));
	check_mentions(fake, "code is missing");
	cJSON_Delete(answer_to(fake, CALL("2", " ", "," MODERN)));
	check_mentions(fake, "\"isError\":true");
	check_mentions(fake, "\"resultType\":\"complete\"");
	cJSON_Delete(answer_to(fake, CALL("3", "\\ud800", "")));
	check_mentions(fake, "surrogate");
	assert_int_equal(fake->dispatch.count, 0);
}

static void test_a_lack_of_descriptors_is_a_tool_error(void **state)
{
	struct fake *fake = *state;
	struct rlimit before, none;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_cur = 0, .rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	fake_handle(fake, CALL("1", "x", ""));
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	check_mentions(fake, "\"isError\":true");
	check_mentions(fake, "Nothing was run");
	assert_int_equal(fake->dispatch.count, 0);
	assert_null(session_any(fake->session));
}

static void test_bad_params_of_a_call_are_an_error(void **state)
{
	struct fake *fake = *state;

	check_error(fake, REQUEST("1", "tools/call", ""), "1", -32602);
	check_error(fake, REQUEST("1", "tools/call", "\"name\":5"), "1", -32602);
	check_error(fake, REQUEST("1", "tools/call", "\"name\":\"exec\",\"arguments\":[]"), "1",
		    -32602);
	check_answer(fake, REQUEST("1", "tools/call", "\"name\":\"Exec\\n\""),
		     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32602,\"message\":"
		     "\"Unknown tool: Exec\\n\"}}");
}

#define TEN "0123456789"
#define SIXTY TEN TEN TEN TEN TEN TEN

static void test_repeats_only_the_start_of_a_long_tool_name(void **state)
{
	struct fake *fake = *state;

	check_error(fake, REQUEST("1", "tools/call", "\"name\":\"" SIXTY "abcd\""), "1", -32602);
	check_mentions(fake, "Unknown tool: " SIXTY "abcd\"");
	check_error(fake, REQUEST("1", "tools/call", "\"name\":\"" SIXTY "abc\xc3\xa9\""), "1",
		    -32602);
	check_mentions(fake, "Unknown tool: " SIXTY "abc...\"");
}

static void test_a_full_queue_is_answered_at_once(void **state)
{
	struct fake *fake = *state;

	fake->dispatch.full = true;
	cJSON_Delete(answer_to(fake, CALL("1", "x", "")));
	check_mentions(fake, "Busy");
	fake->dispatch.full = false;
	/* The id is free again. */
	check_silent(fake, CALL("1", "x", ""));
}

static void test_refuses_an_id_in_flight_and_leaves_the_first_alone(void **state)
{
	struct fake *fake = *state;

	check_silent(fake, CALL("1", "x", ""));
	check_error(fake, CALL("1", "y", ""), "1", -32600);
	check_mentions(fake, "request id already in use");
	check_silent(fake, CALL("\"1\"", "z", ""));
	assert_int_equal(fake->dispatch.count, 2);
	fake_end(fake, 0, "first");
	check_mentions(fake, "first");
	check_silent(fake, CALL("1", "again", ""));
}

#define CANCEL(id) NOTIFICATION("notifications/cancelled", "\"requestId\":" id)

static void test_cancels_by_id(void **state)
{
	struct fake *fake = *state;

	check_silent(fake, CALL("1", "x", ""));
	check_silent(fake, CALL("\"1\"", "x", ""));
	check_silent(fake, CANCEL("\"1\""));
	assert_int_equal(fake->dispatch.cancelled, 1);
	assert_int_equal(fake->dispatch.count, 1);
	check_silent(fake, CANCEL("\"1\""));
	check_silent(fake, CANCEL("2"));
	check_silent(fake, CANCEL("1.0"));
	check_silent(fake, CANCEL("null"));
	check_silent(fake, CANCEL("{}"));
	check_silent(fake, NOTIFICATION("notifications/cancelled", "\"requestid\":1"));
	assert_int_equal(fake->dispatch.cancelled, 1);
	check_silent(fake, CANCEL("1,\"reason\":\"enough\"," MODERN));
	assert_int_equal(fake->dispatch.cancelled, 2);
}

static void test_batches_are_refused_unless_negotiated(void **state)
{
	struct fake *fake = *state;
	static const char batch[] = "[" REQUEST("1", "ping", "") "]";

	check_error(fake, batch, "null", -32600);
	fake_handle(fake, INITIALIZE("2025-06-18"));
	check_error(fake, batch, "null", -32600);
	fake_handle(fake, INITIALIZE("2025-03-26"));
	check_answer(fake, batch, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]");
	fake_handle(fake, INITIALIZE("2024-11-05"));
	check_answer(fake, batch, "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]");
	check_answer(fake, " \t\r\n[" REQUEST("1", "ping", "") "]",
		     "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]");
	check_error(fake, " []", "null", -32600);
	check_error(fake, "[1", "null", -32700);
	check_error(fake, "[{\"a\":1,\"a\":2}]", "null", -32600);
}

static void test_each_element_of_a_batch_gets_its_own_answer(void **state)
{
	struct fake *fake = *state;
	cJSON *answer;

	fake_handle(fake, INITIALIZE("2025-03-26"));
	answer = answer_to(fake,
			   "[" INITIALIZE("2025-03-26") "," NOTIFICATION("x", "") ",5," REQUEST(
				   "3", "no/such", "") "," REQUEST("4", "ping", "") "]");
	assert_int_equal(cJSON_GetArraySize(answer), 4);
	check_mentions(fake, "\"id\":0,\"error\":{\"code\":-32600");
	check_mentions(fake, "\"id\":null,\"error\":{\"code\":-32600");
	check_mentions(fake, "\"id\":3,\"error\":{\"code\":-32601");
	check_mentions(fake, "\"id\":4,\"result\":{}");
	cJSON_Delete(answer);
	check_silent(fake, "[" NOTIFICATION("x", "") "," NOTIFICATION("y", "") "]");
}

static void test_a_claim_refuses_the_whole_batch(void **state)
{
	struct fake *fake = *state;

	fake_handle(fake, INITIALIZE("2025-03-26"));
	check_error(fake, "[" CALL("1", "x", "") "," REQUEST("2", "tools/list", MODERN) "]", "null",
		    -32600);
	assert_int_equal(fake->dispatch.count, 0);
}

/* Moves the call back in time, as if it had come then, and lets the clock tick. */
static void tick_after(struct fake *fake, uint64_t us)
{
	fake->dispatch.calls[0]->queued_us = clock_us() - us;
	buf_reset(&fake->sent);
	mcp_tick(&fake->mcp);
	buf_add_byte(&fake->sent, '\0');
	fake->sent.len--;
}

static void test_tells_progress_to_those_who_asked(void **state)
{
	struct fake *fake = *state;

	check_silent(fake, CALL("1", "x", ",\"_meta\":{\"progressToken\":9007199254740993}"));
	tick_after(fake, 500000);
	assert_int_equal(fake->sent.len, 0);
	tick_after(fake, 1500000);
	check_mentions(fake, "{\"progressToken\":9007199254740993,\"progress\":1.5");
	check_mentions(fake, "\"message\":\"running\"");
	tick_after(fake, 1600000);
	assert_int_equal(fake->sent.len, 0);
	fake_end(fake, 0, "x");
	buf_reset(&fake->sent);
	mcp_tick(&fake->mcp);
	assert_int_equal(fake->sent.len, 0);
}

static void test_tells_no_progress_without_a_good_token(void **state)
{
	struct fake *fake = *state;

	check_silent(fake, CALL("1", "x", ",\"_meta\":{\"progressToken\":1.5}"));
	tick_after(fake, 2000000);
	assert_int_equal(fake->sent.len, 0);
}

static void test_a_batch_waits_for_its_calls(void **state)
{
	struct fake *fake = *state;

	fake_handle(fake, INITIALIZE("2025-03-26"));
	check_silent(fake, "[" REQUEST("1", "ping", "") "," CALL("2", "x", "") "," CALL("3", "y",
											"") "]");
	assert_int_equal(fake->dispatch.count, 2);
	fake_end(fake, 0, "two");
	assert_int_equal(fake->sent.len, 0);
	cJSON_Delete(answer_to(fake, CANCEL("3")));
	assert_int_equal(fake->sent.data[0], '[');
	check_mentions(fake, "\"id\":1,");
	check_mentions(fake, "\"id\":2,");
	assert_null(strstr(fake->sent.data, "\"id\":3,"));
}

static void test_a_batch_of_cancelled_calls_is_not_answered(void **state)
{
	struct fake *fake = *state;

	fake_handle(fake, INITIALIZE("2025-03-26"));
	check_silent(fake, "[" CALL("2", "x", "") "]");
	check_silent(fake, CANCEL("2"));
	check_silent(fake, "[" CALL("2", "x", "") "," CANCEL("2") "]");
}

static void test_bounds_the_answers_to_a_batch(void **state)
{
	struct fake *fake = *state;
	const size_t len = 3 * MIB;
	_cleanup_free_ char *output = malloc(len + 1);

	assert_non_null(output);
	memset(output, 1, len);
	output[len] = '\0';
	fake_handle(fake, INITIALIZE("2025-03-26"));
	check_silent(fake, "[" CALL("1", "x", "") "," CALL("2", "y", "") "," CALL(
				   "3", "z", "") "," CALL("4", "z", "") "]");
	/* Each byte takes seven here ("\\\\u0001"); the fake gives back its calls in the order 1, 4, 3, 2. */
	for (int i = 0; i < 4; i++)
		fake_end(fake, 0, output);
	check_mentions(fake, "\"id\":1,\"result\"");
	check_mentions(fake, "\"id\":4,\"result\"");
	check_mentions(fake, "\"id\":3,\"result\"");
	check_mentions(fake, "\"id\":2,\"error\"");
	check_mentions(fake, "too long together");
	assert_in_range(fake->sent.len, 3 * 7 * len, MAX_BATCH_BYTES);
}

static void test_bounds_batches(void **state)
{
	struct fake *fake = *state;
	_cleanup_(buf_clear) struct buf text = BUF_INIT;

	fake_handle(fake, INITIALIZE("2025-03-26"));
	for (int i = 0; i < MAX_BATCH; i++)
		buf_printf(&text, "%c" REQUEST("%d", "ping", ""), i ? ',' : '[', i);
	buf_add_string(&text, "]");
	buf_add_byte(&text, '\0');
	fake_handle(fake, text.data);
	check_mentions(fake, "\"id\":99,");
	text.len -= 2;
	buf_add_string(&text, ",1]");
	buf_add_byte(&text, '\0');
	check_error(fake, text.data, "null", -32600);
}

static void test_end_cancels_what_is_in_flight(void **state)
{
	struct fake *fake = *state;

	fake_handle(fake, INITIALIZE("2025-03-26"));
	check_silent(fake, CALL("1", "x", ""));
	check_silent(fake, "[" CALL("2", "x", "") "," REQUEST("3", "ping", "") "]");
	buf_reset(&fake->sent);
	channel_mute(&fake->channel);
	mcp_end(&fake->mcp, fake->session);
	assert_int_equal(fake->dispatch.cancelled, 2);
	assert_int_equal(fake->sent.len, 0);
	assert_null(session_any(fake->session));
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_a_notification_runs_nothing),
		TEST(test_answers_a_call_when_its_run_has_ended),
		TEST(test_answers_a_modern_call_in_its_form),
		TEST(test_old_versions_get_no_structured_content),
		TEST(test_bad_arguments_are_a_tool_error),
		TEST(test_a_lack_of_descriptors_is_a_tool_error),
		TEST(test_bad_params_of_a_call_are_an_error),
		TEST(test_repeats_only_the_start_of_a_long_tool_name),
		TEST(test_a_full_queue_is_answered_at_once),
		TEST(test_refuses_an_id_in_flight_and_leaves_the_first_alone),
		TEST(test_cancels_by_id),
		TEST(test_batches_are_refused_unless_negotiated),
		TEST(test_each_element_of_a_batch_gets_its_own_answer),
		TEST(test_a_claim_refuses_the_whole_batch),
		TEST(test_tells_progress_to_those_who_asked),
		TEST(test_tells_no_progress_without_a_good_token),
		TEST(test_a_batch_waits_for_its_calls),
		TEST(test_a_batch_of_cancelled_calls_is_not_answered),
		TEST(test_bounds_batches),
		TEST(test_bounds_the_answers_to_a_batch),
		TEST(test_end_cancels_what_is_in_flight),
	};

	return cmocka_run_group_tests_name("mcp_call", tests, NULL, NULL);
}
