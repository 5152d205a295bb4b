"""Slow peers, huge requests and crowds: each is bounded in time and room, and others are served meanwhile."""
import select
import time
from contextlib import ExitStack

from _case import Open, host, soon
from _peer import LOCAL, RIGHT, SOON_S, TOKEN, _cut, inlet, line, message, only, served, spoken
from _target import structured
from mcp import PATIENCE, SANITIZED, Timeout, check, equal, until, within
from web import SseClient
from wire import Connection, request

MIB = 1 << 20
# A small house: 64 peers, and a body of at most 832 KiB (see MESSAGE_ESCAPE_FACTOR).
PEERS = 64
SMALL = {"MCP_EXEC_AUTH_TOKEN": TOKEN, "MCP_EXEC_MAX_CONNECTIONS": str(PEERS), "MCP_EXEC_MAX_CODE_BYTES": "65536",
         "MCP_EXEC_MAX_STDIN_BYTES": "65536"}
BODY_MAX = 2 * 65536 * 6 + 65536
HEAD_S = 10
GROWTH = 16 * MIB
USUAL = ["Host: localhost", "Content-Type: application/json", "Accept: */*", "X-MCP-AUTH: " + TOKEN]
CODING = "Transfer-Encoding: chunked"


def resident(pid):
    with open("/proc/%d/status" % pid) as file:
        return next(int(row.split()[1]) for row in file if row.startswith("VmRSS:")) * 1024


