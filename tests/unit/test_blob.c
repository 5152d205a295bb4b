/* Unit tests of blob, with senders that do not play by the rules. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/blob.h"
#include "common/cleanup.h"
#include "tests/unit/fd_count.h"

#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

static int memfd_with(const char *text, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	if (seals)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

/* Both functions that judge a descriptor must judge alike, and leave nothing mapped or open. */
static void assert_refused(int fd, uint64_t max_bytes, int error)
{
	struct blob_view view;
	int before = fd_count();

	assert_int_equal(blob_check(fd, max_bytes), error);
	assert_int_equal(blob_view(fd, max_bytes, &view), error);
	assert_non_null(view.data);
	assert_int_equal(view.size, 0);
	blob_view_clear(&view);
	assert_int_equal(fd_count(), before);
}

static void test_gives_back_what_was_put_in(void **state)
{
	static const char data[] = "a\0b\xFF";
	_cleanup_fd_ int fd = blob_from(data, 4);
	_cleanup_(blob_view_clear) struct blob_view view = {0};

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(blob_check(fd, 4), 0);
	assert_int_equal(blob_view(fd, 4, &view), 0);
	assert_int_equal(view.size, 4);
	assert_memory_equal(view.data, data, 4);
}

static void test_holds_megabytes(void **state)
{
	enum { SIZE = 5 * 1024 * 1024 + 1 };
	_cleanup_free_ char *data = malloc(SIZE);
	_cleanup_(blob_view_clear) struct blob_view view = {0};
	_cleanup_fd_ int fd = -1;

	(void)state;
	assert_non_null(data);
	for (size_t i = 0; i < SIZE; i++)
		data[i] = (char)(i * 31 >> 3);
	fd = blob_from(data, SIZE);
	assert_int_equal(blob_view(fd, SIZE, &view), 0);
	assert_int_equal(view.size, SIZE);
	assert_memory_equal(view.data, data, SIZE);
}

static void test_views_an_empty_blob_without_null(void **state)
{
	_cleanup_fd_ int fd = blob_from(NULL, 0);
	struct blob_view view;

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(blob_view(fd, 0, &view), 0);
	assert_non_null(view.data);
	assert_int_equal(view.size, 0);
	blob_view_clear(&view);
	blob_view_clear(&view);
}

static void test_clears_a_view_of_zero_bytes(void **state)
{
	struct blob_view view = {0};

	(void)state;
	blob_view_clear(&view);
	assert_int_equal(view.size, 0);
}

static void test_view_outlives_the_descriptor(void **state)
{
	int fd = blob_from("stay", 4);
	struct blob_view view;

	(void)state;
	assert_int_equal(blob_view(fd, 4, &view), 0);
	close(fd);
	assert_memory_equal(view.data, "stay", 4);
	blob_view_clear(&view);
}

static void test_is_read_from_its_beginning_as_a_stream(void **state)
{
	_cleanup_fd_ int fd = blob_from("start", 5);
	char data[8];

	(void)state;
	assert_int_equal(read(fd, data, sizeof(data)), 5);
	assert_memory_equal(data, "start", 5);
}

static void test_cannot_be_changed_once_sealed(void **state)
{
	_cleanup_fd_ int fd = blob_from("fixed", 5);

	(void)state;
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(errno, EPERM);
	assert_int_equal(ftruncate(fd, 1), -1);
	assert_int_equal(ftruncate(fd, 100), -1);
	assert_ptr_equal(mmap(NULL, 5, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE), -1);
	assert_int_equal(fcntl(fd, F_GET_SEALS) & SEALS, SEALS);
}

static void test_new_blob_is_writable_empty_and_close_on_exec(void **state)
{
	_cleanup_fd_ int fd = blob_new();
	struct stat st;

	(void)state;
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(write(fd, "abc", 3), 3);
	assert_int_equal(blob_check(fd, 3), -EBADMSG);
	assert_int_equal(blob_seal(fd), 0);
	assert_int_equal(blob_check(fd, 3), 0);
}

