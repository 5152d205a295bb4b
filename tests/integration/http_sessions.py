#!/usr/bin/env python3
"""Sessions of the legacy era over HTTP: whose they are, how they begin and end, how many there are; and batches."""
import json
import re
import time

from _http import (LATEST, NO_SESSION, REQUEST, HttpClient, HttpServer, call, check, end_shared, equal, gone,
                   initialize, is_running, message, meta, named, named_program, outcome, runs, shared, unique, until)
from mcp import cases, main, within


def client(s, version=LATEST):
    """A client of the server with a session of its own."""
    found = HttpClient(s.address)
    found.initialize(version)
    return found


def knows(c):
    """Whether the server knows the client's session."""
    reply = c.post(message("ping"))
    if reply.status == 404:
        equal(reply.json()["error"]["code"], NO_SESSION)
        return False
    equal((reply.status, reply.json()["result"]), (200, {}))
    return True


def end(c):
    return c.http("DELETE", headers=[("Mcp-Session-Id", c.session)])


def test_ids_are_random_and_clean():
    ids = [client(shared()).session for _ in range(50)]
    equal(len(set(ids)), 50)
    for id in ids:
        check(re.fullmatch(r"[!-~]{32,128}", id), "an odd id:", id)
    for at in range(32):
        check(len({id[at] for id in ids}) > 4, "hardly random in place %d:" % at, ids[:5])


def test_a_session_lives_until_it_is_ended():
    c = client(shared())
    equal(knows(c), True)
    check(end(c).status in (200, 204), "not ended")
    equal(knows(c), False)
    equal(end(c).status, 404)
    equal(c.post(message("notifications/x", id=None)).status, 404)
    c.initialize()
    equal(knows(c), True)
    end(c)


def test_what_is_said_without_a_session_or_with_a_wrong_one():
    s = shared()
    equal(s.http("DELETE").status, 400)
    for wrong in ("0" * 32, "x", "..", "a" * 5000, "\xff", client(s).session[:-1]):
        for method, body in (("POST", b'{"jsonrpc":"2.0","id":1,"method":"ping"}'), ("DELETE", None)):
            reply = s.http(method, headers=[("Mcp-Session-Id", wrong), ("Content-Type", "application/json")], body=body)
            equal(reply.status, 404, "%s %.20s" % (method, ascii(wrong)))


def test_a_second_initialize():
    """In a session it is refused and changes nothing; without its id it is a new session."""
    c = client(shared(), "2025-03-26")
    equal(outcome(c.post(initialize())), (400, REQUEST, 1))
    equal(c.post([message("ping")]).status, 200)
    first = c.session
    c.session = None
    reply = c.post(initialize())
    check(reply.get("Mcp-Session-Id") not in (None, first), "the same session")
    # With the id of a session that is gone a client starts anew, as it was told to by the 404.
    c.session = "0" * 32
    equal(c.post(initialize()).status, 200)


def test_nobody_else_gets_a_session():
    """Only what begins one has the field; the modern era has none, whatever a client sends."""
    s = shared()
    s.session = s.version = None
    for m, era in ((message("ping"), "legacy"), (message("tools/list"), "legacy"), (message("tools/list"), "modern"),
                   (call("print(1)"), "legacy"), (message("initialize", {}), "legacy")):
        equal(s.post(m, era=era).get("Mcp-Session-Id"), None, m["method"])


def test_two_clients_with_the_same_ids():
    """Calls, duplicates and cancellations of one are not those of the other."""
    one, two = client(shared()), client(shared())
    connection, name = runs(one, id=1)
    waiting = two.begin(call("print('two')", id=1))
    two.cancel(1)
    equal(outcome(one.post(message("ping", id=1)))[1:], (REQUEST, 1))
    time.sleep(0.3)
    check(is_running(name), "another session's cancellation was taken")
    third = two.begin(call("print('three')", id=1))
    one.cancel(1)
    gone(name)
    equal(two.response(third.reply())["result"]["structuredContent"]["stdout"], "three\n")
    for c in (one, two):
        equal(knows(c), True)
        end(c)
    waiting.close()
    connection.close()


def test_an_id_is_free_again():
    c = client(shared())
    for _ in range(3):
        equal(outcome(c.post(call("print(1)", id=5))), (200, None, 5))
    connection, name = runs(c, id=6)
    c.cancel(6)
    gone(name)
    equal(outcome(c.post(call("print(1)", id=6))), (200, None, 6))
    end(c)


def test_the_end_of_a_session_ends_its_calls():
    """Those that run and those that wait; and nothing of another session."""
    c, other = client(shared()), client(shared())
    connection, name = runs(c, id=1)
    waits = unique()
    c.begin(call(named_program(waits), id=2))
    after = other.begin(call("print('other')", id=1))
    end(c)
    gone(name)
    equal(other.response(after.reply())["result"]["structuredContent"]["stdout"], "other\n")
    equal(named(waits), [])
    end(other)


