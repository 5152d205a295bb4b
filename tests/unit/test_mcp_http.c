/* Unit tests of mcp over HTTP: the decision table of both eras, header by header. */
#include "tests/unit/mcp_fake.h"

#define LIST(meta) REQUEST("\"s1\"", "tools/list", meta)
#define RESPONSE "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}"
#define PING "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}"

static int http_setup(void **state)
{
	struct fake *fake;

	if (fake_setup(state) < 0)
		return -1;
	fake = *state;
	fake->envelope = (struct mcp_envelope){.way = MCP_HTTP};
	return 0;
}

static void set_headers(struct fake *fake, const char *version, const char *method,
			const char *name)
{
	fake->envelope.version = version;
	fake->envelope.method = method;
	fake->envelope.name = name;
}

static void check_kind(struct fake *fake, const char *text, enum channel_kind kind, const char *id,
		       int code)
{
	check_error(fake, text, id, code);
	assert_int_equal(fake->kind, kind);
}

static void check_served(struct fake *fake, const char *text)
{
	cJSON *answer = answer_to(fake, text);

	if (!rpc_get(answer, "result"))
		fail_msg("%s was answered: %s", text, fake->sent.data);
	assert_int_equal(fake->kind, CHANNEL_SERVED);
	cJSON_Delete(answer);
}

static void test_unfit_messages_are_refused(void **state)
{
	struct fake *fake = *state;

	check_kind(fake, "{bad", CHANNEL_REFUSED, "null", -32700);
	check_kind(fake, "", CHANNEL_REFUSED, "null", -32700);
	check_kind(fake, "{\"id\":1,\"method\":\"ping\"}", CHANNEL_REFUSED, "1", -32600);
	check_kind(fake, "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", CHANNEL_REFUSED,
		   "1.5", -32600);
	check_kind(fake, "[]", CHANNEL_REFUSED, "null", -32600);
	check_kind(fake, "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[1]}", CHANNEL_REFUSED,
		   "null", -32600);
	check_silent(fake, "[{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[1]}]");
	fake->envelope = (struct mcp_envelope){.way = MCP_STDIO, .session = fake->session};
	check_silent(fake, "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[1]}");
}

static void test_a_modern_request_needs_agreeing_headers(void **state)
{
	struct fake *fake = *state;

	set_headers(fake, "2026-07-28", "tools/list", NULL);
	check_served(fake, LIST(MODERN));
	assert_true(fake->channel.drop_cancels);
	set_headers(fake, "2025-11-25", "tools/list", NULL);
	check_kind(fake, LIST(MODERN), CHANNEL_REFUSED, "\"s1\"", -32020);
	set_headers(fake, "2026-07-28", "TOOLS/LIST", NULL);
	check_kind(fake, LIST(MODERN), CHANNEL_REFUSED, "\"s1\"", -32020);
	set_headers(fake, NULL, "tools/list", NULL);
	check_kind(fake, LIST(MODERN), CHANNEL_REFUSED, "\"s1\"", -32020);
	set_headers(fake, "2026-07-28", NULL, NULL);
	check_kind(fake, LIST(MODERN), CHANNEL_REFUSED, "\"s1\"", -32020);
}

