#!/usr/bin/env python3
"""Answers that take their time: streams of events and what keeps them alive, progress, and the ways to give up."""
import contextlib
import time

from _http import (JSON_ONLY, HttpClient, HttpServer, call, check, check_serves, descriptors, end_shared, equal, gone,
                   is_running, message, named, named_program, runs, shared, unique, until)
from mcp import Server, cases, main, within
from web import SseServer

KINDS = (("events", ()), ("plain JSON", JSON_ONLY))


def client(era="legacy"):
    c = HttpClient(shared().address, era=era)
    c.initialize()
    return c


# To give up.

@cases(KINDS)
def test_a_cancellation(headers):
    """It has no answer: the stream ends without one, and where a body must come it is an error."""
    c = client()
    connection, name = runs(c, id=5, headers=headers)
    start = time.monotonic()
    c.cancel(5)
    gone(name)
    try:
        reply = connection.reply()
    except AssertionError:
        reply = None  # closed without an answer
    if reply and reply.type == "text/event-stream":
        equal([item for item in reply.events() if item.comment is None], [])
    elif reply and reply.body():
        check("result" not in reply.json(), "a result of a cancelled call:", reply.json())
    within(time.monotonic() - start, 0, 3)
    check_serves(c)


@cases(KINDS)
def test_a_cancellation_of_what_waits(headers):
    c = client()
    connection, name = runs(c, "import time; time.sleep(1)", id=5)
    waiting = unique()
    c.begin(call(named_program(waiting), id=6), headers)
    time.sleep(0.2)
    c.cancel(6)
    equal(c.response(connection.reply())["result"]["structuredContent"]["exit_code"], 0)
    check_serves(c)
    equal(named(waiting), [])


def test_cancellations_that_mean_nothing():
    c = client()
    connection, name = runs(c, "import time; time.sleep(1); print('done')", id=5)
    for params in ({"requestId": "5"}, {"requestId": 6}, {}, {"requestId": None}, {"requestId": [5]},
                   {"requestId": 5.5}):
        c.send(message("notifications/cancelled", params, None))
    # Without the session, and from the modern era, in which another client may use this id.
    HttpClient(c.address).send(message("notifications/cancelled", {"requestId": 5}, None))
    reply = HttpClient(c.address).post(message("notifications/cancelled", {"requestId": 5}, None), era="modern",
                                       headers=[("Mcp-Session-Id", c.session)])
    equal(reply.status, 202)
    equal(c.response(connection.reply())["result"]["structuredContent"]["stdout"], "done\n")
    c.cancel(5)
    check_serves(c)


@cases([(label + (", reset" if reset else ""), headers, reset) for label, headers in KINDS for reset in (False, True)])
def test_a_modern_client_drops_the_connection(headers, reset):
    """That is how it cancels, also while nothing was answered yet."""
    c = client("modern")
    connection, name = runs(c, headers=headers)
    connection.reset() if reset else connection.close()
    gone(name)
    check_serves(c)


@cases(KINDS)
def test_a_modern_client_drops_what_waits(headers):
    c = client("modern")
    connection, name = runs(c, "import time; time.sleep(1)")
    waiting = unique()
    c.begin(call(named_program(waiting)), headers).close()
    equal(c.response(connection.reply())["result"]["structuredContent"]["exit_code"], 0)
    check_serves(c)
    equal(named(waiting), [])


@cases([("%s, %s" % (label, kind), start, headers) for kind, headers in KINDS
        for label, start in (("in a session", client), ("without one", lambda: HttpClient(shared().address)))])
def test_a_legacy_client_drops_the_connection(start, headers):
    """It has not cancelled: the run goes on to its end or its own deadline, and only the result is lost."""
    c = start()
    connection, name = runs(c, id=5, headers=headers, timeout_s=2)
    dropped = time.monotonic()
    connection.close()
    time.sleep(1)
    check(is_running(name), "the run was ended with its connection")
    gone(name, 5)
    within(time.monotonic() - dropped, 1, 3.5)
    check_serves(c)
    connection, name = runs(c, "import time; time.sleep(0.8)", id=5, headers=headers)
    connection.close()
    time.sleep(0.4)
    check(is_running(name), "the run was ended with its connection")
    gone(name, 5)
    check_serves(c)


def test_a_legacy_client_cancels_what_it_has_dropped():
    c = client()
    connection, name = runs(c, id=5)
    connection.close()
    time.sleep(0.2)
    c.cancel(5)
    gone(name)
    check_serves(c)


@cases(KINDS)
def test_a_legacy_client_has_said_all(headers):
    """It may close its half: the answer comes. A modern client has cancelled by the same."""
    c = client()
    connection = c.begin(call("import time; time.sleep(0.7); print(1)"), headers)
    connection.finish()
    equal(c.response(connection.reply())["result"]["structuredContent"]["stdout"], "1\n")


@cases(KINDS)
def test_many_drops(headers):
    """Nothing is left of any of them: no descriptor, no process, no place in the queue."""
    c = client("modern")
    check_serves(c)
    s = shared()
    before = descriptors(s)
    for i in range(40):
        connection = c.begin(call("import time; time.sleep(9)", id=i), headers)
        if i % 4:
            time.sleep(0.01 * (i % 4))
        connection.reset() if i % 2 else connection.close()
    check_serves(c)
    until(lambda: descriptors(s) <= before + 1, 5, "descriptors are given back")


