/* Unit tests of head: what must hold for any bytes, tried on heads that were damaged. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "supervisor/head.h"
#include "tests/unit/head_good.h"

/* Walks over the text and stands still where something else is read than head says. */
struct walk {
	const char *at;
	const char *end;
};

static void pass(struct walk *walk, const char *expected)
{
	size_t len = strlen(expected);

	assert_true((size_t)(walk->end - walk->at) >= len);
	assert_memory_equal(walk->at, expected, len);
	walk->at += len;
}

static void pass_slice(struct walk *walk, struct slice slice)
{
	assert_ptr_equal(slice.data, walk->at);
	assert_true((size_t)(walk->end - walk->at) >= slice.len);
	for (size_t i = 0; i < slice.len; i++)
		assert_true((unsigned char)slice.data[i] >= ' ' || slice.data[i] == '\t');
	walk->at += slice.len;
}

static void pass_blanks(struct walk *walk)
{
	while (walk->at < walk->end && (*walk->at == ' ' || *walk->at == '\t'))
		walk->at++;
}

static bool is_name(struct slice name, const char *other)
{
	return name.len == strlen(other) && strncasecmp(name.data, other, name.len) == 0;
}

/* Counted again, by other means. */
static void check_body(const struct head *head)
{
	enum head_body body = HEAD_BODY_NONE;
	unsigned int said = 0;
	char number[32] = "";

	for (size_t i = 0; i < head->count; i++) {
		struct slice value = head->fields[i].value;

		if (is_name(head->fields[i].name, "Transfer-Encoding")) {
			said++;
			body = HEAD_BODY_CHUNKED;
			assert_true(is_name(value, "chunked"));
		} else if (is_name(head->fields[i].name, "Content-Length")) {
			said++;
			snprintf(number, sizeof(number), "%.*s", (int)value.len, value.data);
			assert_int_equal(strspn(number, "0123456789"), value.len);
			body = strtoull(number, NULL, 10) > 0 ? HEAD_BODY_LENGTH : HEAD_BODY_NONE;
		}
	}
	assert_true(said <= 1);
	assert_int_equal(head->body, body);
	assert_int_equal(head->length, strtoull(number, NULL, 10));
}

/* What head found is all that there is, in this order, and between its parts is what belongs there. */
static void check_accepted(const struct head *head, const char *text, size_t len)
{
	struct walk walk = {text, text + len};

	pass_slice(&walk, head->method);
	pass(&walk, " ");
	pass_slice(&walk, head->target);
	assert_null(memchr(head->target.data, ' ', head->target.len));
	pass(&walk, head->minor ? " HTTP/1.1\r\n" : " HTTP/1.0\r\n");
	for (size_t i = 0; i < head->count; i++) {
		assert_true(head->fields[i].name.len > 0);
		pass_slice(&walk, head->fields[i].name);
		assert_true(!memchr(head->fields[i].name.data, ' ', head->fields[i].name.len));
		pass(&walk, ":");
		pass_blanks(&walk);
		pass_slice(&walk, head->fields[i].value);
		pass_blanks(&walk);
		pass(&walk, "\r\n");
	}
	pass(&walk, "\r\n");
	assert_ptr_equal(walk.at, walk.end);
	check_body(head);
}

/* What must hold for any bytes. Returns whether they hold a head that is accepted; *head points into *copy then, which
 * is a block of exactly its size, so that a sanitizer sees any byte read too far. */
static bool accepts(const char *text, size_t len, struct head *head, char **copy)
{
	const char *reason = NULL;
	size_t at = 0;
	size_t end = head_end(text, len, &at);
	int status;

	assert_true(end <= len && at <= len);
	if (end == 0)
		return false;
	*copy = malloc(end);
	assert_non_null(*copy);
	memcpy(*copy, text, end);
	status = head_parse(*copy, end, head, &reason);
	if (status == 0)
		check_accepted(head, *copy, end);
	else
		assert_true(status >= 400 && status <= 505 && reason);
	return status == 0;
}

static void test_finds_the_end_in_whatever_pieces_it_comes(void **state)
{
	(void)state;
	for (size_t i = 0; i < GOOD_HEADS; i++) {
		size_t len = strlen(good_heads[i]);

		for (size_t piece = 1; piece < len; piece++) {
			size_t at = 0;

			for (size_t have = piece; have < len; have += piece) {
				_cleanup_free_ char *copy = malloc(have);

				assert_non_null(copy);
				memcpy(copy, good_heads[i], have);
				assert_int_equal(head_end(copy, have, &at), 0);
				assert_int_equal(at, have);
			}
			assert_int_equal(head_end(good_heads[i], len, &at), len);
		}
	}
}

