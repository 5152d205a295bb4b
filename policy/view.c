/* view - see the header. Mounting; what is in the view stands in view_table.c.
 *
 * The root's tmpfs is first mounted over /usr, the one directory that surely exists: after pivot_root the host's /usr
 * is visible again under the old root. What a bind shows has the flags of what is bound, mounts below it too: so the whole
 * old root is restricted at once by mount_setattr(2), and devices are bound before. Older kernels and container filters
 * know only mount(2): there the mounts that recursive binds brought along are found in mountinfo, and each one is
 * restricted by itself.
 *
 * The workspace's tmpfs holds the old root while the view is made, and goes out of sight with it: taking a mount away
 * waits for every processor, so it is done once.
 */
#include "policy/view.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fds.h"
#include "policy/mounts.h"

#define STAGING "/.old"
#define OLD STAGING "/root"
#define MASK STAGING "/mask"

static const struct {
	const char *staged;
	const char *path;
	mode_t mode;
} workspace_dirs[] = {
	{STAGING "/home", SANDBOX_HOME, 0755},
	{STAGING "/tmp", "/tmp", 01777},
	{STAGING "/vartmp", "/var/tmp", 01777},
	{STAGING "/shm", "/dev/shm", 01777},
};

#define WORKSPACE_DIRS (sizeof(workspace_dirs) / sizeof(*workspace_dirs))

const char *view_workspace_dir(size_t i)
{
	return i < WORKSPACE_DIRS ? workspace_dirs[i].path : NULL;
}

static bool is_workspace(const char *path)
{
	for (size_t i = 0; i < WORKSPACE_DIRS; i++)
		if (!strcmp(path, workspace_dirs[i].path))
			return true;
	return false;
}

static int mount_at(const char *source, const char *target, const char *type, unsigned long flags,
		    const char *data)
{
	return mount(source, target, type, flags, data) ? -errno : 0;
}

static int mount_workspace(uint64_t tmp_bytes)
{
	char options[96];

	snprintf(options, sizeof(options), "size=%llu,nr_inodes=%llu,mode=0755",
		 (unsigned long long)tmp_bytes,
		 (unsigned long long)(tmp_bytes / TMP_BYTES_PER_INODE));
	if (mkdir("/usr" STAGING, 0700))
		return -errno;
	return mount_at("workspace", "/usr" STAGING, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
			options);
}

int view_root(uint64_t tmp_bytes)
{
	int r = mount_at(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);

	if (r < 0 ||
	    (r = mount_at("root", "/usr", "tmpfs", 0, "size=1m,nr_inodes=2k,mode=0755")) < 0)
		return r;
	return mount_workspace(tmp_bytes);
}

int view_pivot(void)
{
	if (mkdir("/usr" OLD, 0700))
		return -errno;
	if (syscall(SYS_pivot_root, "/usr", "/usr" OLD))
		return -errno;
	return chdir("/") ? -errno : 0;
}

/* Makes every directory of path; the last part too. Mostly it is the only one that is not there. */
static int make_dirs(const char *path)
{
	char part[PATH_MAX];

	if (!mkdir(path, 0755) || errno == EEXIST)
		return 0;
	for (const char *end = path; *end;) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		if (snprintf(part, sizeof(part), "%.*s", (int)(end - path), path) >=
		    (int)sizeof(part))
			return -ENAMETOOLONG;
		if (mkdir(part, 0755) && errno != EEXIST)
			return -errno;
	}
	return 0;
}

static int make_parent(const char *path)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');

	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
	return make_dirs(parent);
}

int view_add(const char *path, const void *data, size_t len)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	return fd < 0 ? -errno : fds_write_all(fd, data, len);
}

/* Most parents are there by now, so they are made when they are missed. */
static int make_file(const char *path, const char *text)
{
	int r = view_add(path, text, strlen(text));

	if (r == -ENOENT && (r = make_parent(path)) == 0)
		r = view_add(path, text, strlen(text));
	return r;
}

static int make_link(const char *target, const char *path)
{
	int r = symlink(target, path) ? -errno : 0;

	if (r == -ENOENT && (r = make_parent(path)) == 0)
		r = symlink(target, path) ? -errno : 0;
	return r;
}

static int copy_link(const char *source, const char *path)
{
	char target[PATH_MAX];
	ssize_t len = readlink(source, target, sizeof(target) - 1);

	if (len < 0)
		return -errno;
	target[len] = '\0';
	return make_link(target, path);
}

static int bind_to(const char *source, const char *path, bool is_dir)
{
	int r = is_dir ? make_dirs(path) : make_file(path, "");

	return r < 0 ? r : mount_at(source, path, NULL, MS_BIND | MS_REC, NULL);
}

/* Shows a path of the old root, which status describes, at target. */
static int show(const char *source, const char *target, const struct stat *status)
{
	if (S_ISLNK(status->st_mode))
		return copy_link(source, target);
	return bind_to(source, target, S_ISDIR(status->st_mode));
}

