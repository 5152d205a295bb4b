/* clock - CLOCK_MONOTONIC in whole units. */
#include "common/clock.h"

#include <time.h>

uint64_t clock_us(void)
{
	struct timespec now = {0};

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t clock_ms(void)
{
	return clock_us() / 1000;
}

uint64_t clock_cpu_us(const struct rusage *usage)
{
	uint64_t seconds = (uint64_t)usage->ru_utime.tv_sec + (uint64_t)usage->ru_stime.tv_sec;

	return seconds * 1000000 + (uint64_t)usage->ru_utime.tv_usec +
	       (uint64_t)usage->ru_stime.tv_usec;
}
