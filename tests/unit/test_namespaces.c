/* Unit tests of namespaces. They are entered in children, where the machine lets an ordinary process do so. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/layers.h"
#include "common/limits.h"
#include "policy/namespaces.h"

/* What a child's body returns when namespaces cannot be had here at all. */
#define NOT_HERE 77

static void test_has_one_row_for_each_namespace_of_a_run(void **state)
{
	const struct namespace_rule *rule;
	int flags = 0;

	(void)state;
	for (size_t i = 0; (rule = namespaces_rule(i)); i++) {
		assert_int_equal(flags & rule->flag, 0);
		assert_true(*rule->name && *rule->why);
		flags |= rule->flag;
	}
	assert_int_equal(flags, CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID |
					CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP);
	assert_int_equal(namespaces_rule(0)->flag, CLONE_NEWUSER);
}

static void test_each_row_earns_the_layer_of_its_name(void **state)
{
	uint32_t all = LAYER_USER_NS | LAYER_NET_NS | LAYER_PID_NS | LAYER_MOUNT_NS | LAYER_IPC_NS |
		       LAYER_UTS_NS | LAYER_CGROUP_NS;

	(void)state;
	assert_int_equal(namespaces_layers(), all);
	assert_int_equal(namespaces_rule(0)->layer, LAYER_USER_NS);
}

static int enter(uid_t uid, gid_t gid)
{
	/* Root inside of nothing is not what a run starts from. */
	if (geteuid() == 0 && (setresgid(gid, gid, gid) || setresuid(uid, uid, uid)))
		return 1;
	/* As the worker does; uid_map could not be opened if this were not undone. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0))
		return 2;
	return namespaces_enter_user() < 0 ? NOT_HERE : 0;
}

static int enter_and_map(void)
{
	uid_t uid = geteuid() ? geteuid() : 65534;
	gid_t gid = geteuid() ? getegid() : 65534;
	int r = enter(uid, gid);

	if (r)
		return r;
	return namespaces_map_ids(uid, gid) < 0 ? 3 : 0;
}

static int one_id(void)
{
	char text[64] = "";
	unsigned int inside, outside, length;
	int r = enter_and_map();

	if (r)
		return r;
	_cleanup_fd_ int fd = open("/proc/self/uid_map", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return 4;
	if (sscanf(text, "%u %u %u", &inside, &outside, &length) != 3 || inside != SANDBOX_UID ||
	    length != 1)
		return 5;
	if (getuid() != SANDBOX_UID || getgid() != SANDBOX_GID)
		return 6;
	return setgroups(0, NULL) == -1 && errno == EPERM ? 0 : 7;
}

static int maps_only_once(void)
{
	int r = enter_and_map();

	if (r)
		return r;
	return namespaces_map_ids(0, 0) < 0 ? 0 : 8;
}

static const char *const links[] = {
	"user", "net", "mnt", "ipc", "uts", "cgroup", "pid_for_children"};

#define LINKS (sizeof(links) / sizeof(*links))

static bool read_links(char text[LINKS][64])
{
	for (size_t i = 0; i < LINKS; i++) {
		char path[64];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/ns/%s", links[i]);
		n = readlink(path, text[i], sizeof(text[i]) - 1);
		text[i][n > 0 ? n : 0] = '\0';
		/* A pid namespace without a process cannot be read yet, and so is a new one. */
		if (n <= 0 && i + 1 < LINKS)
			return false;
	}
	return true;
}

static int all_are_new(void)
{
	char before[LINKS][64], after[LINKS][64];
	int r;

	if (!read_links(before))
		return 4;
	if ((r = enter_and_map()))
		return r;
	if (namespaces_enter_rest() < 0)
		return 5;
	if (!read_links(after))
		return 6;
	for (size_t i = 0; i < LINKS; i++)
		if (!strcmp(before[i], after[i]))
			return 100 + (int)i;
	return 0;
}

static int next_child_is_pid_1(void)
{
	int r = enter_and_map(), status = 0;
	pid_t pid;

	if (r)
		return r;
	if (namespaces_enter_rest() < 0)
		return 5;
	pid = fork();
	if (pid == 0)
		_exit(getpid() == 1 ? 0 : 9);
	return pid > 0 && waitpid(pid, &status, 0) == pid ? WEXITSTATUS(status) : 10;
}

static int constant_host_name(void)
{
	struct utsname name;
	int r = enter_and_map();

	if (r)
		return r;
	if (namespaces_enter_rest() < 0)
		return 5;
	/* A container may refuse it, which is then told. */
	if (namespaces_name_host() < 0)
		return NOT_HERE;
	return !uname(&name) && !strcmp(name.nodename, SANDBOX_HOSTNAME) ? 0 : 6;
}

static void try_in_child(int (*body)(void))
{
	int status = 0;
	pid_t pid = fork();

	if (pid == 0)
		_exit(body());
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status) == NOT_HERE)
		skip();
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void test_maps_one_id_and_no_group(void **state)
{
	(void)state;
	try_in_child(one_id);
}

static void test_the_map_cannot_be_written_again(void **state)
{
	(void)state;
	try_in_child(maps_only_once);
}

static void test_every_namespace_is_a_new_one(void **state)
{
	(void)state;
	try_in_child(all_are_new);
}

static void test_the_next_child_is_pid_1(void **state)
{
	(void)state;
	try_in_child(next_child_is_pid_1);
}

static void test_names_the_host_sandbox(void **state)
{
	(void)state;
	try_in_child(constant_host_name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_has_one_row_for_each_namespace_of_a_run),
		cmocka_unit_test(test_each_row_earns_the_layer_of_its_name),
		cmocka_unit_test(test_maps_one_id_and_no_group),
		cmocka_unit_test(test_the_map_cannot_be_written_again),
		cmocka_unit_test(test_every_namespace_is_a_new_one),
		cmocka_unit_test(test_the_next_child_is_pid_1),
		cmocka_unit_test(test_names_the_host_sandbox),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
