/* hierarchy - see the header. */
#include "common/hierarchy.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fds.h"
#include "common/limits.h"

#define OWN_BYTES (8 * KIB)
/* A host of many containers has thousands of mounts. */
#define MOUNTS_BYTES (4 * MIB)
#define FIELD_BYTES PATH_MAX

/* The line "0::PATH". */
static int own_path(const char *cgroups, char *path, size_t size)
{
	size_t len;

	while (*cgroups && strncmp(cgroups, "0::/", 4) != 0) {
		cgroups += strcspn(cgroups, "\n");
		cgroups += *cgroups == '\n';
	}
	if (!*cgroups)
		return -ENOENT;
	cgroups += 3;
	len = strcspn(cgroups, "\n");
	if (len >= size)
		return -ENAMETOOLONG;
	memcpy(path, cgroups, len);
	path[len] = '\0';
	return 0;
}

/* Blank, tab, newline and backslash are written as three octal digits. proc(5). */
static void decode(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (*from == '\\' && from[1] && from[2] && from[3]) {
			*to++ = (char)((from[1] - '0') << 6 | (from[2] - '0') << 3 |
				       (from[3] - '0'));
			from += 3;
		} else {
			*to++ = *from;
		}
	}
	*to = '\0';
}

/* Field i of a line, decoded. Returns whether it fits. */
static bool read_field(const char *line, size_t i, char text[FIELD_BYTES])
{
	size_t len;

	for (; i > 0; i--) {
		line += strcspn(line, " \n");
		line += *line == ' ';
	}
	len = strcspn(line, " \n");
	if (len >= FIELD_BYTES)
		return false;
	memcpy(text, line, len);
	text[len] = '\0';
	decode(text);
	return true;
}

/* Root and mount point of a line of mountinfo that is one of cgroup2. proc(5). */
static bool read_mount(const char *line, size_t len, char root[FIELD_BYTES], char at[FIELD_BYTES])
{
	static const char type[] = " - cgroup2 ";

	return memmem(line, len, type, strlen(type)) && read_field(line, 3, root) &&
	       read_field(line, 4, at);
}

/* What is left of path below root, or NULL. */
static const char *below(const char *path, const char *root)
{
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);

	if (strncmp(path, root, len) != 0 || (path[len] != '/' && path[len] != '\0'))
		return NULL;
	return strcmp(path + len, "/") == 0 ? "" : path + len;
}

/* In a cgroup namespace, what lies outside begins with "/..". cgroup_namespaces(7). */
static bool is_outside(const char *path)
{
	return strncmp(path, "/..", 3) == 0 && (path[3] == '/' || path[3] == '\0');
}

int hierarchy_directory(const char *cgroups, const char *mountinfo, char *path, size_t size)
{
	char own[FIELD_BYTES], root[FIELD_BYTES], at[FIELD_BYTES];
	int r = own_path(cgroups, own, sizeof(own));

	if (r < 0)
		return r;
	for (size_t len; *mountinfo; mountinfo += len + (mountinfo[len] == '\n')) {
		const char *rest;

		len = strcspn(mountinfo, "\n");
		if (!read_mount(mountinfo, len, root, at) || is_outside(own) ||
		    !(rest = below(own, root)))
			continue;
		r = snprintf(path, size, "%s%s", at, rest);
		return r < 0 || (size_t)r >= size ? -ENAMETOOLONG : 0;
	}
	return -ENOENT;
}

static char *read_proc(const char *path, size_t max)
{
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_free_ char *text = fd < 0 ? NULL : malloc(max + 1);
	ssize_t n = text ? fds_read_all(fd, text, max) : -1;

	if (n < 0)
		return NULL;
	text[n] = '\0';
	return take_ptr(text);
}

int hierarchy_own(char *path, size_t size)
{
	_cleanup_free_ char *cgroups = read_proc("/proc/self/cgroup", OWN_BYTES);
	_cleanup_free_ char *mountinfo = read_proc("/proc/self/mountinfo", MOUNTS_BYTES);

	if (!cgroups || !mountinfo)
		return -ENOENT;
	return hierarchy_directory(cgroups, mountinfo, path, size);
}

bool hierarchy_lists(const char *controllers, const char *name)
{
	size_t len = strlen(name);

	while (*controllers) {
		size_t word = strcspn(controllers, " \n");

		if (word == len && strncmp(controllers, name, len) == 0)
			return true;
		controllers += word + (controllers[word] != '\0');
	}
	return false;
}

ssize_t hierarchy_read(int dir, const char *file, char *text, size_t size)
{
	_cleanup_fd_ int fd = openat(dir, file, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -errno : fds_read_all(fd, text, size - 1);

	text[n > 0 ? n : 0] = '\0';
	return n;
}

int hierarchy_write(int dir, const char *file, const char *text)
{
	_cleanup_fd_ int fd = openat(dir, file, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return write(fd, text, strlen(text)) < 0 ? -errno : 0;
}

bool hierarchy_only(const char *procs, const pid_t *allowed, size_t n)
{
	while (*procs) {
		char *end;
		long pid = strtol(procs, &end, 10);
		bool known = false;

		for (size_t i = 0; i < n; i++)
			known |= pid == allowed[i];
		if (!known || end == procs)
			return false;
		procs = end + (*end == '\n');
	}
	return true;
}
