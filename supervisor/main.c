/* main - theory of operation
 *
 * The order is the point. First the token leaves the environment and nothing of ours can be dumped; then the command
 * line and the settings are read; then what may need root is opened (the token's file, the listeners, the worker
 * binary, the file of run); then root is given up for good, and every system call that serving does not take; and only
 * then does anything look at what a client or a program says.
 */
#include <errno.h>
#include <event2/event.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fds.h"
#include "common/log.h"
#include "common/printable.h"
#include "common/version.h"
#include "policy/confine.h"
#include "supervisor/client_config.h"
#include "supervisor/commands.h"
#include "supervisor/config.h"
#include "supervisor/fit.h"
#include "supervisor/harden.h"
#include "supervisor/http.h"
#include "supervisor/listen.h"
#include "supervisor/manager.h"
#include "supervisor/options.h"
#include "supervisor/scope.h"
#include "supervisor/secret.h"
#include "supervisor/spawn.h"
#include "supervisor/stdio.h"

#define SENTENCE_BYTES 512
#define PIPE_BYTES (256 * 1024)

/* What is opened while we may still be root. */
struct resources {
	struct spawn_spec spec;
	struct listeners listeners;
	struct access *access; /* NULL: not over HTTP */
	struct manager manager;
	int code_fd;
	int output_fd;
};

/* What we were started with. */
struct beginning {
	struct options options;
	enum secret_state token;
	uint64_t handed_over; /* descriptors of systemd's */
	struct manager_wish manager;
};

static int complain(const char *sentence, int exit_code)
{
	fprintf(stderr, "%smcp-exec: %s\n", log_prefix(LOG_ERROR), sentence);
	return exit_code;
}

static int fail(const char *what, int error)
{
	fprintf(stderr, "%smcp-exec: %s: %s.\n", log_prefix(LOG_ERROR), what, strerror(-error));
	return EXIT_INTERNAL;
}

static int read_config(struct config *config, struct options *options)
{
	char sentence[SENTENCE_BYTES] = "";
	const char *level = options_lookup(options, "MCP_EXEC_LOG_LEVEL");

	if (harden_limits(sentence, sizeof(sentence)) < 0)
		return complain(sentence, EXIT_INTERNAL);
	if (config_read(config, options_lookup, options, sentence, sizeof(sentence)) < 0)
		return complain(sentence, EXIT_BAD_CONFIG);
	/* stderr belongs to the program, unless somebody asked to see more: what ends a run is told in a sentence. */
	if (options->command == OPTIONS_RUN && (level == NULL || *level == '\0')) {
		config->log_level = LOG_ERROR;
		log_silence();
	}
	/* Nothing comes after it that an interpreter could wait for. */
	if (options->command == OPTIONS_RUN)
		config->warm.on = false;
	log_set_level(config->log_level);
	if (config->timeout_lowered)
		log_event(LOG_WARN, "config.timeout_lowered",
			  LOG_U64("default_timeout_s", config->default_timeout_s));
	options_warn_unknown();
	fit_config(config);
	return 0;
}

/* Whoever waits for the end of a pipe that we inherited by accident does not wait for us. Only here, for FILE may be
 * /dev/fd/N. A system that cannot do it is told so by the worker. */
static void close_others(const struct resources *resources)
{
	int keep[8 + MAX_LISTENERS] = {STDIN_FILENO,	      STDOUT_FILENO,
				       STDERR_FILENO,	      log_descriptor(),
				       resources->manager.fd, resources->code_fd,
				       resources->output_fd,  resources->spec.worker_fd};
	size_t n = sizeof(keep) / sizeof(keep[0]) - MAX_LISTENERS;

	for (size_t i = 0; i < resources->listeners.count; i++)
		keep[n++] = resources->listeners.list[i].fd;
	(void)fds_close_all_but(keep, n);
}

