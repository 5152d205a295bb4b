"""A run is nobody and becomes nobody else: one id, no capability, no way to get one, few system calls."""
import os

from _case import WALLS, attempts, host, prints
from mcp import check, equal

SECCOMP = "seccomp"
STATUS = """
s = dict(l.split(":", 1) for l in open("/proc/self/status"))
print([s[k].strip() for k in %r.split()])
"""
EACH = "for p in ('self', '1'): print(open('/proc/%%s/status' %% p).read().split(%r)[1].split()[0])"


def calls(id, title, code, layer=SECCOMP, errors=("EPERM", "ENOSYS"), needs=()):
    """System calls that the filter refuses. Arguments are of no effect even where one is let through."""
    return attempts("priv." + id, title, layer, code, errors=errors, needs=needs)


STATE = [
    prints("priv.ids", "not root, in no way", "user_namespace", STATUS % "Uid Gid",
           "['1000\\t1000\\t1000\\t1000', '1000\\t1000\\t1000\\t1000']\n", needs="proc"),
    prints("priv.caps", "all five sets of capabilities are empty", "no_capabilities",
           STATUS % "CapInh CapPrm CapEff CapBnd CapAmb", str(["0" * 16] * 5) + "\n", needs="proc"),
    prints("priv.caps-of-a-child", "a program that is started gets none back", "no_capabilities",
           "import subprocess\n"
           "print(subprocess.run([sys.executable, '-c', %r], capture_output=True, text=True).stdout, end='')"
           % (STATUS % "CapPrm CapEff CapBnd CapAmb"), str(["0" * 16] * 4) + "\n", needs="proc"),
    prints("priv.no-new-privs", "no_new_privs is set, of pid 1 as well", "no_new_privs",
           EACH % "NoNewPrivs:",
           "1\n1\n", needs="proc"),
    prints("priv.filter-is-on", "a filter is in force, of pid 1 as well", SECCOMP,
           EACH % "Seccomp:",
           "2\n2\n", needs="proc"),
    prints("priv.filter-for-children", "the filter holds in children, threads and after exec", SECCOMP, """
import subprocess, threading
print(subprocess.run(["grep", "-c", "Seccomp:.2", "/proc/self/status"], capture_output=True, text=True).stdout.strip())
t = threading.Thread(target=lambda: print(open("/proc/thread-self/status").read().split("Seccomp:")[1].split()[0]))
t.start(); t.join()
""", "1\n2\n", needs="proc"),
    prints("priv.cgroup-paths", "the cgroup shows as the root of a hierarchy", "cgroup_namespace",
           "print({l.rstrip().split(':', 2)[2] for l in open('/proc/self/cgroup')})", "{'/'}\n", needs="proc"),
    prints("priv.one-id", "a user namespace with one id", "user_namespace",
           "print(len(open('/proc/self/uid_map').read().split()), open('/proc/self/uid_map').read().split()[::2], "
           "open('/proc/self/setgroups').read().strip())", "3 ['1000', '1'] deny\n", needs="proc"),
]

