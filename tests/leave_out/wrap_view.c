/* wrap_view - leaves out parts of what a run sees of the file system: whole steps, rows of the table, and flags of
 * mounts, told apart by what is mounted. */
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "policy/landlock.h"
#include "policy/mounts.h"
#include "policy/view.h"
#include "tests/leave_out/leave_out.h"

#define STAGING "/.old"
#define OLD STAGING "/root"
#define OLD_PROC OLD "/proc"

enum kind { KIND_ROOT = 1, KIND_SYSTEM, KIND_DEVICE, KIND_WORKSPACE, KIND_PROC, KIND_MASK };

static const struct {
	enum kind kind;
	unsigned long flag;
	enum step step;
} flag_steps[] = {
	{KIND_ROOT, MS_RDONLY, STEP_root_ro},
	{KIND_ROOT, MS_NOSUID, STEP_root_nosuid},
	{KIND_ROOT, MS_NODEV, STEP_root_nodev},
	{KIND_ROOT, MS_NOEXEC, STEP_root_noexec},
	{KIND_SYSTEM, MS_RDONLY, STEP_system_ro},
	{KIND_SYSTEM, MS_NOSUID, STEP_system_nosuid},
	{KIND_SYSTEM, MS_NODEV, STEP_system_nodev},
	{KIND_DEVICE, MS_RDONLY, STEP_device_ro},
	{KIND_DEVICE, MS_NOSUID, STEP_device_nosuid},
	{KIND_DEVICE, MS_NOEXEC, STEP_device_noexec},
	{KIND_WORKSPACE, MS_NOSUID, STEP_workspace_nosuid},
	{KIND_WORKSPACE, MS_NODEV, STEP_workspace_nodev},
	{KIND_WORKSPACE, MS_NOEXEC, STEP_workspace_noexec},
	{KIND_PROC, MS_RDONLY, STEP_proc_ro},
	{KIND_PROC, MS_NOSUID, STEP_proc_nosuid},
	{KIND_PROC, MS_NODEV, STEP_proc_nodev},
	{KIND_PROC, MS_NOEXEC, STEP_proc_noexec},
	{KIND_MASK, MS_RDONLY, STEP_mask_ro},
	{KIND_MASK, MS_NOSUID, STEP_mask_nosuid},
	{KIND_MASK, MS_NODEV, STEP_mask_nodev},
	{KIND_MASK, MS_NOEXEC, STEP_mask_noexec},
};

static bool begins(const char *text, const char *with)
{
	return !strncmp(text, with, strlen(with));
}

/* What a mount or remount is for; 0: a bind, whose flags come later. */
static enum kind kind_of(const char *source, const char *target, unsigned long flags)
{
	if (flags & MS_REMOUNT) {
		if (!strcmp(target, "/"))
			return KIND_ROOT;
		return begins(target, "/dev/") || begins(target, "/proc/") ? KIND_DEVICE
									   : KIND_SYSTEM;
	}
	if (!source || flags & MS_BIND)
		return 0;
	return !strcmp(source, "root")	      ? KIND_ROOT
	       : !strcmp(source, "workspace") ? KIND_WORKSPACE
	       : !strcmp(source, "proc")      ? KIND_PROC
	       : !strcmp(source, "mask")      ? KIND_MASK
					      : 0;
}

/* The options of the workspace's tmpfs without those that are left out. */
static const char *workspace_options(const char *options, char *buf, size_t size)
{
	const char *rest = options;

	*buf = '\0';
	while (*rest) {
		int len = (int)strcspn(rest, ",");
		bool out = (begins(rest, "size=") && left_out(STEP_workspace_size)) ||
			   (begins(rest, "nr_inodes=") && left_out(STEP_workspace_inodes));
		size_t used = strlen(buf);

		if (!out)
			snprintf(buf + used, size - used, "%s%.*s", used ? "," : "", len, rest);
		rest += len + (rest[len] == ',');
	}
	return buf;
}

