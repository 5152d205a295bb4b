#!/usr/bin/env python3
"""Interpreters that wait may be lost at any time, and calls may be cut off at any time: the next call is right, in
time, and nothing is left behind. How it is started is a matter of time only."""
import os
import random
import resource
import signal
import time

from _warm import (AGAIN_S, MODES, at_rest, ends, holdings, holds_no_more, needs_root, needs_warm, right, server,
                   strike, sums, victims, waiting)
import warm
from mcp import (PATIENCE, SANITIZED, alive, case, cases, check, contains, descendants, equal, main, named,
                 named_program, run, skip, unique, until, within)

R = random.Random(7)


# What is said of a start.

def test_started_by_copying_and_said_so():
    needs_warm()
    with server() as s:
        warm.warmed(s)
        below = waiting(s)
        equal(len(below.pristine), 1, "bare interpreters:")
        for _ in range(20):
            equal(right(s), warm.WARM)


def test_every_call_in_a_row_is_warm():
    """Also when the next one waits already."""
    needs_warm()
    with server() as s:
        warm.warmed(s)
        calls = [s.start_exec("print(%d)" % i) for i in range(60)]
        results = [s.answer(call)["result"] for call in calls]
        equal([r["structuredContent"]["stdout"] for r in results], ["%d\n" % i for i in range(60)])
        starts = [warm.start_of(r) for r in results]
        check(starts.count(warm.WARM) >= 50, "cold in a row", starts)


def test_a_library_is_loaded_from_its_second_use_on():
    needs_warm()
    with server() as s:
        warm.warmed(s)
        check(sums(s) != warm.PRELOADED, "loaded before anybody used it")
        warm.until_started(s, warm.imports("numpy"), warm.PRELOADED)
        waiting(s, 2)
        for _ in range(10):
            equal(sums(s), warm.PRELOADED)
        equal(right(s), warm.WARM, "a program that imports nothing:")


def test_what_is_asked_for_is_loaded_at_once():
    needs_warm()
    with server(MCP_EXEC_PRELOAD="numpy") as s:
        waiting(s, 2)
        equal(sums(s), warm.PRELOADED)


def test_what_nobody_uses_is_given_back():
    needs_warm()
    with server(MCP_EXEC_WARM_IDLE_S="2") as s:
        warm.warmed(s, "numpy")
        waiting(s, 2)
        last = time.monotonic()
        loaded = set(warm.Below(s.worker()).interpreters())
        while time.monotonic() < last + 1:
            check(len(warm.Below(s.worker()).pristine) == 2, "given back at once")
            time.sleep(0.05)
        until(lambda: len(warm.Below(s.worker()).pristine) < 2, 10, "the loaded interpreter is given back")
        until(lambda: sum(map(alive, loaded)) <= 2, 5, "its copy is gone too")
        check(sums(s) != warm.PRELOADED, "still there")
        warm.warmed(s, "numpy")
        at_rest(s)


def test_what_is_used_is_kept():
    needs_warm()
    with server(MCP_EXEC_WARM_IDLE_S="2") as s:
        warm.warmed(s, "numpy")
        starts = []
        for _ in range(16):
            starts.append(sums(s))
            time.sleep(0.25)
        check(starts.count(warm.PRELOADED) >= 14, "given back although it is used", starts)


def test_switched_off_there_is_nothing_more():
    with server(MCP_EXEC_WARM="0", MCP_EXEC_PRELOAD="numpy") as s:
        for _ in range(3):
            equal(right(s), warm.COLD)
            equal(sums(s), warm.COLD)
        below = at_rest(s)
        equal((len(below.empty), below.interpreters()), (1, []), "sandboxes and interpreters:")
        time.sleep(0.5)
        equal(len(descendants(s.worker())), 1, "processes below the worker:")


def test_command_line_ends_with_its_program():
    """One program needs nothing that waits, and nothing may be left of it."""
    name = unique()
    equal(run(["run", "-"], input=named_program(name, "print(1)").encode()), (0, b"1\n", b""))
    equal(named(name), [])


# Losses between calls.

