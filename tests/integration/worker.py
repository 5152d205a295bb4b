#!/usr/bin/env python3
"""The worker dies, hangs, or outlives its server: what the caller sees of it, and that no process is left.

A run that was lost is never started a second time, for it may have had effects. A run leaves no effect outside its
sandbox that could be counted, so this is seen by its name: each program calls itself by a name of its own.
"""
import os
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import (PATIENCE, Server, alive, case, cases, check, contains, descendants, equal, main, marked, named,
                 named_program, pids, skip, unique, until, within, workers_of)

# The server's own settings stand on its worker's command line: an odd number finds this test's worker and no other.
MARKER = str(256 * 1024 * 1024 + 4096 * (os.getpid() % 1000 + 1))


def server(**env):
    return Server(env=dict({"MCP_EXEC_MEMORY_BYTES": MARKER}, **env))


def start_named(s, **arguments):
    """Starts a call that sleeps, and waits until its program runs. Returns its id and its name."""
    name = unique()
    call_id = s.start_exec(named_program(name), **arguments)
    until(lambda: named(name), 10, "the program runs")
    return call_id, name


def lost(answer):
    """Checks the answer to a call whose worker died: a tool error, in a sentence."""
    equal(answer["result"]["isError"], True, str(answer)[:300])
    text = answer["result"]["content"][0]["text"]
    check(len(text) > 20 and "errno" not in text.lower(), "no sentence:", text)
    return text


def prints(s, text, wait=12):
    """Checks that the next call works."""
    result = s.exec("print(%r)" % text, wait=wait)
    equal(result["isError"], False, str(result)[:300])
    equal(result["structuredContent"]["stdout"], text + "\n")


def zombies_of(pid):
    """Children of the process that are dead and not reaped."""
    found = []
    for p in pids():
        try:
            with open("/proc/%d/stat" % p, "rb") as file:
                fields = file.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if fields and fields[0] == b"Z" and int(fields[1]) == pid:
            found.append(p)
    return found


def descriptors(pid):
    """How many a process holds at rest: the least of what is seen for a while."""
    try:
        counts = []
        for _ in range(20):
            counts.append(len(os.listdir("/proc/%d/fd" % pid)))
            time.sleep(0.01)
        return min(counts)
    except PermissionError:
        skip("needs root: nobody else can count the descriptors of a process that is not dumpable")


def test_marker_finds_the_worker():
    """Without this, a test that finds nothing left would prove nothing."""
    with server() as s:
        prints(s, "x")
        equal(len(workers_of(s.pid)), 1)
        check(s.worker() in marked(MARKER.encode()), "the marker is not in the worker's command line")
        check(s.worker() in descendants(s.pid), "the worker is not below the server")


def test_killed_during_a_run():
    with server() as s:
        call_id, name = start_named(s)
        first = s.worker()
        os.kill(first, signal.SIGKILL)
        killed = time.monotonic()
        lost(s.answer(call_id, 2))
        until(lambda: not named(name), 2, "the run died with its worker")
        prints(s, "next")
        check(s.worker() != first, "no new worker")
        while time.monotonic() < killed + 1.5:
            equal(named(name), [], "the lost run was started again:")
            time.sleep(0.02)
        s.silence(0.1)
        equal(zombies_of(s.pid), [])


def test_killed_during_a_run_with_calls_waiting():
    with server() as s:
        running, _ = start_named(s)
        waiting = [s.start_exec("print(%d)" % i) for i in range(3)]
        os.kill(s.worker(), signal.SIGKILL)
        lost(s.answer(running, 2))
        for i, call_id in enumerate(waiting):
            equal(s.answer(call_id, 12)["result"]["structuredContent"]["stdout"], "%d\n" % i)
        equal(s.inbox, [])


def test_killed_after_a_cancel():
    with server() as s:
        call_id, name = start_named(s)
        worker = s.worker()
        os.kill(worker, signal.SIGSTOP)
        s.cancel(call_id)
        equal(s.request("ping")["result"], {})
        os.kill(worker, signal.SIGKILL)
        prints(s, "next")
        equal(s.inbox, [])
        until(lambda: not named(name), 2, "the cancelled run is dead")


def test_killed_while_idle():
    with server() as s:
        prints(s, "before")
        first = s.worker()
        os.kill(first, signal.SIGKILL)
        until(lambda: not alive(first), 2, "the worker is dead")
        prints(s, "after")
        check(s.worker() != first, "no new worker")
        equal(zombies_of(s.pid), [])


