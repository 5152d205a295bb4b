/* printable - masks what a terminal would obey. */
#include "common/printable.h"

#include <string.h>

#define DOTS "..."

const char *printable_copy(char *out, size_t size, const char *text, size_t len)
{
	size_t kept = len < size ? len : size - sizeof(DOTS);
	const char *end = kept < len ? DOTS : "";

	for (size_t i = 0; i < kept; i++)
		out[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
	memcpy(out + kept, end, strlen(end) + 1);
	return out;
}
