"""A run sees and signals only its own processes, nothing of it outlives its end, and how it ended is told truly."""
import json
import time

from _case import PRELUDE, Case, attempts, ends, host, prints, soon
from _target import at_rest, below, structured
from mcp import NAME_ITSELF, PATIENCE, check, equal, marked, named, unique, until, within

PIDS, INIT = "pid_namespace", "init"
KILLED = dict(exit_code=-1, signal="SIGKILL")

# What stays behind when the main program has ended. Each shows NAME outside, and ends by itself where a wall is
# missing.
CLINGING = [
    ("daemon", "a daemon in a session of its own holds the pipes", """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: time.sleep(10)
    os._exit(0)
"""),
    ("background-command", "a command of the shell in the background", """
os.system("sh -c 'sleep 10; : %s' &" % NAME)
"""),
    ("nohup", "nohup and setsid", """
subprocess.Popen(["setsid", "nohup", "sh", "-c", "sleep 10; : " + NAME], stdin=subprocess.DEVNULL)
"""),
    ("deaf-child", "a child that ignores every signal", """
if os.fork() == 0:
    for s in range(1, 65):
        try: signal.signal(s, signal.SIG_IGN)
        except (OSError, ValueError): pass
    for _ in range(10): time.sleep(1)
    os._exit(0)
"""),
    ("stopped-child", "a child that is stopped", """
pid = os.fork()
if pid == 0: os.kill(os.getpid(), signal.SIGSTOP); os._exit(0)
if os.fork() == 0: time.sleep(10); os.kill(pid, 9); os._exit(0)
"""),
    ("spinning-child", "a child that spins", """
if os.fork() == 0:
    end = time.time() + 10
    while time.time() < end: pass
    os._exit(0)
"""),
    ("forking-on", "a chain of processes, each forks the next and exits", """
take = tokens(4000)
if os.fork() == 0:
    while take():
        if os.fork(): os._exit(0)
    os._exit(0)
time.sleep(0.05)
"""),
    ("chain-of-orphans", "orphans of orphans", """
if os.fork() == 0:
    for _ in range(20):
        if os.fork() == 0: os.setsid()
        else: break
    time.sleep(10); os._exit(0)
"""),
    ("closed-descriptors", "a child that holds nothing", """
if os.fork() == 0:
    os.closerange(0, 64); os.chdir("/"); time.sleep(10); os._exit(0)
"""),
    ("thread", "a thread that does not end", """
import threading
threading.Thread(target=time.sleep, args=(10,), daemon=True).start()
"""),
    ("many-sleepers", "sixty children", """
for _ in range(60):
    if os.fork() == 0: time.sleep(10); os._exit(0)
"""),
]

PROGRAM = PRELUDE.replace("%", "%%") + NAME_ITSELF + """
import os, signal, subprocess, sys, time
NAME = %r
name_itself(NAME)
%s
os.write(1, b"done\\n"); os._exit(0)
"""


def clinging(id, title, code):
    """The answer comes when the main program has ended, and nothing of it is alive then; looked at from outside too."""
    def judge(target):
        name, start = unique(), time.monotonic()
        result = target.exec(PROGRAM % (name, code))
        within(time.monotonic() - start, 0, 3)
        equal([result[k] for k in ("stdout", "exit_code", "timed_out", "limit")], ["done\n", 0, False, None])
        if "processes" in target.offers:
            # One that forks and goes may be missed by one look.
            equal([named(name) + marked(name.encode()) for _ in range(3) if not time.sleep(0.03)], [[]] * 3)
    return Case("proc.outlive-" + id, title, INIT, judge)


