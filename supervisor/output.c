/* output - see the header. */
#include "supervisor/output.h"

#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fds.h"

#define WRITE_BYTES 4096 /* PIPE_BUF */
#define KEPT_BYTES ((size_t)1024 * 1024)

void output_init(struct output *output, int fd, bool may_block)
{
	*output = (struct output){.fd = fd, .is_socket = fds_is_socket(fd)};
	output->may_block = may_block && !output->is_socket;
}

size_t output_waiting(const struct output *output)
{
	return output->kept.len - output->sent;
}

/* Returns how much was taken, or a negative errno. */
static ssize_t write_parts(struct output *output, struct iovec *parts, size_t n)
{
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = n};
	ssize_t taken;

	if (output->is_socket)
		taken = sendmsg(output->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
	else
		taken = writev(output->fd, parts, (int)n);
	if (taken > 0)
		output->written_ms = clock_ms();
	return taken < 0 ? -errno : taken;
}

/* Moves what is left to the front, rarely: each move costs as much as there is. What one large answer needed is not
 * kept for ever. */
static void forget_sent(struct output *output)
{
	struct buf *kept = &output->kept;

	if (output->sent == kept->len && kept->capacity > KEPT_BYTES)
		buf_clear(kept);
	else if (output->sent == kept->len)
		buf_reset(kept);
	else if (output->sent >= kept->len / 2)
		buf_consume(kept, output->sent);
	else
		return;
	output->sent = 0;
}

int output_line(struct output *output, const char *text, size_t len)
{
	char newline = '\n';
	struct iovec parts[] = {{.iov_base = (void *)(uintptr_t)text, .iov_len = len},
				{.iov_base = &newline, .iov_len = 1}};
	bool at_once = output_waiting(output) == 0 && !output->may_block;
	ssize_t n = at_once ? write_parts(output, parts, 2) : 0;
	size_t taken = n > 0 ? (size_t)n : 0;

	if (taken > len)
		return 0;
	buf_add(&output->kept, text + taken, len - taken);
	buf_add_byte(&output->kept, newline);
	return output->kept.error;
}

int output_write(struct output *output)
{
	size_t len = output_waiting(output);
	struct iovec part = {.iov_base = output->kept.data + output->sent, .iov_len = len};
	ssize_t n;

	if (output->may_block && len > WRITE_BYTES)
		part.iov_len = WRITE_BYTES;
	n = write_parts(output, &part, 1);
	if (n > 0)
		output->sent += (size_t)n;
	forget_sent(output);
	return n < 0 ? (int)n : 0;
}

void output_clear(struct output *output)
{
	buf_clear(&output->kept);
}
