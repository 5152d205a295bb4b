/* Unit tests of listen_address. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/listen_address.h"

static char error[512];

/* The one item of a list. */
static int parse(const char *list, struct listen_address *address)
{
	error[0] = '\0';
	return listen_address_next(&list, address, error, sizeof(error));
}

static void test_takes_every_form(void **state)
{
	static const struct {
		const char *list;
		struct listen_address address;
	} good[] = {
		{":8080", {LISTEN_ANY, 8080, ""}},
		{":0", {LISTEN_ANY, 0, ""}},
		{":65535", {LISTEN_ANY, 65535, ""}},
		{"localhost:8080", {LISTEN_NAME, 8080, "localhost"}},
		{"a-b_c.example:1", {LISTEN_NAME, 1, "a-b_c.example"}},
		{"127.0.0.1:80", {LISTEN_NAME, 80, "127.0.0.1"}},
		{"0.0.0.0:80", {LISTEN_NAME, 80, "0.0.0.0"}},
		{"[::]:80", {LISTEN_BRACKET, 80, "::"}},
		{"[::1]:080", {LISTEN_BRACKET, 80, "::1"}},
		{"[::ffff:127.0.0.1]:9", {LISTEN_BRACKET, 9, "::ffff:127.0.0.1"}},
		{"[fe80::1%eth0]:9", {LISTEN_BRACKET, 9, "fe80::1%eth0"}},
		{"unix:/run/s", {LISTEN_PATH, 0, "/run/s"}},
		{"unix:/run/a:b\xc3\xa9", {LISTEN_PATH, 0, "/run/a:b\xc3\xa9"}},
	};
	struct listen_address address;

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		assert_int_equal(parse(good[i].list, &address), 1);
		assert_int_equal(address.kind, good[i].address.kind);
		assert_int_equal(address.port, good[i].address.port);
		assert_string_equal(address.text, good[i].address.text);
	}
}

static void test_reads_a_list(void **state)
{
	const char *list = " :1, localhost:2,,\t[::1]:3 unix:/s ,";
	const uint16_t ports[] = {1, 2, 3, 0};
	struct listen_address address;

	(void)state;
	for (size_t i = 0; i < sizeof(ports) / sizeof(ports[0]); i++) {
		assert_int_equal(listen_address_next(&list, &address, error, sizeof(error)), 1);
		assert_int_equal(address.port, ports[i]);
	}
	assert_int_equal(listen_address_next(&list, &address, error, sizeof(error)), 0);
	assert_int_equal(listen_address_next(&list, &address, error, sizeof(error)), 0);
	assert_int_equal(parse("", &address), 0);
	assert_int_equal(parse(" , ", &address), 0);
}

/* What is wrong, and what its sentence must say. */
static const char *const bad[][2] = {
	{"8080", "written :8080."},
	{"example", "like example:8080."},
	{"127.0.0.1", "like 127.0.0.1:8080."},
	{"/run/s", "unix:/run/s."},
	{"unix:", "full path"},
	{"unix:/", "full path"},
	{"unix:run/s", "full path"},
	{"unix:@name", "full path"},
	{"*:8080", "without the \"*\""},
	{"http://localhost:8080", "no scheme"},
	{"tcp://:8080/mcp", "no scheme"},
	{"::1", "brackets"},
	{"::1:8080", "brackets"},
	{"a:b:1", "brackets"},
	{"[::1]", "like [::1]:8080."},
	{"[::1", "\"]\" is missing"},
	{"[", "\"]\" is missing"},
	{"[::1]8080", "must stand a \":\""},
	{"[]:1", "IPv6 address"},
	{"[127.0.0.1]:1", "IPv6 address"},
	{"[localhost]:1", "IPv6 address"},
	{"[fe80::1%]:1", "IPv6 address"},
	{"[fe80::1%averyveryverylongname]:1", "IPv6 address"},
	{"[::1]:", "a port"},
	{"[::1]:x", "a port"},
	{":", "a port"},
	{":65536", "a port"},
	{":4294967376", "a port"},
	{":99999999999999999999", "a port"},
	{":-1", "a port"},
	{":+1", "a port"},
	{":http", "a port"},
	{":80/mcp", "a port"},
	{"localhost:", "a port"},
	{"127.1:80", "four numbers"},
	{"1:80", "four numbers"},
	{"256.0.0.1:80", "four numbers"},
	{"a/b:80", "no name of a host"},
	{"user@host:80", "no name of a host"},
	{"h\xc3\xb6st:80", "no name of a host"},
};

static void test_refuses_with_the_right_spelling(void **state)
{
	struct listen_address address;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(parse(bad[i][0], &address), -EINVAL);
		assert_non_null(strstr(error, bad[i][1]));
		assert_non_null(strstr(error, "MCP_EXEC_ADDR (--addr)"));
		assert_int_equal(error[strlen(error) - 1], '.');
	}
}

static void test_shows_what_it_refuses_and_no_terminal_obeys(void **state)
{
	struct listen_address address;

	(void)state;
	assert_int_equal(parse("h\x1b[1m:80", &address), -EINVAL);
	assert_non_null(strstr(error, "\"h?[1m:80\""));
	assert_int_equal(parse(":1x,:2", &address), -EINVAL);
	assert_non_null(strstr(error, "\":1x\""));
}

static void test_long_ones_are_bounded(void **state)
{
	struct listen_address address;
	char text[5000];

	(void)state;
	/* A socket's path may have 107 bytes. */
	memset(text, 'a', sizeof(text));
	memcpy(text, "unix:/", 6);
	text[5 + 107] = '\0';
	assert_int_equal(parse(text, &address), 1);
	assert_int_equal(strlen(address.text), 107);
	text[5 + 107] = 'a';
	text[5 + 108] = '\0';
	assert_int_equal(parse(text, &address), -EINVAL);
	assert_non_null(strstr(error, "108 bytes, and that of a socket may have 107"));
	/* A host 253, whatever its form. */
	memset(text, 'a', sizeof(text));
	memcpy(text + 253, ":1", 3);
	assert_int_equal(parse(text, &address), 1);
	memcpy(text + 253, "a:1", 4);
	assert_int_equal(parse(text, &address), -EINVAL);
	for (const char *first = "a/[:1u"; *first != '\0'; first++) {
		memset(text, first[0] == '1' ? '1' : 'a', sizeof(text) - 1);
		text[0] = *first;
		text[sizeof(text) - 1] = '\0';
		assert_int_equal(parse(text, &address), -EINVAL);
		assert_true(strlen(error) < sizeof(error) - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_takes_every_form),
		cmocka_unit_test(test_reads_a_list),
		cmocka_unit_test(test_refuses_with_the_right_spelling),
		cmocka_unit_test(test_shows_what_it_refuses_and_no_terminal_obeys),
		cmocka_unit_test(test_long_ones_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
