/* Unit tests of syscalls. The filter is loaded in children, whose exit code says which row of a table went wrong. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "policy/syscalls.h"

#define MAX_ALLOWED 165

/* The table. */

static bool is_unconditional(const struct syscall_rule *rule)
{
	return rule->conditions[0].compare == SYSCALL_ANY;
}

static bool is_first_of_its_name(size_t row)
{
	for (size_t i = 0; i < row; i++)
		if (!strcmp(syscalls_rule(i)->name, syscalls_rule(row)->name) &&
		    !syscalls_rule(i)->error)
			return false;
	return true;
}

static bool is_allowed_anyhow(const char *name)
{
	const struct syscall_rule *rule;

	for (size_t i = 0; (rule = syscalls_rule(i)); i++)
		if (!rule->error && !strcmp(rule->name, name))
			return true;
	return false;
}

static void test_every_name_is_a_system_call(void **state)
{
	const struct syscall_rule *rule;

	(void)state;
	for (size_t i = 0; (rule = syscalls_rule(i)); i++) {
		int number = seccomp_syscall_resolve_name(rule->name);

		if (number == __NR_SCMP_ERROR)
			fail_msg("%s is no system call", rule->name);
#ifdef __x86_64__
		/* Negative numbers stand for calls that only other architectures have. */
		if (number < 0)
			fail_msg("%s does not exist here", rule->name);
#endif
	}
}

static void test_few_calls_are_allowed(void **state)
{
	const struct syscall_rule *rule;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; (rule = syscalls_rule(i)); i++)
		n += !rule->error && is_first_of_its_name(i);
	assert_in_range(n, 80, MAX_ALLOWED);
}

static void test_no_row_makes_another_one_void(void **state)
{
	const struct syscall_rule *a, *b;

	(void)state;
	for (size_t i = 0; (a = syscalls_rule(i)); i++)
		for (size_t j = 0; is_unconditional(a) && (b = syscalls_rule(j)); j++)
			if (i != j && !strcmp(a->name, b->name))
				fail_msg("%s stands in rows %zu and %zu", a->name, i, j);
}

static void test_every_row_has_a_reason_and_a_known_errno(void **state)
{
	const struct syscall_rule *rule;

	(void)state;
	for (size_t i = 0; (rule = syscalls_rule(i)); i++) {
		bool known = rule->error == 0 || rule->error == EPERM || rule->error == ENOSYS ||
			     rule->error == EAFNOSUPPORT || rule->error == ENOTSUP;

		if (!rule->why || !*rule->why || !known)
			fail_msg("row %zu, %s", i, rule->name);
		for (size_t c = 1; c < SYSCALL_CONDITIONS; c++)
			if (rule->conditions[c - 1].compare == SYSCALL_ANY)
				assert_int_equal(rule->conditions[c].compare, SYSCALL_ANY);
	}
}

static void test_dangerous_calls_are_not_allowed_under_any_condition(void **state)
{
	static const char *const names[] = {
		"unshare",
		"setns",
		"mount",
		"umount2",
		"pivot_root",
		"chroot",
		"move_mount",
		"open_tree",
		"fsopen",
		"mount_setattr",
		"ptrace",
		"process_vm_readv",
		"kcmp",
		"pidfd_getfd",
		"process_vm_writev",
		"bpf",
		"add_key",
		"keyctl",
		"request_key",
		"perf_event_open",
		"io_uring_setup",
		"io_uring_enter",
		"userfaultfd",
		"memfd_create",
		"memfd_secret",
		"shmget",
		"msgget",
		"semget",
		"mq_open",
		"clone3",
		"seccomp",
		"open_by_handle_at",
		"init_module",
		"kexec_load",
		"reboot",
		"fanotify_init",
		"setuid",
		"setgroups",
		"capset",
		"inotify_init1",
		"vmsplice",
		"splice",
		"tee",
		"quotactl",
		"iopl",
		"modify_ldt",
		"uselib",
		"process_madvise",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (is_allowed_anyhow(names[i]))
			fail_msg("%s is allowed", names[i]);
}

static void test_compiles_to_a_filter_the_kernel_takes(void **state)
{
	struct sock_fprog filter = {0};

	(void)state;
	assert_int_equal(syscalls_compile(&filter), 0);
	assert_in_range(filter.len, 100, 4096);
	assert_non_null(filter.filter);
	free(filter.filter);
}

static void test_compiles_the_same_every_time(void **state)
{
	struct sock_fprog a = {0}, b = {0};

	(void)state;
	assert_int_equal(syscalls_compile(&a), 0);
	assert_int_equal(syscalls_compile(&b), 0);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.filter, b.filter, a.len * sizeof(*a.filter));
	free(a.filter);
	free(b.filter);
}

