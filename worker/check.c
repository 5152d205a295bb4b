/* check - see the header. It drives a sandbox by itself, without frames: the same sandbox, run and capture modules. */
#include "worker/check.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/blob.h"
#include "common/cleanup.h"
#include "common/frame.h"
#include "common/layers.h"
#include "common/log.h"
#include "common/mechanism.h"
#include "common/remedy.h"
#include "policy/confine.h"
#include "policy/landlock.h"
#include "worker/delegation.h"
#include "worker/worker.h"

#define EXIT_REFUSED 69
#define ANSWER_TIMEOUT_MS 30000
/* For an interpreter that waits, and for one that is to load modules first. */
#define WARM_TIMEOUT_MS 3000
#define PRELOAD_TIMEOUT_MS 30000

/* What the program in the sandbox sees of itself. */
static const char program[] =
	"import os, socket, sys\n"
	"print('python', '.'.join(map(str, sys.version_info[:3])), 'as pid', "
	"os.getpid(), 'uid', os.getuid())\n"
	"try:\n"
	"    keys = ('CapEff', 'CapBnd', 'NoNewPrivs', 'Seccomp')\n"
	"    lines = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
	"    print(' '.join(k + '=' + lines[k].strip() for k in keys))\n"
	"except OSError: print('its status cannot be read without /proc')\n"
	"print('root', ' '.join(sorted(os.listdir('/'))))\n";

struct trial {
	int link; /* our end, as if we were the supervisor */
	pid_t worker;
	struct frame frame;
	int fds[FRAME_FDS];
	struct frame_warm warm; /* as it was last told */
};

/* Receives what is not about warm starts. */
static int receive(struct trial *trial)
{
	struct pollfd event = {.fd = trial->link, .events = POLLIN};
	int r;

	do {
		if (poll(&event, 1, ANSWER_TIMEOUT_MS) <= 0)
			return -ETIMEDOUT;
		r = frame_recv(trial->link, &trial->frame, trial->fds, FRAME_TO_SUPERVISOR);
		if (r == 1 && trial->frame.type == FRAME_WARM)
			trial->warm = trial->frame.warm;
	} while (r == 1 && trial->frame.type == FRAME_WARM);
	return r == 0 ? -EPIPE : r;
}

/* A worker of our own, in a child: what is checked is what serves. */
static int start(struct trial *trial, const struct inside *inside, const struct warm_settings *warm,
		 uint32_t version)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	trial->link = pair[0];
	trial->worker = fork();
	if (trial->worker == 0) {
		close(pair[0]);
		log_set_level(LOG_ERROR);
		_exit(worker_serve(pair[1], inside, warm, version));
	}
	close(pair[1]);
	return trial->worker < 0 ? -errno : receive(trial);
}

static int run_program(struct trial *trial)
{
	int fds[FRAME_FDS] = {blob_from(program, sizeof(program) - 1), blob_from("", 0)};
	struct frame frame;
	int r;

	frame_init(&frame, FRAME_RUN, 1);
	frame.run.deadline_ms = ANSWER_TIMEOUT_MS / 2;
	frame.run.output_max_bytes = 64 * KIB;
	r = frame_send(trial->link, &frame, fds);
	return r < 0 ? r : receive(trial);
}

static void stop(struct trial *trial)
{
	close(trial->link);
	if (trial->worker > 0)
		waitpid(trial->worker, NULL, 0);
}

int check_refuse(enum stage stage, int error, const char *wanted)
{
	struct remedy_facts facts;
	char text[1024];

	remedy_facts(&facts, CONFINE_WORKER_FILTERS);
	remedy_sentence(text, sizeof(text), stage, error, &facts, wanted);
	printf("FAIL   %s: %s\n", stage_name(stage), text);
	printf("\nRuns are refused on this machine.\n");
	return EXIT_REFUSED;
}

