/* Unit tests of mcp: what is answered at once, in both eras. */
#include "tests/unit/mcp_fake.h"

static void check_version(struct fake *fake, const char *text, const char *expected)
{
	cJSON *answer = answer_to(fake, text);

	assert_string_equal(rpc_get_string(rpc_get(answer, "result"), "protocolVersion"), expected);
	assert_string_equal(session_version(fake->session), expected);
	cJSON_Delete(answer);
}

static void test_negotiates_the_legacy_version(void **state)
{
	struct fake *fake = *state;

	check_version(fake, INITIALIZE("2025-11-25"), "2025-11-25");
	check_version(fake, INITIALIZE("2025-06-18"), "2025-06-18");
	check_version(fake, INITIALIZE("2025-03-26"), "2025-03-26");
	check_version(fake, INITIALIZE("2024-11-05"), "2024-11-05");
	check_version(fake, INITIALIZE("2024-10-07"), "2024-10-07");
	check_version(fake, INITIALIZE("1999-01-01"), "2025-11-25");
	check_version(fake, INITIALIZE("2026-07-28"), "2025-11-25");
	check_error(fake, REQUEST("1", "initialize", ""), "1", -32602);
	check_error(fake, REQUEST("1", "initialize", "\"protocolVersion\":5"), "1", -32602);
}

static void test_initialize_tells_who_we_are(void **state)
{
	cJSON *answer = answer_to(*state, INITIALIZE("2025-11-25"));
	const cJSON *result = rpc_get(answer, "result");
	const cJSON *info = rpc_get(result, "serverInfo");

	assert_string_equal(rpc_get_string(info, "name"), "mcp-exec");
	assert_non_null(rpc_get_string(info, "version"));
	assert_non_null(rpc_get_string(info, "title"));
	assert_non_null(rpc_get_string(result, "instructions"));
	assert_int_equal(cJSON_GetArraySize(rpc_get(result, "capabilities")), 3);
	assert_true(cJSON_IsObject(rpc_get(rpc_get(result, "capabilities"), "tools")));
	assert_null(rpc_get(result, "resultType"));
	assert_null(rpc_get(result, "_meta"));
	cJSON_Delete(answer);
}

static void test_serves_legacy_methods_before_initialize(void **state)
{
	struct fake *fake = *state;

	check_answer(fake, "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}",
		     "{\"jsonrpc\":\"2.0\",\"id\":\"p\",\"result\":{}}");
	check_answer(fake, REQUEST("9007199254740993", "prompts/list", ""),
		     "{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"result\":{\"prompts\":[]}}");
	check_answer(fake, REQUEST("-1", "resources/list", "\"cursor\":\"\""),
		     "{\"jsonrpc\":\"2.0\",\"id\":-1,\"result\":{\"resources\":[]}}");
	check_answer(fake, REQUEST("1", "resources/templates/list", "\"cursor\":null"),
		     "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resourceTemplates\":[]}}");
	check_error(fake, REQUEST("1", "prompts/get", "\"name\":\"x\""), "1", -32602);
	check_error(fake, REQUEST("1", "resources/read", "\"uri\":\"x\""), "1", -32602);
	check_error(fake, REQUEST("1", "tools/list", "\"cursor\":\"x\""), "1", -32602);
	check_error(fake, REQUEST("1", "tools/list", "\"cursor\":3"), "1", -32602);
	check_error(fake, REQUEST("1", "logging/setLevel", ""), "1", -32601);
	check_error(fake, REQUEST("1", "server/discover", ""), "1", -32601);
	check_error(fake, REQUEST("1", "TOOLS/LIST", ""), "1", -32601);
}

static cJSON *tool_for(struct fake *fake, const char *initialize, cJSON **answer)
{
	if (initialize)
		fake_handle(fake, initialize);
	*answer = answer_to(fake, REQUEST("1", "tools/list", ""));
	return rpc_get(rpc_get(*answer, "result"), "tools")->child;
}

static void test_lists_the_tool_as_the_version_knows_it(void **state)
{
	static const struct {
		const char *initialize;
		bool annotations, output;
	} rows[] = {{NULL, true, true},
		    {INITIALIZE("2025-11-25"), true, true},
		    {INITIALIZE("2025-06-18"), true, true},
		    {INITIALIZE("2025-03-26"), true, false},
		    {INITIALIZE("2024-11-05"), false, false},
		    {INITIALIZE("2024-10-07"), false, false}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		cJSON *answer;
		const cJSON *tool = tool_for(*state, rows[i].initialize, &answer);

		assert_string_equal(rpc_get_string(tool, "name"), "exec");
		assert_int_equal(rpc_get(tool, "annotations") != NULL, rows[i].annotations);
		assert_int_equal(rpc_get(tool, "outputSchema") != NULL, rows[i].output);
		assert_int_equal(rpc_get(tool, "title") != NULL, rows[i].output);
		assert_null(rpc_get(rpc_get(answer, "result"), "ttlMs"));
		cJSON_Delete(answer);
	}
}

