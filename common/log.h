/* log - one logfmt line per event on stderr: ts=… level=info event=exec.done id=42 exit=0 …
 *
 * Fields are typed and a line is one write(2), which never waits: when nobody reads stderr, lines are dropped, and
 * event=log.dropped n=… says later how many. There is no way to log a string of the caller: a text field must be a
 * literal (LOG_WORD, LOG_STATIC, LOG_REASON), the name of a stage (LOG_STAGE), an errno (LOG_ERRNO), the address of a
 * peer (LOG_ADDRESS) or something the operator configured (LOG_SETTING: a path or user name from flags and environment, quoted and escaped; never used with what
 * came over a transport). tests/integration proves with canaries at the most verbose level that nothing else gets out.
 */
#ifndef COMMON_LOG_H
#define COMMON_LOG_H

#include <stdbool.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };

enum log_kind { LOG_END, LOG_KIND_U64, LOG_KIND_I64, LOG_KIND_TEXT, LOG_KIND_QUOTED };

struct log_field {
	enum log_kind kind;
	const char *key;
	union {
		uint64_t u64;
		int64_t i64;
		const char *text;
	};
};

#define LOG_U64(k, v) ((struct log_field){.kind = LOG_KIND_U64, .key = "" k, .u64 = (uint64_t)(v)})
#define LOG_I64(k, v) ((struct log_field){.kind = LOG_KIND_I64, .key = "" k, .i64 = (int64_t)(v)})
#define LOG_BOOL(k, v) LOG_U64(k, !!(v))
#define LOG_WORD(k, v) ((struct log_field){.kind = LOG_KIND_TEXT, .key = "" k, .text = "" v})
#define LOG_STAGE(k, v)                                                                            \
	((struct log_field){.kind = LOG_KIND_TEXT, .key = "" k, .text = stage_name(v)})
#define LOG_ERRNO(k, v)                                                                            \
	((struct log_field){.kind = LOG_KIND_TEXT, .key = "" k, .text = log_errno(v)})
/* A string literal of ours that is reached through a table or a function. Never anything else. */
#define LOG_STATIC(k, v) ((struct log_field){.kind = LOG_KIND_TEXT, .key = "" k, .text = (v)})
/* The same, where it is a sentence. */
#define LOG_REASON(k, v) ((struct log_field){.kind = LOG_KIND_QUOTED, .key = "" k, .text = (v)})
/* An address of a peer, written out from what the kernel says. */
#define LOG_ADDRESS(k, v) ((struct log_field){.kind = LOG_KIND_QUOTED, .key = "" k, .text = (v)})
#define LOG_SETTING(k, v) ((struct log_field){.kind = LOG_KIND_QUOTED, .key = "" k, .text = (v)})

/* Writes one line when level is enabled. event is a literal of the form noun.verb. */
#define log_event(level, event, ...)                                                               \
	log_write(level, "" event,                                                                 \
		  (const struct log_field[]){__VA_ARGS__ __VA_OPT__(, ){.kind = LOG_END}})

/* Everything at or above this importance is written; LOG_INFO until it is called. */
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

/* From now on nothing is written at all. */
void log_silence(void);

/* Looks whether stderr is the stream to the journal that JOURNAL_STREAM names (systemd.exec(5)). From then on each line
 * has its priority in front, as in "<4>", which the journal takes off (SyslogLevelPrefix=). */
void log_find_journal(void);

/* What a line on stderr that is no event begins with: its priority, or nothing where there is no journal. */
const char *log_prefix(enum log_level level);

/* Opens a pipe or terminal on stderr anew, non-blocking, for the log alone: while whoever owns it may still be us.
 * Where that is impossible the log stays on descriptor 2. */
void log_open(void);

/* The descriptor that lines go to: 2, or one that log_open opened, close-on-exec; borrowed. */
int log_descriptor(void);

/* "error", "warn", "info" or "debug" to a level. Returns 0 or -EINVAL. */
int log_level_parse(const char *text, enum log_level *level);
const char *log_level_name(enum log_level level);

/* The symbol of an errno, positive or negative, such as "EPERM"; "0" for 0. */
const char *log_errno(int error);

/* The function behind log_event; call that. Preserves errno. */
void log_write(enum log_level level, const char *event, const struct log_field *fields);

#endif
