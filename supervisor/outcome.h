/* outcome - how a run began, and which limit ended or cut it, from the facts of its DONE frame and the last line of its
 * stderr. Pure. */
#ifndef SUPERVISOR_OUTCOME_H
#define SUPERVISOR_OUTCOME_H

#include "supervisor/call.h"

/* NULL, or "wall_time", "cpu_time", "memory", "processes", "disk" or "output": the first that holds, in this order.
 * wall_time: the deadline killed it. cpu_time: SIGXCPU, or SIGKILL with the hard limit used up. memory: the watch or the
 * kernel killed it, or it died of an uncaught MemoryError, or OSError with ENOMEM. processes: it failed and its cgroup
 * had refused it one, or its traceback ends in EAGAIN from fork or in "can't start new thread". disk: it failed and the
 * workspace was full at its end, or its traceback ends in ENOSPC. output: truncated. A program that ended with 0 met no
 * limit but output. */
const char *outcome_limit(const struct outcome *outcome);

/* What a program was started from: an interpreter of its own; a copy of one that waited; a copy of one that had loaded
 * modules for it. */
enum outcome_start { OUTCOME_COLD, OUTCOME_WARM, OUTCOME_PRELOADED, OUTCOME_START_COUNT };

enum outcome_start outcome_start(const struct outcome *outcome);

/* "cold", "warm" or "preloaded", in static memory. */
const char *outcome_start_name(enum outcome_start start);

/* "SIGSEGV" and the like for the signal that ended it, NULL for none; a real-time signal is "SIGRTMIN+n". The name lies
 * in static memory. */
const char *outcome_signal(const struct outcome *outcome);

#endif
