/* empty - what a sandbox alone costs: it is built, /usr/bin/true runs in it, it is gone. Without a supervisor, a link or
 * a Python; everything else is done as the worker does it, from the same archive. Or, with arguments: what that command
 * costs, such as another sandbox around the same program.
 *
 * usage: empty [COMMAND [ARGUMENT...]]      as an ordinary user, like the worker
 */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#include "common/blob.h"
#include "policy/confine.h"
#include "policy/environment.h"
#include "policy/privilege.h"
#include "policy/syscalls.h"
#include "tests/bench/turns.h"
#include "worker/inside.h"
#include "worker/sandbox.h"

extern char **environ;

struct empty {
	struct inside inside;
	struct sandbox sandbox;
	int signals;
	int fds[GIVE_FDS];
};

static void run_command(void *ctx)
{
	char **argv = ctx;
	int status;
	pid_t pid;

	must(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ) == 0, argv[0]);
	must(waitpid(pid, &status, 0) == pid, "waitpid");
	must(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the command failed");
}

/* What the worker gives up at its start, in its order: worker/main.c. */
static void become_a_worker(struct empty *empty)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	must(geteuid() != 0, "this is not for root");
	must(privilege_no_new_privs() == 0, "no_new_privs");
	must(privilege_undumpable() == 0, "not dumpable");
	must(confine_worker() == 0, "the worker's filter");
	must(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0, "subreaper");
	must(sigprocmask(SIG_BLOCK, &set, NULL) == 0, "sigprocmask");
	empty->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	must(empty->signals >= 0, "signalfd");
}

static void prepare(struct empty *empty)
{
	struct inside *inside = &empty->inside;

	*inside = (struct inside){.limits = {.memory_bytes = MEMORY_BYTES,
					     .tmp_bytes = TMP_BYTES,
					     .max_processes = MAX_PROCESSES,
					     .cpus = MAX_CPUS,
					     .max_cpu_s = MAX_TIMEOUT_S},
				  .python = "/usr/bin/true"};
	must(filter_compile(syscalls_rule, &inside->filter) == 0, "the filter of a run");
	filter_compile_noting(syscalls_rule, &inside->noting);
	inside->environment = environment_build(&inside->limits, NULL, NULL);
	must(inside->environment != NULL, "the environment");
	empty->fds[GIVE_PROGRAM] = blob_from("", 0);
	must(empty->fds[GIVE_PROGRAM] >= 0, "a blob");
	for (int i = GIVE_STDIN; i < GIVE_FDS; i++) {
		empty->fds[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
		must(empty->fds[i] >= 0, "/dev/null");
	}
}

/* Waits for what the worker's loop waits for. */
static void wait_beyond(struct empty *empty, enum sandbox_state state)
{
	struct sandbox *sandbox = &empty->sandbox;

	while (sandbox->state == state) {
		struct pollfd polls[1 + SANDBOX_POLLS] = {{.fd = empty->signals, .events = POLLIN}};
		struct signalfd_siginfo info;
		struct rusage usage;
		pid_t pid;

		sandbox_poll(sandbox, polls + 1);
		must(poll(polls, 1 + SANDBOX_POLLS, -1) > 0, "poll");
		sandbox_read(sandbox, polls + 1);
		if (!polls[0].revents || read(empty->signals, &info, sizeof(info)) < 0)
			continue;
		while ((pid = wait4(-1, NULL, WNOHANG, &usage)) > 0)
			sandbox_reaped(sandbox, pid, &usage);
	}
}

static void one_sandbox(void *ctx)
{
	static const struct purpose purpose = {.above = NULL};
	struct empty *empty = ctx;
	struct sandbox *sandbox = &empty->sandbox;

	sandbox_init(sandbox);
	must(sandbox_spawn(sandbox, &empty->inside, &purpose) == 0, "no sandbox could be begun");
	wait_beyond(empty, SANDBOX_BUILDING);
	must(sandbox->state == SANDBOX_READY, "no sandbox could be built");
	must(sandbox_give(sandbox, empty->fds, GIVE_FDS) == 0, "it took no program");
	wait_beyond(empty, SANDBOX_RUNNING);
	wait_beyond(empty, SANDBOX_ENDING);
	must(sandbox->ended && sandbox->report.status == 0, "the program failed");
	sandbox_clear(sandbox);
}

int main(int argc, char **argv)
{
	static struct empty empty;

	if (argc > 1) {
		take_turns(run_command, argv + 1);
		return 0;
	}
	become_a_worker(&empty);
	prepare(&empty);
	take_turns(one_sandbox, &empty);
	return 0;
}
