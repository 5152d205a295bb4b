"""However a program is started, nothing of how it came to be is left for it: neither of what waits for programs, nor of
those that started it, nor of the runs before.

A program that is started warm is a copy of an interpreter that waits in a sandbox of its own, and was made by processes
that entered its sandbox. What copies could share is in copies.py."""
from _case import PRELUDE, Open, attempts, host, prints
from _target import TARGETS, structured
import warm
from mcp import check, equal, unique, until

# What a gate, a control socket, a listener of the filter, a plan or a namespace would be.
HELD = """
import fcntl, socket, stat
def take(fd): os.fstat(fd); return fd
def try_all(label, f, last=1024):
    for fd in range(last):
        try: f(fd)
        except OSError: continue
        except Exception as e: print(label, fd, "OPEN", type(e)); continue
        print(label, fd, "OPEN")
def named(fd):
    try: link = os.readlink("/proc/self/fd/%d" % fd)
    except OSError: raise
    if link.startswith("pipe:"): raise OSError(1, "mine")
try_all("is no pipe", named)
try_all("send", lambda fd: socket.socket(fileno=os.dup(fd)).send(b"x"))
try_all("receive", lambda fd: socket.socket(fileno=os.dup(fd)).recv(1, socket.MSG_DONTWAIT))
b = ctypes.create_string_buffer(4096)
try_all("listener", lambda fd: fcntl.ioctl(fd, 0xc0502100, b))
try_all("enter", lambda fd: call("setns", fd, 0), 64)
try_all("seals", lambda fd: fcntl.fcntl(fd, 1034))
print("none")
"""

PAST = """
def pids(): return sorted(int(p) for p in os.listdir("/proc") if p.isdigit())
own_pids()
for p in pids():
    if p not in (1, os.getpid()): print("process %d OPEN" % p)
for p in range(2, 1024):
    if p == os.getpid(): continue
    for f in (lambda: os.kill(p, 0), lambda: os.getsid(p), lambda: os.getpgid(p), lambda: os.sched_getaffinity(p),
              lambda: os.pidfd_open(p), lambda: os.stat("/proc/%d" % p)):
        try: f(); print("process %d OPEN" % p)
        except (ProcessLookupError, FileNotFoundError, AttributeError): pass
        except OSError as e: print("process %d OPEN" % p, e)
print(os.getppid(), os.getsid(0) == os.getpgrp() == os.getpid(), os.listdir("/proc/self/task") == [str(os.getpid())])
"""

# The gate is mapped in a program that is started warm. It is asked to serve, over a socket of the program's own.
GATE = """
import socket
def mapped():
    return [l.split()[0] for l in open("/proc/self/maps") if l.rstrip().endswith("/gate.so")]
def serve():
    try: gate = ctypes.PyDLL("/gate.so", mode=4 | 2)  # RTLD_NOLOAD
    except OSError: os._exit(7)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    r, w = os.pipe()
    os.dup2(theirs.fileno(), 3); os.dup2(r, 4)
    gate.PyInit_gate()
    os._exit(8)
pid = os.fork()
if pid == 0: serve()
print({1: "ended", 7: "absent"}.get(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), "OPEN"))
if os.path.exists("/gate.so"): print("file OPEN")
for name in ("setns", "capset", "landlock_create_ruleset", "seccomp"):
    try: call(name, 1, 1, 0); print(name, "OPEN")
    except OSError as e:
        if e.errno not in (1, 38): print(name, "OPEN", e)
"""

# What is kept in every place that a program can write.
KEEP = """
import os, sys, subprocess, threading
WORD = "%s" + os.environ["HOME"][:0]
os.environ["KEPT"] = WORD
kept = [WORD * 3 + str(i) for i in range(2000)] + [sys.stdin.read()]
for folder in ("/tmp", "/var/tmp", "/dev/shm", "/sandbox"):
    with open(folder + "/kept-" + WORD, "w") as f: f.write(WORD)
child = subprocess.Popen(["sleep", "10"], env={"KEPT": WORD})
sys.argv.append(WORD); sys.modules[WORD] = threading
open("/proc/self/comm", "w").write(WORD[:15]) if os.access("/proc/self/comm", os.W_OK) else None
print(len(kept), WORD)
"""

