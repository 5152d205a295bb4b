/* head_good.h - heads that are accepted, and ways to damage one, for the unit tests of head. */
#ifndef TESTS_UNIT_HEAD_GOOD_H
#define TESTS_UNIT_HEAD_GOOD_H

#include <stddef.h>
#include <stdint.h>

#include "tests/unit/damage.h"

static const char *const good_heads[] = {
	"POST /mcp?a=b HTTP/1.1\r\nHost: localhost:8080\r\nContent-Length: 12\r\n"
	"X-MCP-AUTH: t0ken\r\nMcp-Name: =?base64?ZXhlYw==?=\r\n\r\n",
	"POST /mcp HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n"
	"Authorization: Bearer t0ken\r\nExpect: 100-continue\r\n\r\n",
	"OPTIONS /mcp HTTP/1.1\r\nHost: [::1]:80\r\nOrigin: http://localhost\r\n"
	"Access-Control-Request-Method: POST\r\n\r\n",
	"GET http://a:80/b?c HTTP/1.1\r\nHost: A:80\r\nConnection: keep-alive\r\n\r\n",
	"GET /healthz HTTP/1.0\r\nA:\r\nB: c \t d\t\r\n\r\n",
};

#define GOOD_HEADS (sizeof(good_heads) / sizeof(good_heads[0]))

/* One change at random, see damage. */
static inline void head_damage(char *text, size_t *len, uint32_t *seed)
{
	static const char bytes[] = "\0\r\n\t :/?*,;=+-0129aA.[]@%#\x80\xff\x7f\x01";

	damage(text, len, seed, bytes, sizeof(bytes) - 1);
}

#endif
