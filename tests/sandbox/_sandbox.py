"""Shared by the tests of this directory: one server for each environment, runs in it, and what came of them."""
import atexit
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from hostile import ATTEMPTS  # noqa: E402
from mcp import Server, check, cmdline, descendants, equal, until  # noqa: E402

_servers = {}


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
    lines = [line.rsplit(" ", 1) for line in printed(ATTEMPTS + code, **more).splitlines()]
    return {label[:-7] if label.endswith(" DENIED") else label: verdict for label, verdict in lines}


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
