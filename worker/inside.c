/* inside - theory of operation
 *
 * The worker forks the builder. The builder enters a user namespace, maps ids, enters the other namespaces and forks:
 * its child is pid 1 of the new pid namespace, init. The builder reports init's pid and exits; the worker, a child
 * subreaper (prctl(2)), becomes init's parent. Init makes the view, brings lo up and gives up every privilege *before*
 * it says it is ready, so that a ready sandbox has all its walls, and what is started in it can only have fewer rights.
 *
 * Order matters: ids are mapped while the old /proc is writable; the fresh /proc is mounted while the old one is there;
 * Landlock, which forbids mounts, and the loss of capabilities come after the last mount, no_new_privs before the
 * filter, the filter last, since it refuses most of what came before it.
 */
#include "worker/inside.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/fds.h"
#include "common/layers.h"
#include "common/signals.h"
#include "common/stage.h"
#include "policy/landlock.h"
#include "policy/namespaces.h"
#include "policy/privilege.h"
#include "policy/rlimits.h"
#include "policy/syscalls.h"
#include "worker/init.h"
#include "worker/loopback.h"
#include "worker/report.h"

/* Interactive work on the machine and the worker's own watch come first. */
#define RUN_NICENESS 10

static void step(int sock, enum stage stage, int r)
{
	if (r < 0)
		report_failure(sock, stage, -r);
}

/* The kernel's OOM killer takes a run before anything of ours. proc(5). */
static int offer_to_oom_killer(void)
{
	return fds_write_file("/proc/self/oom_score_adj", "1000");
}

/* Where RLIMIT_CORE does not stop the host's core handler, it gets no page of a run's memory. The filter outlives
 * fork and exec, and a run, whose /proc is read-only, cannot change it; a kernel without the file writes no core.
 * core(5). */
static int keep_out_of_core_files(void)
{
	int r = fds_write_file("/proc/self/coredump_filter", "0");

	return r == -ENOENT ? 0 : r;
}

static int close_inherited(int sock)
{
	int keep[] = {0, 1, 2, sock};

	return fds_close_all_but(keep, sizeof(keep) / sizeof(*keep));
}

/* A server that was started nicer stays so: the way back takes a right. getpriority(2): -1 may be a value. */
static int yield_to_others(void)
{
	int now;

	errno = 0;
	now = getpriority(PRIO_PROCESS, 0);
	if (errno)
		return -errno;
	return now < RUN_NICENESS && setpriority(PRIO_PROCESS, 0, RUN_NICENESS) ? -errno : 0;
}

static int start_session(void)
{
	if (setsid() < 0)
		return -errno;
	umask(022);
	return yield_to_others();
}

static void make_view(const struct inside *inside, int sock, uint32_t *layers)
{
	int proc;

	step(sock, STAGE_ROOT, view_root());
	step(sock, STAGE_PIVOT, view_pivot());
	step(sock, STAGE_WORKSPACE, view_workspace(inside->limits.tmp_bytes));
	*layers |= LAYER_TMPFS;
	step(sock, STAGE_SYSTEM, view_system(&inside->view));
	step(sock, STAGE_DEVICES, view_devices());
	step(sock, STAGE_PROC, proc = view_proc());
	*layers |= proc ? LAYER_PROC : 0;
	step(sock, STAGE_OLD_ROOT, view_leave_old());
	step(sock, STAGE_READ_ONLY, view_seal());
	*layers |= LAYER_READ_ONLY;
}

static _Noreturn void become_init(const struct inside *inside, int sock)
{
	uint32_t layers = namespaces_layers();
	int listener;

	step(sock, STAGE_SESSION, start_session());
	if (namespaces_name_host() == 0)
		layers |= LAYER_HOSTNAME;
	step(sock, STAGE_LOOPBACK, loopback_up());
	make_view(inside, sock, &layers);
	listener = give_up_privileges(inside, sock, &layers);
	init_main(inside, sock, layers | LAYER_INIT, listener);
}

void inside_main(const struct inside *inside, int sock)
{
	struct report report = {.kind = REPORT_SPAWNED};
	uid_t uid = geteuid();
	gid_t gid = getegid();

	prctl(PR_SET_NAME, "mcp-exec-init");
	signals_reset();
	step(sock, STAGE_DESCRIPTORS, close_inherited(sock));
	step(sock, STAGE_USER_NAMESPACE, namespaces_enter_user());
	step(sock, STAGE_ID_MAP, namespaces_map_ids(uid, gid));
	step(sock, STAGE_OOM_SCORE, offer_to_oom_killer());
	step(sock, STAGE_CORE_FILTER, keep_out_of_core_files());
	step(sock, STAGE_NAMESPACES, namespaces_enter_rest());
	report.pid = fork();
	if (report.pid == 0)
		become_init(inside, sock);
	step(sock, STAGE_FORK, report.pid < 0 ? -errno : 0);
	_exit(report_send(sock, &report) < 0);
}
