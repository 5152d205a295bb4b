/* json - quoting with a length. */
#include "supervisor/json.h"

#include <stdint.h>
#include <string.h>

#include "common/utf8.h"
#include "supervisor/ascii.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */
/* What one byte becomes, at most. */
#define LONGEST 6
/* So much is looked at byte by byte where something is not plain. */
#define CHUNK 256

/* Both append at out and return the end of it. */
static char *escape(char *out, uint32_t code)
{
	static const char letters[128] = {['"'] = '"',	['\\'] = '\\', ['\b'] = 'b', ['\f'] = 'f',
					  ['\n'] = 'n', ['\r'] = 'r',  ['\t'] = 't'};

	if (code < sizeof(letters) && letters[code]) {
		*out++ = '\\';
		*out++ = letters[code];
		return out;
	}
	*out++ = '\\';
	*out++ = 'u';
	for (int shift = 12; shift >= 0; shift -= 4)
		*out++ = "0123456789abcdef"[code >> shift & 0xf];
	return out;
}

static char *copy(char *out, const char *text, size_t len)
{
	memcpy(out, text, len);
	return out + len;
}

/* Appends the character at *text, which is not plain, and moves *text behind it. */
static char *quote_one(char *out, const char **text, const char *end, bool *replaced)
{
	const char *at = *text;
	uint32_t code = (unsigned char)*at;
	size_t bad = 1;
	size_t size = code < 0x80 ? 1 : utf8_next(at, (size_t)(end - at), &code, &bad);

	*text += size ? size : bad;
	if (size == 0) {
		*replaced = true;
		return copy(out, REPLACEMENT, strlen(REPLACEMENT));
	}
	if (code < 0x80 || code == 0x85 || code == 0x2028 || code == 0x2029)
		return escape(out, code);
	return copy(out, at, size);
}

/* Appends up to CHUNK bytes of text, or of its last character a few more. Returns where it stopped. */
static const char *quote_chunk(struct buf *out, const char *text, const char *end, bool *replaced)
{
	const char *stop = end - text > CHUNK ? text + CHUNK : end;
	char *place = buf_reserve(out, (size_t)(stop - text) * LONGEST);
	char *now = place;

	if (!place)
		return end;
	while (text < stop) {
		if (ascii_is_plain(*text))
			*now++ = *text++;
		else
			now = quote_one(now, &text, end, replaced);
	}
	buf_grown(out, (size_t)(now - place));
	return text;
}

bool json_quote(struct buf *out, const char *text, size_t len)
{
	const char *end = text + len;
	bool replaced = false;

	buf_add_byte(out, '"');
	while (text < end) {
		size_t plain = ascii_plain_len(text, (size_t)(end - text));

		buf_add(out, text, plain);
		text += plain;
		if (text < end)
			text = quote_chunk(out, text, end, &replaced);
	}
	buf_add_byte(out, '"');
	return replaced;
}
