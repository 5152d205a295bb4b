/* Unit tests of spawn: what a worker is started with, told by the fake worker itself. */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "common/blob.h"
#include "common/fds.h"
#include "common/frame.h"
#include "supervisor/spawn.h"
#include "tests/unit/fake.h"
#include "tests/unit/fd_count.h"

static void receive(int sock, struct frame *frame, int fds[FRAME_FDS])
{
	struct pollfd readable = {.fd = sock, .events = POLLIN};

	assert_int_equal(poll(&readable, 1, 3000), 1);
	assert_int_equal(frame_recv(sock, frame, fds, FRAME_TO_SUPERVISOR), 1);
}

/* Starts a fake worker and returns what it tells about itself; to be freed. */
static char *tell(void)
{
	struct config config;
	struct spawn_spec spec;
	struct blob_view view;
	struct frame frame;
	int fds[FRAME_FDS] = {-1, -1};
	pid_t pid = 0;
	int sock = -1;
	char *text;

	fake_open(&spec, &config, "tell");
	config.limits.max_processes = 99;
	assert_int_equal(spawn_worker(&spec, &pid, &sock), 0);
	assert_true((fcntl(sock, F_GETFL) & O_NONBLOCK) != 0);
	assert_true((fcntl(sock, F_GETFD) & FD_CLOEXEC) != 0);
	receive(sock, &frame, fds);
	frame_init(&frame, FRAME_RUN, 1);
	frame.run.deadline_ms = 1;
	fds[0] = blob_from("", 0);
	fds[1] = blob_from("", 0);
	assert_int_equal(frame_send(sock, &frame, fds), 0);
	receive(sock, &frame, fds);
	assert_int_equal(blob_view(fds[0], 100000, &view), 0);
	text = strndup(view.data, view.size);
	blob_view_clear(&view);
	close(fds[0]);
	close(fds[1]);
	close(sock);
	close(spec.worker_fd);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return text;
}

static void test_environment_is_the_allowed_list(void **state)
{
	char *text;

	(void)state;
	setenv("MCP_EXEC_AUTH_TOKEN", "canary", 1);
	setenv("MCP_EXEC_CPUS", "canary", 1);
	setenv("LD_LIBRARY_PATH", "/canary", 1);
	setenv("PYTHONSTARTUP", "/canary", 1);
	unsetenv("TZ");
	setenv("TZDIR", "/canary", 1);
	setenv("PYENV_VERSION", "3.12", 1);
	setenv("LC_CTYPE", "C.UTF-8", 1);
	text = tell();
	assert_null(strstr(text, "canary"));
	assert_non_null(strstr(text, "env PATH="));
	assert_non_null(strstr(text, "env PYENV_VERSION=3.12\n"));
	assert_non_null(strstr(text, "env LC_CTYPE=C.UTF-8\n"));
	free(text);
	unsetenv("MCP_EXEC_AUTH_TOKEN");
	unsetenv("MCP_EXEC_CPUS");
	unsetenv("LD_LIBRARY_PATH");
}

static void test_command_line_carries_the_settings(void **state)
{
	char *text = tell();

	(void)state;
	assert_non_null(strstr(
		text,
		"arg mcp-exec-worker\narg --python\narg tell\n"
		"arg --memory-bytes\narg 268435456\n"
		"arg --tmp-bytes\narg 67108864\n"
		"arg --max-processes\narg 99\n"
		"arg --cpus\narg 1\narg --max-cpu-s\narg 300\n"
		"arg --warm\narg 1\narg --warm-idle-s\narg 600\n"
		"arg --preload\narg \narg --cgroup\narg auto\narg --log-level\narg info\nenv "));
	free(text);
}

static void test_no_other_descriptor_is_inherited(void **state)
{
	int leak = open("/dev/null", O_RDONLY); /* not close-on-exec, on purpose */
	int high = fcntl(leak, F_DUPFD, 200);
	char *text = tell();

	(void)state;
	assert_true(leak >= 0 && high >= 200);
	assert_non_null(strstr(text, "fd 0\nfd 1\nfd 2\nfd 3\nfd 4\nfd 5\nleader"));
	assert_non_null(strstr(text, "own 4 5\n"));
	free(text);
	close(leak);
	close(high);
}

static void test_worker_leads_its_session_and_dies_with_us(void **state)
{
	char *text;

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	text = tell();
	assert_non_null(strstr(text, "leader 1\npdeathsig 9\nsigpipe-default 1\n"));
	free(text);
}

static void test_nothing_of_ours_stays_open(void **state)
{
	int before = fd_count();

	(void)state;
	free(tell());
	assert_int_equal(fd_count(), before);
}

static void test_a_program_that_cannot_be_run_is_told_with_its_errno(void **state)
{
	static const char garbage[] = "\177ELF is not all there is to it";
	char path[] = "/var/tmp/test_spawn.XXXXXX";
	int written;
	struct config config;
	struct spawn_spec spec;
	pid_t pid = 0;
	int sock = -1;

	(void)state;
	fake_open(&spec, &config, "ready");
	close(spec.worker_fd);
	written = mkstemp(path);
	assert_true(written >= 0);
	assert_int_equal(fds_write_all(written, garbage, sizeof(garbage)), 0);
	assert_int_equal(fchmod(written, 0755), 0);
	close(written);
	spec.worker_fd = open(path, O_PATH | O_CLOEXEC);
	unlink(path);
	assert_int_equal(spawn_worker(&spec, &pid, &sock), -ENOEXEC);
	assert_int_equal(spawn_report(&spec, "--check", NULL), -ENOEXEC);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	close(spec.worker_fd);
}

static void test_report_gives_the_exit_code(void **state)
{
	struct config config;
	struct spawn_spec spec;

	(void)state;
	fake_open(&spec, &config, "ready");
	assert_int_equal(spawn_report(&spec, "--check", NULL), 7);
	assert_int_equal(spawn_report(&spec, "--print-policy", NULL), 128 + SIGTERM);
	close(spec.worker_fd);
}

/* Test programs lie in a directory beside libexec, as bin does. */
static void test_finds_the_worker_beside_its_own_binary(void **state)
{
	char error[512] = "";
	struct config config = {.max_queue = 1};
	struct spawn_spec spec;
	struct stat status;

	(void)state;
	assert_int_equal(spawn_open(&spec, &config, error, sizeof(error)), 0);
	assert_string_equal(error, "");
	assert_ptr_equal(spec.config, &config);
	assert_int_equal(fstat(spec.worker_fd, &status), 0);
	assert_true(S_ISREG(status.st_mode) && (status.st_mode & 0111) != 0);
	assert_true((fcntl(spec.worker_fd, F_GETFD) & FD_CLOEXEC) != 0);
	close(spec.worker_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_environment_is_the_allowed_list),
		cmocka_unit_test(test_command_line_carries_the_settings),
		cmocka_unit_test(test_no_other_descriptor_is_inherited),
		cmocka_unit_test(test_worker_leads_its_session_and_dies_with_us),
		cmocka_unit_test(test_nothing_of_ours_stays_open),
		cmocka_unit_test(test_a_program_that_cannot_be_run_is_told_with_its_errno),
		cmocka_unit_test(test_report_gives_the_exit_code),
		cmocka_unit_test(test_finds_the_worker_beside_its_own_binary),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