class Flat:
    """A with block in which the memory of the server stays what it is, but for a little."""

    def __init__(self, s, growth=GROWTH):
        self.s, self.growth = s, growth

    def __enter__(self):
        self.before = resident(self.s.pid)

    def __exit__(self, kind, *_):
        grown = resident(self.s.pid) - self.before
        if kind is None and grown > self.growth and not SANITIZED:
            raise Open("the server has grown by %d KiB" % (grown // 1024))


def is_told(connection):
    """Whether the server has closed it, or said anything: to what is no whole request that is its last word."""
    return bool(select.select([connection.socket], [], [], 0)[0])


def crowd(stack, s, n, data=b""):
    """So many connections, each of which sends this."""
    peers = [stack.enter_context(Connection(s.address)) for _ in range(n)]
    for peer in peers:
        try:
            peer.send(data)
        except OSError:
            pass  # had to make room already
    return peers


HALVES = (("nothing", b""), ("one byte", b"P"), ("half a head", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX: "),
          ("empty lines", b"\r\n\r\n\r\n"),
          ("half of a body that may not come", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
                                            b"Content-Length: 500000\r\n\r\n{"))


@host("http.crowd-is-bounded", "of many silent peers only as many stay as may be connected", "gate", "listens",
      "environment")
def crowd_is_bounded(target):
    s = target.server(SMALL)
    for name, data in HALVES:
        with ExitStack() as stack:
            peers = crowd(stack, s, 3 * PEERS, data)
            soon(lambda: sum(not is_told(p) for p in peers) <= PEERS, 3, "no more of those with %s remain" % name)


@host("http.crowd-locks-nobody-out", "while peers with nothing to say, or half of it, come and come, others are served",
      "gate", "listens", "environment")
def crowd_locks_nobody_out(target):
    s = target.server(SMALL)
    for name, data in HALVES:
        with ExitStack() as stack:
            for _ in range(4):
                crowd(stack, s, PEERS + 10, data)
                served(s)


UNREAD = (("health", request("GET", "/healthz", [LOCAL])), ("preflight", request("OPTIONS", "/mcp", [
    LOCAL, ("Origin", "http://localhost"), ("Access-Control-Request-Method", "POST")])),
    ("refusals", request("GET", "/metrics", [LOCAL])))


@host("http.unread-lock-nobody-out", "peers without a token that read no answer hold no place for long", "gate",
      "listens", "environment")
def unread_answers(target):
    s = target.server(dict(SMALL, MCP_EXEC_MAX_CONNECTIONS="8"))
    for name, data in UNREAD:
        data = data.replace(b" /mcp ", b" /sse ") if target.name == "sse" else data
        with ExitStack() as stack:
            for _ in range(10):
                peer = stack.enter_context(Connection(s.address, receive_bytes=4096))
                sent, quiet = 0, 0
                while sent < 8 * MIB and quiet < 4:
                    try:
                        sent += peer.socket.send(data * 400)
                        quiet = 0
                    except BlockingIOError:
                        quiet += 1
                        time.sleep(0.01)
                    except OSError:
                        break
            try:
                served(s, 5)
            except Open as error:
                raise Open("%s: %s" % (name, error))


@host("http.slow-heads", "a head that does not come to its end within 10 s ends its connection; others are served",
      "gate", "listens")
def slow_heads(target):
    s, start = target.server(), time.monotonic()
    with ExitStack() as stack:
        peers = {name: crowd(stack, s, 5, data)[0] for name, data in HALVES[:4]}
        again = stack.enter_context(Connection(s.address))
        again.send(message(s))
        equal(again.reply().status, 202)
        again.send(b"POST /mcp HTTP/1.1\r\nHo")
        drops = {"a byte now and then": b"POST /mcp HTTP/1.1\r\nX: ", "a field now and then": b"POST /mcp HTTP/1.1\r\n",
                 "an empty line now and then": b"\r\n"}
        dripping = {name: crowd(stack, s, 1, data)[0] for name, data in drops.items()}
        more = dict(zip(dripping, (b"x", b"X: x\r\n", b"\r\n")))
        waiting = dict(peers, **dripping)
        waiting["a second head"] = again
        while waiting:
            for name in [name for name, peer in waiting.items() if is_told(peer)]:
                spent = time.monotonic() - start
                check(spent > 0.8 * HEAD_S, "%s: closed after %.1f s" % (name, spent))
                del waiting[name]
            for name in set(waiting) & set(more):
                try:
                    waiting[name].send(more[name])
                except OSError:
                    pass  # seen as closed next time
            served(s)
            if time.monotonic() - start > HEAD_S + 4 * PATIENCE:
                raise Open("still there: %s" % ", ".join(sorted(waiting)))
            time.sleep(0.5)


def pour(s, begin, more, most=24 * MIB):
    """Sends begin and then more for ever, until the server says something. Returns (its answers, bytes sent)."""
    with Connection(s.address) as connection:
        sent, deadline, block = 0, time.monotonic() + 10 * PATIENCE, more * (1 + 65536 // len(more))
        try:
            connection.send(begin)
            while sent < most and time.monotonic() < deadline and not is_told(connection):
                if select.select([], [connection.socket], [], 0.1)[1]:
                    sent += connection.socket.send(block)
        except OSError:
            pass
        if sent >= most:
            raise Open("the server has taken %d bytes and says nothing" % sent)
        try:
            return list(_cut(connection.closed(SOON_S), False)), sent
        except Timeout:
            raise Open("no answer after %d bytes" % sent)


def poured(s, rows):
    wrong = []
    for name, begin, more, statuses in rows:
        try:
            said, sent = pour(s, begin, more)
            fault = only(said, *statuses)
        except Open as error:
            fault = str(error)
        if fault:
            wrong.append("%s: %s" % (name, fault))
    served(s)
    if wrong:
        raise Open("\n".join(wrong))


@host("http.endless-heads", "heads without an end are cut at 16 KiB, and cost no memory", "gate", "listens",
      "environment")
def endless_heads(target):
    s = target.server(SMALL)
    first = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
    with Flat(s):
        poured(s, [("a method", b"", b"A", (431,)), ("a target", b"GET /", b"a", (431,)),
                   ("a name", first, b"A", (431,)), ("a value", first + b"X: ", b"a", (431,)),
                   ("blanks", first + b"X:", b" ", (431,)), ("fields", first, b"X: x\r\n", (431,)),
                   ("folds", first + b"X: x", b"\r\n x", (431,)), ("bare CRs", first + b"X: ", b"\r", (431,)),
                   ("NULs", b"", b"\0", (431,)), ("CRs", b"", b"\r", (431, 400)),
                   ("Hosts", first, b"Host: localhost\r\n", (431,))])
        for name, fields in (("1 MB in a field", ["X: " + "x" * 1000000]), ("10000 fields", ["X: x"] * 10000),
                             ("101 fields", ["X: x"] * 100), ("16 KiB and a little", ["X: " + "x" * 16384])):
            fault = only(spoken(s.address, line(inlet(s), "GET", fields=["Host: localhost"] + fields), finish=False),
                         431)
            check(not fault, name, fault)


LENGTHS = (BODY_MAX + 1, 10 ** 7, 10 ** 10, 2 ** 31, 2 ** 32, 2 ** 32 + 5, 2 ** 63 - 1, 2 ** 63, 2 ** 64 - 1)


@host("http.body-over-the-cap", "a body that is too long is refused by its head alone", "gate", "listens",
      "environment")
def body_over_the_cap(target):
    s = target.server(SMALL)
    for length in LENGTHS:
        for more in ([], ["Expect: 100-continue"]):
            said = spoken(s.address, line(inlet(s), fields=USUAL + ["Content-Length: %d" % length] + more),
                          finish=False)
            fault = only(said, 413)
            check(not fault, "%d: %s" % (length, fault))
    said = spoken(s.address, line(inlet(s), fields=USUAL + ["Content-Length: %d" % 2 ** 64]), finish=False)
    check(not only(said, 400, 413), said)
    served(s)


@host("http.endless-bodies", "chunks, extensions and trailers without an end", "gate", "listens", "environment")
def endless_bodies(target):
    s = target.server(SMALL)
    first = line(inlet(s), fields=USUAL + [CODING])
    with Flat(s):
        poured(s, [("chunks", first, b"1000\r\n" + b"x" * 4096 + b"\r\n", (413,)),
                   ("tiny chunks", first, b"1\r\nx\r\n", (413,)),
                   ("chunks of blanks", first, b"10\r\n                \r\n", (413,)),
                   ("one chunk", first + b"fffffffffffffff\r\n", b"x", (413,)),
                   ("one chunk of the most that may be, and one byte", first + b"%x\r\n" % (BODY_MAX + 1), b"x",
                    (413,)),
                   ("zeros of a size", first, b"0", (400,)), ("an extension", first + b"1;", b"x", (400,)),
                   ("extensions", first, b"1;x=y\r\nx\r\n", (400, 413)),
                   ("a trailer", first + b"0\r\nX: ", b"x", (400,)),
                   ("trailers", first + b"0\r\n", b"X: x\r\n", (400,))])


@host("http.bodies-together-are-bounded", "many that send large bodies at once do not fill memory together", "gate",
      "listens", "environment")
def bodies_together(target):
    s = target.server(SMALL)
    served(s)
    for name, data in (("length", line(inlet(s), fields=USUAL + ["Content-Length: %d" % BODY_MAX])),
                       ("chunks", line(inlet(s), fields=USUAL + [CODING]) + b"%x\r\n" % BODY_MAX)):
        with Flat(s, 12 * MIB), ExitStack() as stack:
            peers = crowd(stack, s, 40, data + b" " * (BODY_MAX - 1))
            soon(lambda: sum(not is_told(p) for p in peers) <= 5, 10, "four bodies are taken at a time, with " + name)
            for peer in peers:
                if is_told(peer):
                    check(not only(list(_cut(peer.closed(SOON_S), False)), 503), "another answer than 503")


@host("http.announced-lock-nobody-out", "large bodies that are announced and do not come are no wall for others",
      "gate", "listens", "environment")
def announced_bodies(target):
    s = target.server(SMALL)
    with ExitStack() as stack:
        # Each is told to go on, or refused: then all of them are known.
        announced = line(inlet(s), fields=USUAL + ["Content-Length: %d" % BODY_MAX, "Expect: 100-continue"])
        for peer in crowd(stack, s, 8, announced):
            until(lambda: is_told(peer), 5, "a word on what was announced")
        served(s)


@host("http.pipelined-flood",
      "requests upon requests of a peer that reads no answer: it is not read from, and memory stays flat", "gate",
      "listens", "environment")
def pipelined_flood(target):
    s = target.server(SMALL)
    data = request("GET", "/metrics", [LOCAL, RIGHT]) * 1000
    with Flat(s, 8 * MIB), Connection(s.address, receive_bytes=4096) as peer:
        sent, quiet = 0, 0
        while quiet < 5:
            check(sent < 64 * MIB, "the server takes requests for ever")
            try:
                sent += peer.socket.send(data)
                quiet = 0
            except BlockingIOError:
                quiet += 1
                time.sleep(0.05)
        served(s)


@host("http.answers-nobody-reads", "calls with long answers by peers that read none: the next caller is served", "gate",
      "listens", "streamable")
def answers_nobody_reads(target):
    s = target.server(SMALL)
    body = b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":' \
           b'{"code":"print(\'x\' * 1000000)"}}}'
    with Flat(s, 32 * MIB), ExitStack() as stack:
        for _ in range(8):
            peer = stack.enter_context(Connection(s.address, receive_bytes=4096))
            peer.send(message(s, RIGHT, body=body))
        equal(target.exec("print(1)", env=SMALL)["stdout"], "1\n")


@host("http.unread-stream", "messages upon messages for a stream that is not read: it is ended, and memory is bounded",
      "gate", "listens", "stream")
def unread_stream(target):
    s = target.server(SMALL)
    with Flat(s, 48 * MIB), SseClient(s.address, auth=[RIGHT]) as mine:
        stream = mine.connect(receive_bytes=4096)
        stream.send(request("GET", "/sse", [LOCAL, RIGHT]))
        path = stream.reply("GET").item().data
        ask = message(s, RIGHT, target=path, body=b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}') * 50
        with Connection(s.address) as sender:
            for _ in range(600):
                sender.send(ask)
                told = [status_of(sender) for _ in range(50)]
                if set(told) != {202}:
                    break
            check(404 in told, "it takes them for ever:", told)
        served(s)


def status_of(connection):
    """The status of the next answer, which is read to its end."""
    reply = connection.reply()
    reply.body()
    return reply.status


@host("http.connect-and-leave", "3000 peers that come and go leave nothing behind", "gate", "listens", "environment")
def connect_and_leave(target):
    s = target.server(SMALL)
    with Flat(s, 8 * MIB):
        for number in range(3000):
            peer = Connection(s.address)
            try:
                peer.send((b"", b"G", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")[number % 3])
                peer.reset() if number % 2 else peer.close()
            except OSError:
                peer.close()
        served(s)

    def few():
        text = spoken(s.address, request("GET", "/metrics", [LOCAL, RIGHT]))[0].body.decode()
        # This one, and those that the first client keeps.
        kept = sum(c.socket.fileno() >= 0 for c in s._open)
        return int(text.partition("\nmcp_exec_http_connections ")[2].split()[0]) <= 1 + kept
    soon(few, 5, "they are gone")


@host("http.program-runs-meanwhile", "a run goes on, and is answered, under all of this", "gate", "listens",
      "environment")
def program_meanwhile(target):
    s = target.server(SMALL)
    start = time.monotonic()
    call = s.start_exec("import time; time.sleep(1); print('done')")
    with ExitStack() as stack:
        for name, data in HALVES:
            crowd(stack, s, PEERS, data)
        equal(structured(s.answer(call, 20)["result"])["stdout"], "done\n")
    within(time.monotonic() - start, 1, 5)


CASES = [crowd_is_bounded, crowd_locks_nobody_out, unread_answers, slow_heads, endless_heads, body_over_the_cap,
         endless_bodies, bodies_together, announced_bodies, pipelined_flood, answers_nobody_reads, unread_stream,
         connect_and_leave, program_meanwhile]
