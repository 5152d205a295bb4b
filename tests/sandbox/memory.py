#!/usr/bin/env python3
"""How exactly the limit on memory holds, by the peak that a result carries, under the default of 256 MiB."""
import re

from _sandbox import check, equal, expect, nothing_left, printed, server, structured
from mcp import SANITIZED, cases, main

MIB = 1 << 20
LIMIT = 256 * MIB
# How much one process may pass it; a build with sanitizers looks more slowly.
CLOSE = 2 if SANITIZED else 1.5

# Python's loops are slow at touching pages; C is as fast as it gets.
FILL = """
import ctypes, mmap, os, time
def fill(m, n): ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(m)), 1, n)
def private(n): return mmap.mmap(-1, n, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
"""


def ran(code, **more):
    """The structured result and the peak of memory in bytes."""
    result = server().exec(code, wait=60, **more)
    return structured(result), result["_meta"]["io.github.mcp-exec/run"]["peak_memory_bytes"]


def ended_for_memory(result):
    expect(result, limit="memory", timed_out=False)
    if result["signal"] is None:
        expect(result, exit_code=1, stderr=re.compile(r"MemoryError|\[Errno 12\]"))
    else:
        expect(result, exit_code=-1, signal="SIGKILL")


# What a single process may hold: the limit and a fifth, whatever it does.
ALONE = [
    ("one_block", "x = bytearray(1 << 30)"),
    ("one_private_mapping", "m = private(1 << 30); fill(m, 1 << 30)"),
    ("private_mappings", "l = []\nwhile True: l.append(private(16 << 20)); fill(l[-1], 16 << 20)"),
    ("mappings_made_before_they_are_filled", "a = private(200 << 20); time.sleep(.05); b = private(200 << 20)\n"
     "fill(a, 200 << 20); fill(b, 200 << 20)"),
    ("shared_mappings", "l = []\nwhile True: l.append(mmap.mmap(-1, 16 << 20)); fill(l[-1], 16 << 20)"),
    ("slow_growth", "l = []\nwhile True: l.append(b'x' * (1 << 20)); time.sleep(.002)"),
    ("fast_growth", "l = []\nwhile True: l.append(b'x' * (1 << 20))"),
    ("small_objects", "l = []\nwhile True: l.append({})"),
    ("one_doubling_string", "s = 'x'\nwhile True: s += s"),
    ("numpy_arrays", "import numpy\nl = []\nwhile True: l.append(numpy.ones(1 << 17))"),
    ("on_the_heap_of_c", "c = ctypes.CDLL(None); c.malloc.restype = ctypes.c_void_p\nwhile True:\n"
     "    p = c.malloc(1 << 20)\n    if not p: raise MemoryError\n    ctypes.memset(p, 1, 1 << 20)"),
    ("files_and_memory", "f = open('/tmp/f', 'wb', 0)\ntry:\n    while True: f.write(b'x' * 65536)\n"
     "except OSError: pass\nl = []\nwhile True: l.append(b'x' * (1 << 20))"),
    ("after_a_fork", "if os.fork(): os.wait(); os._exit(0)\nfill(mmap.mmap(-1, 200 << 20), 200 << 20)\nl = []\n"
     "while True: l.append(mmap.mmap(-1, 16 << 20)); fill(l[-1], 16 << 20)"),
]