/* What the host does not have is left out: no distribution has every path. */
static int bind_system(const char *path)
{
	char source[PATH_MAX];
	struct stat status;

	snprintf(source, sizeof(source), OLD "%s", path);
	if (lstat(source, &status))
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES ? 0 : -errno;
	return show(source, path, &status);
}

static bool is_what_it_was(const struct view_path *path, const struct stat *status)
{
	return status->st_dev == path->device && status->st_ino == path->inode;
}

/* A path may have become a link to something else since the interpreter was asked. Nothing of the plan may take the
 * place of the workspace, whose mounts are not made read-only. */
static int bind_planned(const struct view_path *path)
{
	char source[PATH_MAX];
	struct stat status;
	int r;

	if (is_workspace(path->target))
		return -EINVAL;
	snprintf(source, sizeof(source), OLD "%s", path->source);
	if (lstat(source, &status))
		return -errno;
	if (!is_what_it_was(path, &status))
		return -ESTALE;
	if ((r = show(source, path->target, &status)) < 0)
		return r;
	/* Once more: mount follows links, and a link may have come in between. */
	if (lstat(path->target, &status))
		return -errno;
	return S_ISLNK(status.st_mode) || is_what_it_was(path, &status) ? 0 : -ESTALE;
}

static int bind_plan(const struct view_plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		int r = bind_planned(&plan->paths[i]);

		if (r < 0)
			return r;
	}
	return 0;
}

static bool is_system_mount(const char *path)
{
	return strcmp(path, "/") && strcmp(path, STAGING) &&
	       strncmp(path, STAGING "/", strlen(STAGING "/")) &&
	       strncmp(path, "/dev/", strlen("/dev/")) && !is_workspace(path);
}

/* Runs one step for every row of a kind. */
static int each(enum view_kind kind, int (*step)(const struct view_rule *rule))
{
	const struct view_rule *rule;

	for (size_t i = 0; (rule = view_rule(i)); i++) {
		int r = rule->kind == kind ? step(rule) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

static int step_system(const struct view_rule *rule)
{
	return bind_system(rule->path);
}

static int step_file(const struct view_rule *rule)
{
	return make_file(rule->path, rule->text);
}

static int step_link(const struct view_rule *rule)
{
	return make_link(rule->text, rule->path);
}

int view_system(const struct view_plan *plan)
{
	bool restricted = mounts_restrict_below(OLD);
	int r;

	if ((r = each(VIEW_SYSTEM, step_system)) < 0 || (r = bind_plan(plan)) < 0)
		return r;
	if (!restricted &&
	    (r = mounts_restrict_listed(OLD "/proc/self/mountinfo", is_system_mount)) < 0)
		return r;
	return each(VIEW_FILE, step_file);
}

static int step_device(const struct view_rule *rule)
{
	char source[PATH_MAX];
	int r = make_file(rule->path, "");

	if (r < 0)
		return r;
	snprintf(source, sizeof(source), OLD "%s", rule->path);
	r = mount_at(source, rule->path, NULL, MS_BIND, NULL);
	return r < 0 ? r : mounts_restrict(rule->path, MS_NOSUID | MS_NOEXEC);
}

int view_devices(void)
{
	int r = each(VIEW_DEVICE, step_device);

	return r < 0 ? r : each(VIEW_LINK, step_link);
}

static int bind_workspace_dir(size_t i)
{
	int r = make_dirs(workspace_dirs[i].path);

	if (r < 0)
		return r;
	/* mkdir is subject to the umask, chmod is not. */
	if (mkdir(workspace_dirs[i].staged, 0700) ||
	    chmod(workspace_dirs[i].staged, workspace_dirs[i].mode))
		return -errno;
	return mount_at(workspace_dirs[i].staged, workspace_dirs[i].path, NULL, MS_BIND, NULL);
}

int view_workspace(void)
{
	int r = 0;

	for (size_t i = 0; i < WORKSPACE_DIRS && r == 0; i++)
		r = bind_workspace_dir(i);
	return r;
}

static int mount_mask(void)
{
	if (mkdir(MASK, 0755))
		return -errno;
	return mount_at("mask", MASK, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
			"size=4k,nr_inodes=2");
}

/* Covered by what is restricted already, so that the bind is, too. */
static int step_mask(const struct view_rule *rule)
{
	struct stat st;

	if (lstat(rule->path, &st))
		return errno == ENOENT ? 0 : -errno;
	return mount_at(S_ISDIR(st.st_mode) ? MASK : "/dev/null", rule->path, NULL, MS_BIND, NULL);
}

int view_proc(void)
{
	int r = make_dirs("/proc");

	if (r < 0)
		return r;
	r = mount_at("proc", "/proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
	if (r == -EPERM)
		return 0;
	if (r < 0 || (r = mount_mask()) < 0 || (r = each(VIEW_MASK, step_mask)) < 0)
		return r;
	return 1;
}

int view_leave_old(void)
{
	return umount2(STAGING, MNT_DETACH) || rmdir(STAGING) ? -errno : 0;
}

int view_seal(bool executable)
{
	return mounts_restrict("/", MS_NOSUID | MS_NODEV | (executable ? 0 : MS_NOEXEC));
}
