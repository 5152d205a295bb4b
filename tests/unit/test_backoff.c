/* Unit tests of backoff. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/backoff.h"

static void test_quick_deaths_wait_twice_as_long_each_time(void **state)
{
	static const uint64_t waits[] = {100, 200, 400, 800, 1600, 3200, 5000, 5000};
	struct backoff backoff = {.begun_ms = 0};
	uint64_t now = 1000000;

	(void)state;
	assert_int_equal(backoff_left(&backoff, now), 0);
	for (size_t i = 0; i < sizeof(waits) / sizeof(waits[0]); i++) {
		backoff.begun_ms = now;
		now += BACKOFF_SETTLED_MS - 1;
		backoff_note_death(&backoff, now);
		assert_int_equal(backoff_left(&backoff, now), waits[i]);
		assert_int_equal(backoff_left(&backoff, now + waits[i] - 1), 1);
		assert_int_equal(backoff_left(&backoff, now + waits[i]), 0);
	}
}

static void test_a_long_life_or_work_done_forgets_them(void **state)
{
	struct backoff backoff = {.begun_ms = 0};

	(void)state;
	backoff_note_death(&backoff, 10);
	backoff_note_death(&backoff, BACKOFF_SETTLED_MS);
	assert_int_equal(backoff_left(&backoff, BACKOFF_SETTLED_MS), 0);
	backoff_note_death(&backoff, 10);
	backoff_note_death(&backoff, 10);
	backoff.delay_ms = 0;
	backoff_note_death(&backoff, 10);
	assert_int_equal(backoff_left(&backoff, 10), BACKOFF_MIN_MS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_quick_deaths_wait_twice_as_long_each_time),
		cmocka_unit_test(test_a_long_life_or_work_done_forgets_them),
	};

	return cmocka_run_group_tests_name("backoff", tests, NULL, NULL);
}
