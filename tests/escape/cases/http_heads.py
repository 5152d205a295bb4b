"""One request is one request: what can be read in two ways is refused, and no byte of a body is ever a request."""
from _case import Open, host
from _peer import (GUARDED, LOCAL, METHODS, NOTE, RIGHT, TOKEN, doors, each, inlet, line, message, only, refused,
                   served, spoken)
from mcp import check, equal
from wire import Connection, request

SHOWN = "X-MCP-AUTH: " + TOKEN
USUAL = ["Host: localhost", "Content-Type: application/json", "Accept: */*", SHOWN]
# What would be the next request, if the one before it were cut off elsewhere: behind a proxy it would be another
# client's. It has no token, and no answer to it may come, not even 401.
HIDDEN = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(NOTE), NOTE)
LENGTH, CODING = "Content-Length: %d" % len(NOTE), "Transfer-Encoding: chunked"

LENGTHS = ["+%d", "-%d", "0x%x", "%d.0", "%d;", "%d,", ", %d", "%d %d", "%d, %d", "%d,%d", "%d\t%d", "%de0", "\"%d\"",
           "%d\0", "\v%d", "%d\v", "%d\xa0", "\u0663%d", "%d_0", "%d 0", "1844674407370955162%d",
           "18446744073709551616%d", "", "one", "9" * 400, "\t%d"]
CODINGS = ["chunked, chunked", "chunked,", ",chunked", "identity", "identity, chunked", "chunked, identity",
           "gzip, chunked", "gzip", "chunked;q=1", "chunked ; x", "x chunked", "chunked x", "xchunked", "chunkedx",
           "chun ked", "\vchunked", "chunked\v", "\fchunked", "\x00chunked", "chunked\x00", "\xa0chunked",
           "\x85chunked", "'chunked'", '"chunked"', "\u212ahunked", "chunke\u0501", "", "\tchunked", "cow",
           "chunked\rx"]


def ambiguous(target, s):
    """(name, bytes): heads that two readers cut off differently, with what the second might take for a request."""
    def both(name, *fields, body=NOTE, end=b"\r\n", **more):
        return name, line(inlet(s), fields=USUAL + list(fields), body=body + HIDDEN, end=end, **more)
    yield both("length and coding", LENGTH, CODING, body=CHUNKED)
    yield both("coding and length", CODING, LENGTH, body=CHUNKED)
    yield both("length 0 and coding", "Content-Length: 0", CODING, body=CHUNKED)
    yield both("length and a coding that is none", LENGTH, "Transfer-Encoding: identity")
    yield both("length and an empty coding", LENGTH, "Transfer-Encoding:")
    yield both("two lengths", LENGTH, "Content-Length: 5")
    yield both("two lengths, the first short", "Content-Length: 0", LENGTH)
    yield both("the same length twice", LENGTH, LENGTH)
    yield both("two lengths in two cases", LENGTH, "cONTENT-lENGTH: 0")
    yield both("two codings", CODING, CODING, body=CHUNKED)
    yield both("two codings, one of none", CODING, "Transfer-Encoding: identity", body=CHUNKED)
    for text in LENGTHS:
        value = text % ((len(NOTE),) * text.count("%")) if "%" in text else text
        yield both("length %.30r" % value, "Content-Length: " + value)
    for text in CODINGS:
        yield both("coding %r" % text, "Transfer-Encoding: " + text, body=CHUNKED)
    for name in ("Content-Length", "Transfer-Encoding"):
        field, body = (LENGTH, NOTE) if name == "Content-Length" else (CODING, CHUNKED)
        value = field.partition(": ")[2]
        for how, given in (("a blank before the colon", name + " : " + value),
                           ("a tab before it", name + "\t: " + value),
                           ("a NUL before it", name + "\0: " + value), ("a no-break space", name + "\xa0: " + value),
                           ("a blank at first", " " + field), ("a tab at first", "\t" + field),
                           ("no colon", name + " " + value), ("folded", name + ":\r\n " + value),
                           ("a bare CR", "X: x\r" + field), ("a bare LF", "X: x\n" + field),
                           ("a vertical tab", "\v" + field),
                           ("a CR at the end", field + "\r"), ("a tab before the value", name + ":\t" + value),
                           ("a blank in the name", name.replace("-", " ") + ": " + value),
                           ("a colon at first", ":" + field)):
            yield both("%s with %s" % (name, how), given, body=body)
    yield both("bare LF alone", LENGTH, end=b"\n")
    yield both("LF CR", LENGTH, end=b"\n\r")
    yield both("bare CR alone", LENGTH, end=b"\r", body=NOTE + b"\r\n\r\n")
    yield both("HTTP/1.0 with a coding", CODING, version="HTTP/1.0", body=CHUNKED)
    yield both("a fold before all", " folded", LENGTH)
    yield both("an Expect that is none", LENGTH, "Expect: 200-ok")
    yield both("two Expects", LENGTH, "Expect: 100-continue", "Expect: 100-continue")
    for method in ("GET", "HEAD", "OPTIONS", "TRACE"):
        yield "%s with a body" % method, line(inlet(s), method, fields=USUAL + ["Content-Length: %d" % len(HIDDEN)],
                                              body=HIDDEN)
        yield "%s with chunks" % method, line(inlet(s), method, fields=USUAL + [CODING],
                                              body=b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN))
    yield "health with a body", line("/healthz", "GET", fields=USUAL + ["Content-Length: %d" % len(HIDDEN)],
                                     body=HIDDEN)
    nowhere = line("/nowhere", fields=USUAL + ["Content-Length: %d" % len(HIDDEN)], body=HIDDEN)
    yield "a path that is not there", nowhere, (404,)
    yield "a CONNECT", line("localhost:80", "CONNECT", fields=USUAL, body=HIDDEN)


