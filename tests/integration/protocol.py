#!/usr/bin/env python3
"""The Model Context Protocol over stdio, seen from the other end of the pipe: both eras, and every abuse of them.

What is expected here comes from the specification's revisions 2024-11-05 to 2026-07-28, and where that leaves a choice
from the contract in README. Tables first: one line in, one answer out. Then what takes time: calls, cancels, the end.
"""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import (BINARY, CAPABILITIES_KEY, INFO_KEY, LATEST, MODERN, PATIENCE, VERSION_KEY, Server, alive, case, cases, check,
                 claim, contains, descendants, environment, equal, main, named, named_program, parse, run, unique,
                 until, within)

PARSE, REQUEST, METHOD, PARAMS, VERSION = -32700, -32600, -32601, -32602, -32022
ANY = object()
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
# What this machine may add to a time that the contract bounds.
SLACK_S = 0.4

_shared = None


def shared():
    """One server for the tables, that never saw initialize; a new one when a test has failed and left it in doubt."""
    global _shared
    if _shared is not None:
        try:
            still_there(_shared)
            return _shared
        except (AssertionError, OSError):
            _shared.kill()
    _shared = Server()
    return _shared


def request(method, params=None, id=1, **more):
    message = dict({"jsonrpc": "2.0", "id": id, "method": method}, **more)
    if params is not None:
        message["params"] = params
    return json.dumps(message)


def call(arguments, id=1, name="exec"):
    return request("tools/call", {"name": name, "arguments": arguments}, id)


def is_in(value, wanted):
    return wanted is ANY or value == wanted or isinstance(wanted, tuple) and value in wanted


def check_error(message, code, id):
    check("error" in message, "no error:", message)
    check(is_in(message["error"]["code"], code), "code is not %r:" % (code,), message)
    check(is_in(message.get("id", "absent"), id), "id is not %r:" % (id,), message)
    equal(message["jsonrpc"], "2.0")
    check(isinstance(message["error"]["message"], str) and message["error"]["message"], "no sentence", message)


def still_there(s):
    """The server answers the next line, and nothing else was in the pipe."""
    equal(s.request("ping", id="still there"), {"jsonrpc": "2.0", "id": "still there", "result": {}})
    equal(s.inbox, [])


def tool_error(result, *words):
    """Checks a result with isError, and returns its text."""
    equal(result.get("isError"), True, str(result)[:300])
    # SDK v1 validates structuredContent even on an error, so there must be none.
    check("structuredContent" not in result, "structured content on an error:", result)
    text = result["content"][0]["text"]
    contains(text, *words)
    return text


def ran(result):
    """Checks a result without isError, and returns its structured content."""
    equal(result.get("isError"), False, str(result)[:300])
    return result["structuredContent"]


# One line in, one error out: (label, line, code, id).

def nested(depth):
    """A ping of that depth, its root object included."""
    return b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":%s1%s}}' % (b"[" * (depth - 2), b"]" * (depth - 2))


def ping_with(text):
    return b'{"jsonrpc":"2.0","id":1,"method":"ping","x":"' + text + b'"}'


