/* harden - what the supervisor gives up before it serves anybody.
 *
 * Order: harden_early (nothing of ours dumpable or in a core file), then whatever needs root, then harden_user, then
 * harden_late (no new privileges). After harden_user nothing of ours is root.
 */
#ifndef SUPERVISOR_HARDEN_H
#define SUPERVISOR_HARDEN_H

#include <stddef.h>
#include <sys/types.h>

/* PR_SET_DUMPABLE 0, soft RLIMIT_CORE 0, the other soft limits that could be in our way as high as the hard ones if that
 * is allowed (the stack at 8 MiB at least), umask 022. Of signals none is blocked, SIGPIPE and SIGXFSZ are ignored, all
 * others are at their default, but SIGHUP stays ignored when it was. Returns 0 or a negative errno. */
int harden_early(void);

/* Whether what harden_early made of our limits is enough to serve with. Returns 0, or -EMFILE or -ENOMEM with a sentence
 * in error. */
int harden_limits(char *error, size_t error_size);

/* When effective uid is 0: becomes user (a name or a number; NULL: mcp-exec if it exists, else UNPRIVILEGED_ID) with no
 * supplementary group, sets HOME, USER and LOGNAME in environ to that user's, and proves that root cannot be had back.
 * When started as another user, a non-NULL user must be that same one, and neither the real nor the saved uid root.
 * Returns 0, or a negative errno with a sentence in error. */
int harden_user(const char *user, char *error, size_t error_size);

/* Whom harden_user will make us; our own ids when we are not root. Returns 0, or a negative errno with a sentence in
 * error when there is no such user. */
int harden_identity(const char *user, uid_t *uid, gid_t *gid, char *error, size_t error_size);

/* PR_SET_NO_NEW_PRIVS, PR_SET_DUMPABLE 0 again (a change of uid resets it). Returns 0 or a negative errno. */
int harden_late(void);

#endif
