/* Unit tests of rpc: what a message is, and how answers are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/limits.h"
#include "supervisor/rpc.h"

static void check(const char *text, enum rpc_kind kind, int error, const char *id)
{
	_cleanup_(rpc_clear) struct rpc_message message;

	rpc_parse(text, strlen(text), &message);
	if (message.kind != kind || (kind == RPC_INVALID && message.error != error))
		fail_msg("%s: kind %d, error %d", text, (int)message.kind, message.error);
	if ((message.id.data != NULL) != (id != NULL))
		fail_msg("%s: id %s", text, id ? "is absent" : "is there");
	if (id) {
		assert_int_equal(message.id.len, strlen(id));
		assert_memory_equal(message.id.data, id, message.id.len);
	}
	if (kind == RPC_INVALID)
		assert_non_null(message.reason);
}

static void test_sorts_messages(void **state)
{
	(void)state;
	check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}", RPC_REQUEST, 0, "1");
	check("{\"jsonrpc\":\"2.0\",\"id\":\"\",\"method\":\"x\",\"params\":{}}", RPC_REQUEST, 0,
	      "\"\"");
	check("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"other\":[1]}", RPC_NOTIFICATION, 0, NULL);
	check("{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", RPC_RESPONSE, 0, "1");
	check("{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":1}}", RPC_RESPONSE, 0, NULL);
	check("{\"id\":3,\"result\":{}}", RPC_RESPONSE, 0, "3");
	check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":null}", RPC_REQUEST, 0,
	      "1");
}

static void test_keeps_ids_as_they_stand(void **state)
{
	static const char *const ids[] = {"0",
					  "-1",
					  "9007199254740993",
					  "\"1\"",
					  "\"a\\u0041\\n\"",
					  "-9223372036854775809",
					  "123456789012345678901234567890"};
	char text[128];

	(void)state;
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		snprintf(text, sizeof(text), "{\"method\":\"x\", \"id\" : %s ,\"jsonrpc\":\"2.0\"}",
			 ids[i]);
		check(text, RPC_REQUEST, 0, ids[i]);
	}
}

static void test_refuses_other_ids(void **state)
{
	(void)state;
	check("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"x\"}", RPC_INVALID,
	      RPC_INVALID_REQUEST, NULL);
	check("{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"x\"}", RPC_INVALID,
	      RPC_INVALID_REQUEST, NULL);
	check("{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"x\"}", RPC_INVALID, RPC_INVALID_REQUEST,
	      NULL);
	check("{\"jsonrpc\":\"2.0\",\"id\":[1],\"method\":\"x\"}", RPC_INVALID, RPC_INVALID_REQUEST,
	      NULL);
	check("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"x\"}", RPC_INVALID, RPC_INVALID_REQUEST,
	      "1.5");
	check("{\"jsonrpc\":\"2.0\",\"id\":1e2,\"method\":\"x\"}", RPC_INVALID, RPC_INVALID_REQUEST,
	      "1e2");
}

static void test_bounds_ids(void **state)
{
	char text[MAX_ID_BYTES + 128], id[MAX_ID_BYTES + 2];

	(void)state;
	memset(id, 'a', sizeof(id));
	id[0] = '"';
	id[MAX_ID_BYTES - 1] = '"';
	id[MAX_ID_BYTES] = '\0';
	snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"x\"}", id);
	check(text, RPC_REQUEST, 0, id);
	memcpy(id + MAX_ID_BYTES - 1, "a\"", 3);
	snprintf(text, sizeof(text), "{\"jsonrpc\":\"2.0\",\"id\":%s,\"method\":\"x\"}", id);
	check(text, RPC_INVALID, RPC_INVALID_REQUEST, NULL);
}

static void test_refuses_malformed_requests_with_their_id(void **state)
{
	(void)state;
	check("{\"id\":1,\"method\":\"x\"}", RPC_INVALID, RPC_INVALID_REQUEST, "1");
	check("{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"x\"}", RPC_INVALID, RPC_INVALID_REQUEST,
	      "1");
	check("{\"jsonrpc\":2.0,\"id\":1,\"method\":\"x\"}", RPC_INVALID, RPC_INVALID_REQUEST, "1");
	check("{\"jsonrpc\":\"2.0\",\"id\":1}", RPC_INVALID, RPC_INVALID_REQUEST, "1");
	check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":5}", RPC_INVALID, RPC_INVALID_REQUEST, "1");
	check("{\"jsonrpc\":\"2.0\",\"id\":1,\"Method\":\"x\"}", RPC_INVALID, RPC_INVALID_REQUEST,
	      "1");
	check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"params\":[]}", RPC_INVALID,
	      RPC_INVALID_REQUEST, "1");
	check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\",\"method\":\"y\"}", RPC_INVALID,
	      RPC_INVALID_REQUEST, "1");
	check("5", RPC_INVALID, RPC_INVALID_REQUEST, NULL);
	check("{}", RPC_INVALID, RPC_INVALID_REQUEST, NULL);
}

static void test_gives_a_parse_error_no_id(void **state)
{
	(void)state;
	check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\",\"x\":\"\xff\"}", RPC_INVALID,
	      RPC_PARSE_ERROR, NULL);
	check("nonsense", RPC_INVALID, RPC_PARSE_ERROR, NULL);
}

/* Too much for us, and yet a client waits for its answer. */
static void test_refuses_what_is_beyond_a_limit_with_its_id(void **state)
{
	_cleanup_(buf_clear) struct buf deep = BUF_INIT;
	_cleanup_(buf_clear) struct buf many = BUF_INIT;
	_cleanup_(buf_clear) struct buf last = BUF_INIT;
	char digits[100];

	(void)state;
	memset(digits, '1', sizeof(digits));
	buf_add_string(&deep, "{\"id\":\"d\",\"x\":");
	for (int i = 0; i < MAX_JSON_DEPTH; i++)
		buf_add_byte(&deep, '[');
	buf_add(&deep, "", 1);
	check(deep.data, RPC_INVALID, RPC_PARSE_ERROR, "\"d\"");
	buf_add_string(&many, "{\"id\":5,\"x\":[0");
	for (int i = 0; i < MAX_JSON_VALUES; i++)
		buf_add_string(&many, ",0");
	buf_add(&many, "]}", 3);
	check(many.data, RPC_INVALID, RPC_INVALID_REQUEST, "5");
	buf_printf(&last, "{\"x\":%.*s , \"id\" : 6 } \r", (int)sizeof(digits), digits);
	buf_add(&last, "", 1);
	check(last.data, RPC_INVALID, RPC_INVALID_REQUEST, "6");
}

