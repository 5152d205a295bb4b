/* exec_tool_text - warnings and sizes in words. */
#include "supervisor/exec_tool_text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "common/limits.h"
#include "supervisor/json.h"

void exec_tool_warn(struct buf *warnings, const char *format, ...)
{
	char text[512];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (len < 0)
		return;
	if (warnings->len > 0)
		buf_add_byte(warnings, ',');
	json_quote(warnings, text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
}

const char *exec_tool_size(char text[EXEC_TOOL_SIZE_TEXT], uint64_t bytes)
{
	const char *unit = bytes == 1 ? "byte" : "bytes";
	uint64_t value = bytes;

	if (bytes >= MIB && bytes % MIB == 0) {
		unit = "MiB";
		value = bytes / MIB;
	} else if (bytes >= KIB && bytes % KIB == 0) {
		unit = "KiB";
		value = bytes / KIB;
	}
	snprintf(text, EXEC_TOOL_SIZE_TEXT, "%" PRIu64 " %s", value, unit);
	return text;
}
