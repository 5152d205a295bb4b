/* stamps_supervisor - when the supervisor has read a line, sends RUN, and has received DONE. */
#include "common/frame.h"
#include "supervisor/lines.h"
#include "tests/bench/stamps.h"
#include "tests/lib/wrap.h"

enum { READ, RUN_SENT, DONE_RECEIVED, STAMPS };

static struct stamp stamps[STAMPS] = {
	{.name = "read"}, {.name = "run_sent"}, {.name = "done_received"}};

WRAP(void, lines_feed, struct lines *lines, const char *data, size_t len, lines_handle handle,
     void *ctx)
{
	stamps[READ].ns = stamp_now_ns();
	__real_lines_feed(lines, data, len, handle, ctx);
}

WRAP(int, frame_send, int sock, const struct frame *frame, int fds[FRAME_FDS])
{
	if (frame->type == FRAME_RUN)
		stamps[RUN_SENT].ns = stamp_now_ns();
	return __real_frame_send(sock, frame, fds);
}

WRAP(int, frame_recv, int sock, struct frame *frame, int fds[FRAME_FDS], enum frame_way way)
{
	int r = __real_frame_recv(sock, frame, fds, way);

	if (r == 1 && frame->type == FRAME_DONE) {
		stamps[DONE_RECEIVED].ns = stamp_now_ns();
		stamps_tell(stamps, STAMPS);
	}
	return r;
}
