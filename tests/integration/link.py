#!/usr/bin/env python3
"""A real worker with a supervisor that breaks every rule; and what becomes of runs when one of the processes dies.

Whatever comes, the worker answers or ends; when it ends, nothing of a run is left a moment later.
"""
import contextlib
import errno
import os
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from link import (CANCEL, CANCELLED, DONE, FAIL, READY, RUN, SIZE, TIMED_OUT, TRUNCATED, Worker, blob, pack, run_frame)
from mcp import BINARY, ROOT, alive, cases, check, contains, descendants, equal, main, named, named_program, parent, \
    skip, unique, until, within

GONE_S = 1.0
IDS = (65533, 65533)
WORKER = os.path.join(os.path.dirname(os.path.dirname(BINARY)), "libexec", "mcp-exec", "mcp-exec-worker")

with open(os.path.join(ROOT, "common", "stage.h")) as _file:
    STAGES = re.findall(r'X\((\w+), "', _file.read())


@contextlib.contextmanager
def readable(path):
    """The worker refuses to be root, so as root it is another user's, and needs a place that this one can reach."""
    if os.geteuid():
        yield path
        return
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        yield shutil.copy(path, directory)


def unprivileged():
    return [] if os.geteuid() else ["setpriv", "--reuid=%d" % IDS[0], "--regid=%d" % IDS[1], "--clear-groups", "--"]


@contextlib.contextmanager
def worker(*args, python="/usr/bin/python3", before=(), warm="0", **more):
    """A worker that is ready, unless wait=False; when it is left, nothing of it may be there. It has one sandbox, unless
    warm is "1"."""
    with readable(WORKER) as path:
        command = unprivileged() + list(before) + [path, "--python", python, "--warm", warm, *args]
        with Worker(command[0], *command[1:], env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}, **more) as w:
            yield w


def family(w):
    return [w.process.pid] + descendants(w.process.pid)


def all_gone(pids, timeout=GONE_S):
    until(lambda: not any(alive(p) for p in pids), timeout, "everything is gone")


def sandbox_of(w):
    """Pid 1 of the sandbox there is, once it is ready."""
    return until(lambda: (lambda below: below[0] if len(below) == 1 else None)(
        [p for p in descendants(w.process.pid) if b"init" in comm(p)]), 5, "a sandbox")


def sandbox_around(name):
    """Pid 1 of the sandbox in which this program runs: another one may wait by now."""
    return parent(named(name)[0])


def comm(pid):
    try:
        with open("/proc/%d/comm" % pid, "rb") as file:
            return file.read()
    except OSError:
        return b""


def start(w, code, ident=1, **more):
    w.send(run_frame(ident, **more), [blob(code.encode()), blob(b"")])


def sleeper(w, ident=1, **more):
    """Starts a run that sleeps, and returns its name when it is there."""
    name = unique()
    start(w, named_program(name), ident, **more)
    until(lambda: named(name), 5, "the run")
    return name


def works(w, ident=99):
    """One good run."""
    frame = w.run("print('fine')", ident=ident)
    check(frame is not None, "the worker is gone")
    equal((frame.kind, frame.id, frame.content, frame.flags), (DONE, ident, [b"fine\n", b""], 0), str(frame.__dict__))


def ends(w, code=1):
    """The worker closes the link and exits; nothing of it is left."""
    pids = family(w)
    while w.recv(5) is not None:
        pass
    equal(w.process.wait(5), code)
    all_gone(pids)


# What a good supervisor sees.

def test_ready_and_a_run():
    with worker() as w:
        equal(w.ready.kind, READY)
        equal((w.ready.id, w.ready.version), (0, 1))
        check(w.ready.build_id and w.ready.layers and w.ready.python >> 16 == 3, "odd READY", w.ready.__dict__)
        frame = w.run("import sys; print(input()); print('e', file=sys.stderr); sys.exit(3)", b"in\n", ident=7)
        equal((frame.kind, frame.id, frame.exit_code, frame.signal, frame.flags, frame.content),
              (DONE, 7, 3, 0, 0, [b"in\n", b"e\n"]))
        equal(frame.layers & w.ready.layers, w.ready.layers)
        check(frame.wall_us > 1000 and frame.cpu_us > 1000 and frame.peak > 1 << 20, "usage", frame.__dict__)


