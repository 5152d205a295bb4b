/* Unit tests of uses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/clock.h"
#include "supervisor/uses.h"
#include "tests/unit/damage.h"

#define NUMPY 1U
#define PANDAS 2U
#define PLOT 4U
#define STATS 8U

static struct warm_modules modules;

static int setup(void **state)
{
	(void)state;
	return warm_modules_read(&modules, "scipy.stats", NULL);
}

struct row {
	const char *code;
	uint32_t bits;
};

static void check_rows(const struct row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint32_t bits = uses_find(&modules, slice_of(rows[i].code));

		if (bits != rows[i].bits)
			fail_msg("%#x, and not %#x, of: %s", bits, rows[i].bits, rows[i].code);
	}
}

#define CHECK(rows) check_rows(rows, sizeof(rows) / sizeof((rows)[0]))

static void test_finds_import_statements(void **state)
{
	static const struct row rows[] = {
		{"import numpy", NUMPY},
		{"import numpy as np\n", NUMPY},
		{"import numpy.linalg", NUMPY},
		{"import os, numpy as np, sys , pandas", NUMPY | PANDAS},
		{"import os\nimport\tmatplotlib . pyplot as plt", PLOT},
		{"from pandas import DataFrame", PANDAS},
		{"from numpy.random import (\n a,\n b)", NUMPY},
		{"from numpy import*", NUMPY},
		{"from scipy import stats", STATS},
		{"from scipy.stats import norm", STATS},
		{"from scipy.io import loadmat", 0},
		{"import scipy", STATS},
		{"def f():\n\timport numpy", NUMPY},
		{"if x: import numpy", NUMPY},
		{"x = 1; import numpy; import pandas", NUMPY | PANDAS},
		{"try: import numpy\nexcept ImportError: import pandas", NUMPY | PANDAS},
		{"import \\\n  numpy \\\r\n , \\\r pandas", NUMPY | PANDAS},
		{"from \\\nnumpy \\\n import x", NUMPY},
		{"#!/usr/bin/env python3\r\nimport numpy\r\n", NUMPY},
		{"#\rimport numpy", NUMPY},
		{"x = 'a'\nimport numpy", NUMPY},
		{"\f import numpy", NUMPY},
	};

	(void)state;
	CHECK(rows);
}

static void test_finds_functions_that_import(void **state)
{
	static const struct row rows[] = {
		{"np = __import__('numpy')", NUMPY},
		{"importlib.import_module(\"pandas.io\")", PANDAS},
		{"import_module ( 'matplotlib' )", PLOT},
		{"__import__(name)", 0},
		{"__import__('num' + 'py')", 0},
		{"__import__(f'numpy')", 0},
		{"my__import__('numpy')", 0},
		{"__import__('x # numpy') #'", 0},
	};

	(void)state;
	CHECK(rows);
}

static void test_passes_over_what_is_no_statement(void **state)
{
	static const struct row rows[] = {
		{"", 0},
		{"# import numpy", 0},
		{"x = 1 # \\\nimport pandas", PANDAS},
		{"'import numpy'", 0},
		{"'''\nimport numpy\n'''", 0},
		{"\"\"\"\nimport numpy\n\\\"\"\"\nimport numpy\n\"\"\"\nimport pandas", PANDAS},
		{"r'\\'; import numpy'", 0},
		{"rb\"\"\"'\nimport numpy\"\"\"; import pandas", PANDAS},
		{"f'{x}; import numpy'", 0},
		{"'a\\\nimport numpy'", 0},
		{"'a\\\r\nimport numpy'", 0},
		{"''; import numpy", NUMPY},
		{"\"'\"; import numpy", NUMPY},
		{"''''''; import numpy", NUMPY},
		{"'open\nimport numpy", NUMPY},
		{"'''open\nimport numpy", 0},
		{"from . import numpy", 0},
		{"from .numpy import x", 0},
		{"import .numpy", 0},
		{"raise X from numpy", 0},
		{"(yield\nfrom numpy)", 0},
		{"x = import numpy", 0},
		{"imports numpy", 0},
		{"import_ numpy", 0},
		{"importnumpy", 0},
		{"import x as numpy", 0},
		{"import x.numpy", 0},
		{"import Numpy", 0},
		{"import numpyx", 0},
		{"import \xc3\xa4numpy", 0},
		{"import\nnumpy", 0},
		{"x = \\\nimport numpy", 0},
	};

	(void)state;
	CHECK(rows);
}

static void test_any_byte_is_allowed(void **state)
{
	static const char code[] = "\0\xff;\0import numpy\0\n;import pandas\0x";

	(void)state;
	assert_int_equal(uses_find(&modules, (struct slice){code, sizeof(code) - 1}), PANDAS);
	assert_int_equal(uses_find(&modules, (struct slice){code, 0}), 0);
}

/* A copy without a byte to spare, so that sanitizers see each one that is read behind the end. */
static void find_in_copy(const char *text, size_t len)
{
	char *copy = malloc(len ? len : 1);

	assert_non_null(copy);
	memcpy(copy, text, len);
	assert_int_equal(uses_find(&modules, (struct slice){copy, len}) & ~15U, 0);
	free(copy);
}

