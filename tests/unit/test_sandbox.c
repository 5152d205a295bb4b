/* Unit tests of a sandbox as the worker sees it, with init and copy played by the test. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/layers.h"
#include "tests/unit/fd_count.h"
#include "worker/lockdown.h"
#include "worker/sandbox.h"

/* Everything that init sets up, and everything that a copy does itself. */
#define INIT_LAYERS (LAYER_INIT | LAYER_PROC | LAYER_LANDLOCK | LAYER_SECCOMP | LAYER_RLIMITS)
#define COPY_LAYERS (LAYER_SECCOMP | LAYER_RLIMITS | LAYER_CAPABILITIES)

/* A sandbox that waits for a copy. Its init is a child that sleeps; what that says, the test says at init; what the
 * copy says, at copy. */
struct play {
	struct sandbox sandbox;
	int init, copy;
	int before;
};

static struct play built(void)
{
	struct play play = {.before = fd_count()};
	int pair[2];

	sandbox_init(&play.sandbox);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	play.sandbox.state = SANDBOX_BUILDING;
	play.sandbox.by_copy = true;
	play.sandbox.sock = pair[0];
	play.init = pair[1];
	play.sandbox.init = fork();
	if (play.sandbox.init == 0) {
		pause();
		_exit(0);
	}
	assert_true(play.sandbox.init > 0);
	return play;
}

static void read_all(struct play *play)
{
	struct pollfd polls[SANDBOX_POLLS];

	sandbox_poll(&play->sandbox, polls);
	poll(polls, SANDBOX_POLLS, 0);
	sandbox_read(&play->sandbox, polls);
}

static void say(struct play *play, int sock, struct report report)
{
	assert_int_equal(report_send(sock, &report), 0);
	read_all(play);
}

/* Up to the moment at which a copy was sent for. */
static struct play opened(void)
{
	struct play play = built();

	say(&play, play.init, (struct report){.kind = REPORT_READY, .layers = INIT_LAYERS});
	assert_true(sandbox_wants_copy(&play.sandbox));
	assert_int_equal(sandbox_open_gate(&play.sandbox, &play.copy), 0);
	assert_false(sandbox_wants_copy(&play.sandbox));
	return play;
}

static struct play ready(void)
{
	struct play play = opened();
	struct report report = {.kind = REPORT_READY, .layers = COPY_LAYERS, .pid = 3};

	say(&play, play.copy, report);
	assert_int_equal(play.sandbox.state, SANDBOX_READY);
	return play;
}

/* Init's end, which is waited for here. */
static void finish(struct play *play)
{
	struct rusage usage = {0};
	pid_t init = play->sandbox.init;

	if (init) {
		kill(init, SIGKILL);
		assert_int_equal(waitpid(init, NULL, 0), init);
		close(play->init);
		sandbox_reaped(&play->sandbox, init, &usage);
	}
	assert_int_equal(play->sandbox.state, SANDBOX_REAPED);
	sandbox_clear(&play->sandbox);
	if (play->copy > 0)
		close(play->copy);
	assert_int_equal(fd_count(), play->before);
}

static void test_is_ready_when_init_and_copy_are(void **state)
{
	struct play play = opened();
	struct order order;
	int fds[GIVE_ALL_FDS];

	(void)state;
	assert_int_equal(play.sandbox.state, SANDBOX_BUILDING);
	say(&play, play.copy,
	    (struct report){.kind = REPORT_READY, .layers = COPY_LAYERS, .pid = 3});
	assert_int_equal(play.sandbox.state, SANDBOX_READY);
	assert_int_equal(report_take(play.init, &order, fds), 1);
	assert_int_equal(order.kind, ORDER_ADOPT);
	assert_int_equal(order.pid, 3);
	finish(&play);
}

/* What a copy did not do for itself nobody did for it. */
static void test_has_only_the_walls_of_which_init_and_copy_both_speak(void **state)
{
	struct play play = ready();
	uint32_t layers = sandbox_layers(&play.sandbox);

	(void)state;
	assert_true(layers & LAYER_INIT);
	assert_true(layers & LAYER_PROC);
	assert_true(layers & LAYER_SECCOMP);
	assert_true(lockdown_layers() & LAYER_LANDLOCK);
	assert_false(layers & LAYER_LANDLOCK);
	assert_false(layers & LAYER_CAPABILITIES);
	finish(&play);
}

static void test_a_step_that_a_copy_could_not_do_ends_the_sandbox(void **state)
{
	struct play play = opened();

	(void)state;
	say(&play, play.copy,
	    (struct report){.kind = REPORT_FAILED, .stage = STAGE_LANDLOCK, .error = ENOMEM});
	assert_int_equal(play.sandbox.state, SANDBOX_ENDING);
	assert_int_equal(play.sandbox.failed_stage, STAGE_LANDLOCK);
	assert_int_equal(play.sandbox.failed_error, ENOMEM);
	finish(&play);
}

