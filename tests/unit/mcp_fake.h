/* mcp_fake - a client and a dispatcher for the tests of mcp: what is sent is kept, and calls end
 * when the test says so. */
#ifndef TESTS_UNIT_MCP_FAKE_H
#define TESTS_UNIT_MCP_FAKE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/layers.h"
#include "supervisor/mcp.h"
#include "supervisor/rpc.h"

#define FAKE_CALLS 128

static const struct config fake_config = {
	.default_timeout_s = 30,
	.max_timeout_s = 300,
	.max_output_bytes = MAX_OUTPUT_BYTES,
	.max_stdin_bytes = MAX_STDIN_BYTES,
	.max_code_bytes = MAX_CODE_BYTES,
	.max_queue = 64,
	.python = "python3",
	.limits = {.memory_bytes = MEMORY_BYTES, .tmp_bytes = TMP_BYTES},
};

/* The dispatcher of the real program is not linked: these are its functions. */
struct dispatch {
	struct call *calls[FAKE_CALLS];
	size_t count;
	size_t cancelled;
	bool full;
};

struct fake {
	struct dispatch dispatch;
	struct mcp mcp;
	struct session *session;
	struct session *own; /* what mcp_handle is given for messages without a session */
	struct channel channel;
	struct mcp_envelope envelope;
	enum channel_kind kind; /* of the last message that was sent */
	struct buf sent;	/* messages, each with a newline behind it */
};

static inline void fake_forget(struct dispatch *dispatch, const struct call *call)
{
	for (size_t i = 0; i < dispatch->count; i++) {
		if (dispatch->calls[i] != call)
			continue;
		dispatch->calls[i] = dispatch->calls[--dispatch->count];
		return;
	}
	fail_msg("the dispatcher does not have this call");
}

void dispatch_submit(struct dispatch *dispatch, struct call *call)
{
	const struct outcome busy = {.kind = OUTCOME_BUSY};

	assert_int_equal(call->state, CALL_QUEUED);
	if (dispatch->full) {
		call->ended(call, &busy);
		return;
	}
	assert_true(dispatch->count < FAKE_CALLS);
	dispatch->calls[dispatch->count++] = call;
}

void dispatch_cancel(struct dispatch *dispatch, struct call *call)
{
	fake_forget(dispatch, call);
	dispatch->cancelled++;
}

size_t dispatch_place(const struct dispatch *dispatch, const struct call *call)
{
	return call == dispatch->calls[0] ? 0 : 1;
}

void dispatch_each(const struct dispatch *dispatch, void (*visit)(struct call *call, void *ctx),
		   void *ctx)
{
	for (size_t i = 0; i < dispatch->count; i++)
		visit(dispatch->calls[i], ctx);
}

static inline void fake_send(void *ctx, enum channel_kind kind, const char *text, size_t len)
{
	struct fake *fake = ctx;

	fake->kind = kind;
	assert_null(memchr(text, '\n', len));
	buf_add(&fake->sent, text, len);
	buf_add_byte(&fake->sent, '\n');
}

static inline int fake_setup(void **state)
{
	struct fake *fake = calloc(1, sizeof(*fake));

	if (!fake)
		return -1;
	fake->mcp = (struct mcp){
		.config = &fake_config, .dispatch = &fake->dispatch, .tools = mcp_tools};
	fake->channel = (struct channel){.send = fake_send, .ctx = fake};
	fake->session = session_new();
	fake->own = session_new();
	fake->envelope = (struct mcp_envelope){.way = MCP_STDIO, .session = fake->session};
	*state = fake;
	return fake->session && fake->own ? 0 : -1;
}

static inline int fake_teardown(void **state)
{
	struct fake *fake = *state;

	mcp_end(&fake->mcp, fake->session);
	mcp_end(&fake->mcp, fake->own);
	assert_int_equal(fake->dispatch.count, 0);
	assert_int_equal(fake->channel.holds, 0);
	session_free(fake->session);
	session_free(fake->own);
	buf_clear(&fake->sent);
	free(fake);
	return 0;
}

static inline void fake_handle(struct fake *fake, const char *text)
{
	buf_reset(&fake->sent);
	mcp_handle(&fake->mcp, fake->own, &fake->channel, &fake->envelope, text, strlen(text));
	buf_add_byte(&fake->sent, '\0');
	fake->sent.len--;
}

