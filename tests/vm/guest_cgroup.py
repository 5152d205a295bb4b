#!/usr/bin/env python3
"""Limits of a run that a cgroup of its own holds: the server is given one to divide by systemd, in every way there is.
For a virtual machine, in which this is root and the only one who starts units."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import (BINARY, PATIENCE, Server, Skip, cases, check, cmdline, contains, equal, main, named,  # noqa: E402
                 pids, until, within)
from warm import RUN_META, until_started  # noqa: E402
from _cgroup import CGROUP, HOG, NEXT_BEST, ROOT, below, ended, is_well, limited_by, read  # noqa: E402

MIB = 1 << 20
VERSION = int(subprocess.run(["systemctl", "--version"], stdout=subprocess.PIPE).stdout.split()[1])
# What may lie beside the server's own: two interpreters that wait, and three sandboxes.
PARKED = 5
_count = []


def unit(*properties, delegate=("Delegate=memory pids cpu", "OOMPolicy=continue")):
    """The words that start a program as a service of its own, with our stdin and stdout; and its cgroup."""
    _count.append(None)
    name = "mcp-exec-test-%d.service" % len(_count)
    words = ["systemd-run", "--quiet", "--pipe", "--wait", "--collect", "--unit=" + name]
    for one in ("DynamicUser=yes",) + tuple(delegate) + properties:
        words += ["-p", one]
    return words, os.path.join(ROOT, "system.slice", name)


class Unit(Server):
    """A server in a unit. cgroup is the unit's directory."""

    def __init__(self, *properties, env=(), **more):
        words, self.cgroup = unit(*properties, **more)
        super().__init__(through=words + ["--setenv=" + one for one in env])
        self.initialize()


def programs():
    """(name of the cgroup, open files) of each process that is a program's, or an interpreter that waits."""
    found = []
    for pid in pids():
        folder = "/proc/%d" % pid
        try:
            if b"main.py" in cmdline(pid):
                files = [os.readlink("%s/fd/%s" % (folder, name)) for name in os.listdir(folder + "/fd")]
                found.append((os.path.basename(read(folder, "cgroup").split("::")[1]), files))
        except OSError:
            # It has ended meanwhile.
            pass
    return found


def warm(s):
    until_started(s, "pass", "warm", timeout=30)


WAYS = [("cold", ("MCP_EXEC_WARM=0",)), ("warm", ())]
MANY = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        data = bytearray(b"x") * (16 << 20)
        time.sleep(60)
time.sleep(60)
"""
FILES = "with open('/tmp/x', 'wb') as f:\n    for _ in range(40): f.write(b'x' * (1 << 20))\n" + HOG
HIDDEN = """
import mmap, os
kept = []
while True:
    m = mmap.mmap(-1, 1 << 20)
    m.write(b"x" * (1 << 20))
    kept.append(m)
"""


@cases([("one", WAYS[0][1], HOG), ("many", WAYS[0][1], MANY), ("files", (), FILES), ("shared", (), HIDDEN)])
def test_a_run_that_takes_too_much_memory_ends_alone(env, code):
    with Unit(env=env + ("MCP_EXEC_MEMORY_BYTES=%d" % (64 * MIB),)) as s:
        if not env:
            warm(s)
        result = s.exec(code)
        equal(ended(result), (-1, "memory", "SIGKILL"), str(result))
        contains(" ".join(result["structuredContent"]["warnings"]), "memory is limited to 64 MiB together with files")
        within(result["_meta"][RUN_META]["peak_memory_bytes"], 50 * MIB, 65 * MIB, "bytes")
        is_well(s)
        equal(read(s.cgroup, "supervisor/memory.events.local").count("oom_kill 0"), 1)


BOMB = """
import os, sys, time
while True:
    try:
        if os.fork() == 0: time.sleep(60)
    except OSError: sys.exit(1)
"""
REAL_BOMB = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"


def test_a_fork_bomb_ends_alone():
    with Unit(env=("MCP_EXEC_MAX_PROCESSES=30",)) as s:
        warm(s)
        equal(ended(s.exec(BOMB)), (1, "processes", None))
        is_well(s)
        result = s.exec(REAL_BOMB, timeout_s=2)
        equal(ended(result), (-1, "wall_time", "SIGKILL"))
        is_well(s)
        result = s.exec("import subprocess\nfor _ in range(40): subprocess.Popen(['sleep', '60'])")
        equal(ended(result)[:2], (1, "processes"))
        is_well(s)


BUSY = """
import os, time
for _ in range(5):
    if os.fork() == 0: break
end = time.monotonic() + 4
while time.monotonic() < end: pass
if os.getpid() != 2:
    os._exit(0)
