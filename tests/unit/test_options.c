/* Unit tests of options. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "supervisor/config.h"
#include "supervisor/options.h"

static char error[256];

/* Parses the words of a line, at most 8; nothing is copied but the line. */
static int parse(struct options *options, const char *line)
{
	static char text[256];
	char *argv[10] = {text};
	int argc = 1;
	char *save = NULL;

	snprintf(text, sizeof(text), "mcp-exec %s", line);
	for (char *word = strtok_r(text, " ", &save); word != NULL && argc < 9;
	     word = strtok_r(NULL, " ", &save))
		argv[argc++ - 1] = word;
	error[0] = '\0';
	return options_parse(options, argc - 1, argv, error, sizeof(error));
}

static void assert_refused(const char *line, const char *part)
{
	struct options options;

	assert_int_equal(parse(&options, line), -EINVAL);
	assert_non_null(strstr(error, part));
	assert_non_null(strstr(error, "--help"));
}

static void test_no_argument_serves(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(parse(&options, ""), 0);
	assert_int_equal(options.command, OPTIONS_SERVE);
}

static void test_flags_stand_anywhere_in_both_forms(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(parse(&options, "--cpus 2 run --json x.py --memory-bytes=33554432"), 0);
	assert_int_equal(options.command, OPTIONS_RUN);
	assert_string_equal(options.file, "x.py");
	assert_true(options.json);
	assert_string_equal(options_lookup(&options, "MCP_EXEC_CPUS"), "2");
	assert_string_equal(options_lookup(&options, "MCP_EXEC_MEMORY_BYTES"), "33554432");
}

static void test_a_flag_wins_over_its_variable(void **state)
{
	struct options options;

	(void)state;
	setenv("MCP_EXEC_CPUS", "7", 1);
	assert_int_equal(parse(&options, "--cpus 2"), 0);
	assert_string_equal(options_lookup(&options, "MCP_EXEC_CPUS"), "2");
	assert_int_equal(parse(&options, "--cpus="), 0);
	assert_string_equal(options_lookup(&options, "MCP_EXEC_CPUS"), "7");
	assert_int_equal(parse(&options, ""), 0);
	assert_string_equal(options_lookup(&options, "MCP_EXEC_CPUS"), "7");
	unsetenv("MCP_EXEC_CPUS");
	assert_null(options_lookup(&options, "MCP_EXEC_CPUS"));
}

static void test_commands_take_their_arguments(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(parse(&options, "run - --timeout 5"), 0);
	assert_string_equal(options.file, "-");
	assert_true(options.timeout_s == 5);
	assert_int_equal(parse(&options, "run --timeout=-5 -"), 0);
	assert_true(options.timeout_s == -5);
	assert_int_equal(parse(&options, "run --timeout 5.0 -"), 0);
	assert_true(options.timeout_s == 5);
	assert_int_equal(parse(&options, "run --timeout 1e300 -"), 0);
	assert_true(options.timeout_s > 1e299);
	assert_int_equal(parse(&options, "run -- --help"), 0);
	assert_string_equal(options.file, "--help");
	assert_int_equal(parse(&options, "check --strict"), 0);
	assert_int_equal(options.command, OPTIONS_CHECK);
	assert_true(options.strict);
	assert_int_equal(parse(&options, "--print-policy"), 0);
	assert_int_equal(options.command, OPTIONS_PRINT_POLICY);
	assert_int_equal(parse(&options, "run --help"), 0);
	assert_int_equal(options.command, OPTIONS_HELP);
	assert_int_equal(parse(&options, "--version"), 0);
	assert_int_equal(options.command, OPTIONS_VERSION);
	assert_int_equal(parse(&options, "client-config"), 0);
	assert_int_equal(options.command, OPTIONS_CLIENT_CONFIG);
	assert_null(options.client);
	assert_int_equal(parse(&options, "client-config a --image=b --url c --cpus 2"), 0);
	assert_string_equal(options.client, "a");
	assert_string_equal(options.image, "b");
	assert_string_equal(options.url, "c");
}

static void test_flags_alone_are_no_environment(void **state)
{
	struct options options;

	(void)state;
	setenv("MCP_EXEC_CPUS", "7", 1);
	assert_int_equal(parse(&options, "--cpus 2 --tmp-bytes="), 0);
	assert_string_equal(options_flag(&options, "MCP_EXEC_CPUS"), "2");
	assert_null(options_flag(&options, "MCP_EXEC_TMP_BYTES"));
	assert_int_equal(parse(&options, ""), 0);
	assert_null(options_flag(&options, "MCP_EXEC_CPUS"));
	unsetenv("MCP_EXEC_CPUS");
}

