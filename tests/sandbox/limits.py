#!/usr/bin/env python3
"""Every limit holds, says its name when it ended a run, and leaves the next run alone."""
import re
import time

from _sandbox import check, equal, expect, nothing_left, printed, run, server, structured
from mcp import cases, main, within

KILLED = dict(exit_code=-1, signal="SIGKILL")
SMALL = {"MCP_EXEC_TMP_BYTES": str(8 << 20), "MCP_EXEC_MEMORY_BYTES": str(96 << 20), "MCP_EXEC_MAX_PROCESSES": "16",
         "MCP_EXEC_MAX_CPU_S": "1", "MCP_EXEC_MAX_OUTPUT_BYTES": "1000"}


def timed(code, **more):
    start = time.monotonic()
    result = run(code, **more)
    return result, time.monotonic() - start


# Time.

@cases([("spinning", "while True: pass"), ("sleeping", "import time; time.sleep(60)"),
        ("waiting_for_a_child", "import subprocess; subprocess.run(['sleep', '60'])"),
        ("stopped", "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"),
        ("writing", "while True: print('1234567890' * 100)")])
def test_wall_time(code):
    result, seconds = timed(code, timeout_s=1)
    expect(result, timed_out=True, limit="wall_time", **KILLED)
    within(seconds, 1.0, 1.7)
    check(1000 <= result["duration_ms"] < 1700, "duration", result["duration_ms"])


def test_what_was_printed_before_the_deadline_is_kept():
    result = run("import sys, time\nprint('out')\nprint('err', file=sys.stderr)\nsys.stdout.write('half')\n"
                 "time.sleep(60)",
                 timeout_s=1)
    expect(result, stdout="out\nhalf", stderr="err\n", timed_out=True)


@cases([("alone", "while True: pass"), ("in_threads", "import threading\ndef f():\n    while True: pass\n"
                                                      "threading.Thread(target=f).start()\nf()")])
def test_cpu_time(code):
    expect(run(code, env=SMALL, timeout_s=8), timed_out=False, limit="cpu_time", exit_code=-1, signal="SIGXCPU")


def test_cpu_time_with_the_signal_ignored():
    result = run("import signal\nsignal.signal(signal.SIGXCPU, signal.SIG_IGN)\nwhile True: pass", env=SMALL,
                 timeout_s=8)
    expect(result, timed_out=False, limit="cpu_time", **KILLED)


def test_sleep_is_no_cpu_time():
    expect(run("import time; time.sleep(1.3); print('ok')", env=SMALL), stdout="ok\n", exit_code=0, limit=None)


def test_one_cpu_is_granted():
    equal(printed("import os; print(len(os.sched_getaffinity(0)), os.environ['OMP_NUM_THREADS'])"),
          "1 1\n")


# Memory: a MemoryError, or killed; both say memory.

MEMORY_ERROR = [
    ("one_block", "x = bytearray(1 << 30)"),
    ("just_over", "x = bytearray(270 << 20)"),
    ("huge", "x = bytearray(1 << 40)"),
    ("growing", "l = []\nwhile True: l.append(bytearray(10 << 20))"),
    ("growing_slowly", "import time\nl = []\nwhile True: l.append(bytearray(1 << 20)); time.sleep(0.001)"),
    ("string", "x = 'x' * (1 << 30)"),
    ("list", "x = []\nwhile True: x.append(object())"),
    ("recursion_of_dicts", "d = {}\ni = 0\nwhile True: d[i] = str(i) * 50; i += 1"),
    ("numpy", "import numpy\nx = numpy.ones((1 << 27,))"),
]


@cases(MEMORY_ERROR)
def test_memory_of_one_process(code):
    result = run("print('before')\n" + code + "\nprint('GOT')")
    expect(result, limit="memory", timed_out=False, stdout="before\n")
    if result["signal"] is None:
        expect(result, exit_code=1, stderr=re.compile(r"MemoryError"))
    else:
        expect(result, **KILLED)


def test_most_of_the_memory_can_be_used():
    equal(printed("x = bytearray(210 << 20); x[::4096] = b'x' * len(x[::4096]); print(len(x) >> 20)"), "210\n")
    equal(printed("l = []\nfor _ in range(210): l.append(bytearray(1 << 20))\nprint(len(l))"), "210\n")


def test_a_memory_error_can_be_caught():
    expect(run("try: x = bytearray(1 << 30)\nexcept MemoryError: print('caught')"), stdout="caught\n", exit_code=0,
           limit=None)


