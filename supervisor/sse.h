/* sse - the transport HTTP+SSE of revision 2024-11-05, deprecated since, which clients still have.
 *
 *   GET /sse or /              a stream of events: first where to POST, then every message of ours
 *   POST /messages?sessionId=  one message (or a batch), 202; its answer comes on the stream
 *
 * The stream is the session: when the client closes it, what is in flight is cancelled. The modern era does not exist
 * here.
 */
#ifndef SUPERVISOR_SSE_H
#define SUPERVISOR_SSE_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/exchange.h"
#include "supervisor/mcp.h"

struct sse;

/* mcp is borrowed; max_sessions of its config counts. Returns NULL when memory is out. */
struct sse *sse_new(struct mcp *mcp);

/* Take an exchange whose path is that of the stream, or of its messages. */
void sse_serve_stream(struct sse *sse, struct exchange *exchange);
void sse_serve_message(struct sse *sse, struct exchange *exchange);

/* Drain: ends each stream that has no call in flight, now or when its last one is answered. For a timer. */
void sse_end_idle(struct sse *sse);

size_t sse_sessions(const struct sse *sse);

/* Cancels what is in flight and frees it; exchanges are aborted. NULL is allowed. */
void sse_free(struct sse *sse);

#endif
