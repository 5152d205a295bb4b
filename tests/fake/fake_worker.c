/* fake_worker - a worker that keeps the protocol, or breaks one rule of it, as the value of --python says.
 *
 * It is started by the supervisor's own code with the real command line; it makes no sandbox and runs nothing. In the
 * mode "ready" a run's stdout is its program and its stderr is its stdin.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "common/blob.h"
#include "common/buf.h"
#include "common/frame.h"
#include "common/layers.h"
#include "common/stage.h"
#include "common/version.h"

#define LINK 3
#define EXIT_OF_CHECK 7

static int global_argc;
static char **global_argv;

static void send_or_die(struct frame *frame, int fds[FRAME_FDS])
{
	if (frame_send(LINK, frame, fds) < 0)
		_exit(1);
}

static void send_done_with(uint32_t layers, uint64_t id, int out, int err)
{
	int fds[FRAME_FDS] = {out, err};
	struct frame frame;

	frame_init(&frame, FRAME_DONE, id);
	frame.done.wall_us = 1234;
	frame.done.layers = layers;
	send_or_die(&frame, fds);
}

static void send_done(uint64_t id, int out, int err)
{
	send_done_with(layers_required(), id, out, err);
}

static void send_fail(uint64_t id, enum stage stage, int error)
{
	struct frame frame;

	frame_init(&frame, FRAME_FAIL, id);
	frame.fail.stage = stage;
	frame.fail.error = error;
	send_or_die(&frame, NULL);
}

static void send_ready(uint64_t build_id, uint32_t layers)
{
	struct frame frame;

	frame_init(&frame, FRAME_READY, 0);
	frame.ready.build_id = build_id;
	frame.ready.layers = layers;
	frame.ready.python_version = 0x030b02;
	send_or_die(&frame, NULL);
}

static int text_blob(const char *text)
{
	return blob_from(text, strlen(text));
}

/*** Before READY ***/

static void start_ready(void)
{
	send_ready((uint64_t)BUILD_ID, layers_required());
}

static void start_wrong_build(void)
{
	send_ready((uint64_t)BUILD_ID ^ 1, layers_required());
}

static void start_wall_less(void)
{
	send_ready((uint64_t)BUILD_ID, layers_required() & ~(uint32_t)LAYER_SECCOMP);
}

static void start_die(void)
{
	_exit(3);
}

static _Noreturn void hang(void)
{
	for (;;)
		pause();
}

static void start_hang(void)
{
	hang();
}

static void start_fail(void)
{
	send_fail(0, STAGE_NAMESPACES, EPERM);
}

static void start_garbage(void)
{
	char garbage[FRAME_SIZE];

	memset(garbage, 0xa5, sizeof(garbage));
	send(LINK, garbage, sizeof(garbage), MSG_NOSIGNAL);
}

static void start_unasked(void)
{
	start_ready();
	send_done(1, text_blob(""), text_blob(""));
}

/* Nothing can be sent to it any more, as if it had died just after READY. */
static void start_deaf(void)
{
	shutdown(LINK, SHUT_RD);
	start_ready();
	hang();
}

static void send_warm(uint32_t bare, uint32_t modules, uint32_t started, uint32_t failed)
{
	struct frame frame;

	frame_init(&frame, FRAME_WARM, 0);
	frame.warm = (struct frame_warm){
		.bare = bare, .modules = modules, .started = started, .failed = failed};
	send_or_die(&frame, NULL);
}

static void start_warm(void)
{
	start_ready();
	send_warm(1, 0, 1, 0);
}

/* Dies as soon as something was sent to it, with a last word. */
static void start_unread(void)
{
	struct pollfd sent = {.fd = LINK, .events = POLLIN};

	start_ready();
	poll(&sent, 1, -1);
	send_warm(0, 0, 7, 0);
	_exit(3);
}

/*** At a run ***/

struct run {
	uint64_t id;
	uint64_t output_max_bytes;
	uint32_t uses;
	int program;
	int input;
};

static void run_echo(const struct run *run)
{
	send_done(run->id, dup(run->program), dup(run->input));
}

