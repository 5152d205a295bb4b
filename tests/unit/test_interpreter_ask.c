/* Unit tests of interpreter and interpreter_ask: which one is taken, and what is no answer. */
#include <limits.h>

#include "tests/unit/fd_count.h"
#include "tests/unit/shim.h"
#include "worker/interpreter_ask.h"

static bool notes(const struct interpreter_note *list, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i].path, path))
			return *list[i].why;
	return false;
}

/* Sets PATH to these directories below home. */
static void set_path(const char *first, const char *second)
{
	char path[3 * SHIM_PATH];

	snprintf(path, sizeof(path), "%s:%s:/usr/bin:/bin", first, second);
	setenv("PATH", path, 1);
}

static void test_refuses_other_versions(void **state)
{
	static const char *const versions[] = {
		"132882" /* 2.7 */,    "198400" /* 3.7 */, "262144" /* 4.0 */, "0", "", "x", "-1",
		"99999999999999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++)
		assert_int_equal(
			shim_find(shim_make("a", WORDS("version", versions[i], "executable",
						       "/usr/bin/env", "prefix", "/usr"))),
			INTERPRETER_NOT_PYTHON3);
}

static void test_refuses_an_executable_that_is_none(void **state)
{
	static const char *const programs[] = {"", "python3", "./python3", "/no/such/file",
					       "/etc/passwd"};

	(void)state;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		assert_int_equal(
			shim_find(shim_make("a", WORDS("version", SHIM_VERSION, "executable",
						       programs[i], "prefix", "/usr"))),
			INTERPRETER_NOT_RUNNABLE);
}

static void test_refuses_what_does_not_answer(void **state)
{
	static char large[2 * ASK_BYTES];

	(void)state;
	assert_int_equal(shim_find(shim_raw("a", "", 0)), INTERPRETER_NO_ANSWER);
	assert_int_equal(shim_find(shim_raw("a", "\0", 1)), INTERPRETER_NO_ANSWER);
	assert_int_equal(shim_find(shim_raw("a", "hello", 5)), INTERPRETER_NO_ANSWER);
	assert_int_equal(shim_find(shim_raw("a", "mcp-exec-answer", 16)), INTERPRETER_NO_ANSWER);
	assert_int_equal(shim_find(shim_raw("a",
					    "mcp-exec-answer\0"
					    "1",
					    17)),
			 INTERPRETER_NO_ANSWER);
	assert_int_equal(shim_find(shim_raw("a", large, sizeof(large))), INTERPRETER_NO_ANSWER);
	assert_int_equal(shim_find("/bin/true"), INTERPRETER_NO_ANSWER);
	assert_int_equal(shim_find(shim_file("text", "no program", 10, 0755)),
			 INTERPRETER_NO_ANSWER);
	assert_int_equal(shim_find(shim_file("data", "#!/bin/sh\n", 10, 0644)),
			 INTERPRETER_NOT_RUNNABLE);
	assert_int_equal(shim_find(shim_home), INTERPRETER_NOT_RUNNABLE);
}

static void test_does_not_find_what_is_not_there(void **state)
{
	(void)state;
	assert_int_equal(shim_find("/nonexistent"), INTERPRETER_NOT_FOUND);
	assert_int_equal(shim_find("no-such-program"), INTERPRETER_NOT_FOUND);
	assert_int_equal(shim_find("./python3"), INTERPRETER_NOT_FOUND);
	assert_int_equal(shim_find("bin/python3"), INTERPRETER_NOT_FOUND);
	assert_int_equal(shim_find(""), INTERPRETER_NOT_RUNNABLE);
}

static void test_takes_the_first_along_path_that_works(void **state)
{
	const char *broken, *good;
	struct interpreter found;

	(void)state;
	shim_dir("x");
	shim_dir("y");
	broken = shim_raw("x/snake", "hello", 5);
	good = shim_make("y/snake", GOOD("library", "/usr/lib"));
	set_path(shim_at("x"), shim_at("y"));
	assert_int_equal(interpreter_find("snake", &found), INTERPRETER_OK);
	assert_int_equal(found.n_passed_over, 1);
	assert_true(notes(found.passed_over, found.n_passed_over, broken));
	interpreter_clear(&found);
	set_path(shim_at("y"), shim_at("x"));
	assert_int_equal(interpreter_find("snake", &found), INTERPRETER_OK);
	assert_int_equal(found.n_passed_over, 0);
	interpreter_clear(&found);
	assert_non_null(good);
	setenv("PATH", "/usr/bin:/bin", 1);
}

static void test_ignores_relative_parts_of_path(void **state)
{
	char before[PATH_MAX];

	(void)state;
	shim_dir("x");
	shim_make("x/snake", GOOD("library", "/usr/lib"));
	assert_non_null(getcwd(before, sizeof(before)));
	assert_int_equal(chdir(shim_home), 0);
	setenv("PATH", "x:.::./x:/usr/bin:/bin", 1);
	assert_int_equal(shim_find("snake"), INTERPRETER_NOT_FOUND);
	assert_int_equal(chdir(before), 0);
	setenv("PATH", "/usr/bin:/bin", 1);
}

static void test_tells_the_reason_of_the_candidate_that_came_nearest(void **state)
{
	(void)state;
	shim_dir("x");
	shim_dir("y");
	shim_raw("x/snake", "hello", 5);
	shim_make("y/snake", GOOD("prefix", shim_home));
	set_path(shim_at("x"), shim_at("y"));
	assert_int_equal(shim_find("snake"), INTERPRETER_UNSAFE_PREFIX);
	set_path(shim_at("y"), shim_at("x"));
	assert_int_equal(shim_find("snake"), INTERPRETER_UNSAFE_PREFIX);
	setenv("PATH", "/usr/bin:/bin", 1);
}

static void test_leaves_no_descriptor_and_no_child(void **state)
{
	int before = fd_count();

	(void)state;
	assert_int_equal(shim_find(shim_make("b", GOOD("library", "/usr/lib"))), INTERPRETER_OK);
	assert_int_equal(shim_find(shim_raw("c", "hello", 5)), INTERPRETER_NO_ANSWER);
	assert_int_equal(fd_count(), before);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

static void test_answers_are_read_by_key(void **state)
{
	struct ask_answer answer = {.text = "a\0"
					    "1\0b\0"
					    "2\0a\0"
					    "3\0a",
				    .len = 14};
	size_t position = 0;

	(void)state;
	assert_string_equal(ask_get(&answer, "b"), "2");
	assert_string_equal(ask_next(&answer, "a", &position), "1");
	assert_string_equal(ask_next(&answer, "a", &position), "3");
	assert_null(ask_next(&answer, "a", &position));
	assert_null(ask_get(&answer, "c"));
	/* A value is no key. */
	assert_null(ask_get(&answer, "1"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SHIM_TEST(test_refuses_other_versions),
		SHIM_TEST(test_refuses_an_executable_that_is_none),
		SHIM_TEST(test_refuses_what_does_not_answer),
		SHIM_TEST(test_does_not_find_what_is_not_there),
		SHIM_TEST(test_takes_the_first_along_path_that_works),
		SHIM_TEST(test_ignores_relative_parts_of_path),
		SHIM_TEST(test_tells_the_reason_of_the_candidate_that_came_nearest),
		SHIM_TEST(test_leaves_no_descriptor_and_no_child),
		SHIM_TEST(test_answers_are_read_by_key),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
