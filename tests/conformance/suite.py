#!/usr/bin/env python3
"""The official conformance suite, at each revision that it knows: against mcp-exec, and against suite_server, which is
made of the same modules and has the tools that the suite asks for.

expected.txt says what each scenario gives, and expected_suite_server.txt where it is another thing there. A scenario
that is not in the table is a failure, and so is one that does better than the table says. suite.py --print prints what
was found instead of judging it.
"""
import json
import os
import re
import subprocess
import sys
import tempfile

from _server import listening, rows
from mcp import PATIENCE, ROOT, cases, check, environment, equal, main

BUILD = os.environ.get("MCP_EXEC_BUILD") or os.path.join(ROOT, "build")
MODULES = os.path.join(BUILD, "conformance", "node_modules")
NODE = os.path.join(MODULES, ".bin", "node")
SUITE = [NODE, os.path.join(MODULES, "@modelcontextprotocol", "conformance", "dist", "index.js")]
SUITE_SERVER = [os.path.join(BUILD, "tests", "suite_server")]

# What the suite says of scenarios that belong to no revision. It runs them when no revision is named.
EXTENSION = "extension"
SCENARIO_MS = 15000
RUN_S = 60
# Every scenario in which messages are exchanged has this check too: each message of ours fits the revision's schema.
SCHEMA = "wire-schema-valid"
# What the counts of failures and successes, of all checks but that one, make of a scenario.
VERDICTS = {
    "PASS": lambda failures, successes: successes and not failures,
    "NOTHING": lambda failures, successes: not successes and not failures,
    "PARTLY": lambda failures, successes: successes and failures,
    "NOT_APPLICABLE": lambda failures, successes: failures,
}


def read_table(name):
    """{(revision, scenario): (verdict, words)} of a table; words are all that stand in quotes."""
    table = {}
    for number, line in rows(name):
        where = "%s:%d" % (name, number)
        head, words = line.split('"')[0].split(), line.split('"')[1::2]
        check(line.count('"') % 2 == 0 and len(head) == 3, where, line)
        revisions, scenario, verdict = head
        check(verdict in VERDICTS, where, "no such verdict", verdict)
        check(words or verdict in ("PASS", "NOTHING"), where, "does not say why", line)
        for key in [(revision, scenario) for revision in revisions.split(",")]:
            check(key not in table, where, "stands twice", key)
            table[key] = verdict, words
    return table


EXPECTED = read_table("expected.txt")
DIFFERENT = read_table("expected_suite_server.txt")


def suite(*arguments, limit_s=RUN_S):
    """What the suite prints; it exits with 1 when anything fails, so that its exit code is no news."""
    done = subprocess.run(SUITE + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(),
                          timeout=limit_s * PATIENCE)
    return done.stdout.decode("utf-8", "replace")


def scenarios():
    """(revision, scenario) of everything that the suite can ask a server."""
    found = re.findall(r"^ *- (\S+) \[([^\]]+)\]$", suite("list", "--server"), re.M)
    return {(revision, name) for name, revisions in found for revision in revisions.split(",")}


def read_checks(folder):
    """{scenario: its checks} of what the suite left in a folder."""
    found = {}
    for name in os.listdir(folder):
        scenario = re.match(r"server-(.+)-\d{4}-\d\d-\d\dT[\d-]+Z$", name)
        path = os.path.join(folder, name, "checks.json")
        if scenario and os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                found[scenario.group(1)] = json.load(file)
    return found


def run(command, revision):
    """{scenario: its checks} of a revision, from one process for all of them: the start of Node is most of the time of
    a scenario."""
    which = [] if revision == EXTENSION else ["--spec-version", revision]
    with listening(command) as address, tempfile.TemporaryDirectory() as folder:
        said = ""
        try:
            said = suite("server", "--url", "http://%s/mcp" % address, "--suite", "all", "--timeout", str(SCENARIO_MS),
                         "-o", folder, *which)
        except subprocess.TimeoutExpired as late:
            said = str(late)
        found = read_checks(folder)
        check(found, "the suite left no results and said", said[-2000:])
        return found


_RUNS = {}


def checks_of(command, revision, scenario):
    """The checks of one scenario. A revision is run once, also when that comes to nothing."""
    key = tuple(command or ()), revision
    if key not in _RUNS:
        try:
            _RUNS[key] = run(command, revision)
        except Exception as error:
            _RUNS[key] = error
    if isinstance(_RUNS[key], Exception):
        raise _RUNS[key]
    check(scenario in _RUNS[key], "the suite did not run it to its end")
    return _RUNS[key][scenario]


