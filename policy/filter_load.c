/* filter_load - puts compiled filters on; apart from filter.c, so that what only loads one does not need libseccomp.
 * Not seccomp_load(3), which falls back to prctl(2) and tells a wrong errno. */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "policy/filter.h"

/* Linux 5.19; older headers lack it. */
#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

static int load_filter(const struct sock_fprog *filter, unsigned long flags)
{
	struct sock_fprog program = *filter;
	long r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);

	return r < 0 ? -errno : (int)r;
}

int filter_apply(const struct sock_fprog *filter)
{
	return load_filter(filter, 0);
}

int filter_listen(const struct sock_fprog *filter)
{
	return load_filter(filter, SECCOMP_FILTER_FLAG_NEW_LISTENER |
					   SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
}
