#!/usr/bin/env python3
"""System calls that the sandbox refused are named to a program that failed; and what cannot be made of the way to know.

The worker is told of each such call and answers it, so a program could wish to answer itself, to keep the worker busy,
or to be lost while it waits.
"""
import os
import re
import time

from _sandbox import ATTEMPTS, check, equal, expect, nothing_left, printed, run, server, structured
from mcp import Skip, cases, cmdline, descendants, main, until, within

# Refused without end, by a call that any C library has.
FLOOD = """
import os
def flood():
    while True:
        try: os.setuid(0)
        except PermissionError: pass
"""
KEYCTL = ATTEMPTS + "\nattempt('keyctl', call, 'keyctl', 0, 0, 0)\n"
SENTENCE = re.compile(r"the sandbox refused system calls: (.*); do without them$")


def blocked(result):
    """The names in a result's warnings, in their order; there may be one such sentence only."""
    found = [m.group(1).split(", ") for m in map(SENTENCE.match, result["warnings"]) if m]
    check(len(found) <= 1, "more than one sentence", result["warnings"])
    return found[0] if found else []


def failed(code, **more):
    return run(code + "\nraise SystemExit(3)\n", **more)


@cases([("one", "os.setuid(0)", ["setuid"]),
        ("what_is_in_no_row", "call('acct', 0)", ["acct"]),
        ("arguments", "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)", ["socket"]),
        ("of_a_child", "os.fork() or os.setuid(0) or os._exit(0); os.wait()", ["setuid"]),
        ("of_a_program_that_was_started",
         "import subprocess; subprocess.run([sys.executable, '-c', 'import os; os.setuid(0)'])", ["setuid"]),
        ("quiet_rows", "call('memfd_create', 0, 0)", []),
        ("quiet_arguments", "call('ioctl', 0, 0x540c, 0)", []),  # TIOCEXCL
        ("arguments_between_quiet_ones", "call('ioctl', 0, 0x5412, 0)", ["ioctl"]),  # TIOCSTI
        ("none", "os.getpid()", [])])
def test_names(code, want):
    equal(blocked(failed(ATTEMPTS + "\ntry: %s\nexcept OSError: pass\n" % code)), want)


def test_what_common_programs_try_and_do_without_is_not_named():
    names = ("mlock", "capget", "pkey_alloc", "epoll_create")
    result = failed(ATTEMPTS + "for name in %r: attempt(name, call, name, 0, 0)\n" % (names,))
    equal((result["stdout"], blocked(result)), ("".join("%s DENIED ENOSYS\n" % name for name in names), []))


def test_at_most_eight_are_named_each_once():
    names = ["keyctl", "add_key", "bpf", "setuid", "mount", "unshare", "reboot", "acct", "swapon", "chroot"]
    code = "".join("attempt('x', call, %r, 0, 0, 0, 0, 0)\n" % name for name in names * 2)
    equal(blocked(failed(ATTEMPTS + code)), names[:8])


def test_a_number_without_a_name_is_told():
    code = "for n in (1023, 1024, 5000, -5, 1 << 31): print(libc.syscall(ctypes.c_long(n)), ctypes.get_errno())\n"
    result = failed(ATTEMPTS + code)
    equal((result["stdout"], blocked(result)), ("-1 38\n" * 5, ["number 1023"]))


def test_a_program_that_ends_well_is_told_nothing():
    result = run(KEYCTL)
    expect(result, stdout="keyctl DENIED EPERM\n", exit_code=0, warnings=[])


@cases([("signal", "os.kill(os.getpid(), 9)", -1, {}), ("exit_code", "sys.exit(1)", 1, {}),
        ("deadline", "import time; time.sleep(60)", -1, {"timeout_s": 1})])
def test_every_kind_of_failure_is_told(end, code, more):
    result = run(KEYCTL + end, **more)
    equal((result["exit_code"], blocked(result)), (code, ["keyctl"]))


def test_the_words_of_python_stay_as_they_are():
    result = run("import os\nos.setuid(0)")
    expect(result, exit_code=1, stderr=re.compile(r"PermissionError: \[Errno 1\] Operation not permitted\n$"))


def test_the_result_says_whether_calls_are_named():
    meta = server().exec("pass")["_meta"]["io.github.mcp-exec/run"]
    equal(meta["refusals_named"], True)


# --- the listener is out of reach ------------------------------------------------------------------------------------

def listeners(pid):
    """The descriptors of a process that are seccomp listeners."""
    found = []
    for fd in os.listdir("/proc/%d/fd" % pid):
        try:
            found += [fd] if "seccomp" in os.readlink("/proc/%d/fd/%s" % (pid, fd)) else []
        except FileNotFoundError:
            pass
    return found


