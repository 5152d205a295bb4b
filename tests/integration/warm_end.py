#!/usr/bin/env python3
"""A copy that is done is answered before the kernel has taken its memory apart: however a program ends, it is told as ever,
and nothing of it runs any more."""
from _warm import MODES, at_rest, needs_warm, server
import warm
from mcp import cases, check, equal, main, named, named_program, unique

# how, the program, what is printed, exit code.
ENDS = [
    ("by itself", "print('x')", "x\n", 0),
    ("by a number", "import sys\nprint('x')\nsys.exit(3)", "x\n", 3),
    ("by a large number", "import sys\nprint('x')\nsys.exit(256 + 7)", "x\n", 7),
    ("by an exception", "print('x')\n1 / 0", "x\n", 1),
    ("by the system call", "import os\nos.write(1, b'x')\nos._exit(5)", "x", 5),
    ("by exit(3) of C", "import ctypes\nctypes.CDLL(None).printf(b'x')\nctypes.CDLL(None).exit(6)", "x", 6),
    ("by exit functions", "import atexit\natexit.register(print, 'x')", "x\n", 0),
    ("with what C has to write", "import ctypes\nctypes.CDLL(None).printf(b'x')", "x", 0),
    ("with a child that is waited for", "import os\nif os.fork() == 0: raise SystemExit(9)\n"
     "print(os.waitstatus_to_exitcode(os.wait()[1]))", "9\n", 0),
    ("with a child that is not", "import os\nif os.fork() == 0: raise SystemExit(9)\nprint('x')", "x\n", 0),
    ("with closed streams", "import os\nprint('x', flush=True)\nos.close(1)\nos.close(2)\nos.close(0)", "x\n", 0),
    ("with a lot in the pipe", "print('x' * 300000)", "x" * 300000 + "\n", 0),
]
# The call of worker/report.h, by a program.
SAYS_SO = """
import ctypes, os
libc = ctypes.CDLL(None)
def say_so(status): libc.syscall(169 if os.uname().machine == "x86_64" else 142, 0x65786563, status, 0, 0)
"""
LINGER = """
def linger():
    while True:
        try: os.write(1, b".")
        except OSError: pass
"""


@cases(MODES)
def test_ends_are_told_alike(mode):
    needs_warm()
    with server(MCP_EXEC_WARM=mode) as s:
        if mode == "1":
            warm.warmed(s)
        for how, code, stdout, exit_code in ENDS:
            got = s.exec(code)["structuredContent"]
            equal((got["stdout"], got["exit_code"], got["limit"], got["signal"]), (stdout, exit_code, None, None), how)
        at_rest(s)


def test_usage_is_told():
    needs_warm()
    with server() as s:
        warm.warmed(s)
        result = s.exec("x = bytearray(50 << 20)\nfor i in range(2000000): pass")
        run = result["_meta"]["io.github.mcp-exec/run"]
        equal(run["start"], warm.WARM)
        check(run["peak_memory_bytes"] > 50 << 20, "memory", run)
        check(run["cpu_ms"] > 10, "CPU time", run)


def test_who_says_so_itself_ends_itself():
    needs_warm()
    with server() as s:
        warm.warmed(s)
        for _ in range(5):
            got = s.exec(SAYS_SO + "print('x', flush=True)\nsay_so(7)\nprint('y', flush=True)")["structuredContent"]
            equal((got["stdout"], got["exit_code"]), ("x\n", 7))
        at_rest(s)


def test_others_who_say_so_are_refused():
    needs_warm()
    with server() as s:
        warm.warmed(s)
        got = s.exec(SAYS_SO + """
if os.fork() == 0:
    say_so(7)
    print('refused', flush=True)
    os._exit(0)
os.wait()
print('x')""")["structuredContent"]
        equal((got["stdout"], got["exit_code"]), ("refused\nx\n", 0))


@cases([("children", "if os.fork() == 0: linger()"), ("threads", "import threading\n"
                 "threading.Thread(target=linger, daemon=True).start()")])
def test_what_is_left_is_dead_before_the_answer(begin):
    """Also when a program says that there is nothing."""
    needs_warm()
    name = unique()
    with server() as s:
        warm.warmed(s)
        for _ in range(5):
            got = s.exec(SAYS_SO + LINGER + named_program(name, begin) + "\nsay_so(7)")
            equal(named(name), [], "alive after the answer:")
            equal((got["structuredContent"]["exit_code"], got["structuredContent"]["stderr"]), (7, ""))
        at_rest(s)


if __name__ == "__main__":
    main()