static void test_the_ladder_has_an_order(void **state)
{
	struct fake *fake = *state;

	/* The form of the claim comes first, then what contradicts it, then its version, then what is missing. */
	set_headers(fake, "2025-11-25", "x", NULL);
	check_kind(fake, LIST("\"_meta\":{\"" VERSION_KEY "\":5}"), CHANNEL_REFUSED, "\"s1\"",
		   -32602);
	check_kind(fake, LIST(META("\"2099-01-01\"", "")), CHANNEL_REFUSED, "\"s1\"", -32020);
	set_headers(fake, "2099-01-01", NULL, NULL);
	check_kind(fake, LIST(META("\"2099-01-01\"", "")), CHANNEL_REFUSED, "\"s1\"", -32022);
	set_headers(fake, NULL, NULL, NULL);
	check_kind(fake, LIST(META("\"2025-11-25\"", "")), CHANNEL_REFUSED, "\"s1\"", -32022);
	set_headers(fake, "2026-07-28", NULL, NULL);
	check_kind(fake, REQUEST("1", "no/such", MODERN), CHANNEL_REFUSED, "1", -32020);
	set_headers(fake, "2026-07-28", "no/such", NULL);
	check_kind(fake, REQUEST("1", "no/such", MODERN), CHANNEL_NOT_FOUND, "1", -32601);
	set_headers(fake, "2026-07-28", "ping", NULL);
	check_kind(fake, REQUEST("1", "ping", MODERN), CHANNEL_NOT_FOUND, "1", -32601);
	set_headers(fake, "2026-07-28", "initialize", NULL);
	check_kind(fake, REQUEST("1", "initialize", MODERN), CHANNEL_NOT_FOUND, "1", -32601);
	set_headers(fake, "2026-07-28", "tools/call", NULL);
	check_kind(fake, REQUEST("1", "tools/call", MODERN), CHANNEL_SERVED, "1", -32602);
}

#define NAMED(name) REQUEST("1", "tools/call", "\"name\":\"" name "\"," MODERN)

static void test_the_name_is_compared(void **state)
{
	struct fake *fake = *state;
	static const char *const wrong[] = {NULL,
					    "EXEC",
					    "exec ",
					    "=?base64?ZXhlYw?=",
					    "=?BASE64?ZXhlYw==?=",
					    "=?base64?ZXhlYw==",
					    "=?base64?"
					    "?="};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		set_headers(fake, "2026-07-28", "tools/call", wrong[i]);
		check_kind(fake, NAMED("exec"), CHANNEL_REFUSED, "1", -32020);
	}
	set_headers(fake, "2026-07-28", "tools/call", "exec");
	check_served(fake, NAMED("exec"));
	set_headers(fake, "2026-07-28", "tools/call", "=?base64?ZXhlYw==?=");
	check_served(fake, NAMED("exec"));
	set_headers(fake, "2026-07-28", "tools/call", "=?base64?w6k=?=");
	check_kind(fake, NAMED("\xc3\xa9"), CHANNEL_SERVED, "1", -32602);
	set_headers(fake, "2026-07-28", "tools/call", "=?base64?Zm9vYmFy?=");
	check_kind(fake, NAMED("foobar"), CHANNEL_SERVED, "1", -32602);
	set_headers(fake, "2026-07-28", "resources/read", "x");
	check_kind(fake, REQUEST("1", "resources/read", "\"uri\":\"x\"," MODERN), CHANNEL_SERVED,
		   "1", -32602);
	set_headers(fake, "2026-07-28", "resources/read", "y");
	check_kind(fake, REQUEST("1", "resources/read", "\"uri\":\"x\"," MODERN), CHANNEL_REFUSED,
		   "1", -32020);
}

static void test_a_modern_header_alone_is_no_claim(void **state)
{
	struct fake *fake = *state;

	set_headers(fake, "2026-07-28", "tools/list", NULL);
	check_kind(fake, LIST(""), CHANNEL_REFUSED, "\"s1\"", -32602);
	check_mentions(fake, VERSION_KEY);
	set_headers(fake, "2099-01-01", "tools/list", NULL);
	check_kind(fake, LIST(""), CHANNEL_REFUSED, "\"s1\"", -32602);
	check_kind(fake, INITIALIZE("2025-11-25"), CHANNEL_REFUSED, "0", -32020);
	check_silent(fake, NOTIFICATION("notifications/initialized", ""));
	check_kind(fake, "[" PING "]", CHANNEL_REFUSED, "null", -32600);
}

