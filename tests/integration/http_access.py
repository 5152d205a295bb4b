#!/usr/bin/env python3
"""Who may come in over HTTP: tokens, Origin and Host, browsers, and what is open to all."""
import json
import os
import tempfile
import time

from _http import (LATEST, HttpClient, HttpServer, call, check, check_serves, equal, initialize, message, outcome)
from mcp import case, cases, contains, main, run, until, within
from web import SseServer

TOKEN = "right-Token-0123456789"
WITH = {"MCP_EXEC_AUTH_TOKEN": TOKEN}
PING = json.dumps(message("ping")).encode()
TYPED = [("Content-Type", "application/json")]
CHALLENGE = 'Bearer realm="mcp-exec"'
WRONG = CHALLENGE + ', error="invalid_token"'
UNAUTHORIZED = {"jsonrpc": "2.0", "error": {"code": -32000, "message": "Unauthorized"}, "id": None}

_kept = {}


def kept(kind=HttpServer):
    """A server with a token, for tables; its client sends none by itself."""
    if kind not in _kept:
        _kept[kind] = kind(env=WITH)
        _kept[kind].auth = []
    return _kept[kind]


def bearer(text):
    return ("Authorization", text)


def own(text):
    return ("X-MCP-AUTH", text)


# label, header fields, the challenge or None when it is let in
TOKENS = (
    ("none", [], CHALLENGE), ("empty", [own("")], CHALLENGE), ("blank", [own("  ")], CHALLENGE),
    ("right", [own(TOKEN)], None), ("blanks around it", [own(" \t" + TOKEN + "\t ")], None),
    ("name in capitals", [("X-Mcp-Auth", TOKEN)], None), ("name in small letters", [("x-mcp-auth", TOKEN)], None),
    ("wrong", [own("wrong")], WRONG), ("another case", [own(TOKEN.swapcase())], WRONG),
    ("cut", [own(TOKEN[:-1])], WRONG), ("longer", [own(TOKEN + "x")], WRONG), ("half", [own(TOKEN[:5])], WRONG),
    ("in quotes", [own('"%s"' % TOKEN)], WRONG), ("twice in one", [own(TOKEN + ", " + TOKEN)], WRONG),
    ("twice", [own(TOKEN), own(TOKEN)], WRONG), ("right and wrong", [own(TOKEN), own("x")], WRONG),
    ("as a scheme", [own("Bearer " + TOKEN)], WRONG),
    ("bearer", [bearer("Bearer " + TOKEN)], None), ("scheme in capitals", [bearer("BEARER " + TOKEN)], None),
    ("scheme in small letters", [bearer("bearer  " + TOKEN)], None),
    ("bearer, wrong", [bearer("Bearer wrong")], WRONG), ("no scheme", [bearer(TOKEN)], CHALLENGE),
    ("no blank", [bearer("Bearer" + TOKEN)], CHALLENGE), ("another scheme", [bearer("Basic " + TOKEN)], CHALLENGE),
    ("nothing behind the scheme", [bearer("Bearer ")], CHALLENGE),
    ("bearer twice", [bearer("Bearer " + TOKEN)] * 2, WRONG),
    ("both right", [own(TOKEN), bearer("Bearer " + TOKEN)], None),
    ("one right, the other wrong", [own("wrong"), bearer("Bearer " + TOKEN)], None),
    ("the other way round", [own(TOKEN), bearer("Basic eDp5")], None),
    ("both wrong", [own("wrong"), bearer("Bearer wrong")], WRONG),
    ("as a cookie", [("Cookie", "X-MCP-AUTH=" + TOKEN)], CHALLENGE),
    ("for a proxy", [("Proxy-Authorization", "Bearer " + TOKEN)], CHALLENGE),
)


@cases(TOKENS)
def test_token(headers, challenge):
    reply = kept().http("POST", "/mcp", TYPED + headers, PING)
    equal((reply.status, reply.get("WWW-Authenticate")), (401, challenge) if challenge else (200, None))
    if challenge:
        equal(reply.json(), UNAUTHORIZED)


@case("X-MCP-AUTH", b"X-MCP-AUTH: " + TOKEN.encode() + b"\0x")
@case("Authorization", b"Authorization: Bearer " + TOKEN.encode() + b"\0")
def test_a_nul_behind_the_token(field):
    """The C library would take the string for ended."""
    reply = kept().raw(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                       b"Content-Length: %d\r\n%s\r\n\r\n%s" % (len(PING), field, PING))
    check(reply.status in (400, 401), "status", reply.status)