@cases(ALONE)
def test_a_process_alone(code):
    result, peak = ran(FILL + code, timeout_s=60)
    ended_for_memory(result)
    check(peak < LIMIT * CLOSE, "peak in MiB:", peak // MIB)


# Many that grow at once pass it between two looks; by how much depends on their speed.
TOGETHER = [
    ("eight_that_grow", "for _ in range(8):\n    if os.fork() == 0:\n        m = private(100 << 20); fill(m, 100 << "
     "20); time.sleep(60)\ntime.sleep(60)"),
    ("sixty_four_that_grow", "for _ in range(64):\n    if os.fork() == 0:\n        m = private(12 << 20)\n"
     "        for i in range(12):\n            ctypes.memset(ctypes.addressof(ctypes.c_char.from_buffer(m)) + (i << "
     "20), 1, 1 << 20); time.sleep(.02)\n        time.sleep(60)\ntime.sleep(60)"),
    ("eight_with_shared_mappings", "for _ in range(8):\n    if os.fork() == 0:\n        m = mmap.mmap(-1, 60 << 20); "
     "fill(m, 60 << 20); time.sleep(60)\ntime.sleep(60)"),
]


@cases(TOGETHER)
def test_processes_together(code):
    result, peak = ran(FILL + code, timeout_s=60)
    expect(result, limit="memory", signal="SIGKILL", exit_code=-1, timed_out=False)
    check(peak < LIMIT * (4 if SANITIZED else 3), "peak in MiB:", peak // MIB)


def test_threads_that_grow_meet_it_one_by_one():
    """Which of them, or the main one, is refused first is chance; an exception in a thread is no end of the program."""
    result, peak = ran("import threading\ndef f():\n    l = []\n    while True: l.append(b'x' * (1 << 20))\n"
                       "t = [threading.Thread(target=f) for _ in range(8)]; [x.start() for x in t]; "
                       "[x.join() for x in t]; print('on')", timeout_s=60)
    check(peak < LIMIT * CLOSE, "peak in MiB:", peak // MIB)
    expect(result, timed_out=False)
    check(result["signal"] == "SIGKILL" or "MemoryError" in result["stderr"], "ended otherwise", result)
    check(result["exit_code"] != 0 or result["stdout"] == "on\n", "lost its end", result)


@cases([("bytearray", "bytearray(1 << 30)", "MemoryError"), ("mapping", "private(1 << 30)", "OSError"),
        ("numpy", "__import__('numpy').ones(1 << 28)", "MemoryError")])
def test_a_refusal_can_be_caught_and_life_goes_on(code, error):
    equal(printed(FILL + "for _ in range(50):\n    try: %s; print('got')\n    except %s: pass\n"
                  "x = bytearray(100 << 20); x[::4096] = b'x' * len(x[::4096]); print('on')" % (code, error)), "on\n")


def test_memory_that_was_given_back_can_be_used_again():
    equal(printed(FILL + "for _ in range(12):\n    m = private(150 << 20); fill(m, 150 << 20)\n    del m\nprint('on')"),
          "on\n")


# What would hold memory beside the limit is not there, or is the workspace and has its own.
BESIDE = [
    ("memfd", "os.memfd_create('x')", dict(exit_code=1, stderr=re.compile("Function not implemented"))),
    ("tmpfs", "f = open('/dev/shm/f', 'wb', 0)\nwhile True: f.write(b'x' * 65536)", dict(exit_code=1, limit="disk")),
    ("system_v", "c = ctypes.CDLL(None, use_errno=True)\nif c.shmget(0, 1 << 20, 0o1600) < 0: "
     "raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))",
     dict(exit_code=1, stderr=re.compile("Function not implemented|not permitted"))),
]


@cases(BESIDE)
def test_memory_beside_the_limit(code, want):
    result, peak = ran(FILL + code)
    expect(result, **want)
    check(peak < LIMIT, "peak in MiB:", peak // MIB)


def test_a_full_workspace_and_most_of_the_memory_go_together():
    """The workspace is not counted: both limits can be used up at once."""
    equal(printed(FILL + "f = open('f', 'wb', 0); [f.write(b'x' * (1 << 20)) for _ in range(60)]\n"
                  "m = private(200 << 20); fill(m, 200 << 20); print('on')"), "on\n")


def test_the_peak_is_what_was_used():
    for mib in (20, 100, 200):
        _, peak = ran(FILL + "m = private(%d << 20); fill(m, %d << 20); time.sleep(.2)" % (mib, mib))
        # Beside it there are Python and init, which in a sanitized build is large.
        check(mib * MIB < peak < (mib + (60 if SANITIZED else 30)) * MIB, "peak of %d MiB in MiB:" % mib, peak // MIB)


def test_nothing_is_left():
    nothing_left()


main()
