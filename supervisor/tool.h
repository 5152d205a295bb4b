/* tool - one row of the table of tools that a server has. The product has one row, exec; the server that plays the
 * official conformance suite has others. */
#ifndef SUPERVISOR_TOOL_H
#define SUPERVISOR_TOOL_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "supervisor/config.h"

struct mcp_request;

struct tool {
	const char *name; /* NULL: behind the last row */
	/* Its entry of tools/list; with_output: false for revisions before 2025-06-18, which know no title and no
	 * outputSchema. Returns a new tree, or NULL when memory is out. */
	cJSON *(*describe)(const struct config *config, bool with_output);
	/* Answers a tools/call whose params.arguments, if there are any, are an object: now, or later with the channel
	 * of the request held. request is borrowed for the length of the call. */
	void (*call)(const struct mcp_request *request);
};

#endif
