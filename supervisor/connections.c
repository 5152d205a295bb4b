/* connections - the listeners, and who is connected. */
#include "supervisor/connections.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/limits.h"
#include "common/log.h"
#include "supervisor/gate.h"

/* When descriptors or memory have run out, accept fails at once and the listener stays readable: without a pause the
 * loop would spin. */
#define PAUSE_MS 100

struct acceptor {
	struct connections *connections;
	struct event *event;
	enum access_place place;
};

/*** Room ***/

/* How well a connection can do without being: the larger, the better. 0: not at all. Whoever has not shown that it may
 * come in can hold no place for long, whatever it does. */
static int spareness(const struct gate *gate)
{
	if (gate->exchange)
		return 0;
	if (gate->state == GATE_LINGER)
		return 3;
	if (!gate->trusted)
		return 2;
	return gate->state == GATE_HEAD && gate->in.len == 0;
}

/* Closes the oldest of those that can be spared best: slow peers without a request do not lock others out. Returns
 * false when none can be spared. */
static bool make_room(struct connections *connections)
{
	struct gate *gate, *spare = NULL;
	int most = 0;

	for (gate = TAILQ_FIRST(&connections->gates); gate; gate = TAILQ_NEXT(gate, link)) {
		if (spareness(gate) > most) {
			most = spareness(gate);
			spare = gate;
		}
	}
	if (!spare)
		return false;
	log_event(LOG_DEBUG, "http.evicted", LOG_U64("connections", connections->count));
	gate_free(spare);
	return true;
}

/*** What is not read ***/

/* Adds up what is unread, and finds who of the others has taken nothing for longest. */
static struct gate *find_idlest(const struct connections *connections, const struct gate *writer,
				uint64_t *total)
{
	struct gate *gate, *idlest = NULL;

	*total = 0;
	for (gate = TAILQ_FIRST(&connections->gates); gate; gate = TAILQ_NEXT(gate, link)) {
		size_t unread = evbuffer_get_length(gate->out);

		if (gate->broken || unread <= GATE_UNREAD_BYTES)
			continue;
		*total += unread;
		if (gate != writer && (!idlest || gate->moved_ms < idlest->moved_ms))
			idlest = gate;
	}
	return idlest;
}

void connections_bound_unread(struct connections *connections, const struct gate *writer)
{
	uint64_t total;
	struct gate *idlest = find_idlest(connections, writer, &total);

	while (idlest && total > HTTP_ANSWERS * connections->spec.answer_max) {
		log_event(LOG_WARN, "http.unread", LOG_U64("bytes", total));
		idlest->broken = true;
		event_active(idlest->timer, EV_TIMEOUT, 0);
		idlest = find_idlest(connections, writer, &total);
	}
}

/*** Accepting ***/

static void take_connection(struct connections *connections, int fd, enum access_place place)
{
	const size_t max = connections->spec.max_connections;
	struct gate *gate;
	bool room;

	while (connections->count >= max && make_room(connections))
		continue;
	room = connections->count < max;
	gate = gate_new(connections, fd, place);
	if (!gate)
		return;
	/* It gives way to the next, as it has not shown that it may come in. */
	gate->beyond = !room;
	gate_step(gate);
}

static void pause_accepting(struct connections *connections, int error)
{
	const struct timeval wait = {.tv_usec = PAUSE_MS * 1000};

	log_event(LOG_WARN, "http.accept_failed", LOG_ERRNO("errno", error));
	for (size_t i = 0; i < connections->spec.listeners->count; i++)
		event_del(connections->acceptors[i].event);
	evtimer_add(connections->resume, &wait);
}

/* One in each turn of the loop: those that have come before are read in between, so that none that has something to say
 * counts as silent when room is made. */
