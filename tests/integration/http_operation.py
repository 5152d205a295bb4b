#!/usr/bin/env python3
"""What an operator of an HTTP server meets: its end, its limits, its numbers, and a log without a caller's words."""
import json
import os
import signal
import time

from _http import (JSON_ONLY, HttpClient, HttpServer, call, check, check_serves, descriptors, equal, gone, initialize,
                   is_running, message, named_program, runs, unique, until)
from mcp import INFO_KEY, cases, claim, contains, descendants, main, within
from _canaries import Canaries, readable
from prometheus import check_metrics, value_of
from web import SseClient, SseServer
from wire import request

PATIENT = {"MCP_EXEC_DRAIN_S": "20"}
BOTH = [("http", HttpServer), ("sse", SseServer)]


def refuses_connections(s):
    try:
        HttpClient(s.address).connect().close()
    except OSError:
        return True
    return False


# The end.

@cases([("events", ()), ("plain JSON", JSON_ONLY)])
def test_what_runs_may_end(headers):
    """SIGTERM: nobody new comes in, what was begun is answered, and then the server ends by itself."""
    with HttpServer(env=PATIENT) as s:
        idle = s.connect()
        connection, name = runs(s, "import time; time.sleep(2); print('done')", headers=headers)
        queued = s.begin(call("print('queued')", id=2), headers)
        time.sleep(0.2)
        s.kill(signal.SIGTERM)
        until(lambda: refuses_connections(s), 3, "no new connection")
        equal(idle.closed(3), b"")
        check(is_running(name), "the run was ended")
        reply = connection.reply()
        equal(s.response(reply)["result"]["structuredContent"]["stdout"], "done\n")
        equal(s.response(queued.reply())["result"]["structuredContent"]["stdout"], "queued\n")
        equal(s.wait_exit(3), 0)


@cases(BOTH)
def test_what_does_not_end_is_ended(start):
    """The client is not left waiting, and the exit code is a good one."""
    with start(env={"MCP_EXEC_DRAIN_S": "1"}) as s:
        s.initialize()
        name = unique()
        asked = s.start_exec(named_program(name))
        until(lambda: is_running(name), 10, "the program runs")
        connection = s.stream.connection if isinstance(s, SseServer) else s._asked[asked]
        begun = time.monotonic()
        s.kill(signal.SIGTERM)
        equal(s.wait_exit(5), 0)
        within(time.monotonic() - begun, 0.8, 3)
        equal(is_running(name), False)
        connection.closed(2)


@cases(BOTH)
def test_the_end_of_an_idle_server(start):
    """At once: sessions, silent connections and streams hold up nothing."""
    for number in (signal.SIGTERM, signal.SIGINT):
        with start(env=PATIENT) as s:
            s.initialize()
            s.exec("print(1)")
            kept = [s.connect() for _ in range(5)]
            kept[0].send(request("GET", "/healthz", s.fields()))
            kept[0].reply("GET").body()
            time.sleep(0.1)
            begun = time.monotonic()
            s.kill(number)
            equal(s.wait_exit(5), 0)
            within(time.monotonic() - begun, 0, 3)


HALVES = (("head", b"POST /mcp HTTP/1.1\r\nHost: loc"), ("head of a later request", b"GET /healthz HTTP/1.1\r\nHost: "
          b"localhost\r\n\r\nPOST /mcp HT"), ("body", b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: "
          b"application/json\r\nContent-Length: 50\r\n\r\n{"))


@cases(HALVES)
def test_half_a_request_holds_up_no_end(half):
    """What it would ask for would not be served any more. Those who sent theirs get their answers first."""
    with HttpServer(env=PATIENT) as s:
        check_serves(s)
        peer = s.connect()
        peer.send(half)
        connection, name = runs(s, "import time; time.sleep(1.5); print('done')")
        begun = time.monotonic()
        s.kill(signal.SIGTERM)
        equal(s.response(connection.reply())["result"]["structuredContent"]["stdout"], "done\n")
        equal(s.wait_exit(8), 0)
        within(time.monotonic() - begun, 1, 4)


