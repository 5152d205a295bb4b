"""What a run, or somebody outside, tries when a step of set-up was left out; each case has one verdict.

HELD: it did not get through. OPEN: it did. A case is code that runs inside and calls verdict(), or a function that
looks from outside, or both: the code calls wait_for_host(), and the function does its part meanwhile. Nothing here
writes to the machine or sends beyond loopback; what counts or grows has a bound.
"""
import fcntl
import os
import re
import signal
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from hostile import ATTEMPTS  # noqa: E402
from mcp import NAME_ITSELF, Timeout, alive, descendants, named, parent, until  # noqa: E402

CANARY = "leave-out-canary"
TOKEN = "leave-out-token"
INHERITED_FD = 7

# What every program begins with. reached() is for calls that the filter must keep from the kernel: each row has what
# the filter answers, and any other answer is the kernel's.
PRELUDE = ATTEMPTS + NAME_ITSELF + r"""
import json, resource, signal, time
NUMBERS += "prlimit64 302 261".split()
FACTS = json.loads(%r)
BAD = 1
def verdict(is_open, detail=""):
    print("OPEN" if is_open else "HELD", detail, flush=True)
def status(pid):
    return {k: v.strip() for k, v in (l.split(":", 1) for l in open("/proc/%%s/status" %% pid))}
def answer(f, *a):
    try: f(*a); return "done"
    except OSError as e: return errno.errorcode.get(e.errno, str(e.errno))
def reached(*rows):
    past = []
    for refusals, name, *arguments in rows:
        said = answer(name, *arguments) if callable(name) else answer(call, name, *arguments)
        if said not in refusals.split():
            past.append("%%s: %%s" %% (getattr(name, "__name__", name), said))
    verdict(bool(past), ", ".join(past))
def wait_for_host(name):
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    name_itself(name)
    if not signal.sigtimedwait([signal.SIGUSR1], 60): raise SystemExit("the host did nothing")
def child(f):
    pid = os.fork()
    if pid == 0:
        try: f()
        except BaseException: os._exit(1)
        os._exit(0)
    return pid
"""


class Case:
    """code runs inside. host(world, server, start) looks from outside; start() begins the call and returns its id.

    env: settings of the server. as_user: the server is started as an ordinary user by root as well.
    judge(world, result): the verdict, where the program cannot say it. fresh: nobody uses the server afterwards.
    attack: what runs in a pristine interpreter, as a module that is loaded ahead, and calls verdict(); warm runs only.
    """

    def __init__(self, code=None, host=None, env=None, as_user=False, judge=None, fresh=False, timeout_s=30, stdin="",
                 attack=None):
        self.code, self.host, self.env, self.as_user, self.judge = code, host, env or {}, as_user, judge
        self.fresh, self.timeout_s, self.stdin, self.attack = fresh, timeout_s, stdin, attack


CASES = {}


def inside(name, code, **options):
    CASES[name] = Case(code, **options)


def outside(name, **options):
    def register(function):
        CASES[name] = Case(host=function, **options)
        return function
    return register


# --- namespaces and ids ---

# The others have a case in the escape suite, which cannot be used where these two are missing.
for _kind in ("user", "mnt"):
    inside("ns." + _kind, "own = os.readlink('/proc/self/ns/' + %r)\nverdict(own == FACTS['ns'][%r], own)"
           % (_kind, _kind))

inside("ipc.host_segments", "lines = open('/proc/sysvipc/shm').readlines()\nverdict(len(lines) > 1, len(lines) - 1)")




def namespaces_of_run(world, server, start):
    """Who else is in a namespace of a program: nobody, but its init."""
    start()
    pid = world.find()
    mine, shared = namespaces(pid), set()
    for other in descendants(server.pid) + [server.pid]:
        if other not in (pid, parent(pid)):
            shared |= {kind for kind, what in namespaces(other).items() if mine[kind] == what}
    os.kill(pid, signal.SIGUSR1)
    return "OPEN" if shared else "HELD", " ".join(sorted(shared))


