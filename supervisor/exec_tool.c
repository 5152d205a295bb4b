/* exec_tool - how the tool describes itself to a model. */
#include "supervisor/exec_tool.h"

#include "common/cleanup.h"
#include "supervisor/exec_tool_text.h"
#include "supervisor/json.h"

#define OUTPUT_SCHEMA                                                                              \
	"{\"type\":\"object\",\"properties\":{"                                                    \
	"\"stdout\":{\"type\":\"string\"},"                                                        \
	"\"stderr\":{\"type\":\"string\"},"                                                        \
	"\"exit_code\":{\"type\":\"integer\","                                                     \
	"\"description\":\"-1 when a signal or the timeout ended it\"},"                           \
	"\"duration_ms\":{\"type\":\"integer\"},"                                                  \
	"\"truncated\":{\"type\":\"boolean\",\"description\":\"output beyond the limit was "       \
	"dropped\"},"                                                                              \
	"\"timed_out\":{\"type\":\"boolean\"},"                                                    \
	"\"limit\":{\"type\":[\"string\",\"null\"],\"enum\":[\"wall_time\",\"cpu_time\","          \
	"\"memory\",\"processes\",\"disk\",\"output\",null],"                                      \
	"\"description\":\"the limit that ended the program or cut its output; null when none\"}," \
	"\"signal\":{\"type\":[\"string\",\"null\"],"                                              \
	"\"description\":\"the signal that ended the program, such as SIGSEGV; null when none\"}," \
	"\"warnings\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}}},"                      \
	"\"required\":[\"stdout\",\"stderr\",\"exit_code\",\"duration_ms\",\"truncated\","         \
	"\"timed_out\",\"limit\",\"signal\",\"warnings\"]}"

#define ANNOTATIONS                                                                                \
	"{\"readOnlyHint\":false,\"destructiveHint\":true,\"idempotentHint\":false,"               \
	"\"openWorldHint\":true}"

static void quote_and_clear(struct buf *out, struct buf *text)
{
	json_quote(out, text->data, text->len);
	if (text->error)
		out->error = text->error;
	buf_clear(text);
}

static void add_description(struct buf *out, const struct config *config)
{
	char tmp[EXEC_TOOL_SIZE_TEXT], memory[EXEC_TOOL_SIZE_TEXT], output[EXEC_TOOL_SIZE_TEXT];
	struct buf text = BUF_INIT;

	buf_printf(
		&text,
		"Runs Python 3 source as the script main.py in a fresh sandbox and returns stdout, "
		"stderr and the exit code. No network, no files of the host, no input files: pass "
		"text by stdin. Modules: the standard library and what the owner of the server "
		"installed; no pip. Nothing persists between calls, and background processes end "
		"with the main program. Print what you want to see. Writable are /sandbox (the "
		"working directory) and /tmp: %s together. ",
		exec_tool_size(tmp, config->limits.tmp_bytes));
	buf_printf(
		&text,
		"Limits: %u s wall clock by default, up to %u s by timeout_s (many clients give up "
		"after 60 s); %s of memory; %u %s; %u processes and threads; %s of output. Why a "
		"program was stopped is in limit and warnings.",
		config->default_timeout_s, config->max_timeout_s,
		exec_tool_size(memory, config->limits.memory_bytes), config->limits.cpus,
		config->limits.cpus == 1 ? "CPU" : "CPUs", config->limits.max_processes,
		exec_tool_size(output, config->max_output_bytes));
	quote_and_clear(out, &text);
}

static void add_code_schema(struct buf *out, const struct config *config)
{
	char size[EXEC_TOOL_SIZE_TEXT];
	struct buf text = BUF_INIT;

	buf_printf(&text, "Python 3 source, at most %s of UTF-8",
		   exec_tool_size(size, config->max_code_bytes));
	buf_add_string(out, "\"code\":{\"type\":\"string\",\"description\":");
	quote_and_clear(out, &text);
	buf_add_string(out, "},");
}

static void add_timeout_schema(struct buf *out, const struct config *config)
{
	buf_printf(out,
		   "\"timeout_s\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":%u,"
		   "\"description\":\"Wall-clock seconds, default %u\"},",
		   config->max_timeout_s, config->default_timeout_s);
}

static void add_stdin_schema(struct buf *out, const struct config *config)
{
	char size[EXEC_TOOL_SIZE_TEXT];
	struct buf text = BUF_INIT;

	buf_printf(&text, "What the program reads from stdin, at most %s of UTF-8",
		   exec_tool_size(size, config->max_stdin_bytes));
	buf_add_string(out, "\"stdin\":{\"type\":\"string\",\"description\":");
	quote_and_clear(out, &text);
	buf_add_byte(out, '}');
}

cJSON *exec_tool_describe(const struct config *config, bool with_output)
{
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	buf_add_string(&out, "{\"name\":\"exec\",");
	if (with_output)
		buf_add_string(&out, "\"title\":\"Execute Python code\",");
	buf_add_string(&out, "\"description\":");
	add_description(&out, config);
	buf_add_string(&out, ",\"inputSchema\":{\"type\":\"object\",\"properties\":{");
	add_code_schema(&out, config);
	add_timeout_schema(&out, config);
	add_stdin_schema(&out, config);
	buf_add_string(&out, "},\"required\":[\"code\"]}");
	if (with_output)
		buf_add_string(&out, ",\"outputSchema\":" OUTPUT_SCHEMA);
	buf_add_string(&out, ",\"annotations\":" ANNOTATIONS "}");
	buf_add_byte(&out, '\0');
	return out.error ? NULL : cJSON_ParseWithLengthOpts(out.data, out.len, NULL, true);
}
