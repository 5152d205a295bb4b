/* config - the table of settings and how one value becomes one member of struct config. */
#include "supervisor/config.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/printable.h"
#include "supervisor/options.h"

/* One row: what a person sees, and where the value goes. */
struct row {
	struct config_setting setting;
	size_t offset;
	size_t width;
};

#define MEMBER(m) offsetof(struct config, m), sizeof(((struct config *)0)->m)
#define NUMBER(variable, flag, min, max, preset, member, help)                                     \
	{                                                                                          \
		{variable, flag, CONFIG_NUMBER, NULL, min, max, preset, help}, MEMBER(member)      \
	}
#define CHOICE(variable, flag, choices, preset, member, help)                                      \
	{                                                                                          \
		{variable, flag, CONFIG_CHOICE, choices, 0, 0, preset, help}, MEMBER(member)       \
	}
#define TEXT(variable, flag, preset, member, help)                                                 \
	{                                                                                          \
		{variable, flag, CONFIG_TEXT, NULL, 0, 0, preset, help}, MEMBER(member)            \
	}

static const struct row rows[] = {
	CHOICE("MCP_EXEC_TRANSPORT", "transport", "stdio|http|sse", "stdio", transport,
	       "how a client talks to the server"),
	NUMBER("MCP_EXEC_DEFAULT_TIMEOUT_S", "default-timeout-s", 1, CEILING_TIMEOUT_S, "30",
	       default_timeout_s, "seconds a run may take when the caller does not say"),
	NUMBER("MCP_EXEC_MAX_TIMEOUT_S", "max-timeout-s", 1, CEILING_TIMEOUT_S, "300",
	       max_timeout_s, "seconds a caller may ask for at most"),
	NUMBER("MCP_EXEC_MAX_OUTPUT_BYTES", "max-output-bytes", 1, CEILING_BLOB_BYTES, "1048576",
	       max_output_bytes, "bytes of stdout and stderr together that are returned"),
	NUMBER("MCP_EXEC_MAX_STDIN_BYTES", "max-stdin-bytes", 0, CEILING_BLOB_BYTES, "1048576",
	       max_stdin_bytes, "bytes of stdin a call may bring"),
	NUMBER("MCP_EXEC_MAX_CODE_BYTES", "max-code-bytes", 1, CEILING_BLOB_BYTES, "4194304",
	       max_code_bytes, "bytes of code a call may bring"),
	TEXT("MCP_EXEC_PYTHON", "python", "python3", python,
	     "the interpreter, a name looked up along PATH or a full path"),
	NUMBER("MCP_EXEC_MEMORY_BYTES", "memory-bytes", MIN_MEMORY_BYTES, CEILING_MEMORY_BYTES,
	       "268435456", limits.memory_bytes, "memory of all processes of a run together"),
	NUMBER("MCP_EXEC_MAX_PROCESSES", "max-processes", MIN_PROCESSES, CEILING_PROCESSES, "128",
	       limits.max_processes, "processes and threads of a run together"),
	NUMBER("MCP_EXEC_CPUS", "cpus", 1, CEILING_CPUS, "1", limits.cpus,
	       "CPUs a run may use at once"),
	NUMBER("MCP_EXEC_MAX_CPU_S", "max-cpu-s", 1, CEILING_TIMEOUT_S, "", limits.max_cpu_s,
	       "CPU seconds of one process; when not set, the maximum timeout"),
	NUMBER("MCP_EXEC_TMP_BYTES", "tmp-bytes", MIN_TMP_BYTES, CEILING_TMP_BYTES, "67108864",
	       limits.tmp_bytes, "bytes of everything a run can write"),
	CHOICE("MCP_EXEC_CGROUP", "cgroup", "auto|off|required", "auto", cgroup,
	       "whether cgroups hold the limits of runs"),
	CHOICE("MCP_EXEC_WARM", "warm", "0|1", "1", warm.on,
	       "whether programs start from an interpreter that waits"),
	TEXT("MCP_EXEC_PRELOAD", "preload", "", preload,
	     "modules that it has loaded already, such as scipy.stats,requests"),
	NUMBER("MCP_EXEC_WARM_IDLE_S", "warm-idle-s", 1, CEILING_WARM_IDLE_S, "600", warm.idle_s,
	       "seconds after which one that nobody uses is ended"),
	NUMBER("MCP_EXEC_MAX_QUEUE", "max-queue", 1, CEILING_QUEUE, "64", max_queue,
	       "calls that may wait; one more is answered \"busy\""),
	TEXT("MCP_EXEC_USER", "user", "", user,
	     "whom to become when started as root; when not set, mcp-exec or 65532"),
	CHOICE("MCP_EXEC_LOG_LEVEL", "log-level", "error|warn|info|debug", "info", log_level,
	       "what is written on stderr"),
	TEXT("MCP_EXEC_ADDR", "addr", "", addr,
	     "http, sse: :PORT, HOST:PORT, unix:/PATH; not set: port 8080"),
	TEXT("MCP_EXEC_AUTH_TOKEN_FILE", "auth-token-file", "", auth_token_file,
	     "http, sse: a file with the token, or the name of a systemd credential"),
	TEXT("MCP_EXEC_ALLOWED_ORIGINS", "allowed-origins", "", allowed_origins,
	     "http, sse: origins of web pages that may call, beside loopback"),
	TEXT("MCP_EXEC_ALLOWED_HOSTS", "allowed-hosts", "", allowed_hosts,
	     "http, sse: names that may stand in Host, beside loopback"),
	NUMBER("MCP_EXEC_MAX_CONNECTIONS", "max-connections", 1, CEILING_CONNECTIONS, "256",
	       max_connections, "http, sse: connections at a time"),
	NUMBER("MCP_EXEC_MAX_SESSIONS", "max-sessions", 1, CEILING_SESSIONS, "1024", max_sessions,
	       "http, sse: clients that are remembered"),
	NUMBER("MCP_EXEC_SESSION_IDLE_S", "session-idle-s", 1, CEILING_SESSION_IDLE_S, "3600",
	       session_idle_s, "http, sse: seconds after which a silent client is forgotten"),
	NUMBER("MCP_EXEC_DRAIN_S", "drain-s", 0, CEILING_DRAIN_S, "25", drain_s,
	       "http, sse: seconds that calls have to end after SIGTERM"),
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(ROWS <= OPTIONS_MAX_SETTINGS, "a flag has no place in struct options");

const struct config_setting *config_setting(size_t i)
{
	return i < ROWS ? &rows[i].setting : NULL;
}

const struct config_setting *config_find_flag(const char *flag, size_t len)
{
	for (size_t i = 0; i < ROWS; i++) {
		const char *name = rows[i].setting.flag;

		if (strlen(name) == len && memcmp(name, flag, len) == 0)
			return &rows[i].setting;
	}
	return NULL;
}

const char *config_transport_name(enum transport transport)
{
	static const char *const names[] = {
		[TRANSPORT_STDIO] = "stdio", [TRANSPORT_HTTP] = "http", [TRANSPORT_SSE] = "sse"};

	return names[transport];
}

__attribute__((format(printf, 5, 6))) static int refuse(char *error, size_t size,
							const struct config_setting *setting,
							const char *value, const char *allowed, ...)
{
	char shown[44];
	/* What is no full path may be the token itself in the wrong variable. */
	bool hidden = strcmp(setting->flag, "auth-token-file") == 0 && value[0] != '/';
	va_list args;
	int len;

	if (hidden)
		value = "...";
	len = snprintf(error, size, "%s (--%s) is \"%s\": ", setting->variable, setting->flag,
		       printable_copy(shown, sizeof(shown), value, strlen(value)));
	if (len < 0 || (size_t)len >= size)
		return -EINVAL;
	va_start(args, allowed);
	vsnprintf(error + len, size - (size_t)len, allowed, args);
	va_end(args);
	return -EINVAL;
}

/* Looks for value among the words of "a|b|c". Returns its index, or -1. */
static int find_word(const char *words, const char *value)
{
	size_t len = strlen(value);

	for (int i = 0; *words != '\0'; i++) {
		size_t word = strcspn(words, "|");

		if (word == len && memcmp(words, value, len) == 0)
			return i;
		words += word + (words[word] == '|');
	}
	return -1;
}

/* Digits and nothing else; strtoull would take blanks, signs and hexadecimal. */
static int parse_number(const char *text, uint64_t *number)
{
	uint64_t n = 0;

	if (*text == '\0')
		return -EINVAL;
	for (; *text != '\0'; text++) {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		if (__builtin_mul_overflow(n, UINT64_C(10), &n) ||
		    __builtin_add_overflow(n, (uint64_t)(*text - '0'), &n))
			return -ERANGE;
	}
	*number = n;
	return 0;
}

/* A number member is 32 or 64 bits wide; an enum is 32, and a choice between 0 and 1 may be a bool. */
static void store_number(struct config *config, const struct row *row, uint64_t number)
{
	char *member = (char *)config + row->offset;
	uint32_t narrow = (uint32_t)number;
	bool yes = number != 0;

	if (row->width == sizeof(number))
		memcpy(member, &number, sizeof(number));
	else if (row->width == sizeof(yes))
		memcpy(member, &yes, sizeof(yes));
	else
		memcpy(member, &narrow, sizeof(narrow));
}

static int read_number(struct config *config, const struct row *row, const char *value, char *error,
		       size_t size)
{
	const struct config_setting *s = &row->setting;
	uint64_t number;

	if (parse_number(value, &number) < 0 || number < s->min || number > s->max)
		return refuse(error, size, s, value,
			      "it must be a whole number from %ju to %ju, in digits only.",
			      (uintmax_t)s->min, (uintmax_t)s->max);
	store_number(config, row, number);
	return 0;
}

static int read_choice(struct config *config, const struct row *row, const char *value, char *error,
		       size_t size)
{
	int index = find_word(row->setting.choices, value);

	if (index < 0)
		return refuse(error, size, &row->setting, value, "it must be %s.",
			      row->setting.choices);
	store_number(config, row, (uint64_t)index);
	return 0;
}

/* A relative path would mean another file as soon as the server has left its working directory. */
static bool is_relative_path(const char *value)
{
	return strchr(value, '/') != NULL && value[0] != '/';
}

static int read_preload(struct config *config, const struct row *row, const char *value,
			char *error, size_t size)
{
	const char *bad;
	char shown[44];
	int r = warm_modules_read(&config->warm.modules, value, &bad);

	if (r == 0)
		return 0;
	if (r == -E2BIG)
		return refuse(error, size, &row->setting, value,
			      "it must not name more than %d modules.", WARM_PRELOADS_MAX);
	return refuse(error, size, &row->setting, value,
		      "it must be names of modules, separated by commas, and what begins with "
		      "\"%s\" is none.",
		      printable_copy(shown, sizeof(shown), bad, strcspn(bad, ", \t")));
}

static int read_text(struct config *config, const struct row *row, const char *value, char *error,
		     size_t size)
{
	if (strnlen(value, PATH_MAX) >= PATH_MAX)
		return refuse(error, size, &row->setting, value, "it must be shorter.");
	for (const char *p = value; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 0x7f)
			return refuse(error, size, &row->setting, value,
				      "it must not contain control characters.");
	if (row->offset == offsetof(struct config, python) && is_relative_path(value))
		return refuse(error, size, &row->setting, value,
			      "it must be a name without \"/\" or a full path that starts with "
			      "\"/\".");
	memcpy((char *)config + row->offset, &value, sizeof(value));
	if (row->offset == offsetof(struct config, preload))
		return read_preload(config, row, value, error, size);
	return 0;
}

static int read_row(struct config *config, const struct row *row, const char *value, char *error,
		    size_t size)
{
	switch (row->setting.kind) {
	case CONFIG_NUMBER:
		return read_number(config, row, value, error, size);
	case CONFIG_CHOICE:
		return read_choice(config, row, value, error, size);
	case CONFIG_TEXT:
		return read_text(config, row, value, error, size);
	}
	return -EINVAL;
}

int config_read(struct config *config, config_lookup lookup, void *ctx, char *error,
		size_t error_size)
{
	*config = (struct config){.transport = TRANSPORT_STDIO};
	(void)warm_modules_read(&config->warm.modules, "", NULL);
	for (size_t i = 0; i < ROWS; i++) {
		const char *value = lookup(ctx, rows[i].setting.variable);
		int r;

		if (value == NULL || *value == '\0')
			value = rows[i].setting.preset;
		if (*value == '\0')
			continue;
		r = read_row(config, &rows[i], value, error, error_size);
		if (r < 0)
			return r;
	}
	if (config->default_timeout_s > config->max_timeout_s) {
		config->default_timeout_s = config->max_timeout_s;
		config->timeout_lowered = true;
	}
	if (config->limits.max_cpu_s == 0)
		config->limits.max_cpu_s = config->max_timeout_s;
	return 0;
}

uint64_t config_message_max(const struct config *config)
{
	return (config->max_code_bytes + config->max_stdin_bytes) * MESSAGE_ESCAPE_FACTOR +
	       MESSAGE_SLACK_BYTES;
}