def test_only_the_worker_has_the_listener():
    if os.geteuid():
        raise Skip("needs root")
    s = server()
    worker = s.worker()
    id = s.start_exec("import subprocess, time\nprint(subprocess.run(['sleep', '3']))")
    until(lambda: [p for p in descendants(worker) if cmdline(p) == b"sleep\0" b"3\0"], 10, "a run")
    # Beside the run there may be what waits for the next one.
    for pid in descendants(worker):
        equal(listeners(pid), [])
    check(listeners(worker), "the worker has none")
    structured(s.answer(id)["result"])


def test_no_descriptor_of_a_run_answers_to_the_requests_of_a_listener():
    """Receive, answer, is the id valid, add a descriptor, flags: linux/seccomp.h."""
    verdicts = printed(ATTEMPTS + r"""
import subprocess
code = r'''
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
seen = set()
for fd in range(1024):
    for request in (0xc0502100, 0xc0182101, 0x40082102, 0x40182103, 0x40082104):
        buffer = ctypes.create_string_buffer(256)
        r = libc.ioctl(fd, ctypes.c_ulong(request), buffer)
        seen.add(errno.errorcode[ctypes.get_errno()] if r < 0 else "OPEN")
print(sorted(seen))
for fd in os.listdir("/proc/self/fd"):
    try: print("seccomp" in os.readlink("/proc/self/fd/" + fd))
    except OSError: pass
'''
exec(code)
subprocess.run([sys.executable, "-c", code])
""")
    equal(set(verdicts.splitlines()), {"['ENOTTY']", "False"})


def test_a_run_cannot_have_a_listener_of_its_own():
    equal(printed(ATTEMPTS + "for flags in (0, 8, 8 | 32): attempt(flags, call, 'seccomp', 1, flags, 0)\n"
                  "for mode in (1, 2): attempt('prctl %d' % mode, call, 'prctl', 22, mode, 0)\n"),
          "0 DENIED EPERM\n8 DENIED EPERM\n40 DENIED EPERM\nprctl 1 DENIED EPERM\nprctl 2 DENIED EPERM\n")


# --- it costs the run, and nobody else -------------------------------------------------------------------------------

def test_a_flood_of_many_threads_ends_at_its_deadline_and_the_next_run_is_as_ever():
    code = FLOOD + "import threading\n[threading.Thread(target=flood).start() for _ in range(63)]\nflood()"
    for _ in range(2):
        result = run(code, timeout_s=2)
        expect(result, timed_out=True, limit="wall_time")
        within(result["duration_ms"], 2000, 3000, "ms")
        equal(blocked(result), ["setuid"])
        equal(printed("print(1)"), "1\n")


def cpu_s(pid):
    with open("/proc/%d/schedstat" % pid) as file:
        return int(file.read().split()[0]) / 1e9


def test_a_flood_costs_the_worker_little():
    """Next to a run that does nothing for as long. The first answers are prompt and dear, so it lasts a while."""
    worker = server().worker()

    def cost(code):
        before = cpu_s(worker)
        run(code, timeout_s=5)
        return cpu_s(worker) - before
    idle = cost("import time; time.sleep(60)")
    within(cost(FLOOD + "flood()") - idle, -1, 0.5)


def test_a_process_that_waits_for_an_answer_can_be_killed_at_once():
    seconds = printed(FLOOD + r"""
import signal, time
children = []
for _ in range(8):
    pid = os.fork()
    if pid == 0: flood()
    children.append(pid)
time.sleep(1)
start = time.monotonic()
for pid in children: os.kill(pid, signal.SIGKILL)
for pid in children: assert os.waitpid(pid, 0)[1] == 9
print(time.monotonic() - start)
""")
    within(float(seconds), 0, 1)


def test_a_flood_is_cancelled_at_once():
    s = server()
    id = s.start_exec(FLOOD + "flood()")
    time.sleep(1)
    s.cancel(id)
    start = time.monotonic()
    equal(structured(s.exec("print(2)"))["stdout"], "2\n")
    within(time.monotonic() - start, 0, 2)


@cases([("restarted", "signal.siginterrupt(signal.SIGALRM, False)"), ("repeated", "pass")])
def test_signals_do_not_take_the_errno_away(how):
    """Until the worker has received a call a handler may interrupt it: then the kernel starts it again, or we do."""
    result = printed(r"""
import os, signal, time
signal.signal(signal.SIGALRM, lambda *a: None)
%s
signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
told = []
while len(told) < 300:
    try: os.setuid(0)
    except InterruptedError: continue
    except OSError as e: told.append(e.errno)
signal.setitimer(signal.ITIMER_REAL, 0)
print(set(told))
""" % how, timeout_s=60, wait=90)
    equal(result, "{1}\n")


def test_nothing_is_left():
    nothing_left()


main()
