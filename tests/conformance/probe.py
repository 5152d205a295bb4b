#!/usr/bin/env python3
"""Requests as no client library would let one write them: is each answered as probes.txt says? That table has beside
our answers those of the official SDKs' servers, and for each difference its reason.

probe.py --ask URL... prints for each probe what other servers answer: that is where the SDKs' columns come from. The
reference servers had one tool, exec, and a program behind it.
"""
import http.client
import json
import sys
from urllib.parse import urlsplit

from _server import listening, rows
from mcp import CAPABILITIES_KEY, LATEST, MODERN, PATIENCE, VERSION_KEY, cases, check, claim, equal, main

WAIT_S = 20
BOTH = "application/json, text/event-stream"
LEGACY = {"Content-Type": "application/json", "Accept": BOTH}
# Beyond what a message may have with the caps on code and stdin as they come: only the length is sent.
TOO_LONG = 40 << 20


class Probe:
    """One HTTP request; before: requests that come first, of which the last one's session id replaces {session}."""

    def __init__(self, body=None, headers=None, method="POST", path="", before=()):
        self.body = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        self.headers = LEGACY if headers is None else headers
        self.method, self.path, self.before = method, path, before


def message(method, params=None, id=7):
    found = {"jsonrpc": "2.0", "id": id, "method": method}
    return found if params is None else dict(found, params=params)


def initialize(version=LATEST, **more):
    return message("initialize", dict({"protocolVersion": version, "capabilities": {},
                                       "clientInfo": {"name": "probe", "version": "1"}}, **more), 1)


