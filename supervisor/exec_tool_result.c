/* exec_tool_result - how a run ended, for a model and for a program. */
#include <inttypes.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/layers.h"
#include "common/log.h"
#include "common/mechanism.h"
#include "common/remedy.h"
#include "common/utf8.h"
#include "policy/confine.h"
#include "supervisor/exec_tool.h"
#include "supervisor/exec_tool_text.h"
#include "supervisor/json.h"
#include "supervisor/outcome.h"
#include "supervisor/syscall_name.h"

#define RUN_META_KEY "io.github.mcp-exec/run"

static bool is_truncated(const struct outcome *outcome)
{
	return (outcome->done.flags & FRAME_TRUNCATED) != 0;
}

static bool is_timed_out(const struct outcome *outcome)
{
	return (outcome->done.flags & FRAME_TIMED_OUT) != 0;
}

/* A program that did not end by itself has no code of its own. */
static int exit_code(const struct outcome *outcome)
{
	return is_timed_out(outcome) || outcome->done.signal != 0 ? -1 : outcome->done.exit_code;
}

/* Appends a stream as a JSON string. Where output was cut, half a character at the end is nobody's
 * mistake. */
static void add_stream(struct buf *out, struct buf *warnings, const char *name,
		       const struct blob_view *view, bool cut)
{
	size_t len = cut ? utf8_whole(view->data, view->size) : view->size;

	buf_printf(out, "\"%s\":", name);
	if (json_quote(out, view->data, len))
		exec_tool_warn(warnings,
			       "%s was not valid UTF-8; bad bytes were replaced by U+FFFD", name);
}

static void add_text_or_null(struct buf *out, const char *text)
{
	if (text)
		buf_printf(out, "\"%s\"", text);
	else
		buf_add_string(out, "null");
}

/* Who was killed has printed no MemoryError. Where a cgroup counts, files do as well. */
static void warn_memory(struct buf *warnings, const struct config *config,
			const struct outcome *outcome)
{
	bool killed = outcome->done.flags & FRAME_MEMORY_KILLED;
	bool files = outcome->done.by_cgroup & BY_CGROUP_MEMORY;
	char size[EXEC_TOOL_SIZE_TEXT];

	exec_tool_warn(warnings, "%smemory is limited to %s%s; hold less data at once",
		       killed ? "killed: " : "", exec_tool_size(size, config->limits.memory_bytes),
		       files ? " together with files" : "");
}

/* One sentence for the limit that ended the program: its number, and what to do. */
static void warn_limit(struct buf *warnings, const struct config *config,
		       const struct call_request *request, const struct outcome *outcome,
		       const char *limit)
{
	char size[EXEC_TOOL_SIZE_TEXT];

	if (strcmp(limit, "wall_time") == 0 && request->timeout_ms / 1000 >= config->max_timeout_s)
		exec_tool_warn(warnings, "stopped after %u s, the maximum; do less at once",
			       request->timeout_ms / 1000);
	else if (strcmp(limit, "wall_time") == 0)
		exec_tool_warn(warnings,
			       "stopped after %u s; do less at once, or raise timeout_s (up to %u)",
			       request->timeout_ms / 1000, config->max_timeout_s);
	else if (strcmp(limit, "cpu_time") == 0)
		exec_tool_warn(warnings, "used up its %u s of CPU time; do less at once",
			       config->limits.max_cpu_s);
	else if (strcmp(limit, "memory") == 0)
		warn_memory(warnings, config, outcome);
	else if (strcmp(limit, "processes") == 0)
		exec_tool_warn(warnings, "processes and threads are limited to %u; start fewer",
			       config->limits.max_processes);
	else if (strcmp(limit, "disk") == 0)
		exec_tool_warn(warnings,
			       "files are limited to %s together; write less or delete some",
			       exec_tool_size(size, config->limits.tmp_bytes));
}