static void run_uses(const struct run *run)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", run->uses);
	send_done(run->id, text_blob(text), text_blob(""));
}

static void run_die(const struct run *run)
{
	(void)run;
	raise(SIGKILL);
}

static void run_hang(const struct run *run)
{
	(void)run;
	hang();
}

static void run_garbage(const struct run *run)
{
	(void)run;
	start_garbage();
}

static void run_short(const struct run *run)
{
	(void)run;
	send(LINK, "short", 5, MSG_NOSIGNAL);
}

static void run_wrong_id(const struct run *run)
{
	send_done(run->id + 1, text_blob("a"), text_blob("b"));
}

static void run_wall_less(const struct run *run)
{
	send_done_with(layers_required() & ~(uint32_t)LAYER_NET_NS, run->id, text_blob("a"),
		       text_blob("b"));
}

static void run_unsealed(const struct run *run)
{
	send_done(run->id, text_blob("a"), blob_new());
}

static void run_no_memfd(const struct run *run)
{
	send_done(run->id, open("/dev/zero", O_RDONLY | O_CLOEXEC), text_blob(""));
}

/* Each of the two is within the cap, both together are not. */
static void run_oversize(const struct run *run)
{
	size_t size = (size_t)run->output_max_bytes;
	char *bytes = calloc(1, size);
	int out = bytes != NULL ? blob_from(bytes, size) : -1;

	free(bytes);
	send_done(run->id, out, text_blob("x"));
}

static void run_extra_fds(const struct run *run)
{
	union {
		char bytes[CMSG_SPACE(3 * sizeof(int))];
		struct cmsghdr align;
	} control = {.bytes = {0}};
	const int fds[3] = {run->program, run->input, run->program};
	struct frame frame;
	struct iovec part = {&frame, sizeof(frame)};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = control.bytes,
				 .msg_controllen = sizeof(control.bytes)};
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);

	frame_init(&frame, FRAME_DONE, run->id);
	head->cmsg_level = SOL_SOCKET;
	head->cmsg_type = SCM_RIGHTS;
	head->cmsg_len = CMSG_LEN(sizeof(fds));
	memcpy(CMSG_DATA(head), fds, sizeof(fds));
	sendmsg(LINK, &message, MSG_NOSIGNAL);
}

static void run_ready_again(const struct run *run)
{
	(void)run;
	start_ready();
}

static void run_fail(const struct run *run)
{
	send_fail(run->id, STAGE_FORK, EAGAIN);
}

/* Ends when it is told to. */
static void run_wait(const struct run *run)
{
	int fds[FRAME_FDS] = {-1, -1};
	struct frame frame;

	if (frame_recv(LINK, &frame, fds, FRAME_TO_WORKER) != 1 || frame.type != FRAME_CANCEL ||
	    frame.id != run->id)
		_exit(1);
	fds[0] = text_blob("");
	fds[1] = text_blob("");
	frame_init(&frame, FRAME_DONE, run->id);
	frame.done.exit_code = -1;
	frame.done.signal = SIGKILL;
	frame.done.flags = FRAME_CANCELLED;
	send_or_die(&frame, fds);
}

static void run_warm(const struct run *run)
{
	if (run->id == 13)
		raise(SIGKILL);
	send_warm(0, 5, 2, 1);
	run_echo(run);
}

static void run_warm_falls(const struct run *run)
{
	send_warm(1, 0, 0, 0);
	run_echo(run);
}

static void run_warm_unknown(const struct run *run)
{
	send_warm(1, UINT32_C(1) << 31, 1, 0);
	run_echo(run);
}

/* Long enough for other calls to come in meanwhile. */
static void run_slow(const struct run *run)
{
	const struct timespec delay = {.tv_nsec = 200 * 1000 * 1000};

	nanosleep(&delay, NULL);
	run_echo(run);
}

