"""What programs that are copies of one interpreter could have of each other, of it, and of the worker that makes them:
memory, descriptors, processes, modules. Started by exec they must not either."""
from _case import attempts, host, prints, soon
from _target import at_rest
from mcp import check, equal, unique

PIDS, INIT, FDS = "pid_namespace", "init", "descriptors"

# Looks for words, which stand here the wrong way round, in all of its own memory.
OWN_MEMORY = """
words = [w[::-1].encode() for w in %r]
def count(word):
    n = 0
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as mem:
        for line in list(maps):
            a, b = (int(x, 16) for x in line.split()[0].split("-"))
            if "r" not in line.split()[1] or "[v" in line: continue
            try: mem.seek(a); n += word in mem.read(b - a)
            except (OSError, OverflowError): pass
    return n
first, other = map(count, words)
print("same" if first <= other + 1 else "OPEN %%d %%d" %% (first, other))
"""


@host("copy.memory-of-earlier-runs", "code, input and output of earlier runs in a run's own memory", INIT, "proc")
def memory_of_earlier_runs(target):
    word, other = "canary" + unique(), "canary" + unique()
    for _ in range(6):
        code = "# %s\nimport sys\nx = sys.stdin.read(); print(x); print(%r, file=sys.stderr)" % (word, word)
        equal(target.exec(code, stdin=word)["stdout"], word + "\n")
    equal(target.exec(OWN_MEMORY % ([word[::-1], other[::-1]],))["stdout"], "same\n")


CHANGE = """
import builtins, json, os, sys, threading, warnings
builtins.evil = 1; json.dumps = lambda *a, **k: "evil"; sys.path.insert(0, "/tmp"); os.environ["EVIL"] = "1"
sys.modules["evil"] = json; warnings.simplefilter("error"); sys.setrecursionlimit(100); threading.stack_size(65536)
class F:
    def find_spec(name, path, target=None): print("evil", name)
sys.meta_path.insert(0, F); sys.path_importer_cache.clear()
builtins.print = lambda *a, **k: os.write(1, b"evil\\n")
import __main__; __main__.evil = 1
import ctypes
# Constants of the interpreter itself, in its own memory.
ctypes.memset(id(1000000007) + 24, 0xff, 1)
def audit(*a): pass
sys.addaudithook(audit)
"""
LOOK = """
import builtins, json, os, sys, threading, warnings
print(hasattr(builtins, "evil"), json.dumps(1), sys.path[0], os.environ.get("EVIL"), "evil" in sys.modules,
      sys.getrecursionlimit(), threading.stack_size(), [getattr(m, "__name__", m) for m in sys.meta_path if "evil" in
      str(m) or "main" in str(m)], "evil" in globals(), 7 * 142857143 + 6, sys.dont_write_bytecode)
"""


@host("copy.changed-interpreter", "an earlier run changes all that it can of its interpreter", INIT)
def changed_interpreter(target):
    before = target.exec(LOOK)["stdout"]
    for _ in range(4):
        target.exec(CHANGE)
        equal(target.exec(LOOK)["stdout"], before)


@host("copy.files-of-earlier-runs", "files, links and directories of earlier runs", "workspace")
def files_of_earlier_runs(target):
    code = "import os\nfor d in ('/tmp', '/var/tmp', '/dev/shm', '/sandbox'):\n    try: open(d + '/evil', 'w')\n" \
        "    except OSError: pass\nprint('written')"
    for _ in range(3):
        equal(target.exec(code)["stdout"], "written\n")
        equal(target.exec("import os\nprint([d for d in ('/tmp', '/var/tmp', '/dev/shm', '/sandbox') if 'evil' in "
                          "os.listdir(d)])")["stdout"], "[]\n")


