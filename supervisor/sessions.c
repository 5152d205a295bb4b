/* sessions - theory of operation
 *
 * Every entry is in two lists: that of its bucket, by which an id is found, and one that has them all in the order in
 * which they were last touched, so that whoever is to be ended next is found at its front. Ids are random, so any
 * hash spreads them; nobody can choose one that lands where another is.
 */
#include "supervisor/sessions.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "common/cleanup.h"

#define ID_BYTES (SESSION_ID_DIGITS / 2)

struct entry {
	struct entry *next_in_bucket;
	struct entry *before, *after; /* in the order of touching */
	struct session *session;
	uint64_t touched_ms;
	char id[SESSION_ID_DIGITS + 1];
};

struct sessions {
	sessions_ended ended;
	void *ctx;
	uint64_t idle_ms;
	size_t max;
	size_t count;
	struct entry ring; /* its after is the one idle longest; it has no session */
	struct entry *buckets[];
};

/*** The two lists ***/

static void unlink_from_ring(struct entry *entry)
{
	entry->before->after = entry->after;
	entry->after->before = entry->before;
}

static void link_into_ring(struct sessions *sessions, struct entry *entry, uint64_t now_ms)
{
	struct entry *last = sessions->ring.before;

	entry->touched_ms = now_ms;
	entry->before = last;
	entry->after = &sessions->ring;
	last->after = entry;
	sessions->ring.before = entry;
}

static void touch(struct sessions *sessions, struct entry *entry, uint64_t now_ms)
{
	unlink_from_ring(entry);
	link_into_ring(sessions, entry, now_ms);
}

static struct entry **bucket_of(struct sessions *sessions, const char *id)
{
	size_t hash = 0;

	for (size_t i = 0; i < SESSION_ID_DIGITS; i++)
		hash = hash * 31 + (unsigned char)id[i];
	return &sessions->buckets[hash % sessions->max];
}

bool sessions_is_id(const char *text, const char id[static SESSION_ID_DIGITS + 1])
{
	unsigned int differ = 0;

	if (strnlen(text, SESSION_ID_DIGITS + 1) != SESSION_ID_DIGITS)
		return false;
	for (size_t i = 0; i < SESSION_ID_DIGITS; i++)
		differ |= (unsigned char)(text[i] ^ id[i]);
	return differ == 0;
}

static struct entry *find_entry(struct sessions *sessions, const char *id)
{
	struct entry *entry;

	if (strnlen(id, SESSION_ID_DIGITS + 1) != SESSION_ID_DIGITS)
		return NULL;
	entry = *bucket_of(sessions, id);
	while (entry && !sessions_is_id(id, entry->id))
		entry = entry->next_in_bucket;
	return entry;
}

/* Takes the entry out and frees it; the session is left. */
static struct session *take_entry(struct sessions *sessions, struct entry *entry)
{
	struct session *session = entry->session;
	struct entry **at = bucket_of(sessions, entry->id);

	while (*at != entry)
		at = &(*at)->next_in_bucket;
	*at = entry->next_in_bucket;
	unlink_from_ring(entry);
	sessions->count--;
	free(entry);
	return session;
}

static void end_entry(struct sessions *sessions, struct entry *entry)
{
	sessions->ended(take_entry(sessions, entry), sessions->ctx);
}

/*** What is idle? ***/

static bool is_busy(const struct entry *entry)
{
	return session_any(entry->session) != NULL;
}

static bool is_expired(const struct sessions *sessions, const struct entry *entry, uint64_t now_ms)
{
	return now_ms >= entry->touched_ms + sessions->idle_ms && !is_busy(entry);
}

/* Returns whether there is room now. */
static bool make_room(struct sessions *sessions)
{
	struct entry *entry = sessions->ring.after;

	if (sessions->count < sessions->max)
		return true;
	while (entry != &sessions->ring && is_busy(entry))
		entry = entry->after;
	if (entry == &sessions->ring)
		return false;
	end_entry(sessions, entry);
	return true;
}

/*** The table ***/

struct sessions *sessions_new(size_t max, uint32_t idle_s, sessions_ended ended, void *ctx)
{
	struct sessions *sessions = calloc(1, sizeof(*sessions) + max * sizeof(struct entry *));

	if (!sessions)
		return NULL;
	sessions->ended = ended;
	sessions->ctx = ctx;
	sessions->idle_ms = idle_s * UINT64_C(1000);
	sessions->max = max;
	sessions->ring.before = sessions->ring.after = &sessions->ring;
	return sessions;
}

void sessions_free(struct sessions *sessions)
{
	if (!sessions)
		return;
	while (sessions->count > 0)
		end_entry(sessions, sessions->ring.after);
	free(sessions);
}

bool sessions_new_id(char id[static SESSION_ID_DIGITS + 1])
{
	static const char digits[] = "0123456789abcdef";
	unsigned char bytes[ID_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return false;
	for (size_t i = 0; i < ID_BYTES; i++) {
		id[2 * i] = digits[bytes[i] >> 4];
		id[2 * i + 1] = digits[bytes[i] & 0xf];
	}
	id[SESSION_ID_DIGITS] = '\0';
	return true;
}

const char *sessions_add(struct sessions *sessions, struct session *session, uint64_t now_ms)
{
	_cleanup_free_ struct entry *entry = calloc(1, sizeof(*entry));
	struct entry **bucket;

	/* Nobody is ended in vain. */
	if (!entry || !sessions_new_id(entry->id) || !make_room(sessions))
		return NULL;
	entry->session = session;
	link_into_ring(sessions, entry, now_ms);
	bucket = bucket_of(sessions, entry->id);
	entry->next_in_bucket = *bucket;
	*bucket = entry;
	sessions->count++;
	return take_ptr(entry)->id;
}

struct session *sessions_find(struct sessions *sessions, const char *id, uint64_t now_ms)
{
	struct entry *entry = find_entry(sessions, id);

	if (!entry)
		return NULL;
	if (is_expired(sessions, entry, now_ms)) {
		end_entry(sessions, entry);
		return NULL;
	}
	touch(sessions, entry, now_ms);
	return entry->session;
}

struct session *sessions_take(struct sessions *sessions, const char *id)
{
	struct entry *entry = find_entry(sessions, id);

	return entry ? take_entry(sessions, entry) : NULL;
}

/* Those that are touched go behind the last one of now, and are not looked at twice. */
void sessions_expire(struct sessions *sessions, uint64_t now_ms)
{
	struct entry *entry = sessions->ring.after;

	for (size_t left = sessions->count; left > 0; left--) {
		struct entry *next = entry->after;

		if (is_busy(entry))
			touch(sessions, entry, now_ms);
		else if (is_expired(sessions, entry, now_ms))
			end_entry(sessions, entry);
		entry = next;
	}
}

size_t sessions_count(const struct sessions *sessions)
{
	return sessions->count;
}
