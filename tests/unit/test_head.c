/* Unit tests of head: what is a head, and what is refused with which status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "supervisor/head.h"

#define HOST "Host: localhost\r\n"

/* The text is copied to a block of its size, so that a sanitizer sees any byte read too far. *copy is for the caller to
 * free. */
static int parse_copy(const char *text, size_t len, struct head *head, char **copy)
{
	const char *reason = NULL;
	int status;

	*copy = malloc(len ? len : 1);
	assert_non_null(*copy);
	memcpy(*copy, text, len);
	status = head_parse(*copy, len, head, &reason);
	assert_true((status == 0) == (reason == NULL));
	return status;
}

static int status_of(const char *text, size_t len)
{
	_cleanup_free_ char *copy = NULL;
	struct head head;

	return parse_copy(text, len, &head, &copy);
}

static void assert_status(const char *text, int expected)
{
	int status = status_of(text, strlen(text));

	if (status != expected)
		fail_msg("%d, not %d: %s", status, expected, text);
}

/* A head with this request line, or with these fields, else a good one. */
static void assert_line(const char *line, int expected)
{
	char text[512];

	snprintf(text, sizeof(text), "%s\r\n" HOST "\r\n", line);
	assert_status(text, expected);
}

static void assert_fields(const char *fields, int expected)
{
	char text[512];

	snprintf(text, sizeof(text), "POST /mcp HTTP/1.1\r\n%s\r\n", fields);
	assert_status(text, expected);
}

static void assert_slice(struct slice slice, const char *expected)
{
	assert_non_null(slice.data);
	assert_int_equal(slice.len, strlen(expected));
	assert_memory_equal(slice.data, expected, slice.len);
}

static void test_reads_a_head(void **state)
{
	static const char text[] = "POST /mcp?a=b?c HTTP/1.1\r\n"
				   "HOST:localhost:8080\r\n"
				   "Content-Length:  12 \r\n"
				   "X-Twice: 1\r\n"
				   "x-twice:\t \r\n"
				   "Expect: 100-Continue\r\n"
				   "Note-Z: a\tb \xc3\xa9 : c\t\r\n\r\n";
	_cleanup_free_ char *copy = NULL;
	struct head head;

	(void)state;
	assert_int_equal(parse_copy(text, strlen(text), &head, &copy), 0);
	assert_slice(head.method, "POST");
	assert_slice(head.target, "/mcp?a=b?c");
	assert_slice(head.path, "/mcp");
	assert_slice(head.query, "a=b?c");
	assert_null(head.authority.data);
	assert_int_equal(head.minor, 1);
	assert_int_equal(head.body, HEAD_BODY_LENGTH);
	assert_int_equal(head.length, 12);
	assert_true(head.expects_continue);
	assert_int_equal(head.count, 6);
	assert_slice(head_get(&head, "host"), "localhost:8080");
	assert_slice(head_get(&head, "X-TWICE"), "1");
	assert_int_equal(head_count(&head, "X-Twice"), 2);
	assert_slice(head.fields[3].value, "");
	assert_slice(head_get(&head, "nOTE-z"), "a\tb \xc3\xa9 : c");
	assert_null(head_get(&head, "X-Twic").data);
	assert_int_equal(head_count(&head, "none"), 0);
}

static void test_knows_its_methods(void **state)
{
	static const char *const known[] = {"GET",    "HEAD",	 "POST",  "PUT",
					    "DELETE", "OPTIONS", "TRACE", "PATCH"};
	char line[64];

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		snprintf(line, sizeof(line), "%s / HTTP/1.1", known[i]);
		assert_line(line, 0);
	}
	assert_line("CONNECT localhost:80 HTTP/1.1", 501);
	assert_line("get / HTTP/1.1", 501);
	assert_line("GETS / HTTP/1.1", 501);
	assert_line("GEX / HTTP/1.1", 501);
	assert_line("M-SEARCH * HTTP/1.1", 501);
	assert_line("G(T / HTTP/1.1", 400);
	assert_line("G\xc3\xa9T / HTTP/1.1", 400);
	assert_line(" / HTTP/1.1", 400);
}

static void test_knows_two_versions(void **state)
{
	(void)state;
	assert_line("GET / HTTP/1.0", 0);
	assert_line("GET / HTTP/1.1", 0);
	assert_line("GET / HTTP/1.2", 505);
	assert_line("GET / HTTP/2.0", 505);
	assert_line("PRI * HTTP/2.0", 505);
	assert_line("GET / HTTP/0.9", 400);
	assert_line("GET /", 400);
	assert_line("GET / ", 400);
	assert_line("GET / http/1.1", 400);
	assert_line("GET / HTTP/1.10", 400);
	assert_line("GET / HTTP/+1.1", 400);
	assert_line("GET / HTTP/1,1", 400);
	assert_line("GET / HTTP/1.1 ", 400);
	assert_line("GET / XHTTP/1.1", 400);
	assert_line("GET / HTTP/11", 400);
}

