/* inside - theory of operation
 *
 * The worker forks the builder. The builder enters a user namespace, maps ids, enters the other namespaces and makes
 * pid 1 of the new pid namespace, init, as its sibling (CLONE_PARENT), so that the worker is init's parent; then it
 * exits. Where a copy of a pristine interpreter is to come in, the builder first goes into the user and pid namespaces
 * of that one, and on as another sibling. So the worker knows init by the kernel's word only, which comes with init's
 * first report. Init makes the view, brings lo up and gives up every privilege *before* it says it is ready, so that a
 * ready sandbox has all its walls, and what is started in it can only have fewer rights.
 *
 * Order matters: ids are mapped while the old /proc is writable; the fresh /proc is mounted while the old one is there;
 * Landlock, which forbids mounts, and the loss of capabilities come after the last mount, no_new_privs before the
 * filter, the filter last, since it refuses most of what came before it.
 */
#include "worker/inside.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fds.h"
#include "common/layers.h"
#include "common/signals.h"
#include "common/stage.h"
#include "policy/namespaces.h"
#include "worker/child.h"
#include "worker/gate_image.h"
#include "worker/group.h"
#include "worker/init.h"
#include "worker/lockdown.h"
#include "worker/loopback.h"
#include "worker/report.h"

/* Processes of a pristine interpreter that bring copies into their sandboxes, and the copies. gate/enter.c. */
#define ENTERING 8

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

static int close_inherited(const struct purpose *purpose, int sock)
{
	int keep[4 + NAMESPACES] = {0, 1, 2, sock};

	for (size_t i = 0; i < NAMESPACES; i++)
		keep[4 + i] = purpose->above ? purpose->above[i] : -1;
	return fds_close_all_but(keep, sizeof(keep) / sizeof(*keep));
}

/* A copy is born in the cgroup of its interpreter, beside those that make it. */
static int enter_group(const struct inside *inside, const struct purpose *purpose)
{
	struct limits limits = inside->limits;

	if (purpose->pristine)
		limits.max_processes += ENTERING;
	return purpose->group ? group_enter(purpose->group, &limits) : 0;
}

/* A child of our own parent. Not fork(3): it has no way to ask for that, and nothing of libc's that hangs on it is
 * needed in a process with one thread. clone(2). */
static pid_t make_sibling(void)
{
	return (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
}

/* Goes on below a pristine interpreter, in another process: a pid namespace is entered by the next child. */
static void go_below(const struct purpose *purpose, int sock)
{
	pid_t next;

	report_step(sock, STAGE_JOIN, namespaces_join_above(purpose->above));
	next = make_sibling();
	report_step(sock, STAGE_FORK, next < 0 ? -errno : 0);
	if (next)
		_exit(0);
	for (size_t i = 0; i < NAMESPACES; i++)
		close(purpose->above[i]);
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

static void make_view(const struct inside *inside, const struct purpose *purpose, int sock,
		      uint32_t *layers)
{
	int proc;

	report_step(sock, STAGE_ROOT, view_root(inside->limits.tmp_bytes));
	report_step(sock, STAGE_PIVOT, view_pivot());
	report_step(sock, STAGE_WORKSPACE, view_workspace());
	*layers |= LAYER_TMPFS;
	report_step(sock, STAGE_DEVICES, view_devices());
	report_step(sock, STAGE_SYSTEM, view_system(&inside->view));
	report_step(sock, STAGE_PROC, proc = view_proc());
	*layers |= proc ? LAYER_PROC : 0;
	report_step(sock, STAGE_OLD_ROOT, view_leave_old());
	if (purpose->pristine)
		report_step(sock, STAGE_WORKSPACE,
			    view_add(GATE_PATH, gate_image, gate_image_size()));
	report_step(sock, STAGE_READ_ONLY, view_seal(purpose->pristine));
	*layers |= LAYER_READ_ONLY;
}

/* The namespaces of those that others are to enter. From the old /proc, which is always there. */
static void say_spawned(const struct purpose *purpose, int sock)
{
	bool entered = purpose->pristine || purpose->above;
	int namespaces[NAMESPACES];

	if (entered)
		report_step(sock, STAGE_JOIN, namespaces_open(namespaces));
	report_step(sock, STAGE_INIT, report_spawned(sock, entered ? namespaces : NULL));
}

struct beginning {
	const struct inside *inside;
	const struct purpose *purpose;
	int sock;
};

static int become_init(void *ctx)
{
	const struct beginning *begin = ctx;
	const struct inside *inside = begin->inside;
	const struct purpose *purpose = begin->purpose;
	int sock = begin->sock;
	uint32_t layers = namespaces_layers();
	int listener = -1;

	say_spawned(purpose, sock);
	report_step(sock, STAGE_SESSION, start_session());
	if (namespaces_name_host() == 0)
		layers |= LAYER_HOSTNAME;
	report_step(sock, STAGE_LOOPBACK, loopback_up());
	make_view(inside, purpose, sock, &layers);
	if (purpose->pristine)
		lockdown_apply_pristine(inside, sock);
	else
		listener = lockdown_apply(inside, false, sock, &layers);
	init_main(inside, purpose->pristine, sock, layers | LAYER_INIT, listener);
}

/* fork(3) has the kernel clear our thread id in memory when we end, which is init's memory then: locks of libc know their
 * owner by it, and one that init holds at that moment would never be free again. set_tid_address(2). */
static void forget_own_id(void)
{
	syscall(SYS_set_tid_address, NULL);
}

void inside_main(const struct inside *inside, const struct purpose *purpose, int sock)
{
	struct beginning begin = {.inside = inside, .purpose = purpose, .sock = sock};
	pid_t init;
	uid_t uid;
	gid_t gid;

	prctl(PR_SET_NAME, "mcp-exec-init");
	signals_reset();
	/* By a descriptor of the worker's, and while all of it is what is counted: what comes from here on is. */
	report_step(sock, STAGE_CGROUP, enter_group(inside, purpose));
	report_step(sock, STAGE_DESCRIPTORS, close_inherited(purpose, sock));
	if (purpose->above)
		go_below(purpose, sock);
	uid = geteuid();
	gid = getegid();
	report_step(sock, STAGE_USER_NAMESPACE, namespaces_enter_user());
	report_step(sock, STAGE_ID_MAP, namespaces_map_ids(uid, gid));
	report_step(sock, STAGE_OOM_SCORE, offer_to_oom_killer());
	report_step(sock, STAGE_CORE_FILTER, keep_out_of_core_files());
	report_step(sock, STAGE_NAMESPACES, namespaces_enter_rest());
	/* Init takes over our memory. */
	forget_own_id();
	init = child_make(become_init, &begin, CLONE_PARENT);
	report_step(sock, STAGE_FORK, init < 0 ? -errno : 0);
	_exit(0);
}
