/* json - quoting with a length. */
#include "supervisor/json.h"

#include <stdint.h>

#include "common/utf8.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Plain ASCII, which is copied as it stands. */
static bool is_plain(unsigned char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

static void escape(struct buf *out, uint32_t code)
{
	static const char letters[] = "\"\"\\\\\bb\ff\nn\rr\tt";

	for (size_t i = 0; i + 1 < sizeof(letters); i += 2) {
		if ((unsigned char)letters[i] != code)
			continue;
		buf_add_byte(out, '\\');
		buf_add_byte(out, letters[i + 1]);
		return;
	}
	buf_printf(out, "\\u%04x", (unsigned int)code);
}

/* Appends the character at text, which is not plain, and returns how many bytes it took. */
static size_t quote_one(struct buf *out, const char *text, size_t len, bool *replaced)
{
	uint32_t code = 0;
	size_t bad = 1;
	size_t size = utf8_next(text, len, &code, &bad);

	if (size == 0) {
		buf_add_string(out, REPLACEMENT);
		*replaced = true;
		return bad;
	}
	if (code < 0x80 || code == 0x85 || code == 0x2028 || code == 0x2029)
		escape(out, code);
	else
		buf_add(out, text, size);
	return size;
}

bool json_quote(struct buf *out, const char *text, size_t len)
{
	bool replaced = false;
	size_t at = 0, start;

	buf_add_byte(out, '"');
	while (at < len) {
		for (start = at; at < len && is_plain((unsigned char)text[at]); at++)
			;
		buf_add(out, text + start, at - start);
		if (at < len)
			at += quote_one(out, text + at, len - at, &replaced);
	}
	buf_add_byte(out, '"');
	return replaced;
}
