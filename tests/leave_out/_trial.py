#!/usr/bin/env python3
"""One trial: starts the test build without some of its steps, and lets cases try what that opens.

Runs in namespaces of its own (net, pid, mount, ipc, uts, and user for an ordinary user), which steps.py made: whatever
wall is missing, there is no route to anywhere, no process but the trial's, and no mount that outlives it. A plan comes
in on stdin as JSON; a line goes out for each case.
"""
import ctypes
import fcntl
import json
import os
import re
import resource
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback

PLAN = json.load(sys.stdin)
os.environ["MCP_EXEC_BIN"] = os.path.join(PLAN["directory"], "bin", "mcp-exec")
from _cases import ATTACKER, CANARY, CASES, INHERITED_FD, PRELUDE  # noqa: E402
import home  # noqa: E402
import mcp  # noqa: E402
import warm  # noqa: E402
import web  # noqa: E402

LIBC = ctypes.CDLL(None, use_errno=True)
ROOT = os.geteuid() == 0
ORDINARY = ["--reuid=65533", "--regid=65533", "--clear-groups"]
CAPABILITIES = "+sys_admin,+net_admin,+setpcap"
# Directories of every system, of which one is covered before the server starts and one while a run is there.
COVERED = ("/usr/share/man", "/usr/share/doc", "/usr/lib/tmpfiles.d", "/usr/include", "/usr/local/bin", "/usr/games")
# How the product tells that it misses something: the stage, and what it writes.
REFUSALS = ((None, r"event=(?:worker\.unusable|exec\.failed)\b.*?\bstage=(\w+)"),
            ("link", r"event=worker\.lost errno=(?:EBADMSG|EFBIG)\b"),
            ("start", r"^mcp-exec: (?:Cannot become user|No seccomp filter)"))
MS_REC, MS_SHARED = 0x4000, 0x100000
# Where the plan is about programs that are started warm, one that is not shows nothing. The log tells when none is.
STARTS = (warm.WARM, warm.PRELOADED) if PLAN["warm"] else (warm.COLD,)
NEVER_WARM = re.compile(rb"event=(?:copy|pristine)\.failed\b")


def refusal(log):
    """The stage at which the product says in its log that it misses something, or None."""
    for stage, pattern in REFUSALS:
        found = re.search(pattern, log.decode(errors="replace"), re.M)
        if found:
            return stage or found.group(1)
    return None


class NotWarm(Exception):
    """The product starts no program warm, since it misses something."""


def mount(source, target, kind, flags, data=None):
    if LIBC.mount(source, target.encode(), kind, ctypes.c_ulong(flags), data):
        raise OSError(ctypes.get_errno(), "mount " + target)


