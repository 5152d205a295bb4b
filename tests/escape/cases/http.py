"""Who may come in over HTTP: whoever shows the token, names this server, and is no page of another site."""
import base64
import json
import os
import re
import sys
import tempfile
import time

from _case import Case, Open, host
from _peer import (GUARDED, LOCAL, METHODS, NOTE, RIGHT, TOKEN, doors, each, inlet, line, message, only, refused,
                   spoken, streamed)
from _target import Broken
from mcp import check, equal, named, named_program, unique, until
from wire import Connection, request

# --- the token ---


def without(target, s):
    """Every method at every door, in each of the ways to write it."""
    for path in doors(target):
        for method in METHODS:
            ways = [path, path + ("&" if "?" in path else "?") + "x=1", "http://localhost" + path]
            for way in ways + ([path + "/"] if path[-1].isalpha() else []):
                yield "%s %s" % (method, way), request(method, way, [LOCAL])
    yield "POST with a body", message(s)
    yield "HTTP/1.0", line(doors(target)[0], "GET", "HTTP/1.0", ["Host: localhost"])
    yield "OPTIONS of a browser that asks for nothing", request("OPTIONS", doors(target)[0], [
        LOCAL, ("Origin", "http://localhost")])


WRONG = ("wrong", TOKEN[:-1], TOKEN[1:], TOKEN + "x", "x" + TOKEN, TOKEN + TOKEN, TOKEN[:-1] + "!", TOKEN.lower(),
         TOKEN.upper(), TOKEN.swapcase(), TOKEN[::-1], TOKEN + ",", TOKEN + "," + TOKEN, TOKEN + ";", '"%s"' % TOKEN,
         "<%s>" % TOKEN, TOKEN + " x", TOKEN + "\tx", TOKEN + "%00", TOKEN + "\\0", TOKEN + "\xff", TOKEN + "\xa0",
         "%57" + TOKEN[1:], "*", "true", "null", "0", "x" * len(TOKEN), "x" * 4095, "x" * 4096, TOKEN * 300)


def wrong(target, s):
    for value in WRONG:
        yield "X-MCP-AUTH %.50r" % value, message(s, ("X-MCP-AUTH", value))
        yield "Bearer %.50r" % value, message(s, ("Authorization", "Bearer " + value))


def misplaced(target, s):
    """The right token where no token belongs."""
    both = base64.b64encode(("mcp:" + TOKEN).encode()).decode()
    for value in (TOKEN, "bearer" + TOKEN, "Bearer:" + TOKEN, "Bearer\t" + TOKEN, "Bearer, " + TOKEN, "Token " + TOKEN,
                  "Digest " + TOKEN, "Basic " + both, "Basic " + TOKEN, "Bearer Bearer " + TOKEN, "Bearer",
                  "Bearer " + TOKEN + " " + TOKEN, "Basic x, Bearer " + TOKEN, "Bearer token=" + TOKEN):
        yield "Authorization: " + value, message(s, ("Authorization", value))
    for name, value in (("Proxy-Authorization", "Bearer " + TOKEN), ("Cookie", "X-MCP-AUTH=" + TOKEN),
                        ("X-MCP-AUTH", ""), ("X-MCP-AUTHX", TOKEN), ("XMCP-AUTH", TOKEN), ("X_MCP_AUTH", TOKEN),
                        ("X-MCP_AUTH", TOKEN), ("X-MCP-AUTH-", TOKEN), ("HTTP-X-MCP-AUTH", TOKEN), ("Token", TOKEN),
                        ("X-Auth-Token", TOKEN), ("X-Api-Key", TOKEN), ("MCP_EXEC_AUTH_TOKEN", TOKEN),
                        ("X-MCP-AUTH", "Bearer " + TOKEN), ("Mcp-Session-Id", TOKEN), ("X-Forwarded-User", "root"),
                        ("X-Original-URL", "/healthz"), ("X-Rewrite-URL", "/healthz"),
                        ("X-HTTP-Method-Override", "OPTIONS"), ("Forwarded", "for=127.0.0.1"),
                        ("X-Forwarded-For", "127.0.0.1"), ("Connection", "X-MCP-AUTH"), ("Upgrade", "h2c")):
        yield "%s: %s" % (name, value), message(s, (name, value))
    for query in ("token=%s", "X-MCP-AUTH=%s", "access_token=%s", "x=\r\nX-MCP-AUTH: %s"):
        query = (query % TOKEN).replace("\r\n", "%0d%0a").replace(" ", "%20")
        yield query, message(s, target=doors(target)[0] + "?" + query)
    yield "in the body", message(s, body=json.dumps({"jsonrpc": "2.0", "method": "x", "X-MCP-AUTH": TOKEN}).encode())
    yield "in a trailer", message(s, ("Transfer-Encoding", "chunked"), body=b"0\r\nX-MCP-AUTH: " + TOKEN.encode() +
                                  b"\r\n\r\n")
    yield "as user of the target", message(s, target="http://%s@localhost%s" % (TOKEN, inlet(s))), (400,)


