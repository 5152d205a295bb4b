/* Unit tests of secret. Each runs in a child, for the environment is changed. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "supervisor/secret.h"
#include "tests/unit/child.h"

static char error[512];

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
	CHECK(secret_take() == SECRET_KEPT);
	CHECK(secret_present() && secret_matches("canary-one", 10));
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
	CHECK(secret_take() == SECRET_NONE);
	CHECK(!secret_present());
	environ = fake;
	CHECK(secret_take() == SECRET_NONE);
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
	CHECK(secret_take() == SECRET_UNUSABLE);
	CHECK(secret_settle(SECRET_UNUSABLE, NULL, error, sizeof(error)) == -EINVAL);
	CHECK(strstr(error, "MCP_EXEC_AUTH_TOKEN cannot be kept") != NULL);
	CHECK(!secret_present() && getenv("MCP_EXEC_AUTH_TOKEN") == NULL);
	CHECK(only_zeros(huge + 20, size - 20));
	free(huge);
}

/* Takes text as the variable's value. Returns what secret_settle says. */
static int settle_variable(const char *text)
{
	char entry[8000];
	char *fake[] = {entry, NULL};
	enum secret_state taken;

	snprintf(entry, sizeof(entry), "MCP_EXEC_AUTH_TOKEN=%s", text);
	environ = fake;
	error[0] = '\0';
	taken = secret_take();
	environ = NULL;
	return secret_settle(taken, NULL, error, sizeof(error));
}

static char path[] = "/tmp/mcp-exec-test-token-XXXXXX";

/* Writes bytes into the file and settles it. */
static int settle_bytes(const char *bytes, size_t len)
{
	FILE *file = fopen(path, "w");

	CHECK(file != NULL && fwrite(bytes, 1, len, file) == len && fclose(file) == 0);
	error[0] = '\0';
	return secret_settle(SECRET_NONE, path, error, sizeof(error));
}

static bool is_now(const char *token)
{
	bool same = secret_present() && secret_matches(token, strlen(token));

	secret_forget();
	return same;
}

static void one_newline(void)
{
	unsetenv("CREDENTIALS_DIRECTORY");
	CHECK(settle_bytes("t0ken", 5) == 0 && is_now("t0ken"));
	CHECK(settle_bytes("t0ken\n", 6) == 0 && is_now("t0ken"));
	CHECK(settle_bytes("t0ken\r\n", 7) == 0 && is_now("t0ken"));
	CHECK(settle_bytes("!~\n", 3) == 0 && is_now("!~"));
	CHECK(settle_variable("t0ken") == 0 && is_now("t0ken"));
	CHECK(settle_variable("t0ken\n") == 0 && is_now("t0ken"));
	CHECK(settle_variable("t0ken\r\n") == 0 && is_now("t0ken"));
}

static const struct {
	const char *bytes;
	size_t len;
	const char *part;
} doubtful[] = {
	{"", 0, "is empty"},
	{"\n", 1, "is empty"},
	{"\r\n", 2, "is empty"},
	{"s3cret\n\n", 8, "control character"},
	{"s3cret\r", 7, "control character"},
	{"s3cret\n\r\n", 9, "control character"},
	{"\ns3cret", 7, "control character"},
	{" s3cret", 7, "blank"},
	{"s3cret ", 7, "blank"},
	{"s3 cret", 7, "blank"},
	{"s3cret\t", 7, "control character"},
	{"s3\0cret", 7, "control character"},
	{"s3cret\x7f", 7, "control character"},
	{"s3cret\xc3\xa9", 8, "beyond ASCII"},
};

