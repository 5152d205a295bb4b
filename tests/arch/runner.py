#!/usr/bin/env python3
"""The runner counts what it must: a test program that breaks off, lies or says nothing never passes."""
import importlib.util
import os
import sys
from importlib.machinery import SourceFileLoader

from _rules import ROOT

sys.dont_write_bytecode = True
LOADER = SourceFileLoader("runner", os.path.join(ROOT, "tests", "run"))
RUNNER = importlib.util.module_from_spec(importlib.util.spec_from_loader("runner", LOADER))
LOADER.exec_module(RUNNER)

# name; what the program does; how many tests pass, fail and are skipped
CASES = (
    ("counts_each_kind", "echo 1..3; echo ok a; echo ok b '# SKIP no reason'; echo not ok c; exit 1", (1, 1, 1)),
    ("reads_cmocka", "echo 1..2; echo 'ok 1 - test_a'; echo '# ok - tests'; echo 'ok 2 - test_b'", (2, 0, 0)),
    ("reads_what_cmocka_skips", "echo 1..2; echo 'ok 1 - test_a'; echo 'not ok 2 # SKIP test_b'", (1, 0, 1)),
    ("adds_up_plans", "echo 1..1; echo ok a; echo 1..1; echo ok b", (2, 0, 0)),
    ("takes_a_failed_test_with_exit_code_0", "echo not ok a", (0, 1, 0)),
    ("refuses_silence", "true", (0, 1, 0)),
    ("refuses_a_failed_exit_without_a_failed_test", "echo ok a; exit 3", (1, 1, 0)),
    ("refuses_a_plan_that_is_not_kept", "echo 1..2; echo ok a", (1, 1, 0)),
    ("refuses_a_signal_after_the_last_test", "echo 1..1; echo ok a; kill -SEGV $$", (1, 1, 0)),
    ("refuses_a_bail_out", "echo ok a; echo 'Bail out! no binary'", (1, 1, 0)),
    ("takes_no_prose_for_a_test", "echo okay; echo nothing is ok; echo not okay", (0, 1, 0)),
    ("ends_a_program_that_does_not_end", "echo ok a; exec sleep 60", (1, 1, 0)),
)


def counts(script):
    argv = ["/bin/sh", "-c", script]
    tests = RUNNER.judge("program", *RUNNER.execute(argv, dict(os.environ), ROOT, limit_s=1.0))
    failed = sum(not test.passed for test in tests)
    skipped = sum(test.passed and test.skip is not None for test in tests)
    return len(tests) - failed - skipped, failed, skipped


def main():
    print("1..%d" % len(CASES))
    good = True
    for name, script, want in CASES:
        got = counts(script)
        good &= got == want
        print("%s %s" % ("ok" if got == want else "not ok", name))
        if got != want:
            print("# counted %s, should be %s" % (got, want))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
