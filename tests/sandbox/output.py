#!/usr/bin/env python3
"""Output at its cap, in floods, of random bytes and of those who stay behind; and the reason of every death."""
import random
import re
import signal
import time

from _sandbox import check, equal, expect, nothing_left, printed, run, server, structured
from mcp import PATIENCE, cases, main, within

CAP = 1000
SMALL = {"MCP_EXEC_MAX_OUTPUT_BYTES": str(CAP), "MCP_EXEC_MAX_CPU_S": "1", "MCP_EXEC_TMP_BYTES": str(2 << 20),
         "MCP_EXEC_MAX_PROCESSES": "12"}
WRITE = "import os\ndef write(fd, data):\n    while data: data = data[os.write(fd, data):]\n"


def lengths(result):
    return len(result["stdout"]), len(result["stderr"])


@cases([("%d_and_%d" % (out, err), out, err) for out, err in
        ((CAP, 0), (0, CAP), (CAP - 1, 1), (1, CAP - 1), (500, 499), (500, 500))])
def test_up_to_the_cap_all_is_kept(out, err):
    result = run(WRITE + "write(1, b'o' * %d); write(2, b'e' * %d)" % (out, err), env=SMALL)
    equal(lengths(result), (out, err))
    expect(result, truncated=False, limit=None, exit_code=0, warnings=[])


@cases([("stdout", CAP + 1, 0, (CAP, 0)), ("stderr", 0, CAP + 1, (0, CAP)), ("both", 501, 500, (500, 500)),
        ("stderr_after_a_full_stdout", CAP, 1, (CAP - 1, 1)), ("much_of_both", 1 << 20, 1 << 20, None)])
def test_one_byte_more_than_the_cap_is_said(out, err, kept):
    result = run(WRITE + "write(1, b'o' * %d)\nimport time; time.sleep(.05)\nwrite(2, b'e' * %d)" % (out, err),
                 env=SMALL)
    equal(sum(lengths(result)), CAP)
    if kept:
        equal(lengths(result), kept)
    expect(result, truncated=True, limit="output", exit_code=0)
    check(any("output limit of 1000 bytes" in w for w in result["warnings"]), "no warning", result["warnings"])


@cases([(repr(data)[2:-1].replace("\\x", ""), data) for data in
        ("é".encode(), "€".encode(), "😀".encode(), b"\xff", b"\xed\xa0\x80", b"\xe2\x82", b"\xf0\x9f\x98")])
def test_bytes_at_the_cap(data):
    """Each byte of a sequence comes to lie on the cap: no character is made of half of one, and nothing is lost."""
    for before in range(CAP - len(data), CAP + 1):
        result = run(WRITE + "write(1, b'x' * %d + %r * 3)" % (before, data), env=SMALL)
        kept = (b"x" * before + data * 3)[:CAP]
        whole = kept.decode("utf-8", "replace")
        check(result["stdout"] in (whole, whole[:-1]), "odd end", result["stdout"][-5:], before)
        check(result["stdout"] == whole or whole.endswith("\ufffd"), "lost a character", before)
        expect(result, truncated=True, limit="output", exit_code=0)


def memory_kib(pid):
    """What a process has of its own now, and the most it ever had."""
    with open("/proc/%d/status" % pid) as file:
        text = file.read()
    return [int(re.search(r"%s:\s+(\d+)" % name, text).group(1)) for name in ("RssAnon", "VmHWM")]


@cases([("stdout", "1"), ("stderr", "2"), ("both", "1 + i % 2")])
def test_a_hundred_megabytes_are_dropped_without_growth(fd):
    s = server()
    s.exec("print('x' * 2000000)")
    pids = s.pid, s.worker()
    before = [memory_kib(pid) for pid in pids]
    result = structured(s.exec("import os\nb = b'x' * 100000\nfor i in range(1000): \n    n = 0\n"
        "    while n < len(b): n += os.write(%s, b[n:])\nos._exit(7)" % fd, timeout_s=60, wait=60))
    expect(result, truncated=True, limit="output", exit_code=7)
    equal(sum(lengths(result)), 1 << 20)
    for pid, old in zip(pids, before):
        for kind, then, now in zip(("RssAnon", "VmHWM"), old, memory_kib(pid)):
            check(now - then < 10240 * PATIENCE, "%s grew from %d to %d KiB" % (kind, then, now))


