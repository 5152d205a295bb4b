#!/usr/bin/env python3
"""Standard input and output, and how a program ends: the same as under plain `python3 main.py`."""
import os
import tempfile

from _parity import outside, rows, same, same_and_good
from _sandbox import check, equal, every_mode_was_tried, nothing_left
import mcp
from mcp import cases, main

LINES = "first\nsecond\n\nlast without a newline"
READ = "import sys\n"

STDIN = [
    ("none", READ + "print(repr(sys.stdin.read()), repr(sys.stdin.readline()), list(sys.stdin))"),
    ("one_newline", READ + "print([repr(l) for l in sys.stdin])", "\n"),
    ("lines", READ + "print([l for l in sys.stdin])", LINES),
    ("readlines", READ + "print(sys.stdin.readlines())", LINES),
    ("readline", READ + "while True:\n    line = sys.stdin.readline()\n    print(repr(line))\n    if not line: break",
     LINES),
    ("by_input", "try:\n    while True: print(repr(input()))\nexcept EOFError: print('end')", LINES),
    ("prompts", "print(int(input('a? ')) + int(input('b? ')))", "4\n5"),
    ("all_at_once", READ + "t = sys.stdin.read(); print(len(t), t.count('\\n'))", LINES),
    ("some_then_the_rest", READ + "print(repr(sys.stdin.read(3)), repr(sys.stdin.readline()), repr(sys.stdin.read()))",
     LINES),
    ("fileinput", "import fileinput\nfor line in fileinput.input(): print(fileinput.lineno(), repr(line), "
     "fileinput.filename())", LINES),
    ("buffer", READ + "print(sys.stdin.buffer.read(), sys.stdin.buffer.read1(5))", "é\r\n\0\x1a\x04 ok"),
    ("peek", READ + "print(sys.stdin.buffer.peek(1)[:1], sys.stdin.buffer.readline())", "abc\nd"),
    ("crlf_is_translated", READ + "print([l for l in sys.stdin])", "a\r\nb\rc\n"),
    ("os_read", "import os\nwhile True:\n    b = os.read(0, 4)\n    print(b)\n    if not b: break", "123456789"),
    ("select", "import os, select\nprint(len(select.select([0], [], [], 5)[0]), os.read(0, 99), len(select.select([0], "
     "[], [], 5)[0]), os.read(0, 99))", "x"),
    ("poll", "import select\np = select.poll(); p.register(0, select.POLLIN); print(p.poll(5000)[0][0])", "x"),
    ("seek", READ + "print(sys.stdin.seekable(), sys.stdin.buffer.raw.seekable())\ntry: sys.stdin.seek(0)\n"
     "except OSError as e: print(type(e).__name__, e)\ntry: sys.stdin.tell()\nexcept OSError as e: print(e)", "abc"),
    ("what_it_is", READ + "import os, stat\nprint(sys.stdin.isatty(), os.isatty(0), sys.stdin.fileno(), "
     "sys.stdin.name, sys.stdin.mode, sys.stdin.encoding, sys.stdin.errors, stat.S_ISFIFO(os.fstat(0).st_mode), "
     "sys.stdin.closed)"),
    ("no_terminal", "import os\nfor f in (lambda: os.get_terminal_size(0), lambda: os.ttyname(0)"
     "):\n    try: f()\n    except OSError as e: print(e.errno, e.strerror)"),
    ("size_of_a_terminal_that_is_none", "import shutil; print(shutil.get_terminal_size())"),
    ("dev_stdin", "print(open('/dev/stdin').read(), open('/dev/fd/0').read() == '')", "abc"),
    ("reopened", READ + "sys.stdin.reconfigure(encoding='latin-1'); print(ascii(sys.stdin.read()))", "é"),
    ("wrapped_again", "import io, sys\nprint(ascii(io.TextIOWrapper(sys.stdin.buffer, encoding='utf-8', "
     "newline='').read()))", "a\r\nß\n"),
    ("detached", READ + "b = sys.stdin.detach(); print(b.read(), sys.stdin)", "x"),
    ("a_million_bytes", READ + "import hashlib; t = sys.stdin.buffer.read(); print(len(t), "
     "hashlib.sha1(t).hexdigest())", "0123456789abcdef" * 65536),
    ("a_million_bytes_by_line", READ + "print(sum(len(l) for l in sys.stdin), sys.stdin.read())", "line\n" * 200000),
    ("left_unread", "print('done')", "x" * 300000),
    ("shared_with_a_child", "import subprocess\nprint(input()); print(subprocess.run(['cat'], "
     "stdout=subprocess.PIPE).stdout)", "a\nb\n"),
    ("a_child_reads_it", "import subprocess, sys\nsubprocess.run([sys.executable, '-c', 'print(input())'])", "to you"
     "\n"),
    ("in_a_thread", READ + "import threading\nt = threading.Thread(target=lambda: print(sys.stdin.read())); t.start(); "
     "t.join()", "abc"),
    ("asyncio_reads_it", "import asyncio, sys\nasync def main():\n    r = asyncio.StreamReader()\n    await "
     "asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(r), sys.stdin)\n    "
     "print(await r.readline(), await r.read())\nasyncio.run(main())", "a\nbc"),
    ("csv", "import csv, sys\nfor row in csv.DictReader(sys.stdin): print(row['a'], row['b'])", "a,b\n1,\"x, y\"\n"
     "2,z\n"),
    ("json", "import json, sys\nprint(json.load(sys.stdin)['k'][1])", '{"k": [1, "é"]}'),
    ("code_module", "import code\ncode.interact(banner='b', exitmsg='e')", "1 + 1\nx = 3\nx\n"),
    ("pdb", "import pdb\nx = 5\npdb.set_trace()\nprint('on')", "p x\nc\n"),
    ("getpass", "import getpass, warnings\nwarnings.simplefilter('ignore')\nprint(getpass.getpass('word: '))", "s\n"),
]