def damaged(target, s):
    """The right token in a line that is none."""
    raw = TOKEN.encode()
    for name, field in (
            ("NUL behind", b"X-MCP-AUTH: " + raw + b"\0"), ("NUL and more", b"X-MCP-AUTH: " + raw + b"\0x"),
            ("NUL before", b"X-MCP-AUTH: \0" + raw), ("bare CR behind", b"X-MCP-AUTH: " + raw + b"\r"),
            ("bare LF behind", b"X-MCP-AUTH: " + raw + b"\nX: x"), ("DEL", b"X-MCP-AUTH: " + raw + b"\x7f"),
            ("vertical tab", b"X-MCP-AUTH: " + raw + b"\v"), ("form feed", b"X-MCP-AUTH:\f" + raw),
            ("folded", b"X-MCP-AUTH:\r\n " + raw), ("folded by a tab", b"X: x\r\n\tX-MCP-AUTH: " + raw),
            ("blank before the colon", b"X-MCP-AUTH : " + raw), ("tab before the colon", b"X-MCP-AUTH\t: " + raw),
            ("blank before the name", b" X-MCP-AUTH: " + raw), ("NUL in the name", b"X-MCP-AUTH\0: " + raw),
            ("blank in the name", b"X MCP-AUTH: " + raw), ("no colon", b"X-MCP-AUTH " + raw),
            ("letter beyond ASCII in the name", b"X-MCP-AUTH\xa0: " + raw), ("no name", b": " + raw)):
        yield name, line(inlet(s), fields=["Host: localhost", "Content-Length: 0", field]), (400,)
    yield "64 KiB", message(s, ("X-MCP-AUTH", "x" * 65536)), (431,)
    yield "64 KiB that begin rightly", message(s, ("Authorization", "Bearer " + TOKEN * 2000)), (431,)


def twice(target, s):
    bearer = ("Authorization", "Bearer " + TOKEN)
    for name, fields in (("the same", (RIGHT, RIGHT)), ("right and wrong", (RIGHT, ("X-MCP-AUTH", "x"))),
                         ("wrong and right", (("X-MCP-AUTH", "x"), RIGHT)),
                         ("in two cases", (RIGHT, ("x-mcp-auth", TOKEN))),
                         ("empty and right", (("X-MCP-AUTH", ""), RIGHT)), ("Bearer", (bearer, bearer)),
                         ("Bearer and Basic", (bearer, ("Authorization", "Basic eDp4")))):
        yield name, message(s, *fields)


TOKENS = [
    refused("token-none", "without a token nothing but 401, whatever the method and the path", "access", without, 401,
            env=GUARDED),
    refused("token-wrong", "another token, however near to the right one", "access", wrong, 401, env=GUARDED),
    refused("token-misplaced", "the right token in another field, form or place", "access", misplaced, 401,
            env=GUARDED),
    refused("token-damaged", "the right token in a damaged or endless line", "head", damaged, env=GUARDED),
    refused("token-twice", "a token twice: which one counts is not for us to guess", "access", twice, 401, env=GUARDED),
]


@host("http.token-right", "the token in its two forms, in any case of their names, lets in", "none", "listens")
def token_right(target):
    s = target.server(GUARDED)
    for name, value in (("X-MCP-AUTH", TOKEN), ("x-mcp-auth", TOKEN), ("X-Mcp-Auth", TOKEN + " \t"),
                        ("Authorization", "Bearer " + TOKEN), ("authorization", "bearer " + TOKEN),
                        ("AUTHORIZATION", "BEARER    " + TOKEN)):
        said = spoken(s.address, message(s, (name, value)))
        if [a.status for a in said] != [202]:
            raise Broken("%s: %s gave %r" % (name, value, said))


@host("http.token-shown-once", "a connection that has shown the token must show it again for every request", "access",
      "listens")
