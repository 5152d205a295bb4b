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
/* So much of stderr is kept beyond the cap, at the cost of stdout: a traceback. */
#define PUSH_BYTES (4 * KIB)
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
		int r = make_pipe(&capture->pipes[i], &ends[i], i == CAPTURE_STDIN);

		if (r < 0)
			return r;
		if (i != CAPTURE_STDIN && (capture->blobs[i] = blob_new()) < 0)
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
					 .events = i == CAPTURE_STDIN ? POLLOUT : POLLIN};
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

/* How many bytes of a stream may be kept now. */
static size_t room_for(const struct capture *capture, enum capture_stream stream)
{
	uint64_t room = capture->room_bytes;

	if (!room && stream == CAPTURE_STDERR) {
		room = PUSH_BYTES - capture->pushed_bytes;
		if (room > capture->kept_bytes[CAPTURE_STDOUT])
			room = capture->kept_bytes[CAPTURE_STDOUT];
	}
	return room < CHUNK_BYTES ? (size_t)room : CHUNK_BYTES;
}

/* Takes bytes off the end of stdout; nothing more is written to it, for there is no room. */
static int push_off(struct capture *capture, uint64_t bytes)
{
	capture->pushed_bytes += bytes;
	capture->kept_bytes[CAPTURE_STDOUT] -= bytes;
	capture->cut[CAPTURE_STDOUT] = true;
	return ftruncate(capture->blobs[CAPTURE_STDOUT], (off_t)capture->kept_bytes[CAPTURE_STDOUT])
		       ? -errno
		       : 0;
}

static int keep(struct capture *capture, enum capture_stream stream, uint64_t bytes)
{
	capture->kept_bytes[stream] += bytes;
	if (!capture->room_bytes)
		return push_off(capture, bytes);
	capture->room_bytes -= bytes;
	return 0;
}

/* Moves one chunk of an output. Returns 1 when something was moved, 0 when there is nothing now or ever (the pipe is
 * closed at its end), or a negative errno. */
static int drain(struct capture *capture, enum capture_stream stream)
{
	size_t room = room_for(capture, stream);
	ssize_t n =
		splice(capture->pipes[stream], NULL, room ? capture->blobs[stream] : capture->sink,
		       NULL, room ? room : CHUNK_BYTES, SPLICE_F_NONBLOCK);
	int r = 0;

	if (n < 0)
		return errno == EAGAIN || errno == EINTR ? 0 : -errno;
	if (n == 0) {
		cleanup_fd(&capture->pipes[stream]);
		return 0;
	}
	if (room)
		r = keep(capture, stream, (uint64_t)n);
	else
		capture->cut[stream] = true;
	return r < 0 ? r : 1;
}

int capture_move(struct capture *capture, const struct pollfd fds[CAPTURE_STREAMS])
{
	if (fds[0].fd >= 0 && fds[0].revents)
		feed(capture);
	for (int i = CAPTURE_STDOUT; i < CAPTURE_STREAMS; i++) {
		int r = fds[i].fd >= 0 && fds[i].revents ? drain(capture, (enum capture_stream)i)
							 : 0;

		if (r < 0)
			return r;
	}
	return 0;
}

/* Nothing is sealed before all is drained: what comes on stderr may take from stdout. */
int capture_finish(struct capture *capture)
{
	int r = 1;

	for (int i = CAPTURE_STDOUT; i < CAPTURE_STREAMS; i++, r = 1) {
		while (capture->pipes[i] >= 0 && r == 1)
			r = drain(capture, (enum capture_stream)i);
		if (r < 0)
			return r;
	}
	for (int i = CAPTURE_STDOUT; i < CAPTURE_STREAMS; i++)
		if ((r = blob_seal(capture->blobs[i])) < 0)
			return r;
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
