/* warm - see the header. */
#include "common/warm.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SEPARATORS ", \t"

static const struct warm_module known[] = {
	{"numpy", "numpy"},
	{"pandas", "pandas"},
	{"matplotlib", "matplotlib.pyplot"},
};

_Static_assert(sizeof(known) / sizeof(known[0]) == WARM_KNOWN, "the header says how many");
_Static_assert(WARM_MODULES_MAX <= 32, "a bit for each");

static bool starts_identifier(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_dotted_name(const char *text, size_t len)
{
	bool first = true;

	for (size_t i = 0; i < len; i++) {
		bool digit = text[i] >= '0' && text[i] <= '9';

		if (first ? !starts_identifier(text[i])
			  : !starts_identifier(text[i]) && !digit && text[i] != '.')
			return false;
		first = text[i] == '.';
	}
	return !first;
}

static int find(const struct warm_modules *modules, const char *name, size_t len)
{
	for (size_t i = 0; i < modules->n; i++)
		if (strlen(modules->at[i].name) == len &&
		    memcmp(modules->at[i].name, name, len) == 0)
			return (int)i;
	return -1;
}

static int add(struct warm_modules *modules, const char *name, size_t len)
{
	int place = find(modules, name, len);

	if (!is_dotted_name(name, len))
		return -EINVAL;
	if (len >= WARM_NAME_BYTES)
		return -ENAMETOOLONG;
	if (place < 0 && modules->n == WARM_MODULES_MAX)
		return -E2BIG;
	if (place < 0) {
		place = (int)modules->n++;
		memcpy(modules->at[place].name, name, len);
		memcpy(modules->at[place].import, name, len);
	}
	modules->always |= UINT32_C(1) << place;
	return 0;
}

int warm_modules_read(struct warm_modules *modules, const char *preload, const char **bad)
{
	int r = 0;

	*modules = (struct warm_modules){.n = WARM_KNOWN};
	memcpy(modules->at, known, sizeof(known));
	while (r == 0 && *(preload += strspn(preload, SEPARATORS)) != '\0') {
		size_t len = strcspn(preload, SEPARATORS);

		r = add(modules, preload, len);
		if (r == 0)
			preload += len;
	}
	if (bad)
		*bad = r < 0 ? preload : NULL;
	return r;
}

uint32_t warm_modules_match(const struct warm_modules *modules, const char *dotted, size_t len)
{
	uint32_t bits = 0;

	for (size_t i = 0; len > 0 && i < modules->n; i++) {
		const char *name = modules->at[i].name;
		size_t own = strlen(name);
		size_t same = own < len ? own : len;
		/* What comes behind the shorter one: nothing, or the next part of the longer one. */
		char next = own > len ? name[len] : own < len ? dotted[own] : '.';

		if (next == '.' && memcmp(name, dotted, same) == 0)
			bits |= UINT32_C(1) << i;
	}
	return bits;
}

void warm_modules_list(const struct warm_modules *modules, uint32_t bits, char out[WARM_LIST_BYTES])
{
	const size_t room = WARM_LIST_BYTES - sizeof(",...");
	size_t len = 0;

	for (size_t i = 0; i < modules->n; i++) {
		const char *name = modules->at[i].name;

		if (!(bits & UINT32_C(1) << i))
			continue;
		if (len + strlen(name) + 1 > room) {
			snprintf(out + len, WARM_LIST_BYTES - len, "%s...", len ? "," : "");
			return;
		}
		len += (size_t)snprintf(out + len, WARM_LIST_BYTES - len, "%s%s", len ? "," : "",
					name);
	}
	if (len == 0)
		snprintf(out, WARM_LIST_BYTES, "none");
}
