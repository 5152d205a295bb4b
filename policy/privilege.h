/* privilege - what a run must not hold: capabilities in any set, a way to new privileges. capabilities(7), prctl(2). */
#ifndef POLICY_PRIVILEGE_H
#define POLICY_PRIVILEGE_H

/* Locks the securebits so that uid 0 would mean nothing, empties the bounding, ambient, inheritable, permitted and
 * effective sets, and reads the result back. Returns 0, -EPERM when something is left, or another negative errno. */
int privilege_drop_capabilities(void);

/* PR_SET_NO_NEW_PRIVS. Returns 0 or a negative errno. */
int privilege_no_new_privs(void);

/* Makes the process unreadable to others of its uid: /proc/PID/{mem,environ,fd} become root's, ptrace is refused.
 * Returns 0 or a negative errno. */
int privilege_undumpable(void);

/* Makes it readable again to itself and to its own uid, as a program is after execve(2). Returns as above. */
int privilege_dumpable(void);

#endif
