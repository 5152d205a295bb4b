/* utf8 - what is valid UTF-8, and what to do with bytes that are not (Unicode 15.0, section 3.9, table 3-7). Pure. */
#ifndef COMMON_UTF8_H
#define COMMON_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Looks at the sequence at p (len > 0). Returns its length, 1..4, and the code point in *code when it is valid;
 * otherwise 0, and in *bad the length of the maximal subpart to replace by one U+FFFD (1..3). code and bad may be
 * NULL. */
size_t utf8_next(const char *p, size_t len, uint32_t *code, size_t *bad);

/* Says whether all of it is valid. */
bool utf8_valid(const char *p, size_t len);

/* The length of p without a sequence that its end cut short: a prefix of a valid sequence at the very end does not
 * count. Used where output was truncated at the cap. */
size_t utf8_whole(const char *p, size_t len);

/* Writes a code point below 0x110000 and returns its length, 1..4. A surrogate is written as it is asked. */
size_t utf8_put(char out[4], uint32_t code);

/* Unicode White_Space (PropList-15.0.0) or U+FEFF, the byte order mark: what does not count as code. */
bool utf8_is_space(uint32_t code);

#endif
