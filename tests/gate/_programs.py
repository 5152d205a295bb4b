"""Programs for tests/gate/parity.py that the tables of tests/sandbox do not have: what a copy could do differently."""
DEL = "class A:\n    def __init__(s, n): s.n = n\n    def __del__(s): print('del', s.n, flush=True)\n"

IDENTITY = [
    ("globals", "print(globals())\nprint(list(globals()))"),
    ("main_module", "import __main__, sys\nprint(sorted(vars(__main__)), __main__ is sys.modules['__main__'], "
     "__main__)"),
    ("annotations", "x: int = 3\nprint(__annotations__)"),
    ("loader", "print(__loader__.name, __loader__.path, __loader__.get_source('__main__')[:20], __loader__.is_package("
     "'__main__'))"),
    ("spec_and_package", "print(__spec__, __package__, __cached__, __doc__)"),
    ("docstring", "'about'\nprint(__doc__)"),
    ("frames", "import sys\ntry: sys._getframe(1)\nexcept ValueError as e: print(e)\nf = sys._getframe(); print("
     "f.f_back, f.f_lineno, f.f_code.co_filename, f.f_code.co_name)"),
    ("current_frames", "import sys\nprint(len(sys._current_frames()))"),
    ("stack", "import inspect, traceback\nprint(len(inspect.stack()), inspect.stack()[0].code_context)\n"
     "traceback.print_stack()"),
    ("source", "import inspect, linecache\ndef f():\n    return 1\nprint(inspect.getsource(f), inspect.getfile(f), "
     "linecache.getline(__file__, 2))"),
    ("source_of_class", "import inspect\nclass C:\n    x = 1\nprint(inspect.getsource(C))"),
    ("arguments", "import sys\nprint(sys.argv, getattr(sys, 'orig_argv', None), sys.path[:1], sys.flags)"),
    ("recursion_limit", "import sys\nprint(sys.getrecursionlimit())\nn = 0\ndef f():\n    global n\n    n += 1\n    "
     "f()\n"
     "try: f()\nexcept RecursionError as e: print(n, e)"),
    ("recursion_of_c", "n = []\nfor i in range(200000): n = [n]\ntry: repr(n)\nexcept RecursionError as e: print(e)\n"
     "import os; os._exit(0)"),
    ("recursion_raised", "import sys\nsys.setrecursionlimit(5000)\ndef f(n): return f(n - 1) + 1 if n else 0\n"
     "print(f(4900))"),
    ("recursion_in_lambda_and_sort", "n = 0\ndef f(x):\n    global n\n    n += 1\n    return sorted([1, 2], key=f)\n"
     "try: f(1)\nexcept RecursionError as e: print(n, e)"),
    ("deep_stack", "import resource, sys\nresource.setrlimit(resource.RLIMIT_STACK, "
     "(resource.getrlimit(resource.RLIMIT_STACK)[0],) * 2)\nsys.setrecursionlimit(9000)\ndef f(n): return f(n - 1) "
     "+ 1 if n else 0\nprint(f(8000))"),
    ("threads", "import threading as t, os\nprint(t.current_thread().name, t.main_thread() is t.current_thread(), "
     "t.active_count(), t.get_native_id() == os.getpid(), t.get_ident() == t.main_thread().ident)\n"
     "x = t.Thread(); print(x.name)"),
    ("command_line", "print(open('/proc/self/cmdline').read().replace('\\0', ' ').split(' ', 1)[1])\nimport os\n"
     "print(sorted(os.listdir('/proc/self/fd')), open('/proc/self/comm').read())"),
    ("signals", "import signal\nfor s in signal.valid_signals():\n    h = signal.getsignal(s)\n    if h not in ("
     "signal.SIG_DFL, None): print(s, h)\nprint(signal.pthread_sigmask(0, []))"),
    ("umask", "import os\nprint(oct(os.umask(0)))"),
    ("environment", "import os\nprint(sorted(os.environ.items()))"),
    ("modules", "import sys\nprint(sorted(sys.modules)); print(list(sys.modules)[:30])"),
    ("finders", "import sys\nprint(sys.meta_path, sys.path, len(sys.path_hooks))"),
    ("filters", "import sys, warnings\nprint(warnings.filters, sys.warnoptions)"),
    ("streams", "import sys\nprint(sys.stderr, sys.__stderr__ is sys.stderr, sys.stdin, sys.stdout)"),
    ("hooks", "import sys\nprint(sys.excepthook, sys.displayhook, sys.gettrace(), sys.getprofile(), "
     "sys.getswitchinterval(), hasattr(sys, 'last_type'))"),
    ("collector", "import gc\nprint(gc.get_threshold(), gc.isenabled(), gc.callbacks, gc.garbage, gc.get_debug(), "
     "gc.get_freeze_count() < 1000, gc.get_objects, gc.get_referrers.__module__, len(gc.get_objects.__doc__))\nx = []\n"
     "print(len(gc.get_referrers(x)), [type(r).__name__ for r in gc.get_referrers(x)], len(gc.get_objects()) > 3000)\n"
     "import inspect; print(inspect.signature(gc.get_objects), gc, gc.__spec__)"),
    ("collector_finds", "import gc\nclass A: pass\na = [A() for _ in range(7)]\nprint(sum(isinstance(o, A) for o in "
     "gc.get_objects()))"),
    ("reference_counts", "import sys\nx = []\nprint(sys.getrefcount(x), sys.getrefcount(sys.modules['__main__']))"),
    ("future", "from __future__ import annotations\ndef f(x: y): pass\nprint(f.__annotations__)\nexec('def g(x: z): "
     "pass')"
     "\nprint(g.__annotations__)"),
    ("timer", "import time\nprint(time.process_time() < 1, time.thread_time() < 1)"),
    ("usage", "import resource, os\nr = resource.getrusage(resource.RUSAGE_SELF)\nprint(r.ru_utime < 1, "
     "os.times().children_user)"),
    ("children", "import os\ntry: os.wait()\nexcept ChildProcessError as e: print(e)"),
    ("session", "import os\nprint(os.getsid(0) == os.getpid(), os.getpgrp() == os.getpid())"),
    ("atexit_count", "import atexit\nprint(atexit._ncallbacks())"),
    ("codecs", "import codecs\nprint(codecs.lookup('utf-8').name, codecs.lookup('latin-1').name)"),
    ("locale", "import locale\nprint(locale.getlocale(), locale.setlocale(locale.LC_ALL, None))"),
    ("file", "print(open(__file__).read())"),
    ("subclass_names", "print(len([c for c in object.__subclasses__() if c.__name__ == 'door']))"),
]

