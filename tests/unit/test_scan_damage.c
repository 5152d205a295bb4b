/* Unit tests of scan: what must hold for any bytes, tried on damaged messages. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>
#include <cmocka.h>

#include "common/cleanup.h"
#include "supervisor/scan.h"
#include "tests/unit/damage.h"

static const char *const corpus[] = {
	("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"exec\","
	 "\"arguments\":{\"code\":\"print(1)\\n\",\"stdin\":\"\\u00e9\\ud83d\\ude00\"}}}"),
	"{\"id\":\"a\\\"b\",\"params\":{\"_meta\":{\"progressToken\":-1.5e3},\"requestId\":7}}",
	"[{\"a\":[true,false,null,0,-0.5]},[[],{}],\"\xe2\x82\xac\xf0\x9f\x98\x80\"]",
	" {\"a\":1,\"b\":{\"a\":2,\"\\u0062\":[1,2,3]},\"id\":12345678901234} ",
};

static const char tokens[] = "{}[]\",:\\u0019eE+-.tfn \xc3\xff\x01";

static void assert_inside(struct slice slice, const char *text, size_t len)
{
	if (!slice.data)
		return;
	assert_true(slice.data >= text && slice.len > 0);
	assert_true((size_t)(slice.data - text) + slice.len <= len);
}

/* What cJSON makes of a text that was accepted. */
static void check_with_cjson(const char *text, size_t len, struct slice id)
{
	cJSON *tree = cJSON_ParseWithLengthOpts(text, len + 1, NULL, true);

	if (!tree && !strstr(text, "\\ud") && !strstr(text, "\\uD"))
		fail_msg("accepted what cJSON refuses: %s", text);
	if (tree && slice_is_integer(id) && id.len < 15) {
		const cJSON *item = cJSON_GetObjectItemCaseSensitive(tree, "id");

		assert_true(cJSON_IsNumber(item));
		assert_true(item->valuedouble == strtod(id.data, NULL));
	}
	cJSON_Delete(tree);
}

/* What must hold for any bytes; text[len] is NUL. Returns whether they were JSON. The scanner gets
 * a block of exactly len bytes, so that a sanitizer sees any byte read too far. */
static bool check_any(const char *text, size_t len)
{
	_cleanup_free_ char *copy = malloc(len);
	struct scan scan;

	assert_non_null(copy);
	memcpy(copy, text, len);
	scan_message(copy, len, &scan);
	assert_inside(scan.id, copy, len);
	assert_inside(scan.progress_token, copy, len);
	assert_inside(scan.request_id, copy, len);
	assert_inside(scan.code, copy, len);
	assert_inside(scan.stdin_text, copy, len);
	if (scan.verdict != SCAN_OK)
		return false;
	check_with_cjson(text, len, scan.id);
	return true;
}

static void test_holds_for_damaged_messages(void **state)
{
	uint32_t seed = 20250101;
	size_t accepted = 0;
	char text[512];

	(void)state;
	for (size_t i = 0; i < 20000; i++) {
		const char *base = corpus[i % (sizeof(corpus) / sizeof(corpus[0]))];
		size_t len = strlen(base);

		memcpy(text, base, len);
		for (uint32_t n = random_next(&seed) % 4; n > 0; n--)
			damage(text, &len, &seed, tokens, sizeof(tokens) - 1);
		text[len] = '\0';
		accepted += check_any(text, len);
	}
	/* Both sides were met, or the test says little. */
	assert_in_range(accepted, 2000, 18000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_holds_for_damaged_messages),
	};

	return cmocka_run_group_tests_name("scan_damage", tests, NULL, NULL);
}
