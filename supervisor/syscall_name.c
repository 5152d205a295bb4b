/* syscall_name - see the header. The Makefile makes SYSCALL_NAMES, a list of X(name); an analyser sees none. */
#include "supervisor/syscall_name.h"

#include <stddef.h>
#include <sys/syscall.h>

#ifndef SYSCALL_NAMES
#define SYSCALL_NAMES(X) X(read) X(write)
#endif

#define NAME(name) [__NR_##name] = #name,
static const char *const names[] = {SYSCALL_NAMES(NAME)};
#undef NAME

const char *syscall_name(unsigned int number)
{
	return number < sizeof(names) / sizeof(*names) ? names[number] : NULL;
}
