#!/usr/bin/env python3
"""What a server inherits: a stderr that nobody reads, open descriptors, limits on files, signals blocked or ignored.

Most clients do not know that they hand it on. Nothing of it may hang or kill a server.
"""
import os
import re
import resource
import signal
import socket
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import (BINARY, PATIENCE, Server, alive, case, check, contains, descendants, equal, main, run, until, within,
                 workers_of)
from _messages import SLACK_S, ran, still_there, tool_error

START = "import fcntl, os, resource, signal, socket, sys\n%s\nos.execv(sys.argv[1], sys.argv[1:])"


def inheriting(preparation):
    """A command that does this to itself and then becomes the server."""
    return [sys.executable, "-c", START % preparation]


def limited(name, soft, hard):
    return inheriting("resource.setrlimit(resource.RLIMIT_%s, (%d, %d))" % (name, soft, hard))


def run_limited(name, soft, hard, args, input=b""):
    """Runs the binary to its end under a limit."""
    pair = (getattr(resource, "RLIMIT_" + name), (soft, hard))
    return run(args, input=input, preexec_fn=lambda: resource.setrlimit(*pair))


class Unread:
    """A stderr that nobody reads: a pipe of one page, or a socket. `through` starts a server with it."""

    def __init__(self, kind):
        self._dir = tempfile.TemporaryDirectory()
        path = os.path.join(self._dir.name, "stderr")
        if kind == "pipe":
            os.mkfifo(path)
            self.end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            self.through = inheriting("fd = os.open(%r, os.O_WRONLY); os.dup2(fd, 2); "
                                      "fcntl.fcntl(fd, 1031, 4096)  # F_SETPIPE_SZ" % path)
        else:
            listener = socket.socket(socket.AF_UNIX)
            listener.bind(path)
            listener.listen()
            self._listener, self.end = listener, None
            self.through = inheriting("s = socket.socket(socket.AF_UNIX); s.connect(%r); os.dup2(s.fileno(), 2); "
                                      "s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)" % path)

    def read(self):
        """What has come meanwhile."""
        if self.end is None:
            self.end = self._listener.accept()[0].detach()
            os.set_blocking(self.end, False)
        data = b""
        try:
            while True:
                data += os.read(self.end, 1 << 20)
        except BlockingIOError:
            return data

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.end is not None:
            os.close(self.end)
        self._dir.cleanup()


def lose_worker(s):
    """Kills the worker, and waits for the next one."""
    lost = s.worker()
    os.kill(lost, signal.SIGKILL)
    until(lambda: set(workers_of(s.pid)) - {lost}, 5, "another worker")


# A stderr that nobody reads.

def busy(s, runs):
    for i in range(runs):
        equal(ran(s.exec("print(%d)" % i, wait=5))["stdout"], "%d\n" % i)


@case("pipe, SIGTERM", "pipe", signal.SIGTERM)
@case("pipe, end of input", "pipe", None)
@case("socket, SIGTERM", "socket", signal.SIGTERM)
def test_stderr_that_nobody_reads(kind, number):
    with Unread(kind) as unread, Server(through=unread.through, env={"MCP_EXEC_LOG_LEVEL": "debug"}) as s:
        busy(s, 200 // PATIENCE if kind == "pipe" else 50)
        lose_worker(s)
        busy(s, 2)
        below = descendants(s.pid)
        s.kill(number) if number else s.close_stdin()
        equal(s.wait_exit(1.5 + SLACK_S), 0)
        until(lambda: not any(map(alive, below)), 1, "everything of it is gone")


def test_dropped_lines_are_counted():
    with Unread("pipe") as unread, Server(through=unread.through) as s:
        busy(s, 100)
        first = unread.read()
        check(2000 < len(first) <= 65536 and first.endswith(b"\n"), "not whole lines", first[-200:])
        busy(s, 1)
        second = until(unread.read, 2, "a line")
        told = re.findall(rb"level=warn event=log\.dropped n=(\d+)\n", first + second)
        check(sum(map(int, told)) > 10, "nothing says how many", second)
        for line in (first + second).splitlines():
            check(line.startswith(b"ts="), "half a line", line)


def test_flags_of_stderr_are_left_alone():
    """They are shared with whoever started us."""
    with Unread("pipe") as unread:
        code = "import subprocess, sys, fcntl, os\nchild = subprocess.Popen(sys.argv[1:])\n" \
               "child.wait()\nsys.exit(fcntl.fcntl(2, fcntl.F_GETFL) & os.O_NONBLOCK)"
        with Server(through=unread.through + [sys.executable, "-c", code]) as s:
            still_there(s)
            s.close_stdin()
            equal(s.wait_exit(2), 0)


# Descriptors and the limit on them.

def test_inherited_descriptors_are_closed():
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "pipe")
        os.mkfifo(path)
        ours = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        leak = "fd = os.open(%r, os.O_WRONLY); os.write(fd, b'x'); os.dup2(fd, 50)" % path
        with Server(through=inheriting(leak)) as s:
            still_there(s)
            equal(os.read(ours, 1), b"x")
            equal(os.read(ours, 1), b"", "end of file while the server lives:")
        os.close(ours)