static void test_does_not_seal_while_somebody_can_write_through_a_mapping(void **state)
{
	_cleanup_fd_ int fd = memfd_with("abc", 0);
	void *map = mmap(NULL, 3, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	(void)state;
	assert_ptr_not_equal(map, MAP_FAILED);
	assert_int_equal(blob_seal(fd), -EBUSY);
	munmap(map, 3);
	assert_int_equal(blob_seal(fd), 0);
}

static void test_refuses_oversize(void **state)
{
	_cleanup_fd_ int fd = blob_from("12345", 5);

	(void)state;
	assert_refused(fd, 4, -EFBIG);
	assert_refused(fd, 0, -EFBIG);
	assert_int_equal(blob_check(fd, UINT64_MAX), 0);
}

static void test_seals_what_is_let_go_of_in_time(void **state)
{
	int fd = blob_new(), told[2];
	char byte;
	pid_t pid;

	(void)state;
	assert_int_equal(ftruncate(fd, 4096), 0);
	assert_int_equal(pipe(told), 0);
	pid = fork();
	if (pid == 0) {
		void *map = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

		if (map == MAP_FAILED || write(told[1], "x", 1) != 1)
			_exit(1);
		usleep(50000);
		_exit(0);
	}
	assert_int_equal(read(told[0], &byte, 1), 1);
	assert_int_equal(blob_seal(fd), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(told[0]);
	close(told[1]);
	close(fd);
}

static void test_refuses_unsealed_memfd(void **state)
{
	_cleanup_fd_ int fd = memfd_with("abc", 0);

	(void)state;
	assert_refused(fd, 100, -EBADMSG);
}

static void test_refuses_memfd_that_lacks_one_seal(void **state)
{
	static const int one[] = {F_SEAL_SHRINK, F_SEAL_GROW, F_SEAL_WRITE, F_SEAL_SEAL};

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		_cleanup_fd_ int fd = memfd_with("abc", SEALS & ~one[i]);

		assert_refused(fd, 100, -EBADMSG);
	}
}

static void test_refuses_a_seal_against_future_writes_only(void **state)
{
	_cleanup_fd_ int fd =
		memfd_with("abc", F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL);

	(void)state;
	assert_refused(fd, 100, -EBADMSG);
}

static void test_refuses_what_is_no_memfd(void **state)
{
	static const char name[] = "/tmp/test_blob.XXXXXX",
			  shm_name[] = "/dev/shm/test_blob.XXXXXX";
	char path[sizeof(shm_name)];
	int pipe_fds[2];

	(void)state;
	assert_int_equal(pipe(pipe_fds), 0);
	assert_refused(pipe_fds[0], 100, -EBADMSG);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	for (int shm = 0; shm <= 1; shm++) {
		_cleanup_fd_ int fd = -1;

		memcpy(path, shm ? shm_name : name, shm ? sizeof(shm_name) : sizeof(name));
		fd = mkstemp(path);
		assert_true(fd >= 0);
		unlink(path);
		assert_refused(fd, 100, -EBADMSG);
	}
	assert_refused(-1, 100, -EBADF);
}

static void test_refuses_a_descriptor_that_cannot_be_read(void **state)
{
	_cleanup_fd_ int fd = memfd_with("abc", 0);
	_cleanup_fd_ int write_only = -1;
	_cleanup_free_ char *path = malloc(64);
	struct blob_view view;

	(void)state;
	assert_non_null(path);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	write_only = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(write_only >= 0);
	assert_int_equal(blob_seal(fd), 0);
	assert_int_equal(blob_view(write_only, 100, &view), -EACCES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gives_back_what_was_put_in),
		cmocka_unit_test(test_holds_megabytes),
		cmocka_unit_test(test_views_an_empty_blob_without_null),
		cmocka_unit_test(test_clears_a_view_of_zero_bytes),
		cmocka_unit_test(test_view_outlives_the_descriptor),
		cmocka_unit_test(test_is_read_from_its_beginning_as_a_stream),
		cmocka_unit_test(test_cannot_be_changed_once_sealed),
		cmocka_unit_test(test_new_blob_is_writable_empty_and_close_on_exec),
		cmocka_unit_test(test_does_not_seal_while_somebody_can_write_through_a_mapping),
		cmocka_unit_test(test_refuses_oversize),
		cmocka_unit_test(test_seals_what_is_let_go_of_in_time),
		cmocka_unit_test(test_refuses_unsealed_memfd),
		cmocka_unit_test(test_refuses_memfd_that_lacks_one_seal),
		cmocka_unit_test(test_refuses_a_seal_against_future_writes_only),
		cmocka_unit_test(test_refuses_what_is_no_memfd),
		cmocka_unit_test(test_refuses_a_descriptor_that_cannot_be_read),
	};

	return cmocka_run_group_tests_name("blob", tests, NULL, NULL);
}