BECOMING = [
    calls("become-root", "every call that sets an id", """
attempt("setuid", os.setuid, 0); attempt("setgid", os.setgid, 0); attempt("setresuid", os.setresuid, 0, 0, 0)
attempt("setresgid", os.setresgid, 0, 0, 0); attempt("seteuid", os.seteuid, 0); attempt("setegid", os.setegid, 0)
attempt("setreuid", os.setreuid, 0, 0); attempt("setregid", os.setregid, 0, 0); attempt("setgroups", os.setgroups, [0])
attempt("no groups", os.setgroups, []); attempt("raw", call, "setuid", 0); attempt("high", call, "setuid", 1 << 32)
attempt("capset", call, "capset", ctypes.create_string_buffer(16), ctypes.create_string_buffer(32))
""", ("seccomp", "user_namespace"), ("EPERM", "ENOSYS", "EINVAL")),
    prints("priv.fs-ids", "setfsuid and setfsgid change nothing", ("seccomp", "user_namespace"), """
for name in ("setfsuid", "setfsgid"):
    try: call(name, 0)
    except OSError: pass
print(open("/proc/self/status").read().split("Uid:")[1].split()[3],
      open("/proc/self/status").read().split("Gid:")[1].split()[3])
""", "1000 1000\n", needs="proc"),
    calls("unshare", "unshare of every namespace, alone and together", """
flags = dict(user=0x10000000, mnt=0x20000, net=0x40000000, pid=0x20000000, uts=0x4000000, ipc=0x8000000,
             cgroup=0x2000000,
             time=0x80, files=0x400, fs=0x200)
for name, flag in flags.items():
    if flag > 0x400: attempt(name, call, "unshare", flag); attempt(name + " high", call, "unshare", flag | 1 << 32)
    if flag > 0x400 and name != "user": attempt("user " + name, call, "unshare", flag | 0x10000000)
attempt("all", call, "unshare", 0x7e020000)
"""),
    calls("clone-namespaces", "clone with every flag of a namespace, also with high bits", """
def clone(flags):
    if call("clone", flags | 17, 0, 0, 0, 0) == 0: os._exit(0)
for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x4000000, 0x8000000, 0x2000000, 0x10020000, 0x7e020000):
    attempt("%#x" % flag, clone, flag); attempt("%#x high" % flag, clone, flag | 1 << 32)
"""),
    prints("priv.clone3", "clone3 is unknown, not forbidden, so that threads work", SECCOMP, """
import threading
attempt("clone3", call, "clone3", ctypes.create_string_buffer(b"\\xff" * 88, 88), 88)
t = threading.Thread(target=lambda: print("thread")); t.start(); t.join()
""", "clone3 DENIED ENOSYS\nthread\n"),
    calls("setns", "joining namespaces, by file and by pidfd", """
for name in sorted(os.listdir("/proc/self/ns")):
    fd = os.open("/proc/self/ns/" + name, os.O_RDONLY); attempt(name, call, "setns", fd, 0)
    attempt(name + " high", call, "setns", fd, 1 << 32); os.close(fd)
if hasattr(os, "pidfd_open"): attempt("pidfd", call, "setns", os.pidfd_open(os.getpid()), 0x40000000)
""", needs="proc"),
    calls("mount", "mount calls, old and new", """
libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
def mount(*a):
    if libc.mount(*a) < 0: raise OSError(ctypes.get_errno(), "mount")
attempt("tmpfs", mount, b"x", b"/tmp", b"tmpfs", 0, None); attempt("proc", mount, b"x", b"/tmp", b"proc", 0, None)
attempt("bind", mount, b"/usr", b"/tmp", None, 4096, None)
attempt("remount", mount, None, b"/tmp", None, 32 | 4096, None)
attempt("private", mount, None, b"/", None, 1 << 18, None); attempt("overlay", mount, b"x", b"/tmp", b"overlay", 0, b"")
attempt("cgroup", mount, b"x", b"/tmp", b"cgroup2", 0, None); attempt("fuse", mount, b"x", b"/tmp", b"fuse", 0, None)
attempt("umount", call, "umount2", b"/sandbox/main.py", 2); attempt("pivot", call, "pivot_root", b"/tmp", b"/tmp")
attempt("chroot", os.chroot, "/tmp"); attempt("chroot fd", os.chroot, "/proc/self/cwd")
attempt("setattr", call, "mount_setattr", -100, b"/", 0, ctypes.create_string_buffer(32), 32)
attempt("open_tree", call, "open_tree", -100, b"/", 1); attempt("fsopen", call, "fsopen", b"tmpfs", 0)
attempt("fsmount", call, "fsmount", 0, 0, 0)
attempt("fspick", call, "fspick", -100, b"/", 0)
attempt("move", call, "move_mount", -100, b"/tmp", -100, b"/sandbox", 0)
""", ("seccomp", "no_capabilities")),
    calls("id-maps", "the maps of ids written again", """
for name, text in (("uid_map", "0 0 1"), ("gid_map", "0 0 1"), ("setgroups", "allow"), ("projid_map", "0 0 1")):
    attempt(name, lambda: os.write(os.open("/proc/self/" + name, os.O_WRONLY), text.encode()))
""", ("proc", "no_capabilities", "user_namespace"), ("EPERM", "EACCES", "EROFS", "ENOENT")),
    prints("priv.setuid-programs", "su, sudo, mount and their like change nothing", ("no_new_privs",
                                                                                     "user_namespace"), """
import shutil, subprocess
for c in (["su", "-c", "id -u"], ["sudo", "-n", "id", "-u"], ["pkexec", "id", "-u"], ["newuidmap", "1", "0", "0", "1"],
          ["passwd", "-S"], ["chsh", "-s", "/bin/sh"], ["mount", "-t", "tmpfs", "x", "/tmp"], ["fusermount", "-V"],
          ["newgrp", "root"], ["doas", "id"], ["unshare", "-r", "id"], ["chroot", "/", "id"], ["nsenter", "-t1", "-m",
                                                                                               "id"]):
    if shutil.which(c[0]):
        r = subprocess.run(c, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=8)
        if r.stdout.strip() in ("0", "root") or "uid=0" in r.stdout: print(c[0], "OPEN", r.stdout)
print(os.getuid(), os.geteuid(), open("/proc/mounts").read().count(" / "))
""", "1000 1000 1\n", seconds=10, needs="proc"),
]

