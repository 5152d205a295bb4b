#!/usr/bin/env python3
"""The server as a child of an editor: wherever it and the interpreter lie, whatever little the editor hands on, and
nothing of it is left when the editor is killed, in whatever moment.

Interpreters in other odd places are in tests/sandbox/interpreters.py, a stderr that nobody reads and limits on files in
descriptors.py, ends that are not the editor's in ending.py.
"""
import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from home import PYTHON, SYSTEM_PATH, Home
from mcp import (BINARY, PATIENCE, SANITIZED, WAIT_S, Server, alive, cases, check, contains, descendants, environment,
                 equal, main, named, named_program, skip, unique, until)
from _messages import ran, still_there, tool_error

NOTHING = {key: None for key in os.environ}
NAMES = [("blanks", "my own tools"), ("not_ascii", "Größe/環境"), ("quotes", "it's \"here\"\\n")]


def install(home, name):
    """Both programs below HOME, as `make install PREFIX=…` puts them."""
    built = os.path.dirname(os.path.dirname(os.path.realpath(BINARY)))
    for part in ("bin/mcp-exec", "libexec/mcp-exec/mcp-exec-worker"):
        os.makedirs(os.path.dirname(home(name, part)), exist_ok=True)
        shutil.copy(os.path.join(built, part), home(name, part))
    return home(name, "bin/mcp-exec")


def snippet(program, *settings):
    """The command line that client-config gives to an editor."""
    done = subprocess.run([program, "client-config", "claude-desktop"] + list(settings), stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment(),
                          timeout=WAIT_S * PATIENCE)
    server = json.loads(done.stdout.decode("utf-8"))["mcpServers"]["mcp-exec"]
    return [server["command"]] + server.get("args", [])


def serves(s, code="print(6 * 7)", wanted="42\n"):
    s.initialize()
    equal(ran(s.exec(code))["stdout"], wanted)
    still_there(s)


# Where things lie.

@cases(NAMES)
def test_what_client_config_prints_starts_a_server(name):
    """Server and interpreter below a HOME that nobody else can read, with names as people give them."""
    with Home() as home:
        command = snippet(install(home, name), "--python", home.venv("envs/" + name))
        home.hand_over()
        os.chmod(home.path, 0o700)
        with Server(command=command[:1], args=command[1:], env=dict(NOTHING, HOME=home.path), cwd="/") as s:
            serves(s, "import sys; print(sys.prefix)", home("envs", name) + "\n")


def copy_of_python(prefix):
    """A Python with a library of its own, as conda and pyenv lay one out. Without what is not needed to start."""
    name = os.path.basename(os.path.realpath(PYTHON))
    os.makedirs(os.path.join(prefix, "bin"))
    shutil.copy(os.path.realpath(PYTHON), os.path.join(prefix, "bin", name))
    for link in ("python3", "python"):
        os.symlink(name, os.path.join(prefix, "bin", link))
    shutil.copytree("/usr/lib/" + name, os.path.join(prefix, "lib", name), ignore=shutil.ignore_patterns(
        "test", "__pycache__", "dist-packages", "idlelib", "tkinter", "config-*", "ensurepip", "lib2to3", "pydoc_data"))
    os.makedirs(os.path.join(prefix, "lib", name, "site-packages"))
    return os.path.join(prefix, "bin", "python3")


def library_is_elsewhere():
    if not os.path.isdir(os.path.join("/usr/lib", os.path.basename(os.path.realpath(PYTHON)), "encodings")):
        skip("the library of %s is not below /usr/lib, but in %s" % (PYTHON, sysconfig.get_path("stdlib")))


LAYOUTS = [("conda", "miniconda3/envs/my env", {"CONDA_PREFIX": "", "CONDA_DEFAULT_ENV": "my env"}),
           ("pyenv", ".pyenv/versions/3.x", {"PYENV_VERSION": "3.x"})]


