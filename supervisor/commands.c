/* commands - one run for a person, through the same queue, link and sandbox as a call of a client. */
#include "supervisor/commands.h"

#include <errno.h>
#include <event2/event.h>
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
#include "supervisor/outcome.h"

#define READ_BYTES 65536

/* A sentence for the person at the command line. */
static __attribute__((format(printf, 1, 2))) void say(const char *format, ...)
{
	va_list args;

	fputs("mcp-exec: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
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

static int read_all(int fd, struct buf *out)
{
	for (;;) {
		char *place = buf_reserve(out, READ_BYTES);
		ssize_t n;

		if (place == NULL)
			return out->error;
		n = read(fd, place, READ_BYTES);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EINTR)
			return -errno;
		buf_grown(out, n > 0 ? (size_t)n : 0);
	}
}

/* Reads fd into a sealed blob. Returns 0 or an exit code, with the sentence said. */
static int read_blob(int fd, const char *what, const char *variable, uint64_t max_bytes, int *blob)
{
	/* read_all asks for READ_BYTES more than it has. */
	_cleanup_(buf_clear) struct buf bytes = {.max_bytes = max_bytes + READ_BYTES};
	int r = read_all(fd, &bytes);

	if (r == -EFBIG || (r == 0 && bytes.len > max_bytes)) {
		say("%s has more than %ju bytes; a larger %s lets it in.", what,
		    (uintmax_t)max_bytes, variable);
		return EXIT_USAGE_ERROR;
	}
	if (r < 0) {
		say("%s cannot be read: %s.", what, strerror(-r));
		return EXIT_NO_INPUT;
	}
	*blob = blob_from(bytes.data != NULL ? bytes.data : "", bytes.len);
	if (*blob >= 0)
		return 0;
	say("%s cannot be kept in memory: %s.", what, strerror(-*blob));
	return EXIT_INTERNAL;
}

/* As the tool does: clamped, never refused, when it is a number. */
static int read_timeout(const struct config *config, const char *text, uint32_t *timeout_ms)
{
	char *end = NULL;
	unsigned long seconds = config->default_timeout_s;

	if (text != NULL) {
		errno = 0;
		seconds = strtoul(text, &end, 10);
		if (text[0] < '0' || text[0] > '9' || *end != '\0')
			return -EINVAL;
		if (seconds == 0)
			seconds = config->default_timeout_s;
	}
	if (seconds > config->max_timeout_s) {
		say("the timeout is lowered to the maximum, %u s (MCP_EXEC_MAX_TIMEOUT_S).",
		    config->max_timeout_s);
		seconds = config->max_timeout_s;
	}
	*timeout_ms = (uint32_t)seconds * 1000;
	return 0;
}

static int fill_request(const struct config *config, const struct run_options *options,
			struct call_request *request)
{
	bool empty = options->code_is_stdin || isatty(STDIN_FILENO);
	int r;

	request->output_max_bytes = config->max_output_bytes;
	if (read_timeout(config, options->timeout, &request->timeout_ms) < 0) {
		say("--timeout must be a whole number of seconds.");
		return EXIT_USAGE_ERROR;
	}
	r = read_blob(options->code_fd, "The program", "MCP_EXEC_MAX_CODE_BYTES",
		      config->max_code_bytes, &request->program_fd);
	if (r != 0)
		return r;
	if (!empty)
		return read_blob(STDIN_FILENO, "Standard input", "MCP_EXEC_MAX_STDIN_BYTES",
				 config->max_stdin_bytes, &request->stdin_fd);
	request->stdin_fd = blob_from("", 0);
	return request->stdin_fd >= 0 ? 0 : EXIT_INTERNAL;
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

/* Raw bytes. A pipe's reader must get exactly what the program wrote, so only a terminal is told of a limit. */
static int print_output(const struct outcome *outcome)
{
	const char *limit = outcome_limit(outcome);
	int r = fds_write_all(STDOUT_FILENO, outcome->out.data, outcome->out.size);
	int r2 = fds_write_all(STDERR_FILENO, outcome->err.data, outcome->err.size);

	if (limit != NULL && isatty(STDERR_FILENO))
		say("the run met a limit: %s.", limit);
	return r < 0 ? r : r2;
}

static int print_json(const struct run *run, const struct call *call, const struct outcome *outcome)
{
	_cleanup_(buf_clear) struct buf text = BUF_INIT;

	exec_tool_structured(&text, run->config, &call->request, outcome);
	buf_add_byte(&text, '\n');
	return text.error != 0 ? text.error : fds_write_all(STDOUT_FILENO, text.data, text.len);
}

static int print_failure(const struct run *run, const struct outcome *outcome)
{
	_cleanup_(buf_clear) struct buf text = BUF_INIT;

	exec_tool_failure(&text, run->config, outcome);
	say("%.*s", (int)text.len, text.data != NULL ? text.data : "");
	return EXIT_NO_SANDBOX;
}

static int print_outcome(const struct run *run, const struct call *call,
			 const struct outcome *outcome)
{
	int r;

	if (outcome->kind != OUTCOME_DONE)
		return print_failure(run, outcome);
	r = run->json ? print_json(run, call, outcome) : print_output(outcome);
	/* A reader that has seen enough is no failure of the run. */
	if (r < 0 && r != -EPIPE) {
		say("the output cannot be written: %s.", strerror(-r));
		return EXIT_INTERNAL;
	}
	return exit_code(&outcome->done);
}

static void on_ended(struct call *call, const struct outcome *outcome)
{
	struct run *run = call->ctx;

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
	if (run->base == NULL || dispatch_new(run->base, spec, &run->dispatch) < 0)
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
		return EXIT_INTERNAL;
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
		event_base_loop(run.base, EVLOOP_ONCE);
	return run.exit_code;
}
