/* Unit tests of the pool's choices and of what a pristine interpreter says, without a process. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/fd_count.h"
#include "worker/pool.h"
#include "worker/report.h"

#define S UINT64_C(1000000)
#define NOW (100 * S)
enum { NUMPY = 1, PANDAS = 2, MATPLOTLIB = 4 };

static struct sock_filter code[1];
static const struct inside inside = {.pristine = {1, code}};
static struct warm_settings settings;

static void read_settings(void)
{
	settings = (struct warm_settings){.on = true, .idle_s = 600};
	assert_int_equal(warm_modules_read(&settings.modules, "", NULL), 0);
}

/* A pool with a ready place of each kind, of interpreters that serve. */
struct full {
	struct pool pool;
	struct place places[PLACE_KINDS];
	struct pristine pristines[PLACE_KINDS];
};

static void make_full(struct full *full, uint32_t modules)
{
	read_settings();
	memset(full, 0, sizeof(*full));
	pool_init(&full->pool, &inside, &settings);
	for (int kind = 0; kind < PLACE_KINDS; kind++) {
		struct place *place = &full->places[kind];

		*place = (struct place){.kind = (enum place_kind)kind};
		sandbox_init(&place->sandbox);
		place->sandbox.state = SANDBOX_READY;
		full->pool.parked[kind][0] = full->pool.places[kind] = place;
		if (kind == PLACE_COLD)
			continue;
		full->pristines[kind] = (struct pristine){
			.state = PRISTINE_SERVING, .modules = kind == PLACE_LOADED ? modules : 0};
		full->pool.lines[kind].serving = place->below = &full->pristines[kind];
	}
}

static enum place_kind taken(struct full *full, uint32_t uses, bool cold)
{
	struct place *place = pool_take(&full->pool, uses, cold, NOW, NOW);

	assert_non_null(place);
	assert_true(place->taken);
	assert_null(full->pool.parked[place->kind][0]);
	full->pool.parked[place->kind][0] = place;
	return place->kind;
}

static void test_a_program_gets_the_place_for_what_it_uses(void **state)
{
	struct full full;

	(void)state;
	make_full(&full, NUMPY | PANDAS);
	assert_int_equal(taken(&full, 0, false), PLACE_BARE);
	assert_int_equal(taken(&full, NUMPY, false), PLACE_LOADED);
	assert_int_equal(taken(&full, PANDAS | MATPLOTLIB, false), PLACE_LOADED);
	assert_int_equal(taken(&full, MATPLOTLIB, false), PLACE_BARE);
	assert_int_equal(taken(&full, NUMPY, true), PLACE_COLD);
}

static void test_a_second_try_and_a_pool_that_is_off_are_cold(void **state)
{
	struct full full;

	(void)state;
	make_full(&full, NUMPY);
	full.pool.off = true;
	assert_int_equal(taken(&full, 0, false), PLACE_COLD);
	assert_int_equal(taken(&full, NUMPY, false), PLACE_COLD);
}

static void test_what_does_not_come_in_time_is_not_waited_for(void **state)
{
	struct full full;

	(void)state;
	make_full(&full, NUMPY);
	full.places[PLACE_LOADED].sandbox.state = SANDBOX_BUILDING;
	assert_null(pool_take(&full.pool, NUMPY, false, NOW, NOW));
	assert_ptr_equal(pool_take(&full.pool, NUMPY, false, NOW, NOW + 10 * S),
			 &full.places[PLACE_BARE]);
	assert_ptr_equal(pool_take(&full.pool, NUMPY, false, NOW, NOW + 10 * S),
			 &full.places[PLACE_COLD]);
}

/* An interpreter that has ended is nobody's, even where its copy waits still. */
static void test_a_line_that_serves_no_more_gives_nothing(void **state)
{
	struct full full;

	(void)state;
	make_full(&full, NUMPY);
	full.pristines[PLACE_LOADED].state = PRISTINE_ENDING;
	assert_int_equal(taken(&full, NUMPY, false), PLACE_BARE);
	full.pristines[PLACE_BARE].state = PRISTINE_ENDING;
	assert_int_equal(taken(&full, NUMPY, false), PLACE_COLD);
}

static void test_it_is_off_by_setting_and_without_a_filter_for_interpreters(void **state)
{
	static const struct inside without = {.python = ""};
	struct pool pool;

	(void)state;
	read_settings();
	pool_init(&pool, &inside, &settings);
	assert_false(pool.off);
	pool_init(&pool, &without, &settings);
	assert_true(pool.off);
	settings.on = false;
	pool_init(&pool, &inside, &settings);
	assert_true(pool.off);
}

static void test_what_is_warm_is_told_once(void **state)
{
	struct frame_warm warm;
	struct full full;

	(void)state;
	make_full(&full, PANDAS);
	assert_true(pool_warm(&full.pool, &warm));
	assert_int_equal(warm.bare, 1);
	assert_int_equal(warm.modules, PANDAS);
	assert_false(pool_warm(&full.pool, &warm));
	full.pristines[PLACE_BARE].state = PRISTINE_GONE;
	assert_true(pool_warm(&full.pool, &warm));
	assert_int_equal(warm.bare, 0);
}

