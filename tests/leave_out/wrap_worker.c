/* wrap_worker - leaves out what worker, init and the program's process do to themselves. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/capability.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/fds.h"
#include "common/frame.h"
#include "policy/environment.h"
#include "policy/privilege.h"
#include "policy/view.h"
#include "tests/leave_out/leave_out.h"
#include "worker/gate_image.h"
#include "worker/inside.h"
#include "worker/loopback.h"
#include "worker/report.h"
#include "worker/run.h"
#include "worker/watch.h"

#define LONG_MS 600000
#define LARGE_BYTES (64 * MIB)
#define PAUSE_US 100000

static bool started;	    /* init has its program */
static bool verifying;	    /* privilege_drop_capabilities reads back what is left */
static unsigned int leader; /* how often setsid was called on the way here */
static unsigned int masked; /* and sigprocmask */

/* In a sandbox: builder, init, or what becomes the program. */
static bool is_inside(void)
{
	return leave_out_role() != ROLE_OUTSIDE;
}

WRAP(_Noreturn void, inside_main, const struct inside *what, const struct purpose *purpose,
     int sock)
{
	leave_out_become(purpose->pristine ? ROLE_PRISTINE : ROLE_INSIDE);
	__real_inside_main(what, purpose, sock);
}

WRAP(int, report_take, int sock, struct order *order, int fds[GIVE_ALL_FDS])
{
	started = true;
	return __real_report_take(sock, order, fds);
}

/* What libc has no function for: the root is changed by number, and signals that it keeps to itself are reset. */
WRAP(long, syscall, long number, ...)
{
	long a[6];
	va_list list;

	va_start(list, number);
	for (size_t i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_pivot_root && left_out(STEP_pivot))
		return 0;
	if (number == SYS_rt_sigaction && left_out(STEP_signals))
		return 0;
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* The gate with what is left out there, too. */
WRAP(int, view_add, const char *path, const void *data, size_t len)
{
	char *image;
	int r = -ENOEXEC;

	if (strcmp(path, GATE_PATH))
		return __real_view_add(path, data, len);
	image = malloc(len);
	if (image && leave_out_hand_on(memcpy(image, data, len), len))
		r = __real_view_add(path, image, len);
	free(image);
	return r;
}

/* --- namespaces and ids --- */

WRAP(int, unshare, int flags)
{
	static const struct {
		int flag;
		enum step step;
	} namespaces[] = {
		{CLONE_NEWUSER, STEP_ns_user},	   {CLONE_NEWNET, STEP_ns_net},
		{CLONE_NEWPID, STEP_ns_pid},	   {CLONE_NEWNS, STEP_ns_mnt},
		{CLONE_NEWIPC, STEP_ns_ipc},	   {CLONE_NEWUTS, STEP_ns_uts},
		{CLONE_NEWCGROUP, STEP_ns_cgroup},
	};

	for (size_t i = 0; i < sizeof(namespaces) / sizeof(*namespaces); i++)
		if (left_out(namespaces[i].step))
			flags &= ~namespaces[i].flag;
	return flags ? __real_unshare(flags) : 0;
}

/* Of a copy; the builder enters those of the pristine interpreter. */
WRAP(int, setns, int fd, int flag)
{
	static const struct {
		int flag;
		enum step step;
	} namespaces[] = {
		{CLONE_NEWUSER, STEP_join_user},     {CLONE_NEWNET, STEP_join_net},
		{CLONE_NEWPID, STEP_join_pid},	     {CLONE_NEWNS, STEP_join_mnt},
		{CLONE_NEWIPC, STEP_join_ipc},	     {CLONE_NEWUTS, STEP_join_uts},
		{CLONE_NEWCGROUP, STEP_join_cgroup},
	};

	for (size_t i = 0; i < sizeof(namespaces) / sizeof(*namespaces); i++)
		if (leave_out_role() == ROLE_COPY && flag == namespaces[i].flag &&
		    left_out(namespaces[i].step))
			return 0;
	return __real_setns(fd, flag);
}

WRAP(int, fds_write_file, const char *path, const char *text)
{
	static const struct {
		const char *name;
		enum step step;
	} files[] = {
		{"setgroups", STEP_id_setgroups},  {"setgroups", STEP_id_map},
		{"uid_map", STEP_id_map},	   {"gid_map", STEP_id_map},
		{"oom_score_adj", STEP_oom_score}, {"coredump_filter", STEP_core_filter},
	};
	const char *name = strrchr(path, '/') + 1;
	const char *outer = strchr(text, ' ');
	char map[64];

	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(name, files[i].name) && left_out(files[i].step))
			return 0;
	if (outer && left_out(STEP_id_map_not_root)) {
		snprintf(map, sizeof(map), "0%s", outer);
		text = map;
	}
	return __real_fds_write_file(path, text);
}