/* Ends call i with this on its stdout. */
static inline void fake_end(struct fake *fake, size_t i, const char *output)
{
	struct outcome outcome = {
		.kind = OUTCOME_DONE,
		.done = {.wall_us = 1000, .layers = layers_required()},
		.out = {.data = output, .size = strlen(output)},
		.err = {.data = "", .size = 0},
	};
	struct call *call = fake->dispatch.calls[i];

	assert_true(i < fake->dispatch.count);
	fake_forget(&fake->dispatch, call);
	buf_reset(&fake->sent);
	call->ended(call, &outcome);
	buf_add_byte(&fake->sent, '\0');
	fake->sent.len--;
}

#define VERSION_KEY "io.modelcontextprotocol/protocolVersion"
#define CAPABILITIES_KEY "io.modelcontextprotocol/clientCapabilities"
#define META(version, more)                                                                        \
	"\"_meta\":{\"" VERSION_KEY "\":" version ",\"" CAPABILITIES_KEY "\":{}" more "}"
#define MODERN META("\"2026-07-28\"", "")
#define REQUEST(id, method, params)                                                                \
	"{\"jsonrpc\":\"2.0\",\"id\":" id ",\"method\":\"" method "\",\"params\":{" params "}}"
#define NOTIFICATION(method, params)                                                               \
	"{\"jsonrpc\":\"2.0\",\"method\":\"" method "\",\"params\":{" params "}}"
#define CALL(id, code, more)                                                                       \
	REQUEST(id, "tools/call", "\"name\":\"exec\",\"arguments\":{\"code\":\"" code "\"}" more)
#define INITIALIZE(version)                                                                        \
	REQUEST("0", "initialize", "\"protocolVersion\":\"" version "\",\"capabilities\":{}")

static inline void check_silent(struct fake *fake, const char *text)
{
	fake_handle(fake, text);
	if (fake->sent.len > 0)
		fail_msg("%s was answered: %s", text, fake->sent.data);
}

/* Reads the one answer that was sent; the caller deletes it. */
static inline cJSON *read_answer(struct fake *fake)
{
	cJSON *answer;

	if (fake->sent.len == 0 || !strchr(fake->sent.data, '\n'))
		fail_msg("there is no answer");
	/* One message: its newline is the last byte. */
	assert_ptr_equal(strchr(fake->sent.data, '\n'), fake->sent.data + fake->sent.len - 1);
	answer = cJSON_ParseWithLengthOpts(fake->sent.data, fake->sent.len + 1, NULL, true);
	if (!answer)
		fail_msg("not JSON: %s", fake->sent.data);
	return answer;
}

static inline cJSON *answer_to(struct fake *fake, const char *text)
{
	fake_handle(fake, text);
	return read_answer(fake);
}

static inline void check_answer(struct fake *fake, const char *text, const char *expected)
{
	fake_handle(fake, text);
	if (fake->sent.len == 0 || strncmp(fake->sent.data, expected, fake->sent.len - 1) != 0 ||
	    strlen(expected) != fake->sent.len - 1)
		fail_msg("%s\n  answered: %s\n  expected: %s", text,
			 fake->sent.len ? fake->sent.data : "nothing", expected);
}

static inline void check_error(struct fake *fake, const char *text, const char *id, int code)
{
	char head[256];

	snprintf(head, sizeof(head),
		 "{\"jsonrpc\":\"2.0\",\"id\":%s,\"error\":{\"code\":%d,\"message\":", id, code);
	fake_handle(fake, text);
	if (fake->sent.len == 0 || strncmp(fake->sent.data, head, strlen(head)) != 0)
		fail_msg("%s\n  answered: %s\n  expected: %s", text,
			 fake->sent.len ? fake->sent.data : "nothing", head);
	assert_ptr_equal(strchr(fake->sent.data, '\n'), fake->sent.data + fake->sent.len - 1);
}

static inline void check_mentions(const struct fake *fake, const char *phrase)
{
	if (!strstr(fake->sent.data, phrase))
		fail_msg("%s lacks %s", fake->sent.data, phrase);
}

static inline void check_modern_result(const cJSON *result)
{
	const cJSON *info = rpc_get(rpc_get(result, "_meta"), "io.modelcontextprotocol/serverInfo");

	assert_string_equal(rpc_get_string(result, "resultType"), "complete");
	assert_string_equal(rpc_get_string(info, "name"), "mcp-exec");
	assert_non_null(rpc_get_string(info, "version"));
}

#endif
