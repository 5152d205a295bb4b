/* Unit tests of what worker and the processes of a sandbox tell each other. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/packet.h"
#include "tests/unit/fd_count.h"
#include "worker/report.h"

/* The worker's end and the other, and how many descriptors there were before. */
struct pair {
	int worker, inside, before;
};

static struct pair open_pair(void)
{
	int before = fd_count(), ends[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	return (struct pair){ends[0], ends[1], before};
}

/* Nothing that was sent may be open any more. */
static void close_pair(const struct pair *pair)
{
	close(pair->worker);
	close(pair->inside);
	assert_int_equal(fd_count(), pair->before);
}

static void close_beside(const struct report_beside *beside)
{
	for (size_t i = 0; i < NAMESPACES; i++)
		if (beside->fds[i] >= 0)
			close(beside->fds[i]);
}

/* Where the kernel takes no descriptor, here one that is none, the sandbox is ready without. */
static void test_ready_comes_without_a_listener_that_cannot_be_sent(void **state)
{
	struct pair pair = open_pair();
	struct report_beside beside;
	struct report report;

	(void)state;
	assert_int_equal(report_ready(pair.inside, 3, 17, 1000), 0);
	assert_int_equal(report_recv(pair.worker, &report, &beside), 1);
	assert_int_equal(report.kind, REPORT_READY);
	assert_int_equal(report.layers, 3);
	assert_int_equal(report.pid, 17);
	for (size_t i = 0; i < NAMESPACES; i++)
		assert_int_equal(beside.fds[i], -1);
	close_pair(&pair);
}

static void test_ready_brings_its_listener_and_keeps_none(void **state)
{
	struct pair pair = open_pair();
	int listener = fcntl(pair.inside, F_DUPFD_CLOEXEC, 0);
	struct report_beside beside;
	struct report report;

	(void)state;
	assert_int_equal(report_ready(pair.inside, 3, 0, listener), 0);
	assert_int_equal(fcntl(listener, F_GETFD), -1);
	assert_int_equal(report_recv(pair.worker, &report, &beside), 1);
	assert_true(beside.fds[0] >= 0);
	assert_true(fcntl(beside.fds[0], F_GETFD) & FD_CLOEXEC);
	assert_int_equal(beside.fds[1], -1);
	close_beside(&beside);
	close_pair(&pair);
}

static void test_spawned_brings_all_namespaces_or_none(void **state)
{
	struct pair pair = open_pair();
	struct report_beside beside;
	struct report report;
	int namespaces[NAMESPACES];

	(void)state;
	assert_int_equal(report_spawned(pair.inside, NULL), 0);
	assert_int_equal(report_recv(pair.worker, &report, &beside), 1);
	assert_int_equal(report.kind, REPORT_SPAWNED);
	assert_int_equal(beside.fds[0], -1);
	assert_int_equal(namespaces_open(namespaces), 0);
	assert_int_equal(report_spawned(pair.inside, namespaces), 0);
	for (size_t i = 0; i < NAMESPACES; i++)
		assert_int_equal(namespaces[i], -1);
	assert_int_equal(report_recv(pair.worker, &report, &beside), 1);
	for (size_t i = 0; i < NAMESPACES; i++)
		assert_true(beside.fds[i] >= 0);
	close_beside(&beside);
	close_pair(&pair);
}

/* Sends a report of this kind with n descriptors. Returns what its receiver says. */
static int received(enum report_kind kind, size_t n)
{
	struct pair pair = open_pair();
	struct report report = {.kind = kind};
	struct report_beside beside;
	int fds[PACKET_MAX_FDS], r;

	for (size_t i = 0; i < n; i++)
		fds[i] = pair.inside;
	assert_int_equal(packet_send(pair.inside, &report, sizeof(report), fds, n), 0);
	r = report_recv(pair.worker, &report, &beside);
	if (r != 1)
		for (size_t i = 0; i < NAMESPACES; i++)
			assert_int_equal(beside.fds[i], -1);
	close_beside(&beside);
	close_pair(&pair);
	return r;
}

static void test_each_kind_brings_as_many_descriptors_as_it_has_or_is_refused(void **state)
{
	static const struct {
		enum report_kind kind;
		size_t n;
	} kinds[] = {{REPORT_SPAWNED, NAMESPACES},
		     {REPORT_READY, 1},
		     {REPORT_FAILED, 0},
		     {REPORT_ENDED, 0},
		     {REPORT_TAKEN, 0},
		     {REPORT_SERVING, 0}};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		for (size_t n = 0; n <= PACKET_MAX_FDS; n++)
			assert_int_equal(received(kinds[i].kind, n),
					 n == 0 || n == kinds[i].n ? 1 : -EPROTO);
}

static void test_a_report_of_another_size_is_refused(void **state)
{
	struct pair pair = open_pair();
	struct report report = {.kind = REPORT_READY};
	struct report_beside beside;
	char longer[sizeof(report) + 1] = {REPORT_READY};

	(void)state;
	assert_int_equal(packet_send(pair.inside, &report, sizeof(report) - 1, NULL, 0), 0);
	assert_int_equal(packet_send(pair.inside, longer, sizeof(longer), NULL, 0), 0);
	assert_int_equal(report_recv(pair.worker, &report, &beside), -EPROTO);
	assert_int_equal(report_recv(pair.worker, &report, &beside), -EPROTO);
	close_pair(&pair);
}

static void test_a_step_that_failed_is_told_and_ends_the_process(void **state)
{
	struct pair pair = open_pair();
	struct report_beside beside;
	struct report report;
	int status = 0;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		report_step(pair.inside, STAGE_LANDLOCK, 7);
		report_step(pair.inside, STAGE_SECCOMP, -EINVAL);
		_exit(99);
	}
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
	assert_int_equal(report_recv(pair.worker, &report, &beside), 1);
	assert_int_equal(report.kind, REPORT_FAILED);
	assert_int_equal(report.stage, STAGE_SECCOMP);
	assert_int_equal(report.error, EINVAL);
	close_pair(&pair);
}