def test_a_second_signal_is_the_end():
    with HttpServer(env=PATIENT) as s:
        connection, name = runs(s)
        s.kill(signal.SIGTERM)
        until(lambda: refuses_connections(s), 3, "no new connection")
        check(is_running(name), "the run was ended")
        s.kill(signal.SIGTERM)
        equal(s.wait_exit(3), 0)
        gone(name)


def test_a_kept_connection_is_told_to_close():
    with HttpServer(env=PATIENT) as s:
        connection = s.connect()
        s.begin(call("import time; time.sleep(1)"), JSON_ONLY, connection=connection)
        time.sleep(0.3)
        s.kill(signal.SIGTERM)
        reply = connection.reply()
        equal((reply.status, reply.get("Connection")), (200, "close"))
        reply.body()
        equal(connection.closed(3), b"")
        equal(s.wait_exit(3), 0)


# Limits.

@cases(BOTH)
def test_a_full_queue(start):
    with start(env={"MCP_EXEC_MAX_QUEUE": "1"}) as s:
        s.initialize()
        name = unique()
        first = s.start_exec(named_program(name, "import time; time.sleep(1.5); print(1)"))
        until(lambda: is_running(name), 10, "the program runs")
        second = s.start_exec("print(2)")
        time.sleep(0.2)
        begun = time.monotonic()
        busy = s.exec("print(3)")
        within(time.monotonic() - begun, 0, 1)
        equal(busy["isError"], True)
        contains(busy["content"][0]["text"], "Busy")
        equal([s.answer(i)["result"]["structuredContent"]["stdout"] for i in (first, second)], ["1\n", "2\n"])


def test_more_connections_than_there_may_be():
    """One more is told so or waits for nobody; when there is room again, everybody is served."""
    with HttpServer(env={"MCP_EXEC_MAX_CONNECTIONS": "8"}) as s:
        until(lambda: s.http("GET", "/healthz").status == 200, 10, "the server is ready")
        time.sleep(0.1)
        kept = []
        for _ in range(8):
            kept.append(s.connect())
            kept[-1].send(request("GET", "/healthz", s.fields()))
            reply = kept[-1].reply("GET")
            reply.body()
            equal(reply.status, 200)
        more = s.connect()
        more.send(request("GET", "/healthz", s.fields()))
        check(more.reply("GET").status in (200, 503), "neither served nor refused")
        for connection in kept + [more]:
            connection.close()
        until(lambda: s.http("GET", "/healthz").status == 200, 5, "room again")
        check_serves(s)