@cases(LAYOUTS)
def test_a_python_of_one_s_own(place, env):
    """Activated, as an editor that was started from a shell hands it on: first in PATH, and named by variables."""
    library_is_elsewhere()
    with Home() as home:
        prefix = home(place)
        copy_of_python(prefix)
        home.write(os.path.join(place, "conda-meta/history"), "", 0o644)
        home.write(os.path.join(place, "notes/mine.txt"), "CANARY", 0o644)
        env = dict(NOTHING, HOME=home.path, PATH=os.path.join(prefix, "bin") + ":" + SYSTEM_PATH,
                   **{key: value or prefix for key, value in env.items()})
        home.hand_over()
        with Server(env=env, cwd=home.path) as s:
            serves(s, "import json, sys; print(sys.prefix, json.__file__.startswith(sys.prefix))", prefix + " True\n")
            seen = ran(s.exec("import os\nfor d, _, names in os.walk(%r): print(*names)" % home.path))["stdout"].split()
            check("history" in seen and "tempfile.py" in seen, "its own files are not there", seen)
            check("mine.txt" not in seen and "id" not in seen and ".env" not in seen, "other files are seen", seen)


# What is handed on.

HANDED = [
    ("nothing", {}), ("PATH alone", {"PATH": SYSTEM_PATH}), ("PATH empty", {"PATH": ""}),
    ("PATH to nowhere", {"PATH": "/nonexistent:relative"}), ("locale C", {"LC_ALL": "C", "LANG": "C"}),
    ("a locale that is not there", {"LC_ALL": "xx_YY.ISO-8859-1"}), ("HOME to nowhere", {"HOME": "/nonexistent"}),
    ("HOME relative", {"HOME": "here"}), ("XDG_RUNTIME_DIR to nowhere", {"XDG_RUNTIME_DIR": "/nonexistent"}),
    ("TMPDIR to nowhere", {"TMPDIR": "/nonexistent"}),
    ("Python's variables", {"PYTHONHOME": "/nonexistent", "PYTHONPATH": "/nonexistent", "PYTHONSTARTUP": "/nonexistent",
                            "PYTHONIOENCODING": "latin-1"}),
]


@cases(HANDED)
def test_environment(env):
    with Server(env=dict(NOTHING, **env)) as s:
        serves(s, "print('\u00e4\u74b0')", "\u00e4\u74b0\n")


def becomes(preparation):
    """A command that does this to itself and then becomes the server."""
    return [sys.executable, "-c", "import os, resource, sys, tempfile\n%s\nos.execv(sys.argv[1], sys.argv[1:])"
            % preparation]


PLACES = [
    ("deleted", "d = tempfile.mkdtemp(); os.chdir(d); os.rmdir(d)"),
    ("forbidden", "d = tempfile.mkdtemp(); os.chdir(d); os.chmod(d, 0); os.rmdir(d)"),
    ("read-only", "os.chdir('/proc')"),
    ("deep", "d = tempfile.mkdtemp()\nos.chdir(d)\nfor _ in range(40): os.mkdir('x' * 200); os.chdir('x' * 200)\n"
             "import shutil; shutil.rmtree(d, True)"),
]


@cases(PLACES)
def test_working_directory(preparation):
    with Server(through=becomes(preparation)) as s:
        serves(s, "import os; print(os.getcwd())", "/sandbox\n")


CLOSED = [("stderr", "os.close(2)"), ("all others", "os.closerange(2, 256)"),
          ("stderr read-only", "os.dup2(os.open('/dev/null', os.O_RDONLY), 2)")]


@cases(CLOSED)
def test_descriptors(preparation):
    with Server(through=becomes(preparation)) as s:
        serves(s)
        os.kill(s.worker(), signal.SIGKILL)   # the next one is started with the same descriptors
        until(lambda: not s.exec("print(1)")["isError"], 10, "a run")


def limit(name, soft, hard="resource.getrlimit(resource.RLIMIT_%s)[1]"):
    hard = hard % name if isinstance(hard, str) else hard
    return becomes("resource.setrlimit(resource.RLIMIT_%s, (%s, %s))" % (name, soft, hard))


def needs_a_small_build(name):
    if SANITIZED and name in ("STACK", "AS", "DATA"):
        skip("a build with sanitizers takes more memory than that to be loaded")


