/* rlimits - see the header. */
#include "policy/rlimits.h"

#include <errno.h>

#include "common/mechanism.h"

/* OpenBLAS reserves 136 MiB for one thread at the first import and spins for ever when it does not get them. */
#define MIN_FIRST_DATA (200 * MIB)
/* Where a cgroup counts processes, it is to be the one that refuses, for it says so. */
#define BEHIND_CGROUP 16

static const struct rlimit_rule rules[] = {
	{RLIMIT_CPU, true, "cpu", "CPU seconds of one process; SIGXCPU, a second later SIGKILL"},
	{RLIMIT_NPROC, false, "nproc",
	 "processes and threads, counted in the run's own user namespace"},
	{RLIMIT_NOFILE, false, "nofile", "open files of one process"},
	{RLIMIT_FSIZE, false, "fsize", "no file can be larger than the workspace"},
	{RLIMIT_STACK, false, "stack", "what a thread reserves by default"},
	{RLIMIT_DATA, true, "data",
	 "first value only; moved with what the run uses, or for good as high as it may be where a "
	 "cgroup counts"},
	{RLIMIT_CORE, false, "core",
	 "1, not 0: a piped core_pattern would get the memory of a run with 0"},
	{RLIMIT_MEMLOCK, false, "memlock", "no memory is locked"},
	{RLIMIT_MSGQUEUE, false, "msgqueue", "no POSIX queue"},
	{RLIMIT_NICE, false, "nice", "no higher priority"},
	{RLIMIT_RTPRIO, false, "rtprio", "no real-time priority"},
	{RLIMIT_SIGPENDING, false, "sigpending", "queued signals are counted per host user"},
};

#define RULES (sizeof(rules) / sizeof(*rules))

const struct rlimit_rule *rlimits_rule(size_t i)
{
	return i < RULES ? &rules[i] : NULL;
}

uint64_t rlimits_data_budget(const struct limits *limits)
{
	return limits->memory_bytes / 100 * 97;
}

static struct rlimit pair(rlim_t soft, rlim_t hard)
{
	return (struct rlimit){.rlim_cur = soft, .rlim_max = hard};
}

struct rlimit rlimits_value(size_t i, const struct limits *limits)
{
	rlim_t data = rlimits_data_budget(limits), processes = limits->max_processes,
	       reserved = limits->memory_bytes + 2 * GIB;

	if (limits->by_cgroup & BY_CGROUP_PROCESSES)
		processes += BEHIND_CGROUP;
	if (limits->by_cgroup & BY_CGROUP_MEMORY)
		data = reserved;

	switch (rules[i].resource) {
	case RLIMIT_CPU:
		return pair(limits->max_cpu_s, limits->max_cpu_s + 1);
	case RLIMIT_NPROC:
		return pair(processes, processes);
	case RLIMIT_NOFILE:
		return pair(MAX_OPEN_FILES, MAX_OPEN_FILES);
	case RLIMIT_FSIZE:
		return pair(limits->tmp_bytes, limits->tmp_bytes);
	case RLIMIT_STACK:
		return pair(STACK_BYTES, STACK_HARD_BYTES);
	case RLIMIT_DATA:
		return pair(data < MIN_FIRST_DATA ? MIN_FIRST_DATA : data, reserved);
	case RLIMIT_CORE:
		return pair(1, 1);
	case RLIMIT_SIGPENDING:
		return pair(1024, 1024);
	default:
		return pair(0, 0);
	}
}

static int apply_one(int resource, struct rlimit wanted)
{
	struct rlimit now;

	/* Mostly what is wanted is less than there is. */
	if (!setrlimit((__rlimit_resource_t)resource, &wanted))
		return 0;
	if (errno != EPERM || getrlimit((__rlimit_resource_t)resource, &now))
		return -errno;
	if (wanted.rlim_max > now.rlim_max)
		wanted.rlim_max = now.rlim_max;
	if (wanted.rlim_cur > wanted.rlim_max)
		wanted.rlim_cur = wanted.rlim_max;
	return setrlimit((__rlimit_resource_t)resource, &wanted) ? -errno : 0;
}

/* For whom rows are applied. */
enum whose { OF_ALL, OF_PROGRAM, OF_COPY, OF_PRISTINE };

static bool concerns(const struct rlimit_rule *rule, enum whose whose)
{
	if (whose == OF_PRISTINE)
		return rule->resource == RLIMIT_DATA;
	return rule->program_only == (whose != OF_ALL);
}

static int apply(const struct limits *limits, enum whose whose)
{
	int r = 0;

	for (size_t i = 0; i < RULES && r == 0; i++) {
		struct rlimit value = rlimits_value(i, limits);

		if (!concerns(&rules[i], whose))
			continue;
		/* As high as it may be. */
		if (rules[i].resource == RLIMIT_DATA && whose != OF_PROGRAM)
			value.rlim_cur = value.rlim_max;
		r = apply_one(rules[i].resource, value);
	}
	return r;
}

int rlimits_apply(const struct limits *limits)
{
	return apply(limits, OF_ALL);
}

int rlimits_apply_program(const struct limits *limits)
{
	return apply(limits, OF_PROGRAM);
}

int rlimits_apply_copy(const struct limits *limits)
{
	return apply(limits, OF_COPY);
}

int rlimits_apply_pristine(const struct limits *limits)
{
	return apply(limits, OF_PRISTINE);
}
