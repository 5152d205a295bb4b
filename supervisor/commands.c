/* commands - one run for a person, through the same queue, link and sandbox as a call of a client. */
#include "supervisor/commands.h"

#include <errno.h>
#include <event2/event.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/blob.h"
#include "common/cleanup.h"
#include "common/fds.h"
#include "supervisor/dispatch.h"
#include "supervisor/exec_tool.h"
#include "supervisor/json.h"
#include "supervisor/outcome.h"

#define READ_BYTES 65536
#define NOTICE_MS 1000
#define UNWRITTEN "the output cannot be written"

/* A sentence for the person at the command line. */
static __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "%smcp-exec: ", log_prefix(LOG_ERROR));
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

static int fail(const char *what, int error)
{
	say("%s: %s.", what, strerror(error < 0 ? -error : error));
	return EXIT_INTERNAL;
}

/* One run: what is needed until its outcome is printed. */
struct run {
	const struct config *config;
	bool json;
	struct event_base *base;
	struct event *interrupt;
	struct event *terminate;
	struct dispatch *dispatch;
	struct call *call;
	int exit_code;
	bool ended;
};

/*** What to run ***/

/* Where bytes come from, and what to say of them. */
struct source {
	int fd;
	const char *what;
	const char *variable;
	uint64_t max_bytes;
	bool must_have;	    /* empty is refused: a command before the pipe may have failed */
	const char *notice; /* said once when nothing comes; NULL: never */
};

/* A person who has forgotten that stdin is read sees nothing happen. The descriptor may be non-blocking. */
static void wait_readable(struct source *source)
{
	struct pollfd readable = {.fd = source->fd, .events = POLLIN};

	if (source->notice != NULL && poll(&readable, 1, NOTICE_MS) == 0) {
		say("%s", source->notice);
		source->notice = NULL;
	}
	poll(&readable, 1, -1);
}

static int read_all(struct source *source, struct buf *out)
{
	for (;;) {
		char *place = buf_reserve(out, READ_BYTES);
		ssize_t n;

		if (place == NULL)
			return out->error;
		wait_readable(source);
		n = read(source->fd, place, READ_BYTES);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		buf_grown(out, n > 0 ? (size_t)n : 0);
	}
}

/* Reads a source into a sealed blob. Returns 0 or an exit code, with the sentence said. */
static int read_blob(struct source source, int *blob)
{
	/* read_all asks for READ_BYTES more than it has. */
	_cleanup_(buf_clear) struct buf bytes = {.max_bytes = source.max_bytes + READ_BYTES};
	int r = read_all(&source, &bytes);

	if (r == -EFBIG || (r == 0 && bytes.len > source.max_bytes)) {
		say("%s has more than %ju bytes; a larger %s lets it in.", source.what,
		    (uintmax_t)source.max_bytes, source.variable);
		return EXIT_USAGE_ERROR;
	}
	if (r < 0) {
		say("%s cannot be read: %s.", source.what, strerror(-r));
		return EXIT_NO_INPUT;
	}
	if (bytes.len == 0 && source.must_have) {
		say("%s is empty.", source.what);
		return EXIT_USAGE_ERROR;
	}
	*blob = blob_from(bytes.data != NULL ? bytes.data : "", bytes.len);
	if (*blob >= 0)
		return 0;
	say("%s cannot be kept in memory: %s%s.", source.what, strerror(-*blob),
	    *blob == -EFBIG ? "; raise the limit on file size (ulimit -f)" : "");
	return EXIT_INTERNAL;
}

/* As the tool does: clamped, and said, also in the warnings of --json. */
static void fill_timeout(const struct config *config, double wish, struct call_request *request)
{
	char text[128] = "";
	uint32_t timeout_s = config->default_timeout_s;

	if (wish != 0)
		timeout_s = wish < 1			   ? 1
			    : wish > config->max_timeout_s ? config->max_timeout_s
							   : (uint32_t)wish;
	if (wish != 0 && wish != timeout_s) {
		snprintf(text, sizeof(text), "the timeout of %.15g s is %s; %u was used", wish,
			 wish < 1 ? "below 1" : "above the maximum, MCP_EXEC_MAX_TIMEOUT_S",
			 timeout_s);
		say("%s.", text);
		json_quote(&request->warnings, text, strlen(text));
	}
	request->timeout_ms = timeout_s * 1000;
}

static int fill_request(const struct config *config, const struct run_options *options,
			struct call_request *request)
{
	const struct source code = {.fd = options->code_fd,
				    .what = "The program",
				    .variable = "MCP_EXEC_MAX_CODE_BYTES",
				    .max_bytes = config->max_code_bytes,
				    .must_have = true};
	const struct source input = {.fd = STDIN_FILENO,
				     .what = "Standard input",
				     .variable = "MCP_EXEC_MAX_STDIN_BYTES",
				     .max_bytes = config->max_stdin_bytes,
				     .notice = "waiting for the end of standard input; use "
					       "</dev/null if the program needs none"};
	int r;

	request->output_max_bytes = config->max_output_bytes;
	fill_timeout(config, options->timeout_s, request);
	r = read_blob(code, &request->program_fd);
	if (r != 0)
		return r;
	if (!options->code_is_stdin && !isatty(STDIN_FILENO))
		return read_blob(input, &request->stdin_fd);
	request->stdin_fd = blob_from("", 0);
	return request->stdin_fd >= 0
		       ? 0
		       : fail("an empty standard input cannot be had", request->stdin_fd);
}

