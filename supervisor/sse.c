/* sse - streams, and the messages that come in beside them. */
#include "supervisor/sse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/limits.h"
#include "supervisor/refusal.h"
#include "supervisor/rpc.h"
#include "supervisor/sessions.h"

#define JSON "application/json"
#define NO_SESSION "Session not found: GET /sse opens one, and its first event says where to POST"

struct stream {
	struct stream *next;
	struct sse *sse;
	struct exchange *exchange;
	struct session *session;
	struct channel channel;
	/* The POST whose message is being handled; NULL: none, or answered. */
	struct exchange *post;
	char id[SESSION_ID_DIGITS + 1];
};

struct sse {
	struct mcp *mcp;
	struct stream *streams;
	size_t count;
};

/*** Streams ***/

/* What is wrong with a message by itself is told to its POST: the stream is for answers to what could be read. */
static void send_message(void *ctx, enum channel_kind kind, const char *text, size_t len)
{
	struct stream *stream = ctx;

	if (kind == CHANNEL_REFUSED && stream->post)
		exchange_answer(take_ptr(stream->post), 400, JSON, text, len);
	else
		exchange_event(stream->exchange, "message", text, len);
}

static void stream_free(struct stream *stream)
{
	struct sse *sse = stream->sse;
	struct stream **at = &sse->streams;

	channel_mute(&stream->channel);
	mcp_end(sse->mcp, stream->session);
	session_free(stream->session);
	while (*at != stream)
		at = &(*at)->next;
	*at = stream->next;
	sse->count--;
	free(stream);
}

static bool on_gone(void *ctx)
{
	stream_free(ctx);
	return false;
}

static struct stream *stream_new(struct sse *sse, struct exchange *exchange)
{
	struct stream *stream;

	if (sse->count >= sse->mcp->config->max_sessions)
		return NULL;
	stream = calloc(1, sizeof(*stream));
	if (!stream)
		return NULL;
	stream->session = session_new();
	if (!stream->session || !sessions_new_id(stream->id)) {
		session_free(stream->session);
		free(stream);
		return NULL;
	}
	stream->sse = sse;
	stream->exchange = exchange;
	stream->channel = (struct channel){.send = send_message, .ctx = stream, .one_by_one = true};
	stream->next = sse->streams;
	sse->streams = stream;
	sse->count++;
	return stream;
}

static void open_stream(struct sse *sse, struct exchange *exchange)
{
	struct stream *stream = stream_new(sse, exchange);
	char endpoint[64];
	int len;

	if (!stream) {
		exchange_set_header(exchange, "Retry-After", "1");
		refusal_answer(exchange, 503, RPC_TRANSPORT_ERROR,
			       "Too many sessions; try again later");
		return;
	}
	len = snprintf(endpoint, sizeof(endpoint), "/messages?sessionId=%s", stream->id);
	exchange_on_gone(exchange, on_gone, stream);
	exchange_stream(exchange);
	exchange_event(exchange, "endpoint", endpoint, (size_t)len);
}

void sse_serve_stream(struct sse *sse, struct exchange *exchange)
{
	if (exchange_method(exchange) == EXCHANGE_GET)
		open_stream(sse, exchange);
	else
		refusal_method(exchange, "GET");
}

/*** Messages ***/

static struct stream *find_stream(const struct sse *sse, const char *id)
{
	for (struct stream *stream = sse->streams; stream; stream = stream->next)
		if (sessions_is_id(id, stream->id))
			return stream;
	return NULL;
}

static void handle(struct stream *stream, struct exchange *post)
{
	const struct mcp_envelope envelope = {.way = MCP_SSE, .session = stream->session};
	const char *text;
	size_t len;

	exchange_body(post, &text, &len);
	stream->post = post;
	mcp_handle(stream->sse->mcp, NULL, &stream->channel, &envelope, text, len);
	if (stream->post)
		exchange_answer(take_ptr(stream->post), 202, "text/plain", "Accepted", 8);
	if (exchange_unsent(stream->exchange) > HTTP_UNREAD_BYTES) {
		exchange_abort(stream->exchange);
		stream_free(stream);
	}
}

void sse_serve_message(struct sse *sse, struct exchange *exchange)
{
	const char *id = exchange_query(exchange, "sessionId");
	struct stream *stream = id ? find_stream(sse, id) : NULL;

	if (exchange_method(exchange) != EXCHANGE_POST)
		refusal_method(exchange, "POST");
	else if (!id)
		refusal_answer(exchange, 400, RPC_TRANSPORT_ERROR,
			       "Bad Request: sessionId is missing in the query");
	else if (!stream)
		refusal_answer(exchange, 404, RPC_NO_SESSION, NO_SESSION);
	else if (!refusal_unless_json(exchange))
		handle(stream, exchange);
}

/*** Life ***/

struct sse *sse_new(struct mcp *mcp)
{
	struct sse *sse = calloc(1, sizeof(*sse));

	if (sse)
		sse->mcp = mcp;
	return sse;
}

void sse_end_idle(struct sse *sse)
{
	struct stream *next;

	for (struct stream *stream = sse->streams; stream; stream = next) {
		next = stream->next;
		if (session_any(stream->session))
			continue;
		exchange_end(stream->exchange);
		stream_free(stream);
	}
}

size_t sse_sessions(const struct sse *sse)
{
	return sse->count;
}

void sse_free(struct sse *sse)
{
	while (sse && sse->streams) {
		exchange_abort(sse->streams->exchange);
		stream_free(sse->streams);
	}
	free(sse);
}