# The kernel gives a run nothing of the process that it is a copy of.
RUNS = [
    prints("copy.descriptors", "the descriptors by which a copy was made and fed", FDS, """
import fcntl, stat
kinds = []
for fd in range(1024):
    try: s = os.fstat(fd)
    except OSError: continue
    kinds.append((fd, stat.S_ISFIFO(s.st_mode)))
print(kinds)
""", "[(0, True), (1, True), (2, True)]\n"),
    prints("copy.descriptors-of-a-child", "the same after exec, and in a child of a child", FDS, """
import subprocess
code = "import os\\nn = []\\nfor fd in range(999):\\n    try: os.fstat(fd); n += [fd]\\n    except OSError: pass\\nprint(n)"
for options in (["-c"], ["-S", "-c"]):
    print(subprocess.run([sys.executable] + options + [code], stdout=-1).stdout.decode().strip())
""", "[0, 1, 2]\n" * 2),
    prints("copy.relatives", "parent, session and group are the sandbox's own", PIDS, """
print(os.getppid(), os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid(), os.getpid() < 4)
try: print(os.waitpid(-1, os.WNOHANG))
except ChildProcessError: print("no child")
""", "1 True True True\nno child\n"),
    prints("copy.death-signal", "no signal comes from outside when a relative there dies, and none may be asked for",
           PIDS, """
import ctypes
n = ctypes.c_int(-1)
ctypes.CDLL(None).prctl(2, ctypes.byref(n), 0, 0, 0)  # PR_GET_PDEATHSIG
print(n.value in (-1, 0))
""", "True\n"),
    attempts("copy.namespaces-of-the-interpreter", "back into the namespaces that it came from",
             ("seccomp", "no_capabilities"), """
import ctypes
for name in ("user", "mnt", "pid", "net", "ipc", "uts", "cgroup", "pid_for_children"):
    try: fd = os.open("/proc/self/ns/" + name, os.O_RDONLY)
    except OSError as error: print(name, "DENIED", errno.errorcode[error.errno]); continue
    attempt(name, call, "setns", fd, 0)
    os.close(fd)
attempt("unshare", call, "unshare", 0x20000000)
""", errors=("EPERM", "EACCES", "ENOSYS", "ENOENT", "EINVAL")),
    prints("copy.root-of-the-interpreter", "the module by which copies are made, and its "
     "program", "mount_namespace", """
print([n for n in os.listdir("/") if "gate" in n], [os.path.exists(p) for p in ("/gate.so", "/.old/gate.so",
      "/proc/1/root/gate.so")], open("/sandbox/main.py").read().count("gate") > 0)
""", "[] [False, False, False] True\n"),
    prints("copy.filters", "a copy has no filter, right or limit less", ("seccomp", "no_new_privs"), """
lines = dict(l.rstrip("\\n").split(":\\t", 1) for l in open("/proc/self/status") if ":\\t" in l)
print(lines["NoNewPrivs"], lines["Seccomp"], [lines[n] for n in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")] ==
      ["0" * 16] * 5, lines["Threads"])
""", "1 2 True 1\n", needs="proc"),
]


@host("copy.tells-the-worker", "what a run writes and calls by every number of a descriptor reaches no one", FDS)
def tells_the_worker(target):
    code = "import os, socket\nfor fd in range(3, 1024):\n    for f in (lambda: os.write(fd, b'x' * 128), lambda: " \
        "socket.socket(fileno=os.dup(fd)).send(b'x' * 128)):\n        try: f(); print('OPEN', fd)\n" \
        "        except OSError: pass"
    for _ in range(3):
        equal(target.exec(code)["stdout"], "")
        equal(target.exec("print('next')")["stdout"], "next\n")


@host("copy.ends-of-many-kinds", "copies that end in the worst ways leave their interpreter and the others alone", INIT,
      "processes")
def ends_of_many_kinds(target):
    s = target.server()
    worker = s.worker()
    for code in ("import os; os._exit(0)", "import os; os.abort()", "import ctypes; ctypes.string_at(0)",
                 "import os; os.kill(os.getpid(), 9)", "import os; os.execv('/bin/true', ['true'])",
                 "import os; os.fork(); os.fork()", "import os; os.closerange(0, 1024)",
                 "import threading, time; threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
                 "import sys; sys.exit(7)", "raise KeyboardInterrupt", "import signal; signal.raise_signal(15)",
                 "import sys; sys.stdout.close(); 1/0", "x = []\nwhile True: x.append(bytearray(1 << 24))"):
        check("exit_code" in target.exec(code), "no end", code)
        equal(target.exec("print('next')")["stdout"], "next\n")
    equal(s.worker(), worker)
    soon(lambda: at_rest(s), 3, "nothing but what waits")


CASES = RUNS + [memory_of_earlier_runs, changed_interpreter, files_of_earlier_runs, tells_the_worker,
                ends_of_many_kinds]
