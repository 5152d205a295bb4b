/* mcp_reply - answers in the form of their era. */
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/limits.h"
#include "common/version.h"
#include "supervisor/mcp_internal.h"

#define SERVER_INFO_KEY "io.modelcontextprotocol/serverInfo"

/* _meta may be there already. */
static bool add_server_info(cJSON *result)
{
	cJSON *meta = cJSON_GetObjectItemCaseSensitive(result, "_meta");
	cJSON *info;

	if (!meta)
		meta = cJSON_AddObjectToObject(result, "_meta");
	info = cJSON_AddObjectToObject(meta, SERVER_INFO_KEY);
	return cJSON_AddStringToObject(info, "name", MCP_EXEC_NAME) &&
	       cJSON_AddStringToObject(info, "version", MCP_EXEC_VERSION);
}

static void send_answer(const struct mcp_reply *reply, const struct buf *out)
{
	static const char failed[] = ",\"error\":{\"code\":-32603,\"message\":\"out of memory\"}}";
	static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":";
	char text[sizeof(head) + MAX_ID_BYTES + sizeof(failed)];
	struct slice id = reply->id.data ? reply->id : (struct slice){"null", 4};
	size_t len = sizeof(head) - 1;

	if (out->error == 0) {
		session_answer(reply->session, reply->batch, out->data, out->len);
		return;
	}
	/* The answer did not fit into memory; this one needs none. */
	memcpy(text, head, len);
	memcpy(text + len, id.data, id.len);
	len += id.len;
	memcpy(text + len, failed, sizeof(failed) - 1);
	len += sizeof(failed) - 1;
	session_answer(reply->session, reply->batch, text, len);
}

void mcp_reply_result(const struct mcp_reply *reply, cJSON *result)
{
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	if (result && reply->modern &&
	    (!cJSON_AddStringToObject(result, "resultType", "complete") ||
	     !add_server_info(result))) {
		cJSON_Delete(result);
		result = NULL;
	}
	if (result)
		rpc_result(&out, reply->id, result);
	else
		rpc_error(&out, reply->id, RPC_INTERNAL_ERROR, "out of memory", NULL);
	cJSON_Delete(result);
	send_answer(reply, &out);
}

void mcp_reply_error(const struct mcp_reply *reply, int code, const char *message,
		     const cJSON *data)
{
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	rpc_error(&out, reply->id, code, message, data);
	send_answer(reply, &out);
}
