#!/usr/bin/env python3
"""The interpreter of which programs are copies has walls of its own: a module that it loads ahead and that attacks
reaches neither the host nor the runs, and finds nothing of a caller's."""
import os
import socket

from _sandbox import ATTEMPTS, check, equal, structured
import warm
from home import Home
from mcp import Timeout, cases, main, skip, unique

# What the module prints would be part of what programs print: it keeps its words for a program that asks.
KEEP = """
import builtins
said = []
def print(*words): said.append(" ".join(str(w) for w in words))
pid = os.getpid()
"""
ASK = "import attack\nprint(attack.pid)\nprint('\\n'.join(attack.said))"
DENIED = ("EPERM", "EACCES", "ENOSYS", "EROFS", "ENOENT", "ECONNREFUSED", "EINVAL", "ENETUNREACH", "EAFNOSUPPORT",
          "EPROTONOSUPPORT", "ESRCH")

ATTACKS = [
    ("network", """
import socket
names = [l.split(":")[0].strip() for l in open("/proc/net/dev") if ":" in l]
print("interfaces", "DENIED ENOENT" if names == ["lo"] else "OPEN")
for address in %(addresses)r: attempt("connect %%s" %% (address,), lambda: socket.create_connection(address, 2))
attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\\0" + %(name)r))
attempt("path", lambda: socket.socket(socket.AF_UNIX).connect(%(path)r))
attempt("packet", socket.socket, 17, 3); attempt("raw", socket.socket, 2, 3); attempt("netlink", socket.socket, 16, 3)
"""),
    ("files", """
for path in (%(canary)r, "/proc/1/root" + %(canary)r, "../" * 9 + %(canary)r, "/etc/shadow", "/root", "/home", "/sys",
             "/run", "/proc/1/cwd", "/proc/1/environ", "/proc/1/mem"):
    attempt("read " + path, lambda: os.close(os.open(path, os.O_RDONLY)))
for path in ("/usr/x", "/etc/x", "/x", "/dev/x", "/gate.so", "/proc/sys/kernel/core_pattern",
             "/proc/self/oom_score_adj"):
    attempt("write " + path, lambda: os.close(os.open(path, os.O_WRONLY | os.O_CREAT)))
attempt("execute", lambda: (open("/tmp/x", "w").write("#!/bin/sh\\n"), os.chmod("/tmp/x", 0o755),
                            os.posix_spawn("/tmp/x", ["x"], {})))
os.remove("/tmp/x")
"""),
    ("processes", """
others = [p for p in range(3, 5000) if not answer(os.kill, p, 0)]
print("others", "OPEN" if others else "DENIED ESRCH")
attempt("trace", call, "ptrace", 16, 1, 0, 0); attempt("memory", open, "/proc/1/mem", "rb")
attempt("descriptors of init", os.listdir, "/proc/1/fd")
init = os.pidfd_open(1); attempt("take a descriptor", call, "pidfd_getfd", init, 0, 0)
os.close(init)  # A module that leaves a file open is not loaded ahead.
attempt("limits of init", lambda: __import__("resource").prlimit(1, 7, (1, 1)))
"""),
    ("rights", """
s = dict(l.split(":", 1) for l in open("/proc/self/status"))
for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
    print(k, "OPEN" if int(s[k], 16) else "DENIED EPERM")
print("no_new_privs", "DENIED EPERM" if s["NoNewPrivs"].strip() == "1" else "OPEN")
print("seccomp", "DENIED EPERM" if s["Seccomp"].strip() == "2" else "OPEN")
attempt("setuid", call, "setuid", 0); attempt("setgroups", call, "setgroups", 0, 0)
"""),
    ("system_calls", """
for flag in (1 << 28, 1 << 17, 1 << 30, 1 << 29, 1 << 27, 1 << 26, 1 << 25):
    attempt("unshare %%x" %% flag, call, "unshare", flag)
    attempt("clone %%x" %% flag, call, "clone", flag | 17, 0, 0, 0, 0)
attempt("unshare a time namespace", call, "unshare", 0x80); attempt("unshare nothing", call, "unshare", 0)
attempt("clone3", call, "clone3", 0, 0)
for name in ("mount", "umount2", "pivot_root", "chroot", "open_tree", "fsopen", "move_mount", "sethostname", "bpf",
             "perf_event_open", "userfaultfd", "io_uring_setup", "keyctl", "add_key", "request_key", "kexec_load",
             "init_module", "finit_module", "reboot", "swapon", "open_by_handle_at", "process_vm_writev",
             "memfd_create", "personality", "settimeofday", "execveat", "sched_setscheduler"):
    attempt(name, call, name, 1, 1, 1, 1, 1)
for kind in os.listdir("/proc/self/ns"):
    fd = os.open("/proc/self/ns/" + kind, os.O_RDONLY)
    attempt("enter " + kind, call, "setns", fd, 0); os.close(fd)
"""),
    ("nothing_of_callers", """
# The interpreter's own directory is below /tmp.
own = sys.prefix.split("/")[2]
print("files", "OPEN" if os.listdir("/sandbox") != ["main.py"] or os.listdir("/tmp") != [own] else "DENIED ENOENT")
print("program", "OPEN" if %(word)r in open("/sandbox/main.py").read() else "DENIED ENOENT")
print("variables", "OPEN" if [v for v in os.environ.values() if %(word)r in v] else "DENIED ENOENT")
streams = [os.readlink("/proc/self/fd/%%d" %% fd).split(":")[0] for fd in range(3)]
print("streams", "OPEN" if streams != ["pipe"] * 3 or os.read(0, 1) else "DENIED ENOENT")
"""),
]
PRELUDE = KEEP + """
def answer(f, *a):
    try: f(*a); return None
    except OSError as e: return e.errno
"""


