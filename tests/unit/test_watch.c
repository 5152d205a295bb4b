/* Unit tests of watch: the test is the worker, a child plays pid 1 of a run, and its children play the run. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/cleanup.h"
#include "common/clock.h"
#include "worker/watch.h"

#define MEMORY (128 * MIB)

static const struct limits limits = {.memory_bytes = MEMORY};

/* What one process of the run does before it sleeps. */
struct plan {
	size_t shared_bytes;  /* touched, in a mapping that its children would share */
	size_t private_bytes; /* touched */
	size_t reserved_bytes;
	size_t before_fork_bytes; /* touched by "pid 1's child" before its own children come */
	int children;		  /* that many more processes do the same below it */
};

struct run {
	pid_t init;
	pid_t program;
	int lifeline; /* closed: everything ends */
};

static void use(size_t len, int kind)
{
	char *memory =
		len ? mmap(NULL, len, PROT_READ | PROT_WRITE, kind | MAP_ANONYMOUS, -1, 0) : NULL;

	if (len && memory == MAP_FAILED)
		_exit(1);
	for (size_t i = 0; i < len; i += 4096)
		memory[i] = 1;
}

static void reserve(size_t len)
{
	if (len)
		mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static _Noreturn void wait_for_end(int lifeline, int ready)
{
	char byte = 0;

	if (write(ready, &byte, 1) == 1 && read(lifeline, &byte, 1) >= 0)
		_exit(0);
	_exit(1);
}

static _Noreturn void play_program(const struct plan *plan, int lifeline, int ready)
{
	use(plan->before_fork_bytes, MAP_PRIVATE);
	for (int i = 0; i < plan->children; i++)
		if (fork() == 0) {
			use(plan->shared_bytes, MAP_SHARED);
			use(plan->private_bytes, MAP_PRIVATE);
			wait_for_end(lifeline, ready);
		}
	if (!plan->children) {
		use(plan->shared_bytes, MAP_SHARED);
		use(plan->private_bytes, MAP_PRIVATE);
	}
	reserve(plan->reserved_bytes);
	wait_for_end(lifeline, ready);
}

/* Comes back when every process of it has what it wants. */
static void start(struct run *run, const struct plan *plan)
{
	int lifeline[2], ready[2], told[2];
	char byte;

	assert_int_equal(pipe(lifeline) | pipe(ready) | pipe(told), 0);
	run->init = fork();
	if (run->init == 0) {
		close(lifeline[1]);
		pid_t pid = fork();

		if (pid == 0)
			play_program(plan, lifeline[0], ready[1]);
		if (write(told[1], &pid, sizeof(pid)) != sizeof(pid))
			_exit(1);
		while (read(lifeline[0], &byte, 1) > 0)
			continue;
		while (wait(NULL) > 0)
			continue;
		_exit(0);
	}
	assert_true(run->init > 0);
	assert_int_equal(read(told[0], &run->program, sizeof(run->program)), sizeof(run->program));
	for (int i = 0; i <= plan->children; i++)
		assert_int_equal(read(ready[0], &byte, 1), 1);
	run->lifeline = lifeline[1];
	close(lifeline[0]);
	for (int i = 0; i < 2; i++) {
		close(ready[i]);
		close(told[i]);
	}
}

static void stop(struct run *run)
{
	close(run->lifeline);
	assert_int_equal(waitpid(run->init, NULL, 0), run->init);
}

/* Looks as often as it takes to be sure. Returns whether the run must be killed. */
static bool look(struct watch *watch, const struct run *run)
{
	assert_int_equal(watch_init(watch, &limits, run->init, clock_us()), 0);
	return watch_look(watch, watch->next_us) || watch_look(watch, clock_us() + 1000000);
}

static bool must_die(const struct plan *plan)
{
	struct watch watch;
	struct run run;
	bool verdict;

	start(&run, plan);
	verdict = look(&watch, &run);
	watch_clear(&watch);
	stop(&run);
	return verdict;
}

static void test_lets_a_small_run_live(void **state)
{
	(void)state;
	assert_false(must_die(&(struct plan){0}));
	assert_false(must_die(&(struct plan){.private_bytes = 60 * MIB}));
	assert_false(must_die(&(struct plan){.shared_bytes = 60 * MIB}));
}

static void test_kills_a_run_that_has_too_much(void **state)
{
	(void)state;
	assert_true(must_die(&(struct plan){.private_bytes = 150 * MIB}));
	assert_true(must_die(&(struct plan){.shared_bytes = 150 * MIB}));
}

static void test_adds_up_all_processes(void **state)
{
	(void)state;
	assert_true(must_die(&(struct plan){.private_bytes = 40 * MIB, .children = 4}));
	assert_false(must_die(&(struct plan){.private_bytes = 20 * MIB, .children = 4}));
}

static void test_counts_pages_shared_by_fork_once(void **state)
{
	(void)state;
	assert_false(must_die(&(struct plan){.before_fork_bytes = 60 * MIB, .children = 4}));
}

static void test_does_not_count_what_was_only_reserved(void **state)
{
	(void)state;
	assert_false(must_die(&(struct plan){.reserved_bytes = GIB}));
}

static void test_looks_only_when_it_is_time(void **state)
{
	struct watch watch;
	struct run run;
	uint64_t now = clock_us();

	(void)state;
	start(&run, &(struct plan){.private_bytes = 150 * MIB});
	watch_init(&watch, &limits, run.init, now);
	assert_true(watch.next_us > now);
	assert_false(watch_look(&watch, watch.next_us - 1));
	assert_true(watch_look(&watch, watch.next_us));
	watch_clear(&watch);
	stop(&run);
}

static void test_looks_again_soon_and_sooner_when_it_gets_tight(void **state)
{
	struct watch roomy, tight;
	struct run run;

	(void)state;
	/* The time a look takes is added, so the bounds are wide and the two are far apart. */
	start(&run, &(struct plan){.private_bytes = 10 * MIB});
	watch_init(&roomy, &limits, run.init, 0);
	watch_look(&roomy, 1000);
	assert_in_range(roomy.next_us - 1000, 5000, 100000);
	watch_clear(&roomy);
	stop(&run);
	start(&run, &(struct plan){.private_bytes = 118 * MIB});
	watch_init(&tight, &limits, run.init, 0);
	watch_look(&tight, 1000);
	assert_in_range(tight.next_us - 1000, 1000, 100000);
	watch_clear(&tight);
	stop(&run);
}

static void test_remembers_the_peak(void **state)
{
	struct watch watch;
	struct run run;

	(void)state;
	start(&run, &(struct plan){.private_bytes = 50 * MIB});
	assert_false(look(&watch, &run));
	assert_in_range(watch.peak_bytes, 50 * MIB, 70 * MIB);
	stop(&run);
	/* Nobody is there any more: the peak stays. */
	watch_look(&watch, watch.next_us);
	assert_in_range(watch.peak_bytes, 50 * MIB, 70 * MIB);
	watch_clear(&watch);
}

/* How much more than it has now a process may map. */
static uint64_t room_of(pid_t pid)
{
	char path[32], text[4096] = "";
	struct rlimit limit;
	const char *line;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	_cleanup_fd_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0);
	assert_non_null(line = strstr(text, "\nVmData:"));
	assert_int_equal(prlimit(pid, RLIMIT_DATA, NULL, &limit), 0);
	return limit.rlim_cur - strtoull(line + strlen("\nVmData:"), NULL, 10) * KIB;
}