SOFT = [("files", "NOFILE", 16), ("file size", "FSIZE", 0), ("processes", "NPROC", 1), ("stack", "STACK", 32 << 10),
        ("address space", "AS", 48 << 20), ("data", "DATA", 16 << 20), ("CPU time", "CPU", 1), ("locked", "MEMLOCK", 0)]


@cases(SOFT)
def test_soft_limits_are_raised(name, soft):
    """So low that something would fail, if not so low that the loader of the program or Python here would."""
    needs_a_small_build(name)
    with Server(through=limit(name, soft)) as s:
        serves(s)


HARD = [("files", "NOFILE", 16, "ulimit -n"), ("file size", "FSIZE", 0, "ulimit -f"),
        ("stack", "STACK", 256 << 10, "-s"), ("address space", "AS", 32 << 20, "ulimit -v"),
        ("data", "DATA", 16 << 20, "-d")]


@cases(HARD)
def test_hard_limits_that_are_too_low_are_named(name, hard, word):
    """An editor shows no stderr: the answer of the call says it."""
    needs_a_small_build(name)
    with Server(through=limit(name, hard, hard)) as s:
        s.initialize()
        contains(tool_error(s.exec("print(1)")), word)
        still_there(s)


def test_few_processes_are_named():
    if os.geteuid() == 0:
        skip("needs an ordinary user, whose processes are counted as long as they are his")
    with Server(through=limit("NPROC", 1, 1)) as s:
        s.initialize()
        contains(tool_error(s.exec("print(1)")), "ulimit -u")
        still_there(s)


TOO_LOW = [("files", "NOFILE", 8, b"ulimit -n"), ("stack", "STACK", 96 << 10, b"ulimit -s")]


@cases(TOO_LOW)
def test_limits_that_no_server_can_live_with(name, hard, word):
    needs_a_small_build(name)
    command = limit(name, hard, hard)
    done = subprocess.run(command + [BINARY], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=environment(), timeout=WAIT_S * PATIENCE)
    equal((done.returncode, done.stdout), (70, b""))
    contains(done.stderr, word)
    equal(done.stderr.count(b"\n"), 1, str(done.stderr))
    done = subprocess.run(command + [BINARY, "--version"], stdout=subprocess.PIPE, timeout=WAIT_S * PATIENCE)
    equal(done.returncode, 0)


LIMITED = [("small", "STACK", 2 << 20), ("large", "STACK", 64 << 20), ("core files", "CORE", 0),
           ("queues", "MSGQUEUE", 0), ("signals", "SIGPENDING", 0), ("locked", "MEMLOCK", 0)]


@cases(LIMITED)
def test_hard_limits_that_do_no_harm(name, hard):
    with Server(through=limit(name, hard, hard)) as s:
        serves(s)


# The editor is killed.

# Starts the server on pipes of its own, sends what it is told, reads so many answers, says so, and waits to be killed.
EDITOR = """
import json, socket, subprocess, sys, time
wire, lines, answers = sys.argv[1], json.loads(sys.argv[2]), int(sys.argv[3])
if wire == "pipe":
    server = subprocess.Popen(sys.argv[4:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    into, out = server.stdin, server.stdout
else:
    (into, child_in), (out, child_out) = socket.socketpair(), socket.socketpair()
    server = subprocess.Popen(sys.argv[4:], stdin=child_in, stdout=child_out, stderr=subprocess.DEVNULL)
    child_in.close(), child_out.close()
    into, out = into.makefile("wb"), out.makefile("rb")
print(server.pid, flush=True)
for line in lines:
    into.write(line.encode() + b"\\n")
into.flush()
for _ in range(answers):
    out.readline()
print("ready", flush=True)
time.sleep(600)
"""


class Editor:
    """An editor with its server. Whatever of it is an orphan becomes ours, so that none can hide."""

    def __init__(self, lines=(), answers=0, wire="pipe", env=None):
        ctypes.CDLL(None, use_errno=True).prctl(36, 1, 0, 0, 0)   # PR_SET_CHILD_SUBREAPER, prctl(2)
        self.process = subprocess.Popen(
            [sys.executable, "-c", EDITOR, wire, json.dumps(list(lines)), str(answers), BINARY],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, env=environment(env))
        self.server = int(self.process.stdout.readline())

    def wait_ready(self):
        equal(self.process.stdout.readline(), b"ready\n")

    def kill(self):
        """Kills it. Returns what was there just before, and has to be gone."""
        there = [self.server] + descendants(self.server)
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        return there


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def left(there):
    reap()
    return sorted({pid for pid in there if alive(pid)} | set(descendants(os.getpid())))


