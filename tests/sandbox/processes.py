#!/usr/bin/env python3
"""When the main program ends, or its time is up, nothing of the run is alive; and what it kills is only itself."""
import os
import time

from _sandbox import COLD_ONLY, check, equal, expect, nothing_left, printed, run, server, structured, warm
from mcp import NAME_ITSELF, Server, cases, main, named, unique, until, within

# What holds on: each leaves processes behind whose name is %(name)s.
CLINGING = [
    ("a_daemon_that_holds_the_pipes", """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0: time.sleep(600)
    os._exit(0)
"""),
    ("a_child_that_ignores_every_signal", """
import signal
if os.fork() == 0:
    for s in range(1, 65):
        try: signal.signal(s, signal.SIG_IGN)
        except (OSError, ValueError): pass
    while True: time.sleep(1)
time.sleep(0.05)
"""),
    ("a_child_that_spins", """
if os.fork() == 0:
    while True: pass
"""),
    ("a_stopped_child", """
import signal
if os.fork() == 0: os.kill(os.getpid(), signal.SIGSTOP)
time.sleep(0.05)
"""),
    ("children_that_fork_on", """
if os.fork() == 0:
    while True:
        if os.fork(): os._exit(0)
time.sleep(0.05)
"""),
    ("a_thread_that_does_not_end", """
import threading
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
"""),
    ("a_child_of_a_thread", """
import threading, warnings
warnings.simplefilter("ignore")   # from Python 3.12 on, of forking with threads
def child():
    if os.fork() == 0: time.sleep(600)
t = threading.Thread(target=child); t.start(); t.join()
"""),
    ("many_sleepers", """
for _ in range(60):
    if os.fork() == 0: time.sleep(600)
"""),
    ("a_child_with_closed_descriptors", """
if os.fork() == 0:
    os.closerange(0, 64); time.sleep(600)
"""),
]


@cases(CLINGING)
def test_ends_with_its_main_program(code):
    name = unique()
    start = time.monotonic()
    result = run(NAME_ITSELF + "import os, time\nname_itself(%r)\n" % name + code + "\nprint('done')")
    within(time.monotonic() - start, 0, 1.5)
    expect(result, exit_code=0, stdout="done\n", stderr="", timed_out=False, signal=None, limit=None)
    equal(named(name), [])


@cases([(label, code) for label, code in CLINGING if label in ("a_child_that_ignores_every_signal", "many_sleepers",
                                                               "children_that_fork_on")])
def test_ends_at_its_deadline(code):
    name = unique()
    start = time.monotonic()
    result = run(NAME_ITSELF + "import os, time\nname_itself(%r)\n" % name + code + "\nprint('on', flush=True)\n"
                 "import signal\nfor s in (15, 2, 1, 24): signal.signal(s, signal.SIG_IGN)\n"
                 "while True: time.sleep(1)", timeout_s=1)
    within(time.monotonic() - start, 1.0, 1.8)
    expect(result, exit_code=-1, stdout="on\n", timed_out=True, limit="wall_time", signal="SIGKILL")
    equal(named(name), [])


def test_a_cancelled_run_is_gone():
    s, name = server(), unique()
    call = s.start_exec(NAME_ITSELF + "name_itself(%r)\nimport os, time\nos.fork()\ntime.sleep(60)" % name)
    until(lambda: len(named(name)) == 2, 5, "the run")
    s.cancel(call)
    until(lambda: not named(name), 1, "the run is gone")
    equal(printed("print('next')"), "next\n")


@cases([("all", "os.kill(-1, 9)"), ("all_politely", "os.kill(-1, 15)"), ("own_group", "os.killpg(0, 15)")])
def test_killing_reaches_only_the_run(code):
    worker = server().worker()
    result = run("import os\n%s\nprint('alive')" % code)
    check(result["stdout"] in ("", "alive\n"), "odd end", result)
    equal(printed("print('next')"), "next\n")
    equal(server().worker(), worker)


def test_pid_1_does_not_mind_signals():
    expect(run("import os, signal\nfor s in range(1, 65):\n"
               "    try: os.kill(1, s); os.kill(os.getppid(), s)\n"
               "    except OSError as e: pass\n"
               "print('still here', os.getppid())"), exit_code=0, stdout="still here 1\n", limit=None)


def test_a_run_cannot_end_pid_1_by_limits():
    """A dead pid 1 would be a failure of ours, not a result."""
    expect(run("import resource, time\nfor r in (0, 1, 7):\n"
               "    try: resource.prlimit(1, r, (0, 0))\n    except OSError: pass\n"
               "time.sleep(1.5)\nprint('end')"), exit_code=0, stdout="end\n")


