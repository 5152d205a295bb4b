#!/usr/bin/env python3
"""The envelope of the Model Context Protocol: JSON-RPC, both eras, batches, and every abuse of them.

What is expected here comes from the specification's revisions 2024-11-05 to 2026-07-28, and where that leaves a choice
from the contract in README. Mostly tables: one line in, one answer out.
"""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import (CAPABILITIES_KEY, INFO_KEY, LATEST, MODERN, Server, VERSION_KEY, case, cases, check, claim, contains,
                 equal, main, parse, run, within)
from _messages import (ANY, LEGACY, METHOD, PARAMS, PARSE, REQUEST, VERSION, call, check_error, init, peak_kib, ran,
                       raw_call, request, shared, still_there, the_tool, tool_error)

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
    ("depth 65", nested(65), PARSE, 1),
    ("a number too long", b'{"jsonrpc":"2.0","id":1,"method":"ping","x":%s}' % (b"1" * 64), REQUEST, 1),
    ("a number too long before the id", b'{"jsonrpc":"2.0","method":"ping","x":%s,"id":1}' % (b"1" * 64), REQUEST, 1),
    ("values too many", b'{"jsonrpc":"2.0","id":"v","method":"ping","x":[%s1]}' % (b"1," * 100000), REQUEST, "v"),
    ("depth 100000 without an end", b"[" * 100000, PARSE, None),
    ("a number", b"1", REQUEST, None),
    ("a string", b'"ping"', REQUEST, None),
    ("null", b"null", REQUEST, None),
    ("an empty array", b"[]", REQUEST, None),
    ("an empty object", b"{}", REQUEST, None),
    ("a key twice", b'{"jsonrpc":"2.0","id":1,"method":"ping","method":"ping"}', REQUEST, 1),
    ("a key twice, once escaped", b'{"jsonrpc":"2.0","id":1,"method":"ping","\\u006dethod":"ping"}', REQUEST, 1),
    ("a key twice, deep inside", b'{"jsonrpc":"2.0","id":1,"method":"ping","x":[{"b":1,"b":1}]}', REQUEST, 1),
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
    ("a result without jsonrpc", b'{"id":3,"result":{}}\n'),
    ("an error without jsonrpc", b'{"id":3,"error":{"code":1,"message":"x"}}\n'),
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
    ("params null", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":null}\n'),
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

@cases([(v, v, v) for v in LEGACY] + [
    ("unknown", "1999-01-01", LATEST), ("modern", MODERN, LATEST), ("future", "2099-01-01", LATEST),
    ("empty", "", LATEST)])
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
    "capabilities": {"roots": {"listChanged": True},
                     "extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["a/b"]}}},
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
    check(tool["title"], "no words for a person")
    contains(tool["description"], "300 s", "256 MiB", "64 MiB", "1 MiB", "1 CPU;", "128 processes", "pip", "stdin",
             "background processes", "limit and warnings")
    for name in ("limit", "signal"):
        contains(output["properties"][name]["description"], "null when none")


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
        check("outputSchema" in the_tool(s, _meta=claim()), "not served as modern")
        check("outputSchema" not in the_tool(s), "not served as the negotiated version")
        check("structuredContent" in s.exec("print(1)", meta=claim()), "not served as modern")
        equal(s.request("server/discover")["error"]["code"], METHOD)
        equal(s.request("ping")["result"], {})


# Lines that are long.

SMALL = {"MCP_EXEC_MAX_CODE_BYTES": "65536", "MCP_EXEC_MAX_STDIN_BYTES": "65536"}
SMALL_MAX = (65536 + 65536) * 6 + 65536


def long_line(size, head, tail):
    return head + b"x" * (size - len(head) - len(tail)) + tail


def ping_of(size):
    return long_line(size, b'{"jsonrpc":"2.0","id":1,"method":"ping","x":"', b'"}')


@case("at the limit", SMALL_MAX, True)
@case("one beyond", SMALL_MAX + 1, False)
@case("far beyond", SMALL_MAX * 7, False)
def test_long_line(size, fits):
    with Server(env=SMALL) as s:
        s.send_raw(ping_of(size) + b"\n")
        if fits:
            equal(s.recv(), {"jsonrpc": "2.0", "id": 1, "result": {}})
        else:
            check_error(s.recv(), REQUEST, 1)
        still_there(s)


@case("at the start", b'{"jsonrpc":"2.0","id":"early","x":"', b'"}', "early")
@case("at the end", b'{"method":"ping","x":"', b'","jsonrpc":"2.0","id":9007199254740993}', 9007199254740993)
@case("at the end, with white space and CR", b'{"x":"', b'" , "id" : "late" } \r', "late")
@case("deeper", b'{"x":{"y":"', b'","id":1}}', None)
@case("in a text", b'{"x":"', b',\\"id\\":1"}', None)
@case("in the middle", b'{"y":"' + b"y" * 70000 + b'","id":1,"x":"', b'"}', None)
@case("nowhere", b"x", b"x", None)
def test_long_line_is_refused_with_its_id(head, tail, id):
    with Server(env=SMALL) as s:
        s.send_raw(long_line(SMALL_MAX * 2, head, tail) + b"\n")
        answer = s.recv()
        check_error(answer, REQUEST, id)
        contains(answer["error"]["message"], "MCP_EXEC_MAX_CODE_BYTES", "MCP_EXEC_MAX_STDIN_BYTES", str(SMALL_MAX))
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
        equal([(m["id"], m["error"]["code"]) for m in messages], [(1, REQUEST)])
        equal(s.wait_exit(2), 0)


@case("ASCII", "#" * 4194304, "\n" * 1048576)
@case("two bytes in six", "#" + "\u00e9" * 2097151, "\u00e9" * 524288)
@case("one byte in six", "#" + "\x01" * 4194303, "\x01" * 1048576)
def test_code_and_stdin_may_be_full_however_they_are_escaped(code, stdin):
    with Server() as s:
        s.send(call({"code": code, "stdin": stdin}))
        equal(ran(s.recv()["result"])["exit_code"], 0)


def test_thirty_two_million_bytes_are_too_many():
    with Server() as s:
        s.send_raw(ping_of(32000000) + b"\n")
        check_error(s.recv(), REQUEST, 1)
        still_there(s)


if __name__ == "__main__":
    main()
