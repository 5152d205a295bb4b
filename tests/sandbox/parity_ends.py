#!/usr/bin/env python3
"""How a program ends, and all that happens at its end: the same as under plain `python3 main.py`."""
from _parity import rows, same, same_and_good
from _sandbox import every_mode_was_tried, nothing_left
from mcp import cases, main

ODD = "class Odd(SystemExit):\n    def __init__(s, c): s.c = c\n    @property\n    def code(s): return s.c\n"
CODES = [("code_" + label, "import sys\nprint('x')\nsys.exit(%s)" % value) for label, value in
         (("none", ""), ("none_said", "None"), ("0", "0"), ("3", "3"), ("true", "True"), ("false", "False"),
          ("255", "255"), ("256", "256"), ("257", "257"), ("minus_1", "-1"), ("minus_256", "-256"),
          ("2_31", "2 ** 31"), ("minus_2_31", "-2 ** 31"), ("2_63", "2 ** 63"), ("huge", "10 ** 40"), ("float", "2.0"),
          ("word", "'a word'"), ("words_and_lines", "'a\\nb\\n'"), ("not_ascii", "'é\\ud800'"), ("bytes", "b'x'"),
          ("empty_tuple", "()"), ("tuple_of_one", "(3,)"), ("list", "[3]"), ("type", "int"), ("dict", "{}"),
          ("subclass_of_int", "type('I', (int,), {'__str__': lambda s: 'no'})(4)"),
          ("with_an_index", "type('I', (), {'__index__': lambda s: 4, '__str__': lambda s: 'str'})()"),
          ("unprintable", "type('U', (), {'__str__': lambda s: 1 / 0})()"),
          ("prints_an_exit", "SystemExit(4)"), ("an_exception", "KeyError('k')"))] + [
    ("code_raised", "raise SystemExit"), ("code_raised_with_two", "raise SystemExit(1, 2)"),
    ("code_changed", "try: raise SystemExit(1)\nexcept SystemExit as e: e.code = 9; raise"),
    ("code_deleted", "e = SystemExit(5); del e.code\nraise e"),
    ("code_of_a_property", ODD + "raise Odd(6)"), ("code_of_a_property_that_fails", ODD.replace("s.c\n", "1 / 0\n", 1)
                                                    .replace("s.c = c", "pass") + "raise Odd(6)"),
    ("code_with_a_cause", "try: 1/0\nexcept ZeroDivisionError as e: raise SystemExit(8) from e"),
    ("quit", "quit()"), ("exit_word", "exit('w')"), ("quit_closes_stdin", "import sys\ntry: quit(0)\nexcept "
     "SystemExit: print(sys.stdin.closed)"),
    ("exit_is_caught", "import sys\ntry: sys.exit(3)\nexcept BaseException as e: print(repr(e))"),
    ("exit_in_a_function", "import sys\ndef f():\n    try: sys.exit(4)\n    finally: print('finally')\nf()"),
    ("exit_in_a_thread", "import sys, threading\nt = threading.Thread(target=sys.exit, args=('quiet',)); t.start(); "
     "t.join(); print('on'); sys.exit(2)"),
    ("exit_in_a_signal_handler", "import os, signal, sys, time\nsignal.signal(10, lambda *a: sys.exit(12)); "
     "os.kill(os.getpid(), 10); time.sleep(5)"),
    ("exit_in_an_excepthook", "import sys\nsys.excepthook = lambda *a: (print('h'), sys.exit(5))\n1/0"),
    ("exit_in_a_child", "import os, sys\nif os.fork() == 0: sys.exit(3)\nprint(os.wait()[1] >> 8)"),
    ("exit_of_asyncio", "import asyncio, sys\nasync def f(): sys.exit(4)\nasyncio.run(f())"),
    ("os_exit", "import os\nprint('x'); os._exit(300)"),
    ("os_exit_in_a_thread", "import os, threading, time\nthreading.Thread(target=os._exit, args=(4,)).start(); "
     "time.sleep(9)"),
    ("exit_of_c", "import ctypes, os\nprint('x'); ctypes.CDLL(None).exit(6)"),
    ("exit_of_c_in_a_thread", "import ctypes, threading, time\nt = threading.Thread(target=ctypes.CDLL(None)._exit, "
     "args=(7,)); t.start(); time.sleep(9)"),
    ("atexit_of_c", "import ctypes\nF = ctypes.CFUNCTYPE(None)\nc = ctypes.CDLL(None)\nc.puts(b'kept in a buffer')"),
    ("on_exit_of_c", "import ctypes\nc = ctypes.CDLL(None); c.setvbuf(ctypes.c_void_p.in_dll(c, 'stdout'), None, 0, "
     "4096); c.puts(b'from c'); print('from python')"),
]

