/* Unit tests of the plan, by which a pristine interpreter locks its copies down. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/blob.h"
#include "common/limits.h"
#include "tests/unit/fd_count.h"
#include "worker/gate/plan.h"

static struct sock_filter filter_code[] = {{0x20, 0, 0, 0}, {0x15, 0, 1, 39}, {0x06, 0, 0, 7}};
static struct sock_filter noting_code[] = {{0x06, 0, 0, 9}};

/* One with something in each part. */
static struct inside made(void)
{
	struct inside inside = {.limits = {.memory_bytes = 5 * GIB,
					   .tmp_bytes = 6 * MIB,
					   .max_processes = 7,
					   .cpus = 8,
					   .max_cpu_s = 9},
				.filter = {3, filter_code},
				.noting = {1, noting_code}};

	inside.view.n = 2;
	inside.view.paths[0].target = "/usr";
	inside.view.paths[1].target = "/opt/a path of somebody's";
	return inside;
}

static void assert_same_filter(const struct sock_fprog *a, const struct sock_fprog *b)
{
	assert_int_equal(a->len, b->len);
	if (a->len)
		assert_memory_equal(a->filter, b->filter, a->len * sizeof(*a->filter));
}

static void test_what_was_written_is_read(void **state)
{
	int before = fd_count();
	struct inside inside = made();
	struct plan plan;
	int fd = plan_write(&inside, "numpy,a.b");

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(plan_read(fd, &plan), 0);
	close(fd);
	assert_memory_equal(&plan.inside.limits, &inside.limits, sizeof(inside.limits));
	assert_same_filter(&plan.inside.filter, &inside.filter);
	assert_same_filter(&plan.inside.noting, &inside.noting);
	assert_int_equal(plan.inside.view.n, 2);
	for (size_t i = 0; i < 2; i++)
		assert_string_equal(plan.inside.view.paths[i].target, inside.view.paths[i].target);
	assert_string_equal(plan.modules, "numpy,a.b");
	plan_clear(&plan);
	assert_int_equal(fd_count(), before);
}

static void test_there_may_be_no_noting_filter_no_path_and_no_module(void **state)
{
	struct inside inside = made();
	struct plan plan;
	int fd;

	(void)state;
	inside.noting = (struct sock_fprog){0};
	inside.view.n = 0;
	fd = plan_write(&inside, "");
	assert_int_equal(plan_read(fd, &plan), 0);
	assert_null(plan.inside.noting.filter);
	assert_int_equal(plan.inside.view.n, 0);
	assert_string_equal(plan.modules, "");
	plan_clear(&plan);
	close(fd);
}

/* A blob of the first len bytes of this one. */
static int cut(int fd, size_t len)
{
	struct blob_view view;
	int shorter;

	assert_int_equal(blob_view(fd, MIB, &view), 0);
	assert_true(len <= view.size);
	shorter = blob_from(view.data, len);
	blob_view_clear(&view);
	assert_true(shorter >= 0);
	return shorter;
}

static void test_one_that_was_cut_anywhere_is_refused(void **state)
{
	struct inside inside = made();
	int before = fd_count(), fd = plan_write(&inside, "numpy");
	struct blob_view view;
	struct plan plan;

	(void)state;
	assert_int_equal(blob_view(fd, MIB, &view), 0);
	for (size_t len = 0; len < view.size; len++) {
		int shorter = cut(fd, len);

		assert_int_equal(plan_read(shorter, &plan), -EPROTO);
		assert_null(plan.blob.data);
		close(shorter);
	}
	blob_view_clear(&view);
	close(fd);
	assert_int_equal(fd_count(), before);
}

static void test_one_that_can_still_be_changed_is_refused(void **state)
{
	struct inside inside = made();
	int fd = plan_write(&inside, ""), open = blob_new();
	struct blob_view view;
	struct plan plan;

	(void)state;
	assert_int_equal(blob_view(fd, MIB, &view), 0);
	assert_int_equal(write(open, view.data, view.size), view.size);
	assert_int_equal(plan_read(open, &plan), -EBADMSG);
	assert_int_equal(blob_seal(open), 0);
	assert_int_equal(plan_read(open, &plan), 0);
	plan_clear(&plan);
	blob_view_clear(&view);
	close(open);
	close(fd);
}

/* More paths than there is room for: the number stands behind the limits and the lengths of both filters. */
static void test_more_paths_than_there_is_room_for_are_refused(void **state)
{
	struct inside inside = made();
	int fd = plan_write(&inside, ""), changed;
	size_t at = sizeof(struct limits) + 2 * sizeof(uint16_t);
	uint32_t many = VIEW_MAX_PATHS + 1, had;
	struct blob_view view;
	struct plan plan;
	char bytes[4096];

	(void)state;
	assert_int_equal(blob_view(fd, sizeof(bytes), &view), 0);
	memcpy(bytes, view.data, view.size);
	memcpy(&had, bytes + at, sizeof(had));
	assert_int_equal(had, 2);
	memcpy(bytes + at, &many, sizeof(many));
	changed = blob_from(bytes, view.size);
	assert_int_equal(plan_read(changed, &plan), -EPROTO);
	close(changed);
	blob_view_clear(&view);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_written_is_read),
		cmocka_unit_test(test_there_may_be_no_noting_filter_no_path_and_no_module),
		cmocka_unit_test(test_one_that_was_cut_anywhere_is_refused),
		cmocka_unit_test(test_one_that_can_still_be_changed_is_refused),
		cmocka_unit_test(test_more_paths_than_there_is_room_for_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
