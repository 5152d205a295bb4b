/* layers - the walls of one run, as bits which the step that builds a wall sets when it has built it.
 *
 * A DONE frame carries the bits of its very run; `mcp-exec check` and the result's _meta print them by name.
 */
#ifndef COMMON_LAYERS_H
#define COMMON_LAYERS_H

#include <stdbool.h>
#include <stdint.h>

/* X(symbol, name, required, what it gives): without a required layer a run is refused. */
#define LAYERS(X)                                                                                  \
	X(USER_NS, "user_namespace", true, "ids of its own; not root; no group")                   \
	X(NET_NS, "net_namespace", true, "no network: an interface lo and nothing else")           \
	X(PID_NS, "pid_namespace", true, "sees and signals only its own processes")                \
	X(MOUNT_NS, "mount_namespace", true, "a file system view of its own")                      \
	X(IPC_NS, "ipc_namespace", true, "no System V or POSIX queue of another process")          \
	X(UTS_NS, "uts_namespace", true, "a host name of its own")                                 \
	X(CGROUP_NS, "cgroup_namespace", true, "the host's cgroup paths stay hidden")              \
	X(READ_ONLY, "read_only_system", true,                                                     \
	  "the system read-only, by pivot_root; the old root is gone")                             \
	X(TMPFS, "workspace", true, "one fresh tmpfs, limited, noexec, gone after the run")        \
	X(RLIMITS, "rlimits", true, "limits on CPU time, processes, files and file size")          \
	X(MEMORY_LIMIT, "memory_limit", true, "memory of all processes together")                  \
	X(AFFINITY, "cpu_affinity", true, "only the granted number of CPUs")                       \
	X(CAPABILITIES, "no_capabilities", true, "no capability in any set")                       \
	X(NO_NEW_PRIVS, "no_new_privs", true, "no setuid file gives anything")                     \
	X(SECCOMP, "seccomp", true, "an allow-list of system calls")                               \
	X(INIT, "init", true, "a pid 1 of ours: nothing outlives the run")                         \
	X(PROC, "proc", false, "a fresh /proc of its own processes")                               \
	X(HOSTNAME, "hostname", false, "the constant host name \"sandbox\"")                       \
	X(LANDLOCK, "landlock", false, "a second wall: files, mounts, and from Linux 6.12 signals")

#define LAYER_ENUM(symbol, name, required, what) LAYER_INDEX_##symbol,
enum layer_index { LAYERS(LAYER_ENUM) LAYER_COUNT };
#undef LAYER_ENUM

#define LAYER_ENUM(symbol, name, required, what) LAYER_##symbol = 1U << LAYER_INDEX_##symbol,
enum layer { LAYERS(LAYER_ENUM) };
#undef LAYER_ENUM

struct layer_info {
	uint32_t bit;
	const char *name;
	bool required;
	const char *what;
};

/* Row i of the table above, 0 <= i < LAYER_COUNT. */
const struct layer_info *layer_info(unsigned int i);

/* All bits whose absence refuses a run. */
uint32_t layers_required(void);

#endif
