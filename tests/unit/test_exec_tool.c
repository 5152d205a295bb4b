/* Unit tests of exec_tool: outcomes to results, and the schema. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/layers.h"
#include "supervisor/exec_tool.h"

static const struct config config = {
	.default_timeout_s = 30,
	.max_timeout_s = 300,
	.max_output_bytes = MAX_OUTPUT_BYTES,
	.max_stdin_bytes = 8,
	.max_code_bytes = 40,
	.max_queue = 64,
	.python = "python3",
	.limits = {.memory_bytes = 256 * MIB,
		   .tmp_bytes = 64 * MIB,
		   .max_processes = 128,
		   .cpus = 1,
		   .max_cpu_s = 300},
};

/* A run that ended well, without output. */
static struct outcome good_outcome(void)
{
	return (struct outcome){
		.kind = OUTCOME_DONE,
		.done = {.wall_us = 12499,
			 .cpu_us = 11500,
			 .peak_rss_bytes = 9000000,
			 .layers = (1U << LAYER_COUNT) - 1},
		.out = {.data = "", .size = 0},
		.err = {.data = "", .size = 0},
		.queue_us = 2500,
	};
}

static struct call_request request = {
	.program_fd = -1, .stdin_fd = -1, .timeout_ms = 5000, .output_max_bytes = 1000};

static char *structured(const struct outcome *outcome)
{
	struct buf out = BUF_INIT;

	exec_tool_structured(&out, &config, &request, outcome);
	buf_add_byte(&out, '\0');
	assert_int_equal(out.error, 0);
	return out.data;
}

static void check_structured(const struct outcome *outcome, const char *expected)
{
	_cleanup_free_ char *text = structured(outcome);

	assert_string_equal(text, expected);
}

static void check_mentions(const struct outcome *outcome, const char *phrase)
{
	_cleanup_free_ char *text = structured(outcome);

	if (!strstr(text, phrase))
		fail_msg("%s lacks %s", text, phrase);
}

static void test_writes_all_facts(void **state)
{
	struct outcome outcome = good_outcome();

	(void)state;
	outcome.out = (struct blob_view){.data = "4\n\0x", .size = 4};
	outcome.err = (struct blob_view){.data = "w", .size = 1};
	outcome.done.exit_code = 0;
	check_structured(&outcome, "{\"stdout\":\"4\\n\\u0000x\",\"stderr\":\"w\",\"exit_code\":0,"
				   "\"duration_ms\":12,\"truncated\":false,\"timed_out\":false,"
				   "\"limit\":null,\"signal\":null,\"warnings\":[]}");
	outcome.done.exit_code = 3;
	outcome.done.wall_us = 12500;
	check_structured(&outcome, "{\"stdout\":\"4\\n\\u0000x\",\"stderr\":\"w\",\"exit_code\":3,"
				   "\"duration_ms\":13,\"truncated\":false,\"timed_out\":false,"
				   "\"limit\":null,\"signal\":null,\"warnings\":[]}");
}

static void test_a_run_that_was_ended_has_no_exit_code(void **state)
{
	struct outcome outcome = good_outcome();

	(void)state;
	outcome.done.exit_code = -1;
	outcome.done.signal = SIGSEGV;
	check_mentions(&outcome, "\"exit_code\":-1,");
	check_mentions(&outcome, "\"limit\":null,\"signal\":\"SIGSEGV\"");
	outcome.done.signal = 0;
	outcome.done.exit_code = 0;
	outcome.done.flags = FRAME_TIMED_OUT;
	check_mentions(&outcome, "\"exit_code\":-1,");
	check_mentions(&outcome, "\"timed_out\":true,\"limit\":\"wall_time\"");
	check_mentions(&outcome,
		       "stopped after 5 s; do less at once, or raise timeout_s (up to 300)");
}

/* At the maximum there is nothing to raise. */
static void test_gives_advice_that_can_be_followed(void **state)
{
	struct outcome outcome = good_outcome();
	struct call_request longest = request;
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	(void)state;
	outcome.done.flags = FRAME_TIMED_OUT;
	longest.timeout_ms = 300000;
	exec_tool_structured(&out, &config, &longest, &outcome);
	buf_add_byte(&out, '\0');
	assert_non_null(strstr(out.data, "\"stopped after 300 s, the maximum; do less at once\""));
	assert_null(strstr(out.data, "raise"));
}

