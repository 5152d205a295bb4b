/* rpc - reading and writing JSON-RPC messages. */
#include "supervisor/rpc.h"

#include <errno.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/limits.h"
#include "supervisor/json.h"
#include "supervisor/scan_tail.h"

/* An id is looked for in so much of the start and the end of a message that is not read whole. */
#define HEAD_BYTES ((size_t)64 * 1024)
#define TAIL_BYTES ((size_t)2 * MAX_ID_BYTES)

static void refuse(struct rpc_message *message, int code, const char *reason)
{
	message->kind = RPC_INVALID;
	message->error = code;
	message->reason = reason;
}

const cJSON *rpc_get(const cJSON *object, const char *name)
{
	return cJSON_GetObjectItemCaseSensitive(object, name);
}

const char *rpc_get_string(const cJSON *object, const char *name)
{
	return cJSON_GetStringValue(rpc_get(object, name));
}

static bool id_is_echoable(struct slice id)
{
	return id.len <= MAX_ID_BYTES && (slice_is_string(id) || slice_is_number(id));
}

static bool id_is_valid(struct slice id)
{
	return id.len <= MAX_ID_BYTES && (slice_is_string(id) || slice_is_integer(id));
}

/* For a message of which the scanner has not seen the end. */
static struct slice id_seen_or_last(const struct scan *scan, const char *text, size_t len)
{
	size_t tail = len < TAIL_BYTES ? len : TAIL_BYTES;
	struct slice id = scan->id;

	if (!id.data && scan->root == SCAN_OBJECT)
		id = scan_tail_id(text + len - tail, tail);
	return id_is_echoable(id) ? id : (struct slice){NULL, 0};
}

struct slice rpc_find_id(const char *text, size_t len)
{
	size_t head = len < HEAD_BYTES ? len : HEAD_BYTES;
	struct scan scan;

	scan_message(text, head, &scan);
	/* A number that touches the cut may have more digits. */
	if (scan.id.data && scan.id.data + scan.id.len == text + head)
		scan.id = (struct slice){NULL, 0};
	return id_seen_or_last(&scan, text, len);
}

/* Strings that cJSON cannot hold. Without an id nobody waits: it is taken for a notification that
 * nothing is known of. */
static void refuse_text(struct rpc_message *message, const char *reason)
{
	refuse(message, RPC_INVALID_REQUEST, reason);
	if (!message->scan.id.data)
		message->kind = RPC_NOTIFICATION;
}

/* What the scanner alone can refuse. Returns whether the message is still good. */
static bool check_scan(struct rpc_message *message)
{
	const struct scan *scan = &message->scan;

	if (scan->verdict == SCAN_NOT_JSON || scan->verdict == SCAN_TOO_DEEP)
		refuse(message, RPC_PARSE_ERROR, scan->reason);
	else if (scan->verdict == SCAN_TOO_MUCH)
		refuse(message, RPC_INVALID_REQUEST, scan->reason);
	else if (scan->verdict == SCAN_NO_MEMORY)
		refuse(message, RPC_INTERNAL_ERROR, "out of memory");
	else if (scan->verdict == SCAN_DUPLICATE)
		refuse(message, RPC_INVALID_REQUEST, "an object has the same key twice");
	else if (scan->root != SCAN_OBJECT)
		refuse(message, RPC_INVALID_REQUEST, "a message must be an object");
	else if (scan->lone_surrogate)
		refuse_text(message,
			    "a key or string outside of the arguments code and stdin holds half "
			    "of a surrogate pair, such as \\ud800");
	else if (scan->escaped_nul)
		refuse_text(message,
			    "a key or string outside of the arguments code and stdin holds "
			    "\\u0000");
	else
		return true;
	return false;
}

/* Appends text up to a value which cJSON need not see, and "" in its place. Returns where the text
 * goes on. */
static const char *leave_out(struct buf *copy, const char *text, struct slice value)
{
	buf_add(copy, text, (size_t)(value.data - text));
	buf_add_string(copy, "\"\"");
	return value.data + value.len;
}

static cJSON *parse_rest(const char *text, size_t len, const struct scan *scan)
{
	_cleanup_(buf_clear) struct buf copy = BUF_INIT;
	struct slice first = scan->code, second = scan->stdin_text;
	const char *at = text;

	if (first.data && second.data && first.data > second.data) {
		first = scan->stdin_text;
		second = scan->code;
	}
	if (slice_is_string(first))
		at = leave_out(&copy, at, first);
	if (slice_is_string(second))
		at = leave_out(&copy, at, second);
	buf_add(&copy, at, len - (size_t)(at - text));
	buf_add_byte(&copy, '\0');
	if (copy.error)
		return NULL;
	return cJSON_ParseWithLengthOpts(copy.data, copy.len, NULL, true);
}

