#!/usr/bin/env python3
"""The escape suite judges rightly: what is open, odd or unanswered is never held, and no case can do harm."""
import importlib.util
import os
import re
import sys
from importlib.machinery import SourceFileLoader

from _rules import ROOT

sys.dont_write_bytecode = True
LOADER = SourceFileLoader("escape_run", os.path.join(ROOT, "tests", "escape", "run"))
RUN = importlib.util.module_from_spec(importlib.util.spec_from_loader("escape_run", LOADER))
LOADER.exec_module(RUN)
from _case import Case, attempts, ends, guarded, prints, works  # noqa: E402

GOOD = {"stdout": "", "stderr": "", "exit_code": 0, "truncated": False, "timed_out": False, "limit": None,
        "signal": None, "warnings": [], "duration_ms": 1}


class Fake:
    """A target whose every run gives this result, or raises it."""

    offers = frozenset(("exec",))

    def __init__(self, result, wrong=None):
        self.result, self.wrong = result, wrong

    def exec(self, *_, **__):
        if isinstance(self.result, Exception):
            raise self.result
        return self.result

    def lacks(self, needs):
        return sorted(set(needs) - self.offers)

    def settle(self):
        return self.wrong


def fail(error):
    def judge(target):
        raise error
    return Case("a.b", "", "none", judge)


DENY, PRINT = attempts("a.b", "t", "seccomp", ""), prints("a.b", "t", "seccomp", "", "x\n")
HONEST, END = works("a.b", "t", "", "x\n"), ends("a.b", "t", "deadline", "", timed_out=True)
TRACE = dict(exit_code=1, stderr="Traceback\nValueError")

# what is judged; the case; what the run gave; the verdict
CASES = (
    ("all_denied", DENY, dict(stdout="a DENIED EPERM\nb c DENIED ENOSYS\n"), "HELD"),
    ("one_open", DENY, dict(stdout="a DENIED EPERM\nb OPEN\n"), "OPEN"),
    ("one_open_with_more_words", DENY, dict(stdout="a OPEN 5 6\n"), "OPEN"),
    ("one_denied_by_the_kernel_s_own_checks", DENY, dict(stdout="a DENIED EINVAL\n"), "OPEN"),
    ("nothing_tried", DENY, {}, "BROKEN"),
    ("an_odd_line", DENY, dict(stdout="hello\n"), "BROKEN"),
    ("broke_off", DENY, dict(stdout="a DENIED EPERM\n", **TRACE), "BROKEN"),
    ("open_and_broke_off", DENY, dict(stdout="a OPEN\n", **TRACE), "OPEN"),
    ("printed_right", PRINT, dict(stdout="x\n"), "HELD"),
    ("printed_otherwise", PRINT, dict(stdout="y\n"), "OPEN"),
    ("printed_right_with_a_word_on_stderr", PRINT, dict(stdout="x\n", stderr="!"), "OPEN"),
    ("printed_right_and_killed", PRINT, dict(stdout="x\n", exit_code=-1, signal="SIGKILL"), "OPEN"),
    ("raised", PRINT, TRACE, "BROKEN"),
    ("another_end", END, {}, "OPEN"),
    ("honest_and_right", HONEST, dict(stdout="x\n"), "HELD"),
    ("honest_and_stopped", HONEST, dict(stdout="y\n"), "BROKEN"),
    ("no_answer", PRINT, RUN.Timeout("none"), "BROKEN"),
    ("connection_closed", PRINT, RUN.Closed("closed"), "BROKEN"),
    ("odd_answer", PRINT, RUN.Broken("odd"), "BROKEN"),
    ("assertion_outside", fail(AssertionError("seen")), {}, "OPEN"),
    ("fault_of_the_case", fail(KeyError("x")), {}, "BROKEN"),
    ("not_for_this_target", Case("a.b", "", "none", None, "host"), {}, "n/a"),
)


def verdict(case, result, wrong=None):
    return RUN.judged(case, Fake(dict(GOOD, **result) if isinstance(result, dict) else result, wrong))[0]


def texts():
    folder = os.path.join(ROOT, "tests", "escape", "cases")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                yield name, file.read()


# Addresses that a case may name: loopback, any, and those that are set apart for documentation (RFC 5737, 3849, 6676).
HARMLESS = re.compile(r"(?:127|198\.51\.100|233\.252\.0)\.|0\.0\.0\.0|255\.255\.255\.255")


def addresses():
    """Addresses that must not be named."""
    for name, text in texts():
        for found in re.findall(r"(?<![\d.])\d+\.\d+\.\d+\.\d+(?![\d.])", text):
            if not HARMLESS.match(found):
                yield "%s names %s" % (name, found)


def names():
    for case in RUN.ALL:
        if not re.fullmatch(r"[a-z]+\.[a-z0-9]+(?:-[a-z0-9]+)*", case.id) or not case.title or len(case.id) > 34:
            yield "%s: odd id or no title" % case.id


def unguarded():
    """Programs that could do harm where a wall is missing are refused when they are written down."""
    for code in ("s.connect(('198.51.100.1', 80))\nonly_lo()", "os.kill(-1, 9)", "os.kill(os.getppid(), 9)",
                 "os.killpg(0, 9)"):
        try:
            yield guarded(code)
        except ValueError:
            pass


def sizes():
    for name, text in texts():
        if text.count("\n") > 449:
            yield "%s has %d lines" % (name, text.count("\n"))


def main():
    checks = [("judges_" + name, verdict(case, result), want) for name, case, result, want in CASES]
    checks.append(("judges_a_server_that_is_gone", verdict(PRINT, dict(stdout="x\n"), "gone"), "OPEN"))
    checks += [(f.__name__ + "_are_right", list(f()), []) for f in (addresses, names, unguarded, sizes)]
    print("1..%d" % len(checks))
    for name, got, want in checks:
        print("%s %s" % ("ok" if got == want else "not ok", name))
        if got != want:
            print("# got %r, want %r" % (got, want))
    return 0 if all(got == want for _, got, want in checks) else 1


if __name__ == "__main__":
    sys.exit(main())
