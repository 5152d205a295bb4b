/* Unit tests of the seccomp filter at work. It is loaded in children, whose exit code says which row went wrong. */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <netinet/in.h>
#include <sched.h>
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
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "policy/confine.h"
#include "policy/syscalls.h"
#include "tests/unit/child.h"

#define TEMPLATE "/tmp/test_syscalls.XXXXXX"

static char dir[sizeof(TEMPLATE)];

/* Each try returns what its call returned. */

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
	/* The kernel would say EBADF. */
	return ioctl(-1, TIOCSTI, "x");
}

static int terminal_input_high(void)
{
	return (int)syscall(SYS_ioctl, -1L, TIOCSTI | 1UL << 32, "x");
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

static int limits_of(pid_t pid)
{
	struct rlimit limit;

	return prlimit(pid, RLIMIT_NOFILE, NULL, &limit);
}

static int own_limits(void)
{
	return limits_of(0);
}

static int other_limits(void)
{
	return limits_of(getppid());
}

static int lease(void)
{
	return fcntl(0, F_SETLEASE, F_RDLCK);
}

static int notes(void)
{
	return fcntl(0, F_NOTIFY, DN_ACCESS);
}

static int notes_high(void)
{
	return (int)syscall(SYS_fcntl, 0UL, F_NOTIFY | 1UL << 32, DN_ACCESS);
}

static int duplicate(void)
{
	return fcntl(0, F_DUPFD_CLOEXEC, 10);
}

static int lock(void)
{
	struct flock region = {.l_type = F_WRLCK};
	int fd = file();

	return fcntl(fd, F_SETLK, &region) ? -1 : close(fd);
}

static int clone_file(void)
{
	return ioctl(0, FICLONE, 0);
}

static int copy_range(void)
{
	return (int)copy_file_range(0, NULL, 1, NULL, 1, 0);
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
	{"clone of a user namespace", clone_user, EPERM},
	{"the same with high bits", clone_user_high, EPERM},
	{"clone of a net namespace", clone_net, EPERM},
	{"clone that is traced", clone_ptrace, EPERM},
	{"clone3", clone3, ENOSYS},
	{"memfd_create", memfd, ENOSYS},
	{"unshare", new_user_namespace, EPERM},
	{"a unix socket", unix_stream, 0},
	{"an inet socket", inet_stream, 0},
	{"an inet6 socket", inet6_datagram, 0},
	{"a raw socket", inet_raw, EPROTONOSUPPORT},
	{"a ping socket", inet_ping, EPROTONOSUPPORT},
	{"an sctp socket", inet_sctp, EPROTONOSUPPORT},
	{"a vsock socket", vsock, EAFNOSUPPORT},
	{"a netlink socket", netlink, EAFNOSUPPORT},
	{"a packet socket", packet, EAFNOSUPPORT},
	{"TIOCSTI", terminal_input, EPERM},
	{"TIOCSTI with high bits", terminal_input_high, EPERM},
	{"PR_SET_DUMPABLE", undumpable, EPERM},
	{"PR_SET_NAME", name_itself, 0},
	{"asking the personality", ask_personality, EPERM},
	{"ADDR_NO_RANDOMIZE", no_randomization, EPERM},
	{"a lease", lease, EPERM},
	{"notes of a directory", notes, EPERM},
	{"the same with high bits", notes_high, EINVAL},
	{"a duplicate", duplicate, 0},
	{"locks", lock, 0},
	{"cloning a file", clone_file, EOPNOTSUPP},
	{"copying a range", copy_range, EXDEV},
	{"its own limits", own_limits, 0},
	{"limits of another process", other_limits, EPERM},
	{"seccomp", another_filter, EPERM},
	{"ptrace", trace, EPERM},
	{"what is not in the table", unlisted, ENOSYS},
};

#define TRIES (sizeof(tries) / sizeof(*tries))

static bool load(void)
{
	struct sock_fprog filter = {0};

	return filter_compile(syscalls_rule, &filter) == 0 &&
	       prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && filter_apply(&filter) == 0;
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

/* As a run has it: below the filters of supervisor and worker. */
static int try_all_below(void)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || confine_supervisor() < 0 ||
			       confine_worker() < 0
		       ? 254
		       : try_all();
}

static void check_answers(int (*body)(void))
{
	int row;

	memcpy(dir, TEMPLATE, sizeof(dir));
	assert_non_null(mkdtemp(dir));
	_cleanup_fd_ int at = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

	row = child_run(body);
	unlinkat(at, "fifo", 0);
	unlinkat(at, "file", 0);
	rmdir(dir);
	if (row > 0 && row <= (int)TRIES)
		fail_msg("%s", tries[row - 1].name);
	assert_int_equal(row, 0);
}

static void test_filter_allows_and_refuses_with_these_errnos(void **state)
{
	(void)state;
	check_answers(try_all);
}

static void test_the_filters_of_the_server_change_no_answer(void **state)
{
	(void)state;
	check_answers(try_all_below);
}

static int load_unprepared(void)
{
	struct sock_fprog filter = {0};

	if (filter_compile(syscalls_rule, &filter) < 0)
		return 1;
	/* Who may administer the system needs no no_new_privs. */
	if (geteuid() == 0 && setresuid(65534, 65534, 65534))
		return 2;
	return filter_apply(&filter) == -EACCES ? 0 : 3;
}

static void test_is_not_loaded_without_no_new_privs(void **state)
{
	(void)state;
	assert_int_equal(child_run(load_unprepared), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filter_allows_and_refuses_with_these_errnos),
		cmocka_unit_test(test_the_filters_of_the_server_change_no_answer),
		cmocka_unit_test(test_is_not_loaded_without_no_new_privs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