SIGNALS = [(label, "import os, signal, sys, threading, time\nprint('x')\n" + body) for label, body in (
    ("interrupt", "os.kill(os.getpid(), 2); time.sleep(5)"),
    ("interrupt_raised", "raise KeyboardInterrupt('word')"),
    ("interrupt_in_finally", "try: raise KeyboardInterrupt\nfinally: print('f')"),
    ("interrupt_with_atexit", "import atexit\natexit.register(print, 'last')\nraise KeyboardInterrupt"),
    ("interrupt_with_a_hook", "sys.excepthook = lambda *a: print('hook', a[0].__name__)\nraise KeyboardInterrupt"),
    ("interrupt_ignored", "signal.signal(2, signal.SIG_IGN); os.kill(os.getpid(), 2); print('on')\n"
     "raise KeyboardInterrupt"),
    ("interrupt_by_default", "signal.signal(2, signal.SIG_DFL); os.kill(os.getpid(), 2); time.sleep(5)"),
    ("interrupt_of_a_thread", "import _thread\nthreading.Thread(target=_thread.interrupt_main).start(); time.sleep(5)"),
    ("abort", "os.abort()"), ("kill", "os.kill(os.getpid(), 9)"), ("term", "os.kill(os.getpid(), 15)"),
    ("term_in_a_thread", "threading.Thread(target=os.kill, args=(os.getpid(), 15)).start(); time.sleep(5)"),
    ("quit", "signal.raise_signal(3)"), ("segv", "import ctypes; ctypes.string_at(0)"),
    ("segv_with_faulthandler", "import faulthandler\nfaulthandler.enable(all_threads=False)\nimport ctypes\n"
     "def f(): ctypes.string_at(0)\nf()"),
    ("bus", "signal.raise_signal(7)"), ("fpe", "signal.raise_signal(8)"), ("pipe", "signal.raise_signal(13)"),
    ("pipe_by_default", "signal.signal(13, signal.SIG_DFL); signal.raise_signal(13)"),
    ("xcpu", "signal.raise_signal(24)"), ("usr1", "signal.raise_signal(10)"), ("real_time", "signal.raise_signal(40)"),
    ("alarm", "signal.setitimer(0, .05); time.sleep(5)"), ("hup", "os.kill(0, 1)"),
    ("of_the_group", "os.killpg(os.getpgrp(), 15)"), ("parent_dies_with_child", "p = os.fork()\n"
     "if p == 0: os.kill(os.getppid(), 15); time.sleep(.2); os._exit(0)\ntime.sleep(5)"),
    ("default_of_chld_and_winch", "signal.raise_signal(17); signal.raise_signal(28); print('on')"),
)]