static void print_layers(uint32_t layers)
{
	for (unsigned int i = 0; i < LAYER_COUNT; i++) {
		const struct layer_info *layer = layer_info(i);
		const char *verdict = layers & layer->bit ? "ok"
				      : layer->required	  ? "FAIL"
							  : "weaker";

		printf("%-6s %s: %s\n", verdict, layer->name, layer->what);
	}
	if (layers & LAYER_LANDLOCK)
		printf("note   landlock is at ABI %d here\n", landlock_abi());
	else
		printf("note   no landlock: it takes Linux 5.19 with landlock in the kernel's lsm= "
		       "list, and a container whose seccomp profile allows it\n");
	if (!(layers & LAYER_PROC))
		printf("note   no /proc: the container masks parts of its own. With Podman, add "
		       "--security-opt 'unmask=/proc/*'\n");
}

/* No wall, so its absence is nothing that could be stricter. */
static void print_noting(bool noting)
{
	if (noting)
		printf("ok     refusals: a failed result names the system calls that were "
		       "refused\n");
	else
		printf("note   refusals: system calls are refused, but not named: that takes Linux "
		       "5.19, and no seccomp listener around the server\n");
}

static void print_limits(const struct limits *limits, uint32_t by_cgroup)
{
	printf("limit  memory %llu MiB: of all processes together, %s\n",
	       (unsigned long long)(limits->memory_bytes / MIB),
	       by_cgroup & BY_CGROUP_MEMORY ? "files and the kernel for them included, by cgroup"
					    : "by polling (a few ms late)");
	printf("limit  processes %u: threads count, by %s\n", limits->max_processes,
	       by_cgroup & BY_CGROUP_PROCESSES ? "cgroup" : "rlimit in the run's user namespace");
	printf("limit  cpus %u: by affinity%s\n", limits->cpus,
	       by_cgroup & BY_CGROUP_CPUS ? " and by the CPU time of its cgroup" : "");
	printf("limit  cpu time %u s: of each process, by rlimit\n", limits->max_cpu_s);
	printf("limit  workspace %llu MiB: by the size of its tmpfs\n",
	       (unsigned long long)(limits->tmp_bytes / MIB));
	printf("limit  file size %llu MiB: of each file, by rlimit\n",
	       (unsigned long long)(limits->tmp_bytes / MIB));
	printf("limit  open files %d: of each process, by rlimit\n", MAX_OPEN_FILES);
	printf("limit  wall time and output: of each call, by the worker; see mcp-exec --help\n");
}

/* No wall either: what they hold is held in another way without them. */
static void print_cgroup(const struct delegation *delegation)
{
	if (!delegation->why)
		printf("ok     cgroup: each run has one of its own\n");
	else
		printf("note   cgroup: none for runs: %s; in a systemd unit with Delegate=yes and "
		       "User= or DynamicUser=, the kernel counts a run's memory\n",
		       delegation->why);
}

static void print_output(int fd)
{
	struct blob_view view;

	if (blob_view(fd, 64 * KIB, &view) < 0)
		return;
	for (const char *line = view.data, *end = view.data + view.size; line < end;) {
		const char *newline = memchr(line, '\n', (size_t)(end - line));
		int len = (int)((newline ? newline : end) - line);

		printf("inside %.*s\n", len, line);
		line += len + 1;
	}
	blob_view_clear(&view);
}

static uint32_t optional_layers(void)
{
	uint32_t optional = 0;

	for (unsigned int i = 0; i < LAYER_COUNT; i++)
		optional |= layer_info(i)->required ? 0 : layer_info(i)->bit;
	return optional;
}

static int verdict(const struct frame_done *done, bool strict)
{
	uint32_t required = layers_required();
	bool weaker = (done->layers & optional_layers()) != optional_layers();

	if ((done->layers & required) != required || done->exit_code != 0) {
		printf("\nRuns are refused on this machine.\n");
		return EXIT_REFUSED;
	}
	printf("\nAll required walls stand.%s\n",
	       weaker ? " What is marked weaker could be better." : "");
	return strict && weaker ? 1 : 0;
}

