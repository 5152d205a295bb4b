#!/usr/bin/env python3
"""A run is nobody: one id that is not root, no capability, no way to get one, and few system calls."""
import os
import resource

from _sandbox import attempts, check, denied, equal, nothing_left, printed, run
from mcp import cases, main

STATUS = "print({k: v.strip() for k, v in (l.split(':', 1) for l in open('/proc/%s/status'))}[%r])"


@cases([("user", "Uid", "1000\t1000\t1000\t1000"), ("group", "Gid", "1000\t1000\t1000\t1000"),
        ("new_privileges", "NoNewPrivs", "1"), ("seccomp", "Seccomp", "2"), ("inheritable", "CapInh", "0" * 16),
        ("permitted", "CapPrm", "0" * 16), ("effective", "CapEff", "0" * 16), ("bounding", "CapBnd", "0" * 16),
        ("ambient", "CapAmb", "0" * 16)])
def test_status_of(key, want):
    equal(printed(STATUS % ("self", key)), want + "\n")
    equal(printed(STATUS % ("1", key)), want + "\n", "pid 1:")


def test_groups_are_nobody_s_but_those_that_a_user_cannot_give_up():
    """They show as the one group of the sandbox, or as the overflow group; a server started as root has none."""
    outside = [] if os.geteuid() == 0 else os.getgroups()
    inside = printed("import os; print(*os.getgroups())").split()
    check(len(inside) <= len(outside) and set(inside) <= {"1000", "65534"}, "groups", inside, outside)


def test_securebits_are_locked():
    # PR_GET_SECUREBITS is refused by the filter, so it is asked for what the bits forbid: see the empty sets above, and
    # that a program that is started does not get any back.
    equal(printed("import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', %r], capture_output=True, "
                  "text=True).stdout, end='')" % (STATUS % ("self", "CapPrm"))), "0" * 16 + "\n")


