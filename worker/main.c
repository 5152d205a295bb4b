/* main - mcp-exec-worker: theory of operation
 *
 * The supervisor starts it with one end of the link as descriptor 3, as an unprivileged user, and restarts it when it
 * dies. At start it gives up what it does not need, asks the interpreter about itself, compiles the seccomp filter of a
 * run and builds the environment; these three are only handed on to the children that become sandboxes. It links
 * libseccomp, libcap and libnl, and no code that parses JSON or HTTP: what comes from a caller is a descriptor to it.
 */
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "common/fds.h"
#include "common/frame.h"
#include "common/log.h"
#include "common/stage.h"
#include "policy/confine.h"
#include "policy/describe.h"
#include "policy/environment.h"
#include "policy/privilege.h"
#include "policy/syscalls.h"
#include "worker/check.h"
#include "worker/delegation.h"
#include "worker/inside.h"
#include "worker/interpreter.h"
#include "worker/options.h"
#include "worker/processes.h"
#include "worker/worker.h"

#define LINK_FD 3
#define EXIT_REFUSED 69
#define EXIT_UNWRITTEN 70
#define KEPT_BYTES (16 << 20)

/* What the worker gives up itself: it leaves no core, cannot be read by its own user's other processes, and gains
 * nothing from a setuid file. RLIMIT_CORE stays: from 0 no run could get the 1 it needs, see policy/rlimits.c. */
static int give_up_rights(void)
{
	signal(SIGPIPE, SIG_IGN);
	/* A blob beyond RLIMIT_FSIZE is to fail, and not to kill. */
	signal(SIGXFSZ, SIG_IGN);
	if (geteuid() == 0)
		return -EPERM;
	prctl(PR_SET_NAME, "mcp-exec-worker");
	/* What becomes a program closes it as well, see worker/inside.c. A check has none. */
	if (fcntl(LINK_FD, F_SETFD, FD_CLOEXEC) && errno != EBADF)
		return -errno;
	int r = privilege_no_new_privs();

	return r < 0 ? r : privilege_undumpable();
}

static void log_interpreter(const struct interpreter *interpreter)
{
	for (size_t i = 0; i < interpreter->n_passed_over; i++)
		log_event(LOG_INFO, "interpreter.passed_over",
			  LOG_SETTING("path", interpreter->passed_over[i].path),
			  LOG_SETTING("why", interpreter->passed_over[i].why));
	for (size_t i = 0; i < interpreter->n_left_out; i++)
		log_event(LOG_INFO, "interpreter.left_out",
			  LOG_SETTING("path", interpreter->left_out[i].path),
			  LOG_SETTING("why", interpreter->left_out[i].why));
	if (interpreter->path)
		log_event(LOG_INFO, "interpreter.found", LOG_SETTING("path", interpreter->path),
			  LOG_U64("major", interpreter->version >> 16),
			  LOG_U64("minor", interpreter->version >> 8 & 0xff),
			  LOG_U64("micro", interpreter->version & 0xff));
}

/* What would cut a run short is better told before it than after. Output is collected in memfds, which are files. */
static int check_limits(void)
{
	static const struct {
		__rlimit_resource_t resource;
		rlim_t least;
		int error;
	} needed[] = {
		{RLIMIT_FSIZE, MAX_OUTPUT_BYTES, EFBIG},
		{RLIMIT_STACK, MIN_OWN_STACK_BYTES, ENOMEM},
		{RLIMIT_DATA, MIN_OWN_DATA_BYTES, ENOMEM},
		{RLIMIT_AS, MIN_OWN_ADDRESS_BYTES, ENOMEM},
	};

	for (size_t i = 0; i < sizeof(needed) / sizeof(needed[0]); i++) {
		struct rlimit limit;

		if (getrlimit(needed[i].resource, &limit))
			return -errno;
		if (limit.rlim_cur < needed[i].least)
			return -needed[i].error;
	}
	return 0;
}

/* Everything that a sandbox is made from. Returns 0, or a negative errno with the stage that failed. */
static int prepare(const struct options *options, const struct interpreter *interpreter,
		   struct delegation *delegation, struct inside *inside, enum stage *stage)
{
	int r;

	*inside = (struct inside){.limits = options->limits,
				  .view = interpreter->view,
				  .delegation = delegation,
				  .python = interpreter->path};
	*stage = STAGE_CGROUP;
	if ((r = delegation_find(delegation, options->cgroup)) < 0)
		return r;
	inside->limits.by_cgroup = delegation->by_cgroup;
	/* Without eyes the watch over a run's memory would be none; a cgroup needs none. */
	*stage = STAGE_WATCH;
	if (!(delegation->by_cgroup & BY_CGROUP_MEMORY) && (r = processes_check()) < 0)
		return r;
	*stage = STAGE_SECCOMP;
	if ((r = filter_compile(syscalls_rule, &inside->filter)) < 0)
		return r;
	/* Where it cannot be had, refused calls are just not noted. */
	filter_compile_noting(syscalls_rule, &inside->noting);
	if (options->warm.on && (r = confine_compile_pristine(&inside->pristine)) < 0)
		return r;
	*stage = STAGE_EXEC;
	inside->environment =
		environment_build(&options->limits, interpreter->user_base, interpreter->bin_dir);
	return inside->environment ? 0 : -ENOMEM;
}

