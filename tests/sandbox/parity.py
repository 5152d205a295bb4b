#!/usr/bin/env python3
"""The same program gives the same as plain `python3 main.py`, run outside by the interpreter that runs use."""
from _parity import rows, same, same_and_good
from _sandbox import every_mode_was_tried
from mcp import cases, main

PROGRAMS = [
    ("hello", "print('hello')"),
    ("empty_lines", "\n\n\nprint('x')\n\n"),
    ("several_streams", "import sys\nfor i in range(5):\n    print(i); print(-i, file=sys.stderr)"),
    ("exit_code", "import sys; print('x'); sys.exit(17)"),
    ("exit_word", "raise SystemExit('bad input')"),
    ("exit_none", "import sys; sys.exit()"),
    ("traceback", "def f(x):\n    return g(x)\ndef g(x):\n    return {}[x]\nf('key')"),
    ("chained", "try:\n    1/0\nexcept ZeroDivisionError as e:\n    raise ValueError('second') from e"),
    ("in_context", "try:\n    1/0\nexcept ZeroDivisionError:\n    [].pop()"),
    ("exception_group", "raise ExceptionGroup('g', [ValueError(1), TypeError(2)])"),
    ("note", "e = ValueError('x'); e.add_note('a note'); raise e"),
    ("syntax_error", "print('a')\nfor\n"),
    ("indentation_error", "if 1:\nprint(2)"),
    ("tab_error", "if 1:\n        x = 1\n\ty = 2\n"),
    ("bad_encoding", "# coding: nonsense\nprint(1)"),
    ("name_error_suggestion", "import math\nprnt = 1\nprint(math.pii)"),
    ("recursion", "def f(): f()\nf()"),
    ("assertion", "assert 1 == 2, 'they differ'"),
    ("keyboard_interrupt", "raise KeyboardInterrupt"),
    ("unraisable", "class A:\n    def __del__(self): 1/0\na = A()\ndel a\nprint('after')"),
    ("thread_exception",
     "import threading\nt = threading.Thread(target=lambda: 1/0, name='t'); t.start(); t.join(); print('main')"),
    ("warning", "import warnings\nwarnings.warn('careful')\nprint('x')"),
    ("deprecation", "import warnings\nwarnings.warn('old', DeprecationWarning)"),
    ("atexit", "import atexit\natexit.register(print, 'last')\nprint('first')"),
    ("generator_cleanup", "def g():\n    try: yield 1\n    finally: print('closed')\nx = g(); next(x)"),
    ("input_eof", "input('name? ')"),
    ("stdin", "import sys\nprint([len(l) for l in sys.stdin])", "a\nbb\n\nccc"),
    ("prompt", "print(input('a? ') + input('b? '))", "1\n2\n"),
    ("invalid_output_character", "print('\\ud800')"),
    ("floats", "print(0.1 + 0.2, 1e300 * 1e10, float('nan'), round(2.5), -0.0, 10 ** 30, 7 // -2, 5 % -3)"),
    ("integers", "print(2 ** 1000, (-7) // 2, int('0x1f', 16), 1_000_000)"),
    ("big_integer_text", "print(len(str(10 ** 5000)))"),
    ("formatting", "print(f'{3.14159:>10.2f}|{255:#x}|{\"x\":^7}|{1234567:,}')\nprint('%05d %s %r' % (42, 'a', 'b'))"),
    ("sorting", "print(sorted({'b': 1, 'a': 2}.items()), sorted('bca', reverse=True), sorted([(1, 'b'), (1, 'a')]))"),
    ("classes", "from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\n    y: int = 2\nprint(P(1), "
                "P(1) == P(1, 2))"),
    ("match", "for v in (1, [1, 2], {'k': 3}):\n    match v:\n        case [a, b]: print('list', a, b)\n"
              "        case {'k': k}: print('dict', k)\n        case _: print('other')"),
    ("json", "import json\nprint(json.dumps({'a': [1, None, True, 'é']}, indent=1, ensure_ascii=False))"),
    ("regular_expressions", "import re\nprint(re.findall(r'(\\w)(\\d+)', 'a1 b22'), re.sub('x', 'y', 'xx'))"),
    ("dates", "import datetime as d\nprint(d.date(2024, 2, 29) + d.timedelta(365))\n"
     "print(d.datetime(2026, 1, 1).strftime('%A %j'))"),
    ("decimal_and_fractions",
     "from decimal import Decimal\nfrom fractions import Fraction\nprint(Decimal(1) / 3, Fraction(1, 3) + 1)"),
    ("seeded_random",
     "import random\nrandom.seed(42)\nprint([random.randint(0, 99) for _ in range(5)], random.gauss(0, 1))"),
    ("hashing", "import hashlib, zlib\nprint(hashlib.md5(b'x').hexdigest(), zlib.crc32(b'x'))\n"
     "print(hash(1.5), hash(10 ** 20))"),
    ("unicode", "import unicodedata\ns = 'ñ😀e\\u0301'\nprint(s, len(s), s.upper(), ascii(s))\n"
     "print(unicodedata.normalize('NFC', s))"),
    ("bytes", "import sys\nsys.stdout.buffer.write(bytes(range(128)))"),
    ("pretty_printing", "import pprint\npprint.pprint({i: list(range(i)) for i in range(12)})"),
    ("itertools", "import itertools as i, functools as f\nprint(list(i.permutations('abc', 2))[:4], "
                  "f.reduce(int.__mul__, range(1, 20)))"),
    ("primes", "print([n for n in range(2, 200) if all(n % d for d in range(2, int(n ** .5) + 1))])"),
    ("text_wrapping", "import textwrap\nprint(textwrap.fill('word ' * 40, 33))"),
    ("async", "import asyncio\nasync def f(i):\n    await asyncio.sleep(0); return i\nasync def main(): print(await "
              "asyncio.gather(*map(f, range(5))))\n"
              "asyncio.run(main())"),
    ("introspection", "import inspect, sys\ndef f(a, *b, c=1): 'doc'\nprint(inspect.signature(f), f.__doc__, "
                      "sys.argv, __name__, __doc__)"),
    ("help", "help(len)"),
    ("imports", "import sys\nprint(sorted(m for m in sys.modules if not m.startswith('_'))[:20])\n"
     "print(sys.path[1:], sys.byteorder)"),
    ("site", "import site, sys\nprint(site.ENABLE_USER_SITE, sys.prefix, sys.executable, sys.flags)"),
    ("missing_module", "import no_such_module"),
    ("missing_file", "open('no such file')"),
    ("a_directory", "open('/usr', 'w')"),
    ("exec_and_eval", "exec('x = 1')\nprint(eval('x + 1'))\nexec('1/0')"),
    ("logging", "import logging\nlogging.warning('a')\nlogging.basicConfig(level=10)\nlogging.debug('b')"),
    ("argparse",
     "import argparse\np = argparse.ArgumentParser(); p.add_argument('--x', required=True); p.parse_args()"),
    ("unittest", "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(1, 1)\n"
                 "unittest.main(argv=['x', '-q'], exit=False, "
                 "testRunner=unittest.TextTestRunner(stream=open('/dev/null', 'w')))\nprint('x')"),
    ("doctest", "'''\n>>> 1 + 1\n3\n'''\nimport doctest\nprint(doctest.testmod().failed)"),
    ("sqlite", "import sqlite3\nc = sqlite3.connect(':memory:')\n"
     "print(c.execute('select 1 + 1, upper(?)', ('x',)).fetchall())"),
    ("child", "import subprocess\nprint(subprocess.run(['sh', '-c', 'echo out; echo err >&2; exit 3']).returncode)"),
    ("fork", "import os\nif os.fork() == 0: os._exit(3)\nprint(os.wait()[1] >> 8)"),
    ("killed_child",
     "import os, signal\np = os.fork()\nif p == 0: signal.pause()\nos.kill(p, 9); print(os.waitpid(p, 0)[1])"),
    ("ended_by_signal", "import os\nprint('x', flush=True)\nos.kill(os.getpid(), 15)"),
    ("aborted", "import os; os.abort()"),
]


# Those that cannot end well on any version, or need a newer one than some.
FAIL = {"exit_code", "exit_word", "traceback", "chained", "in_context", "exception_group", "note", "syntax_error",
        "indentation_error", "tab_error", "bad_encoding", "name_error_suggestion", "recursion", "assertion",
        "keyboard_interrupt", "input_eof", "invalid_output_character", "match", "missing_module", "missing_file",
        "a_directory", "exec_and_eval", "argparse", "ended_by_signal", "aborted", "big_integer_text", "exit_none"}


@cases(rows([row for row in PROGRAMS if row[0] in FAIL]))
def test_same_as_plain_python(code, stdin):
    same(code, stdin)


@cases(rows([row for row in PROGRAMS if row[0] not in FAIL]))
def test_same_and_good(code, stdin):
    same_and_good(code, stdin)


def test_every_mode_was_tried():
    every_mode_was_tried()


main()