CHUNKS = [("no size", b"\r\nhello\r\n"), ("a size that is none", b"g\r\nhello\r\n"), ("0x", b"0x5\r\nhello\r\n"),
          ("a plus", b"+5\r\nhello\r\n"), ("a minus", b"-5\r\nhello\r\n"), ("a blank before", b" 5\r\nhello\r\n"),
          ("a blank behind", b"5 \r\nhello\r\n"), ("a tab behind", b"5\t\r\nhello\r\n"),
          ("an underscore", b"0_5\r\nhello\r\n"), ("2 to the 64 and 5", b"10000000000000005\r\nhello\r\n"),
          ("17 digits", b"00000000000000005\r\nhello\r\n"), ("all bits", b"ffffffffffffffff\r\nhello\r\n"),
          ("the sign bit", b"8000000000000005\r\nhello\r\n"), ("a bare LF", b"5\nhello\r\n"),
          ("a bare CR", b"5\rhello\r\n"), ("CR CR LF", b"5\r\r\nhello\r\n"),
          ("an extension that ends in LF", b"5;x\nhello\r\n"), ("a bare CR in an extension", b"5;x\ry\r\nhello\r\n"),
          ("a NUL in an extension", b"5;\0\r\nhello\r\n"), ("no end behind the data", b"5\r\nhello5\r\nhello\r\n"),
          ("a bare LF behind the data", b"5\r\nhello\n"), ("LF CR behind the data", b"5\r\nhello\n\r"),
          ("two bytes for the end", b"5\r\nhelloXX"), ("a longer chunk", b"5\r\nhello!\r\n"),
          ("a shorter chunk", b"5\r\nhell\r\n0\r\n\r\n"), ("a NUL for a size", b"\0\r\n"),
          ("a letter beyond ASCII", b"\xb5\r\n"), ("a fullwidth digit", "\uff15\r\nhello\r\n".encode()),
          ("a bare LF behind the last", b"0\n\n"), ("a bare LF for the trailer", b"0\r\n\n"),
          ("a bare CR for the trailer", b"0\r\n\r\r\n"), ("a folded trailer", b"0\r\nx: y\r\n z\r\n\r\n"),
          ("a trailer without a colon", b"0\r\nxyz\r\n\r\n"),
          ("a trailer with a bare LF", b"0\r\nx: y\nGET / HTTP/1.1\r\n\r\n"),
          ("a request as trailer", b"0\r\n" + HIDDEN), ("a blank in a trailer's name", b"0\r\nx : y\r\n\r\n"),
          ("a NUL in a trailer", b"0\r\nx: \0\r\n\r\n")]


def broken_chunks(target, s):
    for name, chunks in CHUNKS:
        yield name, line(inlet(s), fields=USUAL + [CODING], body=chunks + HIDDEN), (400, 413)


