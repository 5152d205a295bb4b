/* ascii - kinds of characters, for what comes over the wire: the locale has no say in it, as it has in isalpha(3). Pure. */
#ifndef SUPERVISOR_ASCII_H
#define SUPERVISOR_ASCII_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline bool ascii_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static inline bool ascii_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static inline char ascii_lower(char c)
{
	return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* The value of a hexadecimal digit in either case, or -1. */
static inline int ascii_hex(char c)
{
	if (ascii_is_digit(c))
		return c - '0';
	c = ascii_lower(c);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* What stands in a JSON string as it is, and is printed. */
static inline bool ascii_is_plain(char c)
{
	return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

/* The same of eight at once; may say no of bytes that are. Taking something off sets the high bit of every byte below
 * it, and a borrow from such a byte only adds more of them. */
static inline bool ascii_are_plain(const char *text)
{
	const uint64_t ones = UINT64_MAX / 0xff, high = ones * 0x80;
	uint64_t word, quotes, slashes;

	memcpy(&word, text, sizeof(word));
	quotes = (word ^ ones * '"') - ones;
	slashes = (word ^ ones * '\\') - ones;
	return !((word | (word - ones * 0x20) | (word + ones) | quotes | slashes) & high);
}

/* How many bytes at the beginning of text are plain. */
static inline size_t ascii_plain_len(const char *text, size_t len)
{
	size_t n = 0;

	while (len - n >= sizeof(uint64_t) && ascii_are_plain(text + n))
		n += sizeof(uint64_t);
	while (n < len && ascii_is_plain(text[n]))
		n++;
	return n;
}

/* The number of a text that is digits alone, at most 18; UINT64_MAX for any other, and for NULL. */
static inline uint64_t ascii_number(const char *text)
{
	size_t len = text != NULL ? strlen(text) : 0;

	if (len == 0 || len > 18 || strspn(text, "0123456789") != len)
		return UINT64_MAX;
	return strtoull(text, NULL, 10);
}

#endif
