/* cleanup - resources that free themselves when their variable goes out of scope.
 *
 * There is no goto in this project: a function that fails returns, and the attribute does the rest. A value that is
 * handed on is taken out of its variable first (take_fd, take_ptr).
 */
#ifndef COMMON_CLEANUP_H
#define COMMON_CLEANUP_H

#include <stdlib.h>
#include <unistd.h>

#define _cleanup_(f) __attribute__((cleanup(f)))

static inline void cleanup_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static inline void cleanup_free(void *pointer)
{
	free(*(void **)pointer);
}

#define _cleanup_fd_ _cleanup_(cleanup_fd)
#define _cleanup_free_ _cleanup_(cleanup_free)

/* Gives up the descriptor in *fd without closing it. */
static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

/* Gives up the pointer in the variable without freeing it. */
#define take_ptr(variable)                                                                         \
	({                                                                                         \
		__typeof__(variable) taken_ = (variable);                                          \
		(variable) = NULL;                                                                 \
		taken_;                                                                            \
	})

#endif
