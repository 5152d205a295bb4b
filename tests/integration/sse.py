#!/usr/bin/env python3
"""HTTP with SSE, the transport of 2024-11-05: one stream for all answers of a client, and a POST for each message."""
import json
import os
import re
import time

from _http import (REQUEST, call, check, check_serves, descriptors, equal, gone, initialize, is_running, message, meta,
                   named_program, unique, until)
from mcp import LATEST, case, cases, main, within
from web import SseClient, SseServer

PING = json.dumps(message("ping")).encode()
TYPED = [("Content-Type", "application/json")]

_shared = None


def shared():
    global _shared
    if _shared is None or _shared.process.poll() is not None:
        _shared = SseServer()
    return _shared


def client(**more):
    c = SseClient(shared().address, **more)
    c.initialize()
    return c


@case("/sse", "/sse")
@case("/", "/")
@case("with a slash", "/sse/")
@case("with a query", "/sse?x=1")
def test_a_stream_begins_with_its_endpoint(path):
    c = SseClient(shared().address, path=path)
    start = time.monotonic()
    stream = c.open()
    within(time.monotonic() - start, 0, 1)
    check(re.fullmatch(r"/messages\?sessionId=[0-9A-Za-z-]{32,}", c.endpoint), "another endpoint:", c.endpoint)
    equal((stream.get("Cache-Control") or "").split(",")[0], "no-cache")
    equal((stream.get("X-Accel-Buffering"), stream.framing), ("no", "chunked"))
    c.initialize()
    check_serves(c)
    c.close()


def test_endpoints_differ():
    clients = [SseClient(shared().address) for _ in range(20)]
    for c in clients:
        c.open()
    equal(len({c.endpoint for c in clients}), 20)
    for c in clients:
        c.close()


@cases([(version, version) for version in ("2024-11-05", "2025-03-26", "2025-06-18", LATEST)])
def test_every_legacy_revision(version):
    with SseClient(shared().address) as c:
        equal(c.initialize(version)["protocolVersion"], version)
        check_serves(c)


def test_a_message_is_accepted_and_answered_on_the_stream():
    with client() as c:
        reply = c.post(message("ping", id="x"))
        equal(reply.status, 202)
        check(len(reply.body()) < 20 and b"jsonrpc" not in reply.body(), "the POST was answered:", reply.body())
        equal(c.answer("x")["result"], {})
        for m in (message("notifications/x", id=None), {"jsonrpc": "2.0", "id": 5, "result": {}}):
            equal(c.post(m).status, 202)
        equal(c.request("no/such")["error"]["code"], -32601)
        equal(c.request("initialize", {})["error"]["code"], -32602)


# path, headers, body, status
REFUSED = (
    ("no session", "/messages", TYPED, PING, 400), ("an empty session", "/messages?sessionId=", TYPED, PING, 404),
    ("an unknown session", "/messages?sessionId=" + "0" * 32, TYPED, PING, 404),
    ("an odd session", "/messages?sessionId=%ff../..", TYPED, PING, 404),
    ("a NUL in the session", "/messages?sessionId=x%00", TYPED, PING, 400),
    ("another path", "/message?sessionId=x", TYPED, PING, 404),
)


@cases(REFUSED)
def test_a_message_for_nobody(path, headers, body, status):
    reply = shared().http("POST", path, headers, body)
    equal(reply.status, status)
    equal(reply.type, "application/json")


def test_what_is_no_message():
    """The POST says so itself, and nothing of it comes by the stream."""
    with client() as c:
        for headers, body, status in (([("Content-Type", "text/plain")], PING, 415),
                                      ([("Content-Type", None)], PING, 415), ([], b"{bad", 400), ([], b"", 400),
                                      ([], b"\xff", 400)):
            equal(c.post(body, headers).status, status, "%s %s" % (headers, body))
        equal(c.request("ping")["result"], {})
        equal(c.inbox, [])


def test_methods():
    s = shared()
    for method, path in (("POST", "/sse"), ("PUT", "/sse"), ("DELETE", "/sse"), ("POST", "/"), ("GET", "/messages"),
                         ("DELETE", "/messages"), ("PUT", "/messages?sessionId=x")):
        reply = s.http(method, path, TYPED, PING if method == "POST" else None)
        equal(reply.status, 405, "%s %s" % (method, path))
        check(reply.get("Allow"), "no Allow")
    equal(s.http("POST", "/mcp", TYPED, PING).status, 404)


def test_there_is_no_modern_era():
    """A claim is a member of _meta that means nothing here."""
    with client() as c:
        equal("resultType" in c.request("tools/list", {"_meta": meta()})["result"], False)
        equal(c.request("ping", {"_meta": meta("2099-01-01")})["result"], {})
        equal(c.request("server/discover", {"_meta": meta()})["error"]["code"], -32601)


def test_a_batch():
    with SseClient(shared().address) as c:
        c.initialize("2025-03-26")
        equal(c.post([message("ping", id=1), message("notifications/x", id=None), message("ping", id=2)]).status, 202)
        equal([c.recv()["id"] for _ in range(2)], [1, 2])
        equal(c.post([message("ping", {"_meta": meta()}, id=3), message("no/such", id=4)]).status, 202)
        equal([c.recv()["id"] for _ in range(2)], [3, 4])
    with client() as c:
        reply = c.post([message("ping", id=1)])
        answer = c.recv() if reply.status == 202 else reply.json()
        equal(answer["error"]["code"], REQUEST)


