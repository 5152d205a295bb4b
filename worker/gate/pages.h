/* pages - memory that copies of the interpreter write to, taken before a program comes.
 *
 * A page is the copy's own only when it first writes to it, and then the kernel copies it: of most programs that takes
 * more time than all else, and nearly all write to the same pages, where the counts of references are. Which ones is
 * learned from a process that does what programs do, and that never gets a program itself; nothing but a list of
 * addresses is kept of it.
 */
#ifndef WORKER_GATE_PAGES_H
#define WORKER_GATE_PAGES_H

/* In the pristine interpreter, before its first copy: forks, calls rehearse in the child, and keeps what that has touched.
 * Whatever goes wrong, and where the kernel does not tell (no /proc), nothing is learned, which costs time alone. The
 * child is gone when it returns. */
void pages_learn(void (*rehearse)(void));

/* In a copy: makes the pages that were learned its own, and maps what is read. Needs Linux 5.14, or does nothing. */
void pages_take(void);

#endif
