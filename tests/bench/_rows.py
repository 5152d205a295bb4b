"""The rows of the benchmark: what is measured, against what, and what the figure should be.

Two that are compared always take turns, so that a drift of the machine meets both. What counts is their ratio.
"""
import os
import re
import shutil
import subprocess
import tempfile
import time

from _peers import BUILD, HERE, PYTHON, Failed, Peer, Program, Server, median, percentile_95
from mcp import descendants, workers_of
from web import HttpServer

PRINT = "print(2 + 2)\n"
LIBRARIES = (
    ("import numpy", "numpy", "import numpy as np\nprint(int(np.arange(10).sum()))\n", 0.04),
    ("import pandas", "pandas", "import pandas as pd\nprint(int(pd.DataFrame({'a': [1, 2, 3]}).a.sum()))\n", 0.02),
    ("import pyplot", "matplotlib", "import matplotlib\nmatplotlib.use('Agg')\nimport matplotlib.pyplot as plt\n"
     "plt.plot([1, 2, 3])\nprint(len(plt.gca().lines))\n", 0.02),
)
WARM, PRELOADED, COLD = ("warm", "preloaded"), ("preloaded",), ("cold",)
MIB = 1 << 20
PAUSE_S = 0.03
SETTLE_S = 1.0
BUBBLEWRAP = ("--unshare-all", "--ro-bind", "/", "/", "--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev", "true")
# Where tests/clients/run installs the SDK.
CLIENTS = os.path.join(BUILD, "clients")
NODE = os.path.join(CLIENTS, "node_modules", ".bin", "node")
BLOCKS, BLOCK_S = 2, 15


class Row:
    """One line of the result. unit: of value and other. goal: (what of it, "<=" or ">=", number), or None."""

    def __init__(self, what, unit, value, p95=None, against=None, other=None, goal=None, note=""):
        self.what, self.unit, self.value, self.p95 = what, unit, value, p95
        self.against, self.other, self.goal, self.note = against, other, goal, note
        self.ratio = value / other if other else None

    def met(self):
        """Whether the goal is met; None without one, or when there was nothing to compare with."""
        if self.goal is None or getattr(self, self.goal[0]) is None:
            return None
        figure, bound = getattr(self, self.goal[0]), self.goal[2]
        return figure <= bound if self.goal[1] == "<=" else figure >= bound


class LeftOut:
    def __init__(self, what, why):
        self.what, self.why = what, why


def take_turns(calls, n, pause_s=PAUSE_S):
    """Makes each call n times, in turns. Returns a list of figures for each."""
    figures = [[] for _ in calls]
    for _ in range(n):
        for found, call in zip(figures, calls):
            time.sleep(pause_s)
            found.append(call())
    return figures


class Plain(Program):
    """The same program as a plain subprocess: baseline.c."""

    def __init__(self, code):
        self.folder = tempfile.TemporaryDirectory(prefix="mcp-exec-bench-")
        path = os.path.join(self.folder.name, "program.py")
        with open(path, "w") as file:
            file.write(code)
        super().__init__([os.path.join(BUILD, "bench", "baseline"), PYTHON, path])
        self.call()

    def __exit__(self, *_):
        super().__exit__()
        self.folder.cleanup()


def has_module(name):
    return subprocess.run([PYTHON, "-c", "import " + name], stderr=subprocess.DEVNULL).returncode == 0


def rows_of_print(n):
    with Plain(PRINT) as plain, Server() as server, Server({"MCP_EXEC_WARM": "0"}) as cold:
        server.warm_up(PRINT, WARM)
        cold.warm_up(PRINT, COLD)
        times = take_turns([plain.call, lambda: server.call(PRINT), lambda: cold.call(PRINT)], n)
        plain_ms, late_ms = median(times[0]), percentile_95(times[1])
        yield Row("print(2 + 2)", "ms", median(times[1]), late_ms, "plain subprocess", plain_ms,
                  ("ratio", "<=", 0.1), server.started())
        yield Row("print(2 + 2), 95 of 100 calls", "ms", late_ms, None, "median of plain subprocess", plain_ms,
                  ("ratio", "<=", 0.25), server.started())
        yield Row("print(2 + 2), cold", "ms", median(times[2]), percentile_95(times[2]),
                  "plain subprocess", plain_ms, ("ratio", "<=", 1.25), cold.started())


