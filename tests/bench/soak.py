#!/usr/bin/env python3
"""Many calls of every kind to one server: is the last one as good and as quick as the first, and is nothing kept?

usage: soak.py [--runs N] [--seed N] [--json] [--max-ratio R] SERVER [ARG...]

The calls are a mix that the seed decides: programs that end well, with an error, by a signal, at a limit, leave daemons
behind, flood their output, import a library; and calls that are cancelled or reach their deadline. Every answer is
checked. Compared are the medians of the quick calls of the first and of the last tenth, and what supervisor and worker
hold after the first tenth and at the end. Started as root it sees all of that, else what may be seen. The exit code is
not 0 when an answer was wrong, something was kept, or the last tenth took --max-ratio times as long as the first, 1.5
if it is not given. Standard library only.
"""
import argparse
import json
import os
import random
import statistics
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import warm  # noqa: E402
from mcp import Server, alive, descendants, named, named_program, unique, until  # noqa: E402

MIB = 1 << 20
# What may be more at the end than after the first tenth: an allocator's rest.
SLACK_KIB = 4096
DEADLINE_S = 1


class Wrong(AssertionError):
    """An answer that is not what this kind of call gives."""


def expect(result, **wanted):
    if result.get("isError") is not False:
        raise Wrong("no run: %.400r" % (result,))
    got = result["structuredContent"]
    wrong = {name: got[name] for name, want in wanted.items()
             if not (want(got[name]) if callable(want) else got[name] == want)}
    if wrong:
        raise Wrong("%.300r where %r was expected; %.300r" % (wrong, sorted(wanted), got["stderr"]))


GOOD = dict(exit_code=0, stderr="", limit=None, signal=None, timed_out=False, truncated=False)


def say(s, r):
    word = "%032x" % r.getrandbits(128)
    result = s.exec("import sys\nprint(%r, sys.stdin.read())" % word, stdin=word)
    expect(result, stdout="%s %s\n" % (word, word), **GOOD)


