/* Unit tests of buf. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/buf.h"
#include "common/cleanup.h"

/* AddressSanitizer must answer an impossible request like malloc(3), not end the program. */
const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

static void assert_holds(const struct buf *buf, const char *data, size_t len)
{
	assert_int_equal(buf->error, 0);
	assert_int_equal(buf->len, len);
	assert_memory_equal(buf->data, data, len);
}

static void test_appends_bytes_strings_and_nuls_in_order(void **state)
{
	_cleanup_(buf_clear) struct buf buf = BUF_INIT;

	(void)state;
	buf_add(&buf, "a\0b", 3);
	buf_add_byte(&buf, '\0');
	buf_add_string(&buf, "cd");
	buf_add(&buf, NULL, 0);
	buf_printf(&buf, "%s=%d", "n", 42);
	buf_printf(&buf, "%s", "");
	assert_holds(&buf, "a\0b\0cdn=42", 10);
}

static void test_grows_over_many_appends(void **state)
{
	_cleanup_(buf_clear) struct buf buf = BUF_INIT;

	(void)state;
	for (int i = 0; i < 100000; i++)
		buf_add_byte(&buf, (char)(i % 251));
	assert_int_equal(buf.len, 100000);
	for (int i = 0; i < 100000; i++)
		assert_int_equal(buf.data[i], (char)(i % 251));
}

static void test_fills_up_to_the_maximum_and_no_further(void **state)
{
	_cleanup_(buf_clear) struct buf buf = {.max_bytes = 10};

	(void)state;
	buf_add_string(&buf, "12345");
	buf_printf(&buf, "%s", "67890");
	assert_holds(&buf, "1234567890", 10);
	buf_add_byte(&buf, 'x');
	assert_int_equal(buf.error, -EFBIG);
	assert_int_equal(buf.len, 10);
}

static void test_remembers_an_overflow_and_ignores_later_appends(void **state)
{
	_cleanup_(buf_clear) struct buf buf = {.max_bytes = 4};

	(void)state;
	buf_add_string(&buf, "12");
	buf_add_string(&buf, "345");
	buf_add_byte(&buf, '3');
	buf_printf(&buf, "%d", 4);
	assert_null(buf_reserve(&buf, 1));
	assert_int_equal(buf.error, -EFBIG);
	assert_int_equal(buf.len, 2);
}

static void test_refuses_lengths_that_would_wrap_around(void **state)
{
	_cleanup_(buf_clear) struct buf buf = BUF_INIT;

	(void)state;
	buf_add_string(&buf, "12345678");
	assert_null(buf_reserve(&buf, SIZE_MAX - 4));
	assert_int_equal(buf.error, -EFBIG);
}

static void test_remembers_that_memory_is_out(void **state)
{
	_cleanup_(buf_clear) struct buf buf = BUF_INIT;

	(void)state;
	buf_add_string(&buf, "kept");
	assert_null(buf_reserve(&buf, SIZE_MAX / 2 - 8));
	assert_int_equal(buf.error, -ENOMEM);
	buf_add_byte(&buf, 'x');
	assert_int_equal(buf.len, 4);
	assert_memory_equal(buf.data, "kept", 4);
}

static void test_reserves_room_that_counts_only_when_grown(void **state)
{
	_cleanup_(buf_clear) struct buf buf = BUF_INIT;
	char *place = buf_reserve(&buf, 1000);

	(void)state;
	assert_non_null(place);
	memset(place, 'r', 1000);
	assert_int_equal(buf.len, 0);
	buf_grown(&buf, 3);
	buf_add_byte(&buf, '!');
	assert_holds(&buf, "rrr!", 4);
}

static void test_consumes_from_the_front(void **state)
{
	_cleanup_(buf_clear) struct buf buf = BUF_INIT;

	(void)state;
	buf_consume(&buf, 0);
	buf_add_string(&buf, "line1\nline2");
	buf_consume(&buf, 6);
	assert_holds(&buf, "line2", 5);
	buf_consume(&buf, 5);
	assert_int_equal(buf.len, 0);
}

static void test_consuming_makes_room_below_the_maximum(void **state)
{
	_cleanup_(buf_clear) struct buf buf = {.max_bytes = 4};

	(void)state;
	buf_add_string(&buf, "1234");
	buf_consume(&buf, 2);
	buf_add_string(&buf, "56");
	assert_holds(&buf, "3456", 4);
}

static void test_reset_clears_the_error_and_keeps_the_memory(void **state)
{
	_cleanup_(buf_clear) struct buf buf = {.max_bytes = 4};
	const char *memory;

	(void)state;
	buf_add_string(&buf, "12");
	memory = buf.data;
	buf_add_string(&buf, "345");
	buf_reset(&buf);
	assert_ptr_equal(buf.data, memory);
	buf_add_string(&buf, "6789");
	assert_holds(&buf, "6789", 4);
}

static void test_is_usable_after_clear_with_the_same_maximum(void **state)
{
	_cleanup_(buf_clear) struct buf buf = {.max_bytes = 4};

	(void)state;
	buf_add_string(&buf, "12345");
	buf_clear(&buf);
	assert_null(buf.data);
	assert_int_equal(buf.error, 0);
	buf_add_string(&buf, "1234");
	assert_holds(&buf, "1234", 4);
	buf_add_byte(&buf, '5');
	assert_int_equal(buf.error, -EFBIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_appends_bytes_strings_and_nuls_in_order),
		cmocka_unit_test(test_grows_over_many_appends),
		cmocka_unit_test(test_fills_up_to_the_maximum_and_no_further),
		cmocka_unit_test(test_remembers_an_overflow_and_ignores_later_appends),
		cmocka_unit_test(test_refuses_lengths_that_would_wrap_around),
		cmocka_unit_test(test_remembers_that_memory_is_out),
		cmocka_unit_test(test_reserves_room_that_counts_only_when_grown),
		cmocka_unit_test(test_consumes_from_the_front),
		cmocka_unit_test(test_consuming_makes_room_below_the_maximum),
		cmocka_unit_test(test_reset_clears_the_error_and_keeps_the_memory),
		cmocka_unit_test(test_is_usable_after_clear_with_the_same_maximum),
	};

	return cmocka_run_group_tests_name("buf", tests, NULL, NULL);
}
