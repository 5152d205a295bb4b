"""What takes turns in a benchmark: the server as its client sees it, programs that do their work once for each byte
they are given (turns.h), and the numbers that come of it."""
import json
import os
import statistics
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from mcp import BINARY, ROOT, environment  # noqa: E402

BUILD = os.path.realpath(os.environ.get("MCP_EXEC_BUILD") or os.path.join(ROOT, "build"))
PYTHON = "/usr/bin/python3" if os.access("/usr/bin/python3", os.X_OK) else sys.executable
META = "io.github.mcp-exec/run"
END_S = 10
# What a client takes at once, as Node does; Python's own 8 KiB would be what a long answer waits for.
READ_BYTES = 1 << 16
# Calls until a server must be warm, and how long it may prepare itself after each.
WARM_UP_CALLS = 20
WARM_UP_PAUSE_S = 0.5


class Failed(Exception):
    """A call failed, so that there is nothing to measure."""


def median(values):
    return statistics.median(values)


def percentile_95(values):
    """The value that 95 of 100 do not exceed."""
    return sorted(values)[max(0, -(-len(values) * 95 // 100) - 1)]


def table(head, rows):
    """The lines of a table in Markdown, aligned for whoever reads it in a terminal."""
    widths = [max(len(line[i]) for line in [head] + rows) for i in range(len(head))]
    lines = [head, ["-" * width for width in widths]] + rows
    return ["| %s |" % " | ".join(cell.ljust(width) for cell, width in zip(line, widths)) for line in lines]


class Peer:
    """A process that we talk to by lines."""

    def __init__(self, argv, env=None, stderr=subprocess.DEVNULL, cwd=None):
        self.process = subprocess.Popen(argv, READ_BYTES, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
                                        env=env, cwd=cwd)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for stream in (self.process.stdin, self.process.stdout):
            try:
                stream.close()
            except BrokenPipeError:
                pass
        try:
            self.process.wait(END_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def line(self, data):
        """Writes bytes. Returns the line that comes; began_ns and over_ns say when."""
        self.began_ns = time.monotonic_ns()
        try:
            self.process.stdin.write(data)
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = b""
        self.over_ns = time.monotonic_ns()
        if not line:
            raise Failed("%s closed its output" % os.path.basename(self.process.args[0]))
        return line


class Program(Peer):
    """One of the programs of turns.h."""

    def call(self):
        """Milliseconds of one turn."""
        return int(self.line(b".")) / 1000


class Server(Peer):
    """A server on stdio, whose handshake is done."""

    def __init__(self, env=None, argv=(BINARY,), stderr=subprocess.DEVNULL, cwd=None):
        settings = dict({"MCP_EXEC_PYTHON": PYTHON, "MCP_EXEC_LOG_LEVEL": "error"}, **(env or {}))
        start = time.perf_counter()
        super().__init__(list(argv), environment(settings), stderr, cwd)
        self.last_id, self.starts = 0, []
        self.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                "clientInfo": {"name": "bench", "version": "1"}})
        self.ready_ms = (time.perf_counter() - start) * 1000
        self.process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        self.process.stdin.flush()

    @staticmethod
    def request(id, method, params):
        return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).encode() + b"\n"

    def ask(self, method, params):
        """Returns the result of a request and its milliseconds, which the making and reading of JSON are no part of."""
        self.last_id += 1
        answer = json.loads(self.line(self.request(self.last_id, method, params)))
        if answer.get("id") != self.last_id or "result" not in answer:
            raise Failed("%s: %.600s" % (method, json.dumps(answer)))
        return answer["result"], (self.over_ns - self.began_ns) / 1e6

    def run(self, code, stdin=""):
        """Runs a program, which must succeed. Returns the result and its milliseconds."""
        result, elapsed_ms = self.ask("tools/call", {"name": "exec", "arguments": {"code": code, "stdin": stdin}})
        if (result.get("structuredContent") or {}).get("exit_code") != 0:
            raise Failed("a call failed: %.600s" % json.dumps(result))
        self.starts.append(result["_meta"][META].get("start", "cold"))
        return result, elapsed_ms

    def call(self, code, stdin=""):
        """Milliseconds of one call."""
        return self.run(code, stdin)[1]

    def warm_up(self, code, wanted):
        """Calls until a program was started as wanted, and some times more. Whether it ever is shows in the figures; a
        server that does not say how it starts programs is not waited for."""
        for _ in range(WARM_UP_CALLS):
            start = self.run(code)[0]["_meta"][META].get("start")
            if start is None or start in wanted:
                break
            time.sleep(WARM_UP_PAUSE_S)
        for _ in range(2):
            self.call(code)
        self.starts.clear()

    def started(self):
        """How the measured programs were started, such as "preloaded 39, cold 1"."""
        kinds = sorted(set(self.starts), key=self.starts.count, reverse=True)
        return ", ".join("%s %d" % (kind, self.starts.count(kind)) for kind in kinds)