SIGNALS = [
    ends("proc.kill-all", "kill(-1, SIGKILL) reaches only the run", PIDS,
         "own_pids()\ntry: os.kill(-1, 9)\nexcept OSError: pass\nprint('alive')",
         stdout=("", "alive\n"), timed_out=False, limit=None),
    ends("proc.kill-all-politely", "kill(-1) with other signals, from a child too", PIDS, """
own_pids()
import signal
for s in (15, 1, 2, 19, 18, 3, 6, 11): signal.signal(s, signal.SIG_IGN) if s != 19 else None
if os.fork() == 0:
    for s in (15, 1, 2, 3, 6, 11):
        try: os.kill(-1, s)
        except OSError: pass
    os._exit(0)
os.wait(); print("alive")
""", stdout="alive\n", timed_out=False),
    ends("proc.kill-group", "killpg of its own group and session", PIDS,
         "own_pids()\nif os.getpgrp() != os.getpid(): print('no group of its own OPEN'); os._exit(0)\nos.killpg(0, 15)",
         exit_code=-1, signal="SIGTERM", limit=None),
    ends("proc.kill-groups-by-number", "kill(-N) of every small group", PIDS, """
own_pids()
for g in range(2, 3000):
    if g != os.getpgrp():
        try: os.kill(-g, 0); print("group %d OPEN" % g)
        except ProcessLookupError: pass
        except PermissionError: print("group %d OPEN: somebody is there" % g)
print("alive")
""", stdout="alive\n", exit_code=0),
    ends("proc.signal-pid-1", "every signal to pid 1 and the parent, by kill, tgkill, pidfd, rt_sigqueueinfo", INIT, """
own_pids()
import signal
fd = os.pidfd_open(1) if hasattr(os, "pidfd_open") else -1
for s in range(1, 65):
    for f in (lambda: os.kill(1, s), lambda: os.kill(os.getppid(), s), lambda: signal.pidfd_send_signal(fd, s),
              lambda: call("rt_sigqueueinfo", 1, s, ctypes.create_string_buffer(128))):
        try: f()
        except (OSError, AttributeError): pass
print("still here", os.getppid())
""", stdout="still here 1\n", exit_code=0, limit=None),
    ends("proc.strangle-pid-1", "limits and priorities of pid 1", INIT, """
own_pids()
import resource, time
for r in (0, 1, 2, 3, 7):
    try: resource.prlimit(1, r, (0, 0))
    except OSError: pass
for f in (lambda: os.setpriority(os.PRIO_PROCESS, 1, 19), lambda: os.sched_setaffinity(1, [0]),
          lambda: call("sched_setscheduler", 1, 5, ctypes.create_string_buffer(4)), lambda: call("ioprio_set", 1, 1,
                                                                                                 24576)):
    try: f()
    except OSError: pass
time.sleep(1.2); print("end")
""", stdout="end\n", exit_code=0),
    ends("proc.stop-itself", "a run that stops itself meets its deadline", "deadline",
         "import signal, time\npid = os.getpid()\nif os.fork() == 0: time.sleep(15); os.kill(pid, 9); os._exit(0)\n"
         "os.kill(pid, signal.SIGSTOP)", timed_out=True, limit="wall_time",
         arguments={"timeout_s": 1}, **KILLED),
    ends("proc.deaf-at-the-deadline", "every signal is ignored", "deadline", """
import signal, time
for s in range(1, 65):
    try: signal.signal(s, signal.SIG_IGN)
    except (OSError, ValueError): pass
for _ in range(15): time.sleep(1)
""", timed_out=True, limit="wall_time", seconds=3, arguments={"timeout_s": 1}, **KILLED),
]

