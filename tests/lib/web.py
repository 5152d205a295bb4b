"""mcp-exec over HTTP: the server as a process, and clients of both eras and of the older SSE transport.

    with HttpServer() as s:
        s.initialize()
        s.exec("print(1)")                                   as mcp.Server does it
        s.post({"jsonrpc": "2.0", "id": 1, "method": "ping"}).status

    with HttpServer() as s, HttpClient(s.address, era="modern") as other: ...

(This file is not called http.py: the standard library has that name.)
"""
import base64
import re
import signal
import subprocess
import time

from mcp import (BINARY, LATEST, PATIENCE, WAIT_S, Closed, Conversation, Process, Timeout, check, claim, equal, until,
                 VERSION_KEY)
from wire import Connection, as_body, merged, request

BOTH = "application/json, text/event-stream"
# Revisions whose clients name the revision in a header.
NAMED_SINCE = "2025-06-18"
LISTEN = re.compile(rb'event=http\.listen .*?\baddr="?([^"\s]+)"?')


def place(name):
    """An address as the log has it: (host, port), or the path of a unix socket."""
    if name.startswith("unix:"):
        return name[5:]
    host, _, port = name.rpartition(":")
    return host.strip("[]"), int(port)


def host_field(address):
    """What stands in Host for an address."""
    if isinstance(address, str):
        return "localhost"
    return "%s:%d" % ("[%s]" % address[0] if ":" in address[0] else address[0], address[1])


def field_text(text):
    """A value for Mcp-Name: as it is, or in base64 when a header cannot carry it."""
    if re.fullmatch(r"[!-~](?:[ -~]*[!-~])?", text):
        return text
    return "=?base64?%s?=" % base64.b64encode(text.encode("utf-8")).decode()


def modern(message):
    """A message of the modern era: with a claim, unless it has one."""
    params = dict(message.get("params") or {})
    meta = params.get("_meta", {})
    if isinstance(meta, dict) and VERSION_KEY not in meta:
        params["_meta"] = claim(**meta)
    return dict(message, params=params)


def modern_fields(message):
    """The header fields that go with a message of the modern era."""
    params = message["params"]
    fields = [("MCP-Protocol-Version", params["_meta"][VERSION_KEY]), ("Mcp-Method", message["method"])]
    name = params.get("uri") if message["method"] == "resources/read" else params.get("name")
    return fields + [("Mcp-Name", field_text(name))] if isinstance(name, str) else fields


class HttpClient(Conversation):
    """A client of /mcp. era: "legacy" (a session from initialize() on) or "modern". auth: header fields of a token."""

    path = "/mcp"

    def __init__(self, address, era="legacy", auth=(), path=None, host=None):
        self.address, self.era, self.auth = address, era, list(auth)
        self.path, self.host = path or self.path, host
        self.session = self.version = self.last = None
        self.inbox, self._asked, self._open = [], {}, []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for connection in self._open:
            connection.close()
        self._open, self._asked = [], {}

    def connect(self, **more):
        """A connection, which close() closes too."""
        self._open = [c for c in self._open if c.socket.fileno() >= 0]
        self._open.append(Connection(self.address, **more))
        return self._open[-1]

    # HTTP.

    def fields(self, given=()):
        return merged([("Host", self.host or host_field(self.address))] + self.auth, given)

    def raw(self, data, to="POST", timeout=WAIT_S):
        """Sends bytes on a connection of their own. Returns the answer, wholly read; the connection is closed."""
        connection = self.connect()
        connection.send(data, timeout)
        reply = connection.reply(to, timeout)
        reply.body(timeout)
        connection.close()
        return reply

    def http(self, method, path=None, headers=(), body=None, timeout=WAIT_S):
        """One request; headers replace those that are sent by themselves, with None they are left out."""
        return self.raw(request(method, path or self.path, self.fields(headers), body), method, timeout)

    def message_bytes(self, message, headers=(), era=None):
        """The POST of a message, with all fields that its era asks for. Text and bytes are sent as they are."""
        era, fields = era or self.era, [("Content-Type", "application/json"), ("Accept", BOTH)]
        if era == "modern":
            if isinstance(message, dict):
                message = modern(message)
                fields += modern_fields(message)
        else:
            fields += [("Mcp-Session-Id", self.session)] if self.session else []
            fields += [("MCP-Protocol-Version", self.version)] if (self.version or "") >= NAMED_SINCE else []
        return request("POST", self.path, merged(self.fields(fields), headers), as_body(message))

    def begin(self, message, headers=(), era=None, connection=None, timeout=WAIT_S):
        """Sends a message and returns the connection on which the answer will come."""
        connection = connection or self.connect()
        connection.send(self.message_bytes(message, headers, era), timeout)
        return connection

    def post(self, message, headers=(), era=None, connection=None, timeout=WAIT_S):
        """Sends a message and returns the answer; when it is a stream, only its head was read."""
        reply = self.begin(message, headers, era, connection, timeout).reply("POST", timeout)
        if reply.type != "text/event-stream":
            reply.body(timeout)
            if connection is None:
                reply.connection.close()
        return reply

    # Messages.

    def send(self, message):
        """Gives a message away. What is no request must be accepted, without a body."""
        if "id" in message and "method" in message:
            self._asked[message["id"]] = self.begin(message)
            return
        reply = self.post(message)
        equal((reply.status, reply.body()), (202, b""))

    def response(self, reply, timeout=WAIT_S):
        """The message that an answer carries; notifications before it go into the inbox."""
        self.last = reply
        if reply.type != "text/event-stream":
            return reply.json(timeout)
        found = None
        for item in reply.events(timeout):
            if item.comment is not None:
                continue
            check(found is None, "something behind the response:", item)
            equal((item.name, item.more), ("message", {}))
            message = item.json()
            if isinstance(message, dict) and "method" in message:
                self.inbox.append(message)
            else:
                found = message
        reply.connection.close()
        if found is None:
            raise Closed("the stream ended without a response")
        return found

    def answer(self, request_id, timeout=WAIT_S):
        start, connection = time.monotonic(), self._asked.pop(request_id)
        reply = connection.reply("POST", timeout)
        message = self.response(reply, max(0.1, timeout - (time.monotonic() - start) / PATIENCE))
        check(message.get("id") == request_id and type(message["id"]) is type(request_id), "another id:", message)
        return message

    def initialize(self, version=LATEST):
        """The handshake, which gives a session; nothing in the modern era, which has none."""
        if self.era == "modern":
            return None
        self.session = self.version = None
        response = self.request("initialize", {"protocolVersion": version, "capabilities": {},
                                               "clientInfo": {"name": "test", "version": "1"}})
        self.session = self.last.get("Mcp-Session-Id")
        check(self.session, "no session:", self.last.fields)
        self.version = response["result"]["protocolVersion"]
        self.notify("notifications/initialized")
        return response["result"]

    def drop(self, request_id, reset=False):
        """Leaves the connection on which the answer would come."""
        connection = self._asked.pop(request_id)
        connection.reset() if reset else connection.close()