FILE = [
    ("empty", ""), ("blank", "\n\n"), ("comment", "# x"), ("bom", "\ufeffprint('b')"), ("nul", "print(1)\0\nprint(2)"),
    ("crlf", "print(1)\r\nif 1:\r\n    print(2)\r\n"), ("cr", "print(1)\rprint(2)"), ("form_feed", "\fprint(1)"),
    ("no_newline", "if 1:\n    print(1)"), ("latin_1", "# coding: latin-1\nprint('\u00e9')"),
    ("surrogates", "print('\\udc80'.encode('utf-8', 'surrogateescape'))"), ("bad_utf_8", "print('\udcff')"),
    ("shebang", "#!/usr/bin/python3\nprint(1)"), ("tab", "if 1:\n\tprint(1)\n        print(2)"),
    ("very_long_line", "x = '" + "a" * 300000 + "'\nprint(len(x))"), ("many_lines", "x = 1\n" * 20000 + "print(x)"),
    ("error_at_the_end", "print(1)\n" * 50 + "1 +"), ("deep_nesting", "x = " + "[" * 150 + "]" * 150),
    ("warning_of_the_compiler", "x = '\\d'\nprint(x is 'a')"),
    ("form_of_syntax_error", "def f(:\n  pass"), ("print_statement", "print 1"),
]

