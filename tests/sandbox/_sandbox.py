"""Shared by the tests of this directory: one server for each environment, runs in it, and what came of them."""
import atexit
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import Server, check, cmdline, descendants, equal, until  # noqa: E402

_servers = {}

# Says for each attempt whether it was possible. Numbers of system calls: x86-64, and those that most others share.
ATTEMPTS = r"""
import ctypes, errno, os, platform, sys
def attempt(label, f, *a):
    try: f(*a); print(label, "OPEN")
    except OSError as e: print(label, errno.errorcode.get(e.errno, e.errno))
    except Exception as e: print(label, type(e).__name__)
libc = ctypes.CDLL(None, use_errno=True)
NUMBERS = dict(unshare=(272, 97), setns=(308, 268), clone=(56, 220), clone3=(435, 435), mount=(165, 40),
    umount2=(166, 39), pivot_root=(155, 41), chroot=(161, 51), mount_setattr=(442, 442), open_tree=(428, 428),
    move_mount=(429, 429), fsopen=(430, 430), keyctl=(250, 219), add_key=(248, 217), request_key=(249, 218),
    bpf=(321, 280), perf_event_open=(298, 241), userfaultfd=(323, 282), personality=(135, 92), ioctl=(16, 29),
    seccomp=(317, 277), ptrace=(101, 117), process_vm_readv=(310, 270), process_vm_writev=(311, 271),
    pidfd_getfd=(438, 438), kcmp=(312, 272), memfd_create=(319, 279), memfd_secret=(447, 447), shmget=(29, 194),
    msgget=(68, 186), semget=(64, 190), mq_open=(240, 180), io_uring_setup=(425, 425), inotify_init1=(294, 26),
    fanotify_init=(300, 262), open_by_handle_at=(304, 265), name_to_handle_at=(303, 264), openat2=(437, 437),
    capset=(126, 91), setuid=(105, 146), setgroups=(116, 159), sethostname=(170, 161), reboot=(169, 142),
    init_module=(175, 105), kexec_load=(246, 104), swapon=(167, 224), quotactl=(179, 60), syslog=(103, 116),
    acct=(163, 89), settimeofday=(164, 170), clock_settime=(227, 112), adjtimex=(159, 171), iopl=(172, -1),
    sched_setscheduler=(144, 119), sched_setaffinity=(203, 122), sync=(162, 81), mbind=(237, 235),
    move_pages=(279, 239), vmsplice=(278, 75), process_madvise=(440, 440), landlock_create_ruleset=(444, 444))
def call(name, *a):
    number = NUMBERS[name][platform.machine() != "x86_64"]
    r = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(x) if isinstance(x, int) else x for x in a])
    if r < 0:
        raise OSError(ctypes.get_errno(), name)
    return r
"""


def server(**env):
    """The server with these variables, as long as it lives."""
    key = tuple(sorted(env.items()))
    if key not in _servers or _servers[key].process.poll() is not None:
        _servers[key] = Server(env=env)
        _servers[key].initialize()
    return _servers[key]


@atexit.register
def _stop():
    for s in _servers.values():
        s.__exit__()


def structured(result):
    equal(result.get("isError"), False, str(result)[:400])
    return result["structuredContent"]


def run(code, env=None, wait=20, **arguments):
    """Runs a program and returns its structured result."""
    return structured(server(**(env or {})).exec(code, wait=wait, **arguments))


def printed(code, **more):
    """What a program that must end well printed."""
    result = run(code, **more)
    equal((result["exit_code"], result["stderr"], result["timed_out"]), (0, "", False), result["stdout"][-400:])
    return result["stdout"]


def expect(result, **wanted):
    """Checks fields: a pattern must be found, anything else must be equal."""
    for name, want in wanted.items():
        if isinstance(want, re.Pattern):
            check(want.search(result[name]), "%s does not match %s:" % (name, want.pattern), result)
        else:
            equal(result[name], want, "%s of %.600r:" % (name, result))


def attempts(code, **more):
    """Runs attempt() lines and returns {label: errno name or OPEN}."""
    return dict(line.rsplit(" ", 1) for line in printed(ATTEMPTS + code, **more).splitlines())


def denied(code, allowed=("EPERM", "EACCES", "ENOSYS", "EROFS", "ENOENT"), **more):
    """Every attempt must fail with one of these errors, and there must be one."""
    verdicts = attempts(code, **more)
    check(verdicts, "nothing was tried")
    for label, verdict in verdicts.items():
        check(verdict in allowed, "%s: %s" % (label, verdict))


def nothing_left(s=None):
    """Below the server there is the worker, and one waiting sandbox whose pid 1 has no child."""
    s = s or server()
    s.exec("pass")
    worker = s.worker()

    def settled():
        below = descendants(worker)
        return len(below) == 1 and b"main.py" not in cmdline(below[0])
    until(settled, 3, "only a waiting sandbox is left")
