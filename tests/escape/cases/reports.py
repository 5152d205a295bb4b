"""What people who do this job have reported of others: small inputs, each with its right outcome."""
import errno
import sys
import time

from _case import ends, host, prints, soon, works
from _target import Broken, at_rest, below, structured
from hostile import FILTER
from mcp import alive, check, equal, named, named_program, unique, until, within

from .honest import library

ALONE = [
    works("report.thousands-of-lines", "printing many short lines does not end in a bare signal",
          "for i in range(3000): print(i)", "".join("%d\n" % i for i in range(3000))),
    works("report.forkserver-pool", "a pool by forkserver at the top level of a script", """
import multiprocessing as m
def f(x): return -x
if __name__ == '__main__':
    print(m.get_context('forkserver').Pool(2).map(f, [1, 2]))
""", "[-1, -2]\n"),
    library("report.numpy-with-pandas", "numpy and pandas together", "pandas", """
import numpy, pandas
print(pandas.DataFrame({'a': numpy.ones(1)}).shape)
""", "(1, 1)\n"),
    ends("report.background-child", "a background child holds the pipe: the answer does not wait for it", "init",
         "os.system('sleep 10 &')\nprint('done')", stdout="done\n", exit_code=0, timed_out=False, seconds=3,
         arguments={"timeout_s": 5}),
    ends("report.file-that-is-not-there", "Python's own error for a file nobody sent", "none", "open('data.csv')",
         exit_code=1,
         stderr=lambda s: s.endswith("FileNotFoundError: [Errno 2] No such file or directory: 'data.csv'\n")),
    works("report.data-by-stdin", "the same data by stdin", "import csv, sys\nprint(list(csv.reader(sys.stdin)))",
          "[['a', 'b'], ['1', '2']]\n", arguments={"stdin": "a,b\n1,2\n"}),
    prints("report.environ-of-all", "/proc/PID/environ has the built variables, that of pid 1 cannot be read",
           ("environment", "init"), """
names = {v.split(b"=")[0].decode() for v in open("/proc/self/environ", "rb").read().split(b"\\0") if v}
try: print(sorted(names - set(os.environ)), open("/proc/1/environ", "rb").read(9), "OPEN")
except OSError: print(sorted(names - set(os.environ)), "no")
""", "[] no\n", needs="proc"),
    ends("report.killed-says-why", "a kill for memory says memory", "memory_limit",
         "import mmap\nm = mmap.mmap(-1, 512 << 20)\nfor i in range(0, 512 << 20, 4096): m[i] = 1\nprint('OPEN')",
         limit="memory", signal="SIGKILL", timed_out=False, stdout=""),
]


@host("report.twenty-in-a-row", "twenty runs of 50 MB in a row are fine", "memory_limit")
def twenty_in_a_row(target):
    equal([target.exec("x = bytearray(50 << 20); print(len(x))")["stdout"] for _ in range(20)], ["52428800\n"] * 20)


@host("report.exit-with-unread-stdin", "programs that end with stdin unread, one after the other", "protocol", "raw")
def exit_with_unread_stdin(target):
    s = target.server()
    calls = [s.start_exec("raise SystemExit(3)", stdin="y" * 900000) for _ in range(16)]
    equal([structured(s.answer(c)["result"])["exit_code"] for c in calls], [3] * 16)


@host("report.four-at-once", "four calls at once, and a ping that does not wait for them", "queue", "raw")
def four_at_once(target):
    s = target.server()
    calls = [s.start_exec("import time; time.sleep(0.4); print(1)") for _ in range(4)]
    start = time.monotonic()
    equal(s.request("ping")["result"], {})
    within(time.monotonic() - start, 0, 0.5)
    equal([structured(s.answer(c)["result"])["stdout"] for c in calls], ["1\n"] * 4)


@host("report.description-says-it", "the tool's description says what models get wrong", "protocol", "raw")
def description_says_it(target):
    tool = target.server().request("tools/list")["result"]["tools"][0]
    for word in ("stdin", "pip", "network", "limit"):
        check(word in tool["description"].lower(), "the description lacks " + word)