END = [
    ("exit_odd_code", "class E(SystemExit):\n    code = property(lambda s: 1/0)\nraise E"),
    ("exit_code_int_subclass", "class I(int): pass\nraise SystemExit(I(7))"),
    ("exit_class", "raise SystemExit"), ("exit_no_stderr", "import sys\nsys.stderr = None\nsys.exit('words')"),
    ("exit_bad_str", "class B:\n    def __str__(s): 1/0\nraise SystemExit(B())"),
    ("exit_pretends_int", "class P:\n    __class__ = int\n    def __str__(s): return 'p'\nraise SystemExit(P())"),
    ("exit_in_thread", "import sys, threading\nt = threading.Thread(target=sys.exit, args=(4,)); t.start(); t.join(); "
     "print('on')"),
    ("exit_with_thread", "import sys, threading, time\ndef f():\n    time.sleep(.2); print('thread')\n"
     "threading.Thread(target=f).start(); sys.exit(3)"),
    ("daemon_thread", "import threading, time\nthreading.Thread(target=time.sleep, args=(30,), daemon=True).start(); "
     "print('x')"),
    ("daemon_thread_prints", "import threading, time\ndef f():\n    while True: time.sleep(.001)\n"
     "threading.Thread(target=f, daemon=True).start(); print('x')"),
    ("thread_started_by_thread", "import threading as t, time\ndef g(): print('second')\ndef f():\n    time.sleep(.1)\n"
     "    t.Thread(target=g).start()\nt.Thread(target=f).start(); print('main')"),
    ("fork_at_exit", "import atexit, os\n@atexit.register\ndef f():\n    pid = os.fork()\n    if not pid: os._exit(0)\n"
     "    print(os.waitpid(pid, 0)[1])"),
    ("executor", "from concurrent.futures import ThreadPoolExecutor as T\ne = T(2); f = e.submit(print, 'x'); "
     "f.result()"),
    ("executor_pending", "from concurrent.futures import ThreadPoolExecutor as T\nimport time\ne = T(1)\nfor i in "
     "range("
     "3): e.submit(lambda i=i: (time.sleep(.05), print(i)))"),
    ("interrupt", "import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nwhile True: pass"),
    ("interrupt_subclass", "class K(KeyboardInterrupt): pass\nraise K"),
    ("interrupt_and_atexit", "import atexit\natexit.register(print, 'last')\nraise KeyboardInterrupt('k')"),
    ("interrupt_caught", "try: raise KeyboardInterrupt\nexcept KeyboardInterrupt: print('caught')"),
    ("stdout_broken", "import os, sys\nsys.stdout.reconfigure(write_through=False, line_buffering=False)\nprint('x')\n"
     "os.close(1)"),
    ("stderr_broken", "import os, sys\nsys.stderr.reconfigure(write_through=False, line_buffering=False)\n"
     "print('x', file=sys.stderr)\nos.close(2)"),
    ("stdout_none", "import sys\nsys.stdout = None\nprint('x')"),
    ("stdout_deleted", "import sys\ndel sys.stdout, sys.stderr"),
    ("stdout_odd", "import sys\nclass S:\n    def write(s, t): pass\n    def flush(s): "
     "sys.__stdout__.write('flushed\\n')"
     "\nsys.stdout = S()"),
    ("stdout_flush_fails", "import sys\nclass S:\n    def write(s, t): pass\n    def flush(s): 1/0\nsys.stdout = S()"),
    ("tee", "import sys\nclass T:\n    def __init__(s, *f): s.f = f\n    def write(s, t): [f.write(t) for f in s.f]\n"
     "    def flush(s): [f.flush() for f in s.f]\nsys.stdout = T(sys.stdout, open('log', 'w'))\nprint('x')"),
    ("excepthook_exits", "import sys\nsys.excepthook = lambda *a: sys.exit(9)\n1/0"),
    ("excepthook_none", "import sys\nsys.excepthook = None\n1/0"),
    ("excepthook_deleted", "import sys\ndel sys.excepthook\n1/0"),
    ("unraisablehook", "import sys\nsys.unraisablehook = lambda a: print('hook', a.exc_value, file=sys.__stderr__)\n"
     "class A:\n    def __del__(s): 1/0\na = A()"),
    ("atexit_order", "import atexit, logging\n" + DEL + "a = A(1)\natexit.register(print, 1)\n"
     "@atexit.register\ndef f(): global a; print('f'); a = None"),
    ("atexit_registers_more", "import atexit\natexit.register(lambda: atexit.register(print, 'more'))"),
    ("atexit_raises", "import atexit\natexit.register(print, 'on')\natexit.register(lambda: exec('raise "
     "ValueError(1)'))"),
    ("atexit_exits", "import atexit, os\natexit.register(os._exit, 5)"),
    ("atexit_makes_objects", "import atexit\n" + DEL + "l = []\natexit.register(lambda: l.append(A(3)))"),
    ("del_order", DEL + "z = A('z'); _y = A('_y'); y = A('y')\ndel_last = [A('list')]"),
    ("del_order_without_functions", "import fractions\nclass A(fractions.Fraction): __del__ = print\n"
     "a = A(1, 2); _b = A(1, 3)"),
    ("del_without_dict", "class A:\n    __slots__ = ()\n    def __del__(s): print('del')\na = A()"),
    ("del_with_slots", "class A:\n    __slots__ = ('n',)\n    def __del__(s): print('del')\na = A()"),
    ("del_inherited", DEL + "class B(A): pass\nb = B(2)"),
    ("del_set_later", "class A: pass\na = A()\nA.__del__ = lambda s: print('later')"),
    ("del_on_int", "class A(int):\n    def __del__(s): print('del', int(s))\na = A(3)"),
    ("del_on_exception", "class E(Exception):\n    def __del__(s): print('del')\ne = E()"),
    ("del_in_exception", DEL + "def f():\n    a = A('local'); 1/0\nf()"),
    ("del_in_module", "import sys\n" + DEL + "sys.thing = A(1)\nimport os\nos.thing = A(2)\nimport json\njson.x = "
     "A(3)"),
    ("del_in_own_module", "open('m.py', 'w').write('''" + DEL + "a = A(1)''')\nimport m\nb = m.A(2)"),
    ("del_in_builtins", "import builtins\n" + DEL + "builtins.thing = A(1)"),
    ("del_in_cycle", DEL + "a = A(1); a.me = a\ndel a\nb = A(2); b.me = b"),
    ("del_in_default", DEL + "def f(x=A(1)): pass"),
    ("del_in_closure", DEL + "def f():\n    a = A(1)\n    return lambda: a\ng = f()"),
    ("del_in_thread_local", "import threading\n" + DEL + "l = threading.local(); l.a = A(1)"),
    ("del_imports", "class A:\n    def __del__(s):\n        import json; print(json)\na = A()"),
    ("del_uses_globals", "import os\nname = 'n'\nclass A:\n    def __del__(s): print(name, os is None, len)\na = A()"),
    ("del_raises", "class A:\n    def __del__(s): raise ValueError('in del')\na = A()"),
    ("del_resurrects", "l = []\nclass A:\n    def __del__(s): l.append(s); print(len(l))\na = A()"),
    ("del_prints_to_stderr", "import sys\nclass A:\n    def __del__(s): print('e', file=sys.stderr)\na = A()"),
    ("del_and_exit", "import sys\n" + DEL + "a = A(1)\nsys.exit(2)"),
    ("del_and_os_exit", "import os\n" + DEL + "a = A(1)\nos._exit(2)"),
    ("del_and_frozen", "import gc\n" + DEL + "a = A(1)\ngc.freeze()"),
    ("del_and_disabled", "import gc\ngc.disable()\n" + DEL + "a = A(1); a.a = a; del a"),
    ("del_and_many_objects", DEL + "l = [[i] for i in range(900000)]\na = A(1)"),
    ("del_kept_by_c", "import ctypes\n" + DEL + "a = A(1)\nctypes.pythonapi.Py_IncRef(ctypes.py_object(a))"),
    ("metaclass_answers", "class M(type):\n    def __getattr__(s, n): print('asked', n); raise AttributeError(n)\n"
     "    def __hash__(s): print('hash'); return 1\n    def __eq__(s, o): print('eq'); return True\n"
     "class A(metaclass=M): pass\na = A()"),
    ("attribute_answers", "class A:\n    def __getattribute__(s, n): print('asked', n); return object.__getattribute__("
     "s, n)\na = A()"),
    ("class_pretends", "class A:\n    @property\n    def __class__(s): print('class'); return int\na = A()"),
    ("generator", "def g():\n    try: yield\n    finally: print('closed')\nx = g(); next(x)"),
    ("generator_not_started", "def g():\n    try: yield\n    finally: print('closed')\nx = g()"),
    ("generator_ignores", "def g():\n    while True:\n        try: yield\n        except GeneratorExit: "
     "print('no')\nx = g("
     "); next(x)\nimport os, signal; signal.alarm(5)"),
    ("generator_in_loop", "def g():\n    try:\n        for i in range(9): yield i\n    finally: print('end')\n"
     "for i in g():\n    if i == 3: break"),
    ("coroutine", "async def f(): pass\nc = f()"), ("coroutine_dropped", "async def f(): pass\nf()"),
    ("async_generator", "import asyncio\nasync def g():\n    try: yield 1\n    finally: print('closed')\n"
     "async def main():\n    async for x in g(): break\nasyncio.run(main())"),
    ("task_pending", "import asyncio\nloop = asyncio.new_event_loop()\nasync def f(): await asyncio.sleep(9)\n"
     "t = loop.create_task(f()); loop.run_until_complete(asyncio.sleep(0))"),
    ("context_manager_open", "import contextlib\n@contextlib.contextmanager\ndef c():\n    try: yield\n    finally: "
     "print("
     "'out')\nm = c(); m.__enter__()"),
    ("weak_reference", "import weakref\nclass A: pass\na = A()\nr = weakref.ref(a, lambda r: print('gone'))"),
    ("weak_method", "import weakref\nclass A:\n    def f(s): pass\na = A()\nr = weakref.WeakMethod(a.f, lambda r: "
     "print("
     "'gone'))"),
    ("weak_dictionary", "import weakref\nclass A: pass\na = A()\nd = weakref.WeakValueDictionary(a=a); s = "
     "weakref.WeakSet("
     "[a])\nprint(len(d), len(s))"),
    ("finalizer", "import weakref\nclass A: pass\na = A()\nf = weakref.finalize(a, print, 'gone')"),
    ("finalizer_not_at_exit", "import weakref\nclass A: pass\na = A()\nf = weakref.finalize(a, print, "
     "'gone')\nf.atexit = "
     "False"),
    ("finalizers_order", "import weakref\nclass A: pass\na = A()\nfor i in range(3): weakref.finalize(a, print, i)"),
    ("collector_callback", "import gc\ngc.callbacks.append(lambda p, i: print(p, i['generation']))"),
    ("collector_debug", "import gc\ngc.set_debug(gc.DEBUG_UNCOLLECTABLE)\nclass A: pass\na = A(); a.a = a"),
    ("unflushed_pipe", "import os\nr, w = os.pipe()\nos.dup2(1, w)\nf = open(w, 'w'); f.write('kept')"),
    ("unflushed_dup", "import os\nf = os.fdopen(os.dup(1), 'w'); f.write('kept')\n"),
    ("unflushed_in_list", "import os\nl = [os.fdopen(os.dup(1), 'wb')]; l[0].write(b'kept'); l.append(l)"),
    ("unflushed_by_child", "import os\nf = os.fdopen(os.dup(1), 'w'); f.write('twice ')\nif not os.fork(): raise "
     "SystemExit"
     "\nos.wait()"),
    ("unflushed_gzip", "import gzip, sys\nf = gzip.open('x.gz', 'wt'); f.write('x')"),
    ("closed_files", "f = open('a', 'w'); f.close()\nwith open('a') as g: g.read()\nimport io; b = io.BytesIO(b'x')"),
    ("file_left_open", "open('a', 'w').close()\nf = open('a'); g = open('a', 'rb'); h = open('a', 'rb', 0)"),
    ("file_left_open_and_warned", "import warnings\nwarnings.simplefilter('default')\nopen('a', 'w').close()\n"
     "f = open('a')"),
    ("generator_of_library", "import os, tokenize, io\ng = os.walk('.'); next(g)\n"
     "t = tokenize.generate_tokens(io.StringIO('x').readline); next(t)"),
    ("open_file", "f = open('a', 'w'); f.write('x')"),
    ("resource_warning", "import warnings\nwarnings.simplefilter('always')\nf = open('a', 'w')\nimport socket\n"
     "s = socket.socket()"),
    ("c_stdio", "import ctypes\nctypes.CDLL(None).printf(b'from C')"),
    ("ctypes_callback", "import ctypes\nC = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), "
     "ctypes.POINTER(ctypes.c_int))\nl = (ctypes.c_int * 3)(3, 1, 2)\nctypes.CDLL(None).qsort(l, 3, 4, C(lambda a, b: "
     "a[0] - b[0]))\nprint(list(l))"),
    ("ctypes_thread_callback", "import ctypes, threading\nC = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)\n"
     "def f(p): print('called', threading.current_thread() is threading.main_thread())\ng = C(f)\np = "
     "ctypes.CDLL(None)\n"
     "t = ctypes.c_ulong()\np.pthread_create(ctypes.byref(t), None, g, None); p.pthread_join(t, None)"),
    ("signal_handler_at_exit", "import signal, os, atexit\nsignal.signal(signal.SIGUSR1, lambda *a: print('got'))\n"
     "atexit.register(lambda: os.kill(os.getpid(), signal.SIGUSR1))"),
    ("trace_to_the_end", "import sys\nsys.settrace(lambda f, e, a: print(f.f_code.co_name, e))\ndef f(): pass\nf()"),
    ("profile_to_the_end", "import sys\nsys.setprofile(lambda f, e, a: print(f.f_code.co_name, e))\nlen('')"),
    ("trace_in_thread", "import threading\nthreading.settrace(lambda f, e, a: None)\nt = "
     "threading.Thread(target=print, "
     "args=(1,)); t.start(); t.join()"),
    ("audit_hook", "import sys\nsys.addaudithook(lambda e, a: print(e) if 'Clear' in e or 'gc' in e or e == 'open' "
     "else "
     "None)\nopen('/dev/null')"),
    ("subinterpreter", "try:\n    import _xxsubinterpreters as s\nexcept ImportError:\n    import _interpreters as s\n"
     "i = s.create()\ns.run_string(i, 'print(1, flush=True)')"),
    ("subinterpreter_destroyed", "try:\n    import _xxsubinterpreters as s\nexcept ImportError:\n    import "
     "_interpreters"
     " as s\ni = s.create(); s.destroy(i); print('x')"),
    ("faulthandler", "import faulthandler\nprint(faulthandler.is_enabled())\nfaulthandler.enable()\n"
     "faulthandler.dump_traceback()"),
    ("crash", "import ctypes\nprint('x')\nctypes.string_at(0)"),
    ("tracemalloc", "import tracemalloc\ntracemalloc.start()\nx = [bytes(1000) for _ in range(99)]\n"
     "print(tracemalloc.get_traced_memory()[0] > 90000)"),
    ("switch_interval", "import sys\nsys.setswitchinterval(1e-6)\nimport threading\nl = "
     "[threading.Thread(target=sum, args="
     "(range(9999),)) for _ in range(4)]\n[t.start() for t in l]; [t.join() for t in l]; print('x')"),
    ("modules_cleared", "import sys\nsys.modules.clear()"),
    ("main_deleted", "import sys\n" + DEL + "a = A(1)\ndel sys.modules['__main__']"),
    ("main_replaced", "import sys, types\n" + DEL + "a = A(1)\nsys.modules['__main__'] = types.ModuleType('m')"),
    ("logging_at_exit", "import logging, sys\nlogging.basicConfig(stream=sys.stdout, level=10)\nlogging.info('x')\n"
     "class H(logging.Handler):\n    def emit(s, r): pass\n    def flush(s): print('flush')\n    def close(s): "
     "print('close')"
     "\nlogging.root.addHandler(H())"),
    ("memory_handler", "import logging.handlers\nh = logging.handlers.MemoryHandler(100, "
     "target=logging.StreamHandler())\n"
     "logging.root.addHandler(h)\nlogging.warning('late')"),
    ("reload", "import importlib, json\nprint(importlib.reload(json) is json)"),
    ("executed_again", "import runpy, sys\nif __name__ == '__main__': print(sorted(runpy.run_path(__file__, "
     "run_name='x'))"
     "[:3])"),
    ("code_interact", "import code\ncode.interact(local={}, banner='', exitmsg='')", "1+1\n"),
    ("breakpoint", "x = 1\nbreakpoint()\nprint('on')", "p x\nw\nc\n"),
    ("inspect_variable", "import os\nos.environ['PYTHONINSPECT'] = '1'\nprint('x')", "print(5)\n"),
]

