/* interpreter_ask - starts a Python interpreter and asks it about itself. */
#ifndef WORKER_INTERPRETER_ASK_H
#define WORKER_INTERPRETER_ASK_H

#include <stddef.h>
#include <stdint.h>

#define ASK_BYTES 65536

/* What it answered: pairs of NUL-terminated key and value. Keys: version, executable, base_prefix and prefix (two
 * each), library (several), user_base, user_site (only if it exists and is used), path (several: sys.path). */
struct ask_answer {
	char text[ASK_BYTES];
	size_t len;
};

/* Asks the program at path, isolated (-I) and outside any directory of the user's. Waits at most timeout_ms.
 * Returns 0, -ETIMEDOUT, -EPROTO when the answer is none, or another negative errno. */
int interpreter_ask(const char *path, uint32_t timeout_ms, struct ask_answer *answer);

/* The next value of key after *position (0 at first), or NULL; moves *position. */
const char *ask_next(const struct ask_answer *answer, const char *key, size_t *position);

/* The first value of key, or NULL. */
const char *ask_get(const struct ask_answer *answer, const char *key);

#endif
