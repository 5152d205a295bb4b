/* Unit tests of log: stderr is a pipe meanwhile, and what came out of it is looked at. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/log.h"
#include "common/stage.h"
#include "tests/unit/child.h"

#define CAPTURE_BYTES 8192
#define LINE_BYTES 1024

/* What one log_event statement wrote to stderr, as a string. A packet pipe keeps write(2) calls apart. */
struct capture {
	int pipe_fds[2];
	int saved_stderr;
	char text[CAPTURE_BYTES];
	size_t len;
};

static void capture_begin(struct capture *capture)
{
	assert_int_equal(pipe2(capture->pipe_fds, O_CLOEXEC | O_DIRECT | O_NONBLOCK), 0);
	capture->saved_stderr = dup(STDERR_FILENO);
	dup2(capture->pipe_fds[1], STDERR_FILENO);
}

/* Takes the first packet and says how many there were. */
static int capture_end(struct capture *capture)
{
	char rest[CAPTURE_BYTES];
	ssize_t n = read(capture->pipe_fds[0], capture->text, CAPTURE_BYTES - 1);
	int packets = n > 0;

	capture->len = n > 0 ? (size_t)n : 0;
	capture->text[capture->len] = '\0';
	while (read(capture->pipe_fds[0], rest, sizeof(rest)) > 0)
		packets++;
	dup2(capture->saved_stderr, STDERR_FILENO);
	close(capture->saved_stderr);
	close(capture->pipe_fds[0]);
	close(capture->pipe_fds[1]);
	return packets;
}

#define CAPTURE(capture, statement)                                                                \
	({                                                                                         \
		capture_begin(capture);                                                            \
		statement;                                                                         \
		capture_end(capture);                                                              \
	})

/* The line behind its time stamp, whose form is checked. */
static const char *after_ts(const struct capture *capture)
{
	static const char form[] = "ts=dddd-dd-ddTdd:dd:dd.dddZ ";

	for (size_t i = 0; form[i]; i++) {
		if (form[i] == 'd')
			assert_in_range(capture->text[i], '0', '9');
		else
			assert_int_equal(capture->text[i], form[i]);
	}
	return capture->text + strlen(form);
}

static int back_to_info(void **state)
{
	(void)state;
	log_set_level(LOG_INFO);
	return 0;
}

static void test_writes_typed_fields_in_their_order_by_one_write(void **state)
{
	struct capture c;

	(void)state;
	assert_int_equal(
		CAPTURE(&c, log_event(LOG_INFO, "exec.done", LOG_U64("id", UINT64_MAX),
				      LOG_I64("exit", -1), LOG_BOOL("warm", 7),
				      LOG_WORD("via", "stdio"), LOG_STAGE("stage", STAGE_PIVOT),
				      LOG_ERRNO("error", -EPERM), LOG_SETTING("user", "mcp exec"))),
		1);
	assert_string_equal(after_ts(&c),
			    "level=info event=exec.done id=18446744073709551615 exit=-1 "
			    "warm=1 via=stdio stage=pivot_root error=EPERM "
			    "user=\"mcp exec\"\n");
}

static void test_writes_an_event_without_fields(void **state)
{
	struct capture c;

	(void)state;
	assert_int_equal(CAPTURE(&c, log_event(LOG_ERROR, "server.end")), 1);
	assert_string_equal(after_ts(&c), "level=error event=server.end\n");
}

static void test_escapes_settings_so_that_a_line_stays_one_line(void **state)
{
	struct capture c;

	(void)state;
	assert_int_equal(CAPTURE(&c, log_event(LOG_INFO, "a.b",
					       LOG_SETTING("p", "q\"b\\n\nr\r\x1b[t\t\x7f\xc3\xa9"),
					       LOG_SETTING("none", NULL))),
			 1);
	assert_string_equal(after_ts(&c),
			    "level=info event=a.b p=\"q\\\"b\\\\n\\x0ar\\x0d\\x1b[t\\x09"
			    "\\x7f\\xc3\\xa9\" none=\"\"\n");
}

/* Every length around the bound, so that the cut falls on each kind of byte and on the closing quote. */
static void test_bounds_a_line_and_closes_its_quote(void **state)
{
	char text[LINE_BYTES + 100];
	struct capture c;

	(void)state;
	for (size_t len = LINE_BYTES - 100; len < sizeof(text) - 1; len++) {
		memset(text, 'x', len);
		text[len / 2] = '"';
		text[len - 1] = '\n';
		text[len] = '\0';
		assert_int_equal(CAPTURE(&c, log_event(LOG_INFO, "a.b", LOG_SETTING("p", text),
						       LOG_SETTING("q", ""), LOG_U64("n", 1))),
				 1);
		assert_true(c.len <= LINE_BYTES);
		assert_ptr_equal(strchr(c.text, '\n'), c.text + c.len - 1);
		assert_true(strstr(c.text, "\"\n") || strstr(c.text, " n=1\n"));
	}
	assert_null(strstr(c.text, " n=1"));
}

