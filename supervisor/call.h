/* call - one tools/call on its way: what was asked, where the answer goes, and in which state it is.
 *
 *     ┌────────refuse (busy, no sandbox)────┐
 *   QUEUED ──run──▶ RUNNING ──end──────▶ ANSWERED      (back to QUEUED when no worker had received it)
 *     │                │
 *     └────cancel──────┴──────────▶ CANCELLED      (no answer is sent)
 *
 * A call belongs to its session until it is answered or cancelled; the queue and the dispatcher only borrow it.
 */
#ifndef SUPERVISOR_CALL_H
#define SUPERVISOR_CALL_H

#include <stdbool.h>
#include <stdint.h>

#include "common/blob.h"
#include "common/buf.h"
#include "common/frame.h"
#include "common/stage.h"

enum call_state { CALL_QUEUED, CALL_RUNNING, CALL_ANSWERED, CALL_CANCELLED };

/* What is to be run. */
struct call_request {
	int program_fd; /* sealed blobs, owned */
	int stdin_fd;
	uint32_t uses;	     /* bits of warm.h: what the program seems to import */
	uint32_t timeout_ms; /* effective, after clamping */
	uint64_t output_max_bytes;
	struct buf warnings; /* JSON strings separated by commas, for the result */
};

enum outcome_kind {
	OUTCOME_DONE,	/* the program ran and ended: done, out and err say how */
	OUTCOME_FAILED, /* no sandbox could be made for it: stage and error */
	OUTCOME_LOST,	/* the worker died or broke the link while it ran */
	OUTCOME_BUSY	/* the queue was full */
};

/* How a call ended. Borrowed by the receiver for the length of the callback. */
struct outcome {
	enum outcome_kind kind;
	struct frame_done done;
	struct blob_view out, err;
	unsigned int stage; /* OUTCOME_FAILED: enum stage as the worker sent it */
	int error;	    /* OUTCOME_FAILED: positive errno or enum interpreter_reason */
	uint64_t queue_us;  /* time it waited before it was given to the worker */
};

struct call {
	struct call *next; /* used by whoever holds it: the queue */
	uint64_t
		run_id; /* our own number, the only one that is logged; 0 until dispatch_submit gives it */
	enum call_state state;
	uint64_t queued_us; /* clock_us when it was queued */
	struct call_request request;
	/* Called exactly once with the outcome, unless the call is cancelled or the dispatcher is freed: then
	 * never. The call may be freed in it. */
	void (*ended)(struct call *call, const struct outcome *outcome);
	void *ctx; /* of ended */
};

/* Makes an empty call in state CALL_QUEUED, descriptors -1. Returns NULL when memory is out. */
struct call *call_new(void);

/* Moves to a state; a move that the diagram does not have is a bug and aborts. */
void call_move(struct call *call, enum call_state state);

/* Closes what it still owns and frees it; NULL is allowed. */
void call_free(struct call *call);

#endif
