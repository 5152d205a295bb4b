/* packet - one message with descriptors on a SOCK_SEQPACKET socket. unix(7), cmsg(3).
 *
 * The one place where SCM_RIGHTS is handled: frame.h (supervisor and worker) and worker/report.h (worker and init)
 * stand on it.
 */
#ifndef COMMON_PACKET_H
#define COMMON_PACKET_H

#include <stddef.h>
#include <sys/types.h>

/* More descriptors than any message has; what comes beyond is still received and closed. */
#define PACKET_MAX_FDS 8

/* Sends data with nfds descriptors (nfds <= PACKET_MAX_FDS), which stay the caller's. Never blocks, never raises
 * SIGPIPE. Returns 0, -EPIPE when the peer is gone, -EAGAIN when the socket is full, or another negative errno. */
int packet_send(int sock, const void *data, size_t len, const int *fds, size_t nfds);

/* Receives a message of exactly len bytes with at most max_fds descriptors. On success fds[0..*nfds) are the caller's,
 * close-on-exec. On any failure no descriptor stays open.
 * Returns 1, 0 at the end of the stream, -EAGAIN when a non-blocking socket has none, -EPROTO for a message of another
 * size, with more descriptors or with another kind of control data, or another negative errno.
 * -ECONNRESET is no end: the peer has gone and had not received the last message that was sent to it, nor perhaps those
 * before. It is told once, before what the peer itself had sent last can be had: call again for that. */
int packet_recv(int sock, void *data, size_t len, int *fds, size_t max_fds, size_t *nfds);

/* Has the kernel say with each message on sock who sent it. Returns 0 or a negative errno. */
int packet_name_senders(int sock);

/* Receives as packet_recv does, on a socket whose senders are named. *sender is the pid of the one that sent it, as the
 * caller sees it (0: it does not), and cannot be forged. */
int packet_recv_from(int sock, void *data, size_t len, int *fds, size_t max_fds, size_t *nfds,
		     pid_t *sender);

#endif