AT_EXIT = [
    ("order", "import atexit\nfor i in range(5): atexit.register(print, i, end=' ')\natexit.register(print, 'a', "
     "sep='')\nprint('m')"),
    ("registered_at_exit", "import atexit\natexit.register(lambda: (print('one'), atexit.register(print, 'two')))"),
    ("unregistered_at_exit", "import atexit\ndef f(): print('f')\natexit.register(f); atexit.register(lambda: "
     "atexit.unregister(f))"),
    ("fail_twice", "import atexit\ndef f(): raise ValueError('f')\ndef g(): {}['g']\natexit.register(f); "
     "atexit.register(print, 'between'); atexit.register(g)"),
    ("exits", "import atexit, sys\natexit.register(print, 'still'); atexit.register(sys.exit, 4); print('m')"),
    ("exits_after_an_error", "import atexit, sys\natexit.register(sys.exit, 4); 1/0"),
    ("interrupted", "import atexit\ndef f(): raise KeyboardInterrupt\natexit.register(print, 'still'); "
     "atexit.register(f)"),
    ("run_by_hand", "import atexit\natexit.register(print, 'once'); atexit._run_exitfuncs(); print('m', "
     "atexit._ncallbacks())"),
    ("sees_globals", "import atexit\nx = [1]\ndef f(): print(x, __name__, sorted(globals())[:2])\natexit.register(f); "
     "x.append(2)"),
    ("imports", "import atexit\ndef f():\n    import colorsys; print(colorsys.__name__)\natexit.register(f)"),
    ("starts_a_child", "import atexit, subprocess\natexit.register(lambda: subprocess.run(['echo', 'child'])); "
     "print('m', flush=True)"),
    ("starts_a_thread", "import atexit, threading\ndef f():\n    try: t = threading.Thread(target=print, "
     "args=('t',)); t.start(); t.join()\n    except RuntimeError as e: print(e)\natexit.register(f)"),
    ("forks", "import atexit, os\ndef f():\n    p = os.fork()\n    if p == 0: os._exit(0)\n    print(os.waitpid(p, "
     "0)[1])\natexit.register(f)"),
    ("in_a_child_too", "import atexit, os, sys\natexit.register(lambda: print('exit', flush=True))\np = os.fork()\n"
     "if p: os.wait()"),
    ("not_in_a_child_of_multiprocessing", "import atexit, multiprocessing as m\natexit.register(print, 'exit')\n"
     "if __name__ == '__main__': p = m.get_context('fork').Process(target=print, args=('c',)); p.start(); p.join()"),
    ("frames", "import atexit, sys, traceback\ndef f(): traceback.print_stack(); print(sys._getframe().f_back)\n"
     "atexit.register(f)"),
    ("exc_info", "import atexit, sys\natexit.register(lambda: print(sys.exc_info(), sys.last_type))\n1/0"),
    ("modules_are_there", "import atexit, sys\natexit.register(lambda: print('os' in sys.modules, len(sys.modules) > "
     "20, sys.is_finalizing()))"),
    ("logging_shuts_down", "import logging\nclass H(logging.Handler):\n    def flush(s): print('flush')\n    def "
     "close(s): print('close')\nlogging.root.addHandler(H())"),
    ("weakref_and_atexit", "import atexit, weakref\nclass A: pass\na = A(); f = weakref.finalize(a, print, 'fin'); "
     "g = weakref.finalize(a, print, 'not'); g.atexit = False; atexit.register(print, 'exit'); print(f.alive)"),
    ("weakrefs_in_order", "import weakref\nclass A: pass\nl = [A() for _ in range(3)]; "
     "fs = [weakref.finalize(a, print, i) for i, a in enumerate(l)]"),
    ("temporary_directory", "import tempfile, atexit, os\nt = tempfile.TemporaryDirectory(); d = t.name; "
     "atexit.register(lambda: print(os.path.exists(d))); import warnings; warnings.simplefilter('ignore')"),
    ("executor_is_joined", "from concurrent.futures import ThreadPoolExecutor\nimport time\np = ThreadPoolExecutor(1)\n"
     "for i in range(2): p.submit(lambda: (time.sleep(.1), print('done', flush=True)))\nprint('m')"),
    ("executor_after_an_error", "from concurrent.futures import ThreadPoolExecutor\nimport time\np = "
     "ThreadPoolExecutor(1); p.submit(lambda: (time.sleep(.1), print('done')))\n1/0"),
    ("subprocess_not_waited_for", "import subprocess\np = subprocess.Popen(['sleep', '0'])\nprint('m')"),
    ("registered_by_threading", "import threading\ntry: threading._register_atexit(print, 'at the end of threads')\n"
     "except AttributeError: print('at the end of threads')\nimport atexit; atexit.register(print, 'then')"),
]

