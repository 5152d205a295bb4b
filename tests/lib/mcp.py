"""Drives mcp-exec over a real pipe, and prints what a test found as TAP. Standard library only, Python 3.9 or later.

    from mcp import Server, main, case, equal

    def test_prints():
        with Server(env={"MCP_EXEC_MAX_TIMEOUT_S": "10"}) as s:
            s.initialize()
            equal(s.exec("print(1)")["structuredContent"]["stdout"], "1\\n")

    main()

Nothing here waits without a bound: every receive and every exit has a deadline, and each test has an alarm on top.
Nothing is read from the server unless a test asks for it, so that a test can be a slow reader.
MCP_EXEC_BIN names the binary; build/bin/mcp-exec of this checkout otherwise.
"""
import json
import os
import pwd
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BINARY = os.environ.get("MCP_EXEC_BIN") or os.path.join(ROOT, "build", "bin", "mcp-exec")
# A build with sanitizers is no measure of time or memory, and neither is a machine with more to do: every bound is as
# many times wider then.
SANITIZED = bool(os.environ.get("MCP_EXEC_SANITIZED"))
PATIENCE = 8 if SANITIZED else int(os.environ.get("MCP_EXEC_PATIENCE", "1"))
WAIT_S = 20.0
TEST_LIMIT_S = 90 * min(PATIENCE, 4)

LATEST = "2025-11-25"
MODERN = "2026-07-28"
VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
INFO_KEY = "io.modelcontextprotocol/clientInfo"


class Timeout(AssertionError):
    """The server did not do in time what a test waited for."""


class Closed(AssertionError):
    """The server closed its stdout before the message that a test waited for."""


class Skip(Exception):
    """The machine cannot show what the test is about; the text says why."""


def claim(version=MODERN, **more):
    """params._meta of a request of the modern era."""
    return dict({VERSION_KEY: version, CAPABILITIES_KEY: {}}, **more)


def _no_duplicates(pairs):
    keys = [key for key, _ in pairs]
    if len(keys) != len(set(keys)):
        raise ValueError("duplicate key in %r" % keys)
    return dict(pairs)


def _no_constant(name):
    raise ValueError(name + " is no JSON")


def parse(line):
    """One line of the server, strictly: UTF-8, JSON, no duplicate key, no NaN."""
    return json.loads(line.decode("utf-8"), object_pairs_hook=_no_duplicates, parse_constant=_no_constant)


def environment(extra=None):
    """Our environment without any MCP_EXEC_ variable, then extra; a value of None removes a variable. Nor is there the
    manager of a desktop's user, whom a server would ask for a cgroup: limits are to hold alike wherever the tests run."""
    env = {key: value for key, value in os.environ.items()
           if not key.startswith("MCP_EXEC_") and key != "XDG_RUNTIME_DIR"}
    env.update(extra or {})
    return {key: value for key, value in env.items() if value is not None}


class Process:
    """A server process that was started, as one sees it from outside; stderr is kept in a file."""

    def __init__(self, command, env, stdin, stdout=subprocess.DEVNULL, cwd=None):
        self._stderr = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdin=stdin, stdout=stdout, stderr=self._stderr, env=environment(env),
                                        cwd=cwd)

    @property
    def pid(self):
        return self.process.pid

    def stderr(self):
        """Everything on stderr so far, as bytes."""
        return os.pread(self._stderr.fileno(), 1 << 24, 0)

    def wait_exit(self, timeout=WAIT_S):
        """The exit code; negative for a signal."""
        try:
            return self.process.wait(timeout * PATIENCE)
        except subprocess.TimeoutExpired:
            raise Timeout("the server is still there after %.1f s" % timeout)

    def kill(self, number=signal.SIGKILL):
        self.process.send_signal(number)

    def worker(self, timeout=5):
        """The pid of the worker, waiting for it to be there."""
        return until(lambda: next(iter(workers_of(self.pid)), None), timeout, "no worker")