def compute(s, r):
    n = r.randrange(1000, 20000)
    expect(s.exec("print(sum(range(%d)))" % n), stdout="%d\n" % (n * (n - 1) // 2), **GOOD)


def numpy(s, r):
    n = r.randrange(1, 500)
    result = s.exec("import numpy as np\nprint(int(np.arange(%d).sum()))" % n)
    expect(result, stdout="%d\n" % (n * (n - 1) // 2), **GOOD)


def error(s, r):
    expect(s.exec("def f(): return {}[%d]\nf()" % r.randrange(9)), exit_code=1, stdout="",
           stderr=lambda text: "KeyError" in text and text.count("main.py") == 2)


def exit_code(s, r):
    code = r.randrange(1, 256)
    expect(s.exec("import sys; sys.exit(%d)" % code), exit_code=code, stdout="", signal=None)


def killed(s, r):
    expect(s.exec("import os; os.kill(os.getpid(), 9)"), exit_code=-1, signal="SIGKILL", limit=None)


def memory(s, r):
    # What the kernel refuses ends by an exception, what the watch sees by a signal.
    expect(s.exec("x = bytearray(1 << 40)" if r.random() < .7 else "l = []\nwhile True: l.append(b'x' * (1 << 22))"),
           limit="memory")


def daemon(s, r):
    name = unique("k")
    code = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\n" \
        "    os._exit(0)\nos.wait(); print('left')"
    expect(s.exec(named_program(name, code)), stdout="left\n", **GOOD)
    if named(name):
        raise Wrong("a process of a run that has ended is alive")


def children(s, r):
    n = r.randrange(2, 20)
    code = "import os\nfor i in range(%d):\n    if os.fork() == 0: os._exit(i)\nprint(sum(os.wait()[1] >> 8 for _ in " \
        "range(%d)))" % (n, n)
    expect(s.exec(code), stdout="%d\n" % (n * (n - 1) // 2), **GOOD)


def threads(s, r):
    expect(s.exec("import threading, time\nfor i in range(8): threading.Thread(target=time.sleep, args=(60,), daemon="
                  "True).start()\nprint('m')"), stdout="m\n", **GOOD)


def files(s, r):
    n = r.randrange(1, 100)
    code = "import os\nos.mkdir('d')\nfor i in range(%d): open('d/f%%d' %% i, 'w').write('x' * 999)\n" \
        "print(len(os.listdir('d')))" % n
    expect(s.exec(code), stdout="%d\n" % n, **GOOD)


def flood(s, r):
    expect(s.exec("import sys\nfor _ in range(300): sys.stdout.write('x' * 10000)"), exit_code=0, truncated=True,
           limit="output", stdout=lambda text: len(text) == MIB)


def large(s, r):
    expect(s.exec("import sys\nprint(len(sys.stdin.read())); sys.stdout.write('y' * 200000)", stdin="é" * 100000),
           exit_code=0, stdout="100000\n" + "y" * 200000)


def cancelled(s, r):
    call = s.start_exec("import time; time.sleep(60)")
    time.sleep(r.choice((0, r.random() * 0.01, r.random() * 0.05)))
    s.cancel(call)
    say(s, r)


def cancelled_in_the_queue(s, r):
    first, second = s.start_exec("import time; time.sleep(.01); print(1)"), s.start_exec("print(2)")
    s.cancel(second)
    expect(s.answer(first)["result"], stdout="1\n")


def in_a_row(s, r):
    calls = [s.start_exec("print(%d)" % i) for i in range(6)]
    for i, call in enumerate(calls):
        expect(s.answer(call)["result"], stdout="%d\n" % i, **GOOD)


def deadline(s, r):
    expect(s.exec(r.choice(("while True: pass", "import time; time.sleep(60)")), timeout_s=DEADLINE_S), exit_code=-1,
           timed_out=True, limit="wall_time", signal="SIGKILL")


# kind, its share in a thousand. A second of waiting is in few.
KINDS = ((say, 500), (compute, 150), (numpy, 40), (error, 70), (exit_code, 40), (killed, 25), (memory, 10),
         (daemon, 30), (children, 30), (threads, 20), (files, 20), (flood, 10), (large, 10), (cancelled, 25),
         (cancelled_in_the_queue, 10), (in_a_row, 7), (deadline, 3))
# Those whose time is compared: all take the same way, and the program hardly counts.
QUICK = (say, compute)


def _resident_kib(pid):
    with open("/proc/%d/status" % pid) as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1])


def _cgroups(worker):
    """How many it has made, wherever it may have; cgroups(7)."""
    with open("/proc/%d/cgroup" % worker) as file:
        own = file.read().splitlines()[-1].split(":", 2)[2]
    top = "/sys/fs/cgroup" + (os.path.dirname(own) if own.endswith("/supervisor") else own)
    return sum(1 for _, folders, _ in os.walk(top) for name in folders
               if name.startswith(("run-%d-" % worker, "pristine-%d-" % worker)))


def held(s):
    """What server and worker hold at rest: what is seen most of a while, for sandboxes are made meanwhile."""
    worker, seen = s.worker(), []
    until(lambda: warm.Below(worker).at_rest(), 10, "only what waits is left")
    for _ in range(40):
        now = {"resident KiB of supervisor": _resident_kib(s.pid), "resident KiB of worker": _resident_kib(worker),
               "processes": len(descendants(s.pid)), "cgroups": _cgroups(worker)}
        if os.geteuid() == 0:
            now["descriptors of supervisor"] = len(warm.descriptors(s.pid))
            now["descriptors of worker"] = len(warm.descriptors(worker))
            with open("/proc/%d/mountinfo" % worker) as file:
                now["mounts"] = len(file.read().splitlines())
        seen.append(now)
        time.sleep(0.02)
    return {name: statistics.median_low([now[name] for now in seen]) for name in seen[0]}


def growth(before, after):
    """What is held at the end and was not before."""
    return {name: (before[name], after[name]) for name in before
            if after[name] > before[name] + (SLACK_KIB if "KiB" in name else 0)}


class Soak:
    """The calls that a seed decides, to one server; see the figures for what came of them."""

    def __init__(self, seed, runs):
        self.random, self.runs = random.Random(seed), max(runs, 20)
        self.times, self.counts = [], {}

    def next_kind(self):
        return self.random.choices([kind for kind, _ in KINDS], [share for _, share in KINDS])[0]

    def _one(self, s):
        kind = self.next_kind()
        self.counts[kind.__name__] = self.counts.get(kind.__name__, 0) + 1
        start = time.perf_counter()
        try:
            kind(s, self.random)
        except AssertionError as error:
            raise Wrong("call %d (%s): %s" % (sum(self.counts.values()), kind.__name__, error))
        if kind in QUICK:
            self.times.append((time.perf_counter() - start) * 1000)

    def run(self, s):
        """Sends all calls to a server; returns the figures."""
        tenth = self.runs // 10
        # What is loaded once is there before anything is measured.
        for kind, _ in KINDS:
            kind(s, self.random)
        for _ in range(tenth):
            self._one(s)
        first, before = statistics.median(self.times), held(s)
        for _ in range(self.runs - 2 * tenth):
            self._one(s)
        self.times = []
        for _ in range(tenth):
            self._one(s)
        last, after = statistics.median(self.times), held(s)
        if s.inbox:
            raise Wrong("answers that nobody asked for: %.300r" % s.inbox)
        return {"runs": self.runs, "first_ms": round(first, 2), "last_ms": round(last, 2),
                "ratio": round(last / first, 3), "before": before, "after": after, "grown": growth(before, after),
                "kinds": self.counts, "start": warm.start_of(s.exec("pass"))}


def ended(s):
    """Ends the server; says what of it is left."""
    below = set(descendants(s.pid))
    s.close_stdin()
    s.wait_exit(5)
    deadline = time.monotonic() + 5
    while any(map(alive, below)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return [pid for pid in below if alive(pid)]


def report(figures):
    print("%(runs)d calls, the last started %(start)s; median of the quick ones: %(first_ms).2f ms in the first tenth, "
          "%(last_ms).2f ms in the last, ratio %(ratio).3f" % figures)
    for name in figures["before"]:
        print("    %-28s %8d after the first tenth, %8d at the end%s" % (
            name, figures["before"][name], figures["after"][name], "   GROWN" if name in figures["grown"] else ""))


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:])
    parser.add_argument("--runs", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=int(time.time()) % 100000)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--max-ratio", type=float, default=1.5)
    parser.add_argument("server", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if not given.server:
        parser.error("the server's command is missing")
    print("seed %d" % given.seed, file=sys.stderr)
    try:
        with Server(command=given.server) as s:
            s.initialize()
            figures = Soak(given.seed, given.runs).run(s)
            left = ended(s)
    except AssertionError as error:
        sys.exit("seed %d: %s" % (given.seed, error))
    print(json.dumps(dict(figures, seed=given.seed))) if given.json else report(figures)
    if left:
        print("processes of the server are left: %r" % left, file=sys.stderr)
    return 1 if left or figures["grown"] or figures["ratio"] > given.max_ratio else 0


if __name__ == "__main__":
    sys.exit(main())
