#!/usr/bin/env python3
"""Calls of the tool: its arguments, its results, many at once, cancelled ones, and progress.

What a program is given and what it gives is compared with the contract in README; what a sandbox keeps out is not the
matter here.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import (LATEST, SANITIZED, Server, case, cases, check, contains, equal, main, named, named_program, skip, unique,
                 until, within)
from _messages import (PARSE, REQUEST, SLACK_S, SLEEP, check_error, init, peak_kib, ran, raw_call, request, shared,
                       still_there, the_tool, tool_error)

# Arguments of the tool.

@cases([(name, raw) for name, raw in (
    ("missing", "{}"), ("null", '{"code":null}'), ("number", '{"code":123}'), ("list", '{"code":["print(1)"]}'),
    ("object", '{"code":{}}'), ("empty", '{"code":""}'),
    ("white space", '{"code":"\\n\\t  "}'), ("BOM", '{"code":"\\ufeff"}'),
    ("no-break space", '{"code":"\\u00a0"}'), ("ideographic space", '{"code":"\\u3000 \\u2003\\u2028"}'),
    ("another case", '{"Code":"print(1)"}'), ("lone surrogate", '{"code":"print(1)#\\ud800"}'),
    ("lone low surrogate", '{"code":"print(1)#\\udc00 "}'),
    ("surrogates the wrong way round", '{"code":"print(1)#\\udc00\\ud800"}'))])
def test_code_refused(raw):
    s = shared()
    s.send(raw_call(raw))
    tool_error(s.recv(5)["result"], "code")


def test_code_error_shows_a_right_call():
    s = shared()
    contains(tool_error(s.exec(None, wait=5)), '"code"', "print(")
    for more in ({}, {"arguments": None}):
        s.send(request("tools/call", dict({"name": "exec"}, **more)))
        tool_error(s.recv(5)["result"], "code is missing")


@case("number", "5")
@case("list", '["a"]')
@case("true", "true")
@case("lone surrogate", '"\\ud800"')
def test_stdin_refused(raw):
    s = shared()
    s.send(raw_call('{"code":"1","stdin":%s}' % raw))
    text = tool_error(s.recv(5)["result"], "stdin")
    if "example" in text:
        contains(text, '"stdin": "')


@case("null", None)
@case("empty", "")
def test_stdin_absent(value):
    equal(ran(shared().exec("import sys; print(repr(sys.stdin.read()))", stdin=value))["stdout"], "''\n")


# (label, JSON text of timeout_s, what comes of it, whether a warning says so)
TIMEOUTS = [
    ("0", "0", "ran", False), ("null", "null", "ran", False), ("2", "2", "ran", False), ("2.0", "2.0", "ran", False),
    ("'10'", '"10"', "ran", False), ("-5", "-5", "ran", True), ("900", "900", "ran", True), ("1e3", "1e3", "ran", True),
    ("20 digits", "99999999999999999999", "ran", True), ("-20 digits", "-99999999999999999999", "ran", True),
    ("1.5", "1.5", "error", False), ("'1.5'", '"1.5"', "error", False), ("'soon'", '"soon"', "error", False),
    ("true", "true", "error", False), ("false", "false", "error", False), ("list", "[]", "error", False),
    ("object", "{}", "error", False), ("1e400", "1e400", "error", False), ("-1e400", "-1e400", "error", False),
    ("'10s'", '"10s"', "error", False), ("'1e400'", '"1e400"', "error", False), ("'nan'", '"nan"', "error", False),
]


@cases(TIMEOUTS)
def test_timeout_value(raw, outcome, warned):
    s = shared()
    s.send(raw_call('{"code":"print(1)","timeout_s":%s}' % raw))
    result = s.recv(10)["result"]
    if outcome == "error":
        tool_error(result, "timeout_s")
        return
    content = ran(result)
    equal((content["stdout"], content["timed_out"]), ("1\n", False))
    equal(any("timeout_s" in w for w in content["warnings"]), warned, str(content["warnings"]))


def test_timeout_nan_is_no_json():
    s = shared()
    s.send(raw_call('{"code":"1","timeout_s":NaN}'))
    check_error(s.recv(5), PARSE, None)


@case("asked", {}, {"timeout_s": 1})
@case("asked as a string", {}, {"timeout_s": "1"})
@case("below one", {}, {"timeout_s": -5})
@case("the default", {"MCP_EXEC_DEFAULT_TIMEOUT_S": "1"}, {})
@case("the default by null", {"MCP_EXEC_DEFAULT_TIMEOUT_S": "1"}, {"timeout_s": None})
@case("the ceiling", {"MCP_EXEC_MAX_TIMEOUT_S": "1"}, {"timeout_s": 900})
@case("the default lowered to the ceiling", {"MCP_EXEC_MAX_TIMEOUT_S": "1"}, {})
def test_timeout_ends_the_run(env, arguments):
    with Server(env=env) as s:
        name = unique()
        result = ran(s.exec(named_program(name, "import time; print('before'); time.sleep(60)"), **arguments))
        check(not named(name), "a process of the run is alive when its result is here")
        equal([result[k] for k in ("stdout", "exit_code", "timed_out", "limit", "truncated")],
              ["before\n", -1, True, "wall_time", False])
        within(result["duration_ms"] / 1000, 0.99, 1 + SLACK_S)
        equal(any("the maximum" in w for w in result["warnings"]), "MCP_EXEC_MAX_TIMEOUT_S" in env)
        equal(any("raise timeout_s" in w for w in result["warnings"]), "MCP_EXEC_MAX_TIMEOUT_S" not in env)


def events(s, name):
    """The fields of each event of that name in the log."""
    lines = [line for line in s.stderr().decode().splitlines() if " event=%s " % name in line + " "]
    return [dict(word.split("=", 1) for word in line.split()) for line in lines]


def test_the_log_tells_how_a_call_ended():
    with Server() as s:
        s.exec("print(1)")
        s.exec("import time; time.sleep(9)", timeout_s=1)
        tool_error(s.exec(""), "code")
        equal([e["limit"] for e in events(s, "exec.done")], ["none", "wall_time"])
        check({e["start"] for e in events(s, "exec.done")} <= {"cold", "warm", "preloaded"}, "start", s.stderr())
        for event in events(s, "exec.done"):
            within(int(event["peak_kib"]), 1000, 262144)
        equal([(e["level"], e["errno"]) for e in events(s, "exec.refused")], [("info", "EINVAL")])
        ready = events(s, "worker.ready")[0]
        within(int(ready["weaker"]), 0, 2)
        version = ran(s.exec("import sys; print('%d.%d.%d' % sys.version_info[:3])"))["stdout"].strip()
        equal(".".join(ready["python_" + part] for part in ("major", "minor", "micro")), version)


def test_unknown_arguments_are_named():
    s = shared()
    warnings = " ".join(ran(s.exec("print(1)", language="python", context={}, timeout=5))["warnings"])
    contains(warnings, "language", "context", 'did you mean "timeout_s"')
    warnings = " ".join(ran(s.exec("print(1)", timeout_s=2, timeout=5))["warnings"])
    contains(warnings, "timeout")
    check("did you mean" not in warnings, "the argument is there:", warnings)
    tool_error(s.exec(None, Code="print(1)"), "code")


def test_caps_on_code_and_stdin():
    s = shared()
    equal(ran(s.exec("#" * 4194304))["exit_code"], 0)
    tool_error(s.exec("#" * 4194305), "code", "4194304", "4194305")
    count = "import sys; print(len(sys.stdin.buffer.read()))"
    equal(ran(s.exec(count, stdin="a" * 1048576))["stdout"], "1048576\n")
    equal(ran(s.exec(count, stdin="\u00e9" * 524288))["stdout"], "1048576\n")
    tool_error(s.exec(count, stdin="a" * 1048577), "stdin", "1048576", "1048577")
    tool_error(s.exec(count, stdin="\u00e9" * 524289), "stdin", "1048576", "1048578")
    still_there(s)


def test_a_task_member_is_ignored():
    s = shared()
    s.send(request("tools/call", {"name": "exec", "arguments": {"code": "print(1)"}, "task": {"ttl": 1}}))
    equal(ran(s.recv()["result"])["stdout"], "1\n")


# What a program is given, and what it gives.

def test_nul_is_data():
    s = shared()
    code = "print(1)\0\nprint(2)"
    python = ran(s.exec("import sys; print(sys.executable)"))["stdout"].strip()
    with tempfile.NamedTemporaryFile(suffix=".py") as file:
        file.write(code.encode())
        file.flush()
        plain = subprocess.run([python, file.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20)
    got = ran(s.exec(code))
    equal((got["exit_code"], got["stdout"]), (plain.returncode, plain.stdout.decode()))
    check(got["stdout"] != "1\n", "the program was cut at its NUL")
    got = ran(s.exec("import sys; d = sys.stdin.buffer.read(); print(d); sys.stdout.write('x\\0y')", stdin="a\0b"))
    equal(got["stdout"], "b'a\\x00b'\nx\0y")


def test_text_arrives_intact():
    text = "\u00e9\u20ac\U0001f600\u2028\x7f\x1b[0m\\\"\t"
    got = ran(shared().exec("import sys; sys.stdout.write(sys.stdin.read()); sys.stderr.write(%r)" % text, stdin=text))
    equal((got["stdout"], got["stderr"]), (text, text))
    equal(got["warnings"], [])


def test_stdin_not_read():
    got = ran(shared().exec("print(1)", stdin="a" * 1000000))
    equal((got["exit_code"], got["stdout"]), (0, "1\n"))
    within(got["duration_ms"] / 1000, 0, 2)


def test_stdin_is_never_the_protocol():
    got = ran(shared().exec("input()"))
    equal(got["exit_code"], 1)
    contains(got["stderr"], "EOFError")
    equal(ran(shared().exec("import sys; print(repr(sys.stdin.read()))"))["stdout"], "''\n")


def test_traceback_is_pythons_own():
    got = ran(shared().exec("x = (\n"))
    equal(got["exit_code"], 1)
    contains(got["stderr"], 'File "/sandbox/main.py", line 1', "x = (", "^", "SyntaxError")
    got = ran(shared().exec("def f():\n  1/0\nf()"))
    equal(got["stderr"].count("File "), 2, got["stderr"])
    contains(got["stderr"], 'File "/sandbox/main.py", line 2, in f', "ZeroDivisionError")


def test_script_identity():
    got = ran(shared().exec("""
