/* interpreter_view - what of an interpreter is put into the view of runs, and what is left out; see interpreter.h. */
#ifndef WORKER_INTERPRETER_VIEW_H
#define WORKER_INTERPRETER_VIEW_H

#include <stdbool.h>
#include <stddef.h>

#include "worker/interpreter.h"
#include "worker/interpreter_ask.h"

/* Fills in view, user_base and left_out from the answer; version is set. Returns INTERPRETER_OK, or
 * INTERPRETER_UNSAFE_PREFIX when a prefix cannot be shown. */
enum interpreter_reason interpreter_show(struct interpreter *interpreter,
					 const struct ask_answer *answer);

/* Says whether runs see this path. */
bool interpreter_shows(const struct interpreter *interpreter, const char *path);

/* Takes back what interpreter_show did. */
void interpreter_hide(struct interpreter *interpreter);

/* Remembers a copy of path, once, and why (a literal); does nothing when there is no room. */
void interpreter_note(struct interpreter_note *notes, size_t *n, const char *path, const char *why);

#endif