static void test_moves_the_limit_with_what_is_reserved_but_not_used(void **state)
{
	struct watch watch;
	struct run run;

	(void)state;
	start(&run, &(struct plan){.reserved_bytes = 500 * MIB});
	assert_false(look(&watch, &run));
	/* What the run may still grow, however much is reserved. */
	assert_in_range(room_of(run.program), 100 * MIB, MEMORY);
	watch_clear(&watch);
	stop(&run);
}

static void test_leaves_no_room_to_a_process_when_others_have_it(void **state)
{
	struct watch watch;
	struct run run;

	(void)state;
	start(&run, &(struct plan){.shared_bytes = 120 * MIB, .children = 1});
	assert_false(look(&watch, &run));
	assert_in_range(room_of(run.program), 0, 8 * MIB);
	watch_clear(&watch);
	stop(&run);
}

static void test_survives_a_run_that_is_gone(void **state)
{
	struct watch watch;
	struct run run;

	(void)state;
	start(&run, &(struct plan){0});
	stop(&run);
	assert_false(look(&watch, &run));
	assert_int_equal(watch.peak_bytes, 0);
	watch_clear(&watch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lets_a_small_run_live),
		cmocka_unit_test(test_kills_a_run_that_has_too_much),
		cmocka_unit_test(test_adds_up_all_processes),
		cmocka_unit_test(test_counts_pages_shared_by_fork_once),
		cmocka_unit_test(test_does_not_count_what_was_only_reserved),
		cmocka_unit_test(test_looks_only_when_it_is_time),
		cmocka_unit_test(test_looks_again_soon_and_sooner_when_it_gets_tight),
		cmocka_unit_test(test_remembers_the_peak),
		cmocka_unit_test(test_moves_the_limit_with_what_is_reserved_but_not_used),
		cmocka_unit_test(test_leaves_no_room_to_a_process_when_others_have_it),
		cmocka_unit_test(test_survives_a_run_that_is_gone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
