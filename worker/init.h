/* init - pid 1 of a sandbox. */
#ifndef WORKER_INIT_H
#define WORKER_INIT_H

#include <stdbool.h>
#include <stdint.h>

struct inside;

/* Reports that the sandbox is ready with these layers, hands over the filter's listener (-1: none) and closes it, waits
 * for a program, runs it, or takes a process that came in for it, reports how it ended, and exits, by which the kernel
 * kills every other process of the pid namespace. Exits at once when the worker is gone. With stay it lives on when the
 * program has ended, until then: below a pristine interpreter are the sandboxes of its copies. */
_Noreturn void init_main(const struct inside *inside, bool stay, int sock, uint32_t layers,
			 int listener);

#endif
