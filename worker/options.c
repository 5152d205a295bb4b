/* options - see the header. */
#include "worker/options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum option_id {
	OPT_CHECK = 1,
	OPT_STRICT,
	OPT_PRINT_POLICY,
	OPT_PYTHON,
	OPT_MEMORY,
	OPT_TMP,
	OPT_PROCESSES,
	OPT_CPUS,
	OPT_CPU_S,
	OPT_WARM,
	OPT_PRELOAD,
	OPT_WARM_IDLE,
	OPT_CGROUP,
	OPT_LOG_LEVEL
};

static const struct option known[] = {
	{"check", no_argument, NULL, OPT_CHECK},
	{"strict", no_argument, NULL, OPT_STRICT},
	{"print-policy", no_argument, NULL, OPT_PRINT_POLICY},
	{"python", required_argument, NULL, OPT_PYTHON},
	{"memory-bytes", required_argument, NULL, OPT_MEMORY},
	{"tmp-bytes", required_argument, NULL, OPT_TMP},
	{"max-processes", required_argument, NULL, OPT_PROCESSES},
	{"cpus", required_argument, NULL, OPT_CPUS},
	{"max-cpu-s", required_argument, NULL, OPT_CPU_S},
	{"warm", required_argument, NULL, OPT_WARM},
	{"preload", required_argument, NULL, OPT_PRELOAD},
	{"warm-idle-s", required_argument, NULL, OPT_WARM_IDLE},
	{"cgroup", required_argument, NULL, OPT_CGROUP},
	{"log-level", required_argument, NULL, OPT_LOG_LEVEL},
	{NULL, 0, NULL, 0},
};

static int number(const char *text, uint64_t max, uint64_t *value)
{
	char *end;

	errno = 0;
	*value = strtoull(text, &end, 10);
	return errno || *end || end == text || *text == '-' || !*value || *value > max ? -EINVAL
										       : 0;
}

static int number32(const char *text, uint32_t max, uint32_t *value)
{
	uint64_t wide;
	int r = number(text, max, &wide);

	*value = (uint32_t)wide;
	return r;
}

static int yes_or_no(const char *text, bool *value)
{
	*value = strcmp(text, "1") == 0;
	return *value || strcmp(text, "0") == 0 ? 0 : -EINVAL;
}

static int read_one(struct options *options, int option, const char *value)
{
	switch (option) {
	case OPT_CHECK:
		options->mode = WORKER_CHECK;
		return 0;
	case OPT_STRICT:
		options->strict = true;
		return 0;
	case OPT_PRINT_POLICY:
		options->mode = WORKER_PRINT_POLICY;
		return 0;
	case OPT_PYTHON:
		options->python = value;
		return 0;
	case OPT_MEMORY:
		return number(value, CEILING_MEMORY_BYTES, &options->limits.memory_bytes);
	case OPT_TMP:
		return number(value, CEILING_TMP_BYTES, &options->limits.tmp_bytes);
	case OPT_PROCESSES:
		return number32(value, CEILING_PROCESSES, &options->limits.max_processes);
	case OPT_CPUS:
		return number32(value, CEILING_CPUS, &options->limits.cpus);
	case OPT_CPU_S:
		return number32(value, CEILING_TIMEOUT_S, &options->limits.max_cpu_s);
	case OPT_WARM:
		return yes_or_no(value, &options->warm.on);
	case OPT_PRELOAD:
		return warm_modules_read(&options->warm.modules, value, NULL);
	case OPT_WARM_IDLE:
		return number32(value, CEILING_WARM_IDLE_S, &options->warm.idle_s);
	case OPT_CGROUP:
		return mechanism_wish(value, &options->cgroup);
	case OPT_LOG_LEVEL:
		return log_level_parse(value, &options->log_level);
	default:
		return -EINVAL;
	}
}

int options_read(struct options *options, int argc, char **argv)
{
	int option, r;

	*options = (struct options){.python = "python3",
				    .limits = {.memory_bytes = MEMORY_BYTES,
					       .tmp_bytes = TMP_BYTES,
					       .max_processes = MAX_PROCESSES,
					       .cpus = MAX_CPUS,
					       .max_cpu_s = MAX_TIMEOUT_S},
				    .warm = {.on = true, .idle_s = WARM_IDLE_S},
				    .log_level = LOG_INFO};
	r = warm_modules_read(&options->warm.modules, "", NULL);
	while (r == 0 && (option = getopt_long(argc, argv, "", known, NULL)) != -1)
		r = read_one(options, option, optarg);
	if (r < 0 || optind != argc) {
		fprintf(stderr, "mcp-exec-worker is started by mcp-exec, not by hand; "
				"see mcp-exec-worker(8)\n");
		return -EINVAL;
	}
	return 0;
}
