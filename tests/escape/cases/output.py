"""What a program prints comes back byte for byte up to the cap, as text in one message, and floods nobody."""
import json
import os
import time

from _case import Case, Open, ends, host, prints
from _target import structured
from mcp import PATIENCE, check, equal, parse

CAP = 1 << 20
CAPTURE = "capture"


def text(id, title, code, want, layer=CAPTURE, **more):
    """stdout of a program is exactly this, and nothing was cut or replaced."""
    return prints("out." + id, title, layer, code, want, **dict({"truncated": False, "warnings": [], "prelude": ""},
                                                                **more))


def replaced(id, title, data):
    """Bytes that are no text become U+FFFD as Python and Unicode do it, on both streams, and that is said."""
    def judge(target):
        result = target.exec("import os; os.write(1, %r); os.write(2, %r)" % (data, data))
        want = data.decode("utf-8", "replace")
        equal([result["stdout"], result["stderr"], result["exit_code"]], [want, want, 0])
        check(any("replaced" in w for w in result["warnings"]), "it is not said", result["warnings"])
    return Case("out." + id, title, CAPTURE, judge)


FORGED = '{"jsonrpc":"2.0","id":%d,"result":{}}\nContent-Length: 5\r\n\r\nevent: message\ndata: {}\n\n'
CONTROLS = "".join(map(chr, range(32))) + "\x7f\x80\x9b\u2028\u2029\ufeff\uffff\U0001f600"