static void refuses_doubtful(void)
{
	for (size_t i = 0; i < sizeof(doubtful) / sizeof(doubtful[0]); i++) {
		CHECK(settle_bytes(doubtful[i].bytes, doubtful[i].len) == -EINVAL);
		CHECK(strstr(error, doubtful[i].part) != NULL && strstr(error, path) != NULL);
		CHECK(strstr(error, "cret") == NULL && !secret_present());
		if (strlen(doubtful[i].bytes) != doubtful[i].len || doubtful[i].len == 0)
			continue;
		CHECK(settle_variable(doubtful[i].bytes) == -EINVAL);
		CHECK(strstr(error, doubtful[i].part) != NULL && strstr(error, "cret") == NULL);
		CHECK(strstr(error, "MCP_EXEC_AUTH_TOKEN") != NULL && !secret_present());
	}
}

static void length_has_an_end(void)
{
	char text[4200];

	memset(text, 'x', sizeof(text));
	CHECK(settle_bytes(text, 4095) == 0 && secret_matches(text, 4095));
	CHECK(!secret_matches(text, 4094) && !secret_matches(text, 4096));
	secret_forget();
	text[4095] = '\n';
	CHECK(settle_bytes(text, 4096) == 0 && secret_matches(text, 4095));
	secret_forget();
	text[4095] = 'x';
	CHECK(settle_bytes(text, 4096) == -EINVAL && strstr(error, "4095") != NULL);
	CHECK(settle_bytes(text, 4200) == -EINVAL && strstr(error, "4095") != NULL);
	text[4095] = '\0';
	CHECK(settle_variable(text) == 0 && secret_matches(text, 4095));
	secret_forget();
	text[4095] = 'x';
	text[4096] = '\0';
	CHECK(settle_variable(text) == -EINVAL && !secret_present());
}

static bool refused(const char *file, const char *part)
{
	error[0] = '\0';
	return secret_settle(SECRET_NONE, file, error, sizeof(error)) == -EINVAL &&
	       strstr(error, "MCP_EXEC_AUTH_TOKEN_FILE") != NULL && strstr(error, part) != NULL &&
	       !secret_present();
}

static void refuses_what_cannot_be_read(void)
{
	unsetenv("CREDENTIALS_DIRECTORY");
	CHECK(refused("/nonexistent/token", "/nonexistent/token"));
	CHECK(refused("/tmp", "directory"));
	CHECK(refused("/dev/zero", "4095"));
	/* It may be the token in the wrong variable. */
	CHECK(refused("s3cret", "CREDENTIALS_DIRECTORY") && strstr(error, "s3cret") == NULL);
	CHECK(refused("s3/cret", "cannot be read") && strstr(error, "cret") == NULL);
	CHECK(refused("", "CREDENTIALS_DIRECTORY"));
}

static void only_one_can_be_meant(void)
{
	CHECK(settle_variable("t0ken") == 0);
	CHECK(secret_settle(SECRET_KEPT, "/dev/null", error, sizeof(error)) == -EINVAL);
	CHECK(strstr(error, "both set") != NULL && !secret_present());
	CHECK(secret_settle(SECRET_UNUSABLE, "/dev/null", error, sizeof(error)) == -EINVAL);
	CHECK(strstr(error, "both set") != NULL);
}

static char directory[] = "/tmp/mcp-exec-test-token-XXXXXX";

static void put(const char *name, const char *text)
{
	char file[128];
	FILE *out;

	snprintf(file, sizeof(file), "%s/%s", directory, name);
	out = fopen(file, "w");
	CHECK(out != NULL && fputs(text, out) >= 0 && fclose(out) == 0);
}

