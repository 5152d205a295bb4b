/* streamable - theory of operation
 *
 * A post is one POST with its message: the exchange while it can be answered, the channel that mcp answers through, and
 * a session of its own for what belongs to no other. It lives until the last hold on its channel goes, which may be
 * long after its client has gone: a legacy call runs to its end, and its answer is dropped.
 *
 *   WAITING ──answer──────────────▶ ANSWERED     JSON
 *      └──── HTTP_DECIDE_MS, progress ──▶ STREAMING ──done──▶ ANSWERED
 */
#include "supervisor/streamable.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/limits.h"
#include "supervisor/media.h"
#include "supervisor/refusal.h"
#include "supervisor/rpc.h"
#include "supervisor/sessions.h"

#define JSON "application/json"
#define EVENTS "text/event-stream"
/* Outside the codes that JSON-RPC and MCP keep for themselves; LSP has it for the same. */
#define CANCELLED                                                                                  \
	"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32800,\"message\":\"Request "       \
	"cancelled\"}}"

struct streamable {
	struct event_base *base;
	struct mcp *mcp;
	struct sessions *sessions;
	struct post *posts;
};

struct post {
	struct post *next;
	struct streamable *streamable;
	struct exchange *exchange; /* NULL: answered, or nobody reads it any more */
	struct channel channel;
	struct session *own; /* NULL: it is in the table of sessions now */
	struct event *decide;
	bool takes_json;
	bool takes_events;
	bool streaming;
	bool handled; /* mcp has seen the message: what comes now comes later */
};

/*** Answers ***/

static void start_stream(struct post *post)
{
	if (post->streaming)
		return;
	post->streaming = true;
	post->channel.one_by_one = true;
	exchange_stream(post->exchange);
}

/* The client has its session by this answer; without room in the table it is served without one. */
static void begin_session(struct post *post)
{
	const char *id = sessions_add(post->streamable->sessions, post->own, clock_ms());

	if (!id)
		return;
	post->own = NULL;
	exchange_set_header(post->exchange, "Mcp-Session-Id", id);
}

static int status_of(enum channel_kind kind)
{
	switch (kind) {
	case CHANNEL_REFUSED:
		return 400;
	case CHANNEL_NOT_FOUND:
		return 404;
	case CHANNEL_SERVED:
	case CHANNEL_HANDSHAKE:
	case CHANNEL_PROGRESS:
		break;
	}
	return 200;
}

static void send_message(void *ctx, enum channel_kind kind, const char *text, size_t len)
{
	struct post *post = ctx;
	int status = status_of(kind);

	if (!post->exchange || (kind == CHANNEL_PROGRESS && !post->takes_events))
		return;
	if (kind == CHANNEL_HANDSHAKE)
		begin_session(post);
	if (kind == CHANNEL_PROGRESS || (!post->takes_json && status == 200))
		start_stream(post);
	if (post->streaming)
		exchange_event(post->exchange, "message", text, len);
	else
		exchange_answer(take_ptr(post->exchange), status, JSON, text, len);
}

/* There will be no (other) answer. For a message that asked for none that is as it should be; a call that was cancelled
 * gets none, but the response to its POST must end. */
static void finish(struct post *post)
{
	struct exchange *exchange = take_ptr(post->exchange);

	if (post->streaming)
		exchange_end(exchange);
	else if (!post->handled)
		exchange_answer(exchange, 202, NULL, NULL, 0);
	else if (post->takes_json)
		exchange_answer(exchange, 200, JSON, CANCELLED, strlen(CANCELLED));
	else
		exchange_answer(exchange, 200, EVENTS, "", 0);
}

/*** Posts ***/

static void post_free(struct post *post)
{
	struct post **at = &post->streamable->posts;

	while (*at != post)
		at = &(*at)->next;
	*at = post->next;
	if (post->decide)
		event_free(post->decide);
	session_free(post->own);
	free(post);
}

static void on_done(void *ctx)
{
	struct post *post = ctx;

	if (post->exchange)
		finish(post);
	post_free(post);
}

static void on_decide(evutil_socket_t fd, short what, void *ctx)
{
	struct post *post = ctx;

	(void)fd;
	(void)what;
	if (post->exchange && post->takes_events)
		start_stream(post);
}

/* Whether the client has gone or only said all that it has to say cannot be seen: where going away cancels nothing, the
 * answer is still offered. */
static bool on_gone(void *ctx)
{
	struct post *post = ctx;

	if (!post->channel.drop_cancels)
		return true;
	post->exchange = NULL;
	channel_hold(&post->channel);
	channel_mute(&post->channel);
	mcp_end(post->streamable->mcp, post->own);
	channel_release(&post->channel);
	return false;
}

