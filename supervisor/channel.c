/* channel - sending, holding, and batches. */
#include "supervisor/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"

/* Whoever waits for what is lost learns at least that something is; an id would have to be built. */
#define LOST                                                                                       \
	"{\"jsonrpc\":\"2.0\",\"id\":null,\"error\":{\"code\":-32603,\"message\":\"out of "        \
	"memory\"}}"

struct batch {
	struct channel *channel;
	size_t holds;
	struct buf answers; /* separated by commas */
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
	if (batch->answers.len > 0)
		buf_add_byte(&batch->answers, ',');
	buf_add(&batch->answers, text, len);
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

static void send_batch(const struct batch *batch)
{
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	buf_add_byte(&out, '[');
	buf_add(&out, batch->answers.data, batch->answers.len);
	buf_add_byte(&out, ']');
	/* An array that lacks an answer would leave its caller waiting as much as none does. */
	if (!out.error && !batch->answers.error)
		send(batch->channel, CHANNEL_SERVED, out.data, out.len);
	else
		send(batch->channel, CHANNEL_SERVED, LOST, strlen(LOST));
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