def test_many_runs_one_after_the_other_with_few_descriptors():
    """A leak of one descriptor for each run would end this."""
    with worker(before=["sh", "-c", 'ulimit -n 32; exec "$0" "$@"']) as w:
        for i in range(1, 61):
            code, kind = [("print(1)", 0), ("1/0", 0), ("import os; os.abort()", 0), ("import os; os.fork()", 0)][i % 4]
            frame = w.run(code, b"x" * 100000, ident=i)
            equal((frame.kind, frame.id), (DONE, i))
        works(w)


def test_a_run_that_comes_before_the_sandbox_waits_for_it():
    with worker(wait=False) as w:
        start(w, "print(1)")
        equal(w.recv().kind, READY)
        frame = w.recv()
        equal((frame.kind, frame.content), (DONE, [b"1\n", b""]))


@cases([("one", 1), ("cut", 5), ("exact", 6), ("roomy", 7)])
def test_cap(limit):
    with worker() as w:
        frame = w.run("print('hello')", output_max=limit)
        equal(frame.content[0], b"hello\n"[:limit])
        equal(bool(frame.flags & TRUNCATED), limit < 6)


def test_deadline():
    with worker() as w:
        start_s = time.monotonic()
        frame = w.run("print('a', flush=True)\nwhile True: pass", deadline_ms=300)
        within(time.monotonic() - start_s, 0.3, 1.0)
        equal((frame.kind, frame.flags, frame.signal, frame.exit_code, frame.content),
              (DONE, TIMED_OUT, 9, -1, [b"a\n", b""]))
        works(w)


def test_limits_of_a_run_are_its_own_and_not_the_worker_s():
    """With a piped core_pattern a limit of 0 would hand the memory of a run to the host; 1 does not. core(5)."""
    with worker() as w:
        frame = w.run("import resource as r; print(r.getrlimit(r.RLIMIT_CORE), r.getrlimit(r.RLIMIT_NOFILE))")
        core = (1, 1) if resource.getrlimit(resource.RLIMIT_CORE)[1] else (0, 0)
        equal(frame.content, [b"%a (256, 256)\n" % (core,), b""])


# A supervisor that breaks the rules: the worker ends, and takes its run with it.

def raw(length):
    return lambda: (os.urandom(length), [])


def good(ident=1, deadline_ms=1000, output_max=1000):
    return run_frame(ident, deadline_ms, output_max)


def changed(frame, at, value):
    return frame[:at] + bytes([value]) + frame[at + 1:]


def fds(n):
    return [blob(b"print(1)") for _ in range(n)]


BROKEN = [
    ("one_byte", raw(1)), ("one_less", raw(SIZE - 1)), ("one_more", raw(SIZE + 1)), ("much_more", raw(60000)),
    ("noise", raw(SIZE)), ("zeros", lambda: (bytes(SIZE), [])), ("ones", lambda: (b"\xff" * SIZE, [])),
    ("one_more_than_a_good_one", lambda: (good() + b"\0", fds(2))),
    ("version_0", lambda: (changed(good(), 0, 0), fds(2))), ("version_2", lambda: (changed(good(), 0, 2), fds(2))),
    ("high_version", lambda: (changed(good(), 3, 1), fds(2))),
    ("type_0", lambda: (pack(0, 1, 0), [])), ("type_6", lambda: (pack(6, 1, 0), [])),
    ("type_65535", lambda: (pack(65535, 1, 0), [])),
    ("ready", lambda: (pack(READY, 0, 0, b"\1" * 16), [])), ("done", lambda: (pack(DONE, 1, 2), fds(2))),
    ("fail", lambda: (pack(FAIL, 1, 0, b"\1\0\0\0\1\0\0\0"), [])),
    ("run_without_descriptors", lambda: (good(), [])), ("run_with_one", lambda: (good(), fds(1))),
    ("run_with_three", lambda: (good(), fds(3))), ("run_with_two_hundred", lambda: (good(), fds(200))),
    ("run_that_says_one", lambda: (pack(RUN, 1, 1, good()[16:]), fds(1))),
    ("run_that_says_three", lambda: (pack(RUN, 1, 3, good()[16:]), fds(3))),
    ("run_0", lambda: (good(ident=0), fds(2))), ("no_time", lambda: (good(deadline_ms=0), fds(2))),
    ("unused_word", lambda: (changed(good(), 32, 1), fds(2))), ("unused_tail", lambda: (changed(good(), SIZE - 1, 1),
                                                                                        fds(2))),
    ("cancel_0", lambda: (pack(CANCEL, 0, 0), [])), ("cancel_with_body", lambda: (pack(CANCEL, 1, 0, b"\0\1"), [])),
    ("cancel_with_a_descriptor", lambda: (pack(CANCEL, 1, 0), fds(1))),
]


