/* Unit tests of the tables stage and layers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/layers.h"
#include "common/stage.h"

static void test_names_each_stage_once(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < STAGE_COUNT; i++) {
		assert_true(strlen(stage_name(i)) > 0);
		assert_true(strlen(stage_what(i)) > 0);
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(stage_name(i), stage_name(j));
	}
}

static void test_keeps_names_at_their_stages(void **state)
{
	(void)state;
	assert_string_equal(stage_name(STAGE_NONE), "none");
	assert_string_equal(stage_name(STAGE_PIVOT), "pivot_root");
	assert_string_equal(stage_what(STAGE_EXEC), "starting the Python interpreter");
	assert_string_equal(stage_name(STAGE_INIT), "init");
}

static void test_says_unknown_for_a_number_that_is_no_stage(void **state)
{
	(void)state;
	assert_string_equal(stage_name(STAGE_COUNT), "unknown");
	assert_string_equal(stage_name(UINT32_MAX), "unknown");
	assert_non_null(stage_what(STAGE_COUNT));
	assert_non_null(stage_what(UINT32_MAX));
}

static void test_gives_each_layer_one_bit_and_one_name(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < LAYER_COUNT; i++) {
		assert_int_equal(layer_info(i)->bit, 1U << i);
		assert_true(strlen(layer_info(i)->what) > 0);
		for (unsigned int j = 0; j < i; j++)
			assert_string_not_equal(layer_info(i)->name, layer_info(j)->name);
	}
}

static void test_requires_all_layers_but_what_a_machine_may_lack(void **state)
{
	uint32_t all = (1U << LAYER_COUNT) - 1;

	(void)state;
	assert_int_equal(layers_required(),
			 all & ~(uint32_t)(LAYER_PROC | LAYER_HOSTNAME | LAYER_LANDLOCK));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_each_stage_once),
		cmocka_unit_test(test_keeps_names_at_their_stages),
		cmocka_unit_test(test_says_unknown_for_a_number_that_is_no_stage),
		cmocka_unit_test(test_gives_each_layer_one_bit_and_one_name),
		cmocka_unit_test(test_requires_all_layers_but_what_a_machine_may_lack),
	};

	return cmocka_run_group_tests_name("stage", tests, NULL, NULL);
}
