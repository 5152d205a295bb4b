#!/usr/bin/env python3
"""The units of systemd, by what systemd itself says of them. That they start is for the virtual machines to show."""
import json
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import BINARY, ROOT, cases, check, contains, equal, main, run

UNITS = os.path.join(ROOT, "packaging", "systemd")
SERVICES = [("service", "mcp-exec.service"), ("replica", "mcp-exec@.service")]
# Of 10; in tenths, as systemd-analyze wants it.
EXPOSURE = 25
# Before 254, where the server looks after this itself.
UNKNOWN_BEFORE = {"DelegateSubgroup": 254}


def analyze(*args):
    """(exit code, all that it said) of systemd-analyze, of which `packaging/deps.sh test` sees that it is there."""
    done = subprocess.run(["systemd-analyze"] + list(args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, universal_newlines=True, timeout=60)
    return done.returncode, done.stdout


def release():
    return int(re.match(r"systemd (\d+)", analyze("--version")[1]).group(1))


def text_of(name):
    with open(os.path.join(UNITS, name), encoding="utf-8") as file:
        return file.read()


def placed(directory, name, text):
    """A unit as a file, with the program that there is here. A template becomes the unit of one port."""
    path = os.path.join(directory, name.replace("@.", "@8081."))
    with open(path, "w", encoding="utf-8") as file:
        file.write(text.replace("/usr/bin/mcp-exec", BINARY))
    return path


def complaints(texts):
    """What `systemd-analyze verify` has to say of units, but for keys that it is too old for."""
    with tempfile.TemporaryDirectory() as directory:
        paths = [placed(directory, name, text) for name, text in texts.items()]
        said = analyze("verify", "--man=no", *paths)[1]
    new = [key for key, since in UNKNOWN_BEFORE.items() if release() < since]
    # The rest is of units of this machine, which ours name, and none of our business.
    ours = [line for line in said.splitlines() if "mcp-exec" in line]
    return [line for line in ours if not any("Unknown key '%s'" % key in line or "Unknown key name '%s'" % key in line
                                             for key in new)]


def security(text, *args):
    with tempfile.TemporaryDirectory() as directory:
        path = placed(directory, "mcp-exec.service", text)
        return analyze("security", "--offline=true", "--no-pager", *list(args) + [path])


def crosses(text):
    """The names of what is missing."""
    said = security(text, "--json=short")[1]
    found = json.loads(next(line for line in said.splitlines() if line.startswith("[")))
    return [row["name"] for row in found if row["exposure"] not in (None, "0", "0.0")]


def values(text, key):
    return [line.partition("=")[2] for line in text.splitlines() if line.startswith(key + "=")]


def groups():
    """{group: its calls}, as this systemd has them."""
    found, name = {}, None
    for line in analyze("syscall-filter")[1].splitlines():
        if line.startswith("@"):
            name = line.split()[0]
            found[name] = []
        elif name and re.match(r" +[@a-z_]", line):
            found[name].append(line.strip())
    return found


def calls(known, names):
    found = set()
    for name in names:
        found |= calls(known, known[name]) if name.startswith("@") else {name}
    return found


def allowed(text, known):
    """The system calls that a unit's filter lets pass: its lines add up, and one with "~" takes away."""
    found = calls(known, ["@default"])
    for line in values(text, "SystemCallFilter"):
        if line.startswith("~"):
            found -= calls(known, line[1:].split())
        else:
            found |= calls(known, line.split())
    return found


def of_policy():
    """The calls that supervisor, worker or runs may make."""
    code, policy, _ = run(["--print-policy"])
    equal(code, 0)
    return set(re.findall(r"^([a-z_0-9]+) +allow\b", policy.decode(), re.M))


def test_systemd_has_nothing_against_them():
    texts = {name: text_of(name) for name in sorted(os.listdir(UNITS))}
    equal(sorted(texts), ["mcp-exec.service", "mcp-exec.socket", "mcp-exec@.service", "mcp-exec@.socket"])
    equal(complaints(texts), [])


@cases([("key", "\nWatchdogSecs=3\n", "WatchdogSecs"), ("value", "\nType=notified\n", "notified")])
def test_systemd_would_say_so(line, said):
    text = text_of("mcp-exec.service").replace("\nNotifyAccess=main\n", line)
    contains("\n".join(complaints({"mcp-exec.service": text})), said)


@cases(SERVICES)
def test_exposure(name):
    code, said = security(text_of(name), "--threshold=%d" % EXPOSURE)
    check(code == 0, "too much is exposed:", said[-300:])


def test_exposure_would_be_seen():
    text = text_of("mcp-exec.service").replace("IPAddressDeny=any\n", "")
    check(security(text, "--threshold=%d" % EXPOSURE)[0] != 0, "not seen")


@cases(SERVICES)
def test_what_is_missing_has_a_reason_beside_it(name):
    text = text_of(name)
    reasons = text.partition("finds these missing")[2]
    found = crosses(text)
    check(len(found) > 10, "these are not all:", found)
    for row in found:
        key, _, what = row.partition("=")
        check(key.partition("/")[0] in reasons, "no reason for", row)
        group = re.fullmatch(r"~@\w+", what)
        check(not group or what in reasons, "no reason for", row)


@cases(SERVICES)
def test_the_filter_lets_pass_what_server_and_programs_may_do(name):
    known = groups()
    check(len(known) > 20, "groups:", sorted(known))
    wanted = of_policy()
    check({"mount", "setns", "read", "execveat"} < wanted, "the policy:", wanted)
    # A name that this systemd does not have gets no errno from it, but the kernel's or ours.
    missing = (wanted | {"mlock", "prlimit64"}) & calls(known, ["@known"]) - allowed(text_of(name), known)
    equal(sorted(missing), [])


@cases(SERVICES)
def test_all_namespaces_of_a_sandbox_are_left(name):
    equal(values(text_of(name), "RestrictNamespaces"), ["user mnt pid net ipc uts cgroup"])


def test_a_stop_waits_for_longer_than_a_drain():
    drain = re.search(rb"MCP_EXEC_DRAIN_S.*?(\d+)\)", run(["--help"])[1], re.S)
    for _, name in SERVICES:
        check(int(values(text_of(name), "TimeoutStopSec")[0]) > int(drain.group(1)) + 5, name, drain.group(0))


def test_a_replica_is_the_service_but_for_its_port():
    one, other = (text_of(name).partition("EnvironmentFile=") for _, name in SERVICES)
    equal(other[1:], one[1:])
    equal((values(one[0], "ExecStart"), values(other[0], "ExecStart")),
          (["/usr/bin/mcp-exec"], ["/usr/bin/mcp-exec --addr localhost:%i"]))
    equal(values(text_of("mcp-exec@.socket"), "ListenStream"),
          [line.replace("8080", "%i") for line in values(text_of("mcp-exec.socket"), "ListenStream")])


main()