# The word stands in this program backwards, so that it is in memory once or twice as such, and never three times in a
# row; but for one that shows that the search finds what is there.
SEARCH = """
import os
WORD, CONTROL = %r[::-1].encode(), b"-the-control-"
planted, places, controls = CONTROL * 3, [], 0
def found(data, where):
    if WORD in data: places.append(where)
for l in open("/proc/self/maps"):
    bounds, rights = l.split()[:2]
    first, last = (int(x, 16) for x in bounds.split("-"))
    if "r" not in rights or last > 1 << 47: continue
    with open("/proc/self/mem", "rb", 0) as m:
        m.seek(first)
        while first < last:
            try: data = m.read(min(1 << 16, last - first))
            except OSError: break
            if not data: break
            if WORD * 2 in data: places.append(l.strip())
            controls += CONTROL * 2 in data
            first += len(data)
for top in ("/tmp", "/var/tmp", "/dev/shm", "/sandbox"):
    for folder, folders, files in os.walk(top):
        for name in folders + files: found(name.encode(), folder)
for p in os.listdir("/proc"):
    for name in ("cmdline", "environ", "comm", "status", "mountinfo", "net/unix", "sysvipc/shm", "sysvipc/msg"):
        try: found(open("/proc/%%s/%%s" %% (p, name), "rb").read(), p + "/" + name)
        except OSError: pass
for name in ("net/unix", "sysvipc/shm", "sysvipc/msg", "sysvipc/sem", "locks", "keys", "mounts"):
    try: found(open("/proc/" + name, "rb").read(), name)
    except OSError: pass
print(places, controls > 0)
"""

# What the walls of a process are, as it can see them itself.
WALLS = """
import os, resource
s = dict(l.rstrip("\\n").split(":\\t", 1) for l in open("/proc/self/status") if ":\\t" in l)
for k in ("Umask", "Uid", "Gid", "Groups", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp",
          "SigBlk", "SigIgn", "SigQ", "ShdPnd", "SigPnd", "Threads", "CoreDumping", "THP_enabled",
          "Speculation_Store_Bypass", "SpeculationIndirectBranch", "Mems_allowed"):
    print(k, s.get(k, "").split("/")[-1])
print(len(os.sched_getaffinity(0)), os.getpriority(0, 0), os.getsid(0) == os.getpid())
for name in sorted(n for n in dir(resource) if n.startswith("RLIMIT_") and n != "RLIMIT_DATA"):
    print(name, resource.getrlimit(getattr(resource, name)))
print(resource.getrlimit(resource.RLIMIT_DATA)[1])
for name in ("oom_score_adj", "coredump_filter", "cgroup", "setgroups", "gid_map", "uid_map", "loginuid", "sessionid",
             "attr/current", "timerslack_ns", "personality"):
    try: print(name, [l.split()[::2] for l in open("/proc/self/" + name)])
    except OSError as e: print(name, e.errno)
mounts = [l.split() for l in open("/proc/self/mountinfo")]
print("\\n".join(sorted(str((f[3] if f[4] != "/" else "/", f[4], f[5], f[-3:])) for f in mounts)))
print(sorted(os.environ), os.getcwd(), sorted(os.listdir("/")), sorted(os.listdir("/dev")), sorted(os.listdir(".")))
print(open("/proc/self/cmdline", "rb").read(), open("/proc/net/unix").read().count("\\n"), os.uname()[1])
print([l.split()[0] for l in open("/proc/net/dev")], [l.split()[1:] for l in open("/proc/net/dev")][2:])
"""

PROGRAMS = [
    prints("start.no-way-back", "no socket, listener, namespace or sealed file is among its descriptors",
           ("descriptors", "seccomp"), HELD, "none\n", needs="proc"),
    prints("start.gate-serves-nobody", "the code by which a copy enters its sandbox, called by the program",
           ("seccomp", "descriptors"), GATE, ("ended\n", "absent\n"), needs="proc"),
    attempts("start.pid-2", "ptrace and its relatives on pid 1 and whoever was pid 2", ("seccomp", "init"), """
class Vector(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("n", ctypes.c_size_t)]
b = ctypes.create_string_buffer(8); mine = Vector(ctypes.addressof(b), 8); theirs = Vector(0x400000, 8)
for p in {1, 2} - {os.getpid()}:
    attempt("seize %d" % p, call, "ptrace", 0x4206, p, 0, 0)
    attempt("readv %d" % p, call, "process_vm_readv", p, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
    attempt("kcmp %d" % p, call, "kcmp", p, os.getpid(), 0, 0, 0)
    for name in ("mem", "environ", "maps", "root", "cwd", "ns/net", "ns/user", "task/%d/mem" % p):
        attempt("%d %s" % (p, name), lambda: os.close(os.open("/proc/%d/%s" % (p, name), os.O_RDONLY)))
""", errors=("EPERM", "EACCES", "ENOSYS", "ENOENT", "ESRCH"), needs="proc"),
]