SURFACE = [
    calls("keyrings", "keyrings are in no namespace and outlive a run", """
attempt("session", call, "keyctl", 1, 0); attempt("get", call, "keyctl", 0, -3, 1)
attempt("user", call, "keyctl", 0, -4, 1)
attempt("add", call, "add_key", b"user", b"x", b"y", 1, -1); attempt("ask", call, "request_key", b"user", b"x", 0, 0)
attempt("high", call, "keyctl", 1 << 32, -3, 1)
"""),
    calls("kernel-surface", "bpf, perf, userfaultfd, io_uring, aio and other large interfaces", """
b = ctypes.create_string_buffer(128)
attempt("bpf", call, "bpf", 0, b, 64); attempt("bpf load", call, "bpf", 5, b, 64)
attempt("perf", call, "perf_event_open", b, 0, -1, -1, 0); attempt("uffd", call, "userfaultfd", 0)
attempt("uffd user", call, "userfaultfd", 1); attempt("aio", call, "io_setup", 1, b)
attempt("vmsplice", call, "vmsplice", 1, b, 0, 0)
attempt("landlock", call, "landlock_create_ruleset", 0, 0, 1); attempt("remap", call, "remap_file_pages", 0, 0, 0, 0, 0)
attempt("mbind", call, "mbind", 0, 0, 0, 0, 0, 0); attempt("mempolicy", call, "set_mempolicy", 0, 0, 0)
attempt("release", call, "process_mrelease", -1, 0); attempt("advice", call, "process_madvise", -1, 0, 0, 0, 0)
attempt("fsconfig", call, "fsconfig", 0, 6, 0, 0, 0)
"""),
    calls("filter-of-its-own", "filters and listeners that could stall what waits for the run", """
class Program(ctypes.Structure): _fields_ = [("n", ctypes.c_ushort), ("p", ctypes.c_void_p)]
p = ctypes.byref(Program(0, None))
attempt("listener", call, "seccomp", 1, 8, p); attempt("filter", call, "seccomp", 1, 0, p)
attempt("sizes", call, "seccomp", 3, 0, ctypes.create_string_buffer(8))
attempt("by prctl", call, "prctl", 22, 2, p, 0, 0)
attempt("high", call, "prctl", 22 | 1 << 32, 2, p, 0, 0)
"""),
    calls("needless-timers", "timers by descriptor and by signal, which other calls replace", """
attempt("timer", call, "timer_create", 99, 0, 0); attempt("timer by descriptor", call, "timerfd_create", 99, 0)
""", errors=("ENOSYS",)),
    calls("personality", "address randomisation off, and old habits of memory", """
for name, flag in (("no aslr", 0x40000), ("read implies exec", 0x400000), ("32 bit", 8), ("mmap page zero", 0x100000),
                   ("compat layout", 0x200000), ("high", 0xffffffff | 1 << 32), ("none", 0)):
    attempt(name, call, "personality", flag)
"""),
    calls("terminal-ioctls", "TIOCSTI, TIOCLINUX and their like on every descriptor, also with high bits", """
b = ctypes.create_string_buffer(64)
for fd in (0, 1, 2, os.open("/dev/null", os.O_RDWR)):
    for name, n in (("sti", 0x5412), ("linux", 0x541c), ("ctty", 0x540e), ("cons", 0x541d), ("setd", 0x5423)):
        attempt("%s %d" % (name, fd), call, "ioctl", fd, n, b)
        attempt("%s %d high" % (name, fd), call, "ioctl", fd, n | 1 << 32, b)
        attempt("%s %d sign" % (name, fd), call, "ioctl", fd, n - (1 << 32), b)
""", errors=("EPERM",)),
    calls("other-ioctls", "what no descriptor of a run knows is said to be unknown", """
b = ctypes.create_string_buffer(64)
for fd in (0, 1, 2, os.open("/dev/null", os.O_RDWR)):
    for name, n in (("vt", 0x5606), ("pgrp", 0x5410), ("ptpeer", 0x5441), ("keymap", 0x4b47), ("kd", 0x4b3a),
                    ("blk", 0x127d), ("loop", 0x4c80), ("wireless", 0x8b00), ("dedupe", 0xc0189436)):
        attempt("%s %d" % (name, fd), call, "ioctl", fd, n, b)
        attempt("%s %d high" % (name, fd), call, "ioctl", fd, n | 1 << 32, b)
""", errors=("ENOTTY",)),
    calls("prctls", "options that concern more than this process, or its memory's map", """
for name, option, value in (("capbset", 24, 21), ("securebits", 28, 0), ("keepcaps", 8, 1), ("ptracer", 0x59616d61, -1),
                            ("mm", 35, 1), ("ambient", 47, 2), ("dumpable high", 4 | 1 << 32, 1)):
    attempt(name, call, "prctl", option, value, 0, 0, 0)
""", errors=("EPERM",)),
    calls("other-prctls", "options that a run does not get are said to be unknown", """
for name, option, value in (("unalign", 6, 1), ("tsc", 26, 2), ("mce kill", 33, 1), ("io flusher", 57, 1),
                            ("sched core", 62, 0), ("timing", 14, 0), ("mdwe", 65, 1), ("speculation", 53, 0),
                            ("fp mode", 45, 0)):
    attempt(name, call, "prctl", option, value, 0, 0, 0)
""", errors=("EINVAL",)),
    calls("machine-wide", "modules, kexec, reboot, swap, clocks, accounting, quotas, the log", """
b = ctypes.create_string_buffer(256)
attempt("reboot", call, "reboot", 0, 0, 0, 0); attempt("module", call, "init_module", 0, 0, b"")
attempt("module file", call, "finit_module", -1, b"", 0)
attempt("unload", call, "delete_module", b"no-such-module", 0x800)
attempt("kexec", call, "kexec_load", 0, 99, 0, 0); attempt("kexec file", call, "kexec_file_load", -1, -1, 0, 0, 0)
attempt("swapon", call, "swapon", b"/no/such", 0); attempt("swapoff", call, "swapoff", b"/no/such")
attempt("accounting", call, "acct", b"/"); attempt("log", call, "syslog", 10, 0, 0)
attempt("read log", call, "syslog", 3, b, 16)
attempt("settimeofday", call, "settimeofday", 0, 0); attempt("clock", call, "clock_settime", 0, 0)
attempt("adjtimex", call, "adjtimex", b); attempt("clock_adjtime", call, "clock_adjtime", 0, b)
attempt("quota", call, "quotactl", -1, 0, 0, 0); attempt("quota fd", call, "quotactl_fd", -1, 0, 0, 0)
attempt("hang up", call, "vhangup"); attempt("nfs", call, "nfsservctl", 0, 0, 0)
attempt("host name", call, "sethostname", b"x", 999); attempt("domain", call, "setdomainname", b"x", 999)
attempt("iopl", call, "iopl", 0); attempt("ioperm", call, "ioperm", 0x80, 1, 0)
attempt("ldt", call, "modify_ldt", 0, 0, 0)
"""),
    calls("scheduling", "priorities, CPUs and write-back of the whole machine", """
b = ctypes.create_string_buffer(64)
attempt("scheduler", call, "sched_setscheduler", 0, 0, b); attempt("attr", call, "sched_setattr", 0, b, 0)
attempt("param", call, "sched_setparam", 0, b); attempt("affinity", os.sched_setaffinity, 0, range(256))
attempt("io priority", call, "ioprio_set", 1, 0, 0x2000); attempt("priority", os.setpriority, os.PRIO_PROCESS, 0, -20)
attempt("of a user", os.setpriority, os.PRIO_USER, 999999, 19)
attempt("of pid 1", lambda: os.setpriority(os.PRIO_PROCESS, 1, os.getpriority(os.PRIO_PROCESS, 1)))
attempt("sync", call, "sync"); attempt("syncfs", call, "syncfs", 0); attempt("lock", call, "mlockall", 4)
""", errors=("EPERM", "EACCES", "ENOSYS")),
    calls("ipc", "queues, semaphores and shared memory of System V and POSIX", """
# None is made: these ask for some that are not there.
attempt("shm", call, "shmget", 0x5eed, 4096, 0o600); attempt("msg", call, "msgget", 0x5eed, 0o600)
attempt("sem", call, "semget", 0x5eed, 1, 0o600); attempt("mq", call, "mq_open", b"no-such", 2, 0, 0)
attempt("attach", call, "shmat", 0, 0, 0)
"""),
    prints("priv.other-tables", "system calls by another table: 32 bit and x32", SECCOMP, """
import mmap, struct
if platform.machine() != "x86_64": print("[-38, -38, -38, -38]"); sys.exit()
def run(code):
    m = mmap.mmap(-1, 4096, prot=7); m.write(code)
    f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
    r, w = os.pipe(); pid = os.fork()
    if pid == 0: os.write(w, b"%d" % f()); os._exit(0)
    # A kernel without the 32-bit table has no such instruction either: a fault. SystemCallArchitectures= of a unit kills.
    return -38 if os.waitpid(pid, 0)[1] & 127 in (11, 31) else int(os.read(r, 16))
word = lambda n: struct.pack("<I", n)
# push rbx; mov eax, nr; mov ebx, CLONE_NEWUSER; int 0x80; pop rbx; ret - then: mov eax, nr; mov edi, flag; syscall; ret
print([run(b"\\x53\\xb8" + word(n) + b"\\xbb" + word(0x10000000) + b"\\xcd\\x80\\x5b\\xc3") for n in (20, 310)]
      + [run(b"\\xb8" + word(1 << 30 | n) + b"\\xbf" + word(0x10000000) + b"\\x0f\\x05\\xc3") for n in (39, 272)])
""", "[-38, -38, -38, -38]\n"),
    attempts("priv.unknown-numbers", "numbers past the table, below zero and with high bits", SECCOMP, """
for n in list(range(463, 1100)) + [4095, 0x3fffffff, -1, -2, (1 << 31) - 1]:
    def f():
        if libc.syscall(ctypes.c_long(n), 0, 0, 0, 0, 0, 0) < 0: raise OSError(ctypes.get_errno(), "")
    attempt(str(n), f)
""", errors=("ENOSYS",)),
    prints("priv.refusal-is-no-death", "a refused call gives an error, it does not kill", SECCOMP, """
for name in ("unshare", "ptrace", "keyctl", "bpf", "mount", "reboot", "io_uring_setup", "vmsplice"):
    try: call(name, -1, 0, 0, 0, 0)
    except OSError: pass
print("alive")
""", "alive\n"),
    prints("priv.raise-limits", "no hard limit can be raised", "no_capabilities", """
import resource
for name in ("AS", "CPU", "NPROC", "NOFILE", "FSIZE", "STACK", "DATA", "CORE", "MEMLOCK", "MSGQUEUE", "NICE", "RTPRIO",
             "SIGPENDING", "RTTIME"):
    r = getattr(resource, "RLIMIT_" + name); hard = resource.getrlimit(r)[1]
    if hard == resource.RLIM_INFINITY: continue
    for more in (hard + 1, resource.RLIM_INFINITY):
        try: resource.setrlimit(r, (hard, more)); print(name, "OPEN")
        except (ValueError, OSError): pass
print("kept")
""", "kept\n"),
]


