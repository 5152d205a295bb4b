/* Unit tests of confine: each filter at work, in children, and the tables that lie inside each other. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/kcmp.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/confine.h"
#include "policy/namespaces.h"
#include "tests/unit/child.h"

static filter_table *const tables[] = {confine_supervisor_rule, confine_worker_rule,
				       confine_pristine_rule};

#define TABLES (sizeof(tables) / sizeof(*tables))

/* Returns 0 or a negative errno. */
static int confined(int (*confine)(void))
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ? -errno : confine();
}

/* --- What neither may do --- */

struct call {
	const char *name;
	long number;
	unsigned long args[5];
};

#define CALL(call, ...)                                                                            \
	{                                                                                          \
#call, SYS_##call,                                                                 \
		{                                                                                  \
			__VA_ARGS__                                                                \
		}                                                                                  \
	}

/* A kernel that has them all answers each with something else than ENOSYS. */
static const struct call refused[] = {
#if !defined(__SANITIZE_ADDRESS__)
	CALL(ptrace, 0),
#endif
	CALL(process_vm_readv, 1),
	CALL(process_vm_writev, 1),
	CALL(pidfd_getfd, 0),
	CALL(kcmp, 1, 1, KCMP_FILE),
	CALL(keyctl, 0),
	CALL(add_key, 0),
	CALL(request_key, 0),
	CALL(bpf, 0),
	CALL(perf_event_open, 0),
	CALL(userfaultfd, 0),
	CALL(io_uring_setup, 0),
	CALL(io_uring_enter, 0),
	CALL(open_by_handle_at, 0),
	CALL(name_to_handle_at, 0),
	CALL(fanotify_init, 0),
	CALL(init_module, 0),
	CALL(finit_module, 0),
	CALL(delete_module, 0),
	CALL(kexec_load, 0),
	CALL(reboot, 0),
	CALL(swapon, 0),
	CALL(swapoff, 0),
	CALL(quotactl, 0),
	CALL(acct, 0),
	CALL(syslog, 10),
	CALL(settimeofday, 0),
	CALL(clock_settime, 0),
	CALL(clock_adjtime, 0),
	CALL(adjtimex, 0),
	CALL(setdomainname, 0),
	CALL(chroot, 0),
	CALL(open_tree, 0),
	CALL(move_mount, 0),
	CALL(fsopen, 0),
	CALL(vmsplice, 0),
	CALL(vhangup, 0),
	CALL(setuid, 0),
	CALL(setresuid, 0, 0, 0),
	CALL(setgroups, 0),
	CALL(sched_setscheduler, 0),
	CALL(sched_setaffinity, 1),
	CALL(mbind, 0),
	CALL(move_pages, 1),
	CALL(shmget, 0),
	CALL(msgget, 0),
	CALL(mq_open, 0),
	CALL(personality, 0x0040000),
	CALL(umount2, 0, 0),
	/* CLONE_NEWTIME, which sched.h lacks here and there. */
	CALL(setns, 0, 0x80),
	CALL(unshare, 0x80),
	CALL(unshare, CLONE_FILES),
	CALL(clone, CLONE_NEWUSER | SIGCHLD),
	CALL(clone3, 0),
	CALL(mknodat, 0, 0, S_IFCHR, 0x103),
	CALL(mknodat, 0, 0, S_IFBLK, 0x800),
	CALL(socket, AF_VSOCK, SOCK_STREAM),
	CALL(socket, AF_PACKET, SOCK_RAW),
	CALL(socket, AF_INET, SOCK_RAW, 1),
	CALL(socket, AF_ALG, SOCK_SEQPACKET),
	CALL(socket, AF_NETLINK, SOCK_RAW, NETLINK_AUDIT),
	CALL(seccomp, SECCOMP_SET_MODE_STRICT, 0),
	CALL(prctl, PR_SET_SECCOMP, SECCOMP_MODE_STRICT),
	CALL(prctl, PR_SET_KEEPCAPS, 1),
	CALL(prctl, PR_SET_MM, 0),
	CALL(execveat, 0, 0, 0, 0, 0),
	CALL(ioctl, 0, 0x5412 /* TIOCSTI */),
	CALL(ioctl, 0, 0x541c /* TIOCLINUX */),
};

#define REFUSED (sizeof(refused) / sizeof(*refused))

static long make(const struct call *call)
{
	const unsigned long *args = call->args;

	errno = 0;
	return syscall(call->number, args[0], args[1], args[2], args[3], args[4]);
}

