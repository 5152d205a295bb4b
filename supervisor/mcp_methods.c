/* mcp_methods - the method table of both eras, and every method but tools/call. */
#include <string.h>

#include "common/version.h"
#include "supervisor/mcp_internal.h"

/* The lists never change while we live; an hour is what a host may keep them. */
#define CACHE_MS 3600000

static const char instructions[] =
	"Runs Python 3 source in a fresh sandbox for each call of the tool exec: no network, no "
	"files of the host, nothing is kept between calls. Print what you want to see; pass data "
	"by stdin.";

/* prompts and resources are declared although their lists are empty: several hosts ask for them
 * anyway and take an error for a broken server. */
static const char capabilities[] = "{\"tools\":{},\"prompts\":{},\"resources\":{}}";

/* Newest first. 2024-10-07 was never released, but SDKs know it. */
static const char *const legacy_versions[] = {MCP_LATEST_LEGACY_VERSION, "2025-06-18", "2025-03-26",
					      "2024-11-05", "2024-10-07"};

const char *mcp_legacy_version(const char *version)
{
	for (size_t i = 0; i < sizeof(legacy_versions) / sizeof(legacy_versions[0]); i++)
		if (strcmp(legacy_versions[i], version) == 0)
			return legacy_versions[i];
	return NULL;
}

/* A result that could not be built whole is none. */
static cJSON *whole(cJSON *result, bool built)
{
	if (built)
		return result;
	cJSON_Delete(result);
	return NULL;
}

static bool add_capabilities(cJSON *result)
{
	return cJSON_AddRawToObject(result, "capabilities", capabilities) &&
	       cJSON_AddStringToObject(result, "instructions", instructions);
}

static bool add_server_info(cJSON *result, const char *version)
{
	cJSON *info = cJSON_AddObjectToObject(result, "serverInfo");

	return cJSON_AddStringToObject(info, "name", MCP_EXEC_NAME) &&
	       (mcp_older(version, "2025-06-18") ||
		cJSON_AddStringToObject(info, "title", MCP_EXEC_NAME)) &&
	       cJSON_AddStringToObject(info, "version", MCP_EXEC_VERSION);
}

static void initialize(const struct mcp_request *request)
{
	const char *requested = rpc_get_string(request->message->params, "protocolVersion");
	struct mcp_reply reply = request->reply;
	const char *version;
	cJSON *result;
	bool built;

	if (!requested) {
		mcp_reply_error(&request->reply, RPC_INVALID_PARAMS,
				"Invalid params: protocolVersion must be a string", NULL);
		return;
	}
	version = mcp_legacy_version(requested);
	if (!version)
		version = MCP_LATEST_LEGACY_VERSION;
	session_set_version(reply.session, version);
	result = cJSON_CreateObject();
	built = cJSON_AddStringToObject(result, "protocolVersion", version) &&
		add_capabilities(result) && add_server_info(result, version);
	reply.kind = CHANNEL_HANDSHAKE;
	mcp_reply_result(&reply, whole(result, built));
}

static void ping(const struct mcp_request *request)
{
	mcp_reply_result(&request->reply, cJSON_CreateObject());
}

static bool add_caching(cJSON *result)
{
	return cJSON_AddNumberToObject(result, "ttlMs", CACHE_MS) &&
	       cJSON_AddStringToObject(result, "cacheScope", "public");
}

static void discover(const struct mcp_request *request)
{
	static const char versions[] = "[\"" MCP_MODERN_VERSION "\"]";
	cJSON *result = cJSON_CreateObject();
	bool built = cJSON_AddRawToObject(result, "supportedVersions", versions) &&
		     add_capabilities(result) && add_caching(result);

	mcp_reply_result(&request->reply, whole(result, built));
}

/* Every list is one page, so there is no cursor of ours that could come back. Returns whether the
 * request has none; otherwise it was answered. */