static void test_legacy_messages_need_no_session(void **state)
{
	struct fake *fake = *state;

	check_served(fake, PING);
	assert_false(fake->channel.drop_cancels);
	set_headers(fake, "2025-06-18", NULL, NULL);
	check_served(fake, PING);
	set_headers(fake, "1999-01-01", NULL, NULL);
	check_kind(fake, PING, CHANNEL_REFUSED, "1", -32000);
	check_kind(fake, NOTIFICATION("x", ""), CHANNEL_REFUSED, "null", -32000);
	set_headers(fake, NULL, NULL, NULL);
	check_kind(fake, REQUEST("1", "no/such", ""), CHANNEL_SERVED, "1", -32601);
}

/* Nothing that it was asked for, and nothing that waits for an answer: an error must not have its id. */
static void test_responses_are_taken_and_never_answered(void **state)
{
	struct fake *fake = *state;

	check_silent(fake, RESPONSE);
	set_headers(fake, "2026-07-28", NULL, NULL);
	check_silent(fake, RESPONSE);
	fake->envelope.unknown_session = true;
	check_silent(fake, RESPONSE);
	set_headers(fake, NULL, NULL, NULL);
	check_kind(fake, RESPONSE, CHANNEL_NOT_FOUND, "null", -32001);
	fake->envelope.unknown_session = false;
	set_headers(fake, "1999-01-01", NULL, NULL);
	check_kind(fake, RESPONSE, CHANNEL_REFUSED, "null", -32000);
}

/* What MCP-Protocol-Version names has been negotiated; by initialize nothing has been yet. */
static void test_a_handshake_may_name_any_old_version(void **state)
{
	struct fake *fake = *state;
	static const char *const versions[] = {"2025-06-18", "1999-01-01", ""};

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		set_headers(fake, versions[i], NULL, NULL);
		cJSON_Delete(answer_to(fake, INITIALIZE("2025-11-25")));
		assert_int_equal(fake->kind, CHANNEL_HANDSHAKE);
		assert_string_equal(session_version(fake->own), "2025-11-25");
	}
	set_headers(fake, "2099-01-01", NULL, NULL);
	check_kind(fake, INITIALIZE("2025-11-25"), CHANNEL_REFUSED, "0", -32020);
}

static void test_initialize_without_an_id_is_a_notification(void **state)
{
	struct fake *fake = *state;

	check_silent(fake, NOTIFICATION("initialize", ""));
	set_headers(fake, "2026-07-28", NULL, NULL);
	check_silent(fake, NOTIFICATION("initialize", ""));
	set_headers(fake, NULL, NULL, NULL);
	fake->envelope.session = fake->session;
	session_set_version(fake->session, "2025-03-26");
	check_silent(fake, NOTIFICATION("initialize", ""));
	check_silent(fake, "[" NOTIFICATION("initialize", "") "]");
	check_answer(fake, "[" NOTIFICATION("initialize", "") "," PING "]",
		     "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]");
}

static void test_the_header_names_the_version_where_no_session_does(void **state)
{
	struct fake *fake = *state;

	set_headers(fake, "2025-03-26", NULL, NULL);
	check_served(fake, REQUEST("1", "tools/list", ""));
	assert_null(strstr(fake->sent.data, "outputSchema"));
	set_headers(fake, "2025-06-18", NULL, NULL);
	check_served(fake, REQUEST("1", "tools/list", ""));
	check_mentions(fake, "outputSchema");
}

static void test_an_unknown_session_is_not_found(void **state)
{
	struct fake *fake = *state;

	fake->envelope.unknown_session = true;
	check_kind(fake, PING, CHANNEL_NOT_FOUND, "1", -32001);
	check_kind(fake, NOTIFICATION("x", ""), CHANNEL_NOT_FOUND, "null", -32001);
	check_kind(fake, "[" PING "]", CHANNEL_NOT_FOUND, "null", -32001);
	cJSON_Delete(answer_to(fake, INITIALIZE("2025-11-25")));
	assert_int_equal(fake->kind, CHANNEL_HANDSHAKE);
	set_headers(fake, "2026-07-28", "tools/list", NULL);
	check_served(fake, LIST(MODERN));
}