LOOKING = [
    prints("proc.only-its-own", "only pid 1 and itself are in /proc", (PIDS, "proc"),
           "own = str(os.getpid())\nprint(sorted('own' if p == own else p for p in os.listdir('/proc') if "
           "p.isdigit()), "
           "int(own) < 4)", "['1', 'own'] True\n", needs="proc"),
    prints("proc.only-its-own-by-signal-0", "no other process answers signal 0, getpgid, getsid or priority", PIDS, """
own_pids()
found = set()
for p in range(2, 40000):
    if p == os.getpid(): continue
    for f in (lambda: os.kill(p, 0), lambda: os.getsid(p)):
        try: f(); found.add(p)
        except ProcessLookupError: pass
        except PermissionError: found.add(p)
print(sorted(found))
""", "[]\n"),
    attempts("proc.memory-of-pid-1", "memory, environment and files of pid 1 and the parent", ("init", "seccomp"), """
pids = {1, os.getppid()}
for p in pids:
    for name in ("mem", "environ", "maps", "smaps", "io", "auxv", "stack", "syscall", "pagemap", "wchan", "timers",
                 "personality"):
        def read():
            if not open("/proc/%d/%s" % (p, name), "rb").read(1).strip(b"0"): raise PermissionError(1, name)
        attempt("%d %s" % (p, name), read)
    for name in ("exe", "cwd", "root", "fd/0", "fd/1", "ns/net", "ns/user"): attempt(name, os.readlink,
                                                                                     "/proc/%d/%s" % (p, name))
    for name in ("fd", "fdinfo", "map_files"): attempt("%d %s" % (p, name), os.listdir, "/proc/%d/%s" % (p, name))
""", errors=("EACCES", "EPERM", "ENOENT")),
    attempts("proc.control-pid-1", "ptrace and its relatives on pid 1", ("seccomp", "init"), """
if os.getppid() != 1: print("parent is no pid 1 OPEN"); sys.exit()
class Vector(ctypes.Structure): _fields_ = [("base", ctypes.c_void_p), ("n", ctypes.c_size_t)]
b = ctypes.create_string_buffer(8); mine = Vector(ctypes.addressof(b), 8); theirs = Vector(0x400000, 8)
attempt("seize", call, "ptrace", 0x4206, 1, 0, 0)
attempt("readv", call, "process_vm_readv", 1, ctypes.byref(mine), 1, ctypes.byref(theirs), 1, 0)
nowhere = Vector(8, 8)
attempt("writev", call, "process_vm_writev", 1, ctypes.byref(mine), 1, ctypes.byref(nowhere), 1, 0)
attempt("kcmp", call, "kcmp", 1, os.getpid(), 0, 0, 0)
attempt("pages", call, "move_pages", 1, 0, 0, 0, 0, 0)
attempt("getfd", lambda: call("pidfd_getfd", os.pidfd_open(1), 0, 0))
attempt("migrate", call, "migrate_pages", 1, 0, 0, 0)
""", errors=("EPERM", "ENOSYS")),
    attempts("proc.trace-a-child", "not even its own child can be traced", "seccomp", """
pid = os.fork()
if pid == 0:
    import time; time.sleep(5); os._exit(0)
attempt("seize", call, "ptrace", 0x4206, pid, 0, 0); attempt("me", call, "ptrace", 0, 0, 0, 0); os.kill(pid, 9)
""", errors=("EPERM", "ENOSYS")),
]

ENDS = [
    ends("proc.abort", "abort() is no core file and no limit", "rlimits", "os.abort()", exit_code=-1, signal="SIGABRT",
         limit=None, timed_out=False, stdout=""),
    prints("proc.no-core-for-a-handler", "RLIMIT_CORE is 1, or 0 by the host: with a piped core_pattern 0 means yes",
           "rlimits", "import resource\nprint(resource.getrlimit(resource.RLIMIT_CORE) in ((1, 1), (0, 0)))\n"
           "print(int(open('/proc/self/coredump_filter').read(), 16))", "True\n0\n", needs="proc"),
    ends("proc.kill-itself", "SIGKILL to itself is told as such, not as a limit", "none",
         "print('before', flush=True); os.kill(os.getpid(), 9)", stdout="before\n", limit=None, timed_out=False,
         **KILLED),
    ends("proc.segfault", "a segfault is the program's own end", "none", "ctypes.string_at(0)", exit_code=-1,
         signal="SIGSEGV", limit=None),
    ends("proc.exit-without-flush", "unflushed text before _exit is not lost", "none",
         "print('partial', end=''); os._exit(7)",
         stdout="partial", exit_code=7),
    ends("proc.outputs-closed", "closed outputs are no end: the process is waited for", INIT,
         "import time\nos.close(1); os.close(2); time.sleep(0.4); os._exit(0)", exit_code=0, stdout="", timed_out=False,
         duration_ms=lambda ms: ms >= 400),
    ends("proc.everything-closed", "all descriptors closed, then a spin to the deadline", "deadline",
         "os.closerange(0, 1024)\nwhile True: pass", timed_out=True, limit="wall_time", arguments={"timeout_s": 1},
         **KILLED),
    prints("proc.zombies", "its own zombies meet the process limit", "rlimits", """
n = 0
try:
    for n in range(300):
        if os.fork() == 0: os._exit(0)
    print("OPEN", n)
except BlockingIOError: print("stop", 50 < n < 128)
""", "stop True\n"),
    prints("proc.orphans-are-reaped", "orphans do not pile up", INIT, """
import time
for _ in range(300):
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
time.sleep(0.1); print(len([p for p in os.listdir("/proc") if p.isdigit()]))
""", "2\n", needs="proc"),
    ends("proc.main-replaced", "the main program becomes another one by exec", "none",
         "os.execv('/bin/sh', ['sh', '-c', 'echo $0; exit 9'])", exit_code=9, stdout="sh\n"),
    ends("proc.main-thread-exits", "the first thread ends before the others", INIT,
         "import threading, time\ndef f(): time.sleep(0.3); os.write(1, b'late'); os._exit(4)\n"
         "threading.Thread(target=f).start()\n"
         "libc.syscall(60 if platform.machine() == 'x86_64' else 93, 0)",
         exit_code=4, stdout="late"),
    prints("proc.no-terminal", "a session of its own without a terminal", (INIT, "read_only_system"),
           "print(os.getsid(0) == os.getpid(), [os.isatty(i) for i in (0, 1, 2)])\n"
           "try: os.open('/dev/tty', os.O_RDWR); print('OPEN')\nexcept OSError: print('none')",
           "True [False, False, False]\nnone\n"),
    prints("proc.descriptors", "three descriptors, all of them pipes", "descriptors",
           "ok = []\nfor fd in range(4096):\n    try: os.fstat(fd); ok.append(fd)\n    except OSError: pass\n"
           "print(ok, [os.readlink('/proc/self/fd/%d' % fd).split(':')[0] for fd in ok])",
           "[0, 1, 2] ['pipe', 'pipe', 'pipe']\n", needs="proc"),
]