@cases(rows(STDIN))
def test_stdin(code, stdin):
    same_and_good(code, stdin)


# What no JSON string can carry comes over the command line.
BINARY = [("every_byte", bytes(range(256))), ("bad_utf_8", b"\xff\xfe\xed\xa0\x80ok"), ("long", os.urandom(1 << 18)),
          ("one_megabyte", bytes(range(256)) * 4096), ("empty", b"")]


READERS = [("as_bytes", "import hashlib, sys\nb = sys.stdin.buffer.read(); print(len(b), "
    "hashlib.sha256(b).hexdigest())"),
           ("as_text", "import sys\nt = sys.stdin.read(); print(len(t), ascii(t[:300]))")]


@cases([("%s_%s" % (name, how), data, code) for name, data in BINARY for how, code in READERS])
def test_bytes_of_stdin(data, code):
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(code)
        file.flush()
        os.chmod(file.name, 0o644)
        got = mcp.run(["run", file.name], input=data)
    equal(got, (0, outside(code, data)["stdout"].encode(), b""))


OUTPUT = [
    ("what_it_is", "import sys\nfor f in (sys.stdout, sys.stderr): print(f.isatty(), f.encoding, f.errors, f.fileno(), "
     "f.name, f.mode, f.line_buffering, f.write_through, f.seekable(), f.readable())"),
    ("by_every_way", "import os, sys\nprint('a'); sys.stdout.write('b\\n'); sys.stdout.buffer.write(b'c\\n'); "
     "os.write(1, b'd\\n'); sys.__stdout__.write('f\\n'); os.system('echo g')\n"
     "open('/dev/stdout', 'a').write('h\\n'); os.fdopen(1, 'w', closefd=False).write('i\\n'); print('j', "
     "file=sys.stderr)"),
    ("by_c", "import ctypes\nc = ctypes.CDLL(None); c.puts(b'puts'); c.printf(b'%d\\n', 5); c.fflush(None)"),
    ("large", "for i in range(60000): print(i, 'x')\nimport sys; sys.stderr.write('y' * 200000)"),
    ("one_large_write", "import os; print(os.write(1, b'x' * 300000) > 0)"),
    ("writelines", "import sys; sys.stdout.writelines(['a', 'b\\n'] * 3); sys.stdout.flush()"),
    ("redirected", "import contextlib, io, sys\nwith contextlib.redirect_stdout(io.StringIO()) as s: print('hidden')\n"
     "print(repr(s.getvalue()))\nsys.stdout = sys.stderr; print('on stderr')"),
    ("duplicated", "import os\nn = os.dup(1); os.write(n, b'n\\n'); r, w = os.pipe(); os.dup2(w, 1); print('into it'); "
     "os.dup2(n, 1); print(os.read(r, 99))"),
    ("errors_of_characters", "import sys\nsys.stderr.write('\\ud800\\n'); sys.stdout.reconfigure(errors='replace'); "
     "print('\\udfff')"),
    ("another_encoding", "import sys\nsys.stdout.reconfigure(encoding='latin-1'); print('abc')\n"
     "sys.stdout.reconfigure(encoding='ascii', errors='xmlcharrefreplace'); print('é')"),
    ("buffered_by_itself", "import io, sys\nout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, 'w', "
     "closefd=False)))\nout.write('kept until the end')\nprint('first')"),
    ("never_flushed", "import os, sys\nf = open(1, 'w', closefd=False, buffering=9999); f.write('lost'); "
     "print('kept'); os._exit(0)"),
    ("closed_stdout", "import sys\nsys.stdout.close(); print('x', file=sys.stderr)"),
    ("end_and_flush", "print('a', end='\\r'); print(1, 2, sep='\\t', end='', flush=True); print(*range(3), sep='\\n')"),
    ("progress_bar", "import sys\nfor i in range(5): sys.stdout.write('\\r%d%%' % (i * 25)); sys.stdout.flush()\n"
     "print()"),
    ("colours", "print('\\x1b[31mred\\x1b[0m')"),
]