def test_a_hundred_and_fifty_random_outputs():
    seed = random.SystemRandom().getrandbits(32)
    rnd = random.Random(seed)
    for i in range(150):
        out, err = (bytes(rnd.choice((rnd.randrange(256), 0xe2, 0x82, 0xac, 0xf0, 0x9f, 0xed, 10, 0))
                          for _ in range(rnd.randrange(200))) for _ in "oe")
        result = run(WRITE + "write(1, %r); write(2, %r)" % (out, err))
        equal((result["stdout"], result["stderr"]), (out.decode("utf-8", "replace"), err.decode("utf-8", "replace")),
              "run %d of seed %d" % (i, seed))


def test_lone_surrogates_that_python_lets_through():
    expect(run("import sys\nsys.stdout.reconfigure(errors='surrogatepass'); print('a\\ud800b')"),
           stdout="a\ufffd\ufffd\ufffdb\n", exit_code=0)


# Who stays behind.

@cases([("an_orphan", "if os.fork() == 0: time.sleep(.4); os.write(1, b'late'); os._exit(0)"),
        ("a_daemon", "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        time.sleep(.4)\n"
         "        while True: os.write(2, b'late')\n    os._exit(0)"),
        ("a_stopped_child", "import signal\nif os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP); os.write(1, "
         "b'late')"),
        ("a_thread", "import threading\nthreading.Thread(target=lambda: (time.sleep(.4), os.write(1, b'late')), "
         "daemon=True).start()")])
def test_nothing_is_waited_for_after_the_main_program(code):
    start = time.monotonic()
    expect(run("import os, time\n%s\nprint('end')" % code), stdout="end\n", stderr="", exit_code=0, truncated=False)
    within(time.monotonic() - start, 0, 1.5)


@cases([("stdout", 1), ("stderr", 2)])
def test_an_orphan_that_floods_does_not_hold_the_answer(fd):
    start = time.monotonic()
    result = run("import os, time\nif os.fork() == 0:\n    while True: os.write(%d, b'f' * 4096)\n"
                 "time.sleep(.2); os._exit(5)" % fd)
    within(time.monotonic() - start, 0.2, 2)
    expect(result, exit_code=5, truncated=True, limit="output", timed_out=False)


def test_what_was_written_before_the_end_is_there():
    """Also what nobody had read from the pipe yet, and what a child wrote."""
    for _ in range(20):
        result = run("import os\nif os.fork() == 0: os.write(1, b'c' * 60000); os._exit(0)\n"
                     "os.wait(); os.write(2, b'e' * 60000); os._exit(3)")
        equal(lengths(result), (60000, 60000))
        expect(result, exit_code=3, truncated=False)


def test_pipes_that_do_not_block():
    result = run("import fcntl, os\nfor fd in (0, 1, 2): os.set_blocking(fd, False)\nn = full = 0\n"
                 "while n < 3000000:\n    try: n += os.write(1, b'x' * 65536)\n    except BlockingIOError: full += 1\n"
                 "os._exit(full > 0)")
    check(result["exit_code"] in (0, 1), "ended", result)
    expect(result, truncated=True, stdout="x" * (1 << 20))
    equal(printed("import os; print([os.get_blocking(fd) for fd in (0, 1, 2)])"), "[True, True, True]\n")


@cases([("stdout", "1"), ("stderr", "2"), ("stdin", "0")])
def test_a_pipe_of_another_size(fd):
    code = "import fcntl, os\ntry: fcntl.fcntl(%s, 1031, 4096)\nexcept OSError: pass\n" % fd
    expect(run(code + "for i in range(300): os.write(1, b'o' * 1000)\n", stdin="x" * 100000), stdout="o" * 300000,
           exit_code=0)


# Why it ended.

KILLS = [(s.name, s.name, int(s)) for s in signal.Signals if s.name not in
         ("SIGCHLD", "SIGCONT", "SIGURG", "SIGWINCH", "SIGSTOP", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGRTMIN",
          "SIGRTMAX", "SIGSTKFLT", "SIGCLD", "SIGPOLL")]


@cases(KILLS)
def test_killed_by_itself(name, number):
    result = run("import os, signal\nif %d != 9: signal.signal(%d, signal.SIG_DFL)\n"
        "print('x'); os.kill(os.getpid(), %d)\nimport time; time.sleep(5)" % (number, number, number))
    expect(result, exit_code=-1, signal=name, stdout="x\n", timed_out=False,
           limit="cpu_time" if name == "SIGXCPU" else None)