class Host:
    """Something outside that a module could reach: a file, listeners."""

    def __init__(self, home):
        self.listeners = [socket.socket() for _ in range(2)] + [socket.socket(socket.AF_UNIX) for _ in range(2)]
        self.name, self.path = unique(), home("s")
        for listener, address in zip(self.listeners, (("127.0.0.1", 0), ("0.0.0.0", 0), "\0" + self.name, self.path)):
            listener.bind(address)
            listener.listen()
        os.chmod(self.path, 0o777)
        self.facts = {"addresses": [("127.0.0.1", s.getsockname()[1]) for s in self.listeners[:2]], "name": self.name,
                      "path": self.path, "canary": home.write("canary", "CANARY", 0o644), "word": unique()}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for listener in self.listeners:
            listener.close()


@cases(ATTACKS)
def test_module_that_is_loaded_ahead(attack):
    if not warm.known():
        skip("the server has no warm runs")
    with Home() as home, Host(home) as host:
        os.chmod(home.path, 0o755)
        python = home.venv("v")
        home.write(home.packages("v") + "/attack.py", ATTEMPTS + PRELUDE + attack % host.facts, 0o644)
        with home.server(python, MCP_EXEC_PRELOAD="attack") as s:
            s.exec("print(%r)" % host.facts["word"], stdin=host.facts["word"])
            try:
                result = structured(warm.until_started(s, ASK, warm.PRELOADED))
            except Timeout as error:
                raise AssertionError("%s; %s" % (error, structured(s.exec(ASK))))
            pid, lines = result["stdout"].split("\n", 1)
            equal((pid, result["stderr"]), ("2", ""), "it did not run in the pristine interpreter:")
            verdicts = [line.rsplit(" ", 1) for line in lines.splitlines()]
            equal([v for v in verdicts if v[-1] not in DENIED], [])
            check(len(verdicts) >= 4, "too little was tried", verdicts)
            for listener in host.listeners:
                listener.settimeout(0)
                equal(reached(listener), False, "somebody came:")


def reached(listener):
    try:
        listener.accept()
        return True
    except BlockingIOError:
        return False


if __name__ == "__main__":
    main()
