"""A peer that sends any bytes to a server that listens, and what the server may say to them.

What does not come in time is Open here, not Broken: a server that only waits has refused nothing.
"""
import os
import re
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from _case import Case, Open  # noqa: E402
from _target import Broken  # noqa: E402
from mcp import PATIENCE, Timeout  # noqa: E402
from web import BOTH  # noqa: E402
from wire import Connection, request  # noqa: E402

TOKEN = "Walls-0123456789-abcdefghijklmnopqrstuvwxyz"
GUARDED = {"MCP_EXEC_AUTH_TOKEN": TOKEN, "MCP_EXEC_LOG_LEVEL": "debug"}
RIGHT, LOCAL = ("X-MCP-AUTH", TOKEN), ("Host", "localhost")
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE")
# A message that is answered by a status alone, on every transport.
NOTE = b'{"jsonrpc":"2.0","method":"notifications/unknown"}'
# By which the server closes a connection whose request it has refused, and one that it has answered as the last.
SOON_S = 5
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) [ -~]*\r\n")


def doors(target):
    """The paths that want the token."""
    if target.name == "http":
        return "/mcp", "/metrics"
    return "/sse", "/", "/messages?sessionId=" + "0" * 32, "/metrics"


def inlet(s):
    """Where this client's messages go."""
    return getattr(s, "endpoint", None) or s.path


class Said:
    """One answer of the server: its status, the bytes of its head, its body."""

    def __init__(self, status, head, body):
        self.status, self.head, self.body = status, head, body

    def __repr__(self):
        return "%d %.60r" % (self.status, self.body)


def _cut(data, bodiless):
    """The answers in what the server has said. Only the last may be without an end, as a stream is."""
    while data:
        start, (head, end, rest) = STATUS.match(data), data.partition(b"\r\n\r\n")
        if not start or not end:
            raise Open("no answer: %.100r" % data)
        status, found = int(start.group(1)), re.search(rb"\r\nContent-Length: (\d+)", head)
        length = int(found.group(1)) if found else 0 if status in (204, 100) else len(rest)
        length = 0 if bodiless else length
        yield Said(status, head, rest[:length])
        data = rest[length:]


def _heard(connection, finished, timeout):
    """All that the server says up to the end of the connection, which must come when the peer has finished or is
    refused: an answer behind which the connection is kept is not waited out."""
    deadline, data = time.monotonic() + timeout * PATIENCE, b""
    while True:
        try:
            more = connection.some(1 << 16, deadline)
        except Timeout:
            raise Open("the connection stays, after %.100r" % data)
        if not more:
            return data
        data += more
        head, end, _ = data.partition(b"\r\n\r\n")
        if not finished and end and b"\r\nConnection: close" not in head:
            raise Open("the connection is kept after %.100r" % data)


def spoken(address, data, bodiless=False, finish=True, timeout=SOON_S):
    """All answers to these bytes. finish: the peer says that nothing follows them; without it the server must close by
    itself."""
    with Connection(address) as connection:
        try:
            connection.send(data)
            if finish:
                connection.finish()
        except OSError:
            pass  # refused before all was sent
        return list(_cut(_heard(connection, finish, timeout), bodiless))


def streamed(address, data, to="GET"):
    """The first answer alone, of which only the head was read: it may be a stream without an end."""
    with Connection(address) as connection:
        connection.send(data)
        return connection.reply(to, SOON_S)


def message(s, *fields, body=NOTE, method="POST", target=None, host=LOCAL):
    """A request that is served as it stands, if nothing is against it."""
    usual = [host, ("Content-Type", "application/json"), ("Accept", BOTH)]
    return request(method, target or inlet(s), usual + list(fields), body)


def line(target="/mcp", method="POST", version="HTTP/1.1", fields=(), body=b"", end=b"\r\n"):
    """A request of these very pieces: nothing is added, not even Host. fields are whole lines."""
    first = b" ".join(p if isinstance(p, bytes) else p.encode() for p in (method, target, version))
    return end.join([first] + [f if isinstance(f, bytes) else f.encode("utf-8") for f in fields]) + end * 2 + body


def each(attempts):
    """Tries them all; attempts gives (name, function), and the function gives what got through, or nothing."""
    wrong, tried = [], 0
    for name, attempt in attempts:
        tried += 1
        try:
            said = attempt()
        except AssertionError as error:
            said = str(error)
        except Open as error:
            said = str(error)
        if said:
            wrong.append("%s: %s" % (name, said))
        if len(wrong) == 10:
            break
    if wrong:
        raise Open("%d of %d: " % (len(wrong), tried) + "\n".join(wrong))
    if not tried:
        raise Broken("nothing was tried")


def only(said, *statuses, last=True):
    """What is wrong with answers that should be one alone, with one of these statuses; last: said to be the last."""
    if len(said) != 1:
        return "%d answers: %r" % (len(said), said)
    if said[0].status not in statuses:
        return "the answer is %r" % said[0]
    if last and b"\r\nConnection: close" not in said[0].head:
        return "%d, and the connection is kept" % said[0].status
    return None


def refused(id, title, layer, attempts, *statuses, env=None, needs=()):
    """A case of requests, each of which must be refused by one answer of these statuses, and closed upon.
    attempts(target, s) gives (name, bytes), or (name, bytes, statuses)."""
    def judge(target):
        s = target.server(env)

        def tries():
            for name, data, *other in attempts(target, s):
                yield name, lambda d=data, o=other: only(
                    spoken(s.address, d, d.startswith(b"HEAD "), finish=False), *(o[0] if o else statuses))
        each(tries())
    return Case("http." + id, title, layer, judge, ("listens",) + tuple(needs))


def served(s, seconds=3):
    """An honest request on a connection of its own is answered in time."""
    start = time.monotonic()
    said = spoken(s.address, message(s, *s.auth), timeout=seconds)
    if [a.status for a in said] != [202]:
        raise Open("an honest peer got %r after %.1f s" % (said, time.monotonic() - start))