class Conversation:
    """What a client says, on any transport: send(message) gives a message away, answer(id) waits for its response."""

    _next_id = 1

    def request(self, method, params=None, id=None, timeout=WAIT_S):
        """Sends a request and returns its response."""
        message = {"jsonrpc": "2.0", "id": self.new_id() if id is None else id, "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)
        return self.answer(message["id"], timeout)

    def notify(self, method, params=None):
        message = {"jsonrpc": "2.0", "method": method}
        if params is not None:
            message["params"] = params
        self.send(message)

    def new_id(self):
        self._next_id += 1
        return self._next_id

    def initialize(self, version=LATEST):
        """The handshake of the legacy era. Returns the result."""
        response = self.request("initialize", {"protocolVersion": version, "capabilities": {},
                                               "clientInfo": {"name": "test", "version": "1"}})
        self.notify("notifications/initialized")
        return response["result"]

    def start_exec(self, code, id=None, meta=None, **arguments):
        """Sends a call and returns its id without waiting."""
        id = self.new_id() if id is None else id
        params = {"name": "exec", "arguments": dict({"code": code}, **arguments)}
        if meta is not None:
            params["_meta"] = meta
        self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
        return id

    def exec(self, code, wait=WAIT_S, meta=None, **arguments):
        """Runs a program and returns the result object of tools/call."""
        response = self.answer(self.start_exec(code, meta=meta, **arguments), wait)
        if "result" not in response:
            raise AssertionError("tools/call gave %.300r" % response)
        return response["result"]

    def cancel(self, request_id):
        self.notify("notifications/cancelled", {"requestId": request_id, "reason": "test"})


class Server(Process, Conversation):
    """One server process. Leaving the with block closes its stdin and, after two seconds, kills it.

    wire: "pipe", or "socketpair" for stdin and stdout, as hosts on libuv do it. stdin: a file or descriptor instead.
    through: a command that starts the server in its turn, such as a shell; pid is that command's then.
    command: what to start instead of the binary.
    """

    def __init__(self, env=None, args=(), wire="pipe", stdin=None, through=(), cwd=None, command=None):
        self.inbox = []
        self._rest = b""
        self._eof = False
        if stdin is not None:
            child_in, self._in = stdin, None
        elif wire == "socketpair":
            ours, child_in = socket.socketpair()
            self._in = ours.detach()
        else:
            child_in, self._in = os.pipe()
        if wire == "socketpair":
            ours, child_out = socket.socketpair()
            self._out = ours.detach()
        else:
            self._out, child_out = os.pipe()
        try:
            super().__init__(list(through) + list(command or [BINARY]) + list(args), env, child_in, child_out, cwd)
        finally:
            for end in (child_in, child_out):
                if end is not stdin:
                    os.close(end) if isinstance(end, int) else end.close()
        os.set_blocking(self._out, False)
        if self._in is not None:
            os.set_blocking(self._in, False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close_stdin()
        try:
            self.wait_exit(2)
        except Timeout:
            self.process.kill()
            self.process.wait(5)
        self.close_stdout()
        self._stderr.close()

    # What goes in.

    def send_raw(self, data, timeout=WAIT_S):
        """Writes these bytes, whatever they are."""
        deadline = time.monotonic() + timeout
        view = memoryview(data)
        while view:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([], [self._in], [], left)[1]:
                raise Timeout("the server does not read its stdin: %d bytes left" % len(view))
            view = view[os.write(self._in, view[:65536]):]

    def send(self, message):
        """Writes one message as a line. A str is taken as the JSON text itself."""
        text = message if isinstance(message, str) else json.dumps(message)
        self.send_raw(text.encode("utf-8") + b"\n")

    def close_stdin(self):
        if self._in is not None:
            os.close(self._in)
            self._in = None

    def close_stdout(self):
        if self._out is not None:
            os.close(self._out)
            self._out = None

    # What comes out.

    def _fill(self, deadline):
        """Reads what is there, or waits for it until the deadline. Returns False at the end of the stream."""
        left = max(0.0, deadline - time.monotonic())
        if not select.select([self._out], [], [], left)[0]:
            raise Timeout("no message in time")
        try:
            data = os.read(self._out, 1 << 16)
        except ConnectionResetError:
            data = b""
        self._rest += data
        self._eof = not data
        return bool(data)

    def recv_line(self, timeout=WAIT_S):
        """The next line as bytes, without its newline."""
        return self._line(time.monotonic() + timeout * PATIENCE)

    def _line(self, deadline):
        while b"\n" not in self._rest:
            if self._eof or not self._fill(deadline):
                if self._rest:
                    raise AssertionError("unterminated output: %r" % self._rest[:200])
                raise Closed("stdout was closed")
        line, self._rest = self._rest.split(b"\n", 1)
        return line

    def _message(self, deadline):
        line = self._line(deadline)
        try:
            return parse(line)
        except ValueError as error:
            raise AssertionError("stdout carries something else than messages: %r (%s)" % (line[:200], error))

    def recv(self, timeout=WAIT_S):
        """The next message, parsed."""
        return self.inbox.pop(0) if self.inbox else self._message(time.monotonic() + timeout * PATIENCE)

    def take(self, wanted, timeout=WAIT_S):
        """The first message for which wanted(message) holds; the others stay in the inbox."""
        for i, message in enumerate(self.inbox):
            if wanted(message):
                return self.inbox.pop(i)
        deadline = time.monotonic() + timeout * PATIENCE
        while True:
            message = self._message(deadline)
            if wanted(message):
                return message
            self.inbox.append(message)

    def answer(self, request_id, timeout=WAIT_S):
        """The response with exactly this id: "1" is not 1."""
        def wanted(m):
            return isinstance(m, dict) and "method" not in m and m.get("id") == request_id \
                and type(m.get("id")) is type(request_id)
        return self.take(wanted, timeout)

    def silence(self, seconds):
        """Fails when a message arrives within that time."""
        try:
            message = self.inbox[0] if self.inbox else self._message(time.monotonic() + seconds)
        except Timeout:
            return
        raise AssertionError("unexpected message: %.300r" % message)

    def drain(self, timeout=WAIT_S):
        """All messages up to the end of the stream."""
        messages, deadline = self.inbox, time.monotonic() + timeout * PATIENCE
        self.inbox = []
        try:
            while True:
                messages.append(self._message(deadline))
        except Closed:
            return messages


def run(args, input=b"", env=None, timeout=WAIT_S, **more):
    """Runs the binary to its end. Returns (exit code, stdout, stderr)."""
    done = subprocess.run([BINARY] + list(args), input=input, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment(env), timeout=timeout * PATIENCE, **more)
    return done.returncode, done.stdout, done.stderr


# Looking at processes from outside.

def _read(pid, name):
    try:
        with open("/proc/%d/%s" % (pid, name), "rb") as file:
            return file.read()
    except OSError:
        return b""


def pids():
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def parent(pid):
    """The parent's pid; 0 when the process is gone or a zombie."""
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if len(fields) > 1 and fields[0] not in (b"Z", b"X") else 0


def alive(pid):
    """Says whether the process is there and no zombie."""
    fields = _read(pid, "stat").rpartition(b")")[2].split()
    return bool(fields) and fields[0] not in (b"Z", b"X")


def cmdline(pid):
    return _read(pid, "cmdline")


def named(name):
    """Living processes that call themselves so, up to 15 bytes; see NAME_ITSELF."""
    return [p for p in pids() if _read(p, "comm").rstrip(b"\n") == name.encode() and alive(p)]


# A program of a run cannot choose its command line, but its name is seen from outside the sandbox too.
NAME_ITSELF = """
def name_itself(name):
    try:
        with open("/proc/self/comm", "w") as file:
            file.write(name)
    except OSError:
        import ctypes
        ctypes.CDLL(None).prctl(15, name.encode(), 0, 0, 0)
"""


def named_program(name, then="import time; time.sleep(60)"):
    """A program that takes a name to be found by, and then does something."""
    return NAME_ITSELF + "name_itself(%r)\n" % name + then


def unique(prefix="t"):
    """A name that no other process has."""
    return prefix + os.urandom(5).hex()


def descendants(pid):
    """All living processes below this one."""
    parents = {p: parent(p) for p in pids()}
    found, front = [], [pid]
    while front:
        front = [p for p, above in parents.items() if above in front]
        found += front
    return found


def workers_of(pid):
    return [p for p in pids() if parent(p) == pid and b"mcp-exec-worker" in cmdline(p)]


def marked(marker):
    """Living processes with these bytes in their command line, except us."""
    return [p for p in pids() if p != os.getpid() and marker in cmdline(p) and alive(p)]


def service_ids():
    """(uid, gid) of whom a server becomes: ourselves, or when we are root the user that mcp-exec is then."""
    if os.geteuid():
        return os.geteuid(), os.getegid()
    try:
        entry = pwd.getpwnam("mcp-exec")
        return entry.pw_uid, entry.pw_gid
    except KeyError:
        return 65532, 65532


def until(condition, timeout=WAIT_S, what="condition"):
    """Waits until condition() is true and returns its value."""
    deadline = time.monotonic() + timeout * PATIENCE
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise Timeout("%s within %.1f s" % (what, timeout))
        time.sleep(0.01)


# Checks, and the report.

def check(condition, what="", *values):
    if not condition:
        raise AssertionError((what + " " + " ".join("%.400r" % (v,) for v in values)).strip() or "check failed")


def equal(got, want, what=""):
    if got != want or type(got) is not type(want):
        raise AssertionError("%s got %.400r, want %.400r" % (what, got, want))


def contains(text, *parts):
    for part in parts:
        check(part in text, "%r is not in" % (part,), text)


def matches(pattern, text):
    check(re.search(pattern, text), "no match for %r in" % (pattern,), text)


def within(value, low, high, what="seconds"):
    high *= PATIENCE
    check(low <= value <= high, "%s: %.3f is not within %.3f and %.3f" % (what, value, low, high))


def skip(reason):
    raise Skip(reason)


def case(label, *args, **kwargs):
    """Makes a test of a function's row of a table: the function is called with args for each of its cases."""
    def mark(function):
        function.__dict__.setdefault("cases", []).insert(0, (label, args, kwargs))
        return function
    return mark


def cases(table):
    """case() for every (label, args…) of a table."""
    def mark(function):
        for row in reversed(table):
            case(*row)(function)
        return function
    return mark


def _tests(namespace):
    for name, function in list(namespace.items()):
        if name.startswith("test_") and callable(function):
            for label, args, kwargs in getattr(function, "cases", [(None, (), {})]):
                yield name + ("[%s]" % label if label else ""), lambda f=function, a=args, k=kwargs: f(*a, **k)


def _alarm(*_):
    raise Timeout("the test took longer than %d s" % TEST_LIMIT_S)


def _run_one(name, test):
    """Prints the verdict of one test. Returns whether it is good."""
    signal.alarm(TEST_LIMIT_S)
    try:
        test()
        print("ok " + name, flush=True)
    except Skip as reason:
        print("ok %s # SKIP %s" % (name, reason), flush=True)
    except Exception as error:
        print("not ok " + name)
        where = traceback.extract_tb(error.__traceback__)
        here = [frame for frame in where if frame.filename == sys.modules["__main__"].__file__] or where
        print("# %s:%d: %s" % (os.path.basename(here[-1].filename), here[-1].lineno, here[-1].line))
        for line in ("%s: %s" % (type(error).__name__, error)).splitlines():
            print("# " + line)
        sys.stdout.flush()
        return False
    finally:
        signal.alarm(0)
    return True


def main(namespace=None):
    """Runs the functions named test_*, or those whose name contains an argument and none that stands behind a "-", and
    exits 0 when all are good."""
    if not os.access(BINARY, os.X_OK):
        print("Bail out! no binary at " + BINARY)
        sys.exit(1)
    signal.signal(signal.SIGALRM, _alarm)
    words = [w for w in sys.argv[1:] if not w.startswith("-")]
    without = [w[1:] for w in sys.argv[1:] if w.startswith("-")]
    tests = [(n, t) for n, t in _tests(namespace or sys.modules["__main__"].__dict__)
             if (not words or any(w in n for w in words)) and not any(w in n for w in without)]
    print("1..%d" % len(tests), flush=True)
    results = [_run_one(name, test) for name, test in tests]
    sys.exit(0 if results and all(results) else 1)
