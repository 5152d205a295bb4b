#!/usr/bin/env python3
"""The text of metrics is what a parser of Prometheus' own reads, and the check that says so can fail."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import BINARY, PATIENCE, WAIT_S, cases, check, contains, equal, main
from prometheus import check_metrics, value_of

PROGRAM = os.path.join(os.path.dirname(os.path.dirname(BINARY)), "tests", "test_metrics")
HISTOGRAM = """# HELP h_seconds Help.
# TYPE h_seconds histogram
h_seconds_bucket{le="0.5"} 1
h_seconds_bucket{le="+Inf"} 3
h_seconds_sum 9.5
h_seconds_count 3
"""
COUNTER = '# HELP c_total Help.\n# TYPE c_total counter\nc_total{a="x"} 1\nc_total{a="y"} 2\n'
GAUGE = "# HELP g Help.\n# TYPE g gauge\ng 1\n"
GOOD = HISTOGRAM + COUNTER + GAUGE


def test_the_text_after_some_use():
    done = subprocess.run([PROGRAM, "--text"], stdout=subprocess.PIPE, timeout=WAIT_S * PATIENCE, check=True)
    series = check_metrics(done.stdout.decode("ascii"))
    equal(value_of(series, "mcp_exec_runs_total", outcome="ok"), 4.0)
    equal(value_of(series, "mcp_exec_runs_total", outcome="memory"), 0.0)
    equal(value_of(series, "mcp_exec_run_seconds_bucket", le="0.005"), 1.0)
    equal(value_of(series, "mcp_exec_run_seconds_bucket", le="300.0"), 3.0)
    equal(value_of(series, "mcp_exec_run_seconds_count"), 4.0)
    equal(value_of(series, "mcp_exec_queue_wait_seconds_count"), 6.0)
    equal(value_of(series, "mcp_exec_cpu_seconds_total"), 0.493824)
    equal(value_of(series, "mcp_exec_http_responses_total", code="other"), 1.0)
    equal(value_of(series, "mcp_exec_queue_limit"), 64.0)
    equal([value_of(series, "mcp_exec_run_starts_total", start=start) for start in ("cold", "warm", "preloaded")],
          [1.0, 3.0, 0.0])
    equal([value_of(series, "mcp_exec_warm_interpreters", kind=kind) for kind in ("bare", "preloaded")], [1.0, 1.0])
    equal([value_of(series, "mcp_exec_limit_by", limit="memory", mechanism=name) for name in ("cgroup", "polling")],
          [1.0, 0.0])
    equal([value_of(series, "mcp_exec_limit_by", limit="cpus", mechanism=name) for name in ("cgroup", "affinity")],
          [0.0, 1.0])
    equal([value_of(series, "mcp_exec_warm_modules", module=name) for name in ("numpy", "pandas", "matplotlib")],
          [0.0, 1.0, 0.0])
    equal(value_of(series, "mcp_exec_interpreter_starts_total"), 2.0)
    equal(value_of(series, "mcp_exec_interpreter_failures_total"), 1.0)
    infos = [labels for name, labels in series if name == "mcp_exec_build_info"]
    equal([[label for label, _ in labels] for labels in infos], [["build", "version"]])
    for name in {name for name, _ in series}:
        check(name.startswith("mcp_exec_") or name == "process_start_time_seconds", "an unexpected name:", name)


def test_a_good_text_passes():
    equal(len(check_metrics(GOOD)), 7)


# what is replaced in the good text, by what, and what the check says then
@cases([
    ("end", "g 1\n", "g 1", "does not end"),
    ("cr", "\n", "\r\n", "CR"),
    ("syntax", 'a="x"', "a=x", "the parser refuses"),
    ("no number", "g 1", "g one", "the parser refuses"),
    ("no finite number", "g 1", "g NaN", "no finite number"),
    ("no help", "# HELP g Help.\n", "", "g got ['TYPE']"),
    ("empty help", "# HELP g Help.", "# HELP g ", "no head"),
    ("no type", "# TYPE g gauge\n", "", "g got ['HELP']"),
    ("neither", "# HELP g Help.\n# TYPE g gauge\n", "", "no HELP and no TYPE"),
    ("other type", "# TYPE g gauge", "# TYPE g summary", "unexpected type"),
    ("head twice", "# HELP g Help.\n", "# HELP g Help.\n# HELP g Help.\n", "g got ['HELP', 'HELP', 'TYPE']"),
    ("two pieces", GAUGE, GAUGE + 'c_total{a="z"} 1\n', "no HELP and no TYPE"),
    ("counter's name", "c_total", "c", "no HELP and no TYPE: 'c_total'"),
    ("below zero", '"x"} 1', '"x"} -1', "below zero"),
    ("twice", 'a="y"', 'a="x"', "a series is there twice"),
    ("head alone", "g 1\n", "", "without a series"),
    ("foreign series", "g 1", "k 1", "without a series"),
    ("cumulative", '"0.5"} 1', '"0.5"} 4', "not cumulative"),
    ("order", '"0.5"', '"+Inf"', "bounds do not rise"),
    ("no +Inf", '"+Inf"', '"7"', "want inf"),
    ("count", "count 3", "count 2", "h_seconds_count got 3.0"),
    ("no count", "h_seconds_count 3\n", "", "without sum or count"),
    ("no sum", "h_seconds_sum 9.5\n", "", "without sum or count"),
    ("sum", "sum 9.5", "sum 0.5", "a sum too small"),
    ("time stamp", "g 1", "g 1 1767225600000", "a time stamp"),
])
def test_refuses(old, new, reason):
    bad = GOOD.replace(old, new)
    check(bad != GOOD, "nothing was replaced")
    try:
        check_metrics(bad)
    except AssertionError as error:
        contains(str(error), reason)
    else:
        check(False, "this passes: " + bad)


main()
