"""What a case is, and the ways to say what must come of it.

A case fails as OPEN when its outcome is another one than the promised, and as BROKEN when there is no outcome to judge.
Its layers are the walls that are meant to stop it; with more than one, each of them alone is enough. Names are those of
`mcp-exec --print-policy`, and for what is no wall of a run: protocol, environment, descriptors, capture (how output is
collected), queue, deadline, supervisor; of a server that listens access (token, Origin, Host), head (what is read as a
request), gate (time, room and number of peers), sessions, listen, log. An honest program has the layer "none": no wall
may stop it.
"""
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from _target import Broken  # noqa: E402
from hostile import ATTEMPTS  # noqa: E402
from mcp import PATIENCE, Timeout, until  # noqa: E402

WALLS = ("user_namespace", "net_namespace", "pid_namespace", "mount_namespace", "ipc_namespace", "uts_namespace",
         "cgroup_namespace", "read_only_system", "workspace", "rlimits", "memory_limit", "cpu_affinity",
         "no_capabilities", "no_new_privs", "seccomp", "init", "proc", "hostname", "landlock")
OTHERS = ("protocol", "environment", "descriptors", "capture", "queue", "deadline", "supervisor", "access", "head",
          "gate", "sessions", "listen", "log", "none")
DENIED = ("EPERM", "EACCES", "ENOSYS", "EROFS", "ENOENT")

# Guards. A wall may be missing when these programs run: none may then do harm. only_lo() goes before an address outside
# is named, own_pids() before a signal is sent to anything but the program's own children.
GUARDS = r"""
def _interfaces():
    try: return [l.split(":")[0].strip() for l in open("/proc/net/dev") if ":" in l]
    except OSError: pass
    import fcntl, socket, struct
    names, s = [], socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for i in range(1, 4096):
        try: names.append(fcntl.ioctl(s, 0x8910, struct.pack("16si20x", b"", i))[:16].split(b"\0")[0].decode())
        except OSError: pass
    return names
def _routes():
    try: return open("/proc/net/route").read().splitlines()[1:] + [
        l for l in open("/proc/net/ipv6_route").read().splitlines() if l.split()[-1] != "lo"]
    except OSError: return []
def only_lo():
    if _interfaces() != ["lo"] or _routes():
        print("interfaces and routes OPEN", _interfaces(), _routes()); sys.stdout.flush(); os._exit(0)
def _strangers():
    yield from (p for p in (os.getpid(), os.getppid()) if p > 64)
    try: yield from (int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) > 64)
    except OSError: pass
    for p in range(65, 6000):
        try: os.kill(p, 0); yield p
        except ProcessLookupError: pass
        except PermissionError: yield p
def own_pids():
    if os.getppid() != 1: print("parent is no pid 1 OPEN", os.getppid()); sys.stdout.flush(); os._exit(0)
    for p in _strangers(): print("process %d OPEN" % p); sys.stdout.flush(); os._exit(0)
def tokens(n):
    "A source of n tokens that all processes of a run share: take() gives none after that."
    r, w = os.pipe(); os.write(w, b"x" * n); os.set_blocking(r, False)
    def take():
        try: return bool(os.read(r, 1))
        except BlockingIOError: return False
    return take
"""
# And what spins ends by itself, with all its children.
BOUNDED = """
import resource
_soft, _hard = resource.getrlimit(resource.RLIMIT_CPU)
if _soft == resource.RLIM_INFINITY or _soft > 20: resource.setrlimit(resource.RLIMIT_CPU, (20, _hard))
"""
PRELUDE = ATTEMPTS + GUARDS + BOUNDED


# What a program names, and the guard that must stand before it.
GUARDED = ((re.compile(r"198\.51\.100\.|233\.252\.0\.|255\.255\.255\.255|2001:db8"), "only_lo()"),
           (re.compile(r"\bkill\((?:-|1\b|p\b|os\.getppid)|killpg\(|prlimit\(1\b"), "own_pids()"))


def guarded(code):
    """The program, if it looks before it could do harm."""
    for danger, guard in GUARDED:
        found = danger.search(code)
        if found and guard not in code[:found.start()]:
            raise ValueError("%s is not before %s" % (guard, found.group()))
    return code


class Open(Exception):
    """The outcome is not the promised one."""


