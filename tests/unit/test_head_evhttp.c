/* Unit tests of head: whatever it accepts, evhttp reads in the same way. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/cleanup.h"
#include "supervisor/head.h"
#include "tests/unit/head_good.h"

#define BODY_MAX 2000
#define NEXT "GET /next HTTP/1.1\r\nHost: next\r\n\r\n"

/* A server on a socket without a name, and what it is about to be asked. */
struct fixture {
	struct event_base *base;
	struct evhttp *http;
	struct sockaddr_un address;
	socklen_t address_len;
	const char *text; /* for messages */
	size_t len;
	struct head head;
	unsigned int served;
};

static void assert_read(const struct fixture *fixture, bool same, const char *what)
{
	if (!same)
		fail_msg("evhttp reads another %s: %.*s", what, (int)fixture->len, fixture->text);
}

/* NULL stands for a slice without data. */
static bool is_same(struct slice slice, const char *text)
{
	if (!text || !slice.data)
		return !text && !slice.data;
	return slice.len == strlen(text) && memcmp(slice.data, text, slice.len) == 0;
}

static enum evhttp_cmd_type command_of(struct slice method)
{
	static const struct {
		const char *name;
		enum evhttp_cmd_type command;
	} rows[] = {{"GET", EVHTTP_REQ_GET},	   {"HEAD", EVHTTP_REQ_HEAD},
		    {"POST", EVHTTP_REQ_POST},	   {"PUT", EVHTTP_REQ_PUT},
		    {"DELETE", EVHTTP_REQ_DELETE}, {"OPTIONS", EVHTTP_REQ_OPTIONS},
		    {"TRACE", EVHTTP_REQ_TRACE},   {"PATCH", EVHTTP_REQ_PATCH}};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (is_same(method, rows[i].name))
			return rows[i].command;
	fail_msg("accepted another method");
	return EVHTTP_REQ_CONNECT;
}

static void check_target(const struct fixture *fixture, struct evhttp_request *request)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
	const char *path = evhttp_uri_get_path(uri);

	assert_read(fixture, is_same(fixture->head.target, evhttp_request_get_uri(request)),
		    "target");
	assert_read(fixture, is_same(fixture->head.path, *path ? path : "/"), "path");
	assert_read(fixture, is_same(fixture->head.query, evhttp_uri_get_query(uri)), "query");
}

/* evhttp keeps a tab before a value, which is the only difference that is let pass, and not where it acts on it. */
static void check_fields(const struct fixture *fixture, struct evhttp_request *request)
{
	const struct evkeyval *pair = evhttp_request_get_input_headers(request)->tqh_first;
	size_t count = 0;

	for (; pair && count < fixture->head.count; pair = pair->next.tqe_next, count++) {
		const struct head_field *field = &fixture->head.fields[count];

		assert_read(fixture, is_same(field->name, pair->key), "name");
		assert_read(fixture,
			    is_same(field->value, pair->value + strspn(pair->value, "\t ")),
			    "value");
	}
	assert_read(fixture, !pair && count == fixture->head.count, "number of fields");
}

static size_t body_length(const struct head *head)
{
	return head->body == HEAD_BODY_CHUNKED ? 3 : (size_t)head->length;
}

static void serve(struct evhttp_request *request, void *ctx)
{
	struct fixture *fixture = ctx;

	if (fixture->served++ > 0) {
		assert_read(fixture, strcmp(evhttp_request_get_uri(request), "/next") == 0, "end");
	} else {
		assert_read(fixture,
			    evhttp_request_get_command(request) == command_of(fixture->head.method),
			    "method");
		check_target(fixture, request);
		check_fields(fixture, request);
		assert_read(fixture,
			    evbuffer_get_length(evhttp_request_get_input_buffer(request)) ==
				    body_length(&fixture->head),
			    "body");
	}
	evhttp_send_reply(request, 200, "OK", NULL);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	*state = fixture;
	if (!fixture || fd < 0)
		return -1;
	fixture->address.sun_family = AF_UNIX;
	fixture->address_len = sizeof(fixture->address);
	fixture->base = event_base_new();
	fixture->http = evhttp_new(fixture->base);
	evhttp_set_allowed_methods(fixture->http, UINT16_MAX);
	evhttp_set_gencb(fixture->http, serve, fixture);
	/* An address without a path: the kernel chooses a name, see unix(7), autobind. */
	return bind(fd, (struct sockaddr *)&fixture->address, sizeof(sa_family_t)) < 0 ||
	       getsockname(fd, (struct sockaddr *)&fixture->address, &fixture->address_len) < 0 ||
	       listen(fd, 8) < 0 || evhttp_accept_socket(fixture->http, fd) < 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	evhttp_free(fixture->http);
	event_base_free(fixture->base);
	free(fixture);
	return 0;
}

