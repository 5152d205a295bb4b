#!/usr/bin/env python3
"""What a service manager hears of http and sse (sd_notify(3)), and the journal of the log: the tests are systemd."""
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import (BINARY, PATIENCE, Server, cases, check, contains, environment, equal, main, run, unique, until)
from _http import runs
from web import HttpServer, SseServer

READY = "READY=1\nSTATUS=Serves; calls: 0 running, 0 waiting"
ASKED = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID", "JOURNAL_STREAM")
WATCHDOG_S = 1.0


class Manager:
    """A socket to be told things at: by path, where whoever a server becomes may write, or by an abstract name."""

    def __init__(self, abstract=False):
        self.heard, self.directory = [], None
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        if abstract:
            self.name = "@" + unique("manager")
            self.socket.bind("\0" + self.name[1:])
        else:
            self.directory = tempfile.mkdtemp()
            self.name = os.path.join(self.directory, "notify")
            self.socket.bind(self.name)
            os.chmod(self.directory, 0o755)
            os.chmod(self.name, 0o777)
        self.socket.settimeout(0.05)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()
        if self.directory:
            shutil.rmtree(self.directory)

    def asks(self, watchdog_s=None, **more):
        """What it puts into the environment of a service."""
        env = dict({"NOTIFY_SOCKET": self.name}, **more)
        if watchdog_s:
            env["WATCHDOG_USEC"] = str(int(watchdog_s * 1e6))
        return env

    def listen(self):
        """All that came so far."""
        try:
            while True:
                self.heard.append(self.socket.recv(4096).decode())
        except socket.timeout:
            return self.heard

    def hears(self, text, timeout=15):
        until(lambda: [h for h in self.listen() if text in h], timeout, "%r is not told: %r" % (text, self.heard))

    def pings(self, seconds):
        """How often the watchdog is answered within that time."""
        self.listen()
        before, end = self.heard.count("WATCHDOG=1"), time.monotonic() + seconds
        while time.monotonic() < end:
            self.listen()
        return self.heard.count("WATCHDOG=1") - before

    def told(self):
        """All but what answers the watchdog, and what only gives numbers."""
        return [h for h in self.listen() if h != "WATCHDOG=1" and not h.startswith("STATUS=Serves")]


@cases([("http", HttpServer, False), ("sse", SseServer, False), ("http_abstract", HttpServer, True)])
def test_is_ready_when_it_serves_and_stops_in_order(server, abstract):
    with Manager(abstract) as m, server(env=m.asks()) as s:
        m.hears("READY=1")
        equal(s.http("GET", "/healthz").status, 200)
        s.kill(signal.SIGTERM)
        equal(s.wait_exit(), 0)
        told = [h for h in m.told() if not h.startswith("STATUS=Waits")]
        equal(told, [READY, "STOPPING=1\nSTATUS=Ends; calls: 0 running, 0 waiting"])


def test_an_end_at_once_is_told_as_well():
    with Manager() as m, HttpServer(env=m.asks()) as s:
        m.hears("READY=1")
        s.kill(signal.SIGINT)
        equal(s.wait_exit(), 0)
        m.hears("STOPPING=1", 1)


def test_calls_that_are_waited_for_are_told():
    with Manager() as m, HttpServer(env=m.asks(MCP_EXEC_DRAIN_S="60")) as s:
        connection, _ = runs(s, "import time; time.sleep(2); print('done')")
        s.kill(signal.SIGTERM)
        m.hears("STOPPING=1\nSTATUS=Ends; calls: 1 running, 0 waiting")
        contains(connection.reply("POST").body(), b"done")
        equal(s.wait_exit(), 0)


def test_one_without_a_sandbox_is_never_ready():
    with Manager() as m:
        code, _, err = run([], env=m.asks(MCP_EXEC_TRANSPORT="http", MCP_EXEC_ADDR="127.0.0.1:0",
                                          MCP_EXEC_PYTHON="/nonexistent/python3"))
        equal(code, 69)
        contains(err, b"mcp-exec: Nothing was run.")
        m.hears("STATUS=No sandbox can be had, the log says why", 1)
        check(not [h for h in m.listen() if "READY" in h], "ready all the same:", m.heard)


def test_the_watchdog_is_answered_twice_in_its_time_also_while_it_drains():
    with Manager() as m, HttpServer(env=m.asks(WATCHDOG_S, MCP_EXEC_DRAIN_S="60")) as s:
        m.hears("WATCHDOG=1")
        count = m.pings(4 * WATCHDOG_S)
        check(count <= 9 and (count >= 6 or PATIENCE > 1), "answers in four times its time:", count)
        runs(s, "import time; time.sleep(60)")
        s.kill(signal.SIGTERM)
        m.hears("STOPPING=1")
        check(m.pings(2 * WATCHDOG_S * PATIENCE) > 0, "no answer while it drains")
        s.kill(signal.SIGTERM)


def test_one_that_stands_still_does_not_answer():
    with Manager() as m, HttpServer(env=m.asks(WATCHDOG_S)) as s:
        m.hears("WATCHDOG=1")
        s.kill(signal.SIGSTOP)
        try:
            m.pings(0.2)
            equal(m.pings(3 * WATCHDOG_S), 0, "answers")
        finally:
            s.kill(signal.SIGCONT)
        check(m.pings(2 * WATCHDOG_S * PATIENCE) > 0, "it goes on, and does not answer")


@cases([("without_one", {}), ("of_somebody_else", {"WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"}),
        ("that_is_no_number", {"WATCHDOG_USEC": "1s"})])