@cases(BOTH)
def test_the_longest_body(start):
    """The caps on code and stdin say how long a message may be; one byte more is refused by its length alone."""
    with start(env={"MCP_EXEC_MAX_CODE_BYTES": "1000", "MCP_EXEC_MAX_STDIN_BYTES": "1000"}) as s:
        s.initialize()
        most = 6 * 2000 + 65536
        ping = json.dumps(message("ping")).encode()
        good = 200 if start is HttpServer else 202
        equal(s.post(ping + b" " * (most - len(ping))).status, good)
        equal(s.post(ping + b" " * (most + 1 - len(ping))).status, 413)
        equal(s.post(b"", [("Content-Length", str(most + 1))]).status, 413)
        chunks = b"".join(b"%x\r\n%s\r\n" % (4096, b" " * 4096) for _ in range(most // 4096 + 1)) + b"0\r\n\r\n"
        head = s.message_bytes(b"", [("Transfer-Encoding", "chunked")])
        try:
            equal(s.raw(head + chunks).status, 413)
        except (ConnectionError, BrokenPipeError):
            pass  # refused while it was still being sent
        check_serves(s)


@cases(BOTH)
def test_a_worker_that_dies(start):
    """Its call is told so, what waited runs in the next one, and no client loses its session."""
    with start() as s:
        s.initialize()
        name = unique()
        first, second = s.start_exec(named_program(name)), s.start_exec("print('second')")
        until(lambda: is_running(name), 10, "the program runs")
        os.kill(s.worker(), signal.SIGKILL)
        lost = s.answer(first)["result"]
        equal(lost["isError"], True)
        contains(lost["content"][0]["text"], "worker died")
        equal(s.answer(second)["result"]["structuredContent"]["stdout"], "second\n")
        gone(name)
        check_serves(s)


def test_twenty_clients_at_once():
    with HttpServer() as s:
        clients = [HttpClient(s.address, era="modern" if i % 2 else "legacy") for i in range(20)]
        for c in clients:
            c.initialize()
        asked = [c.start_exec("print(%d)" % i, id=1) for i, c in enumerate(clients)]
        found = [c.answer(1)["result"]["structuredContent"]["stdout"] for c in clients]
        equal((found, asked), (["%d\n" % i for i in range(20)], [1] * 20))
        for c in clients:
            c.close()


# Numbers.

def numbers(s):
    reply = s.http("GET", "/metrics")
    equal((reply.status, reply.get("Content-Type")), (200, "text/plain; version=0.0.4; charset=utf-8"))
    return check_metrics(reply.body().decode("ascii"))


def test_metrics():
    with HttpServer(env={"MCP_EXEC_MAX_QUEUE": "1"}) as s:
        before = numbers(s)
        equal(value_of(before, "mcp_exec_runs_total", outcome="ok"), 0.0)
        s.initialize()
        check_serves(s)
        s.exec("1/0")
        s.exec("import time; time.sleep(9)", timeout_s=1)
        s.exec("")
        connection, name = runs(s, id=70)
        s.begin(call("pass", id=71))
        time.sleep(0.2)
        equal(s.exec("pass")["isError"], True)
        now = numbers(s)
        for gauge, wanted in (("mcp_exec_sessions", 1.0), ("mcp_exec_queue_limit", 1.0), ("mcp_exec_running", 1.0),
                              ("mcp_exec_queue_depth", 1.0)):
            equal(value_of(now, gauge), wanted, gauge)
        s.cancel(71)
        s.cancel(70)
        gone(name)
        equal(s.post(b"{bad").status, 400)
        equal(s.http("GET").status, 405)
        # The program is dead before the worker has told so.
        until(lambda: value_of(numbers(s), "mcp_exec_runs_total", outcome="cancelled") == 2.0, 5, "both are counted")
        after = numbers(s)
        for outcome, wanted in (("ok", 1.0), ("error", 1.0), ("wall_time", 1.0), ("busy", 1.0), ("cancelled", 2.0)):
            equal(value_of(after, "mcp_exec_runs_total", outcome=outcome), wanted, outcome)
        starts = [value_of(after, "mcp_exec_run_starts_total", start=start)
                  for start in ("cold", "warm", "preloaded")]
        equal(sum(starts), value_of(after, "mcp_exec_run_seconds_count"), "programs by their start: %s" % starts)
        for code, wanted in (("400", 1.0), ("405", 1.0)):
            equal(value_of(after, "mcp_exec_http_responses_total", code=code), wanted, code)
        check(value_of(after, "mcp_exec_http_responses_total", code="200") >= 8, "fewer answers than there were")
        for name, value in before.items():
            check(not name[0].endswith(("_total", "_count", "_sum")) or after[name] >= value, "it fell:", name)


def test_metrics_of_the_older_transport():
    with SseServer() as s:
        s.initialize()
        check_serves(s)
        found = numbers(s)
        equal(value_of(found, "mcp_exec_runs_total", outcome="ok"), 1.0)
        equal(value_of(found, "mcp_exec_sessions"), 1.0)


def test_nothing_is_left_of_many():
    """Neither memory nor descriptors grow with the number of requests, of whatever outcome."""
    with HttpServer() as s:
        c = HttpClient(s.address, era="modern")

        def use(n):
            for i in range(n):
                c.post(message("tools/list"))
                c.post(b"{bad")
                c.http("GET", "/nothing")
                c.post(call("", id=i))
                session = HttpClient(s.address)
                session.initialize()
                session.http("DELETE", headers=[("Mcp-Session-Id", session.session)])
        use(100)
        files, memory = descriptors(s), resident_kib(s.pid)
        use(300)
        until(lambda: descriptors(s) <= files + 2, 5, "descriptors are given back")
        if "MCP_EXEC_SANITIZED" not in os.environ:
            within(resident_kib(s.pid) - memory, -(1 << 20), 1024, "KiB more")


def resident_kib(pid):
    with open("/proc/%d/status" % pid) as file:
        return int(next(line for line in file if line.startswith("VmRSS")).split()[1])


# The log.

def spoken(c, s):
    """Says a word in each place where a caller can, on good paths and on bad ones."""
    fields = [("User-Agent", c["user agent"]), ("Cookie", c["cookie"]), ("X-Forwarded-For", c["forwarded"]),
              ("X-" + c["field name"], c["field"]), ("Referer", c["referer"])]
    asked = s.post(initialize(), fields)
    session = asked.get("Mcp-Session-Id")
    c["session"] = session
    s.session = session
    s.post(call("# %s\nprint(%r + input())" % (c["code"], c["output"]), id=c["id"], stdin=c["stdin"]), fields)
    s.post(call("1/0 # " + c["failing code"], id=2), fields)
    s.post(message(c["method"]), fields)
    s.session = None
    modern = claim(**{INFO_KEY: {"name": c["client"], "version": "1"}})
    s.post(message("tools/list", {"_meta": modern}), fields, "modern")
    s.post(message("tools/list"), [("Mcp-Name", c["name"]), ("Mcp-Method", c["header method"])], "modern")
    s.post(message("tools/list"), [("MCP-Protocol-Version", c["version"])])
    s.post(message("ping"), [("Mcp-Session-Id", c["wrong session"])])
    s.post(message("ping"), [("Content-Type", c["type"]), ("Accept", c["accept"])])
    s.post(b"{" + c["garbage"].encode())
    for auth in ([("X-MCP-AUTH", c["wrong token"])],
                 [("X-MCP-AUTH", None), ("Authorization", "Bearer " + c["wrong bearer"])]):
        equal(s.post(message("ping"), auth + fields).status, 401)
    for host, origin in ((c["host"] + ".example", None), (None, "https://%s.example" % c["origin"])):
        s.post(message("ping"), [("Origin", origin)] + ([("Host", host)] if host else []))
    s.http("GET", "/" + c["path"] + "?" + c["query"], fields)
    s.http("GET", "/mcp?" + c["query of mcp"], fields)
    for raw in (c["method of http"] + " / HTTP/1.1\r\nHost: localhost\r\n\r\n",
                "GET / HTTP/9.%s\r\n\r\n" % c["version of http"], c["no head"] + "\r\n\r\n",
                "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: %s\r\n\r\n" % c["length"],
                "GET /mcp HTTP/1.1\r\nHost: localhost\r\nX: %s\r\n\r\n" % (c["long field"] * 2000)):
        s.raw(raw.encode())
    connection, name = runs(s, "import time; time.sleep(9) # " + c["dropped code"])
    connection.reset()


def test_the_log_has_no_word_of_a_caller():
    c = Canaries()
    env = {"MCP_EXEC_LOG_LEVEL": "debug", "MCP_EXEC_AUTH_TOKEN": c["token"]}
    with HttpServer(env=env) as s:
        spoken(c, s)
        s.post(call("print(1)"), era="modern")
        contains(s.stderr(), b"event=exec.done", b"event=http.listen")
        equal(c.found_in(s.stderr()), [], "in the log:")
        for pid in [s.pid] + descendants(s.pid):
            equal(c.found_in(readable(pid)), [], "of a process in /proc:")
        s.kill(signal.SIGTERM)
        s.wait_exit()
        equal(c.found_in(s.stderr()), [], "in the log of the end:")


def test_the_log_has_no_word_of_a_caller_of_the_older_transport():
    c = Canaries()
    with SseServer(env={"MCP_EXEC_LOG_LEVEL": "debug", "MCP_EXEC_AUTH_TOKEN": c["token"]}) as s:
        s.initialize()
        c["session"] = s.endpoint.rpartition("=")[2]
        s.exec("# %s\nprint(%r)" % (c["code"], c["output"]))
        s.http("POST", "/messages?sessionId=" + c["wrong session"], body=b"{}")
        s.post(b"{" + c["garbage"].encode())
        with SseClient(s.address, path="/sse?" + c["query"], auth=s.auth) as other:
            other.open()
        s.stream.connection.close()
        until(lambda: s.post(message("ping")).status == 404, 3, "the session is gone")
        equal(c.found_in(s.stderr()), [], "in the log:")


main()
