/* Unit tests of capture, with real pipes: the test plays the program at the other ends. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/blob.h"
#include "common/cleanup.h"
#include "common/limits.h"
#include "tests/unit/fd_count.h"
#include "worker/capture.h"

#define WAIT_MS 2000

/* A capture and the program's ends of its pipes. */
struct fixture {
	struct capture capture;
	int ends[CAPTURE_STREAMS];
	int fds_before;
};

static void start(struct fixture *f, const void *input, size_t len, uint64_t cap)
{
	f->fds_before = fd_count();
	assert_int_equal(capture_init(&f->capture, blob_from(input, len), cap, f->ends), 0);
}

static void stop(struct fixture *f)
{
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		cleanup_fd(&f->ends[i]);
	capture_clear(&f->capture);
	assert_int_equal(fd_count(), f->fds_before);
}

/* One turn of the worker's loop. */
static void turn(struct fixture *f, int wait_ms)
{
	struct pollfd polls[CAPTURE_STREAMS];

	capture_poll(&f->capture, polls);
	if (poll(polls, CAPTURE_STREAMS, wait_ms) > 0)
		assert_int_equal(capture_move(&f->capture, polls), 0);
}

/* The program writes all of it, however small the pipe is. */
static void say(struct fixture *f, int stream, const char *data, size_t len)
{
	assert_int_equal(fcntl(f->ends[stream], F_SETFL, O_NONBLOCK), 0);
	while (len) {
		ssize_t n = write(f->ends[stream], data, len);

		if (n > 0) {
			data += n;
			len -= (size_t)n;
		} else {
			assert_int_equal(errno, EAGAIN);
		}
		turn(f, 0);
	}
}

static void finish(struct fixture *f)
{
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		cleanup_fd(&f->ends[i]);
	assert_int_equal(capture_finish(&f->capture), 0);
}

static void holds(const struct fixture *f, int stream, const char *data, size_t len)
{
	struct blob_view view;

	/* Which also says that it is sealed. */
	assert_int_equal(blob_view(f->capture.blobs[stream], CEILING_BLOB_BYTES, &view), 0);
	assert_int_equal(view.size, len);
	assert_memory_equal(view.data, data, len);
	blob_view_clear(&view);
}

static char *filled(size_t len)
{
	char *data = malloc(len);

	assert_non_null(data);
	for (size_t i = 0; i < len; i++)
		data[i] = (char)(i * 31 + (i >> 8));
	return data;
}

static bool is_cut(const struct capture *capture)
{
	return capture->cut[CAPTURE_STDOUT] || capture->cut[CAPTURE_STDERR];
}

static void try_cap(size_t len, size_t cap, bool truncated)
{
	_cleanup_free_ char *data = filled(len);
	struct fixture f;

	start(&f, "", 0, cap);
	say(&f, 1, data, len);
	finish(&f);
	holds(&f, 1, data, len < cap ? len : cap);
	holds(&f, 2, "", 0);
	assert_int_equal(is_cut(&f.capture), truncated);
	stop(&f);
}

static void test_keeps_exactly_what_the_cap_allows(void **state)
{
	(void)state;
	try_cap(99, 100, false);
	try_cap(100, 100, false);
	try_cap(101, 100, true);
	try_cap(0, 100, false);
	try_cap(1, 0, true);
	try_cap(0, 0, false);
}

static void test_keeps_exactly_the_cap_of_a_large_output(void **state)
{
	(void)state;
	try_cap(MIB - 1, MIB, false);
	try_cap(MIB, MIB, false);
	try_cap(MIB + 1, MIB, true);
	try_cap(5 * MIB, MIB + 7, true);
}

static void test_both_outputs_share_one_cap(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, "", 0, 10);
	say(&f, 1, "abcd", 4);
	say(&f, 2, "efgh", 4);
	say(&f, 1, "ijkl", 4);
	say(&f, 2, "mnop", 4);
	finish(&f);
	/* "kl" found no room; "mnop" made its own. */
	holds(&f, 1, "ab", 2);
	holds(&f, 2, "efghmnop", 8);
	assert_true(f.capture.cut[CAPTURE_STDOUT]);
	assert_false(f.capture.cut[CAPTURE_STDERR]);
	stop(&f);
}