def test_killed_before_it_reads_a_call():
    """Nothing of it was executed, so it goes to the next worker, and nobody is told."""
    with server() as s:
        prints(s, "before")
        first = s.worker()
        os.kill(first, signal.SIGSTOP)
        call_id = s.start_exec("print('once')")
        # It is answered after the call was given away, which lies in the socket now.
        equal(s.request("ping")["result"], {})
        os.kill(first, signal.SIGKILL)
        result = s.answer(call_id, 12)["result"]
        equal(result["isError"], False, str(result)[:300])
        equal(result["structuredContent"]["stdout"], "once\n")
        check(s.worker() != first, "no new worker")
        contains(s.stderr().decode(), " event=exec.again id=2 errno=ECONNRESET")
        prints(s, "next")
        s.silence(0.1)
        equal(zombies_of(s.pid), [])


def test_cancelled_before_the_worker_reads_it():
    with server() as s:
        prints(s, "before")
        worker = s.worker()
        os.kill(worker, signal.SIGSTOP)
        name = unique()
        call_id = s.start_exec(named_program(name))
        s.cancel(call_id)
        equal(s.request("ping")["result"], {})
        os.kill(worker, signal.SIGKILL)
        prints(s, "next")
        equal(named(name), [], "a cancelled call was given to the next worker:")
        equal(s.inbox, [])


def test_killed_before_the_first_call():
    with server() as s:
        os.kill(s.worker(), signal.SIGKILL)
        # Whether this call meets a new worker or the end of the old one, it is answered, and the one behind it works.
        check("result" in s.answer(s.start_exec("print(1)"), 12), "no result")
        prints(s, "next")


def kill_under_a_call(s, code):
    """Starts a call and kills the worker as soon as there is one. Returns the id of the call."""
    call_id = s.start_exec(code)
    os.kill(s.worker(12), signal.SIGKILL)
    return call_id


def test_killed_again_and_again():
    """Quick deaths delay the next start, up to seconds, but every call gets an answer and a calm worker works."""
    with server() as s:
        for i in range(6):
            answer = s.answer(kill_under_a_call(s, "import time; time.sleep(0.3); print(%d)" % i), 12)
            if answer["result"]["isError"]:
                lost(answer)
            else:
                equal(answer["result"]["structuredContent"]["stdout"], "%d\n" % i)
        prints(s, "calm", wait=12)
        equal(s.request("ping")["result"], {})
        equal(zombies_of(s.pid), [])


def test_ping_while_the_worker_comes_back():
    with server() as s:
        for _ in range(3):
            call_id = kill_under_a_call(s, "import time; time.sleep(0.3)")
            started = time.monotonic()
            equal(s.request("ping")["result"], {})
            within(time.monotonic() - started, 0, 0.5, "ping")
            s.answer(call_id, 12)


def test_worker_that_hangs():
    """A stopped worker cannot keep the deadline; the server's watchdog ends it."""
    with server() as s:
        call_id, name = start_named(s, timeout_s=1)
        os.kill(s.worker(), signal.SIGSTOP)
        lost(s.answer(call_id, 20))
        until(lambda: not named(name), 2, "the run died with its worker")
        prints(s, "next")


def test_run_cannot_end_its_worker():
    """A run sees none of our processes; its signals end at its own pid 1."""
    with server() as s:
        s.exec("import os\nfor p in range(1, 4000):\n  if p != os.getpid():\n"
               "    try: os.kill(p, 9)\n    except OSError: pass")
        s.exec("import os, signal\nos.kill(-1, signal.SIGKILL)")
        equal(alive(s.pid), True)
        prints(s, "next")


def test_nothing_piles_up():
    """Neither descriptors nor zombies, of either process, over runs of every kind."""
    with server() as s:
        programs = ["print(1)", "1/0", "import os; os.kill(os.getpid(), 9)",
                    "import os\nif os.fork() == 0: os.setsid()"]

        def round():
            for code in programs:
                s.exec(code)
            s.exec("import time; time.sleep(9)", timeout_s=1)
            s.cancel(s.start_exec("import time; time.sleep(9)"))
            s.exec("")
            return descriptors(s.pid), descriptors(s.worker())

        round()
        before = round()
        for _ in range(3):
            after = round()
        equal(after, before, "descriptors of server and worker:")
        equal(zombies_of(s.pid) + zombies_of(s.worker()), [])


def end_by_closing(s):
    s.close_stdin()


