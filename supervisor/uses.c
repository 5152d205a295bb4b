/* uses - theory of operation
 *
 * One pass. A statement may begin at the start, behind the end of a line, a semicolon or a colon. Brackets need not be
 * counted: `import` is a keyword, and can stand in none. Prefixes of strings need no care either: in a raw string, too,
 * a quote behind a backslash does not end it.
 */
#include "supervisor/uses.h"

#include "supervisor/ascii.h"

struct reader {
	const char *at;
	const char *end;
	const struct warm_modules *modules;
	uint32_t bits;
	unsigned int names_left;
};

static bool is_newline(char c)
{
	return c == '\n' || c == '\r';
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\f';
}

static bool is_word(char c)
{
	return ascii_is_letter(c) || ascii_is_digit(c) || c == '_' || (unsigned char)c >= 0x80;
}

static size_t left(const struct reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

static bool is_at(const struct reader *reader, char c)
{
	return left(reader) > 0 && *reader->at == c;
}

/* A backslash and what it stands before; both bytes of CR LF. */
static void skip_escaped(struct reader *reader)
{
	size_t len = left(reader);

	if (len >= 3 && reader->at[1] == '\r' && reader->at[2] == '\n')
		len = 3;
	else if (len > 2)
		len = 2;
	reader->at += len;
}

/* Blanks, and ends of lines that a backslash takes away. */
static void skip_blanks(struct reader *reader)
{
	for (;;) {
		if (left(reader) > 0 && is_blank(*reader->at))
			reader->at++;
		else if (is_at(reader, '\\') && left(reader) > 1 && is_newline(reader->at[1]))
			skip_escaped(reader);
		else
			return;
	}
}

static void skip_comment(struct reader *reader)
{
	while (left(reader) > 0 && !is_newline(*reader->at))
		reader->at++;
}

static bool is_at_quotes(const struct reader *reader, char quote, size_t n)
{
	if (left(reader) < n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (reader->at[i] != quote)
			return false;
	return true;
}

static void skip_string(struct reader *reader)
{
	char quote = *reader->at;
	size_t n = is_at_quotes(reader, quote, 3) ? 3 : 1;

	reader->at += n;
	while (left(reader) > 0 && !is_at_quotes(reader, quote, n)) {
		if (n == 1 && is_newline(*reader->at))
			return;
		if (*reader->at == '\\')
			skip_escaped(reader);
		else
			reader->at++;
	}
	if (left(reader) > 0)
		reader->at += n;
}

static struct slice take_word(struct reader *reader)
{
	const char *start = reader->at;

	while (left(reader) > 0 && is_word(*reader->at))
		reader->at++;
	return (struct slice){start, (size_t)(reader->at - start)};
}

static struct slice take_dotted(struct reader *reader)
{
	const char *start = reader->at;

	while (left(reader) > 0 && (is_word(*reader->at) || *reader->at == '.'))
		reader->at++;
	return (struct slice){start, (size_t)(reader->at - start)};
}

static bool is(struct slice word, const char *text)
{
	return slice_equal(word, slice_of(text));
}

static void note(struct reader *reader, struct slice name)
{
	if (reader->names_left == 0)
		return;
	reader->names_left--;
	reader->bits |= warm_modules_match(reader->modules, name.data, name.len);
}

/* Behind `import`: names, each of which may have another one behind `as`. */
static void take_import(struct reader *reader)
{
	for (;;) {
		skip_blanks(reader);
		note(reader, take_dotted(reader));
		skip_blanks(reader);
		if (is(take_word(reader), "as")) {
			skip_blanks(reader);
			take_word(reader);
			skip_blanks(reader);
		}
		if (!is_at(reader, ','))
			return;
		reader->at++;
	}
}

/* Behind `from`, which may also belong to `raise` or `yield`. */
static void take_from(struct reader *reader)
{
	struct slice name;

	skip_blanks(reader);
	name = take_dotted(reader);
	skip_blanks(reader);
	if (is(take_word(reader), "import"))
		note(reader, name);
}

/* Behind a function that imports: a text with a name in parentheses. Only looks: the text is still to be skipped. */
static void look_at_argument(struct reader *reader)
{
	struct reader ahead = *reader;
	struct slice name;
	char quote;

	skip_blanks(&ahead);
	if (!is_at(&ahead, '('))
		return;
	ahead.at++;
	skip_blanks(&ahead);
	if (!is_at(&ahead, '"') && !is_at(&ahead, '\''))
		return;
	quote = *ahead.at++;
	name = take_dotted(&ahead);
	if (is_at(&ahead, quote))
		note(reader, name);
}

static void take_any_word(struct reader *reader, bool begins)
{
	struct slice word = take_word(reader);

	if (begins && is(word, "import"))
		take_import(reader);
	else if (begins && is(word, "from"))
		take_from(reader);
	else if (is(word, "__import__") || is(word, "import_module"))
		look_at_argument(reader);
}

/* Reads one thing. Returns whether a statement may begin behind it. */
static bool take(struct reader *reader, bool begins)
{
	char c = *reader->at;

	if (is_word(c))
		take_any_word(reader, begins);
	else if (c == '"' || c == '\'')
		skip_string(reader);
	else if (c == '#')
		skip_comment(reader);
	else if (c == '\\')
		skip_escaped(reader);
	else
		reader->at++;
	return is_newline(c) || c == ';' || c == ':' || (begins && is_blank(c));
}

uint32_t uses_find(const struct warm_modules *modules, struct slice code)
{
	struct reader reader = {.at = code.data,
				.end = code.data + code.len,
				.modules = modules,
				.names_left = USES_MAX_NAMES};
	const uint32_t all = (uint32_t)((UINT64_C(1) << modules->n) - 1);
	bool begins = true;

	while (left(&reader) > 0 && reader.names_left > 0 && reader.bits != all)
		begins = take(&reader, begins);
	return reader.bits;
}
