/* access - lists of origins and hosts, and the order in which a request is judged. */
#include "supervisor/access.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"
#include "common/printable.h"
#include "supervisor/ascii.h"
#include "supervisor/authority.h"

#define SEPARATORS ", \t"

/* An origin, or a host when there is no scheme. */
struct entry {
	struct slice scheme; /* data NULL: of a host */
	struct authority at;
};

struct list {
	char *text; /* the slices point into it */
	struct entry *entries;
	size_t count;
};

struct access {
	struct access_spec spec;
	struct list origins;
	struct list hosts;
};

static bool is_word(struct slice text, const char *other)
{
	return text.data && head_alike(text, slice_of(other));
}

/*** The lists ***/

static bool is_scheme(struct slice text)
{
	for (size_t i = 0; i < text.len; i++) {
		char c = text.data[i];

		if (ascii_is_letter(c))
			continue;
		if (i == 0 || !(ascii_is_digit(c) || c == '+' || c == '-' || c == '.'))
			return false;
	}
	return text.len > 0;
}

/* An origin has no port where it is the scheme's own (RFC 6454, 6.2), but a person may write it down. */
static void normalise_port(struct entry *origin)
{
	if ((is_word(origin->scheme, "http") && origin->at.port == 80) ||
	    (is_word(origin->scheme, "https") && origin->at.port == 443))
		origin->at.port = AUTHORITY_NO_PORT;
}

static bool parse_origin(struct slice text, struct entry *origin)
{
	const char *mark = text.len > 0 ? memmem(text.data, text.len, "://", 3) : NULL;
	struct slice rest;

	if (!mark)
		return false;
	origin->scheme = (struct slice){text.data, (size_t)(mark - text.data)};
	rest = (struct slice){mark + 3, text.len - origin->scheme.len - 3};
	if (!is_scheme(origin->scheme) || !authority_parse(rest, &origin->at))
		return false;
	normalise_port(origin);
	return true;
}

/* "localhost." is the same name in the DNS as "localhost". */
static bool parse_host(struct slice text, struct entry *host)
{
	host->scheme = (struct slice){NULL, 0};
	if (!authority_parse(text, &host->at))
		return false;
	if (host->at.host.len > 1 && host->at.host.data[host->at.host.len - 1] == '.')
		host->at.host.len--;
	return true;
}

/* How the entries of a list are written. */
struct form {
	bool (*parse)(struct slice text, struct entry *entry);
	const char *variable;
	const char *allowed; /* for whoever wrote another */
};

static const struct form origin_form = {
	parse_origin, "MCP_EXEC_ALLOWED_ORIGINS (--allowed-origins)",
	"an origin is a scheme, a host and maybe a port, without a path or a wildcard: "
	"https://app.example.com."};

static const struct form host_form = {
	parse_host, "MCP_EXEC_ALLOWED_HOSTS (--allowed-hosts)",
	"a host is a name or an address and maybe a port, without a wildcard: "
	"mcp.example.com, 192.0.2.7:8080 or [2001:db8::7]."};

static int refuse_entry(struct slice entry, const struct form *form, char *error, size_t size)
{
	char shown[44];

	snprintf(error, size, "%s has \"%s\": %s", form->variable,
		 printable_copy(shown, sizeof(shown), entry.data, entry.len), form->allowed);
	return -EINVAL;
}

/* Takes the next entry off text; len 0: there is none. */
static struct slice next_entry(const char **text)
{
	struct slice entry;

	*text += strspn(*text, SEPARATORS);
	entry = (struct slice){*text, strcspn(*text, SEPARATORS)};
	*text += entry.len;
	return entry;
}

static int make_room(struct list *list, const char *text)
{
	size_t most = 0;

	list->text = strdup(text);
	if (!list->text)
		return -ENOMEM;
	while (next_entry(&text).len > 0)
		most++;
	if (most == 0)
		return 0;
	list->entries = calloc(most, sizeof(*list->entries));
	return list->entries ? 0 : -ENOMEM;
}

static int read_list(struct list *list, const struct form *form, const char *text, char *error,
		     size_t size)
{
	int r = make_room(list, text ? text : "");
	const char *at = list->text;

	for (struct slice entry; r == 0 && (entry = next_entry(&at)).len > 0; list->count++)
		if (!form->parse(entry, &list->entries[list->count]))
			return refuse_entry(entry, form, error, size);
	return r;
}

static void cleanup_access(struct access **access)
{
	access_free(*access);
}

int access_new(const struct access_spec *spec, struct access **access, char *error, size_t size)
{
	_cleanup_(cleanup_access) struct access *fresh = calloc(1, sizeof(*fresh));
	int r;

	if (!fresh)
		return -ENOMEM;
	fresh->spec = *spec;
	r = read_list(&fresh->origins, &origin_form, spec->origins, error, size);
	if (r == 0)
		r = read_list(&fresh->hosts, &host_form, spec->hosts, error, size);
	if (r == 0)
		*access = take_ptr(fresh);
	return r;
}

void access_free(struct access *access)
{
	if (!access)
		return;
	free(access->origins.text);
	free(access->origins.entries);
	free(access->hosts.text);
	free(access->hosts.entries);
	free(access);
}

/*** Judging ***/

static bool is_this_machine(struct slice host)
{
	return is_word(host, "localhost") || is_word(host, "127.0.0.1") || is_word(host, "[::1]");
}