def token_shown_once(target):
    s = target.server(GUARDED)
    for name, later in (("none", ()), ("wrong", (("X-MCP-AUTH", TOKEN + "x"),)), ("empty", (("X-MCP-AUTH", ""),))):
        with Connection(s.address) as kept:
            kept.send(message(s, RIGHT))
            first = kept.reply()
            check(first.status == 202 and first.body() is not None, "the first was not served")
            kept.send(message(s, *later))
            equal(kept.reply(timeout=5).status, 401, name)
        said = spoken(s.address, message(s, RIGHT) + message(s, *later) + message(s, RIGHT))
        equal([a.status for a in said], [202, 401], "in one piece, %s:" % name)


@host("http.token-of-a-neighbour", "what one connection shows is nothing for another, open at the same time", "access",
      "listens")
def token_of_a_neighbour(target):
    s = target.server(GUARDED)
    with Connection(s.address) as shown, Connection(s.address) as other:
        first, second = message(s, RIGHT), message(s)
        for connection, data in ((shown, first[:40]), (other, second[:40]), (shown, first[40:]), (other, second[40:])):
            connection.send(data)
        check(shown.reply().status == 202, "the first was not served")
        equal(other.reply(timeout=5).status, 401)


@host("http.token-refusal-tells-nothing", "all wrong tokens get the same bytes, and nothing runs", "access", "listens",
      "processes")
def refusal_tells_nothing(target):
    s, name = target.server(GUARDED), unique()
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": "exec", "arguments": {"code": named_program(name)}}}
    told = set()
    for value in ("x", TOKEN[:-1], TOKEN[:-1] + "!", "!" + TOKEN[1:], TOKEN + "x", "x" * 4000):
        said = spoken(s.address, message(s, ("X-MCP-AUTH", value), body=json.dumps(call).encode()), finish=False)
        equal([a.status for a in said], [401])
        told.add(re.sub(rb"\r\nDate: [^\r]*", b"", said[0].head) + said[0].body)
    equal(len(told), 1, "different answers: %r" % sorted(told))
    equal(target.exec("print(1)", env=GUARDED)["stdout"], "1\n")
    equal(named(name), [])


# --- pages of other sites, and other names of this machine ---

SPELLINGS = ("evil.example", "evil.example:80", "localhost.evil.example", "evil-localhost", "localhostevil",
             "127.0.0.1.evil.example", "127.0.0.1-evil.example", "[::1].evil.example", "localhost@evil.example",
             "127.0.0.1:80@evil.example", "user:localhost@evil.example", "evil.example/localhost",
             "evil.example#localhost", "evil.example?localhost", "evil.example\\localhost", "127.1", "127.0.1",
             "127.0.0.2", "0x7f000001", "0x7f.0.0.1", "2130706433", "0177.1", "127.000.000.001", "127.0.0.1.", "0",
             "0.0.0.0", "[::]", "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[::1%25lo]", "[::1%lo]", "::1", "[::1", "::1]",
             "[127.0.0.1]", "[localhost]", "localhost:", "localhost:99999", "localhost:-1", "localhost:80:80",
             "localhost:+80", "localhost:0x50", "localhost:80 ", "local%68ost", "localhost%00",
             "localhost%00.evil.example", "localhost%2eevil.example", "localhost..", ".localhost", "local host",
             "localhost,evil.example", "localhost, evil.example", "localhost\tevil.example", "localhost;evil.example",
             "\u2113ocalhost", "localhost\u3002evil.example", "loc\u0430lhost", "localhos\u0074\u0301", "localhost\xa0",
             "xn--localhost", "localdomain", "localhost.localdomain", "127.0.0.1.nip.io", "ip6-localhost", "*", "null",
             "-")
SAME_ONLY_AS_HOST = ("localhost:80 ", "127.0.0.1.")
NO_SCHEME = ("null", "NULL", "", "localhost", "//localhost", "http:localhost", "http:/localhost", "http//localhost",
             "http://", "http:///", "://localhost", "file://", "file:///etc/passwd", "file://localhost",
             "ftp://localhost", "ws://localhost", "javascript://localhost", "data:text/html,x", "about:blank",
             "blob:http://localhost/x", "chrome-extension://localhost", "httpx://localhost", "xhttp://localhost",
             "http ://localhost", "http://localhost/", "http://localhost/x", "http://localhost?x", "http://localhost#x",
             "http://localhost\\x", "http://localhost http://evil.example", "http://evil.example http://localhost",
             "http://localhost, http://evil.example", "http://localhost\thttp://evil.example", "*", "http://*",
             "undefined")


