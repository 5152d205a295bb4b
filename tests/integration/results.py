#!/usr/bin/env python3
"""Ten thousand random outputs: every result is strict JSON, and its text is what Python's own decoder makes of them."""
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import PATIENCE, ROOT, check, equal, main, parse  # noqa: E402

BUILD = os.environ.get("MCP_EXEC_BUILD") or os.path.join(ROOT, "build")
N = 10000

# What goes wrong in text lies at the edges of the encoding, where random bytes seldom come.
ODD = [b"\x00", b"\x1b[0m", b"\x7f", b"\x80", b"\xbf", b"\xc0\xaf", b"\xc2", b"\xdf\xbf", b"\xe0\x80", b"\xe0\xa0",
       b"\xed\x9f\xbf", b"\xed\xa0\x80", b"\xed\xbf\xbf", b"\xef\xbf\xbd", b"\xef\xbf\xbf", b"\xef\xbb\xbf",
       b"\xe2\x80\xa8", b"\xe2\x80\xa9", b"\xf0\x80", b"\xf0\x90\x80\x80", b"\xf0\x9f\x98", b"\xf4\x8f\xbf\xbf",
       b"\xf4\x90", b"\xf5", b"\xff", b"\xfe", b'"', b"\\", b"\\u0000", b"\\ud800", b"/", b"</script>", b"\r\n", b"\n",
       b'{"jsonrpc":"2.0"}', b'","exit_code":7,"x":"', "é€😀".encode(), b"a" * 40]
ODD += [bytes([i]) for i in range(32)]


def random_output(rnd):
    kind = rnd.randrange(4)
    if kind == 0:
        return rnd.randbytes(rnd.randrange(200))
    if kind == 1:
        return bytes(rnd.choice(b"\xe2\x82\xac\xf0\x9f\x98\x80\xed\xa0\xc2A") for _ in range(rnd.randrange(60)))
    data = b"".join(rnd.choice(ODD) for _ in range(rnd.randrange(40)))
    return data if kind == 2 else data[:rnd.randrange(len(data) + 1)]


def is_begun(tail):
    """Whether more bytes can make one character of these; an incremental decoder says so of surrogates too."""
    for missing in (b"\x80", b"\xbf", b"\x80\x80", b"\xbf\x80", b"\x80\x80\x80", b"\xbf\x80\x80"):
        try:
            if len((tail + missing).decode("utf-8")) == 1:
                return True
        except UnicodeDecodeError:
            pass
    return False


def text_of(data, cut):
    """As Python has it; where output was cut, half a character at the end is left out."""
    if cut:
        data = next((data[:-n] for n in (1, 2, 3) if n <= len(data) and is_begun(data[-n:])), data)
    return data.decode("utf-8", "replace")


def test_ten_thousand_random_outputs():
    seed = random.SystemRandom().getrandbits(32)
    rnd = random.Random(seed)
    sent = []
    for _ in range(N):
        cuts = rnd.random() < .3, rnd.random() < .3
        sent.append((random_output(rnd), random_output(rnd)) + cuts)
    records = [struct.pack("=IIII", out_cut, err_cut, len(out), len(err)) + out + err
               for out, err, out_cut, err_cut in sent]
    done = subprocess.run([os.path.join(BUILD, "tests", "fake_server")], input=b"".join(records), timeout=60 * PATIENCE,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    equal((done.returncode, done.stderr), (0, b""), "seed %d" % seed)
    lines = done.stdout.split(b"\n")
    equal((len(lines), lines.pop()), (N + 1, b""), "lines")
    for i, (line, (out, err, out_cut, err_cut)) in enumerate(zip(lines, sent)):
        where = "record %d of seed %d:" % (i, seed)
        result = parse(line)
        equal(result["structuredContent"]["stdout"], text_of(out, out_cut), where)
        equal(result["structuredContent"]["stderr"], text_of(err, err_cut), where)
        equal(result["structuredContent"]["exit_code"], 0, where)
        equal(result["structuredContent"]["truncated"], out_cut or err_cut, where)
        equal(parse(result["content"][0]["text"].encode("utf-8")), result["structuredContent"], where)
        check(all(c >= 0x20 and c != 0x7f for c in line), "control characters in", where, line)


main()
