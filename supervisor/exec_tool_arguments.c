/* exec_tool_arguments - from the arguments of a tools/call to a request.
 *
 * Models and clients send numbers as strings, null for what is optional, and members nobody asked
 * for: what is clear is taken, what is odd is said in the warnings, and only what cannot be used
 * is a tool error.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/blob.h"
#include "common/cleanup.h"
#include "common/utf8.h"
#include "supervisor/exec_tool.h"
#include "supervisor/exec_tool_near.h"
#include "supervisor/exec_tool_text.h"
#include "supervisor/uses.h"

#define EXAMPLE "{\"code\": \"print(2+2)\"}"

static bool is_blank(const struct buf *text)
{
	size_t at = 0, len;
	uint32_t code;

	while (at < text->len) {
		len = utf8_next(text->data + at, text->len - at, &code, NULL);
		if (len == 0 || !utf8_is_space(code))
			return false;
		at += len;
	}
	return true;
}

/* What to send, in the text of an error: with the argument that it is about. */
static const char *example_for(const char *name)
{
	return strcmp(name, "stdin") == 0
		       ? "{\"code\": \"print(input())\", \"stdin\": \"some text\"}"
		       : EXAMPLE;
}

/* Reads the string value of an argument. Returns 0, -EINVAL with a text in error, or -ENOMEM. */
static int read_text(struct slice value, const char *name, uint64_t max_bytes, struct buf *text,
		     struct buf *error)
{
	if (!slice_is_string(value)) {
		buf_printf(error, "%s must be a string. Send for example %s.", name,
			   example_for(name));
		return -EINVAL;
	}
	if (slice_unescape(value, text) == -EILSEQ) {
		buf_printf(error,
			   "%s holds half of a surrogate pair (such as \\ud800), which is no text. "
			   "Send "
			   "characters beyond U+FFFF as they are or as a whole pair of escapes.",
			   name);
		return -EINVAL;
	}
	if (text->error)
		return text->error;
	if (text->len > max_bytes) {
		buf_printf(error, "%s has %zu %s; the limit is %" PRIu64 " %s. Send less.", name,
			   text->len, text->len == 1 ? "byte" : "bytes", max_bytes,
			   max_bytes == 1 ? "byte" : "bytes");
		return -EINVAL;
	}
	return 0;
}

static int read_code(const struct config *config, const struct scan *scan, struct buf *code,
		     struct buf *error)
{
	if (!scan->code.data) {
		buf_add_string(error, "code is missing. Send for example " EXAMPLE ".");
		return -EINVAL;
	}
	return read_text(scan->code, "code", config->max_code_bytes, code, error);
}

static int check_not_blank(const struct buf *code, struct buf *error)
{
	if (!is_blank(code))
		return 0;
	buf_add_string(error, "code is empty. Send Python source, for example " EXAMPLE ".");
	return -EINVAL;
}

static bool is_null(struct slice value)
{
	return value.len == 4 && memcmp(value.data, "null", 4) == 0;
}

static int read_stdin(const struct config *config, const struct scan *scan, struct buf *text,
		      struct buf *error)
{
	if (!scan->stdin_text.data || is_null(scan->stdin_text))
		return 0;
	return read_text(scan->stdin_text, "stdin", config->max_stdin_bytes, text, error);
}

/* A double of this size has no room for a fraction (2^53). */
#define ALWAYS_WHOLE 9007199254740992.0

static bool is_whole(double value)
{
	if (!isfinite(value))
		return false;
	return value >= ALWAYS_WHOLE || value <= -ALWAYS_WHOLE || (double)(int64_t)value == value;
}

/* The number that timeout_s means: a number, or a string which holds one. Returns whether it is an
 * integer. */
static bool timeout_number(const cJSON *item, double *seconds)
{
	const char *text = cJSON_GetStringValue(item);

	if (text) {
		if (!slice_is_number(slice_of(text)))
			return false;
		*seconds = strtod(text, NULL);
	} else if (cJSON_IsNumber(item)) {
		*seconds = item->valuedouble;
	} else {
		return false;
	}
	return is_whole(*seconds);
}

/* Clamps the wish into what is allowed, and says so. */
static uint32_t clamp_timeout(const struct config *config, double wish, struct buf *warnings)
{
	if (wish < 1) {
		exec_tool_warn(warnings, "timeout_s %.15g is below 1; 1 was used", wish);
		return 1;
	}
	if (wish > config->max_timeout_s) {
		exec_tool_warn(warnings, "timeout_s %.15g is above the maximum; %u was used", wish,
			       config->max_timeout_s);
		return config->max_timeout_s;
	}
	return (uint32_t)wish;
}

static int read_timeout(const struct config *config, const cJSON *arguments,
			struct call_request *request, struct buf *error)
{
	const cJSON *item = rpc_get(arguments, "timeout_s");
	uint32_t timeout_s = config->default_timeout_s;
	double wish = 0;

	if (item && !cJSON_IsNull(item) && !timeout_number(item, &wish)) {
		buf_printf(error,
			   "timeout_s must be a whole number of seconds from 1 to %u. Send for "
			   "example "
			   "{\"code\": \"print(2+2)\", \"timeout_s\": %u}, or leave it out.",
			   config->max_timeout_s, config->default_timeout_s);
		return -EINVAL;
	}
	if (wish != 0)
		timeout_s = clamp_timeout(config, wish, &request->warnings);
	request->timeout_ms = timeout_s * 1000;
	return 0;
}

static int store(struct call_request *request, const struct buf *code, const struct buf *stdin_text)
{
	request->program_fd = blob_from(code->data, code->len);
	if (request->program_fd < 0)
		return request->program_fd;
	request->stdin_fd = blob_from(stdin_text->data, stdin_text->len);
	return request->stdin_fd < 0 ? request->stdin_fd : request->warnings.error;
}

/* Fills in everything but the blobs. */
static int read_all(const struct config *config, const struct rpc_message *message,
		    struct call_request *request, struct buf *code, struct buf *stdin_text,
		    struct buf *error)
{
	const cJSON *arguments = rpc_get(message->params, "arguments");
	int err = read_code(config, &message->scan, code, error);

	if (err == 0)
		err = check_not_blank(code, error);
	if (err == -EINVAL)
		exec_tool_suggest_code(arguments, error);
	if (err == 0)
		err = read_stdin(config, &message->scan, stdin_text, error);
	if (err == 0)
		err = read_timeout(config, arguments, request, error);
	if (err == 0)
		exec_tool_warn_unknown(arguments, &request->warnings);
	return err;
}

int exec_tool_arguments(const struct config *config, const struct rpc_message *message,
			struct call_request *request, struct buf *error)
{
	_cleanup_(buf_clear) struct buf code = BUF_INIT;
	_cleanup_(buf_clear) struct buf stdin_text = BUF_INIT;
	int err = read_all(config, message, request, &code, &stdin_text, error);

	if (err < 0)
		return err;
	request->output_max_bytes = config->max_output_bytes;
	if (config->warm.on)
		request->uses =
			uses_find(&config->warm.modules, (struct slice){code.data, code.len});
	return store(request, &code, &stdin_text);
}
