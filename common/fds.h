/* fds - small duties around descriptors that both processes have. */
#ifndef COMMON_FDS_H
#define COMMON_FDS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* Opens /dev/null on each of 0, 1, 2 that is closed, so that no later descriptor gets such a number.
 * Returns 0 or a negative errno. */
int fds_fill_standard(void);

/* Closes every descriptor but those in keep (n of them, any order, -1 entries are ignored), by close_range(2) with
 * /proc/self/fd as no fallback: a kernel before 5.9 is refused. Returns 0 or a negative errno. */
int fds_close_all_but(const int *keep, size_t n);

/* Writes all of it, through EINTR and short writes; waits for a non-blocking descriptor too. Returns 0 or a negative
 * errno. */
int fds_write_all(int fd, const void *data, size_t len);

/* Makes a new file with a copy of all that from holds, whose position stays. Returns 0 or a negative errno. */
int fds_copy(int from, const char *path);

/* Says whether it is a socket. */
bool fds_is_socket(int fd);

/* Writes text to a file that exists, such as one of proc. Returns 0 or a negative errno. */
int fds_write_file(const char *path, const char *text);

/* A descriptor for a process, close-on-exec: pidfd_open(2), for which glibc has a function only since 2.36.
 * Returns it, owned by the caller, or a negative errno. */
int fds_open_process(pid_t pid);

/* Reads up to size bytes until end of file. Returns how many, -EFBIG when there is more, or another negative errno. */
ssize_t fds_read_all(int fd, void *data, size_t size);

#endif
