/* pool_lines - the pristine interpreters of a pool: which there should be, when one is replaced, what happens when one
 * fails. For pool.c alone. */
#ifndef WORKER_POOL_LINES_H
#define WORKER_POOL_LINES_H

#include "worker/pool.h"

/* Lets those serve that are ready, retires those that should not any more, and when idle starts what is missing. */
void lines_fill(struct pool *pool, bool idle, uint64_t now_us);

/* Says whether an interpreter that has what this program uses, and more of it than the one that serves, is so near
 * ready that waiting costs less than the program's own imports. */
bool lines_worth_waiting(const struct pool *pool, uint32_t uses, uint64_t now_us);

/* A copy of it stands in its sandbox. */
void lines_worked(struct pool *pool, const struct pristine *pristine);

/* A copy did not come in, or ended before it had a program. */
void lines_failed_copy(struct pool *pool, const struct place *place);

/* Their part of pool_poll, pool_read, pool_tick and pool_reaped. */
void lines_poll(const struct pool *pool, struct pollfd polls[POOL_PRISTINES * PRISTINE_POLLS]);
void lines_read(struct pool *pool, const struct pollfd polls[POOL_PRISTINES * PRISTINE_POLLS]);
int lines_tick(struct pool *pool, uint64_t now_us);
void lines_reaped(struct pool *pool, pid_t pid, const struct rusage *usage);

/* Frees those that are gone. */
void lines_sweep(struct pool *pool);

/* Kills all; frees all, when they have been waited for. */
void lines_end(struct pool *pool);
void lines_clear(struct pool *pool);

#endif
