/* channel - where the answers to one client go: on stdio and SSE the one stream of the client, on Streamable HTTP the
 * answer to one POST.
 *
 * Whoever will answer later holds the channel. Its owner holds it, too, while it hands a message in; when the last hold
 * goes, nothing more will come, and done is called. A muted channel swallows what is sent.
 */
#ifndef SUPERVISOR_CHANNEL_H
#define SUPERVISOR_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>

/* What kind of message of ours it is, for transports that tell it by a status as well. */
enum channel_kind {
	CHANNEL_SERVED,	   /* a result, or an error that the method gave */
	CHANNEL_HANDSHAKE, /* the result of initialize: a session begins */
	CHANNEL_REFUSED,   /* the message itself is unfit: HTTP 400 */
	CHANNEL_NOT_FOUND, /* no such method (modern era) or session: HTTP 404 */
	CHANNEL_PROGRESS   /* a notification before the answer */
};

struct channel {
	/* Sends one complete JSON message (no newline in it) to the client. NULL: muted. */
	void (*send)(void *ctx, enum channel_kind kind, const char *text, size_t len);
	/* Called when the last hold goes; may free the channel. NULL: nobody wants to know. */
	void (*done)(void *ctx);
	void *ctx; /* of both */
	size_t holds;
	bool drop_cancels; /* a client that goes away has cancelled what it asked for here (modern era) */
	bool one_by_one; /* each answer of a batch is sent by itself: as an event of a stream */
};

/* Several answers that go out together, as one JSON array where nothing else is asked for (batches of 2025-03-26 and
 * before). At most MAX_BATCH. */
struct batch;

void channel_hold(struct channel *channel);
void channel_release(struct channel *channel);

/* Nothing is sent any more, whatever comes: for the end of a client. */
void channel_mute(struct channel *channel);

/* Sends text as an answer: at once, or into the batch it belongs to (NULL: none). */
void channel_answer(struct channel *channel, struct batch *batch, enum channel_kind kind,
		    const char *text, size_t len);

/* For an answer that memory is missing for: sends a short error without an id, at once or instead of the batch. */
void channel_lose_answer(struct channel *channel, struct batch *batch);

/* A batch starts with one hold on it, which batch_release gives up; each call in it holds it too (batch_hold). When the
 * last hold goes, its answers are sent (nothing, if there is none) and the batch is freed. It holds its channel
 * meanwhile.
 * Returns NULL when memory is out. */
struct batch *batch_new(struct channel *channel);
void batch_hold(struct batch *batch);

/* Says whether an answer of so many bytes may join those that the batch has (MAX_BATCH_BYTES). NULL: it is no batch. */
bool batch_has_room(const struct batch *batch, size_t len);
void batch_release(struct batch *batch);

#endif
