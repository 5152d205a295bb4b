/* Unit tests of what a service manager is told: the test is the manager. */
#include <errno.h>
#include <event2/event.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "supervisor/manager.h"

#define PATIENCE_MS 20000
#define SERVES "STATUS=Serves; calls: 0 running, 0 waiting"

static const struct manager_news serves = {.state = MANAGER_SERVES};

/* A socket that hears what is told, and the manager that tells it. */
struct ear {
	char name[64];
	int fd;
	struct manager manager;
};

static int hear_at(struct ear *ear, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	size_t len = strlen(name);

	snprintf(ear->name, sizeof(ear->name), "%s", name);
	memcpy(address.sun_path, name, len);
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	ear->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_true(ear->fd >= 0);
	return bind(ear->fd, (const struct sockaddr *)&address,
		    (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
}

static struct ear *open_ear(char first, uint64_t watchdog_us)
{
	struct ear *ear = calloc(1, sizeof(*ear));
	char name[64];

	assert_non_null(ear);
	snprintf(name, sizeof(name), first == '@' ? "@mcp-exec-test-%d" : "/tmp/mcp-exec-test-%d",
		 getpid());
	assert_int_equal(hear_at(ear, name), 0);
	assert_int_equal(
		manager_open(&ear->manager,
			     &(struct manager_wish){.socket = name, .watchdog_us = watchdog_us}),
		0);
	assert_true(ear->manager.fd >= 0);
	return ear;
}

static void close_ear(struct ear *ear)
{
	manager_close(&ear->manager);
	close(ear->fd);
	if (ear->name[0] == '/')
		unlink(ear->name);
	free(ear);
}

/* The next thing that was told; "" when there is none. */
static const char *heard(const struct ear *ear)
{
	static char text[256];
	ssize_t n = recv(ear->fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return text;
}

/*** What the environment asks ***/

static void ask(const char *notify, const char *usec, const char *pid)
{
	unsetenv("WATCHDOG_PID");
	setenv("NOTIFY_SOCKET", notify, 1);
	setenv("WATCHDOG_USEC", usec, 1);
	if (pid != NULL)
		setenv("WATCHDOG_PID", pid, 1);
}

static void test_takes_what_is_asked_out_of_the_environment(void **state)
{
	struct manager_wish wish;
	char pid[16];

	(void)state;
	snprintf(pid, sizeof(pid), "%d", getpid());
	ask("/run/x", "3000000", pid);
	wish = manager_take();
	assert_string_equal(wish.socket, "/run/x");
	assert_int_equal(wish.watchdog_us, 3000000);
	assert_null(getenv("NOTIFY_SOCKET"));
	assert_null(getenv("WATCHDOG_USEC"));
	assert_null(getenv("WATCHDOG_PID"));
	wish = manager_take();
	assert_null(wish.socket);
	assert_int_equal(wish.watchdog_us, 0);
}

static void test_a_watchdog_of_somebody_else_is_not_ours(void **state)
{
	static const char *const wrong[][2] = {{"3000000", "1"}, {"3000000", ""}, {"3000000", "x"},
					       {"", NULL},	 {"-1", NULL},	  {"1s", NULL}};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		ask("/run/x", wrong[i][0], wrong[i][1]);
		assert_int_equal(manager_take().watchdog_us, 0);
		assert_null(getenv("WATCHDOG_PID"));
	}
	ask("/run/x", "7", NULL);
	assert_int_equal(manager_take().watchdog_us, 7);
}

static void test_opens_nothing_where_nobody_listens(void **state)
{
	char path_too_long[sizeof(((struct sockaddr_un *)NULL)->sun_path) + 1];
	const struct {
		const char *name;
		int r;
	} rows[] = {{NULL, 0},
		    {"", 0},
		    {"relative", -EINVAL},
		    {"/", -EINVAL},
		    {"@", -EINVAL},
		    {"vsock:2:1", -EINVAL},
		    {path_too_long, -EINVAL},
		    {"/tmp/mcp-exec-test-nobody", -ENOENT},
		    {"@mcp-exec-test-nobody", -ECONNREFUSED}};
	struct manager manager;

	(void)state;
	memset(path_too_long, '/', sizeof(path_too_long) - 1);
	path_too_long[sizeof(path_too_long) - 1] = '\0';
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct manager_wish wish = {.socket = rows[i].name, .watchdog_us = 1};

		assert_int_equal(manager_open(&manager, &wish), rows[i].r);
		assert_int_equal(manager.fd, -1);
		/* All the same it may be used. */
		assert_int_equal(manager_watch(&manager, NULL), 0);
		manager_tell(&manager, &serves);
		manager_close(&manager);
	}
}

/*** What is told ***/

static void tells_a_life(char first)
{
	struct ear *ear = open_ear(first, 0);
	struct manager_news news = {.state = MANAGER_STARTS};

	manager_tell(&ear->manager, &news);
	assert_string_equal(heard(ear), "STATUS=Waits for the first sandbox; calls: 0 running, "
					"0 waiting");
	manager_tell(&ear->manager, &serves);
	assert_string_equal(heard(ear), "READY=1\n" SERVES);
	news = (struct manager_news){.state = MANAGER_HAS_NO_SANDBOX, .waiting = 3};
	manager_tell(&ear->manager, &news);
	assert_string_equal(heard(ear), "STATUS=No sandbox can be had, the log says why; calls: 0 "
					"running, 3 waiting");
	manager_tell(&ear->manager, &serves);
	assert_string_equal(heard(ear), SERVES);
	news = (struct manager_news){.state = MANAGER_ENDS, .running = 1};
	manager_tell(&ear->manager, &news);
	assert_string_equal(heard(ear), "STOPPING=1\nSTATUS=Ends; calls: 1 running, 0 waiting");
	manager_tell(&ear->manager, &news);
	assert_string_equal(heard(ear), "");
	close_ear(ear);
}

static void test_tells_a_life_by_path_and_by_abstract_name(void **state)
{
	(void)state;
	tells_a_life('/');
	tells_a_life('@');
}

static void test_one_that_never_served_is_not_ready(void **state)
{
	struct ear *ear = open_ear('@', 0);

	(void)state;
	manager_tell(&ear->manager, &(struct manager_news){.state = MANAGER_HAS_NO_SANDBOX});
	assert_null(strstr(heard(ear), "READY"));
	manager_tell(&ear->manager, &(struct manager_news){.state = MANAGER_ENDS});
	assert_null(strstr(heard(ear), "READY"));
	close_ear(ear);
}

static void test_numbers_alone_are_told_now_and_then(void **state)
{
	const struct manager_news busy = {
		.state = MANAGER_SERVES, .running = 1, .waiting = UINT64_MAX};
	struct ear *ear = open_ear('@', 0);

	(void)state;
	manager_tell(&ear->manager, &serves);
	assert_string_equal(heard(ear), "READY=1\n" SERVES);
	manager_tell(&ear->manager, &busy);
	assert_string_equal(heard(ear), "");
	ear->manager.last_ms -= 5000;
	manager_tell(&ear->manager, &busy);
	assert_string_equal(heard(ear),
			    "STATUS=Serves; calls: 1 running, 18446744073709551615 waiting");
	ear->manager.last_ms -= 5000;
	manager_tell(&ear->manager, &busy);
	assert_string_equal(heard(ear), "");
	close_ear(ear);
}

static void test_what_finds_no_room_is_told_again(void **state)
{
	struct ear *ear = open_ear('@', 0);
	int fillers = 0;

	(void)state;
	while (send(ear->manager.fd, "x", 1, 0) == 1)
		assert_true(++fillers < 100000);
	assert_int_equal(errno, EAGAIN);
	manager_tell(&ear->manager, &serves);
	for (int i = 0; i < fillers; i++)
		assert_string_equal(heard(ear), "x");
	assert_string_equal(heard(ear), "");
	manager_tell(&ear->manager, &serves);
	assert_string_equal(heard(ear), "READY=1\n" SERVES);
	close_ear(ear);
}

/*** The watchdog ***/

/* Turns the loop until so many answers came. Returns the milliseconds that it took. */
static uint64_t hear_pings(struct ear *ear, struct event_base *base, int wanted)
{
	uint64_t begin = clock_ms();

	while (wanted > 0) {
		assert_true(clock_ms() < begin + PATIENCE_MS);
		assert_true(event_base_loop(base, EVLOOP_ONCE) >= 0);
		for (const char *text; *(text = heard(ear)) != '\0'; wanted--)
			assert_string_equal(text, "WATCHDOG=1");
	}
	return clock_ms() - begin;
}

static void test_the_loop_answers_the_watchdog(void **state)
{
	struct event_base *base = event_base_new();
	struct ear *ear = open_ear('@', 100000);

	(void)state;
	assert_int_equal(manager_watch(&ear->manager, base), 0);
	/* 50 ms each; the first may be early by what the loop's clock is behind. */
	assert_true(hear_pings(ear, base, 4) >= 150);
	/* A loop that stands still answers nothing. */
	usleep(200000);
	assert_string_equal(heard(ear), "");
	hear_pings(ear, base, 1);
	manager_close(&ear->manager);
	assert_int_equal(event_base_loop(base, EVLOOP_ONCE), 1);
	event_base_free(base);
	close_ear(ear);
}

static void test_an_answer_that_found_no_room_is_given_soon(void **state)
{
	struct event_base *base = event_base_new();
	struct ear *ear = open_ear('@', 16000000);
	int fillers = 0;

	(void)state;
	while (send(ear->manager.fd, "x", 1, 0) == 1)
		assert_true(++fillers < 100000);
	assert_int_equal(manager_watch(&ear->manager, base), 0);
	event_active(ear->manager.ping, EV_TIMEOUT, 0);
	assert_int_equal(event_base_loop(base, EVLOOP_NONBLOCK), 0);
	for (int i = 0; i < fillers; i++)
		assert_string_equal(heard(ear), "x");
	/* A sixteenth of its time later, and not the half. */
	assert_in_range(hear_pings(ear, base, 1), 900, 7000);
	manager_close(&ear->manager);
	event_base_free(base);
	close_ear(ear);
}

static void test_a_watchdog_without_patience_does_not_fill_the_loop(void **state)
{
	struct event_base *base = event_base_new();
	struct ear *ear = open_ear('@', 1);

	(void)state;
	assert_int_equal(manager_watch(&ear->manager, base), 0);
	assert_true(hear_pings(ear, base, 20) >= 18);
	manager_close(&ear->manager);
	event_base_free(base);
	close_ear(ear);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_takes_what_is_asked_out_of_the_environment),
		cmocka_unit_test(test_a_watchdog_of_somebody_else_is_not_ours),
		cmocka_unit_test(test_opens_nothing_where_nobody_listens),
		cmocka_unit_test(test_tells_a_life_by_path_and_by_abstract_name),
		cmocka_unit_test(test_one_that_never_served_is_not_ready),
		cmocka_unit_test(test_numbers_alone_are_told_now_and_then),
		cmocka_unit_test(test_what_finds_no_room_is_told_again),
		cmocka_unit_test(test_the_loop_answers_the_watchdog),
		cmocka_unit_test(test_an_answer_that_found_no_room_is_given_soon),
		cmocka_unit_test(test_a_watchdog_without_patience_does_not_fill_the_loop),
	};

	return cmocka_run_group_tests_name("manager", tests, NULL, NULL);
}
