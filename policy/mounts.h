/* mounts - makes mounts read-only and takes other rights from them, in a mount namespace of the caller's own. */
#ifndef POLICY_MOUNTS_H
#define POLICY_MOUNTS_H

#include <stdbool.h>

/* Makes the mount at path read-only and adds flags (MS_…). Returns 0 or a negative errno. */
int mounts_restrict(const char *path, unsigned long flags);

/* Makes every mount at path and below it read-only, nosuid and nodev. Says whether it did; if not, nothing changed: a
 * kernel before Linux 5.12 or a container's filter may not know the call. */
bool mounts_restrict_below(const char *path);

/* Does the same to each mount of this mountinfo file (proc(5)) that is meant. Returns 0 or a negative errno. */
int mounts_restrict_listed(const char *mountinfo, bool (*is_meant)(const char *path));

#endif
