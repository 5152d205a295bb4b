/* Unit tests of printable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/printable.h"

static void check(size_t size, const char *text, const char *wanted)
{
	char out[16];

	memset(out, '#', sizeof(out));
	assert_ptr_equal(printable_copy(out, size, text, strlen(text)), out);
	assert_string_equal(out, wanted);
	for (size_t i = size; i < sizeof(out); i++)
		assert_int_equal(out[i], '#');
}

static void test_masks_all_but_printable_ascii(void **state)
{
	(void)state;
	check(8, " a~", " a~");
	check(8, "\x1b[1m\n", "?[1m?");
	check(8, "\x7f\xc3\xa4", "???");
}

static void test_cuts_what_does_not_fit(void **state)
{
	(void)state;
	check(8, "1234567", "1234567");
	check(8, "12345678", "1234...");
	check(8, "\n2345678901234567890", "?234...");
	check(5, "1234", "1234");
	check(4, "", "");
	check(4, "1", "1");
	check(4, "1234", "...");
}

static void test_reads_only_so_many_bytes(void **state)
{
	char out[8];

	(void)state;
	assert_string_equal(printable_copy(out, sizeof(out), "abc=d", 3), "abc");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_masks_all_but_printable_ascii),
		cmocka_unit_test(test_cuts_what_does_not_fit),
		cmocka_unit_test(test_reads_only_so_many_bytes),
	};

	return cmocka_run_group_tests_name("printable", tests, NULL, NULL);
}
