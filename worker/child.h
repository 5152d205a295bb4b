/* child - processes that begin in the memory of who makes them: most of what a process costs is the copy of its page
 * tables. */
#ifndef WORKER_CHILD_H
#define WORKER_CHILD_H

#include <sys/types.h>

/* Makes a process of a body in our own memory, which must not return. Its stack is the rest of ours, so the caller runs
 * on the main stack and either waits for it (flags has CLONE_VFORK, and the body ends in exec or _exit) or exits at once.
 * flags: what else of clone(2). Returns its number, or -1 and errno. */
pid_t child_make(int (*body)(void *ctx), void *ctx, int flags);

#endif
