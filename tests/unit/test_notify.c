/* Unit tests of noting refused calls: the bookkeeping alone, and with a child under a real filter. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/clock.h"
#include "policy/syscalls.h"
#include "tests/unit/fd_count.h"
#include "worker/notify.h"
#include "worker/report.h"

#define PATIENCE_MS 20000

static void test_remembers_the_first_ones_once(void **state)
{
	struct notify notify;

	(void)state;
	notify_init(&notify, -1, 0);
	assert_false(notify.noting);
	for (int i = 0; i < 3; i++) {
		notify_remember(&notify, 250);
		notify_remember(&notify, 0);
	}
	notify_remember(&notify, -1);
	notify_remember(&notify, FRAME_MAX_CALL + 1);
	notify_remember(&notify, FRAME_MAX_CALL);
	assert_int_equal(notify.blocked[0], 251);
	assert_int_equal(notify.blocked[1], 1);
	assert_int_equal(notify.blocked[2], FRAME_MAX_CALL + 1);
	assert_int_equal(notify.blocked[3], 0);
	for (int i = 300; i < 320; i++)
		notify_remember(&notify, i);
	assert_int_equal(notify.blocked[FRAME_BLOCKED - 1], 300 + FRAME_BLOCKED - 4 + 1);
}

static void test_the_first_answers_are_prompt_and_later_ones_are_rationed(void **state)
{
	struct notify notify;
	unsigned int given = 0;

	(void)state;
	notify_init(&notify, -1, 1000);
	assert_int_equal(notify_allow(&notify, 60, 1000), 60);
	assert_int_equal(notify_allow(&notify, 60, 1000), 40);
	assert_int_equal(notify_allow(&notify, 60, 1001), 0);
	for (uint64_t us = 1000; us <= 1000 + 2000000; us += 700)
		given += notify_allow(&notify, 60, us);
	assert_in_range(given, 100, 2 * 1000);
	/* A pause gives no more than what is prompt at the beginning. */
	assert_int_equal(notify_allow(&notify, 1000, UINT64_C(3600) * 1000000), 100);
	assert_int_equal(notify_allow(&notify, 1000, UINT64_C(3600) * 1000000), 0);
}

static void test_no_more_are_received_than_there_is_room_for(void **state)
{
	struct notify notify;
	struct pollfd event;

	(void)state;
	notify_init(&notify, 0, 0);
	notify.n = NOTIFY_PENDING - 1;
	notify_poll(&notify, &event);
	assert_int_equal(event.fd, 0);
	notify.n = NOTIFY_PENDING;
	notify_poll(&notify, &event);
	assert_int_equal(event.fd, -1);
}

/* A child under the noting filter. */
struct child {
	pid_t pid;
	struct notify notify;
};