static void test_says_which_limit_and_its_number(void **state)
{
	struct outcome outcome = good_outcome();

	(void)state;
	outcome.done.exit_code = -1;
	outcome.done.signal = SIGKILL;
	outcome.done.flags = FRAME_MEMORY_KILLED;
	check_mentions(&outcome,
		       "\"killed: memory is limited to 256 MiB; hold less data at once\"");
	outcome.done.by_cgroup = BY_CGROUP_MEMORY;
	check_mentions(&outcome, "\"killed: memory is limited to 256 MiB together with files; hold "
				 "less data at once\"");
	outcome.done.flags = FRAME_FORK_REFUSED;
	check_mentions(&outcome, "processes and threads are limited to");
	outcome.done.flags = FRAME_CPU_USED_UP;
	check_mentions(&outcome, "used up its 300 s of CPU time");
	outcome.done.flags = FRAME_DISK_FULL;
	check_mentions(&outcome, "files are limited to 64 MiB");
	outcome.done.flags = FRAME_TRUNCATED;
	check_mentions(&outcome, "output limit of 1000 bytes reached");
	outcome.done.flags = 0;
	outcome.err.data = "RuntimeError: can't start new thread";
	outcome.err.size = strlen(outcome.err.data);
	check_mentions(&outcome, "processes and threads are limited to 128");
}

static void test_repairs_output(void **state)
{
	struct outcome outcome = good_outcome();

	(void)state;
	outcome.out = (struct blob_view){.data = "\xff\xe2\x82", .size = 3};
	check_mentions(&outcome, "\"stdout\":\"\xef\xbf\xbd\xef\xbf\xbd\"");
	check_mentions(&outcome,
		       "\"stdout was not valid UTF-8; bad bytes were replaced by U+FFFD\"");
	outcome.out = (struct blob_view){.data = "ab\xe2\x82", .size = 4};
	outcome.done.flags = FRAME_TRUNCATED;
	check_structured(&outcome,
			 "{\"stdout\":\"ab\",\"stderr\":\"\",\"exit_code\":0,\"duration_ms\":12,"
			 "\"truncated\":true,\"timed_out\":false,\"limit\":\"output\",\"signal\":"
			 "null,\"warnings\":[\"output limit of 1000 bytes reached; the rest was "
			 "dropped\"]}");
}

static void test_speaks_of_missing_layers_only_to_a_failed_run(void **state)
{
	struct outcome outcome = good_outcome();
	_cleanup_free_ char *text = NULL;

	(void)state;
	outcome.done.layers &= ~(uint32_t)LAYER_PROC;
	text = structured(&outcome);
	assert_non_null(strstr(text, "\"warnings\":[]"));
	outcome.done.exit_code = 1;
	check_mentions(&outcome, "this sandbox lacks proc");
}

static const char *content_text(const cJSON *result)
{
	const cJSON *content = rpc_get(result, "content");

	assert_int_equal(cJSON_GetArraySize(content), 1);
	assert_string_equal(rpc_get_string(content->child, "type"), "text");
	return rpc_get_string(content->child, "text");
}

/* As a client would read it: the raw items of the tree become trees of their own. */
static cJSON *reread(cJSON *tree)
{
	_cleanup_free_ char *text = cJSON_PrintUnformatted(tree);
	cJSON *again;

	assert_non_null(text);
	assert_null(strchr(text, '\n'));
	again = cJSON_ParseWithLengthOpts(text, strlen(text) + 1, NULL, true);
	assert_non_null(again);
	cJSON_Delete(tree);
	return again;
}

/* The result object, as mcp puts it together. */
static cJSON *result_of(const struct outcome *outcome, bool with_structured)
{
	_cleanup_(buf_clear) struct buf text = BUF_INIT;
	cJSON *result;

	buf_add_byte(&text, '{');
	exec_tool_content(&text, &config, &request, outcome, with_structured);
	buf_add_string(&text, ",\"_meta\":{");
	exec_tool_meta(&text, outcome);
	buf_add(&text, "}}", 3);
	assert_int_equal(text.error, 0);
	assert_null(strchr(text.data, '\n'));
	result = cJSON_ParseWithLengthOpts(text.data, text.len, NULL, true);
	assert_non_null(result);
	return result;
}

