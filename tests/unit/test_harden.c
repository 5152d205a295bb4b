/* Unit tests of harden. Each runs in a child, for nothing of it can be undone; those that need root are skipped without
 * it. */
#include <errno.h>
#include <grp.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/signals.h"
#include "supervisor/harden.h"
#include "tests/unit/child.h"

static char error[256];

static void need_root(void)
{
	if (geteuid() != 0)
		skip();
}

static void early(void)
{
	struct rlimit before, core;
	struct sigaction pipe_action;

	umask(0);
	CHECK(getrlimit(RLIMIT_CORE, &before) == 0);
	CHECK(harden_early() == 0);
	CHECK(prctl(PR_GET_DUMPABLE) == 0);
	CHECK(getrlimit(RLIMIT_CORE, &core) == 0 && core.rlim_cur == 0);
	CHECK(core.rlim_max == before.rlim_max);
	CHECK(sigaction(SIGPIPE, NULL, &pipe_action) == 0 && pipe_action.sa_handler == SIG_IGN);
	CHECK(umask(0) == 022);
}

/* What a careless parent leaves behind. */
static void signals_inherited(void)
{
	unsigned long kernels[8] = {1};
	sigset_t all, now;
	struct sigaction action;

	signal(SIGCHLD, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	CHECK(harden_early() == 0);
	sigprocmask(SIG_SETMASK, NULL, &now);
	for (int number = 1; number <= SIGRTMAX; number++) {
		bool ignored = number == SIGPIPE || number == SIGXFSZ || number == SIGHUP;

		if (sigaction(number, NULL, &action) < 0)
			continue;
		CHECK(action.sa_handler == (ignored ? SIG_IGN : SIG_DFL));
		CHECK(sigismember(&now, number) != 1);
	}
	/* One that libc keeps to itself: the kernel's struct begins with the handler, and 1 is SIG_IGN. */
	CHECK(syscall(SYS_rt_sigaction, 32, kernels, NULL, (size_t)_NSIG / 8) == 0);
	signals_reset();
	CHECK(syscall(SYS_rt_sigaction, 32, NULL, kernels, (size_t)_NSIG / 8) == 0);
	CHECK(kernels[0] == 0);
	CHECK(sigaction(SIGHUP, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
	CHECK(sigaction(SIGXFSZ, NULL, &action) == 0 && action.sa_handler == SIG_DFL);
}

static void limits_inherited(void)
{
	struct rlimit limit = {.rlim_cur = 20, .rlim_max = 100};

	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0 && setrlimit(RLIMIT_FSIZE, &limit) == 0);
	CHECK(harden_early() == 0);
	CHECK(getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur == 100);
	CHECK(getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur == 100);
}

/* As bash's ulimit -S leaves them. */
static void soft_limits_inherited(void)
{
	static const __rlimit_resource_t resources[] = {RLIMIT_AS, RLIMIT_DATA, RLIMIT_CPU,
							RLIMIT_NPROC, RLIMIT_STACK};
	struct rlimit limit, after;

	for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++) {
		CHECK(getrlimit(resources[i], &limit) == 0);
		limit.rlim_cur = limit.rlim_max > 1000000 ? 1000000 : 1;
		CHECK(setrlimit(resources[i], &limit) == 0 && harden_early() == 0);
		CHECK(getrlimit(resources[i], &after) == 0 && after.rlim_max == limit.rlim_max);
		if (resources[i] == RLIMIT_STACK && limit.rlim_max > 8 << 20)
			limit.rlim_max = 8 << 20;
		CHECK(after.rlim_cur == limit.rlim_max);
	}
	CHECK(harden_limits(error, sizeof(error)) == 0);
}

static void few_files(void)
{
	struct rlimit limit = {.rlim_cur = 11, .rlim_max = 11};

	CHECK(setrlimit(RLIMIT_NOFILE, &limit) == 0);
	CHECK(harden_limits(error, sizeof(error)) == -EMFILE && strstr(error, "ulimit -n"));
}

static void small_stack(void)
{
	struct rlimit limit = {.rlim_cur = 100000, .rlim_max = 100000};

	CHECK(setrlimit(RLIMIT_STACK, &limit) == 0);
	CHECK(harden_limits(error, sizeof(error)) == -ENOMEM && strstr(error, "ulimit -s"));
}

static void late(void)
{
	prctl(PR_SET_DUMPABLE, 1);
	CHECK(harden_late() == 0);
	CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1);
	CHECK(prctl(PR_GET_DUMPABLE) == 0);
}

static void becomes_number(void)
{
	const gid_t extra = 4;
	uid_t ids[3];

	CHECK(setgroups(1, &extra) == 0);
	CHECK(harden_user("54321", error, sizeof(error)) == 0);
	CHECK(getresuid(&ids[0], &ids[1], &ids[2]) == 0);
	CHECK(ids[0] == 54321 && ids[1] == 54321 && ids[2] == 54321);
	CHECK(getgid() == 54321 && getegid() == 54321 && getgroups(0, NULL) == 0);
	CHECK(setuid(0) < 0 && setgid(0) < 0);
	CHECK(strcmp(getenv("HOME"), "/") == 0 && strcmp(getenv("USER"), "54321") == 0);
	CHECK(strcmp(getenv("LOGNAME"), "54321") == 0);
}

