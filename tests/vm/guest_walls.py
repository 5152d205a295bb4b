"""Machines that forbid user namespaces: nothing runs, and what to do about it is said, by the service and by a shell."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _guest import SERVICE, Settings, command, journal, prints, release, show, start, stop, systemctl, worker  # noqa: E402
from mcp import case, contains, equal, main  # noqa: E402

CHECK = ("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "env", "-i", "PATH=/usr/bin", "mcp-exec", "check")
PROFILE = "/etc/apparmor.d/mcp-exec"
# One that allows all but user namespaces.
WITHOUT = """abi <abi/4.0>,
profile mcp-exec-worker /usr/libexec/mcp-exec/mcp-exec-worker {
  file, network, signal, capability, unix, ptrace, dbus, mount, umount, pivot_root, change_profile -> **,
}
"""


def start_fails(status, *words):
    """The service ends with this status, and says why; 69 is no reason to start it again."""
    with Settings("Restart=no" if status != 69 else "RestartSec=100ms"):
        systemctl("start", SERVICE, code=1)
        equal((show(SERVICE, "Result"), show(SERVICE, "ExecMainStatus")), ("exit-code", str(status)))
    contains(journal()[-1500:], *words)


def check_fails(*words):
    contains(command(*CHECK, code=69), "FAIL", *words)


# The second one is met by systemd itself, which gives the service a user namespace.
@case("unprivileged_userns_clone", "kernel.unprivileged_userns_clone", 69,
      ("user_namespace, EPERM", "as an ordinary user"), "kernel.unprivileged_userns_clone=1")
@case("max_user_namespaces", "user.max_user_namespaces", 217, ("user namespacing", "No space left on device"),
      "user.max_user_namespaces=15000")
def test_sysctl(name, status, words, remedy):
    path = "/proc/sys/" + name.replace(".", "/")
    with open(path) as file:
        before = file.read()
    stop()
    try:
        with open(path, "w") as file:
            file.write("0")
        start_fails(status, *words)
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
    """AppArmor of Debian 12 does not know them; what the package has for it is looked at elsewhere."""
    if release() == 12:
        return
    stop()
    with open("/run/profile", "w") as file:
        file.write(WITHOUT)
    try:
        command("apparmor_parser", "--replace", "/run/profile")
        start_fails(69, "user_namespace, EACCES", "AppArmor", "userns,")
        check_fails("AppArmor", "userns,")
    finally:
        command("apparmor_parser", "--replace", PROFILE)
    start()
    equal(prints("print(2 + 2)"), "4\n")
    stop()


main()
