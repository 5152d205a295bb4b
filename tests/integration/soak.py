#!/usr/bin/env python3
"""A thousand calls of every kind to one server: all answers are right, and nothing is kept; see tests/bench/soak.py."""
import os
import signal
import sys

TESTS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
sys.path[:0] = [os.path.join(TESTS, "lib"), os.path.join(TESTS, "bench")]
import warm
from mcp import PATIENCE, SANITIZED, Server, cases, check, equal, main
from soak import GOOD, Soak, Wrong, ended, expect, growth

# A build with sanitizers is slow, and its memory is no measure.
RUNS = 150 if SANITIZED else 1000
# On a busy machine, where every program is started by exec, a thousand take long.
LIMIT_S = 240 * min(PATIENCE, 2)
# Finds what hangs or gets slower with each call; `make bench` measures more exactly.
MOST = 3


@cases([("as_it_is_set", None), ("cold", "0")])
def test_soak(mode):
    seed = int.from_bytes(os.urandom(2), "big")
    print("# seed %d" % seed, flush=True)
    signal.alarm(LIMIT_S)
    with Server(env={"MCP_EXEC_WARM": mode}) as s:
        s.initialize()
        figures = Soak(seed, RUNS if mode is None else RUNS // 4).run(s)
        if SANITIZED:
            figures["grown"] = {name: grown for name, grown in figures["grown"].items() if "KiB" not in name}
        equal(figures["grown"], {}, "seed %d:" % seed)
        check(SANITIZED or figures["ratio"] < MOST, "slower and slower, seed %d:" % seed, figures)
        if mode is None and warm.known():
            equal(figures["start"], warm.WARM, "how the last program was started:")
        equal(ended(s), [], "processes that are left:")


# The engine must find what it looks for.

def test_a_wrong_answer_is_found():
    run = {"isError": False, "structuredContent": dict(GOOD, stdout="x\n")}
    expect(run, stdout="x\n", **GOOD)
    for wrong in (dict(run, isError=True), {"isError": False, "structuredContent": dict(GOOD, stdout="y\n")},
                  {"isError": False, "structuredContent": dict(GOOD, stdout="x\n", limit="memory")}):
        try:
            expect(wrong, stdout="x\n", **GOOD)
        except Wrong:
            continue
        check(False, "taken for right", wrong)


def test_what_is_kept_is_found():
    before = {"mounts": 20, "resident KiB of worker": 5000}
    equal(growth(before, {"mounts": 20, "resident KiB of worker": 5100}), {})
    equal(growth(before, {"mounts": 21, "resident KiB of worker": 50000}),
          {"mounts": (20, 21), "resident KiB of worker": (5000, 50000)})


def test_a_seed_decides_everything():
    def kinds(seed):
        soak = Soak(seed, 20)
        return [soak.next_kind().__name__ for _ in range(100)]

    equal(kinds(1), kinds(1))
    check(kinds(1) != kinds(2), "the seed is not used")


if __name__ == "__main__":
    main()