/* --- One interpreter --- */

struct spoken {
	struct pristine pristine;
	int theirs, output, init, before;
};

static struct spoken loading(uint32_t modules)
{
	struct spoken spoken = {.before = fd_count()};
	int pair[2], ends[2], lifeline[2];

	read_settings();
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, lifeline), 0);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
	spoken.theirs = pair[1];
	spoken.output = ends[1];
	spoken.pristine = (struct pristine){.state = PRISTINE_LOADING,
					    .control = pair[0],
					    .output = ends[0],
					    .inside = &inside,
					    .table = &settings.modules,
					    .modules = modules};
	sandbox_init(&spoken.pristine.sandbox);
	spoken.pristine.sandbox.state = SANDBOX_RUNNING;
	spoken.pristine.sandbox.sock = lifeline[0];
	spoken.init = lifeline[1];
	return spoken;
}

static void hear(struct spoken *spoken)
{
	struct pollfd polls[PRISTINE_POLLS];

	pristine_poll(&spoken->pristine, polls);
	poll(polls, PRISTINE_POLLS, 0);
	pristine_read(&spoken->pristine, polls);
}

static void serve(struct spoken *spoken, uint32_t loaded)
{
	struct report report = {.kind = REPORT_SERVING, .loaded = loaded};

	assert_int_equal(report_send(spoken->theirs, &report), 0);
	hear(spoken);
}

static void done(struct spoken *spoken)
{
	pristine_clear(&spoken->pristine);
	close(spoken->theirs);
	close(spoken->output);
	close(spoken->init);
	assert_int_equal(fd_count(), spoken->before);
}

static void test_it_has_what_it_says_of_what_it_was_given(void **state)
{
	struct spoken spoken = loading(NUMPY | MATPLOTLIB);

	(void)state;
	serve(&spoken, 2);
	assert_int_equal(spoken.pristine.state, PRISTINE_SERVING);
	assert_int_equal(spoken.pristine.modules, MATPLOTLIB);
	assert_int_equal(spoken.pristine.missing, NUMPY);
	assert_false(spoken.pristine.printed);
	done(&spoken);
}

/* More bits than modules, and a second word, change nothing. */
static void test_it_cannot_have_more_than_it_was_given(void **state)
{
	struct spoken spoken = loading(PANDAS);

	(void)state;
	serve(&spoken, ~0U);
	assert_int_equal(spoken.pristine.modules, PANDAS);
	serve(&spoken, 0);
	assert_int_equal(spoken.pristine.modules, PANDAS);
	done(&spoken);
}

static void test_what_it_printed_before_it_served_is_noticed(void **state)
{
	struct spoken spoken = loading(0);

	(void)state;
	assert_int_equal(write(spoken.output, "x", 1), 1);
	serve(&spoken, 0);
	assert_true(spoken.pristine.printed);
	done(&spoken);
	spoken = loading(0);
	serve(&spoken, 0);
	assert_int_equal(write(spoken.output, "x", 1), 1);
	hear(&spoken);
	assert_false(spoken.pristine.printed);
	done(&spoken);
}

static void test_its_end_and_nonsense_of_it_end_it(void **state)
{
	(void)state;
	for (int nonsense = 0; nonsense < 2; nonsense++) {
		struct spoken spoken = loading(0);

		if (nonsense)
			assert_int_equal(send(spoken.theirs, "x", 1, 0), 1);
		else
			shutdown(spoken.theirs, SHUT_RDWR);
		hear(&spoken);
		assert_int_equal(spoken.pristine.state, PRISTINE_ENDING);
		assert_int_equal(spoken.pristine.control, -1);
		done(&spoken);
	}
}

static void test_no_copy_is_asked_for_before_it_serves_or_afterwards(void **state)
{
	struct spoken spoken = loading(0);
	struct sandbox sandbox;

	(void)state;
	sandbox_init(&sandbox);
	assert_int_equal(pristine_send_copy(&spoken.pristine, &sandbox, false), -ESRCH);
	serve(&spoken, 0);
	pristine_stop(&spoken.pristine);
	assert_int_equal(pristine_send_copy(&spoken.pristine, &sandbox, false), -ESRCH);
	assert_int_equal(sandbox.gate, -1);
	done(&spoken);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_gets_the_place_for_what_it_uses),
		cmocka_unit_test(test_a_second_try_and_a_pool_that_is_off_are_cold),
		cmocka_unit_test(test_what_does_not_come_in_time_is_not_waited_for),
		cmocka_unit_test(test_a_line_that_serves_no_more_gives_nothing),
		cmocka_unit_test(test_it_is_off_by_setting_and_without_a_filter_for_interpreters),
		cmocka_unit_test(test_what_is_warm_is_told_once),
		cmocka_unit_test(test_it_has_what_it_says_of_what_it_was_given),
		cmocka_unit_test(test_it_cannot_have_more_than_it_was_given),
		cmocka_unit_test(test_what_it_printed_before_it_served_is_noticed),
		cmocka_unit_test(test_its_end_and_nonsense_of_it_end_it),
		cmocka_unit_test(test_no_copy_is_asked_for_before_it_serves_or_afterwards),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
