/* plan - see the header. A head, then the instructions of both filters, then texts that each end with NUL. */
#include "worker/gate/plan.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"

#define MAX_PLAN_BYTES MIB

struct head {
	struct limits limits;
	uint16_t filter_len; /* instructions */
	uint16_t noting_len;
	uint32_t n_paths;
};

static void add_filter(struct buf *buf, const struct sock_fprog *filter)
{
	buf_add(buf, filter->filter, filter->len * sizeof(*filter->filter));
}

static void add_text(struct buf *buf, const char *text)
{
	buf_add(buf, text, strlen(text) + 1);
}

int plan_write(const struct inside *inside, const char *modules)
{
	_cleanup_(buf_clear) struct buf buf = {.max_bytes = MAX_PLAN_BYTES};
	struct head head = {.limits = inside->limits,
			    .filter_len = inside->filter.len,
			    .noting_len = inside->noting.len,
			    .n_paths = (uint32_t)inside->view.n};

	buf_add(&buf, &head, sizeof(head));
	add_filter(&buf, &inside->filter);
	if (inside->noting.len)
		add_filter(&buf, &inside->noting);
	for (size_t i = 0; i < inside->view.n; i++)
		add_text(&buf, inside->view.paths[i].target);
	add_text(&buf, modules);
	return buf.error ? buf.error : blob_from(buf.data, buf.len);
}

/* What is left to read. */
struct rest {
	const char *at;
	const char *end;
};

static const void *take_bytes(struct rest *rest, size_t len)
{
	const char *at = rest->at;

	if (len > (size_t)(rest->end - at))
		return NULL;
	rest->at += len;
	return at;
}

static const char *take_text(struct rest *rest)
{
	return take_bytes(rest, strnlen(rest->at, (size_t)(rest->end - rest->at)) + 1);
}

static int take_filter(struct rest *rest, uint16_t len, struct sock_fprog *filter)
{
	const void *code = take_bytes(rest, len * sizeof(*filter->filter));

	if (!code)
		return -EPROTO;
	filter->len = len;
	filter->filter = len ? (struct sock_filter *)(uintptr_t)code : NULL;
	return 0;
}

static int read_all(struct rest *rest, struct plan *plan)
{
	struct inside *inside = &plan->inside;
	const struct head *head = take_bytes(rest, sizeof(*head));

	if (!head || head->n_paths > VIEW_MAX_PATHS)
		return -EPROTO;
	inside->limits = head->limits;
	inside->view.n = head->n_paths;
	if (take_filter(rest, head->filter_len, &inside->filter) < 0 ||
	    take_filter(rest, head->noting_len, &inside->noting) < 0)
		return -EPROTO;
	for (size_t i = 0; i < inside->view.n; i++)
		if (!(inside->view.paths[i].target = take_text(rest)))
			return -EPROTO;
	plan->modules = take_text(rest);
	return plan->modules ? 0 : -EPROTO;
}

int plan_read(int fd, struct plan *plan)
{
	struct rest rest;
	int r;

	memset(plan, 0, sizeof(*plan));
	if ((r = blob_view(fd, MAX_PLAN_BYTES, &plan->blob)) < 0)
		return r;
	rest = (struct rest){plan->blob.data, plan->blob.data + plan->blob.size};
	if ((r = read_all(&rest, plan)) < 0)
		plan_clear(plan);
	return r;
}

void plan_clear(struct plan *plan)
{
	blob_view_clear(&plan->blob);
	memset(plan, 0, sizeof(*plan));
}
