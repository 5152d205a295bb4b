/* interpreter - which Python runs the programs, and what of it must be in the view.
 *
 * A bare `python3` may be a pyenv or asdf shim, live under HOME, in a venv or a conda environment; only the interpreter
 * itself knows. So it is asked, once, at start, as the worker's user: what it is, and where its own directories are.
 * Only those are shown to runs, and of a prefix only its known parts (bin, lib, …), for a virtual environment may have
 * been made in the root of a project; never HOME or a directory above it, nor one that came from PYTHONPATH, a .pth
 * file or an editable install: they would show the user's project or keys to a program.
 */
#ifndef WORKER_INTERPRETER_H
#define WORKER_INTERPRETER_H

#include <stddef.h>
#include <stdint.h>

#include "common/stage.h"
#include "policy/view.h"

#define INTERPRETER_NOTES 16

/* A path that was not used, and why, for `mcp-exec check` and the start log. */
struct interpreter_note {
	char *path;
	const char *why; /* a literal */
};

struct interpreter {
	char *path;	 /* sys.executable, as it is to be started */
	char *user_base; /* NULL, or PYTHONUSERBASE for the user's own packages */
	char *bin_dir;	 /* NULL, or where the interpreter's programs are, when outside /usr */
	int error; /* 0, or the errno why we could not ask: for want of processes, memory or descriptors */
	uint32_t version;					/* PY_VERSION_HEX >> 8 */
	struct view_plan view;					/* strings owned */
	struct interpreter_note passed_over[INTERPRETER_NOTES]; /* candidates that cannot be used */
	size_t n_passed_over;
	struct interpreter_note
		left_out[INTERPRETER_NOTES]; /* entries of sys.path that runs do not see */
	size_t n_left_out;
};

/* Finds and asks it. wanted is a name, looked up along PATH, then in /usr/local/bin and /usr/bin, the first that works
 * being taken; or a path, which is taken or refused. Returns INTERPRETER_OK, or why there is none: the reason of the
 * candidate that came nearest. interpreter is to be cleared in both cases. */
enum interpreter_reason interpreter_find(const char *wanted, struct interpreter *interpreter);

void interpreter_clear(struct interpreter *interpreter);

#endif
