/* mcp_internal - what the files of mcp share: the way back of an answer, and one request on its
 * way through them. */
#ifndef SUPERVISOR_MCP_INTERNAL_H
#define SUPERVISOR_MCP_INTERNAL_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "supervisor/mcp.h"
#include "supervisor/rpc.h"
#include "supervisor/session.h"

#define MCP_MODERN_VERSION "2026-07-28"
#define MCP_LATEST_LEGACY_VERSION "2025-11-25"

#define MCP_META_PREFIX "io.modelcontextprotocol/"
#define MCP_VERSION_KEY MCP_META_PREFIX "protocolVersion"

/* Where an answer goes and in which era's form. */
struct mcp_reply {
	struct session *session;
	struct channel *channel;
	struct batch *batch; /* NULL: none */
	struct slice id;
	bool modern;
	enum channel_kind kind;
};

struct mcp_request {
	struct mcp *mcp;
	const struct mcp_envelope *envelope;
	const struct rpc_message *message;
	struct mcp_reply reply;
};

/* Answers with result, which it takes; NULL (memory is out) becomes an error. The modern era's
 * members are added. */
void mcp_reply_result(const struct mcp_reply *reply, cJSON *result);
/* Answers with a result that is written as text: begin appends its start, then come its members but for _meta, then
 * mcp_reply_meta and the members of that, and mcp_reply_end adds those of the modern era and sends it. */
void mcp_reply_begin(const struct mcp_reply *reply, struct buf *out);
void mcp_reply_meta(struct buf *out);
void mcp_reply_end(const struct mcp_reply *reply, struct buf *out);
/* Answers with an error; data is borrowed and may be NULL. */
void mcp_reply_error(const struct mcp_reply *reply, int code, const char *message,
		     const cJSON *data);

/* The same for a message that is unfit by itself. */
void mcp_refuse(const struct mcp_reply *reply, int code, const char *message, const cJSON *data);

/* Whoever answers later holds what the answer goes through, and releases it afterwards. */
void mcp_hold(const struct mcp_reply *reply);
void mcp_release(const struct mcp_reply *reply);

/* The literal of this legacy version, or NULL when there is none such. */
const char *mcp_legacy_version(const char *version);
/* Says whether this revision, as it was negotiated (NULL: not at all), is older than a date. */
bool mcp_older(const char *version, const char *date);
/* Says whether a message carries a claim, and whether it claims a modern version that is served
 * here. */
bool mcp_has_claim(const struct rpc_message *message);
bool mcp_claim_is_valid(const struct rpc_message *message);
/* Checks the claim of a request and answers it with an error when it is not to be served. Returns
 * whether it is. */
bool mcp_accept_claim(const struct mcp_request *request);

/* For MCP_HTTP, where header fields repeat what a modern request says. Returns what contradicts the request, or what is
 * missing; NULL: nothing. The sentence lies in static memory. */
const char *mcp_contradiction(const struct mcp_request *request);
const char *mcp_missing_header(const struct mcp_request *request);
/* Says whether it is the request that begins a handshake; without an id it is a notification like any other. */
bool mcp_is_initialize(const struct rpc_message *message);
/* Says whether the field MCP-Protocol-Version names the modern era. */
bool mcp_header_is_modern(const struct mcp_envelope *envelope);
/* Refuses a message without a claim whose header fields do not fit it: a modern version, an unknown one, an unknown
 * session. Returns whether it may be served. */
bool mcp_accept_legacy(const struct mcp_request *request);

/* Serves a request by the table of its era, unknown methods included. */
void mcp_serve(const struct mcp_request *request);
/* tools/call. */
void mcp_call_tool(const struct mcp_request *request);
/* Says whether progress is due for a request that was submitted at since_us and last had a word at last_us, or 0. */
bool mcp_progress_due(uint64_t now_us, uint64_t since_us, uint64_t last_us);
/* Sends one notifications/progress: place is that of dispatch_place. token as it stands in the request. */
void mcp_send_progress(struct channel *channel, struct slice token, uint64_t elapsed_us,
		       size_t place);
/* notifications/cancelled. */
void mcp_cancel(const struct mcp_request *request);

#endif
