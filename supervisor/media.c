/* media - reading lists of media types. */
#include "supervisor/media.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

/* One entry of a list: its type, and what stands behind the first semicolon. */
struct range {
	const char *type;
	size_t len;
	const char *parameters;
	size_t parameters_len;
};

static size_t trim(const char *text, size_t len)
{
	while (len > 0 && strchr(" \t", text[len - 1]))
		len--;
	return len;
}

static struct range read_range(const char *text, size_t len)
{
	size_t blank = strspn(text, " \t");
	size_t type;

	if (blank > len)
		blank = len;
	text += blank;
	len -= blank;
	type = strcspn(text, ";");
	if (type > len)
		type = len;
	return (struct range){.type = text,
			      .len = trim(text, type),
			      .parameters = text + type,
			      .parameters_len = len - type};
}

static bool equals(const struct range *range, const char *type)
{
	return range->len == strlen(type) && strncasecmp(range->type, type, range->len) == 0;
}

static bool is_wildcard_of(const struct range *range, const char *type)
{
	size_t main = strcspn(type, "/") + 1;

	if (equals(range, "*/*"))
		return true;
	return range->len == main + 1 && strncasecmp(range->type, type, main) == 0 &&
	       range->type[main] == '*';
}

/* q=0, q=0.0, q=0.000: whatever has another digit is not zero. */
static bool is_excluded(const struct range *range)
{
	for (size_t i = 0; i + 1 < range->parameters_len; i++) {
		const char *at = range->parameters + i;
		size_t blank;

		if (at[0] != ';')
			continue;
		blank = strspn(at + 1, " \t") + 1;
		if (strncasecmp(at + blank, "q=0", 3) != 0)
			continue;
		at += blank + 3;
		at += strspn(at, ".0");
		if (*at < '1' || *at > '9')
			return true;
	}
	return false;
}

/* An entry that names the type outweighs every wildcard. */
static bool finds(const char *accept, const char *type, bool by_wildcard)
{
	bool found = false;

	while (*accept != '\0') {
		size_t len = strcspn(accept, ",");
		struct range range = read_range(accept, len);

		if (equals(&range, type))
			return !is_excluded(&range);
		if (by_wildcard && is_wildcard_of(&range, type) && !is_excluded(&range))
			found = true;
		accept += len + (accept[len] == ',');
	}
	return found;
}

bool media_is(const char *content_type, const char *type)
{
	struct range range;

	if (!content_type)
		return false;
	range = read_range(content_type, strlen(content_type));
	return equals(&range, type);
}

bool media_accepts(const char *accept, const char *type)
{
	return !accept || finds(accept, type, true);
}

bool media_names(const char *accept, const char *type)
{
	return accept && finds(accept, type, false);
}
