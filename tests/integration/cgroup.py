#!/usr/bin/env python3
"""By what the limits of runs hold: told in every place, and a wrong wish refused. Cgroups that hold them are seen in
virtual machines (tests/vm), and here where this machine's controllers belong to version 2."""
import os
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import BINARY, Server, Skip, cases, check, contains, equal, main, run, until  # noqa: E402
from warm import RUN_META  # noqa: E402

NEXT_BEST = {"memory": "polling", "processes": "rlimit", "cpus": "affinity"}
CONTROLLERS = {"memory": "memory", "processes": "pids", "cpus": "cpu"}
# Whom the server becomes when it is started as root: our own user would be another one.
USER = 65532
# Goes into a cgroup, and becomes the rest of the command line.
ENTER = "import os, sys\nopen(sys.argv[1] + '/cgroup.procs', 'w').write('0')\nos.execv(sys.argv[2], sys.argv[2:])"


def limited_by(s):
    return s.exec("pass")["_meta"][RUN_META]["limited_by"]


@cases([("auto", ()), ("off", ("--cgroup=off",))])
def test_without_a_cgroup_the_next_best_holds_and_is_told(args):
    with Server(args=args) as s:
        s.initialize()
        equal(limited_by(s), NEXT_BEST)
    code, out, _ = run(["check", "--strict"] + list(args))
    equal(code, 0, "what holds a limit is no wall")
    contains(out.decode(), "note   cgroup: none for runs: ", "by polling", "by rlimit in the run's user namespace",
             "by affinity")


def test_whoever_requires_one_gets_no_run_without():
    code, out, _ = run(["check"], env={"MCP_EXEC_CGROUP": "required"})
    equal(code, 69)
    contains(out.decode(), "FAIL   cgroup: ", "MCP_EXEC_CGROUP", "Delegate=yes")
    code, out, err = run(["run", "-"], b"print('ran')", {"MCP_EXEC_CGROUP": "required"})
    equal((code, out), (69, b""))
    contains(err.decode(), "MCP_EXEC_CGROUP")
    with Server(args=["--cgroup=required"]) as s:
        s.initialize()
        result = s.exec("print('ran')")
        check(result["isError"], "it ran", result)
        contains(result["content"][0]["text"], "Nothing was run.", "putting the run into a cgroup", "Delegate=yes")


@cases([(word, word) for word in ("AUTO", "on", "1", "/sys/fs/cgroup/x", "auto ")])
def test_another_wish_is_refused(word):
    code, out, err = run(["check"], env={"MCP_EXEC_CGROUP": word})
    equal((code, out), (78, b""))
    contains(err.decode(), "MCP_EXEC_CGROUP (--cgroup)", "auto|off|required")


def test_a_manager_that_is_none_is_not_waited_for():
    """What looks like a user's manager and never answers costs three seconds at most, and no call."""
    with tempfile.TemporaryDirectory(prefix="mcp-exec-cgroup-") as folder, socket.socket(socket.AF_UNIX) as deaf:
        os.chmod(folder, 0o755)
        os.makedirs(folder + "/systemd")
        deaf.bind(folder + "/systemd/private")
        deaf.listen()
        with Server(env={"XDG_RUNTIME_DIR": folder}) as s:
            s.initialize()
            equal(limited_by(s), NEXT_BEST)


def hierarchy():
    """Where cgroups of version 2 are mounted."""
    with open("/proc/self/mountinfo") as file:
        mounts = [line.split() for line in file if " - cgroup2 " in line]
    return mounts[0][4] if mounts else None


class Delegated:
    """A cgroup of another user, as systemd would give it to a service of his."""

    def __init__(self):
        root = hierarchy()
        if os.geteuid() != 0 or not root:
            raise Skip("needs root and cgroups of version 2")
        self.path = os.path.join(root, "mcp-exec-test-%d" % os.getpid())

    def __enter__(self):
        try:
            os.mkdir(self.path)
        except OSError as error:
            raise Skip("no cgroup can be made: %s" % error)
        for name in ("", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"):
            os.chown(os.path.join(self.path, name), USER, USER)
        return self

    def __exit__(self, *_):
        for name in self.below():
            until(lambda: self.remove(name), 10, "%s is empty" % name)
        until(lambda: self.remove(""), 10, "it is empty")

    def remove(self, name):
        try:
            os.rmdir(os.path.join(self.path, name))
        except FileNotFoundError:
            pass
        except OSError:
            return False
        return True

    def below(self):
        return [name for name in os.listdir(self.path) if os.path.isdir(os.path.join(self.path, name))]

    def expected(self):
        """What the kernel can hold there."""
        with open(os.path.join(self.path, "cgroup.controllers")) as file:
            there = file.read().split()
        return {limit: "cgroup" if CONTROLLERS[limit] in there else NEXT_BEST[limit] for limit in CONTROLLERS}

    def through(self):
        return [sys.executable, "-c", ENTER, self.path]


def test_a_delegated_cgroup_is_used_as_far_as_it_goes():
    with Delegated() as cgroup:
        with Server(through=cgroup.through(), env={"MCP_EXEC_USER": str(USER)}) as s:
            s.initialize()
            equal(limited_by(s), cgroup.expected())
            check("supervisor" in cgroup.below() or "cgroup" not in cgroup.expected().values(), "nothing was divided")
        until(lambda: not any(name.startswith(("run-", "pristine-")) for name in cgroup.below()), 10, "they are gone")


def test_a_cgroup_with_other_processes_is_left_alone():
    with Delegated() as cgroup:
        other = subprocess.Popen(cgroup.through() + ["/bin/sleep", "60"], stdin=subprocess.DEVNULL)
        try:
            until(lambda: str(other.pid) in open(cgroup.path + "/cgroup.procs").read().split(), 10, "it is there")
            with Server(through=cgroup.through(), env={"MCP_EXEC_USER": str(USER)}) as s:
                s.initialize()
                equal(limited_by(s), NEXT_BEST)
                equal(cgroup.below(), [])
        finally:
            other.kill()
            other.wait()


main()
