/* mcp_call - tools/call: from its request to the answer when its run has ended, and its
 * cancellation.
 *
 * Theory of operation: what the answer needs outlives the message in a struct pending, which hangs
 * on the call. It is freed where the call is: when the run ended, or when the call is cancelled.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/log.h"
#include "common/utf8.h"
#include "supervisor/exec_tool.h"
#include "supervisor/mcp_internal.h"

/* So much of an unknown tool's name is repeated. */
#define SHOWN_NAME_BYTES 64

struct pending {
	struct mcp *mcp;
	struct mcp_reply reply; /* its id points to id */
	bool with_structured;
	struct slice token;   /* progressToken, NULL: none; points behind id */
	uint64_t progress_us; /* when progress was last told, 0: never */
	char id[];
};

static bool with_structured(const struct mcp_reply *reply)
{
	return reply->modern || !mcp_older(session_version(reply->session), "2025-06-18");
}

/* Of another kind, or longer than an id may be, it is none. */
static struct slice progress_token(const struct mcp_request *request)
{
	struct slice token = request->message->scan.progress_token;
	bool good = token.data && token.len <= MAX_ID_BYTES &&
		    (slice_is_string(token) || slice_is_integer(token));

	return good ? token : (struct slice){NULL, 0};
}

static struct pending *pending_new(const struct mcp_request *request)
{
	const struct mcp_reply *reply = &request->reply;
	struct slice token = progress_token(request);
	struct pending *pending = malloc(sizeof(*pending) + reply->id.len + token.len);

	if (!pending)
		return NULL;
	pending->token = (struct slice){token.data ? pending->id + reply->id.len : NULL, token.len};
	pending->progress_us = 0;
	if (token.data)
		memcpy(pending->id + reply->id.len, token.data, token.len);
	pending->mcp = request->mcp;
	pending->reply = *reply;
	pending->with_structured = with_structured(reply);
	memcpy(pending->id, reply->id.data, reply->id.len);
	pending->reply.id.data = pending->id;
	return pending;
}

/* Lets go of a call that will get no other word. Its session may end with the last hold on its channel. */
static void forget(struct call *call)
{
	struct pending *pending = call->ctx;

	session_remove(pending->reply.session, call);
	mcp_release(&pending->reply);
	free(pending);
	call_free(call);
}

static void reply_tool_error(const struct mcp_reply *reply, const struct buf *text)
{
	mcp_reply_result(reply, text->error ? NULL : exec_tool_error(text->data, text->len));
}

static void on_ended(struct call *call, const struct outcome *outcome)
{
	const struct pending *pending = call->ctx;
	_cleanup_(buf_clear) struct buf text = BUF_INIT;

	if (outcome->kind == OUTCOME_DONE) {
		mcp_reply_begin(&pending->reply, &text);
		exec_tool_content(&text, pending->mcp->config, &call->request, outcome,
				  pending->with_structured);
		mcp_reply_meta(&text);
		exec_tool_meta(&text, outcome);
		mcp_reply_end(&pending->reply, &text);
	} else {
		exec_tool_failure(&text, pending->mcp->config, outcome);
		reply_tool_error(&pending->reply, &text);
	}
	forget(call);
}

static void submit(const struct mcp_request *request, struct call *call)
{
	struct pending *pending = pending_new(request);

	if (!pending || session_add(request->reply.session, request->reply.id, call) < 0) {
		free(pending);
		call_free(call);
		mcp_reply_result(&request->reply, NULL);
		return;
	}
	mcp_hold(&pending->reply);
	call->ended = on_ended;
	call->ctx = pending;
	dispatch_submit(request->mcp->dispatch, call);
}

static void call_exec(const struct mcp_request *request)
{
	_cleanup_(buf_clear) struct buf error = BUF_INIT;
	struct call *call = call_new();
	int err;

	if (!call) {
		mcp_reply_result(&request->reply, NULL);
		return;
	}
	err = exec_tool_arguments(request->mcp->config, request->message, &call->request, &error);
	if (err == 0) {
		submit(request, call);
		return;
	}
	call_free(call);
	if (err == -EINVAL)
		metrics_refused(request->mcp->metrics);
	log_event(LOG_INFO, "exec.refused", LOG_ERRNO("errno", err));
	if (err == -EFBIG)
		buf_add_string(&error,
			       "The server may not write files as large as this call. "
			       "Nothing was run; raise its limit on file size (ulimit -f).");
	else if (err != -EINVAL)
		buf_add_string(&error, "The server is short of memory or descriptors. Nothing was "
				       "run; try later.");
	reply_tool_error(&request->reply, &error);
}

static void refuse_tool(const struct mcp_request *request, const char *name)
{
	_cleanup_(buf_clear) struct buf text = BUF_INIT;
	size_t len = strlen(name);

	buf_add_string(&text, "Unknown tool: ");
	buf_add(&text, name, len <= SHOWN_NAME_BYTES ? len : utf8_whole(name, SHOWN_NAME_BYTES));
	buf_add_string(&text, len <= SHOWN_NAME_BYTES ? "" : "...");
	buf_add_byte(&text, '\0');
	mcp_reply_error(&request->reply, RPC_INVALID_PARAMS,
			text.error ? "Unknown tool" : text.data, NULL);
}

const struct tool mcp_tools[] = {{"exec", exec_tool_describe, call_exec}, {NULL, NULL, NULL}};

static const struct tool *find_tool(const struct mcp *mcp, const char *name)
{
	for (const struct tool *tool = mcp->tools; tool->name; tool++)
		if (strcmp(tool->name, name) == 0)
			return tool;
	return NULL;
}

void mcp_call_tool(const struct mcp_request *request)
{
	const cJSON *params = request->message->params;
	const cJSON *arguments = rpc_get(params, "arguments");
	const char *name = rpc_get_string(params, "name");
	const struct tool *tool = name ? find_tool(request->mcp, name) : NULL;

	if (!name)
		mcp_reply_error(&request->reply, RPC_INVALID_PARAMS,
				"Invalid params: name must be a string", NULL);
	else if (!tool)
		refuse_tool(request, name);
	else if (arguments && !cJSON_IsNull(arguments) && !cJSON_IsObject(arguments))
		mcp_reply_error(&request->reply, RPC_INVALID_PARAMS,
				"Invalid params: arguments must be an object", NULL);
	else
		tool->call(request);
}

static void tell_progress(struct call *call, void *ctx)
{
	struct pending *pending = call->ctx;
	const uint64_t *now_us = ctx;

	if (!pending->token.data ||
	    !mcp_progress_due(*now_us, call->queued_us, pending->progress_us))
		return;
	pending->progress_us = *now_us;
	mcp_send_progress(pending->reply.channel, pending->token, *now_us - call->queued_us,
			  dispatch_place(pending->mcp->dispatch, call));
}

void mcp_tick(struct mcp *mcp)
{
	uint64_t now_us = clock_us();

	dispatch_each(mcp->dispatch, tell_progress, &now_us);
}

static void cancel(struct mcp *mcp, struct call *call)
{
	dispatch_cancel(mcp->dispatch, call);
	forget(call);
}

void mcp_cancel(const struct mcp_request *request)
{
	struct slice id = request->message->scan.request_id;
	struct call *call = id.data ? session_find(request->reply.session, id) : NULL;

	if (call)
		cancel(request->mcp, call);
}

void mcp_end(struct mcp *mcp, struct session *session)
{
	struct call *call;

	while ((call = session_any(session)))
		cancel(mcp, call);
}
