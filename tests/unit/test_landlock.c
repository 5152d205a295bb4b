/* Unit tests of landlock: in a view of its own, what is possible before the rules is refused after them. */
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/limits.h"
#include "policy/landlock.h"
#include "policy/namespaces.h"
#include "policy/view.h"
#include "tests/unit/child.h"

/* What a body returns where namespaces, or Landlock, cannot be had at all. */
#define NOT_HERE 120

/* The first ABI that knows scopes. */
#define SCOPED_ABI 6

/* Held open across pivot_root by mistake, as a hole in the construction would leave it. */
static int old_root = -1;
/* A process and an abstract socket outside of the rules. */
static pid_t outsider = -1;
static const struct sockaddr_un abstract = {.sun_family = AF_UNIX, .sun_path = "\0outside"};

static const struct view_plan no_plan;

static bool make_view(void)
{
	return !view_root(16 * MIB) && !view_pivot() && !view_workspace() && !view_devices() &&
	       !view_system(&no_plan) && !mkdir("/writable", 0700) &&
	       !mount("proc", "/writable", "proc", 0, NULL) && view_proc() == 1 &&
	       !view_leave_old() && !view_seal(false);
}

/* Each try returns 0 when it was possible, or the errno. */

static int open_below(int dir, const char *path, int flags)
{
	int fd = openat(dir, path, flags | O_CLOEXEC, 0600);

	return fd < 0 ? errno : close(fd);
}

static int read_old_root(void)
{
	return open_below(old_root, "etc/passwd", O_RDONLY);
}

static int list_old_root(void)
{
	return open_below(old_root, ".", O_RDONLY | O_DIRECTORY);
}

static int enter_old_root(void)
{
	int r = fchdir(old_root) ? errno : open_below(AT_FDCWD, "etc/passwd", O_RDONLY);

	return chdir("/") ? errno : r;
}

static int write_oom_score(void)
{
	return open_below(AT_FDCWD, "/writable/self/oom_score_adj", O_WRONLY);
}

static int mount_something(void)
{
	if (mount("x", "/tmp", "tmpfs", 0, NULL))
		return errno;
	return umount2("/tmp", MNT_DETACH) ? errno : 0;
}

static int make_root_writable(void)
{
	return mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_NOSUID | MS_NODEV, NULL) ? errno
											 : 0;
}

static int read_outsider(void)
{
	char path[64], target[64];

	snprintf(path, sizeof(path), "/proc/%d/root", outsider);
	return readlink(path, target, sizeof(target)) < 0 ? errno : 0;
}

static int trace_outsider(void)
{
	if (ptrace(PTRACE_SEIZE, outsider, NULL, NULL))
		return errno;
	return ptrace(PTRACE_DETACH, outsider, NULL, NULL) && errno != ESRCH ? errno : 0;
}

static int signal_outsider(void)
{
	return kill(outsider, 0) ? errno : 0;
}

static int connect_outside(void)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r = connect(fd, (const struct sockaddr *)&abstract, sizeof(abstract)) ? errno : 0;

	close(fd);
	return r;
}

static const struct {
	const char *name;
	int (*try)(void);
	int error; /* with the rules; without them it works */
	int abi;
} tries[] = {
	{"a file of the old root", read_old_root, EACCES, 1},
	{"the old root", list_old_root, EACCES, 1},
	{"the old root as working directory", enter_old_root, EACCES, 1},
	{"oom_score_adj of a /proc that can be written", write_oom_score, EACCES, 1},
	{"mount", mount_something, EPERM, 1},
	{"remount", make_root_writable, EPERM, 1},
	{"/proc of a process outside", read_outsider, EACCES, 1},
	{"ptrace of a process outside", trace_outsider, EPERM, 1},
	{"a signal to a process outside", signal_outsider, EPERM, SCOPED_ABI},
	{"an abstract socket outside", connect_outside, EPERM, SCOPED_ABI},
};

#define TRIES (sizeof(tries) / sizeof(*tries))

/* Returns the number of the first row, from 1, that is not as it should be. */
static int try_all(bool restricted)
{
	for (size_t i = 0; i < TRIES; i++) {
		int error = tries[i].try();

		if (restricted && landlock_abi() < tries[i].abi)
			continue;
		if (error != (restricted ? tries[i].error : 0)) {
			fprintf(stderr, "%s, %s: %s\n", tries[i].name,
				restricted ? "with rules" : "without", strerror(error));
			return (int)i + 1;
		}
	}
	return 0;
}

static int start_outsider(void)
{
	outsider = fork();
	if (outsider == 0) {
		/* For a machine on which only a parent may trace, too. */
		prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
		for (;;)
			pause();
	}
	return outsider > 0 ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
}

static int adds_to_the_view(void)
{
	int sock = start_outsider(), r;

	if (bind(sock, (const struct sockaddr *)&abstract, sizeof(abstract)))
		return 101;
	if ((r = try_all(false)))
		return r;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || landlock_apply(&no_plan) != 1)
		return 102;
	return try_all(true);
}

/* What honest programs do. */

static int make_file(const char *path)
{
	return open_below(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL);
}

static int bind_in_workspace(void)
{
	const struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "/tmp/sock"};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return bind(fd, (const struct sockaddr *)&name, sizeof(name)) || listen(fd, 1) || close(fd);
}

