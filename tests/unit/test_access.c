/* Unit tests of access: who may come in. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "supervisor/access.h"

#define TOKEN "t0ken"

static const char *const paths[] = {"/mcp", "/metrics"};

/* How often the token was compared is part of the answer's time. */
static size_t compared;

static bool token_matches(const char *data, size_t len)
{
	compared++;
	return len == strlen(TOKEN) && memcmp(data, TOKEN, len) == 0;
}

static void cleanup_access(struct access **access)
{
	access_free(*access);
}

#define _cleanup_access_ _cleanup_(cleanup_access)

static struct access *new_access(const char *origins, const char *hosts, bool token)
{
	const struct access_spec spec = {
		.origins = origins,
		.hosts = hosts,
		.token_matches = token ? token_matches : NULL,
		.paths = paths,
		.n_paths = 2,
	};
	struct access *access = NULL;
	char error[256] = "";

	if (access_new(&spec, &access, error, sizeof(error)) != 0)
		fail_msg("refused: %s", error);
	return access;
}

/* Judges a request line and fields. Returns 0 for a pass, 204 for a preflight, or the status of the refusal. */
static int judge_all(const struct access *access, enum access_place place, const char *line,
		     const char *fields, struct access_answer *answer)
{
	char text[512];
	struct head head;
	const char *reason = "";
	int len = snprintf(text, sizeof(text), "%s\r\n%s\r\n", line, fields);
	enum access_verdict verdict;

	if (head_parse(text, (size_t)len, &head, &reason) != 0)
		fail_msg("no head (%s): %s", reason, text);
	verdict = access_judge(access, &head, place, answer);
	/* It points into the text, which goes away. */
	assert_true(!answer->origin.data || slice_equal(answer->origin, head_get(&head, "Origin")));
	assert_true((verdict == ACCESS_REFUSED) == (answer->status != 0));
	assert_true((verdict == ACCESS_REFUSED) == (answer->message != NULL));
	assert_true(!answer->wrong_token || answer->status == 401);
	return verdict == ACCESS_PREFLIGHT ? 204 : answer->status;
}

static int judge(const struct access *access, enum access_place place, const char *line,
		 const char *fields)
{
	struct access_answer answer;

	return judge_all(access, place, line, fields, &answer);
}

/* --- Origin --- */

static void test_the_origin_is_judged_first(void **state)
{
	_cleanup_access_ struct access *access = new_access(NULL, NULL, true);
	static const char *const lines[] = {"POST /mcp HTTP/1.1", "GET /mcp HTTP/1.1",
					    "OPTIONS /mcp HTTP/1.1", "GET /unknown HTTP/1.1",
					    "GET /healthz HTTP/1.1"};

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_equal(judge(access, ACCESS_OPEN, lines[i],
				       "Host: a\r\nOrigin: https://evil.example\r\n"
				       "Access-Control-Request-Method: POST\r\n"),
				 403);
		assert_int_equal(judge(access, ACCESS_UNIX, lines[i],
				       "Host: a\r\nOrigin: null\r\nX-MCP-AUTH: t0ken\r\n"),
				 403);
		assert_int_equal(judge(access, ACCESS_LOOPBACK, lines[i],
				       "Host: localhost\r\nOrigin:\r\nX-MCP-AUTH: t0ken\r\n"),
				 403);
	}
}

