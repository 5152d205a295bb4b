/* outcome - the limit and the signal behind the end of a run. */
#include "supervisor/outcome.h"

#include <ctype.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "common/frame.h"

/* The source line of a traceback's last frame and the carets under it. */
#define FRAME_TEXT_BYTES 400

/* A piece of what the program wrote. */
struct line {
	const char *text;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* The last line that is not blank, without blanks at its end; that of a traceback names the
 * exception. */
static struct line last_line(const struct blob_view *view)
{
	size_t end = view->size, start;

	while (end > 0 && is_blank(view->data[end - 1]))
		end--;
	for (start = end; start > 0 && view->data[start - 1] != '\n'; start--)
		;
	return (struct line){view->data + start, end - start};
}

static bool starts_with(struct line line, const char *prefix)
{
	size_t len = strlen(prefix);

	return line.len >= len && memcmp(line.text, prefix, len) == 0;
}

static bool ends_with(struct line line, const char *suffix)
{
	size_t len = strlen(suffix);

	return line.len >= len && memcmp(line.text + line.len - len, suffix, len) == 0;
}

static bool is_dotted_name(struct line name)
{
	for (size_t i = 0; i < name.len; i++)
		if (!isalnum((unsigned char)name.text[i]) && name.text[i] != '_' &&
		    name.text[i] != '.')
			return false;
	return name.len > 0;
}

/* Says whether text stands shortly before the line. */
static bool text_before(const struct blob_view *view, struct line line, const char *text)
{
	size_t before = (size_t)(line.text - view->data);
	size_t len = before < FRAME_TEXT_BYTES ? before : FRAME_TEXT_BYTES;

	return memmem(line.text - len, len, text, strlen(text)) != NULL;
}

/* "MemoryError", "MemoryError: …", and numpy's "numpy.core._exceptions._ArrayMemoryError: …",
 * whose module was renamed more than once. */
static bool is_memory_error(struct line line)
{
	const char *colon = memchr(line.text, ':', line.len);
	struct line name = {line.text, colon ? (size_t)(colon - line.text) : line.len};

	if (!is_dotted_name(name))
		return false;
	return (name.len == strlen("MemoryError") && starts_with(name, "MemoryError")) ||
	       (starts_with(name, "numpy.") && ends_with(name, "MemoryError"));
}

/* Says whether the line is that of an OSError of this class and number: "OSError: [Errno 28] …". */
static bool is_os_error(struct line line, const char *class, int number)
{
	size_t at = strlen(class);
	int value = 0;

	if (!starts_with(line, class))
		return false;
	line = (struct line){line.text + at, line.len - at};
	if (!starts_with(line, ": [Errno "))
		return false;
	at = strlen(": [Errno ");
	for (; at < line.len && isdigit((unsigned char)line.text[at]) && value < 1000; at++)
		value = value * 10 + (line.text[at] - '0');
	return at < line.len && line.text[at] == ']' && value == number;
}

/* mmap and fork have no MemoryError: they say what the kernel said. */
static bool is_memory_refusal(struct line line)
{
	return is_memory_error(line) || is_os_error(line, "OSError", ENOMEM);
}

/* Python 3.13 may not have the memory to print the traceback of a MemoryError; its C code then says what it met. */
static bool lost_for_memory(const struct blob_view *view, struct line line)
{
	static const char met[] = "object type name: MemoryError\n";

	return starts_with(line, "lost sys.stderr") && text_before(view, line, met);
}

static bool met_cpu_time(const struct frame_done *done)
{
	return done->signal == SIGXCPU ||
	       (done->signal == SIGKILL && (done->flags & FRAME_CPU_USED_UP));
}

/* EAGAIN is also what a socket says that is not ready: the traceback must show who was called. Its last frame is right
 * above the last line. */
static bool called_fork(const struct blob_view *view, struct line line)
{
	return text_before(view, line, "fork");
}

static bool met_processes(const struct blob_view *view, struct line line)
{
	return (is_os_error(line, "BlockingIOError", EAGAIN) && called_fork(view, line)) ||
	       starts_with(line, "RuntimeError: can't start new thread");
}

/* No file may be larger than the workspace, even one of holes. SQLite has undone its last write when it says so, so the
 * workspace no longer is full then. */
static bool is_disk_refusal(struct line line)
{
	return is_os_error(line, "OSError", ENOSPC) || is_os_error(line, "OSError", EFBIG) ||
	       starts_with(line, "sqlite3.OperationalError: database or disk is full");
}

/* For a program that failed. */
static const char *limit_of_failure(const struct outcome *outcome)
{
	const struct frame_done *done = &outcome->done;
	struct line line = last_line(&outcome->err);

	if (met_cpu_time(done))
		return "cpu_time";
	if ((done->flags & FRAME_MEMORY_KILLED) || is_memory_refusal(line) ||
	    lost_for_memory(&outcome->err, line))
		return "memory";
	if ((done->flags & FRAME_FORK_REFUSED) || met_processes(&outcome->err, line))
		return "processes";
	if ((done->flags & FRAME_DISK_FULL) || is_disk_refusal(line))
		return "disk";
	return NULL;
}

const char *outcome_limit(const struct outcome *outcome)
{
	const struct frame_done *done = &outcome->done;
	const char *limit = NULL;

	if (done->flags & FRAME_TIMED_OUT)
		return "wall_time";
	if (done->exit_code != 0 || done->signal != 0)
		limit = limit_of_failure(outcome);
	if (!limit && (done->flags & FRAME_TRUNCATED))
		limit = "output";
	return limit;
}

static const char *real_time_name(unsigned int number)
{
#define REAL_TIME(n) "SIGRTMIN+" #n
	static const char *const names[] = {
		REAL_TIME(0),  REAL_TIME(1),  REAL_TIME(2),  REAL_TIME(3),  REAL_TIME(4),
		REAL_TIME(5),  REAL_TIME(6),  REAL_TIME(7),  REAL_TIME(8),  REAL_TIME(9),
		REAL_TIME(10), REAL_TIME(11), REAL_TIME(12), REAL_TIME(13), REAL_TIME(14),
		REAL_TIME(15), REAL_TIME(16), REAL_TIME(17), REAL_TIME(18), REAL_TIME(19),
		REAL_TIME(20), REAL_TIME(21), REAL_TIME(22), REAL_TIME(23), REAL_TIME(24),
		REAL_TIME(25), REAL_TIME(26), REAL_TIME(27), REAL_TIME(28), REAL_TIME(29),
		REAL_TIME(30)};
#undef REAL_TIME
	unsigned int first = (unsigned int)SIGRTMIN;

	if (number < first || number - first >= sizeof(names) / sizeof(names[0]))
		return "unknown signal";
	return names[number - first];
}

const char *outcome_signal(const struct outcome *outcome)
{
#define NAMED(symbol)                                                                              \
	{                                                                                          \
		symbol, #symbol                                                                    \
	}
	static const struct {
		unsigned int number;
		const char *name;
	} signals[] = {
		NAMED(SIGHUP),	NAMED(SIGINT),	 NAMED(SIGQUIT), NAMED(SIGILL),	 NAMED(SIGTRAP),
		NAMED(SIGABRT), NAMED(SIGBUS),	 NAMED(SIGFPE),	 NAMED(SIGKILL), NAMED(SIGUSR1),
		NAMED(SIGSEGV), NAMED(SIGUSR2),	 NAMED(SIGPIPE), NAMED(SIGALRM), NAMED(SIGTERM),
		NAMED(SIGCHLD), NAMED(SIGCONT),	 NAMED(SIGSTOP), NAMED(SIGTSTP), NAMED(SIGTTIN),
		NAMED(SIGTTOU), NAMED(SIGURG),	 NAMED(SIGXCPU), NAMED(SIGXFSZ), NAMED(SIGVTALRM),
		NAMED(SIGPROF), NAMED(SIGWINCH), NAMED(SIGIO),	 NAMED(SIGPWR),	 NAMED(SIGSYS)};
#undef NAMED
	unsigned int number = outcome->done.signal;

	if (number == 0)
		return NULL;
	for (size_t i = 0; i < sizeof(signals) / sizeof(signals[0]); i++)
		if (signals[i].number == number)
			return signals[i].name;
	return real_time_name(number);
}

enum outcome_start outcome_start(const struct outcome *outcome)
{
	if (!(outcome->done.flags & FRAME_FORKED))
		return OUTCOME_COLD;
	return outcome->done.flags & FRAME_PRELOADED ? OUTCOME_PRELOADED : OUTCOME_WARM;
}

const char *outcome_start_name(enum outcome_start start)
{
	static const char *const names[OUTCOME_START_COUNT] = {[OUTCOME_COLD] = "cold",
							       [OUTCOME_WARM] = "warm",
							       [OUTCOME_PRELOADED] = "preloaded"};

	return names[start];
}
