/* delegation - see the header. */
#include "worker/delegation.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/hierarchy.h"
#include "common/limits.h"
#include "worker/group.h"

/* Our name for it, and that in our unit. */
#define SUPERVISOR "supervisor"
#define PROCS_BYTES (4 * KIB)

static bool may_write(int dir)
{
	return faccessat(dir, ".", W_OK, 0) == 0 && faccessat(dir, "cgroup.procs", W_OK, 0) == 0 &&
	       faccessat(dir, "cgroup.subtree_control", W_OK, 0) == 0;
}

static bool ends_with(const char *path, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && strncmp(path + len - n, end, n) == 0;
}

/* What systemd gives processes. */
static bool is_unit(const char *path, size_t len)
{
	return ends_with(path, len, ".service") || ends_with(path, len, ".scope");
}

/* How much of the path of our own cgroup is that of one that was delegated and divided; 0: it was not. */
static size_t divided(const char *path)
{
	const char *slash = strrchr(path, '/');
	size_t len = slash ? (size_t)(slash - path) : 0;

	if (ends_with(path, strlen(path), "/" SUPERVISOR))
		return len;
	return !is_unit(path, strlen(path)) && is_unit(path, len) ? len : 0;
}

/* What the cgroup can limit, as far as we know how. */
static uint32_t offered(int dir)
{
	char controllers[KIB];

	(void)hierarchy_read(dir, "cgroup.controllers", controllers, sizeof(controllers));
	return mechanism_bits(controllers);
}

/* Returns the bits of those that are now there for the cgroups below. */
static uint32_t enable(int dir, uint32_t wanted)
{
	const struct mechanism *row;
	char word[32];
	uint32_t bits = 0;

	for (size_t i = 0; (row = mechanism_row(i)); i++) {
		snprintf(word, sizeof(word), "+%s", row->controller);
		if (wanted & row->bit && hierarchy_write(dir, "cgroup.subtree_control", word) == 0)
			bits |= row->bit;
	}
	return bits;
}

static int move(int dir, const char *file, const pid_t *pids, size_t n)
{
	char text[32];
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		snprintf(text, sizeof(text), "%d", pids[i]);
		r = hierarchy_write(dir, file, text);
	}
	return r;
}

/* Makes room for groups in the cgroup that we are in. Others in it may not be ours to move: then it was not made for us. */
static uint32_t divide_own(int dir, uint32_t wanted)
{
	const pid_t ours[] = {getppid(), getpid()};
	const size_t n = sizeof(ours) / sizeof(*ours);
	char procs[PROCS_BYTES];
	uint32_t bits = 0;

	if (hierarchy_read(dir, "cgroup.procs", procs, sizeof(procs)) < 0 ||
	    !hierarchy_only(procs, ours, n))
		return 0;
	if (mkdirat(dir, SUPERVISOR, 0755) && errno != EEXIST)
		return 0;
	if (move(dir, SUPERVISOR "/cgroup.procs", ours, n) == 0)
		bits = enable(dir, wanted);
	if (bits)
		return bits;
	/* As it was. */
	(void)move(dir, "cgroup.procs", ours, n);
	(void)unlinkat(dir, SUPERVISOR, AT_REMOVEDIR);
	return 0;
}

/* Whoever served here before may have been killed. */
static void sweep(int base)
{
	_cleanup_fd_ int fd = openat(base, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (!dir)
		return;
	/* It belongs to the list now. */
	(void)take_fd(&fd);
	while ((entry = readdir(dir)))
		if (group_is_one(entry->d_name))
			group_remove(base, entry->d_name);
	closedir(dir);
}

/* Takes this cgroup if it can be divided. Returns NULL, or why it cannot. */
static const char *take(struct delegation *delegation, const char *path, bool own)
{
	_cleanup_fd_ int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	uint32_t wanted, bits;

	if (dir < 0 || !may_write(dir))
		return "no cgroup of version 2 is delegated to the server's user";
	if (!(wanted = offered(dir)))
		return "its cgroup has none of the controllers memory, pids and cpu";
	/* Two servers would count each other's leavings for theirs. */
	if (flock(dir, LOCK_EX | LOCK_NB))
		return "another server divides its cgroup";
	bits = own ? divide_own(dir, wanted) : enable(dir, wanted);
	if (!bits)
		return "other processes are in its cgroup";
	sweep(dir);
	delegation->dir = take_fd(&dir);
	delegation->by_cgroup = bits;
	return NULL;
}

static const char *look(struct delegation *delegation)
{
	char path[PATH_MAX];
	size_t len;

	if (hierarchy_own(path, sizeof(path)) < 0)
		return "there are no cgroups of version 2 here";
	if (!(len = divided(path)))
		return take(delegation, path, true);
	path[len] = '\0';
	return take(delegation, path, false);
}

int delegation_find(struct delegation *delegation, enum cgroup_wish wish)
{
	*delegation = (struct delegation){.dir = -1};
	delegation->why = wish == CGROUP_OFF ? "MCP_EXEC_CGROUP is off" : look(delegation);
	return wish == CGROUP_REQUIRED && delegation->by_cgroup != BY_CGROUP_ALL ? -ENOENT : 0;
}

void delegation_clear(struct delegation *delegation)
{
	cleanup_fd(&delegation->dir);
}