def told(item):
    """What a check says of itself."""
    details = item.get("details") or {}
    return str(item.get("errorMessage") or details.get("message") or details.get("note") or item.get("description"))


def judge(checks, verdict, words):
    """Fails unless the checks of a scenario are what the table says: the verdict, and some of the words in whatever
    failed or is warned of."""
    own = [item for item in checks if item["id"] != SCHEMA]
    counts = [sum(item["status"] == status for item in own) for status in ("FAILURE", "SUCCESS")]
    wrong = [item for item in checks if item["status"] in ("FAILURE", "WARNING")]
    strange = ["%s %s: %s" % (item["status"], item["id"], told(item)) for item in wrong
               if item["id"] == SCHEMA or not any(word in told(item) for word in words)]
    check(not strange, "expected %s %s; but\n" % (verdict, words) + "\n".join(strange))
    check(VERDICTS[verdict](*counts), "expected %s; %d checks failed, %d passed" % ((verdict,) + tuple(counts)))
    equal([word for word in words if not any(word in told(item) for item in own)], [], "nobody says any more:")


def made(*statuses):
    """Checks of a scenario: "FAILURE", or "FAILURE text" and so on; the schema's check is called SCHEMA."""
    parts = [status.partition(" ") for status in statuses]
    return [{"id": SCHEMA if text == "SCHEMA" else "own", "status": status, "errorMessage": text}
            for status, _, text in parts]


def labelled(table):
    return [("%s %s" % key,) + key + table[key] for key in sorted(table)]


def test_table_names_every_scenario():
    there, known = scenarios(), set(EXPECTED)
    check(len(there) > 50, "the suite's list cannot be read:", there)
    equal(sorted(there - known), [], "missing in expected.txt:")
    equal(sorted(known - there), [], "the suite does not know:")


def test_second_table_has_differences_only():
    equal([key for key in DIFFERENT if DIFFERENT[key] == EXPECTED.get(key)], [])
    equal(sorted(set(DIFFERENT) - set(EXPECTED)), [])


@cases([
    ("passed", True, made("SUCCESS", "INFO", "SKIPPED"), "PASS", []),
    ("failed", False, made("SUCCESS", "FAILURE x"), "PASS", []),
    ("failed with words", False, made("SUCCESS", "FAILURE x"), "PASS", ["x"]),
    ("warned", False, made("SUCCESS", "WARNING x"), "PASS", []),
    ("warned with words", True, made("SUCCESS", "WARNING x y"), "PASS", ["x"]),
    ("schema alone is no success", False, made("SUCCESS SCHEMA"), "PASS", []),
    ("schema breaks", False, made("SUCCESS", "FAILURE SCHEMA"), "PARTLY", ["SCHEMA"]),
    ("nothing", True, made("SUCCESS SCHEMA", "INFO x"), "NOTHING", []),
    ("better than nothing", False, made("SUCCESS"), "NOTHING", []),
    ("partly", True, made("SUCCESS", "FAILURE x"), "PARTLY", ["x"]),
    ("partly for another reason", False, made("SUCCESS", "FAILURE x", "FAILURE y"), "PARTLY", ["x"]),
    ("not partly", False, made("FAILURE x"), "PARTLY", ["x"]),
    ("not applicable", True, made("FAILURE x", "FAILURE y"), "NOT_APPLICABLE", ["x", "y"]),
    ("for another reason", False, made("FAILURE x"), "NOT_APPLICABLE", ["y"]),
    ("words of yesterday", False, made("FAILURE x"), "NOT_APPLICABLE", ["x", "y"]),
    ("applies after all", False, made("SUCCESS"), "NOT_APPLICABLE", ["x"]),
    ("no checks", False, [], "PASS", []),
])
def test_judge(good, checks, verdict, words):
    try:
        judge(checks, verdict, words)
    except AssertionError:
        check(not good, "refused")
    else:
        check(good, "let pass")


@cases(labelled(EXPECTED))
def test_mcp_exec(revision, scenario, verdict, words):
    judge(checks_of(None, revision, scenario), verdict, words)


@cases(labelled({**EXPECTED, **DIFFERENT}))
def test_suite_server(revision, scenario, verdict, words):
    judge(checks_of(SUITE_SERVER, revision, scenario), verdict, words)


def print_all():
    for key in sorted(EXPECTED):
        for label, command in (("mcp-exec", None), ("suite_server", SUITE_SERVER)):
            checks = checks_of(command, *key)
            print("%s %s %s" % (key + (label,)))
            for item in checks:
                print("    %-8s %s: %.200s" % (item["status"], item["id"], told(item)))


if sys.argv[1:] == ["--print"]:
    print_all()
else:
    main()