@host("report.late-cancel", "a client that gives up leaves no process", "init", "raw", "processes")
def late_cancel(target):
    s, name = target.server(), unique()
    call = s.start_exec(named_program(name, "import time; time.sleep(20)"), meta={"progressToken": 1})
    until(lambda: named(name), 10, "the run")
    until(lambda: s.take(lambda m: m.get("method") == "notifications/progress"), 10, "progress")
    s.cancel(call)
    soon(lambda: not named(name), 2, "the run is gone")
    s.inbox[:] = [m for m in s.inbox if m.get("method") != "notifications/progress"]


MIDDLE = "import subprocess, sys; subprocess.Popen(sys.argv[1:]).wait()"


@host("report.parent-killed", "the client dies without a word while another process holds the pipe", "supervisor",
      "start",
      "processes")
def parent_killed(target):
    with target.instance(through=[sys.executable, "-c", MIDDLE]) as s:
        name = unique()
        s.start_exec(named_program(name, "import time; time.sleep(20)"))
        until(lambda: named(name), 10, "the run")
        family = below(s)
        check(len(family) >= 3, "server, worker and run are not there", family)
        s.kill()
        soon(lambda: not any(map(alive, family)), 3, "server, worker and run are gone")


@host("report.stopped-in-mid-run", "two instances of a user, one stopped in mid-run: no orphan, the other serves",
      "init",
      "second", "processes")
def stopped_in_mid_run(target):
    with target.instance() as s:
        name = unique()
        s.start_exec(named_program(name, "import time; time.sleep(20)"))
        until(lambda: named(name), 10, "the run")
        family = below(s)
        s.kill(15)
        s.wait_exit(5)
        soon(lambda: not any(map(alive, family)), 3, "worker and run are gone")
    equal(target.exec("print('next')")["stdout"], "next\n")


@host("report.no-wall-no-run", "where no namespace can be made nothing runs, and a sentence says what to do",
      "user_namespace", "start", "second")
def no_wall_no_run(target):
    with target.instance(through=[sys.executable, "-c", FILTER, "unshare", str(errno.EPERM)]) as s:
        s.initialize()
        for _ in range(2):
            result = s.exec("import os; print('RAN', os.listdir('/home'))")
            check("structuredContent" not in result and result["isError"] is True, "it ran:", result)
            check("user_namespace" in result["content"][0]["text"], "no sentence:", result)
        equal(s.request("ping")["result"], {})


@host("report.limits-are-told", "a result says by what means its limits hold", "supervisor")
def limits_are_told(target):
    meta = target.call("pass")["_meta"].get("io.github.mcp-exec/run")
    if not isinstance(meta, dict):
        raise Broken("no _meta")
    for wall in ("memory_limit", "rlimits"):
        check(wall in meta["layers"], "not told: " + wall, meta)
    ways = {"memory": "polling", "processes": "rlimit", "cpus": "affinity"}
    check(all(meta["limited_by"][limit] in ("cgroup", ways[limit]) for limit in ways), "not told", meta)


@host("report.many-runs-then-look", "forty runs of all kinds leave the processes as they were", "supervisor",
      "processes", "raw")
def many_runs_then_look(target):
    s = target.server()
    target.exec("pass")
    worker = s.worker()
    soon(lambda: at_rest(s), 3, "nothing but what waits")
    kinds = ("print(1)", "import os; os._exit(3)", "import os; os.abort()", "print('x' * 300000)", "1/0",
             "import os\nif os.fork() == 0:\n    import time; time.sleep(10)\n")
    for i in range(40):
        target.exec(kinds[i % len(kinds)], stdin="y" * (i * 1000))
    cancelled = s.start_exec("import time; time.sleep(9)")
    s.cancel(cancelled)
    target.exec("pass")
    equal(s.worker(), worker)
    soon(lambda: at_rest(s), 3, "nothing but what waits")


CASES = ALONE + [twenty_in_a_row, exit_with_unread_stdin, four_at_once, description_says_it, late_cancel, parent_killed,
                 stopped_in_mid_run, no_wall_no_run, limits_are_told, many_runs_then_look]
