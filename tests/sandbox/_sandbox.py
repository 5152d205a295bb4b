"""Shared by the tests of this directory: one server for each environment, runs in it, and what came of them."""
import atexit
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import warm  # noqa: E402
from hostile import ATTEMPTS  # noqa: E402
from mcp import Server, check, equal, skip, until  # noqa: E402

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
    """Below the server there is the worker, and below that only what waits for the next program."""
    s = s or server()
    s.exec("pass")
    worker = s.worker()
    until(lambda: warm.Below(worker).at_rest(), 3, "only what waits is left")


# How programs are started. What holds for one way must hold for all: a table runs in each, and says how it was started.

# mode: (settings of the server, what is put behind a program, how it may then be started). In the last one a program
# seems to import libraries, which it must not notice.
PRETENCE = "\nif 0: import numpy, pandas, matplotlib.pyplot\n"
MODES = {"cold": ({"MCP_EXEC_WARM": "0"}, "", (warm.COLD,)),
         "warm": ({"MCP_EXEC_WARM": "1"}, "", (warm.WARM, warm.PRELOADED)),
         "pretended": ({"MCP_EXEC_WARM": "1"}, PRETENCE, (warm.WARM, warm.PRELOADED))}
_counts = {}
# tests/pythons is about other Pythons, not about ways to start them; `make gate` has those.
COLD_ONLY = os.environ.get("TEST_MODES") == "cold"


def modes(names):
    """Those of these modes that the server has; count_of_modes fails when it lacks one."""
    for name in names:
        _counts.setdefault(name, {})
    return [name for name in names if name == "cold" or warm.known() and not COLD_ONLY]


def run_in(mode, code, each, start=None, wait=20, **arguments):
    """Runs a program in a mode, until it was started in the way that this is about, or the given one. each(structured
    result) judges every run of it. Returns the last one."""
    env, behind, wanted = MODES[mode]

    def judge(result):
        how = warm.start_of(result)
        counts[how] = counts.get(how, 0) + 1
        try:
            each(structured(result))
        except AssertionError as error:
            raise AssertionError("started %s in mode %s: %s" % (how, mode, error))

    counts = _counts.setdefault(mode, {})
    wanted = (start,) if start and mode != "cold" else wanted
    return structured(warm.until_started(server(**env), code + behind, *wanted, each=judge, wait=wait, **arguments))


def every_mode_was_tried():
    """For the end of a table: that modes were left out is no success, nor that a mode was another in truth."""
    check(_counts, "there was no run in a mode")
    lacking = [name for name, counts in _counts.items() if not counts and not (COLD_ONLY and name != "cold")]
    if lacking and not warm.known():
        skip("the server has no warm runs: not tried %s" % ", ".join(lacking))
    equal(lacking, [], "modes without a run:")
    counts = _counts.get("pretended") or {warm.PRELOADED: 1}
    check(counts.get(warm.PRELOADED, 0) * 2 > sum(counts.values()), "few runs that pretend were preloaded:", counts)
