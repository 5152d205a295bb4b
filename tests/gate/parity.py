#!/usr/bin/env python3
"""A program does in a copy of a pristine interpreter what it does under plain `python3 main.py`."""
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
from mcp import cases, main   # noqa: E402
from _pristine import Pristine, Workplace   # noqa: E402
from _programs import PROGRAMS   # noqa: E402
import _tables   # noqa: E402

PYTHON = os.environ.get("GATE_PYTHON", "/usr/bin/python3")
KINDS = os.environ.get("GATE_KINDS", "|numpy,pandas,matplotlib.pyplot").split("|")

_open = {}


def neutral(data):
    """Addresses, numbers of processes and threads, and times are nobody's contract."""
    return re.sub(rb"0x[0-9a-f]{6,}|Thread-\d+|\bpid \d+|pid=\d+|\b1[34]\d{13}\b|/tmp/gate\w+", b"#", data)


def _place():
    if "place" not in _open:
        _open["place"] = Workplace(PYTHON)
    return _open["place"]


def _pristine(modules):
    if modules not in _open:
        _open[modules] = Pristine(_place(), modules)
    return _open[modules]


def _same(name, code, stdin):
    plain = _place().plain(code, stdin)
    for modules in KINDS:
        copy = _pristine(modules).run(code, stdin)
        for what in ("status", "out", "err"):
            got, want = getattr(copy, what), getattr(plain, what)
            if what != "status":
                got, want = neutral(got), neutral(want)
            if got != want:
                raise AssertionError("%s, preloaded %r: %s\n%s\nplain\n%s" % (name, modules, what, copy, plain))


ALL = PROGRAMS + list(_tables.programs())


@cases([(name, name, code, stdin) for name, code, stdin in ALL])
def test_same_as_plain_python(name, code, stdin):
    _same(name, code.encode("utf-8", "surrogateescape"), stdin.encode())


try:
    main()
finally:
    for opened in reversed(list(_open.values())):
        opened.close()
