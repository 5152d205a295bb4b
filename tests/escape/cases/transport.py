"""What could depend on how a call comes in: cases that are sent over HTTP and SSE too, and those of a server that
listens. They are chosen here and nowhere else; all other cases are about what happens behind the queue, which is the
same for every transport."""
import os
import tempfile
from fnmatch import fnmatchcase

from _case import attempts, host
from _target import structured
from mcp import check, equal
from .network import CONNECT, NET

# (case or pattern, why it is sent again)
AGAIN = (
    ("net.only-lo", "the supervisor has a network of its own then"),
    ("net.port-of-*", "listeners beside those of the server"),
    ("net.abstract-socket-of-the-host", "abstract sockets lie in the network namespace that the server listens in"),
    ("net.path-socket-of-the-host", "so may the server's own socket lie"),
    ("net.from-run-to-run", "runs of two servers in one network"),
    ("net.inherited-sockets", "a listener and connections are sockets of the server"),
    ("proc.descriptors", "the same by number, of every kind"),
    ("env.inheritable-descriptors", "the same after an exec"),
    ("env.canary", "the token is in use, and stands in every request"),
    ("env.server-from-outside", "the token is in use"),
    ("proc.memory-of-pid-1", "the supervisor holds the token and other callers' messages"),
    ("proc.write-to-the-client", "the client is at a socket"),
    ("proc.signal-the-server", "another main loop serves"),
    ("proc.cancelled-run-is-gone", "a cancellation comes by a request of its own"),
    ("req.code-*", "a body is no line: its length, bytes and caps are the transport's"),
    ("req.stdin-*", "likewise"),
    ("req.garbage", "likewise"),
    ("req.half-a-message", "likewise"),
    ("req.raw-nul", "likewise"),
    ("req.nul-behind", "likewise"),
    ("req.invalid-utf-8", "likewise"),
    ("req.utf-16", "likewise"),
    ("req.depth-*", "a body is read before it is judged"),
    ("req.code-twice", "a gateway that reviews calls reads the same body"),
    ("req.ids-of-another-type", "ids are told apart by session"),
    ("req.eight-at-once", "every call has a connection of its own, or one stream has all answers"),
    ("out.controls", "a stream of events has separators of its own"),
    ("out.nul", "likewise"),
    ("out.exactly-the-cap", "the longest answer"),
    ("out.looks-like-the-protocol", "an answer in the middle of others"),
)


@host("net.port-of-the-server", "the server's own port, by every name of loopback", NET, "listens")
def port_of_the_server(target):
    """While the server listens there outside, and answers."""
    host_name, port = target.server().address
    check(host_name == "127.0.0.1" and port, "another address:", host_name, port)
    places = [(2, a) for a in ("127.0.0.1", "0.0.0.0", "localhost")] + [(10, a) for a in (
        "::1", "::", "::ffff:127.0.0.1")]
    attempts("", "", NET, CONNECT % (places, port), errors=("ECONNREFUSED",)).judge(target)
    equal(target.server().http("GET", "/healthz").status, 200)


@host("net.ports-of-clients", "the ports of connections between clients and server", NET, "listens", "host")
def ports_of_clients(target):
    """The clients' ends lie in the host's network too."""
    s = target.server()
    ends = [s.connect().socket.getsockname()[1] for _ in range(3)]
    for port in ends + [s.address[1]]:
        attempts("", "", NET, CONNECT % ([(2, "127.0.0.1")], port), errors=("ECONNREFUSED",)).judge(target)


@host("net.own-socket-of-the-server", "the unix socket that a server listens on", ("mount_namespace", NET), "listens",
      "second")
def own_socket_of_the_server(target):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        path = os.path.join(folder, "s")
        with target.instance(env={"MCP_EXEC_ADDR": "unix:" + path}) as s:
            s.initialize()
            code = "import socket\nfor p in (%r, '/proc/1/root' + %r, '../' * 9 + %r):\n" \
                "    try: socket.socket(1).connect(p); print('OPEN', p)\n    except OSError: pass\nprint('tried')"
            equal(structured(s.exec(code % (path, path, path)))["stdout"], "tried\n")


SOCKETS = """
import os, stat
found = []
for fd in range(4096):
    try: found += [fd] if stat.S_ISSOCK(os.fstat(fd).st_mode) else []
    except OSError: pass
print(found, len(os.listdir("/proc/self/fd")) if os.path.exists("/proc/self/fd") else 4)
"""


@host("net.sockets-of-other-clients", "no connection is inherited while others are open, silent or waiting",
      "descriptors", "listens")
def sockets_of_other_clients(target):
    s = target.server()
    silent = [s.connect() for _ in range(5)]
    halves = [s.connect() for _ in range(3)]
    for half in halves:
        half.send(b"POST " + s.path.encode() + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n")
    held = s.start_exec("import time; time.sleep(0.5)\n" + SOCKETS)
    equal(target.exec(SOCKETS)["stdout"], "[] 4\n")
    equal(structured(s.answer(held)["result"])["stdout"], "[] 4\n")
    for connection in silent + halves:
        connection.close()


HTTP_TEXT = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}\r\n0\r\n\r\n" \
            "event: message\ndata: {}\n\n: x\n\n\x00\u2028\u2029\r"


@host("out.looks-like-the-transport", "output that looks like answers, events and chunks is a string and nothing else",
      "protocol", "listens")
def looks_like_the_transport(target):
    code = "import sys\nfor f in (sys.stdout, sys.stderr): f.buffer.write(%r.encode() * 200)"
    result = target.exec(code % HTTP_TEXT)
    equal((result["stdout"], result["stderr"]), (HTTP_TEXT * 200, HTTP_TEXT * 200))


CASES = [port_of_the_server, ports_of_clients, own_socket_of_the_server, sockets_of_other_clients,
         looks_like_the_transport]


# What only one of the two has.
OWN = {"streamable": "http", "stream": "sse"}


def goes(case, name):
    """Whether a case is sent over this transport."""
    if name == "stdio":
        return "listens" not in case.needs
    if name == "url":
        return not set(case.needs) - {"proc"}
    return ("listens" in case.needs or any(fnmatchcase(case.id, pattern) for pattern, _ in AGAIN)) and \
        all(OWN.get(need, name) == name for need in case.needs)