static void becomes_somebody(void)
{
	CHECK(harden_user(NULL, error, sizeof(error)) == 0);
	CHECK(getuid() != 0 && getgid() != 0 && getgroups(0, NULL) == 0);
}

static void refuses_hidden_root(void)
{
	CHECK(setresuid(0, 54321, 54321) == 0);
	CHECK(harden_user(NULL, error, sizeof(error)) == -EPERM);
	CHECK(strstr(error, "root again") != NULL);
}

static void refuses_saved_root(void)
{
	CHECK(setresuid(54321, 54321, 0) == 0);
	CHECK(harden_user("54321", error, sizeof(error)) == -EPERM);
}

static void refuses_root(void)
{
	CHECK(harden_user("root", error, sizeof(error)) == -EINVAL);
	CHECK(strstr(error, "MCP_EXEC_USER") != NULL);
	CHECK(harden_user("0", error, sizeof(error)) == -EINVAL);
	CHECK(geteuid() == 0);
}

static void refuses_unknown(void)
{
	static const char *const unknown[] = {"no such user", "12x", "4294967295", "4294967296",
					      "-1"};

	for (size_t i = 0; i < sizeof(unknown) / sizeof(unknown[0]); i++) {
		error[0] = '\0';
		CHECK(harden_user(unknown[i], error, sizeof(error)) < 0);
		CHECK(strstr(error, "MCP_EXEC_USER") != NULL);
	}
}

static void shows_the_unknown(void)
{
	CHECK(harden_user("no\x1b user", error, sizeof(error)) == -ENOENT);
	CHECK(strstr(error, "\"no? user\"") != NULL);
}

/* Without a descriptor the user database cannot be read. Whether there is a user mcp-exec is then unknown. */
static void cannot_look(void)
{
	const struct rlimit none = {.rlim_cur = 3, .rlim_max = 3};

	CHECK(setrlimit(RLIMIT_NOFILE, &none) == 0);
	CHECK(harden_user("somebody", error, sizeof(error)) == -EMFILE);
	CHECK(strstr(error, "\"somebody\"") != NULL &&
	      strstr(error, "cannot be looked up") != NULL);
	CHECK(harden_user("54321", error, sizeof(error)) == -EMFILE);
	if (geteuid() == 0) {
		CHECK(harden_user(NULL, error, sizeof(error)) == -EMFILE);
		CHECK(geteuid() == 0);
	}
}

static void unprivileged_cannot_change(void)
{
	char own[32];

	if (geteuid() == 0)
		CHECK(setgid(54321) == 0 && setuid(54321) == 0);
	CHECK(harden_user(NULL, error, sizeof(error)) == 0);
	snprintf(own, sizeof(own), "%u", geteuid());
	CHECK(harden_user(own, error, sizeof(error)) == 0);
	CHECK(harden_user("54322", error, sizeof(error)) == -EPERM);
	CHECK(strstr(error, "MCP_EXEC_USER") != NULL);
}

static void test_nothing_of_ours_can_be_dumped(void **state)
{
	(void)state;
	child_check(early);
}

static void test_inherited_signals_are_reset(void **state)
{
	(void)state;
	child_check(signals_inherited);
}

static void test_soft_limits_on_files_are_raised(void **state)
{
	(void)state;
	child_check(limits_inherited);
	child_check(soft_limits_inherited);
	child_check(few_files);
	child_check(small_stack);
}

static void test_sentence_shows_the_user(void **state)
{
	(void)state;
	child_check(shows_the_unknown);
}

static void test_a_user_that_cannot_be_looked_up_is_no_other_one(void **state)
{
	(void)state;
	child_check(cannot_look);
}

static void test_no_new_privileges_at_the_end(void **state)
{
	(void)state;
	child_check(late);
}

static void test_root_becomes_a_number_without_a_passwd_entry(void **state)
{
	(void)state;
	need_root();
	child_check(becomes_number);
}

static void test_root_without_a_user_becomes_somebody_unprivileged(void **state)
{
	(void)state;
	need_root();
	child_check(becomes_somebody);
}

static void test_refuses_to_stay_root(void **state)
{
	(void)state;
	need_root();
	child_check(refuses_root);
}

static void test_refuses_root_behind_another_user(void **state)
{
	(void)state;
	need_root();
	child_check(refuses_hidden_root);
	child_check(refuses_saved_root);
}

static void test_refuses_users_that_do_not_exist(void **state)
{
	(void)state;
	child_check(refuses_unknown);
}

static void test_an_unprivileged_user_can_only_be_itself(void **state)
{
	(void)state;
	child_check(unprivileged_cannot_change);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_of_ours_can_be_dumped),
		cmocka_unit_test(test_inherited_signals_are_reset),
		cmocka_unit_test(test_soft_limits_on_files_are_raised),
		cmocka_unit_test(test_sentence_shows_the_user),
		cmocka_unit_test(test_a_user_that_cannot_be_looked_up_is_no_other_one),
		cmocka_unit_test(test_no_new_privileges_at_the_end),
		cmocka_unit_test(test_root_becomes_a_number_without_a_passwd_entry),
		cmocka_unit_test(test_root_without_a_user_becomes_somebody_unprivileged),
		cmocka_unit_test(test_refuses_to_stay_root),
		cmocka_unit_test(test_refuses_root_behind_another_user),
		cmocka_unit_test(test_refuses_users_that_do_not_exist),
		cmocka_unit_test(test_an_unprivileged_user_can_only_be_itself),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