static void test_leaves_out_whole_fields_that_do_not_fit(void **state)
{
	static const char digits[] = "n=18446744073709551615";
	struct log_field fields[100];
	struct capture c;

	(void)state;
	for (size_t i = 0; i < 99; i++)
		fields[i] = LOG_U64("n", UINT64_MAX);
	fields[99].kind = LOG_END;
	assert_int_equal(CAPTURE(&c, log_write(LOG_INFO, "a.b", fields)), 1);
	assert_in_range(c.len, LINE_BYTES - sizeof(digits) - 2, LINE_BYTES);
	assert_memory_equal(c.text + c.len - sizeof(digits), digits, sizeof(digits) - 1);
	assert_int_equal(c.text[c.len - 1], '\n');
}

static void test_writes_only_what_the_level_enables(void **state)
{
	struct capture c;

	(void)state;
	for (unsigned int set = LOG_ERROR; set <= LOG_DEBUG; set++) {
		log_set_level((enum log_level)set);
		for (unsigned int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
			int wanted = level <= set;

			assert_int_equal(log_enabled((enum log_level)level), wanted);
			assert_int_equal(CAPTURE(&c, log_event((enum log_level)level, "a.b")),
					 wanted);
		}
	}
}

static void test_preserves_errno_also_when_nothing_can_be_written(void **state)
{
	int saved_stderr = dup(STDERR_FILENO);
	int after;

	(void)state;
	close(STDERR_FILENO);
	errno = ENOTTY;
	log_event(LOG_INFO, "a.b", LOG_ERRNO("error", errno));
	after = errno;
	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	assert_int_equal(after, ENOTTY);
}

static void test_reads_the_names_of_levels(void **state)
{
	enum log_level level = LOG_INFO;

	(void)state;
	for (unsigned int i = LOG_ERROR; i <= LOG_DEBUG; i++) {
		assert_int_equal(log_level_parse(log_level_name((enum log_level)i), &level), 0);
		assert_int_equal(level, i);
	}
	assert_string_equal(log_level_name(LOG_WARN), "warn");
	assert_int_equal(log_level_parse("INFO", &level), -EINVAL);
	assert_int_equal(log_level_parse("", &level), -EINVAL);
	assert_int_equal(log_level_parse("infos", &level), -EINVAL);
	assert_int_equal(level, LOG_DEBUG);
}

static void test_names_errnos_of_either_sign(void **state)
{
	(void)state;
	assert_string_equal(log_errno(EPERM), "EPERM");
	assert_string_equal(log_errno(-ENOSPC), "ENOSPC");
	assert_string_equal(log_errno(0), "0");
	assert_string_equal(log_errno(100000), "unknown");
	assert_string_equal(log_errno(INT32_MIN), "unknown");
}

/*** A journal ***/

/* Whether lines have priorities when JOURNAL_STREAM names our file, with something before and after its number. */
static void prefixed(const char *before, const char *after, bool wanted)
{
	char stream[64], line[LINE_BYTES] = "";
	struct stat status;
	int ends[2];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	CHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO && fstat(ends[1], &status) == 0);
	snprintf(stream, sizeof(stream), "%ju:%s%ju%s", (uintmax_t)status.st_dev, before,
		 (uintmax_t)status.st_ino, after);
	CHECK(setenv("JOURNAL_STREAM", stream, 1) == 0);
	log_find_journal();
	log_set_level(LOG_DEBUG);
	for (unsigned int level = LOG_ERROR; level <= LOG_DEBUG; level++) {
		static const char *const prefixes[] = {"<3>", "<4>", "<6>", "<7>"};
		const char *prefix = wanted ? prefixes[level] : "";
		ssize_t n;

		log_event((enum log_level)level, "a.b");
		n = read(ends[0], line, sizeof(line) - 1);
		CHECK(n > 0 && strncmp(line, prefix, strlen(prefix)) == 0);
		CHECK(strncmp(line + strlen(prefix), "ts=", 3) == 0);
		CHECK(strcmp(log_prefix((enum log_level)level), prefix) == 0);
	}
}

static void in_journal(void)
{
	prefixed("", "", true);
}

static void beside_journal(void)
{
	prefixed("1", "", false);
}

static void near_journal(void)
{
	prefixed("", "1", false);
}

static void test_lines_to_the_journal_have_priorities(void **state)
{
	(void)state;
	child_check(in_journal);
	child_check(beside_journal);
	child_check(near_journal);
}

/*** A stderr that nobody reads ***/

