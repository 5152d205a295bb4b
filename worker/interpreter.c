/* interpreter - see the header. */
#include "worker/interpreter.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "common/log.h"
#include "worker/interpreter_ask.h"
#include "worker/interpreter_view.h"

#define OLDEST 0x030800U /* Python 3.8 */
/* How long one candidate may think, and all of them: the supervisor gives a worker 20 s to be ready. */
#define ASK_MS 5000
#define ASK_ALL_MS 15000
/* As many as the kernel follows: MAXSYMLINKS of linux/namei.h. */
#define MAX_LINKS 40
#define FALLBACK_PATH "/usr/local/bin:/usr/bin"

/* One step along a link: path becomes what it leads to, in a directory by its real name. */
static bool follow(char path[PATH_MAX])
{
	char next[PATH_MAX], dir[PATH_MAX], real[PATH_MAX];
	ssize_t len = readlink(path, next, sizeof(next) - 1);
	const char *slash;

	if (len <= 0)
		return false;
	next[len] = '\0';
	if (snprintf(dir, sizeof(dir), "%.*s%s",
		     *next == '/' ? 0 : (int)(strrchr(path, '/') - path + 1), path,
		     next) >= (int)sizeof(dir))
		return false;
	slash = strrchr(dir, '/');
	snprintf(next, sizeof(next), "%s", slash);
	dir[slash - dir + 1] = '\0';
	return realpath(dir, real) &&
	       snprintf(path, PATH_MAX, "%s%s", real[1] ? real : "", next) < PATH_MAX;
}

/* A link from elsewhere, as uv makes them in ~/.local/bin, stands for the first of what it leads to
 * that runs see. */
static bool find_shown(const struct interpreter *interpreter, char path[PATH_MAX])
{
	for (int left = MAX_LINKS; left && !interpreter_shows(interpreter, path); left--)
		if (!follow(path))
			return false;
	return interpreter_shows(interpreter, path) && !access(path, X_OK);
}

static enum interpreter_reason settle(struct interpreter *interpreter,
				      const struct ask_answer *answer)
{
	const char *executable = ask_get(answer, "executable");
	enum interpreter_reason reason;
	char path[PATH_MAX];

	interpreter->version = (uint32_t)strtoul(ask_get(answer, "version"), NULL, 10);
	if (interpreter->version < OLDEST || interpreter->version >= 0x040000U)
		return INTERPRETER_NOT_PYTHON3;
	if (*executable != '/' || access(executable, X_OK))
		return INTERPRETER_NOT_RUNNABLE;
	if ((reason = interpreter_show(interpreter, answer)) != INTERPRETER_OK)
		return reason;
	/* Of a prefix such as /opt/x, bin is a part; a lone binary elsewhere has no prefix of its own. */
	if (snprintf(path, sizeof(path), "%s", executable) >= (int)sizeof(path) ||
	    !find_shown(interpreter, path))
		return INTERPRETER_UNSAFE_PREFIX;
	interpreter->path = strdup(path);
	*strrchr(path, '/') = '\0';
	interpreter->bin_dir = !strncmp(path, "/usr/", strlen("/usr/")) ? NULL : strdup(path);
	return interpreter->path ? INTERPRETER_OK : INTERPRETER_NOT_RUNNABLE;
}

static bool is_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode);
}

/* Failures that are ours and not the interpreter's. */
static bool is_our_want(int error)
{
	return error == EMFILE || error == ENFILE || error == EAGAIN || error == ENOMEM;
}

static enum interpreter_reason ask(struct interpreter *interpreter, const char *path,
				   uint32_t timeout_ms)
{
	_cleanup_free_ struct ask_answer *answer = malloc(sizeof(*answer));
	enum interpreter_reason reason;
	int r;

	if (!answer) {
		interpreter->error = ENOMEM;
		return INTERPRETER_NO_ANSWER;
	}
	r = interpreter_ask(path, timeout_ms, answer);
	if (r < 0) {
		interpreter->error = is_our_want(-r) ? -r : 0;
		return INTERPRETER_NO_ANSWER;
	}
	reason = settle(interpreter, answer);
	if (reason != INTERPRETER_OK)
		interpreter_hide(interpreter);
	return reason;
}

