"""Machines that forbid user namespaces: nothing runs, and what to do about it is said, by the service and by a shell."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _guest import SERVICE, command, journal, prints, release, show, start, stop, systemctl, worker  # noqa: E402
from mcp import Skip, case, check, contains, equal, main  # noqa: E402

CHECK = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "env", "-i", "PATH=/usr/bin", "mcp-exec", "check")
PROFILE = "/etc/apparmor.d/mcp-exec"
# One that allows all but user namespaces.
WITHOUT = """abi <abi/4.0>,
profile mcp-exec-worker /usr/libexec/mcp-exec/mcp-exec-worker {
  file, network, signal, capability, unix, ptrace, dbus, mount, umount, pivot_root, change_profile -> **,
}
"""


def start_fails(*words):
    """The service ends with 69, is not started again, and says why."""
    systemctl("start", SERVICE, code=1)
    equal((show(SERVICE, "Result"), show(SERVICE, "ExecMainStatus")), ("exit-code", "69"))
    contains(journal()[-1500:], *words)
    stop()


def check_fails(*words):
    contains(command(*CHECK, code=69), "FAIL", *words)


@case("unprivileged_userns_clone", "kernel.unprivileged_userns_clone", ("user_namespace, EPERM", "as an ordinary user"),
      "kernel.unprivileged_userns_clone=1")
@case("max_user_namespaces", "user.max_user_namespaces", ("user_namespace, ENOSPC", "user.max_user_namespaces=15000"),
      "user.max_user_namespaces=15000")
def test_sysctl(name, words, remedy):
    path = "/proc/sys/" + name.replace(".", "/")
    with open(path) as file:
        before = file.read()
    stop()
    try:
        with open(path, "w") as file:
            file.write("0")
        start_fails(*words)
        check_fails(remedy)
    finally:
        with open(path, "w") as file:
            file.write(before)
    start()
    equal(prints("print(2 + 2)"), "4\n")
    stop()


def label(pid):
    with open("/proc/%d/attr/current" % pid) as file:
        return file.read().strip("\n\0")


def test_apparmor_profile_is_attached():
    start()
    equal(label(worker()), "mcp-exec-worker (unconfined)" if release() > 12 else "unconfined")
    stop()


def test_apparmor_without_user_namespaces():
    if release() == 12:
        raise Skip("AppArmor of Debian 12 does not know them")
    stop()
    with open("/run/profile", "w") as file:
        file.write(WITHOUT)
    try:
        command("apparmor_parser", "--replace", "/run/profile")
        start_fails("user_namespace, EACCES", "AppArmor", "userns,")
        check_fails("AppArmor", "userns,")
    finally:
        command("apparmor_parser", "--replace", PROFILE)
    start()
    equal(prints("print(2 + 2)"), "4\n")
    stop()


main()
