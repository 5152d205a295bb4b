/* metrics - what was counted since the start, and its text for Prometheus (text format 0.0.4). Pure.
 *
 * One plain struct, all zero at first, which its owner lends to whoever counts. Every function that counts allows NULL
 * for it and does nothing then. All labels and their values are literals of ours or names of modules that the operator
 * configured, and all are there from the start: nothing that a peer sends can make a series.
 */
#ifndef SUPERVISOR_METRICS_H
#define SUPERVISOR_METRICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "common/buf.h"
#include "common/frame.h"
#include "common/warm.h"
#include "supervisor/call.h"
#include "supervisor/outcome.h"

/* X(symbol, value of the label "outcome"): how a call ended. Every call that was submitted counts in exactly one, when
 * it has ended; limits are named as outcome_limit names them. */
#define METRICS_OUTCOMES(X)                                                                        \
	X(OK, "ok")		  /* exit code 0 */                                                \
	X(ERROR, "error")	  /* another exit code, no limit met */                            \
	X(WALL_TIME, "wall_time") /* a limit ended it */                                           \
	X(CPU_TIME, "cpu_time")                                                                    \
	X(MEMORY, "memory")                                                                        \
	X(PROCESSES, "processes")                                                                  \
	X(DISK, "disk")                                                                            \
	X(SIGNAL, "signal")	    /* a signal ended it, no limit met */                          \
	X(NO_SANDBOX, "no_sandbox") /* OUTCOME_FAILED */                                           \
	X(LOST, "lost")		    /* OUTCOME_LOST */                                             \
	X(BUSY, "busy")		    /* the queue was full */                                       \
	X(CANCELLED, "cancelled")   /* by its client, queued or running, however it ended then */

#define METRICS_OUTCOME_ENUM(symbol, name) METRICS_##symbol,
enum metrics_outcome { METRICS_OUTCOMES(METRICS_OUTCOME_ENUM) METRICS_OUTCOME_COUNT };
#undef METRICS_OUTCOME_ENUM

/* How many statuses have a series of their own: those that we send. */
#define METRICS_STATUS_COUNT 18
/* How many bounds the buckets of a histogram have. */
#define METRICS_BOUNDS 15

/* Each value counts in the one bucket that it falls into, the last for those beyond every bound. */
struct metrics_histogram {
	uint64_t buckets[METRICS_BOUNDS + 1];
	uint64_t sum_us;
};

struct metrics {
	time_t started_s; /* time(2) when the process started: set by the owner */
	uint64_t runs[METRICS_OUTCOME_COUNT];
	struct metrics_histogram run_time;    /* of runs whose end the worker told */
	struct metrics_histogram queue_wait;  /* of all calls but busy ones */
	uint64_t starts[OUTCOME_START_COUNT]; /* of the same runs */
	uint64_t cpu_us;
	uint64_t truncated;
	uint64_t invalid_calls;
	uint64_t worker_starts;
	uint64_t interpreters_started;
	uint64_t interpreters_failed;
	uint64_t responses[METRICS_STATUS_COUNT + 1]; /* the last: other */
};

/* What is so at the moment, and is not counted. */
struct metrics_now {
	size_t queue_depth; /* dispatch_queue_length */
	size_t queue_limit;
	size_t connections;
	size_t sessions;
	bool running;		  /* dispatch_is_running */
	bool worker_up;		  /* no dispatch_trouble */
	struct frame_ready ready; /* dispatch_ready */
	struct frame_warm warm;	  /* dispatch_warm */
	const struct warm_modules
		*modules; /* those of the configuration; NULL: no series of them */
};

/* A submitted call was answered with this outcome. */
void metrics_run(struct metrics *metrics, const struct outcome *outcome);

/* A submitted call was cancelled after it had waited for queue_us. outcome: how its run ended; NULL when it never ran. */
void metrics_cancelled(struct metrics *metrics, uint64_t queue_us, const struct outcome *outcome);

/* A call was refused for its arguments: it was never submitted. */
void metrics_refused(struct metrics *metrics);

/* A worker process was started. */
void metrics_worker_started(struct metrics *metrics);

/* So many interpreters that wait for programs were started, and so many of them failed. */
void metrics_interpreters(struct metrics *metrics, uint64_t started, uint64_t failed);

/* An HTTP response began with this status; once for each. */
void metrics_http(struct metrics *metrics, int status);

/* Appends the text. Its type is "text/plain; version=0.0.4; charset=utf-8". Errors stay in out. */
void metrics_text(struct buf *out, const struct metrics *metrics, const struct metrics_now *now);

#endif
