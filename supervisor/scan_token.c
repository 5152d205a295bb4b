/* scan_token - numbers, and the content of strings whose grammar was checked. */
#include "supervisor/scan_token.h"

#include <errno.h>
#include <string.h>

#include "common/utf8.h"
#include "supervisor/ascii.h"

#define HEX_DIGITS 4

static size_t skip_digits(const char *text, size_t len, size_t at)
{
	while (at < len && ascii_is_digit(text[at]))
		at++;
	return at;
}

static size_t integer_length(const char *text, size_t len)
{
	size_t at = len > 0 && text[0] == '-' ? 1 : 0;

	if (at >= len || !ascii_is_digit(text[at]))
		return 0;
	return text[at] == '0' ? at + 1 : skip_digits(text, len, at);
}

/* Goes past digits that a sign or point before them demands; stays at start when there are none. */
static size_t skip_part(const char *text, size_t len, size_t start, size_t at)
{
	size_t end = skip_digits(text, len, at);

	return end > at ? end : start;
}

size_t scan_number_length(const char *text, size_t len)
{
	size_t at = integer_length(text, len);
	size_t digits;

	if (at == 0)
		return 0;
	if (at < len && text[at] == '.')
		at = skip_part(text, len, at, at + 1);
	if (at < len && (text[at] == 'e' || text[at] == 'E')) {
		digits = at + 1;
		if (digits < len && (text[digits] == '+' || text[digits] == '-'))
			digits++;
		at = skip_part(text, len, at, digits);
	}
	return at;
}

bool scan_hex4(const char *text, size_t len, uint32_t *code)
{
	uint32_t value = 0;
	int digit;

	if (len < HEX_DIGITS)
		return false;
	for (size_t i = 0; i < HEX_DIGITS; i++) {
		digit = ascii_hex(text[i]);
		if (digit < 0)
			return false;
		value = value << 4 | (uint32_t)digit;
	}
	*code = value;
	return true;
}

bool scan_is_high_surrogate(uint32_t code)
{
	return code >= 0xd800 && code <= 0xdbff;
}

bool scan_is_low_surrogate(uint32_t code)
{
	return code >= 0xdc00 && code <= 0xdfff;
}

/* The cursor stands behind "\u" of an escape. */
static uint32_t next_unicode(struct scan_cursor *cursor)
{
	uint32_t code = 0, low;

	scan_hex4(cursor->at, (size_t)(cursor->end - cursor->at), &code);
	cursor->at += HEX_DIGITS;
	if (!scan_is_high_surrogate(code) || cursor->end - cursor->at < 2 + HEX_DIGITS ||
	    cursor->at[0] != '\\' || cursor->at[1] != 'u')
		return code;
	if (!scan_hex4(cursor->at + 2, HEX_DIGITS, &low) || !scan_is_low_surrogate(low))
		return code;
	cursor->at += 2 + HEX_DIGITS;
	return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
}

/* The cursor stands behind the backslash of an escape. */
static uint32_t next_escape(struct scan_cursor *cursor)
{
	char c = *cursor->at++;

	switch (c) {
	case 'b':
		return '\b';
	case 'f':
		return '\f';
	case 'n':
		return '\n';
	case 'r':
		return '\r';
	case 't':
		return '\t';
	case 'u':
		return next_unicode(cursor);
	default:
		return (unsigned char)c;
	}
}

bool scan_cursor_next(struct scan_cursor *cursor, uint32_t *code)
{
	size_t len;

	if (cursor->at >= cursor->end)
		return false;
	if (*cursor->at == '\\') {
		cursor->at++;
		*code = next_escape(cursor);
		return true;
	}
	len = utf8_next(cursor->at, (size_t)(cursor->end - cursor->at), code, NULL);
	cursor->at += len > 0 ? len : 1;
	return true;
}

static struct scan_cursor cursor_of(struct slice content)
{
	return (struct scan_cursor){.at = content.data, .end = content.data + content.len};
}

bool scan_content_equal(struct slice a, struct slice b)
{
	struct scan_cursor left = cursor_of(a), right = cursor_of(b);
	uint32_t x = 0, y = 0;
	bool more_left, more_right;

	do {
		more_left = scan_cursor_next(&left, &x);
		more_right = scan_cursor_next(&right, &y);
	} while (more_left && more_right && x == y);
	return !more_left && !more_right;
}

bool slice_is_string(struct slice slice)
{
	return slice.data && slice.len >= 2 && slice.data[0] == '"';
}

bool slice_is_integer(struct slice slice)
{
	return slice.data && slice.len > 0 && integer_length(slice.data, slice.len) == slice.len;
}

bool slice_is_number(struct slice slice)
{
	return slice.data && slice.len > 0 &&
	       scan_number_length(slice.data, slice.len) == slice.len;
}

bool slice_equal(struct slice a, struct slice b)
{
	return a.data && b.data && a.len == b.len && memcmp(a.data, b.data, a.len) == 0;
}

int slice_unescape(struct slice slice, struct buf *out)
{
	struct scan_cursor cursor = {.at = slice.data + 1, .end = slice.data + slice.len - 1};
	uint32_t code = 0;
	char bytes[4] = {0};

	while (cursor.at < cursor.end) {
		size_t left = (size_t)(cursor.end - cursor.at);
		const char *escape = memchr(cursor.at, '\\', left);
		size_t plain = escape ? (size_t)(escape - cursor.at) : left;

		buf_add(out, cursor.at, plain);
		cursor.at += plain;
		if (!escape)
			break;
		scan_cursor_next(&cursor, &code);
		if (scan_is_high_surrogate(code) || scan_is_low_surrogate(code))
			return -EILSEQ;
		buf_add(out, bytes, utf8_put(bytes, code));
	}
	return 0;
}