/*** What came of it ***/

static int exit_code(const struct frame_done *done)
{
	if ((done->flags & FRAME_TIMED_OUT) != 0)
		return EXIT_TIMED_OUT;
	if (done->exit_code >= 0)
		return done->exit_code;
	return 128 + (done->signal != 0 ? (int)done->signal : SIGKILL);
}

/* Raw bytes, as the program wrote them; what it cannot say itself follows on stderr. */
static int print_output(const struct run *run, const struct outcome *outcome)
{
	const char *limit = outcome_limit(outcome);
	int r = fds_write_all(STDOUT_FILENO, outcome->out.data, outcome->out.size);
	int r2 = fds_write_all(STDERR_FILENO, outcome->err.data, outcome->err.size);

	if ((outcome->done.flags & FRAME_TRUNCATED) != 0)
		say("the output is cut: it is larger than MCP_EXEC_MAX_OUTPUT_BYTES, %ju bytes.",
		    (uintmax_t)run->config->max_output_bytes);
	if (limit != NULL && strcmp(limit, "output") != 0)
		say("the run met a limit: %s.", limit);
	else if (outcome->done.signal != 0)
		say("the program was ended by %s.", outcome_signal(outcome));
	return r < 0 ? r : r2;
}

static int print_json(const struct run *run, const struct call *call, const struct outcome *outcome)
{
	_cleanup_(buf_clear) struct buf text = BUF_INIT;

	exec_tool_structured(&text, run->config, &call->request, outcome);
	buf_add_byte(&text, '\n');
	return text.error != 0 ? text.error : fds_write_all(STDOUT_FILENO, text.data, text.len);
}

static int print_error_result(const struct buf *text)
{
	cJSON *result = exec_tool_error(text->data, text->len);
	/* cJSON was given no allocator but malloc. */
	_cleanup_free_ char *json = result ? cJSON_PrintUnformatted(result) : NULL;
	int r;

	cJSON_Delete(result);
	if (json == NULL)
		return -ENOMEM;
	r = fds_write_all(STDOUT_FILENO, json, strlen(json));
	return r < 0 ? r : fds_write_all(STDOUT_FILENO, "\n", 1);
}

static int print_failure(const struct run *run, const struct outcome *outcome)
{
	_cleanup_(buf_clear) struct buf text = BUF_INIT;
	int r = 0;

	exec_tool_failure(&text, run->config, outcome);
	if (text.error != 0)
		return fail("what went wrong cannot be told", text.error);
	say("%.*s", (int)text.len, text.data);
	if (run->json)
		r = print_error_result(&text);
	if (r < 0 && r != -EPIPE)
		return fail(UNWRITTEN, r);
	return outcome->kind == OUTCOME_LOST ? EXIT_INTERNAL : EXIT_NO_SANDBOX;
}

static int print_outcome(const struct run *run, const struct call *call,
			 const struct outcome *outcome)
{
	int r;

	if (outcome->kind != OUTCOME_DONE)
		return print_failure(run, outcome);
	r = run->json ? print_json(run, call, outcome) : print_output(run, outcome);
	/* A reader that has seen enough is no failure of the run. */
	if (r < 0 && r != -EPIPE)
		return fail(UNWRITTEN, r);
	return exit_code(&outcome->done);
}

/* A reader of the output may let us wait for as long as it likes: from now on the signals end us as they end cat(1). */
static void on_ended(struct call *call, const struct outcome *outcome)
{
	struct run *run = call->ctx;

	event_del(run->interrupt);
	event_del(run->terminate);
	run->exit_code = print_outcome(run, call, outcome);
	run->ended = true;
}

/*** The run ***/

static void on_signal(evutil_socket_t number, short what, void *ctx)
{
	struct run *run = ctx;

	(void)what;
	run->exit_code = 128 + number;
	run->ended = true;
}

static bool prepare(struct run *run, const struct spawn_spec *spec)
{
	run->base = event_base_new();
	if (run->base == NULL || dispatch_new(run->base, spec, NULL, &run->dispatch) < 0)
		return false;
	run->interrupt = evsignal_new(run->base, SIGINT, on_signal, run);
	run->terminate = evsignal_new(run->base, SIGTERM, on_signal, run);
	return run->interrupt != NULL && run->terminate != NULL &&
	       event_add(run->interrupt, NULL) == 0 && event_add(run->terminate, NULL) == 0;
}

static void run_clear(struct run *run)
{
	dispatch_free(run->dispatch);
	if (run->interrupt != NULL)
		event_free(run->interrupt);
	if (run->terminate != NULL)
		event_free(run->terminate);
	if (run->base != NULL)
		event_base_free(run->base);
	call_free(run->call);
}

int command_run(const struct config *config, const struct spawn_spec *spec,
		const struct run_options *options)
{
	_cleanup_(run_clear) struct run run = {.config = config, .json = options->json};
	int r;

	run.call = call_new();
	if (run.call == NULL)
		return fail("the run cannot be prepared", ENOMEM);
	r = fill_request(config, options, &run.call->request);
	if (r != 0)
		return r;
	if (!prepare(&run, spec)) {
		say("the event loop cannot be started.");
		return EXIT_INTERNAL;
	}
	run.call->ended = on_ended;
	run.call->ctx = &run;
	dispatch_submit(run.dispatch, run.call);
	while (!run.ended)
		if (event_base_loop(run.base, EVLOOP_ONCE) < 0)
			return fail("the event loop failed", errno);
	return run.exit_code;
}
