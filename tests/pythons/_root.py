"""Runs key programs of tests/sandbox under the Python of another Debian release, as root and as an ordinary user."""
import os
import re
import subprocess
import sys

import _roots

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(HERE)
BUILD = os.path.join(_roots.ROOT, "build", "pythons")
NATIVE = os.environ.get("MCP_EXEC_BUILD") or os.path.join(_roots.ROOT, "build")
ORDINARY_ID = 65533
LIMIT_S = 300

# (test program, words that choose some of its tests or, behind a "-", leave some out). What needs a library that is not
# in the root is left out; the large libraries would take longer to install than all tests take.
PROGRAMS = {"parity": (), "parity_streams": (), "parity_files": (), "parity_processes": (), "parity_start": (),
            "parity_ends": (), "parity_differences": (), "parity_libraries": ("good[numpy",), "result": (), "output": (),
            "memory": (), "limits": ("memory", "refusal", "disk", "processes"), "privilege": (), "network": (),
            "honest": ("-pandas", "-matplotlib", "-yaml")}
# What the change of user could matter for is done as root too.
AS_ROOT = ("parity", "parity_files", "privilege", "honest")
# Debian 11 has its certificates in a directory only, and Python counts those of a file.
LEFT_OUT = {("11", "honest"): ("-ssl",)}
AS_USER = ["setpriv", "--reuid=%d" % ORDINARY_ID, "--regid=%d" % ORDINARY_ID, "--clear-groups", "--"]


def _execute(release, prefix, program):
    """Exit code and TAP of a test program in the root of a release."""
    command = ["unshare", "--mount", "--propagation", "private", "sh", os.path.join(HERE, "_enter.sh"),
               _roots.place(release), BUILD, NATIVE, TESTS] + prefix
    command += ["/usr/bin/python3", "/opt/tests/sandbox/%s.py" % program]
    command += PROGRAMS[program] + LEFT_OUT.get((release, program), ())
    env = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp", "LANG": "C.UTF-8",
           "MCP_EXEC_BIN": "/opt/mcp-exec/bin/mcp-exec", "TEST_MODES": "cold",
           "MCP_EXEC_PATIENCE": os.environ.get("MCP_EXEC_PATIENCE", "1"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=LIMIT_S,
                              universal_newlines=True)
    except subprocess.TimeoutExpired:
        return 1, "1..1\nnot ok %s\n# not at its end after %d s\n" % (program, LIMIT_S)
    return done.returncode, done.stdout


def main(release):
    """Prints the tests of all programs, each with who ran it in front of its name."""
    reason = _roots.missing(release)
    if reason:
        print("1..1\nok python_of_debian_%s # SKIP %s" % (release, reason))
        return 0
    rounds = [("root", [], program) for program in AS_ROOT] + [("user", AS_USER, program) for program in PROGRAMS]
    codes = []
    for who, prefix, program in rounds:
        code, said = _execute(release, prefix, program)
        print(re.sub(r"(?m)^(ok|not ok) ", r"\1 %s:%s:" % (who, program), said), end="", flush=True)
        codes.append(code)
    return 1 if any(codes) else 0
