"""What the tests of warm runs share: servers in each mode, calls that must be right, and that nothing is left."""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import warm
from mcp import Server, alive, check, descendants, equal, skip, until

# mode: the value of the setting.
MODES = [("cold", "0"), ("warm", "1")]
# Until what was lost is there again; the worker may wait a while before it tries.
AGAIN_S = 30
SUM = "import numpy\nprint(int(numpy.ones(5).sum()))"


def needs_warm():
    if not warm.known():
        skip("the server has no warm runs")


def needs_root(what):
    if os.geteuid():
        skip("needs root: nobody else can see " + what)


def server(**env):
    return Server(env=dict({"MCP_EXEC_WARM": "1"}, **env))


def right(s, word="right", wait=20, **arguments):
    """A call gives what it should, in time, however it is started. Returns how it was."""
    result = s.exec("import sys\nprint(%r, sys.stdin.read())" % word, stdin="in", wait=wait, **arguments)
    equal(result["isError"], False, str(result)[:400])
    got = result["structuredContent"]
    equal((got["stdout"], got["stderr"], got["exit_code"], got["limit"]), (word + " in\n", "", 0, None))
    return warm.start_of(result)


def sums(s, wait=20):
    """The same for a program that imports a library."""
    result = s.exec(SUM, wait=wait)
    equal(result["isError"], False, str(result)[:400])
    got = result["structuredContent"]
    equal((got["stdout"], got["stderr"], got["exit_code"]), ("5\n", "", 0))
    return warm.start_of(result)


def waiting(s, interpreters=1, timeout=AGAIN_S):
    """Waits until so many pristine interpreters wait, each with a parked copy, and returns what there is."""
    def there():
        below = warm.ready(s.worker())
        return below if below and len(below.pristine) >= interpreters else None
    return until(there, timeout, "%d interpreters wait" % interpreters)


def at_rest(s, timeout=5):
    """Waits until nothing is below the worker but what waits."""
    return until(lambda: (lambda below: below if below.at_rest() else None)(warm.Below(s.worker())), timeout,
                 "only what waits is left")


def _held(s):
    worker = s.worker()
    with open("/proc/%d/mountinfo" % worker) as file:
        mounts = len(file.read().splitlines())
    return {"server": len(warm.descriptors(s.pid)), "worker": len(warm.descriptors(worker)), "mounts": mounts}


def holdings(s):
    """The most that server and worker hold at rest, or None where we may not look: descriptors of each, mounts. What
    waits is made and taken apart meanwhile."""
    if os.geteuid():
        return None
    seen = []
    for _ in range(30):
        seen.append(_held(s))
        time.sleep(0.01)
    return {name: max(held[name] for held in seen) for name in seen[0]}


def holds_no_more(s, before, timeout=5):
    """Waits until server and worker hold no more than before."""
    if before is not None:
        until(lambda: all(_held(s)[name] <= before[name] for name in before), timeout,
              "no more is held than %r; %r" % (before, _held(s)))


def ends(s, below=()):
    """Ends the server, and checks that nothing of it is left."""
    below = set(below) | set(descendants(s.pid))
    s.close_stdin()
    equal(s.wait_exit(3), 0)
    until(lambda: not any(map(alive, below)), 3, "everything of it is gone")


def victims(s):
    """{name: processes} of what waits."""
    below = waiting(s)
    return {"parked": below.parked, "pristine": below.pristine, "both": below.interpreters(),
            "init_of_parked": [below.init[pid] for pid in below.parked],
            "init_of_pristine": [below.init[pid] for pid in below.pristine], "empty_sandbox": below.empty,
            "everything": below.interpreters() + list(below.init.values()) + below.empty}


def strike(pids, number):
    """Sends a signal to processes, of which one may end by another's end."""
    check(pids, "nobody to strike")
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            pass