def legacy(**headers):
    """Header fields of a legacy request: those of every client, and these; None takes one away."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return {name: value for name, value in dict(LEGACY, **named).items() if value is not None}


def modern(method, **headers):
    """Header fields of a modern request."""
    fields = dict({"MCP_Protocol_Version": MODERN, "Mcp_Method": method}, **headers)
    return legacy(**fields)


def tools(id="s1", meta=None, **more):
    """tools/list of the modern era."""
    return message("tools/list", dict({"_meta": claim() if meta is None else meta}, **more), id)


def call(name="exec", meta=None, **more):
    """tools/call of the modern era. A name of None is none at all."""
    named = {} if name is None else {"name": name}
    return message("tools/call", dict(named, _meta=claim() if meta is None else meta, **more), "s1")


def listed(**headers):
    """tools/list of the modern era with header fields changed."""
    return Probe(tools(), modern("tools/list", **headers))


def called(body, name="exec", **headers):
    return Probe(body, modern("tools/call", Mcp_Name=name, **headers))


def claimed(version, header, **more):
    """tools/list that claims a version, with a header that says perhaps another."""
    return Probe(tools(meta=dict({VERSION_KEY: version, CAPABILITIES_KEY: {}}, **more)),
                 modern("tools/list", MCP_Protocol_Version=header))


def in_session(body, version=LATEST, method="POST", then=(), **headers):
    """A request in a session that was begun for it."""
    fields = legacy(Mcp_Session_Id="{session}", **headers)
    return Probe(body, fields, method, before=(Probe(initialize(version)),) + tuple(then))


def bare(method, **headers):
    return Probe(None, legacy(Content_Type=None, **headers), method)


PING = message("ping")
LIST = message("tools/list")
BATCH = [message("ping", id=1), message("ping", id=2)]
PRINTS = {"code": "print(1)"}
END = Probe(None, legacy(Content_Type=None, Mcp_Session_Id="{session}"), "DELETE")

PROBES = {
    # Methods and paths.
    "GET": bare("GET", Accept="text/event-stream"),
    "GET-noaccept": bare("GET", Accept="application/json"),
    "DELETE": bare("DELETE"),
    "DELETE-unknown-session": bare("DELETE", Mcp_Session_Id="nope"),
    "PUT": bare("PUT"),
    "OPTIONS": bare("OPTIONS"),
    "preflight": bare("OPTIONS", Origin="http://localhost:3000", Access_Control_Request_Method="POST",
                      Access_Control_Request_Headers="content-type, mcp-method"),
    "slash-at-end": Probe(LIST, path="/mcp/"),
    "oauth-metadata": Probe(None, {"Accept": "application/json"}, "GET", "/.well-known/oauth-protected-resource/mcp"),
    "oauth-register": Probe({}, path="/register"),
    # Bodies, and what is said of them.
    "badjson": Probe(b"{bad"),
    "badjson-modernhdr": Probe(b"{bad", legacy(MCP_Protocol_Version=MODERN)),
    "emptybody": Probe(b""),
    "ctype": Probe(PING, legacy(Content_Type="text/plain")),
    "ctype-charset": Probe(LIST, legacy(Content_Type="Application/JSON; charset=utf-8")),
    "ctype-none": Probe(PING, legacy(Content_Type=None)),
    "chunked": Probe(json.dumps(LIST).encode(), legacy(Transfer_Encoding="chunked")),
    "big5MB": Probe(b"a" * 5000000),
    "too-long": Probe(b"", legacy(Content_Length=str(TOO_LONG))),
    # The handshake.
    "noaccept-legacy": Probe(initialize(), legacy(Accept="application/json")),
    "accept-star-legacy": Probe(initialize(), legacy(Accept="*/*")),
    "accept-none-legacy": Probe(initialize(), legacy(Accept=None)),
    "accept-events": Probe(LIST, legacy(Accept="text/event-stream")),
    "accept-html": Probe(initialize(), legacy(Accept="text/html")),
    "init-1900": Probe(initialize("1900-01-01")),
    "init-2026": Probe(initialize(MODERN)),
    "init-modernheader": Probe(initialize(), modern("initialize")),
    "init-noclientinfo": Probe(message("initialize", {"protocolVersion": LATEST}, 1)),
    "init-noversion": Probe(message("initialize", {"capabilities": {}, "clientInfo": {"name": "c", "version": "1"}}, 1)),
    # Legacy requests without a session.
    "noinit-toolslist": Probe(LIST),
    "noinit-ping": Probe(PING),
    "badsession": Probe(LIST, legacy(Mcp_Session_Id="nope")),
    "legacy-badversionheader": Probe(LIST, legacy(MCP_Protocol_Version="1999-01-01")),
    "legacy-unknownmethod": Probe(message("foo/bar")),
    "legacy-unknowntool": Probe(message("tools/call", {"name": "zz"})),
    "legacy-notif": Probe({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    "legacy-response": Probe({"jsonrpc": "2.0", "id": 7, "result": {}}),
    "batch-legacy": Probe(BATCH),
    "batch-empty": Probe([]),
    "batch-notifications": Probe([{"jsonrpc": "2.0", "method": "notifications/initialized"}]),
    "id-null": Probe(message("ping", id=None)),
    "id-float": Probe(message("ping", id=1.5)),
    "id-bool": Probe(message("ping", id=True)),
    "id-large": Probe(message("tools/list", id=9007199254740993)),
    "nojsonrpc": Probe({"id": 7, "method": "ping"}),
    "paramsarray": Probe({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": [1]}),
    # In a session.
    "session-toolslist": in_session(LIST),
    "session-ping": in_session(PING),
    "session-other-version": in_session(PING, MCP_Protocol_Version="2025-06-18"),
    "session-initialize": in_session(initialize()),
    "session-batch-2025-03-26": in_session(BATCH, "2025-03-26"),
    "session-batch-2025-11-25": in_session(BATCH),
    "session-delete": in_session(None, method="DELETE", Content_Type=None),
    "session-deleted": in_session(LIST, then=(END,)),
    # The modern era.
    "m-toolslist": listed(),
    "m-noaccept": listed(Accept="application/json"),
    "m-nomethodheader": listed(Mcp_Method=None),
    "m-noversionheader": listed(MCP_Protocol_Version=None),
    "m-methodcase": listed(Mcp_Method="TOOLS/LIST"),
    "m-headeronly-nometa": Probe(message("tools/list", {}, "s1"), modern("tools/list")),
    "m-nocaps": Probe(tools(meta={VERSION_KEY: MODERN}), modern("tools/list")),
    "m-clientinfo": claimed(MODERN, MODERN, **{"io.modelcontextprotocol/clientInfo": {"name": 5}}),
    "m-loglevel": claimed(MODERN, MODERN, **{"io.modelcontextprotocol/logLevel": "loud"}),
    "m-mismatch": claimed(MODERN, LATEST),
    "m-2025claim": claimed(LATEST, LATEST),
    "m-2099": claimed("2099-01-01", "2099-01-01"),
    "m-versionnotstring": claimed(5, MODERN),
    "m-discover": Probe(message("server/discover", {"_meta": claim()}, "s1"), modern("server/discover")),
    "m-unknownmethod": Probe(message("foo/bar", {"_meta": claim()}, "s1"), modern("foo/bar")),
    "m-ping": Probe(message("ping", {"_meta": claim()}, "s1"), modern("ping")),
    "m-initialize-meta": Probe(message("initialize", {"_meta": claim()}, "s1"), modern("initialize")),
    "m-unknowntool": called(call("zz"), "zz"),
    "m-toolsnoname": called(call(None), None),
    "m-nonameheader": called(call(arguments=PRINTS), None),
    "m-othername": called(call(arguments=PRINTS), "Exec"),
    "m-badargs": called(call(arguments={})),
    "m-argsarray": called(call(arguments=[1])),
    "m-call": called(call(arguments={"code": "import time\ntime.sleep(0.5)"})),
    "m-call-noaccept": called(call(arguments=PRINTS), Accept="application/json"),
    "m-base64name": called(call(arguments=PRINTS), "=?base64?ZXhlYw==?=", Accept="application/json"),
    "m-badbase64name": called(call(arguments=PRINTS), "=?base64?ZXhlYw?="),
    "m-cancelled-notif": Probe({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}},
                               legacy(MCP_Protocol_Version=MODERN)),
    "m-batch": Probe([tools()], legacy(MCP_Protocol_Version=MODERN)),
    "m-idnull": Probe(tools(None), modern("tools/list")),
    "m-listen": Probe(message("subscriptions/listen", {"notifications": {"toolsListChanged": True}, "_meta": claim()}),
                      modern("subscriptions/listen")),
    "m-cursor": Probe(tools(cursor="zzz"), modern("tools/list")),
    "m-progress": called(call(arguments={"code": "import time\ntime.sleep(2.5)"}, meta=claim(progressToken="pt"))),
    "m-sessionheader-ignored": listed(Mcp_Session_Id="nope"),
    # Whom a browser or a name that was bent to us brings.
    "badorigin": Probe(PING, legacy(Origin="https://evil.example.com")),
    "nullorigin": Probe(PING, legacy(Origin="null")),
    "localorigin": Probe(LIST, legacy(Origin="http://localhost:5173")),
    "badhost": Probe(PING, legacy(Host="evil.example.com")),
}


def send(address, url_path, probe, session):
    """Sends one request. Returns the response, its body read."""
    connection = http.client.HTTPConnection(address, timeout=WAIT_S * PATIENCE)
    try:
        headers = {name: value.replace("{session}", session or "") for name, value in probe.headers.items()}
        connection.putrequest(probe.method, probe.path or url_path, skip_host="Host" in headers,
                              skip_accept_encoding=True)
        chunked = "Transfer-Encoding" in headers
        if probe.body is not None and not chunked:
            headers.setdefault("Content-Length", str(len(probe.body)))
        for name, value in headers.items():
            connection.putheader(name, value)
        try:
            connection.endheaders(probe.body, encode_chunked=chunked)
        except BrokenPipeError:
            pass  # refused before the end of it; the answer is there
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def kind(answer):
    """A message of the server in one word."""
    if isinstance(answer, list):
        return "[%s]" % " ".join(kind(one) for one in answer)
    if "jsonrpc" not in answer:
        return str(answer.get("error", "json"))
    if "method" in answer:
        return answer["method"].rpartition("/")[2]
    if "error" in answer:
        return str(answer["error"]["code"])
    return "tool-error" if answer["result"].get("isError") else "result"


def messages(content_type, body):
    """The messages in a body, by what it says it is."""
    if content_type == "json":
        return [json.loads(body.decode("utf-8"))]
    if content_type == "sse":
        return [json.loads(line[5:]) for line in body.decode("utf-8").splitlines() if line.startswith("data:")
                and line[5:].strip()]
    return []


def ids_of(body):
    """The ids that an answer to this body may have; null where there is no message to be read."""
    try:
        found = json.loads(body)
    except (TypeError, ValueError):
        return [None]
    return [one.get("id") for one in found] or [None] if isinstance(found, list) else [found.get("id")]


def summary(probe, response, body):
    """An answer in a few words: status, messages, type; then an id that no request had, Allow, a session."""
    full_type = (response.getheader("Content-Type") or "-").partition(";")[0].strip().lower()
    content_type = {"application/json": "json", "text/event-stream": "sse"}.get(full_type, full_type)
    found = messages(content_type, body) if body else []
    # How often progress is told depends on the machine.
    kinds = [word for i, word in enumerate(map(kind, found)) if i == 0 or word != "progress" or kind(found[i - 1]) != word]
    words = [str(response.status)] + (kinds or ["-"]) + [content_type]
    sent = [json.dumps(one) for one in ids_of(probe.body)]
    for one in [one for part in found for one in (part if isinstance(part, list) else [part])]:
        if "jsonrpc" in one and "method" not in one and json.dumps(one.get("id")) not in sent:
            words.append("id=" + json.dumps(one.get("id")))
    if response.getheader("Allow"):
        words.append("allow=" + response.getheader("Allow").replace(" ", ""))
    if response.getheader("Mcp-Session-Id"):
        words.append("session")
    return " ".join(words)


def ask(address, path, probe):
    """What this server answers to a probe."""
    session = None
    for first in probe.before:
        session = send(address, path, first, session)[0].getheader("Mcp-Session-Id") or session
    return summary(probe, *send(address, path, probe, session))


def read_table():
    """[(name, ours, v1, why not that, v2, why not that)], reasons in full."""
    reasons, table = {}, []
    for number, line in rows("probes.txt"):
        if line.startswith("["):
            name, _, text = line[1:].partition("]")
            reasons[name] = text.strip()
            continue
        cells = [cell.strip() for cell in line.split("|")]
        equal(len(cells), 6, "probes.txt:%d cells:" % number)
        table.append(tuple(cells))
    return reasons, table


_ADDRESS = []


def test_table_names_every_probe():
    equal([row[0] for row in read_table()[1]], list(PROBES), "probes.txt and probe.py have the same probes in one order")


def test_each_difference_has_a_reason():
    reasons, table = read_table()
    used = set()
    for name, ours, *others in table:
        for theirs, why in zip(others[::2], others[1::2]):
            check(bool(why) == (ours != theirs), "%s: a reason is missing, or is none:" % name, ours, theirs, why)
            check(set(why.split()) <= set(reasons), "%s: no such reason:" % name, why)
            used.update(why.split())
    equal(sorted(set(reasons) - used), [], "reasons for nothing:")


@cases([row[:2] + (row[0],) for row in read_table()[1]])
def test_probe(ours, name):
    equal(ask(_ADDRESS[0], "/mcp", PROBES[name]), ours)


if sys.argv[1:2] == ["--ask"]:
    for probe_name in PROBES:
        urls = [urlsplit(url) for url in sys.argv[2:]]
        print(" | ".join([probe_name] + [ask(url.netloc, url.path, PROBES[probe_name]) for url in urls]), flush=True)
else:
    with listening() as where:
        _ADDRESS.append(where)
        main()