def gone_soon(there):
    try:
        until(lambda: not left(there), 3, "everything of it is gone")
    finally:
        for pid in left(there):
            with open("/proc/%d/stat" % pid) as file:
                print("# left: " + file.read()[:60])
            os.kill(pid, signal.SIGKILL)


def call(id, code):
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": "tools/call",
                       "params": {"name": "exec", "arguments": {"code": code}}})


MOMENTS = [("%d ms" % ms, ms / 1000) for ms in (0, 1, 2, 4, 8, 16, 32, 64, 128)]


@cases(MOMENTS)
def test_editor_is_killed_while_the_server_starts(seconds):
    editor = Editor()
    time.sleep(seconds)
    gone_soon(editor.kill())


WIRES = [("pipe", "pipe"), ("socketpair", "socketpair")]


@cases(WIRES)
def test_editor_is_killed_while_the_server_is_idle(wire):
    editor = Editor([call(1, "print(1)")], 1, wire)
    editor.wait_ready()
    time.sleep(0.3)
    there = editor.kill()
    check(len(there) >= 3, "server, worker and sandboxes are not there", there)
    gone_soon(there)


STUBBORN = """
import os, signal, subprocess, sys, time
for number in range(1, 32):
    if number not in (9, 19): signal.signal(number, signal.SIG_IGN)
for _ in range(5):
    subprocess.Popen([sys.executable, "-c", "import os, time; os.setsid(); time.sleep(600)"])
time.sleep(0.2)
time.sleep(600)
"""
PROGRAMS = [("a program that sleeps", "import time; time.sleep(600)"), ("one that computes", "while True: pass"),
            ("one that prints", "while True: print('x' * 1000)"), ("one with children that will not end", STUBBORN)]


@cases([(label + ", " + wire, code, wire) for label, code in PROGRAMS for wire in ("pipe", "socketpair")])
def test_editor_is_killed_during_a_run(code, wire):
    name = unique()
    editor = Editor([call(1, named_program(name, code))], 0, wire)
    until(lambda: named(name), 10, "the call runs")
    time.sleep(0.2)
    there = editor.kill()
    gone_soon(there)
    equal(named(name), [])


@cases(MOMENTS)
def test_editor_is_killed_while_an_interpreter_is_made_ready(seconds):
    """After a program with imports the worker loads them into another interpreter, and copies it."""
    program = call(1, "import json, decimal, asyncio, unittest\nprint(1)")
    editor = Editor([program], 1, env={"MCP_EXEC_PRELOAD": "email"})
    editor.wait_ready()
    time.sleep(seconds)
    gone_soon(editor.kill())


def test_editor_is_killed_with_a_full_queue():
    name = unique()
    lines = [call(0, named_program(name))] + [call(i, "print(%d)" % i) for i in range(1, 80)]
    editor = Editor(lines, 1)   # the first answer says "busy"
    editor.wait_ready()
    until(lambda: named(name), 10, "the call runs")
    gone_soon(editor.kill())
    equal(named(name), [])


def test_editor_is_killed_behind_an_answer_that_it_does_not_read():
    editor = Editor([call(i, "print('x' * 1000000)") for i in range(5)])
    editor.wait_ready()
    time.sleep(0.5 * PATIENCE)
    gone_soon(editor.kill())


def test_editor_is_killed_while_the_server_is_stopped():
    """As a debugger or a laptop's lid leaves it: the kernel delivers the end when it goes on."""
    editor = Editor([call(1, "print(1)")], 1)
    editor.wait_ready()
    os.kill(editor.server, signal.SIGSTOP)
    there = editor.kill()
    os.kill(editor.server, signal.SIGCONT)
    gone_soon(there)


if __name__ == "__main__":
    main()
