/* Unit tests of session: calls by id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <errno.h>

#include "supervisor/session.h"

static void test_finds_calls_by_the_text_of_their_id(void **state)
{
	struct session *session = session_new();
	struct call one = {.run_id = 1}, two = {.run_id = 2};
	char id[] = "1";

	(void)state;
	assert_non_null(session);
	assert_null(session_any(session));
	assert_int_equal(session_add(session, slice_of(id), &one), 0);
	id[0] = '9'; /* it was copied */
	assert_int_equal(session_add(session, slice_of("\"1\""), &two), 0);
	assert_int_equal(session_add(session, slice_of("1"), &two), -EEXIST);
	assert_ptr_equal(session_find(session, slice_of("1")), &one);
	assert_ptr_equal(session_find(session, slice_of("\"1\"")), &two);
	assert_null(session_find(session, slice_of("9")));
	assert_null(session_find(session, slice_of("1.0")));
	assert_null(session_find(session, (struct slice){NULL, 0}));
	session_remove(session, &one);
	assert_null(session_find(session, slice_of("1")));
	assert_ptr_equal(session_any(session), &two);
	assert_int_equal(session_add(session, slice_of("1"), &one), 0);
	session_remove(session, &two);
	session_remove(session, &two);
	assert_ptr_equal(session_any(session), &one);
	session_free(session);
}

static void test_keeps_the_version(void **state)
{
	static const char version[] = "2025-06-18";
	struct session *session = session_new();

	(void)state;
	assert_null(session_version(session));
	session_set_version(session, version);
	assert_ptr_equal(session_version(session), version);
	session_free(session);
	session_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_calls_by_the_text_of_their_id),
		cmocka_unit_test(test_keeps_the_version),
	};

	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