static void test_an_allowed_origin_is_told_whatever_the_verdict(void **state)
{
	_cleanup_access_ struct access *access = new_access(NULL, NULL, true);
	static const char *const lines[] = {"POST /mcp HTTP/1.1", "GET /unknown HTTP/1.1",
					    "POST /healthz HTTP/1.1"};
	static const char fields[] = "Host: localhost\r\nOrigin: http://localhost:6274\r\n";
	struct access_answer answer;

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		assert_int_not_equal(judge_all(access, ACCESS_OPEN, lines[i], fields, &answer), 0);
		assert_non_null(answer.origin.data);
	}
	judge_all(access, ACCESS_OPEN, "GET /healthz HTTP/1.1", fields, &answer);
	assert_non_null(answer.origin.data);
	judge_all(access, ACCESS_OPEN, "GET /healthz HTTP/1.1", "Host: localhost\r\n", &answer);
	assert_null(answer.origin.data);
	judge_all(access, ACCESS_OPEN, "GET /healthz HTTP/1.1",
		  "Host: localhost\r\nOrigin: http://evil.example\r\n", &answer);
	assert_null(answer.origin.data);
}

/* --- Host --- */

/* Where a host is refused and where not: one letter for each of the three places, in the order of the enum. */
static void assert_host(const struct access *access, const char *host, const char *expected)
{
	char fields[128];
	char seen[4] = "";

	snprintf(fields, sizeof(fields), "Host: %s\r\n", host);
	for (int place = ACCESS_OPEN; place <= ACCESS_UNIX; place++) {
		int status = judge(access, (enum access_place)place, "GET /mcp HTTP/1.1", fields);

		assert_true(status == 0 || status == 403);
		seen[place] = status == 0 ? '+' : '-';
	}
	if (strcmp(seen, expected) != 0)
		fail_msg("\"%s\": %s, not %s", host, seen, expected);
}

static void test_without_a_list_hosts_are_checked_on_loopback(void **state)
{
	_cleanup_access_ struct access *access = new_access(NULL, NULL, false);

	(void)state;
	assert_host(access, "localhost", "+++");
	assert_host(access, "LOCALHOST:8080", "+++");
	assert_host(access, "localhost.:8080", "+++");
	assert_host(access, "127.0.0.1:1", "+++");
	assert_host(access, "[::1]", "+++");
	assert_host(access, "[::1]:65535", "+++");
	assert_host(access, "", "+-+");
	assert_host(access, "evil.example", "+-+");
	assert_host(access, "localhost.evil.example", "+-+");
	assert_host(access, "localhost..", "+-+");
	assert_host(access, "xlocalhost", "+-+");
	assert_host(access, "127.0.0.1.evil.example", "+-+");
	assert_host(access, "0.0.0.0", "+-+");
	assert_host(access, ".", "+-+");
}

static void test_with_a_list_hosts_are_checked_everywhere(void **state)
{
	_cleanup_access_ struct access *access = new_access(
		NULL, "mcp.Example.com, 192.0.2.7:8080 [2001:db8::7] dot.example.", false);

	(void)state;
	assert_host(access, "mcp.example.com", "+++");
	assert_host(access, "MCP.example.com:1", "+++");
	assert_host(access, "mcp.example.com.", "+++");
	assert_host(access, "dot.example", "+++");
	assert_host(access, "192.0.2.7:8080", "+++");
	assert_host(access, "[2001:DB8::7]:9", "+++");
	assert_host(access, "localhost:8080", "+++");
	assert_host(access, "192.0.2.7", "---");
	assert_host(access, "192.0.2.7:80", "---");
	assert_host(access, "example.com", "---");
	assert_host(access, "x.mcp.example.com", "---");
	assert_host(access, "evil.example", "---");
	assert_host(access, "", "---");
}

static void test_a_request_without_host_comes_from_no_browser(void **state)
{
	_cleanup_access_ struct access *access = new_access(NULL, NULL, false);
	_cleanup_access_ struct access *listed = new_access(NULL, "a", false);
	static const char line[] = "GET /mcp HTTP/1.0";

	(void)state;
	assert_int_equal(judge(access, ACCESS_LOOPBACK, line, ""), 0);
	assert_int_equal(judge(access, ACCESS_LOOPBACK, line, "Origin: http://localhost\r\n"), 403);
	assert_int_equal(judge(access, ACCESS_OPEN, line, "Origin: http://localhost\r\n"), 0);
	assert_int_equal(judge(listed, ACCESS_LOOPBACK, line, ""), 403);
	assert_int_equal(judge(listed, ACCESS_OPEN, line, ""), 403);
}

