/* client_config - one row for each client, and the three ways to reach a server: its program, an image, a URL.
 *
 * The same snippets lie in packaging/clients, letter by letter; a test compares them.
 */
#include "supervisor/client_config.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <string.h>

#include "common/buf.h"
#include "common/cleanup.h"
#include "common/printable.h"
#include "common/utf8.h"
#include "common/version.h"
#include "supervisor/config.h"
#include "supervisor/json.h"
#include "supervisor/spawn.h"

/* Arguments that go beyond are broken into lines. */
#define LINE 60
#define ADD_IT "\nIf it has servers already, add \"" MCP_EXEC_NAME "\" to them."

struct client {
	const char *name;
	const char
		*key;  /* of the object that holds servers; NULL: it is set up by a command line */
	bool is_typed; /* each server says how it is reached */
	const char *token; /* what stands for the token; NULL: this client only starts programs */
	const char *where;
};

static const struct client clients[] = {
	{"claude-code", NULL, false, "TOKEN",
	 "Run this in a shell, in the project's directory; behind \"add\", --scope user means "
	 "every "
	 "project."},
	{"claude-code-project", "mcpServers", true, "${MCP_EXEC_AUTH_TOKEN}",
	 "Put this into .mcp.json in the project's directory." ADD_IT},
	{"claude-desktop", "mcpServers", false, NULL,
	 "Put this into claude_desktop_config.json (Settings, Developer, Edit Config), which is "
	 "in\n~/.config/Claude on Linux, ~/Library/Application Support/Claude on macOS, "
	 "%APPDATA%\\Claude on Windows." ADD_IT},
	{"cursor", "mcpServers", false, "${env:MCP_EXEC_AUTH_TOKEN}",
	 "Put this into ~/.cursor/mcp.json (%USERPROFILE%\\.cursor\\mcp.json on Windows), or into\n"
	 ".cursor/mcp.json in a project." ADD_IT},
	{"vscode", "servers", true, "${input:mcp-exec-token}",
	 "Put this into .vscode/mcp.json in a project, or into the file that \"MCP: Open User "
	 "Configuration\"\nin the command palette opens." ADD_IT},
};

#define CLIENTS (sizeof(clients) / sizeof(clients[0]))

/* How a container is started: nothing that the server does not need. The server makes the walls of each run inside. */
static const char podman[] =
	"run --rm -i --network none --read-only --cap-drop ALL --security-opt no-new-privileges "
	"--security-opt unmask=/proc/* --user 65532:65532 "
	"--tmpfs /tmp:rw,noexec,nosuid,size=64m --memory 256m --pids-limit 128 --cpus 1";

/* A command line as a client's file or a shell takes it. */
struct command {
	bool for_shell;
	struct buf program;
	struct buf arguments; /* with what stands between them */
	size_t line;	      /* where the last line of them begins */
};

static void command_clear(struct command *command)
{
	buf_clear(&command->program);
	buf_clear(&command->arguments);
}

