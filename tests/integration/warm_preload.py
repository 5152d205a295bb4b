#!/usr/bin/env python3
"""Modules that the operator wants to be loaded before they are used, and that do what they should not: programs that
do not import them notice nothing, those that do get what they would get without."""
import time

from _warm import ends, needs_warm, right
import warm
from home import Home
from mcp import Server, Timeout, cases, check, descendants, equal, main, run, until, within

# (label, text of the module `own`, what a program does after it has imported it). It must have the same outcome when
# the module was loaded ahead.
NOTHING = "print('imported', sorted(n for n in vars(own) if n[0] != '_'))"
MODULES = [
    ("good", "x = 5\ndef f(): return x", "print(own.x, own.f(), own.__file__, own.__spec__.name)"),
    ("raises", "x = 1\n1/0", NOTHING),
    ("raises_twice_as_deep", "import own_part", NOTHING),
    ("has_a_syntax_error", "x = (", NOTHING),
    ("is_missing_a_module", "import no_such_module", NOTHING),
    ("prints", "print('noise')\nimport sys; print('more noise', file=sys.stderr)", NOTHING),
    ("prints_by_the_system", "import os; os.write(1, b'noise\\n'); os.system('echo noise of a child')", NOTHING),
    ("prints_much", "print('noise ' * 50000)", NOTHING),
    ("closes_the_streams", "import sys, os\nsys.stdout.close(); os.close(2)", "import os; os.write(0 + 9, b'x')"),
    ("replaces_the_streams", "import io, sys\nsys.stdout = io.StringIO()", "import sys; print(type(sys.stdout), "
     "file=sys.__stdout__)"),
    ("reads_stdin", "import sys\nx = sys.stdin.read()", "print(repr(own.x))"),
    ("exits", "import sys; sys.exit(3)", NOTHING), ("exits_with_a_word", "raise SystemExit('a word')", NOTHING),
    ("exits_at_once", "import os; os._exit(4)", NOTHING),
    ("interrupts", "raise KeyboardInterrupt", NOTHING),
    ("kills_itself", "import os; os.kill(os.getpid(), 9)", NOTHING),
    ("aborts", "import os; os.abort()", NOTHING), ("crashes", "import ctypes; ctypes.string_at(0)", NOTHING),
    ("recurses", "def f(): f()\nf()", NOTHING),
    ("allocates_ten_gibibytes", "x = b'x' * (10 << 30)", NOTHING),
    ("fills_the_memory", "x = []\nwhile True: x.append(b'x' * (1 << 20))", NOTHING),
    ("holds_much", "x = b'x' * (100 << 20)", "print(len(own.x))"),
    ("fills_the_disk", "f = open('/tmp/f', 'wb', 0)\nwhile True: f.write(b'x' * 65536)", NOTHING),
    ("starts_a_thread", "import threading, time\nn = 0\ndef f():\n    global n\n    while True:\n        n += 1; "
     "time.sleep(.01)\nt = threading.Thread(target=f, daemon=True); t.start()",
     "import time; n = own.n; time.sleep(.3); print(own.t.is_alive(), own.n > n, "
     "__import__('threading').active_count())"),
    ("starts_a_thread_that_must_end", "import threading, time\nthreading.Thread(target=time.sleep, args=(.3,)).start()",
     "print(__import__('threading').active_count())"),
    ("starts_a_daemon", "import os, time\nif os.fork() == 0:\n    os.setsid(); time.sleep(600); os._exit(0)",
     "import os; print(len([p for p in os.listdir('/proc') if p.isdigit()]))"),
    ("starts_a_child_that_forks_on", "import os\nif os.fork() == 0:\n    while True:\n        if os.fork(): "
     "os._exit(0)",
     "print('on')"),
    ("starts_a_process_pool", "from concurrent.futures import ThreadPoolExecutor\np = ThreadPoolExecutor(2)\nx = "
     "p.submit(pow, 2, 5).result()", "print(own.x, own.p.submit(pow, 2, 6).result())"),
    ("opens_files", "f = open(__file__)\nimport os; d = os.open('/tmp/log', os.O_CREAT | os.O_RDWR)\nimport socket; a, "
     "b = socket.socketpair()", "import os; own.a.send(b'x'); print(own.f.read(3), own.b.recv(1), os.write(own.d, "
     "b'ab'), "
     "len(os.listdir('/proc/self/fd')))"),
    ("closes_all_descriptors", "import os; os.closerange(3, 256)", "print('on')"),
    ("takes_the_low_descriptors", "import os\nfor n in (3, 4, 5): os.dup2(0, n)", "import os; print(len(os.listdir("
     "'/proc/self/fd')))"),
    ("writes_files", "import os, tempfile\nopen('/tmp/mark', 'w').write('x'); open('own.txt', 'w').write('y'); d = "
     "tempfile.mkdtemp()", "import os; print(open('/tmp/mark').read(), open('own.txt').read(), os.path.isdir(own.d), "
     "sorted(os.listdir('.')))"),
    ("removes_the_program", "import os\nfor n in os.listdir('.'): os.remove(n)", "import os; print(os.listdir('.'))"),
    ("changes_the_directory", "import os; os.chdir('/tmp')", "import os; print(os.getcwd())"),
    ("changes_the_umask", "import os; os.umask(0o77)", "import os; print(oct(os.umask(0)))"),
    ("changes_the_environment", "import os; os.environ['OWN'] = '1'; del os.environ['LANG']",
     "import os; print(os.environ.get('OWN'), os.environ.get('LANG'), os.popen('echo $OWN').read())"),
    ("changes_the_path", "import sys; sys.path.insert(0, '/tmp'); sys.path.append('/own')", "import sys; "
     "print(sys.path)"),
    ("changes_argv", "import sys; sys.argv.append('own'); sys.flags", "import sys; print(sys.argv)"),
    ("changes_limits", "import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (30, 30))",
     "import resource; print(resource.getrlimit(resource.RLIMIT_NOFILE))"),
    ("changes_signals", "import signal\nsignal.signal(15, lambda *a: print('handled')); signal.signal(2, "
     "signal.SIG_IGN); signal.pthread_sigmask(0, [10])", "import os, signal; os.kill(os.getpid(), 15); "
     "print(signal.getsignal(2), "
     "signal.pthread_sigmask(0, []))"),
    ("sets_an_alarm", "import signal; signal.signal(14, lambda *a: print('alarm')); signal.setitimer(0, .2)",
     "import time; time.sleep(.5); print('slept')"),
    ("changes_the_recursion_limit", "import sys; sys.setrecursionlimit(200)", "import sys; "
     "print(sys.getrecursionlimit())"),
    ("traces", "import sys\ncalls = []\nsys.setprofile(lambda f, e, a: calls.append(e))", "print(len(own.calls) > 0)"),
    ("changes_the_collector", "import gc; gc.disable(); gc.set_threshold(5)", "import gc; print(gc.isenabled(), "
     "gc.get_threshold())"),
    ("registers_atexit", "import atexit; atexit.register(print, 'at exit of own')", "print('end')"),
    ("registers_at_fork", "import os; os.register_at_fork(before=lambda: print('before', flush=True), after_in_child="
     "lambda: print('child', flush=True))", "import os\nif os.fork() == 0: os._exit(0)\nos.wait()"),
    ("installs_hooks", "import sys, builtins\nsys.excepthook = lambda *a: print('hook', a[0].__name__)\n"
     "builtins.own_word = 5\nsys.breakpointhook = None", "print(own_word)\n1/0"),
    ("installs_a_finder", "import sys\nclass F:\n    def find_spec(n, p, t=None): print('asked', n)\n"
     "sys.meta_path.insert(0, F)", "import colorsys"),
    ("replaces_import", "import builtins\no = builtins.__import__\ndef f(n, *a, **k):\n    print('import', n); return "
     "o(n, *a, **k)\nbuiltins.__import__ = f", "import colorsys"),
    ("patches_a_module", "import json, os\njson.dumps = lambda x: 'patched'\nos.own = 1", "import json, os; "
     "print(json.dumps(1), os.own)"),
    ("replaces_itself", "import sys, types\nm = types.ModuleType('own'); m.x = 7; sys.modules['own'] = m",
     "print(own.x, vars(own).get('__file__'))"),
    ("removes_itself", "import sys\ndel sys.modules['own']", NOTHING),
    ("adds_to_sys_modules", "import sys, types\nsys.modules['own_alias'] = types.ModuleType('own_alias')",
     "import own_alias; print(own_alias)"),
    ("changes_main", "import __main__; __main__.given = 5", "print(given, sorted(globals()))"),
    ("looks_at_its_caller", "import sys\nf = sys._getframe(); n = 0\nwhile f: n += "
     "f.f_code.co_filename.endswith('main.py'); f = f.f_back", "print(own.n)"),
    ("keeps_the_time", "import time, os\nt = time.monotonic(); p = os.getpid() > 1", "print(own.p)"),
    ("has_a_del", "class A:\n    def __del__(s): print('del of own')\na = A()", "print('end')"),
    ("has_a_del_in_a_cycle", "class A:\n    def __del__(s): print('del of own')\na = A(); a.a = a", "print('end')"),
    ("has_a_generator", "def g():\n    try: yield 1\n    finally: print('closed')\nx = g(); next(x)", "print('end')"),
    ("keeps_a_file_buffered", "import os\nf = os.fdopen(os.dup(1), 'w'); f.write('kept\\n')", "print('end')"),
    ("warns", "import warnings; warnings.warn('from own'); warnings.warn('old', DeprecationWarning)", NOTHING),
    ("changes_filters", "import warnings; warnings.simplefilter('error')", "import warnings; warnings.warn('now an "
     "error')"),
    ("changes_logging", "import logging; logging.basicConfig(level=10, format='%(message)s')", "import logging; "
     "logging.debug('said')"),
    ("changes_the_locale", "import locale, time, os\nlocale.setlocale(locale.LC_ALL, 'C'); os.environ['TZ'] = "
     "'Asia/Tokyo'; time.tzset()", "import locale, time; print(locale.setlocale(0), time.tzname)"),
    ("counts_refused_calls", "import ctypes\nn = [ctypes.CDLL(None).syscall(n, 0, 0, 0) for n in (165, 272, 250)]",
     "print(own.n)"),
    ("uses_the_network", "import socket\ntry: socket.create_connection(('127.0.0.1', 9), 1)\nexcept OSError as e: x = "
     "e.errno", "print(own.x)"),
]
# These do not come to an end, with a program that imports them neither.
STUCK = [("sleeps", "import time; time.sleep(1000)"), ("spins", "while True: pass"),
         ("waits_for_itself", "import threading; threading.Event().wait()"),
         ("stops_itself", "import os; os.kill(os.getpid(), 19)"),
         ("spins_deaf", "import signal\nfor n in range(1, 65):\n    try: signal.signal(n, signal.SIG_IGN)\n"
          "    except (OSError, ValueError): pass\nwhile True: pass"),
         ("spins_in_a_thread_and_waits", "import threading\ndef f():\n    while True: pass\nt = "
          "threading.Thread(target=f); t.start(); t.join()"),
         ("floods", "while True: print('x' * 1000)")]


