/* exec_tool_near - a typing error is named rather than silently ignored. */
#include "supervisor/exec_tool_near.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "common/utf8.h"
#include "supervisor/exec_tool_text.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

/* So many unknown arguments are named, and so much of each name is shown. */
#define MAX_NAMED 5
#define MAX_SHOWN_BYTES 40
/* Longer names are not compared letter by letter. */
#define MAX_COMPARED 16

static const char *const known[] = {"code", "stdin", "timeout_s"};

/* What other tools of this kind call the same thing. */
static const struct alias {
	const char *name;
	const char *meant;
} aliases[] = {
	{"source", "code"},	     {"script", "code"},	{"program", "code"},
	{"python", "code"},	     {"python_code", "code"},	{"input", "stdin"},
	{"input_data", "stdin"},     {"max_time", "timeout_s"}, {"time_out", "timeout_s"},
	{"time_limit", "timeout_s"},
};

static bool is_known(const char *name)
{
	for (size_t i = 0; i < LENGTH(known); i++)
		if (strcmp(known[i], name) == 0)
			return true;
	return false;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* Letters to insert, delete or change to make one name of the other (Levenshtein), case aside. */
static size_t distance(const char *a, const char *b)
{
	size_t row[MAX_COMPARED + 1];
	size_t len = strlen(b);

	if (strlen(a) > MAX_COMPARED || len > MAX_COMPARED)
		return MAX_COMPARED;
	for (size_t j = 0; j <= len; j++)
		row[j] = j;
	for (size_t i = 1; a[i - 1] != '\0'; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= len; j++) {
			bool same = tolower((unsigned char)a[i - 1]) ==
				    tolower((unsigned char)b[j - 1]);
			size_t changed = diagonal + (same ? 0 : 1);

			diagonal = row[j];
			row[j] = smallest(changed, row[j] + 1, row[j - 1] + 1);
		}
	}
	return row[len];
}

/* One starts with the other, and that is no accident: timeout, timeout_seconds, codes. */
static bool shares_start(const char *a, const char *b)
{
	size_t x = strlen(a), y = strlen(b);
	size_t shared = x < y ? x : y;

	return shared >= 4 && strncasecmp(a, b, shared) == 0;
}

static bool is_close(const char *name, const char *meant)
{
	size_t allowed = strlen(meant) > 5 ? 2 : 1;

	return shares_start(name, meant) || distance(name, meant) <= allowed;
}

static const char *nearest(const char *name)
{
	for (size_t i = 0; i < LENGTH(known); i++)
		if (strcasecmp(known[i], name) == 0)
			return known[i];
	for (size_t i = 0; i < LENGTH(aliases); i++)
		if (strcasecmp(aliases[i].name, name) == 0)
			return aliases[i].meant;
	for (size_t i = 0; i < LENGTH(known); i++)
		if (is_close(name, known[i]))
			return known[i];
	/* timeoutMs, timeout-sec and their kin. */
	return strncasecmp(name, "timeout", strlen("timeout")) == 0 ? "timeout_s" : NULL;
}

/* The argument that was probably meant by an unknown name, or NULL. One that is there itself was not. */
static const char *meant_by(const char *name, const cJSON *arguments)
{
	const char *near = nearest(name);
	const cJSON *there = near ? cJSON_GetObjectItemCaseSensitive(arguments, near) : NULL;

	return there && !cJSON_IsNull(there) ? NULL : near;
}

static void warn_one(const char *name, const cJSON *arguments, struct buf *warnings)
{
	const char *near = meant_by(name, arguments);
	size_t len = strlen(name);
	bool cut = len > MAX_SHOWN_BYTES;
	int shown = (int)(cut ? utf8_whole(name, MAX_SHOWN_BYTES) : len);
	const char *dots = cut ? "..." : "";

	if (near)
		exec_tool_warn(warnings,
			       "unknown argument \"%.*s%s\" was ignored; did you mean \"%s\"?",
			       shown, name, dots, near);
	else
		exec_tool_warn(warnings, "unknown argument \"%.*s%s\" was ignored", shown, name,
			       dots);
}

void exec_tool_warn_unknown(const cJSON *arguments, struct buf *warnings)
{
	const cJSON *item;
	size_t count = 0;

	cJSON_ArrayForEach(item, arguments)
	{
		if (is_known(item->string))
			continue;
		if (++count <= MAX_NAMED)
			warn_one(item->string, arguments, warnings);
	}
	if (count > MAX_NAMED)
		exec_tool_warn(warnings, "and %zu more unknown %s ignored", count - MAX_NAMED,
			       count - MAX_NAMED == 1 ? "argument was" : "arguments were");
}

void exec_tool_suggest_code(const cJSON *arguments, struct buf *error)
{
	const cJSON *item;

	cJSON_ArrayForEach(item, arguments)
	{
		const char *near =
			is_known(item->string) ? NULL : meant_by(item->string, arguments);

		if (!near || strcmp(near, "code") != 0 || strlen(item->string) > MAX_SHOWN_BYTES)
			continue;
		buf_printf(error, " The argument \"%s\" is unknown: did you mean \"code\"?",
			   item->string);
		return;
	}
}
