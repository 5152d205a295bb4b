/* Unit tests of rlimits. Limits are set in children, since they cannot be raised again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/mechanism.h"
#include "policy/rlimits.h"
#include "tests/unit/child.h"

static const struct limits limits = {.memory_bytes = MEMORY_BYTES,
				     .tmp_bytes = 8 * MIB,
				     .max_processes = 77,
				     .cpus = 1,
				     .max_cpu_s = 5};

static struct rlimit value_for(int resource, const struct limits *given)
{
	const struct rlimit_rule *rule;

	for (size_t i = 0; (rule = rlimits_rule(i)); i++)
		if (rule->resource == resource)
			return rlimits_value(i, given);
	fail_msg("no row for resource %d", resource);
	return (struct rlimit){0};
}

static void test_each_resource_has_one_row_and_a_reason(void **state)
{
	const struct rlimit_rule *a, *b;

	(void)state;
	for (size_t i = 0; (a = rlimits_rule(i)); i++) {
		assert_true(*a->name && *a->why);
		for (size_t j = i + 1; (b = rlimits_rule(j)); j++)
			assert_int_not_equal(a->resource, b->resource);
	}
}

static void test_no_soft_limit_is_above_its_hard_one(void **state)
{
	(void)state;
	for (size_t i = 0; rlimits_rule(i); i++) {
		struct rlimit value = rlimits_value(i, &limits);

		assert_true(value.rlim_cur <= value.rlim_max);
		assert_true(value.rlim_max != RLIM_INFINITY);
	}
}

static void test_follows_what_was_configured(void **state)
{
	(void)state;
	assert_int_equal(value_for(RLIMIT_CPU, &limits).rlim_cur, 5);
	assert_int_equal(value_for(RLIMIT_CPU, &limits).rlim_max, 6);
	assert_int_equal(value_for(RLIMIT_NPROC, &limits).rlim_max, 77);
	assert_int_equal(value_for(RLIMIT_FSIZE, &limits).rlim_max, 8 * MIB);
	assert_int_equal(value_for(RLIMIT_NOFILE, &limits).rlim_max, MAX_OPEN_FILES);
}

static void test_a_core_goes_neither_to_a_file_nor_to_a_handler(void **state)
{
	(void)state;
	assert_int_equal(value_for(RLIMIT_CORE, &limits).rlim_cur, 1);
	assert_int_equal(value_for(RLIMIT_CORE, &limits).rlim_max, 1);
}

static void test_memory_is_not_limited_by_address_space(void **state)
{
	const struct rlimit_rule *rule;

	(void)state;
	for (size_t i = 0; (rule = rlimits_rule(i)); i++)
		assert_int_not_equal(rule->resource, RLIMIT_AS);
}

static void test_first_data_limit_leaves_room_for_reservations(void **state)
{
	struct limits small = limits;

	(void)state;
	small.memory_bytes = MIN_MEMORY_BYTES;
	assert_int_equal(value_for(RLIMIT_DATA, &small).rlim_cur, 200 * MIB);
	assert_int_equal(value_for(RLIMIT_DATA, &limits).rlim_cur, rlimits_data_budget(&limits));
	assert_true(value_for(RLIMIT_DATA, &small).rlim_max >= 2 * GIB);
}

/* Who is to refuse says so; who counts nothing exactly leaves room. */
static void test_leaves_to_a_cgroup_what_it_holds(void **state)
{
	struct limits by_cgroup = limits;

	(void)state;
	by_cgroup.by_cgroup = BY_CGROUP_MEMORY;
	assert_int_equal(value_for(RLIMIT_DATA, &by_cgroup).rlim_cur, MEMORY_BYTES + 2 * GIB);
	assert_int_equal(value_for(RLIMIT_NPROC, &by_cgroup).rlim_cur, 77);
	by_cgroup.by_cgroup = BY_CGROUP_PROCESSES;
	assert_int_equal(value_for(RLIMIT_DATA, &by_cgroup).rlim_cur,
			 value_for(RLIMIT_DATA, &limits).rlim_cur);
	assert_in_range(value_for(RLIMIT_NPROC, &by_cgroup).rlim_cur, 78, 100);
}

static void test_data_budget_is_a_little_below_the_memory(void **state)
{
	(void)state;
	assert_in_range(rlimits_data_budget(&limits), MEMORY_BYTES / 100 * 95, MEMORY_BYTES - 1);
}