static void test_a_session_is_initialized_once(void **state)
{
	struct fake *fake = *state;

	cJSON_Delete(answer_to(fake, INITIALIZE("2025-11-25")));
	assert_int_equal(fake->kind, CHANNEL_HANDSHAKE);
	assert_string_equal(session_version(fake->own), "2025-11-25");
	fake->envelope.session = fake->session;
	check_kind(fake, INITIALIZE("2025-11-25"), CHANNEL_REFUSED, "0", -32600);
}

static void test_only_a_session_can_cancel(void **state)
{
	struct fake *fake = *state;

	fake->envelope.session = fake->session;
	check_silent(fake, CALL("1", "x", ""));
	assert_int_equal(fake->channel.holds, 1);
	fake->envelope.session = NULL;
	check_silent(fake, NOTIFICATION("notifications/cancelled", "\"requestId\":1"));
	set_headers(fake, "2026-07-28", NULL, NULL);
	fake->envelope.session = fake->session;
	check_silent(fake, NOTIFICATION("notifications/cancelled", "\"requestId\":1"));
	assert_int_equal(fake->dispatch.cancelled, 0);
	set_headers(fake, "2025-11-25", NULL, NULL);
	check_silent(fake, NOTIFICATION("notifications/cancelled", "\"requestId\":1"));
	assert_int_equal(fake->dispatch.cancelled, 1);
	assert_int_equal(fake->channel.holds, 0);
}

static void test_a_modern_call_is_no_part_of_a_session(void **state)
{
	struct fake *fake = *state;

	fake->envelope.session = fake->session;
	check_silent(fake, CALL("1", "x", ""));
	set_headers(fake, "2026-07-28", "tools/call", "exec");
	check_silent(fake, CALL("1", "y", "," MODERN));
	assert_int_equal(fake->dispatch.count, 2);
	assert_non_null(session_any(fake->own));
	assert_non_null(session_any(fake->session));
}

static void test_batches_of_those_who_name_no_version(void **state)
{
	struct fake *fake = *state;

	check_answer(fake, "[" PING "]", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]");
	set_headers(fake, "2025-03-26", NULL, NULL);
	check_answer(fake, "[" PING "]", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]");
	set_headers(fake, "2025-06-18", NULL, NULL);
	check_kind(fake, "[" PING "]", CHANNEL_REFUSED, "null", -32600);
	fake->envelope.session = fake->session;
	session_set_version(fake->session, "2025-03-26");
	check_answer(fake, "[" PING "]", "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]");
}

static void test_the_older_transport_has_one_era(void **state)
{
	struct fake *fake = *state;

	fake->envelope = (struct mcp_envelope){.way = MCP_SSE, .session = fake->session};
	check_served(fake, REQUEST("1", "ping", MODERN));
	check_kind(fake, REQUEST("1", "server/discover", MODERN), CHANNEL_SERVED, "1", -32601);
	session_set_version(fake->session, "2025-03-26");
	check_answer(fake, "[" REQUEST("1", "ping", MODERN) "]",
		     "[{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}]");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, http_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_unfit_messages_are_refused),
		TEST(test_a_modern_request_needs_agreeing_headers),
		TEST(test_the_ladder_has_an_order),
		TEST(test_the_name_is_compared),
		TEST(test_a_modern_header_alone_is_no_claim),
		TEST(test_legacy_messages_need_no_session),
		TEST(test_responses_are_taken_and_never_answered),
		TEST(test_a_handshake_may_name_any_old_version),
		TEST(test_initialize_without_an_id_is_a_notification),
		TEST(test_the_header_names_the_version_where_no_session_does),
		TEST(test_an_unknown_session_is_not_found),
		TEST(test_a_session_is_initialized_once),
		TEST(test_only_a_session_can_cancel),
		TEST(test_a_modern_call_is_no_part_of_a_session),
		TEST(test_batches_of_those_who_name_no_version),
		TEST(test_the_older_transport_has_one_era),
	};

	return cmocka_run_group_tests_name("mcp over HTTP", tests, NULL, NULL);
}