WRAP(int, sethostname, const char *name, size_t len)
{
	return left_out(STEP_hostname) ? 0 : __real_sethostname(name, len);
}

WRAP(int, loopback_up, void)
{
	return left_out(STEP_loopback_check) ? 0 : __real_loopback_up();
}

/* The worker refuses to be root. */
WRAP(uid_t, geteuid, void)
{
	uid_t uid = __real_geteuid();

	return !is_inside() && uid == 0 && left_out(STEP_worker_not_root) ? UNPRIVILEGED_ID : uid;
}

/* --- privileges --- */

WRAP(int, cap_set_secbits, unsigned int bits)
{
	return left_out(STEP_cap_securebits) ? 0 : __real_cap_set_secbits(bits);
}

WRAP(int, cap_drop_bound, cap_value_t cap)
{
	return left_out(STEP_cap_bounding) ? 0 : __real_cap_drop_bound(cap);
}

WRAP(int, cap_set_proc, cap_t caps)
{
	return left_out(STEP_cap_sets) ? 0 : __real_cap_set_proc(caps);
}

WRAP(cap_t, cap_get_proc, void)
{
	verifying = left_out(STEP_cap_verify);
	return __real_cap_get_proc();
}

WRAP(int, cap_compare, cap_t a, cap_t b)
{
	return verifying ? 0 : __real_cap_compare(a, b);
}

WRAP(int, cap_get_bound, cap_value_t cap)
{
	return verifying ? 0 : __real_cap_get_bound(cap);
}

WRAP(int, privilege_drop_capabilities, void)
{
	return leave_out_role() == ROLE_PRISTINE && left_out(STEP_pristine_caps)
		       ? 0
		       : __real_privilege_drop_capabilities();
}

WRAP(int, privilege_no_new_privs, void)
{
	static const enum step steps[] = {[ROLE_OUTSIDE] = STEP_nnp_worker,
					  [ROLE_INSIDE] = STEP_nnp_init,
					  [ROLE_PRISTINE] = STEP_pristine_nnp,
					  [ROLE_COPY] = STEP_nnp_init};

	return left_out(steps[leave_out_role()]) ? 0 : __real_privilege_no_new_privs();
}

WRAP(int, privilege_undumpable, void)
{
	static const enum step steps[] = {[ROLE_OUTSIDE] = STEP_undumpable_worker,
					  [ROLE_INSIDE] = STEP_undumpable_init,
					  [ROLE_PRISTINE] = STEP_pristine_undumpable,
					  [ROLE_COPY] = STEP_undumpable_init};

	return left_out(steps[leave_out_role()]) ? 0 : __real_privilege_undumpable();
}

/* --- limits --- */

WRAP(int, setrlimit, __rlimit_resource_t resource, const struct rlimit *limit)
{
	static const struct {
		int resource;
		enum step step;
	} limits[] = {
		{RLIMIT_CPU, STEP_rlimit_cpu},
		{RLIMIT_NPROC, STEP_rlimit_nproc},
		{RLIMIT_NOFILE, STEP_rlimit_nofile},
		{RLIMIT_FSIZE, STEP_rlimit_fsize},
		{RLIMIT_STACK, STEP_rlimit_stack},
		{RLIMIT_DATA, STEP_rlimit_data},
		{RLIMIT_CORE, STEP_rlimit_core},
		{RLIMIT_MEMLOCK, STEP_rlimit_memlock},
		{RLIMIT_MSGQUEUE, STEP_rlimit_msgqueue},
		{RLIMIT_NICE, STEP_rlimit_nice},
		{RLIMIT_RTPRIO, STEP_rlimit_rtprio},
		{RLIMIT_SIGPENDING, STEP_rlimit_sigpending},
	};

	if (leave_out_role() == ROLE_PRISTINE && left_out(STEP_pristine_rlimits))
		return 0;
	for (size_t i = 0; is_inside() && i < sizeof(limits) / sizeof(*limits); i++)
		if ((int)resource == limits[i].resource && left_out(limits[i].step))
			return 0;
	return __real_setrlimit(resource, limit);
}

WRAP(int, sched_setaffinity, pid_t pid, size_t size, const cpu_set_t *set)
{
	return left_out(STEP_affinity) ? 0 : __real_sched_setaffinity(pid, size, set);
}

