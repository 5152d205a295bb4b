/* gate - one connection, from accept to close; private to connections, gate*, and exchange.
 *
 *   HEAD ─▶ BODY ─▶ BUSY ─▶ ANSWER ─▶ HEAD       the next request of a kept connection
 *     └───────┴──────┬──────────┘
 *                    ▼
 *          ANSWER ─▶ LINGER ─▶ CLOSED            refused, or nothing follows; CLOSED from any state
 *
 * HEAD    waits for a request, or for the rest of its head
 * BODY    the head was judged and let in; the content is collected
 * BUSY    the exchange has it: not answered yet, or a stream
 * ANSWER  all of the answer is in out; the peer takes it
 * LINGER  nothing more will be written, and the peer knows; what it still sends is dropped for a while, because a
 *         socket that is closed with unread bytes sends a RST, which takes the answer away from the peer
 * CLOSED  is freed at the end of the step
 *
 * Whatever happens - bytes, room, time, a word of the exchange - ends in gate_step, which is only called from the loop
 * and is the only place where a gate goes away in use. So no function has to fear that its gate is gone.
 */
#ifndef SUPERVISOR_GATE_H
#define SUPERVISOR_GATE_H

#include <event2/buffer.h>
#include <event2/event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "common/buf.h"
#include "supervisor/access.h"
#include "supervisor/answer.h"
#include "supervisor/chunks.h"
#include "supervisor/connections.h"
#include "supervisor/head.h"

enum gate_state { GATE_HEAD, GATE_BODY, GATE_BUSY, GATE_ANSWER, GATE_LINGER, GATE_CLOSED };

struct gate {
	TAILQ_ENTRY(gate) link;
	struct connections *connections;
	enum access_place place;
	int fd; /* -1: closed already, while an exchange still works on its answer */
	enum gate_state state;
	struct event *readable, *writable, *timer;
	bool reading, writing; /* these events are added */
	uint64_t timer_ms;     /* when the timer fires; UINT64_MAX: never */
	bool beyond; /* there is no room for it: it may only ask for /healthz, as a full server is not a sick one */
	bool trusted;  /* a request of it was let in, and not only to /healthz, where all may go */
	bool kept;     /* it has had a request */
	bool begun;    /* bytes of the request that is awaited have come */
	bool ended;    /* the peer will send no more, and all was read */
	bool left;     /* it will send no more, but what it sent ahead still waits */
	bool broken;   /* no byte goes in or out any more */
	bool told;     /* the exchange knows that the peer is gone */
	bool closing;  /* after this answer */
	bool stepping; /* gate_step is at work and will see what has changed */
	struct buf
		in; /* what the peer has sent: a head, a content of known length, or what comes next */
	size_t seen;		   /* of in, by head_end */
	struct evbuffer *out;	   /* what it has not taken yet */
	uint64_t begun_ms;	   /* when the clock of this request began */
	uint64_t deadline_ms;	   /* of this state, where it has one */
	uint64_t moved_ms;	   /* when it last took something */
	uint64_t comment_ms;	   /* when a stream needs a sign of life */
	struct buf content;	   /* that came in chunks */
	uint64_t counted;	   /* bytes of content that connections->bodies counts for it */
	uint64_t dropped;	   /* bytes while lingering */
	struct exchange *exchange; /* in BODY and BUSY */
};

/* One request: made when its head is whole, refused or served, and answered. */
struct exchange {
	struct gate *gate;
	struct head
		head; /* points into text, in which values are ended by NULs where they were asked for */
	struct slice origin;  /* an allowed one, or data NULL */
	struct chunks chunks; /* reads a content of unknown length */
	struct slice body;    /* the content, while serve runs */
	char *path, *value;
	struct buf more; /* fields of the answer */
	bool close, streaming, chunked;
	bool (*gone)(void *ctx);
	void *ctx;
	size_t text_len;
	char text[];
};

/* Where connections and its gates meet. */
struct connections {
	struct connections_spec spec;
	struct connections_times times;
	TAILQ_HEAD(gates, gate) gates; /* in the order they were accepted */
	size_t count;
	uint64_t bodies;     /* bytes of content that large requests hold, not yet whole */
	uint64_t refused;    /* requests since the last line of log about one */
	uint64_t refused_ms; /* when that was */
	bool stopping;
	struct acceptor *acceptors;
	struct event *resume;
	char scratch[65536]; /* where bytes arrive */
};

/*** connections.c ***/

/* What is smaller than this is not worth to be looked for. */
#define GATE_UNREAD_BYTES ((size_t)64 * KIB)

/* Breaks off the peers that have taken nothing for longest, but for writer, until what all others leave unread is bounded
 * (HTTP_ANSWERS). Each is gone at its next step. */
void connections_bound_unread(struct connections *connections, const struct gate *writer);

/*** gate.c: bytes and time ***/

/* Makes a gate for an accepted socket, which it takes, and puts it last in the list. NULL: memory is out, and the
 * socket was closed. */
struct gate *gate_new(struct connections *connections, int fd, enum access_place place);
/* Closes and frees at once: no exchange is told. Only from the loop, outside of a step of this gate. */
void gate_free(struct gate *gate);
/* Goes on as far as that is possible now. The gate may be freed when it returns. */
void gate_step(struct gate *gate);
/* Adds n pieces to what the peer is sent, and tries to send it. When memory is out, the connection is broken. */
void gate_write(struct gate *gate, const struct slice *parts, size_t n);
/* The exchange has gone its way, and all of its answer was written; or, with abort, none of it will be. */
void gate_answered(struct gate *gate);
void gate_abort(struct gate *gate);

/*** gate_request.c: what the bytes mean ***/

/* Judges the head that is in gate->in, if it is whole. Returns whether anything changed. */
bool gate_take_head(struct gate *gate);
/* The same for the content. Calls serve. */
bool gate_take_body(struct gate *gate);
/* Frees what came in chunks; no content is counted for it any more. */
void gate_drop_content(struct gate *gate);
/* Answers with an error, after which the connection ends. message is a literal. */
void gate_refuse(struct gate *gate, int status, const char *message);

/*** exchange.c ***/

/* With a copy of the head, which is not read yet. NULL: memory is out. Owned by the gate. */
struct exchange *exchange_new(struct gate *gate, const char *text, size_t len);
void exchange_free(struct exchange *exchange);
/* Tells it that the peer is gone. Returns false when it was freed. */
bool exchange_gone(struct exchange *exchange);
/* Writes an answer, whose head takes origin and close from the exchange, and its content; counts it. exchange may be
 * NULL: there was no request that could be read. */
void exchange_write(struct gate *gate, const struct exchange *exchange, struct answer *answer,
		    const void *data);
/* A sign of life in a stream, if it is one. */
void exchange_comment(struct exchange *exchange);

#endif
