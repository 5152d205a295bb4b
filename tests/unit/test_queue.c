/* Unit tests of queue. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/queue.h"

static struct call calls[4];

static void fill(struct queue *queue, size_t n)
{
	queue_init(queue, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(queue_push(queue, &calls[i]), 0);
}

/* Takes everything out and compares it, in order, with the places in calls. */
static void assert_holds(struct queue *queue, const int *places, size_t n)
{
	assert_int_equal(queue->length, n);
	for (size_t i = 0; i < n; i++)
		assert_ptr_equal(queue_pop(queue), &calls[places[i]]);
	assert_null(queue_pop(queue));
	assert_int_equal(queue->length, 0);
	assert_null(queue->head);
	assert_null(queue->tail);
}

static void test_first_in_first_out(void **state)
{
	struct queue queue;

	(void)state;
	fill(&queue, 3);
	assert_holds(&queue, (const int[]){0, 1, 2}, 3);
}

static void test_refuses_one_more_than_its_maximum(void **state)
{
	struct queue queue;

	(void)state;
	fill(&queue, 2);
	assert_int_equal(queue_push(&queue, &calls[2]), -ENOBUFS);
	assert_holds(&queue, (const int[]){0, 1}, 2);
}

static void test_push_front_may_exceed_the_maximum(void **state)
{
	struct queue queue;

	(void)state;
	fill(&queue, 2);
	queue_push_front(&queue, &calls[3]);
	assert_holds(&queue, (const int[]){3, 0, 1}, 3);
	queue_push_front(&queue, &calls[2]);
	assert_int_equal(queue_push(&queue, &calls[0]), 0);
	assert_holds(&queue, (const int[]){2, 0}, 2);
}

static void test_removes_from_every_place(void **state)
{
	static const int left[3][2] = {{1, 2}, {0, 2}, {0, 1}};
	struct queue queue;

	(void)state;
	for (int i = 0; i < 3; i++) {
		fill(&queue, 3);
		assert_true(queue_remove(&queue, &calls[i]));
		assert_false(queue_remove(&queue, &calls[i]));
		/* the tail must still be the last one */
		assert_int_equal(queue_push(&queue, &calls[3]), 0);
		assert_holds(&queue, (const int[]){left[i][0], left[i][1], 3}, 3);
	}
}

static void test_removing_the_only_one_leaves_it_empty(void **state)
{
	struct queue queue;

	(void)state;
	fill(&queue, 1);
	assert_true(queue_remove(&queue, &calls[0]));
	assert_int_equal(queue_push(&queue, &calls[1]), 0);
	assert_holds(&queue, (const int[]){1}, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_first_in_first_out),
		cmocka_unit_test(test_refuses_one_more_than_its_maximum),
		cmocka_unit_test(test_push_front_may_exceed_the_maximum),
		cmocka_unit_test(test_removes_from_every_place),
		cmocka_unit_test(test_removing_the_only_one_leaves_it_empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
