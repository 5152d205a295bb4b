/* channel - sending, holding, and batches. */
#include "supervisor/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/limits.h"

/* Whoever waits for what is lost learns at least that something is; an id would have to be built. */
#define LOST                                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"out of "        \
	"memory\"}}"

struct batch {
	struct channel *channel;
	size_t holds;
	struct buf answers;	/* the array but for its end; empty: there is none yet */
	size_t ends[MAX_BATCH]; /* where each answer ends; before it stands one byte of the array */
	size_t count;
};

void channel_hold(struct channel *channel)
{
	channel->holds++;
}

void channel_release(struct channel *channel)
{
	if (--channel->holds == 0 && channel->done)
		channel->done(channel->ctx);
}

void channel_mute(struct channel *channel)
{
	channel->send = NULL;
}

static void send(const struct channel *channel, enum channel_kind kind, const char *text,
		 size_t len)
{
	if (channel->send)
		channel->send(channel->ctx, kind, text, len);
}

void channel_answer(struct channel *channel, struct batch *batch, enum channel_kind kind,
		    const char *text, size_t len)
{
	if (!batch) {
		send(channel, kind, text, len);
		return;
	}
	if (batch->count == MAX_BATCH) {
		batch->answers.error = -ENOBUFS;
		return;
	}
	buf_add_byte(&batch->answers, batch->answers.len > 0 ? ',' : '[');
	buf_add(&batch->answers, text, len);
	batch->ends[batch->count++] = batch->answers.len;
}

void channel_lose_answer(struct channel *channel, struct batch *batch)
{
	if (batch)
		batch->answers.error = -ENOMEM;
	else
		send(channel, CHANNEL_SERVED, LOST, strlen(LOST));
}

struct batch *batch_new(struct channel *channel)
{
	struct batch *batch = calloc(1, sizeof(*batch));

	if (!batch)
		return NULL;
	batch->channel = channel;
	batch->holds = 1;
	channel_hold(channel);
	return batch;
}

void batch_hold(struct batch *batch)
{
	batch->holds++;
}

bool batch_has_room(const struct batch *batch, size_t len)
{
	return !batch || batch->answers.len == 0 || batch->answers.len + len <= MAX_BATCH_BYTES;
}

/* Clients read one message from each event. */
static void send_one_by_one(const struct batch *batch)
{
	size_t start = 0;

	for (size_t i = 0; i < batch->count; i++) {
		start++;
		send(batch->channel, CHANNEL_SERVED, batch->answers.data + start,
		     batch->ends[i] - start);
		start = batch->ends[i];
	}
}

static void send_batch(struct batch *batch)
{
	struct buf *answers = &batch->answers;

	buf_add_byte(answers, ']');
	/* An array that lacks an answer would leave its caller waiting as much as none does. */
	if (answers->error)
		send(batch->channel, CHANNEL_SERVED, LOST, strlen(LOST));
	else if (batch->channel->one_by_one)
		send_one_by_one(batch);
	else
		send(batch->channel, CHANNEL_SERVED, answers->data, answers->len);
}

void batch_release(struct batch *batch)
{
	struct channel *channel = batch->channel;

	if (--batch->holds > 0)
		return;
	if (batch->answers.len > 0 || batch->answers.error)
		send_batch(batch);
	buf_clear(&batch->answers);
	free(batch);
	channel_release(channel);
}
