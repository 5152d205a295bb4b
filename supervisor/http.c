/* http - theory of operation
 *
 * connections gives one exchange after the other, each let in already; by its path it goes to a transport, or is
 * answered here. The tick tells progress and the service manager, ends idle sessions, and watches the two ways in which
 * serving ends by itself: no first sandbox, and a drain that is over.
 */
#include "supervisor/http.h"

#include <errno.h>
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "supervisor/commands.h"
#include "supervisor/connections.h"
#include "supervisor/exec_tool.h"
#include "supervisor/loop.h"
#include "supervisor/mcp.h"
#include "supervisor/metrics.h"
#include "supervisor/refusal.h"
#include "supervisor/sse.h"
#include "supervisor/streamable.h"

#define JSON "application/json"
#define TICK_MS 500
/* Until it is known whether there are sandboxes, and while the end is waited for. */
#define SHORT_TICK_MS 50
/* While no sandbox can be had, /healthz says so, and a balancer that believes it sends no call that would try again. */
#define RETRY_MS 5000

struct http {
	const struct http_spec *spec;
	struct mcp mcp;
	struct metrics metrics;
	struct event_base *base;
	struct event *signals[LOOP_SIGNALS];
	struct event *tick;
	struct connections *connections;
	struct streamable *streamable; /* the transport: this */
	struct sse *sse;	       /* or this */
	bool started;		       /* a sandbox has stood */
	bool draining;
	uint64_t retried_ms; /* when a sandbox was asked for without a call */
	uint64_t drained_ms; /* when draining ends at the latest */
	bool leaving;	     /* at once */
	int exit_code;
};

/*** What is asked for ***/

static void serve_streamable(struct http *http, struct exchange *exchange)
{
	streamable_serve(http->streamable, exchange);
}

static void serve_stream(struct http *http, struct exchange *exchange)
{
	sse_serve_stream(http->sse, exchange);
}

static void serve_message(struct http *http, struct exchange *exchange)
{
	sse_serve_message(http->sse, exchange);
}

static bool refuse_unless_read(struct exchange *exchange)
{
	enum exchange_method method = exchange_method(exchange);

	if (method == EXCHANGE_GET || method == EXCHANGE_HEAD)
		return false;
	refusal_method(exchange, "GET, HEAD");
	return true;
}

/* Whoever asks has shown no token, so it says yes or no and nothing else; access lets GET and HEAD alone come here. */
static void serve_health(struct http *http, struct exchange *exchange)
{
	bool well = dispatch_has_stood(http->mcp.dispatch) && !dispatch_trouble(http->mcp.dispatch);
	const char *text = well ? "{\"status\":\"ok\"}" : "{\"status\":\"unavailable\"}";

	exchange_answer(exchange, well ? 200 : 503, JSON, text, strlen(text));
}

static size_t count_sessions(const struct http *http)
{
	return http->sse ? sse_sessions(http->sse) : streamable_sessions(http->streamable);
}

static void serve_metrics(struct http *http, struct exchange *exchange)
{
	const struct dispatch *dispatch = http->mcp.dispatch;
	const struct metrics_now now = {
		.queue_depth = dispatch_queue_length(dispatch),
		.queue_limit = http->spec->config->max_queue,
		.connections = connections_count(http->connections),
		.sessions = count_sessions(http),
		.running = dispatch_is_running(dispatch),
		.worker_up = !dispatch_trouble(dispatch),
		.ready = *dispatch_ready(dispatch),
		.warm = *dispatch_warm(dispatch),
		.modules = &http->spec->config->warm.modules,
	};
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	if (refuse_unless_read(exchange))
		return;
	metrics_text(&out, &http->metrics, &now);
	exchange_answer(exchange, out.error ? 500 : 200, "text/plain; version=0.0.4; charset=utf-8",
			out.data, out.error ? 0 : out.len);
}

typedef void (*serve)(struct http *http, struct exchange *exchange);

#define PATHS 4