WRAP(int, setpriority, __priority_which_t which, id_t who, int value)
{
	return left_out(STEP_niceness) ? 0 : __real_setpriority(which, who, value);
}

WRAP(bool, watch_look, struct watch *watch, uint64_t now_us)
{
	if (!left_out(STEP_memory_watch))
		return __real_watch_look(watch, now_us);
	watch->next_us = now_us + PAUSE_US;
	return false;
}

WRAP(int, frame_recv, int sock, struct frame *frame, int fds[FRAME_FDS], enum frame_way way)
{
	int r = __real_frame_recv(sock, frame, fds, way);

	if (r == 0 && left_out(STEP_link_end)) {
		usleep(PAUSE_US);
		return -EAGAIN;
	}
	if (r != 1 || frame->type != FRAME_RUN)
		return r;
	if (left_out(STEP_deadline))
		frame->run.deadline_ms = LONG_MS;
	if (left_out(STEP_output_cap))
		frame->run.output_max_bytes = LARGE_BYTES;
	return r;
}

/* --- what is inherited --- */

WRAP(int, fds_close_all_but, const int *keep, size_t n)
{
	return is_inside() && left_out(STEP_close_inherited) ? 0
							     : __real_fds_close_all_but(keep, n);
}

/* In a copy that has its program: the gate, and what came over it. */
WRAP(int, close, int fd)
{
	return leave_out_role() == ROLE_COPY && started && left_out(STEP_close_received)
		       ? 0
		       : __real_close(fd);
}

WRAP(int, socketpair, int domain, int type, int protocol, int pair[2])
{
	if (left_out(STEP_cloexec_report))
		type &= ~SOCK_CLOEXEC;
	return __real_socketpair(domain, type, protocol, pair);
}

WRAP(ssize_t, recvmsg, int sock, struct msghdr *message, int flags)
{
	if (is_inside() && left_out(STEP_cloexec_received))
		flags &= ~MSG_CMSG_CLOEXEC;
	return __real_recvmsg(sock, message, flags);
}

/* The worker's own, in memory that can be freed the same way. */
WRAP(char **, environment_build, const struct limits *limits, const char *user_base,
     const char *bin_dir)
{
	char **copy;
	size_t n = 0;

	if (!left_out(STEP_environment))
		return __real_environment_build(limits, user_base, bin_dir);
	while (environ[n])
		n++;
	copy = calloc(n + 1, sizeof(*copy));
	for (size_t i = 0; copy && i < n; i++)
		copy[i] = strdup(environ[i]);
	return copy;
}

/* The first time inside is the reset. */
WRAP(int, sigprocmask, int how, const sigset_t *set, sigset_t *before)
{
	if (is_inside() && masked++ == 0 && left_out(STEP_signal_mask))
		return 0;
	return __real_sigprocmask(how, set, before);
}

/* First init's, then the program's. */
WRAP(pid_t, setsid, void)
{
	bool init = leave_out_role() != ROLE_COPY && leader++ == 0;

	if (is_inside() && left_out(init ? STEP_session_init : STEP_session_program))
		return getpid();
	return __real_setsid();
}

WRAP(mode_t, umask, mode_t mask)
{
	return left_out(STEP_umask) ? mask : __real_umask(mask);
}

/* --- the end --- */

WRAP(int, kill, pid_t pid, int number)
{
	return number == SIGKILL && left_out(STEP_kill) ? 0 : __real_kill(pid, number);
}

/* When the main program has ended. */
WRAP(_Noreturn void, _exit, int status)
{
	while (leave_out_role() == ROLE_INSIDE && started && status == 0 &&
	       left_out(STEP_init_exit))
		pause();
	__real__exit(status);
}

WRAP(void, run_kill, struct run *run, enum frame_flag reason)
{
	if (reason != FRAME_CANCELLED || !left_out(STEP_cancel))
		__real_run_kill(run, reason);
}

/* The one with its program. */
static bool has_no_lifeline(void)
{
	return is_inside() && started && left_out(STEP_lifeline);
}

/* When a signal came, init looks once more. */
WRAP(int, poll, struct pollfd *fds, nfds_t n, int timeout_ms)
{
	return has_no_lifeline() ? 0 : __real_poll(fds, n, timeout_ms);
}

WRAP(int, ppoll, struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	struct pollfd none = {.fd = -1};

	if (has_no_lifeline())
		return __real_ppoll(&none, 1, timeout, mask);
	return __real_ppoll(fds, n, timeout, mask);
}
