/* scan - one pass over a message, by hand.
 *
 * Theory of operation: read_document is a loop over what may come next (enum expect); the
 * containers that are open lie in levels[], so nesting costs no stack. Each container knows its
 * place in a message (root, params, _meta, arguments), and a member of a known place may have a
 * slice of struct scan which notes where its value lies. A duplicate key does not end the pass:
 * the rest may still show that the message is no JSON, or hold the id that the refusal must carry.
 */
#include "supervisor/scan.h"

#include <string.h>

#include "common/limits.h"
#include "common/utf8.h"
#include "supervisor/ascii.h"
#include "supervisor/scan_keys.h"
#include "supervisor/scan_token.h"

/* cJSON reads at most so many characters as one number. */
#define MAX_NUMBER_BYTES 63

enum place { PLACE_OTHER, PLACE_ROOT, PLACE_PARAMS, PLACE_META, PLACE_ARGUMENTS };

enum expect {
	EXPECT_VALUE,
	EXPECT_VALUE_OR_END,
	EXPECT_KEY,
	EXPECT_KEY_OR_END,
	EXPECT_COMMA_OR_END,
	EXPECT_NOTHING, /* the document is complete */
	EXPECT_FAILED
};

struct level {
	bool object;
	enum place place;
	size_t first_key;
	const char *start;
	struct slice *target;
};

struct reader {
	const char *at;
	const char *end;
	struct scan *scan;
	bool duplicate;
	enum place place;     /* of the value that comes next, if it is an object */
	struct slice *target; /* where to note that value, or NULL */
	struct scan_keys keys;
	size_t values;
	size_t depth;
	struct level levels[MAX_JSON_DEPTH];
};

/* Members whose value is noted or leads to one that is. */
static const struct member {
	enum place place;
	enum place leads_to;
	const char *name;
	bool noted;
	size_t offset; /* of the slice in struct scan */
} members[] = {
	{PLACE_ROOT, PLACE_OTHER, "id", true, offsetof(struct scan, id)},
	{PLACE_ROOT, PLACE_PARAMS, "params", false, 0},
	{PLACE_PARAMS, PLACE_META, "_meta", false, 0},
	{PLACE_PARAMS, PLACE_ARGUMENTS, "arguments", false, 0},
	{PLACE_PARAMS, PLACE_OTHER, "requestId", true, offsetof(struct scan, request_id)},
	{PLACE_META, PLACE_OTHER, "progressToken", true, offsetof(struct scan, progress_token)},
	{PLACE_ARGUMENTS, PLACE_OTHER, "code", true, offsetof(struct scan, code)},
	{PLACE_ARGUMENTS, PLACE_OTHER, "stdin", true, offsetof(struct scan, stdin_text)},
};

static const char number_too_long[] = "number too long";

static enum expect fail_as(struct reader *r, enum scan_verdict verdict, const char *reason)
{
	r->scan->verdict = verdict;
	r->scan->reason = reason;
	return EXPECT_FAILED;
}

static enum expect fail(struct reader *r, const char *reason)
{
	return fail_as(r, reason == number_too_long ? SCAN_TOO_MUCH : SCAN_NOT_JSON, reason);
}

static enum expect fail_memory(struct reader *r)
{
	return fail_as(r, SCAN_NO_MEMORY, NULL);
}

