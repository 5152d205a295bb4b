/* limits - every number of the contract: its name, its default, its bounds and its reason.
 *
 * Both binaries include it. What a person can set has a row in supervisor/config.c which takes default and bounds from
 * here; README, --help and mcp-exec(1) are compared with that table by tests/arch.
 */
#ifndef COMMON_LIMITS_H
#define COMMON_LIMITS_H

#include <stdint.h>

#define KIB UINT64_C(1024)
#define MIB (KIB * KIB)
#define GIB (MIB * KIB)

/* Wall-clock seconds of one run, and the ceiling for what a caller may ask. */
#define DEFAULT_TIMEOUT_S 30
#define MAX_TIMEOUT_S 300
#define CEILING_TIMEOUT_S 86400

/* Bytes of stdout and stderr together that a run may return; more is read and dropped. */
#define MAX_OUTPUT_BYTES MIB
/* Bytes of stdin and of code one call may bring. UTF-8 bytes, not characters. */
#define MAX_STDIN_BYTES MIB
#define MAX_CODE_BYTES (4 * MIB)
#define CEILING_BLOB_BYTES (64 * MIB)

/* Memory of all processes of a run together. Below 32 MiB a bare interpreter does not start. */
#define MEMORY_BYTES (256 * MIB)
#define MIN_MEMORY_BYTES (32 * MIB)
#define CEILING_MEMORY_BYTES (1024 * GIB)
/* Processes and threads of a run together; init is one of them. */
#define MAX_PROCESSES 128
#define MIN_PROCESSES 4
#define CEILING_PROCESSES 1024 /* worker/processes.c finds no more */
/* CPUs a run may use at once. */
#define MAX_CPUS 1
#define CEILING_CPUS 1024
/* The run's one tmpfs: everything it can write. Inodes: one per 4 KiB page, so that empty files cannot hold more. */
#define TMP_BYTES (64 * MIB)
#define MIN_TMP_BYTES MIB
#define CEILING_TMP_BYTES (64 * GIB)
#define TMP_BYTES_PER_INODE (4 * KIB)
/* Interactive work on the machine and the worker's own watch come first. */
#define RUN_NICENESS 10
/* Open files of one process of a run. Descriptors in flight and epoll watches are counted per host user, and a run of
 * many processes with many descriptors each would use up the user's share. */
#define MAX_OPEN_FILES 256
/* Soft stack: a thread reserves this much, and 8 MiB each would eat the data limit (see worker/watch.h). */
#define STACK_BYTES (2 * MIB)
#define STACK_HARD_BYTES (8 * MIB)
/* Below these limits of its own the worker makes no sandbox: programs would die of them, and nothing would say why. */
#define MIN_OWN_STACK_BYTES MIB
#define MIN_OWN_DATA_BYTES (32 * MIB)
#define MIN_OWN_ADDRESS_BYTES (64 * MIB)

/* Calls that may wait; one more is answered "busy". */
#define MAX_QUEUE 64
#define CEILING_QUEUE 4096

/* A message may have the code and stdin caps as many times as JSON can make one byte long ("\u0001"), and this much
 * besides. */
#define MESSAGE_ESCAPE_FACTOR 6
#define MESSAGE_SLACK_BYTES (64 * KIB)
/* JSON nesting; values in one message (a tree of them takes 100 times the room of its text); bytes of one request id or
 * progress token as they stand in the message; messages in one batch. */
#define MAX_JSON_DEPTH 64
#define MAX_JSON_VALUES 100000
#define MAX_ID_BYTES 1024
#define MAX_BATCH 100
/* An answer may be so many times the output cap: each byte once as "\u0001" and once as "\\u0001". */
#define ANSWER_ESCAPE_FACTOR 13
/* All answers to one batch, which wait for the last of them. The first one is always taken; what passes this is answered
 * by an error instead. */
#define MAX_BATCH_BYTES (64 * MIB)

/* One head of an HTTP request, and its fields; clients send a tenth of it. 431 beyond. */
#define HTTP_HEAD_BYTES (16 * KIB)
#define HTTP_FIELDS 100
/* A request that does not come to its end holds a connection: from accept, or from the first byte of a later request,
 * to the end of its head, and to the end of its body, which may be the longest message on a slow line. */
#define HTTP_HEAD_MS 10000
#define HTTP_REQUEST_MS 60000
/* A kept connection without a request. Longer than nginx keeps its own (60 s), so that it is not us who close the one
 * on which the next request is under way. */
#define HTTP_IDLE_MS 120000
/* A peer that takes nothing of its answer. */
#define HTTP_STALL_MS 60000
/* A stream that has nothing to say sends a comment; proxies close what is silent for 30 to 60 s. */
#define HTTP_KEEP_ALIVE_MS 15000
/* Bytes of answers on a stream of sse that its client has not taken, beyond which one more message of its ends it: some
 * of the longest answers fit. */
#define HTTP_UNREAD_BYTES (16 * MIB)
/* An answer that is there by then goes out as JSON, the cheaper form; nobody waits longer for a sign of life. */
#define HTTP_DECIDE_MS 100
/* What has come of all large bodies (beyond MESSAGE_SLACK_BYTES) may together be as much as this many of the longest
 * message: otherwise each connection could hold one. 503 beyond. */
#define HTTP_BODIES 4
/* Answers that peers have not taken may together be as large as this many of the longest. Beyond, the peer that has taken
 * nothing for longest is broken off. */
#define HTTP_ANSWERS 4
/* Connections at a time. At the next one, the oldest that can be spared is closed (connections.c); when all have a request,
 * it is answered 503. One costs about 40 KiB and a descriptor. */
#define MAX_CONNECTIONS 256
#define CEILING_CONNECTIONS 65536
/* Legacy clients that are remembered, and for how long after their last request. A client whose session is gone is
 * answered 404 and initializes again. */
#define MAX_SESSIONS 1024
#define CEILING_SESSIONS 65536
#define SESSION_IDLE_S 3600
#define CEILING_SESSION_IDLE_S 604800
/* How long calls that are under way may take after SIGTERM: below the 30 s after which orchestrators kill. */
#define DRAIN_S 25
#define CEILING_DRAIN_S 3600

/* How long an interpreter that no program used is kept warm; its memory is worth more to others after that. */
#define WARM_IDLE_S 600
#define CEILING_WARM_IDLE_S 86400

/* Whom the run believes it is; the sandbox maps these to the worker's own ids. */
#define SANDBOX_UID 1000
#define SANDBOX_GID 1000
#define SANDBOX_HOME "/sandbox"
#define SANDBOX_PROGRAM "main.py" /* in SANDBOX_HOME */
#define SANDBOX_HOSTNAME "sandbox"
/* Whom supervisor and worker become when they are started as root and no user mcp-exec exists. */
#define UNPRIVILEGED_ID 65532

/* What bounds one run. The supervisor hands it to the worker on its command line, see worker/main.c. */
struct limits {
	uint64_t memory_bytes;
	uint64_t tmp_bytes;
	uint32_t max_processes;
	uint32_t cpus;
	uint32_t max_cpu_s;
	uint32_t
		by_cgroup; /* bits of mechanism.h: which of these a cgroup holds. Found by the worker */
};

#endif