static void test_the_server_of_a_target_is_judged_as_host(void **state)
{
	_cleanup_access_ struct access *access = new_access(NULL, NULL, false);

	(void)state;
	assert_int_equal(judge(access, ACCESS_LOOPBACK, "GET http://localhost:1/mcp HTTP/1.1",
			       "Host: localhost:1\r\n"),
			 0);
	assert_int_equal(judge(access, ACCESS_LOOPBACK, "GET http://evil.example/mcp HTTP/1.1",
			       "Host: evil.example\r\n"),
			 403);
	assert_int_equal(judge(access, ACCESS_LOOPBACK, "GET http://evil.example/mcp HTTP/1.0", ""),
			 403);
	assert_int_equal(judge(access, ACCESS_LOOPBACK, "GET http://[::1]/mcp HTTP/1.0", ""), 0);
}

/* --- paths --- */

static void test_unknown_paths_need_no_token(void **state)
{
	_cleanup_access_ struct access *access = new_access(NULL, NULL, true);
	static const char *const unknown[] = {
		"/",	     "//mcp",	  "/mcp//",    "/mcp/x",
		"/MCP",	     "/mc",	  "/mcpx",     "/%6dcp",
		"/./mcp",    "/x/../mcp", "/mcp;a",    "/healthz/x",
		"/mcp%2f..", "/mcp%3Fa",  "/register", "/.well-known/oauth-protected-resource/mcp"};
	char line[128];

	(void)state;
	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		snprintf(line, sizeof(line), "POST %s?/mcp HTTP/1.1", unknown[i]);
		assert_int_equal(
			judge(access, ACCESS_OPEN, line, "Host: a\r\nContent-Length: 99\r\n"), 404);
	}
	assert_int_equal(judge(access, ACCESS_OPEN, "OPTIONS * HTTP/1.1", "Host: a\r\n"), 404);
	assert_int_equal(judge(access, ACCESS_OPEN, "GET http://a HTTP/1.1", "Host: a\r\n"), 404);
	assert_int_equal(judge(access, ACCESS_OPEN, "GET /metrics HTTP/1.1", "Host: a\r\n"), 401);
	assert_int_equal(judge(access, ACCESS_OPEN, "GET /mcp/?a HTTP/1.1", "Host: a\r\n"), 401);
	assert_int_equal(judge(access, ACCESS_LOOPBACK, "GET /x HTTP/1.1", "Host: a\r\n"), 403);
}

static void test_health_is_open_to_all(void **state)
{
	_cleanup_access_ struct access *access = new_access(NULL, "a", true);
	static const char host[] = "Host: 10.1.2.3\r\n";

	(void)state;
	assert_int_equal(judge(access, ACCESS_LOOPBACK, "GET /healthz HTTP/1.1", host), 0);
	assert_int_equal(judge(access, ACCESS_OPEN, "HEAD /healthz/?a HTTP/1.1", host), 0);
	assert_int_equal(judge(access, ACCESS_OPEN, "GET /healthz HTTP/1.0", ""), 0);
	assert_int_equal(judge(access, ACCESS_OPEN, "POST /healthz HTTP/1.1", host), 405);
	assert_int_equal(judge(access, ACCESS_OPEN, "OPTIONS /healthz HTTP/1.1", host), 405);
	assert_int_equal(judge(access, ACCESS_OPEN, "GET /healthz HTTP/1.1",
			       "Host: a\r\nContent-Length: 1\r\n"),
			 400);
	assert_int_equal(judge(access, ACCESS_OPEN, "GET /healthz HTTP/1.1",
			       "Host: a\r\nTransfer-Encoding: chunked\r\n"),
			 400);
}

/* --- preflight --- */