# An answer to what is not even JSON has no id, whatever was seen of one (JSON-RPC 2.0, section 5).
NOT_A_MESSAGE = [
    ("garbage", b"{bad", PARSE, None),
    ("half a message", b'{"jsonrpc":"2.0","id":', PARSE, None),
    ("two messages on a line", b'{"jsonrpc":"2.0","id":1,"method":"ping"}{}', PARSE, None),
    ("a number with a leading zero", b'{"jsonrpc":"2.0","id":01,"method":"ping"}', PARSE, None),
    ("NaN", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":NaN}}', PARSE, None),
    ("a raw control character", ping_with(b"\x01"), PARSE, None),
    ("a raw NUL", ping_with(b"\0"), PARSE, None),
    ("a NUL behind the message", b'{"jsonrpc":"2.0","id":1,"method":"ping"}\0', PARSE, None),
    ("a bad escape", ping_with(b"\\x41"), PARSE, None),
    ("a comment", b'{"jsonrpc":"2.0","id":1,"method":"ping"/**/}', PARSE, None),
    ("a trailing comma", b'{"jsonrpc":"2.0","id":1,"method":"ping",}', PARSE, None),
    ("invalid UTF-8 ff fe", ping_with(b"\xff\xfe"), PARSE, None),
    ("invalid UTF-8 before the id", b'{"jsonrpc":"2.0","x":"\xff","id":1,"method":"ping"}', PARSE, None),
    ("an overlong NUL", ping_with(b"\xc0\x80"), PARSE, None),
    ("a surrogate in UTF-8", ping_with(b"\xed\xa0\x80"), PARSE, None),
    ("a cut character", ping_with(b"\xe2\x82"), PARSE, None),
    ("beyond U+10FFFF", ping_with(b"\xf4\x90\x80\x80"), PARSE, None),
    ("UTF-16", '{"jsonrpc":"2.0","id":1,"method":"ping"}'.encode("utf-16-le"), PARSE, None),
    ("depth 65", nested(65), PARSE, None),
    ("depth 100000 without an end", b"[" * 100000, PARSE, None),
    ("a number", b"1", REQUEST, None),
    ("a string", b'"ping"', REQUEST, None),
    ("null", b"null", REQUEST, None),
    ("an empty array", b"[]", REQUEST, None),
    ("an empty object", b"{}", REQUEST, None),
    ("a key twice", b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}', REQUEST, 1),
    ("a key twice, once escaped", b'{"jsonrpc":"2.0","id":1,"method":"ping","\\u006dethod":"ping"}', REQUEST, 1),
    ("a key twice, deep inside", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[{"b":1,"b":1}]}}', REQUEST, 1),
    ("code twice", b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":'
                   b'{"code":"print(1)","code":"print(2)"}}}', REQUEST, 1),
    ("id twice", b'{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}', REQUEST, (1, 2, None)),
    ("no jsonrpc", b'{"id":9,"method":"ping"}', REQUEST, 9),
    ("jsonrpc 1.0", b'{"jsonrpc":"1.0","id":9,"method":"ping"}', REQUEST, 9),
    ("jsonrpc a number", b'{"jsonrpc":2.0,"id":9,"method":"ping"}', REQUEST, 9),
    ("no method", b'{"jsonrpc":"2.0","id":9}', REQUEST, 9),
    ("method a number", b'{"jsonrpc":"2.0","id":9,"method":1}', REQUEST, 9),
    ("Method in another case", b'{"jsonrpc":"2.0","id":9,"Method":"ping"}', REQUEST, 9),
    ("params an array", b'{"jsonrpc":"2.0","id":9,"method":"ping","params":[]}', REQUEST, 9),
    ("params a string", b'{"jsonrpc":"2.0","id":9,"method":"ping","params":"x"}', REQUEST, 9),
    ("id null", b'{"jsonrpc":"2.0","id":null,"method":"ping"}', REQUEST, None),
    ("id true", b'{"jsonrpc":"2.0","id":true,"method":"ping"}', REQUEST, None),
    ("id an object", b'{"jsonrpc":"2.0","id":{},"method":"ping"}', REQUEST, None),
    ("id an array", b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', REQUEST, None),
    ("id a fraction", b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', REQUEST, 1.5),
    ("id with an exponent", b'{"jsonrpc":"2.0","id":1e3,"method":"ping"}', REQUEST, 1000.0),
    ("id of 1025 bytes", b'{"jsonrpc":"2.0","id":"%s","method":"ping"}' % (b"i" * 1023), REQUEST, ANY),
    ("id of a million bytes", b'{"jsonrpc":"2.0","id":"%s","method":"ping"}' % (b"i" * 1000000), REQUEST, ANY),
    ("a lone surrogate in a method", b'{"jsonrpc":"2.0","id":9,"method":"ping\\ud800"}', (REQUEST, PARSE, METHOD), 9),
    ("a NUL in an id", b'{"jsonrpc":"2.0","id":"a\\u0000b","method":"ping"}', REQUEST, "a\0b"),
    ("a NUL in a method", b'{"jsonrpc":"2.0","id":9,"method":"ping\\u0000"}', (REQUEST, METHOD), 9),
]

REFUSED = [
    ("unknown method", request("no/such"), METHOD),
    ("method in another case", request("Ping"), METHOD),
    ("completion", request("completion/complete", {"ref": {}, "argument": {}}), METHOD),
    ("logging", request("logging/setLevel", {"level": "info"}), METHOD),
    ("subscribe", request("resources/subscribe", {"uri": "x:y"}), METHOD),
    ("tasks", request("tasks/list"), METHOD),
    ("sampling", request("sampling/createMessage", {}), METHOD),
    ("discover without a claim", request("server/discover"), METHOD),
    ("a prompt", request("prompts/get", {"name": "x"}), PARAMS),
    ("a resource", request("resources/read", {"uri": "x:y"}), PARAMS),
    ("call without params", request("tools/call"), PARAMS),
    ("call without a name", request("tools/call", {}), PARAMS),
    ("call with a name that is no string", request("tools/call", {"name": 1}), PARAMS),
    ("unknown tool", call({"code": "print(1)"}, name="no_such_tool"), PARAMS),
    ("tool in another case", call({"code": "print(1)"}, name="Exec"), PARAMS),
    ("tool with a NUL", call({"code": "print(1)"}, name="exec\0"), (PARAMS, REQUEST)),
    ("arguments a list", call([]), PARAMS),
    ("arguments a string", call("print(1)"), PARAMS),
    ("cursor nobody gave out", request("tools/list", {"cursor": "x"}), PARAMS),
    ("initialize without a version", request("initialize", {"capabilities": {}}), PARAMS),
    ("initialize with a version that is no string", request("initialize", {"protocolVersion": 5}), PARAMS),
    ("initialize without params", request("initialize"), PARAMS),
]


@cases(NOT_A_MESSAGE)
def test_wire(line, code, id):
    s = shared()
    s.send_raw(line + b"\n")
    check_error(s.recv(5), code, id)
    still_there(s)


@cases(REFUSED)
def test_legacy_refuses(line, code):
    s = shared()
    s.send(line)
    check_error(s.recv(5), code, 1)
    still_there(s)


@cases([(raw, raw) for raw in (
    "0", "-1", "7", "9007199254740993", "-9007199254740993", "123456789012345678901234567890", '"1"', '""', '"x y"',
    '"\\u00e9"', '"\\ud83d\\ude00"', '"\\"\\\\\\/"', '"' + "i" * 1022 + '"')])
def test_id_comes_back_as_it_was(raw):
    s = shared()
    s.send('{"jsonrpc":"2.0","id":%s,"method":"ping"}' % raw)
    line = s.recv_line(5)
    equal(parse(line), {"jsonrpc": "2.0", "id": json.loads(raw), "result": {}})
    contains(line.replace(b'"id": ', b'"id":'), b'"id":' + raw.encode())
    s.send('{"jsonrpc":"2.0","id":%s,"method":"no/such"}' % raw)
    contains(s.recv_line(5).replace(b'"id": ', b'"id":'), b'"id":' + raw.encode())


UNANSWERED = [
    ("blank lines", b"\n\n   \n\t\r\n"),
    ("unknown notification", b'{"jsonrpc":"2.0","method":"notifications/zzz"}\n'),
    ("ping without an id", b'{"jsonrpc":"2.0","method":"ping"}\n'),
    ("unknown method without an id", b'{"jsonrpc":"2.0","method":"no/such"}\n'),
    ("initialize without an id", b'{"jsonrpc":"2.0","method":"initialize","params":{}}\n'),
    ("ID in another case", b'{"jsonrpc":"2.0","ID":1,"method":"ping"}\n'),
    ("a result", b'{"jsonrpc":"2.0","id":1,"result":{}}\n'),
    ("an error", b'{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}\n'),
    ("a notification of the modern era", json.dumps(
        {"jsonrpc": "2.0", "method": "notifications/x", "params": {"_meta": claim()}}).encode() + b"\n"),
    ("a cancel without requestId", b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}\n'),
    ("a cancel without params", b'{"jsonrpc":"2.0","method":"notifications/cancelled"}\n'),
    ("a cancel of an object", b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}\n'),
    ("a cancel of an unknown id", b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":99}}\n'),
    ("roots changed", b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}\n'),
]


@cases(UNANSWERED)
def test_not_answered(data):
    s = shared()
    s.send_raw(data)
    still_there(s)


TOLERATED = [
    ("no params", b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'),
    ("empty params", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{}}\n'),
    ("unknown members", b'{"x":[{}],"jsonrpc":"2.0","id":1,"method":"ping","params":{"y":1,"_meta":{"z":2}}}\n'),
    ("CR LF", b'{"jsonrpc":"2.0","id":1,"method":"ping"}\r\n'),
    ("white space around", b' \t{ "jsonrpc" : "2.0" ,"id":1,\t"method":"ping" } \t\n'),
    ("escapes in keys and values", b'{"jsonrpc":"2.0","\\u0069d":1,"method":"p\\u0069ng"}\n'),
    ("depth 64", nested(64) + b"\n"),
    ("meta without a version", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":'
                               b'{"progressToken":1,"traceparent":"00-0-0-00"}}}\n'),
    ("meta that is no object", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"_meta":7}}\n'),
]


@cases(TOLERATED)
def test_tolerates(data):
    s = shared()
    s.send_raw(data)
    equal(s.recv(5), {"jsonrpc": "2.0", "id": 1, "result": {}})
    still_there(s)


def test_message_in_single_bytes_and_two_in_one_write():
    s = shared()
    for byte in request("ping", id="slow").encode() + b"\n":
        s.send_raw(bytes([byte]))
    equal(s.recv(5)["id"], "slow")
    s.send_raw(b"".join(request("ping", id=i).encode() + b"\n" for i in range(200)))
    equal([s.recv(5)["id"] for _ in range(200)], list(range(200)))


# The legacy era.

def init(version, **more):
    return request("initialize", dict({"protocolVersion": version}, **more))


@cases([(v, v, v) for v in LEGACY] + [
    ("unknown", "1999-01-01", LATEST), ("modern", MODERN, LATEST), ("future", "2099-01-01", LATEST), ("empty", "", LATEST)])
def test_initialize_negotiates(asked, offered):
    with Server() as s:
        result = s.initialize(asked)
        equal(result["protocolVersion"], offered)
        equal(result["capabilities"], {"tools": {}, "prompts": {}, "resources": {}})
        equal(result["serverInfo"]["name"], "mcp-exec")
        contains(run(["--version"])[1].decode(), result["serverInfo"]["version"])
        check("resultType" not in result, "a member of the modern era:", result)
        still_there(s)


@case("bare", {})
@case("as Claude Desktop", {
    "capabilities": {"roots": {"listChanged": True}, "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["a/b"]}}},
    "clientInfo": {"name": "claude-ai", "version": "0.1.0", "title": "x", "icons": [{"src": "data:,"}]}})
@case("with a claim to a version that nobody has", {"_meta": claim("2099-01-01")})
def test_initialize_tolerates(more):
    with Server() as s:
        s.send(init(LATEST, **more))
        equal(s.recv()["result"]["protocolVersion"], LATEST)


def test_initialize_again_is_answered_again():
    with Server() as s:
        equal(s.initialize("2025-06-18")["protocolVersion"], "2025-06-18")
        equal(s.initialize("2025-03-26")["protocolVersion"], "2025-03-26")


def test_everything_works_before_initialize():
    with Server() as s:
        equal(s.request("ping")["result"], {})
        equal([t["name"] for t in s.request("tools/list")["result"]["tools"]], ["exec"])
        equal(ran(s.exec("print(1)"))["stdout"], "1\n")


@cases([("resources/list", "resources/list", "resources"), ("prompts/list", "prompts/list", "prompts"),
        ("resources/templates/list", "resources/templates/list", "resourceTemplates")])
def test_lists_are_empty(method, member):
    s = shared()
    equal(s.request(method)["result"], {member: []})
    result = s.request(method, {"_meta": claim()})["result"]
    equal(result[member], [])
    check_modern_result(result, cached=True)


def the_tool(s, **params):
    result = s.request("tools/list", params)["result"]
    check("nextCursor" not in result, "a next page of one tool")
    tools = result["tools"]
    equal([t["name"] for t in tools], ["exec"])
    return tools[0]


def test_tool_description():
    s = shared()
    tool = the_tool(s, cursor="")
    equal(tool, the_tool(s), "the list differs from call to call")
    schema, output = tool["inputSchema"], tool["outputSchema"]
    for part in (schema, output):
        equal(part["type"], "object")
        for word in ("$schema", "$ref", "oneOf", "anyOf", "additionalProperties"):
            check('"%s"' % word not in json.dumps(part), word + " is in a schema")
    equal(schema["required"], ["code"])
    equal({k: v["type"] for k, v in schema["properties"].items()},
          {"code": "string", "timeout_s": "integer", "stdin": "string"})
    equal((schema["properties"]["timeout_s"]["minimum"], schema["properties"]["timeout_s"]["maximum"]), (1, 300))
    fields = {"stdout": "string", "stderr": "string", "exit_code": "integer", "duration_ms": "integer",
              "truncated": "boolean", "timed_out": "boolean", "limit": ["string", "null"],
              "signal": ["string", "null"], "warnings": "array"}
    equal({k: v["type"] for k, v in output["properties"].items()}, fields)
    equal(sorted(output["required"]), sorted(fields))
    equal(output["properties"]["warnings"]["items"], {"type": "string"})
    equal(set(output["properties"]["limit"]["enum"]),
          {"wall_time", "cpu_time", "memory", "processes", "disk", "output", None})
    hints = {k: v for k, v in tool["annotations"].items() if k.endswith("Hint")}
    equal(hints, {"readOnlyHint": False, "destructiveHint": True, "idempotentHint": False, "openWorldHint": True})
    check(tool["title"] and tool["description"], "no words for a person or a model")


def test_schema_has_the_configured_ceiling():
    with Server(env={"MCP_EXEC_MAX_TIMEOUT_S": "10"}) as s:
        equal(the_tool(s)["inputSchema"]["properties"]["timeout_s"]["maximum"], 10)


@cases([(v, v, v >= "2025-06-18") for v in LEGACY])
def test_structured_output_by_version(version, structured):
    with Server() as s:
        s.initialize(version)
        equal("outputSchema" in the_tool(s), structured)
        result = s.exec("print(1)")
        equal("structuredContent" in result, structured)
        equal(json.loads(result["content"][0]["text"])["stdout"], "1\n")


# Batches.

PING_1 = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
NOTE = {"jsonrpc": "2.0", "method": "notifications/x"}


@cases([(str(v), v) for v in LEGACY[:2] + [None]])
def test_batch_refused(version):
    with Server() as s:
        if version:
            s.initialize(version)
        s.send([PING_1, NOTE])
        check_error(s.recv(), REQUEST, None)
        still_there(s)


BATCHES = [
    ("answers without the notification", [PING_1, NOTE, {"jsonrpc": "2.0", "id": "b", "method": "no/such"}],
     {1: None, "b": METHOD}),
    ("an element that is no message", [7, PING_1], {None: REQUEST, 1: None}),
    ("an array within", [[PING_1], PING_1], {None: REQUEST, 1: None}),
    ("initialize within", [dict(PING_1, id=2, method="initialize", params={"protocolVersion": LATEST}), PING_1],
     {2: REQUEST, 1: None}),
    ("one call", [PING_1, json.loads(call({"code": "print(1)"}, 2))], {1: None, 2: None}),
    ("a hundred", [dict(PING_1, id=i) for i in range(100)], {i: None for i in range(100)}),
]


def batch_server(version="2025-03-26"):
    s = Server()
    s.initialize(version)
    return s


@cases(BATCHES)
def test_batch(messages, wanted):
    with batch_server() as s:
        s.send(messages)
        answers = s.recv()
        check(isinstance(answers, list), "no array:", answers)
        equal({a["id"]: a.get("error", {}).get("code") for a in answers}, wanted)
        equal(len(answers), len(wanted))
        still_there(s)


@case("empty", [])
@case("a hundred and one", [dict(PING_1, id=i) for i in range(101)])
@case("with a claim to the modern era", [PING_1, {"jsonrpc": "2.0", "id": 2, "method": "tools/list",
                                                  "params": {"_meta": claim()}}])
def test_batch_refused_whole(messages):
    with batch_server() as s:
        s.send(messages)
        check_error(s.recv(), REQUEST, None)
        still_there(s)


def test_batch_of_2024_11_05_and_of_notifications():
    with batch_server("2024-11-05") as s:
        s.send([NOTE, NOTE])
        s.send([PING_1])
        equal(s.recv(), [{"jsonrpc": "2.0", "id": 1, "result": {}}])


def test_batch_with_runs():
    """The array waits for its runs; one id twice is refused; what is cancelled is left out; others are served."""
    with batch_server() as s:
        s.send([json.loads(call({"code": "import time; time.sleep(0.5); print(5)"}, 5)),
                json.loads(call({"code": "print(0)"}, 5)), json.loads(call({"code": "print(6)"}, 6))])
        s.cancel(6)
        still_there(s)
        answers = s.recv()
        equal([a["id"] for a in answers], [5, 5], str(answers)[:300])
        equal(sorted("error" in a for a in answers), [False, True])
        s.silence(0.2)


# The modern era.

def check_modern_result(result, cached):
    equal(result["resultType"], "complete")
    info = result["_meta"]["io.modelcontextprotocol/serverInfo"]
    equal(info["name"], "mcp-exec")
    check(isinstance(info["version"], str), "no version")
    if cached:
        check(type(result["ttlMs"]) is int and result["ttlMs"] >= 0, "ttlMs", result)
        check(result["cacheScope"] in ("public", "private"), "cacheScope", result)
    else:
        check("ttlMs" not in result and "cacheScope" not in result, "caching hints on a call", result)


def test_modern_requests():
    s = shared()
    found = s.request("server/discover", {"_meta": claim()})["result"]
    check_modern_result(found, cached=True)
    equal(found["supportedVersions"], [MODERN])
    equal(found["capabilities"], {"tools": {}, "prompts": {}, "resources": {}})
    check("serverInfo" not in found, "serverInfo belongs into _meta")
    tools = s.request("tools/list", {"_meta": claim()})["result"]
    check_modern_result(tools, cached=True)
    equal(tools["tools"][0], the_tool(s))
    done = s.exec("print(1)", meta=claim())
    check_modern_result(done, cached=False)
    equal(ran(done)["stdout"], "1\n")
    failed = s.exec("", meta=claim())
    check_modern_result(failed, cached=False)
    tool_error(failed, "code")


def without(key):
    return {k: v for k, v in claim().items() if k != key}


MODERN_REFUSED = [
    ("ping", "ping", claim(), METHOD, ""),
    ("initialize", "initialize", claim(), METHOD, ""),
    ("logging/setLevel", "logging/setLevel", claim(), METHOD, ""),
    ("resources/subscribe", "resources/subscribe", claim(), METHOD, ""),
    ("tasks/get", "tasks/get", claim(), METHOD, ""),
    ("unknown", "no/such", claim(), METHOD, ""),
    ("version a number", "tools/list", claim(5), PARAMS, VERSION_KEY),
    ("version null", "tools/list", claim(None), PARAMS, VERSION_KEY),
    ("no capabilities", "tools/list", without(CAPABILITIES_KEY), PARAMS, CAPABILITIES_KEY),
    ("capabilities a list", "tools/list", claim(**{CAPABILITIES_KEY: []}), PARAMS, CAPABILITIES_KEY),
    ("client without a version", "tools/list", claim(**{INFO_KEY: {"name": "x"}}), PARAMS, INFO_KEY),
    ("client without a name", "tools/list", claim(**{INFO_KEY: {"version": "1"}}), PARAMS, INFO_KEY),
    ("client a string", "tools/list", claim(**{INFO_KEY: "x"}), PARAMS, INFO_KEY),
    ("log level nobody knows", "tools/list", claim(**{"io.modelcontextprotocol/logLevel": "loud"}), PARAMS, "logLevel"),
    ("form before version", "tools/list", {VERSION_KEY: "2099-01-01"}, PARAMS, CAPABILITIES_KEY),
    ("version before method", "no/such", claim("2099-01-01"), VERSION, ""),
    ("a version to come", "server/discover", claim("2099-01-01"), VERSION, ""),
    ("a legacy version", "tools/list", claim(LATEST), VERSION, ""),
    ("a version that is none", "tools/call", claim("v999.0.0"), VERSION, ""),
    ("an empty version", "tools/list", claim(""), VERSION, ""),
    ("unknown tool", "tools/call", claim(), PARAMS, ""),
]


@cases(MODERN_REFUSED)
def test_modern_refuses(method, meta, code, word):
    s = shared()
    s.send(request(method, {"_meta": meta, "name": "no_such_tool", "protocolVersion": LATEST}, id="m"))
    answer = s.recv(5)
    check_error(answer, code, "m")
    contains(answer["error"]["message"], word)
    if code == VERSION:
        equal(answer["error"]["data"], {"supported": [MODERN], "requested": meta[VERSION_KEY]})
    still_there(s)


@case("client named", claim(**{INFO_KEY: {"name": "x", "version": "1", "title": "t"}}))
@case("log level", claim(**{"io.modelcontextprotocol/logLevel": "debug"}))
@case("tracing", claim(traceparent="00-0-0-00", baggage="a=b", progressToken="p"))
@case("unknown keys", claim(**{"com.example/x": [1]}))
def test_modern_tolerates(meta):
    equal(len(shared().request("tools/list", {"_meta": meta})["result"]["tools"]), 1)


def test_eras_mix_in_any_order():
    with Server() as s:
        equal(s.request("server/discover", {"_meta": claim()})["result"]["supportedVersions"], [MODERN])
        equal(s.initialize("2024-11-05")["protocolVersion"], "2024-11-05")
        check("outputSchema" in s.request("tools/list", {"_meta": claim()})["result"]["tools"][0], "not served as modern")
        check("outputSchema" not in the_tool(s), "not served as the negotiated version")
        check("structuredContent" in s.exec("print(1)", meta=claim()), "not served as modern")
        equal(s.request("server/discover")["error"]["code"], METHOD)
        equal(s.request("ping")["result"], {})


# Arguments of the tool.

@cases([(name, raw) for name, raw in (
    ("missing", "{}"), ("null", '{"code":null}'), ("number", '{"code":123}'), ("list", '{"code":["print(1)"]}'),
    ("object", '{"code":{}}'), ("empty", '{"code":""}'), ("white space", '{"code":"\\n\\t  "}'), ("BOM", '{"code":"\\ufeff"}'),
    ("no-break space", '{"code":"\\u00a0"}'), ("ideographic space", '{"code":"\\u3000 \\u2003\\u2028"}'),
    ("another case", '{"Code":"print(1)"}'), ("lone surrogate", '{"code":"print(1)#\\ud800"}'),
    ("lone low surrogate", '{"code":"print(1)#\\udc00 "}'),
    ("surrogates the wrong way round", '{"code":"print(1)#\\udc00\\ud800"}'))])
def test_code_refused(raw):
    s = shared()
    s.send('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":%s}}' % raw)
    tool_error(s.recv(5)["result"], "code")


def test_code_error_shows_a_right_call():
    s = shared()
    contains(tool_error(s.exec(None, wait=5)), '"code"', "print(")
    s.send(request("tools/call", {"name": "exec"}))
    tool_error(s.recv(5)["result"], "code")


@case("number", "5")
@case("list", '["a"]')
@case("true", "true")
@case("lone surrogate", '"\\ud800"')
def test_stdin_refused(raw):
    s = shared()
    s.send('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":{"code":"1","stdin":%s}}}' % raw)
    tool_error(s.recv(5)["result"], "stdin")


@case("null", None)
@case("empty", "")
def test_stdin_absent(value):
    equal(ran(shared().exec("import sys; print(repr(sys.stdin.read()))", stdin=value))["stdout"], "''\n")


# (label, JSON text of timeout_s, what comes of it, whether a warning says so)
TIMEOUTS = [
    ("0", "0", "ran", False), ("null", "null", "ran", False), ("2", "2", "ran", False), ("2.0", "2.0", "ran", False),
    ("'10'", '"10"', "ran", False), ("-5", "-5", "ran", True), ("900", "900", "ran", True), ("1e3", "1e3", "ran", True),
    ("20 digits", "99999999999999999999", "ran", True), ("-20 digits", "-99999999999999999999", "ran", True),
    ("1.5", "1.5", "error", False), ("'1.5'", '"1.5"', "error", False), ("'soon'", '"soon"', "error", False),
    ("true", "true", "error", False), ("false", "false", "error", False), ("list", "[]", "error", False),
    ("object", "{}", "error", False), ("1e400", "1e400", "error", False), ("-1e400", "-1e400", "error", False),
    ("'10s'", '"10s"', "error", False), ("'1e400'", '"1e400"', "error", False), ("'nan'", '"nan"', "error", False),
]


@cases(TIMEOUTS)
def test_timeout_value(raw, outcome, warned):
    s = shared()
    s.send('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":'
           '{"code":"print(1)","timeout_s":%s}}}' % raw)
    result = s.recv(10)["result"]
    if outcome == "error":
        tool_error(result, "timeout_s")
        return
    content = ran(result)
    equal((content["stdout"], content["timed_out"]), ("1\n", False))
    equal(any("timeout_s" in w for w in content["warnings"]), warned, str(content["warnings"]))


def test_timeout_nan_is_no_json():
    s = shared()
    s.send('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":{"code":"1","timeout_s":NaN}}}')
    check_error(s.recv(5), PARSE, None)


@case("asked", {}, {"timeout_s": 1})
@case("asked as a string", {}, {"timeout_s": "1"})
@case("below one", {}, {"timeout_s": -5})
@case("the default", {"MCP_EXEC_DEFAULT_TIMEOUT_S": "1"}, {})
@case("the default by null", {"MCP_EXEC_DEFAULT_TIMEOUT_S": "1"}, {"timeout_s": None})
@case("the ceiling", {"MCP_EXEC_MAX_TIMEOUT_S": "1"}, {"timeout_s": 900})
@case("the default lowered to the ceiling", {"MCP_EXEC_MAX_TIMEOUT_S": "1"}, {})
def test_timeout_ends_the_run(env, arguments):
    with Server(env=env) as s:
        name = unique()
        result = ran(s.exec(named_program(name, "import time; print('before'); time.sleep(60)"), **arguments))
        check(not named(name), "a process of the run is alive when its result is here")
        equal([result[k] for k in ("stdout", "exit_code", "timed_out", "limit", "truncated")],
              ["before\n", -1, True, "wall_time", False])
        within(result["duration_ms"] / 1000, 0.99, 1 + SLACK_S)


def test_unknown_arguments_are_named():
    s = shared()
    warnings = " ".join(ran(s.exec("print(1)", language="python", context={}, timeout=5))["warnings"])
    contains(warnings, "language", "context", "timeout_s")
    tool_error(s.exec(None, Code="print(1)"), "code")


def test_caps_on_code_and_stdin():
    s = shared()
    equal(ran(s.exec("#" * 4194304))["exit_code"], 0)
    tool_error(s.exec("#" * 4194305), "code", "4194304", "4194305")
    count = "import sys; print(len(sys.stdin.buffer.read()))"
    equal(ran(s.exec(count, stdin="a" * 1048576))["stdout"], "1048576\n")
    equal(ran(s.exec(count, stdin="\u00e9" * 524288))["stdout"], "1048576\n")
    tool_error(s.exec(count, stdin="a" * 1048577), "stdin", "1048576", "1048577")
    tool_error(s.exec(count, stdin="\u00e9" * 524289), "stdin", "1048576", "1048578")
    still_there(s)


def test_a_task_member_is_ignored():
    s = shared()
    s.send(request("tools/call", {"name": "exec", "arguments": {"code": "print(1)"}, "task": {"ttl": 1}}))
    equal(ran(s.recv()["result"])["stdout"], "1\n")


# What a program is given, and what it gives.

def test_nul_is_data():
    s = shared()
    code = "print(1)\0\nprint(2)"
    python = ran(s.exec("import sys; print(sys.executable)"))["stdout"].strip()
    with tempfile.NamedTemporaryFile(suffix=".py") as file:
        file.write(code.encode())
        file.flush()
        plain = subprocess.run([python, file.name], stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20)
    got = ran(s.exec(code))
    equal((got["exit_code"], got["stdout"]), (plain.returncode, plain.stdout.decode()))
    check(got["stdout"] != "1\n", "the program was cut at its NUL")
    got = ran(s.exec("import sys; d = sys.stdin.buffer.read(); print(d); sys.stdout.write('x\\0y')", stdin="a\0b"))
    equal(got["stdout"], "b'a\\x00b'\nx\0y")


def test_text_arrives_intact():
    text = "\u00e9\u20ac\U0001f600\u2028\x7f\x1b[0m\\\"\t"
    got = ran(shared().exec("import sys; sys.stdout.write(sys.stdin.read()); sys.stderr.write(%r)" % text, stdin=text))
    equal((got["stdout"], got["stderr"]), (text, text))
    equal(got["warnings"], [])


def test_stdin_not_read():
    got = ran(shared().exec("print(1)", stdin="a" * 1000000))
    equal((got["exit_code"], got["stdout"]), (0, "1\n"))
    within(got["duration_ms"] / 1000, 0, 2)


def test_stdin_is_never_the_protocol():
    got = ran(shared().exec("input()"))
    equal(got["exit_code"], 1)
    contains(got["stderr"], "EOFError")
    equal(ran(shared().exec("import sys; print(repr(sys.stdin.read()))"))["stdout"], "''\n")


def test_traceback_is_pythons_own():
    got = ran(shared().exec("x = (\n"))
    equal(got["exit_code"], 1)
    contains(got["stderr"], 'File "/sandbox/main.py", line 1', "x = (", "^", "SyntaxError")
    got = ran(shared().exec("def f():\n  1/0\nf()"))
    equal(got["stderr"].count("File "), 2, got["stderr"])
    contains(got["stderr"], 'File "/sandbox/main.py", line 2, in f', "ZeroDivisionError")


def test_script_identity():
    got = ran(shared().exec("""
import sys, os, inspect
def f(): return 1
print(sys.argv, __name__, os.path.abspath(__file__), os.getcwd(), os.listdir(), os.environ["HOME"])
print(inspect.getsource(f).strip())
if __name__ == "__main__": print("main")
"""))
    lines = got["stdout"].splitlines()
    equal(lines[0].split(" ", 1)[1], "__main__ /sandbox/main.py /sandbox ['main.py'] /sandbox", str(got)[:300])
    contains(lines[0], "main.py']")
    equal(lines[1:], ["def f(): return 1", "main"])


@case("exit 3", "import sys; sys.exit(3)", 3, None)
@case("exception", "1/0", 1, None)
@case("SIGSEGV", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)", -1, "SIGSEGV")
@case("SIGKILL", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -1, "SIGKILL")
def test_an_end_of_its_own_is_a_normal_result(code, exit_code, number):
    got = ran(shared().exec(code))
    equal([got[k] for k in ("exit_code", "signal", "timed_out", "limit")], [exit_code, number, False, None])


@case("a forked child", "import os, time\nif os.fork() == 0: time.sleep(60)\nprint(1)")
@case("a daemon of its own session", "import os, time\nif os.fork() == 0: os.setsid(); time.sleep(60)\nprint(1)")
def test_what_keeps_the_pipe_does_not_keep_the_answer(code):
    got = ran(shared().exec(code, wait=5))
    equal((got["stdout"], got["exit_code"]), ("1\n", 0))


def output_of(cap, code):
    with Server(env={"MCP_EXEC_MAX_OUTPUT_BYTES": str(cap)}) as s:
        return ran(s.exec("import sys\n" + code))


def test_output_cap():
    got = output_of(1000, "print('a' * 5000)")
    equal([got[k] for k in ("stdout", "truncated", "limit", "exit_code")], ["a" * 1000, True, "output", 0])
    got = output_of(1000, "sys.stdout.write('a' * 1000)")
    equal([got[k] for k in ("stdout", "truncated", "limit")], ["a" * 1000, False, None])
    got = output_of(1000, "sys.stdout.write('a' * 800); sys.stdout.flush()\nsys.stderr.write('b' * 800)")
    equal(len(got["stdout"]) + len(got["stderr"]), 1000)
    equal((got["truncated"], got["exit_code"]), (True, 0))


def test_output_cap_counts_bytes_and_cuts_between_characters():
    got = output_of(1001, "sys.stdout.write('\\u00e9' * 1000)")
    equal((got["stdout"], got["truncated"]), ("\u00e9" * 500, True))
    got = output_of(1000, "sys.stdout.buffer.write(b'\\xff' * 1000)")
    equal((got["stdout"], got["truncated"]), ("\ufffd" * 1000, False))
    check(got["warnings"], "nothing says that bytes were replaced")


def conforms(value, schema, where="result"):
    """As much of JSON Schema as our schema uses; the SDK clients check with Ajv."""
    types = schema.get("type", [])
    kinds = {"string": str, "integer": int, "boolean": bool, "null": type(None), "array": list, "object": dict}
    if types:
        wanted = [kinds[t] for t in (types if isinstance(types, list) else [types])]
        check(type(value) in wanted, where + " has the wrong type:", value)
    check("enum" not in schema or value in schema["enum"], where + " is not in the enum:", value)
    for key in schema.get("required", []):
        check(key in value, where + " lacks " + key)
    for key, part in schema.get("properties", {}).items():
        conforms(value[key], part, key)
    for item in value if "items" in schema else []:
        conforms(item, schema["items"], where + "[]")


@case("plain", "print(1)")
@case("both streams", "import sys; print('o'); print('e', file=sys.stderr); sys.exit(4)")
@case("signal", "import os; os.kill(os.getpid(), 11)")
@case("warning", "import sys; sys.stdout.buffer.write(b'\\xff')")
@case("timeout", "import time; time.sleep(9)", timeout_s=1)
def test_text_says_what_structured_content_says(code, **arguments):
    s = shared()
    result = s.exec(code, **arguments)
    content = ran(result)
    equal([c["type"] for c in result["content"]], ["text"])
    equal(json.loads(result["content"][0]["text"]), content)
    conforms(content, the_tool(s)["outputSchema"])
    equal(len(content), 9, "fields outside the schema:")


def test_facts_for_the_host_are_in_meta():
    keys = [k for k in shared().exec("print(1)").get("_meta", {}) if "." in k and "/" in k]
    check(keys and not keys[0].startswith("io.modelcontextprotocol"), "no key of ours", keys)


# Several calls at once.

SLEEP = "import time; time.sleep(%s); print(%r)"


def test_eight_calls_and_a_ping():
    with Server() as s:
        ids = [s.start_exec(SLEEP % (0.2, i), id="c%d" % i) for i in range(8)]
        started = time.monotonic()
        still_there(s)
        within(time.monotonic() - started, 0, 0.2 + SLACK_S, "ping")
        answers = [s.recv() for _ in ids]
        equal([a["id"] for a in answers], ids, "not first in, first out:")
        equal([ran(a["result"])["stdout"] for a in answers], ["%d\n" % i for i in range(8)])
        check("queue" in json.dumps(answers[-1]["result"]["_meta"]), "the wait is not reported", answers[-1])


def test_time_in_the_queue_does_not_count():
    with Server() as s:
        ids = [s.start_exec(SLEEP % (0.7, i), timeout_s=1) for i in range(4)]
        for i in ids:
            result = ran(s.answer(i)["result"])
            equal(result["timed_out"], False)
            within(result["duration_ms"] / 1000, 0.69, 1.0)


def test_ping_and_list_are_answered_during_a_run():
    with Server() as s:
        call_id = s.start_exec(SLEEP % (1, 1))
        time.sleep(0.3)
        for method in ("ping", "tools/list", "resources/list"):
            started = time.monotonic()
            s.request(method)
            within(time.monotonic() - started, 0, 0.3, method)
        equal(s.answer(call_id)["result"]["isError"], False)


def test_queue_full_is_a_tool_error():
    with Server(env={"MCP_EXEC_MAX_QUEUE": "1"}) as s:
        name = unique()
        running = s.start_exec(named_program(name, "import time; time.sleep(1.5); print('a')"))
        until(lambda: named(name), 5, "the first call runs")
        queued = s.start_exec("print('b')")
        contains(tool_error(s.exec("print('c')", wait=1)).lower(), "busy")
        equal(s.inbox, [], "answers before their time:")
        equal(ran(s.answer(running)["result"])["stdout"], "a\n")
        equal(ran(s.answer(queued)["result"])["stdout"], "b\n")
        equal(ran(s.exec("print('d')"))["stdout"], "d\n")


def test_id_in_use_is_refused():
    with Server() as s:
        s.start_exec(SLEEP % (0.7, "first"), id=7)
        s.start_exec(SLEEP % (0, "second"), id=7)
        check_error(s.recv(), REQUEST, 7)
        equal(s.inbox, [])
        s.start_exec(SLEEP % (0, "string"), id="7")
        equal(ran(s.answer(7)["result"])["stdout"], "first\n")
        equal(ran(s.answer("7")["result"])["stdout"], "string\n")
        s.start_exec(SLEEP % (0, "again"), id=7)
        equal(ran(s.answer(7)["result"])["stdout"], "again\n")
        s.silence(0.2)


def test_a_call_without_an_id_is_not_run():
    with Server() as s:
        name = unique()
        s.notify("tools/call", {"name": "exec", "arguments": {"code": named_program(name)}})
        equal(ran(s.exec("print(1)", wait=5))["stdout"], "1\n")
        equal(named(name), [])
        s.silence(0.2)


# Cancel.

def test_cancel_of_a_running_call():
    with Server() as s:
        name = unique()
        gone = s.start_exec(named_program(name))
        until(lambda: named(name), 5, "the call runs")
        s.cancel(gone)
        until(lambda: not named(name), 0.2 + SLACK_S, "the cancelled run is dead")
        equal(ran(s.exec("print(2)", wait=2))["stdout"], "2\n")
        s.silence(0.5)
        s.start_exec("print(3)", id=gone)
        equal(ran(s.answer(gone)["result"])["stdout"], "3\n")


def test_cancel_of_a_queued_call():
    with Server() as s:
        first = s.start_exec(SLEEP % (0.7, "first"))
        name = unique()
        gone = s.start_exec(named_program(name))
        last = s.start_exec("print('last')")
        s.cancel(gone)
        equal(ran(s.answer(first)["result"])["stdout"], "first\n")
        equal(ran(s.answer(last, 5)["result"])["stdout"], "last\n")
        equal(s.inbox, [])
        equal(named(name), [])
        s.silence(0.3)


def test_cancel_of_the_first_of_many():
    with Server() as s:
        ids = [s.start_exec("import time; time.sleep(60)") for _ in range(20)]
        last = s.start_exec("print('last')")
        for gone in ids:
            s.cancel(gone)
        equal(ran(s.answer(last, 10)["result"])["stdout"], "last\n")
        equal(s.inbox, [])


@case("another type", 7, '"7"')
@case("a near number", 9007199254740993, "9007199254740992")
@case("no string", "x", "null")
@case("unknown", 1, '"no such"')
def test_cancel_that_means_another(id, raw):
    with Server() as s:
        s.start_exec(SLEEP % (0.5, 1), id=id)
        s.send('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}' % raw)
        equal(ran(s.answer(id)["result"])["stdout"], "1\n")


def test_cancel_of_what_is_over():
    with Server() as s:
        s.send(init(LATEST))
        s.cancel(1)
        equal(s.recv()["id"], 1)
        done = s.start_exec("print(1)")
        s.answer(done)
        s.cancel(done)
        still_there(s)
        equal(ran(s.exec("print(2)"))["stdout"], "2\n")


def test_cancel_with_an_id_beyond_a_double():
    with Server() as s:
        name = unique()
        gone = s.start_exec(named_program(name), id=9007199254740993)
        until(lambda: named(name), 5, "the call runs")
        s.cancel(gone)
        until(lambda: not named(name), 2, "the cancelled run is dead")
        s.silence(0.2)


# Progress.

@case("string", "token")
@case("zero", 0)
@case("beyond a double", 9007199254740993)
def test_progress(token):
    with Server() as s:
        with_token = s.start_exec(SLEEP % (5.6, 1), meta={"progressToken": token})
        answer = s.answer(with_token)
        notes, s.inbox = s.inbox, []
        equal(answer["result"]["isError"], False)
        check(notes, "no progress within five seconds")
        values = [n["params"]["progress"] for n in notes]
        equal(values, sorted(set(values)), "progress does not rise:")
        for note in notes:
            equal((note["method"], note["params"]["progressToken"]), ("notifications/progress", token))
            check("id" not in note and isinstance(note["params"]["message"], str), "note", note)
        s.silence(0.3)


def test_no_progress_unasked():
    with Server() as s:
        s.answer(s.start_exec(SLEEP % (5.6, 1)))
        equal(s.inbox, [])


# Lines that are long.

SMALL = {"MCP_EXEC_MAX_CODE_BYTES": "65536", "MCP_EXEC_MAX_STDIN_BYTES": "65536"}
SMALL_MAX = (65536 + 65536) * 2 + 65536


def ping_of(size, id=1):
    line = b'{"jsonrpc":"2.0","id":%d,"method":"ping","x":"' % id
    return line + b"x" * (size - len(line) - 2) + b'"}'


@case("at the limit", SMALL_MAX, True)
@case("one beyond", SMALL_MAX + 1, False)
@case("far beyond", SMALL_MAX * 7, False)
def test_long_line(size, fits):
    with Server(env=SMALL) as s:
        s.send_raw(ping_of(size) + b"\n")
        if fits:
            equal(s.recv(), {"jsonrpc": "2.0", "id": 1, "result": {}})
        else:
            check_error(s.recv(), REQUEST, None)
        still_there(s)


def test_long_line_does_not_fill_memory():
    with Server(env=SMALL) as s:
        still_there(s)
        before = peak_kib(s.pid)
        for _ in range(64):
            s.send_raw(b"x" * (1 << 20))
        s.send_raw(b"\n")
        check_error(s.recv(), REQUEST, None)
        within((peak_kib(s.pid) - before) / 1024, 0, 8, "MiB more")
        still_there(s)


def test_long_line_at_the_end_of_input():
    with Server(env=SMALL) as s:
        s.send_raw(ping_of(SMALL_MAX * 2))
        s.close_stdin()
        messages = s.drain(3)
        equal([m["error"]["code"] for m in messages], [REQUEST])
        equal(s.wait_exit(2), 0)


def test_ten_million_bytes_in_one_message():
    with Server() as s:
        s.send('{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":{"code":"%s","stdin":"%s"}}}'
               % ("#" * 4194304, "\\n" * 1048576))
        equal(ran(s.recv()["result"])["exit_code"], 0)
        s.send_raw(b'{"jsonrpc":"2.0","id":1,"method":"ping","x":"' + b"x" * 11000000 + b'"}\n')
        check_error(s.recv(), REQUEST, None)
        still_there(s)


def peak_kib(pid):
    with open("/proc/%d/status" % pid) as file:
        return int(next(line for line in file if line.startswith("VmHWM")).split()[1])


# Two kinds of wire, and a reader that takes its time.

WIRES = [("pipe", "pipe"), ("socketpair", "socketpair")]


@cases(WIRES)
def test_conversation(wire):
    with Server(wire=wire) as s:
        s.initialize()
        equal(ran(s.exec("print(input())", stdin="x\n"))["stdout"], "x\n")
        gone = s.start_exec("import time; time.sleep(60)")
        s.cancel(gone)
        equal(len(ran(s.exec("print('a' * 1048575)"))["stdout"]), 1048576)
        still_there(s)
        s.close_stdin()
        equal(s.wait_exit(1.5), 0)
        equal(s.drain(), [])


@cases(WIRES)
def test_slow_reader(wire):
    """Answers of a megabyte pile up in the pipe, not in the server's memory, and none is lost or mixed."""
    with Server(wire=wire) as s:
        still_there(s)
        ids = [s.start_exec("print(%r * 1048575)" % chr(97 + i)) for i in range(12)]
        s.send(request("ping", id="late"))
        time.sleep(1.5)
        check(s.process.poll() is None, "the server is gone")
        within(peak_kib(s.pid) / 1024, 0, 96, "MiB")
        for i, call_id in enumerate(ids):
            equal(ran(s.answer(call_id)["result"])["stdout"], chr(97 + i) * 1048575 + "\n")
        equal(s.answer("late")["result"], {})
        equal(s.inbox, [])


# The end.

def test_end_of_input_idle():
    with Server() as s:
        still_there(s)
        s.close_stdin()
        equal(s.wait_exit(1.5), 0)
        equal(s.drain(), [])


def test_end_of_input_at_once():
    with Server() as s:
        s.close_stdin()
        equal(s.wait_exit(1.5), 0)


def test_end_of_input_behind_calls():
    """printf … | mcp-exec gets its answers."""
    with Server() as s:
        s.send(init(LATEST))
        first, second = s.start_exec("print(1)"), s.start_exec(SLEEP % (0.4, 2))
        s.close_stdin()
        messages = s.drain(3)
        equal([m["id"] for m in messages], [1, first, second])
        equal(s.wait_exit(1.5), 0)


def test_end_of_input_during_a_long_call():
    with Server() as s:
        name = unique()
        s.start_exec(named_program(name))
        s.start_exec("print('queued')")
        until(lambda: named(name), 5, "the call runs")
        started = time.monotonic()
        s.close_stdin()
        equal(s.wait_exit(1.5 + SLACK_S), 0)
        within(time.monotonic() - started, 0.8, 1.5, "exit")
        equal(named(name), [])
        equal(s.drain(), [])


@case("a message", b'{"jsonrpc":"2.0","id":1,"method":"ping"}', {"jsonrpc": "2.0", "id": 1, "result": {}})
@case("half a message", b'{"jsonrpc":"2.0","id":1,"met', PARSE)
def test_last_line_without_a_newline(data, wanted):
    with Server() as s:
        s.send_raw(data)
        s.close_stdin()
        messages = s.drain(3)
        equal(len(messages), 1)
        equal(messages[0] if isinstance(wanted, dict) else messages[0]["error"]["code"], wanted)
        equal(s.wait_exit(1.5), 0)


@cases(WIRES)
def test_end_of_input_with_a_reader_that_sleeps(wire):
    with Server(wire=wire) as s:
        s.start_exec("print('a' * 1000000)")
        time.sleep(1)
        s.close_stdin()
        s.wait_exit(1.5 + SLACK_S)


@case("SIGTERM idle", signal.SIGTERM, False)
@case("SIGTERM during a run", signal.SIGTERM, True)
@case("SIGINT idle", signal.SIGINT, False)
@case("SIGINT during a run", signal.SIGINT, True)
def test_signal_ends_at_once(number, running):
    with Server() as s:
        still_there(s)
        name = unique()
        if running:
            s.start_exec(named_program(name))
            until(lambda: named(name), 5, "the call runs")
        below = descendants(s.pid)
        s.kill(number)
        equal(s.wait_exit(0.5 + SLACK_S), 0)
        until(lambda: not any(map(alive, below)), 1, "everything of it is gone")
        equal(s.drain(), [])


@cases(WIRES)
def test_reader_gone_idle(wire):
    with Server(wire=wire) as s:
        still_there(s)
        below = descendants(s.pid)
        s.close_stdout()
        s.wait_exit(1.5)
        until(lambda: not any(map(alive, below)), 1, "everything of it is gone")


@cases(WIRES)
def test_reader_gone_during_a_run(wire):
    with Server(wire=wire) as s:
        name = unique()
        s.start_exec(named_program(name))
        until(lambda: named(name), 5, "the call runs")
        s.close_stdout()
        s.wait_exit(1.5)
        until(lambda: not named(name), 1, "the run is gone")


MIDDLE = "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()"


@cases(WIRES)
def test_parent_killed_while_another_holds_the_pipe(wire):
    """We hold both pipes; the server's parent is a process in between, which dies without a word."""
    with Server(wire=wire, through=[sys.executable, "-c", MIDDLE]) as s:
        name = unique()
        s.start_exec(named_program(name))
        until(lambda: named(name), 10, "the call runs")
        below = descendants(s.pid)
        check(len(below) >= 3, "server, worker and run are not there", below)
        s.kill(signal.SIGKILL)
        until(lambda: not any(map(alive, below)), 2, "server, worker and run are gone")
        equal(named(name), [])


def test_input_from_a_file_and_output_to_a_file():
    with tempfile.TemporaryFile() as source, tempfile.TemporaryFile() as target:
        source.write("\n".join([init(LATEST), call({"code": "print(5)"}, 2), request("ping", id=3)]).encode())
        source.seek(0)
        code = subprocess.run([BINARY], stdin=source, stdout=target, stderr=subprocess.DEVNULL, timeout=5 * PATIENCE,
                              env=environment()).returncode
        target.seek(0)
        messages = {m["id"]: m for m in map(parse, target.read().splitlines())}
    equal((code, sorted(messages)), (0, [1, 2, 3]))
    equal(ran(messages[2]["result"])["stdout"], "5\n")


@case("/dev/null", "exec \"$0\" </dev/null")
@case("stdin closed", "exec \"$0\" <&-")
@case("stdout to /dev/null", "printf '%s\\n' '{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}' | \"$0\" >/dev/null")
def test_odd_descriptors_do_not_hang(line):
    done = subprocess.run(["sh", "-c", line, BINARY], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, timeout=3 * PATIENCE, env=environment())
    equal(done.stdout, b"")


# Stdout carries messages from its first byte to its last; Server checks that in every test. Here: when things go wrong.

@case("a bad value", {"MCP_EXEC_MAX_QUEUE": "many"})
@case("a bad transport", {"MCP_EXEC_TRANSPORT": "pigeon"})
@case("a bad level", {"MCP_EXEC_LOG_LEVEL": "loud"})
def test_refused_start_leaves_stdout_empty(env):
    code, out, err = run([], env=env)
    equal((code, out), (78, b""))
    check(err, "nothing on stderr")


@case("debug", {"MCP_EXEC_LOG_LEVEL": "debug"})
@case("debug, no interpreter", {"MCP_EXEC_LOG_LEVEL": "debug", "MCP_EXEC_PYTHON": "/nonexistent/python3"})
@case("a lowered default", {"MCP_EXEC_MAX_TIMEOUT_S": "10"})
def test_stdout_carries_only_messages(env):
    with Server(env=env) as s:
        s.initialize()
        s.send("{bad")
        s.exec("import sys; print('x'); print('y', file=sys.stderr)")
        s.close_stdin()
        equal([m["error"]["code"] for m in s.drain(3)], [PARSE])
        check(s.stderr(), "no log to keep apart from stdout")


@case("none", "/nonexistent/python3")
@case("no Python", "/bin/true")
@case("a directory", "/usr")
def test_without_a_sandbox_the_protocol_is_served(python):
    """A person in an IDE never sees stderr: what is wrong, and its remedy, is the answer of every call."""
    with Server(env={"MCP_EXEC_PYTHON": python}) as s:
        s.initialize()
        for _ in range(2):
            text = tool_error(s.exec("print(1)"), python)
            check("errno" not in text.lower() and len(text) > 40, "no sentence for a person:", text)
        still_there(s)
        equal([t["name"] for t in s.request("tools/list")["result"]["tools"]], ["exec"])
        s.close_stdin()
        equal(s.wait_exit(1.5), 0)


def test_initialize_is_answered_while_the_worker_gets_ready():
    started = time.monotonic()
    with Server() as s:
        s.initialize()
        within(time.monotonic() - started, 0, 0.5, "initialize")


if __name__ == "__main__":
    main()
