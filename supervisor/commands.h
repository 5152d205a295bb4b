/* commands - the command line for people: `mcp-exec run`. (`check` and --print-policy are the worker's, see
 * spawn_report.)
 */
#ifndef SUPERVISOR_COMMANDS_H
#define SUPERVISOR_COMMANDS_H

#include <stdbool.h>

#include "supervisor/config.h"
#include "supervisor/spawn.h"

/* What our own failures end with: the numbers of sysexits.h, and timeout(1)'s 124. */
enum exit_code {
	EXIT_TIMED_OUT = 124,
	EXIT_USAGE_ERROR = 64,
	EXIT_NO_INPUT = 66,
	EXIT_NO_SANDBOX = 69,
	EXIT_INTERNAL = 70,
	EXIT_NO_ADDRESS = 71,
	EXIT_BAD_CONFIG = 78
};

struct run_options {
	int code_fd;	    /* opened before the change of user; borrowed */
	bool code_is_stdin; /* FILE was "-": the program gets an empty stdin */
	bool json;	    /* print the tool's structured content, or its error result */
	double timeout_s; /* as asked for, a whole number, clamped as the tool does it; 0: the default */
};

/* Runs one program through the same worker and sandbox. When it has ended, prints its stdout and stderr, byte for byte
 * up to the limit on output. Returns the exit code: the program's, 128+N for signal N, EXIT_TIMED_OUT for a timeout,
 * EXIT_INTERNAL when the worker died meanwhile. */
int command_run(const struct config *config, const struct spawn_spec *spec,
		const struct run_options *options);

#endif
