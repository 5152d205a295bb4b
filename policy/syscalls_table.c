/* syscalls_table - which system calls a run may make, one row each, and why. Printed by --print-policy.
 *
 * Honest programs (numpy, pandas, matplotlib, three kinds of multiprocessing, asyncio, sqlite) need about 90; the rest
 * of the allowed ones are their near relatives in other libcs and Python versions. What is not namespaced is refused
 * here, since nothing else stops it: keyrings, vsock, io_uring, userfaultfd, nested user namespaces, inotify (counted
 * per host user), memfd and System V memory (they would get round the workspace's size, and a memfd round noexec).
 *
 * No filter is asked about uprobe and uretprobe (x86-64, since Linux 6.14), which do nothing in a process without such
 * a probe: __secure_computing in kernel/seccomp.c.
 */
#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "policy/filter_rows.h"
#include "policy/syscalls.h"

#ifdef __x86_64__
#include <asm/prctl.h>
#else
/* arch_prctl exists on x86 only; elsewhere libseccomp leaves its rows out. */
#define ARCH_SET_FS 0
#define ARCH_GET_FS 0
#endif

/* Newer architectures have no other call to wait with. */
#ifdef __NR_epoll_wait
#define EPOLL_PWAIT REFUSE("epoll_pwait", ENOSYS, "epoll_wait does the same here")
#else
#define EPOLL_PWAIT ALLOW("epoll_pwait", "waiting for descriptors")
#endif

#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

#define NEW_NAMESPACES                                                                             \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | \
	 CLONE_NEWCGROUP | CLONE_PTRACE | CLONE_UNTRACED)
/* The commands of POSIX and the locks: all below F_LINUX_SPECIFIC_BASE of linux/fcntl.h. */
#define FCNTL_BASIC 0x3ffULL

/* A socket of the internet families: streams and datagrams with their usual protocol; no raw, no SCTP, no MPTCP, whose
 * modules a socket call would load into the host's kernel. */
#define ALLOW_INET(family, type, protocol)                                                         \
	ALLOW_IF("socket", "loopback within the run", EQUAL(0, family),                            \
		 MASKED(1, SOCK_TYPE, type), EQUAL(2, protocol))
#define ALLOW_UNIX(call, type)                                                                     \
	ALLOW_IF(call, "asyncio and multiprocessing", EQUAL(0, AF_UNIX), MASKED(1, SOCK_TYPE, type))
#define ALLOW_IOCTL(request)                                                                       \
	ALLOW_IF("ioctl", "asks or sets what concerns this descriptor only", EQUAL(1, request))
#define ALLOW_FCNTL(command) ALLOW_IF("fcntl", "what was opened can be used", EQUAL(1, command))
/* The kernel reads the low half of a request or an option only. */
#define REFUSE_IOCTL(request, reason)                                                              \
	REFUSE_IF("ioctl", EPERM, reason, MASKED(1, 0xffffffffULL, request))
#define REFUSE_PRCTL(option, reason)                                                               \
	REFUSE_IF("prctl", EPERM, reason, MASKED(0, 0xffffffffULL, option))
#define ALLOW_PRCTL(option)                                                                        \
	ALLOW_IF("prctl", "asks or sets what concerns this process only", EQUAL(0, option))

