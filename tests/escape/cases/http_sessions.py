"""Sessions: an id is a secret of one client, no answer goes to another, and their number is bounded."""
import json
import re
import time
from contextlib import ExitStack

from _case import Open, host, soon
from _peer import GUARDED, LOCAL, NOTE, RIGHT, _cut, each, inlet, message, served, spoken
from _target import Broken, structured
from .http_load import Flat
from mcp import LATEST, PATIENCE, Timeout, check, equal, named, named_program, unique, until, within
from web import HttpClient, SseClient, host_field
from wire import Connection, request

HELLO = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
    "protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}).encode()
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
ID = re.compile(rb"\r\nMcp-Session-Id: ([^\r]*)\r\n")


def neighbours(id):
    """What somebody would guess who knows one id, or none."""
    first, last = ("%x" % (int(digit, 16) ^ 1) for digit in (id[0], id[-1]))
    return [id[:-1] + last, first + id[1:], id[:-1], id[1:], id + "0", "0" + id, id + id, id.upper() if id.upper() != id
            else "A" * 32, id + " x", id + ",", id + "," + id, '"%s"' % id, id + "%00", "%" + id, "0" * 32, "f" * 32,
            "0", "1",
            "*", "null", "undefined", "../" + id, "a" * 4000, "%032x" % (int(id, 16) + 1),
            "%032x" % (int(id, 16) ^ 1 << 127)]


