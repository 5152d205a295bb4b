/* fake_http - the connections of the server with something simple behind them, under the supervisor's own filter.
 *
 * Arguments are settings, name=value: token, kind (open, loopback), unix (a path), max (connections), body and answer
 * (bytes), and head, request, idle, stall, keep_alive (ms). stdout: the port. SIGTERM drains; the end of stdin ends it at once.
 * What is done with a request to /mcp is in its field Do:
 *   echo          the body comes back (this is what happens without the field)
 *   facts         method, path, query parameter "a", some fields and the length of the body, as JSON
 *   list          the values of X-Field, as one list
 *   slow N        echo after N ms
 *   never         no answer; when the peer goes, so does the exchange
 *   keep N        the same as slow, but a peer that goes is tried to be answered
 *   stream N M    N events, one each M ms, and the end; of L bytes, when there is a third number L
 *   hold N M L    the same as stream, but goes on when its peer goes
 *   big N         N bytes
 *   abort         the connection is closed
 *   empty         202 and no content
 *   close         echo, and the connection ends
 * GET /state: how many connections there are, and how many requests were served, went, and were kept.
 */
#include <errno.h>
#include <event2/event.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/limits.h"
#include "policy/confine.h"
#include "supervisor/access.h"
#include "supervisor/connections.h"

/* A stream waits while so many bytes of it were not taken. */
#define UNSENT_MAX 1000000

static const char *global_token = "";

struct fake {
	struct event_base *base;
	struct connections *connections;
	struct listeners listeners;
	unsigned long served, gone, kept;
	bool stopped;
};

/* A request that is not answered at once. */
struct job {
	struct fake *fake;
	struct exchange *exchange;
	struct event *timer;
	struct timeval wait;
	char *data;
	size_t len;
	bool keep;
	unsigned long events; /* still to come; 0: this is no stream */
};

/*** Answers ***/

static void free_job(struct job *job)
{
	event_free(job->timer);
	free(job->data);
	free(job);
}

static void on_time(evutil_socket_t fd, short what, void *ctx)
{
	struct job *job = ctx;

	(void)fd;
	(void)what;
	if (job->events > 0) {
		if (exchange_unsent(job->exchange) > UNSENT_MAX)
			job->events++;
		else if (job->len > 0)
			exchange_event(job->exchange, "message", job->data, job->len);
		else
			exchange_event(job->exchange, "message", "{\"n\":1}", 7);
		if (--job->events > 0) {
			evtimer_add(job->timer, &job->wait);
			return;
		}
		exchange_end(job->exchange);
	} else {
		exchange_answer(job->exchange, 200, "application/json", job->data, job->len);
	}
	free_job(job);
}

static bool on_gone(void *ctx)
{
	struct job *job = ctx;
	struct fake *fake = job->fake;

	if (job->keep) {
		fake->kept++;
		return true;
	}
	fake->gone++;
	free_job(job);
	return false;
}

/* ms 0: nothing more happens. */
static struct job *new_job(struct fake *fake, struct exchange *exchange, unsigned long ms,
			   size_t len)
{
	struct job *job = calloc(1, sizeof(*job));

	if (!job)
		abort();
	*job = (struct job){
		.fake = fake,
		.exchange = exchange,
		.timer = evtimer_new(fake->base, on_time, job),
		.wait = {.tv_sec = (time_t)(ms / 1000), .tv_usec = (suseconds_t)(ms % 1000 * 1000)},
		.data = malloc(len + 1),
		.len = len};
	if (!job->timer || !job->data)
		abort();
	exchange_on_gone(exchange, on_gone, job);
	if (ms > 0)
		evtimer_add(job->timer, &job->wait);
	return job;
}

static void start_echo(struct fake *fake, struct exchange *exchange, unsigned long ms, bool keep)
{
	const char *data;
	struct job *job;
	size_t len;

	exchange_body(exchange, &data, &len);
	job = new_job(fake, exchange, ms, len);
	job->keep = keep;
	if (len > 0)
		memcpy(job->data, data, len);
}

static void start_stream(struct fake *fake, struct exchange *exchange, unsigned long ms,
			 unsigned long events, size_t len, bool keep)
{
	struct job *job = new_job(fake, exchange, ms, len);

	job->events = events;
	job->keep = keep;
	memset(job->data, 'x', len);
	exchange_stream(exchange);
}

