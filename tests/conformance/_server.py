"""What both programs here start: a server of ours that listens on a free port of 127.0.0.1."""
import contextlib
import os
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from web import HttpServer  # noqa: E402


@contextlib.contextmanager
def listening(command=None):
    """Starts mcp-exec, or this command, and gives its address. It has no token: the suite cannot send one."""
    with HttpServer(command=command) as server:
        yield "%s:%d" % server.address


def rows(name):
    """The lines of a table of this directory that are no comments, with their numbers."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return [(n, line.rstrip("\n")) for n, line in enumerate(file, 1) if line.strip() and not line.startswith("#")]
