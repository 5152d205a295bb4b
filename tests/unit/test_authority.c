/* Unit tests of authority. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "supervisor/authority.h"

/* The text is copied to a block of its size, so that a sanitizer sees any byte read too far. "" stands for a refusal,
 * port included. */
static void assert_cut(const char *text, size_t len, const char *host, int port)
{
	_cleanup_free_ char *copy = malloc(len ? len : 1);
	struct authority authority;
	bool good;

	assert_non_null(copy);
	memcpy(copy, text, len);
	good = authority_parse((struct slice){copy, len}, &authority);
	if (good != (*host != '\0'))
		fail_msg("%s: \"%s\"", good ? "accepted" : "refused", text);
	if (!good)
		return;
	assert_int_equal(authority.host.len, strlen(host));
	assert_memory_equal(authority.host.data, host, strlen(host));
	assert_int_equal(authority.port, port);
}

static void assert_good(const char *text, const char *host, int port)
{
	assert_cut(text, strlen(text), host, port);
}

static void assert_bad(const char *text)
{
	assert_cut(text, strlen(text), "", 0);
}

static void test_cuts_hosts_and_ports(void **state)
{
	(void)state;
	assert_good("localhost", "localhost", AUTHORITY_NO_PORT);
	assert_good("localhost.:8080", "localhost.", 8080);
	assert_good("A-b_c~9.azAZ:0", "A-b_c~9.azAZ", 0);
	assert_good("127.0.0.1:65535", "127.0.0.1", 65535);
	assert_good("[::1]", "[::1]", AUTHORITY_NO_PORT);
	assert_good("[2001:DB8::7]:00080", "[2001:DB8::7]", 80);
	assert_good("[::ffff:192.0.2.1]:80", "[::ffff:192.0.2.1]", 80);
	assert_good("%aF%Af%09", "%aF%Af%09", AUTHORITY_NO_PORT);
	assert_good("%2Frun%2fa.sock", "%2Frun%2fa.sock", AUTHORITY_NO_PORT);
}

static void test_refuses_what_is_read_in_two_ways(void **state)
{
	static const char *const bad[] = {
		"",
		":",
		":80",
		"a:",
		"a:b",
		"a:+1",
		"a: 1",
		"a:65536",
		"a:000080",
		"a:1:2",
		"::1",
		"::1:80",
		"[::1",
		"[::1]80",
		"[::1]:",
		"[]",
		"[]:80",
		"[a]",
		"[::1%lo]",
		"[v1.a]",
		"[1.2.3.4]",
		"]",
		"[",
		"[[::1]]",
		"user@a",
		"u:p@a",
		"a/b",
		"a?b",
		"a#b",
		"a b",
		"a,b",
		"*",
		"*.example",
		"a\tb",
		"a\\b",
		"\xc3\xa9",
		"a%",
		"a%2",
		"a%2x",
		"%%41",
		"a\"",
		"a|b",
		"[0000:0000:0000:0000:0000:0000:0000:0000:00000]",
		"[0000:0000:0000:0000:0000:0000:0000:0000:000000]",
		"[0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000]"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_bad(bad[i]);
	assert_cut("a\0b", 3, "", 0);
	assert_cut("[::1\0]", 6, "", 0);
	assert_cut("[::1]\0", 6, "", 0);
	assert_cut("a:8\0", 4, "", 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cuts_hosts_and_ports),
		cmocka_unit_test(test_refuses_what_is_read_in_two_ways),
	};

	return cmocka_run_group_tests_name("authority", tests, NULL, NULL);
}
