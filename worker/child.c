/* child - see the header. */
#include "worker/child.h"

#include <sched.h>
#include <signal.h>
#include <stddef.h>

/* Out of the way of the few frames that we need meanwhile. */
#define OUR_BYTES ((ptrdiff_t)64 * 1024)

pid_t child_make(int (*body)(void *ctx), void *ctx, int flags)
{
	char *stack = (char *)__builtin_frame_address(0) - OUR_BYTES;

	return clone(body, stack, CLONE_VM | SIGCHLD | flags, ctx);
}
