/* processes - see the header. */
#include "worker/processes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fds.h"

/* Less address space than this, all processes together, holds no shared memory worth looking for. */
#define LARGE_BYTES (64 * MIB)
#define MAX_SHARED 256
/* What a process that is there and cannot be read is taken for: more than anybody may have. */
#define UNREADABLE_BYTES (UINT64_C(1) << 50)
#define CHILDREN_BYTES (16 * KIB)
/* Enough unless its user is in thousands of groups. */
#define STATUS_BYTES (16 * KIB)

static ssize_t read_text(const char *path, char *text, size_t size)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : fds_read_all(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	return n;
}

/* The value of a line such as "\nVmData:	  1234 kB", in bytes; 0 when there is none. */
static uint64_t field_bytes(const char *text, const char *name)
{
	const char *line = strstr(text, name);

	return line ? strtoull(line + strlen(name), NULL, 10) * KIB : 0;
}

static bool is_listed(const struct processes *processes, pid_t pid)
{
	for (size_t i = 0; i < processes->n; i++)
		if (processes->list[i].pid == pid)
			return true;
	return false;
}

static void add_children(struct processes *processes, int parent, pid_t pid, const char *task)
{
	char path[64], text[CHILDREN_BYTES];
	char *next = text, *end;

	snprintf(path, sizeof(path), "/proc/%d/task/%.20s/children", pid, task);
	if (read_text(path, text, sizeof(text)) <= 0)
		return;
	for (long child; (child = strtol(next, &end, 10)) > 0 && end != next; next = end)
		if (processes->n < CEILING_PROCESSES && !is_listed(processes, (pid_t)child))
			processes->list[processes->n++] =
				(struct process){.pid = (pid_t)child, .parent = parent};
}

/* Whether the children of its first thread are these: "", or a number and a space. */
static bool has_children(pid_t pid, const char *wanted)
{
	char path[64], text[CHILDREN_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	return read_text(path, text, sizeof(text)) >= 0 && !strcmp(text, wanted);
}

static uint64_t cpu_us_of(pid_t pid)
{
	struct timespec spent;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) || clock_gettime(clock, &spent))
		return 0;
	return (uint64_t)spent.tv_sec * 1000000 + (uint64_t)spent.tv_nsec / 1000;
}

bool process_is_alone(pid_t pid, pid_t init, struct process_usage *usage)
{
	char path[32], wanted[16], text[STATUS_BYTES];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	snprintf(wanted, sizeof(wanted), "%d ", pid);
	if (read_text(path, text, sizeof(text)) <= 0 || !strstr(text, "\nThreads:\t1\n") ||
	    !has_children(pid, "") || !has_children(init, wanted))
		return false;
	usage->peak_bytes = field_bytes(text, "\nVmHWM:");
	usage->cpu_us = cpu_us_of(pid);
	return true;
}

static void cleanup_dir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

#define _cleanup_dir_ _cleanup_(cleanup_dir)

static DIR *open_tasks(pid_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	return opendir(path);
}

/* A thread other than the first can have children too. */
static void add_children_of_threads(struct processes *processes, int parent, pid_t pid)
{
	_cleanup_dir_ DIR *dir = open_tasks(pid);
	struct dirent *entry;

	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.')
			add_children(processes, parent, pid, entry->d_name);
}

static void find(struct processes *processes, pid_t init)
{
	processes->n = 0;
	add_children_of_threads(processes, -1, init);
	for (size_t i = 0; i < processes->n; i++)
		add_children_of_threads(processes, (int)i, processes->list[i].pid);
}

/* Reads a status. Returns 1 when it tells of memory, 0 when the thread is gone or has none any more, or -errno. */
static int read_status(const char *path, char *text)
{
	ssize_t n = read_text(path, text, PROCESSES_TEXT_BYTES);

	if (n < 0)
		return n == -ENOENT || n == -ESRCH ? 0 : (int)n;
	return strstr(text, "\nVmRSS:") != NULL;
}

/* The status of any thread that still has the memory: the first one may have exited, and then says nothing of it. */
static int read_any_status(pid_t pid, char *text)
{
	_cleanup_dir_ DIR *dir = NULL;
	struct dirent *entry;
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	if ((r = read_status(path, text)))
		return r;
	dir = open_tasks(pid);
	while (dir && r == 0 && (entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "/proc/%d/task/%.20s/status", pid, entry->d_name);
		r = read_status(path, text);
	}
	return r;
}

static void measure(struct process *process, char *text)
{
	uint64_t size, stack;
	int r = read_any_status(process->pid, text);

	if (r == 0)
		return;
	process->counted = true;
	if (r < 0) {
		process->anon_bytes = UNREADABLE_BYTES;
		return;
	}
	process->anon_bytes = field_bytes(text, "\nRssAnon:") + field_bytes(text, "\nVmSwap:") +
			      field_bytes(text, "\nVmPTE:");
	process->shmem_bytes = field_bytes(text, "\nRssShmem:");
	process->data_bytes = field_bytes(text, "\nVmData:");
	size = field_bytes(text, "\nVmSize:");
	stack = field_bytes(text, "\nVmStk:");
	if (size > process->data_bytes + stack)
		process->mapped_bytes = size - process->data_bytes - stack;
}

static bool has_figures_of(const struct process *a, const struct process *b)
{
	return a->data_bytes == b->data_bytes && a->mapped_bytes == b->mapped_bytes;
}

/* Between vfork and exec a child has its parent's memory. The figures agree then, and the kernel must say so, for those
 * of a forked child agree too. If it says no, the child may have gone on since it was measured, and is measured again.
 * kcmp(2) is refused in some containers: there a child that is new is believed. */