LOSSES = [("%s_by_%s" % (who, signal.Signals(number).name), who, number)
          for who in ("parked", "pristine", "both", "empty_sandbox", "init_of_parked", "init_of_pristine", "everything")
          for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSTOP)
          # A stopped init holds up the end of its run, as it does without warm runs: see link.py.
          if not (number == signal.SIGSTOP and who in ("init_of_parked", "empty_sandbox", "everything"))]


@cases(LOSSES)
def test_lost_between_calls(who, number):
    needs_warm()
    with server() as s:
        warm.warmed(s)
        waiting(s)
        before = holdings(s)
        for _ in range(3):
            lost = victims(s)[who]
            if not lost and who == "empty_sandbox":
                skip("none waits beside a parked copy")
            parked = victims(s)["parked"]
            strike(lost, number)
            if who in ("init_of_parked", "init_of_pristine", "everything") and number == signal.SIGKILL:
                # Its namespace ends before a program begins in it, and not while one runs.
                until(lambda: not any(alive(pid) for pid in parked), 5, "what was parked below it is gone")
            start = time.monotonic()
            right(s, "first")
            right(s, "second")
            within(time.monotonic() - start, 0, 12)
            warm.warmed(s, timeout=AGAIN_S)
            waiting(s)
            if number == signal.SIGKILL:
                equal([pid for pid in lost if alive(pid)], [], "still there:")
        holds_no_more(s, before)
        ends(s, lost)


def test_lost_with_a_library():
    needs_warm()
    with server(MCP_EXEC_PRELOAD="numpy") as s:
        for number in (signal.SIGKILL, signal.SIGSTOP):
            waiting(s, 2)
            strike(victims(s)["pristine"], number)
            for _ in range(3):
                sums(s)
                right(s)
            warm.warmed(s, "numpy", timeout=AGAIN_S)
        ends(s)


def test_lost_again_and_again():
    """A pristine interpreter that always dies must not keep the machine busy, nor calls from being answered."""
    needs_warm()
    with server() as s:
        warm.warmed(s)
        killed, end = set(), time.monotonic() + 3
        while time.monotonic() < end:
            for pid in warm.Below(s.worker()).pristine:
                if pid not in killed and alive(pid):
                    strike([pid], signal.SIGKILL)
                    killed.add(pid)
            right(s)
        check(0 < len(killed) < 100, "interpreters in three seconds", len(killed))
        warm.warmed(s, timeout=AGAIN_S)
        ends(s)


# Losses while a program runs.

SLOW = "import time\nfor i in range(8): time.sleep(.1); print(i, flush=True)"


@cases([("killed", signal.SIGKILL), ("stopped", signal.SIGSTOP), ("terminated", signal.SIGTERM)])
def test_the_run_in_progress_is_not_hurt_by_the_loss_of_its_interpreter(number):
    needs_warm()
    with server() as s:
        warm.warmed(s)
        pristine, name = waiting(s).pristine, unique()
        call = s.start_exec(named_program(name, SLOW))
        until(lambda: named(name), 10, "the program runs")
        strike(pristine, number)
        result = s.answer(call)["result"]
        equal((result["structuredContent"]["stdout"], warm.start_of(result)),
              ("".join("%d\n" % i for i in range(8)), warm.WARM))
        right(s)
        warm.warmed(s, timeout=AGAIN_S)
        ends(s)


def test_a_run_whose_interpreter_s_whole_sandbox_is_killed_is_answered():
    """Its processes are in a pid namespace below that one: setns(2) allows no other. So the kernel ends them too."""
    needs_warm()
    with server() as s:
        warm.warmed(s)
        below, name = waiting(s), unique()
        call = s.start_exec(named_program(name, SLOW))
        until(lambda: named(name), 10, "the program runs")
        strike([below.init[pid] for pid in below.pristine], signal.SIGKILL)
        result = s.answer(call)["result"]
        check(result["isError"] or result["structuredContent"]["signal"] == "SIGKILL" or
              result["structuredContent"]["exit_code"] == 0, "odd end", result)
        until(lambda: not named(name), 3, "the program is gone")
        right(s)
        warm.warmed(s, timeout=AGAIN_S)
        ends(s)


def test_a_run_that_is_killed_is_told_so():
    needs_warm()
    with server() as s:
        warm.warmed(s)
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV):
            name = unique()
            call = s.start_exec(named_program(name, SLOW))
            strike(until(lambda: named(name), 10, "the program runs"), number)
            got = s.answer(call)["result"]["structuredContent"]
            equal((got["exit_code"], got["signal"], got["limit"]), (-1, signal.Signals(number).name, None))
            right(s)
        ends(s)