REFUSED = [
    ("becoming_root", """
attempt("setuid", os.setuid, 0); attempt("setgid", os.setgid, 0); attempt("setresuid", os.setresuid, 0, 0, 0)
attempt("setgroups", os.setgroups, [0]); attempt("seteuid", os.seteuid, 0); attempt("chown", os.chown, "main.py", 0, 0)
attempt("raw setuid", call, "setuid", 0); attempt("capset", call, "capset", 0, 0)
"""),
    ("new_namespaces", """
for name, flag in dict(user=0x10000000, mnt=0x20000, net=0x40000000, pid=0x20000000, uts=0x4000000, ipc=0x8000000,
                       cgroup=0x2000000, time=0x80).items():
    attempt("unshare " + name, call, "unshare", flag)
for name in os.listdir("/proc/self/ns"):
    fd = os.open("/proc/self/ns/" + name, os.O_RDONLY); attempt("setns " + name, call, "setns", fd, 0)
"""),
    ("clone_with_namespaces", """
def clone(flags):
    r = call("clone", flags | 17, 0, 0, 0, 0)
    if r == 0: os._exit(0)
for flag in (0x10000000, 0x20000, 0x40000000, 0x20000000, 0x4000000, 0x8000000, 0x2000000):
    attempt("clone %#x" % flag, clone, flag)
    attempt("clone %#x with high bits" % flag, clone, flag | 1 << 32)
"""),
    ("mounting", """
libc.mount.argtypes = [ctypes.c_char_p] * 3 + [ctypes.c_ulong, ctypes.c_char_p]
def mount(*a):
    if libc.mount(*a) < 0: raise OSError(ctypes.get_errno(), "mount")
attempt("mount tmpfs", mount, b"x", b"/tmp", b"tmpfs", 0, None); attempt("remount", mount, None, b"/", None, 32, None)
attempt("bind", mount, b"/usr", b"/tmp", None, 4096, None); attempt("umount", call, "umount2", b"/tmp", 2)
attempt("pivot", call, "pivot_root", b"/tmp", b"/tmp"); attempt("chroot", os.chroot, "/tmp")
attempt("mount_setattr", call, "mount_setattr", -100, b"/", 0, ctypes.create_string_buffer(32), 32)
attempt("open_tree", call, "open_tree", -100, b"/", 1); attempt("fsopen", call, "fsopen", b"tmpfs", 0)
attempt("move_mount", call, "move_mount", -100, b"/tmp", -100, b"/sandbox", 0)
"""),
    ("keyrings", """
attempt("keyctl", call, "keyctl", 0, -3, 1); attempt("add_key", call, "add_key", b"user", b"x", b"y", 1, -3)
attempt("request_key", call, "request_key", b"user", b"x", 0, 0)
"""),
    ("kernel_surface", """
attempt("bpf", call, "bpf", 0, ctypes.create_string_buffer(64), 64)
attempt("perf", call, "perf_event_open", ctypes.create_string_buffer(128), 0, -1, -1, 0)
attempt("userfaultfd", call, "userfaultfd", 0); attempt("userfaultfd for users", call, "userfaultfd", 1)
attempt("io_uring", call, "io_uring_setup", 8, ctypes.create_string_buffer(256))
attempt("fanotify", call, "fanotify_init", 0, 0); attempt("inotify", call, "inotify_init1", 0)
attempt("vmsplice", call, "vmsplice", 0, 0, 0, 0); attempt("openat2", call, "openat2", -100, b"/", 0, 0)
attempt("landlock", call, "landlock_create_ruleset", 0, 0, 1)
"""),
    ("the_machine", """
for name in ("reboot", "init_module", "kexec_load", "swapon", "quotactl", "syslog", "acct", "settimeofday",
             "clock_settime", "adjtimex", "iopl", "sync", "sched_setscheduler", "mbind", "move_pages"):
    attempt(name, call, name, 0, 0, 0, 0)
attempt("sethostname", call, "sethostname", b"x", 1); attempt("affinity", os.sched_setaffinity, 0, range(64))
attempt("priority", os.setpriority, os.PRIO_PROCESS, 0, -1)
"""),
    ("memory_that_no_limit_counts", """
attempt("memfd", os.memfd_create, "m"); attempt("memfd_secret", call, "memfd_secret", 0)
attempt("shmget", call, "shmget", 0, 4096, 0o1600); attempt("msgget", call, "msgget", 0, 0o1600)
attempt("semget", call, "semget", 0, 1, 0o1600); attempt("mq_open", call, "mq_open", b"q", 0o102, 0o600, 0)
"""),
    ("handles_past_the_view", """
attempt("open_by_handle_at", call, "open_by_handle_at", 3, ctypes.create_string_buffer(64), 0)
attempt("name_to_handle_at", call, "name_to_handle_at", -100, b"/", ctypes.create_string_buffer(64), 0, 0)
"""),
    ("changing_how_programs_run", """
attempt("no aslr", call, "personality", 0x0040000); attempt("read implies exec", call, "personality", 0x0400000)
attempt("high bits", call, "personality", 0xffffffff | 1 << 32)
"""),
    ("filters_of_its_own", """
class Program(ctypes.Structure): _fields_ = [("n", ctypes.c_ushort), ("p", ctypes.c_void_p)]
attempt("listener", call, "seccomp", 1, 8, ctypes.byref(Program(0, None)))
attempt("strict", call, "seccomp", 0, 0, 0)
def by_prctl():
    if libc.prctl(22, 2, ctypes.byref(Program(0, None))) < 0: raise OSError(ctypes.get_errno(), "prctl")
attempt("prctl", by_prctl)
"""),
    ("looking_at_the_files_of_others", """
import fcntl
fd, own = os.open("/usr", os.O_RDONLY), os.open("main.py", os.O_RDONLY)
attempt("notify", fcntl.fcntl, fd, fcntl.F_NOTIFY, fcntl.DN_ACCESS)
attempt("lease", fcntl.fcntl, own, fcntl.F_SETLEASE, fcntl.F_RDLCK)
"""),
    ("maps_of_ids", """
for name, text in (("uid_map", "0 0 1"), ("gid_map", "0 0 1"), ("setgroups", "allow"), ("projid_map", "0 0 1")):
    attempt(name, lambda: os.write(os.open("/proc/self/" + name, os.O_WRONLY), text.encode()))
"""),
    ("pid_1", """
for name in ("mem", "environ", "maps", "io", "auxv", "stack", "syscall"):
    attempt(name, lambda: open("/proc/1/" + name, "rb").read(1))
for name in ("exe", "cwd", "root", "fd/0", "ns/net"): attempt(name, os.readlink, "/proc/1/" + name)
attempt("fd", os.listdir, "/proc/1/fd"); attempt("attach", call, "ptrace", 16, 1, 0, 0)
attempt("seize", call, "ptrace", 0x4206, 1, 0, 0); attempt("readv", call, "process_vm_readv", 1, 0, 0, 0, 0, 0)
attempt("writev", call, "process_vm_writev", 1, 0, 0, 0, 0, 0); attempt("kcmp", call, "kcmp", 1, 1, 0, 0, 0)
attempt("getfd", lambda: call("pidfd_getfd", os.pidfd_open(1), 3, 0))
attempt("prlimit", lambda: __import__("resource").prlimit(1, 7, (1, 1)))
"""),
]


@cases(REFUSED)
def test_refuses(code):
    # EINVAL: chown to an id that is not mapped.
    denied(code, allowed=("EPERM", "EACCES", "ENOSYS", "EROFS", "EINVAL"))