/* Interpreters wait when the worker has told so: nothing else comes on the link now. */
static void await_warm(struct trial *trial, const struct warm_settings *warm)
{
	struct pollfd event = {.fd = trial->link, .events = POLLIN};
	uint32_t always = warm->modules.always;
	int wait_ms = always ? PRELOAD_TIMEOUT_MS : WARM_TIMEOUT_MS;

	while (!trial->warm.bare ||
	       ((trial->warm.modules | trial->warm.unfit) & always) != always) {
		if (poll(&event, 1, wait_ms) <= 0 ||
		    frame_recv(trial->link, &trial->frame, trial->fds, FRAME_TO_SUPERVISOR) != 1 ||
		    trial->frame.type != FRAME_WARM)
			return;
		trial->warm = trial->frame.warm;
	}
}

static void print_modules(const struct warm_settings *warm, uint32_t modules, const char *before,
			  const char *after)
{
	char names[WARM_LIST_BYTES];

	if (!modules)
		return;
	warm_modules_list(&warm->modules, modules, names);
	printf("%s%s%s\n", before, names, after);
}

static void print_warm(const struct trial *trial, const struct warm_settings *warm)
{
	uint32_t always = warm->modules.always, loaded = trial->warm.modules;

	if (!warm->on) {
		printf("note   warm: MCP_EXEC_WARM is 0, so each program starts an interpreter of "
		       "its own\n");
		return;
	}
	if (trial->warm.bare)
		printf("ok     warm: programs start as copies of an interpreter that waits\n");
	else
		printf("note   warm: no interpreter could be made to wait, so each program starts "
		       "one of its own; the log says why\n");
	print_modules(warm, always & loaded, "ok     warm: another one has loaded ", "");
	print_modules(warm, always & ~loaded, "note   warm: not loaded ahead: ",
		      ": an import fails, prints, or leaves more behind than modules");
}

static int report(struct trial *trial, const struct inside *inside,
		  const struct warm_settings *warm, bool strict)
{
	const struct frame_done done = trial->frame.done;
	int code;

	print_output(trial->fds[0]);
	print_layers(done.layers);
	print_noting(done.flags & FRAME_NOTING);
	print_cgroup(inside->delegation);
	print_limits(&inside->limits, done.by_cgroup);
	if (warm->on)
		await_warm(trial, warm);
	print_warm(trial, warm);
	code = verdict(&done, strict);
	for (int i = 0; i < FRAME_FDS; i++)
		cleanup_fd(&trial->fds[i]);
	return code;
}

/* READY, then one run; a FAIL at either point says which stage. */
int check_sandbox(const struct inside *inside, const struct warm_settings *warm, uint32_t version,
		  bool strict)
{
	struct trial trial = {.link = -1, .fds = {-1, -1}};
	int r = start(&trial, inside, warm, version);
	int code;

	if (r == 1 && trial.frame.type == FRAME_READY)
		r = run_program(&trial);
	if (r != 1)
		code = check_refuse(STAGE_WORKER, -r, inside->python);
	else if (trial.frame.type == FRAME_FAIL)
		code = check_refuse(trial.frame.fail.stage, trial.frame.fail.error, inside->python);
	else
		code = report(&trial, inside, warm, strict);
	stop(&trial);
	return code;
}

void check_interpreter(const struct interpreter *interpreter)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (interpreter->path)
		printf("ok     interpreter: %s\n", interpreter->path);
	for (size_t i = 0; i < interpreter->n_passed_over; i++)
		printf("note   passed over %s: %s\n", interpreter->passed_over[i].path,
		       interpreter->passed_over[i].why);
	for (size_t i = 0; i < interpreter->n_left_out; i++)
		printf("note   programs do not see %s: %s\n", interpreter->left_out[i].path,
		       interpreter->left_out[i].why);
	for (size_t i = 0; i < interpreter->view.n; i++)
		printf("note   programs see %s, read-only\n", interpreter->view.paths[i].target);
}
