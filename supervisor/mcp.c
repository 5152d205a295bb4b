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

/* One text on its way, whatever it holds. */
struct delivery {
	struct mcp *mcp;
	const struct mcp_envelope *envelope;
	struct session *own;
	struct channel *channel;
	struct batch *batch; /* NULL: none */
};

static void answer_invalid(const struct mcp_reply *reply, const struct rpc_message *message)
{
	const char *kind = message->error == RPC_PARSE_ERROR	   ? "Parse error"
			   : message->error == RPC_INVALID_REQUEST ? "Invalid request"
								   : "Internal error";
	char text[160];

	snprintf(text, sizeof(text), "%s: %s", kind, message->reason);
	mcp_refuse(reply, message->error, text, NULL);
}

/* A notification is never answered, and neither is a response, which nobody has asked for; over HTTP the POST may be
 * refused. A dropped connection cancels in the modern era, where a notification would not know whose request it means. */
static void handle_unanswered(const struct mcp_request *request)
{
	const char *method = request->message->method;

	if (request->envelope->way == MCP_HTTP && request->message->error &&
	    !request->reply.batch) {
		answer_invalid(&request->reply, request->message);
		return;
	}
	if (request->envelope->way == MCP_HTTP && request->reply.modern)
		return;
	if (!mcp_accept_legacy(request))
		return;
	if (method && strcmp(method, "notifications/cancelled") == 0)
		mcp_cancel(request);
}

/* The revisions that have batches forbid initialize in one. */
static const char *unfit_for_batch(const struct rpc_message *message)
{
	if (mcp_is_initialize(message))
		return "Invalid request: initialize must not be part of a batch";
	return NULL;
}

static void handle_request(const struct mcp_request *request)
{
	const struct mcp_reply *reply = &request->reply;
	const char *problem = reply->batch ? unfit_for_batch(request->message) : NULL;

	if (problem)
		mcp_refuse(reply, RPC_INVALID_REQUEST, problem, NULL);
	else if (session_find(reply->session, reply->id))
		mcp_refuse(reply, RPC_INVALID_REQUEST, "request id already in use", NULL);
	else if (reply->modern ? mcp_accept_claim(request) : mcp_accept_legacy(request))
		mcp_serve(request);
}

/* The claim of each message decides. initialize is the exception: hosts that only add a _meta of their own to it want
 * the handshake. Notifications and responses have no claim as a rule, and nothing to say that differs between the eras. */
static bool is_modern(const struct mcp_envelope *envelope, const struct rpc_message *message)
{
	if (envelope->way == MCP_SSE)
		return false;
	if (mcp_is_initialize(message))
		return mcp_claim_is_valid(message);
	if ((message->kind == RPC_NOTIFICATION || message->kind == RPC_RESPONSE) &&
	    mcp_header_is_modern(envelope))
		return true;
	return mcp_has_claim(message);
}

/* Over HTTP each legacy message names its version, and without a session nothing else does. */
static struct session *choose_session(const struct delivery *delivery, bool modern)
{
	const struct mcp_envelope *envelope = delivery->envelope;
	bool alone = envelope->way == MCP_HTTP && (modern || !envelope->session);

	if (!alone)
		return envelope->session;
	if (envelope->version && !modern)
		session_set_version(delivery->own, mcp_legacy_version(envelope->version));
	return delivery->own;
}

static void handle_one(const struct delivery *delivery, const struct rpc_message *message)
{
	bool modern = is_modern(delivery->envelope, message);
	/* The id of a response is of a request of ours: to echo it would answer another one. */
	struct slice id = message->kind == RPC_RESPONSE ? (struct slice){NULL, 0} : message->id;
	struct mcp_request request = {
		.mcp = delivery->mcp,
		.envelope = delivery->envelope,
		.message = message,
		.reply = {.session = choose_session(delivery, modern),
			  .channel = delivery->channel,
			  .batch = delivery->batch,
			  .id = id,
			  .modern = modern},
	};

	switch (message->kind) {
	case RPC_REQUEST:
		delivery->channel->drop_cancels = modern && delivery->envelope->way == MCP_HTTP;
		handle_request(&request);
		break;
	case RPC_INVALID:
		answer_invalid(&request.reply, message);
		break;
	case RPC_NOTIFICATION:
	case RPC_RESPONSE:
	default:
		handle_unanswered(&request);
		break;
	}
}

static void refuse_text(const struct delivery *delivery, int code, const char *reason)
{
	const struct mcp_reply reply = {.channel = delivery->channel};

	mcp_refuse(&reply, code, reason, NULL);
}