class SseClient(HttpClient):
    """A client of the older transport: one stream for all answers, and a POST for each message."""

    path = "/sse"

    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.stream = self.endpoint = None

    def open(self):
        """Opens the stream and learns where messages go."""
        self.stream = self.start_stream()
        equal((self.stream.status, self.stream.type), (200, "text/event-stream"))
        first = self.stream.item()
        equal((first.name, first.comment), ("endpoint", None))
        self.endpoint = first.data
        return self.stream

    def start_stream(self, headers=()):
        connection = self.connect()
        connection.send(request("GET", self.path, merged(self.fields([("Accept", "text/event-stream")]), headers)))
        return connection.reply("GET")

    def message_bytes(self, message, headers=(), era=None):
        fields = [("Content-Type", "application/json"), ("Accept", BOTH)]
        fields += [("MCP-Protocol-Version", self.version)] if (self.version or "") >= NAMED_SINCE else []
        return request("POST", self.endpoint, merged(self.fields(fields), headers), as_body(message))

    def post(self, message, *args, **more):
        if self.stream is None:
            self.open()
        return super().post(message, *args, **more)

    def send(self, message):
        reply = self.post(message)
        equal(reply.status, 202, repr(reply.body()))

    def recv(self, timeout=WAIT_S):
        """The next message of the stream."""
        event = self.stream.event(timeout)
        if event is None:
            raise Closed("the stream was closed")
        equal((event.name, event.more), ("message", {}))
        return event.json()

    def answer(self, request_id, timeout=WAIT_S):
        def wanted(m):
            return "method" not in m and m.get("id") == request_id and type(m["id"]) is type(request_id)
        deadline = time.monotonic() + timeout * PATIENCE
        for i, message in enumerate(self.inbox):
            if wanted(message):
                return self.inbox.pop(i)
        while True:
            message = self.recv(max(0.0, deadline - time.monotonic()) / PATIENCE)
            if wanted(message):
                return message
            self.inbox.append(message)

    def initialize(self, version=LATEST):
        self.version = None
        result = Conversation.initialize(self, version)
        self.version = result["protocolVersion"]
        return result


class Listening(Process):
    """A server that listens, on a free port of loopback unless the environment says otherwise. Leaving the with block
    asks it to end by SIGTERM, and its exit code must be 0."""

    transport = "http"

    def __init__(self, env=None, args=(), through=(), cwd=None, command=None, **more):
        # What is still under way when a test ends need not come to its end.
        env = dict({"MCP_EXEC_TRANSPORT": self.transport, "MCP_EXEC_ADDR": "127.0.0.1:0", "MCP_EXEC_DRAIN_S": "1"},
                   **(env or {}))
        Process.__init__(self, list(through) + list(command or [BINARY]) + list(args), env, subprocess.DEVNULL,
                         cwd=cwd)
        try:
            until(lambda: self.addresses() or self.process.poll() is not None, 10, "the server listens")
            check(self.addresses(), "the server does not listen:", self.stderr()[-1000:])
        except AssertionError:
            self.process.kill()
            self.process.wait(5)
            raise
        token = env.get("MCP_EXEC_AUTH_TOKEN")
        self.client_type.__init__(self, self.addresses()[0], auth=[("X-MCP-AUTH", token)] if token else (), **more)

    def addresses(self):
        """Where it listens, as its log says."""
        return [place(name.decode()) for name in LISTEN.findall(self.stderr())]

    def __exit__(self, kind=None, *_):
        self.close()
        code = self.process.poll()
        if code is None:
            self.kill(signal.SIGTERM)
            try:
                code = self.wait_exit(6)
            except Timeout:
                self.process.kill()
                self.process.wait(5)
                if kind is None:
                    raise
            else:
                if kind is None:
                    equal(code, 0, "the exit code: %.1000r" % self.stderr()[-1000:])
        self._stderr.close()


class HttpServer(Listening, HttpClient):
    """A server at /mcp, and a first client of it."""

    client_type = HttpClient


class SseServer(Listening, SseClient):
    """A server of the older transport, and a first client of it."""

    transport, client_type = "sse", SseClient
