"""Every limit holds, names itself, and neither the server nor the next run nor the run beside it suffers.

All programs are bounded: they stop, and say OPEN, at three times the memory or twice the other limits.
"""
import re
import time

from _case import attempts, ends, host, prints
from _target import structured
from mcp import PATIENCE, check, equal, within

MEMORY, FILES, COUNT = "memory_limit", "workspace", "rlimits"
KILLED = dict(exit_code=-1, signal="SIGKILL")
SMALL = {"MCP_EXEC_TMP_BYTES": str(8 << 20), "MCP_EXEC_MEMORY_BYTES": str(96 << 20), "MCP_EXEC_MAX_PROCESSES": "16",
         "MCP_EXEC_MAX_CPU_S": "1"}
TIGHT = {"MCP_EXEC_MAX_CPU_S": "1"}


def heavy(id, title, code, layer=(MEMORY, COUNT), **more):
    """A run over its memory: an error or a kill, and the result says memory; it gets no further than 768 MiB."""
    return ends("res." + id, title, layer, "print('before', flush=True)\nMOST = 768\n" + code + "\nprint('OPEN')",
                **dict(dict(limit="memory", timed_out=False, stdout="before\n", seconds=15,
                            arguments={"timeout_s": 20}), **more))


ALONE = [
    heavy("one-allocation", "one block far over the limit", "x = bytearray(768 << 20)"),
    heavy("just-over", "one block just over the limit", "x = bytearray(270 << 20)"),
    heavy("growing", "growth in steps, which the answer calls memory", "l = [bytearray(8 << 20) for _ in range(96)]"),
    heavy("growing-slowly", "growth in small steps with pauses",
          "import time\nl = []\nfor _ in range(700): l.append(bytearray(1 << 20)); time.sleep(0.001)"),
    heavy("many-objects", "many small objects", "d = {i: str(i) * 60 for i in range(6000000)}"),
    heavy("one-string", "one string by repetition", "x = 'x' * (768 << 20)"),
    heavy("in-a-thread", "an allocation of a thread", """
import threading
def f():
    l = [bytearray(8 << 20) for _ in range(96)]; print("OPEN"); os._exit(0)
t = threading.Thread(target=f); t.start(); t.join()
os._exit(1)""", limit=("memory",), exit_code=(1, -1)),
    ends("res.memory-error-caught", "a MemoryError that is caught is no end", MEMORY,
         "try: x = bytearray(1 << 40); print('OPEN')\nexcept MemoryError: print('caught')", stdout="caught\n",
         exit_code=0,
         limit=None),
]

TOUCH = """
import mmap, time
def touch(m, n):
    for i in range(0, n << 20, 4096): m[i] = 1
def shared(n): return mmap.mmap(-1, n << 20)
"""


def together(id, title, code):
    return heavy(id, title, TOUCH + code, layer=MEMORY, **KILLED)


FAMILY = [
    together("shared-mapping", "a shared mapping", "m = shared(MOST); touch(m, MOST)"),
    together("eight-children", "eight children of which each is within the limit", """
for _ in range(7):
    if os.fork() == 0: x = bytearray(100 << 20); time.sleep(5); os._exit(0)
time.sleep(5)"""),
    together("forty-small-children", "forty small children with shared mappings", """
for _ in range(40):
    if os.fork() == 0: m = shared(16); touch(m, 16); time.sleep(5); os._exit(0)
time.sleep(5)"""),
    together("grandchild", "a daemon's memory counts", """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: m = shared(MOST); touch(m, MOST); print("OPEN"); os._exit(0)
    os._exit(0)
time.sleep(8)"""),
    together("touched-by-the-dead", "shared pages touched by children that are gone", """
for m in [shared(96) for _ in range(7)]:
    if os.fork() == 0: touch(m, 96); os._exit(0)
    os.wait()
time.sleep(0.5)"""),
    together("in-nobodys-table", "shared pages that no page table holds any more", """
m = shared(MOST)
for at in range(0, MOST << 20, 16 << 20):
    for i in range(at, at + (16 << 20), 4096): m[i] = 1
    m.madvise(mmap.MADV_DONTNEED, at, 16 << 20)
time.sleep(0.5)"""),
    together("page-tables", "page tables over a mapping of the zero page", """
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
size = 300 << 30
p = libc.mmap(None, size, 1, 0x4022, -1, 0)
libc.madvise(ctypes.c_void_p(p), ctypes.c_size_t(size), 15)
for at in range(0, size, 2 << 20): ctypes.c_char.from_address(p + at).value"""),
    heavy("heap-beside-shared", "the heap of a child, and then of the parent, beside a shared mapping", TOUCH + """
m = shared(150); touch(m, 150); l = []
if os.fork() == 0:
    for _ in range(60): l.append(b"x" * (8 << 20)); time.sleep(0.005)
    print("OPEN"); os._exit(0)
os.wait(); time.sleep(0.1); l = [b"x" * (8 << 20) for _ in range(40)]"""),
]