@cases(BROKEN)
def test_a_broken_frame_ends_the_worker(make):
    with worker() as w:
        sandbox_of(w)
        w.send(*make())
        ends(w)


@cases([row for row in BROKEN if row[0] in ("noise", "done", "run_with_one", "cancel_0")])
def test_a_broken_frame_ends_a_run_too(make):
    with worker() as w:
        name = sleeper(w)
        w.send(*make())
        ends(w)
        equal(named(name), [])


def test_a_second_run_ends_the_worker():
    with worker() as w:
        name = sleeper(w, 1)
        start(w, "print(2)", 2)
        ends(w)
        equal(named(name), [])


def test_the_same_run_twice_ends_the_worker():
    with worker() as w:
        sleeper(w, 1)
        start(w, "print(2)", 1)
        ends(w)


@cases([("at_once", 0), ("after_a_moment", 0.1)])
def test_the_end_of_the_link_is_an_orderly_end(pause):
    with worker() as w:
        time.sleep(pause)
        pids = family(w)
        w.sock.shutdown(socket.SHUT_WR)
        equal(w.process.wait(GONE_S), 0)
        all_gone(pids)


def test_an_empty_packet_is_the_end():
    with worker() as w:
        w.send(b"")
        ends(w, 0)


# Descriptors that are no blobs. The worker does not look into them; it must not fall over them either.

def unsealed(text=b"print('x')"):
    return blob(text, 0)


def pipe(text=b"print('x')", keep=False):
    ours, theirs = os.pipe()
    os.write(theirs, text)
    if keep:
        _kept.append(theirs)
    else:
        os.close(theirs)
    return ours


_kept = []


def opened(path, flags=os.O_RDONLY):
    return os.open(path, flags)


NO_PROGRAM = [
    ("pipe", pipe), ("pipe_that_stays_open", lambda: pipe(keep=True)), ("empty_pipe", lambda: pipe(b"", keep=True)),
    ("directory", lambda: opened("/")), ("endless", lambda: opened("/dev/zero")),
    ("write_only", lambda: opened("/dev/null", os.O_WRONLY)), ("path_only", lambda: opened("/etc/passwd", os.O_PATH)),
    ("socket", lambda: socket.socket(socket.AF_UNIX).detach()),
    ("larger_than_the_workspace", lambda: blob(b"#" * (65 << 20))),
]


@cases(NO_PROGRAM)
def test_what_is_no_program_is_a_failure_of_that_run(make):
    with worker() as w:
        w.send(good(1, 3000), [make(), blob(b"")])
        frame = w.recv(5)
        equal((frame.kind, frame.id), (FAIL, 1), str(frame.__dict__))
        equal(STAGES[frame.stage], "PROGRAM")
        check(frame.error > 0, "errno", frame.error)
        works(w)


def test_a_program_that_is_not_sealed_still_runs_once():
    with worker() as w:
        w.send(good(1), [unsealed(), blob(b"")])
        equal(w.recv().content, [b"x\n", b""])
        works(w)


def test_a_program_that_shrinks_is_no_harm():
    with worker() as w:
        fd = unsealed(b"print('x')\n" * 100000)
        keep = os.dup(fd)
        w.send(good(1, 3000, 1 << 20), [fd, blob(b"")])
        os.ftruncate(keep, 0)
        os.close(keep)
        check(w.recv().kind in (DONE, FAIL), "an answer")
        works(w)