def test_a_peer_that_takes_nothing():
    """An answer that is not taken holds up nobody else."""
    slow = client("modern")
    connection = slow.connect(receive_bytes=4096)
    slow.begin(call("print('x' * 1000000)"), connection=connection)
    time.sleep(0.5)
    check_serves(client())
    equal(len(slow.response(connection.reply())["result"]["structuredContent"]["stdout"]), 1000001)


# Streams.

def test_the_head_comes_at_once():
    """Before the program has ended, so that neither client nor proxy loses patience."""
    for era in ("legacy", "modern"):
        c = client(era)
        start = time.monotonic()
        reply = c.post(call("import time; time.sleep(1.2); print(1)"))
        within(time.monotonic() - start, 0, 0.7)
        equal((reply.status, reply.type, reply.framing), (200, "text/event-stream", "chunked"))
        items = list(reply.events())
        equal([item.name for item in items], ["message"])
        equal(items[0].more, {}, "id or retry, which would make clients resume:")


def test_a_comment_keeps_a_silent_stream_alive():
    """Every 15 seconds, over both transports; nothing else comes until the answer does."""
    code = "import time; time.sleep(17); print(1)"
    with HttpServer() as s, SseServer() as older:
        older.initialize()
        asked = older.start_exec(code)
        start = time.monotonic()
        items = list(s.post(call(code)).events(40))
        equal([item.name for item in items], [None, "message"])
        within(items[0].at - start, 14, 16)
        item = older.stream.item()
        equal(item.name, None)
        equal(older.answer(asked)["result"]["structuredContent"]["stdout"], "1\n")


# Progress.

def progress(seen, token, name):
    """Checks what progress must be, whatever brought it."""
    check(seen, name, "gives none")
    for m in seen:
        equal(m["method"], "notifications/progress")
        equal((m["params"]["progressToken"], type(m["params"]["progressToken"])), (token, type(token)))
        check(isinstance(m["params"]["message"], str) and m["params"]["message"], "no message:", m)
    values = [m["params"]["progress"] for m in seen]
    check(all(a < b for a, b in zip(values, values[1:])), "it does not rise:", values)


@contextlib.contextmanager
def transports():
    """A server of each transport, and of each era where it makes a difference: what takes its time is tried on all at
    once."""
    with Server() as stdio, HttpServer() as http, HttpServer(era="modern") as modern, SseServer() as sse:
        servers = {"stdio": stdio, "http": http, "http modern": modern, "sse": sse}
        for s in servers.values():
            s.initialize()
            s.exec("pass")
        yield servers


def on_all(servers, code, meta):
    """Asks all for a run. Returns what each said before its answer."""
    asked = {name: s.start_exec(code, meta=meta) for name, s in servers.items()}
    for name, s in servers.items():
        equal(s.answer(asked[name])["result"]["structuredContent"]["exit_code"], 0, name)
    found = {name: [m for m in s.inbox if "method" in m] for name, s in servers.items()}
    for s in servers.values():
        s.inbox.clear()
    return found


@cases([("text", "t"), ("number", 9007199254740993), ("empty", "")])
def test_progress(token):
    """First after about a second, rising, and none behind the answer; with a token of any allowed kind."""
    with transports() as servers:
        for name, seen in on_all(servers, "import time; time.sleep(2.2)", {"progressToken": token}).items():
            progress(seen, token, name)
            within(len(seen), 1, 2, "notifications by " + name)
            contents = " ".join(m["params"]["message"] for m in seen)
            check("run" in contents, name, "does not say that it runs:", contents)


def test_no_progress_without_a_token():
    with transports() as servers:
        for meta in (None, {}, {"x": 1}):
            found = on_all(servers, "import time; time.sleep(1.7)", meta)
            equal(found, {name: [] for name in servers})


def test_progress_of_what_waits():
    """It says so; then that it runs."""
    with transports() as servers:
        for s in servers.values():
            s.start_exec("import time; time.sleep(1.6)")
        for name, seen in on_all(servers, "import time; time.sleep(1.6)", {"progressToken": 1}).items():
            progress(seen, 1, name)
            words = seen[0]["params"]["message"].lower()
            check("queue" in words or "wait" in words, name, "does not say that it waits:", words)


def test_progress_comes_at_least_every_five_seconds():
    c = client("modern")
    at = [time.monotonic()]
    stream = c.begin(call("import time; time.sleep(8)", meta={"progressToken": 1})).reply()
    at += [item.at for item in stream.events() if item.comment is None]
    within(at[1] - at[0], 0.5, 2)
    check(len(at) >= 3, "too rare:", at)
    within(max(b - a for a, b in zip(at, at[1:])), 0, 6.5)


def test_no_progress_in_plain_json():
    c = client("modern")
    reply = c.post(call("import time; time.sleep(1.5)", meta={"progressToken": 1}), JSON_ONLY)
    equal((reply.status, reply.json()["result"]["structuredContent"]["exit_code"]), (200, 0))


def test_it_has_served_all_that():
    end_shared()


main()
