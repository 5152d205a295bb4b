"""Nothing of the server's own surroundings gets into a run: variables, arguments, descriptors, directory, habits."""
import os
import subprocess

from _case import host, prints
from _target import structured
from mcp import check, environment, equal, unique

NAMES = ("HOME LANG LOGNAME MKL_NUM_THREADS MPLCONFIGDIR NUMEXPR_MAX_THREADS OMP_NUM_THREADS OPENBLAS_NUM_THREADS PATH "
         "PIP_DISABLE_PIP_VERSION_CHECK PIP_NO_INDEX PYTHONUNBUFFERED TMPDIR USER XDG_CACHE_HOME").split()

ALONE = [
    prints("env.names", "only the documented variables are set", "environment",
           "print(sorted(set(os.environ) - {'PYTHONUSERBASE'}))", repr(NAMES) + "\n"),
    prints("env.of-a-child", "a child that asks for the login environment gets no more", "environment", """
import subprocess
out = subprocess.run(["sh", "-c", "env"], capture_output=True, text=True).stdout
print(sorted({l.split("=")[0] for l in out.splitlines()} - set(os.environ) - {"PWD", "OLDPWD", "SHLVL", "_"}))
""", "[]\n"),
    prints("env.inheritable-descriptors", "nothing is passed on by a fork, an exec or a new session", "descriptors", """
import subprocess
out = subprocess.run(["ls", "/proc/self/fd"], close_fds=False, capture_output=True, text=True).stdout
print(out.split())
""", "['0', '1', '2', '3']\n", needs="proc"),
]

# The word is given backwards: a program that has it in its own memory would find itself.
SEARCH = """
import glob, os
word, hits = %r.encode()[::-1], []
for p in glob.glob("/proc/[0-9]*/*") + glob.glob("/proc/self/task/*/*") + glob.glob("/proc/sys/kernel/*"):
    if os.path.isfile(p) and os.path.basename(p) not in ("pagemap", "kpagecount"):
        try: hits += [p] if word in open(p, "rb").read(1 << 20) else []
        except OSError: pass
print(hits, [k for k, v in os.environ.items() if word.decode() in k + v])
"""


@host("env.canary", "variables of the server, its token and settings of Python are not inherited", "environment",
      "environment", "second")
def canary(target):
    word = "CANARY" + unique()
    env = dict.fromkeys(("SECRET_CANARY", "MCP_EXEC_AUTH_TOKEN", "AWS_SECRET_ACCESS_KEY", "http_proxy", "BASH_ENV"),
                        word)
    env.update(PYTHONPATH="/" + word, PYTHONSTARTUP="/" + word, LD_LIBRARY_PATH="/" + word, PYTHONOPTIMIZE="2",
               TZ="Asia/Tokyo",
               LC_ALL="C", PYTHONDONTWRITEBYTECODE="1", **{"BASH_FUNC_x%%": "() { " + word + "; }"})
    with target.instance(env=env) as s:
        s.initialize()
        equal(structured(s.exec(SEARCH % word[::-1]))["stdout"], "[] []\n")
        result = structured(s.exec("import os, sys\nprint(sys.flags.optimize, sorted(os.environ))"))
        equal(result["stdout"].replace("'PYTHONUSERBASE', ", ""), "0 %r\n" % NAMES)


@host("env.preload", "LD_PRELOAD and relatives of the server's environment do not act in a run", "environment",
      "environment",
      "second")
def preload(target):
    """The server's own loader may well warn; it is the run that must not know."""
    with target.instance(env={"LD_PRELOAD": "", "LD_DEBUG_OUTPUT": "/tmp/x", "MALLOC_TRACE": "/tmp/y",
                              "PYTHONINSPECT": "1",
                              "GCONV_PATH": "/tmp", "PYTHONHOME": None, "PYTHONPROFILEIMPORTTIME": "1"}) as s:
        s.initialize()
        result = structured(s.exec("print(1)"))
        equal([result["stdout"], result["stderr"], result["exit_code"]], ["1\n", "", 0])


HABITS = (("umask", ["sh", "-c", 'umask 0777; exec "$0" "$@"']), ("nice", ["nice", "-n", "5"]),
          ("signals", ["sh", "-c", "trap '' INT TERM PIPE CHLD USR1 HUP; exec \"$0\" \"$@\""]),
          ("limits", ["sh", "-c", 'ulimit -n 200; ulimit -s 4096; exec "$0" "$@"']))


@host("env.habits", "umask, niceness, ignored signals and limits of whoever starts the server do not show",
      "environment",
      "start", "second")
def habits(target):
    code = "import os, signal, subprocess\nprint(oct(os.umask(0o22)), os.getcwd(), [s for s in (1, 10, 15, 17) " \
           "if signal.getsignal(s) != signal.SIG_DFL])\nprint(subprocess.run(['true']).returncode)"
    for name, through in HABITS:
        with target.instance(through=through) as s:
            result = structured(s.exec(code))
            equal([result["stdout"], result["stderr"]], ["0o22 /sandbox []\n0\n", ""], name)


@host("env.leaked-descriptors", "descriptors that a host leaks into the server do not get into runs", "descriptors",
      "start", "proc")
def leaked_descriptors(target):
    with open("/etc/passwd", "rb") as secret:
        os.set_inheritable(secret.fileno(), True)
        done = subprocess.run(target.command_line(["run", "-"]), close_fds=False, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env=environment(), timeout=60,
                              input=b"import os\nprint(sorted(os.listdir('/proc/self/fd')))")
    equal((done.returncode, done.stdout), (0, b"['0', '1', '2', '3']\n"), str(done.stderr))


@host("env.server-from-outside", "the token cannot be read from the server by others of its user", "supervisor",
      "environment", "processes", "second")
def server_from_outside(target):
    word = "CANARY" + unique()
    with target.instance(env={"MCP_EXEC_AUTH_TOKEN": word}) as s:
        s.initialize()
        for pid in (s.pid, s.worker()):
            for name in ("environ", "cmdline"):
                try:
                    with open("/proc/%d/%s" % (pid, name), "rb") as file:
                        check(word.encode() not in file.read(), name + " of", pid)
                except PermissionError:
                    pass


CASES = ALONE + [canary, preload, habits, leaked_descriptors, server_from_outside]
