/* Unit tests of remedy: one row here for each row of its table, and the order among them. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/remedy.h"
#include "common/utf8.h"

#define TEXT_BYTES 1024

/* A machine on which nothing stands in the way. */
#define PLAIN                                                                                      \
	{                                                                                          \
		.userns_clone = 1, .max_user_namespaces = 1000, .apparmor_userns = -1              \
	}
#define SWITCHED_OFF                                                                               \
	{                                                                                          \
		.userns_clone = 0, .max_user_namespaces = 1000, .apparmor_userns = -1              \
	}
#define UBUNTU                                                                                     \
	{                                                                                          \
		.userns_clone = -1, .max_user_namespaces = 1000, .apparmor_userns = 1              \
	}
#define UBUNTU_OFF                                                                                 \
	{                                                                                          \
		.userns_clone = -1, .max_user_namespaces = 1000, .apparmor_userns = 0              \
	}
#define DOCKER                                                                                     \
	{                                                                                          \
		.userns_clone = -1, .apparmor_userns = -1, .container = true, .filtered = true     \
	}
#define UBUNTU_DOCKER                                                                              \
	{                                                                                          \
		.userns_clone = -1, .apparmor_userns = 1, .container = true, .filtered = true      \
	}
#define UNIT                                                                                       \
	{                                                                                          \
		.userns_clone = 1, .apparmor_userns = -1, .filtered = true                         \
	}
#define UNIT_WITHOUT_SYSCTLS                                                                       \
	{                                                                                          \
		.userns_clone = -1, .max_user_namespaces = -1, .apparmor_userns = -1,              \
		.filtered = true                                                                   \
	}

struct remedy_case {
	enum stage stage;
	int error;
	struct remedy_facts facts;
	const char *head;
	const char *cure;
};

