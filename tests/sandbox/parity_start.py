#!/usr/bin/env python3
"""What a program finds when it starts: the same as under plain `python3 main.py`, or where the sandbox itself makes the
difference, the same however the program was started."""
from _parity import alike, rows, same, same_and_good
from _sandbox import every_mode_was_tried, nothing_left
from mcp import cases, check, main

MAIN = [
    ("names", "print(sorted(globals()), __name__, __file__, __doc__, __package__, __spec__, __cached__)"),
    ("dict_in_order", "print(list(globals()))"),
    ("annotations", "print(__annotations__)\nx: int = 5\ny: 'no such'\nprint(__annotations__)"),
    ("builtins", "import builtins\nprint(__builtins__ is builtins, type(__builtins__), sorted(vars(builtins)))"),
    ("nothing_in_builtins", "import builtins\nprint('_' in vars(builtins), [n for n in vars(builtins) if 'exec' in "
     "n])"),
    ("loader", "print(type(__loader__).__name__, __loader__.name, __loader__.path, __loader__.get_filename(), "
     "__loader__.is_package('__main__'), len(__loader__.get_source('__main__')))"),
    ("module", "import sys\nm = sys.modules['__main__']; print(m, vars(m) is globals(), type(m).__name__, m.__class__, "
     "len(dir(m)), __import__('__main__') is m)"),
    ("argv", "import sys\nprint(sys.argv, getattr(sys, 'orig_argv', 0), sys.path)"),
    ("argv_can_be_changed", "import sys\nsys.argv[:] = ['a', '-b']; import argparse; p = argparse.ArgumentParser(); "
     "p.add_argument('-b', action='store_true'); print(p.parse_args(), sys.argv)"),
    ("flags", "import sys\nprint(sys.flags, sys._xoptions, sys.warnoptions, sys.dont_write_bytecode, "
     "sys.pycache_prefix, sys.platlibdir if hasattr(sys, 'platlibdir') else '')"),
    ("places", "import sys\nprint(sys.executable, sys._base_executable, sys.prefix, sys.exec_prefix, sys.base_prefix, "
     "sys.base_exec_prefix, sys.version, sys.abiflags, sys.api_version, sys.platform, sys.implementation)"),
    ("attributes_of_sys", "import sys\nprint(sorted(vars(sys)))"),
    ("no_left_over_of_an_error", "import sys\nprint([hasattr(sys, n) for n in ('last_type', 'last_value', "
     "'last_traceback', 'last_exc', 'ps1', 'ps2', 'tracebacklimit')], sys.exc_info())"),
    ("hooks", "import sys\nprint(sys.excepthook is sys.__excepthook__, sys.displayhook is sys.__displayhook__, "
     "sys.unraisablehook is sys.__unraisablehook__, sys.breakpointhook is sys.__breakpointhook__, sys.gettrace(), "
     "sys.getprofile(), sys.getswitchinterval(), sys.get_asyncgen_hooks(), sys.get_coroutine_origin_tracking_depth())"),
    ("importers", "import sys\nprint([getattr(m, '__name__', m) for m in sys.meta_path], [getattr(h, '__qualname__', "
     "h) for h in sys.path_hooks], [type(m).__name__ for m in sys.meta_path])"),
    ("finders", "import importlib.machinery as m, inspect\nf = m.PathFinder\nprint(f.__name__, f.__qualname__, "
     "f.__module__, f.__doc__, f.find_spec.__name__, f.find_spec.__qualname__, f.find_spec.__module__, "
     "f.find_spec.__doc__, inspect.signature(f.find_spec), sorted(n for n in vars(f) if n[:2] != '__'), "
     "f.find_spec.__func__.__code__.co_filename)"),
    ("interned_and_sizes", "import sys\nprint(sys.intern('abc') is 'abc', sys.getsizeof({}), sys.getsizeof([]), "
     "sys.getsizeof(0), sys.getsizeof('x'), sys.getallocatedblocks() > 100, sys.int_info, sys.hash_info, "
     "sys.float_info)"),
    ("recursion_limit", "import sys\nprint(sys.getrecursionlimit())"),
    ("site", "import site, sys, sysconfig\nprint(site.getsitepackages(), site.getusersitepackages()[-20:], "
     "site.ENABLE_USER_SITE, sysconfig.get_paths(), sysconfig.get_config_var('EXT_SUFFIX'))"),
    ("sitecustomize", "import sys\nprint('sitecustomize' in sys.modules, 'usercustomize' in sys.modules, "
     "type(quit).__module__, type(copyright), type(help))"),
    ("interactive", "import sys\nprint(hasattr(sys, '__interactivehook__'), bool(getattr(sys, 'ps1', "
     "sys.flags.interactive)))"),
    ("__debug__", "print(__debug__, __import__('sys').flags.optimize)\nassert __debug__"),
    ("identity_of_the_main_thread", "import threading\nt = threading.main_thread(); print(t, t.name, t is "
     "threading.current_thread(), t.ident == threading.get_ident(), t.native_id == threading.get_native_id(), "
     "t.daemon, t.is_alive(), threading.enumerate() == [t], threading.active_count(), threading.stack_size())\n"
     "import os; print(t.native_id == os.getpid())"),
    ("thread_names_count_from_one", "import threading\nt = threading.Thread(target=print); print(t.name.split(' ')[0] "
     "== 'Thread-1'); t.start(); t.join()"),
    ("dummy_thread", "import _thread, threading, time\nl = []\n_thread.start_new_thread(lambda: l.append("
     "threading.current_thread().name), ())\nwhile not l: time.sleep(.01)\nprint(l)"),
    ("garbage_collector", "import gc\nprint(gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.garbage, "
     "gc.callbacks, gc.get_freeze_count())"),
    ("garbage_of_the_start", "import gc\nprint(gc.collect() >= 0, gc.collect(), gc.collect())"),
    ("what_the_collector_knows", "import gc, sys\nl = gc.get_objects(); print(len(l) > 2000, sys.modules in [o for o "
     "in l if o is sys.modules], any(o is globals() for o in l))"),
    ("warnings_filters", "import sys, warnings\nprint(warnings.filters, warnings.defaultaction, "
     "warnings.onceregistry, '__warningregistry__' in globals())"),
    ("warned_in_main_once", "import warnings\nfor _ in 1, 2: warnings.warn('dep', DeprecationWarning); "
     "warnings.warn('user')\nprint(sorted(k for k in globals() if 'warn' in k))"),
    ("signals", "import signal\nprint([(n, str(signal.getsignal(n))[:40]) for n in range(1, 65) if n not in (32, 33) "
     "and signal.getsignal(n) != signal.SIG_DFL], signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.sigpending(), "
     "signal.getitimer(0), signal.getitimer(1), signal.getitimer(2), signal.alarm(0))"),
    ("wakeup_descriptor", "import signal\nprint(signal.set_wakeup_fd(-1))"),
    ("locale", "import codecs, locale, os, sys\nprint(sys.getfilesystemencoding(), sys.getfilesystemencodeerrors(), "
     "sys.getdefaultencoding(), locale.getpreferredencoding(), locale.getlocale(), locale.setlocale(locale.LC_ALL), "
     "locale.localeconv()['decimal_point'], os.fsencode('é'), sys.flags.utf8_mode)"),
    ("codecs", "import codecs\nprint('é'.encode('latin-1'), 'x'.encode('idna'), codecs.lookup('utf8').name, "
     "codecs.lookup_error('surrogateescape'))"),
    ("attributes_of_streams", "import sys\nfor f in (sys.stdin, sys.stdout, sys.stderr):\n    print(f, type(f), "
     "type(f.buffer), type(getattr(f.buffer, 'raw', 0)), f.encoding, f.errors, f.newlines, f.line_buffering, "
     "f.write_through, f.mode, f.name, f.fileno(), f.closed, f.isatty(), f.readable(), f.writable(), f.seekable(), "
     "f._CHUNK_SIZE)\n    print(f.buffer.mode, f.buffer.name, f.buffer.closed, repr(f.buffer)[:30], "
     "getattr(f.buffer, 'raw', f.buffer).closefd)\nprint(sys.stdin is sys.__stdin__, sys.stdout is sys.__stdout__, "
     "sys.stderr is sys.__stderr__)"),
    ("encoding_can_be_set", "import sys\nsys.stdout.reconfigure(line_buffering=True, newline='\\r\\n'); print('a'); "
     "sys.stdout.reconfigure(write_through=True, encoding='utf-16'); print('b')"),
    ("environment", "import os, ctypes\nprint(os.environ['LANG'], os.environb[b'LANG'], os.environ.get("
     "'PYTHONHASHSEED'), [k for k in os.environ if 'WARM' in k or 'GATE' in k])\nc = ctypes.CDLL(None); "
     "c.getenv.restype = ctypes.c_char_p; print(c.getenv(b'LANG'), c.getenv(b'NO'))"),
    ("umask_and_directory", "import os\nprint(oct(os.umask(0o22)), os.listdir('.'), os.getcwd() == "
     "os.path.dirname(__file__), os.path.relpath(__file__))"),
    ("own_file", "import os, stat\ns = os.stat(__file__); print(stat.filemode(s.st_mode), s.st_size, s.st_nlink, "
     "s.st_uid == os.getuid(), open(__file__).read().count('\\n'))\nopen(__file__, 'a').write('#'); "
     "os.rename(__file__, 'x'); print(os.listdir('.'))"),
    ("command_line", "print(open('/proc/self/cmdline').read(), open('/proc/self/comm').read())\nimport sys; "
     "print(open('/proc/self/stat').read().split(')')[0].split('(')[1])"),
    ("executable_of_the_process", "import os, sys\nprint(os.path.realpath(sys.executable) == "
     "os.readlink('/proc/self/exe'))"),
    ("environment_of_the_process", "import os\np = open('/proc/self/environ', 'rb').read().split(b'\\0'); "
     "print(b'LANG=C.UTF-8' in p, sorted(e.split(b'=')[0] for e in p if e) == sorted(os.environb))"),
    ("threads_of_the_process", "import os\nprint(len(os.listdir('/proc/self/task')), [l for l in "
     "open('/proc/self/status') if l[:8] == 'Threads:'])"),
    ("session_and_group", "import os\nprint(os.getpgrp() == os.getsid(0), os.getpid() == os.getpgrp())"),
    ("times_start_at_nothing", "import os, resource, time\nprint(time.process_time() < 1, time.thread_time() < 1, "
     "os.times().children_user, resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime, "
     "resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"),
    ("no_children", "import os\ntry: os.waitpid(-1, os.WNOHANG)\nexcept ChildProcessError as e: print(e)"),
    ("name_of_a_process_of_multiprocessing", "import multiprocessing as m\np = m.current_process(); print(p.name, "
     "p.daemon, m.parent_process(), m.get_start_method(), m.active_children())"),
    ("faulthandler", "import faulthandler\nprint(faulthandler.is_enabled())"),
    ("tracemalloc", "import tracemalloc\nprint(tracemalloc.is_tracing(), tracemalloc.get_traced_memory()); "
     "tracemalloc.start(); x = [bytearray(1000) for _ in range(99)]; s = tracemalloc.take_snapshot(); "
     "print(any('main.py' in str(t.traceback[0]) for t in s.statistics('lineno')))"),
    ("settrace", "import sys\nl = []\ndef t(f, e, a):\n    l.append((f.f_code.co_name, e, f.f_lineno)); return t\n"
     "def f():\n    x = 1\n    return x\nsys.settrace(t); f(); sys.settrace(None); print(l)"),
    ("setprofile", "import sys\nl = []\nsys.setprofile(lambda f, e, a: l.append((f.f_code.co_name, e)))\n"
     "def f(): return len([1])\nf(); sys.setprofile(None); print(l)"),
    ("trace_of_an_import", "import sys\nl = []\nsys.settrace(lambda f, e, a: l.append((f.f_code.co_name, "
     "f.f_code.co_filename)))\nimport colorsys\nsys.settrace(None); print(l[:3], l[-3:], len(l))"),
    ("audit", "import sys\nl = []\nsys.addaudithook(lambda e, a: l.append(e))\nimport colorsys; "
     "open('main.py').close(); print(l[:6])"),
    ("contextvars", "import contextvars\nprint(list(contextvars.copy_context()))"),
    ("decimal_context", "import decimal\nprint(decimal.getcontext())"),
    ("logging", "import logging\nprint(logging.root.handlers, logging.root.level, logging.lastResort, "
     "sorted(logging.root.manager.loggerDict))\nr = logging.makeLogRecord({}); import time; l = logging.LogRecord('n', "
     "10, 'p', 1, 'm', (), None); print(l.relativeCreated < 20000, l.process == __import__('os').getpid(), "
     "l.processName, l.threadName)"),
    ("clocks_of_modules", "import random, tempfile, uuid, email.utils\nprint(tempfile._name_sequence, uuid._node, "
     "len(str(uuid.uuid4())))"),
    ("big_integers", "import sys\nprint(getattr(sys, 'get_int_max_str_digits', lambda: 0)())"),
    ("auxiliary_vector", "import ctypes\nprint(ctypes.CDLL(None).getauxval(23), ctypes.CDLL(None).getauxval(6))"),
    ("modules_of_sys", "import sys\nprint(sys.builtin_module_names, len(getattr(sys, 'stdlib_module_names', ())))"),
    # A copy shows the module that made it, and what its interpreter had loaded.
    ("no_deleted_or_odd_file_is_mapped", "print([l for l in open('/proc/self/maps') if 'deleted' in l or 'memfd' in l "
     "or "
     "(l[-2:] != ']\\n' and '/' in l and not l.split()[-1].startswith(('/usr/', '/lib', '/gate.so')))])"),
    ("stack_and_heap", "print([n for n in ('[stack]', '[heap]', '[vdso]') if n in open('/proc/self/maps').read()])\n"
     "import ctypes; m = [l for l in open('/proc/self/maps') if '[stack]' in l]; print(len(m), m[0].split()[1])"),
    ("working_set_of_descriptors", "import os\nprint(sorted(map(int, os.listdir('/proc/self/fd')))[:3], "
     "[os.get_inheritable(n) for n in range(3)], [os.get_blocking(n) for n in range(3)])\nn = os.open('main.py', 0); "
     "print(n)"),
    ("terminal", "import os\nprint(os.isatty(0), os.isatty(1))\ntry: open('/dev/tty')\nexcept OSError as e: "
     "print('none')"),
    ("first_line_docstring", "'''doc'''\nprint(__doc__)"),
    ("future_import", "from __future__ import annotations\ndef f(x: no_such): pass\nprint(f.__annotations__)"),
    ("future_import_is_not_inherited", "def f(x: int): pass\nprint(f.__annotations__, compile('1', '', "
     "'eval').co_flags)"),
    ("code_object", "import sys\nc = sys._getframe().f_code; print(c.co_name, c.co_filename, c.co_flags, "
     "c.co_firstlineno, c.co_consts[:1], c.co_stacksize >= 0, c.co_names[:2])"),
    ("one_comment", "# nothing"), ("only_pass", "pass"),
    ("cookie", "# -*- coding: latin-1 -*-\nprint('x')"),
    ("hash_bang", "#!/usr/bin/env python3\nprint('x')"),
]

