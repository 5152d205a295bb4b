/* watch - see the header. proc(5): task/TID/children, status, smaps_rollup. prlimit(2). */
#include "worker/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fds.h"
#include "policy/rlimits.h"

#define MIN_INTERVAL_US 1000
#define MAX_INTERVAL_US 5000
/* As fast as a program was seen to touch new memory: the time to use up what is left decides when to look again. */
#define GROWTH_BYTES_PER_US (8 * KIB)
/* A proportional sum reads every page table entry; at most a tenth of the time goes into it. */
#define PRECISE_SHARE 10
#define MAX_PIDS 1024
/* A soft limit that is off by less is not moved. */
#define LIMIT_STEP (4 * MIB)

struct pids {
	pid_t list[MAX_PIDS];
	size_t n;
};

struct use {
	uint64_t own_bytes;  /* anonymous, shared and swapped */
	uint64_t data_bytes; /* what RLIMIT_DATA counts */
};

static ssize_t read_text(const char *path, char *text, size_t size)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : read(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	return n;
}

/* The value of a line such as "VmData:	  1234 kB", in bytes; 0 when there is none. */
static uint64_t field_bytes(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? strtoull(line + strlen(name), NULL, 10) * KIB : 0;
}

static void add_children(struct pids *pids, pid_t pid, const char *task)
{
	char path[64], text[4096];
	char *next = text;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", pid, task);
	if (read_text(path, text, sizeof(text)) <= 0)
		return;
	for (;;) {
		char *end;
		long child = strtol(next, &end, 10);

		if (end == next || pids->n == MAX_PIDS)
			return;
		pids->list[pids->n++] = (pid_t)child;
		next = end;
	}
}

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* A thread other than the first can have children too. */
static void add_children_of_threads(struct pids *pids, pid_t pid)
{
	char path[32];
	struct dirent *entry;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	__attribute__((cleanup(cleanup_dir))) DIR *dir = opendir(path);

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add_children(pids, pid, entry->d_name);
}

/* Everything below init, breadth first. Processes come and go meanwhile: what is missed is seen the next time. */
static void find_processes(struct pids *pids, pid_t init)
{
	pids->n = 0;
	add_children_of_threads(pids, init);
	for (size_t i = 0; i < pids->n; i++)
		add_children_of_threads(pids, pids->list[i]);
}

static struct use measure(pid_t pid)
{
	char path[32], text[4096];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if (read_text(path, text, sizeof(text)) <= 0)
		return (struct use){0};
	return (struct use){.own_bytes = field_bytes(text, "\nRssAnon:") +
					 field_bytes(text, "\nRssShmem:") +
					 field_bytes(text, "\nVmSwap:"),
			    .data_bytes = field_bytes(text, "\nVmData:")};
}

/* What the process has, pages that it shares divided by the number of those who share them. A process that cannot be
 * read counts in full: it only hurts itself. */
static uint64_t proportional(pid_t pid, uint64_t otherwise)
{
	char path[40], text[2048];

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	if (read_text(path, text, sizeof(text)) <= 0)
		return otherwise;
	return field_bytes(text, "\nPss_Anon:") + field_bytes(text, "\nPss_Shmem:") +
	       field_bytes(text, "\nSwapPss:");
}

static uint64_t sum_uses(const struct pids *pids, struct use *uses)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < pids->n; i++) {
		uses[i] = measure(pids->list[i]);
		sum += uses[i].own_bytes;
	}
	return sum;
}

static uint64_t sum_proportional(const struct pids *pids, const struct use *uses)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < pids->n; i++)
		sum += proportional(pids->list[i], uses[i].own_bytes);
	return sum;
}

static void move_limit(pid_t pid, uint64_t wanted)
{
	struct rlimit now;
	uint64_t apart;

	if (prlimit(pid, RLIMIT_DATA, NULL, &now))
		return;
	if (wanted > now.rlim_max)
		wanted = now.rlim_max;
	apart = wanted > now.rlim_cur ? wanted - now.rlim_cur : now.rlim_cur - wanted;
	if (apart < LIMIT_STEP)
		return;
	now.rlim_cur = wanted;
	/* Fails when it has just ended. */
	prlimit(pid, RLIMIT_DATA, &now, NULL);
}

static void move_limits(const struct watch *watch, const struct pids *pids, const struct use *uses,
			uint64_t sum)
{
	uint64_t budget = rlimits_data_budget(&watch->limits);
	uint64_t room = budget > sum ? budget - sum : 0;

	for (size_t i = 0; i < pids->n; i++)
		move_limit(pids->list[i], uses[i].data_bytes + room);
}

static uint64_t interval_us(const struct watch *watch, uint64_t sum)
{
	uint64_t left = watch->limits.memory_bytes > sum ? watch->limits.memory_bytes - sum : 0;
	uint64_t us = left / GROWTH_BYTES_PER_US;

	return us < MIN_INTERVAL_US ? MIN_INTERVAL_US : us > MAX_INTERVAL_US ? MAX_INTERVAL_US : us;
}

/* The sum once more, without counting shared pages twice; at a price, so not too often. */
static uint64_t confirm(struct watch *watch, const struct pids *pids, const struct use *uses,
			uint64_t sum, uint64_t now_us)
{
	uint64_t spent_us;

	if (now_us < watch->precise_us)
		return watch->limits.memory_bytes;
	sum = sum_proportional(pids, uses);
	spent_us = clock_us() - now_us;
	watch->precise_us = now_us + spent_us * PRECISE_SHARE;
	return sum;
}

void watch_init(struct watch *watch, const struct limits *limits, pid_t init, uint64_t now_us)
{
	*watch = (struct watch){
		.limits = *limits, .init = init, .next_us = now_us + MIN_INTERVAL_US};
}

bool watch_look(struct watch *watch, uint64_t now_us)
{
	struct pids pids;
	struct use uses[MAX_PIDS];
	uint64_t sum;

	if (now_us < watch->next_us)
		return false;
	find_processes(&pids, watch->init);
	sum = sum_uses(&pids, uses);
	if (sum > watch->limits.memory_bytes)
		sum = confirm(watch, &pids, uses, sum, now_us);
	if (sum > watch->peak_bytes)
		watch->peak_bytes = sum;
	move_limits(watch, &pids, uses, sum);
	watch->next_us = now_us + interval_us(watch, sum);
	return sum > watch->limits.memory_bytes;
}