static const struct remedy_case CASES[] = {
	{STAGE_USER_NAMESPACE, EPERM, SWITCHED_OFF,
	 "making a user namespace (user_namespace, EPERM)",
	 "sysctl -w kernel.unprivileged_userns_clone=1"},
	{STAGE_USER_NAMESPACE, ENOSPC, PLAIN, "(user_namespace, ENOSPC)",
	 "sysctl -w user.max_user_namespaces="},
	{STAGE_NAMESPACES, ENOSPC, PLAIN, "(namespaces, ENOSPC)", "user.max_{net,pid,"},
	{STAGE_USER_NAMESPACE, EPERM, DOCKER, "(user_namespace, EPERM)",
	 "allows unshare, mount, umount2 and pivot_root"},
	{STAGE_NAMESPACES, EPERM, DOCKER, "(namespaces, EPERM)", "systempaths=unconfined"},
	{STAGE_ROOT, EPERM, DOCKER, "(root, EPERM)", "apparmor=unconfined"},
	{STAGE_PIVOT, EPERM, UBUNTU_DOCKER, "(pivot_root, EPERM)",
	 "--security-opt seccomp=PROFILE"},
	{STAGE_ROOT, EACCES, DOCKER, "(root, EACCES)", "AppArmor profile refuses mounts"},
	{STAGE_SYSTEM, EACCES, UBUNTU_DOCKER, "(system, EACCES)",
	 "AppArmor profile refuses mounts"},
	{STAGE_ID_MAP, EPERM, UBUNTU_DOCKER, "(id_map, EPERM)", "--security-opt apparmor=NAME"},
	{STAGE_USER_NAMESPACE, EACCES, UBUNTU, "(user_namespace, EACCES)",
	 "`userns,` for the mcp-exec-worker binary"},
	{STAGE_ID_MAP, EACCES, UBUNTU, "(id_map, EACCES)",
	 "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0"},
	{STAGE_ID_MAP, EPERM, UBUNTU, "(id_map, EPERM)",
	 "kernel.apparmor_restrict_unprivileged_userns=1"},
	{STAGE_NAMESPACES, EPERM, UBUNTU, "(namespaces, EPERM)", "AppArmor restricts"},
	{STAGE_ROOT, EACCES, UBUNTU, "(root, EACCES)", "AppArmor restricts"},
	{STAGE_USER_NAMESPACE, EACCES, UBUNTU_OFF, "(user_namespace, EACCES)",
	 "the rule `userns,`"},
	{STAGE_SECCOMP, EINVAL, PLAIN, "(seccomp, EINVAL)", "CONFIG_SECCOMP_FILTER"},
	{STAGE_LOOPBACK, EAFNOSUPPORT, UNIT, "(loopback, EAFNOSUPPORT)", "AF_NETLINK"},
	{STAGE_LANDLOCK, EPERM, DOCKER, "rules of Landlock (landlock, EPERM)",
	 "landlock_restrict_self"},
	{STAGE_LOOPBACK, 0, PLAIN, "the loopback interface (loopback).", "AF_NETLINK"},
	{STAGE_USER_NAMESPACE, EPERM, UNIT, "(user_namespace, EPERM)", "RestrictNamespaces="},
	{STAGE_AFFINITY, EPERM, UNIT, "granting CPUs (affinity, EPERM)", "SystemCallFilter="},
	{STAGE_PIVOT, ENOSYS, UNIT, "(pivot_root, ENOSYS)", "SystemCallFilter="},
	{STAGE_USER_NAMESPACE, EPERM, UNIT, "(user_namespace, EPERM)", "fails in a shell, too"},
	{STAGE_PIVOT, ENOSYS, DOCKER, "(pivot_root, ENOSYS)", "mcp-exec check"},
	{STAGE_USER_NAMESPACE, EPERM, PLAIN, "(user_namespace, EPERM)", "chroot"},
	{STAGE_USER_NAMESPACE, EINVAL, PLAIN, "(user_namespace, EINVAL)", "CONFIG_USER_NS"},
	{STAGE_NAMESPACES, ENOSYS, PLAIN, "(namespaces, ENOSYS)", "CONFIG_PID_NS"},
	{STAGE_DESCRIPTORS, ENOSYS, PLAIN, "(descriptors, ENOSYS)", "Linux 5.9"},
	{STAGE_EXEC, ENOENT, PLAIN, "(exec, ENOENT)", "set MCP_EXEC_PYTHON"},
	{STAGE_EXEC, EACCES, PLAIN, "(exec, EACCES)", "lies outside of what a run can see"},
	{STAGE_WORKER, ENOENT, PLAIN, "starting the worker (worker, ENOENT)",
	 "install mcp-exec again"},
	{STAGE_WORKER, ECHILD, PLAIN, "(worker, ECHILD)", "lines on stderr say why"},
	{STAGE_WORKER, 0, PLAIN, "starting the worker (worker).", "lines on stderr say why"},
	{STAGE_WATCH, ENOENT, PLAIN, "memory in /proc (watch, ENOENT)", "--mount-proc"},
	{STAGE_USER_NAMESPACE, EPERM, UNIT_WITHOUT_SYSCTLS, "(user_namespace, EPERM)",
	 "as an ordinary user in a shell"},
	{STAGE_NAMESPACES, EPERM, UNIT_WITHOUT_SYSCTLS, "(namespaces, EPERM)", "SystemCallFilter="},
	{STAGE_WATCH, EPERM, UNIT, "memory in /proc (watch, EPERM)", "ProtectProc="},
	{STAGE_FORK, EAGAIN, PLAIN, "(fork, EAGAIN)", "ulimit -u"},
	{STAGE_WORKER, EAGAIN, PLAIN, "(worker, EAGAIN)", "ulimit -u"},
	{STAGE_CAPTURE, EMFILE, PLAIN, "(capture, EMFILE)", "ulimit -n"},
	{STAGE_CAPTURE, ENFILE, PLAIN, "(capture, ENFILE)", "fs.file-max"},
	{STAGE_SECCOMP, EFBIG, PLAIN, "(seccomp, EFBIG)", "ulimit -f"},
	{STAGE_WORKER, EFBIG, DOCKER, "(worker, EFBIG)", "LimitFSIZE="},
	{STAGE_LIMITS, EFBIG, PLAIN, "setting resource limits (limits, EFBIG)", "ulimit -f"},
	{STAGE_LIMITS, ENOMEM, PLAIN, "(limits, ENOMEM)", "ulimit -v, -d and -s"},
	{STAGE_WORKSPACE, ENOMEM, PLAIN, "(workspace, ENOMEM)", "Memory is out"},
	{STAGE_SESSION, EPERM, PLAIN, "(session, EPERM)", "mcp-exec check"},
	{STAGE_AFFINITY, EPERM, DOCKER, "(affinity, EPERM)", "mcp-exec check"},
	{STAGE_NONE, 0, PLAIN, "failed while nothing (none).", "mcp-exec check"},
	{STAGE_COUNT, EIO, PLAIN, "(unknown, EIO)", "mcp-exec check"},
};

static void test_names_the_stage_and_the_cure(void **state)
{
	char text[TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
		const struct remedy_case *c = &CASES[i];
		size_t len = remedy_sentence(text, sizeof(text), c->stage, c->error, &c->facts,
					     "python3");

		assert_int_equal(len, strlen(text));
		assert_memory_equal(text, "The sandbox could not be built: ", 32);
		if (!strstr(text, c->head) || !strstr(text, c->cure))
			fail_msg("row %zu: %s", i, text);
	}
}