static void on_accept(evutil_socket_t fd, short what, void *ctx)
{
	struct acceptor *acceptor = ctx;
	int peer;

	(void)what;
	peer = accept4(fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (peer >= 0)
		take_connection(acceptor->connections, peer, acceptor->place);
	else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		pause_accepting(acceptor->connections, errno);
}

static int accept_all(struct connections *connections)
{
	for (size_t i = 0; i < connections->spec.listeners->count; i++)
		if (event_add(connections->acceptors[i].event, NULL) < 0)
			return -ENOMEM;
	return 0;
}

static void on_resume(evutil_socket_t fd, short what, void *ctx)
{
	struct connections *connections = ctx;

	(void)fd;
	(void)what;
	if (!connections->stopping && accept_all(connections) < 0)
		pause_accepting(connections, ENOMEM);
}

/*** Beginning and end ***/

static enum access_place place_of(enum listener_kind kind)
{
	switch (kind) {
	case LISTENER_LOOPBACK:
		return ACCESS_LOOPBACK;
	case LISTENER_UNIX:
		return ACCESS_UNIX;
	case LISTENER_OPEN:
		break;
	}
	return ACCESS_OPEN;
}

static const struct connections_times usual_times = {
	.head_ms = HTTP_HEAD_MS,
	.request_ms = HTTP_REQUEST_MS,
	.idle_ms = HTTP_IDLE_MS,
	.stall_ms = HTTP_STALL_MS,
	.keep_alive_ms = HTTP_KEEP_ALIVE_MS,
};

static int add_acceptors(struct connections *connections)
{
	const struct listeners *listeners = connections->spec.listeners;

	connections->acceptors = calloc(listeners->count + 1, sizeof(*connections->acceptors));
	connections->resume = evtimer_new(connections->spec.base, on_resume, connections);
	if (!connections->acceptors || !connections->resume)
		return -ENOMEM;
	for (size_t i = 0; i < listeners->count; i++) {
		struct acceptor *acceptor = &connections->acceptors[i];

		acceptor->connections = connections;
		acceptor->place = place_of(listeners->list[i].kind);
		acceptor->event = event_new(connections->spec.base, listeners->list[i].fd,
					    EV_READ | EV_PERSIST, on_accept, acceptor);
		if (!acceptor->event)
			return -ENOMEM;
	}
	return accept_all(connections);
}

int connections_new(const struct connections_spec *spec, struct connections **made)
{
	struct connections *connections = calloc(1, sizeof(*connections));

	if (!connections)
		return -ENOMEM;
	connections->spec = *spec;
	connections->times = spec->times ? *spec->times : usual_times;
	TAILQ_INIT(&connections->gates);
	if (add_acceptors(connections) < 0) {
		connections_free(connections);
		return -ENOMEM;
	}
	*made = connections;
	return 0;
}

static void stop_accepting(struct connections *connections)
{
	for (size_t i = 0; connections->acceptors && i < connections->spec.listeners->count; i++)
		if (connections->acceptors[i].event)
			event_free(connections->acceptors[i].event);
	free(connections->acceptors);
	connections->acceptors = NULL;
	if (connections->resume)
		event_free(connections->resume);
	connections->resume = NULL;
}

static void refuse_at_once(struct gate *gate, const char *message)
{
	gate_refuse(gate, 503, message);
	gate_step(gate);
}

void connections_stop(struct connections *connections)
{
	struct gate *gate = TAILQ_FIRST(&connections->gates);

	connections->stopping = true;
	stop_accepting(connections);
	while (gate) {
		struct gate *next = TAILQ_NEXT(gate, link);

		if (gate->state == GATE_HEAD && gate->in.len == 0)
			gate_free(gate);
		else if (gate->state == GATE_HEAD || gate->state == GATE_BODY)
			refuse_at_once(gate, "the server is shutting down");
		gate = next;
	}
}

size_t connections_count(const struct connections *connections)
{
	return connections->count;
}

void connections_free(struct connections *connections)
{
	struct gate *gate;

	if (!connections)
		return;
	while ((gate = TAILQ_FIRST(&connections->gates)) != NULL)
		gate_free(gate);
	stop_accepting(connections);
	free(connections);
}
