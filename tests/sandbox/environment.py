#!/usr/bin/env python3
"""A run's environment and descriptors are built for it; nothing of the server's gets in."""
import os
import subprocess

from _sandbox import check, equal, expect, nothing_left, printed, structured
from mcp import BINARY, Server, cases, main, unique

NAMES = {"HOME": "/sandbox", "USER": "sandbox", "LOGNAME": "sandbox", "LANG": "C.UTF-8", "TMPDIR": "/tmp",
         "XDG_CACHE_HOME": "/tmp/.cache", "MPLCONFIGDIR": "/tmp/.matplotlib", "PYTHONUNBUFFERED": "1",
         "PIP_NO_INDEX": "1",
         "PIP_DISABLE_PIP_VERSION_CHECK": "1", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1",
         "MKL_NUM_THREADS": "1",
         "NUMEXPR_MAX_THREADS": "1"}
SHOW = "import os\nfor k, v in sorted(os.environ.items()): print(k + '=' + v)"


def shown(text):
    return dict(line.split("=", 1) for line in text.splitlines())


def test_only_these_variables_are_set():
    env = shown(printed(SHOW))
    check(env.pop("PATH").endswith("/usr/local/bin:/usr/bin:/bin"), "PATH")
    env.pop("PYTHONUSERBASE", None)
    equal(env, NAMES)


def test_nothing_of_the_server_s_environment_is_inherited():
    canary = "CANARY" + unique()
    extra = {"SECRET_CANARY": canary, "MCP_EXEC_AUTH_TOKEN": canary, "PYTHONPATH": "/" + canary,
             "LD_LIBRARY_PATH": "/" + canary,
             "LC_ALL": "C", "TZ": "Asia/Tokyo", "PYTHONDONTWRITEBYTECODE": "1", "PYTHONOPTIMIZE": "2",
             "http_proxy": canary}
    with Server(env=extra) as s:
        s.initialize()
        env = shown(structured(s.exec(SHOW))["stdout"])
        env.pop("PATH")
        env.pop("PYTHONUSERBASE", None)
        equal(env, NAMES)
        code = "import glob, os, sys\nhits = []\n" \
               "for p in glob.glob('/proc/[0-9]*/*') + glob.glob('/proc/self/task/*/*'):\n" \
               "    try:\n        if os.path.isfile(p) and os.path.basename(p) not in ('pagemap', 'kpagecount') and " \
               "%r.encode()[::-1] in open(p, 'rb').read(1 << 20): hits.append(p)\n    except OSError: pass\n" \
               "print(hits, sys.flags.optimize, __debug__, sys.dont_write_bytecode)" % canary[::-1]
        equal(structured(s.exec(code))["stdout"], "[] 0 True False\n")


def test_the_token_is_not_in_the_server_s_own_memory_files():
    """What a process of the same user could read from outside."""
    canary = "CANARY" + unique()
    with Server(env={"MCP_EXEC_AUTH_TOKEN": canary}) as s:
        s.initialize()
        for pid in (s.pid, s.worker()):
            try:
                with open("/proc/%d/environ" % pid, "rb") as file:
                    check(canary.encode() not in file.read(), "environ of", pid)
            except PermissionError:
                pass


def test_only_three_descriptors_are_open():
    equal(printed("import os\nprint(sorted(int(x) for x in os.listdir('/proc/self/fd')))"), "[0, 1, 2, 3]\n")
    equal(printed("import os\nok = []\nfor fd in range(1024):\n    try: os.fstat(fd); ok.append(fd)\n"
                  "    except OSError: pass\nprint(ok)"), "[0, 1, 2]\n")


def test_they_are_pipes_of_its_own():
    lines = printed("import os\nfor fd in (0, 1, 2): print(os.readlink('/proc/self/fd/%d' % fd).split(':')[0], "
                    "os.isatty(fd))")
    equal(lines, "pipe False\n" * 3)


def test_descriptors_of_who_starts_the_server_do_not_get_through():
    """A host that leaks descriptors into the server does not leak them into runs."""
    with open("/etc/passwd", "rb") as secret:
        os.set_inheritable(secret.fileno(), True)
        done = subprocess.run([BINARY, "run", "-"], close_fds=False, capture_output=True, timeout=20,
                              input=b"import os\nprint(sorted(os.listdir('/proc/self/fd')))")
    equal((done.returncode, done.stdout), (0, b"['0', '1', '2', '3']\n"), str(done.stderr))


@cases([("umask", ["sh", "-c", 'umask 0777; exec "$0" "$@"']), ("niceness", ["nice", "-n", "5"]),
        ("more_niceness_than_that_of_runs", ["nice", "-n", "19"]),
        ("ignored_signals", ["sh", "-c", "trap '' INT TERM PIPE CHLD USR1 HUP; exec \"$0\" \"$@\""]),
        ("limits", ["sh", "-c", 'ulimit -n 200; ulimit -s 4096; exec "$0" "$@"'])])
def test_what_the_server_was_started_with_does_not_show(through):
    code = "import os, signal, subprocess\nprint(oct(os.umask(0o22)), os.getcwd(), [s for s in (1, 10, 15, 17) " \
           "if signal.getsignal(s) != signal.SIG_DFL])\nprint(subprocess.run(['true']).returncode)"
    with Server(through=through) as s:
        s.initialize()
        expect(structured(s.exec(code)), stdout="0o22 /sandbox []\n0\n", stderr="", exit_code=0)


def test_nothing_is_left():
    nothing_left()


main()
