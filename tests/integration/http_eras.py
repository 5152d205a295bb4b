#!/usr/bin/env python3
"""POST /mcp: which era a message belongs to, what is wrong with it first, and by which status and code it is told.

The rows of the ladder go by the order in which things are looked at: each has the fault that it is about, and one that
is looked at later. What clients send in general, beside the answers of other servers, is in tests/conformance."""
import base64
import json

from _http import (LATEST, METHOD, MISMATCH, MODERN, NO_SESSION, PARAMS, PARSE, REQUEST, TRANSPORT, UNSUPPORTED, call,
                   check, end_shared, equal, initialize, message, meta, outcome, shared)
from mcp import VERSION_KEY, cases, main

LIST = message("tools/list")
VERSION, WHAT, NAME = "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"
NOTHING = "nothing"


def tools(version=MODERN, **more):
    """tools/list with a claim."""
    return message("tools/list", {"_meta": meta(version, **more)}, 7)


def modern_call(params=None, id=7, **more):
    return message("tools/call", dict({"name": "exec", "arguments": {"code": "print(1)"}, "_meta": meta()},
                                      **(params or {})), id)


def fields(version=MODERN, method="tools/list", *more):
    return [(VERSION, version), (WHAT, method)] + list(more)


EXEC = (NAME, "exec")
# label, header fields beside Content-Type and Accept, the message, (status, code or None, id)
FORM = (
    ("no type", [("Content-Type", None)], LIST, (415, TRANSPORT, None)),
    ("another type", [("Content-Type", "text/plain")], LIST, (415, TRANSPORT, None)),
    ("a type that only begins so", [("Content-Type", "application/jsonx")], LIST, (415, TRANSPORT, None)),
    ("another type of what is no JSON", [("Content-Type", "text/plain")], b"{bad", (415, TRANSPORT, None)),
    ("type with parameters", [("Content-Type", "APPLICATION/json ; charset=utf-8")], LIST, (200, None, 1)),
    ("nothing that we have is accepted", [("Accept", "text/html, image/*")], LIST, (406, TRANSPORT, None)),
    ("no JSON", [], b"{bad", (400, PARSE, None)),
    ("no JSON, modern header", [(VERSION, MODERN)], b"{bad", (400, PARSE, None)),
    ("nothing", [], b"", (400, PARSE, None)),
    ("two messages", [], b"{}{}", (400, PARSE, None)),
    ("no UTF-8", [], b'{"jsonrpc":"2.0","id":1,"method":"\xff"}', (400, PARSE, None)),
    ("a NUL behind it", [], json.dumps(LIST).encode() + b"\0", (400, PARSE, None)),
    ("blanks around it", [], b" \r\n" + json.dumps(LIST).encode() + b"\n\n", (200, None, 1)),
    ("a number", [], b"1", (400, REQUEST, None)),
    ("an empty object", [], b"{}", (400, REQUEST, None)),
    ("no jsonrpc", [], b'{"id":3,"method":"ping"}', (400, REQUEST, 3)),
    ("params are a list", [], b'{"jsonrpc":"2.0","id":3,"method":"ping","params":[]}', (400, REQUEST, 3)),
    ("an id that is none", [], b'{"jsonrpc":"2.0","id":true,"method":"ping"}', (400, REQUEST, None)),
    ("a key twice", [], b'{"jsonrpc":"2.0","id":3,"id":3,"method":"ping"}', (400, REQUEST, 3)),
    ("an empty batch", [], b"[]", (400, REQUEST, None)),
    ("an empty batch, later revision", [(VERSION, LATEST)], b"[]", (400, REQUEST, None)),
    ("a batch, later revision", [(VERSION, LATEST)], [message("ping")], (400, REQUEST, None)),
    ("a batch, modern header", [(VERSION, MODERN)], [message("ping")], (400, REQUEST, None)),
    ("a batch with a claim in it", [(VERSION, "2025-03-26")], [message("ping"), tools()], (400, REQUEST, None)),
    ("a response", [], {"jsonrpc": "2.0", "id": 1, "result": {}}, (202, NOTHING, NOTHING)),
    ("a response, modern header", [(VERSION, MODERN)], {"jsonrpc": "2.0", "id": 1, "result": {}},
     (202, NOTHING, NOTHING)),
    ("a response, unknown session", [("Mcp-Session-Id", "x")], {"jsonrpc": "2.0", "id": 1, "result": {}},
     (404, NO_SESSION, None)),
    ("an error", [], {"jsonrpc": "2.0", "id": 1, "error": {"code": 1, "message": "x"}}, (202, NOTHING, NOTHING)),
)

