/* report - see the header. */
#include "worker/report.h"

#include <errno.h>
#include <unistd.h>

#include "common/cleanup.h"
#include "common/packet.h"

static const char go = 'G';

int report_send(int sock, const struct report *report)
{
	return packet_send(sock, report, sizeof(*report), NULL, 0);
}

void report_failure(int sock, enum stage stage, int error)
{
	struct report report = {.kind = REPORT_FAILED, .stage = stage, .error = error};

	report_send(sock, &report);
	_exit(1);
}

int report_ready(int sock, uint32_t layers, int listener)
{
	struct report report = {.kind = REPORT_READY, .layers = layers};
	_cleanup_fd_ int fd = listener;

	/* The kernel bounds how many descriptors a user may have in flight. Without its listener the filter refuses
	 * with ENOSYS what would have been noted. */
	if (fd >= 0 && packet_send(sock, &report, sizeof(report), &fd, 1) == 0)
		return 0;
	return report_send(sock, &report);
}

/* What the other side did not hear before it died is of no matter: what it said last is. */
static int receive(int sock, void *data, size_t len, int *fds, size_t max_fds, size_t *nfds)
{
	int r;

	do {
		r = packet_recv(sock, data, len, fds, max_fds, nfds);
	} while (r == -ECONNRESET);
	return r;
}

int report_recv(int sock, struct report *report, int *listener)
{
	_cleanup_fd_ int fd = -1;
	size_t nfds;
	int r = receive(sock, report, sizeof(*report), &fd, 1, &nfds);

	if (r == 1 && fd >= 0 && report->kind != REPORT_READY)
		r = -EPROTO;
	*listener = r == 1 ? take_fd(&fd) : -1;
	return r;
}

int report_give(int sock, const int fds[GIVE_FDS])
{
	return packet_send(sock, &go, sizeof(go), fds, GIVE_FDS);
}

int report_take(int sock, int fds[GIVE_FDS])
{
	char byte;
	size_t nfds;
	int r = receive(sock, &byte, sizeof(byte), fds, GIVE_FDS, &nfds);

	if (r == 1 && nfds != GIVE_FDS) {
		while (nfds)
			close(fds[--nfds]);
		return -EPROTO;
	}
	return r;
}
