/* Unit tests of frame_send and frame_recv, with senders that are hostile. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cmocka.h>

#include "common/blob.h"
#include "common/cleanup.h"
#include "common/frame.h"
#include "tests/unit/fd_count.h"
#include "tests/unit/frame_good.h"

struct wire {
	int near, far; /* near is the end under test; far belongs to the peer */
	int fds_before;
};

static struct wire WIRE;

static int wire_setup(void **state)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -1;
	WIRE = (struct wire){.near = pair[0], .far = pair[1], .fds_before = fd_count()};
	*state = &WIRE;
	return 0;
}

static int wire_teardown(void **state)
{
	struct wire *wire = *state;

	cleanup_fd(&wire->near);
	cleanup_fd(&wire->far);
	return 0;
}

/* What a peer of ours would not do: any bytes, with any descriptors, in a control message of any type. */
static void send_raw(int sock, const void *data, size_t len, const int *fds, size_t nfds, int type)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(64 * sizeof(int))] = {0};
	struct iovec iov = {.iov_base = (void *)(uintptr_t)data, .iov_len = len};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	struct cmsghdr *cmsg = (struct cmsghdr *)control;

	if (nfds > 0) {
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = type;
		cmsg->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(cmsg), fds, nfds * sizeof(int));
		msg.msg_control = control;
		msg.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
	}
	assert_int_equal(sendmsg(sock, &msg, MSG_NOSIGNAL), len);
}

/* Sends it with nfds descriptors of a fresh pipe's reading end. */
static void send_with_pipes(int sock, const void *data, size_t len, size_t nfds)
{
	int pipe_fds[2];
	int fds[64];

	assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
	for (size_t i = 0; i < nfds; i++)
		fds[i] = pipe_fds[0];
	send_raw(sock, data, len, fds, nfds, SCM_RIGHTS);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

static void assert_refuses_next(const struct wire *wire, enum frame_way way)
{
	int fds[FRAME_FDS] = {7, 7};
	struct frame frame;

	assert_int_equal(frame_recv(wire->near, &frame, fds, way), -EPROTO);
	assert_int_equal(fds[0], -1);
	assert_int_equal(fds[1], -1);
	assert_int_equal(fd_count(), wire->fds_before);
}

static void test_carries_a_frame_and_its_blobs(void **state)
{
	const struct wire *wire = *state;
	int sent[FRAME_FDS] = {blob_from("program", 7), blob_from("", 0)};
	int fds[FRAME_FDS];
	struct frame out = frame_good(FRAME_RUN), in;

	assert_int_equal(frame_send(wire->far, &out, sent), 0);
	assert_int_equal(sent[0], -1);
	assert_int_equal(sent[1], -1);
	assert_int_equal(fd_count(), wire->fds_before);
	assert_int_equal(frame_recv(wire->near, &in, fds, FRAME_TO_WORKER), 1);
	assert_memory_equal(&in, &out, sizeof(in));
	assert_int_equal(fcntl(fds[0], F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fds[1], F_GETFD), FD_CLOEXEC);
	assert_int_equal(blob_check(fds[0], 7), 0);
	assert_int_equal(blob_check(fds[0], 6), -EFBIG);
	assert_int_equal(blob_check(fds[1], 0), 0);
	close(fds[0]);
	close(fds[1]);
	assert_int_equal(fd_count(), wire->fds_before);
}

static void test_carries_frames_without_descriptors(void **state)
{
	const struct wire *wire = *state;
	int fds[FRAME_FDS] = {7, 7};
	struct frame out = frame_good(FRAME_FAIL), in;

	assert_int_equal(frame_send(wire->far, &out, NULL), 0);
	assert_int_equal(frame_recv(wire->near, &in, fds, FRAME_TO_SUPERVISOR), 1);
	assert_memory_equal(&in, &out, sizeof(in));
	assert_int_equal(fds[0], -1);
	assert_int_equal(fds[1], -1);
}

static void test_says_again_when_there_is_no_frame(void **state)
{
	const struct wire *wire = *state;
	int fds[FRAME_FDS];
	struct frame frame;

	assert_int_equal(frame_recv(wire->near, &frame, fds, FRAME_TO_WORKER), -EAGAIN);
	assert_int_equal(fds[0], -1);
}

static void test_refuses_packets_of_any_other_size(void **state)
{
	const struct wire *wire = *state;
	struct frame long_frame[2] = {frame_good(FRAME_RUN)};

	for (size_t len = 1; len <= sizeof(long_frame); len += 7) {
		if (len == FRAME_SIZE)
			continue;
		send_with_pipes(wire->far, long_frame, len, 2);
		assert_refuses_next(wire, FRAME_TO_WORKER);
	}
	send_with_pipes(wire->far, long_frame, FRAME_SIZE - 1, 2);
	assert_refuses_next(wire, FRAME_TO_WORKER);
	send_with_pipes(wire->far, long_frame, FRAME_SIZE + 1, 2);
	assert_refuses_next(wire, FRAME_TO_WORKER);
	send_with_pipes(wire->far, long_frame, 0, 2);
	assert_refuses_next(wire, FRAME_TO_WORKER);
}

static void test_refuses_wrong_numbers_of_descriptors_without_a_leak(void **state)
{
	static const size_t wrong[] = {0, 1, 3, 4, 8, 9, 64};
	const struct wire *wire = *state;
	struct frame frame = frame_good(FRAME_RUN);

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		send_with_pipes(wire->far, &frame, sizeof(frame), wrong[i]);
		assert_refuses_next(wire, FRAME_TO_WORKER);
	}
	frame = frame_good(FRAME_CANCEL);
	send_with_pipes(wire->far, &frame, sizeof(frame), 1);
	assert_refuses_next(wire, FRAME_TO_WORKER);
}