static bool has_no_cursor(const struct mcp_request *request)
{
	const cJSON *cursor = rpc_get(request->message->params, "cursor");
	const char *text = cJSON_GetStringValue(cursor);

	if (!cursor || cJSON_IsNull(cursor) || (text && text[0] == '\0'))
		return true;
	mcp_reply_error(&request->reply, RPC_INVALID_PARAMS, "Invalid params: unknown cursor",
			NULL);
	return false;
}

/* Answers with the list of items, which it takes, as the member of that name. */
static void answer_list(const struct mcp_request *request, const char *name, cJSON *items)
{
	cJSON *result = cJSON_CreateObject();
	bool built = cJSON_AddItemToObject(result, name, items);

	if (!built)
		cJSON_Delete(items);
	if (built && request->reply.modern)
		built = add_caching(result);
	mcp_reply_result(&request->reply, whole(result, built));
}

static bool add_tool(cJSON *tools, const struct mcp_request *request, const struct tool *row)
{
	const char *version =
		request->reply.modern ? NULL : session_version(request->reply.session);
	cJSON *tool = row->describe(request->mcp->config, !mcp_older(version, "2025-06-18"));

	if (mcp_older(version, "2025-03-26"))
		cJSON_DeleteItemFromObjectCaseSensitive(tool, "annotations");
	if (cJSON_AddItemToArray(tools, tool))
		return true;
	cJSON_Delete(tool);
	return false;
}

static void list_tools(const struct mcp_request *request)
{
	cJSON *tools;
	bool built = true;

	if (!has_no_cursor(request))
		return;
	tools = cJSON_CreateArray();
	for (const struct tool *row = request->mcp->tools; built && row->name; row++)
		built = add_tool(tools, request, row);
	answer_list(request, "tools", whole(tools, built));
}

static void list_prompts(const struct mcp_request *request)
{
	if (has_no_cursor(request))
		answer_list(request, "prompts", cJSON_CreateArray());
}

static void list_resources(const struct mcp_request *request)
{
	if (has_no_cursor(request))
		answer_list(request, "resources", cJSON_CreateArray());
}

static void list_templates(const struct mcp_request *request)
{
	if (has_no_cursor(request))
		answer_list(request, "resourceTemplates", cJSON_CreateArray());
}

static void refuse_name(const struct mcp_request *request)
{
	mcp_reply_error(&request->reply, RPC_INVALID_PARAMS,
			"Invalid params: there is nothing of that name", NULL);
}

enum era { ERA_LEGACY = 1 << 0, ERA_MODERN = 1 << 1, ERA_BOTH = ERA_LEGACY | ERA_MODERN };

static const struct method {
	const char *name;
	enum era eras;
	void (*serve)(const struct mcp_request *request);
} methods[] = {
	{"tools/call", ERA_BOTH, mcp_call_tool},
	{"tools/list", ERA_BOTH, list_tools},
	{"initialize", ERA_LEGACY, initialize},
	{"ping", ERA_LEGACY, ping},
	{"server/discover", ERA_MODERN, discover},
	{"prompts/list", ERA_BOTH, list_prompts},
	{"prompts/get", ERA_BOTH, refuse_name},
	{"resources/list", ERA_BOTH, list_resources},
	{"resources/templates/list", ERA_BOTH, list_templates},
	{"resources/read", ERA_BOTH, refuse_name},
};

void mcp_serve(const struct mcp_request *request)
{
	const enum era era = request->reply.modern ? ERA_MODERN : ERA_LEGACY;
	struct mcp_reply reply;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (!(methods[i].eras & era) ||
		    strcmp(methods[i].name, request->message->method) != 0)
			continue;
		methods[i].serve(request);
		return;
	}
	reply = request->reply;
	reply.kind = reply.modern ? CHANNEL_NOT_FOUND : CHANNEL_SERVED;
	mcp_reply_error(&reply, RPC_METHOD_NOT_FOUND, "Method not found", NULL);
}
