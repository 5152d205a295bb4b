#!/usr/bin/env python3
"""What one call of exec costs, next to the same program as a plain subprocess (see baseline.c).

usage: compare.py [--baseline PATH] [--case NAME]... [--calls N] [--pause MS] [--python PATH] [--json] SERVER [ARG...]

Calls to the server (a JSON line in, a JSON line out) and plain subprocesses alternate, so that a drift of the machine
meets both; what counts is the ratio of the medians, not the milliseconds. Standard library only.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

CASES = {
    "print": "print(2 + 2)\n",
    "numpy": "import numpy as np\nprint(int(np.arange(10).sum()))\n",
    "pandas": "import pandas as pd\nprint(int(pd.DataFrame({'a': [1, 2, 3]}).a.sum()))\n",
}
WARM_UP_CALLS = 3


class Baseline:
    def __init__(self, program, python, path):
        self.process = subprocess.Popen([program, python, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def call(self):
        """Milliseconds of one call."""
        self.process.stdin.write(b".")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("the plain subprocess could not be run")
        return int(line) / 1000


class Server:
    def __init__(self, argv, python):
        env = dict(os.environ, MCP_EXEC_PYTHON=python, MCP_EXEC_TRANSPORT="stdio")
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, env=env)
        self.last_id = 0
        self._ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                 "clientInfo": {"name": "bench", "version": "1"}})
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def _send(self, message):
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def _ask(self, method, params):
        self.last_id += 1
        self._send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        for line in self.process.stdout:
            answer = json.loads(line)
            if answer.get("id") == self.last_id:
                return answer
        sys.exit("the server closed its output")

    def call(self, code):
        """Milliseconds of one call of the tool."""
        start = time.perf_counter()
        answer = self._ask("tools/call", {"name": "exec", "arguments": {"code": code}})
        elapsed_ms = (time.perf_counter() - start) * 1000
        if answer.get("result", {}).get("structuredContent", {}).get("exit_code") != 0:
            sys.exit("a call failed: %.600s" % json.dumps(answer))
        return elapsed_ms


def percentile_95(values):
    return sorted(values)[int(len(values) * 0.95) - 1]


def measure(given, name):
    """The figures of one case."""
    with tempfile.TemporaryDirectory(prefix="mcp-exec-bench-") as folder:
        path = os.path.join(folder, "program.py")
        with open(path, "w") as file:
            file.write(CASES[name])
        plain, server = Baseline(given.baseline, given.python, path), Server(given.server, given.python)
        plain_ms, exec_ms = [], []
        for i in range(WARM_UP_CALLS + given.calls):
            for figures, call in ((plain_ms, plain.call), (exec_ms, lambda: server.call(CASES[name]))):
                elapsed_ms = call()
                if i >= WARM_UP_CALLS:
                    figures.append(elapsed_ms)
                time.sleep(given.pause / 1000)
        for peer in (plain, server):
            peer.process.stdin.close()
            peer.process.wait(10)
    medians = statistics.median(plain_ms), statistics.median(exec_ms)
    return {"case": name, "calls": given.calls, "plain_ms": round(medians[0], 2), "exec_ms": round(medians[1], 2),
            "exec_p95_ms": round(percentile_95(exec_ms), 2), "ratio": round(medians[1] / medians[0], 3)}


def has_module(python, name):
    command = [python, "-c", "import " + name]
    return name == "print" or subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1][7:])
    parser.add_argument("--baseline", default="build/bench/baseline")
    parser.add_argument("--case", action="append", choices=sorted(CASES))
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--pause", type=float, default=10.0)
    parser.add_argument("--python", default="/usr/bin/python3")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("server", nargs=argparse.REMAINDER)
    given = parser.parse_args()
    if not given.server:
        parser.error("the server's command is missing")
    for name in given.case or ("print", "numpy"):
        if not has_module(given.python, name):
            print("%-8s left out: %s has no such module" % (name, given.python))
            continue
        figures = measure(given, name)
        print(json.dumps(figures) if given.json else
              "%(case)-8s ratio %(ratio)6.3f   exec %(exec_ms)7.2f ms (95 %%: %(exec_p95_ms).2f), plain subprocess "
              "%(plain_ms)7.2f ms, %(calls)d calls each" % figures)
    if not given.json:
        print("The ratio is the median time of a sandboxed call over MCP divided by that of a plain, unprotected\n"
              "subprocess, measured in turns: 1 means that the sandbox costs nothing. Compare ratios, not\n"
              "milliseconds.")


if __name__ == "__main__":
    main()
