/* Unit tests of sessions. The clock is what a test says it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/sessions.h"

#define IDLE_S 10
#define IDLE_MS 10000
#define MANY 200

static struct {
	struct sessions *table;
	size_t ended;
	struct session *last; /* that ended: freed, to be compared only */
} bench;

static struct session *new_session(void)
{
	struct session *session = session_new();

	assert_non_null(session);
	return session;
}

static void make_busy(struct session *session)
{
	struct call *call = call_new();

	assert_non_null(call);
	assert_int_equal(session_add(session, (struct slice){"1", 1}, call), 0);
}

static void make_idle(struct session *session)
{
	struct call *call = session_any(session);

	session_remove(session, call);
	call_free(call);
}

static void on_ended(struct session *session, void *ctx)
{
	assert_ptr_equal(ctx, &bench);
	bench.ended++;
	bench.last = session;
	if (session_any(session))
		make_idle(session);
	session_free(session);
}

static void set_up(size_t max)
{
	bench.ended = 0;
	bench.last = NULL;
	bench.table = sessions_new(max, IDLE_S, on_ended, &bench);
	assert_non_null(bench.table);
	assert_int_equal(sessions_count(bench.table), 0);
}

static const char *add(struct session *session, uint64_t now_ms)
{
	const char *id = sessions_add(bench.table, session, now_ms);

	assert_non_null(id);
	return id;
}

static void test_finds_each_by_its_own_id(void **state)
{
	struct session *session[MANY];
	const char *id[MANY];

	(void)state;
	set_up(MANY);
	for (size_t i = 0; i < MANY; i++) {
		session[i] = new_session();
		id[i] = add(session[i], i);
	}
	assert_int_equal(sessions_count(bench.table), MANY);
	for (size_t i = 0; i < MANY; i++)
		assert_ptr_equal(sessions_find(bench.table, id[i], MANY), session[i]);
	assert_int_equal(bench.ended, 0);
	sessions_free(bench.table);
	assert_int_equal(bench.ended, MANY);
}

static void test_ids_are_random_hex_digits(void **state)
{
	const char *id[MANY];
	size_t differ[SESSION_ID_DIGITS] = {0}, alike[SESSION_ID_DIGITS][SESSION_ID_DIGITS] = {{0}};

	(void)state;
	set_up(MANY);
	for (size_t i = 0; i < MANY; i++) {
		id[i] = add(new_session(), 0);
		assert_int_equal(strlen(id[i]), SESSION_ID_DIGITS);
		assert_int_equal(strspn(id[i], "0123456789abcdef"), SESSION_ID_DIGITS);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(id[i], id[k]);
		for (size_t k = 0; k < SESSION_ID_DIGITS; k++) {
			differ[k] += id[i][k] != id[0][k];
			for (size_t n = 0; n < k; n++)
				alike[k][n] += id[i][k] == id[i][n];
		}
	}
	/* No digit is a constant or a copy of another: about 16^-199 that one is by chance. */
	for (size_t k = 0; k < SESSION_ID_DIGITS; k++) {
		assert_true(differ[k] > 0);
		for (size_t n = 0; n < k; n++)
			assert_true(alike[k][n] < MANY);
	}
	sessions_free(bench.table);
}

static void test_finds_nothing_by_another_text(void **state)
{
	struct session *session = new_session();
	char text[SESSION_ID_DIGITS + 2] = "";
	const char *id;

	(void)state;
	/* one bucket: every search compares */
	set_up(1);
	id = add(session, 0);
	assert_null(sessions_find(bench.table, "", 0));
	assert_null(sessions_find(bench.table, "x", 0));
	for (size_t i = 0; i < SESSION_ID_DIGITS; i++) {
		memcpy(text, id, SESSION_ID_DIGITS + 1);
		text[i] = text[i] == '0' ? '1' : '0';
		assert_null(sessions_find(bench.table, text, 0));
		assert_null(sessions_take(bench.table, text));
		memcpy(text, id, SESSION_ID_DIGITS + 1);
		text[i] = '\0';
		assert_null(sessions_find(bench.table, text, 0));
	}
	memcpy(text, id, SESSION_ID_DIGITS + 1);
	memcpy(text + SESSION_ID_DIGITS, "0", 2);
	assert_null(sessions_find(bench.table, text, 0));
	assert_ptr_equal(sessions_find(bench.table, id, 0), session);
	sessions_free(bench.table);
}

static void test_taken_sessions_are_the_callers(void **state)
{
	struct session *session[MANY];
	char id[MANY][SESSION_ID_DIGITS + 1];

	(void)state;
	set_up(MANY);
	for (size_t i = 0; i < MANY; i++) {
		session[i] = new_session();
		memcpy(id[i], add(session[i], 0), sizeof(id[i]));
	}
	/* neither in the order of adding nor against it */
	for (size_t i = 0; i < MANY; i++) {
		size_t at = i * 77 % MANY;

		assert_ptr_equal(sessions_take(bench.table, id[at]), session[at]);
		assert_null(sessions_take(bench.table, id[at]));
		assert_null(sessions_find(bench.table, id[at], 0));
		assert_int_equal(sessions_count(bench.table), MANY - 1 - i);
		session_free(session[at]);
	}
	assert_int_equal(bench.ended, 0);
	sessions_free(bench.table);
	assert_int_equal(bench.ended, 0);
}