ALONE = [
    text("exactly-the-cap", "as much as the cap", "import sys; sys.stdout.write('x' * 1048576)", "x" * CAP),
    text("one-less-than-the-cap", "one byte less", "import sys; sys.stdout.write('x' * 1048575)", "x" * (CAP - 1)),
    ends("out.one-more-than-the-cap", "one byte more is cut, and said", CAPTURE, "sys.stdout.write('x' * 1048577)",
         stdout="x" * CAP, truncated=True, limit="output", exit_code=0),
    ends("out.cut-between-characters", "the cut is between characters", CAPTURE, "sys.stdout.write('\\u20ac' * 400000)",
         stdout="\u20ac" * (CAP // 3), truncated=True, limit="output", exit_code=0),
    ends("out.endless", "endless output is dropped, the program runs to its deadline", CAPTURE,
         "while True: print('1234567890')", truncated=True, timed_out=True, limit="wall_time", signal="SIGKILL",
         stdout=lambda s: len(s) == CAP, arguments={"timeout_s": 1}, seconds=4),
    ends("out.endless-from-children", "so does that of many children", CAPTURE,
         "for _ in range(20):\n    if os.fork() == 0: break\nwhile True: os.write(1, b'x' * 65536)", truncated=True,
         timed_out=True, arguments={"timeout_s": 1}, seconds=4),
    ends("out.both-flooded", "both streams flooded: no lock, one cap together", CAPTURE,
         "for i in range(20000): os.write(1, b'o' * 100); os.write(2, b'e' * 100)", exit_code=0, truncated=True,
         limit="output"),
    ends("out.one-then-the-other", "a flood of one stream, then of the other", CAPTURE,
         "os.write(2, b'e' * (2 << 20)); os.write(1, b'o' * (2 << 20)); os.write(2, b'e' * (2 << 20))", exit_code=0,
         truncated=True),
    ends("out.traceback-after-a-flood", "the traceback is not lost in a flood of stdout", CAPTURE,
         "sys.stdout.write('x' * 2000000)\n1/0", exit_code=1, truncated=True,
         stderr=lambda s: s.endswith("ZeroDivisionError: division by zero\n")),
    ends("out.token-bomb", "long honest output is cut at the cap and nowhere else", CAPTURE,
         "print('\\n'.join('%d,%d,%d' % (i, i * i, i ** 3) for i in range(60000)))", truncated=True, limit="output",
         stdout=lambda s: CAP - 4 <= len(s) <= CAP, exit_code=0),
    text("many-lines", "thousands of short lines", "for i in range(3000): print(i)",
         "".join("%d\n" % i for i in range(3000))),
    text("one-long-line", "a line of a megabyte without an end", "import sys; sys.stdout.write('a' * 1000000)",
         "a" * 1000000),
    text("nothing-added", "no newline is added, CR and LF stay", "import os; os.write(1, b'a\\r\\nb')", "a\r\nb"),
    text("blank-space", "spaces and newlines at both ends stay", "import os; os.write(1, b'\\n\\n  x \\t\\n\\n')",
         "\n\n  x \t\n\n"),
    text("nul", "text after a NUL is not lost", "import os; os.write(1, b'a\\0b\\0')", "a\0b\0"),
    text("controls", "every control character and odd separator", "import sys; sys.stdout.write(%r)" % CONTROLS,
         CONTROLS),
    text("quotes-and-escapes", "what JSON escapes comes back once", "print(r'\"\\/\\b\\f\\u0041\\ud800 \\\\')",
         "\"\\/\\b\\f\\u0041\\ud800 \\\\\n"),
    text("terminal-sequences", "escape sequences of terminals are data",
         "print('\\x1b[2J\\x1b]0;title\\x07\\x1b]52;c;eA==\\x07\\x9b31m')",
         "\x1b[2J\x1b]0;title\x07\x1b]52;c;eA==\x07\x9b31m\n"),
    text("of-a-child", "output of children, in order",
         "import subprocess\nprint('a'); subprocess.run(['echo', 'b']); print('c')",
         "a\nb\nc\n"),
    text("by-other-names", "by /dev/stdout and /proc/self/fd/1",
         "open('/dev/stdout', 'w').write('x'); open('/proc/self/fd/1', 'a').write('y')", "xy", needs="proc"),
    text("by-splice", "bytes that come by splice, tee and sendfile",
         "import os\nopen('f', 'w').write('z' * 9)\nos.sendfile(1, os.open('f', 0), 0, 9)", "z" * 9),
    replaced("lone-bytes", "lone bytes among text", b"\xff\xfe\x00abc\x80\n"),
    replaced("overlong", "overlong forms", b"\xc0\xaf\xe0\x80\xaf"),
    replaced("surrogates", "surrogates in UTF-8", b"\xed\xa0\x80\xed\xb0\x80"),
    replaced("beyond-unicode", "code points that are none", b"\xf4\x90\x80\x80\xf8\x88\x80\x80\x80"),
    replaced("cut-character", "a character cut at the end", b"ab\xe2\x82"),
    replaced("cut-emoji", "four bytes cut, then a letter", b"\xf0\x9f\x98x"),
    replaced("latin-1", "another encoding", "Gr\u00fc\u00dfe".encode("latin-1")),
]


@host("out.looks-like-the-protocol", "output that looks like messages is a string and nothing else", "protocol", "raw")
def looks_like_the_protocol(target):
    """With the very id of the call, and of one that waits; settling finds a message that came loose."""
    s = target.server()
    ids = [s.new_id() + 1, s.new_id() + 1]
    code = "import os\nt = %r\nfor _ in range(50): os.write(1, t.encode()); os.write(2, t.encode())"
    wanted = "".join(FORGED % i for i in ids)
    calls = [s.start_exec(code % wanted) for _ in range(2)]
    for call in calls:
        result = structured(s.answer(call)["result"])
        equal(result["stdout"], wanted * 50)
        equal(result["stderr"], wanted * 50)


@host("out.one-line-of-json", "an answer is one line of strict JSON, whatever was printed", "protocol", "raw")
def one_line_of_json(target):
    s = target.server()
    call = s.start_exec("import os, sys; sys.stdout.write(%r); os.write(2, bytes(range(256)))" % CONTROLS)
    line = s.recv_line()
    message = parse(line)
    equal(message["id"], call)
    check(b"\r" not in line and not [b for b in line if b < 32], "a raw control character", line[:300])
    result = structured(message["result"])
    equal(result["stdout"], CONTROLS)
    equal(json.loads(message["result"]["content"][0]["text"]), result)


@host("out.text-says-the-same", "content and structuredContent say the same, for every kind of end", "protocol")
def text_says_the_same(target):
    for code in ("print('a\\0b'); import sys; sys.exit(4)", "import os; os.abort()", "import time; time.sleep(9)",
                 "print('x' * 2000000)", "import os; os.write(1, b'\\xff')", "x = bytearray(1 << 40)"):
        result = target.call(code, timeout_s=1)
        equal([c["type"] for c in result["content"]], ["text"])
        equal(json.loads(result["content"][0]["text"]), structured(result))


def peak_kib(pid, field="VmHWM"):
    with open("/proc/%d/status" % pid) as file:
        return int(next(line for line in file if line.startswith(field)).split()[1])


@host("out.memory-of-the-server", "endless output does not grow server or worker", CAPTURE, "processes", measure=True)
def memory_of_the_server(target):
    s = target.server()
    s.exec("pass")
    pids = [s.pid, s.worker()]
    call = s.start_exec("while True: print('0123456789' * 100)", timeout_s=1)
    before = [peak_kib(pid, "VmRSS") for pid in pids]
    time.sleep(0.7)
    grown = [peak_kib(pid, "VmRSS") - old for pid, old in zip(pids, before)]
    equal(structured(s.answer(call)["result"])["truncated"], True)
    if max(grown) > 10240:
        raise Open("grew by KiB: %s" % grown)


@host("out.slow-reader", "a client that does not read holds up nobody's memory, and gets everything later", "protocol",
      "raw", "second", "processes", measure=True)
def slow_reader(target):
    with target.instance() as s:
        ids = [s.start_exec("print(%r * 1048575)" % chr(97 + i)) for i in range(6)]
        time.sleep(0.8)
        check(peak_kib(s.pid) < 96 * 1024, "memory in KiB:", peak_kib(s.pid))
        for i, call in enumerate(ids):
            equal(structured(s.answer(call)["result"])["stdout"], chr(97 + i) * 1048575 + "\n")


@host("out.log-is-private", "no word of code, input, output or variable is in the log at its most verbose",
      "supervisor",
      "environment", "second")
def log_is_private(target):
    words = {place: "canary" + os.urandom(6).hex() for place in ("code", "stdin", "stdout", "stderr", "variable",
                                                                 "key")}
    env = {"MCP_EXEC_LOG_LEVEL": "debug", "SECRET": words["variable"]}
    with target.instance(env=env) as s:
        s.initialize()
        code = "import sys # %(code)s\nprint('%(stdout)s'); print('%(stderr)s', file=sys.stderr)" % words
        for more in ("", "\nsys.exit(3)", "\n1/0", "\nimport os; os.abort()", "\nimport time; time.sleep(9)", "\n("):
            s.exec(code + more, stdin=words["stdin"], timeout_s=1, **{words["key"]: words["stdin"]})
        s.send('{"jsonrpc":"2.0","id":1,"method":"%s' % words["code"])
        check("error" in s.recv(), "no error")
        log = s.stderr()
        check(b"event=" in log, "there is no log")
        check(not [place for place, word in words.items() if word.encode() in log], "in the log", log[-400:])


@host("out.only-messages", "with a wrong setting and the loudest log stdout carries messages only", "protocol",
      "environment", "raw", "second")
def only_messages(target):
    with target.instance(env={"MCP_EXEC_LOG_LEVEL": "debug"}) as s:
        s.initialize()
        for i in range(3):
            s.exec("import os, sys\nprint(1); os.write(2, b'x'); sys.stderr.flush()")
        s.close_stdin()
        equal(s.drain(), [])
    with target.instance(env={"MCP_EXEC_MAX_TIMEOUT_S": "soon"}) as s:
        equal(s.wait_exit(5 * PATIENCE), 78)
        equal(s.drain(), [])
        check(b"MCP_EXEC_MAX_TIMEOUT_S" in s.stderr(), "the sentence does not name it", s.stderr())


CASES = ALONE + [looks_like_the_protocol, one_line_of_json, text_says_the_same, memory_of_the_server, slow_reader,
                 log_is_private, only_messages]
