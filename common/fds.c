/* fds - small duties around descriptors that both processes have. */
#include "common/fds.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/cleanup.h"

#define COPY_BYTES (1 << 20)

int fds_fill_standard(void)
{
	for (int fd = 0; fd <= 2; fd++) {
		if (fcntl(fd, F_GETFD) >= 0)
			continue;
		/* open(2) gives the lowest free number, and everything below fd is open by now. It
		 * is meant to survive exec: the program that comes next must not find a hole
		 * either. */
		if (open("/dev/null", O_RDWR) < 0)
			return -errno;
	}
	return 0;
}

/* The smallest entry of keep that is at least from, or -1. */
static int next_kept(const int *keep, size_t n, int from)
{
	int next = -1;

	for (size_t i = 0; i < n; i++) {
		if (keep[i] >= from && (next < 0 || keep[i] < next))
			next = keep[i];
	}
	return next;
}

int fds_close_all_but(const int *keep, size_t n)
{
	int from = 0;

	for (int kept; (kept = next_kept(keep, n, from)) >= 0; from = kept + 1) {
		if (kept > from && close_range((unsigned int)from, (unsigned int)kept - 1, 0) < 0)
			return -errno;
		if (kept == INT_MAX)
			return 0;
	}
	return close_range((unsigned int)from, UINT_MAX, 0) < 0 ? -errno : 0;
}

/* Returns whether another write makes sense. */
static bool wait_writable(int fd)
{
	struct pollfd writable = {.fd = fd, .events = POLLOUT};

	return poll(&writable, 1, -1) > 0 || errno == EINTR;
}

int fds_write_all(int fd, const void *data, size_t len)
{
	const char *rest = data;

	while (len > 0) {
		ssize_t n = write(fd, rest, len);

		if (n < 0 && errno == EINTR)
			continue;
		/* Whoever shares the descriptor may have made it non-blocking. */
		if (n < 0 && errno == EAGAIN && wait_writable(fd))
			continue;
		if (n < 0)
			return -errno;
		rest += n;
		len -= (size_t)n;
	}
	return 0;
}

static ssize_t read_some(int fd, void *data, size_t size)
{
	ssize_t n;

	do {
		n = read(fd, data, size);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t fds_read_all(int fd, void *data, size_t size)
{
	char *place = data;
	size_t len = 0;
	char surplus;
	ssize_t n;

	while (len < size) {
		n = read_some(fd, place + len, size - len);
		if (n < 0)
			return n;
		if (n == 0)
			return (ssize_t)len;
		len += (size_t)n;
	}
	n = read_some(fd, &surplus, 1);
	if (n < 0)
		return n;
	return n > 0 ? -EFBIG : (ssize_t)len;
}

int fds_open_process(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);

	return fd < 0 ? -errno : fd;
}

int fds_copy(int from, const char *path)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	off_t offset = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	do {
		n = sendfile(fd, from, &offset, COPY_BYTES);
	} while (n > 0);
	return n < 0 ? -errno : 0;
}

bool fds_is_socket(int fd)
{
	struct stat status;

	return fstat(fd, &status) == 0 && S_ISSOCK(status.st_mode);
}

int fds_write_file(const char *path, const char *text)
{
	_cleanup_fd_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fds_write_all(fd, text, strlen(text));
}