/* What a machine cannot give matters only to a program that failed, and a second wall to none; _meta always has it. */
static void warn_degraded(struct buf *warnings, const struct outcome *outcome)
{
	for (unsigned int i = 0; i < LAYER_COUNT; i++) {
		const struct layer_info *info = layer_info(i);

		if (!info->required && info->bit != LAYER_LANDLOCK &&
		    !(outcome->done.layers & info->bit))
			exec_tool_warn(warnings, "this sandbox lacks %s: %s", info->name,
				       info->what);
	}
}

/* The sandbox refuses by errno, which says little where a library hides it. */
static void warn_blocked(struct buf *warnings, const struct outcome *outcome)
{
	const uint16_t *blocked = outcome->done.blocked;
	_cleanup_(buf_clear) struct buf names = BUF_INIT;

	for (size_t i = 0; i < FRAME_BLOCKED && blocked[i]; i++) {
		const char *name = syscall_name(blocked[i] - 1U);

		if (i > 0)
			buf_add_string(&names, ", ");
		if (name)
			buf_add_string(&names, name);
		else
			buf_printf(&names, "number %d", blocked[i] - 1);
	}
	if (names.error)
		warnings->error = names.error;
	else if (names.len)
		exec_tool_warn(warnings, "the sandbox refused system calls: %.*s; do without them",
			       (int)names.len, names.data);
}

static void warn_outcome(struct buf *warnings, const struct config *config,
			 const struct call_request *request, const struct outcome *outcome,
			 const char *limit)
{
	if (is_truncated(outcome))
		exec_tool_warn(warnings,
			       "output limit of %" PRIu64 " %s reached; the rest was dropped",
			       request->output_max_bytes,
			       request->output_max_bytes == 1 ? "byte" : "bytes");
	if (limit)
		warn_limit(warnings, config, request, outcome, limit);
	if (exit_code(outcome) == 0)
		return;
	warn_blocked(warnings, outcome);
	warn_degraded(warnings, outcome);
}

void exec_tool_structured(struct buf *out, const struct config *config,
			  const struct call_request *request, const struct outcome *outcome)
{
	_cleanup_(buf_clear) struct buf warnings = BUF_INIT;
	const char *limit = outcome_limit(outcome);
	bool truncated = is_truncated(outcome);

	buf_add(&warnings, request->warnings.data, request->warnings.len);
	buf_add_byte(out, '{');
	add_stream(out, &warnings, "stdout", &outcome->out, outcome->done.flags & FRAME_STDOUT_CUT);
	buf_add_byte(out, ',');
	add_stream(out, &warnings, "stderr", &outcome->err, outcome->done.flags & FRAME_STDERR_CUT);
	warn_outcome(&warnings, config, request, outcome, limit);
	buf_printf(out, ",\"exit_code\":%d,\"duration_ms\":%" PRIu64, exit_code(outcome),
		   (outcome->done.wall_us + 500) / 1000);
	buf_printf(out,
		   ",\"truncated\":%s,\"timed_out\":%s,\"limit\":", truncated ? "true" : "false",
		   is_timed_out(outcome) ? "true" : "false");
	add_text_or_null(out, limit);
	buf_add_string(out, ",\"signal\":");
	add_text_or_null(out, outcome_signal(outcome));
	buf_add_string(out, ",\"warnings\":[");
	buf_add(out, warnings.data, warnings.len);
	buf_add_string(out, "]}");
	if (warnings.error)
		out->error = warnings.error;
}

/* Appends the names of the layers that were active, or of the optional ones that were not. */
static void add_layers(struct buf *out, const char *key, uint32_t layers, bool active)
{
	const char *comma = "";

	buf_printf(out, ",\"%s\":[", key);
	for (unsigned int i = 0; i < LAYER_COUNT; i++) {
		const struct layer_info *info = layer_info(i);

		if (((layers & info->bit) != 0) != active || (!active && info->required))
			continue;
		buf_printf(out, "%s\"%s\"", comma, info->name);
		comma = ",";
	}
	buf_add_byte(out, ']');
}

static void add_mechanisms(struct buf *out, uint32_t by_cgroup)
{
	const struct mechanism *row;

	for (size_t i = 0; (row = mechanism_row(i)); i++)
		buf_printf(out, "%s\"%s\":\"%s\"", i == 0 ? ",\"limited_by\":{" : ",", row->limit,
			   mechanism_name(row, by_cgroup));
	buf_add_byte(out, '}');
}

