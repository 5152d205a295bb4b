/* init - pid 1 of a sandbox. */
#ifndef WORKER_INIT_H
#define WORKER_INIT_H

#include <stdint.h>

struct inside;

/* Reports that the sandbox is ready with these layers, hands over the filter's listener (-1: none) and closes it, waits
 * for a program, runs it, reports how it ended, and exits, by which the kernel kills every other process of the pid
 * namespace. Exits at once when the worker is gone. */
_Noreturn void init_main(const struct inside *inside, int sock, uint32_t layers, int listener);

#endif
