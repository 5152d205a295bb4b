/* capture - the three pipes of a run: stdin fed from a blob, stdout and stderr collected into two under one cap.
 *
 * Pipes, never the blobs themselves: what a program can do with its descriptors is what it can do under a shell. Bytes
 * move by splice(2) and are never looked at. Beyond the cap output is read and dropped, so that the program runs on.
 * A flood on stdout would leave no room for the traceback that says why a program failed; so the first 4 KiB of stderr
 * beyond the cap push as many bytes off the end of stdout.
 */
#ifndef WORKER_CAPTURE_H
#define WORKER_CAPTURE_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

enum capture_stream { CAPTURE_STDIN, CAPTURE_STDOUT, CAPTURE_STDERR, CAPTURE_STREAMS };

struct capture {
	int pipes[CAPTURE_STREAMS]; /* our ends; -1 once they have ended */
	int blobs[CAPTURE_STREAMS]; /* what is fed, and what is filled */
	int sink;		    /* /dev/null */
	uint64_t room_bytes;	    /* left under the cap */
	uint64_t pushed_bytes;	    /* of stderr, which stdout had to make room for */
	uint64_t kept_bytes[CAPTURE_STREAMS];
	bool cut[CAPTURE_STREAMS]; /* bytes were dropped at its end */
};

/* Makes pipes and blobs. Takes stdin_blob in every case. ends[] receives the run's ends, owned by the caller, to be
 * closed once the run has them. Returns 0 or a negative errno. */
int capture_init(struct capture *capture, int stdin_blob, uint64_t output_max_bytes,
		 int ends[CAPTURE_STREAMS]);

/* Fills in what to poll for; a stream that has ended gets a negative descriptor. */
void capture_poll(const struct capture *capture, struct pollfd fds[CAPTURE_STREAMS]);

/* Moves bytes where poll found something. Returns 0 or a negative errno. */
int capture_move(struct capture *capture, const struct pollfd fds[CAPTURE_STREAMS]);

/* Reads both outputs to their end, which has come: every process that could write is dead. Seals the blobs.
 * Returns 0 or a negative errno. */
int capture_finish(struct capture *capture);

/* Closes everything that is left. */
void capture_clear(struct capture *capture);

#endif
