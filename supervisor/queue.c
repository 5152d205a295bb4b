/* queue - a singly linked list of calls with a head, a tail and a maximum. */
#include "supervisor/queue.h"

#include <errno.h>

void queue_init(struct queue *queue, size_t max)
{
	*queue = (struct queue){.max = max};
}

int queue_push(struct queue *queue, struct call *call)
{
	if (queue->length >= queue->max)
		return -ENOBUFS;
	call->next = NULL;
	if (queue->tail == NULL)
		queue->head = call;
	else
		queue->tail->next = call;
	queue->tail = call;
	queue->length++;
	return 0;
}

void queue_push_front(struct queue *queue, struct call *call)
{
	call->next = queue->head;
	queue->head = call;
	if (queue->tail == NULL)
		queue->tail = call;
	queue->length++;
}

struct call *queue_pop(struct queue *queue)
{
	struct call *call = queue->head;

	if (call == NULL)
		return NULL;
	queue->head = call->next;
	if (queue->head == NULL)
		queue->tail = NULL;
	call->next = NULL;
	queue->length--;
	return call;
}

bool queue_remove(struct queue *queue, struct call *call)
{
	struct call *before = NULL;

	for (struct call *at = queue->head; at != NULL; before = at, at = at->next) {
		if (at != call)
			continue;
		if (before == NULL)
			return queue_pop(queue) == call;
		before->next = call->next;
		if (queue->tail == call)
			queue->tail = before;
		call->next = NULL;
		queue->length--;
		return true;
	}
	return false;
}

size_t queue_place(const struct queue *queue, const struct call *call)
{
	size_t place = 1;

	for (const struct call *at = queue->head; at != NULL; at = at->next, place++)
		if (at == call)
			return place;
	return 0;
}
