/* suite_server - mcp-exec with the tools of the official conformance suite in the place of its own. Never installed.
 *
 * Everything but the table of tools is the product: its main, its transports, its protocol. By the linker's --wrap,
 * whoever asks for mcp_tools gets __wrap_mcp_tools (see the Makefile). What a tool must do is said by the scenario of
 * the suite that calls it; which scenarios that are, and what they come to, stands in expected_suite_server.txt.
 */
#include <cjson/cJSON.h>
#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "supervisor/mcp_internal.h"

/* MCP 2026-07-28, MissingRequiredClientCapability: the product needs nothing of a client. */
#define MISSING_CAPABILITY (-32021)

#define NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{}}"
#define TEXT(text) "{\"type\":\"text\",\"text\":\"" text "\"}"
/* One red pixel; two silent samples of 8 kHz. */
#define IMAGE                                                                                      \
	"{\"type\":\"image\",\"mimeType\":\"image/png\",\"data\":"                                 \
	"\"iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAA"       \
	"AElFTkSuQmCC\"}"
#define AUDIO                                                                                      \
	"{\"type\":\"audio\",\"mimeType\":\"audio/wav\",\"data\":"                                 \
	"\"UklGRigAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQQAAAAAAAAA\"}"
#define RESOURCE(uri, type, text)                                                                  \
	"{\"type\":\"resource\",\"resource\":{\"uri\":\"" uri "\",\"mimeType\":\"" type            \
	"\",\"text\":\"" text "\"}}"
#define CONTENT(items) "{\"content\":[" items "]}"