struct python_case {
	int reason;
	const char *cure;
};

static const struct python_case PYTHONS[] = {
	{INTERPRETER_NOT_FOUND, "Install python3"},
	{INTERPRETER_NOT_RUNNABLE, "that this user may run"},
	{INTERPRETER_NO_ANSWER, "does not answer as a Python does"},
	{INTERPRETER_NOT_PYTHON3, "no Python 3 of a supported version"},
	{INTERPRETER_UNSAFE_PREFIX, "its prefix is /, the home directory or above it"},
	{INTERPRETER_OK, "that this user may run"},
	{INTERPRETER_REASON_COUNT, "that this user may run"},
	{INT32_MAX, "that this user may run"},
};

static void test_names_the_interpreter_and_what_to_do_about_it(void **state)
{
	static const struct remedy_facts facts = PLAIN;
	char text[TEXT_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(PYTHONS) / sizeof(PYTHONS[0]); i++) {
		remedy_sentence(text, sizeof(text), STAGE_INTERPRETER, PYTHONS[i].reason, &facts,
				"/opt/py/bin/python3");
		assert_non_null(strstr(text, "MCP_EXEC_PYTHON is \"/opt/py/bin/python3\": "));
		assert_non_null(strstr(text, "(interpreter)"));
		assert_non_null(strstr(text, PYTHONS[i].cure));
	}
	remedy_sentence(text, sizeof(text), STAGE_INTERPRETER, INTERPRETER_NOT_FOUND, &facts, NULL);
	assert_non_null(strstr(text, "\"python3\""));
}

/* A path of two-byte characters, so that a cut in the middle of one would show; longer than any bound. */
static void test_keeps_the_cure_behind_a_long_path(void **state)
{
	static const struct remedy_facts facts = PLAIN;
	char python[4001], text[TEXT_BYTES];

	(void)state;
	for (size_t i = 1; i < 4000; i += 2)
		memcpy(python + i, "\xC3\xA9", 2);
	python[0] = '/';
	python[4000] = '\0';
	remedy_sentence(text, sizeof(text), STAGE_INTERPRETER, INTERPRETER_NOT_FOUND, &facts,
			python);
	assert_non_null(strstr(text, "Install python3"));
	assert_true(utf8_valid(text, strlen(text)));
}

static void test_ends_every_text_within_its_size(void **state)
{
	static const struct remedy_facts facts = PLAIN;
	char text[TEXT_BYTES];

	(void)state;
	for (size_t size = 1; size < 300; size++) {
		size_t len;

		memset(text, 'x', sizeof(text));
		len = remedy_sentence(text, size, STAGE_INTERPRETER, INTERPRETER_NOT_FOUND, &facts,
				      "\xF0\x9F\x90\x8D\xC3\xA9\xE2\x82\xAC");
		assert_true(len < size);
		assert_int_equal(strlen(text), len);
		assert_true(utf8_valid(text, len));
		assert_int_equal(text[size], 'x');
	}
	assert_int_equal(remedy_sentence(text, 0, STAGE_ROOT, EPERM, &facts, NULL), 0);
}

static void test_reads_the_facts_of_this_machine(void **state)
{
	static const char path[] = "/proc/sys/user/max_user_namespaces";
	struct remedy_facts facts;

	(void)state;
	memset(&facts, 0x55, sizeof(facts));
	remedy_facts(&facts, 0);
	if (access(path, R_OK) == 0)
		assert_true(facts.max_user_namespaces >= 0);
	else
		assert_int_equal(facts.max_user_namespaces, -1);
	if (access("/proc/sys/kernel/unprivileged_userns_clone", F_OK) != 0)
		assert_int_equal(facts.userns_clone, -1);
	if (access("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", F_OK) != 0)
		assert_int_equal(facts.apparmor_userns, -1);
	/* Nobody has as many filters. */
	remedy_facts(&facts, 1000);
	assert_false(facts.filtered);
	if (access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0)
		assert_true(facts.container);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names_the_stage_and_the_cure),
		cmocka_unit_test(test_names_the_interpreter_and_what_to_do_about_it),
		cmocka_unit_test(test_keeps_the_cure_behind_a_long_path),
		cmocka_unit_test(test_ends_every_text_within_its_size),
		cmocka_unit_test(test_reads_the_facts_of_this_machine),
	};

	return cmocka_run_group_tests_name("remedy", tests, NULL, NULL);
}
