/* Unit tests of config. */
#include <ctype.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/config.h"

/* The environment of a test: pairs, ended by NULL. */
static const char *lookup(void *ctx, const char *variable)
{
	const char *const *pairs = ctx;

	for (; pairs[0] != NULL; pairs += 2)
		if (strcmp(pairs[0], variable) == 0)
			return pairs[1];
	return NULL;
}

static char error[512];

static int read_with(struct config *config, const char *variable, const char *value)
{
	const char *pairs[] = {variable, value, NULL};

	error[0] = '\0';
	return config_read(config, lookup, pairs, error, sizeof(error));
}

static void assert_refused(const char *variable, const char *value, const char *part)
{
	struct config config;

	assert_int_equal(read_with(&config, variable, value), -EINVAL);
	assert_non_null(strstr(error, variable));
	assert_non_null(strstr(error, part));
}

static void test_defaults_are_those_of_limits_h(void **state)
{
	struct config config;

	(void)state;
	assert_int_equal(read_with(&config, "X", ""), 0);
	assert_int_equal(config.transport, TRANSPORT_STDIO);
	assert_int_equal(config.default_timeout_s, DEFAULT_TIMEOUT_S);
	assert_int_equal(config.max_timeout_s, MAX_TIMEOUT_S);
	assert_int_equal(config.max_output_bytes, MAX_OUTPUT_BYTES);
	assert_int_equal(config.max_stdin_bytes, MAX_STDIN_BYTES);
	assert_int_equal(config.max_code_bytes, MAX_CODE_BYTES);
	assert_int_equal(config.max_queue, MAX_QUEUE);
	assert_string_equal(config.python, "python3");
	assert_null(config.user);
	assert_int_equal(config.limits.memory_bytes, MEMORY_BYTES);
	assert_int_equal(config.limits.tmp_bytes, TMP_BYTES);
	assert_int_equal(config.limits.max_processes, MAX_PROCESSES);
	assert_int_equal(config.limits.cpus, MAX_CPUS);
	assert_int_equal(config.limits.max_cpu_s, MAX_TIMEOUT_S);
	assert_true(config.warm.on);
	assert_int_equal(config.warm.idle_s, WARM_IDLE_S);
	assert_int_equal(config.warm.modules.n, WARM_KNOWN);
	assert_null(config.preload);
	assert_int_equal(config.log_level, LOG_INFO);
	assert_null(config.addr);
	assert_null(config.auth_token_file);
	assert_null(config.allowed_origins);
	assert_null(config.allowed_hosts);
	assert_int_equal(config.max_connections, MAX_CONNECTIONS);
	assert_int_equal(config.max_sessions, MAX_SESSIONS);
	assert_int_equal(config.session_idle_s, SESSION_IDLE_S);
	assert_int_equal(config.drain_s, DRAIN_S);
	assert_false(config.timeout_lowered);
}

static void test_values_reach_their_members(void **state)
{
	const char *pairs[] = {"MCP_EXEC_MEMORY_BYTES",
			       "8589934592",
			       "MCP_EXEC_USER",
			       "nobody",
			       "MCP_EXEC_LOG_LEVEL",
			       "debug",
			       "MCP_EXEC_CPUS",
			       "2",
			       "MCP_EXEC_PYTHON",
			       "/opt/py",
			       NULL};
	struct config config;

	(void)state;
	assert_int_equal(config_read(&config, lookup, pairs, error, sizeof(error)), 0);
	assert_true(config.limits.memory_bytes == UINT64_C(8589934592));
	assert_string_equal(config.user, "nobody");
	assert_string_equal(config.python, "/opt/py");
	assert_int_equal(config.log_level, LOG_DEBUG);
	assert_int_equal(config.limits.cpus, 2);
	assert_int_equal(config.limits.tmp_bytes, TMP_BYTES);
}

