/* http - a stand-in. */
#include "supervisor/http.h"

#include <signal.h>
#include <stddef.h>

int http_serve(const struct config *config, const struct spawn_spec *spec,
	       struct listeners *listeners)
{
	sigset_t ends;

	(void)config;
	(void)spec;
	sigemptyset(&ends);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGINT);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	while (sigwaitinfo(&ends, NULL) < 0)
		;
	listen_close(listeners);
	return 0;
}
