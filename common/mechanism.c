/* mechanism - see the header. */
#include "common/mechanism.h"

#include <errno.h>
#include <string.h>

#include "common/hierarchy.h"

static const struct mechanism rows[] = {
	{BY_CGROUP_MEMORY, "memory", "memory", "polling"},
	{BY_CGROUP_PROCESSES, "processes", "pids", "rlimit"},
	{BY_CGROUP_CPUS, "cpus", "cpu", "affinity"},
};

static const char *const wishes[CGROUP_WISHES] = {
	[CGROUP_AUTO] = "auto", [CGROUP_OFF] = "off", [CGROUP_REQUIRED] = "required"};

const struct mechanism *mechanism_row(size_t i)
{
	return i < sizeof(rows) / sizeof(*rows) ? &rows[i] : NULL;
}

uint32_t mechanism_bits(const char *controllers)
{
	uint32_t bits = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		bits |= hierarchy_lists(controllers, rows[i].controller) ? rows[i].bit : 0;
	return bits;
}

const char *mechanism_name(const struct mechanism *row, uint32_t by_cgroup)
{
	return by_cgroup & row->bit ? "cgroup" : row->otherwise;
}

const char *mechanism_wish_name(enum cgroup_wish wish)
{
	return wishes[wish];
}

int mechanism_wish(const char *word, enum cgroup_wish *wish)
{
	for (int i = 0; i < CGROUP_WISHES; i++)
		if (strcmp(word, wishes[i]) == 0) {
			*wish = (enum cgroup_wish)i;
			return 0;
		}
	return -EINVAL;
}