static const struct filter_rule rules[] = {
	ALLOW("read", "what was opened can be used"),
	ALLOW("write", "what was opened can be used"),
	ALLOW("readv", "what was opened can be used"),
	ALLOW("writev", "what was opened can be used"),
	ALLOW("pread64", "what was opened can be used"),
	ALLOW("pwrite64", "what was opened can be used"),
	ALLOW("close", "what was opened can be used"),
	ALLOW("lseek", "what was opened can be used"),
	ALLOW("dup", "what was opened can be used"),
	ALLOW("dup2", "what was opened can be used"),
	ALLOW("dup3", "what was opened can be used"),
	ALLOW("pipe", "what was opened can be used"),
	ALLOW("pipe2", "what was opened can be used"),
	ALLOW("sendfile", "what was opened can be used"),
	ALLOW("open", "files, by path or descriptor; the view decides which"),
	ALLOW("creat", "files, by path or descriptor; the view decides which"),
	ALLOW("openat", "files, by path or descriptor; the view decides which"),
	ALLOW("access", "files, by path or descriptor; the view decides which"),
	ALLOW("faccessat", "files, by path or descriptor; the view decides which"),
	ALLOW("stat", "files, by path or descriptor; the view decides which"),
	ALLOW("fstat", "files, by path or descriptor; the view decides which"),
	ALLOW("lstat", "files, by path or descriptor; the view decides which"),
	ALLOW("newfstatat", "files, by path or descriptor; the view decides which"),
	ALLOW("statfs", "files, by path or descriptor; the view decides which"),
	ALLOW("fstatfs", "files, by path or descriptor; the view decides which"),
	ALLOW("readlink", "files, by path or descriptor; the view decides which"),
	ALLOW("readlinkat", "files, by path or descriptor; the view decides which"),
	ALLOW("getcwd", "files, by path or descriptor; the view decides which"),
	ALLOW("chdir", "files, by path or descriptor; the view decides which"),
	ALLOW("fchdir", "files, by path or descriptor; the view decides which"),
	ALLOW("getdents64", "files, by path or descriptor; the view decides which"),
	ALLOW("mkdir", "files, by path or descriptor; the view decides which"),
	ALLOW("mkdirat", "files, by path or descriptor; the view decides which"),
	ALLOW("rmdir", "files, by path or descriptor; the view decides which"),
	ALLOW("rename", "files, by path or descriptor; the view decides which"),
	ALLOW("renameat", "files, by path or descriptor; the view decides which"),
	ALLOW("link", "files, by path or descriptor; the view decides which"),
	ALLOW("linkat", "files, by path or descriptor; the view decides which"),
	ALLOW("unlink", "files, by path or descriptor; the view decides which"),
	ALLOW("unlinkat", "files, by path or descriptor; the view decides which"),
	ALLOW("symlink", "files, by path or descriptor; the view decides which"),
	ALLOW("symlinkat", "files, by path or descriptor; the view decides which"),
	ALLOW("chmod", "files, by path or descriptor; the view decides which"),
	ALLOW("fchmod", "files, by path or descriptor; the view decides which"),
	ALLOW("fchmodat", "files, by path or descriptor; the view decides which"),
	ALLOW("chown", "files, by path or descriptor; the view decides which"),
	ALLOW("umask", "files, by path or descriptor; the view decides which"),
	ALLOW("truncate", "files, by path or descriptor; the view decides which"),
	ALLOW("ftruncate", "files, by path or descriptor; the view decides which"),
	ALLOW("fallocate", "files, by path or descriptor; the view decides which"),
	ALLOW("fsync", "files, by path or descriptor; the view decides which"),
	ALLOW("fdatasync", "files, by path or descriptor; the view decides which"),
	ALLOW("utimensat", "files, by path or descriptor; the view decides which"),
	ALLOW("flock", "files, by path or descriptor; the view decides which"),
	ALLOW("mmap", "memory of its own"),
	ALLOW("munmap", "memory of its own"),
	ALLOW("mremap", "memory of its own"),
	ALLOW("mprotect", "memory of its own"),
	ALLOW("madvise", "memory of its own"),
	ALLOW("brk", "memory of its own"),
	ALLOW("msync", "memory of its own"),
	ALLOW("fork", "processes and threads of its own"),
	ALLOW("vfork", "processes and threads of its own"),
	ALLOW("execve", "processes and threads of its own"),
	ALLOW("exit", "processes and threads of its own"),
	ALLOW("exit_group", "processes and threads of its own"),
	ALLOW("wait4", "processes and threads of its own"),
	ALLOW("waitid", "processes and threads of its own"),
	ALLOW("getpid", "processes and threads of its own"),
	ALLOW("getppid", "processes and threads of its own"),
	ALLOW("gettid", "processes and threads of its own"),
	ALLOW("getpgrp", "processes and threads of its own"),
	ALLOW("getpgid", "processes and threads of its own"),
	ALLOW("setpgid", "processes and threads of its own"),
	ALLOW("getsid", "processes and threads of its own"),
	ALLOW("setsid", "processes and threads of its own"),
	ALLOW("set_tid_address", "processes and threads of its own"),
	ALLOW("futex", "processes and threads of its own"),
	ALLOW("sched_yield", "processes and threads of its own"),
	ALLOW("sched_getaffinity", "processes and threads of its own"),
	ALLOW("getpriority", "processes and threads of its own"),
	ALLOW("pidfd_open", "processes and threads of its own"),
	ALLOW("pidfd_send_signal", "processes and threads of its own"),
	ALLOW("rt_sigaction", "signals; the pid namespace bounds whom they reach"),
	ALLOW("rt_sigprocmask", "signals; the pid namespace bounds whom they reach"),
	ALLOW("rt_sigreturn", "signals; the pid namespace bounds whom they reach"),
	ALLOW("rt_sigpending", "signals; the pid namespace bounds whom they reach"),
	ALLOW("rt_sigtimedwait", "signals; the pid namespace bounds whom they reach"),
	ALLOW("rt_sigsuspend", "signals; the pid namespace bounds whom they reach"),
	ALLOW("sigaltstack", "signals; the pid namespace bounds whom they reach"),
	ALLOW("restart_syscall", "signals; the pid namespace bounds whom they reach"),
	ALLOW("pause", "signals; the pid namespace bounds whom they reach"),
	ALLOW("alarm", "signals; the pid namespace bounds whom they reach"),
	ALLOW("getitimer", "signals; the pid namespace bounds whom they reach"),
	ALLOW("setitimer", "signals; the pid namespace bounds whom they reach"),
	ALLOW("kill", "signals; the pid namespace bounds whom they reach"),
	ALLOW("tkill", "signals; the pid namespace bounds whom they reach"),
	ALLOW("tgkill", "signals; the pid namespace bounds whom they reach"),
	ALLOW("nanosleep", "time"),
	ALLOW("clock_nanosleep", "time"),
	ALLOW("clock_gettime", "time"),
	ALLOW("clock_getres", "time"),
	ALLOW("gettimeofday", "time"),
	ALLOW("times", "time"),
	ALLOW("select", "waiting for descriptors"),
	ALLOW("pselect6", "waiting for descriptors"),
	ALLOW("poll", "waiting for descriptors"),
	ALLOW("ppoll", "waiting for descriptors"),
	ALLOW("epoll_create1", "waiting for descriptors"),
	ALLOW("epoll_ctl", "waiting for descriptors"),
	ALLOW("epoll_wait", "waiting for descriptors"),
	ALLOW("eventfd2", "waiting for descriptors"),
	ALLOW("bind", "sockets within the run; the net namespace has only lo"),
	ALLOW("listen", "sockets within the run; the net namespace has only lo"),
	ALLOW("accept", "sockets within the run; the net namespace has only lo"),
	ALLOW("accept4", "sockets within the run; the net namespace has only lo"),
	ALLOW("connect", "sockets within the run; the net namespace has only lo"),
	ALLOW("getsockname", "sockets within the run; the net namespace has only lo"),
	ALLOW("getpeername", "sockets within the run; the net namespace has only lo"),
	ALLOW("sendto", "sockets within the run; the net namespace has only lo"),
	ALLOW("recvfrom", "sockets within the run; the net namespace has only lo"),
	ALLOW("sendmsg", "sockets within the run; the net namespace has only lo"),
	ALLOW("recvmsg", "sockets within the run; the net namespace has only lo"),
	ALLOW("shutdown", "sockets within the run; the net namespace has only lo"),
	ALLOW("setsockopt", "sockets within the run; the net namespace has only lo"),
	ALLOW("getsockopt", "sockets within the run; the net namespace has only lo"),
	ALLOW("getuid", "who and where it is"),
	ALLOW("geteuid", "who and where it is"),
	ALLOW("getgid", "who and where it is"),
	ALLOW("getegid", "who and where it is"),
	ALLOW("getgroups", "who and where it is"),
	ALLOW("uname", "who and where it is"),
	ALLOW("sysinfo", "who and where it is"),
	ALLOW("getrusage", "who and where it is"),
	ALLOW("getrandom", "who and where it is"),

	ALLOW_IF("setpriority", "of itself", EQUAL(0, PRIO_PROCESS), EQUAL(1, 0)),
	REFUSE("setpriority", EPERM, "of others, or of all processes of the user"),
	ALLOW_IF("clone", "processes and threads, no namespace", MASKED(0, NEW_NAMESPACES, 0)),
	REFUSE("clone", EPERM, "as unshare, and as ptrace"),
	REFUSE_QUIETLY("clone3", ENOSYS, "flags behind a pointer; every libc falls back to clone"),

	ALLOW_UNIX("socket", SOCK_STREAM),
	ALLOW_UNIX("socket", SOCK_DGRAM),
	ALLOW_UNIX("socket", SOCK_SEQPACKET),
	ALLOW_UNIX("socketpair", SOCK_STREAM),
	ALLOW_UNIX("socketpair", SOCK_DGRAM),
	ALLOW_UNIX("socketpair", SOCK_SEQPACKET),
	ALLOW_INET(AF_INET, SOCK_STREAM, 0),
	ALLOW_INET(AF_INET, SOCK_STREAM, IPPROTO_TCP),
	ALLOW_INET(AF_INET, SOCK_DGRAM, 0),
	ALLOW_INET(AF_INET, SOCK_DGRAM, IPPROTO_UDP),
	ALLOW_INET(AF_INET6, SOCK_STREAM, 0),
	ALLOW_INET(AF_INET6, SOCK_STREAM, IPPROTO_TCP),
	ALLOW_INET(AF_INET6, SOCK_DGRAM, 0),
	ALLOW_INET(AF_INET6, SOCK_DGRAM, IPPROTO_UDP),
	REFUSE_QUIETLY_IF("socket", EAFNOSUPPORT, "getaddrinfo asks it for addresses, and copes",
			  EQUAL(0, AF_NETLINK)),
	REFUSE_IF("socket", EAFNOSUPPORT, "vsock and others are not in the net namespace",
		  GREATER(0, AF_NETLINK)),
	REFUSE("socket", EPROTONOSUPPORT, "raw sockets, and protocols whose modules it would load"),
	REFUSE("socketpair", EOPNOTSUPP, "what the kernel says of other families"),

	ALLOW_IF("fcntl", "flags and locks of what was opened", MASKED(1, ~FCNTL_BASIC, 0)),
	ALLOW_FCNTL(F_DUPFD_CLOEXEC),
	ALLOW_FCNTL(F_SETPIPE_SZ),
	ALLOW_FCNTL(F_GETPIPE_SZ),
	ALLOW_FCNTL(F_GET_SEALS),
	REFUSE_IF("fcntl", EPERM, "it would hold up other processes that open the file",
		  EQUAL(1, F_SETLEASE)),
	REFUSE_IF("fcntl", EPERM, "it would tell what other processes do with the file",
		  EQUAL(1, F_NOTIFY)),
	REFUSE_QUIETLY("fcntl", EINVAL, "what the kernel says of a command that it does not know"),

	ALLOW_IOCTL(TCGETS),
	ALLOW_IOCTL(TCSETS),
	ALLOW_IOCTL(TCSETSW),
	ALLOW_IOCTL(TCSETSF),
	ALLOW_IOCTL(TIOCGWINSZ),
	ALLOW_IOCTL(TIOCGPGRP),
	ALLOW_IOCTL(FIONREAD),
	ALLOW_IOCTL(FIONBIO),
	ALLOW_IOCTL(FIOCLEX),
	ALLOW_IOCTL(FIONCLEX),
	ALLOW_IOCTL(FIOASYNC),
	ALLOW_IOCTL(SIOCGIFINDEX),
	ALLOW_IOCTL(SIOCGIFNAME),
	ALLOW_IOCTL(SIOCGIFCONF),
	ALLOW_IOCTL(SIOCGIFADDR),
	ALLOW_IOCTL(SIOCGIFFLAGS),
	REFUSE_QUIETLY_IF("ioctl", ENOTSUP,
			  "Python 3.14 copies files otherwise then, but not after ENOTTY",
			  EQUAL(1, FICLONE)),
	REFUSE_IOCTL(TIOCSTI, "types into a terminal"),
	REFUSE_IOCTL(TIOCLINUX, "as TIOCSTI"),
	REFUSE_IOCTL(TIOCSCTTY, "takes a terminal"),
	REFUSE_IOCTL(TIOCCONS, "as TIOCSCTTY"),
	REFUSE_IOCTL(TIOCSETD, "loads a line discipline"),
	REFUSE_IOCTL(SIOCSIFFLAGS, "changes an interface"),
	REFUSE_IOCTL(SIOCSIFADDR, "as SIOCSIFFLAGS"),
	REFUSE_IOCTL(SIOCSIFMTU, "as SIOCSIFFLAGS"),
	REFUSE_IOCTL(SIOCADDRT, "as SIOCSIFFLAGS"),
	REFUSE_IOCTL(SIOCSARP, "as SIOCSIFFLAGS"),
	REFUSE_IOCTL(SIOCBRADDBR, "as SIOCSIFFLAGS"),
	REFUSE_IOCTL(SIOCETHTOOL, "as SIOCSIFFLAGS"),
	REFUSE_IOCTL(FS_IOC_SETFLAGS, "attributes of files outlive a run"),
	REFUSE_IOCTL(FS_IOC_FSSETXATTR, "as FS_IOC_SETFLAGS"),
	REFUSE_IOCTL(FIFREEZE, "stops a file system"),
	REFUSE_IOCTL(FITRIM, "as FIFREEZE"),
	REFUSE_QUIETLY("ioctl", ENOTTY, "what the kernel says of a request the file does not know"),
	REFUSE_QUIETLY("copy_file_range", EXDEV, "as FICLONE"),

	ALLOW_PRCTL(PR_SET_NAME),
	ALLOW_PRCTL(PR_GET_NAME),
	ALLOW_PRCTL(PR_SET_PDEATHSIG),
	ALLOW_PRCTL(PR_GET_PDEATHSIG),
	ALLOW_PRCTL(PR_GET_DUMPABLE),
	ALLOW_PRCTL(PR_CAPBSET_READ),
	ALLOW_PRCTL(PR_GET_NO_NEW_PRIVS),
	ALLOW_PRCTL(PR_SET_NO_NEW_PRIVS),
	ALLOW_PRCTL(PR_GET_SECCOMP),
	ALLOW_PRCTL(PR_SET_CHILD_SUBREAPER),
	ALLOW_PRCTL(PR_SET_THP_DISABLE),
	ALLOW_PRCTL(PR_SET_VMA),
	REFUSE_PRCTL(PR_SET_SECCOMP, "as seccomp"),
	REFUSE_PRCTL(PR_SET_DUMPABLE, "what the worker may see of a run is not its choice"),
	REFUSE_PRCTL(PR_SET_PTRACER, "as ptrace"),
	REFUSE_PRCTL(PR_SET_MM, "as ptrace"),
	REFUSE_PRCTL(PR_SET_KEEPCAPS, "as capset"),
	REFUSE_PRCTL(PR_SET_SECUREBITS, "as capset"),
	REFUSE_PRCTL(PR_CAPBSET_DROP, "as capset"),
	REFUSE_PRCTL(PR_CAP_AMBIENT, "as capset"),
	REFUSE_QUIETLY("prctl", EINVAL, "what the kernel says of an option that it does not know"),

	ALLOW_IF("mknod", "named pipes", MASKED(1, S_IFMT, S_IFIFO)),
	ALLOW_IF("mknod", "an empty file", MASKED(1, S_IFMT, S_IFREG)),
	ALLOW_IF("mknod", "the same, said otherwise", MASKED(1, S_IFMT, 0)),
	REFUSE("mknod", EPERM, "no device"),
	ALLOW_IF("mknodat", "named pipes", MASKED(2, S_IFMT, S_IFIFO)),
	ALLOW_IF("mknodat", "an empty file", MASKED(2, S_IFMT, S_IFREG)),
	ALLOW_IF("mknodat", "the same, said otherwise", MASKED(2, S_IFMT, 0)),
	REFUSE("mknodat", EPERM, "no device"),

	ALLOW_IF("prlimit64", "limits of this process", EQUAL(0, 0)),
	REFUSE("prlimit64", EPERM, "with a CPU limit of its choice a run could end its pid 1"),

	ALLOW_IF("arch_prctl", "thread-local storage", EQUAL(0, ARCH_SET_FS)),
	ALLOW_IF("arch_prctl", "thread-local storage", EQUAL(0, ARCH_GET_FS)),
	REFUSE_QUIETLY("arch_prctl", EINVAL, "the answer of a processor that lacks what is asked"),

	REFUSE_QUIETLY("getxattr", ENOTSUP,
		       "no extended attributes here; shutil copes with this errno"),
	REFUSE_QUIETLY("lgetxattr", ENOTSUP, "as getxattr"),
	REFUSE_QUIETLY("fgetxattr", ENOTSUP, "as getxattr"),
	REFUSE_QUIETLY("listxattr", ENOTSUP, "as getxattr"),
	REFUSE_QUIETLY("llistxattr", ENOTSUP, "as getxattr"),
	REFUSE_QUIETLY("flistxattr", ENOTSUP, "as getxattr"),
	REFUSE_QUIETLY("setxattr", ENOTSUP, "as getxattr"),
	REFUSE_QUIETLY("lsetxattr", ENOTSUP, "as getxattr"),
	REFUSE_QUIETLY("fsetxattr", ENOTSUP, "as getxattr"),
	REFUSE_QUIETLY("removexattr", ENOTSUP, "as getxattr"),

	REFUSE_QUIETLY("memfd_create", ENOSYS,
		       "gets round the size limit and noexec of the workspace"),
	REFUSE("shmget", ENOSYS, "memory that no limit counts"),
	REFUSE("shmat", ENOSYS, "as shmget"),
	REFUSE("msgget", ENOSYS, "as shmget"),
	REFUSE("semget", ENOSYS, "as shmget"),
	REFUSE("mq_open", ENOSYS, "as shmget"),
	REFUSE_QUIETLY("io_uring_setup", ENOSYS, "opens sockets behind this filter"),
	REFUSE_QUIETLY("inotify_init", ENOSYS, "instances are counted per host user"),
	REFUSE_QUIETLY("inotify_init1", ENOSYS, "as inotify_init"),
	REFUSE_QUIETLY("openat2", ENOSYS, "callers fall back to openat"),
	REFUSE_QUIETLY("faccessat2", ENOSYS, "callers fall back to faccessat"),
	REFUSE_QUIETLY("renameat2", ENOSYS, "callers fall back to renameat"),
	REFUSE_QUIETLY("statx", ENOSYS, "callers fall back to newfstatat"),
	REFUSE_QUIETLY("rseq", ENOSYS, "glibc does without"),
	EPOLL_PWAIT,
	REFUSE_QUIETLY("set_robust_list", ENOSYS, "as rseq"),
	REFUSE_QUIETLY("close_range", ENOSYS, "callers close one by one"),
	REFUSE_QUIETLY("membarrier", ENOSYS, "callers do without"),
	REFUSE_QUIETLY("get_mempolicy", ENOSYS,
		       "numpy's libraries ask for memory near a processor"),
	REFUSE_QUIETLY("set_mempolicy", ENOSYS, "as get_mempolicy"),
	REFUSE_QUIETLY("mbind", ENOSYS, "as get_mempolicy"),
	REFUSE_QUIETLY("fadvise64", ENOSYS, "advice; coreutils give it"),
	REFUSE_QUIETLY("mlock", ENOSYS, "gpg and others keep keys out of swap where they can"),
	REFUSE_QUIETLY("capget", ENOSYS, "node and ip ask, and go on"),
	REFUSE_QUIETLY("pkey_alloc", ENOSYS, "node protects code by it where it can"),
	REFUSE_QUIETLY("epoll_create", ENOSYS, "pgrep makes one, and does not need it"),
	REFUSE("getresuid", ENOSYS, "kernel attack surface; getuid tells the one id there is"),
	REFUSE("getresgid", ENOSYS, "as getresuid"),
	REFUSE("timerfd_create", ENOSYS, "kernel attack surface; there are other timers"),
	REFUSE_QUIETLY("timer_create", ENOSYS, "timeout takes alarm then"),

	REFUSE("unshare", EPERM, "a nested user namespace has every capability in it"),
	REFUSE("setns", EPERM, "as unshare"),
	REFUSE("mount", EPERM, "the view is settled"),
	REFUSE("umount2", EPERM, "as mount"),
	REFUSE("pivot_root", EPERM, "as mount"),
	REFUSE("chroot", EPERM, "as mount"),
	REFUSE("ptrace", EPERM, "no process is anyone else's to control"),
	REFUSE("process_vm_readv", EPERM, "as ptrace"),
	REFUSE("process_vm_writev", EPERM, "as ptrace"),
	REFUSE("pidfd_getfd", EPERM, "as ptrace"),
	REFUSE("kcmp", EPERM, "as ptrace"),
	REFUSE("add_key", EPERM, "keyrings are not namespaced and outlive a run"),
	REFUSE("request_key", EPERM, "as add_key"),
	REFUSE("keyctl", EPERM, "as add_key"),
	REFUSE("bpf", EPERM, "kernel attack surface"),
	REFUSE("perf_event_open", EPERM, "as bpf"),
	REFUSE("userfaultfd", EPERM, "as bpf"),
	REFUSE("fanotify_init", EPERM, "as bpf"),
	REFUSE("open_by_handle_at", EPERM, "opens files past the view"),
	REFUSE("seccomp", EPERM, "a listener of its own could stall what the worker waits for"),
	REFUSE("setuid", EPERM, "there is one id"),
	REFUSE("setgid", EPERM, "as setuid"),
	REFUSE("setreuid", EPERM, "as setuid"),
	REFUSE("setregid", EPERM, "as setuid"),
	REFUSE("setresuid", EPERM, "as setuid"),
	REFUSE("setresgid", EPERM, "as setuid"),
	REFUSE("setgroups", EPERM, "as setuid"),
	REFUSE_QUIETLY("fchown", EPERM, "as setuid; chown keeps what is, which is all it can"),
	REFUSE_QUIETLY("fchownat", EPERM, "as fchown"),
	REFUSE_QUIETLY("lchown", EPERM, "as fchown"),
	REFUSE("personality", EPERM, "kernel attack surface; it turns off the randomized layout"),
	REFUSE("capset", EPERM, "there is no capability to set"),
	REFUSE("sched_setaffinity", EPERM, "the CPUs are granted"),
	REFUSE("sched_setscheduler", EPERM, "as sched_setaffinity"),
	REFUSE("sethostname", EPERM, "the name is constant"),
	REFUSE("setdomainname", EPERM, "as sethostname"),
	REFUSE("sync", EPERM, "writes back the whole host"),
	REFUSE("syncfs", EPERM, "as sync"),
};

const struct filter_rule *syscalls_rule(size_t i)
{
	return i < sizeof(rules) / sizeof(*rules) ? &rules[i] : NULL;
}