/* 2025-03-26 has batches, what came before was silent about them, what came later removed them. A client that names no
 * version over HTTP is to be taken for one of 2025-03-26 (2025-11-25, transports, "Protocol Version Header"). */
static bool has_batches(const struct mcp_envelope *envelope)
{
	const char *version = envelope->session ? session_version(envelope->session) : NULL;

	if (!version && envelope->way == MCP_HTTP)
		version = envelope->version ? envelope->version : "2025-03-26";
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

/* The modern era has no batches: one claim refuses the whole, where a claim means anything. */
static void handle_elements(struct delivery *delivery, const struct slice *texts, size_t count)
{
	_cleanup_(elements_free) struct elements *elements = calloc(1, sizeof(*elements));

	for (; elements && elements->count < count; elements->count++)
		rpc_parse(texts[elements->count].data, texts[elements->count].len,
			  &elements->list[elements->count]);
	if (elements && delivery->envelope->way != MCP_SSE && any_has_claim(elements)) {
		refuse_text(delivery, RPC_INVALID_REQUEST, NO_BATCHES);
		return;
	}
	delivery->batch = elements ? batch_new(delivery->channel) : NULL;
	if (!delivery->batch) {
		refuse_text(delivery, RPC_INTERNAL_ERROR, "out of memory");
		return;
	}
	for (size_t i = 0; i < count; i++)
		handle_one(delivery, &elements->list[i]);
	batch_release(delivery->batch);
}

/* What is wrong with the envelope is wrong with the whole batch. */
static bool accept_envelope(const struct delivery *delivery)
{
	const struct rpc_message none = {.kind = RPC_RESPONSE};
	const struct mcp_request request = {
		.mcp = delivery->mcp,
		.envelope = delivery->envelope,
		.message = &none,
		.reply = {.session = delivery->own, .channel = delivery->channel},
	};

	return mcp_accept_legacy(&request);
}

static void handle_array(struct delivery *delivery, const char *text)
{
	struct slice elements[MAX_BATCH];
	size_t count = scan_elements(text, elements, MAX_BATCH);

	if (count == 0)
		refuse_text(delivery, RPC_INVALID_REQUEST, "Invalid request: the batch is empty");
	else if (!has_batches(delivery->envelope))
		refuse_text(delivery, RPC_INVALID_REQUEST, NO_BATCHES);
	else if (count > MAX_BATCH)
		refuse_text(delivery, RPC_INVALID_REQUEST,
			    "Invalid request: too many messages in a batch");
	else if (accept_envelope(delivery))
		handle_elements(delivery, elements, count);
}

static bool starts_array(const char *text, size_t len)
{
	size_t at = 0;

	while (at < len && strchr(" \t\r\n", text[at]) && text[at] != '\0')
		at++;
	return at < len && text[at] == '[';
}

static void refuse_long(const struct delivery *delivery, struct slice id)
{
	const struct mcp_reply reply = {.channel = delivery->channel, .id = id};
	char text[192];

	snprintf(text, sizeof(text),
		 "Invalid request: a message may have %llu bytes; send less code or stdin, or "
		 "raise MCP_EXEC_MAX_CODE_BYTES or MCP_EXEC_MAX_STDIN_BYTES",
		 (unsigned long long)config_message_max(delivery->mcp->config));
	mcp_refuse(&reply, RPC_INVALID_REQUEST, text, NULL);
}

void mcp_handle(struct mcp *mcp, struct session *own, struct channel *channel,
		const struct mcp_envelope *envelope, const char *text, size_t len)
{
	_cleanup_(rpc_clear) struct rpc_message message = {.tree = NULL};
	struct delivery delivery = {
		.mcp = mcp, .envelope = envelope, .own = own, .channel = channel};
	struct scan scan;

	if (len > config_message_max(mcp->config)) {
		refuse_long(&delivery, rpc_find_id(text, len));
		return;
	}
	if (starts_array(text, len)) {
		scan_message(text, len, &scan);
		if (scan.verdict == SCAN_OK) {
			handle_array(&delivery, text);
			return;
		}
	}
	/* Also for a broken array: the same scan gives the same refusal. */
	rpc_parse(text, len, &message);
	handle_one(&delivery, &message);
}

void mcp_refuse_unread(struct channel *channel)
{
	const struct mcp_reply reply = {.channel = channel};

	mcp_reply_error(&reply, RPC_INTERNAL_ERROR,
			"Internal error: no memory for a message as long as this one", NULL);
}
