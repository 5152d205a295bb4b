/* Unit tests of fds and clock. What closes standard descriptors is tried in a child. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fds.h"
#include "tests/unit/child.h"
#include "tests/unit/fd_count.h"

static int is_null_device(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3) &&
	       fcntl(fd, F_GETFD) == 0;
}

static int fill_all(void)
{
	close(0);
	close(1);
	close(2);
	if (fds_fill_standard() != 0)
		return 1;
	for (int fd = 0; fd <= 2; fd++) {
		if (!is_null_device(fd))
			return 2;
	}
	return 0;
}

static int fill_one(void)
{
	int pipe_fds[2];
	int n;

	if (pipe(pipe_fds) < 0 || dup2(pipe_fds[0], 0) != 0 || dup2(pipe_fds[1], 2) != 2)
		return 1;
	close(1);
	n = fd_count();
	if (fds_fill_standard() != 0 || fd_count() != n + 1)
		return 2;
	return is_null_device(1) && !is_null_device(0) && !is_null_device(2) ? 0 : 3;
}

static void test_fills_closed_standard_descriptors_only(void **state)
{
	(void)state;
	assert_int_equal(child_run(fill_all), 0);
	assert_int_equal(child_run(fill_one), 0);
}

static int keep_three(void)
{
	int keep[] = {40, -1, 2, 41, 30};

	for (int fd = 25; fd < 50; fd++) {
		if (dup2(2, fd) != fd)
			return 1;
	}
	if (fds_close_all_but(keep, 5) != 0)
		return 2;
	for (int fd = 0; fd < 100; fd++) {
		int wanted = fd == 2 || fd == 30 || fd == 40 || fd == 41;

		if ((fcntl(fd, F_GETFD) >= 0) != wanted)
			return 3;
	}
	return 0;
}

static int keep_none(void)
{
	if (fds_close_all_but(NULL, 0) != 0)
		return 1;
	for (int fd = 0; fd < 100; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			return 2;
	}
	return 0;
}

static void test_closes_every_descriptor_but_the_kept(void **state)
{
	(void)state;
	assert_int_equal(child_run(keep_three), 0);
	assert_int_equal(child_run(keep_none), 0);
}

static void on_alarm(int number)
{
	(void)number;
}

/* Drains a pipe slowly and says how many bytes came. */
static uint32_t drain(int fd)
{
	static const struct timespec pause = {.tv_nsec = 1000000};
	uint32_t total = 0;
	char part[4096];
	ssize_t n;

	while ((n = read(fd, part, sizeof(part))) > 0) {
		total += (uint32_t)n;
		nanosleep(&pause, NULL);
	}
	return total;
}

/* A signal every millisecond interrupts write(2) while the pipe is full: EINTR and short writes. */
static void write_all_through_signals(int flags)
{
	enum { SIZE = 300000 };
	struct sigaction old, action = {.sa_handler = on_alarm};
	_cleanup_free_ char *data = calloc(1, SIZE);
	timer_t timer;
	struct itimerspec spec = {.it_interval.tv_nsec = 1000000, .it_value.tv_nsec = 1000000};
	int pipe_fds[2], status = 0;
	pid_t pid;

	assert_non_null(data);
	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(fcntl(pipe_fds[1], F_SETFL, flags), 0);
	pid = fork();
	if (pid == 0) {
		close(pipe_fds[1]);
		_exit(drain(pipe_fds[0]) == SIZE ? 0 : 1);
	}
	close(pipe_fds[0]);
	assert_int_equal(sigaction(SIGALRM, &action, &old), 0);
	assert_int_equal(timer_create(CLOCK_MONOTONIC, NULL, &timer), 0);
	assert_int_equal(timer_settime(timer, 0, &spec, NULL), 0);
	assert_int_equal(fds_write_all(pipe_fds[1], data, SIZE), 0);
	timer_delete(timer);
	sigaction(SIGALRM, &old, NULL);
	close(pipe_fds[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void test_writes_all_through_signals_and_a_full_pipe(void **state)
{
	(void)state;
	write_all_through_signals(0);
}

static void test_writes_all_into_a_pipe_that_does_not_block(void **state)
{
	(void)state;
	write_all_through_signals(O_NONBLOCK);
}

static void test_write_reports_a_bad_descriptor(void **state)
{
	(void)state;
	assert_int_equal(fds_write_all(-1, "x", 1), -EBADF);
	assert_int_equal(fds_write_all(-1, "x", 0), 0);
}

/* What fds_read_all makes of text when it may take size bytes. */
static ssize_t read_back(const char *text, size_t size, char *data)
{
	int pipe_fds[2];
	ssize_t n;

	assert_int_equal(pipe(pipe_fds), 0);
	assert_int_equal(fds_write_all(pipe_fds[1], text, strlen(text)), 0);
	close(pipe_fds[1]);
	n = fds_read_all(pipe_fds[0], data, size);
	close(pipe_fds[0]);
	return n;
}

static void test_reads_to_the_end_and_refuses_more_than_fits(void **state)
{
	char data[8] = "";

	(void)state;
	assert_int_equal(read_back("12345", 8, data), 5);
	assert_memory_equal(data, "12345", 5);
	assert_int_equal(read_back("12345678", 8, data), 8);
	assert_int_equal(read_back("123456789", 8, data), -EFBIG);
	assert_int_equal(read_back("", 8, data), 0);
	assert_int_equal(read_back("", 0, data), 0);
	assert_int_equal(fds_read_all(-1, data, 8), -EBADF);
	assert_int_equal(fds_read_all(-1, data, 0), -EBADF);
}

static void test_clock_counts_in_its_units(void **state)
{
	static const struct timespec pause = {.tv_nsec = 20000000};
	uint64_t start_us = clock_us(), start_ms = clock_ms();

	(void)state;
	assert_true(start_ms - start_us / 1000 <= 1000);
	nanosleep(&pause, NULL);
	assert_in_range(clock_us() - start_us, 20000, 5000000);
	assert_in_range(clock_ms() - start_ms, 19, 5000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fills_closed_standard_descriptors_only),
		cmocka_unit_test(test_closes_every_descriptor_but_the_kept),
		cmocka_unit_test(test_writes_all_through_signals_and_a_full_pipe),
		cmocka_unit_test(test_writes_all_into_a_pipe_that_does_not_block),
		cmocka_unit_test(test_write_reports_a_bad_descriptor),
		cmocka_unit_test(test_reads_to_the_end_and_refuses_more_than_fits),
		cmocka_unit_test(test_clock_counts_in_its_units),
	};

	return cmocka_run_group_tests_name("fds", tests, NULL, NULL);
}