static void test_takes_targets_that_are_paths(void **state)
{
	(void)state;
	assert_line("GET /a/../b;c%00%zz?d=e&{} HTTP/1.1", 0);
	assert_line("GET //a HTTP/1.1", 0);
	assert_line("OPTIONS * HTTP/1.1", 0);
	assert_line("GET * HTTP/1.1", 400);
	assert_line("OPTIONS ** HTTP/1.1", 400);
	assert_line("GET  HTTP/1.1", 400);
	assert_line("GET  / HTTP/1.1", 400);
	assert_line("GET /a b HTTP/1.1", 400);
	assert_line("GET /\tHTTP/1.1", 400);
	assert_line("GET /a#b HTTP/1.1", 400);
	assert_line("GET /\x7f HTTP/1.1", 400);
	assert_line("GET /\xc3\xa9 HTTP/1.1", 400);
	assert_line("GET a HTTP/1.1", 400);
	assert_line("GET localhost:80 HTTP/1.1", 400);
	assert_line("GET ?a HTTP/1.1", 400);
}

static void test_takes_targets_in_absolute_form(void **state)
{
	static const struct {
		const char *text, *authority, *path;
	} good[] = {
		{"GET http://a:80/b/c?d HTTP/1.1\r\nHost: A:80\r\n\r\n", "a:80", "/b/c"},
		{"GET HTTPS://[::1]/ HTTP/1.1\r\nHost: [::1]\r\n\r\n", "[::1]", "/"},
		{"GET http://a HTTP/1.1\r\nHost: a\r\n\r\n", "a", "/"},
		{"GET http://a?/x HTTP/1.1\r\nHost: a\r\n\r\n", "a", "/"},
		{"GET http://a/ HTTP/1.0\r\n\r\n", "a", "/"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		_cleanup_free_ char *copy = NULL;
		struct head head;

		assert_int_equal(parse_copy(good[i].text, strlen(good[i].text), &head, &copy), 0);
		assert_slice(head.authority, good[i].authority);
		assert_slice(head.path, good[i].path);
	}
	assert_line("GET http://localhost/mcp HTTP/1.1", 0);
	assert_line("GET http://localhost:80/mcp HTTP/1.1", 400);
	assert_line("GET http://evil.example/mcp HTTP/1.1", 400);
	assert_line("GET http:///mcp HTTP/1.1", 400);
	assert_line("GET http:// HTTP/1.1", 400);
	assert_line("GET http:/mcp HTTP/1.1", 400);
	assert_line("GET http://user@localhost/mcp HTTP/1.1", 400);
	assert_line("GET http://localhost\\/mcp HTTP/1.1", 400);
	assert_line("GET ftp://localhost/mcp HTTP/1.1", 400);
	assert_line("GET xhttp://localhost/mcp HTTP/1.1", 400);
}

static void test_refuses_ends_of_lines_that_are_none(void **state)
{
	(void)state;
	assert_status("", 400);
	assert_status("\r\n", 400);
	assert_status("\r\n\r\n", 400);
	assert_status("GET / HTTP/1.1\n" HOST "\r\n", 400);
	assert_status("GET / HTTP/1.1\r\nHost: a\n\r\n", 400);
	assert_status("GET / HTTP/1.1\r\n" HOST "\n", 400);
	assert_status("GET / HTTP/1.1\r\n" HOST, 400);
	assert_status("GET / HTTP/1.1\r\r\n" HOST "\r\n", 400);
	assert_status("GET / HTTP/1.1\r\n" HOST "A: b\rC: d\r\n\r\n", 400);
	assert_status("GET / HTTP/1.1\r\n" HOST "A: b\r\r\n\r\n", 400);
	assert_status("GET / HTTP/1.1\r\n" HOST "A: b\nC: d\r\n\r\n", 400);
	assert_status("GET / HTTP/1.1\r\n" HOST "\r\nA: b\r\n\r\n", 400);
	assert_status("\r\nGET / HTTP/1.1\r\n" HOST "\r\n", 400);
	assert_status("GET / HTTP/1.1\r\n" HOST "\r\nx", 400);
}

static void test_refuses_fields_that_are_read_in_two_ways(void **state)
{
	static const char nul[] = "GET / HTTP/1.1\r\n" HOST "X-MCP-AUTH: token\0junk\r\n\r\n";

	(void)state;
	assert_int_equal(status_of(nul, sizeof(nul) - 1), 400);
	assert_fields(HOST "aAzZ09!#$%&'*+-.^_`|~: b\r\n", 0);
	assert_fields("Host:\tlocalhost\r\n", 400);
	assert_fields(HOST "Connection: \tclose\r\n", 400);
	assert_fields(HOST "A:\r\n", 0);
	assert_fields(HOST "A : b\r\n", 400);
	assert_fields(HOST "A\t: b\r\n", 400);
	assert_fields(HOST " A: b\r\n", 400);
	assert_fields(HOST "A: b\r\n c\r\n", 400);
	assert_fields(HOST "A: b\r\n\tc: d\r\n", 400);
	assert_fields(HOST ": b\r\n", 400);
	assert_fields(HOST "A\r\n", 400);
	assert_fields(HOST "A B: c\r\n", 400);
	assert_fields(HOST "A\xc3\xa9: c\r\n", 400);
	assert_fields(HOST "A(: c\r\n", 400);
	assert_fields(HOST "A: \x01\r\n", 400);
	assert_fields(HOST "A: \x1b[1m\r\n", 400);
	assert_fields(HOST "A: \x7f\r\n", 400);
	assert_fields(HOST "A: \x80\xff\r\n", 0);
}

static void test_bounds_the_fields(void **state)
{
	char text[64 + 8 * HTTP_FIELDS] = "GET / HTTP/1.1\r\n" HOST;
	size_t len = strlen(text);

	(void)state;
	for (int i = 0; i < HTTP_FIELDS - 1; i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "A: %d\r\n", i);
	snprintf(text + len, sizeof(text) - len, "\r\n");
	assert_status(text, 0);
	snprintf(text + len, sizeof(text) - len, "A:\r\n\r\n");
	assert_status(text, 431);
}

static void test_some_fields_must_be_single(void **state)
{
	static const char *const single[] = {"Content-Type: text/plain",
					     "Origin: http://localhost",
					     "Mcp-Session-Id: 1",
					     "MCP-Protocol-Version: 1",
					     "Mcp-Method: 1",
					     "Mcp-Name: 1",
					     "Expect: 100-continue",
					     "Access-Control-Request-Method: POST",
					     "Content-Length: 5",
					     "Transfer-Encoding: chunked"};
	char fields[256];

	(void)state;
	for (size_t i = 0; i < sizeof(single) / sizeof(single[0]); i++) {
		snprintf(fields, sizeof(fields), HOST "%s\r\n", single[i]);
		assert_fields(fields, 0);
		snprintf(fields, sizeof(fields), HOST "%s\r\n%s\r\n", single[i], single[i]);
		assert_fields(fields, 400);
	}
	assert_fields(HOST "mcp-name: 1\r\nMCP-NAME: 2\r\n", 400);
	assert_fields(HOST "Accept: a\r\nAccept: b\r\n", 0);
	assert_fields(HOST "X-MCP-AUTH: a\r\nX-MCP-AUTH: b\r\n", 0);
	assert_fields(HOST "Authorization: a\r\nAuthorization: b\r\n", 0);
}

static void test_wants_one_host(void **state)
{
	(void)state;
	assert_fields("Host: a\r\n", 0);
	assert_fields("Host: [::1]:80\r\n", 0);
	assert_fields("Host: %2Frun%2Fmcp.sock\r\n", 0);
	assert_fields("Host:\r\n", 0);
	assert_fields("", 400);
	assert_fields("Host: a\r\nHost: a\r\n", 400);
	assert_fields("Host: *\r\n", 400);
	assert_fields("Host: a b\r\n", 400);
	assert_fields("Host: a,b\r\n", 400);
	assert_fields("Host: a/b\r\n", 400);
	assert_fields("Host: u@a\r\n", 400);
	assert_fields("Host: a:b\r\n", 400);
	assert_fields("Host: \xc3\xa9\r\n", 400);
	assert_status("GET / HTTP/1.0\r\n\r\n", 0);
	assert_status("GET / HTTP/1.0\r\nHost: a\r\nHost: a\r\n\r\n", 400);
}

static void test_wants_one_length(void **state)
{
	(void)state;
	assert_fields(HOST "Content-Length: 0\r\n", 0);
	assert_fields(HOST "Content-Length: 18446744073709551615\r\n", 0);
	assert_fields(HOST "Content-Length: 18446744073709551616\r\n", 400);
	assert_fields(HOST "Content-Length: 99999999999999999999999\r\n", 400);
	assert_fields(HOST "Content-Length:\r\n", 400);
	assert_fields(HOST "Content-Length: +2\r\n", 400);
	assert_fields(HOST "Content-Length: -2\r\n", 400);
	assert_fields(HOST "Content-Length: 0x2\r\n", 400);
	assert_fields(HOST "Content-Length: 2 2\r\n", 400);
	assert_fields(HOST "Content-Length: 2, 2\r\n", 400);
	assert_fields(HOST "Content-Length: 2\r\nContent-Length: 2\r\n", 400);
	assert_fields(HOST "Content-Length:\t2\r\n", 400);
	assert_status("HEAD / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n", 0);
	assert_status("HEAD / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n", 400);
	assert_status("TRACE / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", 400);
	assert_status("GET / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\n", 0);
}

static void test_wants_one_encoding(void **state)
{
	(void)state;
	assert_fields(HOST "Transfer-Encoding: Chunked \r\n", 0);
	assert_fields(HOST "Transfer-Encoding: \tchunked\r\n", 400);
	assert_fields(HOST "Transfer-Encoding:\tchunked\r\n", 400);
	assert_fields(HOST "Transfer-Encoding:\r\n", 501);
	assert_fields(HOST "Transfer-Encoding: gzip, chunked\r\n", 501);
	assert_fields(HOST "Transfer-Encoding: chunked, chunked\r\n", 501);
	assert_fields(HOST "Transfer-Encoding: identity\r\n", 501);
	assert_fields(HOST "Transfer-Encoding: \"chunked\"\r\n", 501);
	assert_fields(HOST "Transfer-Encoding: xchunked\r\n", 501);
	assert_fields(HOST "Transfer-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n", 400);
	assert_fields(HOST "Transfer-Encoding: chunked\r\nContent-Length: 2\r\n", 400);
	assert_fields(HOST "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n", 400);
	assert_status("POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", 400);
}

static struct head head_of(const char *text)
{
	struct head head;
	const char *reason;

	assert_int_equal(head_parse(text, strlen(text), &head, &reason), 0);
	return head;
}

static void test_says_what_body_comes(void **state)
{
	struct head head = head_of("POST / HTTP/1.1\r\n" HOST "\r\n");

	(void)state;
	assert_int_equal(head.body, HEAD_BODY_NONE);
	head = head_of("POST / HTTP/1.1\r\n" HOST "Content-Length: 000\r\n\r\n");
	assert_int_equal(head.body, HEAD_BODY_NONE);
	head = head_of("POST / HTTP/1.1\r\n" HOST "Content-Length: 010\r\n\r\n");
	assert_int_equal(head.body, HEAD_BODY_LENGTH);
	assert_int_equal(head.length, 10);
	head = head_of("POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n");
	assert_int_equal(head.body, HEAD_BODY_CHUNKED);
	assert_int_equal(head.length, 0);
}

static void test_says_who_waits_before_the_body(void **state)
{
	struct head head =
		head_of("POST / HTTP/1.0\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");

	(void)state;
	assert_false(head.expects_continue);
	head = head_of("POST / HTTP/1.1\r\n" HOST "Expect: 100-continue\r\n\r\n");
	assert_false(head.expects_continue);
	head = head_of("POST / HTTP/1.1\r\n" HOST
		       "Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n");
	assert_true(head.expects_continue);
	assert_fields(HOST "Expect: something\r\n", 417);
	assert_fields(HOST "Expect:\r\n", 417);
	assert_fields(HOST "Expect:\t100-continue\r\n", 400);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_a_head),
		cmocka_unit_test(test_knows_its_methods),
		cmocka_unit_test(test_knows_two_versions),
		cmocka_unit_test(test_takes_targets_that_are_paths),
		cmocka_unit_test(test_takes_targets_in_absolute_form),
		cmocka_unit_test(test_refuses_ends_of_lines_that_are_none),
		cmocka_unit_test(test_refuses_fields_that_are_read_in_two_ways),
		cmocka_unit_test(test_bounds_the_fields),
		cmocka_unit_test(test_some_fields_must_be_single),
		cmocka_unit_test(test_wants_one_host),
		cmocka_unit_test(test_wants_one_length),
		cmocka_unit_test(test_wants_one_encoding),
		cmocka_unit_test(test_says_what_body_comes),
		cmocka_unit_test(test_says_who_waits_before_the_body),
	};

	return cmocka_run_group_tests_name("head", tests, NULL, NULL);
}
