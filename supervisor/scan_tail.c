/* scan_tail - reads the end of an object backwards. */
#include "supervisor/scan_tail.h"

#include <string.h>

static void skip_space(const char *text, size_t *at)
{
	while (*at > 0 && text[*at - 1] != '\0' && strchr(" \t\r\n", text[*at - 1]))
		--*at;
}

/* Goes back over white space and then over word. Returns whether it stands there. */
static bool take(const char *text, size_t *at, const char *word)
{
	size_t len = strlen(word);

	skip_space(text, at);
	if (*at < len || memcmp(text + *at - len, word, len) != 0)
		return false;
	*at -= len;
	return true;
}

static bool is_plain(char c)
{
	return c >= ' ' && c <= '~' && c != '"' && c != '\\';
}

/* Where the value that ends at end starts; a wrong place when it is neither integer nor string. */
static size_t value_start(const char *text, size_t end)
{
	size_t at = end;

	if (end > 0 && text[end - 1] == '"') {
		for (at = end - 1; at > 0 && is_plain(text[at - 1]); at--)
			;
		return at > 0 ? at - 1 : end;
	}
	while (at > 0 && (text[at - 1] == '-' || (text[at - 1] >= '0' && text[at - 1] <= '9')))
		at--;
	return at;
}

struct slice scan_tail_id(const char *text, size_t len)
{
	const struct slice none = {NULL, 0};
	struct slice id;
	size_t at = len;

	if (!take(text, &at, "}"))
		return none;
	skip_space(text, &at);
	id.len = at;
	at = value_start(text, at);
	id.data = text + at;
	id.len -= at;
	if (!slice_is_integer(id) && !(slice_is_string(id) && id.data[id.len - 1] == '"'))
		return none;
	if (!take(text, &at, ":") || !take(text, &at, "\"id\"") || !take(text, &at, ","))
		return none;
	return id;
}
