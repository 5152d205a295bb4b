/* turns - what the programs of the benchmark have in common: each does its work once for each byte on stdin and prints
 * the microseconds that it took, so that two of them can take turns. */
#ifndef BENCH_TURNS_H
#define BENCH_TURNS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "common/clock.h"

/* A benchmark that cannot measure has nothing to say. */
static inline void must(bool holds, const char *what)
{
	if (holds)
		return;
	perror(what);
	exit(1);
}

/* Until the end of stdin. */
static inline void take_turns(void (*work)(void *ctx), void *ctx)
{
	char go;

	while (read(STDIN_FILENO, &go, 1) == 1) {
		uint64_t start_us = clock_us();

		work(ctx);
		printf("%llu\n", (unsigned long long)(clock_us() - start_us));
		fflush(stdout);
	}
}

#endif
