#!/usr/bin/env python3
"""The pipe itself: its two kinds, a slow reader, every way it ends, and that nothing but messages is in it.

Whoever starts a server on stdio may vanish in many ways; in each of them server, worker and run are gone soon after.
"""
import os
import pty
import re
import resource
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import (BINARY, LATEST, PATIENCE, SANITIZED, Server, alive, case, cases, check, descendants, environment, equal, main,
                 named, named_program, parse, run, skip, unique, until, within)
from _messages import PARSE, SLACK_S, SLEEP, call, init, peak_kib, ran, request, still_there, tool_error


def resident_kib(pid):
    with open("/proc/%d/status" % pid) as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1])


# Two kinds of wire, and a reader that takes its time.

WIRES = [("pipe", "pipe"), ("socketpair", "socketpair")]


@cases(WIRES)
def test_conversation(wire):
    with Server(wire=wire) as s:
        s.initialize()
        equal(ran(s.exec("print(input())", stdin="x\n"))["stdout"], "x\n")
        gone = s.start_exec("import time; time.sleep(60)")
        s.cancel(gone)
        equal(len(ran(s.exec("print('a' * 1048575)"))["stdout"]), 1048576)
        still_there(s)
        s.close_stdin()
        equal(s.wait_exit(1.5), 0)
        equal(s.drain(), [])


@cases(WIRES)
def test_slow_reader(wire):
    """Answers of a megabyte pile up in the pipe, not in the server's memory, and none is lost or mixed."""
    with Server(wire=wire) as s:
        still_there(s)
        ids = [s.start_exec("print(%r * 1048575)" % chr(97 + i)) for i in range(12)]
        s.send(request("ping", id="late"))
        time.sleep(1.5)
        check(s.process.poll() is None, "the server is gone")
        within(peak_kib(s.pid) / 1024, 0, 96, "MiB")
        for i, call_id in enumerate(ids):
            equal(ran(s.answer(call_id)["result"])["stdout"], chr(97 + i) * 1048575 + "\n")
        equal(s.answer("late")["result"], {})
        equal(s.inbox, [])


def test_memory_of_a_large_answer_is_given_back():
    if SANITIZED:
        skip("memory is no measure with sanitizers")
    with Server() as s:
        ran(s.exec("pass"))
        before = resident_kib(s.pid)
        ran(s.exec("print('\\x01' * 1000000)"))
        within(peak_kib(s.pid) / 1024, 16, 96, "MiB at the peak")
        until(lambda: resident_kib(s.pid) < before + 4096, 2, "the memory is given back")


# The end.

def test_end_of_input_idle():
    with Server() as s:
        still_there(s)
        s.close_stdin()
        equal(s.wait_exit(1.5), 0)
        equal(s.drain(), [])


def test_end_of_input_at_once():
    with Server() as s:
        s.close_stdin()
        equal(s.wait_exit(1.5), 0)


def test_end_of_input_behind_calls():
    """printf … | mcp-exec gets its answers."""
    with Server() as s:
        s.send(init(LATEST))
        first, second = s.start_exec("print(1)"), s.start_exec(SLEEP % (0.4, 2))
        s.close_stdin()
        messages = s.drain(3)
        equal([m["id"] for m in messages], [1, first, second])
        equal(s.wait_exit(1.5), 0)


def test_end_of_input_during_a_long_call():
    with Server() as s:
        name = unique()
        s.start_exec(named_program(name))
        s.start_exec("print('queued')")
        until(lambda: named(name), 5, "the call runs")
        started = time.monotonic()
        s.close_stdin()
        equal(s.wait_exit(1.5 + SLACK_S), 0)
        within(time.monotonic() - started, 0.8, 1.5, "exit")
        equal(named(name), [])
        equal(s.drain(), [])


@case("a message", b'{"jsonrpc":"2.0","id":1,"method":"ping"}', {"jsonrpc": "2.0", "id": 1, "result": {}})
@case("half a message", b'{"jsonrpc":"2.0","id":1,"met', PARSE)
def test_last_line_without_a_newline(data, wanted):
    with Server() as s:
        s.send_raw(data)
        s.close_stdin()
        messages = s.drain(3)
        equal(len(messages), 1)
        equal(messages[0] if isinstance(wanted, dict) else messages[0]["error"]["code"], wanted)
        equal(s.wait_exit(1.5), 0)


