/* reap - waiting for processes that end. */
#ifndef SUPERVISOR_REAP_H
#define SUPERVISOR_REAP_H

#include <sys/types.h>

/* Waits for our child, kills it when grace_ms is over, and reaps it. Returns its wait status. */
int reap_child(pid_t pid, int grace_ms);

/* Reaps what pid 1 of a container inherits, up to the first that is the child but (0: none), which is somebody else's to
 * wait for. */
void reap_orphans(pid_t but);

#endif
