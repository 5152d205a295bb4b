/* Unit tests of the table of system calls, and of compiling it. */
#include <errno.h>
#include <seccomp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "policy/syscalls.h"

#define MAX_ALLOWED 150

static bool is_unconditional(const struct filter_rule *rule)
{
	return rule->conditions[0].compare == FILTER_ANY;
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
	const struct filter_rule *rule;

	for (size_t i = 0; (rule = syscalls_rule(i)); i++)
		if (!rule->error && !strcmp(rule->name, name))
			return true;
	return false;
}

static void test_every_name_is_a_system_call(void **state)
{
	const struct filter_rule *rule;

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
	const struct filter_rule *rule;
	size_t n = 0;

	(void)state;
	for (size_t i = 0; (rule = syscalls_rule(i)); i++)
		n += !rule->error && is_first_of_its_name(i);
	assert_in_range(n, 80, MAX_ALLOWED);
}

static void test_no_row_makes_another_one_void(void **state)
{
	const struct filter_rule *a, *b;

	(void)state;
	for (size_t i = 0; (a = syscalls_rule(i)); i++)
		for (size_t j = i + 1; is_unconditional(a) && (b = syscalls_rule(j)); j++)
			if (!strcmp(a->name, b->name))
				fail_msg("%s: row %zu is void after row %zu", a->name, j, i);
}

static void test_every_row_has_a_reason_and_a_known_errno(void **state)
{
	const struct filter_rule *rule;

	(void)state;
	for (size_t i = 0; (rule = syscalls_rule(i)); i++) {
		bool known = rule->error == 0 || rule->error == EPERM || rule->error == ENOSYS ||
			     rule->error == EAFNOSUPPORT || rule->error == ENOTSUP ||
			     rule->error == EXDEV || rule->error == ENOTTY ||
			     rule->error == EINVAL || rule->error == EPROTONOSUPPORT;

		if (!rule->why || !*rule->why || !known)
			fail_msg("row %zu, %s", i, rule->name);
		for (size_t c = 1; c < FILTER_CONDITIONS; c++)
			if (rule->conditions[c - 1].compare == FILTER_ANY)
				assert_int_equal(rule->conditions[c].compare, FILTER_ANY);
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
	assert_int_equal(filter_compile(syscalls_rule, &filter), 0);
	assert_in_range(filter.len, 100, 4096);
	assert_non_null(filter.filter);
	free(filter.filter);
}

static void test_compiles_the_same_every_time(void **state)
{
	struct sock_fprog a = {0}, b = {0};

	(void)state;
	assert_int_equal(filter_compile(syscalls_rule, &a), 0);
	assert_int_equal(filter_compile(syscalls_rule, &b), 0);
	assert_int_equal(a.len, b.len);
	assert_memory_equal(a.filter, b.filter, a.len * sizeof(*a.filter));
	free(a.filter);
	free(b.filter);
}

/* Half a program would be taken for a whole one. */
static void test_a_limit_on_file_size_cuts_nothing(void **state)
{
	static const rlim_t limits[] = {0, 8, 4096};
	struct sock_fprog whole = {0};

	(void)state;
	assert_int_equal(filter_compile(syscalls_rule, &whole), 0);
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		pid_t pid = fork();
		int status = 0;

		if (pid == 0) {
			const struct rlimit small = {limits[i], limits[i]};
			struct sock_fprog filter = {0};

			_exit(setrlimit(RLIMIT_FSIZE, &small) < 0 ||
			      filter_compile(syscalls_rule, &filter) != 0 ||
			      filter.len != whole.len);
		}
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
	}
	free(whole.filter);
}

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
		cmocka_unit_test(test_a_limit_on_file_size_cuts_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