def namespaces(pid):
    found = {}
    for kind in ("user", "net", "pid", "mnt", "ipc", "uts", "cgroup"):
        try:
            found[kind] = os.readlink("/proc/%d/ns/%s" % (pid, kind))
        except OSError:
            pass
    return found


inside("ns.of_the_run", "wait_for_host(FACTS['name'])", host=namespaces_of_run, fresh=True, timeout_s=5)

# --- the view ---

def host_mounts(world, server, start):
    """The host mounts something below /usr while a run is there."""
    call = start()
    pid = world.find()
    world.mount_canary(world.late_mount)
    os.kill(pid, signal.SIGUSR1)
    try:
        return world.said(server.answer(call, 60)["result"])
    finally:
        world.unmount(world.late_mount)


inside("mnt.host_mounts_later", """
wait_for_host(FACTS["name"])
verdict(os.path.exists(FACTS["late_file"]), FACTS["late_file"])""", host=host_mounts)

FLAGS = """
missing = [path + " %s" for path in %s if not os.statvfs(path).f_flag & os.ST_%s]
verdict(bool(missing), ", ".join(missing))"""
WRITABLE = ("/sandbox", "/tmp", "/var/tmp", "/dev/shm")
for _name, _paths, _flags in (
        ("root", "['/']", "RDONLY NOSUID NODEV NOEXEC"), ("proc", "['/proc']", "RDONLY NOSUID NODEV NOEXEC"),
        ("mask", "filter(os.path.isdir, FACTS['masked'])", "RDONLY NOSUID NODEV NOEXEC"),
        ("device", "['/dev/null', '/dev/urandom']", "RDONLY NOSUID NOEXEC"),
        ("system", "[FACTS['usr_mount']]", "RDONLY NOSUID NODEV"), ("workspace", WRITABLE, "NOSUID NODEV NOEXEC")):
    for _flag in _flags.split():
        inside("mount.%s_%s" % (_name, _flag.lower()), FLAGS % (_flag, _paths, _flag))

inside("view.write_system", """
said = answer(open, FACTS["usr_mount"] + "/%s", "a")
verdict(said == "done", said)""" % CANARY)
inside("view.host_file", "said = answer(open, FACTS['host_file'])\nverdict(said == 'done', said)")
# What the table makes up: any other text is the host's, or none.
for _name, _text in (("passwd", "sandbox:x:1000:1000:sandbox:/sandbox:/bin/sh\n"), ("group", "sandbox:x:1000:\n"),
                     ("hosts", "127.0.0.1 localhost sandbox\n::1 localhost\n"),
                     ("nsswitch.conf", "passwd: files\ngroup: files\nhosts: files\n")):
    inside("view.etc_" + _name.split(".")[0], """
try: text = open("/etc/%s").read()
except OSError as e: text = str(e)
verdict(text != %r, text[:60])""" % (_name, _text))
inside("proc.masks", """
import stat
def is_masked(path):
    st = os.lstat(path)
    return os.listdir(path) == [] if stat.S_ISDIR(st.st_mode) else st.st_rdev == os.makedev(1, 3)
bare = [p for p in FACTS["masked"] if os.path.lexists(p) and not is_masked(p)]
verdict(bool(bare), ", ".join(bare))""")

# --- limits ---

for _name in ("cpu", "nproc", "nofile", "fsize", "stack", "data", "core", "memlock", "msgqueue", "nice", "rtprio",
              "sigpending"):
    inside("limit." + _name, """
want = FACTS["rlimits"][%r]
have = [v %% (1 << 64) for v in resource.getrlimit(resource.RLIMIT_%s)]
verdict(have[1] > want[1] or %s, have)""" % (_name, _name.upper(), "have[0] > want[0]" if _name != "data" else "False"))