class Place:
    """A server whose interpreter has a module `own`, with and without loading it ahead."""

    def __init__(self, text):
        self.home, self.text = Home(), text
        self.python = self.home.venv("v", "--system-site-packages")
        self.write("own", text)
        self.write("own_part", "import own_no_such_part")

    def write(self, name, text):
        self.home.write("%s/%s.py" % (self.home.packages("v"), name), text + "\n", 0o644)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.home.__exit__()

    def server(self, warm_mode="1", preload="own", **env):
        return self.home.server(self.python, MCP_EXEC_WARM=warm_mode, MCP_EXEC_PRELOAD=preload, **env)


def told(result):
    """What two runs of a program must have in common: how many bytes were dropped is said in a warning."""
    return dict(result["structuredContent"], duration_ms=0, warnings=0)


def plain(s):
    """A program that imports nothing sees nothing of the module."""
    code = "import sys, threading, os, signal, builtins\nprint([n for n in sys.modules if 'own' in n], " \
        "threading.active_count(), os.getcwd(), sorted(os.listdir('.')), [n for n in os.listdir('/tmp') " \
        "if n[:4] != 'home'], sys.argv, " \
        "hasattr(builtins, 'own_word'), os.environ.get('OWN'), oct(os.umask(0o22)), signal.getsignal(15) is " \
        "signal.SIG_DFL, sys.getrecursionlimit(), len(os.listdir('/proc/self/fd')), '/own' in sys.path, " \
        "len([p for p in os.listdir('/proc') if p.isdigit()]), sys.getprofile(), globals().get('given'))\n" \
        "import json, colorsys; print(json.dumps(1))\nif os.fork() == 0: os._exit(0)\nos.wait()"
    got = s.exec(code)["structuredContent"]
    equal((got["stdout"], got["stderr"], got["exit_code"]),
          ("[] 1 /sandbox ['main.py'] [] ['main.py'] False None 0o22 True 1000 4 False 2 None None\n1\n", "", 0))