def at_all_doors(target, *more):
    """(method, path) of all that is served or answered."""
    yield from ((method, path) for path in doors(target) for method in ("GET", "POST", "OPTIONS", "DELETE"))
    yield from more


def preflight(origin, path="/mcp"):
    return request("OPTIONS", path, [LOCAL, ("Origin", origin), ("Access-Control-Request-Method", "POST")])


def foreign_origins(target, s):
    everywhere = [("GET", "/healthz"), ("GET", "/nowhere")]
    for method, path in at_all_doors(target, *everywhere):
        yield "%s %s" % (method, path), request(method, path, [LOCAL, RIGHT, ("Origin", "https://evil.example")])
    for origin in NO_SCHEME + tuple(scheme + name for scheme in ("http://", "https://") for name in SPELLINGS
                                    if name != "localhost:80 "):
        yield "Origin %r" % origin, message(s, ("Origin", origin))
        yield "preflight of %r" % origin, preflight(origin, doors(target)[0])
    yield "twice", message(s, ("Origin", "http://localhost"), ("Origin", "http://evil.example"))
    yield "twice, in two cases", message(s, ("Origin", "http://evil.example"), ("oRIGIN", "http://localhost"))


def foreign_hosts(target, s):
    for method, path in at_all_doors(target, ("GET", "/nowhere")):
        yield "%s %s" % (method, path), request(method, path, [("Host", "evil.example"), RIGHT])
    for name in SPELLINGS + ("", "http://localhost", "localhost/", "localhost?", "localhost#", "user@localhost"):
        if name not in SAME_ONLY_AS_HOST:
            yield "Host %r" % name, message(s, host=("Host", name))
    path = doors(target)[0]
    for name, fields in (("none", []), ("twice", ["Host: localhost", "Host: localhost"]),
                         ("twice, one foreign", ["Host: localhost", "hOST: evil.example"]),
                         ("folded", ["Host: localhost", "\tevil.example"]),
                         ("X-Forwarded-Host", ["Host: evil.example", "X-Forwarded-Host: localhost"]),
                         ("blank before the colon", ["Host : localhost"]), ("tab", ["Host:\tlocalhost"])):
        yield name, line(path, "GET", fields=fields)
    for asked, told in (("evil.example", "evil.example"), ("evil.example", "localhost"), ("localhost", "evil.example"),
                          ("localhost@evil.example", "localhost"), ("localhost:1", "localhost:2"), ("", "localhost")):
        yield "%s of %s" % (asked, told), line("http://" + asked + path, "GET", fields=["Host: " + told])
    yield "in absolute-form alone, HTTP/1.0", line("http://evil.example" + path, "GET", "HTTP/1.0")


def preflights_grant_nothing(target, s):
    """CORS: an answer to a page that is not allowed has no field that a browser would take for leave."""
    def attempt(data):
        for said in spoken(s.address, data, finish=False):
            if b"access-control-" in said.head.lower():
                return "it grants: %r" % said.head
        return None
    for origin in ("https://evil.example", "null", "http://localhost.evil.example"):
        for path in doors(target) + ("/healthz",):
            yield "%s for %s" % (path, origin), lambda d=preflight(origin, path): attempt(d)
            yield "GET %s by %s" % (path, origin), lambda d=request("GET", path,
                                                                    [LOCAL, ("Origin", origin)]): attempt(d)


ORIGINS = [
    refused("origin-foreign", "a page of another site, or of none", "access", foreign_origins, 403, 400),
    refused("host-foreign", "another name of this server, as DNS rebinding gives it", "access", foreign_hosts, 403,
            400),
    Case("http.origin-grants-nothing", "CORS says nothing to pages that are not allowed", "access",
         lambda target: each(preflights_grant_nothing(target, target.server())), "listens"),
]

LISTED = {"MCP_EXEC_ALLOWED_ORIGINS": "https://app.example.com http://b.example.com:8443",
          "MCP_EXEC_ALLOWED_HOSTS": "mcp.example.com, c.example.com:8080"}
