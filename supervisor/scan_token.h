/* scan_token - the inside of single JSON tokens: numbers, and strings whose grammar was checked.
 * Private to scan. */
#ifndef SUPERVISOR_SCAN_TOKEN_H
#define SUPERVISOR_SCAN_TOKEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "supervisor/scan.h"

/* A place in the content of a checked string, quotes excluded. */
struct scan_cursor {
	const char *at;
	const char *end;
};

/* Length of the longest JSON number at text, 0 when there is none. */
size_t scan_number_length(const char *text, size_t len);

/* Reads the four hexadecimal digits at text. Returns whether there are four. */
bool scan_hex4(const char *text, size_t len, uint32_t *code);

bool scan_is_high_surrogate(uint32_t code);
bool scan_is_low_surrogate(uint32_t code);

/* Takes the next character, escapes resolved; a lone surrogate comes as itself. Returns false at
 * the end. */
bool scan_cursor_next(struct scan_cursor *cursor, uint32_t *code);

/* Says whether the contents of two strings mean the same text. */
bool scan_content_equal(struct slice a, struct slice b);

#endif