class World:
    """What there is around the server: what must not be seen from inside, and who looks from outside."""

    def __init__(self):
        self.name = mcp.unique()
        self.servers, self.last, self.python = {}, None, None
        self.up()
        usable = [path for path in COVERED if os.path.isdir(path) and not os.path.islink(path)]
        usr_mount, self.late_mount = usable[:2]
        mount(b"none", "/", None, MS_REC | MS_SHARED)
        self.mount_canary(usr_mount)
        LIBC.shmget(0x1ea7e, 4096, 0o1600)
        rlimits = PLAN["policy"].split("# rlimits")[1].split("#")[0]
        self.facts = {
            "name": self.name, "host_file": os.path.join(PLAN["directory"], "host-file"),
            "late_file": self.late_mount + "/" + CANARY, "usr_mount": usr_mount,
            "ns": {kind: os.readlink("/proc/self/ns/" + kind) for kind in ("user", "mnt")},
            "masked": re.findall(r"^masked +(\S+)", PLAN["policy"], re.M),
            "rlimits": {name: [int(soft), int(hard)] for name, soft, hard in
                        re.findall(r"^(\w+) +(\d+) +(\d+)  ", rlimits, re.M)}}

    @staticmethod
    def up():
        """lo, a host name, and limits beyond those of a run, as far as we may."""
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
            fcntl.ioctl(s, 0x8914, struct.pack("16sh22x", b"lo", 1))  # SIOCSIFFLAGS, IFF_UP
        socket.sethostname("leave-out-host")
        for name, value in (("NICE", 40), ("RTPRIO", 99), ("CORE", resource.RLIM_INFINITY), ("MEMLOCK", 1 << 26)):
            try:
                resource.setrlimit(getattr(resource, "RLIMIT_" + name), (value, value))
            except (OSError, ValueError):
                pass
        soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

    @staticmethod
    def mount_canary(target):
        mount(b"canary", target, b"tmpfs", 0, b"size=64k,mode=1777")
        with open(target + "/" + CANARY, "w") as file:
            file.write(CANARY)
        os.chmod(target + "/" + CANARY, 0o666)

    @staticmethod
    def unmount(target):
        LIBC.umount2(target.encode(), 2)

    def start(self, env=None, as_user=False, through=None):
        """The server, with what it should not pass on: a descriptor, an ignored signal, no umask, variables."""
        shell = ["/bin/sh", "-c", "trap '' USR2; umask 0; exec %d<'%s'; exec \"$@\"" % (
            INHERITED_FD, self.facts["host_file"]), "sh"]
        env = dict({"SECRET_OF_HOST": CANARY, "XDG_DATA_HOME": "/" + CANARY, "MCP_EXEC_LOG_LEVEL": "info",
                    "MCP_EXEC_WARM": str(int(PLAN["warm"]))}, **env or {})
        kind = web.HttpServer if env.get("MCP_EXEC_TRANSPORT") == "http" else mcp.Server
        return kind(env=env, through=shell + (through or self.who(as_user)), cwd=PLAN["directory"])

    @staticmethod
    def who(as_user):
        if PLAN["capable"]:
            capable = ["--inh-caps=" + CAPABILITIES, "--ambient-caps=" + CAPABILITIES]
            return ["setpriv"] + ROOT * ORDINARY + capable + ["--"]
        if ROOT:
            return ["setpriv"] + (ORDINARY if as_user else ["--groups=65531"]) + ["--"]
        return ["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--"]

    def server(self, case):
        key = (tuple(sorted(case.env.items())), case.as_user, case.attack)
        server = self.servers.pop(key, None)
        if server is None or server.process.poll() is not None:
            server = self.last = self.start(self.attacked(case), case.as_user)
            server.initialize()
            self.warm_up(server, case)
        if not case.fresh:
            self.servers[key] = server
        self.last = server
        return server

    def attacked(self, case):
        """The variables of a case, with an interpreter that loads its attack ahead."""
        if not case.attack:
            return case.env
        if not self.python:
            tempfile.tempdir = PLAN["directory"]
            self.home = home.Home()
            self.python = self.home.venv("v")
        self.home.write(self.home.packages("v") + "/attack.py", PRELUDE % json.dumps(self.facts) + ATTACKER +
                        case.attack, 0o644)
        self.home.hand_over()
        os.chmod(self.home.path, 0o755)
        return dict(case.env, MCP_EXEC_PYTHON=self.python, MCP_EXEC_PRELOAD="attack")

    @staticmethod
    def warm_up(server, case):
        """Waits for what plan and case want to wait there; without a program, which may not come to an end."""
        if not PLAN["warm"] or case.env.get("MCP_EXEC_TRANSPORT") == "http":
            return
        start = time.monotonic()
        while True:
            below, log = warm.ready(server.worker()), server.stderr()
            spent = (time.monotonic() - start) / mcp.PATIENCE
            # A copy that went astray is not recognized; the log tells of its interpreter.
            if below and len(below.pristine) >= (2 if case.attack else 1) or refusal(log) or (
                    spent > 2 and not case.attack and re.search(rb"event=warm\.changed bare=1", log)):
                return
            if NEVER_WARM.search(log) or spent > 10:
                raise NotWarm()
            time.sleep(0.02)

    def find(self, suffix=""):
        """The process of the run that waits for us. What is started by exec is pid 2 in its sandbox, a copy is not."""
        pid = mcp.until(lambda: mcp.named(self.name + suffix), 60, "the program waits")[0]
        with open("/proc/%d/status" % pid) as file:
            if PLAN["warm"] and re.search(r"^NSpid:.*\t2$", file.read(), re.M):
                raise NotWarm()
        return pid

    @staticmethod
    def as_user_of(pid, argv):
        """What a command prints that another process of the same user runs, without any capability."""
        with open("/proc/%d/status" % pid) as file:
            uid = int(re.search(r"^Uid:\s+(\d+)", file.read(), re.M).group(1))
        who = ["--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups"] if ROOT else []
        return subprocess.run(["setpriv"] + who + ["--inh-caps=-all", "--ambient-caps=-all", "--"] + argv,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60).stdout

    @staticmethod
    def descriptors(pid):
        """Duplicates of what a process has open, one after the other. Not by /proc, where they belong to a root that an
        ordinary user's namespace does not have. The number of the call is the same everywhere."""
        process = os.pidfd_open(pid)
        for number in range(64):
            fd = LIBC.syscall(ctypes.c_long(438), process, number, 0)  # pidfd_getfd(2)
            if fd >= 0:
                try:
                    yield fd
                finally:
                    os.close(fd)
        os.close(process)

    @staticmethod
    def environment(pid):
        """The memory in which a process got its variables. proc(5): env_start and env_end."""
        with open("/proc/%d/stat" % pid) as file:
            start, end = map(int, file.read().rpartition(")")[2].split()[47:49])
        buffer = ctypes.create_string_buffer(end - start)
        vector = ctypes.c_size_t * 2
        ours, its = vector(ctypes.addressof(buffer), end - start), vector(start, end - start)
        if LIBC.process_vm_readv(pid, ours, 1, its, 1, 0) != end - start:
            raise OSError(ctypes.get_errno(), "process_vm_readv")
        return buffer.raw

    @staticmethod
    def said(result):
        """The verdict that a program printed."""
        data = result.get("structuredContent") or {}
        lines = [line for line in data.get("stdout", "").splitlines() if line.startswith(("HELD", "OPEN"))]
        if result.get("isError") or not lines:
            return "BROKEN", json.dumps(data or result)[:400]
        return lines[-1][:4], lines[-1][5:]

    def judge(self, case):
        home = os.path.join(PLAN["directory"], "libexec", "mcp-exec", "home")
        for name in os.listdir(home):
            os.unlink(os.path.join(home, name))
        server = self.server(case)
        code = PRELUDE % json.dumps(self.facts) + (case.code or "")

        def start():
            return server.start_exec(code, timeout_s=case.timeout_s, stdin=case.stdin)
        if case.host:
            if not case.code:
                # Something runs first, so that there surely is a worker, if one can be had.
                server.exec("pass", wait=60)
            return case.host(self, server, start)
        for _ in range(3):
            result = server.answer(start(), 90)["result"]
            if result.get("isError"):
                return "BROKEN", json.dumps(result["content"])[:300]
            if warm.start_of(result) in STARTS:
                break
        else:
            raise NotWarm()
        return case.judge(self, result) if case.judge else self.said(result)

    def verdict(self, case):
        """The verdict; REFUSED and the stage when a step that was left out is missed by the product itself."""
        try:
            word, detail = self.judge(case)
        except NotWarm:
            word, detail = "REFUSED", "warm"
        except Exception:
            word, detail = "BROKEN", traceback.format_exc(limit=3)[-600:]
        if word != "BROKEN":
            return word, str(detail)
        log = self.last.stderr() if self.last else b""
        stage = refusal(log)
        return ("REFUSED", stage) if stage else (word, detail + log.decode(errors="replace")[-600:])


