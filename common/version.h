/* version - what this build is. BUILD_ID comes from the Makefile: a hash over every source file. */
#ifndef COMMON_VERSION_H
#define COMMON_VERSION_H

#define MCP_EXEC_NAME "mcp-exec"
#define MCP_EXEC_VERSION "0.1.0"

#ifndef BUILD_ID
#error "BUILD_ID is given by the Makefile"
#endif

#endif