/* Asked by its directory's real name: started as /bin/python3 it would take / for its prefix. */
static enum interpreter_reason try(struct interpreter *interpreter, const char *path,
				   uint32_t timeout_ms)
{
	char dir[PATH_MAX], real[PATH_MAX], full[PATH_MAX];
	const char *slash = strrchr(path, '/');

	/* One in a directory that this user may not enter is there all the same. */
	if (access(path, F_OK))
		return errno == EACCES ? INTERPRETER_NOT_RUNNABLE : INTERPRETER_NOT_FOUND;
	if (snprintf(dir, sizeof(dir), "%.*s/", (int)(slash - path), path) >= (int)sizeof(dir) ||
	    access(path, X_OK) || !is_file(path) || !realpath(dir, real) ||
	    snprintf(full, sizeof(full), "%s%s", real, slash) >= (int)sizeof(full))
		return INTERPRETER_NOT_RUNNABLE;
	return ask(interpreter, full, timeout_ms);
}

static const char *why(enum interpreter_reason reason)
{
	switch (reason) {
	case INTERPRETER_NOT_RUNNABLE:
		return "it cannot be run by this user";
	case INTERPRETER_NO_ANSWER:
		return "it does not answer as a Python does";
	case INTERPRETER_NOT_PYTHON3:
		return "it is not Python 3.8 or newer";
	case INTERPRETER_UNSAFE_PREFIX:
		return "its prefix is, or holds, a directory that programs must not see";
	case INTERPRETER_OK:
	case INTERPRETER_NOT_FOUND:
	case INTERPRETER_REASON_COUNT:
		break;
	}
	return "it does not exist";
}

/* A search along PATH. */
struct search {
	struct interpreter *interpreter;
	enum interpreter_reason nearest;
	uint64_t until_ms;
};

/* Tries one candidate and remembers the reason of the one that came nearest. Returns whether it is the one. */
static bool consider(struct search *search, const char *path)
{
	struct interpreter *interpreter = search->interpreter;
	uint64_t now_ms = clock_ms();
	uint64_t left_ms = now_ms < search->until_ms ? search->until_ms - now_ms : 0;
	enum interpreter_reason reason =
		try(interpreter, path, left_ms < ASK_MS ? (uint32_t)left_ms : ASK_MS);

	if (reason != INTERPRETER_NOT_FOUND && reason != INTERPRETER_OK)
		interpreter_note(interpreter->passed_over, &interpreter->n_passed_over, path,
				 why(reason));
	interpreter->error = reason == INTERPRETER_OK ? 0 : interpreter->error;
	if (reason == INTERPRETER_OK || reason > search->nearest)
		search->nearest = reason;
	return reason == INTERPRETER_OK;
}

/* Looks for name in each directory of a colon-separated list. */
static bool look_along(struct search *search, const char *name, const char *list)
{
	char path[PATH_MAX];

	while (list && *list) {
		size_t len = strcspn(list, ":");

		/* Relative entries of PATH mean whatever directory a client happened to start us in. */
		if (*list == '/' &&
		    snprintf(path, sizeof(path), "%.*s/%s", (int)len, list, name) <
			    (int)sizeof(path) &&
		    consider(search, path))
			return true;
		list += len + (list[len] == ':');
	}
	return false;
}

enum interpreter_reason interpreter_find(const char *wanted, struct interpreter *interpreter)
{
	struct search search = {.interpreter = interpreter,
				.nearest = INTERPRETER_NOT_FOUND,
				.until_ms = clock_ms() + ASK_ALL_MS};

	memset(interpreter, 0, sizeof(*interpreter));
	if (strchr(wanted, '/')) {
		if (*wanted == '/')
			consider(&search, wanted);
	} else if (!look_along(&search, wanted, getenv("PATH"))) {
		look_along(&search, wanted, FALLBACK_PATH);
	}
	return search.nearest;
}

void interpreter_clear(struct interpreter *interpreter)
{
	interpreter_hide(interpreter);
	for (size_t i = 0; i < interpreter->n_passed_over; i++)
		free(interpreter->passed_over[i].path);
	free(interpreter->path);
	free(interpreter->bin_dir);
	memset(interpreter, 0, sizeof(*interpreter));
}