def test_worker_killed_at_any_moment():
    """While it starts, while interpreters load, while they wait, while a copy is made."""
    with server(MCP_EXEC_PRELOAD="numpy") as s:
        s.initialize()
        for delay in (0, 0.01, 0.03, 0.1, 0.2, 0.5):
            worker = s.worker(12)
            time.sleep(delay * PATIENCE)
            below = descendants(worker)
            strike([worker], signal.SIGKILL)
            until(lambda: not any(map(alive, below)), 3, "all that was below it is gone")
            # This call may meet the end of that worker; the one behind it may not.
            check("content" in s.exec("print(1)", wait=30), "no answer")
            right(s, wait=30)
            check(s.worker() != worker, "no other worker")
        ends(s)


# Calls that are cut off.

def check_after(s, before):
    right(s, "after")
    at_rest(s)
    holds_no_more(s, before)
    right(s, "later")


@cases(MODES)
def test_a_hundred_calls_cancelled_at_once(mode):
    with server(MCP_EXEC_WARM=mode) as s:
        s.initialize()
        right(s)
        if mode == "1" and warm.known():
            warm.warmed(s)
            waiting(s)
        at_rest(s)
        before, name = holdings(s), unique()
        for i in range(100):
            call = s.start_exec(named_program(name))
            time.sleep(R.choice((0, 0, R.random() * 0.003, R.random() * 0.02)))
            s.cancel(call)
            if i % 10 == 9:
                right(s, "in between")
        until(lambda: not named(name), 3, "no cancelled program runs")
        check_after(s, before)
        equal(s.inbox, [])
        ends(s)


@cases(MODES)
def test_timeouts(mode):
    with server(MCP_EXEC_WARM=mode) as s:
        right(s)
        at_rest(s)
        before = holdings(s)
        for code in ("while True: pass", "import time; time.sleep(60)", "import signal\nsignal.pthread_sigmask(0, "
                     "range(1, 65))\nprint('x', flush=True)\nwhile True: signal.pause()"):
            start = time.monotonic()
            got = s.exec(code, timeout_s=1)["structuredContent"]
            equal((got["timed_out"], got["limit"], got["signal"]), (True, "wall_time", "SIGKILL"))
            within(time.monotonic() - start, 1, 2)
        check_after(s, before)
        ends(s)


def test_handed_to_a_copy_that_does_not_move():
    """It cannot keep its caller waiting for longer than it was given."""
    needs_warm()
    with server() as s:
        warm.warmed(s)
        parked = waiting(s).parked
        strike(parked, signal.SIGSTOP)
        start = time.monotonic()
        result = s.exec("print(1)", timeout_s=2)
        within(time.monotonic() - start, 0, 4)
        equal(result["isError"], False, str(result)[:300])
        got = result["structuredContent"]
        check(got["stdout"] == "1\n" or got["timed_out"], "odd end", result)
        until(lambda: not any(map(alive, parked)), 5, "the stopped copy is gone")
        right(s)
        ends(s)


@cases([(end + ("_with_a_library" if preload else ""), end, preload)
        for end in ("stdin", "SIGTERM", "SIGKILL") for preload in ("", "numpy,pandas,matplotlib")])
def test_ended_while_it_warms(end, preload):
    for delay in (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.4):
        with server(MCP_EXEC_PRELOAD=preload) as s:
            time.sleep(delay)
            below = set(descendants(s.pid))
            if end == "stdin":
                s.close_stdin()
            else:
                s.kill(getattr(signal, end))
            # At first the signal may come before the server takes it.
            code = s.wait_exit(3)
            right_codes = (0, -signal.SIGTERM) if delay < 0.01 * PATIENCE else (0,)
            check(code in right_codes or end == "SIGKILL", "exit code", code, delay)
            until(lambda: not any(map(alive, below)), 3, "everything of it is gone")


def test_ended_during_a_run():
    needs_warm()
    with server() as s:
        warm.warmed(s)
        name = unique()
        s.start_exec(named_program(name))
        until(lambda: named(name), 10, "the program runs")
        ends(s)
        equal(named(name), [])