def test_run_takes_its_program_from_an_inherited_descriptor():
    """A shell's <(command) is one."""
    with tempfile.TemporaryFile() as file:
        file.write(b"print(3)")
        file.seek(0)
        os.dup2(file.fileno(), 60, inheritable=True)
        equal(run(["run", "/dev/fd/60"], pass_fds=[60]), (0, b"3\n", b""))
        os.close(60)


FIRST = "import time; time.sleep(%s); print('first')" % (0.7 * PATIENCE)


@case("hard", 64, 64, False)
@case("soft", 64, 4096, True)
def test_queue_within_the_limit_on_descriptors(soft, hard, all_run):
    """What is accepted also runs; the rest is told to come later. The call that runs is not lost."""
    with Server(through=limited("NOFILE", soft, hard)) as s:
        still_there(s)
        ran(s.exec("pass"))
        ids = [s.start_exec(FIRST if i == 0 else "print(%d)" % i) for i in range(60)]
        results = [s.answer(i)["result"] for i in ids]
        equal(ran(results[0])["stdout"], "first\n")
        good = [ran(r)["stdout"] for r in results if not r["isError"]]
        equal(good, ["first\n"] + ["%d\n" % i for i in range(1, len(good))])
        if all_run:
            equal(len(good), 60)
            check(b"config.queue_lowered" not in s.stderr(), "lowered", s.stderr()[:500])
        else:
            within(len(good), 10, 20, "calls")
            for result in results[len(good):]:
                tool_error(result, "Busy")
            contains(s.stderr(), b"level=warn event=config.queue_lowered max_queue=16 open_files=64")


def test_runs_have_their_own_limit_on_descriptors():
    code = "import resource; print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    with Server(through=limited("NOFILE", 64, 4096)) as s:
        soft, hard = map(int, ran(s.exec(code))["stdout"].split())
        check(200 <= soft == hard <= 1024, "the limit of a run", soft, hard)


# The limit on file size.

@case("0", 0)
@case("4096", 4096)
def test_file_size_too_small(limit):
    code, out, err = run_limited("FSIZE", limit, limit, ["run", "-"], b"print(1)")
    check(code in (69, 70), "run", code, err)
    equal(out, b"")
    contains(err, b"ulimit -f")
    code, out, _ = run_limited("FSIZE", limit, limit, ["check"])
    equal(code, 69)
    contains(out, b"EFBIG", b"ulimit -f")
    with Server(through=limited("FSIZE", limit, limit)) as s:
        for _ in range(2):
            contains(tool_error(s.exec("print(1)")), "ulimit -f")
        still_there(s)
        s.close_stdin()
        equal(s.wait_exit(1.5), 0)


def test_soft_file_size_is_raised():
    with Server(through=limited("FSIZE", 0, -1)) as s:
        equal(ran(s.exec("print(1)"))["stdout"], "1\n")


# Signals.

@case("blocked", "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 64))")
@case("ignored", "[signal.signal(n, signal.SIG_IGN) for n in range(1, 32) if n not in (9, 19)]")
def test_signals_that_were_taken_away(preparation):
    with Server(through=inheriting(preparation)) as s:
        equal(ran(s.exec("print(1)"))["stdout"], "1\n")
        lose_worker(s)
        equal(ran(s.exec("print(2)"))["stdout"], "2\n")
        s.kill(signal.SIGTERM)
        equal(s.wait_exit(0.5 + SLACK_S), 0)


def test_check_when_children_are_ignored():
    code, out, err = run(["check"], preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    equal((code, err), (0, b""), out.decode())


def test_hangup_ends():
    with Server() as s:
        still_there(s)
        s.kill(signal.SIGHUP)
        equal(s.wait_exit(0.5 + SLACK_S), 0)


def test_hangup_that_was_ignored_stays_ignored():
    with Server(through=inheriting("signal.signal(signal.SIGHUP, signal.SIG_IGN)")) as s:
        still_there(s)
        s.kill(signal.SIGHUP)
        time.sleep(0.3)
        still_there(s)
        equal(ran(s.exec("print(1)"))["stdout"], "1\n")


# The token.

@case("longer than a page", "x" * 100000)
@case("short", "x")
@case("empty", "")
def test_token_means_nothing(token):
    equal(run(["run", "-"], input=b"print(1)", env={"MCP_EXEC_AUTH_TOKEN": token}), (0, b"1\n", b""))


if __name__ == "__main__":
    main()