static void test_modern_lists_carry_caching_hints(void **state)
{
	static const char *const texts[] = {REQUEST("\"d\"", "server/discover", MODERN),
					    REQUEST("\"d\"", "tools/list", MODERN),
					    REQUEST("\"d\"", "prompts/list", MODERN),
					    REQUEST("\"d\"", "resources/list", MODERN),
					    REQUEST("\"d\"", "resources/templates/list", MODERN)};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		cJSON *answer = answer_to(*state, texts[i]);
		const cJSON *result = rpc_get(answer, "result");

		check_modern_result(result);
		assert_int_equal(rpc_get(result, "ttlMs")->valueint, 3600000);
		assert_string_equal(rpc_get_string(result, "cacheScope"), "public");
		cJSON_Delete(answer);
	}
}

static void test_discover_lists_modern_versions_only(void **state)
{
	cJSON *answer = answer_to(*state, REQUEST("1", "server/discover", MODERN));
	const cJSON *result = rpc_get(answer, "result");
	const cJSON *versions = rpc_get(result, "supportedVersions");

	assert_int_equal(cJSON_GetArraySize(versions), 1);
	assert_string_equal(versions->child->valuestring, "2026-07-28");
	assert_int_equal(cJSON_GetArraySize(rpc_get(result, "capabilities")), 3);
	assert_null(rpc_get(result, "serverInfo"));
	cJSON_Delete(answer);
}

static void test_modern_era_lacks_legacy_methods(void **state)
{
	struct fake *fake = *state;

	check_error(fake, REQUEST("1", "ping", MODERN), "1", -32601);
	check_error(fake, REQUEST("1", "logging/setLevel", MODERN), "1", -32601);
	check_error(fake, REQUEST("1", "subscriptions/listen", MODERN), "1", -32601);
	check_error(fake, REQUEST("1", "initialize", "\"protocolVersion\":\"2025-11-25\"," MODERN),
		    "1", -32601);
	check_error(fake, REQUEST("1", "prompts/get", MODERN), "1", -32602);
	assert_null(session_version(fake->session));
}

static void test_refuses_other_claimed_versions(void **state)
{
	struct fake *fake = *state;

	check_answer(fake, REQUEST("1", "tools/list", META("\"2099-01-01\"", "")),
		     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":-32022,\"message\":"
		     "\"Unsupported protocol version\",\"data\":{\"supported\":[\"2026-07-28\"],"
		     "\"requested\":\"2099-01-01\"}}}");
	check_error(fake, REQUEST("1", "server/discover", META("\"2025-11-25\"", "")), "1", -32022);
}

static void test_refuses_malformed_claims_and_names_the_key(void **state)
{
	struct fake *fake = *state;

	check_error(fake, REQUEST("1", "tools/list", META("5", "")), "1", -32602);
	check_mentions(fake, "protocolVersion");
	check_error(fake, REQUEST("1", "tools/list", META("null", "")), "1", -32602);
	check_error(fake,
		    REQUEST("1", "tools/list", "\"_meta\":{\"" VERSION_KEY "\":\"2026-07-28\"}"),
		    "1", -32602);
	check_mentions(fake, "clientCapabilities");
	check_error(fake,
		    REQUEST("1", "tools/list",
			    META("\"2026-07-28\"",
				 ",\"io.modelcontextprotocol/clientInfo\":{\"name\":\"x\"}")),
		    "1", -32602);
	check_mentions(fake, "clientInfo");
	check_error(
		fake,
		REQUEST("1", "tools/list",
			META("\"2026-07-28\"", ",\"io.modelcontextprotocol/logLevel\":\"loud\"")),
		"1", -32602);
	check_mentions(fake, "logLevel");
	cJSON_Delete(answer_to(
		fake, REQUEST("1", "tools/list",
			      META("\"2026-07-28\"",
				   ",\"io.modelcontextprotocol/logLevel\":\"emergency\","
				   "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"x\","
				   "\"version\":\"1\"}"))));
	check_mentions(fake, "\"result\"");
}

static void test_each_message_is_served_by_its_own_claim(void **state)
{
	struct fake *fake = *state;

	cJSON_Delete(answer_to(fake, REQUEST("1", "server/discover", MODERN)));
	check_mentions(fake, "supportedVersions");
	check_version(fake, INITIALIZE("2024-11-05"), "2024-11-05");
	cJSON_Delete(answer_to(fake, REQUEST("1", "tools/list", MODERN)));
	check_mentions(fake, "outputSchema");
	check_answer(fake, REQUEST("2", "ping", "\"_meta\":{\"progressToken\":1}"),
		     "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":{}}");
	/* A claim that is not valid does not keep initialize from being a handshake. */
	check_version(fake,
		      REQUEST("3", "initialize",
			      "\"protocolVersion\":\"2025-06-18\"," META("\"2025-06-18\"", "")),
		      "2025-06-18");
}

