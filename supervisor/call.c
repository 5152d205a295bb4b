/* call - making, moving and freeing one call. */
#include "supervisor/call.h"

#include <stdlib.h>
#include <unistd.h>

struct call *call_new(void)
{
	struct call *call = calloc(1, sizeof(*call));

	if (call == NULL)
		return NULL;
	call->state = CALL_QUEUED;
	call->request.program_fd = -1;
	call->request.stdin_fd = -1;
	return call;
}

static bool move_allowed(enum call_state from, enum call_state to)
{
	switch (from) {
	case CALL_QUEUED:
		return to != CALL_QUEUED;
	case CALL_RUNNING:
		return to != CALL_RUNNING;
	case CALL_ANSWERED:
	case CALL_CANCELLED:
		return false;
	}
	return false;
}

void call_move(struct call *call, enum call_state state)
{
	if (!move_allowed(call->state, state))
		abort();
	call->state = state;
}

void call_free(struct call *call)
{
	if (call == NULL)
		return;
	if (call->request.program_fd >= 0)
		close(call->request.program_fd);
	if (call->request.stdin_fd >= 0)
		close(call->request.stdin_fd);
	buf_clear(&call->request.warnings);
	free(call);
}