/* For each transport its paths, in the order of their functions; access asks for the token on all of these. */
static const struct routes {
	const char *paths[PATHS + 1];
	serve serve[PATHS];
} routes[] = {
	[TRANSPORT_STDIO] = {{NULL}, {NULL}},
	[TRANSPORT_HTTP] = {{"/mcp", "/metrics", NULL}, {serve_streamable, serve_metrics}},
	[TRANSPORT_SSE] = {{"/sse", "/", "/messages", "/metrics", NULL},
			   {serve_stream, serve_stream, serve_message, serve_metrics}},
};

const char *const *http_paths(enum transport transport, size_t *count)
{
	*count = 0;
	while (routes[transport].paths[*count])
		++*count;
	return routes[transport].paths;
}

static serve find_route(const struct http *http, const char *path)
{
	const struct routes *known = &routes[http->spec->config->transport];

	if (strcmp(path, ACCESS_HEALTH_PATH) == 0)
		return serve_health;
	for (size_t i = 0; known->paths[i]; i++)
		if (strcmp(known->paths[i], path) == 0)
			return known->serve[i];
	return NULL;
}

static void on_exchange(struct exchange *exchange, void *ctx)
{
	struct http *http = ctx;
	serve serve_it = find_route(http, exchange_path(exchange));

	/* connections let only known paths in. */
	if (!serve_it)
		exchange_abort(exchange);
	else
		serve_it(http, exchange);
}

/*** Beginning and end ***/

static enum manager_state state_of(const struct http *http)
{
	if (http->exit_code == EXIT_NO_SANDBOX)
		return MANAGER_HAS_NO_SANDBOX;
	if (http->draining || http->leaving)
		return MANAGER_ENDS;
	if (!http->started)
		return MANAGER_STARTS;
	return dispatch_trouble(http->mcp.dispatch) ? MANAGER_HAS_NO_SANDBOX : MANAGER_SERVES;
}

static void tell_manager(const struct http *http)
{
	const struct manager_news news = {
		.state = state_of(http),
		.running = dispatch_is_running(http->mcp.dispatch),
		.waiting = dispatch_queue_length(http->mcp.dispatch),
	};

	manager_tell(http->spec->manager, &news);
}

static void set_tick(struct http *http, suseconds_t ms)
{
	const struct timeval tick = {.tv_usec = ms * 1000};

	event_add(http->tick, &tick);
}

static void drain(struct http *http)
{
	http->draining = true;
	http->drained_ms = clock_ms() + (uint64_t)http->spec->config->drain_s * 1000;
	log_event(LOG_INFO, "http.drain", LOG_U64("pending", dispatch_pending(http->mcp.dispatch)),
		  LOG_U64("connections", connections_count(http->connections)));
	connections_stop(http->connections);
	listen_close(http->spec->listeners);
	set_tick(http, SHORT_TICK_MS);
}

static void on_term(struct http *http)
{
	if (http->draining)
		http->leaving = true;
	else
		drain(http);
}

static void on_signal(evutil_socket_t number, short what, void *ctx)
{
	struct http *http = ctx;

	(void)what;
	if (number == SIGTERM)
		on_term(http);
	else
		http->leaving = true;
	tell_manager(http);
}

/* A server that can run nothing is better not there: whoever started it reads stderr, as nobody behind a socket does. */
static void look_for_sandbox(struct http *http)
{
	const struct outcome *trouble = dispatch_trouble(http->mcp.dispatch);
	_cleanup_(buf_clear) struct buf text = BUF_INIT;

	if (dispatch_has_stood(http->mcp.dispatch)) {
		http->started = true;
		set_tick(http, TICK_MS);
		return;
	}
	if (!trouble)
		return;
	exec_tool_failure(&text, http->spec->config, trouble);
	fprintf(stderr, "%smcp-exec: %.*s\n", log_prefix(LOG_ERROR), (int)text.len,
		text.error ? "" : text.data);
	http->exit_code = EXIT_NO_SANDBOX;
	http->leaving = true;
}

static void retry_sandbox(struct http *http)
{
	uint64_t now = clock_ms();

	if (now < http->retried_ms + RETRY_MS)
		return;
	http->retried_ms = now;
	dispatch_retry(http->mcp.dispatch);
}

