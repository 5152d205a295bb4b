/* interpreter - see the header. */
#include "worker/interpreter.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
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

#define OLDEST 0x030800U /* Python 3.8 */
/* How long one candidate may think, and all of them: the supervisor gives a worker 20 s to be ready. */
#define ASK_MS 5000
#define ASK_ALL_MS 15000
#define FALLBACK_PATH "/usr/local/bin:/usr/bin"

static void note(struct interpreter_note *notes, size_t *n, const char *path, const char *why)
{
	for (size_t i = 0; i < *n; i++)
		if (!strcmp(notes[i].path, path))
			return;
	if (*n < INTERPRETER_NOTES && (notes[*n].path = strdup(path)))
		notes[(*n)++].why = why;
}

static bool is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

/* Is path the directory dir, or below it? */
static bool is_within(const char *path, const char *dir)
{
	size_t len = strlen(dir);

	if (len == 1)
		return true;
	return !strncmp(path, dir, len) && (path[len] == '/' || path[len] == '\0');
}

static bool is_or_holds_home(const char *dir, const char *home)
{
	char real[PATH_MAX];

	return home && *home == '/' &&
	       (is_within(home, dir) || (realpath(home, real) && is_within(real, dir)));
}

/* Of other users' homes only the usual place is known: the password file may be a directory service. */
static bool is_somebodys_home(const char *dir)
{
	const char *slash = strrchr(dir, '/');

	return slash && slash - dir == (ptrdiff_t)strlen("/home") && is_within(dir, "/home");
}

/* Nothing of an interpreter can be at or below one of these. */
static bool is_systems_own(const char *dir)
{
	static const char *const own[] = {"/boot", "/dev", "/etc", "/proc", "/run", "/sys"};

	for (size_t i = 0; i < sizeof(own) / sizeof(*own); i++)
		if (is_within(dir, own[i]))
			return true;
	return false;
}

/* A directory that is no interpreter's own: it is, or holds, the user's home, or a directory of the system. */
static bool is_unsafe(const char *dir)
{
	static const char *const never[] = {"/bin",	  "/home",    "/lib",	  "/media",
					    "/mnt",	  "/opt",     "/root",	  "/sbin",
					    "/srv",	  "/tmp",     "/var/lib", "/var/log",
					    "/var/spool", "/var/tmp", "/sandbox"};
	const struct passwd *pw = getpwuid(geteuid());

	for (size_t i = 0; i < sizeof(never) / sizeof(*never); i++)
		if (is_within(never[i], dir))
			return true;
	return is_systems_own(dir) || strstr(dir, "/..") || is_somebodys_home(dir) ||
	       is_or_holds_home(dir, getenv("HOME")) || (pw && is_or_holds_home(dir, pw->pw_dir));
}

static bool is_in_view(const struct interpreter *interpreter, const char *path)
{
	if (is_within(path, "/usr"))
		return true;
	for (size_t i = 0; i < interpreter->view.n; i++)
		if (is_within(path, interpreter->view.paths[i].target))
			return true;
	return false;
}

static bool add_path(struct interpreter *interpreter, const char *source, const char *target)
{
	struct view_plan *view = &interpreter->view;
	struct view_path *path = &view->paths[view->n];
	struct stat status;

	if (is_in_view(interpreter, target))
		return true;
	if (view->n == VIEW_MAX_PATHS || lstat(source, &status))
		return false;
	path->source = strdup(source);
	path->target = strdup(target);
	path->device = status.st_dev;
	path->inode = status.st_ino;
	if (path->source && path->target) {
		view->n++;
		return true;
	}
	free((void *)(uintptr_t)path->source);
	free((void *)(uintptr_t)path->target);
	return false;
}

/* Puts a directory into the view under its own name and under its real one. Returns whether it is there now. */
static bool show(struct interpreter *interpreter, const char *dir)
{
	char real[PATH_MAX];

	if (!realpath(dir, real) || is_unsafe(real) || is_unsafe(dir))
		return false;
	return add_path(interpreter, real, dir) && add_path(interpreter, real, real);
}

