#!/usr/bin/env python3
"""The benchmark works: every row has its figures, and a call that fails is no figure. What they are is not judged."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import PATIENCE, ROOT, cases, check, contains, equal, main, skip

RUN_S = 60
# Rows that compare with nothing by nature, and those that compare with the SDK where it is installed.
ALONE = ("beyond the same without", "first print", "that waits", "after use", "with everything")
SDK = ("start, up to the answer", "idle memory", "over HTTP")


def bench(*names, env=None):
    """The rows of groups as the benchmark has them, with its exit code."""
    command = [sys.executable, os.path.join(ROOT, "tests", "bench", "run"), "--once", "--tiny", "--json"]
    done = subprocess.run(command + ["--only=" + name for name in names], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, timeout=RUN_S * PATIENCE, env=dict(os.environ, **(env or {})))
    check(done.returncode in (0, 1) and done.stdout, "the benchmark broke off:", done.stderr[-1000:])
    return json.loads(done.stdout.decode("utf-8")), done.returncode


def good(row):
    check("why" not in row, "left out:", row)
    if "beyond" not in row["what"]:
        check(row["value"] > 0, "no figure:", row)
    compared = not any(words in row["what"] for words in ALONE + SDK)
    check(not compared or row["other"] > 0 and row["ratio"] > 0, "nothing to compare with:", row)


@cases((
    ("print", "print", 3),
    ("libraries", "libraries", 3),
    ("bursts", "bursts", 2),
    ("bytes", "bytes", 2),
    ("sandbox", "sandbox", 1),
    ("start", "start", 2),
    ("memory", "memory", 4),
    ("http", "http", 1),
))
def test_rows(name, count):
    if name == "sandbox" and os.geteuid() == 0:
        skip("needs an ordinary user")
    if name == "memory" and os.geteuid() != 0:
        skip("needs root")
    found, code = bench(name)
    equal(code, 0, found)
    equal(len(found["rows"]), count, found)
    for row in found["rows"]:
        good(row)


def test_steps_add_up():
    found, code = bench("steps")
    equal((code, len(found["steps"])), (0, 2), found)
    for lines in found["steps"]:
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]
        equal(len(rows), 13)
        # Of two calls the medians are the means, which add up but for what is rounded.
        whole_us, steps_us = int(rows[-2][1]), [int(row[1]) for row in rows[:-2]]
        check(whole_us > 0 and abs(sum(steps_us) - whole_us) <= len(steps_us), "do not add up:", rows)


def test_a_call_that_fails_is_no_figure():
    found, code = bench("print", "http", env={"MCP_EXEC_BIN": "/bin/false"})
    equal((code, found["failed"], len(found["rows"])), (1, True, 2))
    for row in found["rows"]:
        contains(row["why"], "FAILED")


main()
