#!/usr/bin/env python3
"""What supervisor, worker, init and run have given up, as it shows from outside: filters, privileges, core files."""
import os
import re
import resource
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import Server, cases, check, descendants, equal, main, named, named_program, unique, until

# A filter that was there before, such as a container's, is on every process.
OUR_FILTERS = {"supervisor": 1, "worker": 2, "init": 3, "run": 3}
HARD_CORE = resource.getrlimit(resource.RLIMIT_CORE)[1]


def status(pid):
    with open("/proc/%d/status" % pid) as file:
        return dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)


def core_limits(pid):
    with open("/proc/%d/limits" % pid) as file:
        return re.search(r"Max core file size +(\S+) +(\S+)", file.read()).groups()


class Family:
    """The four processes of a server, while a program runs."""

    def __enter__(self):
        self.server = Server()
        self.server.__enter__()
        self.server.initialize()
        name = unique()
        self.server.start_exec(named_program(name))
        run = until(lambda: named(name), 20, "the program runs")[0]
        worker = self.server.worker()
        # Init is the worker's only child by now, and has one itself.
        init = until(lambda: [p for p in descendants(worker) if p != run], 20, "its init")[0]
        self.pids = {"supervisor": self.server.pid, "worker": worker, "init": init, "run": run}
        return self.pids

    def __exit__(self, *_):
        self.server.__exit__()


def test_each_has_one_filter_more_than_its_parent():
    around = int(status(os.getpid()).get("Seccomp_filters", 0))
    with Family() as pids:
        for name, count in OUR_FILTERS.items():
            seen = status(pids[name])
            equal((seen["Seccomp"], int(seen["Seccomp_filters"]) - around), ("2", count), name)


def test_none_can_gain_privileges():
    with Family() as pids:
        for name, pid in pids.items():
            equal(status(pid)["NoNewPrivs"], "1", name)
            check("0" not in status(pid)["Uid"].split(), "root", name, status(pid)["Uid"])


def test_none_of_ours_is_dumpable():
    """What is not dumpable belongs to root in /proc, and cannot be read by its own user."""
    with Family() as pids:
        for name in ("supervisor", "worker", "init"):
            equal(os.stat("/proc/%d/mem" % pids[name]).st_uid, 0, name)
        check(os.stat("/proc/%d/mem" % pids["run"]).st_uid != 0, "the check sees nothing")
        if os.geteuid() != 0:
            for what in ("mem", "environ"):
                for name in ("supervisor", "worker", "init"):
                    try:
                        open("/proc/%d/%s" % (pids[name], what), "rb").close()
                        raise AssertionError("%s of %s can be opened" % (what, name))
                    except PermissionError:
                        pass


def test_no_memory_gets_into_a_core_file():
    """A soft limit of 0 keeps files away; where cores go through a pipe only 1 does. core(5)."""
    with Family() as pids:
        for name in ("supervisor", "worker"):
            equal(core_limits(pids[name])[0], "0", name)
        for name in ("init", "run"):
            equal(core_limits(pids[name]), ("1", "1") if HARD_CORE else ("0", "0"), name)
            with open("/proc/%d/coredump_filter" % pids[name]) as file:
                equal(int(file.read(), 16), 0, name)


@cases([("supervisor", "supervisor"), ("worker", "worker")])
def test_has_no_capability(name):
    with Family() as pids:
        seen = status(pids[name])
        equal({seen[k] for k in ("CapPrm", "CapEff", "CapAmb")}, {"0" * 16})


main()
