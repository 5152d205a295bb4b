"""Warm runs, as they are seen from outside: how a program was started, and what waits below a worker.

A program is started cold, by exec; or as a copy of a pristine interpreter: warm, or preloaded when that had loaded a
library for it. A copy that waits for its program is parked.
"""
import os
import subprocess
import time

from mcp import BINARY, PATIENCE, Timeout, alive, check, cmdline, environment, parent, pids

RUN_META = "io.github.mcp-exec/run"
COLD, WARM, PRELOADED = "cold", "warm", "preloaded"
# What is preloaded without being asked for, once programs have used it, as a program imports it.
LIBRARIES = {"numpy": "numpy", "pandas": "pandas", "matplotlib": "matplotlib.pyplot"}
# A pristine interpreter is replaced after so many programs, for its copies share what Python draws once at its start.
COPIES = 500
# What may wait below a worker: a bare interpreter and one that has loaded libraries.
PRISTINE = 2

_known = []


def known():
    """Whether this server has warm runs at all."""
    if not _known:
        told = subprocess.run([BINARY, "--help"], stdout=subprocess.PIPE, timeout=20 * PATIENCE, env=environment())
        _known.append(b"MCP_EXEC_WARM" in told.stdout)
    return _known[0]


def start_of(result):
    """How the program of this result was started; a server that has one way only does not say it."""
    check(RUN_META in result.get("_meta", {}), "no result of a run:", str(result)[:300])
    return result["_meta"][RUN_META].get("start", COLD)


def imports(*modules):
    """Lines that import these libraries."""
    return "".join("import %s\n" % LIBRARIES.get(name, name) for name in modules)


def until_started(s, code, *wanted, timeout=20, each=None, **arguments):
    """Runs the program until it is started in a wanted way, and returns the result of that run. each(result) is called
    for all of them."""
    deadline = time.monotonic() + timeout * PATIENCE
    seen = []
    while True:
        result = s.exec(code, **arguments)
        if each:
            each(result)
        seen.append(start_of(result))
        if seen[-1] in wanted:
            return result
        if time.monotonic() > deadline:
            raise Timeout("no program was started %s within %d s; %d times: %s" % (
                " or ".join(wanted), timeout, len(seen), ", ".join(sorted(set(seen)))))
        time.sleep(0.02)


def warmed(s, *modules, timeout=20):
    """Waits until a program that imports these libraries, or none, is started from what is warm. Returns the server."""
    until_started(s, imports(*modules) + "pass", PRELOADED if modules else WARM, timeout=timeout)
    return s


# What waits below a worker.

def _status(pid):
    try:
        with open("/proc/%d/status" % pid) as file:
            return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
    except OSError:
        return {}


class Below:
    """What there is below a worker at one moment, sandbox by sandbox.

    empty: inits that have no child yet. pristine, parked: interpreters without a child of their own that have the
    command line of a program. other: anything else. A pristine interpreter is the first process that its init started;
    a copy came into its sandbox through two others, pid 2 the last of them. A cold program looks like a pristine
    interpreter, so this says something only while no program runs.
    """

    def __init__(self, worker):
        parents = {pid: parent(pid) for pid in pids()}
        children = {}
        for pid, above in parents.items():
            children.setdefault(above, []).append(pid)
        self.empty, self.pristine, self.parked, self.other, self.init = [], [], [], [], {}
        for init in children.get(worker, []):
            inner = children.get(init, [])
            if not inner:
                (self.other if b"main.py" in cmdline(init) else self.empty).append(init)
            for pid in inner:
                self.init[pid] = init
                self._kind(pid, len(inner) == 1 and pid not in children).append(pid)

    def _kind(self, pid, alone):
        own = _status(pid).get("NSpid", "").split()[-1:]
        if not alone or not own or not cmdline(pid).endswith(b"\0main.py\0"):
            return self.other
        return self.pristine if own == ["2"] else self.parked

    def interpreters(self):
        return self.pristine + self.parked

    def at_rest(self):
        """Nothing but what waits for the next programs."""
        return not self.other and len(self.empty) <= 1 and len(self.pristine) <= PRISTINE \
            and len(self.parked) <= len(self.pristine) and bool(self.empty or self.parked)


def ready(worker):
    """What waits below the worker, if there is an interpreter and a parked copy of each; None otherwise."""
    below = Below(worker)
    return below if below.at_rest() and below.pristine and len(below.parked) == len(below.pristine) else None


def dead(pid):
    return not alive(pid)


def descriptors(pid):
    """{number: what it is} of another process; needs root, for none of ours is dumpable."""
    folder, found = "/proc/%d/fd" % pid, {}
    for name in os.listdir(folder):
        try:
            found[int(name)] = os.readlink(os.path.join(folder, name))
        except FileNotFoundError:
            pass
    return found


def holds(pid, word):
    """Whether a word lies in what another process may write of its memory; needs root."""
    word = word.encode()
    with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb", 0) as memory:
        regions = [line.split()[:2] for line in maps]
        check(regions, "no memory of", pid)
        for addresses, rights in regions:
            first, last = (int(address, 16) for address in addresses.split("-"))
            if "w" not in rights:
                continue
            try:
                memory.seek(first)
                data = memory.read(last - first)
            except (OSError, OverflowError, ValueError):
                continue
            if word in data:
                return True
    return False