import sys, os, inspect
def f(): return 1
print(sys.argv, __name__, os.path.abspath(__file__), os.getcwd(), os.listdir(), os.environ["HOME"])
print(inspect.getsource(f).strip())
if __name__ == "__main__": print("main")
"""))
    lines = got["stdout"].splitlines()
    equal(lines[0].split(" ", 1)[1], "__main__ /sandbox/main.py /sandbox ['main.py'] /sandbox", str(got)[:300])
    contains(lines[0], "main.py']")
    equal(lines[1:], ["def f(): return 1", "main"])


@case("exit 3", "import sys; sys.exit(3)", 3, None)
@case("exception", "1/0", 1, None)
@case("SIGSEGV", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", -1, "SIGSEGV")
@case("SIGKILL", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -1, "SIGKILL")
def test_an_end_of_its_own_is_a_normal_result(code, exit_code, number):
    got = ran(shared().exec(code))
    equal([got[k] for k in ("exit_code", "signal", "timed_out", "limit")], [exit_code, number, False, None])


@case("a forked child", "import os, time\nif os.fork() == 0: time.sleep(60)\nprint(1)")
@case("a daemon of its own session", "import os, time\nif os.fork() == 0: os.setsid(); time.sleep(60)\nprint(1)")
def test_what_keeps_the_pipe_does_not_keep_the_answer(code):
    got = ran(shared().exec(code, wait=5))
    equal((got["stdout"], got["exit_code"]), ("1\n", 0))


def output_of(cap, code):
    with Server(env={"MCP_EXEC_MAX_OUTPUT_BYTES": str(cap)}) as s:
        return ran(s.exec("import sys\n" + code))


def test_output_cap():
    got = output_of(1000, "print('a' * 5000)")
    equal([got[k] for k in ("stdout", "truncated", "limit", "exit_code")], ["a" * 1000, True, "output", 0])
    got = output_of(1000, "sys.stdout.write('a' * 1000)")
    equal([got[k] for k in ("stdout", "truncated", "limit")], ["a" * 1000, False, None])
    got = output_of(1000, "sys.stdout.write('a' * 800); sys.stdout.flush()\nsys.stderr.write('b' * 800)")
    equal(len(got["stdout"]) + len(got["stderr"]), 1000)
    equal((got["truncated"], got["exit_code"]), (True, 0))


def test_output_cap_counts_bytes_and_cuts_between_characters():
    got = output_of(1001, "sys.stdout.write('\\u00e9' * 1000)")
    equal((got["stdout"], got["truncated"]), ("\u00e9" * 500, True))
    got = output_of(1000, "sys.stdout.buffer.write(b'\\xff' * 1000)")
    equal((got["stdout"], got["truncated"]), ("\ufffd" * 1000, False))
    check(got["warnings"], "nothing says that bytes were replaced")


def test_a_large_result_does_not_stay_in_memory():
    if SANITIZED:
        skip("memory is no measure with sanitizers")
    with Server() as s:
        s.exec("print(1)")
        got = ran(s.exec("import sys; sys.stdout.buffer.write(b'\\x01' * 1048576)"))
        equal(got["stdout"] == "\x01" * 1048576, True)
        # 6 MiB as JSON, and a little more as JSON within JSON: the answer has 13 MiB, and is copied once.
        within(peak_kib(s.pid) / 1024, 0, 36, "MiB at most")
        ran(s.exec("print(1)"))
        within(peak_kib(s.pid, "VmRSS") / 1024, 0, 8, "MiB afterwards")


def conforms(value, schema, where="result"):
    """As much of JSON Schema as our schema uses; the SDK clients check with Ajv."""
    types = schema.get("type", [])
    kinds = {"string": str, "integer": int, "boolean": bool, "null": type(None), "array": list, "object": dict}
    if types:
        wanted = [kinds[t] for t in (types if isinstance(types, list) else [types])]
        check(type(value) in wanted, where + " has the wrong type:", value)
    check("enum" not in schema or value in schema["enum"], where + " is not in the enum:", value)
    for key in schema.get("required", []):
        check(key in value, where + " lacks " + key)
    for key, part in schema.get("properties", {}).items():
        conforms(value[key], part, key)
    for item in value if "items" in schema else []:
        conforms(item, schema["items"], where + "[]")


@case("plain", "print(1)")
@case("both streams", "import sys; print('o'); print('e', file=sys.stderr); sys.exit(4)")
@case("signal", "import os; os.kill(os.getpid(), 11)")
@case("warning", "import sys; sys.stdout.buffer.write(b'\\xff')")
@case("timeout", "import time; time.sleep(9)", timeout_s=1)
def test_text_says_what_structured_content_says(code, **arguments):
    s = shared()
    result = s.exec(code, **arguments)
    content = ran(result)
    equal([c["type"] for c in result["content"]], ["text"])
    equal(json.loads(result["content"][0]["text"]), content)
    conforms(content, the_tool(s)["outputSchema"])
    equal(len(content), 9, "fields outside the schema:")


def test_facts_for_the_host_are_in_meta():
    keys = [k for k in shared().exec("print(1)").get("_meta", {}) if "." in k and "/" in k]
    check(keys and not keys[0].startswith("io.modelcontextprotocol"), "no key of ours", keys)


# Several calls at once.

def test_eight_calls_and_a_ping():
    with Server() as s:
        ids = [s.start_exec(SLEEP % (0.2, i), id="c%d" % i) for i in range(8)]
        started = time.monotonic()
        still_there(s)
        within(time.monotonic() - started, 0, 0.2 + SLACK_S, "ping")
        answers = [s.recv() for _ in ids]
        equal([a["id"] for a in answers], ids, "not first in, first out:")
        equal([ran(a["result"])["stdout"] for a in answers], ["%d\n" % i for i in range(8)])
        check("queue" in json.dumps(answers[-1]["result"]["_meta"]), "the wait is not reported", answers[-1])


def test_time_in_the_queue_does_not_count():
    with Server() as s:
        ids = [s.start_exec(SLEEP % (0.7, i), timeout_s=1) for i in range(4)]
        for i in ids:
            result = ran(s.answer(i)["result"])
            equal(result["timed_out"], False)
            within(result["duration_ms"] / 1000, 0.69, 1.0)


def test_ping_and_list_are_answered_during_a_run():
    with Server() as s:
        call_id = s.start_exec(SLEEP % (1, 1))
        time.sleep(0.3)
        for method in ("ping", "tools/list", "resources/list"):
            started = time.monotonic()
            s.request(method)
            within(time.monotonic() - started, 0, 0.3, method)
        equal(s.answer(call_id)["result"]["isError"], False)


def test_queue_full_is_a_tool_error():
    with Server(env={"MCP_EXEC_MAX_QUEUE": "1"}) as s:
        name = unique()
        running = s.start_exec(named_program(name, "import time; time.sleep(1.5); print('a')"))
        until(lambda: named(name), 5, "the first call runs")
        queued = s.start_exec("print('b')")
        contains(tool_error(s.exec("print('c')", wait=1)).lower(), "busy", "(1 call waits)")
        equal(s.inbox, [], "answers before their time:")
        equal(ran(s.answer(running)["result"])["stdout"], "a\n")
        equal(ran(s.answer(queued)["result"])["stdout"], "b\n")
        equal(ran(s.exec("print('d')"))["stdout"], "d\n")


def test_id_in_use_is_refused():
    with Server() as s:
        s.start_exec(SLEEP % (0.7, "first"), id=7)
        s.start_exec(SLEEP % (0, "second"), id=7)
        check_error(s.recv(), REQUEST, 7)
        equal(s.inbox, [])
        s.start_exec(SLEEP % (0, "string"), id="7")
        equal(ran(s.answer(7)["result"])["stdout"], "first\n")
        equal(ran(s.answer("7")["result"])["stdout"], "string\n")
        s.start_exec(SLEEP % (0, "again"), id=7)
        equal(ran(s.answer(7)["result"])["stdout"], "again\n")
        s.silence(0.2)


def test_a_call_without_an_id_is_not_run():
    with Server() as s:
        name = unique()
        s.notify("tools/call", {"name": "exec", "arguments": {"code": named_program(name)}})
        equal(ran(s.exec("print(1)", wait=5))["stdout"], "1\n")
        equal(named(name), [])
        s.silence(0.2)


# Cancel.

def test_cancel_of_a_running_call():
    with Server() as s:
        name = unique()
        gone = s.start_exec(named_program(name))
        until(lambda: named(name), 5, "the call runs")
        s.cancel(gone)
        until(lambda: not named(name), 0.2 + SLACK_S, "the cancelled run is dead")
        equal(ran(s.exec("print(2)", wait=2))["stdout"], "2\n")
        s.silence(0.5)
        s.start_exec("print(3)", id=gone)
        equal(ran(s.answer(gone)["result"])["stdout"], "3\n")


def test_cancel_of_a_queued_call():
    with Server() as s:
        first = s.start_exec(SLEEP % (0.7, "first"))
        name = unique()
        gone = s.start_exec(named_program(name))
        last = s.start_exec("print('last')")
        s.cancel(gone)
        equal(ran(s.answer(first)["result"])["stdout"], "first\n")
        equal(ran(s.answer(last, 5)["result"])["stdout"], "last\n")
        equal(s.inbox, [])
        equal(named(name), [])
        s.silence(0.3)


def test_cancel_of_the_first_of_many():
    with Server() as s:
        ids = [s.start_exec("import time; time.sleep(60)") for _ in range(20)]
        last = s.start_exec("print('last')")
        for gone in ids:
            s.cancel(gone)
        equal(ran(s.answer(last, 10)["result"])["stdout"], "last\n")
        equal(s.inbox, [])


@case("another type", 7, '"7"')
@case("a near number", 9007199254740993, "9007199254740992")
@case("no string", "x", "null")
@case("unknown", 1, '"no such"')
def test_cancel_that_means_another(id, raw):
    with Server() as s:
        s.start_exec(SLEEP % (0.5, 1), id=id)
        s.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}' % raw)
        equal(ran(s.answer(id)["result"])["stdout"], "1\n")


def test_cancel_of_what_is_over():
    with Server() as s:
        s.send(init(LATEST))
        s.cancel(1)
        equal(s.recv()["id"], 1)
        done = s.start_exec("print(1)")
        s.answer(done)
        s.cancel(done)
        still_there(s)
        equal(ran(s.exec("print(2)"))["stdout"], "2\n")


def test_cancel_with_an_id_beyond_a_double():
    with Server() as s:
        name = unique()
        gone = s.start_exec(named_program(name), id=9007199254740993)
        until(lambda: named(name), 5, "the call runs")
        s.cancel(gone)
        until(lambda: not named(name), 2, "the cancelled run is dead")
        s.silence(0.2)


# Progress.

@case("string", "token")
@case("zero", 0)
@case("beyond a double", 9007199254740993)
def test_progress(token):
    with Server() as s:
        with_token = s.start_exec(SLEEP % (5.6, 1), meta={"progressToken": token})
        answer = s.answer(with_token)
        notes, s.inbox = s.inbox, []
        equal(answer["result"]["isError"], False)
        check(notes, "no progress within five seconds")
        values = [n["params"]["progress"] for n in notes]
        equal(values, sorted(set(values)), "progress does not rise:")
        for note in notes:
            equal((note["method"], note["params"]["progressToken"]), ("notifications/progress", token))
            check("id" not in note and isinstance(note["params"]["message"], str), "note", note)
        s.silence(0.3)


def test_no_progress_unasked():
    with Server() as s:
        s.answer(s.start_exec(SLEEP % (5.6, 1)))
        equal(s.inbox, [])


if __name__ == "__main__":
    main()