/* A link within the prefix is shown as the link it is; one that leads elsewhere, as what it leads to. */
static bool show_linked(struct interpreter *interpreter, const char *prefix, const char *source,
			const char *target)
{
	char real[PATH_MAX];

	if (!realpath(source, real))
		return true;
	if (is_within(real, prefix) || is_in_view(interpreter, real))
		return add_path(interpreter, source, target) &&
		       add_path(interpreter, source, source);
	return !is_unsafe(real) && add_path(interpreter, real, target) &&
	       add_path(interpreter, real, real);
}

/* One part of a prefix, under its own name and under its real one. */
static bool show_part(struct interpreter *interpreter, const char *prefix, const char *real_prefix,
		      const char *name)
{
	char target[PATH_MAX], source[PATH_MAX];
	struct stat status;

	if (snprintf(target, sizeof(target), "%s/%s", prefix, name) >= (int)sizeof(target) ||
	    snprintf(source, sizeof(source), "%s/%s", real_prefix, name) >= (int)sizeof(source))
		return false;
	if (lstat(source, &status))
		return true;
	if (S_ISLNK(status.st_mode))
		return show_linked(interpreter, real_prefix, source, target);
	return add_path(interpreter, source, target) && add_path(interpreter, source, source);
}

static bool is_link(const char *prefix, const char *name)
{
	char path[PATH_MAX];
	struct stat status;

	return snprintf(path, sizeof(path), "%s/%s", prefix, name) < (int)sizeof(path) &&
	       !lstat(path, &status) && S_ISLNK(status.st_mode);
}

/* A virtual environment may have been made in the root of a project, which has a lib, an etc or a share of its own. */
static bool show_environment(struct interpreter *interpreter, const char *prefix, const char *real)
{
	unsigned int minor = interpreter->version >> 8 & 0xff;
	char lib[32], lib64[32];

	snprintf(lib, sizeof(lib), "lib/python3.%u", minor);
	snprintf(lib64, sizeof(lib64), "lib64/python3.%u", minor);
	return show_part(interpreter, prefix, real, "bin") &&
	       show_part(interpreter, prefix, real, "pyvenv.cfg") &&
	       show_part(interpreter, prefix, real, lib) &&
	       show_part(interpreter, prefix, real, is_link(real, "lib64") ? "lib64" : lib64);
}

static bool show_base(struct interpreter *interpreter, const char *prefix, const char *real)
{
	static const char *const parts[] = {"bin",   "lib",	"lib32", "lib64", "include",
					    "share", "libexec", "etc",	 "ssl",	  "conda-meta"};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (!show_part(interpreter, prefix, real, parts[i]))
			return false;
	return true;
}

static bool show_prefix(struct interpreter *interpreter, const char *prefix,
			bool (*parts)(struct interpreter *, const char *, const char *))
{
	char real[PATH_MAX];

	if (is_within(prefix, "/usr") || !is_dir(prefix))
		return true;
	if (!realpath(prefix, real) || is_unsafe(real) || is_unsafe(prefix))
		return false;
	return parts(interpreter, prefix, real);
}

/* The base comes first: an environment's links lead into it. */
static enum interpreter_reason show_prefixes(struct interpreter *interpreter,
					     const struct ask_answer *answer)
{
	size_t position = 0;
	const char *dir;

	while ((dir = ask_next(answer, "base_prefix", &position)))
		if (!show_prefix(interpreter, dir, show_base))
			return INTERPRETER_UNSAFE_PREFIX;
	position = 0;
	while ((dir = ask_next(answer, "prefix", &position)))
		if (!show_prefix(interpreter, dir, show_environment))
			return INTERPRETER_UNSAFE_PREFIX;
	return INTERPRETER_OK;
}

