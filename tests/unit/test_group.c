/* Unit tests of group and of the table that it writes, in a directory that stands for a delegated cgroup. What a kernel
 * does with it is seen in virtual machines. */
#include <errno.h>
#include <fcntl.h>
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
#include "policy/cgroup.h"
#include "worker/group.h"

static const struct limits limits = {
	.memory_bytes = 100 * MIB, .max_processes = 50, .cpus = 2, .by_cgroup = BY_CGROUP_ALL};

static void test_each_file_has_one_row_and_a_reason(void **state)
{
	const struct cgroup_rule *a, *b;

	(void)state;
	for (size_t i = 0; (a = cgroup_rule(i)); i++) {
		assert_true(*a->file && *a->why && a->bit & BY_CGROUP_ALL);
		for (size_t k = i + 1; (b = cgroup_rule(k)); k++)
			assert_string_not_equal(a->file, b->file);
	}
}

static void test_values_follow_the_limits(void **state)
{
	static const struct {
		const char *file, *value;
	} wanted[] = {{"memory.max", "104857600"},  {"memory.swap.max", "0"},
		      {"memory.oom.group", "1"},    {"pids.max", "50"},
		      {"cpu.max", "200000 100000"}, {"cpu.weight.nice", "10"}};
	const struct cgroup_rule *rule;
	char value[CGROUP_VALUE_BYTES];
	size_t i;

	(void)state;
	for (i = 0; (rule = cgroup_rule(i)); i++) {
		cgroup_value(i, &limits, value);
		assert_string_equal(rule->file, wanted[i].file);
		assert_string_equal(value, wanted[i].value);
	}
	assert_int_equal(i, sizeof(wanted) / sizeof(*wanted));
}

/* What stands for the delegated cgroup; a directory below it gets these files. */
struct play {
	char folder[64];
	struct delegation delegation;
	struct group group;
	int dir; /* of the group, once it was made */
};