NATIVE = """
import ctypes, mmap, platform
code = {'x86_64': %r, 'aarch64': %r}[platform.machine()]
m = mmap.mmap(-1, 4096, prot=7); m.write(code)
ctypes.CFUNCTYPE(None)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()
"""
DEATHS = [
    ("segmentation_fault", "import ctypes; ctypes.string_at(0)", "SIGSEGV"),
    ("write_to_code", "import ctypes; ctypes.memset(ctypes.cast(ctypes.CDLL(None).abs, ctypes.c_void_p).value, 0, 9)",
     "SIGSEGV"),
    ("bus_error", "import mmap\nf = open('f', 'w+b'); f.truncate(4096); m = mmap.mmap(f.fileno(), 4096); "
     "f.truncate(0); m[0]", "SIGBUS"),
    ("illegal_instruction", NATIVE % (b"\x0f\x0b", b"\0\0\0\0"), "SIGILL"),
    # The other architecture divides by zero without a signal: brk is a trap there.
    ("division_in_native_code", NATIVE % (b"\x31\xc9\xb8\x01\0\0\0\x99\xf7\xf9", b"\0\0\x20\xd4"),
     ("SIGFPE", "SIGTRAP")),
    ("abort", "import ctypes; ctypes.CDLL(None).abort()", "SIGABRT"),
    ("fatal_error_of_python", "import ctypes; ctypes.pythonapi.Py_FatalError(b'made up')", "SIGABRT"),
    ("endless_recursion_in_c", "import ctypes\nF = ctypes.CFUNCTYPE(None)\nimport sys; sys.setrecursionlimit(10 ** 9)\n"
     "def f(): g()\ng = F(f)\ng()", "SIGSEGV"),
    ("of_a_program_it_became", "import os; os.execv('/bin/sh', ['sh', '-c', 'kill -SEGV $$'])", "SIGSEGV"),
    ("in_a_thread", "import ctypes, threading, time; threading.Thread(target=ctypes.string_at, args=(0,)).start(); "
     "time.sleep(5)", "SIGSEGV"),
    ("by_a_child", "import os, time\nif os.fork() == 0: os.kill(os.getppid(), 15); os._exit(0)\ntime.sleep(5)",
     "SIGTERM"),
    ("by_its_alarm", "import signal, time; signal.setitimer(0, .05); time.sleep(5)", "SIGALRM"),
    ("by_a_broken_pipe", "import os, signal; signal.signal(13, 0); r, w = os.pipe(); os.close(r); os.write(w, b'x')",
     "SIGPIPE"),
]


@cases(DEATHS)
def test_death_by(code, name):
    result = run(code)
    check(result["signal"] in ([name] if isinstance(name, str) else name), "signal", result)
    expect(result, exit_code=-1, limit=None, timed_out=False)


NOT_STARTED = [("missing", "os.execv('/no/such', ['x'])", "FileNotFoundError"),
               ("not_executable", "os.execv('main.py', ['x'])", "PermissionError"),
               ("a_directory", "os.execv('/usr', ['x'])", "PermissionError"),
               ("no_interpreter", "import subprocess; subprocess.run(['./main.py'])", "PermissionError"),
               ("too_long", "os.execv('/bin/true', ['x' * (1 << 22)])", "OSError")]


@cases(NOT_STARTED)
def test_an_exec_that_fails_is_an_exception(code, name):
    expect(run("import os\n" + code), exit_code=1, signal=None, limit=None, stderr=re.compile(r"\n%s: " % name))


def test_an_exec_of_what_fails_gives_its_code():
    expect(run("import os; os.execv('/bin/false', ['false'])"), exit_code=1, signal=None, limit=None, stderr="")
    expect(run("import os; os.execv('/bin/sh', ['sh', '-c', 'no-such-program'])"), exit_code=127, signal=None,
           limit=None)


FLOOD = "print('x' * 5000)\n"
RANKS = [
    ("wall_time", FLOOD + "while True: print('x' * 100); time.sleep(.001)", "wall_time", "SIGKILL"),
    ("cpu_time", FLOOD + "while True: pass", "cpu_time", "SIGXCPU"),
    ("memory", FLOOD + "x = bytearray(1 << 31)", "memory", None),
    ("processes", FLOOD + "while True:\n    if os.fork() == 0: time.sleep(9)", "processes", None),
    ("disk", FLOOD + "f = open('f', 'wb', 0)\nwhile True: f.write(b'x' * 65536)", "disk", None),
    ("output", FLOOD + "os._exit(4)", "output", None),
    ("output_and_a_signal", FLOOD + "os.abort()", "output", "SIGABRT"),
    ("output_and_an_exception", FLOOD + "1/0", "output", None),
]


@cases(RANKS)
def test_the_first_reason_is_named(code, limit, name):
    result = run("import os, time\n" + code, env=SMALL, timeout_s=2 if limit == "wall_time" else 12)
    expect(result, limit=limit, signal=name, truncated=True, timed_out=limit == "wall_time")


def test_nothing_is_left():
    nothing_left()
    nothing_left(server(**SMALL))


main()