/* Nothing else may come over a gate, from whoever has it. */
static void test_other_reports_over_the_gate_end_the_sandbox(void **state)
{
	static const enum report_kind kinds[] = {REPORT_SPAWNED, REPORT_ENDED, REPORT_TAKEN,
						 REPORT_SERVING};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct play play = opened();

		say(&play, play.copy, (struct report){.kind = kinds[i]});
		assert_int_equal(play.sandbox.state, SANDBOX_ENDING);
		assert_int_equal(play.sandbox.failed_stage, STAGE_JOIN);
		assert_false(play.sandbox.ended);
		finish(&play);
	}
}

static void test_the_end_of_a_copy_that_waits_ends_the_sandbox(void **state)
{
	struct play play = ready();

	(void)state;
	close(play.copy);
	play.copy = 0;
	read_all(&play);
	assert_int_equal(play.sandbox.state, SANDBOX_ENDING);
	assert_int_equal(play.sandbox.failed_stage, STAGE_JOIN);
	finish(&play);
}

/* A program was given. */
static struct play given(void)
{
	struct play play = ready();
	int fds[GIVE_FDS] = {0};

	assert_int_equal(sandbox_give(&play.sandbox, fds, GIVE_FDS), 0);
	assert_int_equal(play.sandbox.state, SANDBOX_RUNNING);
	assert_int_equal(sandbox_taken(&play.sandbox), -EAGAIN);
	return play;
}

static void take(struct play *play)
{
	int fds[GIVE_ALL_FDS];
	struct order order;

	assert_int_equal(report_take(play->copy, &order, fds), 1);
	for (size_t i = 0; i < GIVE_FDS; i++)
		close(fds[i]);
}

static void leave(struct play *play)
{
	close(play->copy);
	play->copy = 0;
	read_all(play);
}

static void test_a_program_is_taken_when_the_copy_says_so(void **state)
{
	struct play play = given();

	(void)state;
	take(&play);
	assert_int_equal(sandbox_taken(&play.sandbox), -EAGAIN);
	assert_int_equal(report_taken(play.copy), 0);
	assert_int_equal(sandbox_taken(&play.sandbox), 0);
	leave(&play);
	assert_int_equal(play.sandbox.state, SANDBOX_RUNNING);
	assert_int_equal(sandbox_taken(&play.sandbox), 0);
	finish(&play);
}

static void test_a_copy_that_died_with_the_order_has_not_taken_it(void **state)
{
	struct play play = given();

	(void)state;
	take(&play);
	leave(&play);
	assert_int_equal(sandbox_taken(&play.sandbox), -ECONNRESET);
	finish(&play);
}

static void test_a_copy_that_died_before_has_not_taken_it(void **state)
{
	struct play play = given();

	(void)state;
	leave(&play);
	assert_int_equal(play.sandbox.state, SANDBOX_RUNNING);
	assert_int_equal(sandbox_taken(&play.sandbox), -ECONNRESET);
	finish(&play);
}

static void test_a_copy_that_could_not_write_it_down_has_not_taken_it(void **state)
{
	struct play play = given();

	(void)state;
	take(&play);
	say(&play, play.copy,
	    (struct report){.kind = REPORT_FAILED, .stage = STAGE_PROGRAM, .error = ENOSPC});
	leave(&play);
	assert_int_equal(sandbox_taken(&play.sandbox), -ECONNRESET);
	finish(&play);
}

static void test_a_sandbox_that_needs_no_copy_is_ready_with_init(void **state)
{
	struct play play = built();

	(void)state;
	play.sandbox.by_copy = false;
	assert_int_equal(sandbox_taken(&play.sandbox), 0);
	say(&play, play.init, (struct report){.kind = REPORT_READY, .layers = INIT_LAYERS});
	assert_int_equal(play.sandbox.state, SANDBOX_READY);
	assert_int_equal(sandbox_layers(&play.sandbox), INIT_LAYERS);
	assert_false(sandbox_wants_copy(&play.sandbox));
	finish(&play);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_ready_when_init_and_copy_are),
		cmocka_unit_test(test_has_only_the_walls_of_which_init_and_copy_both_speak),
		cmocka_unit_test(test_a_step_that_a_copy_could_not_do_ends_the_sandbox),
		cmocka_unit_test(test_other_reports_over_the_gate_end_the_sandbox),
		cmocka_unit_test(test_the_end_of_a_copy_that_waits_ends_the_sandbox),
		cmocka_unit_test(test_a_program_is_taken_when_the_copy_says_so),
		cmocka_unit_test(test_a_copy_that_died_with_the_order_has_not_taken_it),
		cmocka_unit_test(test_a_copy_that_died_before_has_not_taken_it),
		cmocka_unit_test(test_a_copy_that_could_not_write_it_down_has_not_taken_it),
		cmocka_unit_test(test_a_sandbox_that_needs_no_copy_is_ready_with_init),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
