/* gate - bytes and time of one connection. */
#include "supervisor/gate.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/limits.h"

#define LINGER_MS 2000
#define LINGER_BYTES (8 * MIB)
/* How often a peer that sent too much ahead is asked whether it is still there: its bytes are not read, and so is its
 * end not. Events of EPOLLRDHUP alone are no way out: libevent 2.1 does not hand EPOLLERR to them, and spins. */
#define LOOK_MS 250

/*** Beginning and end ***/

static void on_readable(evutil_socket_t fd, short what, void *ctx);
static void on_writable(evutil_socket_t fd, short what, void *ctx);
static void on_timer(evutil_socket_t fd, short what, void *ctx);

/* Of an answer in several writes the last would wait for the peer's delayed acknowledgement (Nagle). */
static void send_at_once(int fd)
{
	const int on = 1;

	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
}

struct gate *gate_new(struct connections *connections, int fd, enum access_place place)
{
	struct event_base *base = connections->spec.base;
	struct gate *gate = calloc(1, sizeof(*gate));

	if (!gate) {
		close(fd);
		return NULL;
	}
	*gate = (struct gate){.connections = connections,
			      .place = place,
			      .fd = fd,
			      .timer_ms = UINT64_MAX,
			      .begun_ms = clock_ms()};
	TAILQ_INSERT_TAIL(&connections->gates, gate, link);
	connections->count++;
	gate->deadline_ms = gate->begun_ms + connections->times.head_ms;
	gate->out = evbuffer_new();
	gate->readable = event_new(base, fd, EV_READ | EV_PERSIST, on_readable, gate);
	gate->writable = event_new(base, fd, EV_WRITE | EV_PERSIST, on_writable, gate);
	gate->timer = evtimer_new(base, on_timer, gate);
	if (!gate->out || !gate->readable || !gate->writable || !gate->timer) {
		gate_free(gate);
		return NULL;
	}
	if (place != ACCESS_UNIX)
		send_at_once(fd);
	return gate;
}

static void free_event(struct event *event)
{
	if (event)
		event_free(event);
}

static size_t unsent(const struct gate *gate)
{
	return evbuffer_get_length(gate->out);
}

/* Nothing can be sent any more, so nothing is kept for it. The events go first: they know the descriptor by its number. */
static void close_socket(struct gate *gate)
{
	if (gate->out)
		evbuffer_drain(gate->out, unsent(gate));
	free_event(gate->readable);
	free_event(gate->writable);
	gate->readable = gate->writable = NULL;
	gate->reading = gate->writing = false;
	if (gate->fd >= 0)
		close(gate->fd);
	gate->fd = -1;
}

void gate_free(struct gate *gate)
{
	struct connections *connections = gate->connections;

	exchange_free(gate->exchange);
	close_socket(gate);
	free_event(gate->timer);
	if (gate->out)
		evbuffer_free(gate->out);
	buf_clear(&gate->in);
	gate_drop_content(gate);
	TAILQ_REMOVE(&connections->gates, gate, link);
	connections->count--;
	free(gate);
}

/*** Bytes ***/

/* What may be read ahead of a request's turn: as much as a head may have. */
static size_t room_ahead(const struct gate *gate)
{
	return gate->in.len < HTTP_HEAD_BYTES ? HTTP_HEAD_BYTES - gate->in.len : 0;
}

static size_t room_for_content(const struct gate *gate)
{
	const struct head *head = &gate->exchange->head;

	if (head->body == HEAD_BODY_CHUNKED)
		return sizeof(gate->connections->scratch);
	return head->length > gate->in.len ? (size_t)(head->length - gate->in.len) : 0;
}

/* How many bytes are wanted from the peer now. */
static size_t wanted(const struct gate *gate)
{
	size_t room = 0;

	switch (gate->state) {
	case GATE_HEAD:
	case GATE_BUSY:
	case GATE_ANSWER:
		room = room_ahead(gate);
		break;
	case GATE_BODY:
		room = room_for_content(gate);
		break;
	case GATE_LINGER:
		room = sizeof(gate->connections->scratch);
		break;
	case GATE_CLOSED:
		break;
	}
	return gate->ended || gate->broken ? 0 : room;
}

