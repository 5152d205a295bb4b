/* options - the worker's command line, which only the supervisor writes. mcp-exec-worker(8). */
#ifndef WORKER_OPTIONS_H
#define WORKER_OPTIONS_H

#include <stdbool.h>

#include "common/limits.h"
#include "common/log.h"
#include "common/mechanism.h"
#include "common/warm.h"

enum worker_mode { WORKER_SERVE, WORKER_CHECK, WORKER_PRINT_POLICY };

struct options {
	enum worker_mode mode;
	bool strict; /* --check: weaker than it could be is a failure as well */
	const char *python;
	struct limits limits;
	struct warm_settings warm;
	enum cgroup_wish cgroup;
	enum log_level log_level;
};

/* Reads the command line into options, which starts with the defaults of common/limits.h, warm starts on
 * and none but the known modules.
 * Returns 0, or -EINVAL for anything unknown, with a line on stderr. */
int options_read(struct options *options, int argc, char **argv);

#endif