for _ in range(5): os.wait()
"""


def test_a_busy_run_gets_no_more_than_its_cpus():
    with Unit() as s:
        warm(s)
        result = s.exec(BUSY)
        content, meta = result["structuredContent"], result["_meta"][RUN_META]
        equal(content["exit_code"], 0, str(content))
        within(meta["cpu_ms"] / content["duration_ms"], 0.2, 1.15, "CPUs")


@cases(WAYS)
def test_a_run_is_in_its_cgroup_before_it_begins(env):
    """What waits is, too, but for pristine interpreters, which have their own; and the files say what was asked for."""
    want = {"memory.max": str(100 * MIB), "memory.swap.max": "0", "memory.oom.group": "1", "pids.max": "50",
            "cpu.max": "100000 100000", "cpu.weight.nice": "10"}
    settings = ("MCP_EXEC_MEMORY_BYTES=%d" % (100 * MIB), "MCP_EXEC_MAX_PROCESSES=50")
    with Unit(env=env + settings) as s:
        if not env:
            warm(s)
        request = s.start_exec("import os, time\nprint(open('/proc/self/cgroup').read())\n"
                               "if os.fork() == 0: time.sleep(61)\ntime.sleep(3)")
        until(lambda: len([name for name, _ in programs() if name.startswith("run-")]) >= 2, 20, "the program runs")
        for name, files in programs():
            check(name.startswith(("run-", "pristine-")), "somewhere else", name)
            equal([path for path in files if path.startswith(ROOT)], [])
        groups = below(s.cgroup)
        check("supervisor" in groups, "no supervisor", groups)
        for name in groups:
            if name == "supervisor":
                equal(read(s.cgroup, name, "memory.max"), "max")
                continue
            more = {"pids.max": "58"} if name.startswith("pristine-") else {}
            equal({file: read(s.cgroup, name, file) for file in want}, dict(want, **more), name)
        equal(read(s.cgroup, "cgroup.procs"), "")
        # The host's paths stay hidden.
        equal(s.answer(request)["result"]["structuredContent"]["stdout"].strip(), "0::/")


def test_the_lowest_limits_are_enough_to_start_warm():
    with Unit(env=("MCP_EXEC_MAX_PROCESSES=4", "MCP_EXEC_MEMORY_BYTES=%d" % (32 * MIB))) as s:
        is_well(s)
        warm(s)
        is_well(s)


def test_fifty_runs_leave_nothing():
    with Unit() as s:
        warm(s)
        until(lambda: len(below(s.cgroup)) >= 3, 20, "something waits")
        for i in range(50):
            s.exec("print(%d)" % i)
        until(lambda: len(below(s.cgroup)) <= 1 + PARKED, 20, "the cgroups are gone")
        cgroup = s.cgroup
    until(lambda: not os.path.exists(cgroup), 20, "the unit's cgroup is gone")


def test_a_killed_worker_leaves_nothing():
    with Unit() as s:
        warm(s)
        s.start_exec("import time; time.sleep(60)")
        time.sleep(1)
        before = set(below(s.cgroup)) - {"supervisor"}
        check(before, "nothing there")
        worker, = named("mcp-exec-worker")
        os.kill(worker, 9)
        until(lambda: not before & set(below(s.cgroup)), 20, "what it left is gone")
        is_well(s)


def test_controllers_that_are_taken_back_are_missed():
    """As a user's manager may do it with a unit that was not to be delegated: no run is without its limits."""
    with Unit() as s:
        warm(s)
        with open(s.cgroup + "/cgroup.subtree_control", "w") as file:
            file.write("-memory")
        result = s.exec("print('ran')")
        contains(str(result), "Nothing was run", "cgroup")
        until(lambda: not s.exec("pass").get("isError"), 20, "it is divided again")
        is_well(s)


@cases([("the_own_cgroup", ()), ("a_subgroup_of_systemd", ("DelegateSubgroup=supervisor",)),
        ("a_subgroup_of_another_name", ("DelegateSubgroup=main",))])
def test_is_found_where_systemd_puts_it(properties):
    if properties and VERSION < 254:
        raise Skip("systemd %d knows no DelegateSubgroup" % VERSION)
    with Unit(*properties) as s:
        is_well(s)


@cases([("not_delegated", (), ("Delegate=no",)), ("read_only", ("ProtectControlGroups=yes",), None)])
def test_without_one_the_next_best_holds(properties, delegate):
    with Unit(*properties, **({"delegate": delegate} if delegate else {})) as s:
        result = s.exec(HOG)
        equal((ended(result)[1], limited_by(result)), ("memory", NEXT_BEST))
    words, _ = unit(*properties, **({"delegate": delegate} if delegate else {}))
    done = subprocess.run(words + ["--setenv=MCP_EXEC_CGROUP=required", BINARY, "check"], stdout=subprocess.PIPE,
                          timeout=20 * PATIENCE)
    equal(done.returncode, 69)
    contains(done.stdout.decode(), "FAIL   cgroup", "Delegate=yes")


def test_check_says_by_what():
    words, _ = unit()
    done = subprocess.run(words + [BINARY, "check", "--strict"], stdout=subprocess.PIPE, timeout=20 * PATIENCE)
    text = done.stdout.decode()
    contains(text, "ok     cgroup: each run has one of its own", "files and the kernel for them included, by cgroup",
             "threads count, by cgroup", "by affinity and by the CPU time of its cgroup")


def test_off_is_off():
    with Unit(env=("MCP_EXEC_CGROUP=off",)) as s:
        equal(limited_by(s.exec("pass")), NEXT_BEST)
        equal(below(s.cgroup), [])


main()
