/* Unit tests of environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "policy/environment.h"

static const struct limits limits = {.cpus = 3};

/* The value of name, or NULL; fails when it stands there twice. */
static const char *value_of(char **environment, const char *name)
{
	const char *value = NULL;
	size_t len = strlen(name);

	for (size_t i = 0; environment[i]; i++)
		if (!strncmp(environment[i], name, len) && environment[i][len] == '=') {
			assert_null(value);
			value = environment[i] + len + 1;
		}
	return value;
}

static size_t count(char **environment)
{
	size_t n = 0;

	while (environment[n])
		n++;
	return n;
}

static size_t rows(void)
{
	size_t n = 0;

	while (environment_rule(n))
		n++;
	return n;
}

static void test_sets_every_row_of_the_table_once(void **state)
{
	char **environment = environment_build(&limits, "/base", "/bin/dir");

	(void)state;
	assert_non_null(environment);
	assert_int_equal(count(environment), rows());
	for (size_t i = 0; i < rows(); i++) {
		const struct environment_rule *rule = environment_rule(i);
		const char *value = value_of(environment, rule->name);

		assert_non_null(value);
		if (rule->value)
			assert_string_equal(value, rule->value);
		assert_true(rule->why && *rule->why);
	}
	environment_free(environment);
}

static void test_inherits_nothing(void **state)
{
	(void)state;
	setenv("SECRET", "canary", 1);
	setenv("LANG", "canary", 1);
	setenv("PYTHONPATH", "/canary", 1);
	setenv("LD_PRELOAD_X", "/canary", 1);

	char **environment = environment_build(&limits, NULL, NULL);

	assert_non_null(environment);
	for (size_t i = 0; environment[i]; i++)
		assert_null(strstr(environment[i], "canary"));
	environment_free(environment);
}

static void test_knows_no_variable_that_changes_what_is_loaded(void **state)
{
	static const char *const names[] = {"LD_PRELOAD",
					    "LD_LIBRARY_PATH",
					    "PYTHONPATH",
					    "PYTHONHOME",
					    "PYTHONSTARTUP",
					    "PYTHONHASHSEED",
					    "PYTHONDONTWRITEBYTECODE"};
	char **environment = environment_build(&limits, "/base", "/bin/dir");

	(void)state;
	assert_non_null(environment);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		assert_null(value_of(environment, names[i]));
	environment_free(environment);
}

static void test_grants_one_thread_for_each_cpu(void **state)
{
	char **environment = environment_build(&limits, NULL, NULL);

	(void)state;
	assert_non_null(environment);
	assert_string_equal(value_of(environment, "OMP_NUM_THREADS"), "3");
	assert_string_equal(value_of(environment, "OPENBLAS_NUM_THREADS"), "3");
	environment_free(environment);
}

static void test_puts_the_interpreter_s_directory_before_the_system_s(void **state)
{
	char **plain = environment_build(&limits, NULL, NULL);
	char **own = environment_build(&limits, NULL, "/home/a b/venv/bin");

	(void)state;
	assert_non_null(plain);
	assert_non_null(own);
	assert_string_equal(value_of(plain, "PATH"), "/usr/local/bin:/usr/bin:/bin");
	assert_string_equal(value_of(own, "PATH"),
			    "/home/a b/venv/bin:/usr/local/bin:/usr/bin:/bin");
	environment_free(plain);
	environment_free(own);
}

static void test_names_the_user_s_packages_only_when_they_are_shown(void **state)
{
	char **without = environment_build(&limits, NULL, NULL);
	char **with = environment_build(&limits, "/home/x/.local", NULL);

	(void)state;
	assert_non_null(without);
	assert_non_null(with);
	assert_null(value_of(without, "PYTHONUSERBASE"));
	assert_string_equal(value_of(with, "PYTHONUSERBASE"), "/home/x/.local");
	assert_int_equal(count(with), count(without) + 1);
	environment_free(without);
	environment_free(with);
}

static void test_frees_nothing_when_there_is_nothing(void **state)
{
	(void)state;
	environment_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sets_every_row_of_the_table_once),
		cmocka_unit_test(test_inherits_nothing),
		cmocka_unit_test(test_knows_no_variable_that_changes_what_is_loaded),
		cmocka_unit_test(test_grants_one_thread_for_each_cpu),
		cmocka_unit_test(test_puts_the_interpreter_s_directory_before_the_system_s),
		cmocka_unit_test(test_names_the_user_s_packages_only_when_they_are_shown),
		cmocka_unit_test(test_frees_nothing_when_there_is_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