inside("limit.niceness", "n = os.getpriority(os.PRIO_PROCESS, 0)\nverdict(n < 10, n)")
inside("limit.oom_score", "n = int(open('/proc/self/oom_score_adj').read())\nverdict(n != 1000, n)")
inside("limit.core_filter", "n = open('/proc/self/coredump_filter').read().strip()\nverdict(int(n, 16) != 0, n)")


def cut_is_held(_, result):
    size = len(result["structuredContent"]["stdout"])
    return "OPEN" if size > 1000 else "HELD", "%d characters" % size


inside("limit.output", "print('x' * 5000)", env={"MCP_EXEC_MAX_OUTPUT_BYTES": "1000"}, judge=cut_is_held)


def stopped_is_held(_, result):
    data = result["structuredContent"]
    return ("OPEN", "it ran on") if "late" in data["stdout"] else ("HELD", "timed out")


inside("end.deadline", "time.sleep(3)\nprint('late', flush=True)", timeout_s=1, judge=stopped_is_held)

# --- privileges ---

SETS = r"""
sets = {p: status(p)[k] for p in ("self", "1") for k in %r}
verdict(any(int(v, 16) for v in sets.values()), sets)"""
inside("cap.permitted", SETS % (("CapPrm",),))
inside("cap.effective", SETS % (("CapEff",),))
# --- the seccomp filter ---

FOREIGN = r"""
import ctypes, mmap
m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
m.write(b"\x53\xb8\x14\x00\x00\x00\xcd\x80\x5b\xc3")   # push rbx; mov eax, 20 (getpid); int 0x80; pop rbx; ret
said = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()
"""
# Capabilities are missing as well, so only the answer tells who refused: the kernel sees bad addresses and numbers.
inside("filter.mounts", """
reached(("EPERM", "mount", BAD, BAD, BAD, 0, 0), ("EPERM", "umount2", BAD, 1 << 20), ("EPERM", "pivot_root", BAD, BAD),
        ("EPERM", "chroot", BAD), ("ENOSYS", "mount_setattr", -1, BAD, 1 << 30, 0, 0),
        ("ENOSYS", "open_tree", -1, BAD, 1), ("ENOSYS", "fsopen", BAD, 0),
        ("ENOSYS", "move_mount", -1, BAD, -1, BAD, 1 << 30))""")
inside("filter.ids", """
reached(("EPERM", "setuid", os.getuid()), ("EPERM", "capset", BAD, BAD), ("EPERM", os.setgid, os.getgid()),
        ("EPERM", os.setresuid, -1, -1, -1), ("EPERM", "setgroups", 1 << 30, 0))""")
inside("filter.securebits", """
try: bits = call("prctl", 27, 0, 0, 0, 0)
except OSError as e: bits = None
verdict(bits == 0, bits)""")
inside("filter.prlimit", "reached(('EPERM', 'prlimit64', 1, 7, 0, ctypes.create_string_buffer(16)))")
# --- pristine interpreters ---

# Before a module that is loaded ahead, behind PRELUDE: what it prints would be missed, so that it is not used again.
ATTACKER = """
pid = os.getpid()
def verdict(is_open, detail=""):
    global said
    said = "OPEN" if is_open else "HELD", detail
"""


def pristine(name, attack):
    inside("pristine." + name, """
import attack
if attack.pid == 2 and os.getpid() > 2: print(*attack.said)""", attack=attack)


pristine("seccomp", """
reached(("ENOSYS", "unshare", 0), ("ENOSYS", "memfd_create", BAD, 0), ("ENOSYS", "mount", BAD, BAD, BAD, 0, 0),
        ("ENOSYS", "umount2", BAD, 2), ("ENOSYS", "sethostname", BAD, 1),
        ("ENOSYS", lambda: os.close(call("socket", 16, 3, 0))))   # what leaves a file open is not loaded ahead""")