DISK = [
    prints("res.workspace-bytes", "each writable place is full at the documented size", FILES, """
import errno
for d in ("/sandbox", "/tmp", "/var/tmp", "/dev/shm"):
    n = 0
    try:
        with open(d + "/f", "wb", 0) as f:
            while n < 128 << 20: n += f.write(bytes(1 << 20))
        print("OPEN", d)
    except OSError as e: print(errno.errorcode[e.errno], n >> 20 in (63, 64))
    os.unlink(d + "/f")
""", "ENOSPC True\n" * 4, seconds=10),
    prints("res.workspace-is-one", "the places share one size", FILES, """
import errno
n, fs = 0, [open(d + "/f", "wb", 0) for d in ("/sandbox", "/tmp", "/var/tmp", "/dev/shm")]
try:
    while n < 128 << 20:
        for f in fs: n += f.write(bytes(1 << 20))
    print("OPEN")
except OSError as e: print(errno.errorcode[e.errno], 60 <= n >> 20 <= 64)
""", "ENOSPC True\n"),
    prints("res.workspace-of-the-unlinked", "files without a name count too", FILES, """
import errno, tempfile
n, fs = 0, []
try:
    while n < 128 << 20: f = tempfile.TemporaryFile(buffering=0); fs.append(f); n += f.write(bytes(1 << 20))
    print("OPEN")
except OSError as e: print(errno.errorcode[e.errno], 60 <= n >> 20 <= 64)
""", "ENOSPC True\n"),
    prints("res.file-size", "one file cannot be made larger than the workspace, not even with holes", COUNT, """
import errno
f = open("f", "wb")
for name, g in (("truncate", lambda: f.truncate(1 << 40)), ("allocate", lambda: os.posix_fallocate(f.fileno(), 0,
                                                                                                   65 << 20)),
                ("write", lambda: os.pwrite(f.fileno(), b"x", 1 << 40))):
    try: g(); print(name, "OPEN")
    except OSError as e: print(name, errno.errorcode[e.errno])
""", "truncate EFBIG\nallocate EFBIG\nwrite EFBIG\n"),
    ends("res.disk-is-named", "a full workspace that ends the program is named", FILES,
         "f = open('f', 'wb', 0)\nfor _ in range(128): f.write(bytes(1 << 20))\nprint('OPEN')", limit="disk",
         exit_code=1,
         stdout="", stderr=re.compile("No space left")),
    ends("res.inodes", "files, directories and links without content meet a limit", FILES, """
i = 0
try:
    for i in range(12000): os.mkdir("d%d" % i); os.symlink("x", "l%d" % i); open("f%d" % i, "w").close()
    print("OPEN")
except OSError as e: print("stop", e.errno, i > 1000)
""", stdout="stop 28 True\n", exit_code=0),
    attempts("res.memory-past-the-limits", "memory that neither size nor rlimit counts", "seccomp", """
attempt("memfd", os.memfd_create, "m"); attempt("secret", call, "memfd_secret", 0)
attempt("shm", call, "shmget", 0x5eed, 4096, 0o600); attempt("huge", call, "memfd_create", b"m", 4)
"""),
    attempts("res.locked-memory", "no memory is locked", COUNT, """
import mmap
m = mmap.mmap(-1, 1 << 16); at = ctypes.addressof(ctypes.c_char.from_buffer(m))
attempt("mlock", call, "mlock", at, 1 << 16); attempt("all", call, "mlockall", 3)
def locked(): mmap.mmap(-1, 1 << 16, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x2000)
attempt("map", locked)
""", errors=("EPERM", "ENOMEM", "EAGAIN", "ENOSYS")),
]

