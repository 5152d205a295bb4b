/* scope - a cgroup of our own for a server that a desktop program starts: the user's systemd makes one (a scope) around
 * this process and lets us divide it. Nothing else about the process changes, and a failure is none: runs are limited by
 * the next best then. systemd.scope(5), org.freedesktop.systemd1(5). */
#ifndef SUPERVISOR_SCOPE_H
#define SUPERVISOR_SCOPE_H

/* Asks for it, where this process has no such cgroup yet and the user's systemd seems to be there. Waits for the answer,
 * but not for long. Before there is a worker, and before the seccomp filter. */
void scope_enter(void);

#endif