@case("end of input", end_by_closing, False)
@case("end of input during a run", end_by_closing, True)
@case("SIGTERM", lambda s: s.kill(signal.SIGTERM), False)
@case("SIGTERM during a run", lambda s: s.kill(signal.SIGTERM), True)
@case("SIGKILL", lambda s: s.kill(signal.SIGKILL), False)
@case("SIGKILL during a run", lambda s: s.kill(signal.SIGKILL), True)
def test_nothing_is_left(end, running):
    with server() as s:
        prints(s, "x")
        name = start_named(s)[1] if running else unique()
        below = descendants(s.pid)
        check(len(below) >= (2 if running else 1), "too few processes to lose", below)
        end(s)
        s.wait_exit(2)
        until(lambda: not any(map(alive, below)), 2, "all that was below the server is gone")
        # The worker may have been building its next sandbox in that moment.
        until(lambda: not named(name) and not marked(MARKER.encode()), 2, "nothing else is left")


@case("SIGTERM", signal.SIGTERM)
@case("SIGINT", signal.SIGINT)
@case("SIGHUP", signal.SIGHUP)
def test_a_signal_for_the_whole_group_does_not_end_a_run(number):
    """It is the supervisor's to decide: the worker ends with its link."""
    with server() as s:
        call_id, name = start_named(s, stdin="x")
        worker = s.worker()
        os.kill(worker, number)
        check(named(name), "the program is gone")
        s.cancel(call_id)
        prints(s, "still here")
        equal(s.worker(), worker, "the worker:")


def test_end_while_the_worker_is_stopped():
    with server() as s:
        start_named(s)
        below = descendants(s.pid)
        os.kill(s.worker(), signal.SIGSTOP)
        s.close_stdin()
        equal(s.wait_exit(2.5), 0)
        until(lambda: not any(map(alive, below)), 2, "all that was below the server is gone")


def test_worker_alone_ends_what_it_started():
    """Killed with its server at the same time, nobody else is there to clean up."""
    with server() as s:
        _, name = start_named(s)
        below, worker = descendants(s.pid), s.worker()
        os.kill(s.pid, signal.SIGSTOP)
        os.kill(worker, signal.SIGKILL)
        until(lambda: not named(name), 2, "the run died with its worker")
        s.kill()
        until(lambda: not any(map(alive, below)), 2, "all that was below the server is gone")


def not_run(result):
    """Checks that a call is told not to have begun, and not to be lost."""
    equal(result["isError"], True, str(result)[:300])
    text = result["content"][0]["text"]
    check(text.startswith("Nothing was run. "), text)
    return text


def test_proc_of_another_pid_namespace():
    """As unshare leaves it: the memory watch finds no process of ours there."""
    enter = ["unshare", "-pf"] if os.geteuid() == 0 else ["unshare", "--map-current-user", "-pf"]
    with Server(through=enter) as s:
        s.initialize()
        contains(not_run(s.exec("print(1)")), "(watch, ENOENT)", "--mount-proc")


@cases([("invisible", "invisible", "ENOENT"), ("noaccess", "noaccess", "EPERM")])
def test_proc_that_hides_processes(how, error):
    """As ProtectProc= of systemd leaves it. The watch would see the worker itself, and no process of a sandbox."""
    mount = "mount -t proc -o hidepid=%s proc /proc; exec setpriv --inh-caps=-all --ambient-caps=-all \"$0\"" % how
    user = [] if os.geteuid() == 0 else ["--map-current-user", "--keep-caps"]
    with Server(through=["unshare", "--mount", "-pf"] + user + ["sh", "-c", mount]) as s:
        s.initialize()
        contains(not_run(s.exec("print(1)")), "(watch, %s)" % error, "ProtectProc=")


def limit_files(pid, limit):
    """Sets a process's soft limit on open files, as its own user: root may lack the right here."""
    with open("/proc/%d/status" % pid) as file:
        uid = int(file.read().split("Uid:")[1].split()[0])
    code = "import resource as r\nhard = r.prlimit(%d, r.RLIMIT_NOFILE)[1]\nr.prlimit(%d, r.RLIMIT_NOFILE, (%d, hard))"
    as_user = {"user": uid, "group": uid, "extra_groups": []} if os.geteuid() == 0 else {}
    subprocess.run(["/usr/bin/python3", "-c", code % (pid, pid, limit)], check=True, timeout=20 * PATIENCE, **as_user)


def test_no_descriptor_is_left_for_the_pipes():
    """One less each time: making the pipes takes the most, so it fails first."""
    with server() as s:
        s.initialize()
        worker = s.worker()
        for limit in range(32, 6, -1):
            limit_files(worker, limit)
            result = s.exec("print(1)")
            if result["isError"]:
                break
        contains(not_run(result), "(program, EMFILE)", "ulimit -n")
        limit_files(worker, 64)
        prints(s, "2")


if __name__ == "__main__":
    main()
