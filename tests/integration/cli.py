#!/usr/bin/env python3
"""The command line for people: help, settings, run, check."""
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import (BINARY, Server, case, cases, check, contains, environment, equal, main, matches, named, named_program,
                 run, unique, until, within, workers_of)

USAGE, NO_INPUT, NO_SANDBOX, INTERNAL, BAD_CONFIG, TIMED_OUT = 64, 66, 69, 70, 78, 124

# variable: (default as --help shows it, a value that is refused, what is allowed as the sentence says it)
SETTINGS = {
    "MCP_EXEC_TRANSPORT": ("stdio", "pigeon", "stdio|http|sse"),
    "MCP_EXEC_DEFAULT_TIMEOUT_S": ("30", "soon", "1"),
    "MCP_EXEC_MAX_TIMEOUT_S": ("300", "0", "1"),
    "MCP_EXEC_MAX_OUTPUT_BYTES": ("1048576", "1M", ""),
    "MCP_EXEC_MAX_STDIN_BYTES": ("1048576", "-1", ""),
    "MCP_EXEC_MAX_CODE_BYTES": ("4194304", "99999999999999999999999", ""),
    "MCP_EXEC_MAX_QUEUE": ("64", "many", "4096"),
    "MCP_EXEC_PYTHON": ("python3", None, ""),
    "MCP_EXEC_MEMORY_BYTES": ("268435456", "1", "33554432"),
    "MCP_EXEC_MAX_PROCESSES": ("128", "1", "4"),
    "MCP_EXEC_CPUS": ("1", "0.5", ""),
    "MCP_EXEC_CGROUP": ("auto", "maybe", "auto|off|required"),
    "MCP_EXEC_MAX_CPU_S": ("", "1h", ""),
    "MCP_EXEC_WARM": ("1", "yes", "0|1"),
    "MCP_EXEC_PRELOAD": ("", "numpy,os.system('id')", "names of modules"),
    "MCP_EXEC_WARM_IDLE_S": ("600", "0", "86400"),
    "MCP_EXEC_USER": ("65532", None, ""),
    "MCP_EXEC_TMP_BYTES": ("67108864", "0x100000", "1048576"),
    "MCP_EXEC_LOG_LEVEL": ("info", "loud", "debug"),
    "MCP_EXEC_ADDR": ("8080", None, ""),
    "MCP_EXEC_AUTH_TOKEN_FILE": ("", None, ""),
    "MCP_EXEC_ALLOWED_ORIGINS": ("", None, ""),
    "MCP_EXEC_ALLOWED_HOSTS": ("", None, ""),
    "MCP_EXEC_MAX_CONNECTIONS": ("256", "0", "65536"),
    "MCP_EXEC_MAX_SESSIONS": ("1024", "all", "65536"),
    "MCP_EXEC_SESSION_IDLE_S": ("3600", "1h", "604800"),
    "MCP_EXEC_DRAIN_S": ("25", "3601", "3600"),
}
REFUSED = [(variable, variable, row[1], row[2]) for variable, row in SETTINGS.items() if row[1]]


def flag(variable):
    return "--" + variable[len("MCP_EXEC_"):].lower().replace("_", "-")