WHICH = (
    ("initialize", [], initialize(), (200, None, 1)),
    ("initialize, its own version named", [(VERSION, LATEST)], initialize(), (200, None, 1)),
    ("initialize, a header of no revision", [(VERSION, "1999-01-01")], initialize(), (200, None, 1)),
    ("initialize without an id, modern header", [(VERSION, MODERN)], message("initialize", id=None),
     (202, NOTHING, NOTHING)),
    ("initialize, modern header", [(VERSION, MODERN)], initialize(), (400, MISMATCH, 1)),
    ("initialize, a header of the far future", [(VERSION, "2099-01-01")], initialize(), (400, MISMATCH, 1)),
    ("initialize with a claim to an old version", [], message("initialize", {
        "protocolVersion": LATEST, "capabilities": {}, "clientInfo": {"name": "x", "version": "1"},
        "_meta": meta(LATEST)}), (200, None, 1)),
    ("initialize with a claim", fields(method="initialize"), message("initialize", {
        "protocolVersion": LATEST, "_meta": meta()}), (404, METHOD, 1)),
    ("no claim, modern header", fields(), LIST, (400, PARAMS, 1)),
    ("no claim, a header of the far future", fields("2099-01-01"), LIST, (400, PARAMS, 1)),
    ("_meta without a claim, modern header", fields(), message("tools/list", {"_meta": {"progressToken": 1}}),
     (400, PARAMS, 1)),
    ("no claim, no header", [], LIST, (200, None, 1)),
    ("no claim, legacy header", [(VERSION, "2025-06-18")], LIST, (200, None, 1)),
    ("no claim, the first revision", [(VERSION, "2024-11-05")], LIST, (200, None, 1)),
    ("no claim, a header of no revision", [(VERSION, "2025-01-01")], LIST, (400, TRANSPORT, 1)),
    ("no claim, a header that is no date", [(VERSION, "1.0")], LIST, (400, TRANSPORT, 1)),
    ("no claim, unknown method", [], message("no/such"), (200, METHOD, 1)),
    ("no claim, discover", [], message("server/discover"), (200, METHOD, 1)),
    ("no claim, params that lack", [], message("tools/call", {}), (200, PARAMS, 1)),
    ("no claim, unknown session", [("Mcp-Session-Id", "0" * 32)], LIST, (404, NO_SESSION, 1)),
    ("no claim, unknown session and unknown method", [("Mcp-Session-Id", "0" * 32)], message("no/such"),
     (404, NO_SESSION, 1)),
    ("a claim, unknown session", fields() + [("Mcp-Session-Id", "0" * 32)], tools(), (200, None, 7)),
    ("a notification", [], message("notifications/x", id=None), (202, NOTHING, NOTHING)),
    ("a notification, modern header", [(VERSION, MODERN)], message("notifications/x", id=None),
     (202, NOTHING, NOTHING)),
    ("a notification with a claim", [], message("notifications/x", {"_meta": meta()}, None), (202, NOTHING, NOTHING)),
    ("a notification, unknown session", [("Mcp-Session-Id", "x")], message("notifications/x", id=None),
     (404, NO_SESSION, None)),
    ("a notification, a header of no revision", [(VERSION, "2025-01-01")], message("notifications/x", id=None),
     (400, TRANSPORT, None)),
    ("a call without an id", [], call("print(1)", id=None), (202, NOTHING, NOTHING)),
)