def test_answers_in_any_order():
    with client() as c:
        slow = c.start_exec("import time; time.sleep(0.7); print('slow')", id=1)
        equal(c.request("ping", id=2)["result"], {})
        equal(c.inbox, [])
        equal(c.answer(slow)["result"]["structuredContent"]["stdout"], "slow\n")


def test_two_clients_with_the_same_ids():
    with client() as one, client() as two:
        name = unique()
        first = one.start_exec(named_program(name), id=7)
        until(lambda: is_running(name), 10, "the program runs")
        second = two.start_exec("print('two')", id=7)
        two.cancel(9)
        one.cancel(first)
        gone(name)
        equal(two.answer(second)["result"]["structuredContent"]["stdout"], "two\n")
        equal((one.inbox, two.inbox), ([], []))
        check_serves(one)


@case("closed", False)
@case("reset", True)
def test_the_end_of_a_stream_is_the_end_of_its_session(reset):
    c, other = client(), client()
    name, waits = unique(), unique()
    c.start_exec(named_program(name))
    until(lambda: is_running(name), 10, "the program runs")
    c.start_exec(named_program(waits))
    after = other.start_exec("print('other')")
    c.stream.connection.reset() if reset else c.stream.connection.close()
    gone(name)
    until(lambda: c.post(message("ping")).status == 404, 3, "the session is gone")
    equal(other.answer(after)["result"]["structuredContent"]["stdout"], "other\n")
    equal(is_running(waits), False)
    other.close()


def test_the_post_of_a_call_may_go():
    """It is answered already: only the stream counts."""
    with client() as c:
        for i in range(10):
            connection = c.begin(message("ping", id="p%d" % i))
            connection.close() if i % 2 else connection.reset()
        asked = c.start_exec("import time; time.sleep(0.5); print(1)")
        equal(c.answer(asked)["result"]["structuredContent"]["stdout"], "1\n")


def test_output_with_newlines_of_every_kind():
    """An event is one line of JSON, whatever was printed."""
    with client() as c:
        text = "a\nb\r\nc\rd\u2028e\u2029\n\ndata: x\n\nevent: y\n\n\0:"
        result = c.exec("import sys; sys.stdout.buffer.write(%r.encode())" % text)
        equal(result["structuredContent"]["stdout"], text)


def test_a_client_that_reads_nothing():
    """It may ask for much and take nothing: others are served, memory stays bounded, and in the end it is let go."""
    slow = SseClient(shared().address)
    connection = slow.connect(receive_bytes=4096)
    connection.send(b"GET /sse HTTP/1.1\r\nHost: localhost\r\n\r\n")
    slow.stream = connection.reply("GET")
    slow.endpoint = slow.stream.item().data
    slow.initialize()
    for i in range(20):
        slow.start_exec("print('x' * 1000000)", id=i)
    with client() as c:
        for _ in range(3):
            check_serves(c)
    with open("/proc/%d/status" % shared().pid) as file:
        resident = int(next(line for line in file if line.startswith("VmRSS")).split()[1])
    if "MCP_EXEC_SANITIZED" not in os.environ:
        check(resident < 200 << 10, "the server has %d KiB" % resident)
    slow.close()
    with client() as c:
        check_serves(c)


def test_many_streams_that_come_and_go():
    s = shared()
    before = descriptors(s)
    for i in range(60):
        c = SseClient(s.address)
        c.open()
        if i % 3 == 0:
            c.start_exec("import time; time.sleep(9)")
        c.stream.connection.reset() if i % 2 else c.close()
    until(lambda: descriptors(s) <= before + 1, 5, "descriptors are given back")
    with client() as c:
        check_serves(c)


@case("sessions", "MCP_EXEC_MAX_SESSIONS")
@case("connections", "MCP_EXEC_MAX_CONNECTIONS")
def test_no_more_streams_than_there_may_be(variable):
    """One more gets 503 or takes the place of one that is silent; those with a call are never let go."""
    with SseServer(env={variable: "3"}) as s:
        s.initialize()
        name = unique()
        asked = s.start_exec(named_program(name, "import time; time.sleep(2); print(1)"))
        until(lambda: is_running(name), 10, "the program runs")
        for _ in range(6):
            more = SseClient(s.address)
            check(more.start_stream().status in (200, 503), "neither served nor refused")
            more.close()
        equal(s.answer(asked)["result"]["structuredContent"]["stdout"], "1\n")


def test_a_second_handshake():
    with client() as c:
        equal(c.request("initialize", initialize("2025-03-26")["params"])["result"]["protocolVersion"], "2025-03-26")
        check_serves(c)


def test_a_call_by_its_bytes():
    """Whole events, one for each message, without an id or a time to come back."""
    with client() as c:
        c.send(call("print(1)", id=4))
        item = c.stream.event()
        equal((item.name, item.more), ("message", {}))
        equal(item.json()["id"], 4)


def test_it_has_served_all_that():
    shared().__exit__()


main()