@cases([("both", "os.close(1); os.close(2)"), ("all", "os.closerange(0, 3)"),
        ("replaced", "n = os.open('/dev/null', 2); os.dup2(n, 1); os.dup2(n, 2)")])
def test_closed_outputs_are_no_end(code):
    start = time.monotonic()
    result = run("import os, time\n%s\ntime.sleep(0.4)\nos._exit(0)" % code)
    expect(result, exit_code=0, stdout="", stderr="", timed_out=False)
    within(time.monotonic() - start, 0.4, 1.2)


def test_orphans_are_reaped_by_pid_1():
    equal(printed("""
import os, time
for _ in range(300):
    pid = os.fork()
    if pid == 0:
        if os.fork() == 0: os._exit(0)
        os._exit(0)
    os.waitpid(pid, 0)
time.sleep(0.1)
states = [open('/proc/%s/stat' % p).read().rsplit(')')[1].split()[0] for p in os.listdir('/proc') if p.isdigit()]
print(len(states), states.count('Z'))
"""), "2 0\n")


def test_its_own_zombies_count_and_are_no_harm():
    expect(run("import os\nn = 0\ntry:\n    for n in range(500):\n        if os.fork() == 0: os._exit(0)\n"
               "except BlockingIOError: print('stop', 50 < n < 128)"), exit_code=0, stdout="stop True\n")


def test_a_run_leads_a_session_without_a_terminal():
    equal(printed("import os\nsession = int(open('/proc/self/stat').read().rpartition(')')[2].split()[3])\n"
                  "print(os.getpid() < 4, session == os.getpid(), os.getpgrp() == os.getpid(), os.getppid())"),
          "True True True 1\n")


def test_signals_are_at_their_defaults():
    # CPython itself ignores SIGPIPE and SIGXFSZ and takes SIGINT.
    equal(printed("import signal\n"
                  "print([s.name for s in signal.valid_signals() if isinstance(s, signal.Signals) and "
                  "signal.getsignal(s) is not signal.SIG_DFL and s.name not in ('SIGINT', 'SIGPIPE', 'SIGXFSZ')])\n"
                  "print(signal.pthread_sigmask(signal.SIG_BLOCK, []))\n"
                  "import subprocess; print(subprocess.run(['sh', '-c', 'kill -PIPE $$']).returncode)"),
          "[]\nset()\n-13\n")


@cases([("of_pid_1", "1"), ("of_the_parent", "os.getppid()")])
def test_outputs_of_others_cannot_be_written(who):
    s = server()
    line = '{"jsonrpc":"2.0","id":1,"result":{}}'
    result = structured(s.exec("import os\nfor n in range(20):\n"
                               "    try: os.write(os.open('/proc/%%d/fd/%%d' %% (%s, n), os.O_WRONLY), %r)\n"
                               "    except OSError: pass\nprint('tried')" % (who, line.encode() + b"\n")))
    expect(result, stdout="tried\n", exit_code=0)
    equal(s.inbox, [])


def test_descriptors_of_server_and_worker_do_not_grow():
    s = server()

    def count():
        """The least of some looks: the worker answers first and tidies up then."""
        try:
            return [min(len(os.listdir("/proc/%d/fd" % pid)) for _ in range(20) if not time.sleep(0.01))
                    for pid in (s.pid, s.worker())]
        except PermissionError:
            return None

    def rest():
        run("pass")
        if os.geteuid() == 0 and warm.known() and not COLD_ONLY:
            warm.warmed(s)
            until(lambda: warm.ready(s.worker()), 20, "an interpreter and its copy wait")
    rest()
    before = count()
    for i in range(30):
        run(["print(1)", "import os; os._exit(3)", "import os; os.abort()", "print('x' * 300000)", "1/0"][i % 5],
            stdin="y" * (i * 1000))
    if before is None:
        # Not dumpable, so only root may look; with a low limit of files a leak would be an end.
        return equal(printed("print('still')", env={"MCP_EXEC_MAX_QUEUE": "3"}), "still\n")
    rest()
    equal(count(), before)


def test_a_leak_would_meet_the_limit_of_files():
    """The same for who may not look: with few descriptors allowed, a leak of one for each run would end it."""
    with Server(through=("sh", "-c", 'ulimit -n 40; exec "$0" "$@"')) as s:
        s.initialize()
        for i in range(40):
            equal(structured(s.exec("print(%d)" % i))["stdout"], "%d\n" % i)


def test_nothing_is_left_after_many_kinds_of_end():
    for code in ("print(1)", "import os; os.fork(); os.fork()", "import os; os.kill(1, 9)", "import os; os.abort()"):
        run(code)
    nothing_left()


main()