static size_t left(const struct reader *r)
{
	return (size_t)(r->end - r->at);
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_space(struct reader *r)
{
	while (r->at < r->end && is_space(*r->at))
		r->at++;
}

/* What a string holds besides plain text. */
struct string_facts {
	bool lone_surrogate;
	bool escaped_nul;
};

/* Reads four digits behind "\u"; a surrogate takes its other half with it, if that follows. */
static bool read_unicode(struct reader *r, struct string_facts *facts)
{
	uint32_t code, low;

	if (!scan_hex4(r->at, left(r), &code))
		return false;
	r->at += 4;
	facts->escaped_nul |= code == 0;
	if (scan_is_high_surrogate(code) && left(r) >= 6 && r->at[0] == '\\' && r->at[1] == 'u' &&
	    scan_hex4(r->at + 2, left(r) - 2, &low) && scan_is_low_surrogate(low))
		r->at += 6;
	else
		facts->lone_surrogate |=
			scan_is_high_surrogate(code) || scan_is_low_surrogate(code);
	return true;
}

/* Reads an escape, from its backslash on. */
static bool read_escape(struct reader *r, struct string_facts *facts)
{
	char c;

	r->at++;
	if (r->at >= r->end)
		return false;
	c = *r->at++;
	if (c == 'u')
		return read_unicode(r, facts);
	return c != '\0' && strchr("\"\\/bfnrt", c);
}

/* Reads a string from its first quote to behind its last one. Returns NULL or what is wrong. */
static const char *read_string(struct reader *r, struct string_facts *facts)
{
	for (r->at++; r->at < r->end;) {
		unsigned char c = (unsigned char)*r->at;

		if (c == '"') {
			r->at++;
			return NULL;
		}
		if (c == '\\') {
			if (!read_escape(r, facts))
				return "bad escape in a string";
		} else if (c < 0x20) {
			return "control character in a string";
		} else if (c < 0x80) {
			r->at++;
			r->at += ascii_plain_len(r->at, left(r));
		} else {
			size_t len = utf8_next(r->at, left(r), NULL, NULL);

			if (len == 0)
				return "invalid UTF-8";
			r->at += len;
		}
	}
	return "a string does not end";
}

/* The two values that a run reads as bytes may hold what no other string may. */
static bool is_program_text(const struct reader *r)
{
	return r->target && (r->target == &r->scan->code || r->target == &r->scan->stdin_text);
}

static void note_facts(struct reader *r, const struct string_facts *facts)
{
	r->scan->lone_surrogate |= facts->lone_surrogate;
	r->scan->escaped_nul |= facts->escaped_nul;
}

static const char *read_number(struct reader *r)
{
	size_t len = scan_number_length(r->at, left(r));

	if (len == 0)
		return "unexpected character";
	if (len > MAX_NUMBER_BYTES)
		return number_too_long;
	r->at += len;
	return NULL;
}

static bool read_word(struct reader *r, const char *word)
{
	size_t len = strlen(word);

	if (left(r) < len || memcmp(r->at, word, len) != 0)
		return false;
	r->at += len;
	return true;
}

static const char *read_scalar(struct reader *r)
{
	struct string_facts facts = {.lone_surrogate = false};
	const char *problem;

	if (*r->at == '"') {
		problem = read_string(r, &facts);
		if (!is_program_text(r))
			note_facts(r, &facts);
		return problem;
	}
	if (read_word(r, "true") || read_word(r, "false") || read_word(r, "null"))
		return NULL;
	return read_number(r);
}

static enum expect open_container(struct reader *r)
{
	bool object = *r->at == '{';

	if (r->depth == MAX_JSON_DEPTH)
		return fail_as(r, SCAN_TOO_DEEP, "nesting too deep");
	r->levels[r->depth++] = (struct level){
		.object = object,
		.place = object ? r->place : PLACE_OTHER,
		.first_key = r->keys.count,
		.start = r->at,
		.target = r->target,
	};
	r->at++;
	r->place = PLACE_OTHER;
	r->target = NULL;
	return object ? EXPECT_KEY_OR_END : EXPECT_VALUE_OR_END;
}

static enum expect close_container(struct reader *r)
{
	struct level *level = &r->levels[--r->depth];
	bool duplicate = false;

	r->at++;
	if (level->object && scan_keys_close(&r->keys, level->first_key, &duplicate) < 0)
		return fail_memory(r);
	r->duplicate |= duplicate;
	if (level->target)
		*level->target = (struct slice){level->start, (size_t)(r->at - level->start)};
	return r->depth > 0 ? EXPECT_COMMA_OR_END : EXPECT_NOTHING;
}

static enum expect read_value(struct reader *r)
{
	const char *start = r->at;
	const char *problem;

	if (r->at >= r->end)
		return fail(r, "the text ends too early");
	if (r->values++ == MAX_JSON_VALUES)
		return fail_as(r, SCAN_TOO_MUCH, "too many values");
	if (*r->at == '{' || *r->at == '[')
		return open_container(r);
	problem = read_scalar(r);
	if (problem)
		return fail(r, problem);
	if (r->target)
		*r->target = (struct slice){start, (size_t)(r->at - start)};
	r->target = NULL;
	return r->depth > 0 ? EXPECT_COMMA_OR_END : EXPECT_NOTHING;
}

/* Finds out what the value of this key is to us. */
static void place_member(struct reader *r, enum place place, struct slice key)
{
	r->place = PLACE_OTHER;
	r->target = NULL;
	if (place == PLACE_OTHER)
		return;
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		const struct member *member = &members[i];
		struct slice name = {member->name, strlen(member->name)};

		if (member->place != place || !scan_content_equal(key, name))
			continue;
		r->place = member->leads_to;
		if (member->noted)
			r->target = (struct slice *)(void *)((char *)r->scan + member->offset);
	}
}

