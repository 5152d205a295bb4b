/* head - reads the head of a request, line by line. */
#include "supervisor/head.h"

#include <string.h>

#include "supervisor/ascii.h"
#include "supervisor/authority.h"

#define BAD_REQUEST 400
#define EXPECTATION_FAILED 417
#define FIELDS_TOO_LARGE 431
#define NOT_IMPLEMENTED 501
#define VERSION_NOT_SUPPORTED 505

/* RFC 9110, 9 and RFC 5789, but for CONNECT: whoever sends another would not know what comes of it. */
static const char *const methods[] = {"GET",	"HEAD",	   "POST",  "PUT",
				      "DELETE", "OPTIONS", "TRACE", "PATCH"};

/* Which one of two would count differs from reader to reader. */
static const char *const single[] = {"Host",
				     "Content-Length",
				     "Transfer-Encoding",
				     "Expect",
				     "Content-Type",
				     "Origin",
				     "Access-Control-Request-Method",
				     "Mcp-Session-Id",
				     "MCP-Protocol-Version",
				     "Mcp-Method",
				     "Mcp-Name"};

/* What decides where a request ends and who is meant. There are readers to whom a tab before a value is a part of it. */
static const char *const no_tab[] = {"Host", "Content-Length", "Transfer-Encoding", "Expect",
				     "Connection"};

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static int refuse(int status, const char **reason, const char *why)
{
	*reason = why;
	return status;
}