static void settle(struct processes *now, struct process *child, const struct processes *before)
{
	const struct process *parent = child->parent < 0 ? NULL : &now->list[child->parent];
	long r;

	if (!child->counted || !parent || !has_figures_of(parent, child))
		return;
	r = syscall(SYS_kcmp, parent->pid, child->pid, KCMP_VM, 0, 0);
	child->counted = false;
	if (r > 0 || (r < 0 && is_listed(before, child->pid)))
		measure(child, now->text);
}

void processes_look(struct processes *now, pid_t init, const struct processes *before)
{
	find(now, init);
	for (size_t i = 0; i < now->n; i++)
		measure(&now->list[i], now->text);
	for (size_t i = 0; i < now->n; i++)
		settle(now, &now->list[i], before);
}

static void add(struct process_sums *sums, const struct process *process)
{
	sums->anon_bytes += process->anon_bytes;
	sums->shmem_bytes += process->shmem_bytes;
}

struct process_sums processes_sums(const struct processes *processes)
{
	struct process_sums sums = {0};

	for (size_t i = 0; i < processes->n; i++)
		if (processes->list[i].counted)
			add(&sums, &processes->list[i]);
	return sums;
}

/* Page tables are nobody else's and not in the sums of the kernel. */
static void add_proportional(struct process_sums *sums, const struct process *process, char *text)
{
	uint64_t anon, shmem;
	char path[40];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", process->pid);
	n = read_text(path, text, PROCESSES_TEXT_BYTES);
	anon = field_bytes(text, "\nPss_Anon:") + field_bytes(text, "\nSwapPss:");
	shmem = field_bytes(text, "\nPss_Shmem:");
	/* One that has ended since it was measured has nothing any more. */
	if (read_any_status(process->pid, text) == 0)
		return;
	if (n <= 0) {
		add(sums, process);
		return;
	}
	sums->anon_bytes += anon + field_bytes(text, "\nVmPTE:");
	sums->shmem_bytes += shmem;
}

struct process_sums processes_proportional(struct processes *processes, uint64_t budget_us)
{
	uint64_t until_us = clock_own_cpu_us() + budget_us;
	struct process_sums sums = {0};

	for (size_t i = 0; i < processes->n; i++) {
		const struct process *process = &processes->list[i];

		if (!process->counted)
			continue;
		if (clock_own_cpu_us() < until_us)
			add_proportional(&sums, process, processes->text);
		else
			add(&sums, process);
	}
	return sums;
}

/* Shared anonymous mappings by inode; what does not fit is counted without looking whether it is there already. */
struct shared {
	struct {
		unsigned long inode;
		uint64_t bytes;
	} list[MAX_SHARED];
	size_t n;
	uint64_t bytes;
};

static void add_shared(struct shared *shared, unsigned long inode, uint64_t bytes)
{
	for (size_t i = 0; i < shared->n; i++) {
		if (shared->list[i].inode != inode)
			continue;
		if (bytes > shared->list[i].bytes) {
			shared->bytes += bytes - shared->list[i].bytes;
			shared->list[i].bytes = bytes;
		}
		return;
	}
	if (shared->n < MAX_SHARED) {
		shared->list[shared->n].inode = inode;
		shared->list[shared->n++].bytes = bytes;
	}
	shared->bytes += bytes;
}

/* Of "start-end perms offset dev inode path": the mappings whose path is /dev/zero, deleted or not, and shared. */
static void add_mapping(struct shared *shared, const char *line)
{
	unsigned long start, end, inode;
	char perms[5], path[16] = "";

	if (sscanf(line, "%lx-%lx %4s %*s %*s %lu %15s", &start, &end, perms, &inode, path) >= 5 &&
	    perms[3] == 's' && !strcmp(path, "/dev/zero"))
		add_shared(shared, inode, end - start);
}

static void add_mappings(struct shared *shared, const struct process *process, char *text)
{
	char path[32], *save = NULL;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/maps", process->pid);
	n = read_text(path, text, PROCESSES_TEXT_BYTES);
	if (n == -EFBIG)
		shared->bytes += process->mapped_bytes;
	if (n <= 0)
		return;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		add_mapping(shared, line);
}

static bool has_much_space(const struct processes *processes)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < processes->n; i++)
		sum += processes->list[i].counted ? processes->list[i].mapped_bytes : 0;
	return sum > LARGE_BYTES;
}

uint64_t processes_shared_mappings(struct processes *processes, uint64_t budget_us)
{
	uint64_t until_us = clock_own_cpu_us() + budget_us;
	struct shared shared = {.n = 0};

	if (!has_much_space(processes))
		return 0;
	for (size_t i = 0; i < processes->n; i++) {
		const struct process *process = &processes->list[i];

		if (!process->counted)
			continue;
		if (clock_own_cpu_us() < until_us)
			add_mappings(&shared, process, processes->text);
		else
			shared.bytes += process->mapped_bytes;
	}
	return shared.bytes;
}

static int try_to_read(const char *path)
{
	char text[CHILDREN_BYTES];
	ssize_t n = read_text(path, text, sizeof(text));

	return n < 0 ? (int)n : 0;
}

int processes_check(void)
{
	char path[64];
	int r;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	if ((r = try_to_read(path)) < 0)
		return r;
	/* Our parent is no more dumpable than the first process of a sandbox: hidepid= of proc(5) hides both from us. It is 0
	 * when it is outside of our pid namespace. */
	snprintf(path, sizeof(path), "/proc/%d/status", getppid());
	if (getppid() > 0 && (r = try_to_read(path)) < 0)
		return r;
	return try_to_read("/proc/self/smaps_rollup");
}
