#!/usr/bin/env python3
"""What a caller sends, and what a program prints, is in no log, no command line and no environment.

Each place where a caller's words can stand gets a canary of its own; then everything an outsider or an operator could
read is searched for all of them, at the most verbose log level, on good paths and on every error path.
"""
import base64
import os
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import (INFO_KEY, Server, case, check, claim, contains, descendants, equal, main, named, named_program, run,
                 skip, unique, until)
from _canaries import Canaries, readable


def server(c, **env):
    return Server(env=dict({"MCP_EXEC_LOG_LEVEL": "debug", "SECRET_CANARY": c["variable"],
                            "MCP_EXEC_AUTH_TOKEN": c["token"]}, **env))


def check_nothing_leaked(c, s, below):
    """Searches the log, the server and the given processes below it."""
    log = s.stderr()
    contains(log, b"event=server.start")
    equal(c.found_in(log), [], "in the log:")
    equal([p for p in c.found_in(readable(s.pid)) if p != "variable"], [], "of the server in /proc:")
    for pid in below:
        equal(c.found_in(readable(pid)), [], "of a process below the server in /proc:")


def test_the_search_finds_what_is_there():
    c = Canaries()
    word = c["place"]
    for data in (word, word.encode().hex(), base64.b64encode(word.encode()).decode()):
        equal(c.found_in(b"x " + data.encode() + b" y"), ["place"])
    equal(c.found_in(b"nothing"), [])
    pid = os.fork()
    if pid == 0:
        os.execve("/bin/sleep", ["sleep", "5"], {"X": word})
    try:
        until(lambda: c.found_in(readable(pid)), 3, "found in the environment of another process")
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def good_path(c, s):
    s.request("initialize", {"protocolVersion": "2025-11-25", "capabilities": {c["capability"]: {}},
                             "clientInfo": {"name": c["client"], "version": c["client version"]}}, id=c["id"])
    code = "import sys\n# %s\nprint(input()); print(%r, file=sys.stderr)" % (c["code"], c["output"])
    arguments = {"code": code, "stdin": c["stdin"], c["argument"]: 1}
    answer = s.request("tools/call", {"name": "exec", "arguments": arguments,
                                      "_meta": {"progressToken": c["progress token"], c["meta"]: c["meta value"]}},
                       id=c["call id"])
    equal(answer["result"]["structuredContent"]["stdout"], c["stdin"] + "\n")
    s.request("tools/call", {"name": "exec", "arguments": {"code": "print(1)"}, "_meta": claim(
        **{INFO_KEY: {"name": c["modern client"], "version": "1"}, "traceparent": c["trace"]})})


def test_good_path():
    c = Canaries()
    with server(c) as s:
        good_path(c, s)
        contains(s.stderr(), b"event=exec.done")
        check_nothing_leaked(c, s, descendants(s.pid))
        s.close_stdin()
        s.wait_exit(2)
        check_nothing_leaked(c, s, [])


def test_during_a_run():
    c = Canaries()
    with server(c) as s:
        name = unique()
        s.start_exec(named_program(name, "# %s\nimport time; print(%r); time.sleep(30)" % (c["code"], c["output"])),
                     stdin=c["stdin"], id=c["id"])
        until(lambda: named(name), 10, "the program runs")
        below = descendants(s.pid)
        check(len(below) >= 2, "worker and run are not there", below)
        check_nothing_leaked(c, s, below)


def refused(c):
    """Lines that are answered with an error or not at all, each with words of its own."""
    exec_with = lambda **arguments: {"jsonrpc": "2.0", "id": c["id of a bad call"], "method": "tools/call",
                                     "params": {"name": "exec", "arguments": arguments}}
    ask = lambda method, **params: {"jsonrpc": "2.0", "id": c["id"], "method": method, "params": params}
    return [
        "{" + c["garbage"], '"%s"' % c["a string"], '{"%s":1,"%s":2}' % (c["key twice"], c["key twice"]),
        '{"jsonrpc":"2.0","id":"%s","method":"ping","x":"\x01"}' % c["id before garbage"],
        '{"jsonrpc":"%s","id":1,"method":"ping"}' % c["jsonrpc"],
        ask(c["method"]), ask("tools/call", name=c["tool"]), ask("tools/call", name="exec", arguments=c["arguments"]),
        ask("tools/list", cursor=c["cursor"]), ask("prompts/get", name=c["prompt"]),
        ask("resources/read", uri=c["resource"]), ask("initialize", protocolVersion=[c["version in a list"]]),
        ask("initialize", protocolVersion=c["unknown version"]),
        ask("tools/list", _meta=claim(c["claimed version"])),
        ask("tools/list", _meta=claim(**{INFO_KEY: c["client"]})),
        ask("tools/list", _meta=claim(**{"io.modelcontextprotocol/logLevel": c["log level"]})),
        exec_with(code=[c["code in a list"]]), exec_with(code="1", stdin=[c["stdin in a list"]]),
        exec_with(code="1", timeout_s=c["timeout"]), exec_with(**{c["only argument"]: 1}),
        exec_with(code="1 # %s \ud800" % c["code with a surrogate"]),
        {"jsonrpc": "2.0", "method": "notifications/cancelled",
         "params": {"requestId": c["cancelled id"], "reason": c["reason"]}},
        {"jsonrpc": "2.0", "method": "notifications/" + c["notification"]},
        {"jsonrpc": "2.0", "id": c["id of an answer"], "result": {c["result"]: 1}},
        [{"jsonrpc": "2.0", "id": c["id in a batch"], "method": c["method in a batch"]}],
    ]