static int start_program(void)
{
	pid_t pid = fork();
	int status = -1;

	if (pid == 0) {
		execl("/usr/bin/env", "env", "true", NULL);
		_exit(99);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

static int leaves_what_programs_do(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || landlock_apply(&no_plan) != 1)
		return 1;
	if (mkdir("/tmp/a", 0700) || mkdir("/tmp/b", 0700) || make_file("/tmp/a/file"))
		return 2;
	if (rename("/tmp/a/file", "/tmp/b/file") || link("/tmp/b/file", "/tmp/a/link"))
		return 3;
	if (truncate("/tmp/a/link", 1) || symlink("/usr", "/tmp/a/symlink"))
		return 4;
	if (mkfifo("/dev/shm/fifo", 0600) || bind_in_workspace())
		return 5;
	if (unlink("/tmp/a/link") || unlink("/tmp/a/symlink") || rmdir("/tmp/a"))
		return 6;
	if (open_below(AT_FDCWD, "/proc/self/status", O_RDONLY) ||
	    open_below(AT_FDCWD, "/etc/passwd", O_RDONLY) ||
	    open_below(AT_FDCWD, "/", O_RDONLY | O_DIRECTORY) ||
	    open_below(AT_FDCWD, "/usr/lib", O_RDONLY | O_DIRECTORY))
		return 7;
	if (open_below(AT_FDCWD, "/dev/null", O_RDWR | O_TRUNC) ||
	    open_below(AT_FDCWD, "/dev/urandom", O_RDONLY))
		return 8;
	return start_program() || isatty(open("/dev/null", O_RDWR | O_CLOEXEC)) || errno != ENOTTY
		       ? 9
		       : 0;
}

/* Becomes pid 1 in a view, with every right in it, and runs a body there. */
static int in_a_view(int (*body)(void))
{
	uid_t uid = geteuid() ? geteuid() : 65534;
	gid_t gid = geteuid() ? getegid() : 65534;
	int status = 0;
	pid_t pid;

	if (!landlock_abi() ||
	    (geteuid() == 0 && (setresgid(gid, gid, gid) || setresuid(uid, uid, uid))))
		return NOT_HERE;
	if (namespaces_enter_user() < 0 || namespaces_map_ids(uid, gid) < 0 ||
	    namespaces_enter_rest() < 0)
		return NOT_HERE;
	old_root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	pid = fork();
	if (pid == 0)
		_exit(make_view() ? body() : NOT_HERE);
	return pid > 0 && waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 111;
}

static int adds(void)
{
	return in_a_view(adds_to_the_view);
}

static int leaves(void)
{
	return in_a_view(leaves_what_programs_do);
}

static void check_in_a_view(int (*body)(void))
{
	int r = child_run(body);

	if (r == NOT_HERE)
		skip();
	if (r > 0 && r <= (int)TRIES && body == adds)
		fail_msg("%s", tries[r - 1].name);
	assert_int_equal(r, 0);
}

static void test_refuses_what_the_view_alone_does_not(void **state)
{
	(void)state;
	check_in_a_view(adds);
}

static void test_leaves_programs_what_they_do(void **state)
{
	(void)state;
	check_in_a_view(leaves);
}

static int needs_no_new_privs(void)
{
	if (!landlock_abi() || (geteuid() == 0 && setresuid(65534, 65534, 65534)))
		return NOT_HERE;
	return landlock_apply(&no_plan) == -EPERM ? 0 : 1;
}

static void test_fails_without_no_new_privs(void **state)
{
	(void)state;
	check_in_a_view(needs_no_new_privs);
}

static void
test_only_what_the_view_shows_may_be_executed_and_only_the_workspace_changed(void **state)
{
	const uint64_t change = LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_REMOVE_FILE |
				LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_REMOVE_DIR;
	const uint64_t devices = LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_BLOCK;
	const struct landlock_rule *rule;
	size_t executing = 0, changing = 0;

	(void)state;
	for (size_t i = 0; (rule = landlock_rule(i)); i++) {
		bool executes = rule->rights & LANDLOCK_ACCESS_FS_EXECUTE;
		bool changes = rule->rights & change;

		assert_true(*rule->where && *rule->why && rule->rights);
		assert_false(executes && changes);
		assert_int_equal(rule->rights & devices, 0);
		executing += executes;
		changing += changes;
	}
	assert_int_equal(executing, 1);
	assert_int_equal(changing, 1);
}

static void test_every_right_has_a_name(void **state)
{
	const struct landlock_rule *rule;
	unsigned int n = 0;

	(void)state;
	while (landlock_right_name(n))
		n++;
	for (size_t i = 0; (rule = landlock_rule(i)); i++)
		assert_int_equal(rule->rights >> n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refuses_what_the_view_alone_does_not),
		cmocka_unit_test(test_leaves_programs_what_they_do),
		cmocka_unit_test(test_fails_without_no_new_privs),
		cmocka_unit_test(
			test_only_what_the_view_shows_may_be_executed_and_only_the_workspace_changed),
		cmocka_unit_test(test_every_right_has_a_name),
	};

	return cmocka_run_group_tests_name("landlock", tests, NULL, NULL);
}
