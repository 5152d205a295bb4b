/* mcp_headers - what header fields say of a message that came over Streamable HTTP.
 *
 * The modern era repeats in them what stands in the body, so that a proxy can route without reading it; a field that
 * says something else would make proxy and server serve two different requests (2026-07-28, Streamable HTTP, "Standard
 * request headers"). The legacy era has only the version (since 2025-06-18) and the session.
 *
 * Base64 is written by hand: no library that is linked has it, and only this direction is needed. A name is compared in
 * its encoded form, so whatever is no canonical base64 of it does not match.
 */
#include <stdint.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "supervisor/mcp_internal.h"

#define ENCODED_HEAD "=?base64?"
#define ENCODED_TAIL "?="

static void add_base64(struct buf *out, const char *data, size_t len)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

	for (size_t i = 0; i < len; i += 3) {
		size_t left = len - i;
		uint32_t bits = (uint32_t)(unsigned char)data[i] << 16;

		if (left > 1)
			bits |= (uint32_t)(unsigned char)data[i + 1] << 8;
		if (left > 2)
			bits |= (unsigned char)data[i + 2];
		buf_add_byte(out, digits[bits >> 18]);
		buf_add_byte(out, digits[bits >> 12 & 63]);
		buf_add_byte(out, left > 1 ? digits[bits >> 6 & 63] : '=');
		buf_add_byte(out, left > 2 ? digits[bits & 63] : '=');
	}
}

/* A field may hold the name as it is, or encoded. */
static bool names(const char *field, const char *name)
{
	_cleanup_(buf_clear) struct buf encoded = BUF_INIT;

	if (strncmp(field, ENCODED_HEAD, strlen(ENCODED_HEAD)) != 0)
		return strcmp(field, name) == 0;
	buf_add_string(&encoded, ENCODED_HEAD);
	add_base64(&encoded, name, strlen(name));
	buf_add_string(&encoded, ENCODED_TAIL);
	buf_add_byte(&encoded, '\0');
	return !encoded.error && strcmp(field, encoded.data) == 0;
}

/* What Mcp-Name repeats, NULL: nothing that it could. */
static const char *named(const struct rpc_message *message)
{
	if (strcmp(message->method, "resources/read") == 0)
		return rpc_get_string(message->params, "uri");
	if (strcmp(message->method, "tools/call") == 0 ||
	    strcmp(message->method, "prompts/get") == 0)
		return rpc_get_string(message->params, "name");
	return NULL;
}

const char *mcp_contradiction(const struct mcp_request *request)
{
	const struct mcp_envelope *envelope = request->envelope;
	const char *claimed = rpc_get_string(request->message->meta, MCP_VERSION_KEY);

	if (envelope->version && strcmp(envelope->version, claimed) != 0)
		return "Header mismatch: MCP-Protocol-Version is not the version in params._meta";
	if (envelope->method && strcmp(envelope->method, request->message->method) != 0)
		return "Header mismatch: Mcp-Method is not the method of the request";
	return NULL;
}

const char *mcp_missing_header(const struct mcp_request *request)
{
	const struct mcp_envelope *envelope = request->envelope;
	const char *name = named(request->message);

	if (envelope->way != MCP_HTTP)
		return NULL;
	if (!envelope->version)
		return "Header mismatch: the header MCP-Protocol-Version is missing";
	if (!envelope->method)
		return "Header mismatch: the header Mcp-Method is missing";
	if (name && !envelope->name)
		return "Header mismatch: the header Mcp-Name is missing";
	if (name && !names(envelope->name, name))
		return "Header mismatch: Mcp-Name is not the name in params";
	return NULL;
}

/* Revisions are dates, so their order is that of their text. */
bool mcp_header_is_modern(const struct mcp_envelope *envelope)
{
	return envelope->version && strcmp(envelope->version, MCP_MODERN_VERSION) >= 0;
}

bool mcp_is_initialize(const struct rpc_message *message)
{
	return message->kind == RPC_REQUEST && strcmp(message->method, "initialize") == 0;
}

static void refuse_modern_header(const struct mcp_request *request)
{
	if (mcp_is_initialize(request->message))
		mcp_refuse(&request->reply, RPC_HEADER_MISMATCH,
			   "Header mismatch: MCP-Protocol-Version names a revision that has no "
			   "initialize",
			   NULL);
	else
		mcp_refuse(&request->reply, RPC_INVALID_PARAMS,
			   "Invalid params: _meta[\"" MCP_VERSION_KEY
			   "\"] is missing, which the revision in MCP-Protocol-Version demands",
			   NULL);
}

static void refuse_session(const struct mcp_request *request)
{
	struct mcp_reply reply = request->reply;

	reply.kind = CHANNEL_NOT_FOUND;
	mcp_reply_error(&reply, RPC_NO_SESSION, "Session not found", NULL);
}

bool mcp_accept_legacy(const struct mcp_request *request)
{
	const struct mcp_envelope *envelope = request->envelope;
	bool is_initialize = mcp_is_initialize(request->message);

	if (envelope->way != MCP_HTTP)
		return true;
	if (mcp_header_is_modern(envelope))
		refuse_modern_header(request);
	else if (envelope->unknown_session && !is_initialize)
		refuse_session(request);
	else if (envelope->session && is_initialize)
		mcp_refuse(&request->reply, RPC_INVALID_REQUEST,
			   "Invalid request: this session is already initialized", NULL);
	else if (envelope->version && !is_initialize && !mcp_legacy_version(envelope->version))
		mcp_refuse(&request->reply, RPC_TRANSPORT_ERROR,
			   "Unsupported protocol version in MCP-Protocol-Version", NULL);
	else
		return true;
	return false;
}