bool access_origin_allowed(const struct access *access, const char *origin, size_t len)
{
	struct entry entry;

	if (!parse_origin((struct slice){origin, len}, &entry))
		return false;
	if ((is_word(entry.scheme, "http") || is_word(entry.scheme, "https")) &&
	    is_this_machine(entry.at.host))
		return true;
	for (size_t i = 0; i < access->origins.count; i++) {
		const struct entry *allowed = &access->origins.entries[i];

		if (head_alike(entry.scheme, allowed->scheme) &&
		    head_alike(entry.at.host, allowed->at.host) &&
		    entry.at.port == allowed->at.port)
			return true;
	}
	return false;
}

static bool host_allowed(const struct access *access, struct slice text)
{
	struct entry host;

	if (!parse_host(text, &host))
		return false;
	if (is_this_machine(host.at.host))
		return true;
	for (size_t i = 0; i < access->hosts.count; i++) {
		const struct authority *allowed = &access->hosts.entries[i].at;

		if (head_alike(host.at.host, allowed->host) &&
		    (allowed->port == AUTHORITY_NO_PORT || allowed->port == host.at.port))
			return true;
	}
	return false;
}

static enum access_verdict refuse(struct access_answer *answer, int status, const char *message)
{
	answer->status = status;
	answer->message = message;
	return ACCESS_REFUSED;
}

static enum access_verdict judge_origin(const struct access *access, const struct head *head,
					struct access_answer *answer)
{
	struct slice origin = head_get(head, "Origin");

	if (!origin.data)
		return ACCESS_PASS;
	if (!access_origin_allowed(access, origin.data, origin.len))
		return refuse(answer, 403,
			      "this Origin is not allowed, see MCP_EXEC_ALLOWED_ORIGINS");
	answer->origin = origin;
	return ACCESS_PASS;
}

/* Where the target names the server, head saw to it that Host says the same. */
static enum access_verdict judge_host(const struct access *access, const struct head *head,
				      enum access_place place, struct access_answer *answer)
{
	struct slice host = head_get(head, "Host");

	if (place != ACCESS_LOOPBACK && access->hosts.count == 0)
		return ACCESS_PASS;
	if (!host.data)
		host = head->authority;
	if (!host.data && access->hosts.count == 0 && !answer->origin.data)
		return ACCESS_PASS;
	if (!host_allowed(access, host))
		return refuse(answer, 403, "this Host is not allowed, see MCP_EXEC_ALLOWED_HOSTS");
	return ACCESS_PASS;
}

static bool is_path(const struct head *head, const char *path)
{
	struct slice asked = head->path;

	if (asked.len > 1 && asked.data[asked.len - 1] == '/')
		asked.len--;
	return slice_equal(asked, slice_of(path));
}

static bool is_known(const struct access *access, const struct head *head)
{
	for (size_t i = 0; i < access->spec.n_paths; i++)
		if (is_path(head, access->spec.paths[i]))
			return true;
	return false;
}

static bool is_method(const struct head *head, const char *method)
{
	return slice_equal(head->method, slice_of(method));
}

static enum access_verdict judge_health(const struct head *head, struct access_answer *answer)
{
	if (!is_method(head, "GET") && !is_method(head, "HEAD"))
		return refuse(answer, 405, "only GET and HEAD are allowed here");
	if (head->body != HEAD_BODY_NONE)
		return refuse(answer, 400, "a body is not allowed here");
	return ACCESS_PASS;
}

static bool is_preflight(const struct head *head, const struct access_answer *answer)
{
	return is_method(head, "OPTIONS") && answer->origin.data && head->body == HEAD_BODY_NONE &&
	       head_count(head, "Access-Control-Request-Method") > 0;
}

/* The token of "Bearer token"; len 0: there is none. */
static struct slice bearer(struct slice credentials)
{
	struct slice scheme = {credentials.data, strlen("Bearer")};
	struct slice token = {NULL, 0};

	if (credentials.len <= scheme.len || !is_word(scheme, "Bearer") ||
	    credentials.data[scheme.len] != ' ')
		return token;
	token = (struct slice){credentials.data + scheme.len, credentials.len - scheme.len};
	while (token.len > 0 && token.data[0] == ' ') {
		token.data++;
		token.len--;
	}
	return token;
}

/* All that came is looked at before the answer, so that its time does not tell which was right. */
static enum access_verdict judge_token(const struct access *access, const struct head *head,
				       struct access_answer *answer)
{
	const struct slice candidates[] = {head_get(head, "X-MCP-AUTH"),
					   bearer(head_get(head, "Authorization"))};
	bool twice = head_count(head, "X-MCP-AUTH") > 1 || head_count(head, "Authorization") > 1;
	bool right = false;
	bool came = false;

	if (!access->spec.token_matches)
		return ACCESS_PASS;
	for (size_t i = 0; i < sizeof(candidates) / sizeof(candidates[0]); i++) {
		if (candidates[i].len == 0)
			continue;
		came = true;
		right |= access->spec.token_matches(candidates[i].data, candidates[i].len);
	}
	if (right && !twice)
		return ACCESS_PASS;
	answer->wrong_token = came;
	return refuse(answer, 401, "Unauthorized");
}

enum access_verdict access_judge(const struct access *access, const struct head *head,
				 enum access_place place, struct access_answer *answer)
{
	bool health = is_path(head, ACCESS_HEALTH_PATH);
	enum access_verdict verdict;

	*answer = (struct access_answer){.status = 0};
	verdict = judge_origin(access, head, answer);
	if (verdict == ACCESS_PASS && !health)
		verdict = judge_host(access, head, place, answer);
	if (verdict != ACCESS_PASS)
		return verdict;
	if (health)
		return judge_health(head, answer);
	if (!is_known(access, head))
		return refuse(answer, 404, "Not found");
	if (is_preflight(head, answer))
		return ACCESS_PREFLIGHT;
	return judge_token(access, head, answer);
}