pristine("capabilities", """
sets = {k: status("self")[k] for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")}
verdict(any(int(v, 16) for v in sets.values()), sets)""")
pristine("no_new_privs", "verdict(status('self')['NoNewPrivs'] != '1')")
pristine("memory_of_init", "said = answer(open, '/proc/1/mem', 'rb')\nverdict(said == 'done', said)")
pristine("rlimits", """
beyond = [k for k, (_, hard) in FACTS["rlimits"].items() if k not in ("cpu", "core")
          and resource.getrlimit(getattr(resource, "RLIMIT_" + k.upper()))[1] % (1 << 64) > hard]
verdict(bool(beyond), beyond)""")

# --- what is inherited ---

def read_status(pid, key):
    with open("/proc/%d/status" % pid) as file:
        return re.search(r"^%s:[ \t]*(.*)$" % key, file.read(), re.M).group(1)


def blocked_signals(world, _, start):
    """Init cannot end a run whose end it does not hear, so this is seen from outside. The program itself blocks one."""
    start()
    value = int(read_status(world.find(), "SigBlk"), 16) & ~(1 << (signal.SIGUSR1 - 1))
    return "OPEN" if value else "HELD", "%#x" % value


inside("signals.ignored", "verdict(int(status('1')['SigIgn'], 16) != 0, status('1')['SigIgn'])")
inside("signals.blocked", "wait_for_host(FACTS['name'])", fresh=True, host=blocked_signals)
inside("session.init", "verdict(os.getsid(1) != 1, os.getsid(1))")
inside("session.program", "verdict(os.getsid(0) != os.getpid(), os.getsid(0))")
inside("umask.run", "mask = os.umask(0)\nverdict(mask != 0o22, oct(mask))")


# --- supervisor and worker, from outside ---

def status_case(name, key, is_open, of, **options):
    @outside(name, **options)
    def look(_, server, __):
        value = read_status(server.worker() if of == "worker" else server.pid, key)
        return "OPEN" if is_open(value) else "HELD", value


USR2 = 1 << (signal.SIGUSR2 - 1)
_around = int(read_status(os.getpid(), "Seccomp_filters"))
for _who, _count in (("worker", _around + 2), ("supervisor", _around + 1)):
    status_case("privilege.no_new_" + _who, "NoNewPrivs", lambda v: v != "1", _who)
    status_case("signals." + _who, "SigIgn", lambda v: bool(int(v, 16) & USR2), _who)
    status_case("filter." + _who, "Seccomp_filters", lambda v, n=_count: int(v) < n, _who)
    status_case("user." + _who, "Uid", lambda v: "0" in v.split(), _who)
status_case("user.groups", "Groups", lambda v: v != "", "supervisor")
status_case("umask.supervisor", "Umask", lambda v: v != "0022", "supervisor")


def peer_reads(world, pid):
    """Another process of the same user reads a process' environment."""
    data = world.as_user_of(pid, ["cat", "/proc/%d/environ" % pid])
    return ("OPEN", "%d bytes" % len(data)) if data else ("HELD", "")


@outside("privilege.read_worker")
def read_worker(world, server, _):
    return peer_reads(world, server.worker())


@outside("privilege.read_supervisor", as_user=True)
def read_supervisor(world, server, _):
    return peer_reads(world, server.pid)


@outside("environment.worker")
def environment_of_worker(world, server, _):
    text = world.environment(server.worker())
    return "OPEN" if b"SECRET_OF_HOST" in text else "HELD", "%d bytes" % len(text)


@outside("environment.token", env={"MCP_EXEC_AUTH_TOKEN": TOKEN})
def token_of_supervisor(world, server, _):
    return "OPEN" if TOKEN.encode() in world.environment(server.pid) else "HELD", ""


# Where it is in use.
CASES["environment.token_over_http"] = Case(host=token_of_supervisor, env={
    "MCP_EXEC_AUTH_TOKEN": TOKEN, "MCP_EXEC_TRANSPORT": "http"})


