/* blob - sealed memfds: see memfd_create(2) and "File Sealing" in fcntl(2). */
#include "common/blob.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/fds.h"

/* include/uapi/linux/memfd.h since Linux 6.3; older C libraries do not name it. */
#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif

#define SEAL_TRIES 10
#define SEAL_PAUSE_NS 30000000L

#define BLOB_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL)

int blob_new(void)
{
	int fd = memfd_create("blob", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL)
		fd = memfd_create("blob", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd < 0 ? -errno : fd;
}

/* EBUSY: somebody can still write, or the kernel itself holds on to a page, as it does in passing when it moves memory
 * around on a busy machine. It waits for that, but not for long (memfd_wait_for_pins in mm/memfd.c). */
int blob_seal(int fd)
{
	const struct timespec pause = {.tv_nsec = SEAL_PAUSE_NS};

	for (int tries = 1; fcntl(fd, F_ADD_SEALS, BLOB_SEALS) < 0; tries++) {
		if (errno != EBUSY || tries == SEAL_TRIES)
			return -errno;
		nanosleep(&pause, NULL);
	}
	return 0;
}

int blob_from(const void *data, size_t len)
{
	_cleanup_fd_ int fd = blob_new();
	int error;

	if (fd < 0)
		return fd;
	error = fds_write_all(fd, data, len);
	if (error)
		return error;
	/* Whoever reads it as a stream begins at the beginning. */
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	error = blob_seal(fd);
	return error ? error : take_fd(&fd);
}

/* Only a memfd can carry all four seals: F_GET_SEALS is EINVAL for what cannot be sealed, and a
 * file on a tmpfs is born with F_SEAL_SEAL alone. */
static int blob_size(int fd, uint64_t max_bytes, size_t *size)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0)
		return errno == EINVAL ? -EBADMSG : -errno;
	if ((seals & BLOB_SEALS) != BLOB_SEALS)
		return -EBADMSG;
	if (fstat(fd, &st) < 0)
		return -errno;
	if ((uint64_t)st.st_size > max_bytes)
		return -EFBIG;
	*size = (size_t)st.st_size;
	return 0;
}

int blob_check(int fd, uint64_t max_bytes)
{
	size_t size;

	return blob_size(fd, max_bytes, &size);
}

int blob_view(int fd, uint64_t max_bytes, struct blob_view *view)
{
	size_t size = 0;
	int error = blob_size(fd, max_bytes, &size);
	void *map;

	*view = (struct blob_view){.data = ""};
	if (error || size == 0)
		return error;
	/* Private, because kernels before 6.7 refuse a shared mapping of a write-sealed memfd even
	 * for reading. */
	map = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (map == MAP_FAILED)
		return -errno;
	*view = (struct blob_view){.data = map, .size = size, .map = map};
	return 0;
}

void blob_view_clear(struct blob_view *view)
{
	if (view->map)
		munmap(view->map, view->size);
	*view = (struct blob_view){.data = ""};
}
