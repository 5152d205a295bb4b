/* session - what is remembered of one client: the version it negotiated, and its calls in flight by request id.
 *
 * On stdio there is one session for the life of the process; over HTTP a client of the legacy era has one, and each
 * other message has one of its own. Ids are compared as they stand in the message: "1" is not 1. Era is no state: each
 * message is served by its own claim (see mcp.h); only what initialize negotiated is kept.
 */
#ifndef SUPERVISOR_SESSION_H
#define SUPERVISOR_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/call.h"
#include "supervisor/slice.h"

struct session;

/* Makes a session. Returns NULL when memory is out. */
struct session *session_new(void);

/* Cancels nothing by itself: the owner ends the dispatcher or cancels the calls first (mcp_end). NULL is allowed. */
void session_free(struct session *session);

/* The negotiated version: a literal of mcp, or NULL before initialize. */
const char *session_version(const struct session *session);
void session_set_version(struct session *session, const char *version);

/* Calls in flight. session_add copies the id. Returns 0, -EEXIST when the id is in flight, -ENOMEM. */
int session_add(struct session *session, struct slice id, struct call *call);
struct call *session_find(const struct session *session, struct slice id);
/* Forgets the call; does not free it. */
void session_remove(struct session *session, struct call *call);
/* Any call in flight, or NULL: for ending a session. */
struct call *session_any(const struct session *session);

#endif
