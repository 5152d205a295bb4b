/* wrap_syscalls - leaves out parts of the seccomp filter: by its table, and by libseccomp's functions, so that it does
 * not matter where the two meet. A group that is left out is allowed, whatever the arguments. */
#include <errno.h>
#include <seccomp.h>
#include <string.h>

#include "policy/confine.h"
#include "policy/syscalls.h"
#include "tests/leave_out/leave_out.h"

#define GROUP_CALLS 16
#define MAX_ROWS 512

static const struct {
	enum step step;
	const char *calls[GROUP_CALLS];
} groups[] = {
	{STEP_seccomp_namespaces, {"unshare", "setns"}},
	{STEP_seccomp_clone, {"clone", "clone3"}},
	{STEP_seccomp_mounts,
	 {"mount", "umount2", "pivot_root", "chroot", "mount_setattr", "open_tree", "move_mount",
	  "fsopen", "fsconfig", "fsmount", "fspick"}},
	{STEP_seccomp_tracing,
	 {"ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp",
	  "process_madvise"}},
	{STEP_seccomp_keyrings, {"add_key", "request_key", "keyctl"}},
	{STEP_seccomp_kernel,
	 {"bpf", "perf_event_open", "userfaultfd", "fanotify_init", "fanotify_mark",
	  "open_by_handle_at", "name_to_handle_at"}},
	{STEP_seccomp_ids,
	 {"setuid", "setgid", "setreuid", "setregid", "setresuid", "setresgid", "setgroups",
	  "setfsuid", "setfsgid", "capset"}},
	{STEP_seccomp_scheduling,
	 {"sched_setaffinity", "sched_setscheduler", "sched_setparam", "sched_setattr",
	  "setpriority", "ioprio_set"}},
	{STEP_seccomp_host, {"sethostname", "setdomainname", "sync", "syncfs"}},
	{STEP_seccomp_sockets, {"socket", "socketpair"}},
	{STEP_seccomp_ioctl, {"ioctl"}},
	{STEP_seccomp_prctl, {"prctl"}},
	{STEP_seccomp_fcntl, {"fcntl"}},
	{STEP_seccomp_mknod, {"mknod", "mknodat"}},
	{STEP_seccomp_prlimit, {"prlimit64"}},
	{STEP_seccomp_memory,
	 {"memfd_create", "memfd_secret", "shmget", "shmat", "shmctl", "shmdt", "msgget", "semget",
	  "mq_open"}},
	{STEP_seccomp_uncounted,
	 {"io_uring_setup", "io_uring_enter", "io_uring_register", "inotify_init", "inotify_init1",
	  "inotify_add_watch"}},
	{STEP_seccomp_personality, {"personality", "arch_prctl"}},
	{STEP_seccomp_needless,
	 {"timerfd_create", "timer_create", "epoll_pwait", "getresuid", "getresgid"}},
	{STEP_seccomp_filters, {"seccomp"}},
};

#define GROUPS (sizeof(groups) / sizeof(*groups))

/* Call i of all groups that are left out, or NULL behind the last. */
static const char *opened(size_t i)
{
	for (size_t g = 0; g < GROUPS; g++)
		for (size_t k = 0; left_out(groups[g].step) && k < GROUP_CALLS; k++)
			if (groups[g].calls[k] && i-- == 0)
				return groups[g].calls[k];
	return NULL;
}

static bool is_opened(const char *name)
{
	const char *call;

	for (size_t i = 0; (call = opened(i)); i++)
		if (!strcmp(call, name))
			return true;
	return false;
}

const struct filter_rule *__real_syscalls_rule(size_t i);

/* Whether a row before i is of the same call. */
static bool is_repeated(size_t i, const char *name)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(__real_syscalls_rule(k)->name, name))
			return true;
	return false;
}

/* The rows of the table; the first one of an opened call allows it, the others become rows of a call that is none, and
 * opened calls without a row come behind the last. */
WRAP(const struct filter_rule *, syscalls_rule, size_t i)
{
	static const struct filter_rule nothing = {
		.name = "no call", .conditions = {{.compare = FILTER_EQUAL}}, .why = ""};
	static struct filter_rule allowed[MAX_ROWS];
	const struct filter_rule *rule = __real_syscalls_rule(i);
	const char *name;
	size_t rows = 0;

	if (i >= MAX_ROWS || (rule && !is_opened(rule->name)))
		return rule;
	while (!rule && __real_syscalls_rule(rows))
		rows++;
	name = rule ? rule->name : opened(i - rows);
	if (!name)
		return NULL;
	if (is_repeated(rule ? i : rows, name))
		return &nothing;
	allowed[i] = (struct filter_rule){.name = name, .why = ""};
	return &allowed[i];
}

/* In a sandbox; our own programs put theirs on by it, too. */
WRAP(int, filter_apply, const struct sock_fprog *filter)
{
	enum role role = leave_out_role();
	bool out = role == ROLE_PRISTINE ? left_out(STEP_pristine_seccomp)
					 : role != ROLE_OUTSIDE && left_out(STEP_seccomp);

	return out ? 0 : __real_filter_apply(filter);
}

WRAP(int, filter_listen, const struct sock_fprog *filter)
{
	return left_out(STEP_seccomp) ? -EINVAL : __real_filter_listen(filter);
}

WRAP(int, confine_worker, void)
{
	return left_out(STEP_seccomp_worker) ? 0 : __real_confine_worker();
}

WRAP(int, confine_supervisor, void)
{
	return left_out(STEP_seccomp_supervisor) ? 0 : __real_confine_supervisor();
}

WRAP(scmp_filter_ctx, seccomp_init, uint32_t action)
{
	return __real_seccomp_init(left_out(STEP_seccomp_default) ? SCMP_ACT_ALLOW : action);
}

/* libseccomp takes no rule that does what the default does. */
WRAP(int, seccomp_rule_add_array, scmp_filter_ctx ctx, uint32_t action, int number,
     unsigned int count, const struct scmp_arg_cmp *conditions)
{
	if (action == SCMP_ACT_ALLOW && left_out(STEP_seccomp_default))
		return 0;
	return __real_seccomp_rule_add_array(ctx, action, number, count, conditions);
}

WRAP(int, seccomp_attr_set, scmp_filter_ctx ctx, enum scmp_filter_attr attribute, uint32_t value)
{
	if (attribute == SCMP_FLTATR_ACT_BADARCH && left_out(STEP_seccomp_foreign_abi))
		value = SCMP_ACT_ALLOW;
	return __real_seccomp_attr_set(ctx, attribute, value);
}
