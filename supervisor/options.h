/* options - the command line: which command, its arguments, and the settings that were given as flags. */
#ifndef SUPERVISOR_OPTIONS_H
#define SUPERVISOR_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define OPTIONS_MAX_SETTINGS 32

enum options_command {
	OPTIONS_SERVE,
	OPTIONS_RUN,
	OPTIONS_CHECK,
	OPTIONS_PRINT_POLICY,
	OPTIONS_CLIENT_CONFIG,
	OPTIONS_VERSION,
	OPTIONS_HELP
};

struct options {
	enum options_command command;
	const char *file;   /* of run; "-" is standard input */
	double timeout_s;   /* of run: a whole number, of any size and sign; 0: the default */
	bool json;	    /* of run */
	bool strict;	    /* of check */
	const char *client; /* of client-config, like the next two; NULL: a list of them */
	const char *image;  /* NULL: not given */
	const char *url;    /* NULL: not given */
	const char *
		values[OPTIONS_MAX_SETTINGS]; /* by place in the table of config; NULL: not given */
};

/* Reads the command line; flags may stand anywhere. Everything points into argv. Returns 0, or -EINVAL with one
 * sentence in error. */
int options_parse(struct options *options, int argc, char **argv, char *error, size_t error_size);

/* A config_lookup over a struct options: the flag if it was given and is not empty, else NULL. */
const char *options_flag(void *ctx, const char *variable);

/* The same: the flag if it was given, else the variable of the environment. */
const char *options_lookup(void *ctx, const char *variable);

/* Writes one warning for each MCP_EXEC_… variable of the environment that is no setting. */
void options_warn_unknown(void);

/* Writes the help text, every setting in it. */
void options_help(FILE *out);

#endif
