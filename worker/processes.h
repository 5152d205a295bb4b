/* processes - the processes of a run as they are seen from outside, and the memory each has. proc(5).
 *
 * They come and go while they are looked at: what is missed is seen the next time, and what cannot be read any more has
 * nothing. Whoever makes himself hard to read is counted in full.
 */
#ifndef WORKER_PROCESSES_H
#define WORKER_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/limits.h"

struct process {
	pid_t pid;
	int parent;	      /* place in the list, -1: init */
	bool counted;	      /* false: its memory is its parent's (vfork), or it is gone */
	uint64_t anon_bytes;  /* anonymous, swapped, and page tables */
	uint64_t shmem_bytes; /* shared memory in its page tables */
	uint64_t data_bytes;  /* what RLIMIT_DATA counts */
	uint64_t
		mapped_bytes; /* address space that is neither data nor stack: files and shared memory */
};

struct processes {
	struct process list[CEILING_PROCESSES];
	size_t n;
};

/* Finds everything below init and measures it. before is the result of the last time (may be the same object's copy, or
 * empty): where the kernel does not tell whether a child still has its parent's memory, a child that is new is taken to. */
void processes_look(struct processes *now, pid_t init, const struct processes *before);

/* Sum of anon_bytes, and of shmem_bytes, over those that are counted. */
uint64_t processes_anon(const struct processes *processes);
uint64_t processes_shmem(const struct processes *processes);

/* The same two sums together, with shared pages divided by the number of those who share them. Takes long, so it stops
 * after budget_us of our own CPU time and takes what is left in full. */
uint64_t processes_proportional(const struct processes *processes, uint64_t budget_us);

/* Bytes of all shared anonymous mappings, each counted once, whether they are in anybody's page table or not: pages of
 * such a mapping stay when the one who touched them is gone. Only looks at processes with much address space. */
uint64_t processes_shared_mappings(const struct processes *processes);

#endif
