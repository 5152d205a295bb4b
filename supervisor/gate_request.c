/* gate_request - what the bytes of a connection mean: a head to be judged, a content to be collected. */
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/limits.h"
#include "common/log.h"
#include "supervisor/gate.h"

/* At most one line of log about refusals in so long: whoever can be refused can be so often. */
#define REFUSAL_LOG_MS 1000
/* A content of this length is never too much, however many there are. */
#define SMALL_BYTES MESSAGE_SLACK_BYTES

/*** Refusals ***/

/* Who a peer is, for an administrator who wants to know who is refused. */
static const char *peer_name(int fd, char *name, size_t size)
{
	struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
	socklen_t len = sizeof(peer);

	if (fd < 0 || getpeername(fd, (struct sockaddr *)&peer, &len) < 0)
		return "";
	if (peer.ss_family == AF_UNIX)
		return "unix";
	if (getnameinfo((struct sockaddr *)&peer, len, name, (socklen_t)size, NULL, 0,
			NI_NUMERICHOST) != 0)
		return "";
	return name;
}

static void log_refusal(const struct gate *gate, int status, const char *message)
{
	struct connections *connections = gate->connections;
	char name[INET6_ADDRSTRLEN + IF_NAMESIZE];
	uint64_t now = clock_ms();

	connections->refused++;
	if (now < connections->refused_ms + REFUSAL_LOG_MS)
		return;
	log_event(LOG_INFO, "http.refused", LOG_U64("status", status), LOG_REASON("why", message),
		  LOG_ADDRESS("peer", peer_name(gate->fd, name, sizeof(name))),
		  LOG_U64("n", connections->refused));
	connections->refused_ms = now;
	connections->refused = 0;
}

void gate_drop_content(struct gate *gate)
{
	buf_clear(&gate->content);
	gate->connections->bodies -= gate->counted;
	gate->counted = 0;
}

static void drop_exchange(struct gate *gate, enum gate_state state)
{
	exchange_free(gate->exchange);
	gate->exchange = NULL;
	gate_drop_content(gate);
	gate->state = state;
}

static void add_message(struct buf *out, int status, const char *message)
{
	if (status == 404)
		buf_add_string(out, "{\"error\":\"not_found\"}");
	else
		buf_printf(out,
			   "{\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32000,\"message\":\"%s\"},"
			   "\"id\":null}",
			   message);
}

/* more: further fields, or NULL. */
static void refuse(struct gate *gate, int status, const char *message, const char *more)
{
	_cleanup_(buf_clear) struct buf content = BUF_INIT;
	struct answer answer = {.status = status,
				.type = "application/json",
				.framing = ANSWER_LENGTH,
				.more = slice_of(more ? more : "")};

	add_message(&content, status, message);
	answer.len = content.len;
	gate->closing = true;
	exchange_write(gate, gate->exchange, &answer, content.data);
	drop_exchange(gate, GATE_ANSWER);
}

void gate_refuse(struct gate *gate, int status, const char *message)
{
	log_refusal(gate, status, message);
	refuse(gate, status, message, status == 503 ? "Retry-After: 1\r\n" : NULL);
}

static void refuse_access(struct gate *gate, const struct access_answer *verdict)
{
	const char *more = NULL, *why = verdict->message;

	/* A model may see the message, an administrator the reason. */
	if (verdict->status == 401 && verdict->wrong_token) {
		why = "the token is wrong";
		more = "WWW-Authenticate: Bearer realm=\"mcp-exec\", error=\"invalid_token\"\r\n";
	} else if (verdict->status == 401) {
		why = "there is no token";
		more = "WWW-Authenticate: Bearer realm=\"mcp-exec\"\r\n";
	}
	if (verdict->status == 405)
		more = "Allow: GET, HEAD\r\n";
	log_refusal(gate, verdict->status, why);
	refuse(gate, verdict->status, verdict->message, more);
}

/*** Heads ***/