class Case:
    """One attack: how to try it on a target, and by whom it is stopped. judge(target) raises Open when it is not."""

    def __init__(self, id, title, layer, judge, needs=(), measure=False):
        self.id, self.title, self.judge, self.measure = id, title, judge, measure
        self.layer = (layer,) if isinstance(layer, str) else tuple(layer)
        self.needs = (needs,) if isinstance(needs, str) else tuple(needs)
        unknown = set(self.layer) - set(WALLS + OTHERS)
        if unknown or not self.layer:
            raise ValueError("%s: no layer %s" % (id, unknown))


def soon(condition, seconds, what):
    """What must come to be within these seconds; Open otherwise."""
    try:
        until(condition, seconds, what)
    except Timeout as error:
        raise Open(str(error))


def needs_of(env, needs):
    needs = (needs,) if isinstance(needs, str) else tuple(needs)
    return needs + (("environment",) if env else ())


def line_verdicts(result):
    """(label, errno name or OPEN) of each line that attempt() printed."""
    for line in result["stdout"].splitlines():
        found = re.match(r"(.+?) (?:DENIED (\w+)|(OPEN)\b.*)$", line)
        if not found:
            raise Broken("odd line %.200r" % line)
        yield found.group(1), found.group(2) or found.group(3)


def check_denied(result, errors):
    """Every attempt of a program failed, with one of these errors, and there was one."""
    verdicts = list(line_verdicts(result))
    opened = [label + ("" if verdict == "OPEN" else " (reached: %s)" % verdict)
              for label, verdict in verdicts if verdict not in errors]
    if opened:
        raise Open("; ".join(opened))
    if result["exit_code"] != 0 or not verdicts:
        raise Broken("exit code %s, stderr %s" % (result["exit_code"], result["stderr"][-300:]))


def attempts(id, title, layer, code, errors=DENIED, needs=(), env=None, **arguments):
    """A program of attempt() lines, all of which must be denied with one of these errors."""
    def judge(target):
        check_denied(target.exec(PRELUDE + code, env=env, **arguments), errors)
    guarded(code)
    return Case(id, title, layer, judge, needs_of(env, needs))


def fits(value, want):
    """A pattern must be found, a tuple contain, a callable agree, anything else be equal and of the same type."""
    if isinstance(want, re.Pattern):
        return want.search(value) is not None
    if isinstance(want, tuple):
        return value in want
    if callable(want):
        return bool(want(value))
    return type(value) is type(want) and value == want


def check_fields(result, wanted):
    """Fields of a structured result; what differs is Open, unless the program itself broke."""
    wrong = [name for name, want in wanted.items() if not fits(result[name], want)]
    if not wrong:
        return
    detail = ", ".join("%s is %.200r" % (name, result[name]) for name in wrong)
    if "OPEN" in result["stdout"]:
        raise Open(result["stdout"][-300:].strip())
    if result["exit_code"] == 1 and "Traceback" in result["stderr"] and wanted.get("exit_code", 0) == 0:
        raise Broken(detail + "; " + result["stderr"][-400:])
    raise Open(detail)


def ends(id, title, layer, code, seconds=None, needs=(), env=None, measure=False, prelude=PRELUDE, wait=30,
         arguments=None, **wanted):
    """A program whose structured result must have these fields, within seconds on our clock."""
    def judge(target):
        start = time.monotonic()
        result = target.exec(prelude + code, env=env, wait=wait, **(arguments or {}))
        spent = time.monotonic() - start
        check_fields(result, wanted)
        if seconds is not None and spent > seconds * PATIENCE:
            raise Open("it took %.1f s" % spent)
    guarded(code)
    return Case(id, title, layer, judge, needs_of(env, needs), measure)


def prints(id, title, layer, code, want, **more):
    """A program that must end well and print this: a text, or a pattern."""
    return ends(id, title, layer, code, **dict({"stdout": want, "stderr": "", "exit_code": 0, "signal": None,
                                                "limit": None, "timed_out": False}, **more))


def works(id, title, code, want, **more):
    """An honest program: whatever stops it is a fault."""
    case = prints(id, title, "none", code, want, **dict({"prelude": ""}, **more))

    def judge(target, inner=case.judge):
        try:
            inner(target)
        except Open as error:
            raise Broken(str(error))
    case.judge = judge
    return case


def host(id, title, layer, *needs, measure=False):
    """A decorator: the case is a function of the target, with steps outside. An AssertionError in it means Open."""
    def make(function):
        return Case(id, title, layer, function, needs, measure)
    return make