@cases(WIRES)
def test_end_of_input_with_a_reader_that_sleeps(wire):
    with Server(wire=wire) as s:
        s.start_exec("print('a' * 1000000)")
        time.sleep(1)
        s.close_stdin()
        s.wait_exit(1.5 + SLACK_S)
        found = re.search(rb"event=stdio\.end input_ended=1 pending=0 unsent=(\d+)\n", s.stderr())
        check(found and int(found[1]) > 100000, "nothing says what was not sent", s.stderr()[-300:])


@cases(WIRES)
def test_end_of_input_with_a_reader_that_is_slow(wire):
    """It gets what is there for as long as it reads. The call that still ran gets its second and no more."""
    with Server(wire=wire) as s:
        s.start_exec("print('a' * 900000)")
        name = unique()
        time.sleep(0.7)
        s.start_exec(named_program(name))
        until(lambda: named(name), 5, "the call runs")
        s.close_stdin()
        started, size = time.monotonic(), 0
        while True:
            data = os.read(s._out, 65536) if select.select([s._out], [], [], 5)[0] else b""
            size += len(data)
            if not data:
                break
            check(not named(name) or time.monotonic() - started < 1.5 * PATIENCE, "the call still runs")
            time.sleep(0.1)
        check(size > 900000 * 2, "cut", size)
        within(time.monotonic() - started, 1.2, 5, "end")
        equal(s.wait_exit(1), 0)
        check(s.stderr().endswith(b" input_ended=1 pending=1 unsent=0\n"), "stdio.end", s.stderr()[-300:])


def test_end_of_input_with_a_reader_that_is_too_slow():
    with Server() as s:
        s.start_exec("print('a' * 1000000)")
        time.sleep(0.7)
        s.close_stdin()
        started = time.monotonic()
        while s.process.poll() is None and time.monotonic() - started < 8 * PATIENCE:
            os.read(s._out, 4096)
            time.sleep(0.1)
        within(time.monotonic() - started, 1, 5.5, "end")
        equal(s.wait_exit(1), 0)


def test_signal_ends_at_once_while_a_slow_reader_reads():
    with Server() as s:
        s.start_exec("print('a' * 1000000)")
        time.sleep(0.7)
        s.close_stdin()
        for _ in range(15):
            os.read(s._out, 4096)
            time.sleep(0.1)
        equal(s.process.poll(), None)
        s.kill(signal.SIGTERM)
        equal(s.wait_exit(0.5), 0)


def test_end_of_input_while_the_reader_is_behind():
    """What stands in the pipe when the client closes it was asked for."""
    sent = 0

    def ask(s, n):
        s.send_raw("".join(request("tools/list", id=sent + i) + "\n" for i in range(n)).encode())
        return sent + n

    with Server(env={"MCP_EXEC_LOG_LEVEL": "debug"}) as s:
        while b"event=stdio.hold hold=1" not in s.stderr():
            check(sent < 100000, "it never waits for its reader")
            sent = ask(s, 100)
            time.sleep(0.01 * PATIENCE)
        sent = ask(s, 200)
        s.close_stdin()
        time.sleep(0.3)
        equal([m["id"] for m in s.drain()], list(range(sent)))
        equal(s.wait_exit(1), 0)


@case("SIGTERM idle", signal.SIGTERM, False)
@case("SIGTERM during a run", signal.SIGTERM, True)
@case("SIGINT idle", signal.SIGINT, False)
@case("SIGINT during a run", signal.SIGINT, True)
def test_signal_ends_at_once(number, running):
    with Server() as s:
        still_there(s)
        name = unique()
        if running:
            s.start_exec(named_program(name))
            until(lambda: named(name), 5, "the call runs")
        below = descendants(s.pid)
        s.kill(number)
        equal(s.wait_exit(0.5 + SLACK_S), 0)
        until(lambda: not any(map(alive, below)), 1, "everything of it is gone")
        equal(s.drain(), [])


