/* environment - see the header. */
#include "policy/environment.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SYSTEM_PATH "/usr/local/bin:/usr/bin:/bin"

static const struct environment_rule rules[] = {
	{"PATH", NULL, "the system's programs, the interpreter's own first"},
	{"HOME", SANDBOX_HOME, "writable, empty, gone after the run"},
	{"USER", "sandbox", "getpass.getuser() works"},
	{"LOGNAME", "sandbox", "as USER"},
	{"LANG", "C.UTF-8", "UTF-8 everywhere"},
	{"TMPDIR", "/tmp", "part of the workspace"},
	{"XDG_CACHE_HOME", "/tmp/.cache", "caches do not show up beside main.py"},
	{"MPLCONFIGDIR", "/tmp/.matplotlib", "matplotlib wants a directory it can write"},
	{"PYTHONUNBUFFERED", "1", "nothing that was printed is lost when a run is killed"},
	{"PYTHONUSERBASE", NULL, "the user's own packages, where they are in the view"},
	{"PIP_NO_INDEX", "1", "pip fails at once, not after five retries"},
	{"PIP_DISABLE_PIP_VERSION_CHECK", "1", "as above"},
	{"OMP_NUM_THREADS", NULL, "one thread for each CPU granted, not for each CPU of the host"},
	{"OPENBLAS_NUM_THREADS", NULL, "as above: each thread reserves 136 MiB"},
	{"MKL_NUM_THREADS", NULL, "as above"},
	{"NUMEXPR_MAX_THREADS", NULL, "as above"},
};

#define RULES (sizeof(rules) / sizeof(*rules))

const struct environment_rule *environment_rule(size_t i)
{
	return i < RULES ? &rules[i] : NULL;
}

static char *assign(const char *name, const char *value)
{
	char *text = NULL;

	return asprintf(&text, "%s=%s", name, value) < 0 ? NULL : text;
}

static char *assign_path(const char *bin_dir)
{
	char *text = NULL;

	if (!bin_dir)
		return assign("PATH", SYSTEM_PATH);
	return asprintf(&text, "PATH=%s:" SYSTEM_PATH, bin_dir) < 0 ? NULL : text;
}

static char *assign_computed(const char *name, const struct limits *limits, const char *user_base,
			     const char *bin_dir)
{
	char number[16];

	if (!strcmp(name, "PATH"))
		return assign_path(bin_dir);
	if (!strcmp(name, "PYTHONUSERBASE"))
		return assign(name, user_base);
	snprintf(number, sizeof(number), "%u", limits->cpus);
	return assign(name, number);
}

char **environment_build(const struct limits *limits, const char *user_base, const char *bin_dir)
{
	char **environment = calloc(RULES + 1, sizeof(*environment));
	size_t n = 0;

	for (size_t i = 0; environment && i < RULES; i++) {
		if (!user_base && !strcmp(rules[i].name, "PYTHONUSERBASE"))
			continue;
		environment[n] =
			rules[i].value ? assign(rules[i].name, rules[i].value)
				       : assign_computed(rules[i].name, limits, user_base, bin_dir);
		if (!environment[n++]) {
			environment_free(environment);
			return NULL;
		}
	}
	return environment;
}

void environment_free(char **environment)
{
	for (size_t i = 0; environment && environment[i]; i++)
		free(environment[i]);
	free(environment);
}
