/* Unit tests of warm. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/warm.h"

static uint32_t match(const struct warm_modules *modules, const char *dotted)
{
	return warm_modules_match(modules, dotted, strlen(dotted));
}

static void test_knows_three_modules(void **state)
{
	struct warm_modules modules;
	const char *bad = "x";

	(void)state;
	assert_int_equal(warm_modules_read(&modules, "", &bad), 0);
	assert_null(bad);
	assert_int_equal(modules.n, WARM_KNOWN);
	assert_int_equal(modules.always, 0);
	assert_string_equal(modules.at[0].name, "numpy");
	assert_string_equal(modules.at[0].import, "numpy");
	assert_string_equal(modules.at[1].name, "pandas");
	assert_string_equal(modules.at[2].name, "matplotlib");
	assert_string_equal(modules.at[2].import, "matplotlib.pyplot");
	assert_int_equal(warm_modules_read(&modules, " ,\t, ", NULL), 0);
	assert_int_equal(modules.n, WARM_KNOWN);
}

static void test_adds_what_the_operator_names(void **state)
{
	struct warm_modules modules;

	(void)state;
	assert_int_equal(warm_modules_read(&modules, "scipy.stats, _a1,numpy,scipy.stats ,B", NULL),
			 0);
	assert_int_equal(modules.n, WARM_KNOWN + 3);
	assert_string_equal(modules.at[3].name, "scipy.stats");
	assert_string_equal(modules.at[3].import, "scipy.stats");
	assert_string_equal(modules.at[4].name, "_a1");
	assert_string_equal(modules.at[5].name, "B");
	assert_int_equal(modules.always, 1 << 0 | 1 << 3 | 1 << 4 | 1 << 5);
}

static void test_a_known_name_keeps_what_it_imports(void **state)
{
	struct warm_modules modules;

	(void)state;
	assert_int_equal(warm_modules_read(&modules, "matplotlib", NULL), 0);
	assert_int_equal(modules.n, WARM_KNOWN);
	assert_int_equal(modules.always, 1 << 2);
	assert_string_equal(modules.at[2].import, "matplotlib.pyplot");
}

static void test_refuses_what_is_no_name(void **state)
{
	static const char *const names[] = {"1a",  ".",	  "a.",	 ".a",	 "a..b", "a.1",	     "a-b",
					    "a/b", "a;b", "a'b", "a\nb", "*",	 "\xc3\xa4", "a=b"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct warm_modules modules;
		const char *bad;
		char text[32];

		snprintf(text, sizeof(text), "a, %s,b", names[i]);
		if (warm_modules_read(&modules, text, &bad) != -EINVAL)
			fail_msg("%s was taken", names[i]);
		assert_ptr_equal(bad, text + 3);
	}
}

static void test_is_bounded(void **state)
{
	struct warm_modules modules;
	char text[WARM_NAME_BYTES + 1];
	char many[256] = "numpy,pandas,";
	const char *bad;

	(void)state;
	memset(text, 'a', sizeof(text));
	text[WARM_NAME_BYTES] = '\0';
	assert_int_equal(warm_modules_read(&modules, text, &bad), -ENAMETOOLONG);
	assert_ptr_equal(bad, text);
	text[WARM_NAME_BYTES - 1] = '\0';
	assert_int_equal(warm_modules_read(&modules, text, NULL), 0);
	assert_string_equal(modules.at[3].name, text);
	for (int i = 0; i < WARM_PRELOADS_MAX; i++)
		snprintf(many + strlen(many), sizeof(many) - strlen(many), "m%d,", i);
	assert_int_equal(warm_modules_read(&modules, many, NULL), 0);
	assert_int_equal(modules.n, WARM_MODULES_MAX);
	strncat(many, "m0,last", sizeof(many) - strlen(many) - 1);
	assert_int_equal(warm_modules_read(&modules, many, &bad), -E2BIG);
	assert_string_equal(bad, "last");
}

static void test_finds_what_an_import_may_want(void **state)
{
	struct warm_modules modules;

	(void)state;
	assert_int_equal(warm_modules_read(&modules, "scipy.stats,scipy.io", NULL), 0);
	assert_int_equal(match(&modules, "numpy"), 1 << 0);
	assert_int_equal(match(&modules, "numpy.linalg"), 1 << 0);
	assert_int_equal(match(&modules, "matplotlib.pyplot"), 1 << 2);
	assert_int_equal(match(&modules, "scipy"), 1 << 3 | 1 << 4);
	assert_int_equal(match(&modules, "scipy.stats"), 1 << 3);
	assert_int_equal(match(&modules, "scipy.stats.qmc"), 1 << 3);
	assert_int_equal(match(&modules, "scipy.stat"), 0);
	assert_int_equal(match(&modules, "scipy.statsx"), 0);
	assert_int_equal(match(&modules, "nump"), 0);
	assert_int_equal(match(&modules, "numpy2"), 0);
	assert_int_equal(match(&modules, "x.numpy"), 0);
	assert_int_equal(match(&modules, ""), 0);
	assert_int_equal(warm_modules_match(&modules, "numpyx", 5), 1 << 0);
}

static void test_lists_names(void **state)
{
	struct warm_modules modules;
	char list[WARM_LIST_BYTES], many[2 * WARM_NAME_BYTES + 2];

	(void)state;
	assert_int_equal(warm_modules_read(&modules, "a.b", NULL), 0);
	warm_modules_list(&modules, 0, list);
	assert_string_equal(list, "none");
	warm_modules_list(&modules, 1 << 1, list);
	assert_string_equal(list, "pandas");
	warm_modules_list(&modules, 1 << 0 | 1 << 2 | 1 << 3, list);
	assert_string_equal(list, "numpy,matplotlib,a.b");
	memset(many, 'a', sizeof(many));
	many[WARM_NAME_BYTES - 1] = ',';
	many[WARM_NAME_BYTES] = 'b';
	many[2 * WARM_NAME_BYTES - 1] = '\0';
	assert_int_equal(warm_modules_read(&modules, many, NULL), 0);
	/* Both fit; with a third one that does not, it is told. */
	warm_modules_list(&modules, 3 << 3, list);
	assert_string_equal(list, many);
	memcpy(modules.at[0].name, modules.at[3].name, WARM_NAME_BYTES);
	warm_modules_list(&modules, 1 | 3 << 3, list);
	assert_string_equal(list + 2 * WARM_NAME_BYTES - 1, ",...");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_knows_three_modules),
		cmocka_unit_test(test_adds_what_the_operator_names),
		cmocka_unit_test(test_a_known_name_keeps_what_it_imports),
		cmocka_unit_test(test_refuses_what_is_no_name),
		cmocka_unit_test(test_is_bounded),
		cmocka_unit_test(test_lists_names),
		cmocka_unit_test(test_finds_what_an_import_may_want),
	};

	return cmocka_run_group_tests_name("warm", tests, NULL, NULL);
}