static void credentials(void)
{
	CHECK(setenv("CREDENTIALS_DIRECTORY", directory, 1) == 0);
	CHECK(secret_settle(SECRET_NONE, NULL, error, sizeof(error)) == 0 && !secret_present());
	put("mcp-exec-auth-token", "default\n");
	put("other", "0ther");
	CHECK(secret_settle(SECRET_NONE, NULL, error, sizeof(error)) == 0 && is_now("default"));
	CHECK(secret_settle(SECRET_NONE, "other", error, sizeof(error)) == 0 && is_now("0ther"));
	CHECK(refused("missing", "cannot be read"));
	CHECK(refused("..", "directory"));
	put("mcp-exec-auth-token", "");
	CHECK(secret_settle(SECRET_NONE, NULL, error, sizeof(error)) == -EINVAL);
	CHECK(strstr(error, "mcp-exec-auth-token is empty") != NULL);
	CHECK(setenv("CREDENTIALS_DIRECTORY", "", 1) == 0);
	CHECK(secret_settle(SECRET_NONE, NULL, error, sizeof(error)) == 0 && !secret_present());
	CHECK(setenv("CREDENTIALS_DIRECTORY", directory, 1) == 0);
	CHECK(settle_variable("t0ken") == 0 && is_now("t0ken"));
}

static void matches(void)
{
	char near[] = "t0ken-of-some-length";

	CHECK(!secret_matches("", 0) && !secret_matches("x", 1));
	CHECK(settle_variable(near) == 0);
	CHECK(secret_matches(near, strlen(near)));
	CHECK(!secret_matches(near, strlen(near) - 1) && !secret_matches("", 0));
	for (size_t i = 0; i < strlen(near); i++)
		for (int bit = 1; bit < 256; bit <<= 1) {
			near[i] = (char)(near[i] ^ bit);
			CHECK(!secret_matches(near, strlen(near)));
			near[i] = (char)(near[i] ^ bit);
		}
	CHECK(secret_matches(near, strlen(near)));
}

static void no_child_has_it(void)
{
	pid_t pid;
	int status;

	CHECK(settle_variable("t0ken") == 0);
	pid = fork();
	if (pid == 0)
		_exit(secret_matches("t0ken", 5) ? 1 : 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(secret_matches("t0ken", 5));
}

static void test_one_newline_is_not_part_of_it(void **state)
{
	(void)state;
	child_check(one_newline);
}

static void test_what_is_doubtful_is_refused_and_not_shown(void **state)
{
	(void)state;
	child_check(refuses_doubtful);
}

static void test_length_has_an_end(void **state)
{
	(void)state;
	child_check(length_has_an_end);
}

static void test_a_file_that_cannot_be_read_is_refused(void **state)
{
	(void)state;
	child_check(refuses_what_cannot_be_read);
}

static void test_variable_and_file_together_are_refused(void **state)
{
	(void)state;
	child_check(only_one_can_be_meant);
}

static void test_credentials_of_systemd(void **state)
{
	(void)state;
	child_check(credentials);
}

static void test_only_the_token_matches(void **state)
{
	(void)state;
	child_check(matches);
}

static void test_a_child_does_not_have_it(void **state)
{
	(void)state;
	child_check(no_child_has_it);
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

static int make_files(void **state)
{
	int fd = mkstemp(path);

	(void)state;
	if (fd < 0 || mkdtemp(directory) == NULL)
		return -1;
	return close(fd);
}

static int remove_files(void **state)
{
	static const char *const names[] = {"mcp-exec-auth-token", "other"};
	char file[128];

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		snprintf(file, sizeof(file), "%s/%s", directory, names[i]);
		(void)unlink(file);
	}
	(void)unlink(path);
	return rmdir(directory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_overwrites_every_occurrence_in_place),
		cmocka_unit_test(test_absent_and_empty_are_no_token),
		cmocka_unit_test(test_too_long_is_overwritten_and_not_kept),
		cmocka_unit_test(test_one_newline_is_not_part_of_it),
		cmocka_unit_test(test_what_is_doubtful_is_refused_and_not_shown),
		cmocka_unit_test(test_length_has_an_end),
		cmocka_unit_test(test_a_file_that_cannot_be_read_is_refused),
		cmocka_unit_test(test_variable_and_file_together_are_refused),
		cmocka_unit_test(test_credentials_of_systemd),
		cmocka_unit_test(test_only_the_token_matches),
		cmocka_unit_test(test_a_child_does_not_have_it),
	};

	return cmocka_run_group_tests(tests, make_files, remove_files);
}