def test_refused_messages():
    c = Canaries()
    with server(c) as s:
        lines = refused(c)
        for line in lines:
            s.send(line)
        s.send_raw(b'{"x":"' + c["invalid UTF-8"].encode() + b'\xff"}\n')
        equal(s.request("ping")["result"], {})
        check(len(s.inbox) >= len(lines) - 6, "most lines are answered", len(s.inbox))
        s.worker()   # until it is what it is to be, a child has the environment of the server
        check_nothing_leaked(c, s, descendants(s.pid))


def test_message_that_is_too_long():
    c = Canaries()
    with server(c, MCP_EXEC_MAX_CODE_BYTES="65536", MCP_EXEC_MAX_STDIN_BYTES="65536") as s:
        s.send('{"jsonrpc":"2.0","id":1,"method":"ping","x":"%s"}' % (c["long line"] * 80000))
        equal(s.recv()["error"]["code"], -32600)
        s.exec("#" + c["long code"] * 6000)
        s.exec("1", stdin=c["long stdin"] * 6000)
        check_nothing_leaked(c, s, descendants(s.pid))


def test_queue_full():
    c = Canaries()
    with server(c, MCP_EXEC_MAX_QUEUE="1") as s:
        for i in range(4):
            s.start_exec("import time; time.sleep(0.5) # " + c["code"], id=c["id %d" % i])
        for i in range(4):
            s.answer(c["id %d" % i])
        check_nothing_leaked(c, s, descendants(s.pid))


def test_ends_of_every_kind():
    c = Canaries()
    with server(c, MCP_EXEC_MAX_OUTPUT_BYTES="1000") as s:
        for code in ("raise Exception(%r)", "import sys; sys.exit(%r)", "print(%r * 1000)", "x = (%r",
                     "import os; print(%r); os.abort()", "print(%r); import time; time.sleep(9)"):
            s.exec(code % c[code], timeout_s=1)
        check_nothing_leaked(c, s, descendants(s.pid))


def test_worker_killed():
    c = Canaries()
    with server(c) as s:
        name = unique()
        code = "import time; print(%r); time.sleep(30) # %s" % (c["output"], c["code"])
        call_id = s.start_exec(named_program(name, code), stdin=c["stdin"], id=c["id"])
        until(lambda: named(name), 10, "the program runs")
        os.kill(s.worker(), signal.SIGKILL)
        equal(s.answer(call_id)["result"]["isError"], True)
        s.exec("print(1)")
        check_nothing_leaked(c, s, descendants(s.pid))


@case("during a run", lambda s: s.close_stdin())
@case("by SIGTERM", lambda s: s.kill(signal.SIGTERM))
def test_end(end):
    c = Canaries()
    with server(c) as s:
        name = unique()
        s.start_exec(named_program(name, "import time; print(%r); time.sleep(30)" % c["output"]), id=c["id"])
        s.start_exec("print(%r)" % c["queued"], id=c["queued id"])
        until(lambda: named(name), 10, "the program runs")
        end(s)
        s.wait_exit(2)
        contains(s.stderr(), b"event=")
        equal(c.found_in(s.stderr()), [], "in the log:")


def test_no_sandbox():
    c = Canaries()
    with server(c, MCP_EXEC_PYTHON="/nonexistent/python3") as s:
        result = s.exec("print(%r)" % c["code"], stdin=c["stdin"])
        equal(result["isError"], True)
        check_nothing_leaked(c, s, descendants(s.pid))


def test_token_is_gone_from_the_server_itself():
    """Root can read what a process of the same user cannot; the bytes are overwritten all the same."""
    c = Canaries()
    with server(c) as s:
        s.initialize()
        try:
            with open("/proc/%d/environ" % s.pid, "rb") as file:
                data = file.read()
        except PermissionError:
            skip("needs root: nobody else can read the environment of a process that is not dumpable")
        contains(data, b"SECRET_CANARY=" + c["variable"].encode())
        check(c["token"].encode() not in data, "the token is still in the environment")


def test_run_inherits_nothing():
    c = Canaries()
    with server(c) as s:
        got = s.exec("import os, glob\nprint(dict(os.environ))\n"
                     "for f in glob.glob('/proc/[0-9]*/environ') + glob.glob('/proc/[0-9]*/cmdline'):\n"
                     "  try: print(open(f, 'rb').read())\n  except OSError: pass")["structuredContent"]
        contains(got["stdout"], "/sandbox")
        equal(c.found_in(got["stdout"].encode()), [])
        check("MCP_EXEC" not in got["stdout"], "a variable of ours", got["stdout"])


def test_no_core_file():
    c = Canaries()
    with server(c) as s:
        s.initialize()
        for pid in (s.pid, s.worker()):
            with open("/proc/%d/limits" % pid) as file:
                line = next(text for text in file if text.startswith("Max core file size"))
            equal(line.split()[4], "0", line)


def test_environment_is_not_in_any_text_for_people():
    c = Canaries()
    env = {"SECRET_CANARY": c["variable"], "MCP_EXEC_AUTH_TOKEN": c["token"]}
    for args in (["--help"], ["--version"], ["check"], ["--print-policy"], ["--no-such-flag"], ["run", "/nonexistent"]):
        _, out, err = run(args, env=env)
        equal(c.found_in(out + err), [], str(args))


def test_log_lines_have_their_form():
    """logfmt with typed fields: no line holds what is not key=value."""
    c = Canaries()
    with server(c) as s:
        good_path(c, s)
        for line in s.stderr().decode("ascii").splitlines():
            words = line.split('"')[::2]
            check(line.startswith("ts=") and " level=" in line and " event=" in line, "no event:", line)
            for word in " ".join(words).split():
                check("=" in word, "no field:", word, line)


if __name__ == "__main__":
    main()