bool head_is_token(char c)
{
	return ascii_is_letter(c) || ascii_is_digit(c) ||
	       (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

bool head_is_text(char c)
{
	return c == '\t' || ((unsigned char)c >= ' ' && c != 0x7f);
}

bool head_alike(struct slice a, struct slice b)
{
	if (a.len != b.len)
		return false;
	for (size_t i = 0; i < a.len; i++)
		if (ascii_lower(a.data[i]) != ascii_lower(b.data[i]))
			return false;
	return true;
}

static bool all(struct slice text, bool (*is)(char))
{
	for (size_t i = 0; i < text.len; i++)
		if (!is(text.data[i]))
			return false;
	return true;
}

size_t head_end(const char *text, size_t len, size_t *at)
{
	while (*at < len) {
		const char *newline = memchr(text + *at, '\n', len - *at);
		size_t start;

		if (!newline) {
			*at = len;
			return 0;
		}
		*at = (size_t)(newline - text) + 1;
		start = *at - 1;
		if (start > 0 && text[start - 1] == '\r')
			start--;
		if (start == 0 || text[start - 1] == '\n')
			return *at;
	}
	return 0;
}

/* Takes the next line off text, without its end. Returns false when none ends as a line must. */
static bool take_line(struct slice *text, struct slice *line)
{
	const char *newline = text->len > 0 ? memchr(text->data, '\n', text->len) : NULL;
	size_t len = newline ? (size_t)(newline - text->data) : 0;

	if (len == 0 || text->data[len - 1] != '\r')
		return false;
	*line = (struct slice){text->data, len - 1};
	*text = (struct slice){newline + 1, text->len - len - 1};
	return true;
}

static int read_method(struct head *head, const char **reason)
{
	if (head->method.len == 0 || !all(head->method, head_is_token))
		return refuse(BAD_REQUEST, reason, "the method is no token");
	for (size_t i = 0; i < LENGTH(methods); i++)
		if (slice_equal(head->method, slice_of(methods[i])))
			return 0;
	return refuse(NOT_IMPLEMENTED, reason, "this method is not implemented");
}

static int read_version(struct head *head, struct slice version, const char **reason)
{
	const char *v = version.data;

	if (version.len != strlen("HTTP/1.1") || memcmp(v, "HTTP/", 5) != 0 ||
	    !ascii_is_digit(v[5]) || v[6] != '.' || !ascii_is_digit(v[7]) || v[5] == '0')
		return refuse(BAD_REQUEST, reason, "the request line must end in HTTP/1.1");
	if (v[5] != '1' || v[7] > '1')
		return refuse(VERSION_NOT_SUPPORTED, reason, "the version must be HTTP/1.1");
	head->minor = (unsigned int)(v[7] - '0');
	return 0;
}

/* Takes scheme and authority off a target in absolute-form. */
static bool take_authority(struct slice *target, struct slice *authority)
{
	struct slice http = {target->data, strlen("http://")};
	struct slice https = {target->data, strlen("https://")};
	struct authority unused;
	size_t at = 0;

	if (target->len > http.len && head_alike(http, slice_of("http://")))
		at = http.len;
	else if (target->len > https.len && head_alike(https, slice_of("https://")))
		at = https.len;
	if (at == 0)
		return false;
	*authority = (struct slice){target->data + at, 0};
	while (at + authority->len < target->len && !strchr("/?", authority->data[authority->len]))
		authority->len++;
	at += authority->len;
	*target = (struct slice){target->data + at, target->len - at};
	return authority_parse(*authority, &unused);
}

static bool is_visible(char c)
{
	return c > ' ' && c < 0x7f && c != '#';
}

static int read_target(struct head *head, const char **reason)
{
	struct slice rest = head->target;
	const char *mark;

	if (rest.len == 0 || !all(rest, is_visible))
		return refuse(BAD_REQUEST, reason, "the target has bytes that no target has");
	if (rest.data[0] != '/' &&
	    !(slice_equal(rest, slice_of("*")) && slice_equal(head->method, slice_of("OPTIONS"))) &&
	    !take_authority(&rest, &head->authority))
		return refuse(BAD_REQUEST, reason, "the target must be a path or an http URL");
	mark = rest.len > 0 ? memchr(rest.data, '?', rest.len) : NULL;
	head->path = rest;
	if (mark) {
		head->path.len = (size_t)(mark - rest.data);
		head->query = (struct slice){mark + 1, rest.len - head->path.len - 1};
	}
	if (head->path.len == 0)
		head->path = slice_of("/");
	return 0;
}

static int read_request_line(struct head *head, struct slice line, const char **reason)
{
	const char *first = line.len > 0 ? memchr(line.data, ' ', line.len) : NULL;
	const char *last = line.len > 0 ? memrchr(line.data, ' ', line.len) : NULL;
	struct slice version;
	int status;

	if (!first || first == last)
		return refuse(BAD_REQUEST, reason, "the request line must have three parts");
	head->method = (struct slice){line.data, (size_t)(first - line.data)};
	head->target = (struct slice){first + 1, (size_t)(last - first) - 1};
	version = (struct slice){last + 1, line.len - (size_t)(last - line.data) - 1};
	status = read_version(head, version, reason);
	if (status == 0)
		status = read_method(head, reason);
	if (status == 0)
		status = read_target(head, reason);
	return status;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct slice trim(struct slice text)
{
	while (text.len > 0 && is_blank(text.data[0])) {
		text.data++;
		text.len--;
	}
	while (text.len > 0 && is_blank(text.data[text.len - 1]))
		text.len--;
	return text;
}

static int read_field(struct head *head, struct slice line, const char **reason)
{
	const char *colon = memchr(line.data, ':', line.len);
	struct slice name = {line.data, colon ? (size_t)(colon - line.data) : 0};
	struct slice value = {line.data + name.len + 1, colon ? line.len - name.len - 1 : 0};

	if (head->count == HTTP_FIELDS)
		return refuse(FIELDS_TOO_LARGE, reason, "there are too many fields");
	if (is_blank(line.data[0]))
		return refuse(BAD_REQUEST, reason, "a field is folded");
	if (name.len == 0 || !all(name, head_is_token))
		return refuse(BAD_REQUEST, reason, "a field has no proper name");
	if (!all(value, head_is_text))
		return refuse(BAD_REQUEST, reason, "a field has a control character");
	head->fields[head->count++] = (struct head_field){name, trim(value)};
	return 0;
}

struct slice head_get(const struct head *head, const char *name)
{
	for (size_t i = 0; i < head->count; i++)
		if (head_alike(head->fields[i].name, slice_of(name)))
			return head->fields[i].value;
	return (struct slice){NULL, 0};
}

size_t head_count(const struct head *head, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < head->count; i++)
		count += head_alike(head->fields[i].name, slice_of(name));
	return count;
}

static bool has_tab_before(const struct head *head, const char *name)
{
	for (size_t i = 0; i < head->count; i++) {
		const struct head_field *field = &head->fields[i];
		const char *start = field->name.data + field->name.len;

		if (head_alike(field->name, slice_of(name)) &&
		    memchr(start, '\t', (size_t)(field->value.data - start)))
			return true;
	}
	return false;
}

static int check_fields(const struct head *head, const char **reason)
{
	for (size_t i = 0; i < LENGTH(single); i++)
		if (head_count(head, single[i]) > 1)
			return refuse(BAD_REQUEST, reason, "a field that must be single is not");
	for (size_t i = 0; i < LENGTH(no_tab); i++)
		if (has_tab_before(head, no_tab[i]))
			return refuse(BAD_REQUEST, reason, "a tab stands before a value");
	return 0;
}

/* RFC 9112, 3.2: a client whose URL has no authority sends an empty Host. */
static int check_host(const struct head *head, const char **reason)
{
	struct slice host = head_get(head, "Host");
	struct authority unused;

	if (!host.data)
		return head->minor == 0 ? 0 : refuse(BAD_REQUEST, reason, "there is no Host");
	if (host.len > 0 && !authority_parse(host, &unused))
		return refuse(BAD_REQUEST, reason, "Host must be a name and maybe a port");
	if (head->authority.data && !head_alike(head->authority, host))
		return refuse(BAD_REQUEST, reason, "Host and target name different servers");
	return 0;
}

static bool read_length(struct slice text, uint64_t *length)
{
	uint64_t number = 0;

	for (size_t i = 0; i < text.len; i++)
		if (!ascii_is_digit(text.data[i]) ||
		    __builtin_mul_overflow(number, UINT64_C(10), &number) ||
		    __builtin_add_overflow(number, (uint64_t)(text.data[i] - '0'), &number))
			return false;
	*length = number;
	return text.len > 0;
}

static int read_body(struct head *head, const char **reason)
{
	struct slice length = head_get(head, "Content-Length");
	struct slice encoding = head_get(head, "Transfer-Encoding");

	if (encoding.data && (length.data || head->minor == 0))
		return refuse(BAD_REQUEST, reason, "the length of the body is said in two ways");
	if (encoding.data && !head_alike(encoding, slice_of("chunked")))
		return refuse(NOT_IMPLEMENTED, reason, "Transfer-Encoding must be chunked");
	if (length.data && !read_length(length, &head->length))
		return refuse(BAD_REQUEST, reason, "Content-Length must be a number");
	if (encoding.data)
		head->body = HEAD_BODY_CHUNKED;
	else if (head->length > 0)
		head->body = HEAD_BODY_LENGTH;
	/* There are readers, evhttp is one, that read no body of these: it would be the next request to them. */
	if (head->body != HEAD_BODY_NONE && (slice_equal(head->method, slice_of("HEAD")) ||
					     slice_equal(head->method, slice_of("TRACE"))))
		return refuse(BAD_REQUEST, reason, "this method has no body");
	return 0;
}

/* RFC 9110, 10.1.1: in HTTP/1.0 it is ignored, and without a body it means nothing. */
static int read_expect(struct head *head, const char **reason)
{
	struct slice expect = head_get(head, "Expect");

	if (expect.data && !head_alike(expect, slice_of("100-continue")))
		return refuse(EXPECTATION_FAILED, reason, "Expect must be 100-continue");
	head->expects_continue = expect.data && head->minor > 0 && head->body != HEAD_BODY_NONE;
	return 0;
}

static int check_head(struct head *head, const char **reason)
{
	int status = check_fields(head, reason);

	if (status == 0)
		status = check_host(head, reason);
	if (status == 0)
		status = read_body(head, reason);
	if (status == 0)
		status = read_expect(head, reason);
	return status;
}

/* Reads the fields up to the empty line. */
static int read_fields(struct head *head, struct slice rest, const char **reason)
{
	struct slice line;
	int status = 0;

	while (status == 0) {
		if (!take_line(&rest, &line))
			return refuse(BAD_REQUEST, reason, "a line does not end in CR LF");
		if (line.len == 0)
			break;
		status = read_field(head, line, reason);
	}
	if (status == 0 && rest.len > 0)
		return refuse(BAD_REQUEST, reason, "there is an empty line within the head");
	return status;
}

int head_parse(const char *text, size_t len, struct head *head, const char **reason)
{
	struct slice rest = {text, len};
	struct slice line;
	int status;

	*head = (struct head){.count = 0};
	if (!take_line(&rest, &line))
		return refuse(BAD_REQUEST, reason, "a line does not end in CR LF");
	status = read_request_line(head, line, reason);
	if (status == 0)
		status = read_fields(head, rest, reason);
	if (status == 0)
		status = check_head(head, reason);
	return status;
}
