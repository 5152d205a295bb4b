/* Unit tests of frame_check: every rule by a frame that breaks just it. test_frame_wire.c has the sockets. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/frame.h"
#include "common/layers.h"
#include "common/mechanism.h"
#include "common/stage.h"
#include "tests/unit/frame_good.h"

#define KILLED (FRAME_TIMED_OUT | FRAME_CANCELLED | FRAME_MEMORY_KILLED)

static size_t body_size(enum frame_type type)
{
	static const size_t sizes[] = {
		[FRAME_READY] = sizeof(struct frame_ready),
		[FRAME_RUN] = sizeof(struct frame_run),
		[FRAME_CANCEL] = 0,
		[FRAME_DONE] = sizeof(struct frame_done),
		[FRAME_FAIL] = sizeof(struct frame_fail),
	};

	return sizes[type];
}

static int judge(const struct frame *frame)
{
	return frame_check(frame, frame->nfds, frame_way_of((enum frame_type)frame->type));
}

static void test_takes_a_good_frame_of_each_type_one_way_only(void **state)
{
	(void)state;
	for (int type = FRAME_READY; type <= FRAME_FAIL; type++) {
		struct frame frame = frame_good((enum frame_type)type);
		enum frame_way way = frame_way_of((enum frame_type)type);
		enum frame_way wrong =
			way == FRAME_TO_WORKER ? FRAME_TO_SUPERVISOR : FRAME_TO_WORKER;

		assert_int_equal(frame_check(&frame, frame.nfds, way), 0);
		assert_int_equal(frame_check(&frame, frame.nfds, wrong), -EPROTO);
	}
}

static void test_refuses_other_versions_and_unknown_types(void **state)
{
	(void)state;
	for (int type = FRAME_READY; type <= FRAME_FAIL; type++) {
		struct frame frame = frame_good((enum frame_type)type);

		frame.version = FRAME_VERSION + 1;
		assert_int_equal(judge(&frame), -EPROTO);
		frame.version = 0;
		assert_int_equal(judge(&frame), -EPROTO);
	}
	for (unsigned int type = 0; type <= UINT16_MAX; type++) {
		struct frame frame = {.version = FRAME_VERSION, .type = (uint16_t)type, .id = 7};

		if (type >= FRAME_READY && type <= FRAME_FAIL)
			continue;
		assert_int_equal(frame_check(&frame, 0, FRAME_TO_WORKER), -EPROTO);
		assert_int_equal(frame_check(&frame, 0, FRAME_TO_SUPERVISOR), -EPROTO);
	}
}

static void test_wants_the_exact_number_of_descriptors(void **state)
{
	(void)state;
	for (int type = FRAME_READY; type <= FRAME_FAIL; type++) {
		struct frame frame = frame_good((enum frame_type)type);
		uint16_t wanted = frame.nfds;

		assert_int_equal(wanted, type == FRAME_RUN || type == FRAME_DONE ? 2 : 0);
		for (uint16_t n = 0; n < 5; n++) {
			frame.nfds = wanted;
			assert_int_equal(
				frame_check(&frame, n, frame_way_of((enum frame_type)type)),
				n == wanted ? 0 : -EPROTO);
			frame.nfds = n;
			assert_int_equal(
				frame_check(&frame, wanted, frame_way_of((enum frame_type)type)),
				n == wanted ? 0 : -EPROTO);
		}
	}
}

static void test_wants_an_id_where_there_is_a_run_and_none_for_ready(void **state)
{
	(void)state;
	for (int type = FRAME_READY; type <= FRAME_FAIL; type++) {
		struct frame frame = frame_good((enum frame_type)type);

		frame.id = 0;
		assert_int_equal(judge(&frame),
				 type == FRAME_READY || type == FRAME_FAIL ? 0 : -EPROTO);
		frame.id = UINT64_MAX;
		assert_int_equal(judge(&frame), type == FRAME_READY ? -EPROTO : 0);
	}
}

static void test_wants_every_unused_byte_zero(void **state)
{
	(void)state;
	for (int type = FRAME_READY; type <= FRAME_FAIL; type++) {
		struct frame frame = frame_good((enum frame_type)type);

		for (size_t i = body_size((enum frame_type)type); i < sizeof(frame.bytes); i++) {
			frame.bytes[i] = 1;
			assert_int_equal(judge(&frame), -EPROTO);
			frame.bytes[i] = 0;
		}
		assert_int_equal(judge(&frame), 0);
	}
}

static void test_bounds_the_body_of_run(void **state)
{
	struct frame frame = frame_good(FRAME_RUN);

	(void)state;
	frame.run.deadline_ms = 0;
	assert_int_equal(judge(&frame), -EPROTO);
	frame.run.deadline_ms = UINT32_MAX;
	assert_int_equal(judge(&frame), 0);
	frame.run.uses = UINT32_MAX;
	assert_int_equal(judge(&frame), 0);
}

static void test_bounds_the_body_of_ready(void **state)
{
	struct frame frame = frame_good(FRAME_READY);

	(void)state;
	frame.ready =
		(struct frame_ready){UINT64_MAX, (1U << LAYER_COUNT) - 1, 0x030b02, BY_CGROUP_ALL};
	assert_int_equal(judge(&frame), 0);
	frame.ready.layers = 1U << LAYER_COUNT;
	assert_int_equal(judge(&frame), -EPROTO);
}

static void test_bounds_the_body_of_fail(void **state)
{
	struct frame frame = frame_good(FRAME_FAIL);

	(void)state;
	frame.fail.error = 0;
	assert_int_equal(judge(&frame), 0);
	frame.fail.error = -1;
	assert_int_equal(judge(&frame), -EPROTO);
	frame.fail.error = EPERM;
	frame.fail.stage = STAGE_COUNT - 1;
	assert_int_equal(judge(&frame), 0);
	frame.fail.stage = STAGE_COUNT;
	assert_int_equal(judge(&frame), -EPROTO);
}

struct end {
	int32_t exit_code;
	uint32_t signal, flags;
	int verdict;
};

static const struct end ENDS[] = {
	{0, 0, 0, 0},
	{255, 0, 0, 0},
	{256, 0, 0, -EPROTO},
	{-2, 9, 0, -EPROTO},
	{INT32_MIN, 9, KILLED, -EPROTO},
	{-1, 0, 0, -EPROTO},
	{-1, 1, 0, 0},
	{-1, 64, 0, 0},
	{-1, 65, 0, -EPROTO},
	{-1, UINT32_MAX, 0, -EPROTO},
	{0, 9, 0, -EPROTO},
	{137, 9, FRAME_TIMED_OUT, -EPROTO},
	{-1, 0, FRAME_TIMED_OUT, 0},
	{-1, 0, FRAME_CANCELLED, 0},
	{-1, 0, FRAME_MEMORY_KILLED, 0},
	{-1, 0, FRAME_TRUNCATED | FRAME_CPU_USED_UP | FRAME_DISK_FULL, -EPROTO},
	{3, 0, FRAME_TIMED_OUT, 0},
	{0, 0, FRAME_FLAGS & ~KILLED, 0},
	{0, 0, FRAME_FLAGS + 1, -EPROTO},
	{0, 0, 1U << 31, -EPROTO},
};

static void test_wants_an_end_that_makes_sense(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(ENDS) / sizeof(ENDS[0]); i++) {
		struct frame frame = frame_good(FRAME_DONE);

		frame.done.exit_code = ENDS[i].exit_code;
		frame.done.signal = ENDS[i].signal;
		frame.done.flags = ENDS[i].flags;
		if (judge(&frame) != ENDS[i].verdict)
			fail_msg("row %zu", i);
	}
}

static void test_wants_known_layers_and_a_closed_list_of_blocked_calls(void **state)
{
	struct frame frame = frame_good(FRAME_DONE);

	(void)state;
	frame.done.layers = (1U << LAYER_COUNT) - 1;
	frame.done.flags |= FRAME_NOTING;
	for (size_t i = 0; i < FRAME_BLOCKED; i++) {
		frame.done.blocked[i] = (uint16_t)(42 + i);
		assert_int_equal(judge(&frame), 0);
	}
	frame.done.flags &= ~(uint32_t)FRAME_NOTING;
	assert_int_equal(judge(&frame), -EPROTO);
	frame.done.flags |= FRAME_NOTING;
	frame.done.blocked[2] = 0;
	assert_int_equal(judge(&frame), -EPROTO);
	frame.done.blocked[2] = frame.done.blocked[7];
	assert_int_equal(judge(&frame), -EPROTO);
	frame.done.blocked[2] = FRAME_MAX_CALL + 1;
	assert_int_equal(judge(&frame), 0);
	frame.done.blocked[2] = FRAME_MAX_CALL + 2;
	assert_int_equal(judge(&frame), -EPROTO);
	memset(frame.done.blocked, 0, sizeof(frame.done.blocked));
	frame.done.layers = 1U << LAYER_COUNT;
	assert_int_equal(judge(&frame), -EPROTO);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_takes_a_good_frame_of_each_type_one_way_only),
		cmocka_unit_test(test_refuses_other_versions_and_unknown_types),
		cmocka_unit_test(test_wants_the_exact_number_of_descriptors),
		cmocka_unit_test(test_wants_an_id_where_there_is_a_run_and_none_for_ready),
		cmocka_unit_test(test_wants_every_unused_byte_zero),
		cmocka_unit_test(test_bounds_the_body_of_run),
		cmocka_unit_test(test_bounds_the_body_of_ready),
		cmocka_unit_test(test_bounds_the_body_of_fail),
		cmocka_unit_test(test_wants_an_end_that_makes_sense),
		cmocka_unit_test(test_wants_known_layers_and_a_closed_list_of_blocked_calls),
	};

	return cmocka_run_group_tests_name("frame", tests, NULL, NULL);
}
