"""HTTP/1.1 on plain sockets: sends whatever a test wants, and reads answers strictly. Every wait has a bound.

    connection = Connection(("127.0.0.1", 8080))
    connection.send(request("GET", "/healthz", [("Host", "localhost")]))
    reply = connection.reply("GET")
    reply.status, reply.fields, reply.body()

A reply is there when its head is; its body is read by body(), json(), event() or events().
"""
import json
import select
import socket
import struct
import time

from mcp import PATIENCE, WAIT_S, Closed, Timeout, check, parse

NO_BODY = (204, 304)
# More than any head or line that the server writes.
LINE_BYTES = 1 << 16


def encoded(text):
    """Bytes as they are; text as Latin-1 where that is possible, so that a test may name any byte of a head."""
    if isinstance(text, bytes):
        return text
    try:
        return str(text).encode("latin-1")
    except UnicodeEncodeError:
        return str(text).encode("utf-8")


def merged(defaults, given):
    """Fields of a head: a name that is given replaces the default of that name, and is left out when it is None."""
    names = {name.lower() for name, _ in given}
    return [(n, v) for n, v in defaults if n.lower() not in names] + [(n, v) for n, v in given if v is not None]


def request(method, target, fields, body=None):
    """A request as bytes. Content-Length is added unless fields say how the body is framed."""
    names = {name.lower() for name, _ in fields}
    if body is not None and not names & {"content-length", "transfer-encoding"}:
        fields = list(fields) + [("Content-Length", len(body))]
    lines = [encoded(method) + b" " + encoded(target) + b" HTTP/1.1"]
    lines += [encoded(name) + b": " + encoded(value) for name, value in fields]
    return b"\r\n".join(lines) + b"\r\n\r\n" + (body or b"")


class Event:
    """One event of a stream, or one comment (name and data are None then). at: when it was complete, monotonic."""

    def __init__(self, name=None, data=None, comment=None, more=()):
        self.name, self.data, self.comment, self.more, self.at = name, data, comment, dict(more), time.monotonic()

    def __repr__(self):
        return "Event(%r, %r, %r, %r)" % (self.name, self.data, self.comment, self.more)

    def json(self):
        return parse(self.data.encode("utf-8"))


