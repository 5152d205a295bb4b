/* cgroup - see the header. */
#include "policy/cgroup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "common/hierarchy.h"
#include "common/mechanism.h"

#define PERIOD_US UINT64_C(100000)

static const struct cgroup_rule rules[] = {
	{BY_CGROUP_MEMORY, "memory.max", false,
	 "memory of all processes, of the workspace's files and of the kernel for them"},
	{BY_CGROUP_MEMORY, "memory.swap.max", true, "swap would be more of it, and slow"},
	{BY_CGROUP_MEMORY, "memory.oom.group", false, "beyond it the run ends as a whole"},
	{BY_CGROUP_PROCESSES, "pids.max", false, "processes and threads"},
	{BY_CGROUP_CPUS, "cpu.max", false, "microseconds of CPU time in each period"},
	{BY_CGROUP_CPUS, "cpu.weight.nice", false, "where others want the CPU, it yields"},
};

#define RULES (sizeof(rules) / sizeof(*rules))

const struct cgroup_rule *cgroup_rule(size_t i)
{
	return i < RULES ? &rules[i] : NULL;
}

void cgroup_value(size_t i, const struct limits *limits, char value[CGROUP_VALUE_BYTES])
{
	unsigned long long number = 1;

	if (strcmp(rules[i].file, "cpu.max") == 0) {
		snprintf(value, CGROUP_VALUE_BYTES, "%llu %llu",
			 (unsigned long long)(limits->cpus * PERIOD_US),
			 (unsigned long long)PERIOD_US);
		return;
	}
	if (strcmp(rules[i].file, "memory.max") == 0)
		number = limits->memory_bytes;
	else if (strcmp(rules[i].file, "memory.swap.max") == 0)
		number = 0;
	else if (strcmp(rules[i].file, "pids.max") == 0)
		number = limits->max_processes;
	else if (strcmp(rules[i].file, "cpu.weight.nice") == 0)
		number = RUN_NICENESS;
	snprintf(value, CGROUP_VALUE_BYTES, "%llu", number);
}

int cgroup_apply(int dir, const struct limits *limits)
{
	char value[CGROUP_VALUE_BYTES];
	int r = 0;

	for (size_t i = 0; i < RULES && r == 0; i++) {
		if (!(limits->by_cgroup & rules[i].bit))
			continue;
		cgroup_value(i, limits, value);
		r = hierarchy_write(dir, rules[i].file, value);
		if (r == -ENOENT && rules[i].optional)
			r = 0;
	}
	return r;
}