def test_a_token_in_the_address_is_none():
    s = kept()
    for query in ("X-MCP-AUTH=", "access_token=", "token="):
        equal(s.http("POST", "/mcp?" + query + TOKEN, TYPED, PING).status, 401)


def test_every_method_wants_the_token():
    """Also those that are not served, and whatever else is wrong: who has no token learns nothing."""
    s = kept()
    for method in ("GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        for path in ("/mcp", "/mcp/", "/metrics"):
            for headers in ([], [("Mcp-Session-Id", "x")], [("Content-Type", "text/plain")], [("Accept", "x/y")]):
                equal(s.http(method, path, headers).status, 401, "%s %s %s" % (method, path, headers))
    for body in (b"", b"{bad", b"[]", json.dumps(message("initialize", {})).encode()):
        equal(s.http("POST", "/mcp", TYPED, body).status, 401)


@case("a length", b"Content-Length: 1000000\r\n")
@case("chunks", b"Transfer-Encoding: chunked\r\n")
@case("a promise", b"Content-Length: 1000000\r\nExpect: 100-continue\r\n")
def test_the_token_is_judged_before_the_body(fields):
    """The answer comes although not a byte of the body does; and nothing invites it."""
    start = time.monotonic()
    reply = kept().raw(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + fields + b"\r\n")
    equal(reply.status, 401)
    equal(reply.connection.interim, [])
    within(time.monotonic() - start, 0, 2)


def test_a_promised_body_is_invited():
    """By a 100, once the token was right; curl sends such requests."""
    s = kept()
    connection = s.connect()
    connection.send(b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nX-MCP-AUTH: %s\r\nContent-Type: application/json\r\n"
                    b"Content-Length: %d\r\nExpect: 100-continue\r\n\r\n" % (TOKEN.encode(), len(PING)))
    time.sleep(0.2)
    connection.send(PING)
    reply = connection.reply()
    equal((reply.status, connection.interim), (200, [100]))


# path, and the answer to somebody without a token
OPEN = (("/healthz", 200), ("/healthz/", 200), ("/", 404), ("/favicon.ico", 404), ("/robots.txt", 404),
        ("/.well-known/oauth-protected-resource", 404), ("/.well-known/oauth-protected-resource/mcp", 404),
        ("/.well-known/oauth-authorization-server", 404), ("/register", 404), ("/token", 404), ("/sse", 404),
        ("/healthz/x", 404), ("/metrics", 401), ("/mcp", 401))


@cases([(path, path, status) for path, status in OPEN])
def test_without_a_token(path, status):
    until(lambda: kept().http("GET", "/healthz").status == 200, 10, "a first sandbox has stood")
    reply = kept().http("GET", path)
    equal(reply.status, status)
    if status == 404:
        equal(reply.json(), {"error": "not_found"})


def test_healthz_tells_nothing():
    s = kept()
    until(lambda: s.http("GET", "/healthz").status == 200, 10, "a first sandbox has stood")
    for method in ("GET", "HEAD"):
        reply = s.http(method, "/healthz")
        equal(reply.status, 200)
        contains("text/plain application/json ", reply.type + " ")
        check(len(reply.body()) < 40 and b"mcp" not in reply.body(), "it tells", reply.body())
    equal(s.http("POST", "/healthz", body=b"").status, 405)
    equal(s.http("GET", "/healthz", [("Host", "balancer.example")]).status, 200)
    equal(s.http("GET", "/healthz", [("Origin", "https://evil.example")]).status, 403)


def test_the_older_transport_wants_it_too():
    """On the stream and on every message."""
    s = kept(SseServer)
    for path in ("/sse", "/", "/messages", "/messages?sessionId=x"):
        for method in ("GET", "POST", "DELETE", "OPTIONS"):
            equal(s.http(method, path).status, 401, "%s %s" % (method, path))
    equal(s.http("GET", "/mcp").status, 404)
    s.auth = [own(TOKEN)]
    s.initialize()
    check_serves(s)
    equal(s.post(message("ping"), [("X-MCP-AUTH", "wrong")]).status, 401)
    equal(s.post(message("ping"), [("X-MCP-AUTH", None)]).status, 401)
    equal(s.post(message("ping"), [("X-MCP-AUTH", None), bearer("Bearer " + TOKEN)]).status, 202)


def test_sessions_and_the_modern_era_with_a_token():
    for era in ("legacy", "modern"):
        with HttpClient(kept().address, era=era, auth=[own(TOKEN)]) as c:
            c.initialize()
            check_serves(c)


# Origin and Host.

LOCAL = ("http://localhost", "http://localhost:3000", "https://127.0.0.1:8443", "http://[::1]:1", "HTTP://LocalHost:80")
FOREIGN = ("null", "https://evil.example", "http://localhost.evil.example", "http://127.0.0.1.evil.example",
           "localhost",
           "http://", "file://", "http://localhost@evil.example", "http://evil.example#localhost", "http://127.0.0.2",
           "chrome-extension://abc", "", "http://localhost/", "ftp://localhost", "http://localhost http://evil.example")


def test_origins():
    """A page of this machine may call, others may not; the refusal names the setting and no CORS field."""
    with HttpServer() as s:
        for origin, status in [(o, 200) for o in LOCAL] + [(o, 403) for o in FOREIGN]:
            reply = s.http("POST", "/mcp", TYPED + [("Origin", origin)], PING)
            equal((reply.status, reply.get("Access-Control-Allow-Origin")),
                  (status, origin if status == 200 else None), repr(origin))
        for method, path in (("GET", "/mcp"), ("DELETE", "/mcp"), ("OPTIONS", "/mcp"), ("GET", "/healthz"),
                             ("GET", "/metrics"), ("GET", "/nothing"), ("GET", "/.well-known/x")):
            equal(s.http(method, path, [("Origin", FOREIGN[1])]).status, 403, path)
        reply = s.http("POST", "/mcp", TYPED + [("Origin", LOCAL[0]), ("Origin", LOCAL[0])], PING)
        check(reply.status in (400, 403), "twice:", reply.status)


def test_hosts():
    """On loopback: a page of any name may have been made to resolve to it."""
    with HttpServer() as s:
        port = s.address[1]
        for host, status in (("localhost", 200), ("localhost:%d" % port, 200), ("127.0.0.1:1", 200), ("[::1]", 200),
                             ("LOCALHOST:99", 200), ("evil.example", 403), ("evil.example:%d" % port, 403),
                             ("localhost.evil.example", 403), ("127.0.0.2", 403), ("0.0.0.0", 403)):
            equal(s.http("POST", "/mcp", TYPED + [("Host", host)], PING).status, status, host)
        for host in ("", "localhost evil.example", "localhost:x", "a@localhost"):
            check(s.http("POST", "/mcp", TYPED + [("Host", host)], PING).status in (400, 403), "let in:", host)
        equal(s.raw(b"GET /mcp HTTP/1.1\r\n\r\n", "GET").status, 400)
        equal(s.raw(b"GET /mcp HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", "GET").status, 400)
        equal(s.raw(b"GET http://evil.example/mcp HTTP/1.1\r\nHost: localhost\r\n\r\n", "GET").status // 100, 4)


def test_allowed_names():
    """Lists add to loopback. A listener that is no loopback asks for no name until a list is given."""
    env = {"MCP_EXEC_ALLOWED_HOSTS": "mcp.example.com, other.example:8443",
           "MCP_EXEC_ALLOWED_ORIGINS": "https://app.example.com https://odd.example:444"}
    with HttpServer(env=env) as s:
        for host, origin, status in (("mcp.example.com", None, 200), ("MCP.example.com:9", None, 200),
                                     ("other.example:8443", None, 200), ("other.example", None, 403),
                                     ("localhost", None, 200), ("evil.example", None, 403),
                                     ("localhost", "https://app.example.com", 200),
                                     ("localhost", "http://app.example.com", 403),
                                     ("localhost", "https://app.example.com:444", 403),
                                     ("localhost", "https://odd.example:444", 200),
                                     ("localhost", "https://mcp.example.com", 403),
                                     ("localhost", "http://localhost", 200)):
            reply = s.http("POST", "/mcp", TYPED + [("Host", host), ("Origin", origin)], PING)
            equal(reply.status, status, "%s %s" % (host, origin))


@cases([("origin with a path", "MCP_EXEC_ALLOWED_ORIGINS", "https://a.example/x"),
        ("origin without a scheme", "MCP_EXEC_ALLOWED_ORIGINS", "a.example"),
        ("every origin", "MCP_EXEC_ALLOWED_ORIGINS", "*"), ("host with a scheme", "MCP_EXEC_ALLOWED_HOSTS", "http://a"),
        ("every host", "MCP_EXEC_ALLOWED_HOSTS", "*")])
def test_a_list_that_cannot_be_read(variable, value):
    code, out, err = run([], env={"MCP_EXEC_TRANSPORT": "http", "MCP_EXEC_ADDR": "127.0.0.1:0", variable: value})
    equal((code, out), (78, b""), str(err))
    contains(err.decode(), variable)


# Browsers.

PREFLIGHT = [("Access-Control-Request-Method", "POST"),
             ("Access-Control-Request-Headers", "content-type,mcp-method,x-mcp-auth")]
SENT = "content-type accept authorization x-mcp-auth mcp-session-id mcp-protocol-version mcp-method mcp-name " \
       "last-event-id".split()


def words(value):
    return sorted(word.strip().lower() for word in (value or "").split(",") if word.strip())


def test_a_preflight():
    """It comes without a token, and is answered for an allowed origin alone."""
    s = kept()
    reply = s.http("OPTIONS", "/mcp", PREFLIGHT + [("Origin", LOCAL[1])])
    equal((reply.status, reply.body()), (204, b""))
    equal(reply.get("Access-Control-Allow-Origin"), LOCAL[1])
    equal(words(reply.get("Access-Control-Allow-Headers")), sorted(SENT))
    check({"post", "delete"} <= set(words(reply.get("Access-Control-Allow-Methods"))), "methods", reply.fields)
    check("origin" in words(reply.get("Vary")), "no Vary", reply.fields)
    equal(reply.get("Access-Control-Allow-Credentials"), None)
    equal(s.http("OPTIONS", "/mcp", PREFLIGHT + [("Origin", FOREIGN[1])]).status, 403)
    equal(s.http("OPTIONS", "/mcp", PREFLIGHT).status, 401)
    equal(s.http("OPTIONS", "/mcp", [("Origin", LOCAL[1])]).status, 401)


def test_what_a_page_may_read():
    """Also of refusals and of streams, or a page could not tell what went wrong."""
    s = kept()
    for headers, body, status in ((TYPED, PING, 401), (TYPED + [own(TOKEN)], PING, 200),
                                  (TYPED + [own(TOKEN)], json.dumps(initialize(LATEST)).encode(), 200),
                                  (TYPED + [own(TOKEN)], b"{bad", 400),
                                  (TYPED + [own(TOKEN), ("Accept", "text/event-stream")],
                                   json.dumps(call("import time; time.sleep(0.5)")).encode(), 200)):
        reply = s.http("POST", "/mcp", headers + [("Origin", LOCAL[1])], body)
        equal((reply.status, reply.get("Access-Control-Allow-Origin")), (status, LOCAL[1]))
        check({"mcp-session-id", "www-authenticate"} <= set(words(reply.get("Access-Control-Expose-Headers"))),
              "not exposed:", reply.fields)
        check("origin" in words(reply.get("Vary")), "no Vary", reply.fields)
    for method, path in (("POST", "/mcp"), ("GET", "/healthz"), ("GET", "/nothing")):
        reply = s.http(method, path)
        equal([n for n, _ in reply.fields if n.lower().startswith("access-control")], [], "no Origin was sent")


def test_without_any_token():
    """All that is said of it stands in the log, once, and names no caller."""
    with HttpServer() as s:
        check_serves(s)
        for headers in ([own("anything")], [bearer("Bearer x")], [own("a"), own("b")]):
            equal(outcome(s.post(message("ping"), headers)), (200, None, 1))
        equal(s.http("GET", "/metrics").status, 200)


def test_the_token_of_a_file():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "token")
        with open(path, "w") as file:
            file.write(TOKEN + "\n")
        os.chmod(folder, 0o755)
        os.chmod(path, 0o644)
        with HttpServer(env={"MCP_EXEC_AUTH_TOKEN_FILE": path}) as s:
            equal(s.http("POST", "/mcp", TYPED, PING).status, 401)
            equal(s.http("POST", "/mcp", TYPED + [own(TOKEN)], PING).status, 200)


def test_they_have_served_all_that():
    for s in list(_kept.values()):
        s.__exit__()
    _kept.clear()


try:
    main()
finally:
    for server in _kept.values():
        server.process.kill()