TIME = [
    ends("res.spin", "a spin meets its deadline, and the answer says so", "deadline", "while True: pass",
         timed_out=True,
         limit="wall_time", seconds=2.5, arguments={"timeout_s": 1},
         duration_ms=lambda ms: 1000 <= ms < 1500 * PATIENCE,
         **KILLED),
    ends("res.sleep", "so does a sleep, and what was printed is kept", "deadline",
         "import time\nprint('step 1', flush=True); time.sleep(60)", stdout="step 1\n", timed_out=True,
         limit="wall_time",
         arguments={"timeout_s": 1}, **KILLED),
    ends("res.cpu-time", "CPU time is limited on its own", COUNT,
         "import threading, time\ndef f():\n    while time.process_time() < 4: pass\n"
         "t = threading.Thread(target=f); t.start(); f(); print('OPEN')",
         env=TIGHT, timed_out=False, limit="cpu_time", exit_code=-1, signal="SIGXCPU", stdout=""),
    ends("res.cpu-time-unheard", "ignoring the signal gains a second", COUNT,
         "import signal, time\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\n"
         "while time.process_time() < 4: pass\nprint('OPEN')", env=TIGHT, timed_out=False, limit="cpu_time",
         stdout="", **KILLED),
    prints("res.one-cpu", "one CPU, for children too", "cpu_affinity",
           "import subprocess\n"
           "print(len(os.sched_getaffinity(0)), subprocess.check_output(['nproc'], text=True).strip())",
           "1 1\n"),
]

NUMBER = [
    ends("res.fork-loop", "children until there are no more, and the answer names processes", COUNT, """
import time
for _ in range(256):
    if os.fork() == 0: time.sleep(5); os._exit(0)
print("OPEN")
""", limit="processes", exit_code=1, stderr=re.compile("BlockingIOError"), stdout=""),
    ends("res.fork-bomb", "every child forks on; what is left at the deadline is killed", COUNT, """
import time
take, end = tokens(300), time.monotonic() + 1.5
while time.monotonic() < end:
    try:
        if os.fork() == 0 and not take(): print("OPEN"); os._exit(0)
    except OSError: pass
os._exit(0)
""", stdout="", seconds=6, arguments={"timeout_s": 2}),
    ends("res.threads", "threads count as processes", COUNT, """
import threading, time
for _ in range(256): threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
print("OPEN")
""", limit="processes", exit_code=1, stderr=re.compile("can't start new thread"), stdout=""),
    prints("res.processes-counted", "the limit is the documented one", COUNT, """
import time
n = 0
try:
    while n < 256:
        if os.fork() == 0: time.sleep(5); os._exit(0)
        n += 1
    print("OPEN")
except BlockingIOError: print(120 <= n <= 126)
""", "True\n"),
    prints("res.descriptors", "open files end at the documented count", COUNT, """
import errno
l = []
try:
    while len(l) < 600: l.append(os.open("/dev/null", 0))
    print("OPEN")
except OSError as e: print(errno.errorcode[e.errno], len(l))
""", "EMFILE 253\n"),
    attempts("res.watches", "instances that the kernel counts per user of the host", "seccomp", """
attempt("inotify", call, "inotify_init1", 0); attempt("old", call, "inotify_init")
attempt("aio", call, "io_setup", 1, 0)
attempt("fanotify", call, "fanotify_init", 0, 0); attempt("key", call, "add_key", b"user", b"x", b"y", 1, -1)
""", errors=("ENOSYS", "EPERM")),
    ends("res.recursion", "recursion without a limit ends in an error or a signal", "none", """
sys.setrecursionlimit(10 ** 7)
class A:
    def __getattr__(self, name): return getattr(self, name)
try: A().x
except (RecursionError, MemoryError): os.abort()
""", exit_code=-1, signal=("SIGSEGV", "SIGABRT"), timed_out=False, arguments={"timeout_s": 10}),
    ends("res.queued-signals", "queued signals meet a limit", COUNT, """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
info = ctypes.create_string_buffer(128); ctypes.memmove(info, (ctypes.c_int * 3)(signal.SIGRTMIN, 0, -1), 12)
try:
    for n in range(4096): call("rt_sigqueueinfo", os.getpid(), signal.SIGRTMIN, info)
    print("OPEN")
except OSError as e: print("stop")
""", stdout="stop\n", exit_code=0),
]


