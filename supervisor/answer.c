/* answer - the head of an HTTP response, written out. */
#include "supervisor/answer.h"

#include <event2/util.h>

static const char *phrase(int status)
{
	static const struct {
		int status;
		const char *phrase;
	} phrases[] = {
		{200, "OK"},
		{202, "Accepted"},
		{204, "No Content"},
		{400, "Bad Request"},
		{401, "Unauthorized"},
		{403, "Forbidden"},
		{404, "Not Found"},
		{405, "Method Not Allowed"},
		{406, "Not Acceptable"},
		{408, "Request Timeout"},
		{413, "Content Too Large"},
		{415, "Unsupported Media Type"},
		{417, "Expectation Failed"},
		{431, "Request Header Fields Too Large"},
		{500, "Internal Server Error"},
		{501, "Not Implemented"},
		{503, "Service Unavailable"},
		{505, "HTTP Version Not Supported"},
	};

	for (size_t i = 0; i < sizeof(phrases) / sizeof(*phrases); i++)
		if (phrases[i].status == status)
			return phrases[i].phrase;
	return "Unknown";
}

/* RFC 9110, 6.6.1: whoever has a clock says what it shows. */
static void add_date(struct buf *out)
{
	char date[50];

	if (evutil_date_rfc1123(date, sizeof(date), NULL) < (int)sizeof(date))
		buf_printf(out, "Date: %s\r\n", date);
}

static void add_framing(struct buf *out, const struct answer *answer)
{
	switch (answer->framing) {
	case ANSWER_LENGTH:
		buf_printf(out, "Content-Length: %zu\r\n", answer->len);
		break;
	case ANSWER_CHUNKED:
		buf_add_string(out, "Transfer-Encoding: chunked\r\n");
		break;
	case ANSWER_NO_CONTENT:
	case ANSWER_UNTIL_CLOSE:
		break;
	}
}

/* A stream passes through proxies only if they are told not to collect it (X-Accel-Buffering: nginx) and not to
 * compress it. */
static void add_caching(struct buf *out, const struct answer *answer)
{
	if (answer->framing == ANSWER_CHUNKED || answer->framing == ANSWER_UNTIL_CLOSE)
		buf_add_string(out, "Cache-Control: no-cache, no-transform\r\n"
				    "X-Accel-Buffering: no\r\n");
	else
		buf_add_string(out, "Cache-Control: no-store\r\n");
}

static void add_cors(struct buf *out, struct slice origin)
{
	if (!origin.data)
		return;
	buf_add_string(out, "Access-Control-Allow-Origin: ");
	buf_add(out, origin.data, origin.len);
	buf_add_string(out, "\r\nVary: Origin\r\n"
			    "Access-Control-Expose-Headers: Mcp-Session-Id, WWW-Authenticate\r\n");
}

void answer_head(struct buf *out, const struct answer *answer)
{
	buf_printf(out, "HTTP/1.1 %d %s\r\n", answer->status, phrase(answer->status));
	add_date(out);
	if (answer->type)
		buf_printf(out, "Content-Type: %s\r\nX-Content-Type-Options: nosniff\r\n",
			   answer->type);
	add_framing(out, answer);
	add_caching(out, answer);
	add_cors(out, answer->origin);
	buf_add(out, answer->more.data, answer->more.len);
	if (answer->close)
		buf_add_string(out, "Connection: close\r\n");
	buf_add_string(out, "\r\n");
}