static void take_bytes(struct gate *gate, const char *data, size_t len)
{
	if (gate->state == GATE_LINGER)
		gate->dropped += len;
	else
		buf_add(&gate->in, data, len);
	if (gate->in.error)
		gate->broken = true;
}

static void read_some(struct gate *gate)
{
	char *scratch = gate->connections->scratch;
	size_t room = wanted(gate);
	ssize_t n;

	if (room == 0)
		return;
	if (room > sizeof(gate->connections->scratch))
		room = sizeof(gate->connections->scratch);
	n = recv(gate->fd, scratch, room, MSG_DONTWAIT);
	if (n > 0)
		take_bytes(gate, scratch, (size_t)n);
	else if (n == 0)
		gate->ended = true;
	else if (errno != EAGAIN && errno != EINTR)
		gate->broken = true;
}

static void write_some(struct gate *gate)
{
	while (!gate->broken && unsent(gate) > 0) {
		int n = evbuffer_write(gate->out, gate->fd);

		if (n <= 0 && (errno == EAGAIN || errno == EINTR))
			return;
		if (n <= 0)
			gate->broken = true;
		else
			gate->moved_ms = clock_ms();
	}
}

/* Has the step done from the loop, unless one is at work. */
static void wake(struct gate *gate)
{
	if (!gate->stepping)
		event_active(gate->timer, EV_TIMEOUT, 0);
}

void gate_write(struct gate *gate, const struct slice *parts, size_t n)
{
	bool first = unsent(gate) == 0;

	if (gate->broken)
		return;
	if (first)
		gate->moved_ms = clock_ms();
	for (size_t i = 0; i < n; i++)
		if (parts[i].len > 0 && evbuffer_add(gate->out, parts[i].data, parts[i].len) < 0)
			gate->broken = true;
	/* With bytes before it there was no room a moment ago. */
	if (first)
		write_some(gate);
	if (unsent(gate) > GATE_UNREAD_BYTES)
		connections_bound_unread(gate->connections, gate);
	if (gate->broken || unsent(gate) > 0)
		wake(gate);
}

/*** Steps ***/

void gate_answered(struct gate *gate)
{
	gate->exchange = NULL;
	gate->state = GATE_ANSWER;
	wake(gate);
}

void gate_abort(struct gate *gate)
{
	gate->exchange = NULL;
	gate->state = GATE_CLOSED;
	wake(gate);
}

static bool tell_gone(struct gate *gate)
{
	if (gate->broken)
		close_socket(gate);
	if (gate->told || (!gate->ended && !gate->left && !gate->broken))
		return false;
	gate->told = true;
	if (exchange_gone(gate->exchange))
		return false;
	gate->exchange = NULL;
	gate->state = GATE_CLOSED;
	return true;
}

static void begin_to_close(struct gate *gate)
{
	if (gate->ended || gate->broken || shutdown(gate->fd, SHUT_WR) < 0) {
		gate->state = GATE_CLOSED;
		return;
	}
	buf_clear(&gate->in);
	gate->state = GATE_LINGER;
	gate->deadline_ms = clock_ms() + LINGER_MS;
}

/* Waits for the next request, or begins to close. */
static void await_next(struct gate *gate)
{
	if (gate->closing || gate->connections->stopping || gate->broken) {
		begin_to_close(gate);
		return;
	}
	gate->state = GATE_HEAD;
	gate->kept = true;
	gate->begun = false;
	gate->told = false;
	gate->seen = 0;
	gate->deadline_ms = clock_ms() + gate->connections->times.idle_ms;
}

static bool end_answer(struct gate *gate)
{
	if (unsent(gate) > 0 && !gate->broken)
		return false;
	await_next(gate);
	return true;
}

/* Returns whether there may be more to do. */
static bool advance(struct gate *gate)
{
	switch (gate->state) {
	case GATE_HEAD:
		return gate_take_head(gate);
	case GATE_BODY:
		return gate_take_body(gate);
	case GATE_BUSY:
		return tell_gone(gate);
	case GATE_ANSWER:
		return end_answer(gate);
	case GATE_LINGER:
		if (gate->ended || gate->broken || gate->dropped > LINGER_BYTES)
			gate->state = GATE_CLOSED;
		return false;
	case GATE_CLOSED:
		return false;
	}
	return false;
}

