/* Unit tests of access: what may stand in its lists, and which origins they allow. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>

#include "common/cleanup.h"
#include "supervisor/access.h"

/* Reads both lists; error has the sentence, empty when they were taken. */
static int read_lists(const char *origins, const char *hosts, char *error, size_t size)
{
	const struct access_spec spec = {.origins = origins, .hosts = hosts};
	struct access *access = NULL;
	int r;

	*error = '\0';
	r = access_new(&spec, &access, error, size);
	assert_true((r == 0) == (access != NULL));
	assert_true((r == 0) == (*error == '\0'));
	access_free(access);
	return r;
}

/* The sentence names the variable and what is wrong, and shows a right one, which is taken. */
static void assert_sentence(const char *error, const char *variable, const char *entry,
			    const char *right)
{
	assert_memory_equal(error, variable, strlen(variable));
	if (!strstr(error, entry) || !strstr(error, right) || error[strlen(error) - 1] != '.')
		fail_msg("\"%s\": %s", entry, error);
}

static void test_takes_lists(void **state)
{
	static const char *const origins[] = {
		NULL, "", " ,\t, ", "https://app.example.com",
		",https://a,,http://b:8080 aAzZ+-.09://f\thttp://[::1],"};
	static const char *const hosts[] = {
		NULL, "", ", ", "a", "mcp.example.com, 192.0.2.7:8080 [2001:db8::7],[::1]:1\tb."};
	char error[256];

	(void)state;
	for (size_t i = 0; i < sizeof(origins) / sizeof(origins[0]); i++)
		if (read_lists(origins[i], hosts[i], error, sizeof(error)) != 0)
			fail_msg("refused: %s", error);
}

static void test_refuses_what_is_no_origin(void **state)
{
	static const char *const bad[] = {"*",
					  "null",
					  "app.example.com",
					  "https://",
					  "https://*",
					  "https://*.example.com",
					  "https://a/",
					  "https://a/b",
					  "https://a?b",
					  "https://a:",
					  "https://a:b",
					  "https://u@a",
					  "app.example.com:443",
					  "//a",
					  "1a://b",
					  "a_b://c",
					  "https:a",
					  "https://::1"};
	char text[64];
	char error[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "https://good, %s", bad[i]);
		if (read_lists(text, "a", error, sizeof(error)) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
		assert_sentence(error, "MCP_EXEC_ALLOWED_ORIGINS (--allowed-origins) has \"",
				bad[i], "https://app.example.com.");
	}
}

static void test_refuses_what_is_no_host(void **state)
{
	static const char *const bad[] = {"*",	 "*.example.com", "https://a", "a/b",
					  "::1", "[::1",	  "a:",	       "a:b",
					  ":80", "u@a",		  "10.0.0.0/8"};
	char text[64];
	char error[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(text, sizeof(text), "good %s", bad[i]);
		if (read_lists("https://a", text, error, sizeof(error)) != -EINVAL)
			fail_msg("taken: %s", bad[i]);
		assert_sentence(error, "MCP_EXEC_ALLOWED_HOSTS (--allowed-hosts) has \"", bad[i],
				"mcp.example.com");
	}
}

static void test_an_entry_is_shown_as_a_terminal_may_have_it(void **state)
{
	char text[512] = "";
	char error[256];

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	assert_int_equal(read_lists(text, NULL, error, sizeof(error)), -EINVAL);
	assert_sentence(error, "MCP_EXEC_ALLOWED_ORIGINS (--allowed-origins) has \"", "aaa...\"",
			"https://app.example.com.");
	assert_int_equal(read_lists("https://\xc3\xa9\x1b", NULL, error, sizeof(error)), -EINVAL);
	assert_sentence(error, "MCP_EXEC_ALLOWED_ORIGINS (--allowed-origins) has \"",
			"https://???\"", "https://app.example.com.");
}

static void cleanup_access(struct access **access)
{
	access_free(*access);
}

static struct access *new_access(const char *origins)
{
	const struct access_spec spec = {.origins = origins};
	struct access *access = NULL;
	char error[256] = "";

	if (access_new(&spec, &access, error, sizeof(error)) != 0)
		fail_msg("refused: %s", error);
	return access;
}

static void assert_origins(const struct access *access, const char *const *origins, size_t count,
			   bool allowed)
{
	for (size_t i = 0; i < count; i++)
		if (access_origin_allowed(access, origins[i], strlen(origins[i])) != allowed)
			fail_msg("%s: %s", allowed ? "refused" : "allowed", origins[i]);
}

#define ASSERT_ORIGINS(access, allowed, ...)                                                       \
	do {                                                                                       \
		static const char *const list_[] = {__VA_ARGS__};                                  \
		assert_origins(access, list_, sizeof(list_) / sizeof(list_[0]), allowed);          \
	} while (0)

static void test_pages_of_this_machine_are_allowed(void **state)
{
	_cleanup_(cleanup_access) struct access *access = new_access("");

	(void)state;
	ASSERT_ORIGINS(access, true, "http://localhost", "https://localhost", "http://localhost:80",
		       "http://localhost:65535", "http://127.0.0.1:6274", "https://[::1]:1",
		       "http://[::1]", "HTTP://LocalHost");
	ASSERT_ORIGINS(access, false, "", "null", "*", "localhost", "http://", "http:localhost",
		       "http//localhost", "//localhost", "://localhost", "file://localhost",
		       "vscode-webview://localhost", "http://localhost/",
		       "http://localhost:", "http://localhost:x", "http://localhost:65536",
		       "http://localhost.", "http://localhost.evil.example", "http://evil.example",
		       "http://evil.example#localhost", "http://localhost@evil.example",
		       "http://evil.example:80@localhost", "http://127.0.0.1.evil.example",
		       "http://127.0.0.2", "http://0.0.0.0", "http://[::]", "http://::1",
		       "http://xlocalhost", "http://localhostx", "http://localhos",
		       "http://localhost http://localhost", "http://localhost, http://localhost",
		       " http://localhost", "http://localhost ", "http://localhost\xff",
		       "1http://localhost", "h\xc3\xa9p://localhost", "http://a://localhost");
	assert_false(access_origin_allowed(access, "http://localhost\0", 17));
	assert_false(access_origin_allowed(access, NULL, 0));
}

static void test_listed_origins_are_allowed(void **state)
{
	_cleanup_(cleanup_access) struct access *access =
		new_access(" https://App.example.com,http://b:80\tvscode-webview://0ab , "
			   "https://c:8443,https://[2001:db8::7]");

	(void)state;
	ASSERT_ORIGINS(access, true, "https://app.example.com", "https://APP.example.com",
		       "https://app.example.com:443", "http://b", "http://b:80",
		       "vscode-webview://0ab", "https://c:8443", "https://[2001:db8::7]",
		       "http://localhost:1");
	ASSERT_ORIGINS(access, false, "http://app.example.com", "https://app.example.com:80",
		       "https://app.example.com:8443", "https://xapp.example.com",
		       "https://app.example.com.", "https://example.com", "https://b",
		       "http://b:81", "vscode-webview://0ab:80", "vscode-webview://0a", "https://c",
		       "https://c:443", "null", "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_takes_lists),
		cmocka_unit_test(test_refuses_what_is_no_origin),
		cmocka_unit_test(test_refuses_what_is_no_host),
		cmocka_unit_test(test_an_entry_is_shown_as_a_terminal_may_have_it),
		cmocka_unit_test(test_pages_of_this_machine_are_allowed),
		cmocka_unit_test(test_listed_origins_are_allowed),
	};

	return cmocka_run_group_tests_name("access_lists", tests, NULL, NULL);
}
