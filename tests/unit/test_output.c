/* Unit tests of output: what goes out at once, what is kept, and that nothing waits for a reader. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "supervisor/output.h"

#define LONG_BYTES 300000

/* Reads what is there, up to size bytes. */
static size_t take(int fd, char *data, size_t size)
{
	size_t len = 0;
	ssize_t n;

	while (len < size && (n = read(fd, data + len, size - len)) > 0)
		len += (size_t)n;
	return len;
}

static char *long_line(void)
{
	char *text = malloc(LONG_BYTES);

	assert_non_null(text);
	for (size_t i = 0; i < LONG_BYTES; i++)
		text[i] = (char)('a' + i % 26);
	return text;
}

/* A short line, a long one that does not fit, and another short one, over ends[0] to ends[1]. */
static void three_lines(const int ends[2], bool may_block, size_t kept_of_the_first)
{
	_cleanup_free_ char *text = long_line(), *seen = malloc(2 * LONG_BYTES);
	struct output output;
	size_t len = 0;

	assert_non_null(seen);
	assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
	output_init(&output, ends[0], may_block);
	assert_int_equal(output_line(&output, "first", 5), 0);
	assert_int_equal(output_waiting(&output), kept_of_the_first);
	assert_int_equal(output_line(&output, text, LONG_BYTES), 0);
	assert_int_equal(output_line(&output, "last", 4), 0);
	assert_true(output_waiting(&output) > 5);
	for (int turns = 0; output_waiting(&output) && turns < 10000; turns++) {
		int r = output_write(&output);

		assert_true(r == 0 || r == -EAGAIN);
		len += take(ends[1], seen + len, 2 * LONG_BYTES - len);
	}
	len += take(ends[1], seen + len, 2 * LONG_BYTES - len);
	assert_int_equal(len, 6 + LONG_BYTES + 1 + 5);
	assert_memory_equal(seen, "first\n", 6);
	assert_memory_equal(seen + 6, text, LONG_BYTES);
	assert_memory_equal(seen + 6 + LONG_BYTES, "\nlast\n", 6);
	output_clear(&output);
	close(ends[0]);
	close(ends[1]);
}

static void test_a_pipe_with_flags_of_our_own_takes_what_it_can_at_once(void **state)
{
	int pipe_ends[2];

	(void)state;
	assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
	assert_int_equal(fcntl(pipe_ends[1], F_SETFL, O_NONBLOCK), 0);
	three_lines((int[]){pipe_ends[1], pipe_ends[0]}, false, 0);
}

/* Each write comes after a read of everything, so that one of PIPE_BUF bytes does not block; a longer one would, for ever. */
static void test_a_pipe_that_may_block_is_given_little(void **state)
{
	int pipe_ends[2];

	(void)state;
	assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
	assert_int_equal(fcntl(pipe_ends[1], F_SETPIPE_SZ, 4096), 4096);
	alarm(60);
	three_lines((int[]){pipe_ends[1], pipe_ends[0]}, true, 6);
	alarm(0);
}

static void test_a_socket_never_blocks(void **state)
{
	int ends[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
	alarm(60);
	three_lines(ends, true, 0);
	alarm(0);
}

/* The line is kept, for it is the next write that tells. */
static void test_a_reader_that_is_gone_is_told_by_the_next_write(void **state)
{
	struct output output;
	int pipe_ends[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe2(pipe_ends, O_CLOEXEC), 0);
	close(pipe_ends[0]);
	output_init(&output, pipe_ends[1], false);
	assert_int_equal(output_line(&output, "text", 4), 0);
	assert_int_equal(output_waiting(&output), 5);
	assert_int_equal(output_write(&output), -EPIPE);
	output_clear(&output);
	close(pipe_ends[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_pipe_with_flags_of_our_own_takes_what_it_can_at_once),
		cmocka_unit_test(test_a_pipe_that_may_block_is_given_little),
		cmocka_unit_test(test_a_socket_never_blocks),
		cmocka_unit_test(test_a_reader_that_is_gone_is_told_by_the_next_write),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
