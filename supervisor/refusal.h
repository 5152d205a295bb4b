/* refusal - what a request gets that no transport serves: a status and a JSON-RPC error without an id.
 *
 * Each of these ends the exchange, but for refusal_unless_json when it returns false.
 */
#ifndef SUPERVISOR_REFUSAL_H
#define SUPERVISOR_REFUSAL_H

#include <stdbool.h>

#include "supervisor/exchange.h"

/* Answers with this status; code is one of rpc.h, message says what to do. */
void refusal_answer(struct exchange *exchange, int status, int code, const char *message);

/* 405; allowed: the methods that there are, as Allow lists them (RFC 9110, 10.2.1). */
void refusal_method(struct exchange *exchange, const char *allowed);

/* 415, unless the content is said to be JSON, and not compressed. Returns whether it was refused. */
bool refusal_unless_json(struct exchange *exchange);

#endif