@host("http.smuggle-one-answer", "a body that holds a request is a body, however it is framed", "head", "listens")
def one_answer(target):
    """These are right, so there is one answer, and the request behind them gets its own: 401."""
    s = target.server(GUARDED)
    blanks = NOTE + HIDDEN

    def attempt(data, *statuses):
        said = [a.status for a in spoken(s.address, data)]
        return None if said in [list(statuses), [100] + list(statuses)] else "answers %r, not %r" % (said, statuses)
    framed = [("length", ["Content-Length: %d" % len(blanks)], blanks),
              ("chunks", [CODING], b"%x;ext=\"a;b\"\r\n%s\r\n00\r\n\r\n" % (len(blanks), blanks)),
              ("chunks in two", [CODING],
               b"5\r\n%s\r\n%X\r\n%s\r\n000\r\nX-MCP-AUTH: x\r\nContent-Length: 9\r\n\r\n" % (
                  blanks[:5], len(blanks) - 5, blanks[5:])),
              ("length with zeros", ["Content-Length: 000%d" % len(blanks)], blanks),
              ("underscores are another name", ["Content-Length: %d" % len(blanks), "Transfer_Encoding: chunked",
                                                "Content_Length: 0", "X-Transfer-Encoding: chunked"], blanks),
              ("a coding in capitals", ["TRANSFER-ENCODING: CHUNKED"],
               b"%x\r\n%s\r\n0\r\n\r\n" % (len(blanks), blanks)),
              ("asked to go on", ["Content-Length: %d" % len(blanks), "Expect: 100-continue"], blanks)]
    # The body is no JSON, for a request follows the message in it.
    behind = (("", b"", ()), (", another behind it", HIDDEN, (401,)))
    requests = [(name + more, line(inlet(s), fields=USUAL + fields, body=body) + tail, (400,) + status)
                for name, fields, body in framed for more, tail, status in behind]
    each((name, lambda d=data, s=statuses: attempt(d, *s)) for name, data, statuses in requests)
    for method in ("DELETE", "PUT", "PATCH"):
        said = spoken(s.address, line(inlet(s), method, fields=USUAL + ["Content-Length: %d" % len(HIDDEN)],
                                      body=HIDDEN))
        equal(len(said), 1, "%s: %r" % (method, said))


@host("http.smuggle-behind-a-refusal", "nothing behind a refused request is read, however much of it comes", "head",
      "listens")
def behind_a_refusal(target):
    s = target.server(GUARDED)
    good = line(inlet(s), fields=USUAL + [LENGTH], body=NOTE)
    for name, bad, status in (("401", message(s), 401), ("403", message(s, RIGHT, host=("Host", "evil.example")), 403),
                              ("404", message(s, RIGHT, target="/nowhere"), 404), ("400", b"nonsense\r\n\r\n", 400),
                              ("501", line(inlet(s), "BREW", fields=USUAL), 501),
                              ("413", line(inlet(s), fields=USUAL + ["Content-Length: 99999999999"]), 413)):
        said = spoken(s.address, good + bad + good * 50)
        equal([a.status for a in said], [202, status], name)


HEADS = [
    refused("smuggle-heads", "heads whose body two readers would end elsewhere", "head", ambiguous, 400, 417, 501,
            env=GUARDED),
    refused("smuggle-chunks", "chunks that two readers would cut differently", "head", broken_chunks, env=GUARDED),
]

# --- methods, paths, and what is no HTTP/1.1 ---

