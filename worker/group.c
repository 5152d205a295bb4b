/* group - see the header. */
#include "worker/group.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/hierarchy.h"
#include "common/mechanism.h"
#include "policy/cgroup.h"

#define RUN "run-"
#define PRISTINE "pristine-"
#define FILE_BYTES 96
#define TEXT_BYTES 1024
/* A process that was killed leaves its cgroup a moment later. */
#define TRIES 20
#define PAUSE_NS 500000

void group_init(struct group *group, struct delegation *delegation, bool pristine)
{
	*group = (struct group){.base = -1};
	if (!delegation || delegation->dir < 0)
		return;
	group->base = delegation->dir;
	snprintf(group->name, sizeof(group->name), "%s%d-%llu", pristine ? PRISTINE : RUN, getpid(),
		 (unsigned long long)delegation->made++);
}

bool group_is_one(const char *name)
{
	return strncmp(name, RUN, strlen(RUN)) == 0 ||
	       strncmp(name, PRISTINE, strlen(PRISTINE)) == 0;
}

int group_enter(const struct group *group, const struct limits *limits)
{
	_cleanup_fd_ int dir = -1;
	int r;

	if (group->base < 0)
		return 0;
	if (mkdirat(group->base, group->name, 0755))
		return -errno;
	dir = openat(group->base, group->name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	r = cgroup_apply(dir, limits);
	return r < 0 ? r : hierarchy_write(dir, "cgroup.procs", "0");
}

static void path_in(const char *name, const char *file, char path[FILE_BYTES])
{
	snprintf(path, FILE_BYTES, "%s/%s", name, file);
}

int group_add(const struct group *group, pid_t pid)
{
	char path[FILE_BYTES], text[16];

	if (group->base < 0)
		return 0;
	path_in(group->name, "cgroup.procs", path);
	snprintf(text, sizeof(text), "%d", pid);
	return hierarchy_write(group->base, path, text);
}

uint64_t group_count(const char *events, const char *key)
{
	size_t len = strlen(key);

	while (*events) {
		if (strncmp(events, key, len) == 0 && events[len] == ' ')
			return strtoull(events + len, NULL, 10);
		events += strcspn(events, "\n");
		events += *events == '\n';
	}
	return 0;
}

static const char *read_file(const struct group *group, const char *file, char text[TEXT_BYTES])
{
	char path[FILE_BYTES];

	path_in(group->name, file, path);
	(void)hierarchy_read(group->base, path, text, TEXT_BYTES);
	return text;
}

bool group_stands(const struct group *group, uint32_t by_cgroup)
{
	char text[TEXT_BYTES];

	return group->base < 0 || (mechanism_bits(read_file(group, "cgroup.controllers", text)) &
				   by_cgroup) == by_cgroup;
}

void group_look(const struct group *group, struct group_facts *facts)
{
	char text[TEXT_BYTES];

	*facts = (struct group_facts){.peak_bytes = 0};
	if (group->base < 0)
		return;
	read_file(group, "memory.events", text);
	facts->out_of_memory =
		group_count(text, "oom_kill") > 0 || group_count(text, "oom_group_kill") > 0;
	facts->refused_fork = group_count(read_file(group, "pids.events", text), "max") > 0;
	/* Since Linux 5.19. */
	facts->peak_bytes = strtoull(read_file(group, "memory.peak", text), NULL, 10);
}

void group_remove(int base, const char *name)
{
	static const struct timespec pause = {.tv_nsec = PAUSE_NS};
	char path[FILE_BYTES];

	for (int i = 0; unlinkat(base, name, AT_REMOVEDIR) && errno == EBUSY && i < TRIES; i++) {
		/* Since Linux 5.14. */
		path_in(name, "cgroup.kill", path);
		(void)hierarchy_write(base, path, "1");
		nanosleep(&pause, NULL);
	}
}

void group_end(struct group *group)
{
	if (group->base >= 0)
		group_remove(group->base, group->name);
	group->base = -1;
}