static void test_finds_the_end_also_of_a_head_to_refuse(void **state)
{
	static const struct {
		const char *text;
		size_t end;
	} heads[] = {
		{"", 0},	 {"\n", 1},	  {"\r\n", 2},	     {"a\n\nb", 3},
		{"a\n\r\nb", 4}, {"a\r\n\nb", 4}, {"a\r\n\r\nb", 5}, {"a\n\r\r\n", 0},
		{"a\r\r\n", 0},	 {"a\n \n\n", 5}, {"a\r\n\r", 0},    {"\r\r\n", 0},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		size_t at = 0;

		assert_int_equal(head_end(heads[i].text, strlen(heads[i].text), &at), heads[i].end);
	}
}

static void test_takes_no_part_of_a_head(void **state)
{
	(void)state;
	for (size_t i = 0; i < GOOD_HEADS; i++) {
		size_t len = strlen(good_heads[i]);

		for (size_t cut = 0; cut <= len; cut++) {
			_cleanup_free_ char *copy = malloc(cut ? cut : 1);
			const char *reason;
			struct head head;

			assert_non_null(copy);
			memcpy(copy, good_heads[i], cut);
			assert_int_equal(head_parse(copy, cut, &head, &reason),
					 cut < len ? 400 : 0);
		}
	}
}

static void assert_same(struct slice a, struct slice b)
{
	assert_true((a.data == NULL) == (b.data == NULL));
	assert_true(!a.data || slice_equal(a, b));
}

/* The same meaning for all that we and evhttp act on. */
static void assert_same_request(const struct head *a, const struct head *b)
{
	static const char *const names[] = {"Host", "Content-Length", "Transfer-Encoding",
					    "Expect"};

	assert_same(a->method, b->method);
	assert_same(a->target, b->target);
	assert_same(a->path, b->path);
	assert_int_equal(a->body, b->body);
	assert_int_equal(a->length, b->length);
	assert_int_equal(a->count, b->count);
	for (size_t i = 0; i < a->count; i++)
		assert_same(a->fields[i].name, b->fields[i].name);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		assert_same(head_get(a, names[i]), head_get(b, names[i]));
}

static void test_a_control_character_anywhere_is_refused(void **state)
{
	static const char bytes[] = {'\0', '\n', '\r', '\x0b', '\x1b', '\x7f'};
	char text[512];

	(void)state;
	for (size_t i = 0; i < GOOD_HEADS; i++) {
		size_t len = strlen(good_heads[i]);

		for (size_t n = 0; n < len * sizeof(bytes); n++) {
			_cleanup_free_ char *copy = NULL;
			struct head head;

			memcpy(text, good_heads[i], len);
			if (text[n / sizeof(bytes)] == bytes[n % sizeof(bytes)])
				continue;
			text[n / sizeof(bytes)] = bytes[n % sizeof(bytes)];
			if (accepts(text, len, &head, &copy))
				fail_msg("head %zu: accepted with %d at %zu", i,
					 bytes[n % sizeof(bytes)], n / sizeof(bytes));
		}
	}
}

static void test_a_byte_beyond_ascii_is_data_in_values_and_refused_elsewhere(void **state)
{
	char text[512];
	size_t accepted = 0;

	(void)state;
	for (size_t i = 0; i < GOOD_HEADS; i++) {
		_cleanup_free_ char *good_copy = NULL;
		size_t len = strlen(good_heads[i]);
		struct head good;

		assert_true(accepts(good_heads[i], len, &good, &good_copy));
		for (size_t at = 0; at < len; at++) {
			_cleanup_free_ char *copy = NULL;
			struct head head;

			memcpy(text, good_heads[i], len);
			text[at] = '\x80';
			if (!accepts(text, len, &head, &copy))
				continue;
			assert_same_request(&good, &head);
			accepted++;
		}
	}
	assert_in_range(accepted, 50, 150);
}

static void test_holds_for_damaged_heads(void **state)
{
	uint32_t seed = 20260728;
	size_t accepted = 0;
	char text[512];

	(void)state;
	for (size_t i = 0; i < 40000; i++) {
		_cleanup_free_ char *copy = NULL;
		size_t len = strlen(good_heads[i % GOOD_HEADS]);
		struct head head;

		memcpy(text, good_heads[i % GOOD_HEADS], len);
		for (uint32_t n = random_next(&seed) % 4; n > 0; n--)
			head_damage(text, &len, &seed);
		accepted += accepts(text, len, &head, &copy);
	}
	/* Both sides were met, or the test says little. */
	assert_in_range(accepted, 10000, 30000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_finds_the_end_in_whatever_pieces_it_comes),
		cmocka_unit_test(test_finds_the_end_also_of_a_head_to_refuse),
		cmocka_unit_test(test_takes_no_part_of_a_head),
		cmocka_unit_test(test_a_control_character_anywhere_is_refused),
		cmocka_unit_test(test_a_byte_beyond_ascii_is_data_in_values_and_refused_elsewhere),
		cmocka_unit_test(test_holds_for_damaged_heads),
	};

	return cmocka_run_group_tests_name("head_damage", tests, NULL, NULL);
}
