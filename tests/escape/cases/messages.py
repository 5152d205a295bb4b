"""What a client may send, right or wrong: each has one answer, and the server serves the next message."""
import json
import time

from _case import Case, Open, host, soon
from _target import Broken, structured
from mcp import LATEST, MODERN, check, claim, equal, named, named_program, unique, until, within

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
ANY = object()


def one_of(value, wanted):
    return wanted is ANY or (value in wanted if isinstance(wanted, tuple) else value == wanted)


def error(id, title, line, code, request_id=None):
    """A line whose answer is a JSON-RPC error with this code and id. A str is taken as text, bytes as they are."""
    raw = line if isinstance(line, bytes) else line.encode()

    def judge(target):
        message = target.request(raw)
        if "error" not in message:
            raise Open("no error: %.300r" % message)
        if not one_of(message["error"]["code"], code) or not one_of(message.get("id", "absent"), request_id):
            raise Open("another error: %.300r" % message)
        check(isinstance(message["error"]["message"], str) and message["error"]["message"], "no sentence", message)
    return Case("req." + id, title, "protocol", judge, "raw")


def same_id(id, title, raw):
    """A ping whose id comes back as it was, digit by digit."""
    def judge(target):
        s = target.server()
        s.send_raw(b'{"jsonrpc":"2.0","id":%s,"method":"ping"}\n' % raw)
        line = s.recv_line()
        check(b'"id":' + raw in line.replace(b'": ', b'":'), "another id:", line[:300])
        equal(json.loads(line)["result"], {})
    return Case("req." + id, title, "protocol", judge, "raw")


def unanswered(id, title, raw):
    """Bytes that get no answer, and do no harm: settling finds one that comes, and a server that is gone."""
    def judge(target):
        s = target.server()
        s.send_raw(raw)
        equal(s.request("ping", id="after")["result"], {})
        equal(s.inbox, [])
    return Case("req." + id, title, "protocol", judge, "raw")


def call(arguments):
    return '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":%s}}' % arguments


def refused(id, title, arguments, *words):
    """A call with these arguments, as JSON, is a tool error that has these words; nothing runs."""
    def judge(target):
        message = target.request(call(arguments).encode())
        if "result" not in message:
            raise Broken("no result: %.300r" % message)
        result = message["result"]
        if result.get("isError") is not True or "structuredContent" in result:
            raise Open("no tool error: %.300r" % result)
        for word in words:
            check(word in result["content"][0]["text"], "the text lacks %r:" % word, result["content"][0]["text"])
    return Case("req." + id, title, "protocol", judge, "raw")


def ran(id, title, arguments, warned=None, **wanted):
    """A call with these arguments, as JSON, runs; a warning has this word, or there is none."""
    def judge(target):
        message = target.request(call(arguments).encode(), timeout=30)
        result = structured(message.get("result"))
        wrong = {k: result[k] for k, want in wanted.items() if result[k] != want}
        if wrong:
            raise Open("%.300r" % wrong)
        # A sandbox without /proc or its host name says so when a program failed.
        text = " ".join(w for w in result["warnings"] if "this sandbox lacks" not in w)
        check(warned in text if warned else text == "", "warnings are", text)
    return Case("req." + id, title, "protocol", judge, "raw")


def ping(more):
    return b'{"jsonrpc":"2.0","id":1,"method":"ping"' + more + b"}"


def nested(depth, open=b"[", close=b"]"):
    return ping(b',"params":{"x":' + open * (depth - 2) + b"1" + close * (depth - 2) + b"}")


