/* Unit tests of channel: sending, holding, and batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/limits.h"
#include "supervisor/channel.h"

/* What was sent, one message a line. */
struct sent {
	char text[512];
	size_t len;
	enum channel_kind kind;
	size_t done;
};

static void record(void *ctx, enum channel_kind kind, const char *text, size_t len)
{
	struct sent *sent = ctx;

	sent->kind = kind;

	assert_true(sent->len + len + 1 < sizeof(sent->text));
	memcpy(sent->text + sent->len, text, len);
	sent->len += len;
	sent->text[sent->len++] = '\n';
	sent->text[sent->len] = '\0';
}

static void count_done(void *ctx)
{
	struct sent *sent = ctx;

	sent->done++;
}

static void test_sends_at_once_without_a_batch(void **state)
{
	struct sent sent = {.len = 0};
	struct channel channel = {.send = record, .ctx = &sent};

	(void)state;
	channel_answer(&channel, NULL, CHANNEL_SERVED, "{}", 2);
	assert_string_equal(sent.text, "{}\n");
}

static void test_sends_a_batch_when_its_last_hold_goes(void **state)
{
	struct sent sent = {.len = 0};
	struct channel channel = {.send = record, .ctx = &sent};
	struct batch *batch = batch_new(&channel);

	(void)state;
	channel_answer(&channel, batch, CHANNEL_SERVED, "1", 1);
	batch_hold(batch);
	batch_release(batch);
	assert_int_equal(sent.len, 0);
	channel_answer(&channel, batch, CHANNEL_SERVED, "{\"a\":2}", 7);
	assert_int_equal(sent.len, 0);
	batch_release(batch);
	assert_string_equal(sent.text, "[1,{\"a\":2}]\n");
}

static void test_sends_a_batch_one_by_one(void **state)
{
	struct sent sent = {.len = 0};
	struct channel channel = {.send = record, .ctx = &sent};
	struct batch *batch = batch_new(&channel);

	(void)state;
	channel_answer(&channel, batch, CHANNEL_SERVED, "1", 1);
	/* Whether it is a stream may turn out later. */
	channel.one_by_one = true;
	channel_answer(&channel, batch, CHANNEL_SERVED, "{\"a\":[2,3]}", 11);
	channel_answer(&channel, batch, CHANNEL_SERVED, "4", 1);
	assert_int_equal(sent.len, 0);
	batch_release(batch);
	assert_string_equal(sent.text, "1\n{\"a\":[2,3]}\n4\n");
	batch_release(batch_new(&channel));
	assert_string_equal(sent.text, "1\n{\"a\":[2,3]}\n4\n");
}

static void test_a_batch_has_no_more_answers_than_messages(void **state)
{
	struct sent sent = {.len = 0};
	struct channel channel = {.send = record, .ctx = &sent};
	struct batch *batch = batch_new(&channel);

	(void)state;
	for (size_t i = 0; i <= MAX_BATCH; i++)
		channel_answer(&channel, batch, CHANNEL_SERVED, "1", 1);
	batch_release(batch);
	assert_non_null(strstr(sent.text, "-32603"));
}

static void test_a_batch_has_room_for_one_long_answer_or_many_short_ones(void **state)
{
	struct sent sent = {.len = 0};
	struct channel channel = {.send = record, .ctx = &sent};
	struct batch *batch = batch_new(&channel);

	(void)state;
	assert_true(batch_has_room(NULL, SIZE_MAX));
	assert_true(batch_has_room(batch, MAX_BATCH_BYTES + 1));
	channel_answer(&channel, batch, CHANNEL_SERVED, "1", 1);
	assert_true(batch_has_room(batch, MAX_BATCH_BYTES - 2));
	assert_false(batch_has_room(batch, MAX_BATCH_BYTES));
	batch_release(batch);
	assert_string_equal(sent.text, "[1]\n");
}

static void test_sends_nothing_for_an_empty_batch(void **state)
{
	struct sent sent = {.len = 0};
	struct channel channel = {.send = record, .ctx = &sent};

	(void)state;
	batch_release(batch_new(&channel));
	assert_int_equal(sent.len, 0);
}

#define LOST                                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"out of "        \
	"memory\"}}\n"

static void test_sends_an_error_for_a_lost_answer(void **state)
{
	struct sent sent = {.len = 0};
	struct channel channel = {.send = record, .ctx = &sent};

	(void)state;
	channel_lose_answer(&channel, NULL);
	assert_string_equal(sent.text, LOST);
}

static void test_sends_one_error_for_a_batch_that_lacks_an_answer(void **state)
{
	struct sent sent = {.len = 0};
	struct channel channel = {.send = record, .ctx = &sent};
	struct batch *batch = batch_new(&channel);

	(void)state;
	channel_lose_answer(&channel, batch);
	channel_answer(&channel, batch, CHANNEL_SERVED, "2", 1);
	assert_int_equal(sent.len, 0);
	batch_release(batch);
	assert_string_equal(sent.text, LOST);
}

static void test_tells_what_kind_a_message_is(void **state)
{
	struct sent sent = {.len = 0};
	struct channel channel = {.send = record, .ctx = &sent};

	(void)state;
	channel_answer(&channel, NULL, CHANNEL_NOT_FOUND, "{}", 2);
	assert_int_equal(sent.kind, CHANNEL_NOT_FOUND);
	channel_answer(&channel, NULL, CHANNEL_PROGRESS, "{}", 2);
	assert_int_equal(sent.kind, CHANNEL_PROGRESS);
}

static void test_is_done_when_its_last_hold_goes(void **state)
{
	struct sent sent = {.len = 0};
	struct channel channel = {.send = record, .done = count_done, .ctx = &sent};
	struct batch *batch;

	(void)state;
	channel_hold(&channel);
	batch = batch_new(&channel);
	channel_release(&channel);
	assert_int_equal(sent.done, 0);
	channel_answer(&channel, batch, CHANNEL_SERVED, "1", 1);
	batch_release(batch);
	assert_string_equal(sent.text, "[1]\n");
	assert_int_equal(sent.done, 1);
}

static void test_a_muted_channel_sends_nothing(void **state)
{
	struct sent sent = {.len = 0};
	struct channel channel = {.send = record, .ctx = &sent};
	struct batch *batch = batch_new(&channel);

	(void)state;
	channel_answer(&channel, batch, CHANNEL_SERVED, "1", 1);
	channel_mute(&channel);
	channel_answer(&channel, NULL, CHANNEL_SERVED, "2", 1);
	batch_release(batch);
	assert_int_equal(sent.len, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sends_at_once_without_a_batch),
		cmocka_unit_test(test_sends_a_batch_when_its_last_hold_goes),
		cmocka_unit_test(test_sends_a_batch_one_by_one),
		cmocka_unit_test(test_a_batch_has_no_more_answers_than_messages),
		cmocka_unit_test(test_a_batch_has_room_for_one_long_answer_or_many_short_ones),
		cmocka_unit_test(test_sends_nothing_for_an_empty_batch),
		cmocka_unit_test(test_sends_an_error_for_a_lost_answer),
		cmocka_unit_test(test_sends_one_error_for_a_batch_that_lacks_an_answer),
		cmocka_unit_test(test_tells_what_kind_a_message_is),
		cmocka_unit_test(test_is_done_when_its_last_hold_goes),
		cmocka_unit_test(test_a_muted_channel_sends_nothing),
	};

	return cmocka_run_group_tests_name("channel", tests, NULL, NULL);
}