static void test_a_flood_on_stdout_leaves_room_for_a_traceback(void **state)
{
	const size_t pushed = 4 * KIB;
	_cleanup_free_ char *flood = filled(3 * MIB);
	_cleanup_free_ char *trace = filled(pushed + 1);
	struct fixture f;

	(void)state;
	start(&f, "", 0, MIB);
	say(&f, 1, flood, 3 * MIB);
	say(&f, 2, trace, pushed);
	assert_false(f.capture.cut[CAPTURE_STDERR]);
	say(&f, 2, trace + pushed, 1);
	finish(&f);
	holds(&f, 1, flood, MIB - pushed);
	holds(&f, 2, trace, pushed);
	assert_true(f.capture.cut[CAPTURE_STDOUT]);
	assert_true(f.capture.cut[CAPTURE_STDERR]);
	stop(&f);
}

static void test_keeps_order_within_each_of_two_interleaved_outputs(void **state)
{
	const size_t len = 300000;
	_cleanup_free_ char *data = filled(len);
	struct fixture f;

	(void)state;
	start(&f, "", 0, MIB);
	for (size_t at = 0; at < len; at += 1000) {
		say(&f, 1, data + at, 1000);
		say(&f, 2, data + at, 1000);
	}
	finish(&f);
	holds(&f, 1, data, len);
	holds(&f, 2, data, len);
	assert_false(is_cut(&f.capture));
	stop(&f);
}

static void test_finish_drains_what_was_still_in_the_pipes(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, "", 0, MIB);
	assert_int_equal(write(f.ends[1], "out", 3), 3);
	assert_int_equal(write(f.ends[2], "err", 3), 3);
	finish(&f);
	holds(&f, 1, "out", 3);
	holds(&f, 2, "err", 3);
	stop(&f);
}

static void test_finish_lets_stderr_push_stdout_off(void **state)
{
	_cleanup_free_ char *data = filled(100);
	struct fixture f;

	(void)state;
	start(&f, "", 0, 100);
	assert_int_equal(write(f.ends[1], data, 100), 100);
	assert_int_equal(write(f.ends[2], "bad", 3), 3);
	finish(&f);
	holds(&f, 1, data, 97);
	holds(&f, 2, "bad", 3);
	stop(&f);
}

static void test_finish_does_not_wait_for_a_writer_that_lives(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, "", 0, MIB);
	assert_int_equal(write(f.ends[1], "out", 3), 3);
	assert_int_equal(capture_finish(&f.capture), 0);
	holds(&f, 1, "out", 3);
	stop(&f);
}

static void test_an_output_that_ends_early_is_not_polled_any_more(void **state)
{
	struct pollfd polls[CAPTURE_STREAMS];
	struct fixture f;

	(void)state;
	start(&f, "", 0, MIB);
	turn(&f, WAIT_MS);
	cleanup_fd(&f.ends[1]);
	turn(&f, WAIT_MS);
	capture_poll(&f.capture, polls);
	assert_int_equal(polls[1].fd, -1);
	assert_true(polls[2].fd >= 0);
	say(&f, 2, "still", 5);
	finish(&f);
	holds(&f, 2, "still", 5);
	stop(&f);
}

static void test_truncated_output_is_still_read(void **state)
{
	_cleanup_free_ char *data = filled(2 * MIB);
	struct fixture f;

	(void)state;
	start(&f, "", 0, 1);
	/* Would not come back if nobody read the pipe. */
	say(&f, 1, data, 2 * MIB);
	finish(&f);
	holds(&f, 1, data, 1);
	stop(&f);
}

/* The program reads its stdin to the end. Returns how many bytes came, all of them right. */
static size_t read_input(struct fixture *f, const char *want)
{
	char chunk[65536];
	size_t total = 0;
	ssize_t n;

	assert_int_equal(fcntl(f->ends[0], F_SETFL, O_NONBLOCK), 0);
	for (int idle = 0; idle < 1000;) {
		turn(f, 0);
		n = read(f->ends[0], chunk, sizeof(chunk));
		if (n == 0)
			return total;
		if (n < 0) {
			assert_int_equal(errno, EAGAIN);
			idle++;
			continue;
		}
		assert_memory_equal(chunk, want + total, (size_t)n);
		total += (size_t)n;
	}
	fail_msg("stdin has no end");
	return 0;
}

