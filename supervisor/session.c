/* session - the version and the calls of one client. */
#include "supervisor/session.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A call in flight; its id follows. */
struct entry {
	struct entry *next;
	struct call *call;
	struct slice id; /* points to text */
	char text[];
};

struct session {
	const char *version;
	struct entry *calls;
};

struct session *session_new(void)
{
	return calloc(1, sizeof(struct session));
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

struct call *session_any(const struct session *session)
{
	return session->calls ? session->calls->call : NULL;
}