/* How it was started, for the tests of spawn: one fact a line. */
static void run_tell(const struct run *run)
{
	struct buf text = BUF_INIT;
	DIR *dir = opendir("/proc/self/fd");
	int death_signal = 0;

	prctl(PR_GET_PDEATHSIG, &death_signal);
	for (int i = 0; i < global_argc; i++)
		buf_printf(&text, "arg %s\n", global_argv[i]);
	for (char **entry = environ; *entry != NULL; entry++)
		buf_printf(&text, "env %s\n", *entry);
	for (struct dirent *e = dir ? readdir(dir) : NULL; e != NULL; e = readdir(dir))
		if (e->d_name[0] != '.' && strtol(e->d_name, NULL, 10) != dirfd(dir))
			buf_printf(&text, "fd %s\n", e->d_name);
	buf_printf(&text, "leader %d\n", getsid(0) == getpid());
	buf_printf(&text, "pdeathsig %d\n", death_signal);
	buf_printf(&text, "sigpipe-default %d\n", signal(SIGPIPE, SIG_DFL) == SIG_DFL);
	if (dir != NULL)
		closedir(dir);
	/* program and input are ours by right, so their numbers are told too */
	buf_printf(&text, "own %d %d\n", run->program, run->input);
	send_done(run->id, blob_from(text.data, text.len), text_blob(""));
	buf_clear(&text);
}

static const struct mode {
	const char *name;
	void (*start)(void);
	void (*run)(const struct run *run);
} modes[] = {
	{"ready", start_ready, run_echo},
	{"uses", start_ready, run_uses},
	{"warm", start_warm, run_warm},
	{"warm-falls", start_warm, run_warm_falls},
	{"warm-unknown", start_warm, run_warm_unknown},
	{"unread", start_unread, NULL},
	{"die-at-start", start_die, NULL},
	{"hang-at-start", start_hang, NULL},
	{"garbage-at-start", start_garbage, NULL},
	{"wrong-build", start_wrong_build, run_echo},
	{"fail-stage", start_fail, NULL},
	{"unasked", start_unasked, run_echo},
	{"deaf", start_deaf, NULL},
	{"die-in-run", start_ready, run_die},
	{"hang", start_ready, run_hang},
	{"garbage", start_ready, run_garbage},
	{"short", start_ready, run_short},
	{"wrong-id", start_ready, run_wrong_id},
	{"wall-less-start", start_wall_less, NULL},
	{"wall-less-run", start_ready, run_wall_less},
	{"unsealed", start_ready, run_unsealed},
	{"no-memfd", start_ready, run_no_memfd},
	{"oversize", start_ready, run_oversize},
	{"extra-fds", start_ready, run_extra_fds},
	{"ready-again", start_ready, run_ready_again},
	{"fail-run", start_ready, run_fail},
	{"wait", start_ready, run_wait},
	{"slow", start_ready, run_slow},
	{"tell", start_ready, run_tell},
};

static const struct mode *find_mode(int argc, char **argv)
{
	for (int i = 1; i + 1 < argc; i++) {
		if (strcmp(argv[i], "--python") != 0)
			continue;
		for (size_t m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
			if (strcmp(modes[m].name, argv[i + 1]) == 0)
				return &modes[m];
	}
	return &modes[0];
}

static int serve(const struct mode *mode)
{
	mode->start();
	for (;;) {
		int fds[FRAME_FDS] = {-1, -1};
		struct frame frame;
		struct run run;
		int r = frame_recv(LINK, &frame, fds, FRAME_TO_WORKER);

		if (r <= 0)
			return r == 0 ? 0 : 1;
		if (frame.type != FRAME_RUN)
			continue;
		run = (struct run){frame.id, frame.run.output_max_bytes, frame.run.uses, fds[0],
				   fds[1]};
		mode->run(&run);
		close(run.program);
		close(run.input);
	}
}

int main(int argc, char **argv)
{
	global_argc = argc;
	global_argv = argv;
	if (argc > 1 && strcmp(argv[1], "--check") == 0) {
		printf("check%s\n", strcmp(argv[2], "--strict") == 0 ? " strict" : "");
		return EXIT_OF_CHECK;
	}
	if (argc > 1 && strcmp(argv[1], "--print-policy") == 0) {
		raise(SIGTERM);
		return 0;
	}
	return serve(find_mode(argc, argv));
}
