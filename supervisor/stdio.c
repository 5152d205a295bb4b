/* stdio - theory of operation
 *
 * One loop iteration at a time: libevent calls back for input, output, signals, the parent and a slow tick; after each
 * iteration `finished` looks whether there is a reason to go. So nothing of stdio's own is freed within a callback.
 *
 * Descriptors 0 and 1 are shared with whoever started us, and so are their flags: O_NONBLOCK is never set on them.
 * Sockets (Node gives its children socketpairs) are read and written with MSG_DONTWAIT. A terminal or pipe that stdout is
 * was opened anew, for flags of our own, where that could be had: output.h says what else is done.
 *
 * A reader of stdout that goes away shows as POLLERR on a pipe and POLLHUP on a socket, with no events asked for. It is
 * looked for in the tick and not by an event: EV_CLOSED is known to epoll alone, which cannot watch files, and EV_READ
 * on a socket that is stdin and stdout at once would report every message.
 */
#include "supervisor/stdio.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/fds.h"
#include "common/log.h"
#include "supervisor/commands.h"
#include "supervisor/dispatch.h"
#include "supervisor/lines.h"
#include "supervisor/loop.h"
#include "supervisor/mcp.h"
#include "supervisor/output.h"
#include "supervisor/session.h"

#define READ_BYTES 65536
#define PAUSE_BYTES ((size_t)16 * 1024 * 1024)
#define RESUME_BYTES ((size_t)1024 * 1024)
#define TICK_MS 500
#define PAUSED_TICK_MS 100
#define LAST_ANSWERS_MS 1000
#define LAST_TICK_MS 50
#define LAST_FLUSH_MS 100
/* A reader that goes on reading gets the bytes that are there, for so long after the last answers, unless it stops for
 * a while. */
#define LAST_BYTES_MS 4000
#define LAST_PAUSE_MS 500

enum { ON_INPUT, ON_OUTPUT, ON_PARENT, ON_TICK, N_EVENTS };

struct stdio {
	struct mcp mcp;
	struct session *session;
	struct channel channel;
	struct event_base *base;
	struct event *signals[LOOP_SIGNALS];
	struct event *events[N_EVENTS]; /* NULL: not watched */
	struct lines lines;
	struct output output;
	int parent_fd;
	bool input_is_socket;
	bool paused; /* the client does not read its answers: nothing new is read or started */
	bool input_ended;
	uint64_t last_ms; /* after the end of input: when to stop waiting for answers */
	bool given_up;	  /* calls that were not answered never will be */
	size_t pending;	  /* how many these were */
	bool leaving;	  /* a signal came or the parent is gone: end at once */
	bool reader_gone; /* the same, and nothing can be written */
	bool broken;	  /* the same, because memory is out or a system call failed */
};

/* Says whether the other end of a descriptor is gone. */
static bool is_gone(int fd)
{
	struct pollfd ended = {.fd = fd};

	return poll(&ended, 1, 0) == 1 && (ended.revents & (POLLERR | POLLHUP)) != 0;
}

static int set_tick(struct stdio *stdio)
{
	const suseconds_t ms = stdio->input_ended ? LAST_TICK_MS
			       : stdio->paused	  ? PAUSED_TICK_MS
						  : TICK_MS;
	const struct timeval tick = {.tv_usec = ms * 1000};

	return event_add(stdio->events[ON_TICK], &tick);
}

static void fail(struct stdio *stdio, int error)
{
	if (!stdio->broken)
		log_event(LOG_ERROR, "stdio.failed", LOG_ERRNO("errno", error));
	stdio->broken = true;
}

/*** Output ***/

static void send_message(void *ctx, enum channel_kind kind, const char *text, size_t len)
{
	struct stdio *stdio = ctx;
	int r = output_line(&stdio->output, text, len);

	(void)kind;
	if (r < 0)
		fail(stdio, r);
	else if (output_waiting(&stdio->output) > 0)
		event_add(stdio->events[ON_OUTPUT], NULL);
}

/* What only lacks room for now is tried again in the next tick: poll(2) may call it writable all the while. */
static void take_write_error(struct stdio *stdio, int error)
{
	if (error == EINTR || error == EAGAIN || error == ENOBUFS || error == ENOMEM)
		event_del(stdio->events[ON_OUTPUT]);
	else if (error == EPIPE || error == ECONNRESET || is_gone(stdio->output.fd))
		stdio->reader_gone = true;
	else
		fail(stdio, error);
}

static void write_some(struct stdio *stdio)
{
	int r = output_write(&stdio->output);

	if (r < 0)
		take_write_error(stdio, -r);
}