static int refuse(char *error, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static int refuse(char *error, size_t size, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(error, size, format, args);
	va_end(args);
	return -EINVAL;
}

/*** Quoting ***/

static bool is_plain_word(const char *text)
{
	for (const char *p = text; *p != '\0'; p++)
		if (!isalnum((unsigned char)*p) && strchr("_-./:=,@%+", *p) == NULL)
			return false;
	return *text != '\0';
}

/* As sh(1) takes it: between single quotes only these quotes mean anything. */
static void quote_for_shell(struct buf *out, const char *text)
{
	if (is_plain_word(text)) {
		buf_add_string(out, text);
		return;
	}
	buf_add_byte(out, '\'');
	for (; *text != '\0'; text++) {
		if (*text == '\'')
			buf_add_string(out, "'\\''");
		else
			buf_add_byte(out, *text);
	}
	buf_add_byte(out, '\'');
}

static void quote(struct buf *out, const char *text, bool for_shell)
{
	if (for_shell)
		quote_for_shell(out, text);
	else
		(void)json_quote(out, text, strlen(text));
}

static void add_argument(struct command *command, const char *text)
{
	struct buf *out = &command->arguments;

	if (!command->for_shell && out->len - command->line > LINE) {
		buf_add_string(out, ",\n        ");
		command->line = out->len;
	} else if (out->len > 0) {
		buf_add_string(out, command->for_shell ? " " : ", ");
	}
	quote(out, text, command->for_shell);
}

/* Words that are separated by one blank each, up to 63 bytes long. */
static void add_words(struct command *command, const char *words)
{
	while (*words != '\0') {
		size_t len = strcspn(words, " ");
		char word[64];

		snprintf(word, sizeof(word), "%.*s", (int)len, words);
		add_argument(command, word);
		words += len + (words[len] == ' ');
	}
}

/* JSON can hold nothing but Unicode, and no control character of a file's name should reach a terminal. */
static int check_text(const char *text, char *error, size_t size)
{
	char shown[256];
	bool is_fit = utf8_valid(text, strlen(text));

	for (const char *p = text; *p != '\0'; p++)
		is_fit = is_fit && !iscntrl((unsigned char)*p);
	if (is_fit)
		return 0;
	return refuse(error, size,
		      "\"%s\" has characters that a client's settings cannot hold; rename it.",
		      printable_copy(shown, sizeof(shown), text, strlen(text)));
}

/*** What is started ***/

static int add_settings(struct command *command, struct options *options, char *error, size_t size)
{
	const struct config_setting *setting;

	for (size_t i = 0; (setting = config_setting(i)) != NULL; i++) {
		const char *value = options_flag(options, setting->variable);
		char flag[64];

		if (value == NULL)
			continue;
		if (check_text(value, error, size) < 0)
			return -EINVAL;
		snprintf(flag, sizeof(flag), "--%s", setting->flag);
		add_argument(command, flag);
		add_argument(command, value);
	}
	return 0;
}

static int make_command(struct command *command, struct options *options, char *error, size_t size)
{
	char path[PATH_MAX] = "podman";
	int r = options->image == NULL ? spawn_own_path(path, sizeof(path)) : 0;

	if (r < 0) {
		(void)refuse(error, size, "The path of this program cannot be found: %s.",
			     strerror(-r));
		return r;
	}
	if (check_text(path, error, size) < 0)
		return -EINVAL;
	quote(&command->program, path, command->for_shell);
	if (options->image != NULL) {
		add_words(command, podman);
		add_argument(command, options->image);
	}
	return add_settings(command, options, error, size);
}

/*** Snippets ***/

static void start_shell(struct buf *out, const struct command *command)
{
	buf_printf(out, "claude mcp add " MCP_EXEC_NAME " -- %.*s", (int)command->program.len,
		   command->program.data);
	if (command->arguments.len > 0) {
		buf_add_byte(out, ' ');
		buf_add(out, command->arguments.data, command->arguments.len);
	}
	buf_add_byte(out, '\n');
}

static void start_json(struct buf *out, const struct client *client, const struct command *command)
{
	buf_printf(out, "{\n  \"%s\": {\n    \"" MCP_EXEC_NAME "\": { %s\"command\": ", client->key,
		   client->is_typed ? "\"type\": \"stdio\", " : "");
	buf_add(out, command->program.data, command->program.len);
	if (command->arguments.len > 0) {
		buf_add_string(out, ", \"args\": [");
		buf_add(out, command->arguments.data, command->arguments.len);
		buf_add_byte(out, ']');
	}
	buf_add_string(out, " }\n  }\n}\n");
}

static int write_start(struct buf *out, const struct client *client, struct options *options,
		       char *error, size_t size)
{
	_cleanup_(command_clear) struct command command = {.for_shell = client->key == NULL};
	int r = make_command(&command, options, error, size);

	if (r < 0)
		return r;
	if (command.program.error < 0 || command.arguments.error < 0)
		return -ENOMEM;
	if (command.for_shell)
		start_shell(out, &command);
	else
		start_json(out, client, &command);
	return 0;
}

static void reach_shell(struct buf *out, const struct client *client, const char *url)
{
	buf_add_string(out, "claude mcp add --transport http " MCP_EXEC_NAME " ");
	quote_for_shell(out, url);
	buf_printf(out, " --header \"X-MCP-AUTH: %s\"\n", client->token);
}

static void reach_json(struct buf *out, const struct client *client, const char *url)
{
	buf_add_string(out, "{\n");
	if (strncmp(client->token, "${input:", strlen("${input:")) == 0)
		buf_add_string(out, "  \"inputs\": [\n    { \"type\": \"promptString\", \"id\": "
				    "\"mcp-exec-token\", \"description\": \"Token of mcp-exec\", "
				    "\"password\": true }\n  ],\n");
	buf_printf(out, "  \"%s\": {\n    \"" MCP_EXEC_NAME "\": {\n%s      \"url\": ", client->key,
		   client->is_typed ? "      \"type\": \"http\",\n" : "");
	quote(out, url, false);
	buf_printf(out, ",\n      \"headers\": { \"X-MCP-AUTH\": \"%s\" }\n    }\n  }\n}\n",
		   client->token);
}

/*** What was asked for ***/

static void list_clients(FILE *out)
{
	for (size_t i = 0; i < CLIENTS; i++)
		fprintf(out, "%s\n", clients[i].name);
}

static const struct client *find_client(const char *name)
{
	for (size_t i = 0; i < CLIENTS; i++)
		if (strcmp(clients[i].name, name) == 0)
			return &clients[i];
	return NULL;
}

static int refuse_name(const char *name, char *error, size_t size)
{
	char shown[64];
	int used = snprintf(error, size, "There is no client \"%s\" here, but there are",
			    printable_copy(shown, sizeof(shown), name, strlen(name)));

	for (size_t i = 0; i < CLIENTS && used >= 0 && (size_t)used < size; i++)
		used += snprintf(error + used, size - (size_t)used, "%s %s", i > 0 ? "," : "",
				 clients[i].name);
	if (used >= 0 && (size_t)used < size)
		snprintf(error + used, size - (size_t)used,
			 "; many others take what claude-desktop does.");
	return -EINVAL;
}

static bool has_settings(struct options *options)
{
	const struct config_setting *setting;

	for (size_t i = 0; (setting = config_setting(i)) != NULL; i++)
		if (options_flag(options, setting->variable) != NULL)
			return true;
	return false;
}

static int check_url(const struct client *client, struct options *options, char *error, size_t size)
{
	const char *url = options->url;

	if (options->image != NULL)
		return refuse(error, size, "--image and --url do not go together.");
	if (has_settings(options))
		return refuse(error, size,
			      "A server that is at a URL already has its own settings.");
	if (strncmp(url, "http://", 7) != 0 && strncmp(url, "https://", 8) != 0)
		return refuse(error, size,
			      "What follows --url must begin with http:// or https://.");
	if (client->token == NULL)
		return refuse(
			error, size,
			"%s starts programs only; leave --url away, or see README for a bridge.",
			client->name);
	return check_text(url, error, size);
}

static int check_start(struct options *options, char *error, size_t size)
{
	const char *transport = options_flag(options, "MCP_EXEC_TRANSPORT");

	if (transport != NULL && strcmp(transport, "stdio") != 0)
		return refuse(
			error, size,
			"A client that starts the server talks to it over stdio; for a server "
			"over HTTP say --url.");
	if (options->image == NULL)
		return 0;
	if (options->image[0] == '-' || options->image[0] == '\0')
		return refuse(error, size, "The name of an image must follow --image.");
	return check_text(options->image, error, size);
}

static int write_snippet(struct buf *out, const struct client *client, struct options *options,
			 char *error, size_t size)
{
	int r = options->url != NULL ? check_url(client, options, error, size)
				     : check_start(options, error, size);

	if (r < 0)
		return r;
	if (options->url == NULL)
		return write_start(out, client, options, error, size);
	if (client->key == NULL)
		reach_shell(out, client, options->url);
	else
		reach_json(out, client, options->url);
	return 0;
}

static void write_notes(FILE *notes, const struct client *client, const struct options *options)
{
	fprintf(notes, "%s\n", client->where);
	if (options->url != NULL)
		fprintf(notes,
			"%s stands for the server's token; without one, leave the header out.\n",
			client->token);
}

int client_config_write(FILE *out, FILE *notes, struct options *options, char *error,
			size_t error_size)
{
	_cleanup_(buf_clear) struct buf text = BUF_INIT;
	const struct client *client;
	int r;

	if (options->client == NULL) {
		list_clients(out);
		return 0;
	}
	client = find_client(options->client);
	if (client == NULL)
		return refuse_name(options->client, error, error_size);
	r = write_snippet(&text, client, options, error, error_size);
	if (r == 0 && text.error < 0)
		r = text.error;
	if (r == -ENOMEM)
		(void)refuse(error, error_size, "Memory is out.");
	if (r < 0)
		return r;
	fwrite(text.data, 1, text.len, out);
	write_notes(notes, client, options);
	return 0;
}
