/* options - reading the command line, and --help. */
#include "supervisor/options.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/log.h"
#include "common/printable.h"
#include "common/version.h"
#include "supervisor/config.h"

#define PREFIX "MCP_EXEC_"
/* What people will try; there is the variable alone. */
#define TOKEN_FLAG "auth-token"

/* The reading hand: where we are in argv. */
struct cursor {
	int argc;
	char **argv;
	int at;
	char *error;
	size_t error_size;
	/* What was met on the way. */
	size_t words;
	bool flags_ended;
	int instead;	     /* the command that a flag stands for, or -1 */
	const char *timeout; /* NULL: none */
};

/* Flags that are no setting. */
struct switch_flag {
	const char *name;
	bool has_value;
	int becomes; /* the command that it is, or -1 */
};

enum { SWITCH_JSON, SWITCH_TIMEOUT, SWITCH_STRICT, SWITCH_IMAGE, SWITCH_URL };

static const struct switch_flag switches[] = {
	[SWITCH_JSON] = {"json", false, -1},	 [SWITCH_TIMEOUT] = {"timeout", true, -1},
	[SWITCH_STRICT] = {"strict", false, -1}, [SWITCH_IMAGE] = {"image", true, -1},
	[SWITCH_URL] = {"url", true, -1},	 {"print-policy", false, OPTIONS_PRINT_POLICY},
	{"version", false, OPTIONS_VERSION},	 {"help", false, OPTIONS_HELP},
};

#define SWITCHES (sizeof(switches) / sizeof(switches[0]))

/* What was given on the command line is the operator's own; control characters in it still do not reach a terminal. */
static int refuse_hinting(const struct cursor *cursor, const char *what, const char *argument,
			  size_t len, const char *hint)
{
	char shown[64];

	snprintf(cursor->error, cursor->error_size, "%s \"%s\"%s%s See mcp-exec --help.", what,
		 printable_copy(shown, sizeof(shown), argument, len), *hint ? ". " : ".", hint);
	return -EINVAL;
}

static int refuse(const struct cursor *cursor, const char *what, const char *argument, size_t len)
{
	return refuse_hinting(cursor, what, argument, len, "");
}

/* The value of a flag: behind its "=", or the next argument. NULL when there is none. */
static const char *take_value(struct cursor *cursor, const char *equals)
{
	if (equals != NULL)
		return equals + 1;
	if (cursor->at + 1 >= cursor->argc)
		return NULL;
	return cursor->argv[++cursor->at];
}

static const struct switch_flag *find_switch(const char *name, size_t len)
{
	for (size_t i = 0; i < SWITCHES; i++)
		if (strlen(switches[i].name) == len && memcmp(switches[i].name, name, len) == 0)
			return &switches[i];
	return NULL;
}

static size_t setting_place(const struct config_setting *setting)
{
	size_t i = 0;

	while (config_setting(i) != setting)
		i++;
	return i;
}

static void apply_switch(struct options *options, struct cursor *cursor,
			 const struct switch_flag *flag, const char *value)
{
	if (flag == &switches[SWITCH_JSON])
		options->json = true;
	else if (flag == &switches[SWITCH_STRICT])
		options->strict = true;
	else if (flag == &switches[SWITCH_TIMEOUT])
		cursor->timeout = value;
	else if (flag == &switches[SWITCH_IMAGE])
		options->image = value;
	else if (flag == &switches[SWITCH_URL])
		options->url = value;
	else
		cursor->instead = flag->becomes;
}

static int take_flag(struct options *options, struct cursor *cursor)
{
	const char *name = cursor->argv[cursor->at] + 2;
	const char *equals = strchr(name, '=');
	size_t len = equals != NULL ? (size_t)(equals - name) : strlen(name);
	const struct config_setting *setting = config_find_flag(name, len);
	const struct switch_flag *flag = find_switch(name, len);
	bool is_token = len == strlen(TOKEN_FLAG) && memcmp(name, TOKEN_FLAG, len) == 0;
	bool has_value = setting != NULL || (flag != NULL && flag->has_value);
	const char *value = has_value ? take_value(cursor, equals) : NULL;

	if (is_token)
		return refuse_hinting(cursor, "There is no flag", name - 2, len + 2,
				      "Every user of the machine can read a command line; put the "
				      "token into MCP_EXEC_AUTH_TOKEN or a file for "
				      "--auth-token-file.");
	if (setting == NULL && flag == NULL)
		return refuse(cursor, "There is no flag", name - 2, len + 2);
	if (has_value && value == NULL)
		return refuse(cursor, "A value is missing behind", name - 2, len + 2);
	if (!has_value && equals != NULL)
		return refuse(cursor, "No value may follow", name - 2, len + 2);
	if (setting != NULL)
		options->values[setting_place(setting)] = value;
	else
		apply_switch(options, cursor, flag, value);
	return 0;
}