HELLO = bytes.fromhex("16030100c4010000c00303") + b"\x5a" * 32 + bytes.fromhex("20") + b"\x11" * 100 + b"\r\n\r\n"
NO_HTTP = [("HTTP/0.9", b"GET /mcp\r\n\r\n"), ("HTTP/0.9 with a version", b"GET /mcp HTTP/0.9\r\n\r\n"),
           ("HTTP/2 preface", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"), ("a TLS hello", HELLO),
           ("nonsense", b"\0\1\2\3\xff\xfe\r\n\r\n"), ("JSON", NOTE + b"\r\n\r\n"), ("SSH", b"SSH-2.0-x\r\n\r\n"),
           ("a PROXY line", b"PROXY TCP4 127.0.0.1 127.0.0.1 1 2\r\nGET /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"),
           ("lower case", b"get /mcp http/1.1\r\nHost: localhost\r\n\r\n"), ("HTTP/1.2", line(version="HTTP/1.2")),
           ("HTTP/2", line(version="HTTP/2")), ("HTTP/2.0", line(version="HTTP/2.0")),
           ("HTTP/9.9", line(version="HTTP/9.9")), ("HTTP/1.1x", line(version="HTTP/1.1x")),
           ("HTTP/01.1", line(version="HTTP/01.1")), ("HTTP/1.01", line(version="HTTP/1.01")),
           ("HTTP/-1.1", line(version="HTTP/-1.1")), ("HTTP", line(version="HTTP")), ("ICY", line(version="ICY/1.1")),
           ("two blanks", b"GET  /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"),
           ("a tab", b"GET\t/mcp\tHTTP/1.1\r\nHost: localhost\r\n\r\n"),
           ("a blank at first", b" GET /mcp HTTP/1.1\r\n\r\n"), ("a blank at the end", b"GET /mcp HTTP/1.1 \r\n\r\n"),
           ("no target", b"GET  HTTP/1.1\r\n\r\n"),
           ("two targets", b"GET /mcp /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"),
           ("a bare CR", b"GET /mcp\rHTTP/1.1\r\n\r\n"),
           ("a NUL in the method", b"GE\0T /mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"),
           ("a NUL in the target", b"GET /mcp\0 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
           ("letters beyond ASCII in the target", b"GET /mcp\xc3\xa9 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
           ("a fragment", b"GET /mcp#x HTTP/1.1\r\nHost: localhost\r\n\r\n"),
           ("no name and no path", b"GET http:// HTTP/1.1\r\nHost: localhost\r\n\r\n"),
           ("a path without a slash", b"GET mcp HTTP/1.1\r\nHost: localhost\r\n\r\n"),
           ("a star", b"GET * HTTP/1.1\r\nHost: localhost\r\n\r\n"),
           ("a star of OPTIONS", line("*", "OPTIONS", fields=["Host: localhost"])),
           ("another scheme", line("ftp://localhost/mcp", "GET")), ("file", line("file:///etc/passwd", "GET")),
           ("a colon", b"GET : HTTP/1.1\r\nHost: localhost\r\n\r\n"),
           ("a method of 10000 letters", line(method="A" * 10000)), ("a comma", line(method="GET,POST")),
           ("a target of 20000 bytes", line("/" + "a" * 20000, "GET", fields=["Host: localhost"]))]

WAYS = ("//mcp", "///mcp", "/mcp//", "/mcp///", "/./mcp", "/mcp/.", "/mcp/..", "/mcp/../metrics", "/x/../mcp",
        "/../mcp", "/mcp/..;/metrics", "/mcp;x", "/mcp;jsessionid=1", "/mcp%2f", "/mcp%2f..%2fmetrics", "/%6dcp",
        "/mc%70", "/mcp%00", "/mcp%0a", "/mcp%20", "/MCP", "/Mcp", "/METRICS", "/Healthz", "/healthz/../mcp",
        "/healthz/..;/mcp", "/healthz%2f..%2fmcp", "/healthzx", "/healthz//", "//healthz", "/healthz;x", "/%68ealthz",
        "/healthz%00", "/healthz%3f", "/mcp.json", "/mcp/x", "/mcp/metrics", "/mcp\\..\\metrics", "/\\mcp", "/metrics/",
        "/metrics/x", "/messages", "/sse/x", "/etc/passwd", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd",
        "/.git/config", "/.well-known/oauth-protected-resource", "/favicon.ico", "/robots.txt", "/$%7Bx%7D",
        "/mcp?x=/healthz", "/mcp?/healthz", "/x?/mcp", "/" + "a" * 8000, "/" + "/" * 8000, "/" + "%2e" * 2000)


def no_http(target, s):
    yield from NO_HTTP


@host("http.paths-open-nothing", "no spelling of a path gets past the token, and none is said back", "access",
      "listens")
def paths_open_nothing(target):
    s = target.server(GUARDED)

    def attempt(method, path):
        said = spoken(s.address, request(method, path, [LOCAL]), method == "HEAD", finish=False)
        wrong = only(said, 401, 404)
        return wrong or (b"Not Found" not in said[0].head and said[0].status == 404 and repr(said[0])) or (
            len(path) > 9 and path.encode() in said[0].head + said[0].body and "it is said back")
    each(("%s %.60s" % (method, path), lambda m=method, p=path: attempt(m, p)) for path in WAYS for method in METHODS)


# With the token: the status is that of a path which is there, or 404. None is 2xx but for what is asked rightly.
ASKED = (("GET", "/nowhere", 404), ("POST", "/", 404), ("GET", "//metrics", 404), ("GET", "/METRICS", 404),
         ("GET", "/metrics/", 200), ("GET", "/metrics?x", 200), ("GET", "/metrics/../metrics", 404),
         ("GET", "/metrics%2f", 404), ("POST", "/metrics", 405), ("DELETE", "/metrics", 405), ("HEAD", "/metrics", 200),
         ("PUT", "/mcp", 405), ("PATCH", "/mcp", 405), ("TRACE", "/mcp", 405), ("GET", "/mcp", 405),
         ("HEAD", "/mcp", 405), ("OPTIONS", "/mcp", 405), ("DELETE", "/mcp", 400), ("POST", "/mcp", 415),
         ("TRACE", "/healthz", 405), ("POST", "/healthz", 405), ("OPTIONS", "/healthz", 405), ("HEAD", "/healthz", 200),
         ("GET", "http://localhost/metrics", 200), ("GET", "HTTP://localhost/healthz", 200),
         ("GET", "https://localhost/metrics", 200), ("POST", "/messages?sessionId=x", 404), ("GET", "/sse", 404))


@host("http.methods-and-paths", "each method at each path has one status", "protocol", "listens", "streamable")
def methods_and_paths(target):
    target.exec("pass", env=GUARDED)  # before it is known that there are sandboxes, health says 503
    s = target.server(GUARDED)

    def attempt(method, path, status):
        said = spoken(s.address, request(method, path, [LOCAL, RIGHT]), method == "HEAD")
        if [a.status for a in said] != [status]:
            return "answers %r, not %d" % (said, status)
        if SHOWN.encode() in said[0].body or (status == 405 and b"\r\nAllow: " not in said[0].head):
            return "it says %r" % said[0].head
        return None
    each(("%s %s" % row[:2], lambda r=row: attempt(*r)) for row in ASKED)


@host("http.older-http", "HTTP/1.0 is served and closed upon", "none", "listens")
def older_http(target):
    s = target.server(GUARDED)
    for fields in ([SHOWN], USUAL, USUAL + ["Connection: keep-alive"]):
        said = spoken(s.address, line("/metrics", "GET", "HTTP/1.0", fields), finish=False)
        equal([a.status for a in said], [200])
        check(b"\r\nConnection: close" in said[0].head, said[0].head)


NOISE = b"\0\r\n\t :/?*,;=+-0129aA.[]@%#\x80\xff\x7f\x01"


@host("http.damaged-heads", "2000 damaged requests: each is served or refused, and the server goes on", "head",
      "listens")
def damaged_heads(target):
    """The same damage each time; the generator is that of Park and Miller."""
    s, seed = target.server(GUARDED), 20261129
    good = message(s, RIGHT) + line(inlet(s), fields=USUAL + [CODING], body=CHUNKED)

    def draw(n):
        nonlocal seed
        seed = seed * 48271 % 2147483647
        return seed % n
    for number in range(2000):
        data = bytearray(good)
        for _ in range(1 + draw(3)):
            at, byte = draw(len(data)), NOISE[draw(len(NOISE))]
            how = draw(3)
            if how == 0:
                data[at] = byte
            elif how == 1:
                data[at:at + draw(4)] = b""
            else:
                data[at:at] = bytes([byte])
        try:
            for said in spoken(s.address, bytes(data)):
                check(said.status in (100, 202, 204, 400, 401, 403, 404, 405, 406, 408, 411, 413, 415, 417, 431, 501,
                                      505), said)
        except (Open, AssertionError) as error:
            raise Open("number %d, %r: %s" % (number, bytes(data), error))
    served(s)


@host("http.half-closed-and-reset", "peers that leave in the middle of anything", "supervisor", "listens")
def leave_in_the_middle(target):
    s = target.server(GUARDED)
    data = message(s, RIGHT) + line(inlet(s), fields=USUAL + [CODING], body=CHUNKED)
    for at in range(0, len(data), 7):
        for how in ("close", "reset", "finish"):
            connection = Connection(s.address)
            connection.send(data[:at])
            getattr(connection, how)()
            connection.close()
    served(s)


CASES = HEADS + [one_answer, behind_a_refusal, paths_open_nothing, methods_and_paths, older_http, damaged_heads,
                 leave_in_the_middle,
                 refused("no-http", "what is no HTTP/1.1 at all", "head", no_http, 400, 404, 431, 501, 505)]