static void test_refuses_a_broken_frame_and_closes_what_came_with_it(void **state)
{
	const struct wire *wire = *state;
	struct frame frame = frame_good(FRAME_RUN);

	frame.bytes[FRAME_SIZE - 17] = 1;
	send_with_pipes(wire->far, &frame, sizeof(frame), 2);
	assert_refuses_next(wire, FRAME_TO_WORKER);
	frame = frame_good(FRAME_RUN);
	send_with_pipes(wire->far, &frame, sizeof(frame), 2);
	assert_refuses_next(wire, FRAME_TO_SUPERVISOR);
	frame.version++;
	send_with_pipes(wire->far, &frame, sizeof(frame), 2);
	assert_refuses_next(wire, FRAME_TO_WORKER);
	frame = frame_good(FRAME_RUN);
	frame.type = FRAME_FAIL + 1;
	send_with_pipes(wire->far, &frame, sizeof(frame), 2);
	assert_refuses_next(wire, FRAME_TO_WORKER);
}

static void test_refuses_control_messages_other_than_descriptors(void **state)
{
	const struct wire *wire = *state;
	struct frame frame = frame_good(FRAME_RUN);
	int on = 1;

	assert_int_equal(setsockopt(wire->near, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)), 0);
	send_with_pipes(wire->far, &frame, sizeof(frame), 2);
	assert_refuses_next(wire, FRAME_TO_WORKER);
	frame = frame_good(FRAME_CANCEL);
	send_raw(wire->far, &frame, sizeof(frame), NULL, 0, SCM_RIGHTS);
	assert_refuses_next(wire, FRAME_TO_WORKER);
}

/* Whether a descriptor is a blob is not a matter of the frame: it arrives, and blob_check refuses it. */
static void test_hands_on_what_is_no_blob_for_blob_check_to_refuse(void **state)
{
	const struct wire *wire = *state;
	struct frame frame = frame_good(FRAME_RUN);
	int fds[FRAME_FDS];

	send_with_pipes(wire->far, &frame, sizeof(frame), 2);
	assert_int_equal(frame_recv(wire->near, &frame, fds, FRAME_TO_WORKER), 1);
	for (size_t i = 0; i < FRAME_FDS; i++) {
		assert_int_equal(blob_check(fds[i], UINT64_MAX), -EBADMSG);
		close(fds[i]);
	}
	assert_int_equal(fd_count(), wire->fds_before);
}

static void test_tells_the_end_of_the_stream(void **state)
{
	struct wire *wire = *state;
	int fds[FRAME_FDS];
	struct frame frame;

	cleanup_fd(&wire->far);
	assert_int_equal(frame_recv(wire->near, &frame, fds, FRAME_TO_WORKER), 0);
	assert_int_equal(fds[0], -1);
}

/* The peer sent its last frame and left without reading ours: the kernel says so first. */
static void test_gets_the_last_frame_of_a_peer_that_left_something_unread(void **state)
{
	struct wire *wire = *state;
	struct frame cancel = frame_good(FRAME_CANCEL), fail = frame_good(FRAME_FAIL), in;
	int fds[FRAME_FDS];

	assert_int_equal(frame_send(wire->near, &cancel, NULL), 0);
	assert_int_equal(frame_send(wire->far, &fail, NULL), 0);
	cleanup_fd(&wire->far);
	assert_int_equal(frame_recv(wire->near, &in, fds, FRAME_TO_SUPERVISOR), -ECONNRESET);
	assert_int_equal(frame_recv(wire->near, &in, fds, FRAME_TO_SUPERVISOR), 1);
	assert_int_equal(in.type, FRAME_FAIL);
	assert_int_equal(frame_recv(wire->near, &in, fds, FRAME_TO_SUPERVISOR), 0);
}