TOGETHER = [
    ("eight_children", """
import os, time
for _ in range(8):
    if os.fork() == 0:
        x = bytearray(100 << 20); time.sleep(30)
time.sleep(30); print('GOT')
"""),
    ("shared_mapping", """
import mmap
m = mmap.mmap(-1, 1 << 30)
for i in range(0, 1 << 30, 4096): m[i] = 1
print('GOT')
"""),
    ("a_grandchild", """
import subprocess, sys
lines = ["import mmap", "m = mmap.mmap(-1, 1 << 30)", "for i in range(512): m.write(b'x' * (1 << 20))", "print('GOT')"]
subprocess.run([sys.executable, "-c", chr(10).join(lines)])
"""),
    ("a_child_of_a_thread", """
import mmap, os, threading, time
def child():
    if os.fork() == 0:
        m = mmap.mmap(-1, 1 << 30)
        for i in range(0, 1 << 30, 4096): m[i] = 1
        print('GOT'); time.sleep(30)
t = threading.Thread(target=child); t.start(); t.join(); time.sleep(30)
"""),
    ("many_small_ones", """
import mmap, os, time
for _ in range(40):
    if os.fork() == 0:
        m = mmap.mmap(-1, 16 << 20)
        for i in range(0, 16 << 20, 4096): m[i] = 1
        time.sleep(30)
time.sleep(30)
"""),
    ("shared_pages_in_nobody_s_page_table", """
import mmap
m = mmap.mmap(-1, 1 << 30)
for at in range(0, 1 << 30, 16 << 20):
    for i in range(at, at + (16 << 20), 4096): m[i] = 1
    m.madvise(mmap.MADV_DONTNEED, at, 16 << 20)
print('GOT')
"""),
    ("shared_pages_touched_by_a_child_that_is_gone", """
import mmap, os
for m in [mmap.mmap(-1, 100 << 20) for _ in range(8)]:
    if os.fork() == 0:
        for i in range(0, 100 << 20, 4096): m[i] = 1
        os._exit(0)
    os.wait()
print('GOT')
"""),
    ("many_small_mappings_touched_by_children_that_are_gone", """
import mmap, os, time
for _ in range(40):
    if os.fork() == 0:
        m = mmap.mmap(-1, 15 << 20)
        if os.fork() == 0:
            for i in range(0, 15 << 20, 4096): m[i] = 1
            os._exit(0)
        os.wait(); time.sleep(30)
time.sleep(30); print('GOT')
"""),
    ("threads_whose_leader_has_exited", """
import ctypes, os, platform, threading, time
def work():
    time.sleep(0.05); x = bytearray(200 << 20)
    for i in range(0, len(x), 4096): x[i] = 1
    time.sleep(30)
for _ in range(3):
    if os.fork() == 0:
        threading.Thread(target=work).start()
        ctypes.CDLL(None).syscall(60 if platform.machine() == 'x86_64' else 93, 0)
time.sleep(30); print('GOT')
"""),
    ("page_tables", """
import ctypes
libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
size = 300 << 30
p = libc.mmap(None, size, 1, 0x4022, -1, 0)
libc.madvise(ctypes.c_void_p(p), ctypes.c_size_t(size), 15)
for at in range(0, size, 2 << 20): ctypes.c_char.from_address(p + at).value
print('GOT')
"""),
    ("a_daemon", """
import mmap, os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        m = mmap.mmap(-1, 1 << 30)
        for i in range(0, 1 << 30, 4096): m[i] = 1
        print('GOT')
    os._exit(0)
time.sleep(30)
"""),
]


@cases(TOGETHER)
def test_memory_of_all_processes_together(code):
    result, seconds = timed(code, timeout_s=15)
    expect(result, limit="memory", timed_out=False, stdout="", **KILLED)
    within(seconds, 0, 8)


def test_pages_shared_by_fork_count_once():
    equal(printed("""
import os, time
x = bytearray(100 << 20)
for i in range(0, len(x), 4096): x[i] = 1
children = []
for _ in range(6):
    pid = os.fork()
    if pid == 0: time.sleep(0.4); os._exit(0)
    children.append(pid)
print([os.waitpid(p, 0)[1] for p in children])
"""), "[0, 0, 0, 0, 0, 0]\n")


def test_shared_memory_in_nobody_s_page_table_and_private_memory_add_up():
    result = run("""
import mmap, os, time
m = mmap.mmap(-1, 200 << 20)
if os.fork() == 0:
    for i in range(0, 200 << 20, 4096): m[i] = 1
    os._exit(0)
os.wait()
if os.fork() == 0: time.sleep(30)
held = []
for _ in range(190): held.append(b'x' * (1 << 20)); time.sleep(0.005)
print('GOT')
""")
    expect(result, limit="memory", stdout="", timed_out=False)


