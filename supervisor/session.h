/* session - one client: the version it negotiated, its calls in flight by request id, and the way answers go to it.
 *
 * On stdio there is one session for the life of the process. Ids are compared as they stand in the message: "1" is not
 * 1. Era is no state: each message is served by its own claim (see mcp.h); only what initialize negotiated is kept.
 */
#ifndef SUPERVISOR_SESSION_H
#define SUPERVISOR_SESSION_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "supervisor/call.h"
#include "supervisor/scan.h"

struct session;

/* Several answers that go out as one JSON array (batches of 2025-03-26 and before). */
struct batch;

/* Sends one complete JSON message (no newline in it) to the client. */
typedef void (*session_send)(void *ctx, const char *text, size_t len);

/* Makes a session. Returns NULL when memory is out. */
struct session *session_new(session_send send, void *ctx);

/* Cancels nothing by itself: the owner ends the dispatcher or cancels the calls first (session_each_call). */
void session_free(struct session *session);

/* The negotiated version: a literal of mcp.c, or NULL before initialize. */
const char *session_version(const struct session *session);
void session_set_version(struct session *session, const char *version);

/* Nothing is sent any more, whatever comes: for the end of a client. */
void session_mute(struct session *session);

/* Sends text as an answer: at once, or into the batch it belongs to (NULL: none). */
void session_answer(struct session *session, struct batch *batch, const char *text, size_t len);

/* For an answer that memory is missing for: sends a short error without an id, at once or instead of the batch. */
void session_lose_answer(struct session *session, struct batch *batch);

/* A batch starts with one hold on it, which batch_release gives up; each call in it holds it too (batch_hold). When the
 * last hold goes, the array is sent (nothing, if it is empty) and the batch is freed. */
struct batch *batch_new(struct session *session);
void batch_hold(struct batch *batch);
void batch_release(struct batch *batch);

/* Calls in flight. session_add copies the id. Returns 0, -EEXIST when the id is in flight, -ENOMEM. */
int session_add(struct session *session, struct slice id, struct call *call);
struct call *session_find(const struct session *session, struct slice id);
/* Forgets the call; does not free it. */
void session_remove(struct session *session, struct call *call);
/* Any call in flight, or NULL: for ending a session. */
struct call *session_any(const struct session *session);
/* Calls visit for each call in flight; visit must not add or remove one. */
void session_each(const struct session *session, void (*visit)(struct call *call, void *ctx),
		  void *ctx);

#endif
