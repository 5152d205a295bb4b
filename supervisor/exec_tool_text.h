/* exec_tool_text - small texts that several parts of the tool write. Private to exec_tool. */
#ifndef SUPERVISOR_EXEC_TOOL_TEXT_H
#define SUPERVISOR_EXEC_TOOL_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "common/buf.h"

#define EXEC_TOOL_SIZE_TEXT 32

/* Appends a sentence to a list of JSON strings separated by commas; more than 500 bytes are cut
 * off. */
void exec_tool_warn(struct buf *warnings, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Writes a number of bytes as a person would: "64 MiB", "1000 bytes". Returns text. */
const char *exec_tool_size(char text[EXEC_TOOL_SIZE_TEXT], uint64_t bytes);

#endif