static void test_warm_starts_are_a_choice_of_the_operator(void **state)
{
	struct config config;

	(void)state;
	assert_int_equal(read_with(&config, "MCP_EXEC_WARM", "0"), 0);
	assert_false(config.warm.on);
	assert_int_equal(config.warm.idle_s, WARM_IDLE_S);
	assert_int_equal(read_with(&config, "MCP_EXEC_WARM", "1"), 0);
	assert_true(config.warm.on);
	assert_refused("MCP_EXEC_WARM", "yes", "it must be 0|1.");
	assert_refused("MCP_EXEC_WARM", "2", "it must be 0|1.");
	assert_int_equal(read_with(&config, "MCP_EXEC_WARM_IDLE_S", "86400"), 0);
	assert_int_equal(config.warm.idle_s, 86400);
	assert_refused("MCP_EXEC_WARM_IDLE_S", "0", "from 1 to 86400");
}

static void test_modules_to_preload_are_names(void **state)
{
	struct config config;

	(void)state;
	assert_int_equal(read_with(&config, "MCP_EXEC_PRELOAD", "scipy.stats, numpy"), 0);
	assert_string_equal(config.preload, "scipy.stats, numpy");
	assert_int_equal(config.warm.modules.n, WARM_KNOWN + 1);
	assert_int_equal(config.warm.modules.always, 1 << 0 | 1 << WARM_KNOWN);
	assert_refused("MCP_EXEC_PRELOAD", "os,os.system('x')", "begins with \"os.system('x')\"");
	assert_refused("MCP_EXEC_PRELOAD", "a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p,q",
		       "not name more than 16 modules");
}

static void test_empty_counts_as_not_set(void **state)
{
	struct config config;

	(void)state;
	assert_int_equal(read_with(&config, "MCP_EXEC_CPUS", ""), 0);
	assert_int_equal(config.limits.cpus, MAX_CPUS);
}

static void test_refuses_what_is_no_plain_number(void **state)
{
	static const char *const bad[] = {"abc",
					  "+5",
					  "-1",
					  " 5",
					  "5 ",
					  "5.0",
					  "0x10",
					  "1e3",
					  "5s",
					  "18446744073709551617",
					  "18446744073709551621",
					  "99999999999999999999999"};

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_refused("MCP_EXEC_MAX_TIMEOUT_S", bad[i], "from 1 to 86400");
		if (strlen(bad[i]) < 30)
			assert_non_null(strstr(error, bad[i]));
	}
}

static void test_refuses_numbers_outside_their_bounds(void **state)
{
	struct config config;
	char text[32];
	const struct config_setting *setting;

	(void)state;
	for (size_t i = 0; (setting = config_setting(i)) != NULL; i++) {
		if (setting->kind != CONFIG_NUMBER)
			continue;
		snprintf(text, sizeof(text), "%ju", (uintmax_t)setting->max);
		assert_int_equal(read_with(&config, setting->variable, text), 0);
		snprintf(text, sizeof(text), "%ju", (uintmax_t)setting->max + 1);
		assert_refused(setting->variable, text, text);
		snprintf(text, sizeof(text), "%ju", (uintmax_t)setting->min);
		assert_int_equal(read_with(&config, setting->variable, text), 0);
		if (setting->min > 0)
			assert_refused(setting->variable, "0", "\"0\"");
	}
}

static void test_default_timeout_is_lowered_to_the_maximum(void **state)
{
	struct config config;

	(void)state;
	assert_int_equal(read_with(&config, "MCP_EXEC_MAX_TIMEOUT_S", "10"), 0);
	assert_int_equal(config.default_timeout_s, 10);
	assert_int_equal(config.limits.max_cpu_s, 10);
	assert_true(config.timeout_lowered);
}

static void test_names_the_choices(void **state)
{
	(void)state;
	assert_refused("MCP_EXEC_LOG_LEVEL", "loud", "error|warn|info|debug");
	assert_refused("MCP_EXEC_LOG_LEVEL", "err", "error|warn|info|debug");
	assert_refused("MCP_EXEC_TRANSPORT", "tcp", "must be stdio|http|sse");
	assert_refused("MCP_EXEC_TRANSPORT", "HTTP", "must be stdio|http|sse");
}