def test_calls_with_a_fallback_are_unknown_not_forbidden():
    verdicts = attempts("attempt('clone3', call, 'clone3', ctypes.create_string_buffer(88), 88)\n"
                        "attempt('openat2', call, 'openat2', -100, b'/', 0, 0)\n"
                        "attempt('io_uring', call, 'io_uring_setup', 8, 0)\n"
                        "attempt('memfd', os.memfd_create, 'm')\n")
    equal(verdicts, dict.fromkeys(("clone3", "openat2", "io_uring", "memfd"), "ENOSYS"))


def test_the_personality_is_neither_told_nor_changed():
    equal(attempts("attempt('ask', call, 'personality', 0xffffffff)\nattempt('change', call, 'personality', 0x40000)"),
          {"ask": "EPERM", "change": "EPERM"})


def test_terminal_injection_is_refused_whatever_the_high_bits():
    """By the filter: the kernel would say EBADF of a descriptor that is none."""
    denied("b = ctypes.create_string_buffer(b'x')\n"
           "for fd in (0, 1, 2, 200):\n"
           "    for name, request in (('sti', 0x5412), ('sti high', 0x5412 | 1 << 32), ('linux', 0x541c),\n"
           "                          ('ctty', 0x540e)):\n"
           "        attempt('%s %d' % (name, fd), call, 'ioctl', fd, request, ctypes.addressof(b))\n"
           "attempt('tty', os.open, '/dev/tty', os.O_RDWR)\n", allowed=("EPERM", "ENOENT"))


def test_setuid_programs_give_nothing():
    result = run("import os, shutil, subprocess\n"
                 "for c in (['su', '-c', 'id -u'], ['mount', '-t', 'tmpfs', 'x', '/tmp'], ['newgrp']):\n"
                 "    if not shutil.which(c[0]): continue\n"
                 "    r = subprocess.run(c, stdin=subprocess.DEVNULL, capture_output=True, timeout=5)\n"
                 "    if r.returncode == 0: print('OPEN', c, r)\n"
                 "print(os.geteuid())")
    equal(result["stdout"], "1000\n")


def test_a_setuid_bit_of_its_own_means_nothing():
    equal(printed("import os, shutil\nshutil.copy('/usr/bin/env', 'x'); os.chmod('x', 0o6755)\n"
                  "st = os.statvfs('x'); print(bool(st.f_flag & os.ST_NOSUID), bool(st.f_flag & os.ST_NOEXEC))"),
          "True True\n")


def test_another_abi_is_no_way_round():
    """int 0x80 reaches the 32-bit table: getpid is 20 there, and unshare 310. Code is put into memory that may run."""
    if os.uname().machine != "x86_64":
        return equal(attempts("attempt('x', call, 'unshare', 0x10000000)"), {"x": "EPERM"})
    equal(printed(r"""
import ctypes, mmap
word = lambda n: n.to_bytes(4, "little")
m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
def run(code):
    m.seek(0); m.write(code)
    return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()
for nr in (20, 310):   # push rbx; mov eax, nr; mov ebx, 0x10000000; int 0x80; pop rbx; ret
    print(run(b"\x53\xb8" + word(nr) + b"\xbb" + word(0x10000000) + b"\xcd\x80\x5b\xc3"))
for nr in (39, 272):   # x32: mov eax, 0x40000000 + nr; mov edi, 0x10000000; syscall; ret
    print(run(b"\xb8" + word(0x40000000 + nr) + b"\xbf" + word(0x10000000) + b"\x0f\x05\xc3"))
"""), "-38\n" * 4)


def test_no_limit_can_be_raised():
    verdicts = attempts("import resource\nfor name in ('CPU', 'NPROC', 'NOFILE', 'FSIZE', 'STACK', 'DATA', 'CORE', "
                        "'MEMLOCK',\n"
                        "             'MSGQUEUE', 'NICE', 'RTPRIO', 'SIGPENDING'):\n"
                        "    r = getattr(resource, 'RLIMIT_' + name); hard = resource.getrlimit(r)[1]\n"
                        "    if hard == resource.RLIM_INFINITY: print(name, 'UNLIMITED'); continue\n"
                        "    try: resource.setrlimit(r, (hard, hard + 1)); print(name, 'OPEN')\n"
                        "    except (ValueError, OSError): print(name, 'refused')\n")
    equal(set(verdicts.values()), {"refused"}, str(verdicts))


def test_no_core_is_handed_to_a_handler_of_the_host():
    """With a piped core_pattern 0 means: hand it over; only 1 means none. core(5). A hard 0 stays 0."""
    want = 1 if resource.getrlimit(resource.RLIMIT_CORE)[1] else 0
    equal(printed("import resource; print(resource.getrlimit(resource.RLIMIT_CORE))"), "(%d, %d)\n" % (want, want))


def test_a_core_file_would_hold_no_memory():
    equal(int(printed("print(open('/proc/self/coredump_filter').read())"), 16), 0)


def test_nothing_is_left():
    nothing_left()


main()
