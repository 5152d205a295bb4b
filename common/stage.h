/* stage - the steps by which a run comes to be, so that a failure can be named without a sentence crossing the link.
 *
 * The worker reports {stage, errno}; what to tell a person is decided at the edge, by remedy.h.
 */
#ifndef COMMON_STAGE_H
#define COMMON_STAGE_H

/* X(symbol, name, what was being done): the names are part of logs and error texts. */
#define STAGES(X)                                                                                  \
	X(NONE, "none", "nothing")                                                                 \
	X(WORKER, "worker", "starting the worker")                                                 \
	X(INTERPRETER, "interpreter", "finding the Python interpreter")                            \
	X(FORK, "fork", "starting a process for the sandbox")                                      \
	X(USER_NAMESPACE, "user_namespace", "making a user namespace")                             \
	X(ID_MAP, "id_map", "mapping ids in the user namespace")                                   \
	X(NAMESPACES, "namespaces", "making the other namespaces")                                 \
	X(OOM_SCORE, "oom_score", "offering the run to the kernel's OOM killer first")             \
	X(CORE_FILTER, "core_filter", "keeping the memory of the run out of core files")           \
	X(JOIN, "join", "entering the namespaces of a sandbox")                                    \
	X(CGROUP, "cgroup", "putting the run into a cgroup of its own")                            \
	X(DESCRIPTORS, "descriptors", "closing inherited descriptors")                             \
	X(LOOPBACK, "loopback", "bringing up the loopback interface")                              \
	X(ROOT, "root", "mounting the root of the sandbox")                                        \
	X(PIVOT, "pivot_root", "changing to the root of the sandbox")                              \
	X(SYSTEM, "system", "binding the system read-only")                                        \
	X(DEVICES, "devices", "binding the devices")                                               \
	X(WORKSPACE, "workspace", "mounting the workspace")                                        \
	X(PROC, "proc", "hiding parts of /proc")                                                   \
	X(OLD_ROOT, "old_root", "letting go of the old root")                                      \
	X(READ_ONLY, "read_only", "making the root read-only")                                     \
	X(PROGRAM, "program", "writing the program into the workspace")                            \
	X(SESSION, "session", "starting a session for the run")                                    \
	X(LANDLOCK, "landlock", "putting the run under the rules of Landlock")                     \
	X(AFFINITY, "affinity", "granting CPUs")                                                   \
	X(LIMITS, "limits", "setting resource limits")                                             \
	X(CAPABILITIES, "capabilities", "dropping capabilities")                                   \
	X(NO_NEW_PRIVS, "no_new_privs", "forbidding new privileges")                               \
	X(SECCOMP, "seccomp", "installing the seccomp filter")                                     \
	X(EXEC, "exec", "starting the Python interpreter")                                         \
	X(WATCH, "watch", "looking for processes and their memory in /proc")                       \
	X(CAPTURE, "capture", "collecting output")                                                 \
	X(INIT, "init", "watching over the run")

#define STAGE_ENUM(symbol, name, what) STAGE_##symbol,
enum stage { STAGES(STAGE_ENUM) STAGE_COUNT };
#undef STAGE_ENUM

/* The stage's name for logs, "unknown" for a number that is none. Never NULL. */
const char *stage_name(unsigned int stage);

/* What was being done, as the end of "failed while …". Never NULL. */
const char *stage_what(unsigned int stage);

/* Why an interpreter was refused; travels in a FAIL frame of STAGE_INTERPRETER. */
enum interpreter_reason {
	INTERPRETER_OK,
	INTERPRETER_NOT_FOUND,	  /* no such file along PATH, or at the full path */
	INTERPRETER_NOT_RUNNABLE, /* found, but the worker's user may not run it */
	INTERPRETER_NO_ANSWER,	  /* it runs, but does not answer as a Python does */
	INTERPRETER_NOT_PYTHON3,  /* it answers, but is no Python 3 of a supported version */
	INTERPRETER_UNSAFE_PREFIX, /* its prefix is /, HOME, or above HOME: it cannot be shown to a run */
	INTERPRETER_REASON_COUNT
};

/* The reason's name for logs, such as "not_found"; "unknown" for a number that is none. A literal. */
const char *interpreter_reason_name(int reason);

#endif
