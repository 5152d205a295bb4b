/* Unit tests of session: calls by id, and batches. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "supervisor/session.h"

/* What was sent, one message a line. */
struct sent {
	char text[512];
	size_t len;
};

static void record(void *ctx, const char *text, size_t len)
{
	struct sent *sent = ctx;

	assert_true(sent->len + len + 1 < sizeof(sent->text));
	memcpy(sent->text + sent->len, text, len);
	sent->len += len;
	sent->text[sent->len++] = '\n';
	sent->text[sent->len] = '\0';
}

static struct slice id_of(const char *text)
{
	return (struct slice){text, strlen(text)};
}

static void test_finds_calls_by_the_text_of_their_id(void **state)
{
	struct sent sent = {.len = 0};
	struct session *session = session_new(record, &sent);
	struct call one = {.run_id = 1}, two = {.run_id = 2};
	char id[] = "1";

	(void)state;
	assert_non_null(session);
	assert_null(session_any(session));
	assert_int_equal(session_add(session, id_of(id), &one), 0);
	id[0] = '9'; /* it was copied */
	assert_int_equal(session_add(session, id_of("\"1\""), &two), 0);
	assert_int_equal(session_add(session, id_of("1"), &two), -EEXIST);
	assert_ptr_equal(session_find(session, id_of("1")), &one);
	assert_ptr_equal(session_find(session, id_of("\"1\"")), &two);
	assert_null(session_find(session, id_of("9")));
	assert_null(session_find(session, id_of("1.0")));
	assert_null(session_find(session, (struct slice){NULL, 0}));
	session_remove(session, &one);
	assert_null(session_find(session, id_of("1")));
	assert_ptr_equal(session_any(session), &two);
	assert_int_equal(session_add(session, id_of("1"), &one), 0);
	session_remove(session, &two);
	session_remove(session, &two);
	assert_ptr_equal(session_any(session), &one);
	session_free(session);
}

static void test_keeps_the_version(void **state)
{
	static const char version[] = "2025-06-18";
	struct session *session = session_new(record, NULL);

	(void)state;
	assert_null(session_version(session));
	session_set_version(session, version);
	assert_ptr_equal(session_version(session), version);
	session_free(session);
	session_free(NULL);
}

static void test_sends_at_once_without_a_batch(void **state)
{
	struct sent sent = {.len = 0};
	struct session *session = session_new(record, &sent);

	(void)state;
	session_answer(session, NULL, "{}", 2);
	assert_string_equal(sent.text, "{}\n");
	session_free(session);
}

static void test_sends_a_batch_when_its_last_hold_goes(void **state)
{
	struct sent sent = {.len = 0};
	struct session *session = session_new(record, &sent);
	struct batch *batch = batch_new(session);

	(void)state;
	session_answer(session, batch, "1", 1);
	batch_hold(batch);
	batch_release(batch);
	assert_int_equal(sent.len, 0);
	session_answer(session, batch, "{\"a\":2}", 7);
	assert_int_equal(sent.len, 0);
	batch_release(batch);
	assert_string_equal(sent.text, "[1,{\"a\":2}]\n");
	session_free(session);
}

static void test_sends_nothing_for_an_empty_batch(void **state)
{
	struct sent sent = {.len = 0};
	struct session *session = session_new(record, &sent);

	(void)state;
	batch_release(batch_new(session));
	assert_int_equal(sent.len, 0);
	session_free(session);
}

#define LOST                                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"out of "        \
	"memory\"}}\n"

static void test_sends_an_error_for_a_lost_answer(void **state)
{
	struct sent sent = {.len = 0};
	struct session *session = session_new(record, &sent);

	(void)state;
	session_lose_answer(session, NULL);
	assert_string_equal(sent.text, LOST);
	session_free(session);
}

static void test_sends_one_error_for_a_batch_that_lacks_an_answer(void **state)
{
	struct sent sent = {.len = 0};
	struct session *session = session_new(record, &sent);
	struct batch *batch = batch_new(session);

	(void)state;
	session_lose_answer(session, batch);
	session_answer(session, batch, "2", 1);
	assert_int_equal(sent.len, 0);
	batch_release(batch);
	assert_string_equal(sent.text, LOST);
	session_free(session);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_calls_by_the_text_of_their_id),
		cmocka_unit_test(test_keeps_the_version),
		cmocka_unit_test(test_sends_at_once_without_a_batch),
		cmocka_unit_test(test_sends_a_batch_when_its_last_hold_goes),
		cmocka_unit_test(test_sends_nothing_for_an_empty_batch),
		cmocka_unit_test(test_sends_an_error_for_a_lost_answer),
		cmocka_unit_test(test_sends_one_error_for_a_batch_that_lacks_an_answer),
	};

	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