/* Fills a text up to this length, and puts tail behind it. */
static void pad(struct buf *text, size_t len, char x, const char *tail)
{
	while (text->len < len)
		buf_add_byte(text, x);
	buf_add_string(text, tail);
}

static void check_found(const char *head, const char *tail, const char *id)
{
	_cleanup_(buf_clear) struct buf text = BUF_INIT;
	struct slice found;

	buf_add_string(&text, head);
	pad(&text, 200000, 'x', tail);
	found = rpc_find_id(text.data, text.len);
	if (found.len != strlen(id) || memcmp(found.data ? found.data : "", id, found.len) != 0)
		fail_msg("%s...%s: found %.*s", head, tail, (int)found.len, found.data);
}

static void test_finds_an_id_in_a_message_that_it_does_not_read(void **state)
{
	(void)state;
	check_found("{\"id\":1,\"x\":\"", "\"}", "1");
	check_found("{\"id\":\"a\\u0041\",\"x\":\"", "\",\"id\":2}", "\"a\\u0041\"");
	check_found("{\"x\":\"", "\",\"id\":-20}", "-20");
	check_found("{\"x\":\"", "\" , \"id\"\t: \"a b\" } \r", "\"a b\"");
	check_found("{\"x\":\"", "\",\"id\":\"\"}", "\"\"");
}

static void test_finds_no_id_that_may_be_something_else(void **state)
{
	(void)state;
	check_found("{\"x\":\"", ",\\\"id\\\":2\"}", "");
	check_found("{\"x\":\"", ",\\\"id\\\":\\\"2\"}", "");
	check_found("{\"x\":{\"y\":\"", "\",\"id\":2}}", "");
	check_found("{\"x\":\"", "\",\"id\":2,\"y\":3}", "");
	check_found("{\"x\":\"", "\",\"id\":2.5}", "");
	check_found("{\"x\":\"", "\",\"id\":02}", "");
	check_found("{\"x\":\"", "\",\"id\":null}", "");
	check_found("{\"x\":\"", "\",\"id\":\"a\\\"b\"}", "");
	check_found("{\"x\":\"", "\",\"id\":\"\xc3\xa9\"}", "");
	check_found("{\"x\":\"", "\",\"my id\":2}", "");
	check_found("{\"x\":\"", "{\"id\":2}", "");
	check_found("{\"x\":\"", "\",\"id\":2", "");
	check_found("[{\"x\":\"", "\",\"id\":2}", "");
	check_found("xxx", "", "");
}

/* Its digits beyond the part that is looked at are unknown. */
static void test_finds_no_half_of_a_number(void **state)
{
	_cleanup_(buf_clear) struct buf text = BUF_INIT;

	(void)state;
	buf_add_string(&text, "{\"id\":");
	pad(&text, 65530, ' ', "11111111111111111111");
	pad(&text, 70000, ' ', "");
	assert_null(rpc_find_id(text.data, text.len).data);
}

