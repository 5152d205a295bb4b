/* clock - the monotonic clock, in the unit that the name says. */
#ifndef COMMON_CLOCK_H
#define COMMON_CLOCK_H

#include <stdint.h>
#include <sys/resource.h>

/* Microseconds and milliseconds of CLOCK_MONOTONIC. */
uint64_t clock_us(void);
uint64_t clock_ms(void);

/* Milliseconds to wait, for poll(2), until it is at_us; 0 when it is or was. */
int clock_wait_ms(uint64_t at_us, uint64_t now_us);

/* The shorter of two such times, of which -1 is never. */
int clock_sooner_ms(int a_ms, int b_ms);

/* Microseconds of CPU time that the calling thread has used: what a busy machine does not add to. */
uint64_t clock_own_cpu_us(void);

/* Microseconds of CPU time, user and system, in what wait4(2) says. */
uint64_t clock_cpu_us(const struct rusage *usage);

#endif