def flood(s, total, at_once=100):
    """The ids of so many new sessions, asked for in pieces on one connection."""
    data, ids = message(s, RIGHT, ("Mcp-Session-Id", None), body=HELLO) * at_once, []
    with Connection(s.address) as connection:
        for _ in range(total // at_once):
            connection.send(data)
            for _ in range(at_once):
                reply = connection.reply()
                reply.body()
                ids.append(reply.get("Mcp-Session-Id"))
    return ids


@host("http.session-ids", "ids are 128 bits that nobody foresees: none twice, every bit as often set as not",
      "sessions", "listens", "streamable")
def session_ids(target):
    ids = flood(target.server(GUARDED), 1000)
    check(all(re.fullmatch("[0-9a-f]{32}", id or "") for id in ids), "odd ids", ids[:3])
    check(len(set(ids)) == len(ids), "%d of %d ids are different" % (len(set(ids)), len(ids)))
    for bit in range(128):
        # Ten times the deviation that is to be expected: once in more tries than there will ever be.
        within(sum(int(id, 16) >> bit & 1 for id in ids) / len(ids), 0.34, 0.66 / PATIENCE, "bit %d is set" % bit)


@host("http.stream-ids", "the same for streams", "sessions", "listens", "stream")
def stream_ids(target):
    s, ids = target.server(GUARDED), []
    for _ in range(50):
        with SseClient(s.address, auth=[RIGHT]) as other:
            other.open()
            ids.append(other.endpoint.rpartition("=")[2])
    check(all(re.fullmatch("[0-9a-f]{32}", id) for id in ids), "odd ids", ids[:3])
    equal(len(set(ids)), len(ids))


@host("http.session-flood", "10000 initializations: the table is bounded, and so is memory", "sessions", "listens",
      "streamable", "environment")
def session_flood(target):
    s = target.server(dict(GUARDED, MCP_EXEC_MAX_SESSIONS="50", MCP_EXEC_LOG_LEVEL="info"))
    flood(s, 200)
    with Flat(s, 4 << 20):
        ids = flood(s, 10000)
    check(None not in ids, "a client was refused")
    text = spoken(s.address, request("GET", "/metrics", [LOCAL, RIGHT]))[0].body.decode()
    count = int(text.partition("\nmcp_exec_sessions ")[2].split()[0])
    check(count <= 50, "sessions:", count)
    for id, status in ((ids[0], 404), (ids[-1], 200)):
        equal([a.status for a in spoken(s.address, message(s, RIGHT, ("Mcp-Session-Id", id), body=PING))], [status])
    # settle() asks with the session that was ended to make room.
    s.initialize()


@host("http.stream-flood", "streams are bounded, and their places are free again", "sessions", "listens", "stream",
      "environment")
def stream_flood(target):
    s = target.server(dict(GUARDED, MCP_EXEC_MAX_SESSIONS="8"))

    def opened(stack, n):
        clients = [stack.enter_context(SseClient(s.address, auth=[RIGHT])) for _ in range(n)]
        return [client.start_stream().status for client in clients]
    with ExitStack() as stack:
        equal(sorted(opened(stack, 20)), [200] * 7 + [503] * 13)
    soon(lambda: _one_more(s, opened), 5, "places are free again")


def _one_more(s, opened):
    with ExitStack() as stack:
        return opened(stack, 1) == [200]


@host("http.session-guessed", "ids like that of another client open nothing, and are not taken on", "sessions",
      "listens", "streamable")
def session_guessed(target):
    s = target.server(GUARDED)

    def attempt(id, method, body):
        for said in spoken(s.address, message(s, RIGHT, ("Mcp-Session-Id", id), method=method, body=body)):
            if said.status not in (400, 404):
                return "%r" % said
            if ID.search(said.head) or len(id) > 9 and id[:24].encode() in said.body:
                return "it is said back: %r" % (said.head + said.body)
        return None
    each(("%s with %.60s" % (name, id), lambda i=id, m=method, b=body: attempt(i, m, b)) for id in neighbours(s.session)
         for name, method, body in (("ping", "POST", PING), ("a note", "POST", NOTE), ("DELETE", "DELETE", None)))
    for id in neighbours(s.session):
        said = spoken(s.address, message(s, RIGHT, ("Mcp-Session-Id", id), body=HELLO))
        given = ID.search(said[0].head)
        check(not given or given.group(1).decode() != id, "a chosen id was taken on:", id)
    equal(s.request("ping")["result"], {})


@host("http.stream-guessed", "the same for streams: a guessed id is no way to send to them", "sessions", "listens",
      "stream")
def stream_guessed(target):
    s = target.server(GUARDED)
    path, _, id = s.endpoint.partition("=")

    def attempt(target_):
        said = spoken(s.address, message(s, RIGHT, target=target_))
        return None if [a.status for a in said] in ([400], [404]) else "%r" % said
    each((guess[:60], lambda t=path + "=" + guess.replace(" ", "%20").replace('"', "%22"): attempt(t))
         for guess in neighbours(id))
    each((target_[:60], lambda t=target_: attempt(t)) for target_ in (
        "/messages", "/messages?", "/messages?sessionid=" + id, "/messages?session=" + id,
        "/messages?sessionId=x&sessionId=" + id,
        "/messages?sessionId=", "/messages?sessionId[]=" + id, "/messages?x=1;sessionId=" + id))


@host("http.session-ended", "an id is worth nothing after DELETE, and what it had begun ends", "sessions", "listens",
      "streamable", "processes")
def session_ended(target):
    s, name = target.server(GUARDED), unique()
    with HttpClient(s.address, auth=[RIGHT]) as other:
        other.initialize()
        id = other.session
        other.start_exec(named_program(name))
        until(lambda: named(name), 10, "the program runs")
        ended = message(s, RIGHT, ("Mcp-Session-Id", id), method="DELETE", body=None)
        equal([a.status for a in spoken(s.address, ended)], [200])
        soon(lambda: not named(name), 5, "its program ends")
        for data in (ended, message(s, RIGHT, ("Mcp-Session-Id", id), body=PING)):
            equal([a.status for a in spoken(s.address, data)], [404])
    equal(s.request("ping")["result"], {})


@host("http.session-expires", "a client that is silent for long is forgotten, one that is not is not", "sessions",
      "listens", "streamable", "environment")
def session_expires(target):
    with target.instance(env={"MCP_EXEC_SESSION_IDLE_S": "2"}) as s:
        s.initialize()
        silent = s.session
        s.initialize()
        start = time.monotonic()
        while time.monotonic() - start < 3.2:
            said = spoken(s.address, message(s, ("Mcp-Session-Id", s.session), body=PING))
            equal([a.status for a in said], [200], "the one that asks,")
            time.sleep(0.4)
        equal([a.status for a in spoken(s.address, message(s, ("Mcp-Session-Id", silent), body=PING))], [404])


@host("http.answers-stay-apart", "clients with the same ids at the same time get each their own answers", "sessions",
      "listens")
def answers_stay_apart(target):
    s = target.server(GUARDED)
    kind = HttpClient if target.name == "http" else SseClient
    with ExitStack() as stack:
        clients = [stack.enter_context(kind(s.address, auth=[RIGHT])) for _ in range(6)]
        for client in clients:
            client.initialize()
        for round in range(2):
            for number, client in enumerate(clients):
                client.start_exec("print('for %d in %d')" % (number, round), id="same")
            for number, client in enumerate(clients):
                equal(structured(client.answer("same")["result"])["stdout"], "for %d in %d\n" % (number, round))
        for client in clients:
            equal(client.inbox, [])


@host("http.cancel-of-another", "a cancel by another client, with the right id of the call, does nothing", "sessions",
      "listens")
def cancel_of_another(target):
    s = target.server(GUARDED)
    kind = HttpClient if target.name == "http" else SseClient
    with kind(s.address, auth=[RIGHT]) as mine, kind(s.address, auth=[RIGHT]) as other:
        mine.initialize()
        other.initialize()
        call = mine.start_exec("import time; time.sleep(0.8); print('done')", id=4711)
        time.sleep(0.2)
        for client in (other, s):
            client.cancel(4711)
        cancel = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":4711}}'
        if target.name == "http":
            spoken(s.address, message(s, RIGHT, body=cancel))
            modern = HttpClient(s.address, era="modern", auth=[RIGHT])
            with modern:
                modern.post(json.loads(cancel))
        equal(structured(mine.answer(call)["result"])["stdout"], "done\n")


@host("http.answers-of-another",
      "whoever has another client's id gets the answers to what it asks itself, and no other", "sessions", "listens",
      "streamable")
def answers_of_another(target):
    """There is no stream of answers to listen to, and no answer is sent again."""
    s = target.server(GUARDED)
    with HttpClient(s.address, auth=[RIGHT]) as mine:
        mine.initialize()
        call = mine.start_exec("import time; time.sleep(0.6); print('mine')", id=1)
        thief = ("Mcp-Session-Id", mine.session)
        for fields in ((), (("Last-Event-ID", "1"),), (("Last-Event-ID", "0"), ("Accept", "text/event-stream"))):
            data = request("GET", "/mcp", [LOCAL, RIGHT, thief] + list(fields))
            equal([a.status for a in spoken(s.address, data)], [405])
        time.sleep(0.2)
        said = spoken(s.address, message(s, RIGHT, thief, body=b'{"jsonrpc":"2.0","id":2,"method":"ping"}'))
        check(len(said) == 1 and b"mine" not in said[0].body, said)
        equal(structured(mine.answer(call)["result"])["stdout"], "mine\n")


@host("http.stream-of-another", "a message to another client's stream is answered there, not to the sender", "sessions",
      "listens", "stream")
def stream_of_another(target):
    s = target.server(GUARDED)
    with SseClient(s.address, auth=[RIGHT]) as mine, SseClient(s.address, auth=[RIGHT]) as other:
        mine.initialize()
        other.initialize()
        data = message(s, RIGHT, target=mine.endpoint, body=b'{"jsonrpc":"2.0","id":"planted","method":"ping"}')
        said = spoken(s.address, data)
        equal([(a.status, a.body) for a in said], [(202, b"Accepted")])
        equal(mine.recv(5)["id"], "planted")
        reopened = Connection(s.address)
        reopened.send(request("GET", "/sse?" + mine.endpoint.partition("?")[2], [LOCAL, RIGHT]))
        first = reopened.reply("GET").item()
        reopened.close()
        check(first.data != mine.endpoint, "the stream of another was opened")
        equal(mine.request("ping")["result"], {})
        equal(other.request("ping")["result"], {})
        equal(other.inbox, [])


@host("http.session-without-token", "an id stands for no token", "access", "listens")
def session_without_token(target):
    s = target.server(GUARDED)
    more = [("Mcp-Session-Id", s.session)] if s.session else []
    for method in ("POST", "DELETE", "GET"):
        said = spoken(s.address, message(s, *more, method=method, body=PING if method == "POST" else None),
                      finish=False)
        equal([a.status for a in said], [401], method)
    equal(s.request("ping")["result"], {})


CASES = [session_ids, stream_ids, session_flood, stream_flood, session_guessed, stream_guessed, session_ended,
         session_expires, answers_stay_apart, cancel_of_another, answers_of_another, stream_of_another,
         session_without_token]