/* The keywords that an implementation which rebuilds schemas would lose. */
#define SCHEMA_2020_12                                                                             \
	"{\"$schema\":\"https://json-schema.org/draft/2020-12/schema\",\"type\":\"object\","       \
	"\"$defs\":{\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":"   \
	"{\"street\":{\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},"                     \
	"\"properties\":{\"name\":{\"type\":\"string\"},"                                          \
	"\"address\":{\"$ref\":\"#/$defs/address\"},"                                              \
	"\"contactMethod\":{\"type\":\"string\",\"enum\":[\"phone\",\"email\"]},"                  \
	"\"phone\":{\"type\":\"string\"},\"email\":{\"type\":\"string\"}},"                        \
	"\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":[\"email\"]}]}],"         \
	"\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"                        \
	"\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},"                   \
	"\"else\":{\"required\":[\"email\"]},\"additionalProperties\":false}"

/* A call that is answered later: after its steps, with a word of progress at each if that was asked for. */
struct job {
	struct mcp_reply reply; /* its id points to text */
	struct slice token;	/* progressToken, NULL: none; points behind the id */
	struct event *timer;
	size_t step;
	char text[];
};

static const char *const progress[] = {"0", "50", "100"};
#define STEPS (sizeof(progress) / sizeof(progress[0]))
static const struct timeval step_time = {.tv_usec = 50000};

/* The loop that the server runs, as it hands it to the dispatcher. */
static struct event_base *loop;

__typeof__(dispatch_new) __real_dispatch_new, __wrap_dispatch_new;

int __wrap_dispatch_new(struct event_base *base, const struct spawn_spec *spec,
			struct metrics *metrics, struct dispatch **dispatch)
{
	loop = base;
	return __real_dispatch_new(base, spec, metrics, dispatch);
}

static void answer(const struct mcp_reply *reply, const char *result)
{
	mcp_reply_result(reply, cJSON_Parse(result));
}

static void tell(const struct job *job)
{
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	buf_add_string(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
			     "\"params\":{\"total\":100,\"progressToken\":");
	buf_add(&out, job->token.data, job->token.len);
	buf_printf(&out, ",\"progress\":%s}}", progress[job->step]);
	if (!out.error)
		channel_answer(job->reply.channel, NULL, CHANNEL_PROGRESS, out.data, out.len);
}

static void finish(struct job *job)
{
	answer(&job->reply, CONTENT(TEXT("All steps are done.")));
	mcp_release(&job->reply);
	event_free(job->timer);
	free(job);
}

static void on_step(evutil_socket_t fd, short what, void *ctx)
{
	struct job *job = ctx;

	(void)fd;
	(void)what;
	if (job->token.data)
		tell(job);
	job->step++;
	if (job->step == STEPS || event_add(job->timer, &step_time) < 0)
		finish(job);
}

static struct job *job_new(const struct mcp_request *request)
{
	struct slice id = request->reply.id;
	struct slice token = request->message->scan.progress_token;
	struct job *job = calloc(1, sizeof(*job) + id.len + token.len);

	if (!job)
		return NULL;
	memcpy(job->text, id.data, id.len);
	if (token.data)
		memcpy(job->text + id.len, token.data, token.len);
	job->reply = request->reply;
	job->reply.id.data = job->text;
	job->token = (struct slice){token.data ? job->text + id.len : NULL, token.len};
	job->timer = evtimer_new(loop, on_step, job);
	return job;
}

static void call_slow(const struct mcp_request *request)
{
	struct job *job = job_new(request);

	if (!job || !job->timer || event_add(job->timer, &step_time) < 0)
		abort();
	mcp_hold(&job->reply);
}

/* A tool that needs sampling must not run for a client that has not declared it (2026-07-28). */
static void call_sampling(const struct mcp_request *request)
{
	const cJSON *capabilities =
		rpc_get(request->message->meta, MCP_META_PREFIX "clientCapabilities");
	cJSON *data;

	if (rpc_get(capabilities, "sampling")) {
		answer(&request->reply, CONTENT(TEXT("The client can sample.")));
		return;
	}
	data = cJSON_Parse("{\"requiredCapabilities\":{\"sampling\":{}}}");
	mcp_refuse(&request->reply, MISSING_CAPABILITY, "The client does not offer sampling", data);
	cJSON_Delete(data);
}

static cJSON *describe(const char *name, const char *schema)
{
	cJSON *tool = cJSON_CreateObject();

	if (!cJSON_AddStringToObject(tool, "name", name) ||
	    !cJSON_AddStringToObject(tool, "description", "Of the conformance suite") ||
	    !cJSON_AddRawToObject(tool, "inputSchema", schema))
		abort();
	return tool;
}

/* name; its input schema; the function that answers */
#define LATER(X)                                                                                   \
	X(test_tool_with_progress, NO_ARGUMENTS, call_slow)                                        \
	X(test_streaming_elicitation, NO_ARGUMENTS, call_slow)                                     \
	X(test_reconnection, NO_ARGUMENTS, call_slow)                                              \
	X(test_missing_capability, NO_ARGUMENTS, call_sampling)
/* name; its input schema; the result that it always has */
#define AT_ONCE(X)                                                                                 \
	X(test_simple_text, NO_ARGUMENTS,                                                          \
	  CONTENT(TEXT("This is a simple text response for testing.")))                            \
	X(test_image_content, NO_ARGUMENTS, CONTENT(IMAGE))                                        \
	X(test_audio_content, NO_ARGUMENTS, CONTENT(AUDIO))                                        \
	X(test_embedded_resource, NO_ARGUMENTS,                                                    \
	  CONTENT(RESOURCE("test://embedded-resource", "text/plain",                               \
			   "This is an embedded resource content.")))                              \
	X(test_multiple_content_types, NO_ARGUMENTS,                                               \
	  CONTENT(TEXT("Multiple content types test:") "," IMAGE "," RESOURCE(                     \
		  "test://mixed-content-resource", "application/json",                             \
		  "{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}")))                               \
	X(test_error_handling, NO_ARGUMENTS,                                                       \
	  "{\"isError\":true,\"content\":[" TEXT(                                                  \
		  "This tool intentionally returns an error for testing") "]}")                    \
	X(test_logging_tool, NO_ARGUMENTS, CONTENT(TEXT("Nothing was logged to the client.")))     \
	X(json_schema_2020_12_tool, SCHEMA_2020_12, CONTENT(TEXT("ok")))

#define DESCRIBE(name, schema, ...)                                                                \
	static cJSON *describe_##name(const struct config *config, bool with_output)               \
	{                                                                                          \
		(void)config;                                                                      \
		(void)with_output;                                                                 \
		return describe(#name, schema);                                                    \
	}
#define CALL(name, schema, result)                                                                 \
	static void call_##name(const struct mcp_request *request)                                 \
	{                                                                                          \
		answer(&request->reply, result);                                                   \
	}
#define ROW(name, ...) {#name, describe_##name, call_##name},
#define ROW_LATER(name, schema, call) {#name, describe_##name, call},

AT_ONCE(DESCRIBE)
AT_ONCE(CALL)
LATER(DESCRIBE)

extern const struct tool __wrap_mcp_tools[];
const struct tool __wrap_mcp_tools[] = {AT_ONCE(ROW) LATER(ROW_LATER){NULL, NULL, NULL}};
