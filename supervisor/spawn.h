/* spawn - starting the worker binary, which may lie where our user can no longer look.
 *
 * The binary is found relative to /proc/self/exe (../libexec/mcp-exec/mcp-exec-worker) and opened while we may still be
 * root; it is started by execveat(fd, "", AT_EMPTY_PATH), so that a checkout under /root works after the change of
 * user, also on a second start. No environment variable and no setting can name another worker.
 */
#ifndef SUPERVISOR_SPAWN_H
#define SUPERVISOR_SPAWN_H

#include <sys/types.h>

#include "supervisor/config.h"

struct spawn_spec {
	int worker_fd;		     /* the open binary, close-on-exec */
	const struct config *config; /* borrowed */
};

/* Writes the path of our own program, without links in it. Returns 0 or a negative errno. */
int spawn_own_path(char *path, size_t size);

/* Opens the worker binary. Returns 0, or a negative errno with a sentence in error. */
int spawn_open(struct spawn_spec *spec, const struct config *config, char *error,
	       size_t error_size);

/* Starts the worker with one end of a new SOCK_SEQPACKET pair as descriptor 3, 0 and 1 on /dev/null, 2 our log, no
 * other descriptor, an environment of its own (the few variables by which an interpreter is found: PATH, HOME, locale,
 * pyenv's, asdf's, conda's), default signal dispositions, PDEATHSIG SIGKILL and the settings of config on its command
 * line. Our end is non-blocking and close-on-exec.
 * Returns 0 with *pid and *sock, or a negative errno. */
int spawn_worker(const struct spawn_spec *spec, pid_t *pid, int *sock);

/* Runs the worker binary in the foreground with one mode flag ("--check" or "--print-policy") and up to one more
 * argument (may be NULL), our standard descriptors and the same environment; waits for it.
 * Returns its exit code (0..255), 128+N when signal N ended it, or a negative errno. */
int spawn_report(const struct spawn_spec *spec, const char *mode, const char *extra);

#endif
