/* Unit tests of media: Content-Type and Accept as clients and proxies write them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "supervisor/media.h"

#define JSON "application/json"
#define EVENTS "text/event-stream"

static void test_reads_a_content_type(void **state)
{
	static const char *const good[] = {
		"application/json", "Application/JSON", "application/json;charset=utf-8",
		" application/json ; charset=\"utf-8\"", "application/json;"};
	static const char *const bad[] = {"",
					  "application/jsonx",
					  "application/json-rpc",
					  "text/plain",
					  "application",
					  "application/*",
					  "*/*",
					  "text/plain;application/json",
					  "json"};

	(void)state;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(media_is(good[i], JSON));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(media_is(bad[i], JSON));
	assert_false(media_is(NULL, JSON));
}

static void check(const char *accept, bool json, bool events, bool names_events)
{
	if (media_accepts(accept, JSON) != json || media_accepts(accept, EVENTS) != events ||
	    media_names(accept, EVENTS) != names_events)
		fail_msg("Accept: %s", accept ? accept : "(none)");
}

static void test_reads_an_accept(void **state)
{
	(void)state;
	check(NULL, true, true, false);
	check("", false, false, false);
	check("application/json, text/event-stream", true, true, true);
	check("text/event-stream,application/json", true, true, true);
	check("TEXT/EVENT-STREAM;q=0.5", false, true, true);
	check("application/json", true, false, false);
	check("*/*", true, true, false);
	check("text/*", false, true, false);
	check("application/* ; q=0.1", true, false, false);
	check("text/html, image/png", false, false, false);
	check("text/event-streams", false, false, false);
}

static void test_a_weight_of_zero_excludes(void **state)
{
	(void)state;
	check("application/json, text/event-stream;q=0", true, false, false);
	check("*/*, text/event-stream; q=0.000", true, false, false);
	check("text/event-stream;q=0, */*", true, false, false);
	check("text/event-stream;q=0.01", false, true, true);
	check("text/event-stream;a=1;Q=0, application/json", true, false, false);
	check("*/*;q=0", false, false, false);
	check(",, ,application/json,", true, false, false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_a_content_type),
		cmocka_unit_test(test_reads_an_accept),
		cmocka_unit_test(test_a_weight_of_zero_excludes),
	};

	return cmocka_run_group_tests_name("media", tests, NULL, NULL);
}