static enum expect read_key(struct reader *r)
{
	struct string_facts facts = {.lone_surrogate = false};
	const char *problem, *start = r->at;
	struct slice key;

	if (r->at >= r->end || *r->at != '"')
		return fail(r, "a key must be a string");
	problem = read_string(r, &facts);
	if (problem)
		return fail(r, problem);
	note_facts(r, &facts);
	key = (struct slice){start + 1, (size_t)(r->at - start) - 2};
	if (scan_keys_push(&r->keys, key) < 0)
		return fail_memory(r);
	place_member(r, r->levels[r->depth - 1].place, key);
	skip_space(r);
	if (r->at >= r->end || *r->at != ':')
		return fail(r, "a colon is missing");
	r->at++;
	return EXPECT_VALUE;
}

static bool at_end_of_container(const struct reader *r)
{
	return r->at < r->end && *r->at == (r->levels[r->depth - 1].object ? '}' : ']');
}

static enum expect read_comma_or_end(struct reader *r)
{
	if (at_end_of_container(r))
		return close_container(r);
	if (r->at >= r->end || *r->at != ',')
		return fail(r, "a comma or the end of a list or object is missing");
	r->at++;
	return r->levels[r->depth - 1].object ? EXPECT_KEY : EXPECT_VALUE;
}

static enum expect read_next(struct reader *r, enum expect expect)
{
	switch (expect) {
	case EXPECT_VALUE_OR_END:
		return at_end_of_container(r) ? close_container(r) : read_value(r);
	case EXPECT_VALUE:
		return read_value(r);
	case EXPECT_KEY_OR_END:
		return at_end_of_container(r) ? close_container(r) : read_key(r);
	case EXPECT_KEY:
		return read_key(r);
	case EXPECT_COMMA_OR_END:
		return read_comma_or_end(r);
	case EXPECT_NOTHING:
	case EXPECT_FAILED:
	default:
		return EXPECT_FAILED;
	}
}

static void read_document(struct reader *r)
{
	enum expect expect = EXPECT_VALUE;

	while (expect != EXPECT_NOTHING && expect != EXPECT_FAILED) {
		skip_space(r);
		expect = read_next(r, expect);
	}
	if (expect == EXPECT_FAILED)
		return;
	skip_space(r);
	if (r->at < r->end)
		fail(r, "something follows the value");
	else if (r->duplicate)
		r->scan->verdict = SCAN_DUPLICATE;
}

static enum scan_root root_of(const struct reader *r)
{
	if (r->at < r->end && *r->at == '{')
		return SCAN_OBJECT;
	return r->at < r->end && *r->at == '[' ? SCAN_ARRAY : SCAN_SCALAR;
}

void scan_message(const char *text, size_t len, struct scan *scan)
{
	struct reader reader = {
		.at = text,
		.end = text + len,
		.scan = scan,
		.place = PLACE_ROOT,
	};

	*scan = (struct scan){.verdict = SCAN_OK};
	skip_space(&reader);
	scan->root = root_of(&reader);
	if (reader.at == reader.end)
		fail(&reader, "the message is empty");
	else
		read_document(&reader);
	scan_keys_clear(&reader.keys);
}

/* Goes from the opening quote of a checked string to its closing one. */
static const char *skip_string(const char *at)
{
	for (at++; *at != '"'; at++)
		if (*at == '\\')
			at++;
	return at;
}

/* Goes from the start of an element of a checked array to the comma or bracket behind it. */
static const char *skip_element(const char *at)
{
	size_t depth = 0;

	for (;; at++) {
		if (depth == 0 && (*at == ',' || *at == ']'))
			return at;
		if (*at == '"')
			at = skip_string(at);
		else if (*at == '{' || *at == '[')
			depth++;
		else if (*at == '}' || *at == ']')
			depth--;
	}
}

static const char *skip_blank(const char *at)
{
	while (is_space(*at))
		at++;
	return at;
}

/* The text is a checked array: its last bracket ends every loop. */
size_t scan_elements(const char *text, struct slice *elements, size_t max)
{
	const char *at = skip_blank(skip_blank(text) + 1);
	size_t count = 0;

	while (*at != ']') {
		const char *end = skip_element(at);
		const char *last = end;

		while (is_space(last[-1]))
			last--;
		if (count < max)
			elements[count] = (struct slice){at, (size_t)(last - at)};
		count++;
		at = *end == ',' ? skip_blank(end + 1) : end;
	}
	return count;
}
