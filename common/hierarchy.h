/* hierarchy - where this process stands among the cgroups of version 2. cgroups(7). */
#ifndef COMMON_HIERARCHY_H
#define COMMON_HIERARCHY_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* The directory of the cgroup that /proc/PID/cgroup names, by the mounts of /proc/PID/mountinfo, both given as text:
 * beside the controllers of version 1 there may be a hierarchy of version 2, and only its part below some cgroup may be
 * mounted. Pure. Returns 0, -ENOENT when there is no such cgroup or it is not below a mount, or -ENAMETOOLONG. */
int hierarchy_directory(const char *cgroups, const char *mountinfo, char *path, size_t size);

/* The same for the calling process. Returns as above, or another negative errno. */
int hierarchy_own(char *path, size_t size);

/* Says whether the words of a list of controllers, as cgroup.controllers has it, include this one. Pure. */
bool hierarchy_lists(const char *controllers, const char *name);

/* Reads a file of a cgroup as text. Returns its length or a negative errno. */
ssize_t hierarchy_read(int dir, const char *file, char *text, size_t size);

/* Writes text to one, by a single write(2). Returns 0 or a negative errno. */
int hierarchy_write(int dir, const char *file, const char *text);

/* Says whether cgroup.procs names no process but these (n of them). Pure. */
bool hierarchy_only(const char *procs, const pid_t *allowed, size_t n);

#endif