static void set_paused(struct stdio *stdio, bool paused)
{
	if (stdio->paused == paused)
		return;
	stdio->paused = paused;
	log_event(LOG_DEBUG, "stdio.hold", LOG_BOOL("hold", paused));
	set_tick(stdio);
	if (paused)
		event_del(stdio->events[ON_INPUT]);
	else if (!stdio->input_ended)
		event_add(stdio->events[ON_INPUT], NULL);
	dispatch_hold(stdio->mcp.dispatch, paused);
}

static void on_output(evutil_socket_t fd, short what, void *ctx)
{
	struct stdio *stdio = ctx;

	(void)fd;
	(void)what;
	if (output_waiting(&stdio->output) > 0)
		write_some(stdio);
	if (output_waiting(&stdio->output) == 0)
		event_del(stdio->events[ON_OUTPUT]);
	if (output_waiting(&stdio->output) <= RESUME_BYTES)
		set_paused(stdio, false);
}

/*** Input ***/

static void handle_line(void *ctx, const char *text, size_t len)
{
	struct stdio *stdio = ctx;
	const struct mcp_envelope envelope = {.way = MCP_STDIO, .session = stdio->session};

	if (text == NULL)
		mcp_refuse_unread(&stdio->channel);
	else
		mcp_handle(&stdio->mcp, NULL, &stdio->channel, &envelope, text, len);
}

static void end_input(struct stdio *stdio)
{
	if (stdio->input_ended)
		return;
	stdio->input_ended = true;
	stdio->last_ms = clock_ms() + LAST_ANSWERS_MS;
	set_tick(stdio);
	event_del(stdio->events[ON_INPUT]);
	lines_end(&stdio->lines, handle_line, stdio);
}

/* Takes what is there. Returns how much that was, 0 at the end, -1 when there is nothing yet. */
static int read_some(struct stdio *stdio)
{
	char data[READ_BYTES];
	ssize_t n;

	do {
		if (stdio->input_is_socket)
			n = recv(STDIN_FILENO, data, sizeof(data), MSG_DONTWAIT);
		else
			n = read(STDIN_FILENO, data, sizeof(data));
	} while (n < 0 && errno == EINTR);
	if (n > 0)
		lines_feed(&stdio->lines, data, (size_t)n, handle_line, stdio);
	if (n < 0)
		return errno == EAGAIN ? -1 : 0;
	return (int)n;
}

static void on_input(evutil_socket_t fd, short what, void *ctx)
{
	struct stdio *stdio = ctx;

	(void)fd;
	(void)what;
	if (read_some(stdio) == 0)
		end_input(stdio);
	if (output_waiting(&stdio->output) > PAUSE_BYTES)
		set_paused(stdio, true);
}

/* Nobody can write any more, so reading does not wait, and there is no more than a pipe or socket holds. */
static void drain_input(struct stdio *stdio)
{
	while (read_some(stdio) > 0)
		continue;
	end_input(stdio);
}

/*** Ends ***/

static void on_leave(evutil_socket_t fd, short what, void *ctx)
{
	struct stdio *stdio = ctx;

	(void)fd;
	(void)what;
	stdio->leaving = true;
}

/* What runs or waits is killed without an answer. */
static void give_up(struct stdio *stdio)
{
	if (stdio->given_up)
		return;
	stdio->given_up = true;
	stdio->pending = dispatch_pending(stdio->mcp.dispatch);
	channel_mute(&stdio->channel);
	mcp_end(&stdio->mcp, stdio->session);
}

/* While paused nobody reads stdin, so its end would not be seen. */
static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct stdio *stdio = ctx;

	(void)fd;
	(void)what;
	if (is_gone(stdio->output.fd))
		stdio->reader_gone = true;
	if (output_waiting(&stdio->output) > 0)
		event_add(stdio->events[ON_OUTPUT], NULL);
	if (!stdio->paused)
		mcp_tick(&stdio->mcp);
	if (output_waiting(&stdio->output) > PAUSE_BYTES)
		set_paused(stdio, true);
	if (stdio->paused && !stdio->input_ended && is_gone(STDIN_FILENO))
		drain_input(stdio);
	if (stdio->input_ended && clock_ms() >= stdio->last_ms)
		give_up(stdio);
}

static bool finished(const struct stdio *stdio)
{
	uint64_t now = clock_ms();
	bool answered = stdio->given_up || dispatch_pending(stdio->mcp.dispatch) == 0;

	if (stdio->leaving || stdio->reader_gone || stdio->broken)
		return true;
	if (!stdio->input_ended)
		return false;
	if (answered && output_waiting(&stdio->output) == 0)
		return true;
	return now >= stdio->last_ms && (now >= stdio->output.written_ms + LAST_PAUSE_MS ||
					 now >= stdio->last_ms + LAST_BYTES_MS);
}