PROCESSES = [
    ("pickled_class", "import pickle\nclass P:\n    def __init__(s): s.x = 1\nprint(pickle.loads(pickle.dumps(P())).x, "
     "pickle.dumps(P)[:0])"),
    ("pool_" + "fork", "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n    "
     "with m.get_context('fork').Pool(2) as p: print(p.map(f, range(5)))"),
    ("pool_spawn", "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n    "
     "with m.get_context('spawn').Pool(2) as p: print(p.map(f, range(5)))"),
    ("pool_forkserver", "import multiprocessing as m\ndef f(x): return x * x\nif __name__ == '__main__':\n    "
     "with m.get_context('forkserver').Pool(2) as p: print(p.map(f, range(5)))"),
    ("process_pool", "from concurrent.futures import ProcessPoolExecutor as P\nif __name__ == '__main__':\n    "
     "with P(2) as p: print(list(p.map(abs, [-1, 2])))"),
    ("fork_without_guard", "import os\npid = os.fork()\nif not pid:\n    print('child', flush=True); os._exit(0)\n"
     "os.waitpid(pid, 0); print('parent')"),
    ("fork_and_return", "import os\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint('both', bool(pid))"),
    ("fork_with_del", "import os\n" + DEL + "a = A(1)\npid = os.fork()\nif pid: os.waitpid(pid, 0)\nprint(bool(pid))"),
    ("subprocess_of_itself", "import subprocess, sys\nif len(sys.argv) > 1: print('inner', sys.argv[1:])\nelse: "
     "print(subprocess.run([sys.executable, __file__, 'x'], capture_output=True, text=True).stdout)"),
    ("exec", "import os, sys\nsys.stdout.flush(); os.execv(sys.executable, [sys.executable, '-c', 'print(7)'])"),
    ("random_differs", "import random, subprocess, sys, uuid\na = random.random(); print(0 <= a < 1, "
     "len(uuid.uuid4().hex), random.Random(5).random())"),
]

