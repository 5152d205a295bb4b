#!/usr/bin/env python3
"""Where the time of one call goes: the points that a call passes in client, supervisor, worker, init and program, as a
build of both programs notes them (stamps.h), and the program itself.

usage: steps.py [--calls N] [--cold]

Calls to that build and to the product take turns, which shows what the notes cost.
"""
import argparse
import os
import select
import subprocess
import sys
import time

from _peers import BUILD, Failed, Server, median, percentile_95, table

STAMPED = os.path.join(BUILD, "bench", "stamped", "bin", "mcp-exec")
CODE = "import time\nbegin = time.monotonic_ns()\nprint(2 + 2)\nprint(begin, time.monotonic_ns())\n"
PAUSE_S = 0.03
NOTES_S = 10
# Where each step ends; it begins where the one before it does.
STEPS = (
    ("read", "client → supervisor: a line"),
    ("run_sent", "supervisor: JSON, checks, memfds, queue"),
    ("run_received", "link: RUN"),
    ("given", "worker: pipes, hands the program over"),
    ("first", "interpreter: start, up to the first line of the program"),
    ("last", "the program"),
    ("ended", "interpreter: end, until init or the worker knows"),
    ("empty", "the sandbox goes: its last process, waited for by the worker"),
    ("done_sent", "worker: last output, seals"),
    ("done_received", "link: DONE"),
    ("over", "supervisor: result; supervisor → client: a line"),
)


class Stamped(Server):
    """A server that notes points. Each call gives when it passed each of them, in nanoseconds."""

    def __init__(self, env):
        super().__init__(env, [STAMPED], subprocess.PIPE)
        self._rest = b""

    def __exit__(self, *_):
        super().__exit__()
        self.process.stderr.close()

    def _notes(self, wanted):
        """What both programs wrote about one call."""
        found, deadline = {}, time.monotonic() + NOTES_S
        while len(found) < wanted:
            if b"\n" not in self._rest:
                left = max(0, deadline - time.monotonic())
                if not select.select([self.process.stderr], [], [], left)[0]:
                    raise Failed("points of a call are missing; noted were: %s" % sorted(found))
                self._rest += os.read(self.process.stderr.fileno(), 1 << 16)
                continue
            line, self._rest = self._rest.split(b"\n", 1)
            if line.startswith(b"stamps "):
                found.update((name, int(ns)) for name, ns in (part.split("=") for part in line.decode().split()[1:]))
        return found

    def run(self, code, stdin=""):
        result, elapsed_ms = super().run(code, stdin)
        # All but the program's own two and the client's.
        self.points = self._notes(len(STEPS) - 3)
        return result, elapsed_ms

    def passed(self):
        """One call: microseconds of each step."""
        printed = self.run(CODE)[0]["structuredContent"]["stdout"].split()
        points = dict(self.points, first=int(printed[1]), last=int(printed[2]), over=self.over_ns)
        ends = [points[name] for name, _ in STEPS]
        return [(end - begin) / 1000 for begin, end in zip([self.began_ns] + ends, ends)]


def measure(calls, cold=False):
    """Rows (step, median, value that 95 of 100 do not exceed), and the same of whole calls to that build and to the
    product; in microseconds. And how the programs of that build were started."""
    env, wanted = ({"MCP_EXEC_WARM": "0"}, ("cold",)) if cold else ({}, ("warm", "preloaded"))
    times, product_us = [], []
    with Stamped(env) as stamped, Server(env) as product:
        for server in (stamped, product):
            server.warm_up(CODE, wanted)
        for _ in range(calls):
            time.sleep(PAUSE_S)
            times.append(stamped.passed())
            time.sleep(PAUSE_S)
            product_us.append(product.call(CODE) * 1000)
        columns = [list(column) for column in zip(*times)] + [[sum(steps) for steps in times], product_us]
        names = [what for _, what in STEPS] + ["the whole call", "the whole call, without notes"]
        return [(what, median(c), percentile_95(c)) for what, c in zip(names, columns)], stamped.started()


def lines(rows, started):
    """The lines of a table."""
    whole_us = rows[len(STEPS)][1]
    return table(["step (programs were started: %s)" % started, "µs", "95 of 100 within", "of the whole"],
                 [[what, "%.0f" % median_us, "%.0f" % late_us, "%.1f %%" % (100 * median_us / whole_us)]
                  for what, median_us, late_us in rows])


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:])
    parser.add_argument("--calls", type=int, default=100)
    parser.add_argument("--cold", action="store_true")
    given = parser.parse_args()
    try:
        print("\n".join(lines(*measure(given.calls, given.cold))))
    except Failed as why:
        sys.exit(str(why))


if __name__ == "__main__":
    main()