@outside("limit.core_supervisor")
def core_of_supervisor(_, server, __):
    with open("/proc/%d/limits" % server.pid) as file:
        soft = re.search(r"Max core file size\s+(\S+)", file.read()).group(1)
    return "HELD" if soft == "0" else "OPEN", soft


def holds_inherited(world, pid):
    links = [os.readlink("/proc/self/fd/%d" % fd) for fd in world.descriptors(pid)]
    if not links:
        return "BROKEN", "none of its descriptors can be had"
    return "OPEN" if world.facts["host_file"] in links else "HELD", "%d" % len(links)


@outside("fds.supervisor")
def descriptors_of_supervisor(world, server, _):
    return holds_inherited(world, server.pid)


@outside("fds.worker")
def descriptors_of_worker(world, server, _):
    return holds_inherited(world, server.worker())


@outside("session.worker")
def session_of_worker(_, server, __):
    pid = server.worker()
    return "HELD" if os.getsid(pid) == pid else "OPEN", os.getsid(pid)


@outside("directory.supervisor")
def directory_of_supervisor(_, server, __):
    path = os.readlink("/proc/%d/cwd" % server.pid)
    return "HELD" if path == "/" else "OPEN", path


@outside("user.hidden_root", fresh=True)
def hidden_root(world, _, __):
    with world.start(through=["setpriv", "--ruid=0", "--euid=65533", "--"]) as server:
        try:
            server.initialize()
        except (AssertionError, BrokenPipeError):
            return ("HELD", "refused") if server.wait_exit() == 78 else ("BROKEN", server.stderr().decode()[-200:])
        return "OPEN", "it serves"


F_GET_SEALS, EVERY_SEAL = 1034, 0xf  # Python 3.9 does not name them
STDIN = "what the caller gave" * 100


def look_at_seals(world, server, start):
    """The worker feeds stdin from a blob, which it holds as long as the run lasts; output comes back in such blobs."""
    if server.exec("pass", wait=60).get("isError"):
        return "BROKEN", "no output is accepted"
    call = start()
    pid = world.find()
    seals = [fcntl.fcntl(fd, F_GET_SEALS) for fd in world.descriptors(server.worker())
             if "memfd:" in os.readlink("/proc/self/fd/%d" % fd) and os.pread(fd, 1 << 16, 0) == STDIN.encode()]
    os.kill(pid, signal.SIGUSR1)
    server.answer(call, 60)
    if not seals:
        return "BROKEN", "no such blob"
    return "HELD" if all(seal & EVERY_SEAL == EVERY_SEAL for seal in seals) else "OPEN", "%s" % seals


inside("blob.sealed", "wait_for_host(FACTS['name'])", host=look_at_seals, stdin=STDIN)


# --- the end ---

def outlives(pids, seconds):
    """Whether one of these is still alive after that time."""
    try:
        until(lambda: not any(alive(pid) for pid in pids), seconds, "they end")
    except Timeout:
        return "OPEN", "still alive"
    return "HELD", ""


def main_program_ends(world, server, start):
    start()
    daemon, main = world.find(), world.find("m")
    os.kill(main, signal.SIGUSR1)
    return outlives([daemon], 5)


inside("end.nothing_left", """
def stay():
    os.setsid(); name_itself(FACTS["name"]); time.sleep(60)
child(stay)
wait_for_host(FACTS["name"] + "m")""", host=main_program_ends, fresh=True)


def kill_worker(world, server, start):
    start()
    pid = world.find()
    os.kill(server.worker(), signal.SIGKILL)
    return outlives([pid], 5)


inside("end.worker_dies", "wait_for_host(FACTS['name'])", host=kill_worker, fresh=True)


def kill_supervisor(_, server, __):
    worker = server.worker()
    server.kill()
    server.wait_exit()
    time.sleep(0.1)
    return outlives([worker], 5)


CASES["end.supervisor_dies"] = Case(host=kill_supervisor, fresh=True)