def rows_of_libraries(n):
    for what, module, code, goal in LIBRARIES:
        if not has_module(module):
            yield LeftOut(what, "%s has no %s" % (PYTHON, module))
            continue
        with Plain(code) as plain, Server() as server:
            server.warm_up(code, PRELOADED)
            times = take_turns([plain.call, lambda: server.call(code)], n)
            yield Row(what, "ms", median(times[1]), percentile_95(times[1]), "plain subprocess", median(times[0]),
                      ("ratio", "<=", goal), server.started())


def per_second(call, n):
    """Calls per second of n calls, or of as many as there is time for."""
    start, done, elapsed_s = time.perf_counter(), 0, 0
    while done < n and elapsed_s < BLOCK_S:
        call()
        done, elapsed_s = done + 1, time.perf_counter() - start
    return done / elapsed_s


def rows_of_bursts(n, n_plain):
    """Back to back: no pause in which the next sandbox could be built. In blocks, which take turns."""
    for what, module, code, wanted, goal in (("print(2 + 2)", "sys", PRINT, WARM, 4),
                                             ("import pandas", "pandas", LIBRARIES[1][2], PRELOADED, 25)):
        what += ", back to back"
        if not has_module(module):
            yield LeftOut(what, "%s has no %s" % (PYTHON, module))
            continue
        with Plain(code) as plain, Server() as server:
            server.warm_up(code, wanted)
            rates = take_turns([lambda: per_second(plain.call, -(-n_plain // BLOCKS)),
                                lambda: per_second(lambda: server.call(code), -(-n // BLOCKS))], BLOCKS)
            yield Row(what, "/s", median(rates[1]), None, "plain subprocess", median(rates[0]), ("ratio", ">=", goal),
                      server.started())


def rows_of_bytes(n):
    """What a megabyte adds to the same program without it."""
    read = "import sys\nprint(len(sys.stdin.buffer.read()))\n"
    write = "import sys\nsys.stdout.write('x' * %d)\n"
    for what, code, short in (("1 MiB of stdin", (read, "x" * MIB), (read, "")),
                              ("1 MiB of stdout", (write % MIB, ""), (write % 0, ""))):
        with Server() as server:
            server.warm_up(short[0], WARM)
            times = take_turns([lambda: server.call(*short), lambda: server.call(*code)], n)
            yield Row(what + ", beyond the same without", "ms", median(times[1]) - median(times[0]),
                      goal=("value", "<=", 3), note=server.started())


def rows_of_a_sandbox(n):
    what = "an empty sandbox: built, true run, gone"
    if os.geteuid() == 0:
        return
    empty = os.path.join(BUILD, "bench", "empty")
    bubblewrap = shutil.which("bwrap")
    with Program([empty]) as ours:
        ours.call()
        if bubblewrap:
            with Program([empty, bubblewrap, *BUBBLEWRAP]) as theirs:
                theirs.call()
                their_ms, our_ms = take_turns([theirs.call, ours.call], n)
        else:
            their_ms, our_ms = None, take_turns([ours.call], n)[0]
        yield Row(what, "ms", median(our_ms), percentile_95(our_ms), "bwrap --unshare-all" if bubblewrap else None,
                  median(their_ms) if bubblewrap else None, ("ratio", "<=", 0.5))


def have_node():
    """Whether there is an SDK to compare with."""
    return os.access(NODE, os.X_OK)


def sdk(mode):
    """How to start a server of the SDK, from where its packages are."""
    with open(os.path.join(HERE, "node_server.mjs")) as file:
        return {"argv": [NODE, "--input-type=module", "-e", file.read(), mode], "cwd": CLIENTS}


def start_ms(**how):
    with Server(**how) as server:
        return server.ready_ms


def first_ms():
    start = time.perf_counter()
    with Server() as server:
        server.call(PRINT)
        return (time.perf_counter() - start) * 1000


def rows_of_start(n):
    calls = [start_ms, first_ms] + ([lambda: start_ms(**sdk("stdio"))] if have_node() else [])
    times = take_turns(calls, n)
    yield Row("start, up to the answer to initialize", "ms", median(times[0]), percentile_95(times[0]),
              "SDK in Node" if have_node() else None, median(times[2]) if have_node() else None, ("value", "<=", 20))
    yield Row("start, up to the result of a first print", "ms", median(times[1]), percentile_95(times[1]))


def pss_mb(pids):
    """Memory of processes, what they share counted in parts: proc_pid_smaps_rollup(5)."""
    total = 0
    for pid in pids:
        with open("/proc/%d/smaps_rollup" % pid) as file:
            total += int(re.search(r"^Pss:\s+(\d+) kB", file.read(), re.M).group(1))
    return total * 1024 / 1e6


def settled_mb(pid):
    """Memory of a process and all below it, once what it prepares is ready."""
    time.sleep(SETTLE_S)
    return pss_mb([pid] + descendants(pid))


def rows_of_memory(*_):
    """Only root may look at processes that are not dumpable."""
    if os.geteuid():
        return
    other = None
    if have_node():
        with Server(**sdk("stdio")) as server:
            server.ask("tools/list", {})
            other = settled_mb(server.process.pid)
    against = "SDK in Node" if other else None
    with Server({"MCP_EXEC_WARM": "0"}) as server:
        server.warm_up(PRINT, COLD)
        all_mb, pid = settled_mb(server.process.pid), server.process.pid
        yield Row("idle memory of both programs, cold", "MB", pss_mb([pid] + workers_of(pid)),
                  against=against, other=other, goal=("value", "<=", 4))
        yield Row("the same, with the sandbox that waits", "MB", all_mb)
    with Server() as server:
        server.warm_up(PRINT, WARM)
        yield Row("idle memory with everything that waits", "MB", settled_mb(server.process.pid), against=against,
                  other=other, goal=("value", "<=", 16), note=server.started())
        code = LIBRARIES[1][2]
        if has_module("pandas"):
            server.warm_up(code, PRELOADED)
            yield Row("the same, after use of pandas", "MB", settled_mb(server.process.pid))


def wrk(address, seconds):
    """Answers per second to tools/list, over 16 connections of one thread."""
    command = ["wrk", "-t1", "-c16", "-d%ds" % seconds, "-s", os.path.join(HERE, "list.lua"),
               "http://%s:%d/mcp" % address]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True)
    found = re.search(r"Requests/sec:\s+([\d.]+)", done.stdout)
    if done.returncode or not found or "Non-2xx" in done.stdout or "Socket errors" in done.stdout:
        raise Failed("wrk: " + done.stdout)
    return float(found.group(1))


class NodeHttp(Peer):
    def __init__(self):
        super().__init__(**sdk("http"))
        self.address = "127.0.0.1", int(self.process.stdout.readline())

    def __exit__(self, *_):
        self.process.terminate()
        super().__exit__()


def rows_of_http(seconds):
    what = "tools/list over HTTP"
    if not shutil.which("wrk"):
        yield LeftOut(what, "there is no wrk")
        return
    with HttpServer() as server:
        calls = [lambda: wrk(server.address, seconds)]
        if not have_node():
            yield Row(what, "/s", median(take_turns(calls, 2)[0]), goal=("ratio", ">=", 15),
                      note="nothing to compare with: tests/clients/run installs the SDK")
            return
        with NodeHttp() as other:
            rates = take_turns(calls + [lambda: wrk(other.address, seconds)], 2)
            yield Row(what, "/s", median(rates[0]), None, "SDK in Node", median(rates[1]), ("ratio", ">=", 15))


# Name, function, and its numbers for a whole benchmark and for a look at whether it works.
GROUPS = (
    ("print", rows_of_print, (100,), (2,)),
    ("libraries", rows_of_libraries, (30,), (2,)),
    ("bursts", rows_of_bursts, (200, 40), (4, 4)),
    ("bytes", rows_of_bytes, (50,), (2,)),
    ("sandbox", rows_of_a_sandbox, (100,), (2,)),
    ("start", rows_of_start, (20,), (2,)),
    ("memory", rows_of_memory, (1,), (1,)),
    ("http", rows_of_http, (3,), (1,)),
)
