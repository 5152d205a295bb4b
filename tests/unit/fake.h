/* fake - a spawn_spec for the worker of tests/fake, which lies beside the test program. */
#ifndef TESTS_UNIT_FAKE_H
#define TESTS_UNIT_FAKE_H

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "supervisor/config.h"
#include "supervisor/spawn.h"

static inline const char *fake_lookup(void *mode, const char *variable)
{
	return strcmp(variable, "MCP_EXEC_PYTHON") == 0 ? mode : NULL;
}

/* Ends the test program when the fake is not there: nothing could be tested. */
static inline void fake_open(struct spawn_spec *spec, struct config *config, const char *mode)
{
	char path[PATH_MAX + 32];
	char error[256] = "";
	char name[32];
	ssize_t len = readlink("/proc/self/exe", path, PATH_MAX);

	path[len < 0 ? 0 : len] = '\0';
	memcpy(strrchr(path, '/'), "/fake_worker", sizeof("/fake_worker"));
	snprintf(name, sizeof(name), "%s", mode);
	spec->worker_fd = open(path, O_PATH | O_CLOEXEC);
	if (spec->worker_fd < 0 || config_read(config, fake_lookup, name, error, sizeof(error))) {
		fprintf(stderr, "%s: %s\n", path, error);
		exit(1);
	}
	config->python = mode;
	spec->config = config;
	log_set_level(LOG_ERROR);
}

#endif
