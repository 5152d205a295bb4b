/* rpc - JSON-RPC 2.0 messages as MCP uses them: from bytes to a checked message, and from results to bytes.
 *
 * Sources: MCP specification, base protocol, all revisions from 2024-11-05 to 2026-07-28; JSON-RPC 2.0. The scanner
 * (scan.h) has looked at the bytes first; cJSON reads the rest, from a copy in which the values of code and stdin are
 * replaced by "" (they can be large, and are unescaped from the message itself).
 */
#ifndef SUPERVISOR_RPC_H
#define SUPERVISOR_RPC_H

#include <cjson/cJSON.h>
#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"
#include "supervisor/scan.h"

#define RPC_PARSE_ERROR (-32700)
#define RPC_INVALID_REQUEST (-32600)
#define RPC_METHOD_NOT_FOUND (-32601)
#define RPC_INVALID_PARAMS (-32602)
#define RPC_INTERNAL_ERROR (-32603)
/* MCP 2026-07-28. */
#define RPC_HEADER_MISMATCH (-32020)
#define RPC_UNSUPPORTED_VERSION (-32022)
/* Without a meaning of its own in JSON-RPC; the SDKs of MCP use these two for HTTP, and clients know them. */
#define RPC_TRANSPORT_ERROR (-32000)
#define RPC_NO_SESSION (-32001)

enum rpc_kind { RPC_REQUEST, RPC_NOTIFICATION, RPC_RESPONSE, RPC_INVALID };

/* One message. Members point into the message's text or into tree. */
struct rpc_message {
	enum rpc_kind kind;
	struct slice
		id; /* as it stands in the message; data NULL for a notification or when unreadable */
	const char *method;
	const cJSON *params; /* an object, or NULL (also for null) */
	const cJSON *meta;   /* params._meta when it is an object, else NULL */
	struct scan scan;
	cJSON *tree; /* owned */
	/* RPC_INVALID: the code to answer with, and its sentence. Also of an unfit notification, which only a transport
	 * with a status of its own can tell; else 0. */
	int error;
	const char *reason;
};

/* Reads one message that is no array. Never fails: what is wrong is in kind, error and reason; an id that could be read
 * is there in any case, but for text that is no JSON. A notification whose method is unreadable has method NULL.
 * text must outlive the message. */
void rpc_parse(const char *text, size_t len, struct rpc_message *message);

/* Looks for the id of a message that is too long to be read: in its first 64 KiB, or as the very last member of its
 * root. Returns no data when it is not there, or cannot be told from text that only looks like it. */
struct slice rpc_find_id(const char *text, size_t len);

/* Frees the tree. */
void rpc_clear(struct rpc_message *message);

/* Appends {"jsonrpc":"2.0","id":…,"result":…}. result is borrowed. An absent id is written as null. */
void rpc_result(struct buf *out, struct slice id, const cJSON *result);

/* Appends {"jsonrpc":"2.0","id":…,"result": for a result that is written by others, and a last }. */
void rpc_result_head(struct buf *out, struct slice id);

/* Appends {"jsonrpc":"2.0","id":…,"error":{"code":…,"message":…,"data":…}}. data is borrowed and may be NULL. */
void rpc_error(struct buf *out, struct slice id, int code, const char *message, const cJSON *data);

/* The member of that exact name (cJSON's own getter ignores case), or NULL. object may be NULL. */
const cJSON *rpc_get(const cJSON *object, const char *name);
/* Its string value, or NULL when it is absent or no string. */
const char *rpc_get_string(const cJSON *object, const char *name);

#endif