FORGED = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {"content": [{"type": "text", "text": "forged"}]}})


@host("proc.write-to-the-client", "a message written to the outputs of pid 1 and the parent", ("proc", "init"))
def write_to_the_client(target):
    """A line that came through would be an unexpected message, which every case is asked for."""
    result = target.exec("import os\nfor p in (os.getppid(), 1):\n    for n in range(30):\n"
                         "        try: os.write(os.open('/proc/%%d/fd/%%d' %% (p, n), 1), %r); print('OPEN')\n"
                         "        except OSError: pass\nprint('tried')" % (FORGED.encode() + b"\n"))
    equal(result["stdout"], "tried\n")


@host("proc.signal-the-server", "server and worker, by their real numbers", PIDS, "processes")
def signal_the_server(target):
    s = target.server()
    s.exec("pass")
    pids = [s.pid] + below(s)
    # Signal 0 harms nobody where the wall is missing.
    code = "import os\nfor p in %r:\n    try: os.kill(p, 0); print('%%d OPEN' %% p)\n" \
           "    except PermissionError: print('%%d OPEN' %% p)\n" \
           "    except ProcessLookupError: pass\nprint('nobody')" % [p for p in pids if p > 64]
    equal(target.exec(code)["stdout"], "nobody\n")


@host("proc.worker-unharmed", "after the worst of ends the same worker serves, with nothing left over", INIT,
      "processes")
def worker_unharmed(target):
    s = target.server()
    s.exec("pass")
    worker = s.worker()
    for code in ("import os; os.kill(1, 9); os.abort()",
                 "import os\nfor _ in range(60):\n    if os.fork() == 0: break\n",
                 "import os; os.closerange(0, 99); os._exit(3)", "import time; time.sleep(9)"):
        target.exec(code, timeout_s=1)
    equal(s.worker(), worker)
    soon(lambda: at_rest(s), 3, "nothing but what waits")


@host("proc.cancelled-run-is-gone", "a cancelled run is dead at once, with its children", INIT, "raw", "processes")
def cancelled_run_is_gone(target):
    s, name = target.server(), unique()
    call = s.start_exec(PROGRAM % (name, "for _ in range(5):\n    if os.fork() == 0: os.setsid(); time.sleep(10)\n"
                                         "time.sleep(10)"))
    until(lambda: len(named(name)) == 6, 5, "the run")
    start = time.monotonic()
    s.cancel(call)
    soon(lambda: not named(name), 2, "the run is gone")
    check(time.monotonic() - start < 1 * PATIENCE, "it took too long")
    equal(target.exec("print('next')")["stdout"], "next\n")


@host("proc.idle-sandbox-unseen", "the sandbox that waits for the next run is outside of this one", PIDS, "proc")
def idle_sandbox_unseen(target):
    s = target.server()
    held = s.start_exec("import os, time\ntime.sleep(0.5)\n"
                        "print([p for p in os.listdir('/proc') if p.isdigit() and p != str(os.getpid())])")
    time.sleep(0.2)
    equal(structured(s.answer(held)["result"])["stdout"], "['1']\n")


CASES = [clinging(*row) for row in CLINGING] + SIGNALS + LOOKING + ENDS + [
    write_to_the_client, signal_the_server, worker_unharmed, cancelled_run_is_gone, idle_sandbox_unseen]
