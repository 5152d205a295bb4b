#!/usr/bin/env python3
"""What a caller gets back: streams byte for byte, how the program ended, and what it was told about itself."""
import json
import re
import time

from _sandbox import check, equal, expect, nothing_left, printed, run, server, structured
from mcp import cases, main, within

R = re.compile

# (name, program, what must be in the result)
ENDS = [
    ("nothing", "pass", dict(exit_code=0, stdout="", stderr="", signal=None, limit=None, timed_out=False,
                             truncated=False,
                             warnings=[])),
    ("code_3", "import sys; sys.exit(3)", dict(exit_code=3, signal=None, limit=None)),
    ("code_255", "import os; os._exit(255)", dict(exit_code=255, signal=None)),
    ("code_256_wraps", "import sys; sys.exit(256)", dict(exit_code=0)),
    ("code_minus_1", "import sys; sys.exit(-1)", dict(exit_code=255)),
    ("a_word_as_code", "import sys; sys.exit('no')", dict(exit_code=1, stderr="no\n")),
    ("exception", "1/0", dict(exit_code=1, stderr=R("ZeroDivisionError: division by zero\n$"), signal=None,
                              limit=None)),
    ("unflushed", "import os; print('partial', end=''); os._exit(7)", dict(exit_code=7, stdout="partial")),
    ("abort", "import os; os.abort()", dict(exit_code=-1, signal="SIGABRT", limit=None, timed_out=False)),
    ("kill_itself", "import os; print('before'); os.kill(os.getpid(), 9)",
     dict(exit_code=-1, signal="SIGKILL", limit=None, timed_out=False, stdout="before\n")),
    ("term_itself", "import os; os.kill(os.getpid(), 15)", dict(exit_code=-1, signal="SIGTERM", limit=None)),
    ("segfault", "import ctypes; ctypes.string_at(0)", dict(exit_code=-1, signal="SIGSEGV", limit=None)),
    ("user_signal", "import os; os.kill(os.getpid(), 10)", dict(exit_code=-1, signal="SIGUSR1")),
    ("pipe_signal", "import os, signal; signal.signal(13, signal.SIG_DFL); os.kill(os.getpid(), 13)",
     dict(exit_code=-1, signal="SIGPIPE")),
    ("interrupt", "import os; os.kill(os.getpid(), 2)",
     dict(exit_code=-1, signal="SIGINT", stderr=R("KeyboardInterrupt"))),
    ("real_time_signal", "import os, signal; os.kill(os.getpid(), signal.SIGRTMIN + 3)",
     dict(exit_code=-1, signal="SIGRTMIN+3")),
    ("child_by_signal", "import os, subprocess; print(subprocess.run(['sh', '-c', 'kill -9 $$']).returncode)",
     dict(exit_code=0, signal=None, stdout="-9\n")),
    ("deep_recursion", "def f(n): return f(n + 1)\nf(0)", dict(exit_code=1, limit=None, stderr=R("RecursionError"))),
    ("syntax_error", "x = (\n", dict(exit_code=1, stdout="", stderr=R(r'File "/sandbox/main.py", line \d\n'
                                                                      r'.*\n +\^\nSyntaxError'))),
    ("nul_in_code", "print(1)\0\nprint(2)", dict(exit_code=1, stdout="", stderr=R("SyntaxError"))),
    ("main_exec", "import os, sys; os.execv('/bin/sh', ['sh', '-c', 'echo $0; exit 9'])", dict(exit_code=9,
                                                                                               stdout="sh\n")),
]


@cases(ENDS)
def test_end(code, want):
    expect(run(code), **want)


def test_the_stack_has_an_end():
    result = run("import sys\nsys.setrecursionlimit(10**7)\nclass A:\n    def __getattr__(self, name): return "
                 "getattr(self, name)\n"
                 "A().x")
    check(result["signal"] == "SIGSEGV" or "RecursionError" in result["stderr"], "odd end", result)