static struct post *post_new(struct streamable *streamable, struct exchange *exchange,
			     const char *accept)
{
	struct post *post = calloc(1, sizeof(*post));

	if (!post)
		return NULL;
	post->streamable = streamable;
	post->exchange = exchange;
	post->channel = (struct channel){.send = send_message, .done = on_done, .ctx = post};
	/* Who only sends a wildcard, as curl does, is not to get one form for a quick answer and another for a slow one. */
	post->takes_json = media_accepts(accept, JSON);
	post->takes_events = media_names(accept, EVENTS) || !post->takes_json;
	post->channel.one_by_one = !post->takes_json;
	post->next = streamable->posts;
	streamable->posts = post;
	post->own = session_new();
	post->decide = event_new(streamable->base, -1, 0, on_decide, post);
	if (post->own && post->decide)
		return post;
	post_free(post);
	return NULL;
}

static void wait_for_answer(struct post *post)
{
	const struct timeval decide = {.tv_usec = HTTP_DECIDE_MS * 1000};

	post->handled = true;
	if (!post->exchange)
		return;
	exchange_on_gone(post->exchange, on_gone, post);
	event_add(post->decide, &decide);
}

static void handle(struct post *post)
{
	struct streamable *streamable = post->streamable;
	const char *id = exchange_header(post->exchange, "Mcp-Session-Id");
	struct mcp_envelope envelope = {
		.way = MCP_HTTP,
		.version = exchange_header(post->exchange, "MCP-Protocol-Version"),
		.method = exchange_header(post->exchange, "Mcp-Method"),
		.name = exchange_header(post->exchange, "Mcp-Name"),
	};
	const char *text;
	size_t len;

	if (id)
		envelope.session = sessions_find(streamable->sessions, id, clock_ms());
	envelope.unknown_session = id && !envelope.session;
	exchange_body(post->exchange, &text, &len);
	channel_hold(&post->channel);
	mcp_handle(streamable->mcp, post->own, &post->channel, &envelope, text, len);
	if (post->channel.holds > 1)
		wait_for_answer(post);
	channel_release(&post->channel);
}

/*** Requests ***/

static void serve_post(struct streamable *streamable, struct exchange *exchange)
{
	const char *accept = exchange_list(exchange, "Accept");
	struct post *post;

	if (refusal_unless_json(exchange))
		return;
	if (!media_accepts(accept, JSON) && !media_accepts(accept, EVENTS)) {
		refusal_answer(exchange, 406, RPC_TRANSPORT_ERROR,
			       "Not Acceptable: Accept must have application/json or "
			       "text/event-stream");
		return;
	}
	post = post_new(streamable, exchange, accept);
	if (post)
		handle(post);
	else
		refusal_answer(exchange, 503, RPC_INTERNAL_ERROR, "out of memory");
}

static void end_session(struct session *session, void *ctx)
{
	struct streamable *streamable = ctx;

	mcp_end(streamable->mcp, session);
	session_free(session);
}

static void serve_delete(struct streamable *streamable, struct exchange *exchange)
{
	const char *id = exchange_header(exchange, "Mcp-Session-Id");
	struct session *session = id ? sessions_take(streamable->sessions, id) : NULL;

	if (!id) {
		refusal_answer(exchange, 400, RPC_TRANSPORT_ERROR,
			       "Bad Request: the header Mcp-Session-Id is missing");
	} else if (!session) {
		refusal_answer(exchange, 404, RPC_NO_SESSION, "Session not found");
	} else {
		end_session(session, streamable);
		exchange_answer(exchange, 200, NULL, NULL, 0);
	}
}

void streamable_serve(struct streamable *streamable, struct exchange *exchange)
{
	switch (exchange_method(exchange)) {
	case EXCHANGE_POST:
		serve_post(streamable, exchange);
		break;
	case EXCHANGE_DELETE:
		serve_delete(streamable, exchange);
		break;
	case EXCHANGE_GET:
	case EXCHANGE_HEAD:
	case EXCHANGE_OPTIONS:
	case EXCHANGE_OTHER:
		refusal_method(exchange, "POST, DELETE");
		break;
	}
}

/*** Life ***/

struct streamable *streamable_new(struct event_base *base, struct mcp *mcp)
{
	struct streamable *made = calloc(1, sizeof(*made));

	if (!made)
		return NULL;
	made->base = base;
	made->mcp = mcp;
	made->sessions = sessions_new(mcp->config->max_sessions, mcp->config->session_idle_s,
				      end_session, made);
	if (made->sessions)
		return made;
	free(made);
	return NULL;
}

void streamable_tick(struct streamable *streamable)
{
	sessions_expire(streamable->sessions, clock_ms());
}

size_t streamable_sessions(const struct streamable *streamable)
{
	return sessions_count(streamable->sessions);
}

/* Its calls may belong to sessions of the table, which are ended first. A tool that still holds a channel then releases
 * it to nobody. */
void streamable_free(struct streamable *streamable)
{
	struct post *next;

	if (!streamable)
		return;
	for (struct post *post = streamable->posts; post; post = post->next) {
		channel_mute(&post->channel);
		if (post->exchange)
			exchange_abort(take_ptr(post->exchange));
	}
	sessions_free(streamable->sessions);
	for (struct post *post = streamable->posts; post; post = next) {
		next = post->next;
		post->channel.done = NULL;
		if (post->own)
			mcp_end(streamable->mcp, post->own);
		post_free(post);
	}
	free(streamable);
}
