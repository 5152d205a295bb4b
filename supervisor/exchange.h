/* exchange - one HTTP request that was let in, and its answer: a whole one, or a stream of events.
 *
 * An exchange begins when serve (connections.h) is called with it and ends with exchange_answer, exchange_end,
 * exchange_abort, or with the peer's going away; then it is freed, and no function may be called on it any more.
 * None of these functions calls back: what they find out about the peer is told later, from the loop.
 */
#ifndef SUPERVISOR_EXCHANGE_H
#define SUPERVISOR_EXCHANGE_H

#include <stdbool.h>
#include <stddef.h>

struct exchange;

enum exchange_method {
	EXCHANGE_GET,
	EXCHANGE_HEAD,
	EXCHANGE_POST,
	EXCHANGE_DELETE,
	EXCHANGE_OPTIONS,
	EXCHANGE_OTHER
};

enum exchange_method exchange_method(const struct exchange *exchange);

/* The path as it was sent, without query and without one trailing slash (but "/" itself). Owned by the exchange. */
const char *exchange_path(struct exchange *exchange);

/* The decoded value of the first parameter of that name in the query; NULL: there is none, or it is no text (a broken
 * escape, a NUL). Owned by the exchange, and valid until the next call. */
const char *exchange_query(struct exchange *exchange, const char *name);

/* The value of the first field of that name in any case, without white space around it; NULL: there is none. Owned by
 * the exchange. exchange_header_count: how many there are. */
const char *exchange_header(struct exchange *exchange, const char *name);
size_t exchange_header_count(const struct exchange *exchange, const char *name);

/* The same for a field that is a list, which may stand in several lines: their values with commas in between (RFC 9110,
 * 5.3). Valid until the next call, or one of exchange_query. NULL also when memory is out. */
const char *exchange_list(struct exchange *exchange, const char *name);

/* The content of the request, whole. Only while serve runs: its memory is given back when serve returns. */
void exchange_body(const struct exchange *exchange, const char **data, size_t *len);

/* One more field of the answer, before it starts. name and value are ours, without control characters (a value that
 * has one is left out). */
void exchange_set_header(struct exchange *exchange, const char *name, const char *value);

/* The connection ends after this answer. */
void exchange_set_close(struct exchange *exchange);

/* The whole answer, copied. type: its media type; NULL: there is no content (data is ignored). Ends the exchange. */
void exchange_answer(struct exchange *exchange, int status, const char *type, const void *data,
		     size_t len);

/* Starts an answer of events: status 200, and its head goes out at once. Comments keep it alive by themselves. */
void exchange_stream(struct exchange *exchange);

/* One event of a stream, copied; event is a literal, and data has no line break. */
void exchange_event(struct exchange *exchange, const char *event, const char *data, size_t len);

/* The stream is complete. Ends the exchange. */
void exchange_end(struct exchange *exchange);

/* Bytes of the answer that the peer's kernel has not taken yet. A peer that takes nothing for HTTP_STALL_MS is gone. */
size_t exchange_unsent(const struct exchange *exchange);

/* Closes the connection without an answer, or in the middle of one. Ends the exchange. */
void exchange_abort(struct exchange *exchange);

/* For an exchange that is kept beyond serve: gone is called once, from the loop, when the peer closed the connection or
 * at least its side of it; the two cannot be told apart. If it returns true, the exchange goes on, is told nothing any
 * more, and must be ended as ever: its answer reaches a peer that can still read. If it returns false, the exchange is
 * freed. Without gone it is freed. */
void exchange_on_gone(struct exchange *exchange, bool (*gone)(void *ctx), void *ctx);

#endif