static void answer_echo(struct exchange *exchange)
{
	const char *data;
	size_t len;

	exchange_body(exchange, &data, &len);
	exchange_answer(exchange, 200, "application/json", data, len);
}

static void answer_and_close(struct exchange *exchange)
{
	exchange_set_close(exchange);
	answer_echo(exchange);
}

static void answer_facts(struct exchange *exchange)
{
	const char *a = exchange_query(exchange, "a");
	const char *field = exchange_header(exchange, "X-Field");
	const char *data;
	char text[512];
	size_t len;
	int n;

	exchange_body(exchange, &data, &len);
	n = snprintf(text, sizeof(text),
		     "{\"method\":%d,\"path\":\"%s\",\"a\":\"%s\",\"field\":\"%s\",\"fields\":%zu,"
		     "\"len\":%zu}",
		     (int)exchange_method(exchange), exchange_path(exchange), a ? a : "(none)",
		     field ? field : "(none)", exchange_header_count(exchange, "X-Field"), len);
	exchange_set_header(exchange, "X-Answer", "yes");
	exchange_set_header(exchange, "X-Split", "a\r\nX-Evil: 1");
	exchange_answer(exchange, 200, "application/json", text, (size_t)n);
}

static void answer_state(struct fake *fake, struct exchange *exchange)
{
	char text[200];
	int n = snprintf(text, sizeof(text),
			 "{\"connections\":%zu,\"served\":%lu,\"gone\":%lu,\"kept\":%lu}",
			 connections_count(fake->connections), fake->served, fake->gone,
			 fake->kept);

	exchange_answer(exchange, 200, "application/json", text, (size_t)n);
}

static void answer_big(struct exchange *exchange, unsigned long bytes)
{
	_cleanup_free_ char *data = malloc(bytes + 1);

	if (!data)
		abort();
	memset(data, 'x', bytes);
	exchange_answer(exchange, 200, "application/json", data, bytes);
}

static void answer_list(struct exchange *exchange)
{
	const char *list = exchange_list(exchange, "X-Field");

	list = list ? list : "(none)";
	exchange_answer(exchange, 200, "text/plain", list, strlen(list));
}

static void serve(struct exchange *exchange, void *ctx)
{
	struct fake *fake = ctx;
	const char *wish = exchange_header(exchange, "Do");
	unsigned long n = 0, ms = 0, size = 0;

	fake->served++;
	wish = wish ? wish : "echo";
	if (strcmp(exchange_path(exchange), "/state") == 0)
		answer_state(fake, exchange);
	else if (strcmp(exchange_path(exchange), ACCESS_HEALTH_PATH) == 0)
		exchange_answer(exchange, 200, "text/plain", "ok\n", 3);
	else if (strcmp(wish, "facts") == 0)
		answer_facts(exchange);
	else if (strcmp(wish, "list") == 0)
		answer_list(exchange);
	else if (strcmp(wish, "never") == 0)
		start_echo(fake, exchange, 0, false);
	else if (strcmp(wish, "abort") == 0)
		exchange_abort(exchange);
	else if (strcmp(wish, "close") == 0)
		answer_and_close(exchange);
	else if (strcmp(wish, "empty") == 0)
		exchange_answer(exchange, 202, NULL, NULL, 0);
	else if (sscanf(wish, "slow %lu", &n) == 1)
		start_echo(fake, exchange, n, false);
	else if (sscanf(wish, "keep %lu", &n) == 1)
		start_echo(fake, exchange, n, true);
	else if (sscanf(wish, "stream %lu %lu %lu", &n, &ms, &size) >= 2)
		start_stream(fake, exchange, ms, n, size, false);
	else if (sscanf(wish, "hold %lu %lu %lu", &n, &ms, &size) == 3)
		start_stream(fake, exchange, ms, n, size, true);
	else if (sscanf(wish, "big %lu", &n) == 1)
		answer_big(exchange, n);
	else
		answer_echo(exchange);
}

/*** Set-up ***/

static bool is_token(const char *data, size_t len)
{
	return len == strlen(global_token) && memcmp(data, global_token, len) == 0;
}

static const char *setting(char **argv, const char *name, const char *otherwise)
{
	size_t len = strlen(name);

	for (int i = 1; argv[i]; i++)
		if (strncmp(argv[i], name, len) == 0 && argv[i][len] == '=')
			return argv[i] + len + 1;
	return otherwise;
}