ARGUMENTS = [
    refused("code-missing", "no code", "{}", "code is missing", '"code"', "print("),
    refused("code-null", "code is null", '{"code":null}', "code"),
    refused("code-number", "code is a number", '{"code":123}', "code must be a string"),
    refused("code-list", "code is a list of lines", '{"code":["print(1)"]}', "code must be a string"),
    refused("code-object", "code is an object", '{"code":{"x":"print(1)"}}', "code must be a string"),
    refused("code-true", "code is a boolean", '{"code":true}', "code must be a string"),
    refused("code-in-another-case", "Code is not code", '{"Code":"print(1)"}', "code is missing"),
    refused("code-empty", "empty code", '{"code":""}', "code is empty"),
    refused("code-blank", "only white space", '{"code":"\\n\\t  "}', "code is empty"),
    refused("code-bom", "only a BOM", '{"code":"\\ufeff"}', "code is empty"),
    refused("code-unicode-blank", "only odd white space", '{"code":"\\u00a0\\u3000\\u2028\\u2003"}', "code is empty"),
    refused("code-half-a-pair", "half of a surrogate pair in code", '{"code":"print(1)#\\ud800"}', "code", "surrogate"),
    refused("code-pair-reversed", "a surrogate pair the wrong way round", '{"code":"1#\\udc00\\ud800"}', "surrogate"),
    refused("code-over-the-cap", "code of 4 MiB and a byte", '{"code":"%s"}' % ("#" * 4194305), "code", "4194304",
            "4194305"),
    ran("code-at-the-cap", "code of exactly 4 MiB", '{"code":"%s"}' % ("#" * 4194304), exit_code=0, stdout=""),
    refused("code-over-the-cap-in-bytes", "caps count bytes, not characters", '{"code":"#%s"}' % ("\u00e9" * 2097152),
            "4194304", "4194305"),
    ran("code-with-nul", "a NUL in code does not cut it", '{"code":"print(1)\\u0000\\nprint(2)"}', exit_code=1,
        stdout=""),
    refused("stdin-number", "stdin is a number", '{"code":"1","stdin":5}', "stdin must be a string"),
    refused("stdin-list", "stdin is a list", '{"code":"1","stdin":["a"]}', "stdin must be a string"),
    refused("stdin-half-a-pair", "half of a surrogate pair in stdin", '{"code":"1","stdin":"\\udfff"}', "stdin",
            "surrogate"),
    refused("stdin-over-the-cap", "stdin of 1 MiB and a byte", '{"code":"1","stdin":"%s"}' % ("a" * 1048577), "1048576",
            "1048577"),
    ran("stdin-at-the-cap", "stdin of exactly 1 MiB", '{"code":"import sys; print(len(sys.stdin.read()))","stdin":"%s"}'
        % ("a" * 1048576), stdout="1048576\n"),
    ran("stdin-not-read", "stdin that nobody reads", '{"code":"print(1)","stdin":"%s"}' % ("a" * 1000000), stdout="1\n",
        exit_code=0),
    ran("stdin-null", "stdin is null", '{"code":"import sys; print(repr(sys.stdin.read()))","stdin":null}',
        stdout="''\n"),
    ran("stdin-absent", "without stdin a program reads the end, not the protocol",
        '{"code":"import sys; print(repr(sys.stdin.read()))"}', stdout="''\n"),
    ran("stdin-is-data", "messages in stdin are data",
        '{"code":"print(input())","stdin":"{\\"jsonrpc\\":\\"2.0\\",\\"id\\":9,\\"method\\":\\"ping\\"}\\n"}',
        stdout='{"jsonrpc":"2.0","id":9,"method":"ping"}\n'),
    ran("stdin-with-nul", "NUL and odd characters in stdin arrive",
        '{"code":"import sys; print(ascii(sys.stdin.read()))","stdin":"a\\u0000b\\u2028\\ud83d\\ude00"}',
        stdout="'a\\x00b\\u2028\\U0001f600'\n"),
    ran("unknown-arguments", "unknown arguments are named", '{"code":"print(1)","language":"python","context":{}}',
        "language", stdout="1\n"),
    ran("near-miss", "a near miss gets a suggestion", '{"code":"print(1)","timeout":5}', "timeout_s", stdout="1\n"),
]

TIMEOUTS = [ran("timeout-" + name, "timeout_s " + raw, '{"code":"print(1)","timeout_s":%s}' % raw, warned, stdout="1\n",
                timed_out=False)
            for name, raw, warned in (
                ("zero", "0", None), ("null", "null", None), ("two", "2", None), ("float", "2.0", None),
                ("string", '"10"', None), ("negative", "-5", "timeout_s"), ("large", "900", "timeout_s"),
                ("exponent", "1e3", "timeout_s"), ("20-digits", "99999999999999999999", "timeout_s"),
                ("2-to-the-32", "4294967296", "timeout_s"), ("2-to-the-63", "9223372036854775808", "timeout_s"),
                ("minus-20-digits", "-99999999999999999999", "timeout_s"))]
