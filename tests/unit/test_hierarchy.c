/* Unit tests of hierarchy: the texts are what kernels and systemd versions really say. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/hierarchy.h"
#include "common/mechanism.h"

#define UNIFIED                                                                                    \
	"24 1 259:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n"                                \
	"31 24 0:26 / /sys/fs/cgroup rw,nosuid,nodev,noexec,relatime shared:9 - cgroup2 cgroup2 "  \
	"rw,nsdelegate,memory_recursiveprot\n"
#define HYBRID                                                                                     \
	"31 23 0:28 / /sys/fs/cgroup rw,relatime - tmpfs tmpfs rw,mode=755\n"                      \
	"35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"               \
	"41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n"

static const struct {
	const char *cgroups;
	const char *mountinfo;
	int result;
	const char *path;
} cases[] = {
	{"0::/system.slice/mcp-exec.service\n", UNIFIED, 0,
	 "/sys/fs/cgroup/system.slice/mcp-exec.service"},
	{"0::/\n", UNIFIED, 0, "/sys/fs/cgroup"},
	{"8:pids:/a\n4:memory:/b\n0::/c\n", HYBRID, 0, "/sys/fs/cgroup/unified/c"},
	/* Of version 1 alone. */
	{"8:pids:/a\n4:memory:/b\n1:name=systemd:/c\n", HYBRID, -ENOENT, NULL},
	{"0::/c\n", "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw\n", -ENOENT, NULL},
	{"", UNIFIED, -ENOENT, NULL},
	{"0::/c\n", "", -ENOENT, NULL},
	/* systemd writes "-" in a name as \x2d, as it is; mountinfo writes a backslash as \134, and a blank as \040. */
	{"0::/user.slice/app-code\\x2d1.scope\n", UNIFIED, 0,
	 "/sys/fs/cgroup/user.slice/app-code\\x2d1.scope"},
	{"0::/c\n", "41 31 0:38 / /a\\040b\\134 rw - cgroup2 cgroup2 rw\n", 0, "/a b\\/c"},
	/* A part of the hierarchy is mounted, as in containers without a cgroup namespace. */
	{"0::/docker/1/x\n", "41 31 0:38 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup ro\n", 0,
	 "/sys/fs/cgroup/x"},
	{"0::/docker/1\n", "41 31 0:38 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup ro\n", 0,
	 "/sys/fs/cgroup"},
	{"0::/docker/12\n", "41 31 0:38 /docker/1 /sys/fs/cgroup ro - cgroup2 cgroup ro\n", -ENOENT,
	 NULL},
	{"0::/other\n", "40 31 0:38 /docker/1 /mnt rw - cgroup2 cgroup rw\n" UNIFIED, 0,
	 "/sys/fs/cgroup/other"},
	/* Outside of our cgroup namespace. */
	{"0::/../other\n", UNIFIED, -ENOENT, NULL},
	{"0::/..\n", UNIFIED, -ENOENT, NULL},
	{"0::/..a\n", UNIFIED, 0, "/sys/fs/cgroup/..a"},
	/* Not a mount of it, however it is called. */
	{"0::/c\n", "41 31 0:38 / /cgroup2 rw - ext4 cgroup2 rw\n", -ENOENT, NULL},
	/* Cut off. */
	{"0::", UNIFIED, -ENOENT, NULL},
	{"0::/c", "41 31 0:38 /", -ENOENT, NULL},
	{"0::/c\n", "41 31 0:38 / /a\\04 rw - cgroup2 cgroup2 rw\n", 0, "/a\\04/c"},
};

static void test_finds_the_directory(void **state)
{
	char path[PATH_MAX];

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_int_equal(hierarchy_directory(cases[i].cgroups, cases[i].mountinfo, path,
						     sizeof(path)),
				 cases[i].result);
		if (cases[i].path)
			assert_string_equal(path, cases[i].path);
	}
}

static void test_what_does_not_fit_is_refused(void **state)
{
	static char cgroups[PATH_MAX + 16];
	char path[PATH_MAX];

	(void)state;
	assert_int_equal(hierarchy_directory("0::/c\n", UNIFIED, path, 16), -ENAMETOOLONG);
	assert_int_equal(hierarchy_directory("0::/c\n", UNIFIED, path, 17), 0);
	snprintf(cgroups, sizeof(cgroups), "0::/%0*d", PATH_MAX, 0);
	assert_int_equal(hierarchy_directory(cgroups, UNIFIED, path, sizeof(path)), -ENAMETOOLONG);
}