static const struct command {
	const char *name;
	enum options_command command;
} commands[] = {{"run", OPTIONS_RUN},
		{"check", OPTIONS_CHECK},
		{"client-config", OPTIONS_CLIENT_CONFIG},
		{"help", OPTIONS_HELP}};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* One letter more, less or other; in a longer name also two that changed places. */
static bool is_near(const char *word, const char *name)
{
	size_t a = strlen(word), b = strlen(name);
	size_t least = a < b ? a : b, most = a < b ? b : a;
	size_t same = 0, tail = 0;

	while (same < least && word[same] == name[same])
		same++;
	while (tail < least - same && word[a - 1 - tail] == name[b - 1 - tail])
		tail++;
	return most - same - tail <= (a == b && b > 4 ? 2 : 1);
}

static int refuse_command(const struct cursor *cursor, const char *word)
{
	size_t len = strlen(word);

	for (size_t i = 0; i < COMMANDS; i++) {
		char hint[64];

		if (!is_near(word, commands[i].name))
			continue;
		snprintf(hint, sizeof(hint), "Did you mean %s?", commands[i].name);
		return refuse_hinting(cursor, "There is no command", word, len, hint);
	}
	if (access(word, F_OK) == 0)
		return refuse_hinting(cursor, "There is no command", word, len,
				      "Did you mean: mcp-exec run FILE?");
	return refuse(cursor, "There is no command", word, len);
}

static int take_command(struct options *options, struct cursor *cursor, const char *word)
{
	for (size_t i = 0; i < COMMANDS; i++) {
		if (strcmp(commands[i].name, word) != 0)
			continue;
		options->command = commands[i].command;
		return 0;
	}
	return refuse_command(cursor, word);
}

static int take_word(struct options *options, struct cursor *cursor, const char *word)
{
	if (cursor->words++ == 0)
		return take_command(options, cursor, word);
	if (options->command == OPTIONS_HELP)
		return 0;
	if (options->command == OPTIONS_RUN && options->file == NULL)
		options->file = word;
	else if (options->command == OPTIONS_CLIENT_CONFIG && options->client == NULL)
		options->client = word;
	else
		return refuse(cursor, "There is one argument too many:", word, strlen(word));
	return 0;
}

static int take_short(struct cursor *cursor, const char *argument)
{
	if (strcmp(argument, "-h") == 0)
		cursor->instead = OPTIONS_HELP;
	else if (strcmp(argument, "-V") == 0)
		cursor->instead = OPTIONS_VERSION;
	else
		return refuse(cursor, "There is no flag", argument, strlen(argument));
	return 0;
}

/* A number as the tool's timeout_s takes it, 5.0 and -5 among them: whole, and of any size. */
static int read_timeout(struct options *options, const struct cursor *cursor)
{
	const char *text = cursor->timeout;
	char *end;
	double value = strtod(text, &end);
	bool whole = isfinite(value) &&
		     (value > 1e15 || value < -1e15 || (double)(int64_t)value == value);

	if (end == text || *end != '\0' || !whole ||
	    strspn(text, "+-.0123456789eE") != strlen(text))
		return refuse(cursor, "A whole number of seconds must follow --timeout, not", text,
			      strlen(text));
	options->timeout_s = value;
	return 0;
}

/* --help and --version win over everything; the rest has to fit its command. */
static int check_together(struct options *options, const struct cursor *cursor)
{
	if (cursor->instead == OPTIONS_PRINT_POLICY && cursor->words > 0)
		return refuse(cursor, "No command goes together with", "--print-policy", 14);
	if (cursor->instead >= 0)
		options->command = (enum options_command)cursor->instead;
	if (options->command == OPTIONS_HELP || options->command == OPTIONS_VERSION)
		return 0;
	if (options->command == OPTIONS_RUN && options->file == NULL)
		return refuse(cursor, "A file, or - for standard input, is missing behind", "run",
			      3);
	if (options->json && options->command != OPTIONS_RUN)
		return refuse(cursor, "Only run takes", "--json", 6);
	if (cursor->timeout != NULL && options->command != OPTIONS_RUN)
		return refuse(cursor, "Only run takes", "--timeout", 9);
	if (options->strict && options->command != OPTIONS_CHECK)
		return refuse(cursor, "Only check takes", "--strict", 8);
	if (options->image != NULL && options->client == NULL)
		return refuse(cursor, "Only client-config NAME takes", "--image", 7);
	if (options->url != NULL && options->client == NULL)
		return refuse(cursor, "Only client-config NAME takes", "--url", 5);
	return cursor->timeout != NULL ? read_timeout(options, cursor) : 0;
}