def test_first_call_does_not_wait_for_anything_to_load():
    """A caller who comes at once is served as fast as ever."""
    times = {}
    for mode, preload in (("0", ""), ("1", ""), ("1", "numpy,pandas,matplotlib")):
        with server(MCP_EXEC_WARM=mode, MCP_EXEC_PRELOAD=preload) as s:
            start = time.monotonic()
            right(s)
            times[mode, preload] = time.monotonic() - start
    slowest = max(times.values())
    check(slowest < times["0", ""] * 3 + 0.5 * PATIENCE, "the first call took", times)


# Limits.

@case("pristine", "pristine")
@case("worker", "worker")
def test_no_process_can_be_had(whose):
    needs_warm()
    if os.geteuid() == 0:
        skip("needs an ordinary user: the limits of another user's process are not root's everywhere")
    with server() as s:
        warm.warmed(s)
        below = waiting(s)
        for pid in below.pristine if whose == "pristine" else [s.worker()]:
            hard = resource.prlimit(pid, resource.RLIMIT_NPROC)[1]
            resource.prlimit(pid, resource.RLIMIT_NPROC, (0 if whose == "pristine" else 1, hard))
        strike(below.parked, signal.SIGKILL)
        for _ in range(3):
            if whose == "pristine":
                right(s)
            else:
                result = s.exec("print(1)")
                text = str(result["content"])
                check(not result["isError"] or "EAGAIN" in text, "odd", text)
        if whose == "worker":
            resource.prlimit(s.worker(), resource.RLIMIT_NPROC, (hard, hard))
        warm.warmed(s, timeout=AGAIN_S)
        ends(s)


GROW = "%simport ctypes\nb = ctypes.create_string_buffer(%d << 20)\nctypes.memset(b, 1, %d << 20)\nprint('had it')"


@cases([("%s_%s%s" % (label, mode, "_numpy" if lines else ""), mode, lines, mib, fits)
        for mode in (warm.COLD, warm.WARM) for lines in ("", "import numpy\n")
        for label, mib, fits in (("fits", 60, True), ("does_not", 140, False))])
def test_limit_on_memory_holds_alike(mode, lines, mib, fits):
    if mode != warm.COLD:
        needs_warm()
    with server(MCP_EXEC_WARM="0" if mode == warm.COLD else "1", MCP_EXEC_MEMORY_BYTES=str(128 << 20)) as s:
        wanted = warm.PRELOADED if lines and mode == warm.WARM else mode
        result = warm.until_started(s, GROW % (lines, mib, mib), wanted)
        got = result["structuredContent"]
        equal((got["stdout"], got["limit"]), ("had it\n", None) if fits else ("", "memory"), str(got)[:300])
        peak = result["_meta"][warm.RUN_META]["peak_memory_bytes"]
        check((mib << 20 if fits else 1 << 20) <= peak <= 200 << 20, "peak", peak)
        right(s)


@cases([(str(mib), mib) for mib in (32, 48, 64)])
def test_libraries_that_do_not_fit_do_no_harm(mib):
    """What the operator wants to be loaded may be more than a run may have."""
    with server(MCP_EXEC_MEMORY_BYTES=str(mib << 20), MCP_EXEC_PRELOAD="numpy,pandas,matplotlib") as s:
        if warm.known():
            warm.warmed(s, timeout=AGAIN_S)
        for _ in range(5):
            right(s)
            result = s.exec("import numpy, pandas, matplotlib.pyplot\nprint('all')", wait=30)
            got = result["structuredContent"]
            # What a library makes of memory that it does not get is its own.
            check(got["limit"] == "memory" or got["stdout"] == "all\n" or got["exit_code"] == 1, "odd end", got)
            time.sleep(0.2)
        at_rest(s)
        ends(s)


# What a pristine interpreter can know.

def talk(s, canary, runs):
    for i in range(runs):
        code = "# %s\nimport sys\nx = sys.stdin.read(); print(x, file=sys.stderr); print(%r)" % (canary, canary)
        got = s.exec(code, stdin=canary)["structuredContent"]
        equal((got["stdout"], got["stderr"]), (canary + "\n", canary + "\n"))


