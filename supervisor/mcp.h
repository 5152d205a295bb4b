/* mcp - the Model Context Protocol: which method is served how, in both eras.
 *
 * Legacy era: revisions up to 2025-11-25, with initialize. Modern era: 2026-07-28, stateless; each request carries its
 * version in params._meta["io.modelcontextprotocol/protocolVersion"] (a claim). On stdio each message is served by its
 * own claim, whatever came before; only initialize is remembered. Transport-free: bytes in, answers by session_answer.
 */
#ifndef SUPERVISOR_MCP_H
#define SUPERVISOR_MCP_H

#include <stddef.h>

#include "supervisor/config.h"
#include "supervisor/dispatch.h"
#include "supervisor/session.h"

struct mcp {
	const struct config *config; /* borrowed */
	struct dispatch *dispatch;   /* borrowed */
};

/* Handles one message, or one batch, of a client: answers at once what can be answered and submits calls.
 * One longer than config_message_max is refused, whatever it holds in its middle; its id is found if it lies near its
 * start or end. text is borrowed for the length of the call. */
void mcp_handle(struct mcp *mcp, struct session *session, const char *text, size_t len);

/* Cancels every call of the session that is in flight, without an answer: for the end of a client, before the
 * dispatcher and the session are freed. */
void mcp_end(struct mcp *mcp, struct session *session);

/* Sends the progress notifications that are due (calls that asked for them by a progressToken: first after a second,
 * then every few seconds). To be called twice a second or so. */
void mcp_tick(struct session *session);

/* Answers a message that there was no memory for. */
void mcp_refuse_unread(struct session *session);

#endif
