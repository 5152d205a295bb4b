"""Shared by parity*.py: a program that runs in the sandbox, and outside by the same interpreter, must give the same.

Outside it runs as an ordinary user with the variables that a run has, so that only what the sandbox itself changes can
make a difference. Inside it runs in every mode: however it is started, it must give the same.
"""
import os
import re
import shutil
import signal
import subprocess
import tempfile
from concurrent.futures import ThreadPoolExecutor

from _sandbox import MODES, check, equal, modes, printed, run_in

# Whom the program is outside when the test is root, so that files refuse it what they refuse an ordinary user.
ORDINARY_ID = 65533
LIMIT_S = 60
# How a run ended, all that its result says of it beside its output and its time.
END = ("exit_code", "signal", "limit", "timed_out", "truncated", "warnings")

_found = []


def python():
    """The interpreter that runs use."""
    if not _found:
        _found.append(printed("import sys; print(sys.executable)").strip())
    return _found[0]


def _environment(directory):
    cache = os.path.join(directory, "..", "cache")
    return {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": directory, "LANG": "C.UTF-8", "USER": "sandbox",
            "LOGNAME": "sandbox", "PYTHONUNBUFFERED": "1", "XDG_CACHE_HOME": cache, "MPLCONFIGDIR": cache,
            "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def _become_ordinary():
    """In the child, where root is the parent: its pipes too belong to who it is then."""
    os.umask(0o22)
    # A shell ignores these for what it starts in the background.
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if os.geteuid() == 0:
        for fd in range(3):
            os.fchown(fd, ORDINARY_ID, ORDINARY_ID)
        os.setgroups([])
        os.setresgid(ORDINARY_ID, ORDINARY_ID, ORDINARY_ID)
        os.setresuid(ORDINARY_ID, ORDINARY_ID, ORDINARY_ID)


def outside(code, stdin=b""):
    """What plain python gives. The directory lies elsewhere, so its path is made the same."""
    base = tempfile.mkdtemp(prefix="parity", dir="/tmp")
    try:
        directory = os.path.join(os.path.realpath(base), "sandbox")
        os.mkdir(directory)
        with open(os.path.join(directory, "main.py"), "wb") as file:
            file.write(code.encode("utf-8"))
        if os.geteuid() == 0:
            for path in (base, directory, os.path.join(directory, "main.py")):
                os.chown(path, ORDINARY_ID, ORDINARY_ID)
        done = subprocess.run([python(), "main.py"], cwd=directory, input=stdin, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, timeout=LIMIT_S, env=_environment(directory),
                              start_new_session=True, preexec_fn=_become_ordinary)
    finally:
        shutil.rmtree(base)
    out, err = (text.decode("utf-8", "replace").replace(directory, "/sandbox") for text in (done.stdout, done.stderr))
    return {"stdout": out, "stderr": err, "exit_code": done.returncode}


def neutral(text):
    """Addresses of objects, numbers of threads and of processes are nobody's contract."""
    return re.sub(r"0x[0-9a-f]{6,}|Thread-\d+|\bpid \d+|pid=\d+|started \d{9,}", "#", text)


def _equal_text(got, want, what):
    """Texts may be long: what is shown begins shortly before they differ."""
    got, want = neutral(got), neutral(want)
    if got != want:
        at = max(0, len(os.path.commonprefix([got, want])) - 60)
        raise AssertionError("%s from %d on: got %.400r, want %.400r" % (what, at, got[at:], want[at:]))


def _equal(got, want):
    for stream in ("stdout", "stderr"):
        _equal_text(got[stream], want[stream], stream)
    equal(got["exit_code"], max(want["exit_code"], -1), "exit code")
    check((want["exit_code"] < 0) == bool(got["signal"]), "signal", got)
    equal(got["truncated"], False, "truncated")


def same(code, stdin="", within=tuple(MODES), start=None):
    """Checks that a program does inside what it does outside, in each of these modes, and returns its last result.
    start: how it must have been started in those that are not cold."""
    python()   # asks the server, which only one thread may do
    plain = {}
    with ThreadPoolExecutor(1) as pool:
        for mode in modes(within):
            text = code + MODES[mode][1]
            if text not in plain:
                plain[text] = pool.submit(outside, text, stdin.encode())
            got = run_in(mode, code, lambda got: _equal(got, plain[text].result()), start, LIMIT_S,
                         timeout_s=LIMIT_S, stdin=stdin)
    return got


def same_and_good(code, stdin="", **more):
    """The same, for a program that must not fail: two that fail alike would be equal too."""
    got = same(code, stdin, **more)
    equal(got["exit_code"], 0, got["stderr"][-600:])
    check(got["stdout"] or got["stderr"], "printed nothing")
    return got


def alike(code, stdin=""):
    """For what a sandbox changes: checks that a program does in every mode what it does when it is started cold, and
    returns that result."""
    def judge(got):
        for stream in ("stdout", "stderr"):
            _equal_text(got[stream], first[stream], stream)
        equal({name: got[name] for name in END}, {name: first[name] for name in END})

    first = run_in("cold", code, lambda got: None, stdin=stdin)
    for mode in modes(MODES):
        run_in(mode, code, judge, stdin=stdin)
    return first


def rows(programs):
    """A table of (label, code) and (label, code, stdin) for cases()."""
    return [row if len(row) == 3 else row + ("",) for row in programs]
