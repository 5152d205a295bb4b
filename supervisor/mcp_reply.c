/* mcp_reply - answers in the form of their era. */
#include "common/buf.h"
#include "common/cleanup.h"
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

/* An answer which even this little memory is missing for is lost. */
static void send_answer(const struct mcp_reply *reply, const struct buf *out)
{
	if (out->error == 0)
		session_answer(reply->session, reply->batch, out->data, out->len);
}

void mcp_reply_result(const struct mcp_reply *reply, cJSON *result)
{
	_cleanup_(buf_clear) struct buf out = BUF_INIT;
	bool built = result != NULL;

	if (built && reply->modern)
		built = cJSON_AddStringToObject(result, "resultType", "complete") &&
			add_server_info(result);
	if (built)
		rpc_result(&out, reply->id, result);
	cJSON_Delete(result);
	if (!built || out.error) {
		buf_clear(&out);
		rpc_error(&out, reply->id, RPC_INTERNAL_ERROR, "out of memory", NULL);
	}
	send_answer(reply, &out);
}

void mcp_reply_error(const struct mcp_reply *reply, int code, const char *message,
		     const cJSON *data)
{
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	rpc_error(&out, reply->id, code, message, data);
	send_answer(reply, &out);
}