static void test_answers_what_is_no_request(void **state)
{
	struct fake *fake = *state;

	check_answer(fake, "",
		     "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":"
		     "\"Parse error: the message is empty\"}}");
	check_answer(fake, "{\"jsonrpc\":\"2.0\",\"id\":2}",
		     "{\"jsonrpc\":\"2.0\",\"id\":2,\"error\":{\"code\":-32600,\"message\":"
		     "\"Invalid request: method must be a string\"}}");
	check_error(fake, " ", "null", -32700);
	check_error(fake, "nonsense", "null", -32700);
	check_error(fake, "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xff\xfe\"}",
		    "null", -32700);
	check_error(fake, "5", "null", -32600);
	check_error(fake, "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"ping\"}", "null", -32600);
	check_error(fake, "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"ping\"}", "1.5", -32600);
	check_error(fake, "{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\",\"params\":[]}", "4",
		    -32600);
	check_error(fake, "{\"id\":5,\"method\":\"ping\"}", "5", -32600);
	check_error(fake, "{\"jsonrpc\":\"2.0\",\"id\":6,\"method\":\"ping\",\"a\":1,\"a\":2}", "6",
		    -32600);
	check_error(fake, REQUEST("7", "ping", "\"a\":\"\\ud800\""), "7", -32600);
	check_mentions(fake, "outside of the arguments code and stdin");
	check_error(fake, REQUEST("8", "ping", "\"a\":\"\\u0000\""), "8", -32600);
}

static void test_stays_silent_to_notifications_and_responses(void **state)
{
	struct fake *fake = *state;

	check_silent(fake, NOTIFICATION("notifications/initialized", ""));
	check_silent(fake, NOTIFICATION("no/such", "\"a\":1"));
	check_silent(fake, NOTIFICATION("no/such", META("\"1999\"", "")));
	check_silent(fake, NOTIFICATION("initialize", "\"protocolVersion\":\"2025-06-18\""));
	check_silent(fake, "{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[]}");
	check_silent(fake, "{\"jsonrpc\":\"2.0\",\"method\":\"x\\ud800\"}");
	check_silent(fake, "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
	check_silent(fake,
		     "{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{\"code\":1,\"message\":\"\"}}");
	assert_null(session_version(fake->session));
}

static void test_says_that_there_was_no_memory_for_a_message(void **state)
{
	struct fake *fake = *state;

	buf_reset(&fake->sent);
	mcp_refuse_unread(&fake->channel);
	buf_add_byte(&fake->sent, '\0');
	check_mentions(fake, "\"id\":null,\"error\":{\"code\":-32603,");
	check_mentions(fake, "no memory");
}

/* Answers one of a length that is beyond the maximum, with these parts at its start and end. */
static void check_long(struct fake *fake, const char *head, const char *tail, const char *id)
{
	const struct config small = {.max_code_bytes = 1, .max_stdin_bytes = 0};
	const size_t len = MESSAGE_ESCAPE_FACTOR + MESSAGE_SLACK_BYTES;
	_cleanup_(buf_clear) struct buf text = BUF_INIT;
	char wanted[64];

	buf_add_string(&text, head);
	while (text.len <= len)
		buf_add_byte(&text, ' ');
	buf_add_string(&text, tail);
	fake->mcp.config = &small;
	buf_reset(&fake->sent);
	mcp_handle(&fake->mcp, fake->own, &fake->channel, &fake->envelope, text.data, text.len);
	fake->mcp.config = &fake_config;
	buf_add_byte(&fake->sent, '\0');
	snprintf(wanted, sizeof(wanted), "\"id\":%s,\"error\":{\"code\":-32600,", id);
	check_mentions(fake, wanted);
	check_mentions(fake, "may have 65542 bytes; send less code or stdin, or raise "
			     "MCP_EXEC_MAX_CODE_BYTES or MCP_EXEC_MAX_STDIN_BYTES");
}

static void test_refuses_what_is_beyond_the_maximum_with_its_id(void **state)
{
	struct fake *fake = *state;

	check_long(fake, "{\"id\":7,\"x\":1", "}", "7");
	check_long(fake, "{\"x\":1", ",\"id\":\"7\"}", "\"7\"");
	check_long(fake, "{\"x\":1", "}", "null");
	check_long(fake, "[{\"id\":7}", ",\"id\":7}", "null");
	check_long(fake, "not JSON", "", "null");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, fake_setup, fake_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_negotiates_the_legacy_version),
		TEST(test_initialize_tells_who_we_are),
		TEST(test_serves_legacy_methods_before_initialize),
		TEST(test_lists_the_tool_as_the_version_knows_it),
		TEST(test_modern_lists_carry_caching_hints),
		TEST(test_discover_lists_modern_versions_only),
		TEST(test_modern_era_lacks_legacy_methods),
		TEST(test_refuses_other_claimed_versions),
		TEST(test_refuses_malformed_claims_and_names_the_key),
		TEST(test_each_message_is_served_by_its_own_claim),
		TEST(test_answers_what_is_no_request),
		TEST(test_stays_silent_to_notifications_and_responses),
		TEST(test_says_that_there_was_no_memory_for_a_message),
		TEST(test_refuses_what_is_beyond_the_maximum_with_its_id),
	};

	return cmocka_run_group_tests_name("mcp", tests, NULL, NULL);
}
