/* leave_out - see the header. */
#include "tests/leave_out/leave_out.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FILE_NAME "leave-out"
#define EXIT_NOTHING_TO_TEST 64

#define STEP_NAME(name) #name,
static const char *const names[] = {STEPS(STEP_NAME)};
#undef STEP_NAME

static bool chosen[STEP_COUNT];
static char directory[PATH_MAX];

static _Noreturn void give_up(const char *what, const char *detail)
{
	fprintf(stderr, "test build: %s: %s\n", what, detail);
	_exit(EXIT_NOTHING_TO_TEST);
}

static void choose(const char *name)
{
	for (size_t i = 0; i < STEP_COUNT; i++) {
		if (!strcmp(names[i], name)) {
			chosen[i] = true;
			return;
		}
	}
	give_up("no such step", name);
}

static void find_directory(void)
{
	ssize_t len = readlink("/proc/self/exe", directory, sizeof(directory) - 1);
	char *slash;

	if (len < 0)
		give_up("/proc/self/exe", strerror(errno));
	directory[len] = '\0';
	slash = strrchr(directory, '/');
	if (!slash)
		give_up("/proc/self/exe", directory);
	*slash = '\0';
}

/* Before main. */
__attribute__((constructor)) static void read_choice(void)
{
	char path[PATH_MAX + sizeof("/" FILE_NAME)], line[128];
	FILE *file;

	find_directory();
	snprintf(path, sizeof(path), "%s/" FILE_NAME, directory);
	file = fopen(path, "re");
	if (!file)
		give_up(path, strerror(errno));
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		choose(line);
	}
	if (ferror(file))
		give_up(path, "cannot be read");
	fclose(file);
}

bool left_out(enum step step)
{
	return chosen[step];
}

const char *leave_out_dir(void)
{
	return directory;
}
