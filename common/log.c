/* log - one logfmt line per event, built in a fixed buffer and written at once.
 *
 * A line is never longer than LINE_MAX_BYTES, so that it goes into a pipe whole (PIPE_BUF, pipe(7))
 * and lines of two processes do not mix. What does not fit is left out field by field, the rest of
 * a quoted text byte by byte.
 *
 * Whoever holds the other end of stderr may never read it, and then a write would wait for ever. A
 * line that cannot be written at once is dropped and counted. The flags of descriptor 2 are shared
 * with whoever started us, so O_NONBLOCK is set on a descriptor of our own, which is opened anew.
 */
#include "common/log.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LINE_MAX_BYTES 1024
/* Always left free: the closing quote and the newline. */
#define LINE_TAIL_BYTES 2

struct line {
	char text[LINE_MAX_BYTES];
	size_t len;
	bool full;
};

static const char *const LEVEL_NAMES[] = {
	[LOG_ERROR] = "error",
	[LOG_WARN] = "warn",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};

/* As syslog(3) numbers them, in the form of sd-daemon(3). */
static const char *const PREFIXES[] = {
	[LOG_ERROR] = "<3>",
	[LOG_WARN] = "<4>",
	[LOG_INFO] = "<6>",
	[LOG_DEBUG] = "<7>",
};

static enum log_level log_level = LOG_INFO;
static bool log_in_journal;
static bool log_silent;
static int log_fd = STDERR_FILENO;
static uint64_t log_dropped;

void log_set_level(enum log_level level)
{
	log_level = level;
}

void log_silence(void)
{
	log_silent = true;
}

bool log_enabled(enum log_level level)
{
	return !log_silent && level <= log_level;
}

void log_find_journal(void)
{
	const char *stream = getenv("JOURNAL_STREAM");
	struct stat status;
	char ours[48];

	if (stream == NULL || fstat(STDERR_FILENO, &status) < 0)
		return;
	snprintf(ours, sizeof(ours), "%ju:%ju", (uintmax_t)status.st_dev, (uintmax_t)status.st_ino);
	log_in_journal = strcmp(stream, ours) == 0;
}

const char *log_prefix(enum log_level level)
{
	return log_in_journal ? PREFIXES[level] : "";
}

void log_open(void)
{
	struct stat status;
	int fd;

	if (log_fd != STDERR_FILENO || fstat(STDERR_FILENO, &status) < 0 ||
	    !(S_ISFIFO(status.st_mode) || isatty(STDERR_FILENO)))
		return;
	fd = open("/proc/self/fd/2", O_WRONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0)
		log_fd = fd;
}

int log_descriptor(void)
{
	return log_fd;
}

int log_level_parse(const char *text, enum log_level *level)
{
	for (unsigned int i = LOG_ERROR; i <= LOG_DEBUG; i++) {
		if (strcmp(text, LEVEL_NAMES[i]) == 0) {
			*level = (enum log_level)i;
			return 0;
		}
	}
	return -EINVAL;
}

const char *log_level_name(enum log_level level)
{
	return level <= LOG_DEBUG ? LEVEL_NAMES[level] : "unknown";
}

const char *log_errno(int error)
{
	const char *name;

	if (error == 0)
		return "0";
	/* INT_MIN has no positive counterpart and is no errno. */
	name = strerrorname_np(error < 0 && error >= -INT16_MAX ? -error : error);
	return name ? name : "unknown";
}

/* Appends all of it or nothing; after the first piece that does not fit nothing follows. */
static void line_add(struct line *line, const char *text, size_t len)
{
	line->full = line->full || len > sizeof(line->text) - LINE_TAIL_BYTES - line->len;
	if (line->full)
		return;
	memcpy(line->text + line->len, text, len);
	line->len += len;
}