TIMEOUTS += [refused("timeout-" + name, "timeout_s " + raw, '{"code":"print(1)","timeout_s":%s}' % raw, "timeout_s")
             for name, raw in (
                 ("fraction", "1.5"), ("word", '"soon"'), ("unit", '"10s"'), ("true", "true"), ("list", "[]"),
                 ("object", "{}"), ("infinite", "1e400"), ("word-infinite", '"inf"'), ("hex", '"0x10"'),
                 ("empty", '""'), ("word-fraction", '"1.5"'))]

WIRE = [
    error("garbage", "no JSON", b"{bad", PARSE),
    error("half-a-message", "a message that breaks off", b'{"jsonrpc":"2.0","id":', PARSE),
    error("two-on-a-line", "two messages on one line", ping(b"") + b"{}", PARSE),
    error("invalid-utf-8", "bytes that are no UTF-8", ping(b',"x":"\xff\xfe"'), PARSE),
    error("overlong-nul", "an overlong NUL", ping(b',"x":"\xc0\x80"'), PARSE),
    error("surrogate-in-utf-8", "a surrogate as three bytes", ping(b',"x":"\xed\xa0\x80"'), PARSE),
    error("raw-nul", "a raw NUL in a string", ping(b',"x":"a\0b"'), PARSE),
    error("nul-behind", "a NUL behind the message", ping(b"") + b"\0", PARSE),
    error("raw-control", "a raw control character in a string", ping(b',"x":"\x01"'), PARSE),
    error("bad-escape", "an escape that is none", ping(b',"x":"\\x41"'), PARSE),
    error("utf-16", "UTF-16", ping(b"").decode().encode("utf-16-le"), PARSE),
    error("nan", "NaN as a timeout", call('{"code":"1","timeout_s":NaN}'), PARSE),
    error("comment", "a comment", ping(b"/**/"), PARSE),
    error("trailing-comma", "a trailing comma", ping(b","), PARSE),
    error("http", "a line of HTTP", b"GET /mcp HTTP/1.1", PARSE),
    error("depth-100000", "brackets without an end", b"[" * 100000, PARSE),
    error("depth-of-objects", "objects without an end", b'{"a":' * 100000, PARSE),
    error("depth-65", "a level deeper than is allowed", nested(65), PARSE, 1),
    error("depth-million-closed", "half a million levels, all closed", nested(500000), PARSE, (1, None)),
    error("many-values", "too many values", ping(b',"x":[' + b"1," * 100000 + b"1]"), REQUEST, 1),
    error("long-number", "a number of a thousand digits", ping(b',"x":' + b"9" * 1000), REQUEST, 1),
    error("key-twice", "a key twice", ping(b',"method":"tools/list"'), REQUEST, 1),
    error("key-twice-escaped", "a key twice, once escaped", ping(b',"\\u006dethod":"ping"'), REQUEST, 1),
    error("code-twice", "code twice: what was read is not what would run",
          call('{"code":"print(1)","code":"print(2)"}'),
          REQUEST, 1),
    error("id-twice", "two ids", ping(b',"id":2'), REQUEST, (1, 2, None)),
    error("id-null", "an id that is null", b'{"jsonrpc":"2.0","id":null,"method":"ping"}', REQUEST),
    error("id-object", "an id that is an object", b'{"jsonrpc":"2.0","id":{},"method":"ping"}', REQUEST),
    error("id-list", "an id that is a list", b'{"jsonrpc":"2.0","id":[1],"method":"ping"}', REQUEST),
    error("id-true", "an id that is a boolean", b'{"jsonrpc":"2.0","id":true,"method":"ping"}', REQUEST),
    error("id-fraction", "an id that is a fraction", b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', REQUEST, 1.5),
    error("id-of-a-million", "an id of a million bytes", b'{"jsonrpc":"2.0","id":"' + b"a" * 1000000 +
          b'","method":"ping"}', REQUEST, ANY),
    error("id-with-nul", "a NUL in an id", b'{"jsonrpc":"2.0","id":"a\\u0000b","method":"ping"}', REQUEST, "a\0b"),
    error("method-with-nul", "a NUL in a method", b'{"jsonrpc":"2.0","id":1,"method":"ping\\u0000"}', (REQUEST,
                                                                                                       METHOD), 1),
    error("method-with-half-a-pair", "half of a pair in a method", b'{"jsonrpc":"2.0","id":1,"method":"ping\\ud800"}',
          (REQUEST, PARSE, METHOD), 1),
    error("name-with-nul", "a tool's name with a NUL", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":'
          '"exec\\u0000x","arguments":{"code":"1"}}}', (PARAMS, REQUEST), 1),
    error("number", "a bare number", b"1", REQUEST),
    error("empty-batch", "an empty batch", b"[]", REQUEST),
    error("empty-object", "an empty object", b"{}", REQUEST),
    error("jsonrpc-1", "an older JSON-RPC", b'{"jsonrpc":"1.0","id":1,"method":"ping"}', REQUEST, 1),
    error("params-list", "params are a list", b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', REQUEST, 1),
    error("unknown-method", "an unknown method", b'{"jsonrpc":"2.0","id":1,"method":"no/such"}', METHOD, 1),
    error("unknown-tool", "an unknown tool", b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sh"}}',
          PARAMS, 1),
    error("arguments-a-string", "arguments are a string", call('"print(1)"'), PARAMS, 1),
    error("initialize-5", "a version that is a number",
          b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":5}}', PARAMS, 1),
    error("initialize-without-version", "initialize without a version",
          b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{}}}', PARAMS, 1),
]

IDS = [same_id("id-" + name, "id " + (raw.decode() if len(raw) < 40 else "of 1024 bytes"), raw) for name, raw in (
    ("zero", b"0"), ("negative", b"-1"), ("beyond-a-double", b"9007199254740993"), ("30-digits", b"1234567890" * 3),
    ("string", b'"x"'), ("empty-string", b'""'), ("digits-in-a-string", b'"1"'), ("escapes", b'"\\u00e9\\"\\\\\\/"'),
    ("longest", b'"' + b"i" * 1022 + b'"'))]

SILENT = [
    unanswered("blank-lines", "blank lines", b"\n\n   \n\t\r\n"),
    unanswered("ping-without-id", "a ping without an id", b'{"jsonrpc":"2.0","method":"ping"}\n'),
    unanswered("unknown-notification", "an unknown notification", b'{"jsonrpc":"2.0","method":"notifications/zzz"}\n'),
    unanswered("response-from-the-client", "responses nobody asked for", b'{"jsonrpc":"2.0","id":1,"result":{}}\n'
               b'{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"x"}}\n'),
    unanswered("cancel-nothing", "cancelling what is not there", b"".join(
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":%s}\n' % p for p in (
            b'{"requestId":99}', b"{}", b'{"requestId":{}}', b'{"requestId":null}', b'{"requestId":"99"}'))),
]


@host("req.line-beyond-all-caps", "a line longer than any call may be is refused, and its rest is no message",
      "protocol",
      "raw")
def line_beyond_all_caps(target):
    s = target.server()
    s.send_raw(b'{"jsonrpc":"2.0","id":7,"method":"ping","x":"' + b"a" * (33 << 20) + b'"}\n', timeout=60)
    message = s.recv(30)
    check("error" in message and message["id"] in (7, None), "no error", message)
    equal(s.request("ping")["result"], {})


@host("req.call-without-id-is-not-run", "a call without an id is a notification and does not run", "protocol", "raw",
      "processes")
def call_without_id_is_not_run(target):
    s, name = target.server(), unique()
    s.send({"jsonrpc": "2.0", "method": "tools/call", "params": {
        "name": "exec", "arguments": {"code": named_program(name, "import time; time.sleep(3)")}}})
    equal(target.exec("print(1)")["stdout"], "1\n")
    equal(named(name), [])


@host("req.ids-of-another-type", "1 and \"1\" are two ids, and a cancel of one is not of the other", "protocol", "raw")
def ids_of_another_type(target):
    s = target.server()
    call = s.start_exec("import time; time.sleep(0.5); print('done')", id=771)
    s.cancel("771")
    equal(structured(s.answer(call)["result"])["stdout"], "done\n")


@host("req.id-in-use", "a second call with the id of one that runs is refused, the first goes on", "protocol", "raw")
def id_in_use(target):
    s = target.server()
    s.start_exec("import time; time.sleep(0.5); print('first')", id=772)
    s.start_exec("print('second')", id=772)
    check("error" in s.recv(), "no error")
    equal(structured(s.recv()["result"])["stdout"], "first\n")


@host("req.eight-at-once", "eight calls and a ping: all answered with their own ids, the ping first", "queue", "raw")
def eight_at_once(target):
    s = target.server()
    ids = [s.start_exec("import time; time.sleep(0.15); print(%d)" % i, id="e%d" % i) for i in range(8)]
    start = time.monotonic()
    equal(s.request("ping")["result"], {})
    within(time.monotonic() - start, 0, 0.5)
    for i, call in enumerate(ids):
        equal(structured(s.answer(call)["result"])["stdout"], "%d\n" % i)


@host("req.queue-full", "calls beyond the queue are told so at once", "queue", "raw", "environment")
def queue_full(target):
    s = target.server({"MCP_EXEC_MAX_QUEUE": "2"})
    s.exec("pass")
    ids = [s.start_exec("import time; time.sleep(0.4); print(1)") for _ in range(5)]
    results = [s.answer(i)["result"] for i in ids]
    equal(["Busy" in r["content"][0]["text"] for r in results], [False, False, False, True, True])


@host("req.cancel-running", "a cancelled call gets no answer, the next one runs", "queue", "raw")
def cancel_running(target):
    s = target.server()
    call = s.start_exec("import time; time.sleep(30)")
    time.sleep(0.3)
    s.cancel(call)
    start = time.monotonic()
    equal(target.exec("print('next')")["stdout"], "next\n")
    within(time.monotonic() - start, 0, 3)


@host("req.cancel-queued", "a cancelled call that waits never starts", "queue", "raw", "processes")
def cancel_queued(target):
    s, name = target.server(), unique()
    first = s.start_exec("import time; time.sleep(0.4); print(1)")
    s.cancel(s.start_exec(named_program(name)))
    equal(structured(s.answer(first)["result"])["stdout"], "1\n")
    equal(target.exec("print(2)")["stdout"], "2\n")
    equal(named(name), [])


@host("req.cancel-finished", "a late cancel changes nothing", "queue", "raw")
def cancel_finished(target):
    s = target.server()
    call = s.start_exec("print(1)", id=773)
    s.answer(call)
    s.cancel(call)
    equal(target.exec("print(2)")["stdout"], "2\n")


@host("req.progress", "progress rises and ends with the answer; none without a token", "protocol", "raw")
def progress(target):
    s = target.server()
    call = s.start_exec("import time; time.sleep(1.6); print(1)", meta={"progressToken": "t"})
    seen = []
    while True:
        message = s.recv()
        if message.get("id") == call:
            break
        seen.append(message["params"])
    check(seen and all(p["progressToken"] == "t" and p.get("message") for p in seen), "progress is", seen)
    check(sorted(p["progress"] for p in seen) == [p["progress"] for p in seen], "it does not rise", seen)
    target.exec("import time; time.sleep(1.2)")
    equal(s.inbox, [])


@host("req.before-initialize", "a call before initialize, and initialize twice", "protocol", "second", "raw")
def before_initialize(target):
    with target.instance() as s:
        equal(structured(s.exec("print(1)"))["stdout"], "1\n")
        equal(s.initialize("1999-01-01")["protocolVersion"], LATEST)
        equal(s.initialize("2025-03-26")["protocolVersion"], "2025-03-26")


@host("req.batch", "a batch is answered as a batch or refused as one, never half", "protocol", "raw", "second")
def batch(target):
    with target.instance() as s:
        s.initialize("2025-03-26")
        s.send('[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"x"},7]')
        answer = s.recv()
        if isinstance(answer, dict):
            answer = [answer]
        check(all("error" in a or a.get("result") == {} for a in answer), "batch gave", answer)
        equal(s.request("ping")["result"], {})


@host("req.modern-claim", "a claim to an unknown version is refused with those that are known", "protocol", "raw")
def modern_claim(target):
    s = target.server()
    answer = s.request("ping", {"_meta": claim("2099-01-01")})
    check(MODERN in json.dumps(answer.get("error", {})), "no known version", answer)


@host("req.client-leaves", "when stdin ends in mid-run, server and run are gone soon", "supervisor", "second",
      "processes")
def client_leaves(target):
    with target.instance() as s:
        name = unique()
        s.start_exec(named_program(name, "import time; time.sleep(20)"))
        until(lambda: named(name), 10, "the run")
        s.close_stdin()
        equal(s.wait_exit(4), 0)
        soon(lambda: not named(name), 2, "the run is gone")


CASES = ARGUMENTS + TIMEOUTS + WIRE + IDS + SILENT + [
    line_beyond_all_caps, call_without_id_is_not_run, ids_of_another_type, id_in_use, eight_at_once, queue_full,
    cancel_running, cancel_queued, cancel_finished, progress, before_initialize, batch, modern_claim, client_leaves]