@cases(rows(OUTPUT))
def test_output(code, stdin):
    same_and_good(code, stdin)


ENDS = [("exit_" + label, "import sys\nprint('x')\nsys.exit(%s)" % value) for label, value in
        (("0", "0"), ("1", "1"), ("true", "True"), ("256", "256"), ("minus_1", "-1"), ("large", "2 ** 31"),
         ("huge", "2 ** 100"), ("float", "1.5"), ("empty_word", "''"), ("tuple", "(1, 2)"), ("two", "[2]"),
         ("object", "type('Odd', (), {'__str__': lambda s: 'odd'})()"), ("exception", "ValueError('v')"))] + [
    ("quit", "quit(3)"), ("exit_builtin", "exit('bye')"), ("system_exit_subclass", "class E(SystemExit): pass\n"
     "raise E(4)"),
    ("os_exit", "import os; print('x'); os._exit(9)"),
    ("exit_in_finally", "import sys\ntry: 1/0\nfinally: sys.exit(6)"),
    ("exit_in_atexit", "import atexit, sys\natexit.register(sys.exit, 5)\nprint('x')"),
    ("atexit_order", "import atexit\nfor i in range(4): atexit.register(print, i)\natexit.unregister(len)\nprint('m')"),
    ("atexit_fails", "import atexit\natexit.register(print, 'still')\natexit.register(lambda: 1/0)\nprint('m')"),
    ("atexit_after_an_exception", "import atexit\natexit.register(print, 'last')\n1/0"),
    ("atexit_not_after_os_exit", "import atexit, os\natexit.register(print, 'never'); os._exit(0)"),
    ("del_of_globals", "class A:\n    def __init__(s, n): s.n = n\n    def __del__(s): print('del', s.n)\n"
     "a, b = A(1), A(2)\nc = [A(3)]; c.append(c)\nprint('end')"),
    ("del_after_an_exception", "class A:\n    def __del__(s): print('del')\na = A()\n1/0"),
    ("weakref_finalizer", "import weakref\nclass A: pass\na = A(); weakref.finalize(a, print, 'finalized')\n"
     "print('e')"),
    ("unflushed_file", "import os, subprocess, sys\nsubprocess.run([sys.executable, '-c', 'f = open(\"f\", \"w\"); "
     "f.write(\"kept\")'])\nprint(open('f').read())"),
    ("unclosed_file_warned", "import warnings, gc\nwarnings.simplefilter('always')\ndef f(): open('x', 'w')\nf(); "
     "gc.collect()"),
    ("context_managers_unwind", "import contextlib\n@contextlib.contextmanager\ndef c(n):\n    try: yield\n"
     "    finally: print('out', n)\nwith c(1), c(2): raise KeyError('k')"),
    ("excepthook", "import sys\nsys.excepthook = lambda t, v, b: print('hook', t.__name__, v)\n1/0"),
    ("excepthook_fails", "import sys\ndef hook(*a): raise RuntimeError('in hook')\nsys.excepthook = hook\n1/0"),
    ("exception_without_words", "class E(Exception):\n    def __str__(s): 1/0\nraise E()"),
    ("exception_of_a_module", "import json\njson.loads('{')"),
    ("long_traceback", "def f(n): return f(n - 1) if n else 1/0\nf(10)"),
    ("repeated_frames", "import sys\nsys.setrecursionlimit(150)\ndef f(): f()\nf()"),
    ("traceback_of_exec", "exec(compile('1/0', 'made up', 'exec'))"),
    ("traceback_with_a_cause", "def f():\n    raise KeyError('k')\ntry: f()\nexcept KeyError as e: raise OSError(2, "
     "'no', 'file') from e"),
    ("traceback_without_context", "try: 1/0\nexcept ZeroDivisionError: raise ValueError from None"),
    ("traceback_module", "import sys, traceback\ntry: {}['k']\nexcept KeyError: traceback.print_exc(); "
     "print(traceback.format_exc(limit=1)); traceback.print_stack()"),
    ("traceback_of_a_file", "open('m.py', 'w').write('def f():\\n    return 1 / 0\\n')\nimport m\nm.f()"),
    ("traceback_of_not_ascii", "größe = 'é😀'\nraise ValueError(größe)"),
    ("system_exit_with_context", "try: 1/0\nexcept ZeroDivisionError: raise SystemExit('gone')"),
    ("stop_iteration", "next(iter([]))"), ("generator_exit", "raise GeneratorExit('g')"),
    ("warning_as_error", "import warnings\nwarnings.simplefilter('error'); warnings.warn('w')"),
]


