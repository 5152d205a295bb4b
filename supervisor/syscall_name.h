/* syscall_name - names of this machine's system calls. The list comes from the compiler's own headers at build time. */
#ifndef SUPERVISOR_SYSCALL_NAME_H
#define SUPERVISOR_SYSCALL_NAME_H

/* The name of a system call of the native ABI, a literal; NULL for a number that had none when this was built. */
const char *syscall_name(unsigned int number);

#endif
