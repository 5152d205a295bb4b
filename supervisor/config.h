/* config - every setting: one table of variable, flag, kind, bounds, default and help text.
 *
 * Reading it is pure: the caller passes a lookup function for the environment and the flags that were given. A flag
 * wins over its variable; an empty variable counts as not set (client set-up forms and `-e NAME` pass empty strings).
 */
#ifndef SUPERVISOR_CONFIG_H
#define SUPERVISOR_CONFIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"
#include "common/log.h"
#include "common/mechanism.h"
#include "common/warm.h"

enum transport { TRANSPORT_STDIO, TRANSPORT_HTTP, TRANSPORT_SSE };

struct config {
	enum transport transport;
	uint32_t default_timeout_s;
	uint32_t max_timeout_s;
	uint64_t max_output_bytes;
	uint64_t max_stdin_bytes;
	uint64_t max_code_bytes;
	uint32_t max_queue;
	const char *python; /* borrowed from the environment, the command line or the default */
	const char *user;   /* NULL: the user mcp-exec if it exists, else UNPRIVILEGED_ID */
	/* For http and sse alone; texts are borrowed like the others, NULL: not set. The lists are separated by commas
	 * or blanks, and read by whoever uses them. */
	const char *addr;
	const char *auth_token_file;
	const char *allowed_origins;
	const char *allowed_hosts;
	uint32_t max_connections;
	uint32_t max_sessions;
	uint32_t session_idle_s;
	uint32_t drain_s;
	struct limits limits;
	struct warm_settings warm;
	enum cgroup_wish cgroup;
	const char *preload; /* what warm.modules was read from; NULL: not set */
	enum log_level log_level;
	bool timeout_lowered; /* the default timeout was above the maximum and is now equal to it */
};

enum config_kind { CONFIG_CHOICE, CONFIG_NUMBER, CONFIG_TEXT };

/* One setting, for --help, README's and the man page's tests. */
struct config_setting {
	const char *variable; /* MCP_EXEC_… */
	const char *flag;     /* the same name as --lower-case-with-dashes, without MCP_EXEC_ */
	enum config_kind kind;
	const char *choices; /* CONFIG_CHOICE: "a|b|c" */
	uint64_t min, max;   /* CONFIG_NUMBER */
	const char *preset;  /* the default, as a person would write it; "" for none */
	const char *help;    /* one line */
};

/* The i-th setting, or NULL behind the last. */
const struct config_setting *config_setting(size_t i);

/* The word of the setting. */
const char *config_transport_name(enum transport transport);

/* Finds the setting of a flag name (without the two dashes), or NULL. */
const struct config_setting *config_find_flag(const char *flag, size_t len);

/* Gives the value of a variable, or NULL. */
typedef const char *(*config_lookup)(void *ctx, const char *variable);

/* Reads all settings into config. lookup is asked for each variable by name; it answers for flags first.
 * Returns 0; or -EINVAL with one sentence in error, which names the variable, the value and what is allowed.
 * The message size limit is config_message_max. */
int config_read(struct config *config, config_lookup lookup, void *ctx, char *error,
		size_t error_size);

/* Bytes one message may have on any transport: (code + stdin) * MESSAGE_ESCAPE_FACTOR + MESSAGE_SLACK_BYTES. */
uint64_t config_message_max(const struct config *config);

#endif