FRAMES = [
    ("no_frame_above", "import sys\ntry: sys._getframe(1)\nexcept ValueError as e: "
     "print(e)\nprint(sys._getframe().f_back)"),
    ("frame_of_main", "import sys\nf = sys._getframe(); print(f, f.f_code.co_name, f.f_lineno, f.f_globals is "
     "globals(), f.f_locals is globals(), f.f_trace)"),
    ("stack", "import inspect\nprint([(f.filename, f.lineno, f.function, f.code_context, f.index) for f in "
     "inspect.stack()])\ndef g(): return inspect.stack()\nprint([(f.function, f.code_context) for f in g()])"),
    ("currentframe", "import inspect\ndef f():\n    x = 1\n    return inspect.currentframe().f_back, "
     "inspect.getargvalues(inspect.currentframe()).locals\nprint(f()[0].f_code.co_name, f()[1])"),
    ("getsource", "import inspect\ndef f(a):\n    'doc'\n    return a\nclass C:\n    x = "
     "1\nprint(inspect.getsource(f), inspect.getsource(C), inspect.getsourcelines(f), inspect.getfile(f), "
     "inspect.getsourcefile(C), inspect.getmodule(f), inspect.getcomments(C), inspect.findsource(C)[1])"),
    ("getsource_of_main", "import inspect, sys\nprint(inspect.getsource(sys.modules['__main__']))"),
    ("linecache", "import linecache\nprint(dict(linecache.cache), repr(linecache.getline('main.py', 1)), "
     "repr(linecache.getline(__file__, 2)), linecache.getline('no', 1) == '')\nlinecache.checkcache(); "
     "print(list(linecache.cache))"),
    ("traceback_stack", "import traceback\ndef f(): traceback.print_stack(); print(traceback.extract_stack())\nf()\n"
     "traceback.print_stack()"),
    ("all_threads", "import sys, threading\nprint([(k == threading.get_ident(), f.f_code.co_name, f.f_back) for k, f "
     "in sys._current_frames().items()])"),
    ("dump_of_faulthandler", "import faulthandler\ndef f(): faulthandler.dump_traceback(all_threads=True)\nf()"),
    ("deepest", "import sys\ndef f(n):\n    global d\n    d = n\n    f(n + 1)\ntry: f(1)\nexcept RecursionError as e: "
     "print(d, e)\ndef g(n): return g(n + 1)\ntry: g(0)\nexcept RecursionError as e: print(e)"),
    ("deepest_while_importing", "open('own.py', 'w').write('d = 0\\ndef f(n):\\n  global d\\n  d = n\\n  f(n + 1)\\n"
     "try: f(1)\\nexcept RecursionError: print(d)')\nimport own"),
    ("deepest_of_c", "class A:\n    def __repr__(s):\n        global d\n        d += 1\n        return repr(s)\nd = 0\n"
     "try: repr(A())\nexcept RecursionError as e: print(d, e)\nimport json\nl = []\nfor _ in range(100000): l = [l]\n"
     "try: json.dumps(l)\nexcept RecursionError as e: print(e)\n"),
    ("deepest_of_a_limit", "import sys\nfor n in (60, 500, 5000):\n    sys.setrecursionlimit(n); d = 0\n    def f():\n"
     "        global d\n        d += 1\n        f()\n    try: f()\n    except RecursionError as e: print(n, d, e)"),
    ("lowest_limit", "import sys\nn = 1\nwhile True:\n    try: sys.setrecursionlimit(n); sys.setrecursionlimit(999); "
     "break\n    except RecursionError: n += 1\nprint(n)"),
    ("deepest_of_compile", "for n in (50, 90, 150, 1000, 5000):\n    try: print(n, eval('(' * n + '1' + ')' * n))\n"
     "    except (MemoryError, RecursionError, SyntaxError) as e: print(n, type(e).__name__, e)"),
    ("deep_comparison", "a = b = 0\nfor _ in range(900): a, b = [a], [b]\ntry: print(a == b)\n"
     "except RecursionError as e: print(e)\nfor _ in range(300): a, b = [a], [b]\ntry: print(a == b)\n"
     "except RecursionError as e: print(e)"),
    ("many_frames", "import sys\nsys.setrecursionlimit(30000)\ndef f(n): return n and f(n - "
     "1)\nprint(f(2500))"),
    ("deep_with_a_larger_stack", "import resource, sys, threading\nthreading.stack_size(64 << 20)\n"
     "sys.setrecursionlimit(10 ** 6)\ndef f(n): return n and 1 + f(n - 1)\nt = threading.Thread(target=lambda: "
     "print(f(20000))); t.start(); t.join()"),
    ("traceback_of_a_traceback", "def f():\n    try: 1/0\n    except ZeroDivisionError:\n        try: [][1]\n"
     "        except IndexError as e: raise KeyError('k') from e\ntry: f()\nexcept KeyError as e:\n    t = "
     "e.__traceback__\n    while t: print(t.tb_frame.f_code.co_name, t.tb_lineno, t.tb_lasti >= 0); t = t.tb_next\n    "
     "print(repr(e.__cause__), repr(e.__context__), repr(e.__cause__.__context__), e.__suppress_context__)"),
    ("generator_frames", "import inspect\ndef g():\n    yield 1\n    yield "
     "inspect.currentframe().f_back.f_code.co_name\nx = g(); next(x); print(next(x), x.gi_frame.f_lineno, "
     "inspect.getgeneratorstate(x))"),
    ("warning_names_the_line", "import warnings\ndef f(): warnings.warn('w', stacklevel=2)\nf()\nwarnings.warn('x', "
     "stacklevel=5)"),
    ("module_of_a_class", "import pickle, pickletools\nclass C: pass\nprint(C.__module__, C, pickle.dumps(C, 0), "
     "pickle.loads(pickle.dumps(C)) is C)\ndef f(): pass\nprint(f.__module__, f.__qualname__, "
     "pickle.loads(pickle.dumps(f)) is f)\nimport typing, collections\nP = collections.namedtuple('P', 'x'); "
     "print(P.__module__, pickle.loads(pickle.dumps(P(1))))\nclass E(Exception): "
     "pass\nprint(repr(pickle.loads(pickle.dumps(E(1)))))"),
    ("dataclass_and_enum_pickled", "import copy, dataclasses, enum, pickle\n@dataclasses.dataclass\nclass D:\n    x: "
     "int\nclass E(enum.Enum): A = 1\nprint(pickle.loads(pickle.dumps(D(1))), pickle.loads(pickle.dumps(E.A)) is E.A, "
     "copy.deepcopy(D(2)))"),
]