/* Returns 0, or the number of the row, from 1, that was not refused. */
static int try_refused(int (*confine)(void))
{
	if (confined(confine) < 0)
		return 255;
	for (size_t i = 0; i < REFUSED; i++)
		if (make(&refused[i]) != -1 || errno != ENOSYS)
			return (int)i + 1;
	return 0;
}

static int supervisor_refused(void)
{
	return try_refused(confine_supervisor);
}

static int worker_refused(void)
{
	return try_refused(confine_worker);
}

/* As an interpreter has it. */
static int confine_pristine(void)
{
	struct sock_fprog filter = {0};
	int r = confine_compile_pristine(&filter);

	return r < 0 ? r : filter_apply(&filter);
}

static int pristine_refused(void)
{
	return try_refused(confine_pristine);
}

static void check_refused(int (*body)(void))
{
	int row = child_run(body);

	if (row > 0 && row <= (int)REFUSED)
		fail_msg("%s, row %d", refused[row - 1].name, row);
	assert_int_equal(row, 0);
}

static void test_supervisor_is_refused_what_it_has_no_use_for(void **state)
{
	(void)state;
	check_refused(supervisor_refused);
}

static void test_worker_is_refused_what_it_has_no_use_for(void **state)
{
	(void)state;
	check_refused(worker_refused);
}

static void test_pristine_is_refused_what_it_has_no_use_for(void **state)
{
	(void)state;
	check_refused(pristine_refused);
}

/* --- What each may do --- */

/* Reaches the kernel, which has an answer of its own. */
static bool is_answered(long result)
{
	return result >= 0 || errno != ENOSYS;
}

static bool starts_from_a_descriptor(void)
{
	return is_answered(syscall(SYS_execveat, -1, "", NULL, NULL, AT_EMPTY_PATH));
}

static void worker_builds(void)
{
	struct rlimit limit;

	CHECK(confined(confine_worker) == 0);
	CHECK(!starts_from_a_descriptor());
	CHECK(is_answered(mount(NULL, NULL, NULL, 0, NULL)));
	CHECK(is_answered(umount2("", MNT_DETACH)));
	CHECK(is_answered(syscall(SYS_pivot_root, NULL, NULL)));
	CHECK(is_answered(syscall(SYS_sethostname, NULL, 1)));
	CHECK(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE) >= 0);
	CHECK(memfd_create("m", MFD_CLOEXEC) >= 0);
	CHECK(prlimit(getppid(), RLIMIT_NOFILE, NULL, &limit) == 0 || errno == EPERM);
	CHECK(prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) == 0);
	/* In a container even this may be refused; but not by us. */
	CHECK(is_answered(unshare(CLONE_NEWUSER)));
}

static void supervisor_starts_the_worker(void)
{
	CHECK(confined(confine_supervisor) == 0);
	CHECK(starts_from_a_descriptor());
	CHECK(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) >= 0);
	CHECK(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0);
	CHECK(socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0) >= 0);
	/* What the next one takes. */
	worker_builds();
}

static void test_worker_may_build_sandboxes(void **state)
{
	(void)state;
	child_check(worker_builds);
}

static void test_supervisor_may_start_a_worker_that_may_build_sandboxes(void **state)
{
	(void)state;
	child_check(supervisor_starts_the_worker);
}

/* What it takes to enter a sandbox, and nothing of what it takes to build one. */
static void pristine_enters(void)
{
	CHECK(confined(confine_pristine) == 0);
	for (size_t i = 0; namespaces_rule(i); i++)
		CHECK(setns(-1, namespaces_rule(i)->flag) < 0 && errno == EBADF);
	CHECK(is_answered(syscall(SYS_capget, NULL, NULL)));
	CHECK(is_answered(syscall(SYS_capset, NULL, NULL)));
	CHECK(is_answered(prctl(PR_CAPBSET_DROP, 1000, 0, 0, 0)));
	CHECK(prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_close_range, 1000, 1000, 0) == 0);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, NULL) < 0 && errno == EFAULT);
	CHECK(!starts_from_a_descriptor());
	CHECK(!is_answered(unshare(CLONE_NEWUSER)));
	CHECK(!is_answered(mount(NULL, NULL, NULL, 0, NULL)));
	CHECK(!is_answered(umount2("", MNT_DETACH)));
	CHECK(!is_answered(syscall(SYS_pivot_root, NULL, NULL)));
	CHECK(!is_answered(syscall(SYS_sethostname, NULL, 1)));
	CHECK(!is_answered(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE)));
	CHECK(!is_answered(memfd_create("m", MFD_CLOEXEC)));
	CHECK(!is_answered(ioctl(-1, SECCOMP_IOCTL_NOTIF_RECV, NULL)));
}