class Program:
    """A program in a file."""

    def __init__(self, text, mode=0o644):
        self._dir = tempfile.TemporaryDirectory()
        self.path = os.path.join(self._dir.name, "program.py")
        with open(self.path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(self.path, mode)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        self._dir.cleanup()


def run_program(text, *args, input=b"", env=None):
    with Program(text) as path:
        return run(["run"] + list(args) + [path], input=input, env=env)


# Help and settings.

def test_help_lists_every_setting():
    code, out, err = run(["--help"])
    equal((code, err), (0, b""))
    check(max(map(len, out.decode().splitlines())) <= 120, "a line is too long for a terminal")
    text = out.decode()
    for variable, (preset, _, _) in SETTINGS.items():
        contains(text, variable, flag(variable))
        matches(r"(?s)%s\b.{0,300}?%s" % (variable, re.escape(preset)), text)
    contains(text, "run", "check", "--version", "--help", "--print-policy")
    for variable in re.findall(r"MCP_EXEC_[A-Z_]+[A-Z]", text):
        check(variable in SETTINGS or variable == "MCP_EXEC_AUTH_TOKEN", "no setting:", variable)


@case("-h", ["-h"])
@case("help", ["help"])
@case("help run", ["help", "run"])
@case("behind a command", ["run", "x.py", "--help"])
def test_help_by_other_names(args):
    equal(run(args), run(["--help"]))


@case("--version", ["--version"])
@case("-V", ["-V"])
def test_version(args):
    code, out, err = run(args)
    equal((code, err), (0, b""))
    matches(r"^mcp-exec \d+\.\d+\.\d+", out.decode())


@cases(REFUSED)
def test_bad_variable(variable, value, allowed):
    code, out, err = run([], env={variable: value})
    equal((code, out), (BAD_CONFIG, b""))
    contains(err.decode(), variable, value, allowed)
    equal(err.count(b"\n"), 1, "not one sentence: %r" % err)


@cases(REFUSED)
def test_bad_flag_value(variable, value, allowed):
    code, out, err = run([flag(variable) + "=" + value])
    equal((code, out), (BAD_CONFIG, b""))
    contains(err.decode(), value, allowed)
    check(variable in err.decode() or flag(variable) in err.decode(), "the setting is not named", err)


@case("unknown flag", ["--no-such-flag"])
@case("unknown short flag", ["-z"])
@case("unknown command", ["serve-me"])
@case("flag without its value", ["--max-queue"])
@case("flag in part", ["--max-que=1"])
@case("run without a file", ["run"])
@case("run with two files", ["run", "/dev/null", "/dev/null"])
@case("run with an unknown flag", ["run", "--no-such-flag", "/dev/null"])
@case("run with a bad timeout", ["run", "--timeout", "soon", "/dev/null"])
@case("run with half a second", ["run", "--timeout", "0.5", "/dev/null"])
@case("run with a bad timeout and no file", ["run", "--timeout", "soon", "/nonexistent/program.py"])
@case("the token as a flag", ["--auth-token", "x"])
@case("check with an argument", ["check", "x"])
@case("--print-policy with run", ["--print-policy", "run", "/dev/null"])
@case("check with --print-policy", ["check", "--print-policy"])
def test_bad_usage(args):
    code, out, err = run(args)
    equal((code, out), (USAGE, b""), str(err))
    check(len(err) > 10, "nothing says what is wrong")


@case("a typing error", ["chekc"], "Did you mean check?")
@case("a file", [__file__], "mcp-exec run FILE")
def test_unknown_command_gets_a_hint(args, hint):
    code, out, err = run(args)
    equal((code, out), (USAGE, b""))
    contains(err.decode(), hint, "--help")
    equal(err.count(b"\n"), 1)


@case("a name", "no-such-user")
@case("a name with an escape", "no\x1b[1m")
def test_user_that_is_not_there(user):
    code, out, err = run(["run", "-"], input=b"print(1)", env={"MCP_EXEC_USER": user})
    equal((code, out), (BAD_CONFIG, b""))
    contains(err, b"MCP_EXEC_USER", b'"' + user.replace("\x1b", "?").encode() + b'"')


def ceiling(**how):
    """The ceiling of timeout_s as tools/list shows it."""
    with Server(**how) as s:
        return s.request("tools/list")["result"]["tools"][0]["inputSchema"]["properties"]["timeout_s"]["maximum"]


@case("a variable", {"env": {"MCP_EXEC_MAX_TIMEOUT_S": "10"}}, 10)
@case("a flag with =", {"args": ["--max-timeout-s=11"]}, 11)
@case("a flag before its value", {"args": ["--max-timeout-s", "12"]}, 12)
@case("a flag over a variable", {"args": ["--max-timeout-s=13"], "env": {"MCP_EXEC_MAX_TIMEOUT_S": "9"}}, 13)
@case("a flag over a bad variable", {"args": ["--max-timeout-s=14"], "env": {"MCP_EXEC_MAX_TIMEOUT_S": "x"}}, 14)
@case("an empty variable", {"env": {"MCP_EXEC_MAX_TIMEOUT_S": ""}}, 300)
@case("all variables empty", {"env": dict({v: "" for v in SETTINGS}, MCP_EXEC_AUTH_TOKEN="")}, 300)
def test_setting(how, wanted):
    equal(ceiling(**how), wanted)


def test_default_above_its_maximum_is_lowered():
    with Server(env={"MCP_EXEC_MAX_TIMEOUT_S": "10"}) as s:
        equal(s.exec("print(1)")["structuredContent"]["stdout"], "1\n")
        check(b"timeout" in s.stderr(), "no log line says so", s.stderr())


# run

BYTES = bytes(range(256)) * 8


def test_run_passes_bytes_through():
    code, out, err = run_program("import sys\nsys.stdout.buffer.write(bytes(range(256)) * 8)\n"
                                 "sys.stderr.buffer.write(b'\\xff\\0e')")
    equal((code, out, err), (0, BYTES, b"\xff\0e"))


def test_run_hands_stdin_on():
    copy = "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())"
    equal(run_program(copy, input=BYTES), (0, BYTES, b""))
    with tempfile.TemporaryFile() as file, Program(copy) as path:
        file.write(BYTES)
        file.seek(0)
        done = subprocess.run([BINARY, "run", path], stdin=file, stdout=subprocess.PIPE, timeout=20, env=environment())
    equal(done.stdout, BYTES)


def test_run_reads_the_program_from_stdin():
    code, out, err = run(["run", "-"], input=b"import sys\nprint(repr(sys.stdin.read()), __name__)")
    equal((code, out, err), (0, b"'' __main__\n", b""))


def test_run_does_not_wait_for_stdin_that_nobody_reads():
    with Program("print(1)") as path:
        equal(run(["run", path], input=b"x" * 500000)[:2], (0, b"1\n"))


@case("0", "pass", 0)
@case("3", "import sys; sys.exit(3)", 3)
@case("255", "import sys; sys.exit(255)", 255)
@case("exception", "1/0", 1)
@case("SIGKILL", "import os; os.kill(os.getpid(), 9)", 137)
@case("SIGSEGV", "import os; os.kill(os.getpid(), 11)", 139)
@case("SIGTERM", "import os; os.kill(os.getpid(), 15)", 143)
def test_run_exit_code(program, wanted):
    equal(run_program(program)[0], wanted)


@case("flag", ["--timeout", "1"], {})
@case("default", [], {"MCP_EXEC_DEFAULT_TIMEOUT_S": "1"})
@case("ceiling", ["--timeout", "50"], {"MCP_EXEC_MAX_TIMEOUT_S": "1"})
def test_run_timeout(args, env):
    started = time.monotonic()
    code, out, _ = run_program("import time; print('before'); time.sleep(30)", *args, env=env)
    equal((code, out), (TIMED_OUT, b"before\n"))
    within(time.monotonic() - started, 1, 2.5)


def run_json(*args, env=None):
    code, out, _ = run_program("print(1)", "--json", *args, env=env)
    return code, json.loads(out)


@case("too much", ["--timeout", "50"], "50 s is above the maximum")
@case("below 1", ["--timeout", "-5"], "-5 s is below 1")
def test_run_says_that_its_timeout_was_clamped(args, part):
    env = {"MCP_EXEC_MAX_TIMEOUT_S": "10"}
    code, result = run_json(*args, env=env)
    equal((code, result["stdout"], len(result["warnings"])), (0, "1\n", 1))
    contains(result["warnings"][0], part)
    contains(run_program("print(1)", *args, env=env)[2].decode(), part)


@case("a fraction of 0", "5.0")
@case("0", "0")
def test_run_takes_a_timeout_as_the_tool_does(text):
    equal(run_program("print(1)", "--timeout", text), (0, b"1\n", b""))
    equal(run_json("--timeout", text)[1]["warnings"], [])


def test_run_does_not_let_a_file_name_reach_a_terminal():
    code, out, err = run(["run", "/nonexistent/\x1b[2J.py"])
    equal((code, out), (NO_INPUT, b""))
    contains(err, b"/nonexistent/?[2J.py cannot be opened")


def test_run_missing_file():
    code, out, err = run(["run", "/nonexistent/program.py"])
    equal((code, out), (NO_INPUT, b""))
    contains(err, b"/nonexistent/program.py")


def test_run_file_that_only_its_owner_can_read():
    """It is opened before we become another user."""
    with Program("print(1)", mode=0o600) as path:
        equal(run(["run", path])[:2], (0, b"1\n"))


@case("name with spaces", "a b.py")
@case("name like a flag", "--x.py")
def test_run_file_name(name):
    with tempfile.TemporaryDirectory() as place:
        with open(os.path.join(place, name), "w") as file:
            file.write("print(1)")
        equal(run(["run", "./" + name], cwd=place)[:2], (0, b"1\n"))


def test_run_without_a_sandbox():
    code, out, err = run_program("print(1)", env={"MCP_EXEC_PYTHON": "/nonexistent/python3"})
    equal((code, out), (NO_SANDBOX, b""))
    contains(err, b"/nonexistent/python3")


def test_run_says_why_in_one_sentence():
    """No log line is above it, and with --json it is the tool's error result."""
    env = {"MCP_EXEC_PYTHON": "/nonexistent/python3"}
    _, _, err = run_program("print(1)", env=env)
    equal(err.count(b"\n"), 1, str(err))
    check(err.startswith(b"mcp-exec: Nothing was run."), "no sentence", err)
    code, result = run_json(env=env)
    equal((code, result["isError"]), (NO_SANDBOX, True))
    equal("mcp-exec: %s\n" % result["content"][0]["text"], err.decode())


@case("plain", [])
@case("--json", ["--json"])
def test_run_whose_worker_dies(args):
    name = unique()
    with Program(named_program(name)) as path:
        process = subprocess.Popen([BINARY, "run", path] + args, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment())
        until(lambda: named(name), 10, "the program runs")
        os.kill(workers_of(process.pid)[0], signal.SIGKILL)
        out, err = process.communicate(timeout=10)
    equal(process.returncode, INTERNAL, str(err))
    equal(err.count(b"\n"), 1, str(err))
    contains(err, b"mcp-exec: The sandbox worker died")
    if args:
        equal(json.loads(out)["isError"], True)
    else:
        equal(out, b"")


def test_run_says_why_also_when_nobody_reads_its_json():
    reader, writer = os.pipe()
    os.close(reader)
    with Program("print(1)") as path:
        done = subprocess.run([BINARY, "run", path, "--json"], stdin=subprocess.DEVNULL, stdout=writer,
                              stderr=subprocess.PIPE, timeout=20,
                              env=environment({"MCP_EXEC_PYTHON": "/nonexistent/python3"}))
    os.close(writer)
    equal((done.returncode, done.stderr.count(b"\n")), (NO_SANDBOX, 1), str(done.stderr))
    contains(done.stderr, b"mcp-exec: Nothing was run.", b"/nonexistent/python3")


def test_run_json():
    _, out, _ = run_program("import sys\nprint('o'); sys.stderr.buffer.write(b'\\xff'); sys.exit(3)", "--json")
    got = json.loads(out)
    equal(sorted(got), sorted(["stdout", "stderr", "exit_code", "duration_ms", "truncated", "timed_out", "limit",
                               "signal", "warnings"]))
    equal((got["stdout"], got["stderr"], got["exit_code"]), ("o\n", "\ufffd", 3))


def test_run_output_cap():
    """What is missing is said, also when nobody sits at a terminal."""
    code, out, err = run_program("print('a' * 50000)", env={"MCP_EXEC_MAX_OUTPUT_BYTES": "1000"})
    equal((code, out), (0, b"a" * len(out)))
    check(500 <= len(out) <= 1000, "bytes", len(out))
    contains(err, b"the output is cut", b"MCP_EXEC_MAX_OUTPUT_BYTES")
    equal(err.count(b"\n"), 1)


def not_blocking():
    """A pipe, both ends of which do not block."""
    ends = os.pipe()
    for end in ends:
        os.set_blocking(end, False)
    return ends


def test_run_with_a_stdin_that_does_not_block():
    reader, writer = not_blocking()
    process = subprocess.Popen([BINARY, "run", "-"], stdin=reader, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=environment())
    os.close(reader)
    time.sleep(0.3)
    os.write(writer, b"print")
    time.sleep(0.1)
    os.write(writer, b"(7)")
    os.close(writer)
    equal((process.communicate(timeout=10), process.returncode), ((b"7\n", b""), 0))


def test_run_with_a_stdout_that_does_not_block():
    reader, writer = not_blocking()
    with Program("print('x' * 500000)") as path:
        process = subprocess.Popen([BINARY, "run", path], stdin=subprocess.DEVNULL, stdout=writer,
                                   stderr=subprocess.PIPE, env=environment())
        os.close(writer)
        time.sleep(0.5)
        os.set_blocking(reader, True)
        with os.fdopen(reader, "rb") as file:
            equal(len(file.read()), 500001)
        equal((process.communicate(timeout=10)[1], process.returncode), (b"", 0))


@case("SIGTERM", signal.SIGTERM)
@case("SIGINT", signal.SIGINT)
def test_run_ends_while_nobody_reads_its_output(number):
    with Program("print('x' * 500000)") as path:
        process = subprocess.Popen([BINARY, "run", path], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=environment())
        try:
            until(lambda: select.select([process.stdout], [], [], 0)[0], 10, "output")
            time.sleep(0.2)
            process.send_signal(number)
            equal(process.wait(2), -number)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def test_run_says_that_it_waits_for_stdin():
    with Program("print(input())") as path:
        process = subprocess.Popen([BINARY, "run", path], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env=environment())
        line = process.stderr.readline()
        contains(line, b"waiting for the end of standard input", b"</dev/null")
        time.sleep(1.2)
        equal(process.communicate(b"x\n", timeout=10), (b"x\n", b""))


@case("SIGINT", signal.SIGINT)
@case("SIGTERM", signal.SIGTERM)
@case("SIGKILL", signal.SIGKILL)
def test_run_ends_with_its_program(number):
    name = unique()
    with Program(named_program(name)) as path:
        process = subprocess.Popen([BINARY, "run", path], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, env=environment())
        try:
            until(lambda: named(name), 10, "the program runs")
            process.send_signal(number)
            check(process.wait(3) != 0, "exit 0 after a signal")
            until(lambda: not named(name), 2, "the program is gone")
        finally:
            process.kill()
            process.wait()


# check and --print-policy

LAYERS = ["user_namespace", "net_namespace", "pid_namespace", "mount_namespace", "ipc_namespace", "uts_namespace",
          "cgroup_namespace", "read_only_system", "workspace", "rlimits", "memory_limit", "cpu_affinity",
          "no_capabilities", "no_new_privs", "seccomp", "init", "proc", "hostname", "landlock"]


def test_check_names_every_layer():
    code, out, err = run(["check"])
    equal(code, 0, (out + err).decode())
    contains(out.decode(), *LAYERS)


def test_check_names_every_limit():
    env = {"MCP_EXEC_MEMORY_BYTES": str(300 << 20), "MCP_EXEC_MAX_PROCESSES": "77", "MCP_EXEC_CPUS": "2",
           "MCP_EXEC_MAX_CPU_S": "55", "MCP_EXEC_TMP_BYTES": str(33 << 20)}
    contains(run(["check"], env=env)[1].decode(), "300 MiB", "77", "cpus 2", "55 s", "33 MiB")


def test_check_says_which_interpreter():
    matches(r"/\S*python3", run(["check"])[1].decode())


def test_check_says_what_is_warm():
    contains(run(["check"])[1].decode(), "\nok     warm: ")
    out = run(["check"], env={"MCP_EXEC_PRELOAD": "json, numpy"})[1].decode()
    contains(out, "\nok     warm: ", "has loaded numpy,json\n")
    out = run(["check", "--warm=0", "--preload=json"])[1].decode()
    contains(out, "\nnote   warm: MCP_EXEC_WARM is 0")
    check("json" not in out, "it is loaded although nothing is warm:", out)


def test_check_without_a_sandbox():
    code, out, err = run(["check"], env={"MCP_EXEC_PYTHON": "/nonexistent/python3"})
    equal(code, NO_SANDBOX, (out + err).decode())
    contains(out + err, b"/nonexistent/python3")


def test_print_policy():
    code, out, err = run(["--print-policy"])
    equal((code, err), (0, b""))
    contains(out.decode(), "openat", "clone3", "/usr", "/sandbox", "/dev/null", "PYTHONUNBUFFERED")
    equal(out, run(["--print-policy"])[1], "it differs from time to time")


@case("help", ["--help"])
@case("check", ["check"])
@case("policy", ["--print-policy"])
@case("run", ["run", "-"])
def test_text_that_cannot_be_written(args):
    with open("/dev/full", "wb") as full:
        code = subprocess.run([BINARY] + args, input=b"print(1)", stdout=full, stderr=subprocess.DEVNULL, timeout=30,
                              env=environment()).returncode
    equal(code, INTERNAL)


if __name__ == "__main__":
    main()