static void show_libraries(struct interpreter *interpreter, const struct ask_answer *answer)
{
	size_t position = 0;
	const char *dir;

	while ((dir = ask_next(answer, "library", &position)))
		if (is_dir(dir) && !show(interpreter, dir))
			note(interpreter->left_out, &interpreter->n_left_out, dir,
			     "it is, or holds, a directory of yours that programs must not see");
}

static void show_user_site(struct interpreter *interpreter, const struct ask_answer *answer)
{
	const char *site = ask_get(answer, "user_site");
	const char *base = ask_get(answer, "user_base");

	if (site && base && show(interpreter, site))
		interpreter->user_base = strdup(base);
}

/* Debian's sitecustomize is a link to there. */
static void show_system_settings(struct interpreter *interpreter)
{
	char dir[32];

	snprintf(dir, sizeof(dir), "/etc/python3.%u", interpreter->version >> 8 & 0xff);
	if (is_dir(dir))
		add_path(interpreter, dir, dir);
}

static void note_left_out(struct interpreter *interpreter, const struct ask_answer *answer)
{
	const char *python_path = getenv("PYTHONPATH");
	size_t position = 0;
	const char *entry;
	struct stat st;

	if (python_path && *python_path)
		note(interpreter->left_out, &interpreter->n_left_out, python_path,
		     "PYTHONPATH is not handed on to programs");
	while ((entry = ask_next(answer, "path", &position)))
		if (!stat(entry, &st) && !is_in_view(interpreter, entry))
			note(interpreter->left_out, &interpreter->n_left_out, entry,
			     "it came from a .pth file or an editable install");
}

static enum interpreter_reason settle(struct interpreter *interpreter,
				      const struct ask_answer *answer)
{
	const char *executable = ask_get(answer, "executable");
	enum interpreter_reason reason;
	char dir[PATH_MAX];

	interpreter->version = (uint32_t)strtoul(ask_get(answer, "version"), NULL, 10);
	if (interpreter->version < OLDEST || interpreter->version >= 0x040000U)
		return INTERPRETER_NOT_PYTHON3;
	if (*executable != '/' || access(executable, X_OK))
		return INTERPRETER_NOT_RUNNABLE;
	if ((reason = show_prefixes(interpreter, answer)) != INTERPRETER_OK)
		return reason;
	show_libraries(interpreter, answer);
	show_user_site(interpreter, answer);
	show_system_settings(interpreter);
	note_left_out(interpreter, answer);
	snprintf(dir, sizeof(dir), "%.*s", (int)(strrchr(executable, '/') - executable),
		 executable);
	/* Of a prefix such as /opt/x, bin is a part; a lone binary elsewhere has no prefix of its own. */
	if (!is_in_view(interpreter, executable))
		return INTERPRETER_UNSAFE_PREFIX;
	interpreter->path = strdup(executable);
	interpreter->bin_dir = is_within(dir, "/usr") ? NULL : strdup(dir);
	return interpreter->path ? INTERPRETER_OK : INTERPRETER_NOT_RUNNABLE;
}

static void forget_view(struct interpreter *interpreter)
{
	for (size_t i = 0; i < interpreter->view.n; i++) {
		free((void *)(uintptr_t)interpreter->view.paths[i].source);
		free((void *)(uintptr_t)interpreter->view.paths[i].target);
	}
	for (size_t i = 0; i < interpreter->n_left_out; i++)
		free(interpreter->left_out[i].path);
	interpreter->view.n = 0;
	interpreter->n_left_out = 0;
	free(take_ptr(interpreter->user_base));
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
		forget_view(interpreter);
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
	    access(path, X_OK) || is_dir(path) || !realpath(dir, real) ||
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
		note(interpreter->passed_over, &interpreter->n_passed_over, path, why(reason));
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
	forget_view(interpreter);
	for (size_t i = 0; i < interpreter->n_passed_over; i++)
		free(interpreter->passed_over[i].path);
	free(interpreter->path);
	free(interpreter->bin_dir);
	memset(interpreter, 0, sizeof(*interpreter));
}
