/* frame_good - a frame of each type that keeps every rule, for tests to break. */
#ifndef TESTS_UNIT_FRAME_GOOD_H
#define TESTS_UNIT_FRAME_GOOD_H

#include <errno.h>

#include "common/frame.h"
#include "common/stage.h"

static inline struct frame frame_good(enum frame_type type)
{
	struct frame frame;

	frame_init(&frame, type, type == FRAME_READY ? 0 : 7);
	if (type == FRAME_RUN)
		frame.run = (struct frame_run){.output_max_bytes = 1, .deadline_ms = 1};
	if (type == FRAME_FAIL)
		frame.fail = (struct frame_fail){.stage = STAGE_ROOT, .error = EPERM};
	return frame;
}

static inline enum frame_way frame_way_of(enum frame_type type)
{
	return type == FRAME_RUN || type == FRAME_CANCEL ? FRAME_TO_WORKER : FRAME_TO_SUPERVISOR;
}

#endif
