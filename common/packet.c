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
	char bytes[CMSG_SPACE(sizeof(int) * PACKET_MAX_FDS) + CMSG_SPACE(sizeof(struct ucred))];
};

/* What came beside the data of a message: of descriptors as many as there was room for, whatever that was meant for. */
struct beside {
	int fds[sizeof(union control) / sizeof(int)];
	size_t n;
	bool named;
	pid_t sender;
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

static bool take_control(const struct cmsghdr *c, struct beside *beside)
{
	size_t bytes = c->cmsg_len - CMSG_LEN(0);
	struct ucred sender;

	if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS &&
	    bytes == sizeof(sender)) {
		memcpy(&sender, CMSG_DATA(c), sizeof(sender));
		beside->sender = sender.pid;
		beside->named = true;
		return true;
	}
	if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
		return false;
	memcpy(beside->fds + beside->n, CMSG_DATA(c), bytes);
	beside->n += bytes / sizeof(int);
	return true;
}

/* Takes everything out of a message. Returns whether there was nothing but descriptors and a sender. */
static bool take_beside(struct msghdr *msg, struct beside *beside)
{
	bool clean = true;

	*beside = (struct beside){.n = 0};
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c))
		clean = take_control(c, beside) && clean;
	return clean;
}

int packet_name_senders(int sock)
{
	int on = 1;

	return setsockopt(sock, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) ? -errno : 0;
}

/* With sender NULL nobody may be named. */
static int receive(int sock, void *data, size_t len, int *fds, size_t max_fds, size_t *nfds,
		   pid_t *sender)
{
	union control control;
	struct iovec iov = {.iov_base = data, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = control.bytes,
			     .msg_controllen = sizeof(control.bytes)};
	struct beside beside;
	ssize_t got;
	bool good;

	/* ECONNRESET, when it comes, comes before what is in the queue: net/unix/af_unix.c, unix_release_sock(). */
	do {
		got = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	good = take_beside(&msg, &beside) && (size_t)got == len && beside.n <= max_fds &&
	       (sender || !beside.named) && !(msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC));
	if (good) {
		for (size_t i = 0; i < beside.n; i++)
			fds[i] = beside.fds[i];
		*nfds = beside.n;
		if (sender)
			*sender = beside.sender;
		return 1;
	}
	for (size_t i = 0; i < beside.n; i++)
		close(beside.fds[i]);
	/* An empty packet looks like the end of the stream, and is the end of this peer just the same. */
	return got == 0 && beside.n == 0 ? 0 : -EPROTO;
}

int packet_recv(int sock, void *data, size_t len, int *fds, size_t max_fds, size_t *nfds)
{
	return receive(sock, data, len, fds, max_fds, nfds, NULL);
}

int packet_recv_from(int sock, void *data, size_t len, int *fds, size_t max_fds, size_t *nfds,
		     pid_t *sender)
{
	return receive(sock, data, len, fds, max_fds, nfds, sender);
}