@host("res.ping-under-load", "the server answers while sixteen processes spin", "supervisor", "raw")
def ping_under_load(target):
    s = target.server()
    call = s.start_exec("import os, time\nfor _ in range(4): os.fork()\n"
                        "end = time.time() + 10\nwhile time.time() < end: pass", timeout_s=1)
    time.sleep(0.3)
    for _ in range(5):
        start = time.monotonic()
        equal(s.request("ping")["result"], {})
        within(time.monotonic() - start, 0, 0.5)
    equal(structured(s.answer(call)["result"])["timed_out"], True)


@host("res.neighbour-of-a-bomb", "a run beside a fork bomb is served, and so is the next one", COUNT, "second")
def neighbour_of_a_bomb(target):
    bomb = target.server()
    with target.instance() as other:
        other.exec("pass")
        call = bomb.start_exec("import os, time\nr, w = os.pipe(); os.write(w, b'x' * 300)\nos.set_blocking(r, False)\n"
                               "end = time.time() + 1\nwhile time.time() < end:\n    try: os.read(r, 1); os.fork()\n"
                               "    except OSError: pass", timeout_s=2)
        time.sleep(0.3)
        start = time.monotonic()
        equal(structured(other.exec("print('ok')"))["stdout"], "ok\n")
        within(time.monotonic() - start, 0, 2)
        equal(structured(bomb.answer(call)["result"])["stderr"], "")
    equal(target.exec("print('next')")["stdout"], "next\n")


@host("res.two-shares-of-processes", "two runs at once have the whole number of processes each", COUNT, "second")
def two_shares_of_processes(target):
    code = "import os, time\nn = 0\ntry:\n    while n < 256:\n        if os.fork() == 0: time.sleep(5); os._exit(0)\n" \
           "        n += 1\nexcept OSError: pass\ntime.sleep(0.3); print(n >= 120)"
    with target.instance() as second:
        calls = [(s, s.start_exec(code)) for s in (target.server(), second)]
        equal([structured(s.answer(c)["result"])["stdout"] for s, c in calls], ["True\n"] * 2)


@host("res.two-shares-of-memory", "two runs at once have the whole memory each", MEMORY, "second")
def two_shares_of_memory(target):
    code = "import time\nx = bytearray(180 << 20); x[::4096] = b'x' * len(x[::4096]); time.sleep(0.3); print('ok')"
    with target.instance() as second:
        calls = [(s, s.start_exec(code)) for s in (target.server(), second)]
        equal([structured(s.answer(c)["result"])["stdout"] for s, c in calls], ["ok\n"] * 2)


@host("res.settings-are-obeyed", "limits follow their settings", ("rlimits", "memory_limit", "workspace"),
      "environment")
def settings_are_obeyed(target):
    result = target.exec("import os, resource, time\nv = os.statvfs('/tmp'); n = 0\ntry:\n    while n < 64:\n"
                         "        if os.fork() == 0: time.sleep(5); os._exit(0)\n        n += 1\n"
                         "except OSError: pass\nprint(10 <= n <= 14, v.f_blocks * v.f_frsize >> 20, "
                         "resource.getrlimit(resource.RLIMIT_CPU)[0])", env=SMALL)
    equal(result["stdout"], "True 8 1\n")
    result = target.exec("l = [bytearray(1 << 20) for _ in range(288)]; print('OPEN')", env=SMALL)
    check(result["limit"] == "memory" and not result["stdout"], "memory", result)


CASES = ALONE + FAMILY + DISK + TIME + NUMBER + [ping_under_load, neighbour_of_a_bomb, two_shares_of_processes,
                                                 two_shares_of_memory, settings_are_obeyed]
