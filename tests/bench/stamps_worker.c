/* stamps_worker - when the worker has received RUN, has given the program away, has seen the sandbox empty, and sends
 * DONE; and when init, in its sandbox, has seen the main program end. */
#include <stdlib.h>
#include <sys/mman.h>

#include "common/frame.h"
#include "tests/bench/stamps.h"
#include "tests/lib/wrap.h"
#include "worker/report.h"
#include "worker/run.h"

enum { RUN_RECEIVED, GIVEN, ENDED, EMPTY, DONE_SENT, STAMPS };

/* Shared with the processes that become sandboxes. */
static struct stamp *stamps;

__attribute__((constructor)) static void share(void)
{
	static const struct stamp names[STAMPS] = {{.name = "run_received"},
						   {.name = "given"},
						   {.name = "ended"},
						   {.name = "empty"},
						   {.name = "done_sent"}};

	stamps = mmap(NULL, sizeof(names), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		      0);
	if (stamps == MAP_FAILED)
		abort();
	for (size_t i = 0; i < STAMPS; i++)
		stamps[i] = names[i];
}

WRAP(int, frame_recv, int sock, struct frame *frame, int fds[FRAME_FDS], enum frame_way way)
{
	int r = __real_frame_recv(sock, frame, fds, way);

	if (r == 1 && frame->type == FRAME_RUN)
		stamps[RUN_RECEIVED].ns = stamp_now_ns();
	return r;
}

WRAP(int, run_start, struct run *run, struct place *place, const struct limits *limits)
{
	int r = __real_run_start(run, place, limits);

	stamps[GIVEN].ns = stamp_now_ns();
	return r;
}

WRAP(int, report_send, int sock, const struct report *report)
{
	if (report->kind == REPORT_ENDED)
		stamps[ENDED].ns = stamp_now_ns();
	return __real_report_send(sock, report);
}

/* A copy that is done says so itself, and init has no time to. */
WRAP(bool, sandbox_finish, struct sandbox *sandbox)
{
	stamps[ENDED].ns = stamp_now_ns();
	return __real_sandbox_finish(sandbox);
}

WRAP(int, run_answer, struct run *run, const struct sandbox *sandbox, const struct limits *limits,
     int link)
{
	stamps[EMPTY].ns = stamp_now_ns();
	return __real_run_answer(run, sandbox, limits, link);
}

WRAP(int, frame_send, int sock, const struct frame *frame, int fds[FRAME_FDS])
{
	int r;

	if (frame->type == FRAME_DONE)
		stamps[DONE_SENT].ns = stamp_now_ns();
	r = __real_frame_send(sock, frame, fds);
	if (frame->type == FRAME_DONE)
		stamps_tell(stamps, STAMPS);
	return r;
}
