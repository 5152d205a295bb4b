"""What both programs here start: a server of ours that listens on a free port of 127.0.0.1."""
import contextlib
import os
import re
import signal
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "lib"))
from mcp import Server, check, until  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
# One line of the log for each address; a port of 0 was replaced by the one that the kernel chose.
LISTENS = re.compile(rb'event=http\.listen addr="?(127\.0\.0\.1:\d+)')


@contextlib.contextmanager
def listening(command=None):
    """Starts mcp-exec, or this command, and gives its address. It has no token: the suite cannot send one."""
    with Server(env={"MCP_EXEC_TRANSPORT": "http", "MCP_EXEC_ADDR": "127.0.0.1:0"}, command=command) as server:
        def address():
            check(server.process.poll() is None, "the server ended:", server.stderr())
            return LISTENS.search(server.stderr())

        yield until(address, 20, "the server listens").group(1).decode()
        server.kill(signal.SIGTERM)
        server.wait_exit()


def rows(name):
    """The lines of a table of this directory that are no comments, with their numbers."""
    with open(os.path.join(HERE, name), encoding="utf-8") as file:
        return [(n, line.rstrip("\n")) for n, line in enumerate(file, 1) if line.strip() and not line.startswith("#")]