void exec_tool_meta(struct buf *out, const struct outcome *outcome)
{
	const struct frame_done *done = &outcome->done;

	buf_printf(out,
		   "\"" RUN_META_KEY "\":{\"cpu_ms\":%" PRIu64 ",\"peak_memory_bytes\":%" PRIu64
		   ",\"queue_ms\":%" PRIu64,
		   (done->cpu_us + 500) / 1000, done->peak_rss_bytes,
		   (outcome->queue_us + 500) / 1000);
	add_layers(out, "layers", done->layers, true);
	add_layers(out, "degraded", done->layers, false);
	buf_printf(out, ",\"refusals_named\":%s", done->flags & FRAME_NOTING ? "true" : "false");
	add_mechanisms(out, done->by_cgroup);
	buf_printf(out, ",\"start\":\"%s\"}", outcome_start_name(outcome_start(outcome)));
}

/* Appends {"type":"text","text":…} in an array: the content of a result. */
static void add_content(struct buf *out, const char *text, size_t len)
{
	buf_add_string(out, "[{\"type\":\"text\",\"text\":");
	json_quote(out, text, len);
	buf_add_string(out, "}]");
}

void exec_tool_content(struct buf *out, const struct config *config,
		       const struct call_request *request, const struct outcome *outcome,
		       bool with_structured)
{
	_cleanup_(buf_clear) struct buf structured = BUF_INIT;

	exec_tool_structured(&structured, config, request, outcome);
	buf_add_string(out, "\"content\":");
	add_content(out, structured.data, structured.len);
	if (with_structured) {
		buf_add_string(out, ",\"structuredContent\":");
		buf_add(out, structured.data, structured.len);
	}
	buf_add_string(out, ",\"isError\":false");
	if (structured.error)
		out->error = structured.error;
}

/* These fail when the program may have run already. */
static bool is_after_start(unsigned int stage)
{
	return stage == STAGE_INIT || stage == STAGE_CAPTURE;
}

static void add_remedy(struct buf *out, const struct config *config, const struct outcome *outcome)
{
	struct remedy_facts facts;
	char text[1024];

	if (is_after_start(outcome->stage)) {
		buf_printf(
			out,
			"The result was lost: failed while %s (%s, %s). It was not run again, for "
			"it may have had effects; call again if that is safe.",
			stage_what(outcome->stage), stage_name(outcome->stage),
			log_errno(outcome->error));
		return;
	}
	remedy_facts(&facts, CONFINE_SUPERVISOR_FILTERS);
	remedy_sentence(text, sizeof(text), (enum stage)outcome->stage, outcome->error, &facts,
			config->python);
	buf_printf(out, "Nothing was run. %s", text);
}

void exec_tool_failure(struct buf *out, const struct config *config, const struct outcome *outcome)
{
	switch (outcome->kind) {
	case OUTCOME_FAILED:
		add_remedy(out, config, outcome);
		break;
	case OUTCOME_LOST:
		buf_add_string(
			out,
			"The sandbox worker died while this call ran. It was not run again, for it "
			"may have had effects; call again if that is safe.");
		break;
	case OUTCOME_BUSY:
		buf_printf(out, "Busy: the queue is full (%u %s). Nothing was run; try later.",
			   config->max_queue, config->max_queue == 1 ? "call waits" : "calls wait");
		break;
	case OUTCOME_DONE:
	default:
		break;
	}
}

cJSON *exec_tool_error(const char *text, size_t len)
{
	_cleanup_(buf_clear) struct buf content = BUF_INIT;
	cJSON *result = cJSON_CreateObject();

	add_content(&content, text, len);
	buf_add_byte(&content, '\0');
	if (!content.error && cJSON_AddRawToObject(result, "content", content.data) &&
	    cJSON_AddTrueToObject(result, "isError"))
		return result;
	cJSON_Delete(result);
	return NULL;
}
