/* refusal - errors of transports, written out. */
#include "supervisor/refusal.h"

#include "common/cleanup.h"
#include "supervisor/media.h"
#include "supervisor/rpc.h"

#define JSON "application/json"

void refusal_answer(struct exchange *exchange, int status, int code, const char *message)
{
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	rpc_error(&out, (struct slice){NULL, 0}, code, message, NULL);
	exchange_answer(exchange, status, JSON, out.data, out.error ? 0 : out.len);
}

void refusal_method(struct exchange *exchange, const char *allowed)
{
	exchange_set_header(exchange, "Allow", allowed);
	refusal_answer(exchange, 405, RPC_TRANSPORT_ERROR, "Method not allowed");
}

bool refusal_unless_json(struct exchange *exchange)
{
	if (media_is(exchange_header(exchange, "Content-Type"), JSON) &&
	    !exchange_header(exchange, "Content-Encoding"))
		return false;
	refusal_answer(exchange, 415, RPC_TRANSPORT_ERROR,
		       "Unsupported Media Type: Content-Type must be application/json, without a "
		       "Content-Encoding");
	return true;
}
