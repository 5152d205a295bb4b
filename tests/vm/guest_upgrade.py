"""What becomes of a service that runs when its package is upgraded, removed and purged."""
import glob
import os
import re
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _guest import (CREDENTIAL, SERVICE, TOKEN, client, command, main_pid, prints, show, start,  # noqa: E402
                    systemctl)
from mcp import check, equal, main  # noqa: E402

SETTINGS = "/etc/default/mcp-exec"
VERSION = "999"


def newer(folder):
    """The same package with another version."""
    deb, = glob.glob("/opt/tests/mcp-exec_*.deb")
    tree, made = os.path.join(folder, "tree"), os.path.join(folder, "newer.deb")
    command("dpkg-deb", "--raw-extract", deb, tree)
    path = os.path.join(tree, "DEBIAN/control")
    with open(path) as file:
        text = re.sub(r"(?m)^Version: .*", "Version: " + VERSION, file.read())
    with open(path, "w") as file:
        file.write(text)
    command("dpkg-deb", "--root-owner-group", "-Znone", "--build", tree, made)
    return made


def test_upgrade_restarts_what_runs():
    replica = "mcp-exec@8081.service"
    start(SERVICE)
    start(replica)
    with open(SETTINGS, "a") as file:
        file.write("MCP_EXEC_MAX_QUEUE=7\n")
    before = [main_pid(unit) for unit in (SERVICE, replica)]
    with tempfile.TemporaryDirectory() as folder:
        command("dpkg", "--install", newer(folder))
    equal(command("dpkg-query", "-W", "-f", "${Version} ${db:Status-Status}", "mcp-exec"), VERSION + " installed")
    after = [main_pid(unit) for unit in (SERVICE, replica)]
    check(0 not in after and not set(before) & set(after), "not started again:", before, after)
    equal(prints("print(2 + 2)", token=TOKEN), "4\n")
    with client(token=TOKEN) as c:
        check("mcp_exec_queue_limit 7" in c.http("GET", "/metrics").body().decode(), "settings are not kept")
    equal(systemctl("is-enabled", SERVICE, code=1).strip(), "disabled")


def test_removal_stops_what_runs():
    command("dpkg", "--remove", "mcp-exec")
    for unit in (SERVICE, "mcp-exec@8081.service"):
        check(show(unit, "ActiveState") in ("inactive", "failed") and main_pid(unit) == 0, "it runs:", unit)
    check(os.path.exists(SETTINGS), "settings are gone")
    check(not os.path.exists("/usr/bin/mcp-exec"), "the program is there")


def test_purge_leaves_nothing():
    command("dpkg", "--purge", "mcp-exec")
    found = command("find", "/etc", "/usr", "/var/lib", "/run", "-xdev", "-name", "*mcp-exec*", "-not", "-path",
                    "/etc/systemd/system/*mcp-exec-tests*", "-not", "-path", "/run/systemd/system/*", "-not", "-path",
                    CREDENTIAL, "-not", "-path", "/run/systemd/*")
    equal(found, "")
    with open("/sys/kernel/security/apparmor/profiles") as file:
        check("mcp-exec" not in file.read(), "the profile is loaded")


main()