SAYS = "class S:\n    def __init__(s, n): s.n = n\n    def __del__(s): print('del', s.n, flush=True)\n"
GONE = [
    ("globals_in_order", SAYS + "z = S('z'); a = S('a'); _u = S('_u'); __d = S('__d'); b = S('b'); B = S('B')\n"
     "print('end')"),
    ("names_that_are_rebound", SAYS + "a = S(1); b = S(2); a = S(3); del b; c = S(4)"),
    ("underscored_after_an_exit", SAYS + "_a = S('_a'); a = S('a')\nraise SystemExit(3)"),
    ("in_a_list_and_a_dict", SAYS + "l = [S(1), S(2)]; d = {'k': S(3), 'j': S(4)}; t = (S(5), S(6)); print('end')"),
    ("cycle", SAYS + "a = S(1); a.me = a; b = S(2); c = S(3); b.c = c; c.b = b; print('end')"),
    ("cycle_that_is_lost", "import gc\ngc.disable()\n" + SAYS + "a = S(1); a.me = a; del a; print('end')"),
    ("local_of_main", SAYS + "def f():\n    x = S('local'); print('in f')\nf(); print('end')"),
    ("default_and_closure", SAYS + "def f(x=S('default')):\n    def g(): return y\n    y = S('closure'); return g\n"
     "g = f(); print('end')"),
    ("class_attribute", SAYS + "class C: x = S('class')\nc = C(); print('end')"),
    ("in_a_module_of_its_own", "open('m.py', 'w').write(%r)\nimport m\nprint('end')" % (
        SAYS + "x = S('in m'); import sys; sys.mine = S('in sys')")),
    ("in_builtins", SAYS + "import builtins; builtins.x = S('builtin'); print('end')"),
    ("in_sys_modules", SAYS + "import sys; sys.modules['odd'] = S('module'); print('end')"),
    ("in_os_environ_of_a_module", SAYS + "import sched; sched.x = S('sched'); import colorsys; colorsys.x = "
     "S('colorsys')"),
    ("in_thread_local", SAYS + "import threading\nl = threading.local(); l.x = S('local'); print('end')"),
    ("in_a_context", SAYS + "import contextvars\nv = contextvars.ContextVar('v'); v.set(S('var')); print('end')"),
    ("in_an_exception", SAYS + "def f():\n    x = S('in a frame'); 1/0\ntry: f()\nexcept ZeroDivisionError as e: k = "
     "e\nprint('end')"),
    ("in_the_last_traceback", SAYS + "def f():\n    x = S('in a frame'); 1/0\nf()"),
    ("raises", "class A:\n    def __del__(s): 1/0\na = A(); print('end')"),
    ("uses_what_is_gone", "import os\nclass A:\n    def __del__(s): print(os, x, __name__, print)\nx = 5; a = A(); "
     "print('end')"),
    ("uses_what_is_gone_in_a_cycle", "import os\nclass A:\n    def __del__(s): print(os is None, __name__)\na = A(); "
     "a.a = a; b = [a]; b.append(b)"),
    ("imports", "class A:\n    def __del__(s):\n        try: import colorsys; print(colorsys.__name__)\n"
     "        except BaseException as e: print(type(e).__name__)\na = A(); a.a = a"),
    ("opens_a_file", "class A:\n    def __del__(s):\n        try: print(open('main.py').read(5))\n"
     "        except BaseException as e: print(type(e).__name__)\na = A(); a.a = a\nl = [a]"),
    ("comes_back", "class A:\n    def __del__(s):\n        global k\n        k = s; print('del')\na = A(); "
     "print('end')"),
    ("many", "class A:\n    def __del__(s):\n        n[0] += 1\n        if n[0] == 20000: print(n)\nn = [0]; l = [A() "
     "for _ in range(20000)]"),
    ("weakref_callback", "import weakref\nclass A: pass\na = A(); r = weakref.ref(a, lambda r: print('gone', r() is "
     "None)); print('end')"),
    ("weakref_callback_in_a_cycle", "import weakref\nclass A: pass\na = A(); a.a = a; r = weakref.ref(a, lambda r: "
     "print('gone')); print('end')"),
    ("weak_dictionary", "import weakref\n" + SAYS + "d = weakref.WeakValueDictionary(); a = S(1); d['k'] = a; "
     "print(len(d))"),
    ("generator", "def g():\n    try: yield 1\n    finally: print('finally')\nx = g(); next(x); print('end')"),
    ("generator_in_a_cycle", "def g():\n    try: yield h\n    finally: print('finally')\nx = g(); h = [x]; next(x); "
     "h.append(h); print('end')"),
    ("generator_that_does_not_stop", "def g():\n    try: yield 1\n    finally: yield 2\nx = g(); next(x)"),
    ("generator_with_a_context", "import contextlib\n@contextlib.contextmanager\ndef c():\n    print('in')\n    try: "
     "yield\n    finally: print('out')\ndef g():\n    with c(): yield\nx = g(); next(x)"),
    ("coroutine_never_awaited", "async def f(): pass\nx = f(); print('end')"),
    ("coroutine_suspended", "import types\n@types.coroutine\ndef s(): yield\nasync def f():\n    try: await s()\n"
     "    finally: print('finally')\nx = f(); x.send(None); print('end')"),
    ("async_generator", "async def g():\n    try: yield 1\n    finally: print('finally')\nx = g()\ntry: "
     "x.__anext__().send(None)\nexcept StopIteration as e: print(e.value)"),
    ("async_generator_of_a_loop", "import asyncio\nasync def g():\n    try: yield 1\n    finally: print('finally')\n"
     "async def f():\n    global x\n    x = g(); print(await x.__anext__())\nasyncio.run(f()); print('end')"),
    ("task_left", "import asyncio\nasync def f():\n    global t\n    t = asyncio.ensure_future(asyncio.sleep(9)); "
     "await asyncio.sleep(0)\nl = asyncio.new_event_loop(); l.run_until_complete(f()); print('end')"),
    ("loop_not_closed", "import asyncio\nl = asyncio.new_event_loop(); l.run_until_complete(asyncio.sleep(0))"),
    ("ctypes_callback", "import ctypes\nF = ctypes.CFUNCTYPE(None)\n" + SAYS + "s = S('held'); f = F(lambda x=s: "
     "None); f(); print('end')"),
    ("trace_function_at_the_end", "import sys\ndef t(f, e, a): return t\nsys.settrace(t); x = 1\nclass A:\n    def "
     "__del__(s): print('del')\na = A()"),
    ("profile_at_the_end", "import sys\nn = []\nsys.setprofile(lambda *a: n.append(1))\nclass A:\n    def __del__(s): "
     "print(len(n) > 0)\na = A()"),
    ("excepthook_of_what_nobody_sees", "import sys\nsys.unraisablehook = lambda a: print('hook', a.exc_type.__name__)\n"
     "class A:\n    def __del__(s): 1/0\na = A(); print('end')"),
    ("slots_and_inheritance", SAYS + "class T(S):\n    __slots__ = 'x'\n    def __del__(s): super().__del__(); "
     "print('T')\nt = T(1); t.x = S('x')"),
    ("module_object", "import types\n" + SAYS + "m = types.ModuleType('m'); m.x = S('m'); m.m = m; print('end')"),
    ("stdout_replaced", SAYS + "import io, sys\nclass O(io.StringIO):\n    def close(s): sys.__stdout__.write('close "
     "%r\\n' % s.getvalue()); super().close()\nsys.stdout = O(); print('hidden'); a = S(1)"),
    ("stdout_deleted", SAYS + "import sys\na = S(1); print('x'); del sys.stdout"),
    ("frozen", SAYS + "import gc\na = S(1); a.a = a; gc.freeze(); print('end')"),
    ("collector_disabled", SAYS + "import gc\ngc.disable(); a = S(1); a.a = a; print('end')"),
    ("collector_callbacks", "import gc\ngc.callbacks.append(lambda p, i: None); gc.set_threshold(1); x = [[] for _ in "
     "range(99)]; print('end')"),
    ("collector_debug", "import gc\nclass A: pass\na = A(); a.a = a; del a; gc.set_debug(gc.DEBUG_SAVEALL); "
     "print(gc.collect() > 0, len(gc.garbage) > 0); gc.set_debug(0)"),
]

