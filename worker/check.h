/* check - `mcp-exec check`: builds a real sandbox, runs a program in it, and says what stands. */
#ifndef WORKER_CHECK_H
#define WORKER_CHECK_H

#include <stdbool.h>

#include "worker/inside.h"
#include "worker/interpreter.h"

/* Prints the interpreter, every layer, every limit and how it is enforced, with a remedy for what fails. inside is NULL
 * when no interpreter was found (reason says why). Returns the exit code: 0 all walls stand; 69 runs are refused; with
 * strict, 1 when something is weaker than it could be. */
int check_run(const char *wanted, enum interpreter_reason reason,
	      const struct interpreter *interpreter, const struct inside *inside,
	      const struct limits *limits, bool strict);

/* Prints that runs are refused, at which stage, and the remedy. wanted is the configured interpreter. Returns 69. */
int check_refuse(enum stage stage, int error, const char *wanted);

#endif
