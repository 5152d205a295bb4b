/* mcp_reply - answers in the form of their era. */
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/version.h"
#include "supervisor/mcp_internal.h"

#define SERVER_INFO_KEY "io.modelcontextprotocol/serverInfo"
#define SERVER_INFO "{\"name\":\"" MCP_EXEC_NAME "\",\"version\":\"" MCP_EXEC_VERSION "\"}"
/* An answer beyond this leaves holes in the heap that are worth giving back. */
#define LARGE_BYTES ((size_t)1024 * 1024)

/* _meta may be there already. */
static bool add_server_info(cJSON *result)
{
	cJSON *meta = cJSON_GetObjectItemCaseSensitive(result, "_meta");

	if (!meta)
		meta = cJSON_AddObjectToObject(result, "_meta");
	return cJSON_AddRawToObject(meta, SERVER_INFO_KEY, SERVER_INFO);
}

static void send_answer(const struct mcp_reply *reply, const struct buf *out)
{
	if (out->error == 0)
		channel_answer(reply->channel, reply->batch, reply->kind, out->data, out->len);
	else
		channel_lose_answer(reply->channel, reply->batch);
}

static void give_back(void)
{
#ifdef __GLIBC__
	malloc_trim(0);
#endif
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

void mcp_reply_begin(const struct mcp_reply *reply, struct buf *out)
{
	rpc_result_head(out, reply->id);
	buf_add_byte(out, '{');
}

void mcp_reply_meta(struct buf *out)
{
	buf_add_string(out, ",\"_meta\":{");
}

void mcp_reply_end(const struct mcp_reply *reply, struct buf *out)
{
	bool large = out->len > LARGE_BYTES;

	if (reply->modern)
		buf_add_string(out, ",\"" SERVER_INFO_KEY "\":" SERVER_INFO
				    "},\"resultType\":\"complete\"}}");
	else
		buf_add_string(out, "}}}");
	if (out->error) {
		buf_clear(out);
		rpc_error(out, reply->id, RPC_INTERNAL_ERROR, "out of memory", NULL);
	}
	send_answer(reply, out);
	buf_clear(out);
	if (large)
		give_back();
}

void mcp_reply_error(const struct mcp_reply *reply, int code, const char *message,
		     const cJSON *data)
{
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	rpc_error(&out, reply->id, code, message, data);
	send_answer(reply, &out);
}

void mcp_refuse(const struct mcp_reply *reply, int code, const char *message, const cJSON *data)
{
	struct mcp_reply refused = *reply;

	refused.kind = CHANNEL_REFUSED;
	mcp_reply_error(&refused, code, message, data);
}

void mcp_hold(const struct mcp_reply *reply)
{
	channel_hold(reply->channel);
	if (reply->batch)
		batch_hold(reply->batch);
}

void mcp_release(const struct mcp_reply *reply)
{
	if (reply->batch)
		batch_release(reply->batch);
	channel_release(reply->channel);
}