enum unread { UNREAD_PIPE, UNREAD_PIPE_REOPENED, UNREAD_SOCKET };

static void make_unread(enum unread kind, int ends[2])
{
	int small = 4096;

	if (kind == UNREAD_SOCKET) {
		CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
		CHECK(setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)) == 0);
	} else {
		CHECK(pipe(ends) == 0);
		CHECK(fcntl(ends[1], F_SETPIPE_SZ, small) >= small);
	}
	CHECK(dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
	if (kind == UNREAD_PIPE_REOPENED) {
		log_open();
		CHECK(log_descriptor() != STDERR_FILENO);
		CHECK((fcntl(log_descriptor(), F_GETFD) & FD_CLOEXEC) != 0);
	}
	CHECK((fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK) == 0);
}

/* How many lines there are, which are all whole; reads until nothing comes for a moment. */
static unsigned int read_lines(int fd, const char *part, unsigned int *with_part)
{
	static char text[1024 * 1024];
	struct pollfd readable = {.fd = fd, .events = POLLIN};
	unsigned int lines = 0;
	size_t len = 0;
	char *at = text;

	while (poll(&readable, 1, 100) == 1) {
		ssize_t n = read(fd, text + len, sizeof(text) - 1 - len);

		CHECK(n > 0);
		len += (size_t)n;
	}
	text[len] = '\0';
	for (char *end; (end = strchr(at, '\n')) != NULL; at = end + 1, lines++) {
		*end = '\0';
		CHECK(strncmp(at, "ts=", 3) == 0);
		*with_part += strstr(at, part) != NULL;
	}
	CHECK(*at == '\0');
	return lines;
}

static void drop(enum unread kind)
{
	unsigned int told = 0, first, second;
	char wanted[64];
	int ends[2];

	alarm(10);
	make_unread(kind, ends);
	for (unsigned int i = 0; i < 2000; i++)
		log_event(LOG_INFO, "test.line", LOG_U64("i", i));
	first = read_lines(ends[0], "log.dropped", &told);
	CHECK(first > (kind == UNREAD_PIPE ? 0 : 10) && first < 2000 && told == 0);
	log_event(LOG_INFO, "test.line");
	log_event(LOG_INFO, "test.line");
	snprintf(wanted, sizeof(wanted), "level=warn event=log.dropped n=%u", 2000 - first);
	second = read_lines(ends[0], wanted, &told);
	CHECK(told == 1 && second >= 1 && second <= 3);
}

static void drop_on_pipe(void)
{
	drop(UNREAD_PIPE);
}

static void drop_on_pipe_reopened(void)
{
	drop(UNREAD_PIPE_REOPENED);
}

static void drop_on_socket(void)
{
	drop(UNREAD_SOCKET);
}

static void test_drops_and_counts_lines_that_nobody_reads(void **state)
{
	(void)state;
	child_check(drop_on_pipe);
	child_check(drop_on_pipe_reopened);
	child_check(drop_on_socket);
}

static void reader_is_gone(void)
{
	int ends[2];

	signal(SIGPIPE, SIG_IGN);
	CHECK(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
	close(ends[0]);
	log_open();
	log_event(LOG_INFO, "test.line");
	close(ends[1]);
}

static void silent(void)
{
	unsigned int told = 0;
	int ends[2];

	CHECK(pipe(ends) == 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
	log_silence();
	log_event(LOG_ERROR, "test.line");
	CHECK(!log_enabled(LOG_ERROR) && read_lines(ends[0], "", &told) == 0);
}

static void test_reader_that_is_gone_is_no_failure(void **state)
{
	(void)state;
	child_check(reader_is_gone);
}

static void test_silence_covers_errors(void **state)
{
	(void)state;
	child_check(silent);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_drops_and_counts_lines_that_nobody_reads),
		cmocka_unit_test(test_reader_that_is_gone_is_no_failure),
		cmocka_unit_test(test_silence_covers_errors),
		cmocka_unit_test(test_lines_to_the_journal_have_priorities),
		cmocka_unit_test(test_writes_typed_fields_in_their_order_by_one_write),
		cmocka_unit_test(test_writes_an_event_without_fields),
		cmocka_unit_test(test_escapes_settings_so_that_a_line_stays_one_line),
		cmocka_unit_test(test_bounds_a_line_and_closes_its_quote),
		cmocka_unit_test(test_leaves_out_whole_fields_that_do_not_fit),
		cmocka_unit_test_teardown(test_writes_only_what_the_level_enables, back_to_info),
		cmocka_unit_test(test_preserves_errno_also_when_nothing_can_be_written),
		cmocka_unit_test(test_reads_the_names_of_levels),
		cmocka_unit_test(test_names_errnos_of_either_sign),
	};

	return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