static void test_names_refused_calls_to_a_failed_run_only(void **state)
{
	struct outcome outcome = good_outcome();
	const char *sentence = "\"the sandbox refused system calls: keyctl, number 1023, unshare; "
			       "do without them\"";
	_cleanup_free_ char *good = NULL, *silent = NULL;

	(void)state;
	outcome.done.blocked[0] = SYS_keyctl + 1;
	outcome.done.blocked[1] = FRAME_MAX_CALL + 1;
	outcome.done.blocked[2] = SYS_unshare + 1;
	good = structured(&outcome);
	assert_null(strstr(good, "refused"));
	outcome.done.exit_code = 1;
	check_mentions(&outcome, sentence);
	outcome.done.exit_code = -1;
	outcome.done.signal = SIGSEGV;
	check_mentions(&outcome, sentence);
	outcome.done.blocked[0] = 0;
	silent = structured(&outcome);
	assert_null(strstr(silent, "refused"));
}

static void test_result_has_the_same_facts_twice(void **state)
{
	struct outcome outcome = good_outcome();
	cJSON *result, *inner;
	const char *text;

	(void)state;
	outcome.out = (struct blob_view){.data = "a\"\\\n\xff", .size = 5};
	result = result_of(&outcome, true);
	assert_true(cJSON_IsFalse(rpc_get(result, "isError")));
	text = content_text(result);
	inner = cJSON_ParseWithLengthOpts(text, strlen(text) + 1, NULL, true);
	assert_true(cJSON_Compare(inner, rpc_get(result, "structuredContent"), true));
	assert_string_equal(rpc_get_string(inner, "stdout"), "a\"\\\n\xef\xbf\xbd");
	cJSON_Delete(inner);
	cJSON_Delete(result);
}

static void test_result_of_old_revisions_has_no_structured_content(void **state)
{
	struct outcome outcome = good_outcome();
	cJSON *result = result_of(&outcome, false);

	(void)state;
	assert_null(rpc_get(result, "structuredContent"));
	assert_non_null(strstr(content_text(result), "\"exit_code\":0"));
	cJSON_Delete(result);
}

static void test_meta_has_usage_and_layers(void **state)
{
	struct outcome outcome = good_outcome();
	cJSON *result;
	const cJSON *meta;

	(void)state;
	outcome.done.layers &= ~(uint32_t)LAYER_PROC;
	outcome.done.flags |= FRAME_FORKED | FRAME_PRELOADED;
	outcome.done.by_cgroup = BY_CGROUP_MEMORY;
	result = result_of(&outcome, true);
	meta = rpc_get(rpc_get(result, "_meta"), "io.github.mcp-exec/run");
	assert_int_equal(rpc_get(meta, "cpu_ms")->valueint, 12);
	assert_int_equal(rpc_get(meta, "queue_ms")->valueint, 3);
	assert_int_equal(rpc_get(meta, "peak_memory_bytes")->valueint, 9000000);
	assert_int_equal(cJSON_GetArraySize(rpc_get(meta, "layers")), LAYER_COUNT - 1);
	assert_int_equal(cJSON_GetArraySize(rpc_get(meta, "degraded")), 1);
	assert_string_equal(rpc_get(meta, "degraded")->child->valuestring, "proc");
	assert_string_equal(rpc_get(meta, "start")->valuestring, "preloaded");
	meta = rpc_get(meta, "limited_by");
	assert_string_equal(rpc_get(meta, "memory")->valuestring, "cgroup");
	assert_string_equal(rpc_get(meta, "processes")->valuestring, "rlimit");
	assert_string_equal(rpc_get(meta, "cpus")->valuestring, "affinity");
	cJSON_Delete(result);
}

static void check_failure(const struct outcome *outcome, const char *phrase)
{
	_cleanup_(buf_clear) struct buf failure = BUF_INIT;
	cJSON *result;
	const char *text;

	exec_tool_failure(&failure, &config, outcome);
	assert_int_equal(failure.error, 0);
	result = reread(exec_tool_error(failure.data, failure.len));
	text = content_text(result);
	assert_true(cJSON_IsTrue(rpc_get(result, "isError")));
	assert_null(rpc_get(result, "structuredContent"));
	if (!strstr(text, phrase))
		fail_msg("\"%s\" lacks \"%s\"", text, phrase);
	cJSON_Delete(result);
}