TRACEBACKS = [
    ("nested", "def a(): b()\ndef b():\n    c(\n        1,\n    )\ndef c(x): return (lambda: x / 0)()\na()"),
    ("long_expression", "x = {'a': {'b': None}}\nprint(x['a']['b']['c']['d'])"),
    ("chained_three_times", "try:\n    try:\n        try: 1/0\n        finally: {}['k']\n    except KeyError as e: "
     "raise ValueError from e\nexcept ValueError: raise TypeError('t')"),
    ("cause_is_itself", "e = ValueError('a'); e.__cause__ = e\nraise e"),
    ("of_exec", "exec('def f():\\n    1/0\\nf()')"),
    ("of_exec_with_a_name", "exec(compile('\\n\\n1/0', '<made>', 'exec'))"),
    ("of_exec_that_names_main", "exec(compile('\\n\\n1/0', __file__, 'exec'))"),
    ("of_eval", "eval('1 +\\\\\\n {}[0]')"),
    ("of_compile", "compile('x = (', 'f.py', 'exec')"),
    ("of_ast", "import ast\nast.literal_eval('f(')"),
    ("in_a_thread", "import threading\ndef f(): g()\ndef g(): 1/0\nt = threading.Thread(target=f, name='n'); "
     "t.start(); t.join()\nf()"),
    ("in_a_timer", "import threading\nt = threading.Timer(.01, lambda: 1/0); t.name = 'n'; t.start(); t.join()"),
    ("in_a_pool", "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(1) as p: "
     "p.submit(lambda: 1/0).result()"),
    ("in_a_process", "import multiprocessing as m\ndef f(): 1/0\nif __name__ == '__main__':\n    p = "
     "m.get_context('fork').Process(target=f, name='n'); p.start(); p.join(); print(p.exitcode)\n    raise "
     "SystemExit(p.exitcode)"),
    ("of_a_task", "import asyncio\nasync def f(): await g()\nasync def g(): 1/0\nasyncio.run(f())"),
    ("of_a_callback", "import ctypes\nF = ctypes.CFUNCTYPE(ctypes.c_int)\ndef f(): 1/0\nprint(F(f)() in (0, 1)); raise "
     "KeyError"),
    ("of_a_key_function", "sorted([1, 2], key=lambda x: x.y)"),
    ("of_a_comprehension", "[i for i in [1] for j in [0] if i / j]"),
    ("of_a_generator", "def g(): yield 1 / 0\nlist(g())"),
    ("of_a_property", "class A:\n    @property\n    def x(s): return s._y\nA().x"),
    ("of_a_metaclass", "class M(type):\n    def __new__(*a): 1/0\nclass C(metaclass=M): pass"),
    ("of_an_import", "open('bad.py', 'w').write('import worse')\nopen('worse.py', 'w').write('x = 1\\n1/0')\nimport "
     "bad"),
    ("of_an_import_with_a_syntax_error", "open('bad.py', 'w').write('x = (\\n')\nimport bad"),
    ("of_an_import_in_a_package", "import os\nos.mkdir('p'); open('p/__init__.py', 'w').write('from . import q')\n"
     "open('p/q.py', 'w').write('from .no import x')\nimport p"),
    ("missing_name_of_a_module", "from json import no_such_name"),
    ("circular", "open('a.py', 'w').write('import b\\nx = 1')\nopen('b.py', 'w').write('from a import x')\nimport a"),
    ("group", "try: exec('raise ExceptionGroup(\"g\", [ValueError(1), TypeError(2)])')\nexcept NameError: raise "
     "ValueError('older')"),
    ("group_not_caught", "import sys\nif sys.version_info < (3, 11): raise ValueError\nraise ExceptionGroup('g', "
     "[ExceptionGroup('h', [ValueError(1)]), TypeError(2)])"),
    ("deep", "def f(n):\n    if n: f(n - 1)\n    else: raise ValueError\nf(900)"),
    ("mutual", "def f(n): g(n)\ndef g(n): f(n)\nf(0)"),
    ("limit", "import sys\nsys.tracebacklimit = 1\ndef f(): 1/0\nf()"),
    ("no_limit", "import sys\nsys.tracebacklimit = 0\n1/0"),
    ("deleted_source", "import os\nos.remove('main.py')\n1/0"),
    ("changed_source", "open('main.py', 'w').write('changed\\n' * 9)\n1/0"),
    ("another_directory", "import os\nos.chdir('/')\n1/0"),
    ("unprintable", "class E(Exception):\n    def __str__(s): raise KeyError\nraise E"),
    ("long_message", "raise ValueError('x' * 5000)"),
    ("lines_in_a_message", "raise ValueError('a\\nb\\n')"),
    ("with_tabs", "if 1:\n\tx = 1\n\tx.y"), ("crlf", "x = 1\r\nx.y\r\n"), ("no_newline_at_the_end", "x = 1\nx.y"),
    ("assertion_with_a_tuple", "assert (1, 2) == (1, 3), {'k': [1]}"),
    ("key_error_of_a_text", "{}['a\\nb']"), ("os_error", "open('/no/such/file')"), ("os_error_two", "import os\n"
                                                                                  "os.rename('a', 'b')"),
    ("unicode_error", "b'\\xff'.decode()"), ("stop_iteration", "def g():\n    next(iter([]))\n    yield\nlist(g())"),
    ("suggestion", "class A: long_name = 1\nA.long_nam"), ("suggestion_of_a_module", "import math\nmath.sqr(1)"),
    ("forgotten_import", "json.dumps(1)"), ("forgotten_self", "class A:\n    x = 1\n    def f(self): return "
     "x\nA().f()"),
    ("in_del", "class A:\n    def __del__(s): 1/0\nA(); A(); print('on')\n1/0"),
    ("printed_by_hand", "import sys, traceback\ntry: 1/0\nexcept ZeroDivisionError: "
     "traceback.print_exc(file=sys.stdout); print(traceback.format_exception_only(*sys.exc_info()[:2])); "
     "print(sys.exc_info()[2].tb_frame)\nraise"),
    ("logged", "import logging\ntry: 1/0\nexcept ZeroDivisionError: logging.exception('l', stack_info=True)\nraise "
     "SystemExit(2)"),
    ("last_traceback_is_set", "import sys, atexit\natexit.register(lambda: print(sys.last_type, sys.last_value, "
     "sys.last_traceback.tb_lineno))\n1/0"),
    ("excepthook_sees_all", "import sys\ndef h(*a): print(a[0], a[1], a[2].tb_lineno, a[2].tb_next, sys.exc_info())\n"
     "sys.excepthook = h\n1/0"),
    ("excepthook_exits", "import sys\ndef h(*a): sys.exit(7)\nsys.excepthook = h\n1/0"),
    ("excepthook_is_none", "import sys\nsys.excepthook = None\n1/0"),
    ("excepthook_is_gone", "import sys\ndel sys.excepthook\n1/0"),
    ("stderr_is_none", "import sys\nsys.stderr = None\n1/0"), ("stderr_is_gone", "import sys\ndel sys.stderr\n1/0"),
    ("stderr_is_closed", "import sys\nsys.stderr.close()\n1/0"),
    ("stderr_fails", "import sys\nclass F:\n    def write(s, t): raise OSError\nsys.stderr = F()\n1/0"),
    ("stderr_is_a_text", "import io, sys\nsys.stderr = io.StringIO()\n1/0"),
    ("builtins_broken", "import builtins\ndel builtins.open, builtins.print\n1/0"),
    ("sys_modules_cleared", "import sys\nsys.modules.clear()\n1/0"),
    ("main_gone", "import sys\ndel sys.modules['__main__']\n1/0"),
]