/* A field is short: a key of ours and a number or a name of ours. */
__attribute__((format(printf, 2, 3))) static void line_printf(struct line *line, const char *format,
							      ...)
{
	char piece[128];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(piece, sizeof(piece), format, args);
	va_end(args);
	if (len < 0 || (size_t)len >= sizeof(piece))
		line->full = true;
	else
		line_add(line, piece, (size_t)len);
}

/* One byte of a quoted text. Everything outside printable ASCII is written as \xNN: a line stays
 * one line, and no terminal obeys it. */
static void line_add_escaped(struct line *line, unsigned char byte)
{
	if (byte == '"' || byte == '\\')
		line_printf(line, "\\%c", byte);
	else if (byte < 0x20 || byte > 0x7E)
		line_printf(line, "\\x%02x", byte);
	else
		line_add(line, (const char *)&byte, 1);
}

static void line_add_quoted(struct line *line, const char *key, const char *text)
{
	line_printf(line, " %s=\"", key);
	if (line->full)
		return;
	for (; *text && !line->full; text++)
		line_add_escaped(line, (unsigned char)*text);
	line->text[line->len++] = '"';
	/* If the quote took the last byte but one, the tail is used up: even an empty piece must
	 * not fit any more. */
	line->full = line->full || line->len > sizeof(line->text) - LINE_TAIL_BYTES;
}

static void line_add_field(struct line *line, const struct log_field *field)
{
	switch (field->kind) {
	case LOG_KIND_U64:
		line_printf(line, " %s=%" PRIu64, field->key, field->u64);
		break;
	case LOG_KIND_I64:
		line_printf(line, " %s=%" PRId64, field->key, field->i64);
		break;
	case LOG_KIND_TEXT:
		line_printf(line, " %s=%s", field->key, field->text);
		break;
	case LOG_KIND_QUOTED:
		line_add_quoted(line, field->key, field->text ? field->text : "");
		break;
	case LOG_END:
		break;
	}
}

static void line_begin(struct line *line, enum log_level level, const char *event)
{
	struct timespec now = {0};
	struct tm utc = {0};
	char ts[32];

	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	strftime(ts, sizeof(ts), "%Y-%m-%dT%H:%M:%S", &utc);
	line_printf(line, "%sts=%s.%03dZ level=%s event=%s", log_prefix(level), ts,
		    (int)(now.tv_nsec / 1000000), log_level_name(level), event);
}

/* Where log_open could do nothing, poll(2) says whether a write would wait. It is not asked otherwise: it sees no room
 * in the last page of a pipe, where a write still finds some. */
static bool would_wait(void)
{
	struct pollfd writable = {.fd = log_fd, .events = POLLOUT};
	int flags = fcntl(log_fd, F_GETFL);

	return flags >= 0 && (flags & O_NONBLOCK) == 0 && poll(&writable, 1, 0) != 1;
}

/* Returns whether the line is done with. One that fails otherwise than by waiting has nobody to be told to. */
static bool line_put(const struct line *line)
{
	ssize_t n;

	do {
		n = send(log_fd, line->text, line->len, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == ENOTSOCK) {
			if (would_wait())
				return false;
			n = write(log_fd, line->text, line->len);
		}
	} while (n < 0 && errno == EINTR);
	return n >= 0 || errno != EAGAIN;
}

static bool put_dropped(void)
{
	struct line line = {.len = 0};

	line_begin(&line, LOG_WARN, "log.dropped");
	line_printf(&line, " n=%" PRIu64 "\n", log_dropped);
	return line_put(&line);
}

void log_write(enum log_level level, const char *event, const struct log_field *fields)
{
	struct line line = {.len = 0};
	int saved_errno = errno;

	if (!log_enabled(level))
		return;
	line_begin(&line, level, event);
	for (; fields->kind != LOG_END; fields++)
		line_add_field(&line, fields);
	line.text[line.len++] = '\n';
	if (log_dropped > 0 && put_dropped())
		log_dropped = 0;
	if (log_dropped > 0 || !line_put(&line))
		log_dropped++;
	errno = saved_errno;
}
