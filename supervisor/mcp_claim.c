/* mcp_claim - what a request of the modern era says about itself in params._meta. */
#include <string.h>

#include "supervisor/mcp_internal.h"

#define CAPABILITIES_KEY MCP_META_PREFIX "clientCapabilities"
#define CLIENT_KEY MCP_META_PREFIX "clientInfo"
#define LOG_LEVEL_KEY MCP_META_PREFIX "logLevel"

bool mcp_older(const char *version, const char *date)
{
	return version && strcmp(version, date) < 0;
}

bool mcp_has_claim(const struct rpc_message *message)
{
	return rpc_get(message->meta, MCP_VERSION_KEY) != NULL;
}

bool mcp_claim_is_valid(const struct rpc_message *message)
{
	const char *version = rpc_get_string(message->meta, MCP_VERSION_KEY);

	return version && strcmp(version, MCP_MODERN_VERSION) == 0;
}

/* RFC 5424's names, as the specification has them. */
static bool is_log_level(const char *name)
{
	static const char *const levels[] = {"debug", "info",	  "notice", "warning",
					     "error", "critical", "alert",  "emergency"};

	for (size_t i = 0; name && i < sizeof(levels) / sizeof(levels[0]); i++)
		if (strcmp(name, levels[i]) == 0)
			return true;
	return false;
}

/* Returns NULL, or what is wrong with the claim's form. */
static const char *malformed(const cJSON *meta)
{
	const cJSON *client = rpc_get(meta, CLIENT_KEY);

	if (!rpc_get_string(meta, MCP_VERSION_KEY))
		return "Invalid params: _meta[\"" MCP_VERSION_KEY "\"] must be a string";
	if (!cJSON_IsObject(rpc_get(meta, CAPABILITIES_KEY)))
		return "Invalid params: _meta[\"" CAPABILITIES_KEY "\"] must be an object";
	if (client && (!rpc_get_string(client, "name") || !rpc_get_string(client, "version")))
		return "Invalid params: _meta[\"" CLIENT_KEY
		       "\"] must be an object with the strings name and version";
	if (rpc_get(meta, LOG_LEVEL_KEY) && !is_log_level(rpc_get_string(meta, LOG_LEVEL_KEY)))
		return "Invalid params: _meta[\"" LOG_LEVEL_KEY "\"] must be a log level";
	return NULL;
}

static void refuse_version(const struct mcp_request *request)
{
	cJSON *data = cJSON_CreateObject();
	cJSON *supported = cJSON_AddArrayToObject(data, "supported");

	cJSON_AddItemToArray(supported, cJSON_CreateString(MCP_MODERN_VERSION));
	cJSON_AddStringToObject(data, "requested",
				rpc_get_string(request->message->meta, MCP_VERSION_KEY));
	mcp_refuse(&request->reply, RPC_UNSUPPORTED_VERSION, "Unsupported protocol version", data);
	cJSON_Delete(data);
}

bool mcp_accept_claim(const struct mcp_request *request)
{
	const char *problem = malformed(request->message->meta);

	if (problem) {
		mcp_refuse(&request->reply, RPC_INVALID_PARAMS, problem, NULL);
		return false;
	}
	problem = mcp_contradiction(request);
	if (!problem && !mcp_claim_is_valid(request->message)) {
		refuse_version(request);
		return false;
	}
	if (!problem)
		problem = mcp_missing_header(request);
	if (problem)
		mcp_refuse(&request->reply, RPC_HEADER_MISMATCH, problem, NULL);
	return !problem;
}