static void test_failures_say_what_happened(void **state)
{
	const struct outcome busy = {.kind = OUTCOME_BUSY};
	const struct outcome lost = {.kind = OUTCOME_LOST};
	const struct outcome failed = {
		.kind = OUTCOME_FAILED, .stage = STAGE_USER_NAMESPACE, .error = EPERM};
	const struct outcome late = {.kind = OUTCOME_FAILED, .stage = STAGE_INIT, .error = ECHILD};
	const struct outcome odd = {.kind = OUTCOME_FAILED, .stage = 4000000000U, .error = -7};

	(void)state;
	check_failure(&busy, "64 calls wait");
	check_failure(&lost, "was not run again");
	check_failure(&failed, "user_namespace");
	check_failure(&odd, "Nothing was run");
	check_failure(&late, "The result was lost");
}

static void test_describes_itself(void **state)
{
	cJSON *tool = reread(exec_tool_describe(&config, true));
	const cJSON *input = rpc_get(tool, "inputSchema");
	const cJSON *timeout = rpc_get(rpc_get(input, "properties"), "timeout_s");
	const char *description = rpc_get_string(tool, "description");

	(void)state;
	assert_string_equal(rpc_get_string(tool, "name"), "exec");
	assert_string_equal(rpc_get_string(input, "type"), "object");
	assert_int_equal(rpc_get(timeout, "maximum")->valueint, 300);
	assert_int_equal(rpc_get(timeout, "minimum")->valueint, 1);
	assert_int_equal(cJSON_GetArraySize(rpc_get(input, "required")), 1);
	assert_null(rpc_get(input, "$schema"));
	assert_null(rpc_get(input, "additionalProperties"));
	assert_non_null(strstr(description, "No network"));
	assert_non_null(strstr(description, "256 MiB of memory"));
	assert_non_null(strstr(description, "60 s"));
	assert_non_null(strstr(description, "; 1 CPU; 128 processes and threads;"));
	assert_non_null(strstr(description, "no pip"));
	assert_int_equal(cJSON_GetArraySize(rpc_get(rpc_get(tool, "outputSchema"), "required")), 9);
	assert_true(cJSON_IsTrue(rpc_get(rpc_get(tool, "annotations"), "destructiveHint")));
	cJSON_Delete(tool);
	tool = exec_tool_describe(&config, false);
	assert_null(rpc_get(tool, "title"));
	assert_null(rpc_get(tool, "outputSchema"));
	assert_non_null(rpc_get(tool, "inputSchema"));
	cJSON_Delete(tool);
}

/* Every member of the structured content is in the output schema, and the other way round. */
static void test_output_fits_its_schema(void **state)
{
	struct outcome outcome = good_outcome();
	cJSON *tool = exec_tool_describe(&config, true);
	cJSON *result = result_of(&outcome, true);
	const cJSON *properties = rpc_get(rpc_get(tool, "outputSchema"), "properties");
	const cJSON *content = rpc_get(result, "structuredContent");
	const cJSON *item;

	(void)state;
	assert_int_equal(cJSON_GetArraySize(properties), cJSON_GetArraySize(content));
	cJSON_ArrayForEach(item, content) assert_non_null(rpc_get(properties, item->string));
	cJSON_Delete(result);
	cJSON_Delete(tool);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_writes_all_facts),
		cmocka_unit_test(test_a_run_that_was_ended_has_no_exit_code),
		cmocka_unit_test(test_gives_advice_that_can_be_followed),
		cmocka_unit_test(test_says_which_limit_and_its_number),
		cmocka_unit_test(test_repairs_output),
		cmocka_unit_test(test_speaks_of_missing_layers_only_to_a_failed_run),
		cmocka_unit_test(test_names_refused_calls_to_a_failed_run_only),
		cmocka_unit_test(test_result_has_the_same_facts_twice),
		cmocka_unit_test(test_result_of_old_revisions_has_no_structured_content),
		cmocka_unit_test(test_meta_has_usage_and_layers),
		cmocka_unit_test(test_failures_say_what_happened),
		cmocka_unit_test(test_describes_itself),
		cmocka_unit_test(test_output_fits_its_schema),
	};

	return cmocka_run_group_tests_name("exec_tool", tests, NULL, NULL);
}
