/* frame - one table that says what is legal, and two functions that move it.
 *
 * Theory of operation: RULES is the whole decoder. frame_recv takes one packet with room for more
 * descriptors than any frame may have, so that each one which the kernel installed is known here
 * and closed when the packet is refused; what does not fit even there is never installed by the
 * kernel (unix(7), MSG_CTRUNC). Then frame_check decides.
 */
#include "common/frame.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "common/layers.h"
#include "common/mechanism.h"
#include "common/packet.h"
#include "common/stage.h"

#define KNOWN_LAYERS ((1U << LAYER_COUNT) - 1)
#define KILLED_FLAGS (FRAME_TIMED_OUT | FRAME_CANCELLED | FRAME_MEMORY_KILLED)

enum id_rule { ID_ZERO, ID_NONZERO, ID_ANY };

struct rule {
	enum frame_way way;
	enum id_rule id;
	uint16_t nfds;
	size_t body_size;
	bool (*body_ok)(const struct frame *frame);
};

static bool ready_ok(const struct frame *frame)
{
	return (frame->ready.layers & ~KNOWN_LAYERS) == 0 &&
	       (frame->ready.by_cgroup & ~(uint32_t)BY_CGROUP_ALL) == 0;
}

static bool run_ok(const struct frame *frame)
{
	return frame->run.deadline_ms >= 1;
}

static bool cancel_ok(const struct frame *frame)
{
	(void)frame;
	return true;
}

/* A killed program has no exit code; one that ended by itself in the very moment of the kill keeps
 * its own. */
static bool exit_ok(const struct frame_done *done)
{
	if (done->exit_code == -1)
		return done->signal != 0 || (done->flags & KILLED_FLAGS) != 0;
	return done->exit_code >= 0 && done->exit_code <= 255 && done->signal == 0;
}

static bool blocked_ok(const uint16_t blocked[FRAME_BLOCKED])
{
	for (size_t i = 0; i < FRAME_BLOCKED; i++) {
		if (blocked[i] > FRAME_MAX_CALL + 1)
			return false;
		for (size_t k = 0; blocked[i] && k < i; k++)
			if (blocked[k] == 0 || blocked[k] == blocked[i])
				return false;
	}
	return true;
}

static bool done_ok(const struct frame *frame)
{
	const struct frame_done *done = &frame->done;

	return exit_ok(done) && done->signal < _NSIG &&
	       (done->flags & ~(uint32_t)FRAME_FLAGS) == 0 &&
	       (done->flags & (FRAME_FORKED | FRAME_PRELOADED)) != FRAME_PRELOADED &&
	       (done->layers & ~KNOWN_LAYERS) == 0 &&
	       (done->by_cgroup & ~(uint32_t)BY_CGROUP_ALL) == 0 &&
	       (done->blocked[0] == 0 || (done->flags & FRAME_NOTING)) && blocked_ok(done->blocked);
}

static bool fail_ok(const struct frame *frame)
{
	return frame->fail.stage < STAGE_COUNT && frame->fail.error >= 0;
}

static bool warm_ok(const struct frame *frame)
{
	return frame->warm.bare <= 1;
}

static const struct rule RULES[] = {
	[FRAME_READY] = {FRAME_TO_SUPERVISOR, ID_ZERO, 0, sizeof(struct frame_ready), ready_ok},
	[FRAME_RUN] = {FRAME_TO_WORKER, ID_NONZERO, 2, sizeof(struct frame_run), run_ok},
	[FRAME_CANCEL] = {FRAME_TO_WORKER, ID_NONZERO, 0, 0, cancel_ok},
	[FRAME_DONE] = {FRAME_TO_SUPERVISOR, ID_NONZERO, 2, sizeof(struct frame_done), done_ok},
	[FRAME_FAIL] = {FRAME_TO_SUPERVISOR, ID_ANY, 0, sizeof(struct frame_fail), fail_ok},
	[FRAME_WARM] = {FRAME_TO_SUPERVISOR, ID_ZERO, 0, sizeof(struct frame_warm), warm_ok},
};

static const struct rule *rule_of(unsigned int type)
{
	bool known = type < sizeof(RULES) / sizeof(RULES[0]) && RULES[type].body_ok;

	return known ? &RULES[type] : NULL;
}

static bool id_ok(enum id_rule rule, uint64_t id)
{
	return rule == ID_ANY || (id == 0) == (rule == ID_ZERO);
}

static bool rest_is_zero(const struct frame *frame, size_t body_size)
{
	for (size_t i = body_size; i < sizeof(frame->bytes); i++) {
		if (frame->bytes[i] != 0)
			return false;
	}
	return true;
}

void frame_init(struct frame *frame, enum frame_type type, uint64_t id)
{
	const struct rule *rule = rule_of(type);

	memset(frame, 0, sizeof(*frame));
	frame->version = FRAME_VERSION;
	frame->type = (uint16_t)type;
	frame->nfds = rule ? rule->nfds : 0;
	frame->id = id;
}

int frame_check(const struct frame *frame, size_t nfds, enum frame_way way)
{
	const struct rule *rule = rule_of(frame->type);

	if (frame->version != FRAME_VERSION || !rule || rule->way != way)
		return -EPROTO;
	if (frame->nfds != rule->nfds || nfds != rule->nfds || !id_ok(rule->id, frame->id))
		return -EPROTO;
	if (!rest_is_zero(frame, rule->body_size) || !rule->body_ok(frame))
		return -EPROTO;
	return 0;
}

static void close_fds(int *fds, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

int frame_send(int sock, const struct frame *frame, int fds[FRAME_FDS])
{
	size_t nfds = frame->nfds < FRAME_FDS ? frame->nfds : FRAME_FDS;
	int error = frame->nfds > FRAME_FDS || (nfds > 0 && !fds) ? -EINVAL : 0;

	if (!error)
		error = packet_send(sock, frame, sizeof(*frame), fds, nfds);
	if (fds)
		close_fds(fds, nfds);
	return error;
}

int frame_recv(int sock, struct frame *frame, int fds[FRAME_FDS], enum frame_way way)
{
	size_t nfds;
	int r;

	fds[0] = fds[1] = -1;
	r = packet_recv(sock, frame, sizeof(*frame), fds, FRAME_FDS, &nfds);
	if (r <= 0)
		return r;
	if (frame_check(frame, nfds, way) < 0) {
		close_fds(fds, nfds);
		return -EPROTO;
	}
	return 1;
}