@cases(WIRES)
def test_reader_gone_idle(wire):
    with Server(wire=wire) as s:
        still_there(s)
        below = descendants(s.pid)
        s.close_stdout()
        s.wait_exit(1.5)
        until(lambda: not any(map(alive, below)), 1, "everything of it is gone")


@cases(WIRES)
def test_reader_gone_during_a_run(wire):
    with Server(wire=wire) as s:
        name = unique()
        s.start_exec(named_program(name))
        until(lambda: named(name), 5, "the call runs")
        s.close_stdout()
        s.wait_exit(1.5)
        until(lambda: not named(name), 1, "the run is gone")


MIDDLE = "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()"


@cases(WIRES)
def test_parent_killed_while_another_holds_the_pipe(wire):
    """We hold both pipes; the server's parent is a process in between, which dies without a word."""
    with Server(wire=wire, through=[sys.executable, "-c", MIDDLE]) as s:
        name = unique()
        s.start_exec(named_program(name))
        until(lambda: named(name), 10, "the call runs")
        below = descendants(s.pid)
        check(len(below) >= 3, "server, worker and run are not there", below)
        s.kill(signal.SIGKILL)
        until(lambda: not any(map(alive, below)), 2, "server, worker and run are gone")
        equal(named(name), [])


def test_input_from_a_file_and_output_to_a_file():
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
        source.write("\n".join([init(LATEST), call({"code": "print(5)"}, 2), request("ping", id=3)]).encode())
        source.seek(0)
        code = subprocess.run([BINARY], stdin=source, stdout=target, stderr=subprocess.DEVNULL, timeout=5 * PATIENCE,
                              env=environment()).returncode
        target.seek(0)
        messages = {m["id"]: m for m in map(parse, target.read().splitlines())}
    equal((code, sorted(messages)), (0, [1, 2, 3]))
    equal(ran(messages[2]["result"])["stdout"], "5\n")


@case("/dev/null", "exec \"$0\" </dev/null")
@case("stdin closed", "exec \"$0\" <&-")
@case("stdout to /dev/null", "printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | \"$0\" >/dev/null")
def test_odd_descriptors_do_not_hang(line):
    done = subprocess.run(["sh", "-c", line, BINARY], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=3 * PATIENCE, env=environment())
    equal(done.stdout, b"")


# Output that is no pipe, and a machine that fails.

class Odd:
    """A server that writes to this descriptor; its stdin is `into`."""

    def __init__(self, target, args=(), env=None):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen([BINARY] + list(args), stdin=subprocess.PIPE, stdout=target, stderr=self.log,
                                        env=environment(env))
        self.into = self.process.stdin

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.into.close()
        self.log.close()

    def ask(self, method, n=1):
        self.into.write("".join(request(method, id=i) + "\n" for i in range(n)).encode())
        self.into.flush()

    def stderr(self):
        return os.pread(self.log.fileno(), 1 << 20, 0)


@case("SIGTERM", lambda s: s.process.send_signal(signal.SIGTERM), 0.5)
@case("end of input", lambda s: s.into.close(), 2)
def test_terminal_that_nobody_reads_does_not_hold_up_the_end(end, seconds):
    ours, terminal = pty.openpty()
    try:
        with Odd(terminal) as s:
            s.ask("tools/list", 100)
            check(select.select([ours], [], [], 10)[0], "no answer")
            time.sleep(0.5)
            end(s)
            equal(s.process.wait((seconds + SLACK_S) * PATIENCE), 0)
            check(re.search(rb"event=stdio\.end .*unsent=[1-9]", s.stderr()), "the terminal took it all", s.stderr())
    finally:
        os.close(ours)
        os.close(terminal)


def test_terminal_that_is_read_late_gets_everything():
    ours, terminal = pty.openpty()
    got = b""
    try:
        with Odd(terminal) as s:
            s.ask("tools/list", 100)
            time.sleep(0.5)
            while got.count(b"\n") < 100:
                check(select.select([ours], [], [], 5 * PATIENCE)[0], "it stopped after", got.count(b"\n"))
                got += os.read(ours, 65536)
    finally:
        os.close(ours)
        os.close(terminal)
    equal([parse(line)["id"] for line in got.splitlines()], list(range(100)))


