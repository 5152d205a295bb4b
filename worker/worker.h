/* worker - the loop between the supervisor's frames and the sandboxes. */
#ifndef WORKER_WORKER_H
#define WORKER_WORKER_H

#include <stdint.h>

#include "worker/inside.h"

/* Builds a trial sandbox, says READY (or FAIL) on link, and serves runs until the supervisor is gone. python_version is
 * told to the supervisor. Returns the exit code. */
int worker_serve(int link, const struct inside *inside, uint32_t python_version);

#endif
