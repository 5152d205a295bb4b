/* worker - the loop between the supervisor's frames and the sandboxes. */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stdint.h>

#include "common/warm.h"
#include "worker/inside.h"

/* Builds a trial sandbox, says READY (or FAIL) on link, and serves runs until the supervisor is gone. warm says which
 * interpreters wait. python_version is told to the supervisor. Returns the exit code. */
int worker_serve(int link, const struct inside *inside, const struct warm_settings *warm,
		 uint32_t python_version);

#endif