static void test_an_idle_session_ends(void **state)
{
	struct session *early = new_session(), *late = new_session();
	const char *id;

	(void)state;
	set_up(8);
	add(early, 100);
	id = add(late, 200);
	sessions_expire(bench.table, 100 + IDLE_MS - 1);
	assert_int_equal(bench.ended, 0);
	sessions_expire(bench.table, 100 + IDLE_MS);
	assert_int_equal(bench.ended, 1);
	assert_ptr_equal(bench.last, early);
	/* without a timer, too */
	assert_null(sessions_find(bench.table, id, 200 + IDLE_MS));
	assert_int_equal(bench.ended, 2);
	assert_ptr_equal(bench.last, late);
	assert_int_equal(sessions_count(bench.table), 0);
	sessions_free(bench.table);
	assert_int_equal(bench.ended, 2);
}

static void test_to_be_found_is_to_be_alive(void **state)
{
	struct session *used = new_session(), *idle = new_session();
	const char *id;

	(void)state;
	set_up(8);
	id = add(used, 0);
	add(idle, 1);
	for (uint64_t now = IDLE_MS / 2; now <= 3 * IDLE_MS; now += IDLE_MS / 2) {
		assert_ptr_equal(sessions_find(bench.table, id, now), used);
		sessions_expire(bench.table, now);
	}
	assert_int_equal(bench.ended, 1);
	assert_ptr_equal(bench.last, idle);
	sessions_expire(bench.table, 4 * IDLE_MS);
	assert_int_equal(bench.ended, 2);
	sessions_free(bench.table);
}

static void test_a_call_in_flight_keeps_its_session(void **state)
{
	struct session *busy = new_session();
	const char *id;

	(void)state;
	set_up(8);
	id = add(busy, 0);
	make_busy(busy);
	sessions_expire(bench.table, 5 * IDLE_MS);
	assert_ptr_equal(sessions_find(bench.table, id, 9 * IDLE_MS), busy);
	sessions_expire(bench.table, 20 * IDLE_MS);
	make_idle(busy);
	/* idle since it was last seen with the call */
	sessions_expire(bench.table, 21 * IDLE_MS - 1);
	assert_int_equal(bench.ended, 0);
	sessions_expire(bench.table, 21 * IDLE_MS);
	assert_int_equal(bench.ended, 1);
	sessions_free(bench.table);
}

/* Each order of busy and idle ones in a table of six, so that the walk meets all of them everywhere. */
static void test_expiring_ends_all_idle_ones_and_only_those(void **state)
{
	(void)state;
	for (unsigned int pattern = 0; pattern < 64; pattern++) {
		struct session *busy[6];
		size_t n = 0;

		set_up(6);
		for (unsigned int i = 0; i < 6; i++) {
			struct session *session = new_session();

			add(session, i);
			if (pattern & 1U << i) {
				make_busy(session);
				busy[n++] = session;
			}
		}
		sessions_expire(bench.table, 2 * IDLE_MS);
		assert_int_equal(bench.ended, 6 - n);
		assert_int_equal(sessions_count(bench.table), n);
		for (size_t i = 0; i < n; i++)
			make_idle(busy[i]);
		sessions_expire(bench.table, 3 * IDLE_MS - 1);
		assert_int_equal(sessions_count(bench.table), n);
		sessions_expire(bench.table, 3 * IDLE_MS);
		assert_int_equal(sessions_count(bench.table), 0);
		sessions_free(bench.table);
		assert_int_equal(bench.ended, 6);
	}
}

static void test_the_one_idle_longest_makes_room(void **state)
{
	struct session *a = new_session(), *b = new_session(), *c = new_session();
	const char *id;

	(void)state;
	set_up(3);
	id = add(a, 1);
	add(b, 2);
	add(c, 3);
	assert_ptr_equal(sessions_find(bench.table, id, 4), a);
	add(new_session(), 5);
	assert_int_equal(bench.ended, 1);
	assert_ptr_equal(bench.last, b);
	add(new_session(), 6);
	assert_ptr_equal(bench.last, c);
	assert_int_equal(sessions_count(bench.table), 3);
	assert_ptr_equal(sessions_find(bench.table, id, 7), a);
	sessions_free(bench.table);
	assert_int_equal(bench.ended, 5);
}

static void test_no_busy_session_makes_room(void **state)
{
	struct session *a = new_session(), *b = new_session(), *more = new_session();

	(void)state;
	set_up(2);
	add(a, 1);
	add(b, 2);
	make_busy(a);
	add(new_session(), 3);
	assert_int_equal(bench.ended, 1);
	assert_ptr_equal(bench.last, b);
	sessions_free(bench.table);
	set_up(1);
	a = new_session();
	add(a, 1);
	make_busy(a);
	assert_null(sessions_add(bench.table, more, 100 * IDLE_MS));
	assert_int_equal(bench.ended, 0);
	assert_int_equal(sessions_count(bench.table), 1);
	make_idle(a);
	add(more, 100 * IDLE_MS);
	assert_ptr_equal(bench.last, a);
	sessions_free(bench.table);
	assert_int_equal(bench.ended, 2);
	sessions_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_each_by_its_own_id),
		cmocka_unit_test(test_ids_are_random_hex_digits),
		cmocka_unit_test(test_finds_nothing_by_another_text),
		cmocka_unit_test(test_taken_sessions_are_the_callers),
		cmocka_unit_test(test_an_idle_session_ends),
		cmocka_unit_test(test_to_be_found_is_to_be_alive),
		cmocka_unit_test(test_a_call_in_flight_keeps_its_session),
		cmocka_unit_test(test_expiring_ends_all_idle_ones_and_only_those),
		cmocka_unit_test(test_the_one_idle_longest_makes_room),
		cmocka_unit_test(test_no_busy_session_makes_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
