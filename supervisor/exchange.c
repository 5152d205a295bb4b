/* exchange - one HTTP request that was let in, and its answer. */
#include "supervisor/exchange.h"

#include <event2/buffer.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "supervisor/ascii.h"
#include "supervisor/gate.h"

struct exchange *exchange_new(struct gate *gate, const char *text, size_t len)
{
	struct exchange *exchange = calloc(1, sizeof(*exchange) + len + 1);

	if (!exchange)
		return NULL;
	exchange->gate = gate;
	exchange->head.minor = 1;
	exchange->text_len = len;
	memcpy(exchange->text, text, len);
	return exchange;
}

void exchange_free(struct exchange *exchange)
{
	if (!exchange)
		return;
	buf_clear(&exchange->more);
	free(exchange->path);
	free(exchange->value);
	free(exchange);
}

bool exchange_gone(struct exchange *exchange)
{
	if (exchange->gone && exchange->gone(exchange->ctx))
		return true;
	exchange_free(exchange);
	return false;
}

/*** The request ***/

enum exchange_method exchange_method(const struct exchange *exchange)
{
	static const struct {
		const char *name;
		enum exchange_method method;
	} methods[] = {
		{"GET", EXCHANGE_GET},	     {"HEAD", EXCHANGE_HEAD},	    {"POST", EXCHANGE_POST},
		{"DELETE", EXCHANGE_DELETE}, {"OPTIONS", EXCHANGE_OPTIONS},
	};

	for (size_t i = 0; i < sizeof(methods) / sizeof(*methods); i++)
		if (slice_equal(exchange->head.method, slice_of(methods[i].name)))
			return methods[i].method;
	return EXCHANGE_OTHER;
}

const char *exchange_path(struct exchange *exchange)
{
	struct slice path = exchange->head.path;

	if (path.len > 1 && path.data[path.len - 1] == '/')
		path.len--;
	if (!exchange->path)
		exchange->path = strndup(path.data, path.len);
	return exchange->path ? exchange->path : "";
}

/* Returns the decoded text, to be freed; NULL: it is none. */
static char *decode(struct slice text)
{
	char *decoded = malloc(text.len + 1);
	size_t n = 0;

	for (size_t i = 0; decoded && i < text.len; i++) {
		char c = text.data[i] == '+' ? ' ' : text.data[i];

		if (c == '%') {
			int high = i + 2 < text.len ? ascii_hex(text.data[i + 1]) : -1;
			int low = high >= 0 ? ascii_hex(text.data[i + 2]) : -1;

			c = low >= 0 ? (char)(high * 16 + low) : '\0';
			i += 2;
		}
		if (c == '\0') {
			free(decoded);
			return NULL;
		}
		decoded[n++] = c;
	}
	if (decoded)
		decoded[n] = '\0';
	return decoded;
}

/* Takes the next name=value off the front of a query. */
static bool next_parameter(struct slice *query, struct slice *name, struct slice *value)
{
	const char *end, *equals;
	size_t len;

	if (!query->data || query->len == 0)
		return false;
	end = memchr(query->data, '&', query->len);
	len = end ? (size_t)(end - query->data) : query->len;
	equals = memchr(query->data, '=', len);
	*name = (struct slice){query->data, equals ? (size_t)(equals - query->data) : len};
	*value = equals ? (struct slice){equals + 1, len - name->len - 1} : (struct slice){"", 0};
	query->data += end ? len + 1 : len;
	query->len -= end ? len + 1 : len;
	return true;
}

const char *exchange_query(struct exchange *exchange, const char *name)
{
	struct slice query = exchange->head.query, found, value;

	while (next_parameter(&query, &found, &value)) {
		if (!slice_equal(found, slice_of(name)))
			continue;
		free(exchange->value);
		exchange->value = decode(value);
		return exchange->value;
	}
	return NULL;
}

/* Behind a value stands white space or the end of its line, which nobody reads any more. */
const char *exchange_header(struct exchange *exchange, const char *name)
{
	struct slice value = head_get(&exchange->head, name);
	size_t end;

	if (!value.data)
		return NULL;
	if (value.len == 0)
		return "";
	end = (size_t)(value.data - exchange->text) + value.len;
	exchange->text[end] = '\0';
	return value.data;
}

const char *exchange_list(struct exchange *exchange, const char *name)
{
	struct buf list = BUF_INIT;

	if (head_count(&exchange->head, name) < 2)
		return exchange_header(exchange, name);
	for (size_t i = 0; i < exchange->head.count; i++) {
		const struct head_field *field = &exchange->head.fields[i];

		if (!head_alike(field->name, slice_of(name)))
			continue;
		buf_add_string(&list, list.len > 0 ? "," : "");
		buf_add(&list, field->value.data, field->value.len);
	}
	buf_add_byte(&list, '\0');
	if (list.error)
		buf_clear(&list);
	free(exchange->value);
	exchange->value = list.data;
	return exchange->value;
}

size_t exchange_header_count(const struct exchange *exchange, const char *name)
{
	return head_count(&exchange->head, name);
}

void exchange_body(const struct exchange *exchange, const char **data, size_t *len)
{
	*data = exchange->body.data;
	*len = exchange->body.len;
}

/*** The answer ***/

static bool has_control(const char *text)
{
	while (*text)
		if ((unsigned char)*text < ' ' || *text++ == 0x7f)
			return true;
	return false;
}

