#!/usr/bin/env python3
"""A client on a desktop starts its server over stdio: the user's systemd gives the server a cgroup. For a virtual
machine, in which this is root."""
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import Server, cases, equal, main, until, within  # noqa: E402
from _cgroup import CGROUP, HOG, NEXT_BEST, ROOT, below, ended, is_well, limited_by  # noqa: E402


def user():
    """(uid, words that start a program as that user outside of his manager's cgroups)"""
    subprocess.run(["useradd", "--create-home", "desktop"], stderr=subprocess.DEVNULL)
    uid = int(subprocess.run(["id", "-u", "desktop"], stdout=subprocess.PIPE, check=True).stdout)
    subprocess.run(["loginctl", "enable-linger", "desktop"], check=True)
    runtime = "/run/user/%d" % uid
    until(lambda: os.path.exists(runtime + "/systemd/private") and os.path.exists(runtime + "/bus"), 30, "his manager")
    return uid, ["setpriv", "--reuid=%d" % uid, "--regid=%d" % uid, "--clear-groups", "env", "HOME=/home/desktop",
                 "XDG_RUNTIME_DIR=" + runtime]


def slice_of(uid):
    return "%s/user.slice/user-%d.slice/user@%d.service/app.slice" % (ROOT, uid, uid)


def scopes(uid):
    return [name for name in below(slice_of(uid)) if name.startswith("mcp-exec-")]


# A shell that stays stands for the editor.
EDITOR = ["sh", "-c", '"$@"; :', "editor"]


@cases([("in_a_session", []), ("in_a_unit_of_his_manager", ["systemd-run", "--user", "--quiet", "--pipe", "--wait"])])
def test_a_client_on_a_desktop_gets_a_cgroup_for_its_server(start):
    uid, words = user()
    with Server(through=words + start + EDITOR) as s:
        s.initialize()
        equal(len(scopes(uid)), 1)
        equal(limited_by(s.exec("pass")), CGROUP)
        equal(ended(s.exec(HOG)), (-1, "memory", "SIGKILL"))
        is_well(s)
    until(lambda: not scopes(uid), 20, "the scope is gone")


def test_a_server_in_a_scope_ends_with_its_client():
    uid, words = user()
    with Server(through=words + EDITOR) as s:
        s.initialize()
        s.start_exec("import time; time.sleep(60)")
        until(lambda: scopes(uid), 10, "it has a scope")
        os.kill(s.pid, 9)
        until(lambda: not scopes(uid), 20, "the scope is gone, and all in it")


@cases([("switched_off", (), "MCP_EXEC_CGROUP=off"), ("no_bus", ("bus",), "X=1"),
        ("no_manager", ("bus", "systemd/private"), "X=1")])
def test_on_a_desktop_without_one_the_next_best_holds(gone, setting):
    uid, words = user()
    runtime = "/run/user/%d/" % uid
    for name in gone:
        os.rename(runtime + name, runtime + name + ".gone")
    try:
        with Server(through=words + [setting] + EDITOR) as s:
            s.initialize()
            equal(limited_by(s.exec("pass")), NEXT_BEST)
            equal(scopes(uid), [])
    finally:
        for name in gone:
            os.rename(runtime + name + ".gone", runtime + name)


def test_a_manager_that_does_not_answer_holds_up_nobody_for_long():
    uid, words = user()
    manager = int(subprocess.run(["systemctl", "show", "--property=MainPID", "--value", "user@%d.service" % uid],
                                 stdout=subprocess.PIPE, check=True).stdout)
    os.kill(manager, 19)
    try:
        start = time.monotonic()
        with Server(through=words + EDITOR) as s:
            s.initialize()
            within(time.monotonic() - start, 0, 10)
            equal(limited_by(s.exec("pass")), NEXT_BEST)
    finally:
        os.kill(manager, 18)


main()
