/* clock - times in whole units. */
#include "common/clock.h"

#include <time.h>

static uint64_t read_us(clockid_t clock)
{
	struct timespec now = {0};

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

uint64_t clock_us(void)
{
	return read_us(CLOCK_MONOTONIC);
}

uint64_t clock_own_cpu_us(void)
{
	return read_us(CLOCK_THREAD_CPUTIME_ID);
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

int clock_wait_ms(uint64_t at_us, uint64_t now_us)
{
	return at_us <= now_us ? 0 : (int)((at_us - now_us + 999) / 1000);
}

int clock_sooner_ms(int a_ms, int b_ms)
{
	if (a_ms < 0 || b_ms < 0)
		return a_ms < 0 ? b_ms : a_ms;
	return a_ms < b_ms ? a_ms : b_ms;
}