# Each row has the fault of its kind and, where there is one that comes later, that as well.
LADDER = (
    ("served", fields(), tools(), (200, None, 7)),
    ("served without a name of the client", fields(), tools(client=None), (200, None, 7)),
    ("a: version is a number", fields("5"), tools(version=5), (400, PARAMS, 7)),
    ("a: version is null", [], message("tools/list", {"_meta": dict(meta(), **{VERSION_KEY: None})}, 7),
     (400, PARAMS, 7)),
    ("a: no capabilities, another version, no headers", [], tools("2099-01-01", capabilities=None), (400, PARAMS, 7)),
    ("a: capabilities are a list, headers that differ", fields(LATEST), tools(capabilities=[]), (400, PARAMS, 7)),
    ("a: a client without a version", fields(), tools(client={"name": "x"}), (400, PARAMS, 7)),
    ("a: a client that is a string", fields(), tools(client="x"), (400, PARAMS, 7)),
    ("a: no log level", fields(), tools(level="loud"), (400, PARAMS, 7)),
    ("a before e: unknown method", fields(method="x"), message("x", {"_meta": meta(capabilities=None)}, 7),
     (400, PARAMS, 7)),
    ("b: another version in the header, unknown in the body", fields(), tools("2099-01-01"), (400, MISMATCH, 7)),
    ("b: another version in the body, unknown in the header", fields("2099-01-01"), tools(), (400, MISMATCH, 7)),
    ("b: a legacy version in the header", fields(LATEST), tools(), (400, MISMATCH, 7)),
    ("b: another method, unknown version", fields("2099-01-01", "ping"), tools("2099-01-01"), (400, MISMATCH, 7)),
    ("b: another case of the method", fields(method="TOOLS/LIST"), tools(), (400, MISMATCH, 7)),
    ("c: unknown version, nothing else in the headers", [(VERSION, "2099-01-01")], tools("2099-01-01"),
     (400, UNSUPPORTED, 7)),
    ("c: unknown version, no headers", [], tools("2099-01-01"), (400, UNSUPPORTED, 7)),
    ("c: a legacy version", fields(LATEST), tools(LATEST), (400, UNSUPPORTED, 7)),
    ("c: no version at all, unknown method", fields("v9", "x"), message("x", {"_meta": meta("v9")}, 7),
     (400, UNSUPPORTED, 7)),
    ("d: no version in the headers", [(WHAT, "tools/list")], tools(), (400, MISMATCH, 7)),
    ("d: no method in the headers", [(VERSION, MODERN)], tools(), (400, MISMATCH, 7)),
    ("d: no method in the headers, an unknown one in the body", [(VERSION, MODERN)], message("x", {"_meta": meta()}, 7),
     (400, MISMATCH, 7)),
    ("d: no name", fields(method="tools/call"), modern_call(), (400, MISMATCH, 7)),
    ("d: another name", fields(MODERN, "tools/call", (NAME, "Exec")), modern_call(), (400, MISMATCH, 7)),
    ("d: another name of an unknown tool", fields(MODERN, "tools/call", EXEC), modern_call({"name": "sh"}),
     (400, MISMATCH, 7)),
    ("d: a name in no base64", fields(MODERN, "tools/call", (NAME, "=?base64?####?=")), modern_call(),
     (400, MISMATCH, 7)),
    ("d: base64 in capitals", fields(MODERN, "tools/call", (NAME, "=?BASE64?ZXhlYw==?=")), modern_call(),
     (400, MISMATCH, 7)),
    ("d: a uri that is not repeated", fields(method="resources/read"),
     message("resources/read", {"uri": "x:y", "_meta": meta()}, 7), (400, MISMATCH, 7)),
    ("e: unknown method", fields(method="x"), message("x", {"_meta": meta()}, 7), (404, METHOD, 7)),
) + tuple(("e: " + method, fields(method=method), message(method, {"_meta": meta()}, 7), (404, METHOD, 7))
          for method in ("ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "tasks/list",
                         "subscriptions/listen", "completion/complete")) + (
    ("f: no name of a tool", fields(method="tools/call"), message("tools/call", {"_meta": meta()}, 7),
     (200, PARAMS, 7)),
    ("f: a number for a name", fields(MODERN, "tools/call", EXEC), modern_call({"name": 5}), (200, PARAMS, 7)),
    ("f: arguments are a list", fields(MODERN, "tools/call", EXEC), modern_call({"arguments": []}), (200, PARAMS, 7)),
    ("g: unknown tool", fields(MODERN, "tools/call", (NAME, "sh")), modern_call({"name": "sh"}), (200, PARAMS, 7)),
    ("g: a call", fields(MODERN, "tools/call", EXEC), modern_call(), (200, None, 7)),
    ("g: a name in base64", fields(MODERN, "tools/call", (NAME, "=?base64?ZXhlYw==?=")), modern_call(), (200, None, 7)),
    ("g: blanks around values", [(VERSION, " \t" + MODERN + " "), (WHAT, "  tools/call\t"), (NAME, "\texec ")],
     modern_call(), (200, None, 7)),
    ("g: names of fields in another case", [(VERSION.upper(), MODERN), (WHAT.lower(), "tools/call"),
                                            ("mCP-nAME", "exec")], modern_call(), (200, None, 7)),
    ("g: fields of parameters are not ours", fields(MODERN, "tools/list", ("Mcp-Param-Code", "x")), tools(),
     (200, None, 7)),
)