# What the sandbox gives a program, and who it is: the ids are the sandbox's own, and limits are those of the run.
INSIDE = [
    ("status", "import re\nprint(*[l for l in open('/proc/self/status') if re.match('Umask|State|Tracer|Uid|Gid|"
     "Groups|Threads|SigP|ShdPnd|SigB|SigI|Cap|NoNew|Seccomp:|Speculation|"
     "CoreDumping|THP|PPid', l)], sep='')"),
    # But for 32 and 33, which the C library handles as soon as there has been a thread.
    ("signals_caught", "print(*[hex(int(l.split()[1], 16) & ~(3 << 31)) for l in open('/proc/self/status') if "
     "l[:6] == 'SigCgt'])"),
    ("limits", "print(*[l for l in open('/proc/self/limits') if l[:8] != 'Max data'])\nimport resource as "
     "r\nprint([(n, r.getrlimit(getattr(r, n))) "
     "for n in sorted(dir(r)) if n.startswith('RLIMIT_') and n != 'RLIMIT_DATA'])"),
    ("cgroup", "print(open('/proc/self/cgroup').read())"),
    ("oom", "print(open('/proc/self/oom_score_adj').read(), open('/proc/self/coredump_filter').read())"),
    ("parent", "import os\nprint(os.getppid(), os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid(), "
     "os.getsid(1))"),
    ("processes", "import os\nprint(len([p for p in os.listdir('/proc') if p.isdigit()]), "
     "os.listdir('/proc/self/task') == [str(os.getpid())])"),
    ("ids", "import os\nprint(os.getuid(), os.geteuid(), os.getgid(), os.getegid(), os.cpu_count(), "
     "len(os.sched_getaffinity(0)), os.nice(0))"),
    ("scheduling", "import os\nprint(open('/proc/self/stat').read().rsplit(')')[1].split()[15:17], "
     "open('/proc/self/autogroup').read().split()[-1] if os.path.exists('/proc/self/autogroup') else '')"),
    ("environment_exactly", "import os\nprint(sorted(os.environ.items()))\nprint(open('/proc/self/environ', "
     "'rb').read() == b''.join(b'%s=%s\\0' % i for i in os.environb.items()), list(os.environ)[:3])"),
    ("files", "import os\nprint([(d, sorted(os.listdir(d))) for d in ('/', '/sandbox', '/tmp', '/var/tmp', '/dev', "
     "'/etc', '/dev/shm')])"),
    ("free_space", "import os\ns = os.statvfs('.'); print(s.f_blocks - s.f_bfree, s.f_files - s.f_ffree, s.f_flag)"),
    ("own_directory", "import os\nfor p in ('.', 'main.py'): s = os.stat(p); print(oct(s.st_mode), s.st_uid, s.st_gid, "
     "s.st_nlink)"),
    ("mounts", "print(*[' '.join(l.split()[4:6]) for l in open('/proc/self/mountinfo')], sep='\\n')"),
    ("descriptors_are_three", "import os\nok = []\nfor fd in range(1024):\n    try: os.fstat(fd); ok.append((fd, "
     "os.readlink('/proc/self/fd/%d' % fd).split(':')[0], os.get_inheritable(fd)))\n    except OSError: "
     "pass\nprint(ok)"),
    ("descriptor_flags", "import fcntl\nprint([(fcntl.fcntl(n, fcntl.F_GETFL), fcntl.fcntl(n, fcntl.F_GETFD), "
     "fcntl.fcntl(n, 1032)) for n in range(3)])"),
    ("interfaces", "import socket\nprint(socket.gethostname(), open('/proc/net/dev').read().count("
     "'\\n'))"),
    ("prctl", "import ctypes\nc = ctypes.CDLL(None)\nprint([(n, c.prctl(n, 0, 0, 0, 0)) for n in (3, 7, 21, 27, 30, "
     "37, 39)])"),
    ("memory_of_the_address_space", "print(*sorted({l.split(maxsplit=5)[-1] for l in open('/proc/self/maps') if "
     "l.rstrip().endswith(']')}))"),
    ("limit_of_memory", "x = []\nwhile True: x.append(bytearray(1 << 20))"),
    ("limit_of_descriptors", "l = []\ntry:\n    while True: l.append(open('main.py'))\nexcept OSError as e: "
     "print(e.errno, len(l))"),
    ("limit_of_processes", "import os, signal\nn = 0\ntry:\n    while True:\n        if os.fork() == 0: "
     "signal.pause()\n        n += 1\nexcept OSError as e: print(e.errno, n)"),
    ("limit_of_disk", "f = open('f', 'wb', 0)\nn = 0\ntry:\n    while True: n += f.write(b'x' * 65536)\nexcept OSError "
     "as e: print(e.errno, n)"),
    ("limit_of_the_stack", "import resource, sys\nprint(resource.getrlimit(resource.RLIMIT_STACK))\n"
     "sys.setrecursionlimit(10 ** 7)\nclass A:\n    def __getattr__(s, n): return getattr(s, n)\ntry: A().x\n"
     "except RecursionError: print('recursion'); import os; os.kill(os.getpid(), 11)"),
    ("stack_that_was_lowered", "import resource, sys\nresource.setrlimit(resource.RLIMIT_STACK, (1 << 20, 1 << 20))\n"
     "sys.setrecursionlimit(10 ** 7)\nclass A:\n    def __getattr__(s, n): return getattr(s, n)\ntry: A().x\n"
     "except RecursionError: print('recursion'); import os; os.kill(os.getpid(), 11)"),
    ("stack_as_high_as_it_goes", "import resource, sys\nresource.setrlimit(resource.RLIMIT_STACK, (resource.getrlimit("
     "resource.RLIMIT_STACK)[1],) * 2)\nimport ctypes\nF = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)\nsys."
     "setrecursionlimit(10 ** 6)\ndef f(n): return n and g(n - 1)\ng = F(f)\nprint(g(1000))"),
    ("refused_calls", "import ctypes, os\nc = ctypes.CDLL(None, use_errno=True)\nprint([(n, c.syscall(n, 0, 0, 0), "
     "ctypes.get_errno()) for n in (165, 166, 272, 308, 319, 321, 425)])"),
    ("ended_by_a_signal", "import os\nprint('x')\nos.kill(os.getpid(), 9)"),
]


@cases(rows(MAIN))
def test_main(code, stdin):
    same(code, stdin)


@cases(rows(FRAMES))
def test_frames(code, stdin):
    same_and_good(code, stdin)


@cases(rows(TRACEBACKS))
def test_traceback(code, stdin):
    result = same(code, stdin)
    check(result["exit_code"] != 0 or result["stderr"], "did not fail", result)


@cases(rows(INSIDE))
def test_inside(code, stdin):
    result = alike(code, stdin)
    check(result["stdout"] if result["exit_code"] == 0 else result["signal"] or result["limit"], "failed", result)


def test_every_mode_was_tried():
    every_mode_was_tried()


def test_nothing_is_left():
    nothing_left()


main()