static void test_damaged_programs_do_no_harm(void **state)
{
	static const char good[] =
		"import os, numpy as np \\\r\n, x\nfrom a.b import c; '''t\\''' ''' # "
		"c\n\"\\\r\n\"\n"
		"__import__('a.b')\nimport_module ( \"c\" )\nr'\\'' \"\"\"x\"\"\"\\\n";
	static const char meaning[] = "\\\r\n'\"#;:,.() \tims";
	uint32_t seed = 20250101;

	(void)state;
	for (size_t len = 0; len < sizeof(good); len++)
		find_in_copy(good, len);
	for (int i = 0; i < 3000; i++) {
		char text[sizeof(good) + 40];
		size_t len = sizeof(good) - 1;

		memcpy(text, good, len);
		for (int k = 0; k < 40; k++) {
			damage(text, &len, &seed, meaning, sizeof(meaning) - 1);
			if (k % 8 == 0)
				find_in_copy(text, len);
		}
	}
}

/* What repeats without end must not be read again from each of its places. */
static void test_takes_time_by_the_length_only(void **state)
{
	static const char *const pieces[] = {"import a,",
					     "import_module('",
					     "import_module('a",
					     "import_module(\\\n",
					     "\\\n",
					     "'",
					     "\"\"\"",
					     "from a ",
					     "import ",
					     "aaaaaaaa",
					     "__import__ ",
					     "\\\r\n"};
	const size_t len = 4 << 20;
	char *code = malloc(len);

	(void)state;
	assert_non_null(code);
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		size_t piece = strlen(pieces[i]);
		uint64_t before = clock_ms();

		for (size_t at = 0; at < len; at++)
			code[at] = pieces[i][at % piece];
		uses_find(&modules, (struct slice){code, len});
		/* Some milliseconds; hours if it were quadratic. */
		if (clock_ms() - before > 10000)
			fail_msg("it takes too long to read: %s", pieces[i]);
	}
	free(code);
}

static void test_looks_at_so_many_names(void **state)
{
	char code[2 * USES_MAX_NAMES + 64] = "import ";
	size_t at = strlen(code);

	(void)state;
	for (size_t i = 1; i < USES_MAX_NAMES; i++, at += 2)
		memcpy(code + at, "a,", 2);
	memcpy(code + at, "numpy", 6);
	assert_int_equal(uses_find(&modules, slice_of(code)), NUMPY);
	memcpy(code + at, "a,numpy", 8);
	assert_int_equal(uses_find(&modules, slice_of(code)), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_import_statements),
		cmocka_unit_test(test_finds_functions_that_import),
		cmocka_unit_test(test_passes_over_what_is_no_statement),
		cmocka_unit_test(test_any_byte_is_allowed),
		cmocka_unit_test(test_damaged_programs_do_no_harm),
		cmocka_unit_test(test_takes_time_by_the_length_only),
		cmocka_unit_test(test_looks_at_so_many_names),
	};

	return cmocka_run_group_tests_name("uses", tests, setup, NULL);
}