static uint32_t number(char **argv, const char *name, uint32_t otherwise)
{
	const char *text = setting(argv, name, NULL);

	return text ? (uint32_t)strtoul(text, NULL, 10) : otherwise;
}

static void add_listener(struct fake *fake, const struct sockaddr *address, socklen_t len,
			 enum listener_kind kind)
{
	struct listener *listener = &fake->listeners.list[fake->listeners.count++];

	listener->kind = kind;
	listener->fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (listener->fd < 0 || bind(listener->fd, address, len) < 0 ||
	    listen(listener->fd, 128) < 0)
		abort();
}

static void add_listeners(struct fake *fake, char **argv)
{
	const char *path = setting(argv, "unix", NULL);
	bool open = strcmp(setting(argv, "kind", "loopback"), "open") == 0;
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct sockaddr_un file = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(address);

	add_listener(fake, (struct sockaddr *)&address, len,
		     open ? LISTENER_OPEN : LISTENER_LOOPBACK);
	if (path) {
		snprintf(file.sun_path, sizeof(file.sun_path), "%s", path);
		add_listener(fake, (struct sockaddr *)&file, sizeof(file), LISTENER_UNIX);
	}
	if (getsockname(fake->listeners.list[0].fd, (struct sockaddr *)&address, &len) < 0)
		abort();
	printf("%d\n", (int)ntohs(address.sin_port));
	fflush(stdout);
}

static void on_term(evutil_socket_t fd, short what, void *ctx)
{
	struct fake *fake = ctx;

	(void)fd;
	(void)what;
	fake->stopped = true;
	connections_stop(fake->connections);
	for (size_t i = 0; i < fake->listeners.count; i++)
		cleanup_fd(&fake->listeners.list[i].fd);
}

static void on_stdin(evutil_socket_t fd, short what, void *ctx)
{
	struct fake *fake = ctx;

	(void)fd;
	(void)what;
	event_base_loopbreak(fake->base);
}

static void loop(struct fake *fake)
{
	struct event *term = evsignal_new(fake->base, SIGTERM, on_term, fake);
	struct event *end = event_new(fake->base, STDIN_FILENO, EV_READ, on_stdin, fake);

	event_add(term, NULL);
	event_add(end, NULL);
	while (!fake->stopped || connections_count(fake->connections) > 0) {
		event_base_loop(fake->base, EVLOOP_ONCE);
		if (event_base_got_break(fake->base))
			break;
	}
	event_free(term);
	event_free(end);
}

int main(int argc, char **argv)
{
	static const char *const paths[] = {"/mcp", "/state"};
	const struct connections_times times = {
		.head_ms = number(argv, "head", HTTP_HEAD_MS),
		.request_ms = number(argv, "request", HTTP_REQUEST_MS),
		.idle_ms = number(argv, "idle", HTTP_IDLE_MS),
		.stall_ms = number(argv, "stall", HTTP_STALL_MS),
		.keep_alive_ms = number(argv, "keep_alive", HTTP_KEEP_ALIVE_MS),
	};
	struct fake fake = {.base = event_base_new()};
	struct access_spec access_spec = {.paths = paths, .n_paths = 2};
	struct connections_spec spec = {.base = fake.base,
					.listeners = &fake.listeners,
					.body_max = number(argv, "body", 1 << 20),
					.answer_max = number(argv, "answer", 1 << 30),
					.max_connections = number(argv, "max", MAX_CONNECTIONS),
					.times = &times,
					.serve = serve,
					.ctx = &fake};
	struct access *access;
	char error[200];

	(void)argc;
	global_token = setting(argv, "token", "");
	access_spec.token_matches = *global_token ? is_token : NULL;
	add_listeners(&fake, argv);
	if (!fake.base || signal(SIGPIPE, SIG_IGN) == SIG_ERR ||
	    access_new(&access_spec, &access, error, sizeof(error)) < 0)
		abort();
	spec.access = access;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || confine_supervisor() < 0 ||
	    connections_new(&spec, &fake.connections) < 0)
		abort();
	loop(&fake);
	connections_free(fake.connections);
	access_free(access);
	event_base_free(fake.base);
	for (size_t i = 0; i < fake.listeners.count; i++)
		cleanup_fd(&fake.listeners.list[i].fd);
	return EXIT_SUCCESS;
}