def say(name, word, detail):
    print(json.dumps([name, word, detail[:900]]), flush=True)


def attack(world, names):
    """Cases of the escape suite, which starts servers of its own."""
    suite = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "escape", "run")
    who = [] if ROOT else world.who(False)
    transport = "http" if names[0].startswith("http.") else "stdio"
    command = [sys.executable, suite, "--json", "--transport", transport, "--warm", "01"[PLAN["warm"]], "-j", "1"]
    done = subprocess.run(who + command + names, stdout=subprocess.PIPE)
    for line in done.stdout.decode().splitlines():
        said = json.loads(line)
        refused = re.search(r"Nothing was run\. .*?\((\w+), E[A-Z]+\)", said["detail"])
        if refused and said["verdict"] == "BROKEN":
            said.update(verdict="REFUSED", detail=refused.group(1))
        elif "never warm" in said["detail"] and said["verdict"] == "BROKEN":
            said.update(verdict="REFUSED", detail="warm")
        say(said["id"], said["verdict"], said["detail"])


def main():
    world = World()
    for name in PLAN["cases"]:
        if name in CASES:
            say(name, *world.verdict(CASES[name]))
    attacks = [name for name in PLAN["cases"] if name not in CASES]
    for over_http in (False, True):
        names = [name for name in attacks if name.startswith("http.") == over_http]
        if names:
            attack(world, names)


main()