static void test_refuses_text_that_cannot_be_kept(void **state)
{
	(void)state;
	check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\\ud800\"}", RPC_INVALID,
	      RPC_INVALID_REQUEST, "1");
	check("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\\u0000\"}", RPC_INVALID,
	      RPC_INVALID_REQUEST, "1");
	check("{\"jsonrpc\":\"2.0\",\"method\":\"x\\ud800\"}", RPC_NOTIFICATION, 0, NULL);
}

static void test_takes_notifications_with_odd_params(void **state)
{
	(void)state;
	check("{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":[]}", RPC_NOTIFICATION, 0, NULL);
}

static void test_gives_params_and_meta(void **state)
{
	static const char text[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{"
				   "\"_meta\":{\"k\":\"v\"},\"n\":1}}";
	_cleanup_(rpc_clear) struct rpc_message message;

	(void)state;
	rpc_parse(text, sizeof(text) - 1, &message);
	assert_string_equal(message.method, "m");
	assert_string_equal(rpc_get_string(message.meta, "k"), "v");
	assert_null(rpc_get(message.meta, "K"));
	assert_null(rpc_get_string(message.params, "n"));
	assert_non_null(rpc_get(message.params, "n"));
	assert_null(rpc_get(NULL, "n"));
}

static void test_leaves_code_and_stdin_out_of_the_tree(void **state)
{
	static const char *const texts[] = {
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"arguments\":{"
		"\"code\":"
		"\"a\\ud800\",\"stdin\":\"b\\u0000\",\"z\":3}}}",
		"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":{\"arguments\":{"
		"\"stdin\":"
		"\"b\",\"code\":\"a\",\"z\":3}}}",
	};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		_cleanup_(rpc_clear) struct rpc_message message;
		const cJSON *arguments;

		rpc_parse(texts[i], strlen(texts[i]), &message);
		assert_int_equal(message.kind, RPC_REQUEST);
		arguments = rpc_get(message.params, "arguments");
		assert_string_equal(rpc_get_string(arguments, "code"), "");
		assert_string_equal(rpc_get_string(arguments, "stdin"), "");
		assert_int_equal(rpc_get(arguments, "z")->valueint, 3);
		assert_true(slice_is_string(message.scan.code));
	}
}

static void assert_text(const struct buf *out, const char *expected)
{
	assert_int_equal(out->error, 0);
	assert_int_equal(out->len, strlen(expected));
	assert_memory_equal(out->data, expected, out->len);
}

static void test_writes_answers(void **state)
{
	_cleanup_(buf_clear) struct buf out = BUF_INIT;
	cJSON *tree = cJSON_CreateObject();

	(void)state;
	rpc_result(&out, (struct slice){"9007199254740993", 16}, tree);
	assert_text(&out, "{\"jsonrpc\":\"2.0\",\"id\":9007199254740993,\"result\":{}}");
	buf_reset(&out);
	rpc_error(&out, (struct slice){NULL, 0}, -32700, "a \"b\"\n", NULL);
	assert_text(&out, "{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32700,\"message\":"
			  "\"a \\\"b\\\"\\n\"}}");
	buf_reset(&out);
	rpc_error(&out, (struct slice){"\"x\"", 3}, -1, "m", tree);
	assert_text(&out, "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"error\":{\"code\":-1,\"message\":"
			  "\"m\",\"data\":{}}}");
	cJSON_Delete(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorts_messages),
		cmocka_unit_test(test_keeps_ids_as_they_stand),
		cmocka_unit_test(test_refuses_other_ids),
		cmocka_unit_test(test_bounds_ids),
		cmocka_unit_test(test_refuses_malformed_requests_with_their_id),
		cmocka_unit_test(test_gives_a_parse_error_no_id),
		cmocka_unit_test(test_refuses_what_is_beyond_a_limit_with_its_id),
		cmocka_unit_test(test_finds_an_id_in_a_message_that_it_does_not_read),
		cmocka_unit_test(test_finds_no_id_that_may_be_something_else),
		cmocka_unit_test(test_finds_no_half_of_a_number),
		cmocka_unit_test(test_refuses_text_that_cannot_be_kept),
		cmocka_unit_test(test_takes_notifications_with_odd_params),
		cmocka_unit_test(test_gives_params_and_meta),
		cmocka_unit_test(test_leaves_code_and_stdin_out_of_the_tree),
		cmocka_unit_test(test_writes_answers),
	};

	return cmocka_run_group_tests_name("rpc", tests, NULL, NULL);
}