/* A browser asks what it may send (CORS). */
static void answer_preflight(struct gate *gate)
{
	struct answer answer = {
		.status = 204,
		.framing = ANSWER_NO_CONTENT,
		.more = slice_of(
			"Access-Control-Allow-Methods: GET, POST, DELETE\r\n"
			"Access-Control-Allow-Headers: Content-Type, Accept, Authorization, "
			"X-MCP-AUTH, Mcp-Session-Id, MCP-Protocol-Version, Mcp-Method, "
			"Mcp-Name, Last-Event-ID\r\n"
			"Access-Control-Max-Age: 7200\r\n")};

	exchange_write(gate, gate->exchange, &answer, NULL);
	drop_exchange(gate, GATE_ANSWER);
}

/* Counts the bytes of content that this gate holds by now. Returns false when all gates together have too many. What is
 * announced and does not come costs nothing, and small contents are not counted: who holds large ones locks nobody out
 * who has a small one. */
static bool count_content(struct gate *gate, uint64_t bytes)
{
	struct connections *connections = gate->connections;
	uint64_t others = connections->bodies - gate->counted;

	if (bytes <= SMALL_BYTES)
		return true;
	if (bytes > HTTP_BODIES * connections->spec.body_max - others)
		return false;
	connections->bodies = others + bytes;
	gate->counted = bytes;
	return true;
}

static bool is_without_content(const struct exchange *exchange)
{
	enum exchange_method method = exchange_method(exchange);

	return method == EXCHANGE_GET || method == EXCHANGE_HEAD || method == EXCHANGE_OPTIONS;
}

static void begin_content(struct gate *gate)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	const struct head *head = &gate->exchange->head;
	const struct slice part = slice_of(go_on);

	if (head->body != HEAD_BODY_NONE && is_without_content(gate->exchange))
		gate_refuse(gate, 400, "a request of this method has no body here");
	else if (head->length > gate->connections->spec.body_max)
		gate_refuse(gate, 413, "the body is larger than a message may be");
	else if (head->expects_continue && head->body != HEAD_BODY_NONE && gate->in.len == 0)
		gate_write(gate, &part, 1);
}

static void let_in(struct gate *gate, bool to_health)
{
	if (gate->beyond && !to_health) {
		gate_refuse(gate, 503, "too many connections");
		return;
	}
	gate->closing |= gate->beyond;
	gate->trusted |= !to_health;
	begin_content(gate);
}

static void judge(struct gate *gate)
{
	struct exchange *exchange = gate->exchange;
	struct access_answer verdict = {0};
	const char *reason = "the request is malformed";
	int status = head_parse(exchange->text, exchange->text_len, &exchange->head, &reason);

	gate->state = GATE_BODY;
	gate->deadline_ms = gate->begun_ms + gate->connections->times.request_ms;
	if (status != 0) {
		exchange->head = (struct head){.minor = 1};
		gate_refuse(gate, status, reason);
		return;
	}
	switch (access_judge(gate->connections->spec.access, &exchange->head, gate->place,
			     &verdict)) {
	case ACCESS_PASS:
		exchange->origin = verdict.origin;
		let_in(gate, strcmp(exchange_path(exchange), ACCESS_HEALTH_PATH) == 0);
		break;
	case ACCESS_PREFLIGHT:
		exchange->origin = verdict.origin;
		answer_preflight(gate);
		break;
	case ACCESS_REFUSED:
		exchange->origin = verdict.origin;
		refuse_access(gate, &verdict);
		break;
	}
}

/* Empty lines before a request are passed over (RFC 9112, 2.2). Returns false while there may be more of one. */
static bool skip_empty_lines(struct gate *gate)
{
	const struct buf *in = &gate->in;
	size_t n = 0;

	if (gate->seen > 0)
		return true;
	while (n + 1 < in->len && in->data[n] == '\r' && in->data[n + 1] == '\n')
		n += 2;
	buf_consume(&gate->in, n);
	return in->len > 0 && (in->len > 1 || in->data[0] != '\r');
}