FILES = [(label, "import io, os, subprocess, sys\n" + body) for label, body in (
    ("stdout_without_a_newline", "sys.stdout.write('no newline')"),
    ("buffered_stdout", "sys.stdout = open(1, 'w', closefd=False); print('kept until the end'); "
     "print('at once', file=sys.stderr)"),
    ("buffered_over_a_dup", "f = os.fdopen(os.dup(1), 'w'); f.write('by the dup\\n'); print('first')"),
    ("buffered_over_a_dup_in_a_cycle", "f = os.fdopen(os.dup(1), 'w'); f.write('by the dup\\n'); l = [f]; l.append(l); "
     "print('first')"),
    ("buffered_in_a_function", "def f(): g = os.fdopen(os.dup(1), 'w'); g.write('local\\n')\nf(); print('then')"),
    # In a child, for nobody waits for a reader that the main program leaves.
    ("file_of_a_reader", "r, w = os.pipe()\nif os.fork(): os.close(w); print(os.fdopen(r).read())\nelse: p = "
     "subprocess.Popen(['cat'], stdin=subprocess.PIPE, stdout=w); p.stdin.write(b'to cat')"),
    ("pipe_to_a_child", "r, w = os.pipe()\nif os.fork() == 0:\n    os.close(w); d = os.read(r, 99); os.write(1, d + "
     "b'!'); os._exit(0)\nos.close(r); f = os.fdopen(w, 'w'); f.write('kept'); f.close(); os.wait()"),
    ("file_that_is_never_closed", "f = open('f', 'w'); f.write('x' * 100); print(os.path.getsize('f'))"),
    ("resource_warnings", "import warnings\nwarnings.simplefilter('always'); f = open('f', 'w'); import socket; s = "
     "socket.socket(); print('end')"),
    ("resource_warnings_of_a_cycle", "import warnings\nwarnings.simplefilter('always'); f = [open('main.py')]; "
     "f.append(f); print('end')"),
    ("stdout_closed", "sys.stdout.close()"), ("stdout_closed_by_number", "print('x'); os.close(1)"),
    ("stdout_closed_and_full", "sys.stdout = open(1, 'w'); sys.stdout.write('x'); os.close(1)"),
    ("stdout_is_a_broken_pipe", "r, w = os.pipe(); os.dup2(w, 1); os.close(r); os.close(w); sys.stdout = open(1, 'w', "
     "closefd=False); print('x')"),
    ("stdout_to_full", "sys.stdout = open('/dev/full', 'w'); print('x')"),
    ("stderr_to_full", "sys.stderr = open('/dev/full', 'w'); print('x', file=sys.stderr)"),
    ("std_of_c_to_full", "sys.__stdout__ = sys.stdout = open('/dev/full', 'w'); print('x')"),
    ("stdout_detached", "b = sys.stdout.detach(); b.write(b'x')"),
    ("stdout_is_none", "sys.stdout = None; print('x')"),
    ("stdout_flush_fails", "class F:\n    def write(s, t): pass\n    def flush(s): raise ValueError('no flush')\n"
     "sys.stdout = F(); print('x')"),
    ("stdout_has_no_flush", "class F:\n    def write(s, t): pass\nsys.stdout = F(); print('x')"),
    ("stdin_closed", "sys.stdin.close(); os.open('main.py', 0)"),
    ("all_closed", "os.closerange(0, 3)"), ("all_closed_and_an_error", "os.closerange(0, 3); 1/0"),
    ("gzip_not_closed", "import gzip\ng = gzip.open('g.gz', 'w'); g.write(b'x'); print('end')"),
    ("zip_not_closed", "import zipfile\nz = zipfile.ZipFile('z.zip', 'w'); z.writestr('a', 'b'); print('end')"),
    ("bytes_io_and_wrapper", "w = io.TextIOWrapper(io.BytesIO()); w.write('x'); print('end')"),
    ("raw_that_says_when_closed", "class R(io.RawIOBase):\n    def writable(s): return True\n    def write(s, b): "
     "print('write', bytes(b)); return len(b)\n    def close(s): print('close'); super().close()\nf = "
     "io.BufferedWriter(R()); f.write(b'x'); print('end')"),
    ("raw_in_a_cycle", "class R(io.RawIOBase):\n    def writable(s): return True\n    def write(s, b): os.write(1, b); "
     "return len(b)\nf = io.TextIOWrapper(io.BufferedWriter(R())); f.write('kept\\n'); l = [f]; l.append(l); "
     "print('end')"),
    ("mmap_not_closed", "import mmap\nopen('f', 'wb').write(b'0' * 9999); m = mmap.mmap(os.open('f', 2), 0); m[0] = 1"),
    ("sqlite_not_committed", "import sqlite3\nc = sqlite3.connect('d'); c.execute('create table t(x)'); "
     "c.execute('insert into t values(1)'); print('end')"),
    ("socket_not_closed", "import socket\na, b = socket.socketpair(); a.sendall(b'x'); print(b.recv(1))"),
)]