static int take_argument(struct options *options, struct cursor *cursor)
{
	const char *argument = cursor->argv[cursor->at];

	if (cursor->flags_ended || argument[0] != '-' || argument[1] == '\0')
		return take_word(options, cursor, argument);
	if (strcmp(argument, "--") == 0) {
		cursor->flags_ended = true;
		return 0;
	}
	return argument[1] == '-' ? take_flag(options, cursor) : take_short(cursor, argument);
}

int options_parse(struct options *options, int argc, char **argv, char *error, size_t error_size)
{
	struct cursor cursor = {.argc = argc,
				.argv = argv,
				.at = 1,
				.error = error,
				.error_size = error_size,
				.instead = -1};

	*options = (struct options){.command = OPTIONS_SERVE};
	for (; cursor.at < argc; cursor.at++) {
		int r = take_argument(options, &cursor);

		if (r < 0)
			return r;
	}
	return check_together(options, &cursor);
}

const char *options_flag(void *ctx, const char *variable)
{
	const struct options *options = ctx;
	const struct config_setting *setting;

	for (size_t i = 0; (setting = config_setting(i)) != NULL; i++)
		if (strcmp(setting->variable, variable) == 0 && options->values[i] != NULL &&
		    options->values[i][0] != '\0')
			return options->values[i];
	return NULL;
}

const char *options_lookup(void *ctx, const char *variable)
{
	const char *value = options_flag(ctx, variable);

	return value != NULL ? value : getenv(variable);
}

static bool is_setting(const char *name)
{
	const struct config_setting *setting;

	for (size_t i = 0; (setting = config_setting(i)) != NULL; i++)
		if (strcmp(setting->variable, name) == 0)
			return true;
	return false;
}

/* Names only: what stands behind an unknown name may be a secret with a typing error in it. */
void options_warn_unknown(void)
{
	for (char **entry = environ; entry != NULL && *entry != NULL; entry++) {
		char name[64];
		size_t len = strcspn(*entry, "=");

		if (strncmp(*entry, PREFIX, strlen(PREFIX)) != 0)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)(len < 63 ? len : 63), *entry);
		if (!is_setting(name))
			log_event(LOG_WARN, "config.unknown", LOG_SETTING("variable", name));
	}
}

static void help_setting(FILE *out, const struct config_setting *setting)
{
	fprintf(out, "  --%-18s %-27s %s", setting->flag, setting->variable, setting->help);
	if (setting->kind == CONFIG_CHOICE)
		fprintf(out, ": %s", setting->choices);
	if (setting->preset[0] != '\0')
		fprintf(out, " (%s)", setting->preset);
	fputc('\n', out);
}

void options_help(FILE *out)
{
	const struct config_setting *setting;

	fputs("mcp-exec " MCP_EXEC_VERSION
	      " - an MCP server with one tool, exec: Python in a fresh sandbox per run\n\n"
	      "  mcp-exec [FLAGS]                            serve an MCP client on stdin and "
	      "stdout, or many over HTTP\n"
	      "  mcp-exec run FILE|- [--json] [--timeout N]  run one program in a sandbox\n"
	      "  mcp-exec check [--strict]                   build a sandbox and show its walls\n"
	      "  mcp-exec --print-policy                     show every rule of the sandbox\n"
	      "  mcp-exec client-config [NAME [--image IMAGE | --url URL]]\n"
	      "                                              print what an MCP client's settings "
	      "need; alone: list the clients\n"
	      "  mcp-exec --version | --help                 also -V and -h\n\n"
	      "Settings: a flag (--name value or --name=value) wins over its variable; an empty "
	      "one "
	      "counts as\nnot set. Defaults are in parentheses.\n\n",
	      out);
	for (size_t i = 0; (setting = config_setting(i)) != NULL; i++)
		help_setting(out, setting);
	fprintf(out, "  %-20s %-27s %s\n", "(environment only)", PREFIX "AUTH_TOKEN",
		"http, sse: the token that callers must bring");
	fputs("\nExit codes of run: the program's own, 128+N when signal N ended it, 124 when it "
	      "timed out,\n64 for bad usage, 66 when FILE cannot be read, 69 when there is no "
	      "sandbox, 70 for a failure of\nour own. 78: a bad setting. http, sse: 71 when an "
	      "address cannot be listened on. check: 69 when runs\nare refused; with --strict, 1 "
	      "when something is weaker.\n",
	      out);
}
