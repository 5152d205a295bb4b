/* blob - the caller's bytes, in memory files that nobody can change any more.
 *
 * A blob is a memfd sealed against shrinking, growing, writing and further sealing. Whoever receives one checks the
 * seals first: they prove that it is a memfd and that its content cannot change under the reader; then the size; then
 * it maps it read-only. See memfd_create(2), fcntl(2) F_ADD_SEALS. Where the kernel knows MFD_NOEXEC_SEAL (6.3) it is
 * used, since vm.memfd_noexec=2 refuses a memfd without it.
 */
#ifndef COMMON_BLOB_H
#define COMMON_BLOB_H

#include <stddef.h>
#include <stdint.h>

/* A blob mapped for reading. data is never NULL, also when size is 0. */
struct blob_view {
	const char *data;
	size_t size;
	void *map; /* private: what to unmap */
};

/* Makes an empty, writable memfd, close-on-exec. Returns the descriptor, owned by the caller, or a negative errno. */
int blob_new(void);

/* Seals it, and waits a moment where that needs it. The descriptor stays the caller's. Returns 0, -EBUSY when somebody
 * holds on to it, or another negative errno. */
int blob_seal(int fd);

/* Makes a sealed blob of a copy of data. Returns the descriptor, owned by the caller, or a negative errno. */
int blob_from(const void *data, size_t len);

/* Says whether fd is a sealed memfd of at most max_bytes. Returns 0, -EBADMSG when it is not sealed or no memfd,
 * -EFBIG when it is larger, or another negative errno. */
int blob_check(int fd, uint64_t max_bytes);

/* Checks like blob_check and maps the content read-only. Does not take fd: the view stays valid after it is closed.
 * The view is the caller's, to be given back by blob_view_clear. Returns 0 or a negative errno. */
int blob_view(int fd, uint64_t max_bytes, struct blob_view *view);

/* Unmaps. A view of all zero bytes is allowed. */
void blob_view_clear(struct blob_view *view);

#endif