static void test_refuses_with_one_sentence(void **state)
{
	(void)state;
	assert_refused("--bogus", "\"--bogus\"");
	assert_refused("--cpu 3", "\"--cpu\"");
	assert_refused("-x", "\"-x\"");
	assert_refused("serve", "\"serve\"");
	assert_refused("check more", "\"more\"");
	assert_refused("run a b", "\"b\"");
	assert_refused("run", "\"run\"");
	assert_refused("--cpus", "\"--cpus\"");
	assert_refused("--json=yes run x", "\"--json\"");
	assert_refused("--json", "\"--json\"");
	assert_refused("check --timeout 5", "\"--timeout\"");
	assert_refused("--strict run x", "\"--strict\"");
	assert_refused("client-config --url x", "\"--url\"");
	assert_refused("client-config a b", "\"b\"");
	assert_refused("run a --image x", "\"--image\"");
	assert_refused("run x --timeout 1.5", "\"1.5\"");
	assert_refused("run x --timeout soon", "\"soon\"");
	assert_refused("run x --timeout 0x10", "\"0x10\"");
	assert_refused("run x --timeout inf", "\"inf\"");
	assert_refused("run x --timeout 1e999", "\"1e999\"");
	assert_refused("run x --timeout=", "--timeout");
	assert_refused("--print-policy run x", "\"--print-policy\"");
	assert_refused("check --print-policy", "\"--print-policy\"");
}

/* Nor is what was given shown. */
static void test_the_token_has_no_flag(void **state)
{
	(void)state;
	assert_refused("--auth-token s3cret", "MCP_EXEC_AUTH_TOKEN");
	assert_refused("--auth-token=s3cret", "Every user of the machine can read a command line");
	assert_null(strstr(error, "s3cret"));
	assert_refused("--auth-tokens x", "There is no flag");
	assert_null(strstr(error, "command line"));
}

static void test_help_and_version_win(void **state)
{
	static const char *const help[] = {"-h",	 "help",     "help run",
					   "--help run", "run -h x", "check --print-policy --help"};
	struct options options;

	(void)state;
	for (size_t i = 0; i < sizeof(help) / sizeof(help[0]); i++) {
		assert_int_equal(parse(&options, help[i]), 0);
		assert_int_equal(options.command, OPTIONS_HELP);
	}
	assert_int_equal(parse(&options, "-V"), 0);
	assert_int_equal(options.command, OPTIONS_VERSION);
	assert_int_equal(parse(&options, "run -- -h"), 0);
	assert_int_equal(options.command, OPTIONS_RUN);
}

static void test_an_unknown_command_gets_a_hint(void **state)
{
	(void)state;
	assert_refused("chekc", "Did you mean check?");
	assert_refused("chek", "Did you mean check?");
	assert_refused("rum", "Did you mean run?");
	assert_refused("halp", "Did you mean help?");
	assert_refused("/dev/null", "Did you mean: mcp-exec run FILE?");
	assert_refused("/no/such/file.py", "There is no command");
	assert_null(strstr(error, "Did you mean"));
	assert_refused("serve", "There is no command");
	assert_null(strstr(error, "Did you mean"));
}

static void test_sentence_shows_no_control_characters(void **state)
{
	struct options options;

	(void)state;
	assert_int_equal(parse(&options, "--\x1b[31m"), -EINVAL);
	assert_null(strchr(error, '\x1b'));
}

static void test_every_setting_has_its_place(void **state)
{
	size_t n = 0;

	(void)state;
	while (config_setting(n) != NULL)
		n++;
	assert_true(n > 0 && n <= OPTIONS_MAX_SETTINGS);
}

static void test_help_names_every_setting(void **state)
{
	const struct config_setting *setting;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	options_help(out);
	fclose(out);
	for (size_t i = 0; (setting = config_setting(i)) != NULL; i++) {
		assert_non_null(strstr(text, setting->variable));
		assert_non_null(strstr(text, setting->flag));
		assert_non_null(strstr(text, setting->help));
		assert_non_null(strstr(text, setting->preset));
	}
	assert_non_null(strstr(text, "(environment only)   MCP_EXEC_AUTH_TOKEN "));
	assert_null(strstr(text, "--auth-token "));
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_no_argument_serves),
		cmocka_unit_test(test_flags_stand_anywhere_in_both_forms),
		cmocka_unit_test(test_a_flag_wins_over_its_variable),
		cmocka_unit_test(test_commands_take_their_arguments),
		cmocka_unit_test(test_flags_alone_are_no_environment),
		cmocka_unit_test(test_refuses_with_one_sentence),
		cmocka_unit_test(test_the_token_has_no_flag),
		cmocka_unit_test(test_help_and_version_win),
		cmocka_unit_test(test_an_unknown_command_gets_a_hint),
		cmocka_unit_test(test_sentence_shows_no_control_characters),
		cmocka_unit_test(test_every_setting_has_its_place),
		cmocka_unit_test(test_help_names_every_setting),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
