/* notify - see the header. */
#include "worker/notify.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "policy/syscalls.h"
#include "worker/report.h"

/* Answers that are given at once, and how many more come to be each second: a note costs us about 50 us with all that
 * it wakes. */
#define PROMPT_ANSWERS 100
#define ANSWERS_PER_S 250
#define US_PER_ANSWER (1000000 / ANSWERS_PER_S)

void notify_init(struct notify *notify, int listener, uint64_t now_us)
{
	*notify = (struct notify){.noting = listener >= 0,
				  .listener = listener,
				  .prompt = PROMPT_ANSWERS,
				  .counted_us = now_us};
}

void notify_poll(const struct notify *notify, struct pollfd *event)
{
	*event = (struct pollfd){.fd = notify->n < NOTIFY_PENDING ? notify->listener : -1,
				 .events = POLLIN};
}

void notify_remember(struct notify *notify, int number)
{
	if (number < 0 || number > FRAME_MAX_CALL)
		return;
	for (size_t i = 0; i < FRAME_BLOCKED; i++) {
		if (notify->blocked[i] == number + 1)
			return;
		if (notify->blocked[i] == 0) {
			notify->blocked[i] = (uint16_t)(number + 1);
			return;
		}
	}
}

/* The filter sends us no call that the table allows; if it did, this would be no way past it. */
static int error_of(const struct seccomp_data *call)
{
	int error = filter_verdict(syscalls_rule, call->nr, call->args);

	return error ? error : ENOSYS;
}

static bool is_done(const struct notify *notify, const struct seccomp_notif *note)
{
	return notify->main && note->pid == (uint32_t)notify->main && note->data.nr == DONE_CALL &&
	       note->data.args[0] == DONE_WORD;
}

void notify_receive(struct notify *notify, const struct pollfd *event)
{
	struct seccomp_notif note = {0};
	struct notify_note *place;

	/* Another listener than the one that was polled may have nothing to say, and would not say so. */
	if (event->fd < 0 || event->fd != notify->listener || !event->revents)
		return;
	/* The size of the struct is part of the request's number: a kernel with a larger one refuses it. */
	if (!(event->revents & POLLIN) ||
	    ioctl(notify->listener, SECCOMP_IOCTL_NOTIF_RECV, &note)) {
		/* ENOENT: whoever called was killed meanwhile. */
		if (!(event->revents & POLLIN) || (errno != ENOENT && errno != EINTR))
			cleanup_fd(&notify->listener);
		return;
	}
	if (is_done(notify, &note)) {
		notify->done = (struct notify_done){.said = true,
						    .status = (uint8_t)note.data.args[1],
						    .disk_full = note.data.args[2] != 0};
		return;
	}
	place = &notify->pending[(notify->first + notify->n++) % NOTIFY_PENDING];
	place->id = note.id;
	place->error = error_of(&note.data);
	notify_remember(notify, note.data.nr);
}

unsigned int notify_allow(struct notify *notify, unsigned int wanted, uint64_t now_us)
{
	uint64_t more = (now_us - notify->counted_us) / US_PER_ANSWER;
	unsigned int n;

	notify->counted_us += more * US_PER_ANSWER;
	notify->prompt = more < PROMPT_ANSWERS - notify->prompt ? notify->prompt + (uint32_t)more
								: PROMPT_ANSWERS;
	n = wanted < notify->prompt ? wanted : notify->prompt;
	notify->prompt -= n;
	return n;
}

/* It never asks the kernel to let the call go on. ENOENT: whoever waited was killed. */
static void answer_first(struct notify *notify)
{
	const struct notify_note *note = &notify->pending[notify->first];
	struct seccomp_notif_resp answer = {.id = note->id, .error = -note->error};

	if (ioctl(notify->listener, SECCOMP_IOCTL_NOTIF_SEND, &answer) && errno != ENOENT)
		cleanup_fd(&notify->listener);
	notify->first = (notify->first + 1) % NOTIFY_PENDING;
	notify->n--;
}

int notify_answer(struct notify *notify, uint64_t now_us)
{
	unsigned int due = notify->n ? notify_allow(notify, notify->n, now_us) : 0;

	while (due-- && notify->listener >= 0)
		answer_first(notify);
	if (!notify->n || notify->listener < 0)
		return -1;
	return clock_wait_ms(notify->counted_us + US_PER_ANSWER, now_us);
}

void notify_clear(struct notify *notify)
{
	cleanup_fd(&notify->listener);
	notify->n = 0;
}