#define ORIGIN "Host: a\r\nOrigin: http://localhost\r\n"
#define ASKS "Access-Control-Request-Method: POST\r\n"

static void test_a_preflight_needs_no_token(void **state)
{
	_cleanup_access_ struct access *access = new_access(NULL, NULL, true);
	static const char line[] = "OPTIONS /mcp HTTP/1.1";

	(void)state;
	assert_int_equal(judge(access, ACCESS_OPEN, line, ORIGIN ASKS), 204);
	assert_int_equal(judge(access, ACCESS_OPEN, line, ORIGIN ASKS "Content-Length: 0\r\n"),
			 204);
	assert_int_equal(judge(access, ACCESS_LOOPBACK, line, ORIGIN ASKS), 403);
	assert_int_equal(judge(access, ACCESS_OPEN, line, ORIGIN), 401);
	assert_int_equal(judge(access, ACCESS_OPEN, line, "Host: a\r\n" ASKS), 401);
	assert_int_equal(judge(access, ACCESS_OPEN, line, ORIGIN ASKS "Content-Length: 1\r\n"),
			 401);
	assert_int_equal(
		judge(access, ACCESS_OPEN, line, ORIGIN ASKS "Transfer-Encoding: chunked\r\n"),
		401);
	assert_int_equal(judge(access, ACCESS_OPEN, "POST /mcp HTTP/1.1", ORIGIN ASKS), 401);
	assert_int_equal(judge(access, ACCESS_OPEN, "OPTIONS /x HTTP/1.1", ORIGIN ASKS), 404);
}

/* --- the token --- */

static void assert_token(const char *fields, int status, bool wrong)
{
	_cleanup_access_ struct access *access = new_access(NULL, NULL, true);
	static const char *const lines[] = {"POST /mcp HTTP/1.1", "GET /mcp/ HTTP/1.1",
					    "DELETE /mcp HTTP/1.1", "OPTIONS /mcp HTTP/1.1",
					    "HEAD /metrics HTTP/1.1"};
	struct access_answer answer;
	char all[256];

	snprintf(all, sizeof(all), "Host: a\r\n%s", fields);
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
		int seen = judge_all(access, ACCESS_OPEN, lines[i], all, &answer);

		if (seen != status || answer.wrong_token != wrong)
			fail_msg("%s: %d, wrong %d: %s", lines[i], seen, answer.wrong_token,
				 fields);
	}
}

static void test_takes_the_token_in_two_forms(void **state)
{
	(void)state;
	assert_token("X-MCP-AUTH: t0ken\r\n", 0, false);
	assert_token("x-mcp-auth:\tt0ken \r\n", 0, false);
	assert_token("Authorization: Bearer t0ken\r\n", 0, false);
	assert_token("Authorization: bEARER   t0ken\r\n", 0, false);
	assert_token("", 401, false);
	assert_token("X-MCP-AUTH:\r\n", 401, false);
	assert_token("Authorization:\r\n", 401, false);
	assert_token("Authorization: Bearer\r\n", 401, false);
	assert_token("Authorization: t0ken\r\n", 401, false);
	assert_token("Authorization: Basic t0ken\r\n", 401, false);
	assert_token("Authorization: Bearert0ken\r\n", 401, false);
	assert_token("Authorization: Bearer\tt0ken\r\n", 401, false);
	assert_token("X-MCP-AUTH: t0ke\r\n", 401, true);
	assert_token("X-MCP-AUTH: t0kenx\r\n", 401, true);
	assert_token("X-MCP-AUTH: T0KEN\r\n", 401, true);
	assert_token("X-MCP-AUTH: Bearer t0ken\r\n", 401, true);
	assert_token("X-MCP-AUTH: t0ken, t0ken\r\n", 401, true);
	assert_token("Authorization: Bearer t0ken t0ken\r\n", 401, true);
	assert_token("X_MCP_AUTH: t0ken\r\n", 401, false);
}