static void test_pristine_may_enter_sandboxes_and_not_build_them(void **state)
{
	(void)state;
	child_check(pristine_enters);
}

/* A filter that hands keyctl to whoever has the descriptor, which is returned. */
static int listen_for_keyctl(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_keyctl, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {.len = 4, .filter = code};

	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

static void answers_for_what_it_is_refused(void)
{
	struct seccomp_notif note = {0};
	struct seccomp_notif_resp answer = {.error = -EDOM};
	int listener, status;
	pid_t pid;

	CHECK(confined(confine_supervisor) == 0 && confine_worker() == 0);
	CHECK((listener = listen_for_keyctl()) >= 0);
	pid = fork();
	if (pid == 0)
		_exit(syscall(SYS_keyctl, 0) == -1 && errno == EDOM ? 0 : 1);
	alarm(60);
	CHECK(ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &note) == 0);
	CHECK(note.data.nr == SYS_keyctl);
	answer.id = note.id;
	CHECK(ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) == 0);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

/* An errno of the outer filters would silence what is asked further in. */
static void test_a_filter_further_in_may_still_note_what_is_refused(void **state)
{
	(void)state;
	child_check(answers_for_what_it_is_refused);
}

static int without_no_new_privs(void)
{
	if (geteuid() == 0 && setresuid(65534, 65534, 65534))
		return 1;
	return confine_worker() == -EACCES && confine_supervisor() == -EACCES ? 0 : 2;
}

static void test_is_not_confined_without_no_new_privs(void **state)
{
	(void)state;
	assert_int_equal(child_run(without_no_new_privs), 0);
}

static int without_file_size(void)
{
	struct rlimit none = {0, 0};

	signal(SIGXFSZ, SIG_DFL);
	return setrlimit(RLIMIT_FSIZE, &none) || confined(confine_supervisor);
}

static void test_is_confined_whatever_the_limit_on_file_size_is(void **state)
{
	(void)state;
	assert_int_equal(child_run(without_file_size), 0);
}

/* A call of another ABI: x32 has the numbers of x86-64 with this bit. */
static int another_abi(void)
{
#ifdef __x86_64__
	if (confined(confine_supervisor) < 0)
		return 1;
	return syscall(__X32_SYSCALL_BIT | SYS_getppid) == -1 && errno == ENOSYS ? 0 : 2;
#else
	return 0;
#endif
}

static void test_another_abi_is_refused(void **state)
{
	(void)state;
	assert_int_equal(child_run(another_abi), 0);
}

/* --- Tables --- */

/* Whether a row before i of the same table says the same. */
static bool is_repeated(filter_table *table, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(table(k)->name, table(i)->name) &&
		    !memcmp(table(k)->conditions, table(i)->conditions,
			    sizeof(table(i)->conditions)))
			return true;
	return false;
}

static void test_every_row_is_a_system_call_with_a_reason_and_stands_once(void **state)
{
	const struct filter_rule *rule;

	(void)state;
	for (size_t t = 0; t < TABLES; t++)
		for (size_t i = 0; (rule = tables[t](i)); i++) {
			if (seccomp_syscall_resolve_name(rule->name) == __NR_SCMP_ERROR)
				fail_msg("%s is no system call", rule->name);
			if (is_repeated(tables[t], i))
				fail_msg("%s stands twice", rule->name);
			assert_int_equal(rule->error, 0);
			assert_true(*rule->why);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_supervisor_is_refused_what_it_has_no_use_for),
		cmocka_unit_test(test_worker_is_refused_what_it_has_no_use_for),
		cmocka_unit_test(test_pristine_is_refused_what_it_has_no_use_for),
		cmocka_unit_test(test_worker_may_build_sandboxes),
		cmocka_unit_test(test_pristine_may_enter_sandboxes_and_not_build_them),
		cmocka_unit_test(test_supervisor_may_start_a_worker_that_may_build_sandboxes),
		cmocka_unit_test(test_a_filter_further_in_may_still_note_what_is_refused),
		cmocka_unit_test(test_is_not_confined_without_no_new_privs),
		cmocka_unit_test(test_is_confined_whatever_the_limit_on_file_size_is),
		cmocka_unit_test(test_another_abi_is_refused),
		cmocka_unit_test(test_every_row_is_a_system_call_with_a_reason_and_stands_once),
	};

	return cmocka_run_group_tests_name("confine", tests, NULL, NULL);
}
