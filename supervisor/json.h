/* json - strings into JSON, with their length, and always valid. Pure.
 *
 * cJSON writes NUL-terminated strings and passes invalid UTF-8 through; what a program printed is neither. So strings
 * of a run are written by this one function and enter cJSON's tree as raw items.
 */
#ifndef SUPERVISOR_JSON_H
#define SUPERVISOR_JSON_H

#include <stdbool.h>
#include <stddef.h>

#include "common/buf.h"

/* Appends text as a JSON string with its quotes: each maximal subpart of invalid UTF-8 becomes U+FFFD, control
 * characters (also U+007F) and what some readers of lines take for the end of one (U+0085, U+2028, U+2029: Python's
 * splitlines, by which clients have read events) become escapes, the rest is copied. Returns whether anything was
 * replaced. */
bool json_quote(struct buf *out, const char *text, size_t len);

#endif
