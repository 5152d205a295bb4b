/* streamable - the transport Streamable HTTP (revisions since 2025-03-26) at /mcp, for both eras.
 *
 *   POST    one message, or a batch of 2025-03-26. Answered as JSON, or, when the client takes it and the answer is not
 *           there at once, as a stream of events that progress can travel on
 *   DELETE  ends a session of the legacy era
 *   others  405: there is nothing to push, so there is no stream to GET
 *
 * A session begins with initialize and is a convenience: by it a client can cancel by notification, and its version is
 * known. Legacy messages without one are served. In the modern era a client cancels by closing the connection; in the
 * legacy era a lost connection cancels nothing (2025-11-25, transports, "Sending Messages to the Server", 6).
 */
#ifndef SUPERVISOR_STREAMABLE_H
#define SUPERVISOR_STREAMABLE_H

#include <stddef.h>

#include "supervisor/exchange.h"
#include "supervisor/mcp.h"

struct event_base;
struct streamable;

/* mcp is borrowed; max_sessions and session_idle_s of its config count. Returns NULL when memory is out. */
struct streamable *streamable_new(struct event_base *base, struct mcp *mcp);

/* Takes an exchange whose path is /mcp. */
void streamable_serve(struct streamable *streamable, struct exchange *exchange);

/* Ends sessions that have been idle for too long: for a timer. */
void streamable_tick(struct streamable *streamable);

size_t streamable_sessions(const struct streamable *streamable);

/* Cancels what is in flight and frees it; exchanges are aborted. NULL is allowed. */
void streamable_free(struct streamable *streamable);

#endif