@cases([("not_sealed", lambda: unsealed(b"abc")), ("pipe", lambda: pipe(b"abc")), ("directory", lambda: opened("/")),
        ("write_only", lambda: opened("/dev/null", os.O_WRONLY)), ("path_only", lambda: opened("/etc/passwd",
                                                                                               os.O_PATH)),
        ("socket", lambda: socket.socket(socket.AF_UNIX).detach()),
        ("pipe_that_stays_open", lambda: pipe(b"abc", keep=True)), ("endless", lambda: opened("/dev/zero"))])
def test_what_is_no_stdin_does_not_stop_a_run(make):
    with worker() as w:
        w.send(good(1, 3000), [blob(b"print('on')"), make()])
        frame = w.recv(5)
        equal((frame.kind, frame.id), (DONE, 1))
        equal((frame.exit_code, frame.content), (0, [b"on\n", b""]))
        works(w)


# Cancel.

def test_cancel_ends_the_run():
    with worker() as w:
        name = sleeper(w, 5)
        begin = time.monotonic()
        w.send(pack(CANCEL, 5, 0))
        frame = w.recv(2)
        within(time.monotonic() - begin, 0, 0.3)
        equal((frame.kind, frame.id, frame.flags & CANCELLED, frame.signal), (DONE, 5, CANCELLED, 9))
        equal(named(name), [])
        works(w)


@cases([("one_less", 4), ("one_more", 6), ("high", 1 << 40 | 5), ("largest", (1 << 64) - 1)])
def test_cancel_of_another_run_is_ignored(ident):
    with worker() as w:
        start(w, "import time; time.sleep(0.2); print('done')", 5)
        w.send(pack(CANCEL, ident, 0))
        frame = w.recv()
        equal((frame.kind, frame.id, frame.flags, frame.content), (DONE, 5, 0, [b"done\n", b""]))


def test_cancel_that_comes_too_late_is_ignored():
    with worker() as w:
        w.run("pass", ident=5)
        w.send(pack(CANCEL, 5, 0))
        works(w, 6)


def test_cancel_at_every_moment():
    """Before the sandbox, while it is built, while it starts, while it runs, while it ends: one answer, always."""
    with worker() as w:
        for i in range(1, 41):
            start(w, "print('x')", i)
            time.sleep(i % 10 * 0.004)
            w.send(pack(CANCEL, i, 0))
            frame = w.recv(5)
            equal((frame.kind, frame.id), (DONE, i), str(frame.__dict__))
            check(frame.flags in (0, CANCELLED), "flags", frame.flags)
        works(w)


def test_cancel_before_ready_does_not_hang():
    """A supervisor that keeps the rules waits for READY; one that does not gets an answer or an end."""
    with worker(wait=False) as w:
        start(w, "print('x')", 1)
        w.send(pack(CANCEL, 1, 0))
        kinds = [f and f.kind for f in (w.recv(5), w.recv(5))]
        check(kinds in ([READY, DONE], [FAIL, None]), "odd frames", kinds)


def test_cancel_twice():
    with worker() as w:
        sleeper(w, 1)
        w.send(pack(CANCEL, 1, 0))
        w.send(pack(CANCEL, 1, 0))
        equal(w.recv().flags & CANCELLED, CANCELLED)
        works(w)


# Refused calls.

KEYCTL, ACCT = (250, 163) if os.uname().machine == "x86_64" else (219, 89)
REFUSED = "import ctypes\nlibc = ctypes.CDLL(None)\n" \
    "for n in (%d, %d, %d, 467, 1023, 1024, 5000, -5, 1 << 31): libc.syscall(ctypes.c_long(n), 0)\n" \
    % (KEYCTL, ACCT, KEYCTL)
WAITING = "import os\nprint('x', flush=True)\nwhile True:\n    try: os.setuid(0)\n    except PermissionError: pass\n"


def test_refused_calls_travel_as_numbers_each_once():
    """Also from a program that ends well: it is the supervisor that keeps silent."""
    with worker() as w:
        frame = w.run(REFUSED)
        equal((frame.kind, frame.exit_code, frame.noting), (DONE, 0, True))
        equal(frame.blocked, [KEYCTL, ACCT, 467, 1023])
        frame = w.run("print(1)", ident=2)
        equal((frame.blocked, frame.noting), ([], True), "of the next run:")


