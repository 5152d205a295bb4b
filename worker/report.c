/* report - see the header. */
#include "worker/report.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/packet.h"

int report_pair(int pair[2])
{
	int r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair))
		return -errno;
	r = fcntl(pair[0], F_SETFL, O_NONBLOCK) ? -errno : packet_name_senders(pair[0]);
	if (r < 0) {
		close(pair[0]);
		close(pair[1]);
	}
	return r;
}

int report_send(int sock, const struct report *report)
{
	return packet_send(sock, report, sizeof(*report), NULL, 0);
}

int report_failed(int sock, enum stage stage, int error)
{
	struct report report = {.kind = REPORT_FAILED, .stage = stage, .error = error};

	return report_send(sock, &report);
}

void report_failure(int sock, enum stage stage, int error)
{
	report_failed(sock, stage, error);
	_exit(1);
}

void report_step(int sock, enum stage stage, int r)
{
	if (r < 0)
		report_failure(sock, stage, -r);
}

int report_spawned(int sock, int namespaces[NAMESPACES])
{
	struct report report = {.kind = REPORT_SPAWNED};
	int r = packet_send(sock, &report, sizeof(report), namespaces, namespaces ? NAMESPACES : 0);

	for (size_t i = 0; namespaces && i < NAMESPACES; i++)
		cleanup_fd(&namespaces[i]);
	return r;
}

int report_ready(int sock, uint32_t layers, pid_t pid, int listener)
{
	struct report report = {.kind = REPORT_READY, .layers = layers, .pid = pid};
	_cleanup_fd_ int fd = listener;

	/* The kernel bounds how many descriptors a user may have in flight. Without its listener the filter refuses
	 * with ENOSYS what would have been noted. */
	if (fd >= 0 && packet_send(sock, &report, sizeof(report), &fd, 1) == 0)
		return 0;
	return report_send(sock, &report);
}

int report_taken(int sock)
{
	struct report report = {.kind = REPORT_TAKEN};

	return report_send(sock, &report);
}

static bool is_number_of_fds(uint32_t kind, size_t n)
{
	return n == 0 || (kind == REPORT_SPAWNED && n == NAMESPACES) ||
	       (kind == REPORT_READY && n == 1);
}

/* What the other side did not hear before it died is of no matter: what it said last is. */
static int receive(int sock, void *data, size_t len, int *fds, size_t max_fds, size_t *nfds,
		   pid_t *sender)
{
	int r;

	do {
		r = packet_recv_from(sock, data, len, fds, max_fds, nfds, sender);
	} while (r == -ECONNRESET);
	return r;
}

int report_recv(int sock, struct report *report, struct report_beside *beside)
{
	size_t n = 0;
	int r;

	for (size_t i = 0; i < NAMESPACES; i++)
		beside->fds[i] = -1;
	r = receive(sock, report, sizeof(*report), beside->fds, NAMESPACES, &n, &beside->sender);
	if (r != 1 || is_number_of_fds(report->kind, n))
		return r;
	while (n)
		cleanup_fd(&beside->fds[--n]);
	return -EPROTO;
}

int report_give(int sock, const int *fds, size_t nfds)
{
	struct order order = {.kind = ORDER_START};

	return packet_send(sock, &order, sizeof(order), fds, nfds);
}

int report_adopt(int sock, pid_t pid)
{
	struct order order = {.kind = ORDER_ADOPT, .pid = pid};

	return packet_send(sock, &order, sizeof(order), NULL, 0);
}

int report_take(int sock, struct order *order, int fds[GIVE_ALL_FDS])
{
	pid_t sender;
	size_t n = 0;
	int r;

	for (size_t i = 0; i < GIVE_ALL_FDS; i++)
		fds[i] = -1;
	r = receive(sock, order, sizeof(*order), fds, GIVE_ALL_FDS, &n, &sender);
	if (r != 1 || n == (order->kind == ORDER_START ? GIVE_FDS : 0) ||
	    (order->kind == ORDER_START && n == GIVE_ALL_FDS))
		return r;
	while (n)
		cleanup_fd(&fds[--n]);
	return -EPROTO;
}
