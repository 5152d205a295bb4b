/* notify - which system calls of a sandbox the seccomp filter refused, and the answers to them. seccomp_unotify(2).
 *
 * A comfort, and no wall: where the kernel can, a refused call that is not quiet (policy/filter.h) waits for us, is
 * noted, and gets the errno of the table. We never let a call pass, and look at nothing but its number and its
 * registers: what they point to can change under us. Without a listener the filter answers by itself, and nothing is
 * noted.
 *
 * A program that is refused again and again waits, and nobody else: the first answers are prompt, the later ones come
 * at a rate that costs the worker little. A note is received at once, since from then on only SIGKILL ends the wait: a
 * signal handler would turn the errno into EINTR.
 */
#ifndef WORKER_NOTIFY_H
#define WORKER_NOTIFY_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/frame.h"

/* As many threads may wait for an answer at once; others wait to be received. */
#define NOTIFY_PENDING 128

struct notify_note {
	uint64_t id;
	int error; /* positive: the answer */
};

/* What the main program's process has to say at its end: report.h. */
struct notify_done {
	bool said;
	uint8_t status;
	bool disk_full;
};

struct notify {
	bool noting;	     /* there was a listener */
	int listener;	     /* -1: there is none, or it has ended */
	uint32_t prompt;     /* answers that may still be given at once */
	uint64_t counted_us; /* clock_us of the last time prompt was added to */
	pid_t main; /* who may say that it is done, and is never answered then; 0: nobody */
	struct notify_done done;
	unsigned int first, n; /* of pending, which is a ring */
	struct notify_note pending[NOTIFY_PENDING];
	uint16_t blocked[FRAME_BLOCKED]; /* as in frame_done */
};

/* Starts with this listener, which it owns then; -1 for none. */
void notify_init(struct notify *notify, int listener, uint64_t now_us);

/* Fills in what to poll for: nothing when there is no listener, or too many wait already. */
void notify_poll(const struct notify *notify, struct pollfd *event);

/* Receives the note that poll found, or learns that nobody is left who could send one. */
void notify_receive(struct notify *notify, const struct pollfd *event);

/* Gives the answers that are due. Returns milliseconds until the next is, -1 when none waits. */
int notify_answer(struct notify *notify, uint64_t now_us);

/* Adds a call to blocked, once, while there is room; numbers that no call can have are left out. For tests and
 * notify_receive. */
void notify_remember(struct notify *notify, int number);

/* Counts how many of the wanted answers may be given now, and takes them off. For tests and notify_answer. */
unsigned int notify_allow(struct notify *notify, unsigned int wanted, uint64_t now_us);

/* Closes the listener: whoever still waits gets ENOSYS from the kernel. */
void notify_clear(struct notify *notify);

#endif