PATIENT = dict(timeout_s=20, wait=30)


@cases(MODULES)
def test_outcome_is_that_of_a_module_that_was_not_loaded_ahead(text, use):
    code = "import own\n" + use
    with Place(text) as place:
        with place.server("0", "") as s:
            want = told(s.exec(code, **PATIENT))
        with place.server() as s:
            # Whether or not it could be loaded, programs that do not want it are started warm.
            if warm.known():
                warm.warmed(s)
            before, starts = time.monotonic(), []
            for _ in range(3):
                result = s.exec(code, **PATIENT)
                equal(told(result), want, "started %s:" % warm.start_of(result))
                starts.append(warm.start_of(result))
                plain(s)
            within(time.monotonic() - before, 0, 30)
            if use.startswith("print(own.x, own.f()") and warm.known():
                warm.until_started(s, code, warm.PRELOADED, each=lambda result: equal(told(result), want))
            below = descendants(s.worker())
            check(len(below) < 20, "processes pile up", len(below))
            ends(s, below)


@cases(STUCK)
def test_module_that_does_not_come_to_an_end(text):
    with Place(text) as place, place.server() as s:
        start = time.monotonic()
        right(s)
        within(time.monotonic() - start, 0, 3)
        if warm.known():
            warm.warmed(s)
        got = s.exec("import own", timeout_s=1)["structuredContent"]
        equal((got["timed_out"], got["exit_code"]), (True, -1))
        for _ in range(5):
            right(s)
            time.sleep(0.2)
        plain(s)
        ends(s)


