/* mcp - the Model Context Protocol: which method is served how, in both eras.
 *
 * Legacy era: revisions up to 2025-11-25, with initialize. Modern era: 2026-07-28, stateless; each request carries its
 * version in params._meta["io.modelcontextprotocol/protocolVersion"] (a claim). On stdio each message is served by its
 * own claim, whatever came before; only initialize is remembered. Over HTTP the claim decides as well, and the headers
 * must agree with it. HTTP+SSE is legacy altogether. Bytes in, answers by a channel; which transport it is shows only
 * in struct mcp_envelope.
 */
#ifndef SUPERVISOR_MCP_H
#define SUPERVISOR_MCP_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/channel.h"
#include "supervisor/config.h"
#include "supervisor/dispatch.h"
#include "supervisor/session.h"
#include "supervisor/tool.h"

struct mcp {
	const struct config *config; /* borrowed */
	struct dispatch *dispatch;   /* borrowed */
	const struct tool *tools;    /* borrowed; ends with a row without a name */
};

/* The table of the product: exec. */
extern const struct tool mcp_tools[];

enum mcp_way { MCP_STDIO, MCP_SSE, MCP_HTTP };

/* How a message came. The strings are borrowed for the length of mcp_handle. */
struct mcp_envelope {
	enum mcp_way way;
	/* MCP_HTTP: the header fields MCP-Protocol-Version, Mcp-Method and Mcp-Name; NULL: absent. */
	const char *version;
	const char *method;
	const char *name;
	/* The session of the client, NULL: none. For MCP_HTTP that of its Mcp-Session-Id, which only legacy messages
	 * belong to; unknown_session: there is such a field, and no such session. */
	struct session *session;
	bool unknown_session;
};

/* Handles one message, or one batch, of a client: answers at once what can be answered and submits calls.
 * own: a session for what belongs to none (MCP_HTTP: modern messages, and legacy ones without Mcp-Session-Id); it must
 * live as long as its calls. Elsewhere it is not used and may be NULL.
 * channel: where the answers go; it must live while it is held.
 * A message longer than config_message_max is refused, whatever it holds in its middle; its id is found if it lies near
 * its start or end. text is borrowed for the length of the call. */
void mcp_handle(struct mcp *mcp, struct session *own, struct channel *channel,
		const struct mcp_envelope *envelope, const char *text, size_t len);

/* Cancels every call of the session that is in flight, without an answer; but a batch that has other answers sends
 * them, so mute the channel first where nobody reads any more. */
void mcp_end(struct mcp *mcp, struct session *session);

/* Sends the progress notifications that are due (calls that asked for them by a progressToken: first after a second,
 * then every few seconds). To be called twice a second or so. */
void mcp_tick(struct mcp *mcp);

/* Answers a message that there was no memory for. */
void mcp_refuse_unread(struct channel *channel);

#endif