/*** Time ***/

static bool is_stalled(const struct gate *gate, uint64_t now)
{
	return unsent(gate) > 0 && now >= gate->moved_ms + gate->connections->times.stall_ms;
}

/* When something has to happen though the peer does nothing; UINT64_MAX: never. */
static uint64_t next_due(const struct gate *gate)
{
	uint64_t due = UINT64_MAX;

	switch (gate->state) {
	case GATE_HEAD:
	case GATE_BODY:
	case GATE_LINGER:
		return gate->deadline_ms;
	case GATE_BUSY:
	case GATE_ANSWER:
		if (unsent(gate) > 0)
			due = gate->moved_ms + gate->connections->times.stall_ms;
		else if (gate->state == GATE_BUSY && gate->exchange->streaming)
			due = gate->comment_ms;
		break;
	case GATE_CLOSED:
		break;
	}
	return due;
}

static bool is_unread(const struct gate *gate)
{
	return gate->state == GATE_BUSY && !gate->ended && !gate->told && wanted(gate) == 0;
}

static void look_for_end(struct gate *gate)
{
	struct pollfd peer = {.fd = gate->fd, .events = POLLRDHUP};

	if (poll(&peer, 1, 0) != 1)
		return;
	if (peer.revents & POLLRDHUP)
		gate->left = true;
	if (peer.revents & (POLLERR | POLLHUP))
		gate->broken = true;
}

static void expire(struct gate *gate)
{
	uint64_t now = clock_ms();

	if (gate->state == GATE_BUSY || gate->state == GATE_ANSWER) {
		if (is_unread(gate))
			look_for_end(gate);
		if (is_stalled(gate, now))
			gate->broken = true;
		else if (now >= next_due(gate))
			exchange_comment(gate->exchange);
		return;
	}
	if (now < gate->deadline_ms)
		return;
	if (gate->state == GATE_BODY || (gate->state == GATE_HEAD && gate->in.len > 0))
		gate_refuse(gate, 408, "the request did not come in time");
	else
		gate->state = GATE_CLOSED;
}

/*** Events ***/

static void watch(struct gate *gate, struct event *event, bool *watched, bool wish)
{
	if (*watched == wish)
		return;
	if (wish && event_add(event, NULL) < 0)
		gate->broken = true;
	if (!wish)
		event_del(event);
	*watched = wish;
}

/* A timer that fires too early only looks again, which is cheaper than to move it with each request. */
static void set_timer(struct gate *gate)
{
	uint64_t now = clock_ms();
	uint64_t due = next_due(gate);
	struct timeval wait;

	if (is_unread(gate) && due > now + LOOK_MS)
		due = now + LOOK_MS;
	if (gate->broken && gate->fd >= 0)
		due = now;
	if (due >= gate->timer_ms)
		return;
	gate->timer_ms = due;
	due = due > now ? due - now : 0;
	wait = (struct timeval){.tv_sec = (time_t)(due / 1000),
				.tv_usec = (suseconds_t)(due % 1000 * 1000)};
	evtimer_add(gate->timer, &wait);
}

void gate_step(struct gate *gate)
{
	gate->stepping = true;
	while (advance(gate))
		continue;
	gate->stepping = false;
	if (gate->state == GATE_CLOSED) {
		gate_free(gate);
		return;
	}
	if (gate->fd >= 0) {
		watch(gate, gate->readable, &gate->reading, wanted(gate) > 0);
		watch(gate, gate->writable, &gate->writing, !gate->broken && unsent(gate) > 0);
	}
	set_timer(gate);
}

static void on_readable(evutil_socket_t fd, short what, void *ctx)
{
	struct gate *gate = ctx;

	(void)fd;
	(void)what;
	read_some(gate);
	gate_step(gate);
}

static void on_writable(evutil_socket_t fd, short what, void *ctx)
{
	struct gate *gate = ctx;

	(void)fd;
	(void)what;
	write_some(gate);
	gate_step(gate);
}

static void on_timer(evutil_socket_t fd, short what, void *ctx)
{
	struct gate *gate = ctx;

	(void)fd;
	(void)what;
	gate->timer_ms = UINT64_MAX;
	expire(gate);
	gate_step(gate);
}