static void try_input(size_t len)
{
	_cleanup_free_ char *data = filled(len + 1);
	struct fixture f;

	start(&f, data, len, MIB);
	assert_int_equal(read_input(&f, data), len);
	assert_int_equal(f.capture.pipes[0], -1);
	finish(&f);
	stop(&f);
}

static void test_feeds_stdin_to_its_end(void **state)
{
	(void)state;
	try_input(0);
	try_input(1);
	try_input(65536);
	try_input(MIB);
}

static void test_stdin_that_nobody_reads_stops_nothing(void **state)
{
	_cleanup_free_ char *data = filled(MIB);
	struct fixture f;

	(void)state;
	start(&f, data, MIB, MIB);
	for (int i = 0; i < 20; i++)
		turn(&f, 0);
	say(&f, 1, "done", 4);
	finish(&f);
	holds(&f, 1, "done", 4);
	stop(&f);
}

static void test_stdin_that_was_closed_is_no_error_and_no_signal(void **state)
{
	_cleanup_free_ char *data = filled(MIB);
	struct fixture f;

	(void)state;
	start(&f, data, MIB, MIB);
	cleanup_fd(&f.ends[0]);
	for (int i = 0; i < 5; i++)
		turn(&f, 0);
	assert_int_equal(f.capture.pipes[0], -1);
	finish(&f);
	stop(&f);
}

static void test_the_ends_of_the_program_block_and_are_close_on_exec(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, "", 0, MIB);
	for (int i = 0; i < CAPTURE_STREAMS; i++) {
		assert_int_equal(fcntl(f.ends[i], F_GETFL) & O_NONBLOCK, 0);
		assert_int_equal(fcntl(f.ends[i], F_GETFD), FD_CLOEXEC);
		assert_int_equal(fcntl(f.capture.pipes[i], F_GETFD), FD_CLOEXEC);
	}
	stop(&f);
}

/* In a child: with room for so few descriptors capture_init must fail, and close what it was given and had made. */
static int fails_cleanly(int blob, int room)
{
	struct rlimit limit = {(rlim_t)(blob + 1 + room), (rlim_t)(blob + 20)};
	int before = fd_count(), ends[CAPTURE_STREAMS];
	struct capture capture;

	if (setrlimit(RLIMIT_NOFILE, &limit) || capture_init(&capture, blob, 1, ends) == 0)
		return 1;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return 2;
	return fd_count() == before - 1 ? 0 : 3;
}

static void test_nothing_is_left_open_when_descriptors_run_out(void **state)
{
	(void)state;
	for (int room = 0; room < 9; room++) {
		int blob = blob_from("x", 1), status = -1;
		pid_t pid = fork();

		if (pid == 0)
			_exit(fails_cleanly(blob, room));
		assert_true(pid > 0);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFEXITED(status));
		assert_int_equal(WEXITSTATUS(status), 0);
		close(blob);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keeps_exactly_what_the_cap_allows),
		cmocka_unit_test(test_keeps_exactly_the_cap_of_a_large_output),
		cmocka_unit_test(test_both_outputs_share_one_cap),
		cmocka_unit_test(test_keeps_order_within_each_of_two_interleaved_outputs),
		cmocka_unit_test(test_finish_drains_what_was_still_in_the_pipes),
		cmocka_unit_test(test_finish_lets_stderr_push_stdout_off),
		cmocka_unit_test(test_finish_does_not_wait_for_a_writer_that_lives),
		cmocka_unit_test(test_an_output_that_ends_early_is_not_polled_any_more),
		cmocka_unit_test(test_truncated_output_is_still_read),
		cmocka_unit_test(test_a_flood_on_stdout_leaves_room_for_a_traceback),
		cmocka_unit_test(test_feeds_stdin_to_its_end),
		cmocka_unit_test(test_stdin_that_nobody_reads_stops_nothing),
		cmocka_unit_test(test_stdin_that_was_closed_is_no_error_and_no_signal),
		cmocka_unit_test(test_the_ends_of_the_program_block_and_are_close_on_exec),
		cmocka_unit_test(test_nothing_is_left_open_when_descriptors_run_out),
	};

	signal(SIGPIPE, SIG_IGN); /* as the worker does */
	return cmocka_run_group_tests(tests, NULL, NULL);
}