@host("start.none-of-its-makers", "nobody is there but pid 1, and the pids of its makers are nobody's, run after run",
      "pid_namespace", "proc")
def none_of_its_makers(target):
    """Also when the next program waits already, and whoever is to make it has no time."""
    s = target.server()
    for call in [s.start_exec(PRELUDE + PAST) for _ in range(30)]:
        result = structured(s.answer(call)["result"])
        equal((result["stdout"], result["stderr"]), ("1 True True\n", ""))


@host("start.nothing-of-another-run", "memory, files, variables, names and arguments of the run before",
      ("pid_namespace", "workspace", "init"), "proc")
def nothing_of_another_run(target):
    """Several times, since more than one waits."""
    for _ in range(6):
        word = "kept" + unique()
        kept = target.exec(KEEP % word, stdin=word * 50)
        equal(kept["stdout"], "2001 %s\n" % word)
        result = target.exec(SEARCH % word[::-1])
        equal((result["stdout"], result["stderr"]), ("[] True\n", ""))


@host("start.walls-are-the-same", "what a program sees of its walls, started cold and warm", ("seccomp", "rlimits"),
      "proc", "environment", "second")
def walls_are_the_same(target):
    """But for the outer side of the map of ids, which is cut off: it is the server's user, or the sandbox's above."""
    said = {}
    for name, setting in (("cold", "0"), ("warm", "1")):
        other = TARGETS["stdio"](warm=setting)
        try:
            said[name] = other.exec(WALLS)["stdout"].splitlines()
        finally:
            other.close()
    check(len(said["cold"]) > 40, "too little was said", said["cold"])
    differ = [pair for pair in zip(said["cold"], said["warm"]) if pair[0] != pair[1]]
    if differ or len(said["cold"]) != len(said["warm"]):
        raise Open("; ".join("%s | %s" % pair for pair in differ)[:900])


STRIKES = [
    "own_pids()\nos.kill(-1, 9)",
    "own_pids()\nfor s in range(1, 65):\n    try: os.kill(1, s)\n    except OSError: pass",
    "import os, gc, sys, builtins\nbuiltins.print = None; sys.modules.clear(); gc.disable()\nos.chmod('/sandbox', 0)",
    "import ctypes; ctypes.string_at(0)",
    "import os\nfor fd in range(1024):\n    try: os.write(fd, b'x' * 4096)\n    except OSError: pass",
    "import os\nfor l in open('/proc/self/maps'):\n    f = l.split()\n    if 'w' in f[1] and '/gate.so' in l:\n"
    "        with open('/proc/self/mem', 'wb', 0) as m: m.seek(int(f[0].split('-')[0], 16)); m.write(b'\\xff' * 4096)",
    "take = tokens(300)\nwhile take():\n    if os.fork() == 0: continue",
]


@host("start.what-waits-is-unharmed", "programs that strike at everything; the same interpreter serves the next ones",
      ("pid_namespace", "init"), "processes", "environment")
def what_waits_is_unharmed(target):
    s = target.server()
    warmth = target.warm != "0" and warm.known()
    before = until(lambda: warm.ready(s.worker()), 20, "what waits") if warmth else None
    for code in STRIKES:
        structured(s.answer(s.start_exec(PRELUDE + code, timeout_s=10), 30)["result"])
        result = target.exec("import sys, os\nprint(sorted(os.listdir('.')), len(sys.modules) > 20)")
        equal(result["stdout"], "['main.py'] True\n")
    if warmth:
        equal(until(lambda: warm.ready(s.worker()), 20, "what waits").pristine, before.pristine)


CASES = PROGRAMS + [none_of_its_makers, nothing_of_another_run, walls_are_the_same, what_waits_is_unharmed]