void exchange_set_header(struct exchange *exchange, const char *name, const char *value)
{
	if (!has_control(value))
		buf_printf(&exchange->more, "%s: %s\r\n", name, value);
}

void exchange_set_close(struct exchange *exchange)
{
	exchange->close = true;
}

/* Takes the next element of a list off its front (RFC 9110, 5.6.1). */
static bool next_element(struct slice *list, struct slice *element)
{
	const char *comma;
	size_t len;

	if (list->len == 0)
		return false;
	comma = memchr(list->data, ',', list->len);
	len = comma ? (size_t)(comma - list->data) : list->len;
	*element = (struct slice){list->data, len};
	list->data += comma ? len + 1 : len;
	list->len -= comma ? len + 1 : len;
	while (element->len > 0 && strchr(" \t", element->data[0])) {
		element->data++;
		element->len--;
	}
	while (element->len > 0 && strchr(" \t", element->data[element->len - 1]))
		element->len--;
	return true;
}

static bool asks_to_close(const struct head *head)
{
	static const struct slice connection = {"Connection", 10}, close = {"close", 5};

	for (size_t i = 0; i < head->count; i++) {
		struct slice list = head->fields[i].value, option;

		if (!head_alike(head->fields[i].name, connection))
			continue;
		while (next_element(&list, &option))
			if (head_alike(option, close))
				return true;
	}
	return false;
}

static bool is_last(const struct gate *gate, const struct exchange *exchange)
{
	return gate->closing || gate->connections->stopping || exchange->close ||
	       exchange->head.minor == 0 || asks_to_close(&exchange->head);
}

/* Whatever came with that method, its answer has no content. */
static bool is_head_only(const struct exchange *exchange)
{
	return exchange->text_len > 5 && memcmp(exchange->text, "HEAD ", 5) == 0;
}

void exchange_write(struct gate *gate, const struct exchange *exchange, struct answer *answer,
		    const void *data)
{
	_cleanup_(buf_clear) struct buf head = BUF_INIT;
	bool silent = exchange && is_head_only(exchange);

	if (exchange) {
		answer->origin = exchange->origin;
		gate->closing = is_last(gate, exchange);
	}
	answer->close = gate->closing;
	answer_head(&head, answer);
	if (head.error || (exchange && exchange->more.error))
		gate->broken = true;
	gate_write(gate,
		   (const struct slice[]){{head.data, head.len}, {data, silent ? 0 : answer->len}},
		   data ? 2 : 1);
	metrics_http(gate->connections->spec.metrics, answer->status);
}

static void end(struct exchange *exchange)
{
	gate_answered(exchange->gate);
	exchange_free(exchange);
}

void exchange_answer(struct exchange *exchange, int status, const char *type, const void *data,
		     size_t len)
{
	struct answer answer = {.status = status,
				.type = type,
				.framing = status == 204 ? ANSWER_NO_CONTENT : ANSWER_LENGTH,
				.more = {exchange->more.data, exchange->more.len},
				.len = type ? len : 0};

	exchange_write(exchange->gate, exchange, &answer, type ? data : NULL);
	end(exchange);
}

/* HTTP/1.0 knows no chunks. */
void exchange_stream(struct exchange *exchange)
{
	struct gate *gate = exchange->gate;
	struct answer answer = {.status = 200,
				.type = "text/event-stream",
				.more = {exchange->more.data, exchange->more.len}};

	exchange->chunked = exchange->head.minor > 0;
	exchange->streaming = true;
	answer.framing = exchange->chunked ? ANSWER_CHUNKED : ANSWER_UNTIL_CLOSE;
	gate->comment_ms = clock_ms() + gate->connections->times.keep_alive_ms;
	exchange_write(gate, exchange, &answer, NULL);
}

/* Each piece of a stream is one chunk, so that no event lies in two reads without need. */
static void write_piece(struct exchange *exchange, const char *start, const char *data, size_t len)
{
	struct gate *gate = exchange->gate;
	char size[24] = "";
	size_t start_len = strlen(start);

	if (!exchange->streaming || is_head_only(exchange))
		return;
	if (exchange->chunked)
		snprintf(size, sizeof(size), "%zx\r\n", start_len + len + 2);
	gate->comment_ms = clock_ms() + gate->connections->times.keep_alive_ms;
	gate_write(gate,
		   (const struct slice[]){{size, strlen(size)},
					  {start, start_len},
					  {data, len},
					  {"\n\n\r\n", exchange->chunked ? 4 : 2}},
		   4);
}

void exchange_event(struct exchange *exchange, const char *event, const char *data, size_t len)
{
	char start[64];

	snprintf(start, sizeof(start), "event: %s\ndata: ", event);
	write_piece(exchange, start, data, len);
}

void exchange_comment(struct exchange *exchange)
{
	write_piece(exchange, ": keep-alive", NULL, 0);
}

void exchange_end(struct exchange *exchange)
{
	static const struct slice last = {"0\r\n\r\n", 5};

	if (exchange->chunked && !is_head_only(exchange))
		gate_write(exchange->gate, &last, 1);
	end(exchange);
}

size_t exchange_unsent(const struct exchange *exchange)
{
	return evbuffer_get_length(exchange->gate->out);
}

void exchange_abort(struct exchange *exchange)
{
	gate_abort(exchange->gate);
	exchange_free(exchange);
}

void exchange_on_gone(struct exchange *exchange, bool (*gone)(void *ctx), void *ctx)
{
	exchange->gone = gone;
	exchange->ctx = ctx;
}
