"""What the package puts down: units that are switched off and touch little, a profile where AppArmor can read it."""
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _guest import SERVICE, SOCKET, command, release, show, systemctl  # noqa: E402
from mcp import cases, check, contains, equal, main  # noqa: E402

UNITS = (SERVICE, SOCKET, "mcp-exec@8081.service", "mcp-exec@8081.socket")
EXPOSURE = 2.5
PROFILES = "/sys/kernel/security/apparmor/profiles"


@cases([(unit, unit) for unit in UNITS])
def test_unit_is_disabled(unit):
    equal(systemctl("is-enabled", unit, code=None).strip(), "disabled")
    equal(show(unit, "ActiveState"), "inactive")


def test_nothing_has_failed():
    equal(systemctl("--failed", "--quiet", "--legend=no"), "")


def test_units_have_no_fault():
    """systemd 252 does not know DelegateSubgroup=."""
    said = command("systemd-analyze", "verify", "--man=no", *UNITS, code=None)
    equal([line for line in said.splitlines() if "mcp-exec" in line and
           (release() > 12 or "'DelegateSubgroup'" not in line)], [])


@cases([(unit, unit) for unit in UNITS[::2]])
def test_exposure(unit):
    said = command("systemd-analyze", "security", "--no-pager", unit)
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", said)
    check(found and float(found.group(1)) <= EXPOSURE, "another exposure:", said[-300:])


def test_apparmor_profile():
    """Debian 12 has no AppArmor that knows user namespaces; a profile of this kind makes its service fail."""
    with open(PROFILES) as file:
        loaded = re.findall(r"^mcp-exec-worker .*", file.read(), re.M)
    equal((os.path.exists("/etc/apparmor.d/mcp-exec"), len(loaded)), (release() > 12, int(release() > 12)))


def test_check_as_a_user():
    said = command("setpriv", "--reuid=1000", "--regid=1000", "--clear-groups", "mcp-exec", "check", env={"PATH": "/usr/bin"})
    contains(said, "All required walls stand.")
    for line in said.splitlines():
        check(not line.startswith(("weaker", "FAIL")) or line.startswith("weaker limits"), "not as it should be:", line)


def test_manual_and_completions():
    for path in ("man/man1/mcp-exec.1.gz", "man/man7/mcp-exec-http.7.gz", "man/man8/mcp-exec-worker.8.gz",
                 "bash-completion/completions/mcp-exec", "zsh/vendor-completions/_mcp-exec",
                 "fish/vendor_completions.d/mcp-exec.fish"):
        contains(command("dpkg", "-L", "mcp-exec"), "/usr/share/" + path)


main()
