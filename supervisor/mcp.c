/* mcp - from bytes to the one who serves them.
 *
 * Theory of operation: a text is one message or, where the negotiated revision has them, a batch
 * of messages. A request goes through the check of its claim, if it has one, and then through the
 * method table of its era. A notification is never answered. Everything is answered at once but
 * tools/call, which is submitted and answered when its run ends; the batch it came in waits for
 * that.
 */
#include "supervisor/mcp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/limits.h"
#include "supervisor/mcp_internal.h"

#define NO_BATCHES "Invalid request: this revision has no batches"

static void answer_invalid(const struct mcp_reply *reply, const struct rpc_message *message)
{
	const char *kind = message->error == RPC_PARSE_ERROR	   ? "Parse error"
			   : message->error == RPC_INVALID_REQUEST ? "Invalid request"
								   : "Internal error";
	char text[160];

	snprintf(text, sizeof(text), "%s: %s", kind, message->reason);
	mcp_reply_error(reply, message->error, text, NULL);
}

static void handle_notification(struct mcp *mcp, struct session *session,
				const struct rpc_message *message)
{
	if (message->method && strcmp(message->method, "notifications/cancelled") == 0)
		mcp_cancel(mcp, session, message);
}

/* The revisions that have batches forbid initialize in one. */
static const char *unfit_for_batch(const struct rpc_message *message)
{
	if (strcmp(message->method, "initialize") == 0)
		return "Invalid request: initialize must not be part of a batch";
	return NULL;
}

static void handle_request(const struct mcp_request *request)
{
	const struct mcp_reply *reply = &request->reply;
	const char *problem = reply->batch ? unfit_for_batch(request->message) : NULL;

	if (problem)
		mcp_reply_error(reply, RPC_INVALID_REQUEST, problem, NULL);
	else if (session_find(reply->session, reply->id))
		mcp_reply_error(reply, RPC_INVALID_REQUEST, "request id already in use", NULL);
	else if (!reply->modern || mcp_accept_claim(request))
		mcp_serve(request);
}

/* On stdio the claim of each message decides. initialize is the exception: hosts that only add a
 * _meta of their own to it want the handshake. */
static bool is_modern(const struct rpc_message *message)
{
	if (message->method && strcmp(message->method, "initialize") == 0)
		return mcp_claim_is_valid(message);
	return mcp_has_claim(message);
}

static void handle_one(struct mcp *mcp, struct session *session, struct batch *batch,
		       const struct rpc_message *message)
{
	struct mcp_request request = {
		.mcp = mcp,
		.message = message,
		.reply = {.session = session,
			  .batch = batch,
			  .id = message->id,
			  .modern = is_modern(message)},
	};

	switch (message->kind) {
	case RPC_REQUEST:
		handle_request(&request);
		break;
	case RPC_NOTIFICATION:
		handle_notification(mcp, session, message);
		break;
	case RPC_INVALID:
		answer_invalid(&request.reply, message);
		break;
	case RPC_RESPONSE: /* we never ask anything */
	default:
		break;
	}
}

static void refuse_text(struct session *session, int code, const char *reason)
{
	const struct mcp_reply reply = {.session = session};

	mcp_reply_error(&reply, code, reason, NULL);
}

/* 2025-03-26 has batches, what came before was silent about them, what came later removed them. */
static bool has_batches(const struct session *session)
{
	const char *version = session_version(session);

	return version && mcp_older(version, "2025-06-18");
}

/* Messages of a batch, parsed. */
struct elements {
	struct rpc_message list[MAX_BATCH];
	size_t count;
};

static void elements_free(struct elements **elements)
{
	for (size_t i = 0; *elements && i < (*elements)->count; i++)
		rpc_clear(&(*elements)->list[i]);
	free(*elements);
}

static bool any_has_claim(const struct elements *elements)
{
	for (size_t i = 0; i < elements->count; i++)
		if (mcp_has_claim(&elements->list[i]))
			return true;
	return false;
}

/* The modern era has no batches: one claim refuses the whole. */
static void handle_elements(struct mcp *mcp, struct session *session, const struct slice *texts,
			    size_t count)
{
	_cleanup_(elements_free) struct elements *elements = calloc(1, sizeof(*elements));
	struct batch *batch;

	for (; elements && elements->count < count; elements->count++)
		rpc_parse(texts[elements->count].data, texts[elements->count].len,
			  &elements->list[elements->count]);
	if (elements && any_has_claim(elements)) {
		refuse_text(session, RPC_INVALID_REQUEST, NO_BATCHES);
		return;
	}
	batch = elements ? batch_new(session) : NULL;
	if (!batch) {
		refuse_text(session, RPC_INTERNAL_ERROR, "out of memory");
		return;
	}
	for (size_t i = 0; i < count; i++)
		handle_one(mcp, session, batch, &elements->list[i]);
	batch_release(batch);
}

static void handle_array(struct mcp *mcp, struct session *session, const char *text)
{
	struct slice elements[MAX_BATCH];
	size_t count = scan_elements(text, elements, MAX_BATCH);

	if (count == 0)
		refuse_text(session, RPC_INVALID_REQUEST, "Invalid request: the batch is empty");
	else if (!has_batches(session))
		refuse_text(session, RPC_INVALID_REQUEST, NO_BATCHES);
	else if (count > MAX_BATCH)
		refuse_text(session, RPC_INVALID_REQUEST,
			    "Invalid request: too many messages in a batch");
	else
		handle_elements(mcp, session, elements, count);
}

static bool starts_array(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && strchr(" \t\r\n", text[at]) && text[at] != '\0')
		at++;
	return at < len && text[at] == '[';
}

static void refuse_long(struct mcp *mcp, struct session *session, struct slice id)
{
	const struct mcp_reply reply = {.session = session, .id = id};
	char text[192];

	snprintf(text, sizeof(text),
		 "Invalid request: a message may have %llu bytes; send less code or stdin, or "
		 "raise MCP_EXEC_MAX_CODE_BYTES or MCP_EXEC_MAX_STDIN_BYTES",
		 (unsigned long long)config_message_max(mcp->config));
	mcp_reply_error(&reply, RPC_INVALID_REQUEST, text, NULL);
}

void mcp_handle(struct mcp *mcp, struct session *session, const char *text, size_t len)
{
	_cleanup_(rpc_clear) struct rpc_message message = {.tree = NULL};
	struct scan scan;

	if (len > config_message_max(mcp->config)) {
		refuse_long(mcp, session, rpc_find_id(text, len));
		return;
	}
	if (starts_array(text, len)) {
		scan_message(text, len, &scan);
		if (scan.verdict == SCAN_OK) {
			handle_array(mcp, session, text);
			return;
		}
	}
	/* Also for a broken array: the same scan gives the same refusal. */
	rpc_parse(text, len, &message);
	handle_one(mcp, session, NULL, &message);
}

void mcp_refuse_unread(struct session *session)
{
	refuse_text(session, RPC_INTERNAL_ERROR,
		    "Internal error: no memory for a message as long as this one");
}
