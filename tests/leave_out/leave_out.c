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

/* By the mark it is found in an image, which is why that is written nowhere else. */
static struct choice {
	char mark[32];
	bool chosen[STEP_COUNT];
	char directory[PATH_MAX];
	bool given; /* by who carries this program */
} choice = {.mark = "the choice of what is left out"};
static enum role role;

static _Noreturn void give_up(const char *what, const char *detail)
{
	fprintf(stderr, "test build: %s: %s\n", what, detail);
	_exit(EXIT_NOTHING_TO_TEST);
}

static void choose(const char *name)
{
	for (size_t i = 0; i < STEP_COUNT; i++) {
		if (!strcmp(names[i], name)) {
			choice.chosen[i] = true;
			return;
		}
	}
	give_up("no such step", name);
}

static void find_directory(void)
{
	char *directory = choice.directory;
	ssize_t len = readlink("/proc/self/exe", directory, sizeof(choice.directory) - 1);
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

	if (*(volatile bool *)&choice.given) {
		role = ROLE_COPY;
		return;
	}
	find_directory();
	snprintf(path, sizeof(path), "%s/" FILE_NAME, choice.directory);
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
	return choice.chosen[step];
}

const char *leave_out_dir(void)
{
	return choice.directory;
}

enum role leave_out_role(void)
{
	return role;
}

void leave_out_become(enum role next)
{
	role = next;
}

bool leave_out_hand_on(char *image, size_t size)
{
	struct choice given = choice;
	char *at = memmem(image, size, choice.mark, sizeof(choice.mark));

	given.given = true;
	if (at)
		memcpy(at, &given, sizeof(given));
	return at;
}