/* By the kernel's word: nobody can say that he is another. */
static void test_the_sender_is_named_where_that_was_asked_for(void **state)
{
	struct pair pair = open_pair();
	struct report report = {.kind = REPORT_SPAWNED, .pid = 1};
	struct report_beside beside;
	pid_t pid;

	(void)state;
	assert_int_equal(report_send(pair.inside, &report), 0);
	assert_int_equal(report_recv(pair.worker, &report, &beside), 1);
	assert_int_equal(beside.sender, 0);
	assert_int_equal(packet_name_senders(pair.worker), 0);
	pid = fork();
	if (pid == 0)
		_exit(report_send(pair.inside, &report) < 0);
	assert_true(pid > 0);
	assert_int_equal(report_recv(pair.worker, &report, &beside), 1);
	assert_int_equal(beside.sender, pid);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(report_send(pair.inside, &report), 0);
	assert_int_equal(report_recv(pair.worker, &report, &beside), 1);
	assert_int_equal(beside.sender, getpid());
	close_pair(&pair);
}

/* One that left what it was given unread, as an init does that dies early. */
static void test_the_last_report_of_one_that_heard_nothing_is_received(void **state)
{
	const int fds[GIVE_FDS] = {0};
	struct report report = {.kind = REPORT_ENDED};
	struct report_beside beside;
	int pair[2];

	(void)state;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(report_give(pair[0], fds, GIVE_FDS), 0);
	assert_int_equal(report_send(pair[1], &report), 0);
	close(pair[1]);
	assert_int_equal(report_recv(pair[0], &report, &beside), 1);
	assert_int_equal(report.kind, REPORT_ENDED);
	assert_int_equal(report_recv(pair[0], &report, &beside), 0);
	close(pair[0]);
}

/* Sends an order of this kind with n descriptors. Returns what its taker says, and how many it then has. */
static int taken(enum order_kind kind, size_t n, size_t *had)
{
	struct pair pair = open_pair();
	struct order order = {.kind = kind, .pid = 3};
	int fds[PACKET_MAX_FDS], r;

	for (size_t i = 0; i < n; i++)
		fds[i] = pair.worker;
	assert_int_equal(packet_send(pair.worker, &order, sizeof(order), fds, n), 0);
	r = report_take(pair.inside, &order, fds);
	*had = 0;
	for (size_t i = 0; i < GIVE_ALL_FDS; i++)
		if (fds[i] >= 0) {
			(*had)++;
			close(fds[i]);
		}
	close_pair(&pair);
	return r;
}

static void test_each_order_brings_what_it_takes_or_is_refused(void **state)
{
	size_t had;

	(void)state;
	for (size_t n = 0; n <= PACKET_MAX_FDS; n++) {
		bool whole = n == GIVE_FDS || n == GIVE_ALL_FDS;

		assert_int_equal(taken(ORDER_START, n, &had), whole ? 1 : -EPROTO);
		assert_int_equal(had, whole ? n : 0);
		assert_int_equal(taken(ORDER_ADOPT, n, &had), n == 0 ? 1 : -EPROTO);
		assert_int_equal(had, 0);
	}
}

static void test_orders_say_what_was_given(void **state)
{
	struct pair pair = open_pair();
	int given[GIVE_FDS], fds[GIVE_ALL_FDS];
	struct order order;

	(void)state;
	for (size_t i = 0; i < GIVE_FDS; i++)
		given[i] = pair.inside;
	assert_int_equal(report_give(pair.worker, given, GIVE_FDS), 0);
	assert_int_equal(report_take(pair.inside, &order, fds), 1);
	assert_int_equal(order.kind, ORDER_START);
	for (size_t i = 0; i < GIVE_FDS; i++)
		close(fds[i]);
	assert_int_equal(fds[GIVE_CONTROL], -1);
	assert_int_equal(fds[GIVE_PLAN], -1);
	assert_int_equal(report_adopt(pair.worker, 4321), 0);
	assert_int_equal(report_take(pair.inside, &order, fds), 1);
	assert_int_equal(order.kind, ORDER_ADOPT);
	assert_int_equal(order.pid, 4321);
	close(pair.worker);
	assert_int_equal(report_take(pair.inside, &order, fds), 0);
	close(pair.inside);
	assert_int_equal(fd_count(), pair.before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ready_comes_without_a_listener_that_cannot_be_sent),
		cmocka_unit_test(test_ready_brings_its_listener_and_keeps_none),
		cmocka_unit_test(test_spawned_brings_all_namespaces_or_none),
		cmocka_unit_test(test_each_kind_brings_as_many_descriptors_as_it_has_or_is_refused),
		cmocka_unit_test(test_a_report_of_another_size_is_refused),
		cmocka_unit_test(test_a_step_that_failed_is_told_and_ends_the_process),
		cmocka_unit_test(test_the_sender_is_named_where_that_was_asked_for),
		cmocka_unit_test(test_the_last_report_of_one_that_heard_nothing_is_received),
		cmocka_unit_test(test_each_order_brings_what_it_takes_or_is_refused),
		cmocka_unit_test(test_orders_say_what_was_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