static void make_file(int dir, const char *name, const char *text)
{
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void begin(struct play *play)
{
	*play = (struct play){.folder = "/tmp/mcp-exec-group-XXXXXX", .dir = -1};
	assert_non_null(mkdtemp(play->folder));
	play->delegation.dir = open(play->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(play->delegation.dir >= 0);
	group_init(&play->group, &play->delegation, false);
}

static void make_group(struct play *play)
{
	assert_int_equal(mkdirat(play->delegation.dir, play->group.name, 0700), 0);
	play->dir =
		openat(play->delegation.dir, play->group.name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_true(play->dir >= 0);
}

static void end(struct play *play, const char *const *files)
{
	for (; files && *files; files++)
		assert_int_equal(unlinkat(play->dir, *files, 0), 0);
	if (play->dir >= 0)
		close(play->dir);
	group_end(&play->group);
	assert_int_equal(play->group.base, -1);
	close(play->delegation.dir);
	/* That the group is gone. */
	assert_int_equal(rmdir(play->folder), 0);
}

static void test_writes_what_the_cgroup_is_to_hold(void **state)
{
	static const char *const files[] = {"memory.max", "memory.oom.group", "pids.max", NULL};
	struct limits some = limits;
	struct play play;
	char text[64];

	(void)state;
	begin(&play);
	make_group(&play);
	some.by_cgroup = BY_CGROUP_MEMORY | BY_CGROUP_PROCESSES;
	assert_int_equal(cgroup_apply(play.dir, &some), -ENOENT);
	/* Without swap in the kernel there is no file for it; the others must be there. */
	for (size_t i = 0; files[i]; i++)
		make_file(play.dir, files[i], "");
	assert_int_equal(cgroup_apply(play.dir, &some), 0);
	assert_true(hierarchy_read(play.dir, "memory.max", text, sizeof(text)) > 0);
	assert_string_equal(text, "104857600");
	assert_true(hierarchy_read(play.dir, "pids.max", text, sizeof(text)) > 0);
	assert_string_equal(text, "50");
	assert_int_equal(cgroup_apply(play.dir, &limits), -ENOENT);
	end(&play, files);
}

static void test_a_cgroup_that_cannot_be_had_is_an_error(void **state)
{
	struct play play;

	(void)state;
	begin(&play);
	/* No kernel has made files in it. */
	assert_int_equal(group_enter(&play.group, &limits), -ENOENT);
	assert_int_equal(group_enter(&play.group, &limits), -EEXIST);
	assert_int_equal(group_add(&play.group, getpid()), -ENOENT);
	end(&play, NULL);
}

static void test_reads_what_the_kernel_counted(void **state)
{
	static const char *const files[] = {"memory.events", "pids.events", "memory.peak", NULL};
	struct group_facts facts;
	struct play play;

	(void)state;
	begin(&play);
	make_group(&play);
	group_look(&play.group, &facts);
	assert_false(facts.out_of_memory || facts.refused_fork || facts.peak_bytes);
	make_file(play.dir, "memory.events",
		  "low 0\nhigh 0\nmax 12\noom 1\noom_kill 0\noom_group_kill 0\n");
	make_file(play.dir, "pids.events", "max 0\n");
	make_file(play.dir, "memory.peak", "123456789\n");
	group_look(&play.group, &facts);
	assert_false(facts.out_of_memory || facts.refused_fork);
	assert_int_equal(facts.peak_bytes, 123456789);
	make_file(play.dir, "memory.events", "low 0\noom_kill 3\noom_group_kill 1\n");
	make_file(play.dir, "pids.events", "max 7\n");
	group_look(&play.group, &facts);
	assert_true(facts.out_of_memory && facts.refused_fork);
	end(&play, files);
}

static void test_a_cgroup_stands_while_it_has_its_controllers(void **state)
{
	static const char *const files[] = {"cgroup.controllers", NULL};
	struct play play;

	(void)state;
	begin(&play);
	make_group(&play);
	assert_false(group_stands(&play.group, BY_CGROUP_MEMORY));
	make_file(play.dir, "cgroup.controllers", "cpu memory pids\n");
	assert_true(group_stands(&play.group, BY_CGROUP_ALL));
	make_file(play.dir, "cgroup.controllers", "memory\n");
	assert_true(group_stands(&play.group, BY_CGROUP_MEMORY));
	assert_false(group_stands(&play.group, BY_CGROUP_ALL));
	end(&play, files);
	assert_true(group_stands(&play.group, BY_CGROUP_ALL));
}

static void test_counts_are_found_by_their_whole_name(void **state)
{
	(void)state;
	assert_int_equal(group_count("oom 1\noom_kill 2\noom_group_kill 3\n", "oom"), 1);
	assert_int_equal(group_count("oom 1\noom_kill 2\noom_group_kill 3\n", "oom_kill"), 2);
	assert_int_equal(group_count("oom 1\noom_kill 2\noom_group_kill 3", "oom_group_kill"), 3);
	assert_int_equal(group_count("max 18446744073709551615\n", "max"), UINT64_MAX);
	assert_int_equal(group_count("", "max"), 0);
	assert_int_equal(group_count("maximum 1\n\nmax", "max"), 0);
}

static void test_names_are_its_own(void **state)
{
	struct delegation delegation = {.dir = 3};
	struct group run, next, pristine, none;

	(void)state;
	group_init(&run, &delegation, false);
	group_init(&next, &delegation, false);
	group_init(&pristine, &delegation, true);
	assert_string_not_equal(run.name, next.name);
	assert_true(group_is_one(run.name) && group_is_one(next.name) &&
		    group_is_one(pristine.name));
	assert_false(group_is_one("supervisor") || group_is_one("..") || group_is_one("run") ||
		     group_is_one("init.scope") || group_is_one("memory.max"));
	group_init(&none, NULL, false);
	assert_int_equal(none.base, -1);
	/* Nothing is done where there is none. */
	assert_int_equal(group_enter(&none, &limits), 0);
	assert_int_equal(group_add(&none, getpid()), 0);
	group_end(&none);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_file_has_one_row_and_a_reason),
		cmocka_unit_test(test_values_follow_the_limits),
		cmocka_unit_test(test_writes_what_the_cgroup_is_to_hold),
		cmocka_unit_test(test_a_cgroup_that_cannot_be_had_is_an_error),
		cmocka_unit_test(test_reads_what_the_kernel_counted),
		cmocka_unit_test(test_a_cgroup_stands_while_it_has_its_controllers),
		cmocka_unit_test(test_counts_are_found_by_their_whole_name),
		cmocka_unit_test(test_names_are_its_own),
	};

	return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}