HONEST = [
    ("children_that_become_other_programs", """
import os, subprocess, time
x = bytearray(160 << 20)
for i in range(0, len(x), 4096): x[i] = 1
until = time.time() + 2
while time.time() < until: subprocess.run(['/bin/true'], check=True); os.system('true')
"""),
    ("a_pool_over_data_of_the_parent", """
import multiprocessing
x = bytearray(100 << 20)
for i in range(0, len(x), 4096): x[i] = 1
def f(i): return len(bytearray(6 << 20))
with multiprocessing.get_context('fork').Pool(4) as pool: pool.map(f, range(64), chunksize=1)
"""),
    ("a_hundred_children", """
import os, time
for _ in range(100):
    if os.fork() == 0: time.sleep(0.5); os._exit(0)
for _ in range(100): os.wait()
"""),
]


@cases(HONEST)
def test_memory_that_is_shared_is_no_reason_to_die(code):
    equal(printed(code + "print('ok')", timeout_s=20), "ok\n")


def test_reservations_do_not_count():
    # The pause lets the watch look once: what is reserved within one of its intervals must fit below the limit.
    equal(printed("import mmap, threading, time\nm = mmap.mmap(-1, 200 << 20, flags=mmap.MAP_PRIVATE | "
                  "mmap.MAP_ANONYMOUS)\n"
                  "time.sleep(0.05)\n"
                  "t = [threading.Thread(target=time.sleep, args=(0.2,)) for _ in range(100)]\n"
                  "[x.start() for x in t]; [x.join() for x in t]; print('ok')"), "ok\n")


def test_memory_limit_follows_its_variable():
    expect(run("x = bytearray(60 << 20); x[::4096] = b'x' * len(x[::4096]); print('ok')", env=SMALL), stdout="ok\n",
           exit_code=0)
    expect(run("l = []\nwhile True: l.append(bytearray(1 << 20))", env=SMALL), limit="memory")


def test_three_servers_with_full_memory_do_not_meet():
    servers = [server(**{"MCP_EXEC_MAX_QUEUE": str(i)}) for i in (5, 6, 7)]
    calls = [s.start_exec("import time\nx = bytearray(200 << 20); time.sleep(0.3); print('ok')") for s in servers]
    for s, call in zip(servers, calls):
        equal(structured(s.answer(call)["result"])["stdout"], "ok\n")


# Processes and descriptors.

def test_a_fork_bomb_meets_its_limit_and_others_do_not_notice():
    bomb, other = server(), server(**SMALL)
    call = bomb.start_exec("import os\nwhile True:\n    try: os.fork()\n    except OSError: pass", timeout_s=2)
    time.sleep(0.3)
    start = time.monotonic()
    equal(structured(other.exec("print('ok')"))["stdout"], "ok\n")
    within(time.monotonic() - start, 0, 1.5)
    equal(bomb.request("ping")["result"], {})
    expect(structured(bomb.answer(call)["result"]), timed_out=True, limit="wall_time", **KILLED)
    equal(printed("print('next')"), "next\n")
    nothing_left(bomb)


def test_an_uncaught_refusal_of_a_process_is_named():
    expect(run("import os, time\nwhile True:\n    if os.fork() == 0: time.sleep(30)"), limit="processes", exit_code=1,
           stderr=re.compile("BlockingIOError"))


def test_an_uncaught_refusal_of_a_thread_is_named():
    expect(run("import threading, time\nwhile True: threading.Thread(target=time.sleep, args=(30,), "
               "daemon=True).start()"),
           limit="processes", exit_code=1, stderr=re.compile("can't start new thread"))


COUNT = """
import os, time
n = 0
try:
    while n < 500:
        if os.fork() == 0: time.sleep(30)
        n += 1
except BlockingIOError: pass
"""


def test_processes_are_counted():
    code = COUNT + "print(n)"
    check(120 <= int(printed(code)) <= 126, "with 128")
    check(10 <= int(printed(code, env=SMALL)) <= 14, "with 16")


def test_two_bombs_do_not_take_each_others_share():
    code = COUNT + "time.sleep(0.3)\nprint(n >= 120)"
    servers = [server(**{"MCP_EXEC_MAX_QUEUE": str(i)}) for i in (5, 6)]
    calls = [s.start_exec(code) for s in servers]
    equal([structured(s.answer(c)["result"])["stdout"] for s, c in zip(servers, calls)], ["True\n"] * 2)


def test_open_files():
    equal(printed("import errno\nl = []\ntry:\n    while True: l.append(open('/dev/null'))\n"
                  "except OSError as e: n = len(l); l.clear(); print(errno.errorcode[e.errno], n)"), "EMFILE 253\n")


