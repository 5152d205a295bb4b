/* capture - see the header. */
#include "worker/capture.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "common/blob.h"
#include "common/cleanup.h"
#include "common/limits.h"

/* One splice moves at most this much, so that no stream starves another. */
#define CHUNK_BYTES (256 * KIB)
/* Fewer turns of worker and program for large outputs; refused at the user's limit of pipe pages, which is no harm. */
#define PIPE_BYTES (256 * KIB)

/* Makes one pipe; the end that is ours does not block. */
static int make_pipe(int *ours, int *theirs, bool we_write)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC))
		return -errno;
	*ours = ends[we_write];
	*theirs = ends[!we_write];
	fcntl(*ours, F_SETPIPE_SZ, PIPE_BYTES);
	return fcntl(*ours, F_SETFL, O_NONBLOCK) ? -errno : 0;
}

static int make_streams(struct capture *capture, int ends[CAPTURE_STREAMS])
{
	for (int i = 0; i < CAPTURE_STREAMS; i++) {
		int r = make_pipe(&capture->pipes[i], &ends[i], i == 0);

		if (r < 0)
			return r;
		if (i > 0 && (capture->blobs[i] = blob_new()) < 0)
			return capture->blobs[i];
	}
	return 0;
}

int capture_init(struct capture *capture, int stdin_blob, uint64_t output_max_bytes,
		 int ends[CAPTURE_STREAMS])
{
	int r;

	*capture = (struct capture){.pipes = {-1, -1, -1},
				    .blobs = {stdin_blob, -1, -1},
				    .sink = open("/dev/null", O_WRONLY | O_CLOEXEC),
				    .room_bytes = output_max_bytes};
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		ends[i] = -1;
	r = capture->sink < 0 ? -errno : make_streams(capture, ends);
	if (r < 0) {
		for (int i = 0; i < CAPTURE_STREAMS; i++)
			cleanup_fd(&ends[i]);
		capture_clear(capture);
	}
	return r;
}

void capture_poll(const struct capture *capture, struct pollfd fds[CAPTURE_STREAMS])
{
	for (int i = 0; i < CAPTURE_STREAMS; i++)
		fds[i] = (struct pollfd){.fd = capture->pipes[i],
					 .events = i == 0 ? POLLOUT : POLLIN};
}

/* Feeds stdin; its end, or a program that does not read any more, closes the pipe. */
static void feed(struct capture *capture)
{
	ssize_t n = splice(capture->blobs[0], NULL, capture->pipes[0], NULL, CHUNK_BYTES,
			   SPLICE_F_NONBLOCK);

	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	cleanup_fd(&capture->pipes[0]);
}

/* Moves one chunk of an output. Returns 1 when something was moved, 0 when there is nothing now or ever (the pipe is
 * closed at its end), or a negative errno. */
static int drain(struct capture *capture, int i)
{
	bool keep = capture->room_bytes > 0;
	size_t max = keep && capture->room_bytes < CHUNK_BYTES ? (size_t)capture->room_bytes
							       : CHUNK_BYTES;
	ssize_t n = splice(capture->pipes[i], NULL, keep ? capture->blobs[i] : capture->sink, NULL,
			   max, SPLICE_F_NONBLOCK);

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0) {
		cleanup_fd(&capture->pipes[i]);
		return 0;
	}
	if (keep)
		capture->room_bytes -= (uint64_t)n;
	else
		capture->truncated = true;
	return 1;
}

int capture_move(struct capture *capture, const struct pollfd fds[CAPTURE_STREAMS])
{
	if (fds[0].fd >= 0 && fds[0].revents)
		feed(capture);
	for (int i = 1; i < CAPTURE_STREAMS; i++) {
		int r = fds[i].fd >= 0 && fds[i].revents ? drain(capture, i) : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

int capture_finish(struct capture *capture)
{
	for (int i = 1; i < CAPTURE_STREAMS; i++) {
		int r = 1;

		while (capture->pipes[i] >= 0 && r == 1)
			r = drain(capture, i);
		if (r < 0 || (r = blob_seal(capture->blobs[i])) < 0)
			return r;
	}
	return 0;
}

void capture_clear(struct capture *capture)
{
	for (int i = 0; i < CAPTURE_STREAMS; i++) {
		cleanup_fd(&capture->pipes[i]);
		cleanup_fd(&capture->blobs[i]);
	}
	cleanup_fd(&capture->sink);
}