THREADS = [(label, "import os, sys, threading, time\n" + body) for label, body in (
    ("joined_at_the_end", "threading.Thread(target=lambda: (time.sleep(.1), print('t'))).start(); print('m')"),
    ("starts_another_at_the_end", "def f():\n    time.sleep(.1); threading.Thread(target=g).start(); print('f')\ndef "
     "g(): time.sleep(.1); print('g')\nthreading.Thread(target=f).start(); print('m')"),
    ("daemon_is_not", "threading.Thread(target=lambda: (time.sleep(5), print('t')), daemon=True).start(); print('m')"),
    ("daemon_that_prints", "def f():\n    while True: time.sleep(.001)\nfor _ in range(5): threading.Thread(target=f, "
     "daemon=True).start()\ntime.sleep(.02); print('m')"),
    ("daemon_that_spins", "def f():\n    while True: pass\nthreading.Thread(target=f, daemon=True).start(); "
     "print('m')"),
    ("daemon_and_del", "class A:\n    def __del__(s): print('del')\ndef f(a):\n    while True: time.sleep(.01)\n"
     "threading.Thread(target=f, args=(A(),), daemon=True).start(); print('m')"),
    ("after_an_error", "threading.Thread(target=lambda: (time.sleep(.1), print('t'))).start(); 1/0"),
    ("after_an_exit", "threading.Thread(target=lambda: (time.sleep(.1), print('t'))).start(); sys.exit(3)"),
    ("that_raises_late", "threading.Thread(target=lambda: (time.sleep(.1), 1/0), name='n').start(); print('m')"),
    ("that_exits_late", "threading.Thread(target=lambda: (time.sleep(.1), sys.exit(9))).start(); print('m')"),
    ("low_level_is_not_joined", "import _thread\n_thread.start_new_thread(lambda: (time.sleep(5), print('t')), ()); "
     "print('m')"),
    ("low_level_that_raises", "import _thread\ndef f(): 1/0\n_thread.start_new_thread(f, ()); time.sleep(.2); "
     "print('m')"),
    ("main_is_alive_meanwhile", "m = threading.main_thread()\ndef f(): time.sleep(.1); print(m.is_alive(), "
     "threading.current_thread() is m)\nthreading.Thread(target=f).start()"),
    ("local_at_the_end", "l = threading.local()\nclass A:\n    def __del__(s): print('del')\ndef f(): l.x = A(); "
     "time.sleep(.05); print('t')\nthreading.Thread(target=f).start(); print('m')"),
    ("hold_a_lock", "k = threading.Lock(); k.acquire()\nthreading.Thread(target=k.acquire, daemon=True).start(); "
     "time.sleep(.05); print('m')"),
    ("atexit_after_them", "import atexit\natexit.register(print, 'exit')\nthreading.Thread(target=lambda: (time.sleep("
     ".1), print('t'))).start(); print('m')"),
    ("fork_with_threads", "import warnings\nwarnings.simplefilter('ignore')\nthreading.Thread(target=time.sleep, args=("
     ".2,)).start()\nif os.fork() == 0: print(threading.active_count(), threading.current_thread().name, flush=True); "
     "sys.exit(0)\nos.wait(); print('m')"),
    ("fork_in_a_thread_that_ends_python", "import warnings\nwarnings.simplefilter('ignore')\ndef f():\n    p = "
     "os.fork()\n    if p == 0: print(threading.main_thread().name, flush=True); sys.exit(3)\n    print(os.waitpid(p, "
     "0)[1] >> "
     "8)\nt = threading.Thread(target=f, name='T'); t.start(); t.join()"),
    ("child_process_is_joined", "import multiprocessing as m\nif __name__ == '__main__': m.get_context('fork').Process("
     "target=lambda: (time.sleep(.1), print('child', flush=True))).start(); print('m', flush=True)"),
    ("daemonic_process_is_not", "import multiprocessing as m\nif __name__ == '__main__': m.get_context('fork').Process("
     "target=time.sleep, args=(9,), daemon=True).start(); print('m', flush=True)"),
)]

GROUPS = (("atexit", AT_EXIT), ("gone", GONE), ("file", FILES), ("thread", THREADS), ("signal", SIGNALS),
          ("exit", CODES))


@cases(rows([("%s_%s" % (group, label), code) for group, programs in GROUPS for label, code in programs]))
def test_same(code, stdin):
    same(code, stdin)


# Deletion goes on at the end of a run as it does under Python: as often, in the same order, once.
def test_every_object_of_a_large_program_is_deleted():
    code = "import collections, random\nclass A:\n    n = 0\n    def __init__(s): s.l = []\n    def __del__(s):\n" \
           "        A.n += 1\n        if A.n == 3000: print('all')\nrandom.seed(1); o = [A() for _ in range(3000)]\n" \
           "for _ in range(9000): random.choice(o).l.append(random.choice(o))\nprint('end')"
    same_and_good(code)


def test_every_mode_was_tried():
    every_mode_was_tried()


def test_nothing_is_left():
    nothing_left()


main()