def test_a_pristine_interpreter_holds_nothing_of_a_caller():
    needs_warm()
    needs_root("what another process holds")
    if SANITIZED:
        skip("the memory of a build with sanitizers cannot be read as a whole")
    with server() as s:
        warm.warmed(s)
        below = waiting(s)
        pristine, canary = below.pristine[0], "CANARY" + unique()
        held = warm.descriptors(pristine)
        check(3 <= len(held) <= 6, "descriptors", held)
        equal({what.split(":")[0] for what in held.values()} - {"pipe", "socket", "/memfd"}, set(), str(held))
        # The search finds what is there.
        name = unique()
        call = s.start_exec(named_program(name, "x = %r\nimport time; time.sleep(2)" % canary), stdin=canary)
        running = until(lambda: named(name), 10, "the program runs")[0]
        until(lambda: warm.holds(running, canary), 2, "the run holds the word")
        others = set(warm.descriptors(running).values())
        equal(others & set(held.values()), set(), "held by a run and by the interpreter that it is a copy of:")
        check(not warm.holds(pristine, canary), "a word of a run that goes on")
        s.cancel(call)
        talk(s, canary, 30)
        below = waiting(s)
        equal(below.pristine, [pristine], "the interpreter:")
        equal(warm.descriptors(pristine), held, "its descriptors:")
        for pid in below.interpreters() + list(below.init.values()):
            check(not warm.holds(pid, canary), "a word of a caller is in", pid, pid == pristine)


def test_interpreters_share_no_pipe_with_each_other_or_with_the_client():
    needs_warm()
    needs_root("what another process holds")
    with server(MCP_EXEC_PRELOAD="numpy") as s:
        mine = {os.readlink("/proc/self/fd/%d" % fd) for fd in (s._in, s._out)}
        seen = set()
        for pid in waiting(s, 2).pristine:
            held = {what for what in warm.descriptors(pid).values() if what.startswith("pipe")}
            equal(held & (mine | seen), set(), "pipes of others:")
            seen |= held
        check(len(seen) >= 4, "few pipes", seen)


# Looks for a word, which stands here the wrong way round, in all that the program may read of its own memory.
SEARCH = """
word = %r[::-1].encode()
import re
hits = []
with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb", 0) as mem:
    for line in list(maps):
        first, last = (int(x, 16) for x in line.split()[0].split("-"))
        if "r" not in line.split()[1] or "[v" in line: continue
        at = first
        while at < last:
            try: mem.seek(at); data = mem.read(min(last - at, 1 << 20))
            except OSError: break
            if word in data: hits.append(line)
            at += len(data) or 1
            del data
print(len(hits), "found")
"""


@cases(MODES)
def test_a_run_finds_nothing_of_earlier_ones_in_its_memory(mode):
    with server(MCP_EXEC_WARM=mode) as s:
        canary = "CANARY" + unique()
        if mode == "1" and warm.known():
            warm.warmed(s)
        talk(s, canary, 15)
        got = s.exec(SEARCH % canary[::-1])["structuredContent"]
        # It made the word itself, so it finds that one.
        found = int(got["stdout"].split()[0])
        other = int(s.exec(SEARCH % ("CANARY" + unique())[::-1])["structuredContent"]["stdout"].split()[0])
        check(0 < found <= other + 1, "places", found, other)


@cases(MODES)
def test_a_program_that_cannot_be_written_down_is_refused(mode):
    """By the copy that was to become it, too; it is not the program that failed."""
    with server(MCP_EXEC_WARM=mode, MCP_EXEC_TMP_BYTES=str(1 << 20)) as s:
        if mode == "1" and warm.known():
            warm.warmed(s)
        result = s.exec("print(1)\n#" + "x" * (3 << 19))
        equal(result["isError"], True, str(result)[:400])
        contains(result["content"][0]["text"], "(program, E")
        right(s)


def test_log_tells_of_interpreters_and_of_no_program():
    needs_warm()
    with server(MCP_EXEC_LOG_LEVEL="debug") as s:
        canary = "CANARY" + unique()
        warm.warmed(s)
        talk(s, canary, 3)
        contains(s.stderr(), b"warm")
        check(canary.encode() not in s.stderr(), "in the log")


if __name__ == "__main__":
    main()
