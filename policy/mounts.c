/* mounts - see the header. */
#include "policy/mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fds.h"
#include "common/limits.h"

#define MAX_MOUNTINFO (4 * MIB)

/* Adds flags to a mount and keeps those it has: in a user namespace clearing one is refused (EPERM). The access time
 * flags are kept by the kernel when none is named. */
int mounts_restrict(const char *path, unsigned long flags)
{
	struct statvfs fs;

	if (statvfs(path, &fs))
		return -errno;
	flags |= fs.f_flag & ST_NOEXEC ? MS_NOEXEC : 0;
	flags |= fs.f_flag & ST_NOSUID ? MS_NOSUID : 0;
	flags |= fs.f_flag & ST_NODEV ? MS_NODEV : 0;
	return mount(NULL, path, NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | flags, NULL) ? -errno : 0;
}

/* mountinfo writes blank, tab, newline and backslash as three octal digits. proc(5). */
static void decode_octal(char *text)
{
	char *out = text;

	for (const char *in = text; *in; out++) {
		if (in[0] == '\\' && in[1] && in[2] && in[3]) {
			*out = (char)((in[1] - '0') << 6 | (in[2] - '0') << 3 | (in[3] - '0'));
			in += 4;
		} else {
			*out = *in++;
		}
	}
	*out = '\0';
}

/* The fifth field of a mountinfo line, decoded in place. */
static char *mount_point(char *line)
{
	char *field = line;

	for (int i = 0; field && i < 4; i++) {
		field = strchr(field, ' ');
		field = field ? field + 1 : NULL;
	}
	if (!field)
		return NULL;
	field[strcspn(field, " ")] = '\0';
	decode_octal(field);
	return field;
}

static int restrict_lines(char *text, bool (*is_meant)(const char *path))
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		const char *path = mount_point(line);
		int r;

		if (!path)
			return -EPROTO;
		if (!is_meant(path))
			continue;
		r = mounts_restrict(path, MS_NOSUID | MS_NODEV);
		/* One below a directory that init may not enter, a run, which is less, may not enter either. */
		if (r < 0 && r != -EACCES)
			return r;
	}
	return 0;
}

/* struct mount_attr and its flags: include/uapi/linux/mount.h, which older C libraries lack and newer ones have twice. */
struct attributes {
	uint64_t set, clear, propagation, user_namespace;
};

#define ATTRIBUTE_RDONLY 0x1U
#define ATTRIBUTE_NOSUID 0x2U
#define ATTRIBUTE_NODEV 0x4U

bool mounts_restrict_below(const char *path)
{
#ifdef SYS_mount_setattr
	struct attributes attributes = {.set = ATTRIBUTE_RDONLY | ATTRIBUTE_NOSUID |
					       ATTRIBUTE_NODEV};

	return syscall(SYS_mount_setattr, AT_FDCWD, path, AT_RECURSIVE, &attributes,
		       sizeof(attributes)) == 0;
#else
	return false;
#endif
}

int mounts_restrict_listed(const char *mountinfo, bool (*is_meant)(const char *path))
{
	_cleanup_fd_ int fd = open(mountinfo, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = malloc(MAX_MOUNTINFO + 1);
	ssize_t len;

	if (fd < 0)
		return -errno;
	if (!text)
		return -ENOMEM;
	if ((len = fds_read_all(fd, text, MAX_MOUNTINFO)) < 0)
		return (int)len;
	text[len] = '\0';
	return restrict_lines(text, is_meant);
}
