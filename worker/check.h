/* check - `mcp-exec check`: builds a real sandbox, runs a program in it, and says what stands. */
#ifndef WORKER_CHECK_H
#define WORKER_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "common/stage.h"
#include "common/warm.h"
#include "worker/inside.h"
#include "worker/interpreter.h"

/* Prints which interpreter was taken, which candidates were not and why, and what of it programs see. */
void check_interpreter(const struct interpreter *interpreter);

/* Builds a sandbox by a worker of its own, runs a program in it, and prints every layer, every limit and how it is
 * enforced. version is PY_VERSION_HEX >> 8, warm which interpreters wait. Returns the exit code: 0 all required walls stand; 69 runs are refused;
 * with strict, 1 when something is weaker than it could be. */
int check_sandbox(const struct inside *inside, const struct warm_settings *warm, uint32_t version,
		  bool strict);

/* Prints that runs are refused, at which stage, and the remedy. wanted is the interpreter. Returns 69. */
int check_refuse(enum stage stage, int error, const char *wanted);

#endif
