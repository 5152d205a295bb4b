"""The programs that tests/sandbox compares with plain Python, as (name, code, stdin)."""
import importlib
import os
import sys
import types

import mcp

SANDBOX = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "sandbox")


def _load(name):
    """A test program of tests/sandbox that is not run, and asks no server."""
    run_tests = mcp.main
    mcp.main = lambda *_: None
    sys.modules["_sandbox"] = fake = types.ModuleType("_sandbox")
    fake.__getattr__ = lambda attribute: None if attribute.startswith("__") else lambda *_: None
    sys.path.insert(0, SANDBOX)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(SANDBOX)
        mcp.main = run_tests


def programs():
    for name in ("parity", "parity_files", "parity_libraries", "parity_processes", "parity_streams"):
        for part, rows in vars(_load(name)).items():
            if not part.isupper() or not isinstance(rows, list):
                continue
            for row in rows:
                if isinstance(row, tuple) and len(row) in (2, 3) and all(isinstance(word, str) for word in row):
                    yield ("%s.%s.%s" % (name, part.lower(), row[0]), row[1], row[2] if len(row) == 3 else "")