static _Noreturn void be_child(int sock, void (*body)(void))
{
	struct sock_fprog filter = {0};
	int listener;

	if (filter_compile_noting(syscalls_rule, &filter) || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		_exit(100);
	listener = filter_listen(&filter);
	if (report_ready(sock, 7, 0, listener))
		_exit(101);
	body();
	_exit(0);
}

/* Skips where the kernel, or a filter around us, has no place for a listener. */
static void start(struct child *child, void (*body)(void))
{
	struct report_beside beside;
	struct report report;
	int pair[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0)
		be_child(pair[1], body);
	close(pair[1]);
	assert_int_equal(report_recv(pair[0], &report, &beside), 1);
	close(pair[0]);
	assert_int_equal(report.kind, REPORT_READY);
	assert_int_equal(report.layers, 7);
	notify_init(&child->notify, beside.fds[0], clock_us());
	if (beside.fds[0] >= 0)
		return;
	kill(child->pid, SIGKILL);
	waitpid(child->pid, NULL, 0);
	skip();
}

/* One turn of a loop such as the worker's. Returns whether poll found something. */
static bool turn(struct notify *notify)
{
	int wait_ms = notify_answer(notify, clock_us());
	struct pollfd event;
	int n;

	notify_poll(notify, &event);
	n = poll(&event, 1, wait_ms < 0 ? 10 : wait_ms);
	notify_receive(notify, &event);
	return n > 0;
}

static int end_of(struct child *child)
{
	int status = -1;

	notify_clear(&child->notify);
	assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
	return status;
}

static void refused_calls(void)
{
	const unsigned long nowhere = 0;

	for (int i = 0; i < 3; i++)
		if (syscall(SYS_keyctl, 0, 0, 0, 0, 0) != -1 || errno != EPERM)
			_exit(1);
	if (syscall(SYS_socket, AF_VSOCK, SOCK_STREAM, 0) != -1 || errno != EAFNOSUPPORT)
		_exit(2);
	if (syscall(SYS_socket, AF_INET, SOCK_RAW, 1) != -1 || errno != EPROTONOSUPPORT)
		_exit(3);
	if (syscall(SYS_acct, nowhere) != -1 || errno != ENOSYS)
		_exit(4);
	/* Quiet: no note, the filter answers. */
	if (syscall(SYS_memfd_create, nowhere, 0) != -1 || errno != ENOSYS)
		_exit(5);
}

static void test_every_call_gets_the_errno_of_the_table(void **state)
{
	struct child child;
	uint64_t end_us = clock_us() + PATIENCE_MS * UINT64_C(1000);
	int before = fd_count();

	(void)state;
	start(&child, refused_calls);
	/* Until nobody is left who could make a note. */
	while (child.notify.listener >= 0 && clock_us() < end_us)
		turn(&child.notify);
	assert_int_equal(child.notify.listener, -1);
	assert_true(child.notify.noting);
	assert_int_equal(end_of(&child), 0);
	assert_int_equal(child.notify.blocked[0], SYS_keyctl + 1);
	assert_int_equal(child.notify.blocked[1], SYS_socket + 1);
	assert_int_equal(child.notify.blocked[2], SYS_acct + 1);
	assert_int_equal(child.notify.blocked[3], 0);
	assert_int_equal(fd_count(), before);
}

static void many_refused_calls(void)
{
	for (;;)
		syscall(SYS_keyctl, 0, 0, 0, 0, 0);
}

static void test_a_flood_is_answered_late_and_its_end_is_immediate(void **state)
{
	struct child child;
	uint64_t start_us;
	int n = 0;

	(void)state;
	start(&child, many_refused_calls);
	for (start_us = clock_us(); clock_us() - start_us < 1000000;)
		n += turn(&child.notify);
	assert_in_range(n, 20, 100 + 400);
	/* It waits for an answer now. SIGKILL does not. */
	while (!child.notify.n)
		turn(&child.notify);
	kill(child.pid, SIGKILL);
	assert_true(WIFSIGNALED(end_of(&child)));
}

static void test_the_answer_to_one_that_was_killed_meanwhile_harms_nothing(void **state)
{
	struct child child;
	int status;

	(void)state;
	start(&child, many_refused_calls);
	while (!child.notify.n)
		turn(&child.notify);
	kill(child.pid, SIGKILL);
	assert_int_equal(waitpid(child.pid, &status, 0), child.pid);
	child.notify.prompt = 1;
	assert_int_equal(notify_answer(&child.notify, clock_us()), -1);
	assert_int_equal(child.notify.n, 0);
	assert_true(child.notify.listener >= 0);
	notify_clear(&child.notify);
}

static void done_calls(void)
{
	/* Another word is another call, and waits for no more than its answer. */
	if (syscall(DONE_CALL, DONE_WORD + 1, 1, 1, 0) != -1 || errno != ENOSYS)
		_exit(1);
	syscall(DONE_CALL, DONE_WORD, 3, 1, 0);
	_exit(2);
}

static void test_who_is_done_is_heard_and_not_answered(void **state)
{
	struct child child;
	int status;

	(void)state;
	start(&child, done_calls);
	child.notify.main = child.pid;
	while (!child.notify.done.said && child.notify.listener >= 0)
		turn(&child.notify);
	assert_int_equal(child.notify.done.status, 3);
	assert_true(child.notify.done.disk_full);
	for (int i = 0; i < 10; i++)
		turn(&child.notify);
	assert_int_equal(waitpid(child.pid, &status, WNOHANG), 0);
	assert_int_equal(child.notify.blocked[1], 0);
	kill(child.pid, SIGKILL);
	assert_true(WIFSIGNALED(end_of(&child)));
}

static void test_others_who_say_that_they_are_done_are_refused(void **state)
{
	struct child child;
	int status;

	(void)state;
	start(&child, done_calls);
	child.notify.main = child.pid + 1;
	while (child.notify.listener >= 0)
		turn(&child.notify);
	assert_false(child.notify.done.said);
	status = end_of(&child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 2);
}

static void one_refused_call(void)
{
	_exit(syscall(SYS_keyctl, 0, 0, 0, 0, 0) == -1 && errno == ENOSYS ? 9 : 10);
}

static void test_without_a_listener_calls_stay_refused(void **state)
{
	struct child child;
	int status;

	(void)state;
	start(&child, one_refused_call);
	status = end_of(&child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_remembers_the_first_ones_once),
		cmocka_unit_test(test_the_first_answers_are_prompt_and_later_ones_are_rationed),
		cmocka_unit_test(test_no_more_are_received_than_there_is_room_for),
		cmocka_unit_test(test_every_call_gets_the_errno_of_the_table),
		cmocka_unit_test(test_a_flood_is_answered_late_and_its_end_is_immediate),
		cmocka_unit_test(test_the_answer_to_one_that_was_killed_meanwhile_harms_nothing),
		cmocka_unit_test(test_who_is_done_is_heard_and_not_answered),
		cmocka_unit_test(test_others_who_say_that_they_are_done_are_refused),
		cmocka_unit_test(test_without_a_listener_calls_stay_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
