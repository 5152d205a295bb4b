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

/* Long enough for any file of proc that an honest process has: its status names all groups of its user. */
#define PROCESSES_TEXT_BYTES (1 * MIB)

struct processes {
	struct process list[CEILING_PROCESSES];
	size_t n;
	char text[PROCESSES_TEXT_BYTES]; /* what was read last */
};

struct process_sums {
	uint64_t anon_bytes;
	uint64_t shmem_bytes;
};

/* Says whether this machine lets processes be found and measured. Returns 0 or a negative errno. */
int processes_check(void);

/* What the last process of a run has used when it is done. */
struct process_usage {
	uint64_t cpu_us;
	uint64_t peak_bytes; /* the most memory that it ever had */
};

/* Says whether this child of init's is the only one, has one thread and no child, and so what it has used. A process that
 * cannot be read is not alone. */
bool process_is_alone(pid_t pid, pid_t init, struct process_usage *usage);

/* Finds everything below init and measures it. before is the result of the last time (may be the same object's copy, or
 * empty): where the kernel does not tell whether a child still has its parent's memory, a child that is new is taken
 * to. */
void processes_look(struct processes *now, pid_t init, const struct processes *before);

/* The sums over those that are counted. */
struct process_sums processes_sums(const struct processes *processes);

/* The same, with shared pages divided by the number of those who share them. Takes long, so it stops after budget_us of
 * our own CPU time and takes what is left in full. */
struct process_sums processes_proportional(struct processes *processes, uint64_t budget_us);

/* Bytes of all shared anonymous mappings, each counted once, whether they are in anybody's page table or not: pages of
 * such a mapping stay when the one who touched them is gone. Looks only when all processes together have much address
 * space; after budget_us it takes what is left for shared. */
uint64_t processes_shared_mappings(struct processes *processes, uint64_t budget_us);

#endif
