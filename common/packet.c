/* packet - see the header. */
#include "common/packet.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* Room for more than PACKET_MAX_FDS: the kernel drops what does not fit, and says so (MSG_CTRUNC). */
union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int) * PACKET_MAX_FDS)];
};

/* EPIPE has one meaning for the caller; a peer that left with messages unread says ECONNRESET, a dead
 * one may say ECONNREFUSED (net/unix/af_unix.c). */
static int send_error(int error)
{
	return error == ECONNRESET || error == ECONNREFUSED ? -EPIPE : -error;
}

int packet_send(int sock, const void *data, size_t len, const int *fds, size_t nfds)
{
	union control control = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	ssize_t sent;

	if (nfds) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(&control.header), fds, sizeof(int) * nfds);
	}
	do {
		sent = sendmsg(sock, &msg, MSG_NOSIGNAL | MSG_DONTWAIT);
	} while (sent < 0 && errno == EINTR);
	return sent < 0 ? send_error(errno) : 0;
}

/* Takes every descriptor out of a message. Returns whether there was nothing but one SCM_RIGHTS. */
static bool take_fds(struct msghdr *msg, int all[PACKET_MAX_FDS], size_t *n)
{
	bool clean = true;

	*n = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		size_t bytes = c->cmsg_len - CMSG_LEN(0);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS ||
		    *n + bytes / sizeof(int) > PACKET_MAX_FDS) {
			clean = false;
			continue;
		}
		memcpy(all + *n, CMSG_DATA(c), bytes);
		*n += bytes / sizeof(int);
	}
	return clean;
}

int packet_recv(int sock, void *data, size_t len, int *fds, size_t max_fds, size_t *nfds)
{
	union control control;
	struct iovec iov = {.iov_base = data, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	int all[PACKET_MAX_FDS];
	ssize_t got;
	size_t n;
	bool good;

	/* ECONNRESET, when it comes, comes before what is in the queue: net/unix/af_unix.c, unix_release_sock(). */
	do {
		got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	good = take_fds(&msg, all, &n) && (size_t)got == len && n <= max_fds &&
	       !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	if (good) {
		for (size_t i = 0; i < n; i++)
			fds[i] = all[i];
		*nfds = n;
		return 1;
	}
	for (size_t i = 0; i < n; i++)
		close(all[i]);
	/* An empty packet looks like the end of the stream, and is the end of this peer just the same. */
	return got == 0 && n == 0 ? 0 : -EPROTO;
}
