/* signals - see the header. */
#include "common/signals.h"

#include <signal.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

/* By number, for libc keeps the first two real-time signals to itself; all zero bytes are SIG_DFL on every
 * architecture. */
void signals_reset(void)
{
	static const unsigned char by_default[64];
	sigset_t none;

	for (int number = 1; number < _NSIG; number++)
		syscall(SYS_rt_sigaction, number, by_default, NULL, (size_t)_NSIG / 8);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}