static void flush_rest(struct stdio *stdio)
{
	uint64_t until = clock_ms() + LAST_FLUSH_MS;
	struct pollfd writable = {.fd = stdio->output.fd, .events = POLLOUT};

	while (output_waiting(&stdio->output) > 0 && !stdio->reader_gone && !stdio->broken) {
		uint64_t now = clock_ms();

		if (now >= until || poll(&writable, 1, (int)(until - now)) != 1)
			return;
		write_some(stdio);
	}
}

/*** Beginning ***/

/* A parent of 0 is in another pid namespace, 1 is init, which is nobody's client. A parent that ended before it could
 * be watched has left us to another one by now. */
static void watch_parent(struct stdio *stdio)
{
	pid_t parent = getppid();

	if (parent <= 1)
		return;
	stdio->parent_fd = fds_open_process(parent);
	if (stdio->parent_fd < 0)
		return;
	if (getppid() != parent)
		stdio->leaving = true;
	stdio->events[ON_PARENT] =
		event_new(stdio->base, stdio->parent_fd, EV_READ, on_leave, stdio);
	if (stdio->events[ON_PARENT] != NULL)
		event_add(stdio->events[ON_PARENT], NULL);
}

static int add_events(struct stdio *stdio)
{
	struct event_base *base = stdio->base;
	struct event **events = stdio->events;

	events[ON_INPUT] = event_new(base, STDIN_FILENO, EV_READ | EV_PERSIST, on_input, stdio);
	events[ON_OUTPUT] =
		event_new(base, stdio->output.fd, EV_WRITE | EV_PERSIST, on_output, stdio);
	events[ON_TICK] = event_new(base, -1, EV_PERSIST, on_tick, stdio);
	for (int i = 0; i < N_EVENTS; i++) {
		if (i == ON_PARENT)
			continue;
		if (events[i] == NULL || event_add(events[i], NULL) < 0)
			return -ENOMEM;
	}
	if (loop_watch_signals(base, stdio->signals, on_leave, stdio) < 0)
		return -ENOMEM;
	return set_tick(stdio);
}

static int stdio_init(struct stdio *stdio, const struct config *config,
		      const struct spawn_spec *spec, int output_fd)
{
	*stdio = (struct stdio){.parent_fd = -1,
				.mcp = {.config = config, .tools = mcp_tools},
				.channel = {.send = send_message, .ctx = stdio}};
	lines_init(&stdio->lines, config_message_max(config));
	stdio->input_is_socket = fds_is_socket(STDIN_FILENO);
	output_init(&stdio->output, output_fd >= 0 ? output_fd : STDOUT_FILENO, output_fd < 0);
	stdio->base = loop_new_for_files();
	stdio->session = session_new();
	if (stdio->base == NULL || stdio->session == NULL)
		return -ENOMEM;
	if (add_events(stdio) < 0)
		return -ENOMEM;
	watch_parent(stdio);
	return dispatch_new(stdio->base, spec, NULL, &stdio->mcp.dispatch);
}

static void stdio_clear(struct stdio *stdio)
{
	if (stdio->mcp.dispatch != NULL)
		give_up(stdio);
	dispatch_free(stdio->mcp.dispatch);
	session_free(stdio->session);
	for (int i = 0; i < N_EVENTS; i++)
		if (stdio->events[i] != NULL)
			event_free(stdio->events[i]);
	loop_unwatch_signals(stdio->signals);
	if (stdio->base != NULL)
		event_base_free(stdio->base);
	cleanup_fd(&stdio->parent_fd);
	lines_clear(&stdio->lines);
	output_clear(&stdio->output);
}

int stdio_serve(const struct config *config, const struct spawn_spec *spec, int output_fd)
{
	_cleanup_(stdio_clear) struct stdio stdio;
	int r = stdio_init(&stdio, config, spec, output_fd);

	if (r < 0) {
		fail(&stdio, r);
		return EXIT_INTERNAL;
	}
	while (!finished(&stdio))
		if (event_base_loop(stdio.base, EVLOOP_ONCE) < 0)
			fail(&stdio, -errno);
	give_up(&stdio);
	flush_rest(&stdio);
	log_event(stdio.pending > 0 ? LOG_WARN : LOG_INFO, "stdio.end",
		  LOG_BOOL("input_ended", stdio.input_ended), LOG_U64("pending", stdio.pending),
		  LOG_U64("unsent", output_waiting(&stdio.output)));
	return stdio.broken ? EXIT_INTERNAL : 0;
}