WRAP(int, mount, const char *source, const char *target, const char *type, unsigned long flags,
     const void *data)
{
	enum kind kind = kind_of(source, target, flags);
	char options[128];

	if (flags == (MS_REC | MS_PRIVATE) && left_out(STEP_private))
		return 0;
	if (kind == KIND_PROC && left_out(STEP_proc_fresh))
		return __real_mount(OLD_PROC, target, NULL, MS_BIND | MS_REC, NULL);
	if (kind == KIND_WORKSPACE && left_out(STEP_workspace_tmpfs))
		return 0;
	if (kind == KIND_WORKSPACE)
		data = workspace_options(data, options, sizeof(options));
	for (size_t i = 0; i < sizeof(flag_steps) / sizeof(*flag_steps); i++)
		if (flag_steps[i].kind == kind && left_out(flag_steps[i].step))
			flags &= ~flag_steps[i].flag;
	return __real_mount(source, target, type, flags, data);
}

WRAP(int, umount2, const char *target, int flags)
{
	if (!strcmp(target, STAGING) && left_out(STEP_workspace_tmpfs))
		target = OLD;
	return __real_umount2(target, flags);
}

WRAP(int, rmdir, const char *path)
{
	if (!strcmp(path, STAGING) && left_out(STEP_workspace_tmpfs))
		return 0;
	return __real_rmdir(path);
}

static bool is_host_file(const char *path)
{
	static const struct {
		const char *path;
		enum step step;
	} files[] = {
		{"/etc/passwd", STEP_etc_passwd},
		{"/etc/group", STEP_etc_group},
		{"/etc/hosts", STEP_etc_hosts},
		{"/etc/nsswitch.conf", STEP_etc_nsswitch},
	};

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(path, files[i].path))
			return left_out(files[i].step);
	return false;
}

/* The host's file instead of a made-up one, and masks for what is not there. */
WRAP(const struct view_rule *, view_rule, size_t i)
{
	static struct view_rule row;
	const struct view_rule *rule = __real_view_rule(i);

	if (!rule)
		return NULL;
	row = *rule;
	if (row.kind == VIEW_FILE && is_host_file(row.path))
		row.kind = VIEW_SYSTEM;
	if (row.kind == VIEW_MASK && left_out(STEP_proc_masks))
		row.path = "/proc/nothing";
	return &row;
}

/* Then each mount is restricted by mount(2). */
WRAP(bool, mounts_restrict_below, const char *path)
{
	for (size_t i = 0; i < sizeof(flag_steps) / sizeof(*flag_steps); i++)
		if (flag_steps[i].kind == KIND_SYSTEM && left_out(flag_steps[i].step))
			return false;
	return __real_mounts_restrict_below(path);
}

WRAP(int, view_root, uint64_t tmp_bytes)
{
	return left_out(STEP_view) ? 0 : __real_view_root(tmp_bytes);
}

WRAP(int, view_pivot, void)
{
	return left_out(STEP_view) ? 0 : __real_view_pivot();
}

WRAP(int, view_workspace, void)
{
	return left_out(STEP_view) ? 0 : __real_view_workspace();
}

WRAP(int, view_system, const struct view_plan *plan)
{
	return left_out(STEP_view) ? 0 : __real_view_system(plan);
}

WRAP(int, view_devices, void)
{
	return left_out(STEP_view) ? 0 : __real_view_devices();
}

WRAP(int, view_proc, void)
{
	return left_out(STEP_view) ? 1 : __real_view_proc();
}

WRAP(int, view_leave_old, void)
{
	return left_out(STEP_view) || left_out(STEP_old_root) ? 0 : __real_view_leave_old();
}

WRAP(int, view_seal, bool executable)
{
	return left_out(STEP_view) || left_out(STEP_seal) ? 0 : __real_view_seal(executable);
}

/* Without the view there is no /sandbox: the program is put into the trial's own directory. */
static const char *placed(const char *path, char *buf, size_t size)
{
	if (!left_out(STEP_view) || !begins(path, SANDBOX_HOME))
		return path;
	snprintf(buf, size, "%s/home%s", leave_out_dir(), path + strlen(SANDBOX_HOME));
	return buf;
}

WRAP(int, open, const char *path, int flags, ...)
{
	char buf[PATH_MAX];
	va_list list;
	mode_t mode;

	va_start(list, flags);
	mode = va_arg(list, mode_t);
	va_end(list);
	return __real_open(placed(path, buf, sizeof(buf)), flags, mode);
}

WRAP(int, chdir, const char *path)
{
	char buf[PATH_MAX];

	return __real_chdir(placed(path, buf, sizeof(buf)));
}

WRAP(int, landlock_apply, const struct view_plan *plan)
{
	return left_out(STEP_landlock) ? 0 : __real_landlock_apply(plan);
}