NEAR_ORIGINS = ("http://app.example.com", "https://app.example.com:8443", "https://app.example.com:80",
                "https://xapp.example.com", "https://sub.app.example.com", "https://app.example.com.evil.example",
                "https://app.example.com.", "https://app.example.comx", "https://appxexample.com",
                "https://example.com", "https://app.example.com@evil.example", "https://app.example.com/",
                "https://app%2eexample.com", "http://b.example.com", "https://b.example.com:8443",
                "http://b.example.com:844", "http://b.example.com:84430",
                "https://app.example.com http://b.example.com:8443", "https://app.example.com,",
                LISTED["MCP_EXEC_ALLOWED_ORIGINS"].replace(" ", ","))
NEAR_HOSTS = ("xmcp.example.com", "sub.mcp.example.com", "mcp.example.com.evil.example", "mcpxexample.com",
              "example.com", "mcp.example.comx", "c.example.com", "c.example.com:80", "c.example.com:808",
              "c.example.com:80800", "mcp.example.com@evil.example", "mcp.example.com,c.example.com:8080",
              "mcp%2eexample.com", "*.example.com", "evil.example")


def near(target, s):
    for origin in NEAR_ORIGINS:
        yield "Origin " + origin, message(s, ("Origin", origin))
        yield "preflight of " + origin, preflight(origin, doors(target)[0])
    for name in NEAR_HOSTS:
        yield "Host " + name, message(s, host=("Host", name))


ORIGINS.append(refused("lists-near-misses", "what is like an entry of the lists and is none", "access", near, 403, 400,
                       env=LISTED, needs=("environment",)))


@host("http.lists-right", "what the lists name, and this machine, may come in", "none", "listens", "environment")
def lists_right(target):
    s = target.server(LISTED)
    for fields, name in (((), "mcp.example.com"), ((), "MCP.example.com:1"), ((), "c.example.com:8080"),
                         ((), "localhost:9"),
                         ((), "127.0.0.1"), ((), "[::1]:80"), ((("Origin", "https://APP.example.com"),), "localhost"),
                         ((("Origin", "http://b.example.com:8443"),), "localhost."),
                         ((("Origin", "http://localhost:3000"),), "mcp.example.com")):
        said = spoken(s.address, message(s, *fields, host=("Host", name)))
        if [a.status for a in said] != [202]:
            raise Broken("%s of %s gave %r" % (fields, name, said))
    said = spoken(s.address, preflight("https://app.example.com", doors(target)[0]))
    check(said[0].status == 204 and b"\r\nAccess-Control-Allow-Origin: https://app.example.com\r\n" in said[0].head,
          said)


# --- where it listens ---

# Becomes the command in a network namespace of its own, in which lo is up. The numbers are as in unshare(2) and
# netdevice(7): CLONE_NEWUSER, CLONE_NEWNET, SIOCSIFFLAGS, IFF_UP.
ALONE = [sys.executable, "-c", """
import ctypes, fcntl, os, socket, struct, sys
uid, gid = os.geteuid(), os.getegid()
if ctypes.CDLL(None).unshare((0 if uid == 0 else 1 << 28) | 1 << 30): sys.exit("no network namespace")
if uid:
    for name, text in (("setgroups", "deny"), ("uid_map", "%d %d 1" % (uid, uid)), ("gid_map", "%d %d 1" % (gid, gid))):
        with open("/proc/self/" + name, "w") as file: file.write(text)
with socket.socket() as s: fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 1))
os.execv(sys.argv[1], sys.argv[1:])
"""]
LISTENING = "0A"  # TCP_LISTEN
LOOPBACK = {"0100007F", "7F000001", "00000000000000000000000001000000", "00000000000000000000000000000001"}


def listeners(pid):
    """Addresses, as the kernel writes them, of all sockets that listen in the network namespace of a process."""
    for table in ("tcp", "tcp6"):
        try:
            with open("/proc/%d/net/%s" % (pid, table)) as file:
                rows = [row.split() for row in file.readlines()[1:]]
        except FileNotFoundError:  # a kernel without IPv6
            continue
        yield from (row[1].partition(":")[0] for row in rows if row[3] == LISTENING)


@host("http.bind-default", "with no address and no token it listens on loopback and nowhere else", "listen", "listens",
      "second", "processes")
def bind_default(target):
    with target.instance(env={"MCP_EXEC_ADDR": ""}, through=ALONE) as s:
        found = list(listeners(s.pid))
        check(found, "nothing listens")
        equal(sorted(set(found) - LOOPBACK), [], "beyond loopback:")


@host("http.unix-socket-is-guarded", "at a unix socket the token and Origin are asked for just the same", "access",
      "listens", "second", "host")