@cases(rows(ENDS))
def test_end(code, stdin):
    same(code, stdin)


SYNTAX = [("unclosed", "print((1, 2)\nx = 3\n"), ("unclosed_string", "x = 'abc\nprint(x)"),
          ("unclosed_triple", "x = '''abc\n"), ("keyword", "class = 3"), ("assignment", "1 = x"), ("return", "return"
           " 5"),
          ("await", "await f()"), ("break", "break"), ("unmatched", "x = 1)"), ("missing_colon", "if True\n    pass"),
          ("unindent", "if 1:\n        x = 1\n    y = 2"), ("unexpected_indent", "x = 1\n  y = 2"), ("dollar", "x = "
           "$5"),
          ("invisible", "x\u200b = 1"), ("curly_quotes", "print(\u201chi\u201d)"), ("old_print", "print 'hello'"),
          ("old_except", "try: pass\nexcept A, b: pass"), ("twice", "def f(a, a): pass"), ("global", "x = 1\ndef "
           "f():\n    x = 2\n    global x"), ("nonlocal", "nonlocal x"), ("f_string", "f'{a b}'"), ("number", "x = "
               "012"),
          ("escape", "'\\N{no such}'"), ("unicode_escape", "'\\u12'"), ("starred", "*a = 5"), ("future",
          "from __future__ import braces"), ("encoding_line", "# -*- coding: latin-1 -*-\nx = = 1"),
          ("too_deep", "x = " + "(" * 300 + ")" * 300), ("warned", "x = 1\nx is 5\nprint('ran')"),
          ("last_line_open", "if 1:")]


@cases(SYNTAX)
def test_syntax_error(code):
    result = same(code)
    check(result["exit_code"] == 1 or "Warning" in result["stderr"], "no error", result)


def test_every_mode_was_tried():
    every_mode_was_tried()


def test_nothing_is_left():
    nothing_left()


main()