/* The clock of the first request of a connection has run since it was accepted. */
static void note_begin(struct gate *gate)
{
	if (gate->begun || gate->in.len == 0)
		return;
	gate->begun = true;
	if (!gate->kept)
		return;
	gate->begun_ms = clock_ms();
	gate->deadline_ms = gate->begun_ms + gate->connections->times.head_ms;
}

bool gate_take_head(struct gate *gate)
{
	size_t end = 0;
	bool begins = !gate->broken && skip_empty_lines(gate);

	note_begin(gate);
	if (begins)
		end = head_end(gate->in.data, gate->in.len, &gate->seen);
	if (gate->broken || (end == 0 && gate->ended)) {
		gate->state = GATE_CLOSED;
	} else if (end > HTTP_HEAD_BYTES || (end == 0 && gate->in.len >= HTTP_HEAD_BYTES)) {
		gate_refuse(gate, 431, "the head of the request is too large");
	} else if (end > 0) {
		gate->exchange = exchange_new(gate, gate->in.data, end);
		gate->broken = !gate->exchange;
		buf_consume(&gate->in, end);
		gate->seen = 0;
		if (gate->exchange)
			judge(gate);
	} else {
		return false;
	}
	return true;
}

/*** Contents ***/

/* Drops what was used; what a large content needed is not kept. */
static void forget(struct gate *gate, size_t len)
{
	struct buf rest = BUF_INIT;

	buf_add(&rest, gate->in.data + len, gate->in.len - len);
	buf_clear(&gate->in);
	gate->in = rest;
	if (rest.error)
		gate->broken = true;
}

static void serve(struct gate *gate, struct slice content)
{
	const struct connections_spec *spec = &gate->connections->spec;
	size_t in_front = gate->exchange->head.body == HEAD_BODY_LENGTH ? content.len : 0;

	gate->state = GATE_BUSY;
	gate->exchange->body = content;
	spec->serve(gate->exchange, spec->ctx);
	if (gate->exchange)
		gate->exchange->body = (struct slice){0};
	gate_drop_content(gate);
	if (gate->in.data)
		forget(gate, in_front);
}

/* Returns whether the whole content is there. */
static bool take_chunks(struct gate *gate)
{
	struct chunks *chunks = &gate->exchange->chunks;
	ssize_t used = chunks_feed(chunks, gate->in.data, gate->in.len, &gate->content,
				   gate->connections->spec.body_max);

	if (gate->content.error)
		gate->broken = true;
	else if (used == -EFBIG)
		gate_refuse(gate, 413, "the body is larger than a message may be");
	else if (used < 0)
		gate_refuse(gate, 400, "the chunks of the body are malformed");
	else if (!count_content(gate, gate->content.len))
		gate_refuse(gate, 503, "too many large requests at once");
	if (gate->broken || gate->state != GATE_BODY)
		return false;
	buf_consume(&gate->in, (size_t)used);
	return chunks_done(chunks);
}

bool gate_take_body(struct gate *gate)
{
	const struct head *head = &gate->exchange->head;
	struct slice content = {0};
	bool whole = true;

	if (head->body == HEAD_BODY_LENGTH) {
		whole = gate->in.len >= head->length;
		if (!whole && !count_content(gate, gate->in.len)) {
			gate_refuse(gate, 503, "too many large requests at once");
			return true;
		}
		content = (struct slice){gate->in.data, (size_t)head->length};
	} else if (head->body == HEAD_BODY_CHUNKED && !gate->broken) {
		whole = take_chunks(gate);
		content = (struct slice){gate->content.data, gate->content.len};
		if (gate->state != GATE_BODY)
			return true;
	}
	if (gate->broken || (!whole && gate->ended))
		drop_exchange(gate, GATE_CLOSED);
	else if (whole)
		serve(gate, content);
	else
		return false;
	return true;
}