static bool is_in_force(size_t row)
{
	struct rlimit want = rlimits_value(row, &limits), now;

	/* A hard limit may have been lower before. */
	return !getrlimit((__rlimit_resource_t)rlimits_rule(row)->resource, &now) &&
	       now.rlim_max <= want.rlim_max && now.rlim_cur <= want.rlim_cur;
}

/* In a child: which row (from 1) is not in force after rlimits_apply, and rlimits_apply_program. */
static int row_not_in_force(void)
{
	if (rlimits_apply(&limits) < 0)
		return 254;
	for (size_t i = 0; rlimits_rule(i); i++)
		if (!rlimits_rule(i)->program_only && !is_in_force(i))
			return (int)i + 1;
	if (rlimits_apply_program(&limits) < 0)
		return 255;
	for (size_t i = 0; rlimits_rule(i); i++)
		if (!is_in_force(i))
			return (int)i + 1;
	return 0;
}

/* In a child: the same by the way of a copy, which has its interpreter's bounds already. Only the moved limit is as high
 * as it may be: what is reserved already may be beyond its first value. */
static int row_of_copy_not_in_force(void)
{
	if (rlimits_apply(&limits) < 0 || rlimits_apply_pristine(&limits) < 0 ||
	    rlimits_apply_copy(&limits) < 0)
		return 255;
	for (size_t i = 0; rlimits_rule(i); i++) {
		struct rlimit now;

		if (rlimits_rule(i)->resource != RLIMIT_DATA) {
			if (!is_in_force(i))
				return (int)i + 1;
			continue;
		}
		if (getrlimit(RLIMIT_DATA, &now) || now.rlim_cur != now.rlim_max ||
		    now.rlim_max > rlimits_value(i, &limits).rlim_max)
			return (int)i + 1;
	}
	return 0;
}

/* In a child: a pristine interpreter is bounded in what it reserves, and not in CPU time, which its copies would have
 * less of. */
static int bounds_of_pristine(void)
{
	struct rlimit data, cpu, before;

	if (getrlimit(RLIMIT_CPU, &before) || rlimits_apply(&limits) < 0 ||
	    rlimits_apply_pristine(&limits) < 0 || getrlimit(RLIMIT_DATA, &data) ||
	    getrlimit(RLIMIT_CPU, &cpu))
		return 1;
	if (data.rlim_max > value_for(RLIMIT_DATA, &limits).rlim_max ||
	    data.rlim_cur != data.rlim_max)
		return 2;
	return cpu.rlim_max == before.rlim_max && cpu.rlim_cur == before.rlim_cur ? 0 : 3;
}

static int keeps_a_lower_hard_limit(void)
{
	static const struct rlimit low = {50, 60};
	struct rlimit now;

	if (setrlimit(RLIMIT_NOFILE, &low) || rlimits_apply(&limits) < 0 ||
	    getrlimit(RLIMIT_NOFILE, &now))
		return 1;
	return now.rlim_max == 60 && now.rlim_cur == 60 ? 0 : 2;
}

static void test_apply_sets_every_row(void **state)
{
	(void)state;
	assert_int_equal(child_run(row_not_in_force), 0);
}

static void test_a_copy_has_every_row_too(void **state)
{
	(void)state;
	assert_int_equal(child_run(row_of_copy_not_in_force), 0);
}

static void test_a_pristine_interpreter_is_bounded(void **state)
{
	(void)state;
	assert_int_equal(child_run(bounds_of_pristine), 0);
}

static void test_apply_never_raises(void **state)
{
	(void)state;
	assert_int_equal(child_run(keeps_a_lower_hard_limit), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_resource_has_one_row_and_a_reason),
		cmocka_unit_test(test_no_soft_limit_is_above_its_hard_one),
		cmocka_unit_test(test_follows_what_was_configured),
		cmocka_unit_test(test_a_core_goes_neither_to_a_file_nor_to_a_handler),
		cmocka_unit_test(test_memory_is_not_limited_by_address_space),
		cmocka_unit_test(test_first_data_limit_leaves_room_for_reservations),
		cmocka_unit_test(test_leaves_to_a_cgroup_what_it_holds),
		cmocka_unit_test(test_data_budget_is_a_little_below_the_memory),
		cmocka_unit_test(test_apply_sets_every_row),
		cmocka_unit_test(test_a_copy_has_every_row_too),
		cmocka_unit_test(test_a_pristine_interpreter_is_bounded),
		cmocka_unit_test(test_apply_never_raises),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