OUTPUTS = [
    ("no_newline_added", "import os; os.write(1, b'a\\r\\nb')", "a\r\nb"),
    ("one_long_line", "import sys; sys.stdout.write('a' * 1000000)", "a" * 1000000),
    ("exactly_the_cap", "import sys; sys.stdout.write('x' * 1048576)", "x" * 1048576),
    ("nul", "import os; os.write(1, b'a\\0b\\0')", "a\0b\0"),
    ("control_characters", "import sys; sys.stdout.write(''.join(map(chr, range(32))) + "
                           "'\\x7f\\x80\\x9b\\u2028\\u2029\\ufeff\\uffff\\U0001F600')",
     "".join(map(chr, range(32))) + "\x7f\x80\x9b\u2028\u2029\ufeff\uffff\U0001F600"),
    ("protocol", "print('{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\\nContent-Length: 5\\r\\n\\r\\nevent: "
                 "message\\ndata: {}\\n')",
     '{"jsonrpc":"2.0","id":1,"result":{}}\nContent-Length: 5\r\n\r\nevent: message\ndata: {}\n\n'),
    ("quotes", r"print('\"\\/\b\f')", '"\\/\b\f\n'),
    ("many_small_writes", "for i in range(20000): print(i)", "".join("%d\n" % i for i in range(20000))),
    ("of_a_child", "import subprocess; print('a'); subprocess.run(['echo', 'b']); print('c')", "a\nb\nc\n"),
    ("by_dev_stdout", "open('/dev/stdout', 'w').write('x')", "x"),
    ("by_proc", "open('/proc/self/fd/1', 'w').write('x')", "x"),
]


@cases(OUTPUTS)
def test_stdout_is_intact(code, want):
    result = run(code)
    expect(result, exit_code=0, stderr="", truncated=False, limit=None)
    equal(result["stdout"], want)


REPAIRED = [
    ("lone_bytes", b"\xff\xfe\x00abc\x80\n"), ("overlong", b"\xc0\xaf"), ("surrogate", b"\xed\xa0\x80"),
    ("too_large", b"\xf4\x90\x80\x80"), ("cut_short", b"ab\xe2\x82"), ("cut_then_letter", b"\xe2\x82x"),
    ("four_bytes_cut", b"\xf0\x9f\x98 ok"), ("good_between", "é€😀".encode() + b"\xff" + "é".encode()),
    ("latin_1", "Grüße".encode("latin-1")),
]


@cases(REPAIRED)
def test_bytes_that_are_no_text_are_replaced_as_python_does(data):
    result = run("import os; os.write(1, %r); os.write(2, %r)" % (data, data))
    expect(result, stdout=data.decode("utf-8", "replace"), stderr=data.decode("utf-8", "replace"), exit_code=0)
    check(any("replaced" in w for w in result["warnings"]), "it must be said", result["warnings"])


def test_one_byte_more_than_the_cap_is_cut():
    result = run("import sys; sys.stdout.write('x' * 1048577)")
    expect(result, truncated=True, limit="output", exit_code=0)
    equal(len(result["stdout"]), 1048576)


def test_both_streams_flooded_do_not_lock():
    result = run("import os\nfor i in range(8000): os.write(1, b'o' * 100); os.write(2, b'e' * 100)")
    equal(len(result["stdout"]) + len(result["stderr"]), 1048576)
    expect(result, exit_code=0, truncated=True)


def test_both_streams_are_kept_apart():
    result = run("import os\nfor i in range(3000): os.write(1, b'o' * 100); os.write(2, b'e' * 100)")
    expect(result, stdout="o" * 300000, stderr="e" * 300000, exit_code=0, truncated=False)


def test_every_answer_says_the_same_as_text():
    s = server()
    result = s.exec("print('a\\0b'); import sys; sys.exit(4)")
    check(json.dumps(result["structuredContent"]["stdout"]).strip('"') in result["content"][0]["text"]
          or result["structuredContent"] == json.loads(result["content"][0]["text"]), "text differs", result)