class Connection:
    """A connection to (host, port), or to the path of a unix socket."""

    def __init__(self, address, timeout=WAIT_S, receive_bytes=None):
        family = socket.AF_UNIX if isinstance(address, str) else socket.AF_INET6 if ":" in address[0] else \
            socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        if receive_bytes is not None:  # as small as the kernel lets it be: a peer that takes little
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self.socket.settimeout(timeout * PATIENCE)
        try:
            self.socket.connect(address)
        except OSError:
            self.socket.close()
            raise
        self.socket.setblocking(False)
        self._buffer, self._eof, self.interim = b"", False, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def finish(self):
        """Says that nothing more is sent; what comes can still be read."""
        self.socket.shutdown(socket.SHUT_WR)

    def reset(self):
        """Leaves without good-bye: the server gets a RST."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def send(self, data, timeout=WAIT_S):
        deadline, view = time.monotonic() + timeout * PATIENCE, memoryview(data)
        while view:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([], [self.socket], [], left)[1]:
                raise Timeout("the server does not take what is sent: %d bytes left" % len(view))
            view = view[self.socket.send(view[:1 << 16]):]

    # Reading, with a deadline on the monotonic clock.

    def _fill(self, deadline):
        """Reads what is there, or waits for it. False at the end of the stream."""
        if self._eof:
            return False
        if not select.select([self.socket], [], [], max(0.0, deadline - time.monotonic()))[0]:
            raise Timeout("nothing came in time")
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionResetError:
            data = b""
        self._buffer += data
        self._eof = not data
        return bool(data)

    def line(self, deadline):
        """The next line, without its CR LF."""
        while b"\r\n" not in self._buffer:
            check(len(self._buffer) < LINE_BYTES, "a line without an end:", self._buffer[:200])
            if not self._fill(deadline):
                raise Closed("the server closed the connection, after %r" % self._buffer[:200])
        line, self._buffer = self._buffer.split(b"\r\n", 1)
        check(b"\n" not in line and b"\r" not in line, "a bare CR or LF in", line)
        return line

    def some(self, most, deadline):
        """At least one byte and at most so many; b"" at the end of the stream."""
        if not self._buffer:
            self._fill(deadline)
        data, self._buffer = self._buffer[:most], self._buffer[most:]
        return data

    def reply(self, to="POST", timeout=WAIT_S):
        """The head of the next answer; to is the method that it answers. Answers of 1xx are put into interim."""
        deadline = time.monotonic() + timeout * PATIENCE
        while True:
            reply = Reply(self, to, deadline)
            if reply.status >= 200:
                return reply
            self.interim.append(reply.status)

    def closed(self, timeout=WAIT_S):
        """Waits for the end of the connection. Returns what came before it."""
        deadline, data = time.monotonic() + timeout * PATIENCE, b""
        while True:
            more = self.some(1 << 16, deadline)
            if not more:
                return data
            data += more

    def silent(self, seconds):
        """Fails when the server says anything, or closes, within that time."""
        deadline = time.monotonic() + seconds
        try:
            more = self.some(1 << 16, deadline)
        except Timeout:
            return
        raise AssertionError("unexpected: %.200r" % more if more else "the server closed the connection")


class Reply:
    """An answer whose head was read. fields: its header fields in their order, duplicates kept."""

    def __init__(self, connection, to, deadline):
        self.connection, self.fields = connection, []
        self.start = connection.line(deadline)
        version, _, rest = self.start.partition(b" ")
        status, _, self.reason = rest.partition(b" ")
        check(version in (b"HTTP/1.1", b"HTTP/1.0") and len(status) == 3 and status.isdigit(), "no status line:",
              self.start)
        self.status = int(status)
        while True:
            line = connection.line(deadline)
            if not line:
                break
            name, colon, value = line.decode("latin-1").partition(":")
            check(colon and name and name == name.strip(), "no header field:", line)
            self.fields.append((name, value.strip(" \t")))
        self._pending, self._body, self._stream = b"", None, None
        self._frame(to)

    def _frame(self, to):
        """How the body is framed: bytes that are left of it or of a chunk, and whether there is an end to look for."""
        length, coding = self.get("Content-Length"), self.get("Transfer-Encoding")
        check(length is None or coding is None, "both a length and a coding:", self.fields)
        check(coding in (None, "chunked"), "an unknown coding:", coding)
        check(length is None or length.isdigit(), "no length:", length)
        bodyless = to == "HEAD" or self.status in NO_BODY or self.status < 200
        self.framing = "none" if bodyless else "chunked" if coding else "length" if length is not None else "close"
        self._left = int(length) if self.framing == "length" else 0
        self.ended = self.framing == "none" or self.framing == "length" and self._left == 0

    def all(self, name):
        return [value for n, value in self.fields if n.lower() == name.lower()]

    def get(self, name):
        """The value of a field that may stand there once; None when it does not."""
        values = self.all(name)
        check(len(values) < 2, "%s more than once:" % name, values)
        return values[0] if values else None

    @property
    def type(self):
        """The media type, without parameters."""
        return (self.get("Content-Type") or "").partition(";")[0].strip().lower()

    def _next_chunk(self, deadline):
        size = self.connection.line(deadline)
        check(size and all(c in b"0123456789abcdefABCDEF" for c in size), "no size of a chunk:", size)
        self._left = int(size, 16)
        if self._left == 0:
            check(self.connection.line(deadline) == b"", "a trailer")
            self.ended = True

    def more(self, deadline):
        """The next bytes of the body; b"" at its end."""
        if self.framing == "chunked" and not self.ended and self._left == 0:
            self._next_chunk(deadline)
        if self.ended:
            return b""
        data = self.connection.some(1 << 16 if self.framing == "close" else self._left, deadline)
        if self.framing == "close":
            self.ended = not data
            return data
        if not data:
            raise Closed("the connection ended within a body")
        self._left -= len(data)
        if self._left == 0:
            if self.framing == "chunked":
                check(self.connection.line(deadline) == b"", "no end of a chunk")
            else:
                self.ended = True
        return data

    def body(self, timeout=WAIT_S):
        """The whole body; may be asked for again."""
        deadline = time.monotonic() + timeout * PATIENCE
        while self._body is None:
            data = self.more(deadline)
            self._pending += data
            if not data:
                self._body = self._pending
        return self._body

    def json(self, timeout=WAIT_S):
        """The body as JSON, which its head must say that it is."""
        check(self.type == "application/json", "the type is", self.get("Content-Type"), self.body(timeout)[:200])
        return parse(self.body(timeout))

    # Streams of events.

    def _event_line(self, deadline):
        """A line of the stream without its end; None at the end of the stream."""
        while b"\n" not in self._pending:
            data = self.more(deadline)
            if not data:
                check(not self._pending, "the stream ends within a line:", self._pending[:200])
                return None
            self._pending += data
        line, self._pending = self._pending.split(b"\n", 1)
        check(b"\r" not in line, "a CR in", line)
        return line.decode("utf-8")

    def item(self, timeout=WAIT_S):
        """The next event or comment; None at the end of the stream."""
        check(self.type == "text/event-stream", "the type is", self.get("Content-Type"))
        deadline, name, data, more = time.monotonic() + timeout * PATIENCE, None, [], {}
        while True:
            line = self._event_line(deadline)
            if line is None:
                check(not data and name is None, "the stream ends within an event")
                return None
            if line == "" and (data or name or more):
                return Event(name, "\n".join(data), None, more)
            field, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if line.startswith(":"):
                return Event(comment=value)
            if field == "data":
                data.append(value)
            elif field == "event":
                name = value
            elif line:
                more[field] = value

    def event(self, timeout=WAIT_S):
        """The next event, whatever comments come before it; None at the end of the stream."""
        deadline = time.monotonic() + timeout * PATIENCE
        while True:
            item = self.item(max(0.0, deadline - time.monotonic()) / PATIENCE)
            if item is None or item.comment is None:
                return item

    def events(self, timeout=WAIT_S):
        """All items up to the end of the stream, which must come within that time."""
        deadline = time.monotonic() + timeout * PATIENCE
        while True:
            item = self.item(max(0.0, deadline - time.monotonic()) / PATIENCE)
            if item is None:
                return
            yield item


def as_body(message):
    """A message as bytes: bytes and text as they are, anything else as JSON."""
    if isinstance(message, bytes):
        return message
    return (message if isinstance(message, str) else json.dumps(message)).encode("utf-8")
