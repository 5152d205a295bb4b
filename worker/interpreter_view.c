/* interpreter_view - see the header. */
#include "worker/interpreter_view.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/cleanup.h"

void interpreter_note(struct interpreter_note *notes, size_t *n, const char *path, const char *why)
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

bool interpreter_shows(const struct interpreter *interpreter, const char *path)
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

	if (interpreter_shows(interpreter, target))
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

/* Under the name by which the interpreter knows it, and under its real one. */
static bool add_path_twice(struct interpreter *interpreter, const char *source, const char *target)
{
	return add_path(interpreter, source, target) && add_path(interpreter, source, source);
}

/* Puts a directory into the view under its own name and under its real one. Returns whether it is there now. */
static bool show(struct interpreter *interpreter, const char *dir)
{
	char real[PATH_MAX];

	if (!realpath(dir, real) || is_unsafe(real) || is_unsafe(dir))
		return false;
	return add_path_twice(interpreter, real, dir);
}

/* A link within the prefix is shown as the link it is; one that leads elsewhere, as what it leads to. */
static bool show_linked(struct interpreter *interpreter, const char *prefix, const char *source,
			const char *target)
{
	char real[PATH_MAX];

	if (!realpath(source, real))
		return true;
	if (is_within(real, prefix) || interpreter_shows(interpreter, real))
		return add_path_twice(interpreter, source, target);
	return !is_unsafe(real) && add_path_twice(interpreter, real, target);
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
	return add_path_twice(interpreter, source, target);
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
			interpreter_note(
				interpreter->left_out, &interpreter->n_left_out, dir,
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
		interpreter_note(interpreter->left_out, &interpreter->n_left_out, python_path,
				 "PYTHONPATH is not handed on to programs");
	while ((entry = ask_next(answer, "path", &position)))
		if (!stat(entry, &st) && !interpreter_shows(interpreter, entry))
			interpreter_note(interpreter->left_out, &interpreter->n_left_out, entry,
					 "it came from a .pth file or an editable install");
}

enum interpreter_reason interpreter_show(struct interpreter *interpreter,
					 const struct ask_answer *answer)
{
	enum interpreter_reason reason = show_prefixes(interpreter, answer);

	if (reason != INTERPRETER_OK)
		return reason;
	show_libraries(interpreter, answer);
	show_user_site(interpreter, answer);
	show_system_settings(interpreter);
	note_left_out(interpreter, answer);
	return INTERPRETER_OK;
}

void interpreter_hide(struct interpreter *interpreter)
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