static void test_transports_have_their_names(void **state)
{
	static const char *const names[] = {"stdio", "http", "sse"};
	static const enum transport transports[] = {TRANSPORT_STDIO, TRANSPORT_HTTP, TRANSPORT_SSE};
	struct config config;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		assert_int_equal(read_with(&config, "MCP_EXEC_TRANSPORT", names[i]), 0);
		assert_int_equal(config.transport, transports[i]);
		assert_string_equal(config_transport_name(config.transport), names[i]);
	}
}

/* Whoever mixes up the two variables of the token does not find it in a log. */
static void test_what_may_be_a_token_is_not_shown(void **state)
{
	(void)state;
	assert_refused("MCP_EXEC_AUTH_TOKEN_FILE", "s3cret\n", "control characters");
	assert_null(strstr(error, "s3cret"));
	assert_refused("MCP_EXEC_AUTH_TOKEN_FILE", "/run/token\n", "/run/token");
}

static void test_refuses_control_characters(void **state)
{
	(void)state;
	assert_refused("MCP_EXEC_PYTHON", "py\nthon", "control characters");
	assert_null(strchr(error, '\n'));
	assert_refused("MCP_EXEC_USER", "a\x7f", "control characters");
	assert_refused("MCP_EXEC_USER", "\x1b[1m", "control characters");
	assert_null(strchr(error, '\x1b'));
}

static void test_refuses_a_relative_interpreter_path(void **state)
{
	(void)state;
	assert_refused("MCP_EXEC_PYTHON", "venv/bin/python", "full path");
	assert_refused("MCP_EXEC_PYTHON", "./python", "full path");
}

static void test_long_values_are_shortened(void **state)
{
	char value[8000];

	(void)state;
	memset(value, '9', sizeof(value) - 1);
	value[sizeof(value) - 1] = '\0';
	assert_refused("MCP_EXEC_CPUS", value, "999...\"");
	assert_true(strlen(error) < 200);
	assert_refused("MCP_EXEC_USER", value, "shorter");
}

static void test_flag_is_the_name_of_the_variable(void **state)
{
	const struct config_setting *setting;
	size_t i;

	(void)state;
	for (i = 0; (setting = config_setting(i)) != NULL; i++) {
		const char *name = setting->variable + strlen("MCP_EXEC_");

		assert_int_equal(strlen(name), strlen(setting->flag));
		for (size_t k = 0; name[k] != '\0'; k++)
			assert_int_equal(setting->flag[k], name[k] == '_' ? '-' : tolower(name[k]));
		assert_ptr_equal(config_find_flag(setting->flag, strlen(setting->flag)), setting);
		assert_true(strlen(setting->help) > 10);
	}
	assert_int_equal(i, 27);
	assert_null(config_find_flag("cpu", 3));
	assert_null(config_find_flag("cpuss", 5));
}

static void test_message_max_has_room_for_escapes(void **state)
{
	struct config config;

	(void)state;
	assert_int_equal(read_with(&config, "X", ""), 0);
	assert_int_equal(config_message_max(&config), 31522816);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_defaults_are_those_of_limits_h),
		cmocka_unit_test(test_values_reach_their_members),
		cmocka_unit_test(test_warm_starts_are_a_choice_of_the_operator),
		cmocka_unit_test(test_modules_to_preload_are_names),
		cmocka_unit_test(test_empty_counts_as_not_set),
		cmocka_unit_test(test_refuses_what_is_no_plain_number),
		cmocka_unit_test(test_refuses_numbers_outside_their_bounds),
		cmocka_unit_test(test_default_timeout_is_lowered_to_the_maximum),
		cmocka_unit_test(test_names_the_choices),
		cmocka_unit_test(test_transports_have_their_names),
		cmocka_unit_test(test_what_may_be_a_token_is_not_shown),
		cmocka_unit_test(test_refuses_control_characters),
		cmocka_unit_test(test_refuses_a_relative_interpreter_path),
		cmocka_unit_test(test_long_values_are_shortened),
		cmocka_unit_test(test_flag_is_the_name_of_the_variable),
		cmocka_unit_test(test_message_max_has_room_for_escapes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
