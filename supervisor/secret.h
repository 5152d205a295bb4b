/* secret - the token, taken out of the environment before anything else starts, or read from a file.
 *
 * Same-uid processes can read /proc/PID/environ of a dumpable process, and `unsetenv` leaves the bytes there; so the
 * value is overwritten where the kernel put it, and what is kept lies in one locked page that no child inherits.
 * On stdio no token is needed: it is only removed.
 */
#ifndef SUPERVISOR_SECRET_H
#define SUPERVISOR_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* What became of MCP_EXEC_AUTH_TOKEN. */
enum secret_state {
	SECRET_NONE, /* not set, or empty */
	SECRET_KEPT, /* the page has it */
	SECRET_UNUSABLE /* it was set, and cannot be kept: longer than 4095 bytes, or no page can be had */
};

/* Moves MCP_EXEC_AUTH_TOKEN out of environ (bytes overwritten in place, variable removed) into a page of its own
 * (mlock when allowed, MADV_DONTDUMP, MADV_WIPEONFORK). Call once, first thing in main. Never fails: a token that is
 * longer than 4095 bytes, or that no page can be had for, is overwritten and removed all the same, and not kept. */
enum secret_state secret_take(void);

/* Makes sure of the token that http and sse are to ask for. taken: what secret_take said. file: the value of
 * MCP_EXEC_AUTH_TOKEN_FILE, a path, or the name of a file in $CREDENTIALS_DIRECTORY when it has no "/"; NULL: not set,
 * and then the credential mcp-exec-auth-token is used if there is one. One newline at the end of a file is not part of
 * the token. The file is read once, now: call it while we may still be root.
 * Returns 0, and secret_present says whether there is a token; or -EINVAL with one sentence in error, which never holds
 * a byte of a token: no doubtful token is taken for none. */
int secret_settle(enum secret_state taken, const char *file, char *error, size_t error_size);

/* Says whether a token was taken and kept. */
bool secret_present(void);

/* Says whether data is the token, in a time that depends on len and the token's length, and on no byte of either. False
 * when there is no token. */
bool secret_matches(const char *data, size_t len);

/* Overwrites it. */
void secret_forget(void);

#endif
