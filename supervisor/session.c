/* session - the calls of one client, and its batches. */
#include "supervisor/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/cleanup.h"

/* Whoever waits for what is lost learns at least that something is; an id would have to be built. */
#define LOST                                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"out of "        \
	"memory\"}}"

/* A call in flight; its id follows. */
struct entry {
	struct entry *next;
	struct call *call;
	struct slice id; /* points to text */
	char text[];
};

struct session {
	session_send send; /* NULL: muted */
	void *ctx;
	const char *version;
	struct entry *calls;
};

struct batch {
	struct session *session;
	size_t holds;
	struct buf answers; /* separated by commas */
};

struct session *session_new(session_send send, void *ctx)
{
	struct session *session = calloc(1, sizeof(*session));

	if (!session)
		return NULL;
	session->send = send;
	session->ctx = ctx;
	return session;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	while (session->calls) {
		struct entry *entry = session->calls;

		session->calls = entry->next;
		free(entry);
	}
	free(session);
}

const char *session_version(const struct session *session)
{
	return session->version;
}

void session_set_version(struct session *session, const char *version)
{
	session->version = version;
}

void session_mute(struct session *session)
{
	session->send = NULL;
}

static void send(const struct session *session, const char *text, size_t len)
{
	if (session->send)
		session->send(session->ctx, text, len);
}

void session_answer(struct session *session, struct batch *batch, const char *text, size_t len)
{
	if (!batch) {
		send(session, text, len);
		return;
	}
	if (batch->answers.len > 0)
		buf_add_byte(&batch->answers, ',');
	buf_add(&batch->answers, text, len);
}

void session_lose_answer(struct session *session, struct batch *batch)
{
	if (batch)
		batch->answers.error = -ENOMEM;
	else
		send(session, LOST, strlen(LOST));
}

struct batch *batch_new(struct session *session)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return NULL;
	batch->session = session;
	batch->holds = 1;
	return batch;
}

void batch_hold(struct batch *batch)
{
	batch->holds++;
}

static void send_batch(struct batch *batch)
{
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	buf_add_byte(&out, '[');
	buf_add(&out, batch->answers.data, batch->answers.len);
	buf_add_byte(&out, ']');
	/* An array that lacks an answer would leave its caller waiting as much as none does. */
	if (!out.error && !batch->answers.error)
		send(batch->session, out.data, out.len);
	else
		send(batch->session, LOST, strlen(LOST));
}

void batch_release(struct batch *batch)
{
	if (--batch->holds > 0)
		return;
	if (batch->answers.len > 0 || batch->answers.error)
		send_batch(batch);
	buf_clear(&batch->answers);
	free(batch);
}

static struct entry *find_entry(const struct session *session, struct slice id)
{
	for (struct entry *entry = session->calls; entry; entry = entry->next)
		if (slice_equal(entry->id, id))
			return entry;
	return NULL;
}

int session_add(struct session *session, struct slice id, struct call *call)
{
	struct entry *entry;

	if (find_entry(session, id))
		return -EEXIST;
	entry = malloc(sizeof(*entry) + id.len);
	if (!entry)
		return -ENOMEM;
	memcpy(entry->text, id.data, id.len);
	entry->id = (struct slice){entry->text, id.len};
	entry->call = call;
	entry->next = session->calls;
	session->calls = entry;
	return 0;
}

struct call *session_find(const struct session *session, struct slice id)
{
	struct entry *entry = find_entry(session, id);

	return entry ? entry->call : NULL;
}

void session_remove(struct session *session, struct call *call)
{
	for (struct entry **at = &session->calls; *at; at = &(*at)->next) {
		struct entry *entry = *at;

		if (entry->call != call)
			continue;
		*at = entry->next;
		free(entry);
		return;
	}
}

void session_each(const struct session *session, void (*visit)(struct call *call, void *ctx),
		  void *ctx)
{
	for (const struct entry *entry = session->calls; entry; entry = entry->next)
		visit(entry->call, ctx);
}

struct call *session_any(const struct session *session)
{
	return session->calls ? session->calls->call : NULL;
}
