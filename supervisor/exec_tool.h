/* exec_tool - the tool: its schema, its arguments, its result.
 *
 * The contract is the Go mcp-exec's: {code, timeout_s?, stdin?} to {stdout, stderr, exit_code, duration_ms, truncated,
 * timed_out}, plus limit, signal and warnings. Wrong arguments are a tool error that says what to fix; a non-zero exit
 * code or a timeout is a normal result.
 */
#ifndef SUPERVISOR_EXEC_TOOL_H
#define SUPERVISOR_EXEC_TOOL_H

#include <cjson/cJSON.h>
#include <stdbool.h>

#include "supervisor/call.h"
#include "supervisor/config.h"
#include "supervisor/rpc.h"

/* The entry of tools/list. with_output: false for revisions before 2025-06-18, which know no title, outputSchema.
 * Returns a new tree, or NULL when memory is out. */
cJSON *exec_tool_describe(const struct config *config, bool with_output);

/* Turns the arguments of a tools/call into a request with sealed blobs. Returns 0; -EINVAL with a text for a tool error
 * in error (what is wrong, what to send instead); or another negative errno when something of ours failed. */
int exec_tool_arguments(const struct config *config, const struct rpc_message *message,
			struct call_request *request, struct buf *error);

/* Appends the members of the result of tools/call, as JSON text for it can be large; request gives the warnings. The
 * run's member of _meta is apart. with_structured: false for revisions before 2025-06-18. Only for OUTCOME_DONE. */
void exec_tool_content(struct buf *out, const struct config *config,
		       const struct call_request *request, const struct outcome *outcome,
		       bool with_structured);
void exec_tool_meta(struct buf *out, const struct outcome *outcome);

/* Appends the structured content alone, as JSON: what `mcp-exec run --json` prints. Only for OUTCOME_DONE. */
void exec_tool_structured(struct buf *out, const struct config *config,
			  const struct call_request *request, const struct outcome *outcome);

/* Appends the text of a tool error for an outcome that is not OUTCOME_DONE. */
void exec_tool_failure(struct buf *out, const struct config *config, const struct outcome *outcome);

/* A tool error result with this text. Returns a new tree, or NULL when memory is out. */
cJSON *exec_tool_error(const char *text, size_t len);

#endif