def test_a_full_table_forgets_the_longest_silent():
    with HttpServer(env={"MCP_EXEC_MAX_SESSIONS": "3"}) as s:
        first, second, third = [client(s) for _ in range(3)]
        knows(first)
        fourth = client(s)
        equal([knows(c) for c in (first, second, third, fourth)], [True, False, True, True])


def test_a_full_table_of_busy_sessions():
    """None of them is thrown out; who comes is served without a session, and gets one later."""
    with HttpServer(env={"MCP_EXEC_MAX_SESSIONS": "2"}) as s:
        one, two, other = client(s), client(s), HttpClient(s.address)
        connection, name = runs(one)
        queued = two.begin(call("print('queued')", id=2))
        until(lambda: other.post(initialize()).get("Mcp-Session-Id") is None, 5, "no session")
        reply = other.post(initialize())
        equal((reply.status, reply.json()["result"]["protocolVersion"]), (200, LATEST))
        one.cancel(1)
        equal(two.response(queued.reply())["result"]["structuredContent"]["stdout"], "queued\n")
        equal([knows(one), knows(two)], [True, True])
        check(other.post(initialize()).get("Mcp-Session-Id"), "no session, although there is room")


def test_silent_sessions_are_forgotten():
    with HttpServer(env={"MCP_EXEC_SESSION_IDLE_S": "2"}) as s:
        silent, busy, lively = client(s), client(s), client(s)
        connection, name = runs(busy, "import time; time.sleep(4.5)")
        for _ in range(6):
            time.sleep(0.6)
            equal(knows(lively), True)
        equal(knows(silent), False)
        check(is_running(name), "the call of a session was ended for its silence")
        equal(busy.response(connection.reply())["result"]["structuredContent"]["exit_code"], 0)
        equal(knows(busy), True)


# Batches: of 2025-03-26, and of the revision before it, which is silent about them.

PINGS = [message("ping", id=i) for i in (1, "two")]
SAID = [message("notifications/x", id=None)]


def in_batch(c, messages):
    reply = c.post(messages)
    equal((reply.status, reply.type), (200, "application/json"))
    return reply.json()


@cases([("2025-03-26", "2025-03-26"), ("2024-11-05", "2024-11-05")])
def test_a_batch(version):
    c = client(shared(), version)
    answers = in_batch(c, PINGS + SAID)
    equal([(a["id"], a["result"]) for a in answers], [(1, {}), ("two", {})])
    reply = c.post(SAID * 3)
    equal((reply.status, reply.body()), (202, b""))
    equal(outcome(c.post(b"[]")), (400, REQUEST, None))
    end(c)


@cases([("2025-06-18", "2025-06-18"), ("2025-11-25", "2025-11-25")])
def test_no_batch(version):
    c = client(shared(), version)
    equal(outcome(c.post(PINGS)), (400, REQUEST, None))
    equal(outcome(c.post(PINGS, [("MCP-Protocol-Version", "2025-03-26")])), (400, REQUEST, None))
    end(c)


def test_a_batch_of_good_and_bad():
    c = client(shared(), "2025-03-26")
    answers = in_batch(c, [message("ping"), 7, message("no/such", id=2), initialize(id=3), message("ping", id=4)])
    equal([(a["id"], a.get("error", {}).get("code")) for a in answers],
          [(1, None), (None, REQUEST), (2, -32601), (3, REQUEST), (4, None)])
    equal(outcome(c.post(PINGS + [message("tools/list", {"_meta": meta()}, 3)])), (400, REQUEST, None))
    equal(len(in_batch(c, [message("ping", id=i) for i in range(100)])), 100)
    equal(outcome(c.post([message("ping", id=i) for i in range(101)])), (400, REQUEST, None))
    end(c)


def answers_of(c, reply):
    """The answers of a batch: an array, or one event each."""
    if reply.type == "application/json":
        return reply.json()
    return [item.json() for item in reply.events() if item.comment is None]


def test_a_batch_with_calls():
    """All of them are answered, also when one is cancelled by another request in the meantime."""
    c = client(shared(), "2025-03-26")
    batch = c.begin([call("import time; time.sleep(0.3); print(%d)" % i, id=i) for i in (1, 2)] +
                    [message("ping", id=3)])
    answers = {a["id"]: a["result"] for a in answers_of(c, batch.reply())}
    equal([json.loads(answers[i]["content"][0]["text"])["stdout"] for i in (1, 2)], ["1\n", "2\n"])
    equal(answers[3], {})
    name = unique()
    batch = c.begin([call(named_program(name), id=4), message("ping", id=5)])
    until(lambda: named(name), 10, "the program runs")
    start = time.monotonic()
    c.cancel(4)
    gone(name)
    equal([a["id"] for a in answers_of(c, batch.reply())], [5])
    within(time.monotonic() - start, 0, 3)
    end(c)


def test_it_has_served_all_that():
    end_shared()


main()