/* The filter at work. Each try returns what the call returned. */

static char dir[] = "/tmp/test_syscalls.XXXXXX";

static int fifo(void)
{
	return mkfifo("fifo", 0600);
}

static int device(void)
{
	return mknod("device", S_IFCHR | 0600, makedev(1, 3));
}

static int file(void)
{
	return openat(AT_FDCWD, "file", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

static int fork_and_wait(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(7);
	return pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7 ? 0 : -1;
}

static int clone_with(unsigned long flags)
{
	long pid = syscall(SYS_clone, flags | SIGCHLD, NULL, NULL, NULL, NULL);

	if (pid == 0)
		_exit(0);
	return pid < 0 ? -1 : waitpid((pid_t)pid, NULL, 0) != pid;
}

static int clone_user(void)
{
	return clone_with(CLONE_NEWUSER);
}

static int clone_net(void)
{
	return clone_with(CLONE_NEWNET);
}

static int clone_ptrace(void)
{
	return clone_with(CLONE_PTRACE);
}

static int clone3(void)
{
	char args[88] = {0};

	return (int)syscall(SYS_clone3, args, sizeof(args));
}

static int own_pid(void)
{
	return getpid() > 0 ? 0 : -1;
}

static int memfd(void)
{
	return memfd_create("m", MFD_CLOEXEC);
}

static int new_user_namespace(void)
{
	return unshare(CLONE_NEWUSER);
}

static int anonymous_memory(void)
{
	return mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED ? -1
											     : 0;
}

static int unix_stream(void)
{
	return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static int inet_stream(void)
{
	return socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
}

static int inet6_datagram(void)
{
	return socket(AF_INET6, SOCK_DGRAM, IPPROTO_UDP);
}

static int inet_raw(void)
{
	return socket(AF_INET, SOCK_RAW, IPPROTO_ICMP);
}

static int inet_ping(void)
{
	return socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP);
}

static int inet_sctp(void)
{
	return socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP);
}

static int vsock(void)
{
	return socket(AF_VSOCK, SOCK_STREAM, 0);
}

static int netlink(void)
{
	return socket(AF_NETLINK, SOCK_RAW, 0);
}

static int packet(void)
{
	return socket(AF_PACKET, SOCK_RAW, 0);
}

static int terminal_input(void)
{
	return ioctl(0, TIOCSTI, "x");
}

static int terminal_input_high(void)
{
	return (int)syscall(SYS_ioctl, 0UL, TIOCSTI | 1UL << 32, "x");
}

static int clone_user_high(void)
{
	return clone_with(CLONE_NEWUSER | 1UL << 32);
}

static int undumpable(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static int name_itself(void)
{
	return prctl(PR_SET_NAME, "test", 0, 0, 0);
}

static int ask_personality(void)
{
	return syscall(SYS_personality, 0xffffffffUL) < 0 ? -1 : 0;
}

static int no_randomization(void)
{
	return (int)syscall(SYS_personality, 0x0040000UL);
}

static int another_filter(void)
{
	return (int)syscall(SYS_seccomp, 0UL, 0UL, NULL);
}

static int trace(void)
{
	return (int)syscall(SYS_ptrace, 0UL, 0UL, NULL, NULL);
}

static int unlisted(void)
{
	return (int)syscall(SYS_acct, NULL);
}

static int beyond_the_table(void)
{
	return (int)syscall(100000);
}

static const struct {
	const char *name;
	int (*try)(void);
	int error; /* 0: works */
} tries[] = {
	{"getpid", own_pid, 0},
	{"openat", file, 0},
	{"mmap", anonymous_memory, 0},
	{"fork", fork_and_wait, 0},
	{"mkfifo", fifo, 0},
	{"a device", device, EPERM},
	{"clone of a user namespace", clone_user, ENOSYS},
	{"the same with high bits", clone_user_high, ENOSYS},
	{"clone of a net namespace", clone_net, ENOSYS},
	{"clone that is traced", clone_ptrace, ENOSYS},
	{"clone3", clone3, ENOSYS},
	{"memfd_create", memfd, ENOSYS},
	{"unshare", new_user_namespace, EPERM},
	{"a unix socket", unix_stream, 0},
	{"an inet socket", inet_stream, 0},
	{"an inet6 socket", inet6_datagram, 0},
	{"a raw socket", inet_raw, ENOSYS},
	{"a ping socket", inet_ping, ENOSYS},
	{"an sctp socket", inet_sctp, ENOSYS},
	{"a vsock socket", vsock, EAFNOSUPPORT},
	{"a netlink socket", netlink, EAFNOSUPPORT},
	{"a packet socket", packet, EAFNOSUPPORT},
	{"TIOCSTI", terminal_input, ENOSYS},
	{"TIOCSTI with high bits", terminal_input_high, ENOSYS},
	{"PR_SET_DUMPABLE", undumpable, ENOSYS},
	{"PR_SET_NAME", name_itself, 0},
	{"asking the personality", ask_personality, 0},
	{"ADDR_NO_RANDOMIZE", no_randomization, ENOSYS},
	{"seccomp", another_filter, EPERM},
	{"ptrace", trace, EPERM},
	{"what is not in the table", unlisted, ENOSYS},
	{"what does not exist", beyond_the_table, ENOSYS},
};

#define TRIES (sizeof(tries) / sizeof(*tries))

static bool load(void)
{
	struct sock_fprog filter = {0};

	return syscalls_compile(&filter) == 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscalls_apply(&filter) == 0;
}

/* Runs in a child. Returns 0, or the number of the row (from 1) that went wrong. */
static int try_all(void)
{
	if (chdir(dir) || !load())
		return 255;
	for (size_t i = 0; i < TRIES; i++) {
		errno = 0;
		int r = tries[i].try();

		if (tries[i].error ? r != -1 || errno != tries[i].error : r < 0)
			return (int)i + 1;
	}
	return 0;
}

static int in_child(int (*body)(void))
{
	pid_t pid = fork();
	int status = 0;

	if (pid == 0)
		_exit(body());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_filter_allows_and_refuses_with_these_errnos(void **state)
{
	int row;

	(void)state;
	assert_non_null(mkdtemp(dir));
	_cleanup_fd_ int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	row = in_child(try_all);
	unlinkat(at, "fifo", 0);
	unlinkat(at, "file", 0);
	rmdir(dir);
	if (row > 0 && row <= (int)TRIES)
		fail_msg("%s", tries[row - 1].name);
	assert_int_equal(row, 0);
}

static int load_unprepared(void)
{
	struct sock_fprog filter = {0};

	if (syscalls_compile(&filter) < 0)
		return 1;
	/* Who may administer the system needs no no_new_privs. */
	if (geteuid() == 0 && setresuid(65534, 65534, 65534))
		return 2;
	return syscalls_apply(&filter) == -EACCES ? 0 : 3;
}

static void test_is_not_loaded_without_no_new_privs(void **state)
{
	(void)state;
	assert_int_equal(in_child(load_unprepared), 0);
}

#ifdef __x86_64__
#define OLD_GETPID 20
#define X32_BIT 0x40000000L

static long old_call(long number)
{
	long r;

	__asm__ volatile("int $0x80" : "=a"(r) : "a"(number) : "memory", "r8", "r9", "r10", "r11");
	return r;
}

static int old_call_works(void)
{
	return old_call(OLD_GETPID) == getpid() ? 0 : 1;
}

static int old_call_is_refused(void)
{
	return load() && old_call(OLD_GETPID) == -ENOSYS ? 0 : 1;
}

static int x32_call_is_refused(void)
{
	return load() && syscall(X32_BIT | SYS_getpid) == -1 && errno == ENOSYS ? 0 : 1;
}

static void test_foreign_abis_are_refused(void **state)
{
	(void)state;
	assert_int_equal(in_child(x32_call_is_refused), 0);
	/* A kernel may be built without it. */
	if (in_child(old_call_works) == 0)
		assert_int_equal(in_child(old_call_is_refused), 0);
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_name_is_a_system_call),
		cmocka_unit_test(test_few_calls_are_allowed),
		cmocka_unit_test(test_no_row_makes_another_one_void),
		cmocka_unit_test(test_every_row_has_a_reason_and_a_known_errno),
		cmocka_unit_test(test_dangerous_calls_are_not_allowed_under_any_condition),
		cmocka_unit_test(test_compiles_to_a_filter_the_kernel_takes),
		cmocka_unit_test(test_compiles_the_same_every_time),
		cmocka_unit_test(test_filter_allows_and_refuses_with_these_errnos),
		cmocka_unit_test(test_is_not_loaded_without_no_new_privs),
#ifdef __x86_64__
		cmocka_unit_test(test_foreign_abis_are_refused),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