def test_no_watchdog(asked):
    with Manager() as m, HttpServer(env=m.asks(**asked)):
        m.hears("READY=1")
        equal(m.pings(1), 0, "answers")


@cases([("nobody", "/dev/null/notify", b"ENOTDIR"), ("nonsense", "notify", b"EINVAL"),
        ("another_kind", "vsock:2:1234", b"EINVAL")])
def test_a_manager_that_is_not_there_is_said_and_done_without(name, error):
    with HttpServer(env={"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "100000"}) as s:
        contains(s.stderr(), b"level=warn event=manager.unreachable errno=" + error + b"\n")
        until(lambda: s.http("GET", "/healthz").status == 200, 15, "it serves")


def test_stdio_tells_nothing():
    with Manager() as m, Server(env=m.asks(WATCHDOG_S / 4)) as s:
        s.initialize()
        equal(s.exec("print(1)")["structuredContent"]["stdout"], "1\n")
        s.close_stdin()
        equal(s.wait_exit(), 0)
        equal(m.listen(), [])


def test_none_of_it_reaches_worker_or_run():
    program = "import os\nprint([n for n in os.environ if n in %r])" % (ASKED,)
    with Manager() as m, HttpServer(env=m.asks(WATCHDOG_S, JOURNAL_STREAM="1:2")) as s:
        m.hears("READY=1")
        s.initialize()
        for _ in range(2):   # the second may be a copy of what waits
            equal(s.exec(program)["structuredContent"]["stdout"], "[]\n")
        if os.geteuid():
            return   # the rest is for root's eyes: the worker is not dumpable
        with open("/proc/%d/environ" % s.worker(), "rb") as file:
            names = [entry.partition(b"=")[0].decode() for entry in file.read().split(b"\0")]
        # That one says where the log goes, see the next test.
        equal([n for n in names if n in ASKED], ["JOURNAL_STREAM"])


# The journal.

PREFIXES = {b"error": b"<3>", b"warn": b"<4>", b"info": b"<6>", b"debug": b"<7>"}
EVENT = re.compile(rb"(<\d>)?ts=\S+ level=(\w+) event=([\w.]+)")


class Journal:
    """A stream like the journal's, as stderr of a server."""

    def __init__(self):
        self.ours, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.ours.setblocking(False)
        self.text = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ours.close()
        self.theirs.close()

    def stream(self):
        status = os.fstat(self.theirs.fileno())
        check(stat.S_ISSOCK(status.st_mode))
        return "%d:%d" % (status.st_dev, status.st_ino)

    def lines(self):
        """The lines that are whole."""
        try:
            while True:
                data = self.ours.recv(1 << 16)
                if not data:
                    break
                self.text += data
        except BlockingIOError:
            pass
        return self.text.split(b"\n")[:-1]

    def run(self, stream, **env):
        """Starts a server that logs here."""
        return subprocess.Popen([BINARY], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=self.theirs,
                                env=environment(dict(env, JOURNAL_STREAM=stream, MCP_EXEC_TRANSPORT="http")))


def events(lines):
    found = [EVENT.match(line) for line in lines]
    return [m.groups() for m in found if m]


@cases([("in_the_journal", True), ("beside_it", False)])
def test_each_line_has_a_priority_for_the_journal_and_no_other(journal):
    with Journal() as j:
        server = j.run(j.stream() if journal else "1:2", MCP_EXEC_ADDR="127.0.0.1:0", MCP_EXEC_LOG_LEVEL="debug",
                       MCP_EXEC_DEFAULT_TIMEOUT_S="30", MCP_EXEC_MAX_TIMEOUT_S="10")
        try:
            # The worker says it.
            until(lambda: b"event=pristine.serving" in b"\n".join(j.lines()), 15, "an interpreter waits")
            server.send_signal(signal.SIGTERM)
            equal(server.wait(20 * PATIENCE), 0)
        finally:
            server.kill()
            server.wait()
        lines = j.lines()
        found = events(lines)
        equal(len(found), len(lines), "lines that are no events: %r" % lines)
        for prefix, level, event in found:
            equal(prefix, PREFIXES[level] if journal else None, event.decode())
        levels = {event: level for _, level, event in found}
        equal(levels[b"config.timeout_lowered"], b"warn")
        equal(levels[b"pristine.serving"], b"info")


@cases([("setting", {"MCP_EXEC_CPUS": "x"}, 78, b"<3>mcp-exec: MCP_EXEC_CPUS"),
        ("address", {"MCP_EXEC_ADDR": "198.51.100.1:80"}, 71, b"<3>mcp-exec: 198.51.100.1:80 cannot"),
        ("sandbox", {"MCP_EXEC_ADDR": "127.0.0.1:0", "MCP_EXEC_PYTHON": "/nonexistent/python3"}, 69,
         b"<3>mcp-exec: Nothing was run.")])
def test_what_ends_a_start_is_an_error_in_the_journal(env, code, sentence):
    with Journal() as j:
        server = j.run(j.stream(), **env)
        try:
            equal(server.wait(20 * PATIENCE), code)
        finally:
            server.kill()
            server.wait()
        check([line for line in j.lines() if line.startswith(sentence)], "not said:", j.text)


def test_a_port_for_everybody_is_a_warning_in_the_journal():
    with Journal() as j:
        server = j.run(j.stream(), MCP_EXEC_ADDR="0.0.0.0:0")
        try:
            until(lambda: [line for line in j.lines() if line.startswith(b"<4>mcp-exec: Whoever can reach")], 15,
                  "the warning")
        finally:
            server.send_signal(signal.SIGINT)
            equal(server.wait(20 * PATIENCE), 0)


main()
