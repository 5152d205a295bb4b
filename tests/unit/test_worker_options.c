/* Unit tests of worker/options. */
#include <errno.h>
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "worker/options.h"

#define MAX_ARGS 8

/* Reads a command line that is given as one text with blanks. */
static int read_text(struct options *options, const char *text)
{
	static char line[256];
	char *argv[MAX_ARGS + 2] = {(char[]){"worker"}};
	int argc = 1;
	char *save = NULL;

	snprintf(line, sizeof(line), "%s", text);
	for (char *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save))
		argv[argc++] = word;
	optind = 0; /* getopt(3): starts anew */
	return options_read(options, argc, argv);
}

static void test_starts_with_the_defaults(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(read_text(&options, ""), 0);
	assert_int_equal(options.mode, WORKER_SERVE);
	assert_false(options.strict);
	assert_string_equal(options.python, "python3");
	assert_int_equal(options.limits.memory_bytes, MEMORY_BYTES);
	assert_int_equal(options.limits.tmp_bytes, TMP_BYTES);
	assert_int_equal(options.limits.max_processes, MAX_PROCESSES);
	assert_int_equal(options.limits.cpus, MAX_CPUS);
	assert_int_equal(options.limits.max_cpu_s, MAX_TIMEOUT_S);
	assert_true(options.warm.on);
	assert_int_equal(options.warm.idle_s, WARM_IDLE_S);
	assert_int_equal(options.warm.modules.n, WARM_KNOWN);
	assert_int_equal(options.warm.modules.always, 0);
	assert_int_equal(options.log_level, LOG_INFO);
}

static void test_takes_every_option(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(read_text(&options, "--python /x/python3 --memory-bytes 1000000000 "
					     "--tmp-bytes 2000000 --cpus 4"),
			 0);
	assert_string_equal(options.python, "/x/python3");
	assert_int_equal(options.limits.memory_bytes, 1000000000);
	assert_int_equal(options.limits.tmp_bytes, 2000000);
	assert_int_equal(options.limits.cpus, 4);
	assert_int_equal(read_text(&options,
				   "--max-processes=9 --max-cpu-s=7 --log-level=error --check "
				   "--strict"),
			 0);
	assert_int_equal(options.limits.max_processes, 9);
	assert_int_equal(options.limits.max_cpu_s, 7);
	assert_int_equal(options.log_level, LOG_ERROR);
	assert_int_equal(options.mode, WORKER_CHECK);
	assert_true(options.strict);
	assert_int_equal(read_text(&options, "--warm 0 --preload numpy,a.b --warm-idle-s 5"), 0);
	assert_false(options.warm.on);
	assert_int_equal(options.cgroup, CGROUP_AUTO);
	assert_int_equal(read_text(&options, "--cgroup required"), 0);
	assert_int_equal(options.cgroup, CGROUP_REQUIRED);
	assert_int_equal(read_text(&options, "--cgroup sometimes"), -EINVAL);
	assert_int_equal(read_text(&options, "--warm 0 --preload numpy,a.b --warm-idle-s 5"), 0);
	assert_int_equal(options.warm.idle_s, 5);
	assert_int_equal(options.warm.modules.n, WARM_KNOWN + 1);
	assert_int_equal(options.warm.modules.always, 1 << 0 | 1 << 3);
	assert_int_equal(read_text(&options, "--warm 1"), 0);
	assert_true(options.warm.on);
	assert_int_equal(read_text(&options, "--print-policy"), 0);
	assert_int_equal(options.mode, WORKER_PRINT_POLICY);
}

static void test_refuses_anything_else(void **state)
{
	static const char *const bad[] = {
		"more",
		"--unknown",
		"-c",
		"--python",
		"--memory-bytes x",
		"--memory-bytes 1x",
		"--memory-bytes -1",
		"--memory-bytes 0",
		"--memory-bytes 99999999999999999999999",
		"--memory-bytes 1099511627777", /* one more than 1024 GiB */
		"--tmp-bytes 68719476737",	/* one more than 64 GiB */
		"--cpus 4294967296",
		"--max-processes 0",
		"--max-cpu-s 1.5",
		"--log-level loud",
		"--warm yes",
		"--preload a-b",
		"--warm-idle-s 0",
		"--warm-idle-s 86401",
		"--check=yes",
		"--strict more",
	};
	struct options options;

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		if (read_text(&options, bad[i]) != -EINVAL)
			fail_msg("%s was taken", bad[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_starts_with_the_defaults),
		cmocka_unit_test(test_takes_every_option),
		cmocka_unit_test(test_refuses_anything_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