STDIN = [
    ("none", "import sys; print(repr(sys.stdin.read()))", None, "''\n"),
    ("empty", "import sys; print(repr(sys.stdin.read()))", "", "''\n"),
    ("lines", "print(input(), input())", "a\nb\n", "a b\n"),
    ("no_final_newline", "print(repr(input()))", "x", "'x'\n"),
    ("nul", "import sys; print(repr(sys.stdin.read()))", "a\0b", "'a\\x00b'\n"),
    ("not_ascii", "print(ascii(input()))", "é😀\n", "'\\xe9\\U0001f600'\n"),
    ("crlf", "import sys; print(sys.stdin.buffer.read())", "a\r\nb", "b'a\\r\\nb'\n"),
    ("one_mebibyte", "import sys; print(len(sys.stdin.read()))", "x" * (1 << 20), "1048576\n"),
    ("by_a_child", "import subprocess; print(subprocess.run(['cat'], capture_output=True).stdout)", "hi", "b'hi'\n"),
    ("echoed", "import sys\nfor line in sys.stdin: sys.stdout.write(line)", "line\n" * 100000, "line\n" * 100000),
    ("unread", "print(1)", "a" * 1000000, "1\n"),
    ("closed", "import os; os.close(0); print(1)", "a" * 1000000, "1\n"),
    ("partly_read", "import sys; print(sys.stdin.read(3))", "a" * 1000000, "aaa\n"),
    ("by_dev_stdin", "print(open('/dev/stdin').read())", "x", "x\n"),
]


@cases(STDIN)
def test_stdin(code, stdin, want):
    start = time.monotonic()
    equal(printed(code, **({} if stdin is None else {"stdin": stdin})), want)
    within(time.monotonic() - start, 0, 2)


def test_input_at_the_end_of_stdin():
    expect(run("input()"), exit_code=1, stderr=R(r"EOFError: EOF when reading a line\n$"))


def test_stdin_that_closes_at_once_is_no_wait():
    equal(printed("import select, sys; print(bool(select.select([0], [], [], 5)[0]), sys.stdin.isatty())"),
          "True False\n")


IDENTITY = [
    ("names", "import sys; print(sys.argv, __name__, __file__, sys.path[0])",
     "['main.py'] __main__ /sandbox/main.py /sandbox\n"),
    ("source", "import inspect\ndef f(): return 1\nprint(inspect.getsource(f), end='')", "def f(): return 1\n"),
    ("main", "if __name__ == '__main__': print('main')", "main\n"),
    ("globals", "print(sorted(globals()))", "['__annotations__', '__builtins__', '__cached__', '__doc__', '__file__', "
     "'__loader__', '__name__', '__package__', '__spec__']\n"),
    ("own_file", "print(open(__file__).read(), end='')", "print(open(__file__).read(), end='')"),
    ("imports_from_here", "open('m.py', 'w').write('x = 5')\nimport m; print(m.x, m.__file__)", "5 /sandbox/m.py\n"),
    ("flags", "import sys; print(sys.flags.isolated, sys.flags.no_site, sys.flags.optimize, sys.flags.interactive)",
     "0 0 0 0\n"),
    ("docstring", "'''doc'''\nprint(__doc__)", "doc\n"),
    ("encoding_line", "# coding: latin-1\nprint(1)", "1\n"),
    ("crlf_source", "x = 1\r\nif x:\r\n    print('ok')\r\n", "ok\n"),
    ("byte_order_mark", "\ufeffprint('ok')", "ok\n"),
    ("no_final_newline", "print('ok')", "ok\n"),
    ("utf_8_source", "s = 'é€😀'\nprint(s, len(s))", "é€😀 3\n"),
    ("large_source", "x = 0\n" + "x += 1\n" * 50000 + "print(x)", "50000\n"),
]


@cases(IDENTITY)
def test_script(code, want):
    equal(printed(code), want)


def test_traceback_names_the_script_and_no_frame_of_ours():
    lines = run("def f():\n    return 1/0\n\nf()\n")["stderr"].splitlines()
    # Which carets there are depends on the version of Python.
    equal([line for line in lines if line.strip(" ~^")],
          ["Traceback (most recent call last):", '  File "/sandbox/main.py", line 4, in <module>', "    f()",
           '  File "/sandbox/main.py", line 2, in f', "    return 1/0", "ZeroDivisionError: division by zero"])


def test_duration_is_measured():
    result = run("import time; time.sleep(0.3)")
    check(300 <= result["duration_ms"] < 900, "duration_ms", result["duration_ms"])


def test_order_of_runs_is_kept_and_none_meets_another():
    s = server()
    calls = [s.start_exec("import os; print(%d, os.listdir())" % i) for i in range(8)]
    equal([structured(s.answer(c)["result"])["stdout"] for c in calls], ["%d ['main.py']\n" % i for i in range(8)])


def test_nothing_is_left():
    nothing_left()


main()
