/* ending - see the header. */
#include "worker/gate/ending.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "worker/gate/python.h"

enum { STATUS_FLUSH_FAILED = 120 };

int ending_prepare(void)
{
	return 0;
}

/* Who waits for this process shall see the signal, as a shell must: exit_sigint in CPython's main.c. */
static int end_by_interrupt(void)
{
	signal(SIGINT, SIG_DFL);
	kill(getpid(), SIGINT);
	return SIGINT + 128;
}

_Noreturn void ending_exit(int status, bool interrupted)
{
	if (Py_FinalizeEx() < 0)
		status = STATUS_FLUSH_FAILED;
	if (interrupted)
		status = end_by_interrupt();
	exit(status);
}