def test_output_that_cannot_be_written():
    with open("/dev/full", "wb") as full, Odd(full) as s:
        s.ask("ping")
        equal(s.process.wait(2 * PATIENCE), 70)
        check(b"event=stdio.failed errno=ENOSPC" in s.stderr(), "no log line says so", s.stderr())


def fail_to_poll(pid):
    """poll(2) fails for more descriptors than RLIMIT_NOFILE has. Only the user that the process became may set that."""
    with open("/proc/%d/status" % pid) as file:
        ids = {line.split()[0]: int(line.split()[1]) for line in file if line.startswith(("Uid:", "Gid:"))}
    child = os.fork()
    if child == 0:
        try:
            if os.geteuid() == 0:
                os.setgroups([])
                os.setresgid(*[ids["Gid:"]] * 3)
                os.setresuid(*[ids["Uid:"]] * 3)
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (1, 1))
            os._exit(0)
        finally:
            os._exit(1)
    equal(os.waitpid(child, 0)[1], 0, "the limit cannot be set")


def test_event_loop_that_fails_ends_the_server():
    with Server() as s:
        still_there(s)
        fail_to_poll(s.pid)
        equal(s.wait_exit(2), 70)
        check(b"event=stdio.failed errno=" in s.stderr(), "no log line says so", s.stderr())


def test_run_ends_when_its_event_loop_fails():
    """A process that was stopped and goes on calls poll(2) again."""
    name = unique()
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(named_program(name))
        file.flush()
        process = subprocess.Popen([BINARY, "run", file.name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment({"EVENT_NOEPOLL": "1"}))
        try:
            until(lambda: named(name), 10, "the program runs")
            fail_to_poll(process.pid)
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.1)
            process.send_signal(signal.SIGCONT)
            _, err = process.communicate(timeout=5 * PATIENCE)
            equal(process.returncode, 70, str(err))
            equal(err, b"mcp-exec: the event loop failed: Invalid argument.\n")
            until(lambda: not named(name), 2, "the program is gone")
        finally:
            process.kill()
            process.wait()


# Stdout carries messages from its first byte to its last; Server checks that in every test. Here: when things go wrong.

@case("a bad value", {"MCP_EXEC_MAX_QUEUE": "many"})
@case("a bad transport", {"MCP_EXEC_TRANSPORT": "pigeon"})
@case("a bad level", {"MCP_EXEC_LOG_LEVEL": "loud"})
def test_refused_start_leaves_stdout_empty(env):
    code, out, err = run([], env=env)
    equal((code, out), (78, b""))
    check(err, "nothing on stderr")


@case("debug", {"MCP_EXEC_LOG_LEVEL": "debug"})
@case("debug, no interpreter", {"MCP_EXEC_LOG_LEVEL": "debug", "MCP_EXEC_PYTHON": "/nonexistent/python3"})
@case("a lowered default", {"MCP_EXEC_MAX_TIMEOUT_S": "10"})
def test_stdout_carries_only_messages(env):
    with Server(env=env) as s:
        s.initialize()
        s.send("{bad")
        s.exec("import sys; print('x'); print('y', file=sys.stderr)")
        s.close_stdin()
        equal([m["error"]["code"] for m in s.drain(3)], [PARSE])
        check(s.stderr(), "no log to keep apart from stdout")


@case("none", "/nonexistent/python3")
@case("no Python", "/bin/true")
@case("a directory", "/usr")
def test_without_a_sandbox_the_protocol_is_served(python):
    """A person in an IDE never sees stderr: what is wrong, and its remedy, is the answer of every call."""
    with Server(env={"MCP_EXEC_PYTHON": python}) as s:
        s.initialize()
        for _ in range(2):
            text = tool_error(s.exec("print(1)"), python)
            check("errno" not in text.lower() and len(text) > 40, "no sentence for a person:", text)
        still_there(s)
        equal([t["name"] for t in s.request("tools/list")["result"]["tools"]], ["exec"])
        s.close_stdin()
        equal(s.wait_exit(1.5), 0)


def test_initialize_is_answered_while_the_worker_gets_ready():
    started = time.monotonic()
    with Server() as s:
        s.initialize()
        within(time.monotonic() - started, 0, 0.5, "initialize")


if __name__ == "__main__":
    main()
