/* queue - the calls that wait, first in, first out, at most so many. Pure; does not own the calls. */
#ifndef SUPERVISOR_QUEUE_H
#define SUPERVISOR_QUEUE_H

#include <stdbool.h>
#include <stddef.h>

#include "supervisor/call.h"

struct queue {
	struct call *head;
	struct call *tail;
	size_t length;
	size_t max;
};

/* An empty queue for at most max calls. */
void queue_init(struct queue *queue, size_t max);
/* Appends. Returns 0, or -ENOBUFS when it is full. */
int queue_push(struct queue *queue, struct call *call);
/* Puts back at the front what queue_pop gave; may exceed max by one. */
void queue_push_front(struct queue *queue, struct call *call);
/* Takes the oldest, or NULL. */
struct call *queue_pop(struct queue *queue);
/* Which place this one has, 1 for the next; 0 when it is not there. */
size_t queue_place(const struct queue *queue, const struct call *call);
/* Takes this one out, wherever it stands. Returns whether it was there. */
bool queue_remove(struct queue *queue, struct call *call);

#endif