static int open_code(const char *file)
{
	int fd;

	if (strcmp(file, "-") == 0)
		return fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	fd = open(file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	return fd >= 0 ? fd : -errno;
}

static int refuse_file(const char *file, int error)
{
	char shown[256];

	fprintf(stderr, "%smcp-exec: %s cannot be opened: %s.\n", log_prefix(LOG_ERROR),
		printable_copy(shown, sizeof(shown), file, strlen(file)), strerror(-error));
	return EXIT_NO_INPUT;
}

/* A terminal or pipe that nobody reads would hold up a write, and the flags of stdout are shared with whoever started us:
 * so it is opened anew, while whoever owns it may still be us. */
static int open_output(void)
{
	struct stat status;

	if (!isatty(STDOUT_FILENO) &&
	    (fstat(STDOUT_FILENO, &status) < 0 || !S_ISFIFO(status.st_mode)))
		return -1;
	return open("/proc/self/fd/1", O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* Fewer turns of ours and the client's for what is long. What is no pipe has no such size, and the user's pipes may hold
 * too much already, which is no harm. */
static void widen_pipes(void)
{
	fcntl(STDIN_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
	fcntl(STDOUT_FILENO, F_SETPIPE_SZ, PIPE_BYTES);
}

static bool serves_http(const struct options *options, const struct config *config)
{
	return options->command == OPTIONS_SERVE && config->transport != TRANSPORT_STDIO;
}

/* A manager that cannot be told ends us when it has waited for long enough, and the log says why. */
static void reach_manager(struct resources *resources, const struct beginning *begin)
{
	int r = manager_open(&resources->manager, &begin->manager);

	if (r < 0)
		log_event(LOG_WARN, "manager.unreachable", LOG_ERRNO("errno", r));
}

/* The token and the sockets. */
static int open_doors(struct resources *resources, const struct beginning *begin,
		      const struct config *config)
{
	char sentence[SENTENCE_BYTES] = "";
	struct access_spec access = {.origins = config->allowed_origins,
				     .hosts = config->allowed_hosts};
	int r;

	if (secret_settle(begin->token, config->auth_token_file, sentence, sizeof(sentence)) < 0)
		return complain(sentence, EXIT_BAD_CONFIG);
	reach_manager(resources, begin);
	access.token_matches = secret_present() ? secret_matches : NULL;
	access.paths = http_paths(config->transport, &access.n_paths);
	r = access_new(&access, &resources->access, sentence, sizeof(sentence));
	if (r == -EINVAL)
		return complain(sentence, EXIT_BAD_CONFIG);
	if (r < 0)
		return fail("The lists of origins and hosts cannot be kept", r);
	r = listen_open(&resources->listeners, config, secret_present(), begin->handed_over,
			sentence, sizeof(sentence));
	if (r < 0)
		return complain(sentence, r == -EINVAL ? EXIT_BAD_CONFIG : EXIT_NO_ADDRESS);
	return 0;
}

static int open_resources(struct resources *resources, const struct beginning *begin,
			  const struct config *config)
{
	char sentence[SENTENCE_BYTES] = "";
	const struct options *options = &begin->options;
	int r = 0;

	if (serves_http(options, config))
		r = open_doors(resources, begin, config);
	else
		secret_forget();
	if (r != 0)
		return r;
	if (options->command == OPTIONS_RUN) {
		resources->code_fd = open_code(options->file);
		if (resources->code_fd < 0)
			return refuse_file(options->file, resources->code_fd);
	}
	if (options->command == OPTIONS_SERVE && config->transport == TRANSPORT_STDIO) {
		resources->output_fd = open_output();
		widen_pipes();
	}
	if (spawn_open(&resources->spec, config, sentence, sizeof(sentence)) < 0)
		return complain(sentence, EXIT_NO_SANDBOX);
	close_others(resources);
	return 0;
}

/* The working directory may be one that our user cannot read, or a file system that wants to be unmounted. */
static int give_up_rights(const struct config *config)
{
	char sentence[SENTENCE_BYTES] = "";
	int r;

	if (harden_user(config->user, sentence, sizeof(sentence)) < 0)
		return complain(sentence, EXIT_BAD_CONFIG);
	if (chdir("/") < 0)
		return fail("The working directory cannot be left", -errno);
	r = harden_late();
	if (r < 0)
		return fail("Privileges cannot be given up", r);
	r = confine_supervisor();
	if (r < 0)
		return fail("No seccomp filter can be put on the server; the kernel must have "
			    "them, and a container or systemd unit around it must allow seccomp(2)",
			    r);
	return 0;
}

static int serve(const struct config *config, struct resources *resources)
{
	bool is_stdio = config->transport == TRANSPORT_STDIO;

	if (is_stdio && isatty(STDIN_FILENO))
		fputs("mcp-exec: waiting for an MCP client on standard input; for people there are "
		      "\"mcp-exec run FILE\", \"mcp-exec check\" and \"mcp-exec --help\".\n",
		      stderr);
	log_event(LOG_INFO, "server.start", LOG_WORD("version", MCP_EXEC_VERSION),
		  LOG_STATIC("transport", config_transport_name(config->transport)),
		  LOG_SETTING("python", config->python));
	if (is_stdio)
		return stdio_serve(config, &resources->spec, resources->output_fd);
	return http_serve(&(struct http_spec){.config = config,
					      .spawn = &resources->spec,
					      .listeners = &resources->listeners,
					      .access = resources->access,
					      .manager = &resources->manager,
					      .has_token = secret_present()});
}

static int report(const struct spawn_spec *spec, const char *mode, const char *extra)
{
	int r = spawn_report(spec, mode, extra);

	return r < 0 ? fail("The worker cannot be started", r) : r;
}

static int run(const struct config *config, const struct resources *resources,
	       const struct options *options)
{
	const struct run_options what = {
		.code_fd = resources->code_fd,
		.code_is_stdin = strcmp(options->file, "-") == 0,
		.json = options->json,
		.timeout_s = options->timeout_s,
	};

	return command_run(config, &resources->spec, &what);
}

static int execute(const struct config *config, struct resources *resources,
		   const struct options *options)
{
	const struct spawn_spec *spec = &resources->spec;

	switch (options->command) {
	case OPTIONS_RUN:
		return run(config, resources, options);
	case OPTIONS_CHECK:
		return report(spec, "--check", options->strict ? "--strict" : NULL);
	case OPTIONS_PRINT_POLICY:
		return report(spec, "--print-policy", NULL);
	case OPTIONS_SERVE:
	case OPTIONS_CLIENT_CONFIG:
	case OPTIONS_VERSION:
	case OPTIONS_HELP:
		break;
	}
	return serve(config, resources);
}

/* A client's child, and what tells a person about it. One program alone is not worth the time, and who serves over HTTP is
 * a service, which has what it was given. */
static bool wants_scope(const struct options *options, const struct config *config)
{
	return config->cgroup != CGROUP_OFF && config->transport == TRANSPORT_STDIO &&
	       (options->command == OPTIONS_SERVE || options->command == OPTIONS_CHECK);
}

static int start(struct beginning *begin)
{
	struct resources resources = {
		.spec = {.worker_fd = -1}, .manager = {.fd = -1}, .code_fd = -1, .output_fd = -1};
	struct config config;
	int r = read_config(&config, &begin->options);

	if (r == 0 && wants_scope(&begin->options, &config))
		scope_enter();
	if (r == 0)
		r = open_resources(&resources, begin, &config);
	if (r == 0)
		r = give_up_rights(&config);
	if (r == 0)
		r = execute(&config, &resources, &begin->options);
	secret_forget();
	access_free(resources.access);
	manager_close(&resources.manager);
	listen_close(&resources.listeners);
	cleanup_fd(&resources.code_fd);
	cleanup_fd(&resources.output_fd);
	cleanup_fd(&resources.spec.worker_fd);
	return r;
}

/* Text for a person is only whole when it has reached its file. */
static int finish_text(void)
{
	return fflush(stdout) == 0 && !ferror(stdout) ? 0 : EXIT_INTERNAL;
}

/* Only flags go into a client's settings; what is in our environment now need not be in the client's. */
static int configure_client(struct options *options)
{
	char sentence[SENTENCE_BYTES] = "";
	struct config config;
	int r;

	if (config_read(&config, options_flag, options, sentence, sizeof(sentence)) < 0)
		return complain(sentence, EXIT_BAD_CONFIG);
	r = client_config_write(stdout, stderr, options, sentence, sizeof(sentence));
	return r < 0 ? complain(sentence, EXIT_USAGE_ERROR) : finish_text();
}

/* libevent's own words are for its developers; what fails is told by whoever called it. */
static void drop_message(int severity, const char *message)
{
	(void)severity;
	(void)message;
}

static void die_of_libevent(int error)
{
	(void)error;
	fprintf(stderr,
		"%smcp-exec: The event loop cannot be had; raise the limit on open files (ulimit "
		"-n) or on "
		"processes (ulimit -u).\n",
		log_prefix(LOG_ERROR));
	_exit(EXIT_INTERNAL);
}

int main(int argc, char **argv)
{
	char sentence[SENTENCE_BYTES] = "";
	struct beginning begin = {.token = secret_take(),
				  .handed_over = listen_handed_over(),
				  .manager = manager_take()};
	int r = fds_fill_standard();

	log_find_journal();
	if (r == 0)
		r = harden_early();
	if (r < 0)
		return fail("The process cannot be protected", r);
	log_open();
	event_set_log_callback(drop_message);
	event_set_fatal_callback(die_of_libevent);
	if (options_parse(&begin.options, argc, argv, sentence, sizeof(sentence)) < 0)
		return complain(sentence, EXIT_USAGE_ERROR);
	if (begin.options.command == OPTIONS_HELP) {
		options_help(stdout);
		return finish_text();
	}
	if (begin.options.command == OPTIONS_VERSION) {
		puts(MCP_EXEC_NAME " " MCP_EXEC_VERSION);
		return finish_text();
	}
	if (begin.options.command == OPTIONS_CLIENT_CONFIG)
		return configure_client(&begin.options);
	return start(&begin);
}
