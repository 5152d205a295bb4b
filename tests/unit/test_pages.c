/* Unit tests of pages: what a rehearsal writes to is a copy's own before it writes, and nothing else is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "worker/gate/pages.h"

#define PAGES 64

/* For a rehearsal, which takes no argument. */
static struct {
	char *memory;
	size_t page;
	int happened; /* in the process that wrote it */
} shared;

/* Every other one of the first half. */
static void rehearse(void)
{
	for (size_t i = 0; i < PAGES / 2; i += 2)
		shared.memory[i * shared.page] = 'r';
	shared.happened++;
}

static void rehearse_badly(void)
{
	shared.memory[0] = 'r';
	abort();
}

static long faults(void)
{
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	return usage.ru_minflt;
}

/* How many faults a copy has that writes to the pages from first on, after it has taken what was learned. */
static int faults_of_copy(size_t first)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		long before;

		pages_take();
		before = faults();
		for (size_t i = first; i < first + PAGES / 2; i += 2)
			shared.memory[i * shared.page] = 'c';
		_exit((int)(faults() - before));
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static int set_up(void **state)
{
	(void)state;
	shared.page = (size_t)sysconf(_SC_PAGESIZE);
	shared.memory = mmap(NULL, PAGES * shared.page, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (shared.memory == MAP_FAILED)
		return -1;
	/* No page larger than the others. */
	madvise(shared.memory, PAGES * shared.page, MADV_NOHUGEPAGE);
	memset(shared.memory, 'p', PAGES * shared.page);
	return 0;
}

static void test_nothing_is_taken_before_there_was_a_rehearsal(void **state)
{
	(void)state;
	assert_true(faults_of_copy(0) >= PAGES / 4);
}

static void test_a_rehearsal_that_fails_teaches_nothing(void **state)
{
	(void)state;
	pages_learn(rehearse_badly);
	assert_true(faults_of_copy(0) >= PAGES / 4);
}

static void test_what_was_rehearsed_is_taken(void **state)
{
	(void)state;
	pages_learn(rehearse);
	assert_in_range(faults_of_copy(0), 0, PAGES / 8);
	assert_true(faults_of_copy(PAGES / 2) >= PAGES / 4);
}

static void test_nothing_else_is_kept_of_a_rehearsal(void **state)
{
	(void)state;
	assert_int_equal(shared.happened, 0);
	for (size_t i = 0; i < PAGES; i++)
		assert_int_equal(shared.memory[i * shared.page], 'p');
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_taken_before_there_was_a_rehearsal),
		cmocka_unit_test(test_a_rehearsal_that_fails_teaches_nothing),
		cmocka_unit_test(test_what_was_rehearsed_is_taken),
		cmocka_unit_test(test_nothing_else_is_kept_of_a_rehearsal),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