def test_others_are_loaded_beside_one_that_cannot_be():
    needs_warm()
    with Place("1/0") as place, place.server(preload="own,numpy") as s:
        warm.warmed(s, "numpy")
        got = s.exec("import numpy\ntry: import own\nexcept ZeroDivisionError: print(numpy.ones(2).sum())")
        equal(got["structuredContent"]["stdout"], "2.0\n")
        ends(s)


def test_a_module_that_fails_is_not_tried_without_end():
    """Each try is a process and its time; the machine must come to rest."""
    needs_warm()
    with Place("import os; os._exit(1)") as place, place.server() as s:
        warm.warmed(s)
        seen, end = set(), time.monotonic() + 5
        while time.monotonic() < end:
            seen |= set(warm.Below(s.worker()).pristine)
            right(s)
            time.sleep(0.01)
        check(len(seen) < 30, "interpreters in five seconds", len(seen))
        ends(s)


def test_package_with_parts():
    with Place("x = 1") as place:
        for name, text in (("pack/__init__", "from . import a"), ("pack/a", "x = 'a'"), ("pack/b", "x = 'b'")):
            place.write(name, text)
        with place.server(preload="pack.b") as s:
            def judge(result):
                equal(result["structuredContent"]["stdout"],
                      "['pack', 'pack.a'] False\nb ['pack', 'pack.a', 'pack.b']\n")

            code = "import sys, pack\ndef l(): return [n for n in sorted(sys.modules) if n[:4] == 'pack']\n" \
                "print(l(), hasattr(pack, 'b'))\nimport pack.b; print(pack.b.x, l())"
            judge(s.exec(code))
            if warm.known():
                warm.until_started(s, code, warm.PRELOADED, each=judge)
            plain(s)
            ends(s)


def test_a_module_that_changed_is_read_again():
    """Within a bounded time: what is installed while the server runs is meant to be used."""
    with Place("x = 'old'") as place, place.server() as s:
        code = "import own\nprint(own.x)"
        equal(s.exec(code)["structuredContent"]["stdout"], "old\n")
        if warm.known():
            warm.until_started(s, code, warm.PRELOADED)
        time.sleep(1.1)
        place.write("own", "x = 'new and longer'")
        place.home.hand_over()
        try:
            until(lambda: s.exec(code)["structuredContent"]["stdout"] == "new and longer\n", 5, "the new text")
        except Timeout:
            check(False, "the old module is imported after it was replaced")


@cases([("empty", "", True), ("blanks", " , ", True), ("one", "numpy", True), ("dotted", "os.path, json", True),
        ("twice", "numpy,numpy", True), ("unknown", "no_such_module_of_any_kind", True),
        ("built_in", "sys,builtins,posix", True), ("main", "__main__", True), ("itself", "this", True),
        ("no_name", "a b;c", False), ("a_path", "/etc/passwd", False), ("dots", "a..b", False),
        ("code", "os;x=1", False), ("not_ascii", "größe", False), ("option", "--x", False), ("number", "1a", False)])
def test_names(value, good):
    needs_warm()
    env = {"MCP_EXEC_PRELOAD": value, "MCP_EXEC_WARM": "1"}
    if good:
        with Server(env=env) as s:
            warm.warmed(s)
            got = s.exec("import sys\nprint('numpy' in sys.modules, 'this' in sys.modules, 'json' in sys.modules)")
            equal(got["structuredContent"]["stdout"], "False False False\n")
            ends(s)
    else:
        code, out, err = run([], env=env)
        equal((code, out), (78, b""))
        check(b"MCP_EXEC_PRELOAD" in err, "no word of the setting", err)


@cases([("bad", "perhaps"), ("number", "2"), ("empty_word", " ")])
def test_setting_that_is_none(value):
    needs_warm()
    code, out, err = run([], env={"MCP_EXEC_WARM": value})
    equal((code, out), (78, b""))
    check(b"MCP_EXEC_WARM" in err, "no word of the setting", err)


if __name__ == "__main__":
    main()