def test_no_more_than_eight_refused_calls_travel():
    with worker() as w:
        frame = w.run("import ctypes\nl = ctypes.CDLL(None)\nfor n in range(600, 620): l.syscall(n)")
        equal(frame.blocked, list(range(600, 608)))


def flood(w):
    """A run whose refused calls wait for their answers: the prompt ones have been given."""
    start(w, WAITING)
    time.sleep(1)


def test_cancel_ends_a_run_that_waits_for_the_answer_to_a_refused_call():
    with worker() as w:
        flood(w)
        begin = time.monotonic()
        w.send(pack(CANCEL, 1, 0))
        frame = w.recv(5)
        within(time.monotonic() - begin, 0, 0.5)
        equal((frame.kind, frame.flags, frame.signal, len(frame.blocked)), (DONE, CANCELLED, 9, 1))
        works(w, 2)


def test_no_run_that_waits_for_such_an_answer_outlives_its_worker():
    for end in (lambda w: w.process.kill(), lambda w: w.sock.close(), stop_and_kill):
        with worker() as w:
            flood(w)
            pids = family(w)
            end(w)
            all_gone(pids)
            w.process.wait(5)


# Death.

def stop_and_kill(w):
    w.process.send_signal(signal.SIGSTOP)
    w.process.kill()


DEATHS = [("link_closed", lambda w: w.sock.close()), ("worker_killed", lambda w: w.process.kill()),
          ("worker_crashed", lambda w: w.process.send_signal(signal.SIGSEGV)),
          ("worker_stopped_and_killed", stop_and_kill)]

CLINGING = "import os, signal, time\n" \
           "for s in (1, 2, 15): signal.signal(s, signal.SIG_IGN)\nfor _ in range(5): os.fork()\n" \
           "time.sleep(60)"


@cases(DEATHS)
def test_no_run_outlives_its_worker(end):
    with worker() as w:
        name = unique()
        start(w, named_program(name, CLINGING))
        until(lambda: len(named(name)) == 32, 5, "32 processes")
        pids = family(w)
        end(w)
        all_gone(pids)
        equal(named(name), [])
        w.process.wait(5)


@cases(DEATHS)
def test_no_sandbox_outlives_an_idle_worker(end):
    with worker() as w:
        sandbox_of(w)
        pids = family(w)
        end(w)
        all_gone(pids)
        w.process.wait(5)


def test_no_sandbox_outlives_a_worker_that_dies_while_it_builds():
    for i in range(12):
        with worker(wait=False) as w:
            time.sleep(0.02 + i * 0.003)
            w.process.kill()
            w.process.wait(5)
    until(lambda: not orphans(), GONE_S, "no orphan")


def orphans():
    """Processes of sandboxes whose parent is neither a worker nor the builder of the sandbox."""
    return [p for p in named("mcp-exec-init") if comm(parent(p)) not in (b"mcp-exec-worker\n", b"mcp-exec-init\n")]


def test_a_stopped_worker_goes_on():
    with worker() as w:
        sleeper(w, deadline_ms=300)
        w.process.send_signal(signal.SIGSTOP)
        time.sleep(0.5)
        w.process.send_signal(signal.SIGCONT)
        equal(w.recv(2).flags, TIMED_OUT)
        works(w)


def test_pid_1_killed_from_outside_fails_the_run():
    with worker() as w:
        name = sleeper(w)
        os.kill(sandbox_around(name), signal.SIGKILL)
        frame = w.recv(2)
        equal((frame.kind, frame.id, STAGES[frame.stage]), (FAIL, 1, "INIT"), str(frame.__dict__))
        equal(named(name), [])
        works(w)


def test_a_program_killed_from_outside_is_an_outcome():
    with worker() as w:
        name = sleeper(w)
        os.kill(named(name)[0], signal.SIGKILL)
        frame = w.recv(2)
        equal((frame.kind, frame.signal, frame.exit_code, frame.flags), (DONE, 9, -1, 0))
        works(w)