/* The head, the body that it announces, and another request. */
static size_t write_requests(const struct fixture *fixture, char *out, size_t size)
{
	size_t len = fixture->len;

	memcpy(out, fixture->text, len);
	if (fixture->head.body == HEAD_BODY_LENGTH) {
		memset(out + len, 'G', body_length(&fixture->head));
		len += body_length(&fixture->head);
	}
	return len + (size_t)snprintf(out + len, size - len, "%s" NEXT,
				      fixture->head.body == HEAD_BODY_CHUNKED
					      ? "1\r\nG\r\n2\r\nET\r\n0\r\n\r\n"
					      : "");
}

/* Both ends are this process, so nothing has to be waited for. The connection may end after its first request, where
 * that is of HTTP/1.0 or asks for it; then no other is read from it. */
static void ask(struct fixture *fixture)
{
	_cleanup_fd_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char buffer[BODY_MAX + 2048];
	size_t len = write_requests(fixture, buffer, sizeof(buffer));
	ssize_t got = -1;

	fixture->served = 0;
	assert_int_equal(connect(fd, (struct sockaddr *)&fixture->address, fixture->address_len),
			 0);
	assert_int_equal(send(fd, buffer, len, MSG_NOSIGNAL), len);
	for (int turn = 0; turn < 1000 && fixture->served < 2 && got != 0; turn++) {
		event_base_loop(fixture->base, EVLOOP_NONBLOCK);
		got = recv(fd, buffer, sizeof(buffer), MSG_DONTWAIT);
	}
	assert_read(fixture, fixture->served == 2 || (fixture->served == 1 && got == 0), "end");
}

/* Asks what head accepts. Returns whether that was so. */
static bool ask_if_accepted(struct fixture *fixture, const char *text, size_t len)
{
	const char *reason;
	size_t at = 0;

	if (head_end(text, len, &at) != len ||
	    head_parse(text, len, &fixture->head, &reason) != 0 || fixture->head.length > BODY_MAX)
		return false;
	/* For evhttp this begins with the name of a server; access knows no such path. */
	if (fixture->head.path.len > 1 && fixture->head.path.data[1] == '/')
		return false;
	fixture->text = text;
	fixture->len = len;
	ask(fixture);
	return true;
}

static void test_evhttp_reads_damaged_heads_in_the_same_way(void **state)
{
	uint32_t seed = 20260728;
	size_t accepted = 0;
	char text[512];

	for (size_t i = 0; i < 8000; i++) {
		size_t len = strlen(good_heads[i % GOOD_HEADS]);

		memcpy(text, good_heads[i % GOOD_HEADS], len);
		for (uint32_t n = random_next(&seed) % 4; n > 0; n--)
			head_damage(text, &len, &seed);
		accepted += ask_if_accepted(*state, text, len);
	}
	/* Or the test says little. */
	assert_in_range(accepted, 2000, 6000);
}

/* Every byte that has a meaning somewhere, put in at every place and put in the place of every byte. */
static void test_evhttp_reads_heads_with_one_byte_more_in_the_same_way(void **state)
{
	static const char bytes[] = "\0\r\n\t :,;+0/?#@[%\x80";
	struct fixture *fixture = *state;
	size_t accepted = 0;
	size_t followed = 0;
	char text[512];

	for (size_t i = 0; i < GOOD_HEADS; i++) {
		size_t len = strlen(good_heads[i]);

		for (size_t n = 0; n < 2 * len * (sizeof(bytes) - 1); n++) {
			size_t at = n / 2 / (sizeof(bytes) - 1);
			size_t replaced = n % 2;

			memcpy(text, good_heads[i], at);
			text[at] = bytes[n / 2 % (sizeof(bytes) - 1)];
			memcpy(text + at + 1, good_heads[i] + at + replaced, len - at - replaced);
			if (!ask_if_accepted(fixture, text, len + 1 - replaced))
				continue;
			accepted++;
			followed += fixture->served == 2;
		}
	}
	/* Or the test says little. */
	assert_in_range(accepted, 2000, 8000);
	assert_in_range(followed, accepted / 2, accepted - 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_evhttp_reads_damaged_heads_in_the_same_way,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_evhttp_reads_heads_with_one_byte_more_in_the_same_way, set_up,
			tear_down),
	};

	return cmocka_run_group_tests_name("head_evhttp", tests, NULL, NULL);
}
