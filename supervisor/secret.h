/* secret - the token, taken out of the environment before anything else starts.
 *
 * Same-uid processes can read /proc/PID/environ of a dumpable process, and `unsetenv` leaves the bytes there; so the
 * value is overwritten where the kernel put it, and what is kept lies in one locked page that no child inherits.
 * On stdio no token is needed: it is only removed.
 */
#ifndef SUPERVISOR_SECRET_H
#define SUPERVISOR_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Moves MCP_EXEC_AUTH_TOKEN out of environ (bytes overwritten in place, variable removed) into a page of its own
 * (mlock when allowed, MADV_DONTDUMP, MADV_WIPEONFORK). Call once, first thing in main. Never fails: a token that is
 * longer than a page, or that no page can be had for, is overwritten and removed all the same, and not kept. */
void secret_take(void);

/* Says whether a token was taken and kept. */
bool secret_present(void);

/* Overwrites it. */
void secret_forget(void);

#endif