def test_a_stopped_pid_1_does_not_stop_the_clock():
    with worker() as w:
        name = sleeper(w, deadline_ms=500)
        os.kill(sandbox_around(name), signal.SIGSTOP)
        frame = w.recv(3)
        equal((frame.kind, frame.flags), (DONE, TIMED_OUT))
        equal(named(name), [])
        works(w)


def test_a_waiting_sandbox_killed_from_outside_is_replaced():
    with worker() as w:
        for i in range(1, 6):
            os.kill(sandbox_of(w), signal.SIGKILL)
            time.sleep(i % 3 * 0.005)
            frame = w.run("print('fine')", ident=i)
            # Killed just before it was to be used: then the run may fail, but it is told, and the next one works.
            check(frame.kind == DONE and frame.content[0] == b"fine\n" or frame.kind == FAIL, "odd", frame.__dict__)
            works(w, 10 + i)


def test_a_run_is_answered_when_no_process_can_be_had():
    if os.geteuid() == 0:
        skip("needs an ordinary user: the limits of another user's process are not root's everywhere")
    with worker() as w:
        pid, init = w.process.pid, sandbox_of(w)
        _, hard = resource.prlimit(pid, resource.RLIMIT_NPROC)
        # First this, or another sandbox would take the place of the one that is killed.
        resource.prlimit(pid, resource.RLIMIT_NPROC, (1, hard))
        os.kill(init, signal.SIGKILL)
        until(lambda: not descendants(pid), 5, "no sandbox")
        frame = w.run("print('x')", ident=7)
        equal((frame.kind, frame.id, frame.error), (FAIL, 7, errno.EAGAIN))
        resource.prlimit(pid, resource.RLIMIT_NPROC, (hard, hard))
        works(w)


def test_a_waiting_sandbox_that_was_stopped_does_not_stop_the_worker():
    """Nothing of the program had begun when its time was over, so it gets another sandbox, and its whole time."""
    with worker() as w:
        init = sandbox_of(w)
        os.kill(init, signal.SIGSTOP)
        start(w, "print('x')", deadline_ms=300)
        frame = w.recv(3)
        equal((frame.kind, frame.flags, frame.content[0]), (DONE, 0, b"x\n"))
        works(w)


def test_signals_do_not_disturb_the_worker():
    with worker() as w:
        for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGCONT, signal.SIGWINCH, signal.SIGURG):
            w.process.send_signal(number)
        works(w)


# Start.

def test_an_interpreter_that_is_none_is_told_and_ends_it():
    with worker(python="/nonexistent") as w:
        equal((w.ready.kind, w.ready.id, STAGES[w.ready.stage]), (FAIL, 0, "INTERPRETER"))
        ends(w, 69)


def test_root_is_refused():
    if os.geteuid():
        skip("needs root")
    done = subprocess.run([WORKER], stdin=subprocess.DEVNULL, capture_output=True, timeout=5)
    equal(done.returncode, 69)


@cases([("unknown", ["--what"]), ("no_number", ["--memory-bytes", "many"]), ("negative", ["--tmp-bytes", "-1"]),
        ("zero", ["--cpus", "0"]), ("too_large", ["--max-processes", "99999999999"]), ("rest", ["--max-cpu-s", "1",
                                                                                                "more"]),
        ("no_value", ["--python"]), ("empty", ["--max-cpu-s", ""])])
def test_bad_options_are_refused(args):
    done = subprocess.run([WORKER] + args, stdin=subprocess.DEVNULL, capture_output=True, timeout=5)
    equal(done.returncode, 64)
    contains(done.stderr.decode(), "mcp-exec")


@cases([("closed", "3<&-"), ("a_file", "3</dev/null"), ("a_pipe", "3< <(sleep 1)")])
def test_a_link_that_is_none_ends_it(redirection):
    with readable(WORKER) as path:
        begin = time.monotonic()
        done = subprocess.run(unprivileged() + ["bash", "-c", 'exec "$0" --python /usr/bin/python3 ' + redirection,
                                                path],
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=20)
    check(done.returncode > 0, "it must fail", done)
    within(time.monotonic() - begin, 0, 2)


main()