/* However many were read: the last one was not. */
static void test_a_peer_that_read_everything_resets_nothing(void **state)
{
	struct frame cancel = frame_good(FRAME_CANCEL), in;
	int fds[FRAME_FDS];

	for (int unread = 0; unread < 2; unread++) {
		int pair[2];

		(void)state;
		assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
		for (int i = 0; i < 3; i++)
			assert_int_equal(frame_send(pair[0], &cancel, NULL), 0);
		for (int i = unread; i < 3; i++)
			assert_int_equal(frame_recv(pair[1], &in, fds, FRAME_TO_WORKER), 1);
		close(pair[1]);
		if (unread)
			assert_int_equal(frame_recv(pair[0], &in, fds, FRAME_TO_SUPERVISOR),
					 -ECONNRESET);
		assert_int_equal(frame_recv(pair[0], &in, fds, FRAME_TO_SUPERVISOR), 0);
		close(pair[0]);
	}
}

static void test_send_says_epipe_and_closes_when_the_peer_is_gone(void **state)
{
	struct wire *wire = *state;
	struct frame cancel = frame_good(FRAME_CANCEL), run = frame_good(FRAME_RUN);

	assert_int_equal(frame_send(wire->near, &cancel, NULL), 0);
	cleanup_fd(&wire->far);
	/* The first says that a frame was left unread, the second that nobody is there. */
	for (int i = 0; i < 2; i++) {
		int sent[FRAME_FDS] = {blob_from("a", 1), blob_from("b", 1)};

		assert_int_equal(frame_send(wire->near, &run, sent), -EPIPE);
		assert_int_equal(sent[0], -1);
		assert_int_equal(sent[1], -1);
		assert_int_equal(fd_count(), wire->fds_before - 1);
	}
}

static void test_send_never_blocks_and_closes_when_the_socket_is_full(void **state)
{
	const struct wire *wire = *state;
	struct frame run = frame_good(FRAME_RUN);
	int error = 0;

	fcntl(wire->far, F_SETFL, 0);
	for (int i = 0; i < 100000 && !error; i++) {
		int sent[FRAME_FDS] = {dup(wire->near), dup(wire->near)};

		error = frame_send(wire->far, &run, sent);
		assert_int_equal(sent[0], -1);
	}
	assert_int_equal(error, -EAGAIN);
	assert_int_equal(fd_count(), wire->fds_before);
}

static void test_send_refuses_a_count_it_cannot_have_and_closes(void **state)
{
	const struct wire *wire = *state;
	struct frame run = frame_good(FRAME_RUN);
	int sent[FRAME_FDS] = {blob_from("a", 1), blob_from("b", 1)};

	assert_int_equal(frame_send(wire->far, &run, NULL), -EINVAL);
	run.nfds = FRAME_FDS + 1;
	assert_int_equal(frame_send(wire->far, &run, sent), -EINVAL);
	assert_int_equal(sent[0], -1);
	assert_int_equal(sent[1], -1);
	assert_int_equal(fd_count(), wire->fds_before);
}

#define wire_test(f) cmocka_unit_test_setup_teardown(f, wire_setup, wire_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		wire_test(test_carries_a_frame_and_its_blobs),
		wire_test(test_carries_frames_without_descriptors),
		wire_test(test_says_again_when_there_is_no_frame),
		wire_test(test_refuses_packets_of_any_other_size),
		wire_test(test_refuses_wrong_numbers_of_descriptors_without_a_leak),
		wire_test(test_refuses_a_broken_frame_and_closes_what_came_with_it),
		wire_test(test_refuses_control_messages_other_than_descriptors),
		wire_test(test_hands_on_what_is_no_blob_for_blob_check_to_refuse),
		wire_test(test_tells_the_end_of_the_stream),
		wire_test(test_gets_the_last_frame_of_a_peer_that_left_something_unread),
		wire_test(test_a_peer_that_read_everything_resets_nothing),
		wire_test(test_send_says_epipe_and_closes_when_the_peer_is_gone),
		wire_test(test_send_never_blocks_and_closes_when_the_socket_is_full),
		wire_test(test_send_refuses_a_count_it_cannot_have_and_closes),
	};

	return cmocka_run_group_tests_name("frame_wire", tests, NULL, NULL);
}
