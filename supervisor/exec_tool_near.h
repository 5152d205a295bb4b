/* exec_tool_near - arguments that the tool does not know, and which of its own may have been
 * meant. Private to exec_tool. */
#ifndef SUPERVISOR_EXEC_TOOL_NEAR_H
#define SUPERVISOR_EXEC_TOOL_NEAR_H

#include <cjson/cJSON.h>

#include "common/buf.h"

/* Warns of each argument that the tool does not know, up to a few. arguments may be NULL. */
void exec_tool_warn_unknown(const cJSON *arguments, struct buf *warnings);

/* Appends a hint to the text of an error about code when another argument may have been meant as
 * code. */
void exec_tool_suggest_code(const cJSON *arguments, struct buf *error);

#endif
