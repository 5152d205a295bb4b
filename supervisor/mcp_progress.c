/* mcp_progress - notifications/progress for a call that asked for them (all revisions; message since 2025-03-26).
 *
 * progress is the time since the call came, in seconds: it must rise with each notification, and nothing else is known
 * of a program. Hosts that listen take it as a sign of life and wait longer.
 */
#include "common/cleanup.h"
#include "supervisor/mcp_internal.h"

#define FIRST_US UINT64_C(1000000)
/* Every 5 s is what is promised; whoever calls does so twice a second. */
#define NEXT_US UINT64_C(4000000)

bool mcp_progress_due(uint64_t now_us, uint64_t since_us, uint64_t last_us)
{
	return last_us ? now_us - last_us >= NEXT_US : now_us - since_us >= FIRST_US;
}

void mcp_send_progress(struct channel *channel, struct slice token, uint64_t elapsed_us,
		       size_t place)
{
	_cleanup_(buf_clear) struct buf out = BUF_INIT;

	buf_add_string(&out, "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\","
			     "\"params\":{\"progressToken\":");
	buf_add(&out, token.data, token.len);
	buf_printf(&out, ",\"progress\":%.3f,\"message\":\"", (double)elapsed_us / 1e6);
	if (place > 0)
		buf_printf(&out, "queued at place %zu", place);
	else
		buf_add_string(&out, "running");
	buf_add_string(&out, "\"}}");
	if (!out.error)
		channel_answer(channel, NULL, CHANNEL_PROGRESS, out.data, out.len);
}