static void release(struct inside *inside)
{
	delegation_clear(inside->delegation);
	environment_free(inside->environment);
	free(inside->filter.filter);
	free(inside->noting.filter);
	free(inside->pristine.filter);
}

static int refuse(enum stage stage, int error)
{
	struct frame frame;

	/* No error: it goes to the supervisor, which tells it to whom it concerns. */
	if (stage == STAGE_INTERPRETER)
		log_event(LOG_WARN, "worker.refused", LOG_STAGE("stage", stage),
			  LOG_STATIC("reason", interpreter_reason_name(error)));
	else
		log_event(LOG_WARN, "worker.refused", LOG_STAGE("stage", stage),
			  LOG_ERRNO("errno", error));
	frame_init(&frame, FRAME_FAIL, 0);
	frame.fail.stage = stage;
	frame.fail.error = error;
	frame_send(LINK_FD, &frame, NULL);
	return EXIT_REFUSED;
}

static void log_delegation(const struct delegation *delegation)
{
	if (delegation->why)
		log_event(LOG_INFO, "cgroup.none", LOG_REASON("why", delegation->why));
	else
		log_event(LOG_INFO, "cgroup.found", LOG_U64("limits", delegation->by_cgroup));
}

static int serve(const struct options *options, const struct interpreter *interpreter,
		 enum interpreter_reason reason)
{
	struct delegation delegation;
	struct inside inside;
	enum stage stage;
	int r;

	log_interpreter(interpreter);
	if (interpreter->error)
		return refuse(STAGE_FORK, interpreter->error);
	if (reason != INTERPRETER_OK)
		return refuse(STAGE_INTERPRETER, (int)reason);
	r = prepare(options, interpreter, &delegation, &inside, &stage);
	log_delegation(&delegation);
	r = r < 0 ? refuse(stage, -r)
		  : worker_serve(LINK_FD, &inside, &options->warm, interpreter->version);
	release(&inside);
	return r;
}

static int check(const struct options *options, const struct interpreter *interpreter,
		 enum interpreter_reason reason)
{
	struct delegation delegation;
	struct inside inside;
	enum stage stage;
	int r;

	check_interpreter(interpreter);
	if (interpreter->error)
		return check_refuse(STAGE_FORK, interpreter->error, options->python);
	if (reason != INTERPRETER_OK)
		return check_refuse(STAGE_INTERPRETER, (int)reason, options->python);
	r = prepare(options, interpreter, &delegation, &inside, &stage);
	r = r < 0 ? check_refuse(stage, -r, options->python)
		  : check_sandbox(&inside, &options->warm, interpreter->version, options->strict);
	release(&inside);
	return r;
}

/* Text for a person is only whole when it has reached its file. */
static int finish_text(int exit_code)
{
	return fflush(stdout) != 0 || ferror(stdout) ? EXIT_UNWRITTEN : exit_code;
}

static int refuse_early(const struct options *options, enum stage stage, int error)
{
	return options->mode == WORKER_CHECK
		       ? finish_text(check_refuse(stage, error, options->python))
		       : refuse(stage, error);
}

/* No more CPUs can be granted than there are for us; libraries are told the same number. */
static void limit_cpus(struct limits *limits)
{
	cpu_set_t ours;
	uint32_t n;

	if (sched_getaffinity(0, sizeof(ours), &ours))
		return;
	n = (uint32_t)CPU_COUNT(&ours);
	if (limits->cpus <= n)
		return;
	log_event(LOG_WARN, "limits.cpus_lowered", LOG_U64("asked", limits->cpus),
		  LOG_U64("to", n));
	limits->cpus = n;
}

int main(int argc, char **argv)
{
	struct interpreter interpreter;
	enum interpreter_reason reason;
	struct options options;
	int r;

	if (options_read(&options, argc, argv) < 0)
		return 64;
	log_set_level(options.log_level);
	log_find_journal();
	(void)unsetenv("JOURNAL_STREAM");
	if (options.mode == WORKER_PRINT_POLICY) {
		describe_policy(stdout, &options.limits);
		return finish_text(0);
	}
	r = fds_fill_standard();
	if (r < 0 || (r = give_up_rights()) < 0) {
		log_event(LOG_ERROR, "worker.refused", LOG_STAGE("stage", STAGE_WORKER),
			  LOG_ERRNO("error", r));
		return EXIT_REFUSED;
	}
	/* What each run needs again is kept, and not asked of the kernel each time; malloc touches only what is used. */
	mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
	mallopt(M_TRIM_THRESHOLD, KEPT_BYTES);
	limit_cpus(&options.limits);
	/* Before the interpreter, which is the user's own and not ours, and which has to live with these limits as well. */
	if ((r = confine_worker()) < 0)
		return refuse_early(&options, STAGE_SECCOMP, -r);
	if ((r = check_limits()) < 0)
		return refuse_early(&options, STAGE_LIMITS, -r);
	reason = interpreter_find(options.python, &interpreter);
	r = options.mode == WORKER_CHECK ? finish_text(check(&options, &interpreter, reason))
					 : serve(&options, &interpreter, reason);
	interpreter_clear(&interpreter);
	return r;
}