static void check_request(struct rpc_message *message)
{
	const cJSON *params = rpc_get(message->tree, "params");

	if (message->scan.id.data && !id_is_valid(message->scan.id))
		refuse(message, RPC_INVALID_REQUEST,
		       "id must be a string or an integer, not too long");
	else if (params && !cJSON_IsNull(params) && !cJSON_IsObject(params))
		refuse(message, RPC_INVALID_REQUEST, "params must be an object");
	/* Nobody waits for an answer to it. */
	if (!message->scan.id.data)
		message->kind = RPC_NOTIFICATION;
}

/* Sorts the message into its kind by its members. */
static void classify(struct rpc_message *message)
{
	const char *version = rpc_get_string(message->tree, "jsonrpc");
	const cJSON *method = rpc_get(message->tree, "method");

	/* A response first: an answer to it would be taken for one to a request of the other side. */
	if (!method && (rpc_get(message->tree, "result") || rpc_get(message->tree, "error")))
		message->kind = RPC_RESPONSE;
	else if (!version || strcmp(version, "2.0") != 0)
		refuse(message, RPC_INVALID_REQUEST, "jsonrpc must be \"2.0\"");
	else if (!cJSON_IsString(method))
		refuse(message, RPC_INVALID_REQUEST, "method must be a string");
	else
		message->kind = message->scan.id.data ? RPC_REQUEST : RPC_NOTIFICATION;
	message->method = cJSON_GetStringValue(method);
	if (message->kind == RPC_REQUEST || message->kind == RPC_NOTIFICATION)
		check_request(message);
}

void rpc_parse(const char *text, size_t len, struct rpc_message *message)
{
	const cJSON *params, *meta;

	*message = (struct rpc_message){.kind = RPC_INVALID};
	scan_message(text, len, &message->scan);
	/* JSON-RPC 2.0, section 5: what is no JSON has no id, whatever was seen of one. */
	if (message->scan.verdict == SCAN_TOO_DEEP || message->scan.verdict == SCAN_TOO_MUCH)
		message->id = id_seen_or_last(&message->scan, text, len);
	else if (message->scan.verdict != SCAN_NOT_JSON && id_is_echoable(message->scan.id))
		message->id = message->scan.id;
	if (!check_scan(message))
		return;
	message->tree = parse_rest(text, len, &message->scan);
	if (!message->tree) {
		refuse(message, RPC_INTERNAL_ERROR, "out of memory");
		return;
	}
	classify(message);
	params = rpc_get(message->tree, "params");
	message->params = cJSON_IsObject(params) ? params : NULL;
	meta = rpc_get(message->params, "_meta");
	message->meta = cJSON_IsObject(meta) ? meta : NULL;
}

void rpc_clear(struct rpc_message *message)
{
	cJSON_Delete(message->tree);
	*message = (struct rpc_message){.kind = RPC_INVALID};
}

static void add_head(struct buf *out, struct slice id)
{
	buf_add_string(out, "{\"jsonrpc\":\"2.0\",\"id\":");
	if (id.data)
		buf_add(out, id.data, id.len);
	else
		buf_add_string(out, "null");
}

/* A tree that cannot be printed means that memory is out, which the buffer then remembers. */
static void add_tree(struct buf *out, const cJSON *tree)
{
	_cleanup_free_ char *text = cJSON_PrintUnformatted(tree);

	if (text)
		buf_add_string(out, text);
	else
		out->error = out->error ? out->error : -ENOMEM;
}

void rpc_result_head(struct buf *out, struct slice id)
{
	add_head(out, id);
	buf_add_string(out, ",\"result\":");
}

void rpc_result(struct buf *out, struct slice id, const cJSON *result)
{
	rpc_result_head(out, id);
	add_tree(out, result);
	buf_add_byte(out, '}');
}

void rpc_error(struct buf *out, struct slice id, int code, const char *message, const cJSON *data)
{
	add_head(out, id);
	buf_printf(out, ",\"error\":{\"code\":%d,\"message\":", code);
	json_quote(out, message, strlen(message));
	if (data) {
		buf_add_string(out, ",\"data\":");
		add_tree(out, data);
	}
	buf_add_string(out, "}}");
}