def own_namespace(name, layer):
    """A namespace that is not the one of whoever runs this."""
    @host("priv.ns-" + name, "a namespace of its own: " + name, layer, "host", "proc")
    def case(target):
        inside = target.exec("import os; print(os.readlink('/proc/self/ns/%s'))" % name)["stdout"].strip()
        check(inside.startswith(name + ":[") and inside != os.readlink("/proc/self/ns/" + name), "it is ours:", inside)
    return case


NAMESPACES = [own_namespace(name, layer) for name, layer in (
    ("user", "user_namespace"), ("net", "net_namespace"), ("pid", "pid_namespace"), ("mnt", "mount_namespace"),
    ("ipc", "ipc_namespace"), ("uts", "uts_namespace"), ("cgroup", "cgroup_namespace"))]


@host("priv.groups", "no group of the server's but those that its user cannot give up", "user_namespace", "host")
def groups(target):
    outside = [] if os.geteuid() == 0 else os.getgroups()
    inside = target.exec("import os; print(*os.getgroups())")["stdout"].split()
    check(len(inside) <= len(outside) and set(inside) <= {"1000", "65534"}, "groups", inside, outside)


@host("priv.layers-are-told", "every run says which walls stood, and all that are required did", "supervisor")
def layers_are_told(target):
    meta = target.call("pass")["_meta"]["io.github.mcp-exec/run"]
    equal(sorted(meta["layers"] + meta["degraded"]), sorted(WALLS))
    check(set(meta["degraded"]) <= {"proc", "hostname", "landlock"}, "weaker than allowed:", meta["degraded"])


CASES = STATE + NAMESPACES + BECOMING + SURFACE + [groups, layers_are_told]