def ask(fields, body):
    body = body if isinstance(body, bytes) else json.dumps(body).encode()
    s = shared()
    s.session = s.version = None
    return s.post(body, fields, "none")


@cases(FORM)
def test_form(fields, body, wanted):
    equal(outcome(ask(fields, body)), wanted)


@cases(WHICH)
def test_which_era(fields, body, wanted):
    equal(outcome(ask(fields, body)), wanted)


@cases(LADDER)
def test_ladder(fields, body, wanted):
    equal(outcome(ask(fields, body)), wanted)


def test_what_an_unsupported_version_is_told():
    s = shared()
    error = s.response(ask(fields("2099-01-01"), tools("2099-01-01")))["error"]
    equal(error["data"], {"supported": [MODERN], "requested": "2099-01-01"})
    found = s.response(s.post(message("server/discover"), era="modern"))["result"]
    equal(found["supportedVersions"], error["data"]["supported"])


def test_names_in_base64():
    """Also of what a header cannot carry: the name is compared before the tool is looked for."""
    for name in ("\u00e9", "a b", " x", "\u65e5\u672c", "=?base64?x?=", "n\n"):
        field = "=?base64?%s?=" % base64.b64encode(name.encode()).decode()
        reply = ask(fields(MODERN, "tools/call", (NAME, field)), modern_call({"name": name}))
        equal(outcome(reply), (200, PARAMS, 7), ascii(name))


def test_ids_come_back_as_they_were():
    """Digit by digit, in results and in every kind of refusal."""
    s = shared()
    for raw in (b"9007199254740993", b"-1", b"0", b'"1"', b'"\\u00e9\\\\"', b'"' + b"i" * 1022 + b'"'):
        for body in (b'{"jsonrpc":"2.0","id":%s,"method":"ping"}', b'{"jsonrpc":"2.0","id":%s,"method":"x"}',
                     b'{"jsonrpc":"1","id":%s,"method":"ping"}'):
            reply = s.post(body % raw)
            check(b'"id":' + raw in reply.body(), "another id:", reply.body())


def test_results_of_the_eras():
    """Only modern results say that they are complete and who served them; only they have hints for caches."""
    s = shared()
    s.session = s.version = None
    for era in ("legacy", "modern"):
        for m in (LIST, call("print(1)"), message("resources/list")):
            result = s.response(s.post(m, era=era))["result"]
            equal("resultType" in result, era == "modern", m["method"])
            equal("io.modelcontextprotocol/serverInfo" in result.get("_meta", {}), era == "modern", m["method"])
            equal("ttlMs" in result, era == "modern" and m["method"] != "tools/call", m["method"])


