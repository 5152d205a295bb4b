/* sessions - the table of sessions by Mcp-Session-Id: a bounded number, ended when they have been idle for long.
 *
 * The table owns the sessions in it. One that it ends itself (idle, evicted, or the table is freed) has left the table
 * and goes to ended, which cancels what there is and frees it; ended must not call the table.
 *
 * Idle time counts from the last sessions_add, sessions_find, or sessions_expire that saw a call in flight. A session
 * with a call in flight is never ended by the table. now_ms is clock_ms() at the time of the call.
 *
 * An id is 128 random bits, so it cannot be guessed; it is no proof of who asks, which is the token's business. How
 * long a search takes tells no more than whether some session shares the bucket, at most 16 bits of an id: within the
 * bucket, every id is compared to its end.
 */
#ifndef SUPERVISOR_SESSIONS_H
#define SUPERVISOR_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/session.h"

#define SESSION_ID_DIGITS 32

struct sessions;

typedef void (*sessions_ended)(struct session *session, void *ctx);

/* Makes an id: 128 bits of getrandom(2) as hex digits. Returns false when there are none. */
bool sessions_new_id(char id[static SESSION_ID_DIGITS + 1]);

/* Says whether text, which may be any, is that id: looks at every digit, whatever it finds. */
bool sessions_is_id(const char *text, const char id[static SESSION_ID_DIGITS + 1]);

/* Makes an empty table for at most max sessions, each ended after idle_s seconds; both at least 1.
 * Returns NULL when memory is out. */
struct sessions *sessions_new(size_t max, uint32_t idle_s, sessions_ended ended, void *ctx);

/* Ends every session, those with calls in flight included, and frees the table. NULL is allowed. */
void sessions_free(struct sessions *sessions);

/* Takes a session and gives it an id of SESSION_ID_DIGITS hex digits. In a full table the session that has been idle
 * longest is ended to make room.
 * Returns the id, which lives as long as the session is in the table; or NULL, and the session stays the caller's: all
 * have calls in flight, or memory or random numbers are out. */
const char *sessions_add(struct sessions *sessions, struct session *session, uint64_t now_ms);

/* The session with this id, which any text may be, or NULL: unknown, or expired (it is ended then). To be asked again
 * when a call of it has ended, so that idle time counts from there. */
struct session *sessions_find(struct sessions *sessions, const char *id, uint64_t now_ms);

/* Removes the session with this id from the table: it is the caller's, and ended is not called. NULL: unknown. */
struct session *sessions_take(struct sessions *sessions, const char *id);

/* Ends those that have been idle for too long. For a timer; between two calls, a session whose call has ended without
 * a sessions_find may lose as much of its idle time as has passed. */
void sessions_expire(struct sessions *sessions, uint64_t now_ms);

size_t sessions_count(const struct sessions *sessions);

#endif