def unix_socket(target):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        with target.instance(env=dict(GUARDED, MCP_EXEC_ADDR="unix:" + os.path.join(folder, "s"))) as s:
            check(os.stat(s.address).st_mode & 0o007 == 0, "others may connect")
            s.initialize()
            for name, data, status in (("no token", message(s), 401), ("another", message(s, ("X-MCP-AUTH", "x")), 401),
                                       ("a foreign page", message(s, RIGHT, ("Origin", "https://evil.example")), 403)):
                fault = only(spoken(s.address, data, finish=False), status)
                check(not fault, name, fault)


# --- what is told ---

PLACES = ("X-MCP-AUTH", "Authorization", "Proxy-Authorization", "Cookie", "Origin", "Referer", "User-Agent", "Mcp-Name",
          "Mcp-Session-Id", "Mcp-Method", "MCP-Protocol-Version", "Accept", "Content-Type", "Expect", "Last-Event-ID",
          "Transfer-Encoding", "Content-Length", "Access-Control-Request-Headers", "X-Forwarded-For", "Connection",
          "CNRY")


def canaries(s, word):
    """Requests that carry the word in all places, let in and not."""
    for auth in ([], [RIGHT]):
        yield from (message(s, (place, word), *auth) for place in PLACES)
        yield from (message(s, *auth, target=t) for t in (
            "/" + word, inlet(s) + "/" + word, inlet(s).partition("?")[0] + "?sessionId=" + word, "/healthz?" + word,
            "http://%s/mcp" % word, "/%2e%2e/" + word, word, "/" + word + "\x01"))
        yield message(s, *auth, host=("Host", word))
        yield message(s, (word, "x"), *auth)
        yield message(s, (word + "\0", "x"), *auth)
        yield message(s, *auth, method=word)
        yield line(inlet(s), version=word, fields=["Host: localhost"])
        yield message(s, *auth, body=word.encode())
        yield message(s, *auth, body=('{"jsonrpc":"2.0","method":"%s"}' % word).encode())
        yield message(s, ("Transfer-Encoding", "chunked"), *auth, body=("5;%s\r\nhello\r\n0\r\n%s: x\r\n\r\n" % (
            word, word)).encode())
        yield message(s, ("Transfer-Encoding", "chunked"), *auth, body=word.encode())
    yield word.encode() + b"\r\n\r\n"
    yield message(s, ("X-MCP-AUTH", TOKEN + word))


@host("http.log-and-answers-are-private", "no byte that a peer sends is logged or said back where it is refused", "log",
      "listens")
def private(target):
    s, word = target.server(GUARDED), "canary" + unique()
    said, logged = [], s.stderr().count(b"event=http.refused")
    for number, data in enumerate(canaries(s, word)):
        if number % 20 == 0:
            time.sleep(1.1)  # a refusal is logged once a second
        said += spoken(s.address, data)
    check(len(said) > 60, "only so many answers:", len(said))
    for answer in said:
        for secret in (word, TOKEN):
            check(secret.encode() not in answer.head + answer.body, "said back:", answer.head + answer.body)
    until(lambda: s.stderr().count(b"event=http.refused") >= logged + 3, 5, "refusals are logged")
    for secret in (word, TOKEN, TOKEN[:12]):
        check(secret.encode() not in s.stderr(), "%s is in the log" % secret)


@host("http.scrape-tells-no-secret", "neither metrics nor health tell of tokens, sessions or what ran", "log",
      "listens")
def scrape(target):
    s, word = target.server(GUARDED), "canary" + unique()
    target.exec("print(%r)" % word, env=GUARDED)
    for path in ("/metrics", "/healthz"):
        reply = streamed(s.address, request("GET", path, [LOCAL, RIGHT]))
        text = reply.body(5)
        check(reply.status == 200 and text, "no text")
        for secret in (word, TOKEN, inlet(s).rpartition("=")[2] if "=" in inlet(s) else s.session):
            check(secret.encode() not in text, "%s tells %s" % (path, secret))
    said = spoken(s.address, request("GET", "/healthz", [LOCAL]))
    if only(said, 200, last=False) or said[0].body != b'{"status":"ok"}':
        raise Open("health says %r" % said)


CASES = TOKENS + [token_right, token_shown_once, token_of_a_neighbour, refusal_tells_nothing] + ORIGINS + [
    lists_right, bind_default, unix_socket, private, scrape]
