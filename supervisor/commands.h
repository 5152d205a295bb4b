/* commands - the command line for people: run, check, --print-policy. */
#ifndef SUPERVISOR_COMMANDS_H
#define SUPERVISOR_COMMANDS_H

#include <stdbool.h>

#include "supervisor/config.h"
#include "supervisor/spawn.h"

/* sysexits.h numbers that this program uses. */
enum exit_code {
	EXIT_TIMED_OUT = 124,
	EXIT_USAGE_ERROR = 64,
	EXIT_NO_INPUT = 66,
	EXIT_NO_SANDBOX = 69,
	EXIT_INTERNAL = 70,
	EXIT_BAD_CONFIG = 78
};

struct run_options {
	int code_fd;	     /* opened before the change of user; owned */
	bool code_is_stdin;  /* FILE was "-": the program gets an empty stdin */
	bool json;	     /* print the tool's structured content */
	const char *timeout; /* as given, NULL: default */
};

/* Runs one program through the same worker and sandbox: its stdout and stderr byte for byte, its exit code, 128+N for
 * signal N, EXIT_TIMED_OUT for a timeout. Returns the exit code. */
int command_run(const struct config *config, const struct spawn_spec *spec,
		const struct run_options *options);

#endif