static void test_one_right_form_of_two_suffices(void **state)
{
	(void)state;
	assert_token("X-MCP-AUTH: t0ken\r\nAuthorization: Bearer t0ken\r\n", 0, false);
	assert_token("X-MCP-AUTH: t0ken\r\nAuthorization: Bearer x\r\n", 0, false);
	assert_token("X-MCP-AUTH: t0ken\r\nAuthorization: Basic x\r\n", 0, false);
	assert_token("X-MCP-AUTH: x\r\nAuthorization: Bearer t0ken\r\n", 0, false);
	assert_token("X-MCP-AUTH: x\r\nAuthorization: Bearer x\r\n", 401, true);
}

static void test_the_same_form_twice_is_refused(void **state)
{
	(void)state;
	assert_token("X-MCP-AUTH: t0ken\r\nX-MCP-AUTH: t0ken\r\n", 401, true);
	assert_token("X-MCP-AUTH: t0ken\r\nx-mcp-auth:\r\n", 401, true);
	assert_token("Authorization: Bearer t0ken\r\nAuthorization: Bearer t0ken\r\n", 401, true);
	assert_token("X-MCP-AUTH: t0ken\r\nAuthorization: a\r\nAuthorization: b\r\n", 401, true);
}

static void test_every_form_that_came_is_compared(void **state)
{
	static const char *const pairs[] = {"X-MCP-AUTH: t0ken\r\nAuthorization: Bearer x\r\n",
					    "X-MCP-AUTH: x\r\nAuthorization: Bearer t0ken\r\n",
					    "X-MCP-AUTH: x\r\nAuthorization: Bearer x\r\n"};
	_cleanup_access_ struct access *access = new_access(NULL, NULL, true);
	char fields[128];

	(void)state;
	for (size_t i = 0; i < sizeof(pairs) / sizeof(pairs[0]); i++) {
		snprintf(fields, sizeof(fields), "Host: a\r\n%s", pairs[i]);
		compared = 0;
		judge(access, ACCESS_OPEN, "POST /mcp HTTP/1.1", fields);
		assert_int_equal(compared, 2);
	}
}

static void test_without_a_token_what_is_known_passes(void **state)
{
	_cleanup_access_ struct access *access = new_access(NULL, NULL, false);

	(void)state;
	assert_int_equal(judge(access, ACCESS_OPEN, "POST /mcp HTTP/1.1", "Host: a\r\n"), 0);
	assert_int_equal(judge(access, ACCESS_OPEN, "POST /mcp HTTP/1.1",
			       "Host: a\r\nX-MCP-AUTH: x\r\nX-MCP-AUTH: x\r\n"),
			 0);
	assert_int_equal(judge(access, ACCESS_OPEN, "POST /x HTTP/1.1", "Host: a\r\n"), 404);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_the_origin_is_judged_first),
		cmocka_unit_test(test_an_allowed_origin_is_told_whatever_the_verdict),
		cmocka_unit_test(test_without_a_list_hosts_are_checked_on_loopback),
		cmocka_unit_test(test_with_a_list_hosts_are_checked_everywhere),
		cmocka_unit_test(test_a_request_without_host_comes_from_no_browser),
		cmocka_unit_test(test_the_server_of_a_target_is_judged_as_host),
		cmocka_unit_test(test_unknown_paths_need_no_token),
		cmocka_unit_test(test_health_is_open_to_all),
		cmocka_unit_test(test_a_preflight_needs_no_token),
		cmocka_unit_test(test_takes_the_token_in_two_forms),
		cmocka_unit_test(test_one_right_form_of_two_suffices),
		cmocka_unit_test(test_the_same_form_twice_is_refused),
		cmocka_unit_test(test_every_form_that_came_is_compared),
		cmocka_unit_test(test_without_a_token_what_is_known_passes),
	};

	return cmocka_run_group_tests_name("access", tests, NULL, NULL);
}