# Disk.

FILL = "n = 0\ntry:\n    with open(%r, 'wb', 0) as f:\n        while True: n += f.write(b'x' * (1 << 16))\n" \
       "except OSError as e: import errno; print(errno.errorcode[e.errno], n >> 20)"


@cases([(name.strip("/").replace("/", "_"), name) for name in ("/sandbox", "/tmp", "/var/tmp", "/dev/shm")])
def test_bytes_of_the_workspace(place):
    equal(printed(FILL % (place + "/f"), env=SMALL), "ENOSPC 7\n")


def test_the_places_share_one_size():
    equal(printed("import errno\nn = 0\nfs = [open(d + '/f', 'wb', 0) for d in ('/sandbox', '/tmp', '/var/tmp', "
                  "'/dev/shm')]\n"
                  "try:\n    while True:\n        for f in fs: n += f.write(b'x' * 65536)\n"
                  "except OSError as e: print(errno.errorcode[e.errno], n >> 20)", env=SMALL), "ENOSPC 7\n")


def test_size_of_one_file():
    equal(printed("import errno\nf = open('f', 'wb')\ntry: f.truncate(9 << 20)\nexcept OSError as e: "
                  "print(errno.errorcode[e.errno])",
                  env=SMALL), "EFBIG\n")


@cases([("bytes", "f = open('f', 'wb', 0)\nwhile True: f.write(b'x' * 65536)"),
        ("inodes", "i = 0\nwhile True: open('f%d' % i, 'w').close(); i += 1"),
        ("directories", "import os\ni = 0\nwhile True: os.mkdir('d%d' % i); i += 1"),
        ("holes", "open('f', 'wb').truncate(9 << 20)"),
        ("sqlite", "import sqlite3\nc = sqlite3.connect('d')\nc.execute('create table t(a)')\n"
                   "while True:\n    c.execute('insert into t values(zeroblob(1000000))')\n    c.commit()"),
        ("with_a_word_of_its_own",
         "import sys\ntry:\n    f = open('f', 'wb', 0)\n    while True: f.write(b'x' * 65536)\n"
                                   "except OSError: sys.exit('my disk is full')")])
def test_a_full_disk_is_named(code):
    expect(run(code, env=SMALL), limit="disk", exit_code=1, signal=None)


def test_files_without_content_are_counted():
    equal(printed("i = 0\ntry:\n    while True: open('f%d' % i, 'w').close(); i += 1\nexcept OSError: print(1900 < i "
                  "< 2048)",
                  env=SMALL), "True\n")


def test_a_caught_full_disk_is_no_limit():
    expect(run("f = open('f', 'wb', 0)\ntry:\n    while True: f.write(b'x' * 65536)\nexcept OSError: print('caught')",
               env=SMALL),
           limit=None, exit_code=0, stdout="caught\n")


def test_a_hundred_thousand_files_end_in_time():
    result, seconds = timed("n = 0\ntry:\n    for n in range(100000): open('f%d' % n, 'w').close()\n"
                            "except OSError as e: print('stop', e.errno)")
    equal(result["stdout"], "stop 28\n")
    within(seconds, 0, 5)


# Output.

@cases([("exactly", 1000, False, None), ("one_less", 999, False, None), ("one_more", 1001, True, "output"),
        ("much_more", 1 << 20, True, "output")])
def test_output_cap(n, truncated, limit):
    expect(run("import sys; sys.stdout.write('x' * %d)" % n, env=SMALL), stdout="x" * min(n, 1000), truncated=truncated,
           limit=limit, exit_code=0)


def test_output_of_both_streams_is_one_cap():
    result = run("import os\nfor _ in range(400): os.write(1, b'o' * 100); os.write(2, b'e' * 100)", env=SMALL)
    equal(len(result["stdout"]) + len(result["stderr"]), 1000)
    expect(result, truncated=True, limit="output", exit_code=0)


def test_output_is_cut_between_characters():
    result = run("print('\\u20ac' * 1000, end='')", env=SMALL)
    expect(result, stdout="\u20ac" * 333, truncated=True, limit="output")


def test_output_over_the_cap_does_not_stop_the_program():
    expect(run("print('x' * 100000); import sys; sys.exit(5)", env=SMALL), exit_code=5, truncated=True, limit="output")


def test_a_limit_before_output_in_rank():
    expect(run("print('x' * 100000)\nl = []\nwhile True: l.append(bytearray(1 << 20))", env=SMALL), truncated=True)


def test_nothing_is_left():
    nothing_left()
    nothing_left(server(**SMALL))


main()