static void look_for_end(struct http *http)
{
	if (http->sse)
		sse_end_idle(http->sse);
	if ((dispatch_pending(http->mcp.dispatch) == 0 &&
	     connections_count(http->connections) == 0) ||
	    clock_ms() >= http->drained_ms)
		http->leaving = true;
}

static void on_tick(evutil_socket_t fd, short what, void *ctx)
{
	struct http *http = ctx;

	(void)fd;
	(void)what;
	if (!http->started && !http->draining)
		look_for_sandbox(http);
	else if (dispatch_trouble(http->mcp.dispatch))
		retry_sandbox(http);
	mcp_tick(&http->mcp);
	if (http->streamable)
		streamable_tick(http->streamable);
	if (http->draining)
		look_for_end(http);
	tell_manager(http);
}

static int open_transport(struct http *http)
{
	if (http->spec->config->transport == TRANSPORT_SSE)
		http->sse = sse_new(&http->mcp);
	else
		http->streamable = streamable_new(http->base, &http->mcp);
	return http->sse || http->streamable ? 0 : -ENOMEM;
}

static uint64_t longest_answer(const struct config *config)
{
	uint64_t call = config->max_output_bytes * ANSWER_ESCAPE_FACTOR;

	return call > MAX_BATCH_BYTES ? call : MAX_BATCH_BYTES;
}

static int open_connections(struct http *http)
{
	const struct config *config = http->spec->config;
	const struct connections_spec connections = {
		.base = http->base,
		.listeners = http->spec->listeners,
		.access = http->spec->access,
		.body_max = config_message_max(config),
		.answer_max = longest_answer(config),
		.max_connections = config->max_connections,
		.metrics = &http->metrics,
		.serve = on_exchange,
		.ctx = http,
	};

	return connections_new(&connections, &http->connections);
}

static int http_init(struct http *http, const struct http_spec *spec)
{
	int r;

	*http = (struct http){
		.spec = spec,
		.mcp = {.config = spec->config, .tools = mcp_tools, .metrics = &http->metrics}};
	http->metrics.started_s = time(NULL);
	http->base = event_base_new();
	if (!http->base || loop_watch_signals(http->base, http->signals, on_signal, http) < 0)
		return -ENOMEM;
	http->tick = event_new(http->base, -1, EV_PERSIST, on_tick, http);
	if (!http->tick)
		return -ENOMEM;
	r = dispatch_new(http->base, spec->spawn, &http->metrics, &http->mcp.dispatch);
	if (r == 0)
		r = open_transport(http);
	if (r == 0)
		r = open_connections(http);
	if (r == 0)
		r = manager_watch(spec->manager, http->base);
	set_tick(http, SHORT_TICK_MS);
	return r;
}

static void http_clear(struct http *http)
{
	/* Exchanges end first: what is cancelled afterwards finds nobody to tell. */
	streamable_free(http->streamable);
	sse_free(http->sse);
	connections_free(http->connections);
	dispatch_free(http->mcp.dispatch);
	if (http->tick)
		event_free(http->tick);
	loop_unwatch_signals(http->signals);
	manager_close(http->spec->manager);
	if (http->base)
		event_base_free(http->base);
}

int http_serve(const struct http_spec *spec)
{
	_cleanup_(http_clear) struct http http;
	int r = http_init(&http, spec);
	size_t pending;

	/* Not before: whoever reads that we listen may end us by a signal at once. */
	if (r == 0)
		listen_log(spec->listeners, spec->has_token);
	while (r == 0 && !http.leaving)
		if (event_base_loop(http.base, EVLOOP_ONCE) < 0)
			r = -ENOMEM;
	if (r < 0) {
		log_event(LOG_ERROR, "http.failed", LOG_ERRNO("errno", r));
		return EXIT_INTERNAL;
	}
	pending = dispatch_pending(http.mcp.dispatch);
	log_event(pending > 0 ? LOG_WARN : LOG_INFO, "http.end", LOG_U64("pending", pending));
	return http.exit_code;
}