def test_what_a_version_has():
    """Without a session the header says which revision the client reads, with one the handshake does."""
    s = shared()
    for version, has in (("2024-11-05", False), ("2025-03-26", False), ("2025-06-18", True), (LATEST, True)):
        s.session, s.version = None, None
        tool = s.response(s.post(LIST, [(VERSION, version)]))["result"]["tools"][0]
        equal("outputSchema" in tool, has, "by header, " + version)
        s.initialize(version)
        tool = s.response(s.post(LIST, [(VERSION, None)]))["result"]["tools"][0]
        equal("outputSchema" in tool, has, "by session, " + version)
        s.session = s.version = None


def test_modern_requests_with_one_id_are_independent():
    """There is nothing that could tell their senders apart, and nothing that must."""
    s = shared()
    asked = [s.begin(call("import time; time.sleep(%s); print(%d)" % (0.3 * (i == 0), i)), era="modern")
             for i in range(3)]
    found = [s.response(connection.reply())["result"]["structuredContent"]["stdout"] for connection in asked]
    equal(found, ["0\n", "1\n", "2\n"])


def test_methods_and_paths():
    s = shared()
    for method in ("GET", "PUT", "PATCH", "HEAD", "TRACE"):
        reply = s.http(method)
        equal((reply.status, sorted(reply.get("Allow").replace(" ", "").split(","))), (405, ["DELETE", "POST"]), method)
    for headers in ([("Accept", "text/event-stream")], [("Mcp-Session-Id", "0" * 32)], [("Last-Event-ID", "1")]):
        equal(s.http("GET", headers=headers).status, 405, repr(headers))
    body = json.dumps(message("ping")).encode()
    typed = [("Content-Type", "application/json")]
    for path, status in (("/mcp", 200), ("/mcp/", 200), ("/mcp?x=1", 200), ("/mcp//", 404), ("//mcp", 404), ("/", 404),
                         ("/MCP", 404), ("/mcp%2f", 404), ("/mc%70", 404), ("/sse", 404), ("/messages", 404),
                         ("/register", 404), ("/mcp/../mcp", 404), ("http://127.0.0.1/mcp", 200)):
        headers = typed + [("Host", "127.0.0.1")] if path.startswith("http") else typed
        reply = s.http("POST", path, headers, body)
        equal(reply.status, status, path)
        if status == 404:
            equal(reply.json(), {"error": "not_found"}, path)
    for name in ("oauth-protected-resource/mcp", "oauth-authorization-server", "openid-configuration"):
        reply = s.http("GET", "/.well-known/" + name)
        equal((reply.status, reply.json()), (404, {"error": "not_found"}), name)


ACCEPT = (("both", "application/json, text/event-stream", "text/event-stream"),
          ("events alone", "text/event-stream", "text/event-stream"),
          ("events as a range", "text/*", "text/event-stream"), ("anything", "*/*", "application/json"),
          ("events, and anything", "text/event-stream, */*;q=0.1", "text/event-stream"),
          ("JSON alone", "application/json", "application/json"),
          ("JSON as a range", "application/*", "application/json"),
          ("nothing said", None, "application/json"))


@cases(ACCEPT)
def test_the_type_of_a_long_answer(accept, wanted):
    """Events are for who names them, or takes nothing else: a wildcard alone is a person with curl."""
    for era in ("legacy", "modern"):
        s = shared()
        s.session = s.version = None
        reply = s.post(call("import time; time.sleep(0.6); print(1)"), [("Accept", accept)], era)
        equal((reply.status, reply.type), (200, wanted), era)
        equal(s.response(reply)["result"]["structuredContent"]["stdout"], "1\n", era)
        if wanted == "text/event-stream":
            equal((reply.get("X-Accel-Buffering"), "no-cache" in (reply.get("Cache-Control") or "")), ("no", True), era)
        for cheap in (LIST, message("no/such")):
            equal(s.post(cheap, era=era).type, "application/json")


def test_it_has_served_all_that():
    """And ends well."""
    end_shared()


main()