LOADING = [("modules_of_" + name.replace(" ", "_"), "import sys\nb = set(sys.modules)\nimport " + name +
            "\nprint(sorted(sys.modules))\nprint([m for m in sys.modules if m not in b][-1:])\n"
            "import warnings\nprint(warnings.filters, sys.meta_path, sys.path)\n"
            "import atexit; print(atexit._ncallbacks())") for name in (
    "json", "re", "random", "threading", "logging", "datetime", "collections.abc", "xml.dom.minidom", "ctypes",
    "decimal",
    "numpy", "numpy.linalg", "numpy.ma as m", "pandas", "pandas.io.json", "matplotlib", "matplotlib.pyplot",
    "matplotlib.dates",
    "dateutil.tz", "pytz", "six.moves", "PIL", "math, json, numpy", "matplotlib.pyplot, "
     "pandas", "asyncio", "tempfile")] + [
    ("not_there", "import numpy_is_not_here"),
    ("below_not_there", "import numpy.nonsense"),
    ("name_not_there", "from numpy import nonsense"),
    ("attribute_before", "import matplotlib\ntry: matplotlib.pyplot\nexcept AttributeError as e: print(e)\n"
     "import matplotlib.pyplot\nprint(matplotlib.pyplot)"),
    ("from_package", "from matplotlib import pyplot, dates\nprint(pyplot, dates)"),
    ("star", "from numpy import *\nprint(array([1]), len(dir()))"),
    ("find_spec", "import importlib.util, sys\ns = importlib.util.find_spec('numpy'); print(s, 'numpy' in "
     "sys.modules)\n"
     "print(importlib.util.find_spec('numpy.linalg').origin, 'numpy' in sys.modules)"),
    ("module_attributes", "import numpy, json.decoder\nfor m in numpy, json, json.decoder: print(m, m.__spec__, "
     "m.__loader__"
     ", m.__file__, m.__package__, getattr(m, '__path__', 0))"),
    ("reload", "import importlib, json\nprint(importlib.reload(json.decoder) is json.decoder)"),
    ("loaded_again", "import sys, json\na = json\ndel sys.modules['json']\nimport json\nprint(json is a, "
     "json.decoder is a.decoder)"),
    ("spec_exec", "import importlib.util as u\ns = u.find_spec('json'); m = u.module_from_spec(s); "
     "s.loader.exec_module(m)"
     "\nprint(m.dumps([1]))"),
    ("walk", "import pkgutil, json\nprint([m.name for m in pkgutil.iter_modules(json.__path__)])"),
    ("own_module_first", "open('numpy.py', 'w').write('x = 5')\nimport numpy\nprint(numpy, numpy.x)"),
    ("own_package_first", "import os\nos.mkdir('numpy'); open('numpy/__init__.py', 'w').write('x = 6')\nimport numpy\n"
     "print(numpy, numpy.x)"),
    ("own_json_first", "open('json.py', 'w').write('x = 5')\nimport json\nprint(json, json.x)"),
    ("own_path_first", "import os, sys\nos.mkdir('lib'); open('lib/numpy.py', 'w').write('x = "
     "7')\nsys.path.insert(0, 'lib')"
     "\nimport numpy\nprint(numpy.x)"),
    ("path_emptied", "import sys\nsys.path[:] = []\ntry: import numpy\nexcept ImportError as e: print(e)\nimport math"
     "\nprint(math)"),
    ("finder_first", "import sys\nclass F:\n    @staticmethod\n    def find_spec(n, p=None, t=None): print('asked', "
     "n)\n"
     "sys.meta_path.insert(0, F)\nimport json\nprint(json.dumps(1))"),
    ("blocked", "import sys\nsys.modules['numpy'] = None\ntry: import numpy\nexcept ImportError as e: print(e)\n"
     "try: import pandas\nexcept ImportError as e: print(e)"),
    ("replaced", "import sys, types\nsys.modules['json'] = m = types.ModuleType('json'); m.x = 1\nimport json\nprint("
     "json.x)"),
    ("import_hooked", "import builtins\nreal = builtins.__import__\ndef f(n, *a, **k): print('import', n); return "
     "real(n, "
     "*a, **k)\nbuiltins.__import__ = f\nimport colorsys\nbuiltins.__import__ = real"),
    ("by_importlib", "import importlib\nprint(importlib.import_module('.linalg', 'numpy'))"),
    ("in_thread", "import threading\nfound = []\ndef f():\n    try: import numpy; found.append(numpy.arange(3))\n    "
     "except ImportError: found.append(0)\n"
     "l = [threading.Thread(target=f) for _ in range(3)]\n[t.start() for t in l]; [t.join() for t in l]; print(found)"),
    ("in_child", "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import sys; print(\"numpy\" in "
     "sys.modules)'], capture_output=True, text=True).stdout)"),
    ("type_identity", "import struct, _struct, datetime, _datetime, collections, _collections\nprint(struct.Struct is "
     "_struct.Struct, datetime.date is _datetime.date, collections.deque is _collections.deque)"),
    ("pickle_array", "import pickle, numpy as np\nprint(pickle.loads(pickle.dumps(np.arange(3))))"),
    ("warning_of_library", "import numpy as np\nprint(np.array([1.0]) / 0)\nnp.bool8 if hasattr(np, 'bool8') else "
     "None"),
    ("warning_of_import", "import warnings\nwarnings.simplefilter('error')\nimport pandas, "
     "matplotlib.pyplot\nprint('ok')"),
    ("numpy_random", "import numpy as np\nnp.random.seed(3); print(np.random.rand(2), "
     "np.random.default_rng(1).random())"),
    ("backend", "import matplotlib\nprint(matplotlib.rcParams._get_backend_or_none() if hasattr(matplotlib.rcParams, "
     "'_get_backend_or_none') else 0)\nimport matplotlib.pyplot as p\nprint(p.get_backend(), "
     "matplotlib.get_backend())\n"
     "p.plot([1, 2]); p.savefig('x.png'); import os; print(os.path.getsize('x.png') > 1000)"),
    ("plot_without_agg", "import matplotlib.pyplot as p\np.plot([1, 2]); p.title('t'); p.show(); "
     "print(p.get_fignums())"),
    ("fonts", "import matplotlib.pyplot, os\nd = matplotlib.get_configdir(); print(os.listdir(d))"),
    ("import_error_traceback", "import json\nopen('m.py', 'w').write('import numpy\\n1/0')\nimport m"),
    ("import_error_of_own", "open('m.py', 'w').write('import nothing_here')\nimport m"),
    ("syntax_error_of_own", "open('m.py', 'w').write('x = = 1')\nimport m"),
    ("traceback_through_library", "import json\njson.loads('{', object_hook=1/1)"),
    ("traceback_through_numpy", "import numpy as np\nnp.zeros((2, 2)) @ np.zeros(3)"),
    ("traceback_through_pandas", "import pandas as pd\npd.DataFrame({'a': [1]})['b']"),
    ("stack_in_import", "open('m.py', 'w').write('import traceback; traceback.print_stack()')\nimport m"),
    ("stack_in_import_of_package", "import os\nos.mkdir('p'); open('p/__init__.py', 'w').write('')\n"
     "open('p/m.py', 'w').write('import inspect; print([f.function for f in inspect.stack()])')\nimport p.m"),
    ("recursion_in_import", "import sys\nopen('m.py', 'w').write('def f(n):\\n  return n if n == 0 else f(n - "
     "1)\\nf(900)')"
     "\nimport m\nprint('ok')"),
    ("circular", "open('a.py', 'w').write('import b; x = 1')\nopen('b.py', 'w').write('import a; print(hasattr(a, "
     "\"x\"))')"
     "\nimport a"),
    ("del_with_numpy", "import numpy as np\n" + DEL + "a = A(1); b = np.arange(3)"),
    ("subclass_of_library", "import pandas as pd\nclass D(pd.DataFrame): pass\nprint(type(D({'a': [1]})).__name__)"),
    ("dispatch", "import functools, numpy as np\n@functools.singledispatch\ndef f(x): return 0\nf.register(np.ndarray, "
     "lambda x: 1)\nprint(f(np.zeros(1)))"),
    ("numbers", "import numbers, numpy as np\nprint(isinstance(np.int64(1), numbers.Integral), "
     "isinstance(np.float32(1), "
     "numbers.Real))"),
    ("json_of_numpy", "import json, numpy as np\njson.dumps(np.int64(1))"),
    ("logging_time", "import logging, time\nprint(abs((logging._startTime if isinstance(logging._startTime, float) "
     "else "
     "logging._startTime / 1e9) - time.time()) < 5)"),
]

PROGRAMS = [("%s.%s" % (group, row[0]), row[1], row[2] if len(row) > 2 else "") for group, rows in (
    ("identity", IDENTITY), ("file", FILE), ("end", END), ("processes", PROCESSES), ("loading",
    LOADING)) for row in rows]
