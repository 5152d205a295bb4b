/* Unit tests of secret. Each runs in a child, for the environment is changed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/secret.h"
#include "tests/unit/child.h"

static bool only_zeros(const char *bytes, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (bytes[i] != '\0')
			return false;
	return true;
}

static void takes_both(void)
{
	char first[] = "MCP_EXEC_AUTH_TOKEN=canary-one";
	char second[] = "MCP_EXEC_AUTH_TOKEN=canary-two";
	char other[] = "MCP_EXEC_AUTH_TOKEN_FILE=/kept";
	char *fake[] = {first, other, second, NULL};

	environ = fake;
	secret_take();
	CHECK(secret_present());
	CHECK(only_zeros(first + 20, 10) && only_zeros(second + 20, 10));
	CHECK(getenv("MCP_EXEC_AUTH_TOKEN") == NULL);
	CHECK(strcmp(getenv("MCP_EXEC_AUTH_TOKEN_FILE"), "/kept") == 0);
	secret_forget();
	CHECK(!secret_present());
}

static void takes_none(void)
{
	char empty[] = "MCP_EXEC_AUTH_TOKEN=";
	char *fake[] = {empty, NULL};

	unsetenv("MCP_EXEC_AUTH_TOKEN");
	secret_take();
	CHECK(!secret_present());
	environ = fake;
	secret_take();
	CHECK(!secret_present());
	CHECK(getenv("MCP_EXEC_AUTH_TOKEN") == NULL);
	secret_forget();
}

static void takes_huge(void)
{
	size_t size = 1024 * 1024;
	char *huge = malloc(size);
	char *fake[] = {huge, NULL};

	CHECK(huge != NULL);
	memset(huge, 'x', size - 1);
	memcpy(huge, "MCP_EXEC_AUTH_TOKEN=", 20);
	huge[size - 1] = '\0';
	environ = fake;
	secret_take();
	CHECK(!secret_present() && getenv("MCP_EXEC_AUTH_TOKEN") == NULL);
	CHECK(only_zeros(huge + 20, size - 20));
	free(huge);
}

static void test_overwrites_every_occurrence_in_place(void **state)
{
	(void)state;
	child_check(takes_both);
}

static void test_absent_and_empty_are_no_token(void **state)
{
	(void)state;
	child_check(takes_none);
}

static void test_too_long_is_overwritten_and_not_kept(void **state)
{
	(void)state;
	child_check(takes_huge);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overwrites_every_occurrence_in_place),
		cmocka_unit_test(test_absent_and_empty_are_no_token),
		cmocka_unit_test(test_too_long_is_overwritten_and_not_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
