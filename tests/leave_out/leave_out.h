/* leave_out - the steps of set-up that the test build can leave out by name. Never part of what is shipped.
 *
 * The test build is the same objects and archives as the product, linked with the files of this directory by the
 * linker's --wrap: a call of FUNCTION goes to __wrap_FUNCTION here, which either makes the call or leaves it out. The
 * names that are left out stand in a file "leave-out" beside each binary, one a line. Without the file, or with a name
 * that is none, the program ends at once: it cannot test nothing by accident.
 *
 * The gate, which is loaded in a sandbox, sees no such file: the worker that carries it writes the names into it.
 */
#ifndef LEAVE_OUT_H
#define LEAVE_OUT_H

#include <stdbool.h>
#include <stddef.h>

#include "tests/lib/wrap.h"

/* One name for each step. steps.py has a row for each, and objects when one is missing on either side. */
#define STEPS(X)                                                                                   \
	X(ns_user)                                                                                 \
	X(ns_net)                                                                                  \
	X(ns_pid)                                                                                  \
	X(ns_mnt)                                                                                  \
	X(ns_ipc)                                                                                  \
	X(ns_uts)                                                                                  \
	X(ns_cgroup)                                                                               \
	X(join_user)                                                                               \
	X(join_net)                                                                                \
	X(join_pid)                                                                                \
	X(join_mnt)                                                                                \
	X(join_ipc)                                                                                \
	X(join_uts)                                                                                \
	X(join_cgroup)                                                                             \
	X(id_map)                                                                                  \
	X(id_map_not_root)                                                                         \
	X(id_setgroups)                                                                            \
	X(loopback_check)                                                                          \
	X(private)                                                                                 \
	X(root_ro)                                                                                 \
	X(root_nosuid)                                                                             \
	X(root_nodev)                                                                              \
	X(root_noexec)                                                                             \
	X(system_ro)                                                                               \
	X(system_nosuid)                                                                           \
	X(system_nodev)                                                                            \
	X(device_ro)                                                                               \
	X(device_nosuid)                                                                           \
	X(device_noexec)                                                                           \
	X(workspace_nosuid)                                                                        \
	X(workspace_nodev)                                                                         \
	X(workspace_noexec)                                                                        \
	X(workspace_tmpfs)                                                                         \
	X(workspace_size)                                                                          \
	X(workspace_inodes)                                                                        \
	X(proc_fresh)                                                                              \
	X(proc_ro)                                                                                 \
	X(proc_nosuid)                                                                             \
	X(proc_nodev)                                                                              \
	X(proc_noexec)                                                                             \
	X(mask_ro)                                                                                 \
	X(mask_nosuid)                                                                             \
	X(mask_nodev)                                                                              \
	X(mask_noexec)                                                                             \
	X(proc_masks)                                                                              \
	X(etc_passwd)                                                                              \
	X(etc_group)                                                                               \
	X(etc_hosts)                                                                               \
	X(etc_nsswitch)                                                                            \
	X(view)                                                                                    \
	X(pivot)                                                                                   \
	X(old_root)                                                                                \
	X(seal)                                                                                    \
	X(landlock)                                                                                \
	X(rlimit_cpu)                                                                              \
	X(rlimit_nproc)                                                                            \
	X(rlimit_nofile)                                                                           \
	X(rlimit_fsize)                                                                            \
	X(rlimit_stack)                                                                            \
	X(rlimit_data)                                                                             \
	X(rlimit_core)                                                                             \
	X(rlimit_memlock)                                                                          \
	X(rlimit_msgqueue)                                                                         \
	X(rlimit_nice)                                                                             \
	X(rlimit_rtprio)                                                                           \
	X(rlimit_sigpending)                                                                       \
	X(cap_securebits)                                                                          \
	X(cap_bounding)                                                                            \
	X(cap_sets)                                                                                \
	X(cap_verify)                                                                              \
	X(nnp_init)                                                                                \
	X(nnp_worker)                                                                              \
	X(nnp_supervisor)                                                                          \
	X(undumpable_init)                                                                         \
	X(undumpable_worker)                                                                       \
	X(undumpable_early)                                                                        \
	X(undumpable_late)                                                                         \
	X(seccomp)                                                                                 \
	X(seccomp_worker)                                                                          \
	X(seccomp_supervisor)                                                                      \
	X(seccomp_default)                                                                         \
	X(seccomp_foreign_abi)                                                                     \
	X(seccomp_namespaces)                                                                      \
	X(seccomp_clone)                                                                           \
	X(seccomp_mounts)                                                                          \
	X(seccomp_tracing)                                                                         \
	X(seccomp_keyrings)                                                                        \
	X(seccomp_kernel)                                                                          \
	X(seccomp_ids)                                                                             \
	X(seccomp_scheduling)                                                                      \
	X(seccomp_host)                                                                            \
	X(seccomp_sockets)                                                                         \
	X(seccomp_ioctl)                                                                           \
	X(seccomp_prctl)                                                                           \
	X(seccomp_fcntl)                                                                           \
	X(seccomp_mknod)                                                                           \
	X(seccomp_prlimit)                                                                         \
	X(seccomp_memory)                                                                          \
	X(seccomp_uncounted)                                                                       \
	X(seccomp_needless)                                                                        \
	X(seccomp_personality)                                                                     \
	X(seccomp_filters)                                                                         \
	X(close_inherited)                                                                         \
	X(close_received)                                                                          \
	X(close_spawn)                                                                             \
	X(close_start)                                                                             \
	X(cloexec_link)                                                                            \
	X(cloexec_report)                                                                          \
	X(cloexec_received)                                                                        \
	X(environment)                                                                             \
	X(environment_worker)                                                                      \
	X(signals)                                                                                 \
	X(signal_mask)                                                                             \
	X(signals_spawn)                                                                           \
	X(signals_start)                                                                           \
	X(session_init)                                                                            \
	X(session_program)                                                                         \
	X(session_worker)                                                                          \
	X(umask)                                                                                   \
	X(umask_start)                                                                             \
	X(niceness)                                                                                \
	X(oom_score)                                                                               \
	X(core_filter)                                                                             \
	X(core_start)                                                                              \
	X(affinity)                                                                                \
	X(hostname)                                                                                \
	X(kill)                                                                                    \
	X(lifeline)                                                                                \
	X(init_exit)                                                                               \
	X(cancel)                                                                                  \
	X(pdeathsig)                                                                               \
	X(link_end)                                                                                \
	X(memory_watch)                                                                            \
	X(deadline)                                                                                \
	X(output_cap)                                                                              \
	X(output_check)                                                                            \
	X(blob_seal)                                                                               \
	X(blob_check)                                                                              \
	X(worker_not_root)                                                                         \
	X(drop_root)                                                                               \
	X(drop_groups)                                                                             \
	X(drop_verify)                                                                             \
	X(hidden_root)                                                                             \
	X(working_directory)                                                                       \
	X(secret)                                                                                  \
	X(http_access)                                                                             \
	X(http_token)                                                                              \
	X(http_token_once)                                                                         \
	X(http_origin)                                                                             \
	X(http_host)                                                                               \
	X(http_loopback)                                                                           \
	X(http_body)                                                                               \
	X(http_peers)                                                                              \
	X(http_head_time)                                                                          \
	X(session_random)                                                                          \
	X(session_cap)                                                                             \
	X(session_idle)                                                                            \
	X(pristine_rlimits)                                                                        \
	X(pristine_caps)                                                                           \
	X(pristine_nnp)                                                                            \
	X(pristine_undumpable)                                                                     \
	X(pristine_seccomp)

#define STEP_ENUM(name) STEP_##name,
enum step { STEPS(STEP_ENUM) STEP_COUNT };
#undef STEP_ENUM

/* Says whether the file names this step. */
bool left_out(enum step step);

/* The directory of this program's binary: a trial's own. Never NULL. */
const char *leave_out_dir(void);

/* What a process is: one of our programs; in a sandbox of a run, or in that of a pristine interpreter, up to exec; or
 * under the gate, that is a pristine interpreter, or a copy of it. */
enum role { ROLE_OUTSIDE, ROLE_INSIDE, ROLE_PRISTINE, ROLE_COPY };
enum role leave_out_role(void);
void leave_out_become(enum role role);

/* Writes the choice of this program into the image of another one with this file in it. Returns whether it is one. */
bool leave_out_hand_on(char *image, size_t size);

#endif
