#!/usr/bin/env python3
"""What the kernel counts or keeps beside namespaces: a run that takes all of it leaves the next server's run alone.

Two servers of one user run at the same time. What stays shared stands in SECURITY.md, under "What namespaces do not
cover".
"""
import fcntl

from _sandbox import denied, equal, expect, printed, server, structured
from mcp import NAME_ITSELF, Server, cases, main, named, unique, until

COUNT = """
def count(take, most):
    kept = []
    try:
        while len(kept) < most: kept.append(take())
    except OSError as e: pass
    return kept
"""
PENDING = """
import os, signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN])
for _ in range(5000): os.kill(os.getpid(), signal.SIGRTMIN)
n = [l.split()[1] for l in open("/proc/self/status") if l.startswith("SigQ")][0]
"""
CHILDREN = """
import os, time
def fork():
    pid = os.fork()
    if pid == 0: time.sleep(60); os._exit(0)
    return pid
n = len(count(fork, %d))
"""
PIPES = """
import fcntl, os
kept = count(os.pipe, 120)
n = len(count(lambda: fcntl.fcntl(kept[0][1], 1031, 1 << 20) and fcntl.fcntl(kept.pop()[1], 1031, 1 << 20), 100))
"""
IN_FLIGHT = """
import array, os, socket
pairs = count(socket.socketpair, 20)
def send():
    for a, _ in pairs: a.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0] * 20))])
n = len(count(send, 20))
"""
SHM = """
import os
print(os.listdir("/dev/shm"), end=" "); open("/dev/shm/held", "w").close(); n = 0
"""

# What one run takes, what the other one then does, and what that must print.
TAKEN = [
    ("pending_signals", PENDING, PENDING + "print(n)", "1024/1024\n"),
    ("processes", CHILDREN % 500, CHILDREN % 60 + "print(n)", "60\n"),
    ("pipe_pages", PIPES, "import os\nr, w = os.pipe(); print(os.write(w, b'x' * 4096))", "4096\n"),
    ("descriptors_in_flight", IN_FLIGHT, "import subprocess\nprint(subprocess.run(['echo', 'x'], capture_output=True)"
                                         ".stdout)", "b'x\\n'\n"),
    ("shared_memory", SHM, SHM + "print()", "[] \n"),
]


@cases(TAKEN)
def test_taken_by_one_run_is_there_for_another(take, then, want):
    first, name = server(), unique()
    call = first.start_exec(COUNT + take + NAME_ITSELF + "name_itself(%r)\nimport time; time.sleep(60)" % name,
                            timeout_s=60)
    try:
        until(lambda: named(name), 20, "the run that takes all")
        with Server() as second:
            second.initialize()
            expect(structured(second.exec(COUNT + then)), stdout=want, stderr="", exit_code=0)
    finally:
        first.cancel(call)
    until(lambda: not named(name), 5, "its end")
    equal(printed(COUNT + then), want, "afterwards:")


def test_locks_of_the_host_are_not_listed():
    with open("/usr/bin/env", "rb") as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        equal(printed("print(open('/proc/locks').read(), end='')"), "")


def test_what_is_counted_for_the_user_alone_is_refused():
    denied("""
import fcntl
def control(path, *a): return fcntl.fcntl(os.open(path, os.O_RDONLY), *a)
attempt("inotify", call, "inotify_init1", 0); attempt("fanotify", call, "fanotify_init", 0, 0)
attempt("key", call, "add_key", b"user", b"x", b"y", 1, -3); attempt("keyring", call, "keyctl", 1, 0)
attempt("watch of a directory", control, "/usr", 1026, 1)
attempt("lease", control, "/usr/bin/env", 1024, 0)
attempt("io_uring", call, "io_uring_setup", 8, ctypes.create_string_buffer(256))
""")


main()
