#!/usr/bin/env python3
"""What stands between a socket and a request, over raw sockets: heads that readers read in different ways, bodies
without a token, slow peers, peers that go away, pipelining, and that nothing is left of any of them."""
import json
import os
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import PATIENCE, ROOT, SANITIZED, cases, check, contains, equal, main, until, within  # noqa: E402

BUILD = os.environ.get("MCP_EXEC_BUILD") or os.path.join(ROOT, "build")
TOKEN = "s3cret-token"
WAIT = 15 * PATIENCE
HOST = b"Host: localhost\r\n"
AUTH = b"X-MCP-AUTH: " + TOKEN.encode() + b"\r\n"
KIB = 1024


class Fake:
    """A server of tests/fake/fake_http. Leaving the block checks that no connection is left and that it ends well."""

    def __init__(self, **settings):
        settings.setdefault("token", TOKEN)
        self.process = subprocess.Popen([os.path.join(BUILD, "tests", "fake_http")]
                                        + ["%s=%s" % pair for pair in settings.items()],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.port = int(self.process.stdout.readline())
        self.fds = self.descriptors()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        try:
            if kind is None and self.process.poll() is None:
                until(lambda: self.state()["connections"] == 1, 20, "connections are left")
                until(lambda: self.descriptors() <= self.fds, 5, "descriptors are left")
        finally:
            self.process.stdin.close()
            code = self.process.wait(WAIT)
            errors = self.errors = self.process.stderr.read()
            self.process.stdout.close()
            self.process.stderr.close()
        if kind is None:
            told = (b"event=http.accept_failed ", b"event=http.refused ", b"event=http.unread ")
            equal((code, [line for line in errors.splitlines() if not any(t in line for t in told)]), (0, []),
                  "the server")

    def descriptors(self):
        return len(os.listdir("/proc/%d/fd" % self.process.pid))

    def memory_kib(self):
        with open("/proc/%d/status" % self.process.pid) as file:
            return int(re.search(r"VmRSS:\s*(\d+)", file.read()).group(1))

    def connect(self):
        return Peer(socket.create_connection(("127.0.0.1", self.port), WAIT))

    def state(self):
        with self.connect() as peer:
            return json.loads(peer.ask(b"GET /state HTTP/1.1\r\nConnection: close\r\n" + HOST + AUTH + b"\r\n").body)


class Answer:
    def __init__(self, status, fields, body):
        self.status, self.fields, self.body = status, fields, body


class Peer:
    """One connection. Every wait has a bound."""

    def __init__(self, sock):
        self.sock, self.rest = sock, b""
        sock.settimeout(WAIT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def send(self, data):
        self.sock.sendall(data)

    def more(self):
        data = self.sock.recv(65536)
        self.rest += data
        return bool(data)

    def until(self, end):
        while end not in self.rest:
            check(self.more(), "the connection ended with", self.rest)
        head, self.rest = self.rest.split(end, 1)
        return head

    def exactly(self, n):
        while len(self.rest) < n:
            check(self.more(), "the connection ended early")
        data, self.rest = self.rest[:n], self.rest[n:]
        return data

    def head(self):
        lines = self.until(b"\r\n\r\n").decode().split("\r\n")
        fields = {}
        for line in lines[1:]:
            name, value = line.split(": ", 1)
            check(name.lower() not in fields, "twice:", name)
            fields[name.lower()] = value
        check(lines[0].startswith("HTTP/1.1 "), "status line", lines[0])
        return Answer(int(lines[0].split(" ")[1]), fields, b"")

    def chunk(self):
        data = self.exactly(int(self.until(b"\r\n"), 16))
        equal(self.exactly(2), b"\r\n", "end of chunk")
        return data

    def answer(self, method=b"GET"):
        answer = self.head()
        while answer.status == 100:
            answer = self.head()
        if method != b"HEAD":
            answer.body = self.exactly(int(answer.fields.get("content-length", "0")))
        return answer

    def ask(self, data):
        self.send(data)
        return self.answer(data.split(b" ", 1)[0])

    def at_end(self):
        """Whether the server closed; fails when bytes come instead."""
        try:
            return not self.more() and not self.rest
        except ConnectionResetError:
            return True

    def is_quiet(self, seconds=.2):
        return not select.select([self.sock], [], [], seconds)[0]


def post(body=b"", fields=b"", path=b"/mcp", version=b"1.1", auth=AUTH):
    return b"POST %s HTTP/%s\r\n" % (path, version) + HOST + auth + b"Content-Length: %d\r\n" % len(body) + fields \
        + b"\r\n" + body


def facts(peer, request):
    answer = peer.ask(request)
    equal(answer.status, 200, "facts:")
    return json.loads(answer.body)


# Answers.

def test_a_request_and_its_answer():
    with Fake() as fake, fake.connect() as peer:
        answer = peer.ask(post(b"hello"))
        equal((answer.status, answer.body), (200, b"hello"))
        equal(answer.fields["content-type"], "application/json")
        equal(answer.fields["cache-control"], "no-store")
        check("server" not in answer.fields and "connection" not in answer.fields, "fields", answer.fields)
        got = facts(peer, post(b"12345", b"Do: facts\r\nX-Field: \t a b\t \r\nx-field: c\r\n", b"/mcp/?x=1&a=%C3%A9+b%21"))
        equal(got, {"method": 2, "path": "/mcp", "a": "é b!", "field": "a b", "fields": 2, "len": 5})


@cases([("no query", b"/mcp"), ("absent", b"/mcp?b=1"), ("broken", b"/mcp?a=%4"), ("no hex", b"/mcp?a=%zz"),
        ("NUL", b"/mcp?a=x%00y")])
def test_a_query_without_that_value(path):
    with Fake() as fake, fake.connect() as peer:
        equal(facts(peer, post(b"", b"Do: facts\r\n", path))["a"], "(none)")


def test_fields_of_an_answer_cannot_be_split():
    with Fake() as fake, fake.connect() as peer:
        answer = peer.ask(post(b"", b"Do: facts\r\n"))
        equal(answer.fields["x-answer"], "yes")
        check("x-evil" not in answer.fields and "x-split" not in answer.fields, "fields", answer.fields)


def test_an_answer_without_content():
    with Fake() as fake, fake.connect() as peer:
        answer = peer.ask(post(b"x", b"Do: empty\r\n"))
        equal((answer.status, answer.fields["content-length"], "content-type" in answer.fields), (202, "0", False))
        equal(peer.ask(post(b"y")).body, b"y")


def test_head_has_no_content():
    with Fake() as fake, fake.connect() as peer:
        answer = peer.ask(b"HEAD /healthz HTTP/1.1\r\n" + HOST + b"\r\n")
        equal((answer.status, answer.fields["content-length"]), (200, "3"))
        equal(peer.ask(post(b"next")).body, b"next")
        refused = peer.ask(b"HEAD /mcp HTTP/1.1\r\n" + HOST + b"\r\n")
        equal(refused.status, 401)
        check(peer.at_end(), "a body came for HEAD", peer.rest)


def test_a_large_answer_to_a_slow_reader():
    with Fake() as fake, fake.connect() as peer:
        peer.send(post(b"", b"Do: big 8000000\r\n"))
        time.sleep(.3)
        equal(peer.answer().body, b"x" * 8000000)
        equal(peer.ask(post(b"next")).body, b"next")


# Connections that are kept, and that are not.

def test_many_requests_on_one_connection():
    with Fake() as fake, fake.connect() as peer:
        for i in range(300):
            body = b"%d" % i * (i % 7)
            equal(peer.ask(post(body)).body, body)
        equal(peer.ask(b"\r\n\r\n" + post(b"after empty lines")).body, b"after empty lines")


@cases([("close", b"Connection: close\r\n", b"1.1"), ("the server's wish", b"Do: close\r\n", b"1.1"),
         ("list", b"Connection: TE , Close\r\n", b"1.1"),
        ("1.0", b"", b"1.0"), ("1.0 keep-alive", b"Connection: keep-alive\r\n", b"1.0")])
def test_a_connection_that_ends_after_its_answer(fields, version):
    with Fake() as fake, fake.connect() as peer:
        answer = peer.ask(post(b"hello", fields, version=version))
        equal((answer.body, answer.fields["connection"]), (b"hello", "close"))
        check(peer.at_end(), "kept")


def test_pipelining():
    with Fake() as fake, fake.connect() as peer:
        peer.send(post(b"one") + post(b"two", b"Do: slow 200\r\n") + post(b"three") + post(b"four"))
        equal([peer.answer().body for _ in range(4)], [b"one", b"two", b"three", b"four"])


def test_a_request_behind_one_that_is_pending():
    with Fake() as fake, fake.connect() as peer:
        peer.send(post(b"one", b"Do: slow 600\r\n"))
        time.sleep(.2)
        peer.send(post(b"two"))
        equal([peer.answer().body, peer.answer().body], [b"one", b"two"])


def test_a_request_behind_one_is_judged_as_the_first():
    with Fake() as fake, fake.connect() as peer:
        peer.send(post(b"one", b"Do: slow 200\r\n") + post(b"two", auth=b""))
        equal([peer.answer().status, peer.answer().status], [200, 401])
        check(peer.at_end(), "kept")


def test_what_is_sent_ahead_is_bounded():
    """The server stops to read; then it still notices that the peer goes."""
    with Fake() as fake:
        before = fake.memory_kib()
        peer = fake.connect()
        peer.send(post(b"", b"Do: never\r\n"))
        peer.sock.settimeout(.5)
        sent = 0
        try:
            while sent < 64 * KIB * KIB:
                sent += peer.sock.send(post(b"x" * 1000) * 50)
        except socket.timeout:
            pass
        check(sent < 64 * KIB * KIB, "all of it was taken")
        if not SANITIZED:
            within(fake.memory_kib() - before, -1e9, 2000 / PATIENCE, "KiB")
        reset(peer)
        until(lambda: fake.state()["gone"] == 1, 5, "the peer is not missed")


def test_an_old_connection_after_a_reset_is_not_spun_on():
    """A RST while bytes are unread: EPOLLERR comes to nobody who asked for EPOLLRDHUP alone."""
    with Fake() as fake:
        peer = fake.connect()
        peer.send(post(b"", b"Do: keep 1500\r\n") + b"x" * 20000)
        until(lambda: fake.state()["served"] >= 1, 5)
        time.sleep(.1)
        peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.sock.close()
        until(lambda: fake.state()["kept"] == 1, 5, "the peer is not missed")
        start = cpu_ticks(fake)
        time.sleep(1)
        check(cpu_ticks(fake) - start < 30, "ticks of CPU:", cpu_ticks(fake) - start)


def cpu_ticks(fake):
    with open("/proc/%d/stat" % fake.process.pid) as file:
        fields = file.read().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


# Heads.

BAD_HEADS = [
    ("token cut by a NUL", 400, b"POST /mcp HTTP/1.1\r\n" + HOST + b"X-MCP-AUTH: " + TOKEN.encode() + b"\0junk\r\n\r\n"),
    ("two lengths", 400, post(b"ab", b"Content-Length: 2\r\n")),
    ("conflicting lengths", 400, post(b"ab", b"Content-Length: 3\r\n")),
    ("length and chunks", 400, post(b"0\r\n\r\n", b"Transfer-Encoding: chunked\r\n")),
    ("bare LF", 400, post(b"ab").replace(b"\r\n", b"\n")),
    ("one bare LF", 400, post(b"ab", b"X: y\n")),
    ("space before colon", 400, post(b"ab", b"Name : value\r\n")),
    ("folded line", 400, post(b"ab", b"Name: value\r\n more\r\n")),
    ("signed length", 400, b"POST /mcp HTTP/1.1\r\n" + HOST + AUTH + b"Content-Length: +2\r\n\r\nab"),
    ("hex length", 400, b"POST /mcp HTTP/1.1\r\n" + HOST + AUTH + b"Content-Length: 0x2\r\n\r\nab"),
    ("gzip, chunked", 501, b"POST /mcp HTTP/1.1\r\n" + HOST + AUTH + b"Transfer-Encoding: gzip, chunked\r\n\r\n"),
    ("no Host", 400, b"POST /mcp HTTP/1.1\r\n" + AUTH + b"\r\n"),
    ("two Hosts", 400, post(b"", HOST)),
    ("HTTP/0.9", 400, b"GET /mcp\r\n\r\n"),
    ("HTTP/2", 505, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    ("HTTP/3.0", 505, b"GET /mcp HTTP/3.0\r\n" + HOST + b"\r\n"),
    ("expectation", 417, post(b"ab", b"Expect: the-unexpected\r\n")),
    ("a field of 20 KiB", 431, post(b"ab", b"X: " + b"y" * 20000 + b"\r\n")),
    ("1000 fields", 431, post(b"ab", b"X: y\r\n" * 1000)),
    ("never an end", 431, b"GET /mcp HTTP/1.1\r\n" + b"X: y\r\n" * 4000),
    ("no line at all", 431, b"x" * 20000),
    ("two tokens", 401, post(b"ab", AUTH)),
    ("a body for GET", 400, b"GET /mcp HTTP/1.1\r\n" + HOST + AUTH + b"Content-Length: 2\r\n\r\nab"),
    ("a body for /healthz", 400, b"GET /healthz HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\n\r\nab"),
    ("a long path without a token", 404, b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n" + HOST + b"\r\n"),
]


@cases(BAD_HEADS)
def test_a_head_that_is_refused(status, request):
    with Fake() as fake, fake.connect() as peer:
        before = fake.state()["served"]
        answer = peer.ask(request)
        equal((answer.status, answer.fields["connection"], answer.fields["content-type"]),
              (status, "close", "application/json"))
        if status != 404:
            message = json.loads(answer.body)
            equal((message["id"], message["error"]["code"]), (None, -32000))
        check(peer.at_end(), "more came:", peer.rest)
        equal(fake.state()["served"], before + 1, "served")


def test_a_head_of_the_largest_size():
    with Fake() as fake:
        for size, status in ((16 * KIB, 200), (16 * KIB + 1, 431)):
            with fake.connect() as peer:
                request = post(b"", b"X: \r\n")
                equal(peer.ask(request.replace(b"X: ", b"X: " + b"y" * (size - len(request)))).status, status, str(size))


def test_a_request_that_is_split_at_each_byte():
    request = post(b"hello", b"Do: facts\r\nX-Field: v\r\n")
    with Fake() as fake, fake.connect() as peer:
        for at in range(1, len(request)):
            peer.send(request[:at])
            time.sleep(.001)
            equal(facts(peer, request[at:])["len"], 5, "at %d" % at)


@cases([("length", post(b"hello world")),
        ("chunked", b"POST /mcp HTTP/1.1\r\n" + HOST + AUTH + b"Transfer-Encoding: chunked\r\n\r\n"
                    b"6;a=b\r\nhello \r\n5\r\nworld\r\n0\r\nTrailer: x\r\n\r\n")])
def test_byte_by_byte(request):
    with Fake() as fake, fake.connect() as peer:
        peer.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(2):
            for i in range(len(request)):
                peer.send(request[i:i + 1])
                time.sleep(.0005)
            equal(peer.answer().body, b"hello world")


# Who may come in.

@cases([("none", b"", None), ("wrong", b"X-MCP-AUTH: nonsense\r\n", "invalid_token"),
        ("cut", b"X-MCP-AUTH: s3cret-toke\r\n", "invalid_token"),
        ("wrong bearer", b"Authorization: Bearer nonsense\r\n", "invalid_token")])
def test_without_the_token(auth, error):
    with Fake() as fake, fake.connect() as peer:
        answer = peer.ask(post(b"hello", auth=auth))
        equal(answer.status, 401)
        contains(answer.fields["www-authenticate"], 'Bearer realm="mcp-exec"')
        equal("invalid_token" in answer.fields["www-authenticate"], error is not None)
        equal(json.loads(answer.body)["error"]["message"], "Unauthorized")


def test_paths_without_a_token():
    with Fake() as fake:
        for path, status, body in ((b"/.well-known/oauth-protected-resource", 404, {"error": "not_found"}),
                                   (b"/mcp%2f..", 404, {"error": "not_found"}), (b"//mcp", 404, {"error": "not_found"})):
            with fake.connect() as peer:
                answer = peer.ask(b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"\r\n")
                equal((answer.status, json.loads(answer.body)), (status, body))
        with fake.connect() as peer:
            answer = peer.ask(b"POST /healthz HTTP/1.1\r\n" + HOST + b"Content-Length: 0\r\n\r\n")
            equal((answer.status, answer.fields["allow"]), (405, "GET, HEAD"))


def test_browsers():
    origin = b"Origin: http://localhost:6274\r\n"
    with Fake() as fake, fake.connect() as peer:
        answer = peer.ask(b"OPTIONS /mcp HTTP/1.1\r\n" + HOST + origin + b"Access-Control-Request-Method: POST\r\n\r\n")
        equal((answer.status, answer.body, "content-length" in answer.fields), (204, b"", False))
        equal(answer.fields["access-control-allow-origin"], "http://localhost:6274")
        contains(answer.fields["access-control-allow-headers"].lower(), "x-mcp-auth", "mcp-session-id")
        contains(answer.fields["access-control-allow-methods"], "POST", "DELETE")
        for request, status in ((post(b"x", origin), 200), (post(b"x", origin, auth=b""), 401)):
            answer = peer.ask(request)
            equal((answer.status, answer.fields["access-control-allow-origin"], answer.fields["vary"]),
                  (status, "http://localhost:6274", "Origin"))
            contains(answer.fields["access-control-expose-headers"], "Mcp-Session-Id")
        with fake.connect() as other:
            answer = other.ask(post(b"x", b"Origin: http://evil.example\r\n"))
            equal((answer.status, [f for f in answer.fields if f.startswith("access-control")]), (403, []))


@cases([("loopback", "loopback", 403), ("open", "open", 200)])
def test_host_is_judged_by_the_listener(kind, status):
    with Fake(kind=kind) as fake, fake.connect() as peer:
        equal(peer.ask(post(b"x").replace(b"localhost", b"evil.example")).status, status)


def test_unix_socket():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "s")
        with Fake(unix=path) as fake:
            for name in (None, os.path.join(folder, "peer")):
                sock = socket.socket(socket.AF_UNIX)
                if name:
                    sock.bind(name)
                sock.connect(path)
                with Peer(sock) as peer:
                    equal(peer.ask(post(b"x").replace(b"localhost", b"any")).body, b"x")
                    equal(peer.ask(post(b"y", auth=b"")).status, 401)


# Bodies.

def test_expect_continue():
    body = b"x" * 1000
    request = post(body, b"Expect: 100-continue\r\n")[:-len(body)]
    with Fake() as fake, fake.connect() as peer:
        for _ in range(2):
            peer.send(request)
            equal(peer.head().status, 100)
            check(peer.is_quiet(), "more than 100 came")
            peer.send(body)
            equal((peer.head().status, peer.exactly(1000)), (200, body))
        peer.send(request + body)
        equal((peer.head().status, peer.exactly(1000)), (200, body))
    with Fake() as fake:
        for refused, status in ((request.replace(AUTH, b""), 401), (request.replace(b": 1000", b": 9999999"), 413)):
            with fake.connect() as peer:
                peer.send(refused)
                equal(peer.head().status, status)


@cases([
    ("plain", b"5\r\nhello\r\n0\r\n\r\n", 200, b"hello"),
    ("none", b"0\r\n\r\n", 200, b""),
    ("extensions and trailers", b'3;x=y;z="a;b"\r\nabc\r\n002\r\nde\r\n0;last\r\nX-A: 1\r\nX-B: 2\r\n\r\n', 200, b"abcde"),
    ("no hex", b"g\r\n", 400, None),
    ("sign", b"+5\r\nhello\r\n0\r\n\r\n", 400, None),
    ("bare LF", b"5\nhello\n0\n\n", 400, None),
    ("too long a chunk", b"5\r\nhello!\r\n0\r\n\r\n", 400, None),
    ("a size beyond 64 bits", b"10000000000000005\r\nhello\r\n0\r\n\r\n", (400, 413), None),
    ("endless extension", b"5;" + b"x" * 40000, 400, None),
    ("one byte more than a body may have", b"401\r\n" + b"x" * 1025 + b"\r\n0\r\n\r\n", 413, None)])
def test_chunks(body, status, content):
    head = b"POST /mcp HTTP/1.1\r\n" + HOST + AUTH + b"Transfer-Encoding: chunked\r\n\r\n"
    with Fake(body=1024) as fake, fake.connect() as peer:
        answer = peer.ask(head + body)
        check(answer.status in (status if isinstance(status, tuple) else (status,)), "status", answer.status)
        if content is not None:
            equal(answer.body, content)
            equal(peer.ask(post(b"next")).body, b"next")
        else:
            check(peer.at_end(), "kept")


def test_chunks_and_the_next_request_in_one():
    head = b"POST /mcp HTTP/1.1\r\n" + HOST + AUTH + b"Transfer-Encoding: chunked\r\n\r\n"
    with Fake() as fake, fake.connect() as peer:
        peer.send(head + b"3\r\nabc\r\n0\r\n\r\n" + post(b"two") + head + b"0\r\n\r\n")
        equal([peer.answer().body for _ in range(3)], [b"abc", b"two", b""])


def test_a_head_too_large_behind_chunks():
    with Fake() as fake, fake.connect() as peer:
        peer.send(b"POST /mcp HTTP/1.1\r\n" + HOST + AUTH + b"Transfer-Encoding: chunked\r\n\r\n")
        time.sleep(.2)
        peer.send(b"3\r\nabc\r\n0\r\n\r\n" + post(b"", b"X: %s\r\n" % (b"y" * 20000)))
        equal([peer.answer().status for _ in range(2)], [200, 431])


@cases([("as large as may be", 100000, 200), ("larger", 100001, 413), ("10 GB", 10 ** 10, 413),
        ("2**63", 2 ** 63, 413)])
def test_the_size_of_a_body(size, status):
    with Fake(body=100000) as fake, fake.connect() as peer:
        request = post(b"x" * min(size, 100001)).replace(b"Length: 100001", b"Length: %d" % size)
        equal(peer.ask(request).status, status)


LARGE = 100000
CHUNKED = b"POST /mcp HTTP/1.1\r\n" + HOST + AUTH + b"Transfer-Encoding: chunked\r\n\r\n"


@cases([("length", post(b"y" * LARGE)[:-1]), ("chunks", CHUNKED + b"%x\r\n%s\r\n" % (LARGE - 1, b"y" * (LARGE - 1)))])
def test_large_bodies_together_are_bounded(request):
    """Four of the largest may wait for their last byte; the fifth is told to come again, and small ones never are."""
    with Fake(body=LARGE) as fake:
        peers = [fake.connect() for _ in range(4)]
        for peer in peers:
            peer.send(post(b"x" * LARGE)[:-1])
        until(lambda: fake.state()["connections"] == 5, 5)
        with fake.connect() as fifth:
            answer = fifth.ask(request)
            equal((answer.status, answer.fields.get("retry-after")), (503, "1"))
        with fake.connect() as sixth:
            equal(sixth.ask(post(b"y" * 10)).status, 200)
            equal(sixth.ask(CHUNKED + b"1\r\nx\r\n0\r\n\r\n").status, 200)
        peers[0].send(b"x")
        equal(len(peers[0].answer().body), LARGE)
        with fake.connect() as fifth:
            equal(fifth.ask(post(b"y" * LARGE)).status, 200)
        for peer in peers:
            peer.sock.close()


def test_bodies_that_are_announced_lock_nobody_out():
    with Fake(body=LARGE) as fake:
        peers = [fake.connect() for _ in range(8)]
        for peer in peers:
            peer.send(post(b"x" * LARGE)[:-LARGE])
        until(lambda: fake.state()["connections"] == 9, 5)
        with fake.connect() as other:
            equal(other.ask(post(b"y" * LARGE)).status, 200)
        for peer in peers:
            peer.sock.close()


def test_who_is_refused_is_logged_but_not_each_time():
    with Fake() as fake:
        for _ in range(20):
            with fake.connect() as peer:
                equal(peer.ask(b"GET /mcp HTTP/1.1\r\n" + HOST + b"X-MCP-AUTH: secret-canary\r\n\r\n").status, 401)
        time.sleep(1.1)
        with fake.connect() as peer:
            equal(peer.ask(b"GET /path-canary HTTP/1.1\r\n" + HOST + b"\r\n").status, 404)
    lines = [line for line in fake.errors.splitlines() if b"event=http.refused " in line]
    check(2 <= len(lines) <= 4, "lines:", lines)
    contains(lines[0].decode(), 'status=401 why="the token is wrong" peer="127.0.0.1" n=1')
    contains(lines[-1].decode(), 'status=404 why="Not found" peer="127.0.0.1"')
    equal(sum(int(line.rsplit(b"n=", 1)[1]) for line in lines), 21)
    check(b"canary" not in fake.errors, "what the peer sent is in the log")


def send_all_but_lose(peer, data):
    """Sends as much as the server takes."""
    try:
        peer.sock.sendall(data)
    except (ConnectionError, socket.timeout):
        pass


def test_a_large_body_with_a_wrong_token():
    """The answer comes before the body is read, and reaches a peer that sends it all the same."""
    with Fake(body=8 * KIB * KIB) as fake:
        before = fake.memory_kib()
        with fake.connect() as peer:
            request = post(b"x" * 1000000, auth=b"X-MCP-AUTH: wrong\r\n")
            peer.send(request[:-1000000])
            equal(peer.answer().status, 401)
            send_all_but_lose(peer, request[-1000000:])
            check(peer.at_end(), "kept")
        with fake.connect() as peer:
            peer.send(request)
            equal(peer.answer().status, 401)
        if not SANITIZED:
            within(fake.memory_kib() - before, -1e9, 600 / PATIENCE, "KiB")


def test_300_peers_without_a_token():
    with Fake() as fake:
        with fake.connect() as peer:
            equal(peer.ask(post(b"warm")).status, 200)
        before, most = fake.memory_kib(), 0
        peers = [fake.connect() for _ in range(300)]
        for peer in peers:
            peer.sock.settimeout(.2)
            send_all_but_lose(peer, post(b"x" * 200000, auth=b""))
            most = max(most, fake.memory_kib())
        for peer in peers:
            peer.sock.close()
        if not SANITIZED:
            within(most - before, -1e9, 3000 / PATIENCE, "KiB")


def test_300_half_heads():
    with Fake(max=1000) as fake:
        before = fake.memory_kib()
        peers = [fake.connect() for _ in range(300)]
        for peer in peers:
            peer.send(b"GET /mcp HTTP/1.1\r\nX: " + b"y" * 15000)
        until(lambda: fake.state()["connections"] == 301, 5)
        time.sleep(.3)
        if not SANITIZED:
            within(fake.memory_kib() - before, -1e9, 300 * 24 / PATIENCE, "KiB")
        for peer in peers:
            peer.sock.close()


# Time.

def drip(peer, data, every):
    """Sends byte by byte until the server has had enough. Returns the seconds."""
    start = time.monotonic()
    for i in range(len(data)):
        try:
            peer.sock.send(data[i:i + 1])
        except ConnectionError:
            break
        if not peer.is_quiet(every):
            break
    return time.monotonic() - start


@cases([("head", {"head": 700}, b"GET /mcp HTTP/1.1\r\n" + b"X: y\r\n" * 100),
        ("first line", {"head": 700}, b"G" * 600),
        ("body", {"head": 5000, "request": 700}, post(b"x" * 500)),
        ("chunked body", {"head": 5000, "request": 700}, b"POST /mcp HTTP/1.1\r\n" + HOST + AUTH
         + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\nx\r\n" * 500)])
def test_a_slow_drip(settings, request):
    with Fake(**settings) as fake:
        with fake.connect() as peer:
            ready = request.find(b"\r\n\r\n") + 4
            if "request" in settings:
                peer.send(request[:ready])
                request = request[ready:]
            within(drip(peer, request, .02), .5, 3)
            answer = peer.answer()
            equal((answer.status, json.loads(answer.body)["error"]["code"]), (408, -32000))
        if "request" not in settings:
            with fake.connect() as peer:
                equal(peer.ask(post(b"first")).status, 200)
                time.sleep(.5)
                within(drip(peer, request, .02), .5, 3, "a later request:")
                equal(peer.answer().status, 408)


def test_peers_that_say_nothing():
    with Fake(head=400, idle=900) as fake:
        with fake.connect() as silent, fake.connect() as kept:
            start = time.monotonic()
            equal(kept.ask(post(b"x")).status, 200)
            check(silent.at_end(), "kept")
            within(time.monotonic() - start, .3, 2)
            check(kept.at_end(), "kept")
            within(time.monotonic() - start, .8, 3)


def test_an_empty_line_begins_no_request():
    """Clients have sent one behind a body; it does not shorten the time that a connection is kept."""
    with Fake(head=300, idle=4000) as fake, fake.connect() as kept:
        equal(kept.ask(post(b"x") + b"\r\n").status, 200)
        time.sleep(1)
        equal(kept.ask(post(b"x")).status, 200)


@cases([("none", [], b"(none)"), ("one", [b" a, b"], b"a, b"), ("several", [b" a", b"", b"b;q=1 "], b"a,,b;q=1")])
def test_a_list_may_stand_in_several_lines(values, joined):
    fields = b"".join(b"X-Field:%s\r\n" % value for value in values)
    with Fake() as fake, fake.connect() as peer:
        equal(peer.ask(post(b"", b"Do: list\r\n" + fields)).body, joined)


def unread(fake):
    """A peer whose kernel takes little of what nobody reads."""
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    sock.connect(("127.0.0.1", fake.port))
    return Peer(sock)


@cases([("answer", b"Do: big 30000000\r\n", 0), ("stream", b"Do: stream 500 1 100000\r\n", 1)])
def test_a_peer_that_never_reads(do, gone):
    with Fake(stall=700) as fake, unread(fake) as peer:
        peer.send(post(b"", do))
        start = time.monotonic()
        until(lambda: fake.state()["connections"] == 1, 60, "it is still there")
        check(time.monotonic() - start > .5, "too early")
        equal(fake.state()["gone"], gone)


def taken(peer):
    """Reads to the end and says how many bytes there were."""
    total = len(peer.rest)
    while True:
        data = peer.sock.recv(1 << 20)
        if not data:
            return total
        total += len(data)


def test_answers_that_nobody_reads_are_bounded_together():
    """There is room for 60 MB, and a kernel takes a few: the fourth answer costs the first peer its own."""
    ask = post(b"", b"Connection: close\r\nDo: big 20000000\r\n")
    with Fake(answer=15000000) as fake, fake.connect() as reader:
        peers = [unread(fake) for _ in range(4)]
        for n, peer in enumerate(peers, 1):
            equal(fake.state()["connections"], 6, "before peer %d:" % n)
            peer.send(ask)
            check(peer.more(), "no answer")
        until(lambda: fake.state()["connections"] == 5, 10, "the first is still there")
        equal(len(reader.ask(post(b"", b"Do: big 1000000\r\n")).body), 1000000)
        check(taken(peers[0]) < 20000000, "the first got all")
        check(taken(peers[3]) > 20000000, "the last one did not get all")
        for peer in peers:
            peer.sock.close()


# Room.

def test_slow_peers_make_room_for_new_ones():
    with Fake(max=10) as fake:
        busy = [fake.connect() for _ in range(3)]
        for peer in busy:
            peer.send(post(b"pending", b"Do: slow 1500\r\n"))
        until(lambda: fake.state()["served"] >= 3, 5)
        slow = [fake.connect() for _ in range(30)]
        for peer in slow[-7:]:
            peer.send(b"GET /mcp HT")
        with fake.connect() as peer:
            equal(peer.ask(post(b"x")).body, b"x")
        check(slow[0].at_end(), "the oldest is still there")
        for peer in slow:
            peer.sock.close()
        equal([peer.answer().body for peer in busy], [b"pending"] * 3)
        for peer in busy:
            peer.sock.close()


@cases([("then a head", b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n", b"GET /healthz HT"),
        ("and never reads", b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n" , None)])
def test_peers_of_healthz_hold_no_place(request, more):
    with Fake(max=5) as fake:
        peers = [unread(fake) for _ in range(5)]
        for peer in peers:
            if more:
                peer.ask(request)
                peer.send(more)
            else:
                peer.sock.settimeout(.3)
                send_all_but_lose(peer, request * 100000)
        with fake.connect() as peer:
            equal(peer.ask(post(b"x")).body, b"x")
        for peer in peers:
            peer.sock.close()


def test_no_room():
    with Fake(max=4) as fake:
        busy = [fake.connect() for _ in range(4)]
        for peer in busy:
            peer.send(post(b"pending", b"Do: slow 1000\r\n"))
        time.sleep(.3)
        for _ in range(20):
            with fake.connect() as peer:
                answer = peer.ask(b"POST /mcp HTTP/1.1\r\n" + HOST + AUTH + b"Content-Length: 100\r\n\r\n")
                equal((answer.status, answer.fields["retry-after"]), (503, "1"))
                check(peer.at_end(), "kept")
            with fake.connect() as peer:
                equal(peer.ask(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\n").status, 200, "full is not sick:")
                check(peer.at_end(), "kept")
        equal([peer.answer().body for peer in busy], [b"pending"] * 4)
        with fake.connect() as peer:
            equal(peer.ask(post(b"x")).body, b"x", "one that is idle makes room:")
        for peer in busy:
            peer.sock.close()


def test_no_descriptors():
    """Out of descriptors the server waits, and does not spin; then it goes on."""
    with Fake(max=1000) as fake:
        limit = fake.descriptors() + 5
        subprocess.run(["prlimit", "--pid", str(fake.process.pid), "--nofile=%d:%d" % (limit, limit)], check=True)
        peers = [fake.connect() for _ in range(30)]
        time.sleep(.5)
        start = cpu_ticks(fake)
        time.sleep(1)
        check(cpu_ticks(fake) - start < 30, "ticks of CPU:", cpu_ticks(fake) - start)
        peers[-1].send(post(b"last"))
        for peer in peers[:-1]:
            peer.sock.close()
        equal(peers[-1].answer().body, b"last")
        peers[-1].sock.close()
        contains(os.read(fake.process.stderr.fileno(), 65536), b"event=http.accept_failed errno=EMFILE")


# Peers that go.

def close(peer):
    peer.sock.close()


def reset(peer):
    peer.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    peer.sock.close()


def half_close(peer):
    peer.sock.shutdown(socket.SHUT_WR)


@cases([("%s while %s" % (go.__name__, what), go, do) for go in (close, reset, half_close)
        for what, do in (("pending", b"Do: never\r\n"), ("streaming", b"Do: stream 10000 50\r\n"))])
def test_a_peer_that_goes(go, do):
    with Fake() as fake:
        peer = fake.connect()
        peer.send(post(b"", do))
        if b"stream" in do:
            equal(peer.head().status, 200)
        else:
            until(lambda: fake.state()["served"] > 1, 5)
            time.sleep(.1)
        start = time.monotonic()
        go(peer)
        until(lambda: fake.state()["gone"] == 1, 5, "the peer is not missed")
        within(time.monotonic() - start, 0, 1)
        if go is half_close:
            check(peer.at_end() or b"stream" in do, "kept")
        peer.sock.close()


def test_a_peer_that_half_closed_is_answered_if_wished():
    with Fake() as fake:
        with fake.connect() as peer:
            peer.send(post(b"hello", b"Do: keep 300\r\n") + post(b"again", b"Do: keep 300\r\n"))
            half_close(peer)
            equal([peer.answer().body, peer.answer().body], [b"hello", b"again"])
            check(peer.at_end(), "kept")
        equal(fake.state()["kept"], 2)


def test_all_that_was_sent_ahead_is_answered():
    """More than is read ahead, behind a request that takes its time, and nothing after it: a script that is piped in."""
    with Fake() as fake, fake.connect() as peer:
        peer.send(post(b"first", b"Do: keep 700\r\n") + post(b"x" * 100) * 400)
        half_close(peer)
        equal(peer.answer().body, b"first")
        for _ in range(400):
            equal(peer.answer().body, b"x" * 100)
        check(peer.at_end(), "kept")


@cases([("close", close), ("reset", reset)])
def test_an_answer_for_nobody(go):
    with Fake() as fake:
        for i in range(10):
            peer = fake.connect()
            peer.send(post(b"x" * 100000, b"Do: keep 300\r\n"))
            until(lambda: fake.state()["served"] > i, 5)
            go(peer)
        until(lambda: fake.state()["kept"] == 10, 5, "kept")


def test_a_stream_for_nobody():
    """What it had to send is dropped with the peer that does not take it, and nothing spins."""
    with Fake(stall=300, keep_alive=100) as fake, unread(fake) as peer:
        peer.send(post(b"", b"Do: hold 200 10 100000\r\n"))
        until(lambda: fake.state()["kept"] == 1, 20, "kept")
        start = cpu_ticks(fake)
        time.sleep(1)
        check(cpu_ticks(fake) - start < 30, "ticks of CPU:", cpu_ticks(fake) - start)


def test_half_a_request_and_gone():
    with Fake() as fake:
        for request in (b"", b"POST", post(b"hello")[:-1], post(b"hello")[:-9]):
            for go in (close, reset, half_close):
                peer = fake.connect()
                peer.send(request)
                go(peer)
                check(go is not half_close or peer.at_end(), "kept")
                peer.sock.close()


def test_an_exchange_that_is_aborted():
    with Fake() as fake, fake.connect() as peer:
        peer.send(post(b"x", b"Do: abort\r\n"))
        check(peer.at_end(), "kept")


# Streams.

def test_a_stream():
    with Fake() as fake, fake.connect() as peer:
        peer.send(post(b"", b"Do: stream 3 300\r\n"))
        start = time.monotonic()
        head = peer.head()
        within(time.monotonic() - start, 0, .25, "the head comes at once:")
        equal((head.fields["content-type"], head.fields["cache-control"], head.fields["x-accel-buffering"],
               head.fields["transfer-encoding"]), ("text/event-stream", "no-cache, no-transform", "no", "chunked"))
        equal([peer.chunk() for _ in range(4)], [b'event: message\ndata: {"n":1}\n\n'] * 3 + [b""])
        equal(peer.ask(post(b"next")).body, b"next")


def test_a_stream_for_http_1_0():
    with Fake() as fake, fake.connect() as peer:
        peer.send(post(b"", b"Do: stream 2 10\r\n", version=b"1.0"))
        head = peer.head()
        equal(("transfer-encoding" in head.fields, head.fields["connection"]), (False, "close"))
        while peer.more():
            pass
        equal(peer.rest, b'event: message\ndata: {"n":1}\n\n' * 2)


def test_a_silent_stream_is_kept_alive():
    with Fake(keep_alive=200) as fake, fake.connect() as peer:
        peer.send(post(b"", b"Do: stream 1 900\r\n"))
        peer.head()
        chunks = []
        while not chunks or chunks[-1]:
            chunks.append(peer.chunk())
        check(2 <= chunks.count(b": keep-alive\n\n") <= 4, "chunks", chunks)
        equal(chunks[-2:], [b'event: message\ndata: {"n":1}\n\n', b""])


# The end.

def is_refused(fake):
    try:
        fake.connect().sock.close()
    except ConnectionError:
        return True


def test_draining():
    with Fake() as fake:
        with fake.connect() as idle, fake.connect() as pending, fake.connect() as head, fake.connect() as body:
            equal(idle.ask(post(b"x")).status, 200)
            pending.send(post(b"pending", b"Do: slow 600\r\n") + post(b"behind"))
            head.send(post(b"head")[:20])
            body.send(post(b"body")[:-1])
            until(lambda: fake.state()["served"] >= 3, 5)
            fake.process.send_signal(signal.SIGTERM)
            check(idle.at_end(), "kept")
            until(lambda: is_refused(fake), 5, "somebody is accepted")
            for peer, status in ((head, 503), (body, 503), (pending, 200)):
                answer = peer.answer()
                equal((answer.status, answer.fields["connection"]), (status, "close"))
                check(peer.at_end(), "kept")
        equal(fake.process.wait(WAIT), 0)


def test_nothing_is_left_of_thousands():
    with Fake() as fake:
        def some(n):
            for i in range(n):
                peer = fake.connect()
                peer.send((post(b"x"), post(b"x", auth=b""), b"GET", post(b"y" * 20000, b"Do: never\r\n"))[i % 4])
                if i % 4 < 2:
                    peer.answer()
                (close, reset)[i // 4 % 2](peer)
            until(lambda: fake.state()["connections"] == 1, 10)
        some(400)
        before, fds = fake.memory_kib(), fake.descriptors()
        some(3000)
        until(lambda: fake.descriptors() <= fds, 5, "descriptors are left")
        if not SANITIZED:
            within(fake.memory_kib() - before, -1e9, 300 / PATIENCE, "KiB")


main()
