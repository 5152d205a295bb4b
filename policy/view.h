/* view - the file system a run sees: the system read-only, one tmpfs to write to, and nothing else of the host.
 *
 * Called in order by a process that is alone in a new mount namespace: view_root, view_pivot (the old root is then below
 * /.old), view_workspace (first, since an interpreter may lie under /tmp), view_devices, view_system, view_proc,
 * view_leave_old, view_seal. Until view_seal the root is writable. A step that fails must end the sandbox.
 */
#ifndef POLICY_VIEW_H
#define POLICY_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/limits.h"

#define VIEW_MAX_PATHS 64

/* One of the interpreter's own directories or files outside /usr, as it was when the interpreter was asked. */
struct view_path {
	const char
		*source; /* where it lies: absolute, no symbolic link in it; or the link itself */
	const char *target; /* where the interpreter looks for it */
	dev_t device;	    /* what it was; another thing in its place is not shown */
	ino_t inode;
};

struct view_plan {
	struct view_path paths[VIEW_MAX_PATHS];
	size_t n;
};

enum view_kind {
	VIEW_SYSTEM, /* from the host, read-only: a directory, a file, or a copy of the symbolic link it is */
	VIEW_DEVICE, /* a device node of the host */
	VIEW_LINK,   /* a symbolic link to text */
	VIEW_FILE,   /* a file with this text */
	VIEW_MASK    /* covered in the fresh /proc */
};

struct view_rule {
	enum view_kind kind;
	const char *path;
	const char *text;
	const char *why;
};

/* Row i of the table, or NULL behind the last. */
const struct view_rule *view_rule(size_t i);

/* The path of directory i of the workspace, or NULL behind the last. */
const char *view_workspace_dir(size_t i);

/* Stops mount propagation and mounts the tmpfs that becomes the root, and the workspace's, tmp_bytes large, which holds
 * the old root for a while. Returns 0 or a negative errno, as all do. */
int view_root(uint64_t tmp_bytes);
/* pivot_root into it. */
int view_pivot(void);
/* Shows the workspace's tmpfs at /sandbox, /tmp, /var/tmp and /dev/shm. */
int view_workspace(void);
/* While the old root still has its devices. */
int view_devices(void);
/* Binds what the system has and what the plan names, and makes every mount of it read-only, nosuid and nodev. -ESTALE
 * when something of the plan is not what it was. */
int view_system(const struct view_plan *plan);
/* Mounts a fresh /proc, read-only. Must come while the old root is there: the kernel wants to see an unmasked /proc
 * (mount_too_revealing in fs/namespace.c). Returns 1 when mounted, 0 when a container refuses it: /proc is empty then;
 * or a negative errno. */
int view_proc(void);
int view_leave_old(void);
/* Adds a file of our own to the root. */
int view_add(const char *path, const void *data, size_t len);
/* executable says whether files of the root itself may be. */
int view_seal(bool executable);

#endif