static void test_lists_whole_words(void **state)
{
	(void)state;
	assert_true(hierarchy_lists("cpuset cpu io memory pids\n", "cpu"));
	assert_true(hierarchy_lists("memory\n", "memory"));
	assert_true(hierarchy_lists("io pids", "pids"));
	assert_false(hierarchy_lists("cpuset io\n", "cpu"));
	assert_false(hierarchy_lists("io memoryx\n", "memory"));
	assert_false(hierarchy_lists("\n", "cpu"));
	assert_false(hierarchy_lists("", "cpu"));
}

/* A process of another pid namespace is 0 here. */
static void test_knows_who_else_is_there(void **state)
{
	const pid_t ours[] = {17, 4711};

	(void)state;
	assert_true(hierarchy_only("17\n4711\n", ours, 2));
	assert_true(hierarchy_only("4711\n", ours, 2));
	assert_true(hierarchy_only("", ours, 2));
	assert_false(hierarchy_only("17\n18\n", ours, 2));
	assert_false(hierarchy_only("171\n", ours, 2));
	assert_false(hierarchy_only("0\n", ours, 2));
	assert_false(hierarchy_only("17\nx\n", ours, 2));
	assert_false(hierarchy_only("17\n", ours, 0));
}

static void test_reads_and_writes_files(void **state)
{
	char folder[] = "/tmp/mcp-exec-hierarchy-XXXXXX", text[16];
	int dir;

	(void)state;
	assert_non_null(mkdtemp(folder));
	dir = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(dir >= 0);
	/* Files of a cgroup are there or not: none is made. */
	assert_int_equal(hierarchy_write(dir, "memory.max", "1"), -ENOENT);
	assert_int_equal(hierarchy_read(dir, "memory.max", text, sizeof(text)), -ENOENT);
	assert_string_equal(text, "");
	close(openat(dir, "memory.max", O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	assert_int_equal(hierarchy_write(dir, "memory.max", "12345"), 0);
	assert_int_equal(hierarchy_read(dir, "memory.max", text, sizeof(text)), 5);
	assert_string_equal(text, "12345");
	assert_int_equal(hierarchy_read(dir, "memory.max", text, 6), 5);
	assert_int_equal(hierarchy_read(dir, "memory.max", text, 5), -EFBIG);
	assert_int_equal(unlinkat(dir, "memory.max", 0), 0);
	close(dir);
	assert_int_equal(rmdir(folder), 0);
}

static void test_each_limit_has_a_mechanism(void **state)
{
	const struct mechanism *row;
	enum cgroup_wish wish;
	uint32_t bits = 0;

	(void)state;
	for (size_t i = 0; (row = mechanism_row(i)); i++) {
		assert_int_equal(bits & row->bit, 0);
		bits |= row->bit;
		assert_string_equal(mechanism_name(row, BY_CGROUP_ALL), "cgroup");
		assert_string_equal(mechanism_name(row, BY_CGROUP_ALL & ~row->bit), row->otherwise);
	}
	assert_int_equal(bits, BY_CGROUP_ALL);
	assert_int_equal(mechanism_bits("cpuset cpu io memory hugetlb pids rdma misc\n"), bits);
	assert_int_equal(mechanism_bits("memory pids\n"), BY_CGROUP_MEMORY | BY_CGROUP_PROCESSES);
	assert_int_equal(mechanism_bits("hugetlb\n"), 0);
	for (int i = 0; i < CGROUP_WISHES; i++) {
		assert_int_equal(mechanism_wish(mechanism_wish_name((enum cgroup_wish)i), &wish),
				 0);
		assert_int_equal(wish, i);
	}
	assert_int_equal(mechanism_wish("", &wish), -EINVAL);
	assert_int_equal(mechanism_wish("autos", &wish), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_the_directory),
		cmocka_unit_test(test_what_does_not_fit_is_refused),
		cmocka_unit_test(test_lists_whole_words),
		cmocka_unit_test(test_knows_who_else_is_there),
		cmocka_unit_test(test_reads_and_writes_files),
		cmocka_unit_test(test_each_limit_has_a_mechanism),
	};

	return cmocka_run_group_tests_name("hierarchy", tests, NULL, NULL);
}
