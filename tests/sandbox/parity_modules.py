#!/usr/bin/env python3
"""What is imported, by whom, and from where: the same as under plain `python3 main.py`, whatever an interpreter had
loaded before it was copied."""
import re

from _parity import same, same_and_good
from _sandbox import check, equal, every_mode_was_tried, nothing_left, run_in
from mcp import cases, main
import warm

SHOW_IN_ORDER = "\nimport sys\nprint(len(sys.modules), *sys.modules, sep='\\n')\n"
SHOW = "\nimport sys\nprint(len(sys.modules), *sorted(sys.modules), sep='\\n')\n"

# The exact set of modules, which a program can see; their order, where nothing was loaded before.
SETS = [
    ("nothing", SHOW_IN_ORDER), ("json", "import json" + SHOW), ("asyncio", "import asyncio" + SHOW),
    ("subprocess", "import subprocess" + SHOW), ("random", "import random" + SHOW),
    ("ctypes", "import ctypes" + SHOW), ("logging", "import logging" + SHOW),
    ("multiprocessing", "import multiprocessing, multiprocessing.pool" + SHOW),
    ("unittest", "import unittest" + SHOW), ("a_failed_import", "try: import no_such\nexcept ImportError: pass" + SHOW),
    ("numpy", "import numpy" + SHOW), ("pandas", "import pandas" + SHOW),
    ("matplotlib", "import matplotlib" + SHOW), ("pyplot", "import matplotlib.pyplot" + SHOW),
    ("numpy_linalg", "import numpy.linalg" + SHOW), ("from_numpy", "from numpy import random" + SHOW),
    ("numpy_testing", "import numpy.testing" + SHOW), ("pandas_io", "import pandas.io.json" + SHOW),
    ("matplotlib_figure", "from matplotlib.figure import Figure" + SHOW),
    ("numpy_and_pandas", "import numpy, pandas" + SHOW),
    ("all", "import numpy, pandas, matplotlib.pyplot" + SHOW),
    ("pyplot_then_pandas", "import matplotlib.pyplot\nimport pandas" + SHOW),
    ("dateutil", "import dateutil.parser" + SHOW), ("pytz", "import pytz" + SHOW),
    ("decimal", "import decimal, fractions" + SHOW), ("pillow", "import PIL.Image" + SHOW),
    ("numpy_in_a_function", "def f():\n    import numpy\n    return numpy\nprint(f().__name__)" + SHOW),
    ("numpy_by_name", "n = __import__('num' + 'py')" + SHOW),
    ("numpy_by_importlib", "import importlib\nn = importlib.import_module('num' + 'py.fft')" + SHOW),
]

# A text about an import is no import, and an import need not look like one.
LOOKS = [(label, text + "\nimport sys\nprint(*[n for n in sorted(sys.modules) if n.split('.')[0] in ('numpy', "
 "'pandas', 'matplotlib', 'dateutil', 'PIL')], len(sys.modules))") for label, text in (
    ("comment", "# import numpy\n#import pandas"), ("docstring", "'''\nimport numpy\n'''"),
    ("string", "x = '''\nimport numpy\nimport pandas as pd\n'''\ny = 'import numpy'"),
    ("raw_string", "x = r'''\\''''\ny = rb'''\nimport numpy\n'''"), ("never", "if False: import numpy"),
    ("never_called", "def f():\n    import numpy, pandas\n    import matplotlib.pyplot as plt"),
    ("too_late", "import sys\nif 1:\n    print(len(sys.modules)); sys.exit(0)\nimport numpy"),
    ("type_checking", "import typing\nif typing.TYPE_CHECKING:\n    import numpy as np"),
    ("exec", "exec('im' + 'port numpy')"), ("eval", "eval('__imp' + 'ort__(\"numpy\")')"),
    ("continued", "import \\\n    numpy"), ("semicolons", "x = 1; import numpy; y = 2"),
    ("in_a_try", "try:\n    import numpy\nexcept ImportError:\n    numpy = None"), ("star", "from numpy import *"),
    ("with_tabs", "if 1:\n\timport numpy"), ("name_that_is_longer", "try: import numpyx\nexcept ImportError: pass"),
    ("attribute", "class A: numpy = 1\nA.numpy\nprint('import numpy')"),
)]

OWN = "import sys\nopen(%r, 'w').write(%r)\n"
SHADOWED = [
    ("file", OWN % ("numpy.py", "x = 'mine'") + "import numpy\nprint(numpy.x, numpy.__file__, numpy.__spec__.origin)"),
    ("package", "import os\nos.mkdir('numpy')\n" + OWN % ("numpy/__init__.py", "x = 'mine'") +
     "import numpy\nprint(numpy.x, numpy.__path__)"),
    ("namespace_package_is_not_taken", "import os\nos.mkdir('numpy')\nimport numpy\nprint(numpy.__file__)"),
    ("submodule_of_one_s_own", OWN % ("random.py", "x = 'mine'") + "import random\nprint(random.x)\ntry: import numpy\n"
     "except Exception as e: print(type(e).__name__, e)"),
    ("what_a_library_needs", OWN % ("secrets.py", "x = 'mine'") + "try: import numpy; print(numpy.ones(2))\n"
     "except Exception as e: print(type(e).__name__, str(e).splitlines()[:1])"),
    ("what_pandas_needs", OWN % ("dateutil.py", "x = 'mine'") + "try: import pandas; print(1)\n"
     "except Exception as e: print(type(e).__name__, str(e).splitlines()[:1])"),
    ("in_another_directory", "import os, sys\nos.mkdir('d')\n" + OWN % ("d/numpy.py", "x = 'mine'") +
     "sys.path.insert(0, 'd')\nimport numpy\nprint(numpy.x, numpy.__file__)"),
    ("behind_in_the_path", "import os, sys\nos.mkdir('d')\n" + OWN % ("d/numpy.py", "x = 'mine'") +
     "sys.path.append('d')\nimport numpy\nprint(numpy.__name__, 'd/' in numpy.__file__)"),
    ("path_is_emptied", "import sys\nsys.path.clear()\ntry: import numpy\nexcept ImportError as e: print(e)"),
    ("path_without_packages", "import sys\nsys.path[:] = [p for p in sys.path if 'packages' not in p]\n"
     "try: import numpy\nexcept ImportError as e: print(e)"),
    ("path_entry_of_a_zip", "import sys, zipfile\nwith zipfile.ZipFile('z.zip', 'w') as z: z.writestr('numpy.py', 'x = "
     "1')\nsys.path.insert(0, 'z.zip')\nimport numpy\nprint(numpy.x, numpy.__file__, "
     "numpy.__loader__.__class__.__name__)"),
    ("finder_that_gives", "import importlib.abc, importlib.util, sys\nclass L(importlib.abc.Loader):\n"
     "    def create_module(s, spec): return None\n    def exec_module(s, m): m.x = 'made'\nclass F:\n"
     "    def find_spec(n, p, t=None): return importlib.util.spec_from_loader(n, L()) if n == 'numpy' else None\n"
     "sys.meta_path.insert(0, F)\nimport numpy\nprint(numpy.x, numpy.__loader__.__class__)"),
    ("finders_removed", "import sys\nsys.meta_path.clear()\ntry: import numpy\nexcept ImportError as e: print(e)"),
    ("hooks_removed", "import sys\nsys.path_hooks.clear(); sys.path_importer_cache.clear()\ntry: import numpy\n"
     "except ImportError as e: print(e)"),
    ("blocked_by_none", "import sys\nsys.modules['numpy'] = None\ntry: import numpy\nexcept ImportError as e: "
     "print(e)\ntry: import pandas\nexcept ImportError as e: print(str(e)[:60])"),
    ("replaced_in_sys_modules", "import sys, types\nsys.modules['numpy'] = m = types.ModuleType('numpy'); m.x = 5\n"
     "import numpy\nprint(numpy.x)"),
    ("import_refused", "import builtins\no = builtins.__import__\ndef f(n, *a, **k):\n    if n == 'numpy': raise "
     "ImportError('no')\n    return o(n, *a, **k)\nbuiltins.__import__ = f\ntry: import numpy\nexcept ImportError as "
     "e: print(e)"),
    ("changed_directory", "import os\nos.chdir('/tmp')\n" + OWN % ("numpy.py", "x = 1") + "import numpy\n"
     "print(hasattr(numpy, 'ones'))"),
]

IMPORTS = [
    ("twice", "import numpy as a\nimport numpy as b\nimport sys\nprint(a is b, sys.modules['numpy'] is a)"),
    ("deleted_and_again", "import sys, json\na = json\ndel sys.modules['json']\nimport json\nprint(a is json)"),
    ("reload", "import importlib, json, colorsys\njson.x = 5; m = importlib.reload(json); print(m is json, json.x)\n"
     "import warnings; warnings.simplefilter('ignore')\nimport numpy\nprint(importlib.reload(numpy.version) is "
     "numpy.version)"),
    ("find_spec", "import importlib.util, sys\ns = importlib.util.find_spec('numpy'); print(s.name, s.origin, "
     "s.submodule_search_locations, s.cached, s.has_location, type(s.loader).__name__, 'numpy' in sys.modules)"),
    ("find_spec_of_a_part", "import importlib.util, sys\ns = importlib.util.find_spec('numpy.linalg'); print(s.name, "
     "s.origin, s.parent, 'numpy' in sys.modules)"),
    ("find_spec_of_all", "import importlib.util as u\nfor n in ('json', 'sys', 'zipimport', 'math', 'pandas', "
     "'matplotlib', 'matplotlib.pyplot', 'no_such', 'dateutil', 'collections.abc'):\n    s = u.find_spec(n); print(n, "
     "s and (s.origin, type(s.loader).__name__, s.loader if isinstance(s.loader, type) else ''))"),
    ("find_loader_of_pkgutil", "import pkgutil, sys, warnings\nwarnings.simplefilter('ignore')\nprint(sorted(m.name "
     "for m in pkgutil.iter_modules() if m.name in ('numpy', 'pandas', 'json', 'main'))); print('numpy' in "
     "sys.modules)"),
    ("walk_packages", "import numpy, pkgutil\nprint(sorted(m.name for m in pkgutil.iter_modules(numpy.__path__))[:8])"),
    ("metadata", "import importlib.metadata as m, sys\nprint(m.version('numpy'), "
     "m.distribution('pandas').metadata['Name'], 'numpy' in sys.modules)"),
    ("resources", "import importlib.resources as r, matplotlib\nprint((r.files('matplotlib') / 'mpl-data').is_dir())"),
    ("attributes", "import numpy as n\nprint(n.__name__, n.__file__, n.__path__, n.__package__, n.__spec__, "
     "n.__cached__, n.__loader__.__class__.__name__, n.__loader__.path, n, n.__version__, n.__doc__[:20])"),
    ("attributes_of_all", "import matplotlib.pyplot, pandas, sys\nfor n in sorted(sys.modules):\n    m = "
     "sys.modules[n]\n    print(n, getattr(m, '__file__', 0), getattr(m, '__package__', 0), getattr(getattr(m, "
     "'__spec__', 0), 'name', 0), getattr(getattr(m, '__spec__', 0), '_initializing', 0))"),
    ("attributes_on_parents", "import matplotlib.pyplot, pandas, sys\nprint([n for n in sorted(sys.modules) if '.' in "
     "n and getattr(sys.modules.get(n.rpartition('.')[0]), n.rpartition('.')[2], 0) is not sys.modules[n]])"),
    ("dir_of_numpy", "import numpy\nprint(sorted(vars(numpy)))"), ("dir_of_pandas", "import "
     "pandas\nprint(sorted(vars(pandas)))"),
    ("dir_of_matplotlib", "import matplotlib\nprint(sorted(vars(matplotlib)))\nimport matplotlib.pyplot\n"
     "print(sorted(vars(matplotlib)))"),
    ("dir_of_os_and_sys", "import numpy, os, sys\nprint(sorted(vars(os)), sorted(vars(sys)))"),
    ("parts_come_later", "import numpy as n, sys\nprint(hasattr(n, 'testing'), 'numpy.testing' in sys.modules, "
     "hasattr(n, 'no_such'))"),
    ("part_that_was_not_imported", "import matplotlib as m, sys\nprint('matplotlib.pyplot' in sys.modules, hasattr(m, "
     "'pyplot'), hasattr(m, 'figure'), hasattr(m, 'cm'))\ntry: m.pyplot\nexcept AttributeError as e: print(e)"),
    ("xml_etree", "import xml\nprint(hasattr(xml, 'etree'))\ntry: xml.etree\nexcept AttributeError as e: print(e)"),
    ("concurrent", "import concurrent, sys\nprint(hasattr(concurrent, 'futures'), 'concurrent.futures' in "
     "sys.modules)"),
    ("os_path_and_collections", "import collections, importlib, sys\nprint(hasattr(collections, 'abc'), "
     "hasattr(importlib, 'util'), hasattr(importlib, 'machinery'), hasattr(importlib, 'abc'), 'collections.abc' in "
     "sys.modules)"),
    ("logging_parts", "import logging, email, urllib, json\nprint([hasattr(*p) for p in ((logging, 'handlers'), "
     "(email, 'message'), (urllib, 'parse'), (urllib, 'request'), (json, 'tool'))])"),
    ("python_m", "import subprocess, sys\nprint(subprocess.run([sys.executable, '-m', 'json.tool', '--help'], "
     "stdout=-1).returncode, subprocess.run([sys.executable, '-c', 'import sys; print(\"numpy\" in sys.modules)'], "
     "stdout=-1).stdout)"),
    ("runpy", "import runpy\nopen('m.py', 'w').write('print(__name__, "
     "__file__)')\nprint(sorted(runpy.run_path('m.py')))\nprint(runpy.run_module('m', "
     "run_name='__main__')['__name__'])"),
    ("cached_bytecode", "import os, sys\nopen('m.py', 'w').write('x = 1')\nimport m\nprint(m.__cached__, os.listdir('"
     "__pycache__') if os.path.isdir('__pycache__') else 0)"),
    ("circular_with_main", "import sys\nopen('m.py', 'w').write('import __main__; x = __main__.y')\ny = 7\nimport m\n"
     "print(m.x)"),
    ("relative_in_main", "try: from . import x\nexcept ImportError as e: print(e)"),
    ("locks", "import threading\ndef f(): import numpy; l.append(numpy.ones(1).sum())\nl = []\nt = [threading.Thread("
     "target=f) for _ in range(8)]; [x.start() for x in t]; [x.join() for x in t]; print(l)"),
    ("in_a_child", "import os\nif os.fork() == 0:\n    import numpy; print(numpy.ones(2).sum(), flush=True); "
     "os._exit(0)\nos.wait(); import sys; print('numpy' in sys.modules)"),
    ("in_a_pool", "import multiprocessing as m\ndef f(n):\n    import numpy\n    return float(numpy.ones(n).sum())\n"
     "if __name__ == '__main__':\n    for k in ('fork', 'spawn', 'forkserver'):\n        with m.get_context(k).Pool(2) "
     "as p: print(k, p.map(f, range(4)))"),
    ("arrays_to_a_pool", "import multiprocessing as m, numpy as np\ndef f(a): return a.sum()\nif __name__ == "
     "'__main__':\n    with m.get_context('spawn').Pool(2) as p: print(p.map(f, [np.arange(n) for n in range(4)]))"),
    ("subinterpreter", "try:\n    import _xxsubinterpreters as s\n    i = s.create(); s.run_string(i, 'import sys; "
     "print(\"numpy\" in sys.modules, flush=True)'); s.destroy(i)\nexcept ImportError: print('none')"),
    ("verbose_child", "import subprocess, sys\np = subprocess.run([sys.executable, '-X', 'importtime', '-c', 'import "
     "json'], stderr=-1); print(b'json.decoder' in p.stderr)"),
    ("time_of_an_import", "import sys, time\nt = time.perf_counter(); import numpy; print(time.perf_counter() - t < "
     "20)"),
    ("warnings_of_an_import", "import warnings\nwith warnings.catch_warnings(record=True) as w:\n"
     "    warnings.simplefilter('always')\n    import numpy, pandas, matplotlib.pyplot\nprint([(str(x.message)[:60], "
     "x.category.__name__) for x in w])"),
    ("filters_before_and_after", "import sys, warnings\nprint(warnings.filters)\nimport "
     "numpy\nprint(warnings.filters)\nimport pandas\nprint(len(warnings.filters))\nimport "
     "matplotlib.pyplot\nprint(len(warnings.filters))"),
    ("handlers_before_and_after", "import atexit, signal\nprint(atexit._ncallbacks(), signal.getsignal(2))\nimport "
     "matplotlib.pyplot\nprint(atexit._ncallbacks(), signal.getsignal(2))"),
    ("logging_before_and_after", "import logging\nprint(sorted(logging.root.manager.loggerDict), "
     "logging.root.handlers)\nimport matplotlib.pyplot, pandas\nprint(sorted(logging.root.manager.loggerDict), "
     "logging.root.handlers)"),
    ("environment_before_and_after", "import os\na = dict(os.environ)\nimport numpy, pandas, matplotlib.pyplot\n"
     "print({k: v for k, v in os.environ.items() if a.get(k) != v})"),
    ("locale_before_and_after", "import decimal, locale\na = locale.setlocale(0), decimal.getcontext().prec\n"
     "import numpy, pandas, matplotlib.pyplot\nprint(a, locale.setlocale(0), decimal.getcontext().prec)"),
    ("own_preloads", "import sys\nprint([n for n in sys.modules if n.startswith(('_warm', 'warm', '_gate', 'gate', "
     "'mcp'))])"),
    ("pickle_of_numpy", "import numpy as np, pickle\nprint(pickle.loads(pickle.dumps(np.arange(3))), pickle.dumps("
     "np.float64(1), 0))\nclass A(np.ndarray): pass\nprint(type(pickle.loads(pickle.dumps(np.ones(1).view(A)))))"),
    ("numpy_random_seeded", "import numpy as np\nnp.random.seed(0); print(np.random.rand(3), np.random.randint(9, "
     "size=3), np.random.get_state()[2], np.random.default_rng(0).random(2), np.random.RandomState(3).rand(2))\nimport "
     "random; random.seed(0); print(random.random(), random.getstate()[1][:2])"),
    ("numpy_settings", "import numpy as np\nprint(np.geterr(), np.get_printoptions(), "
     "np.getbufsize())\nnp.seterr(all='raise')\ntry: np.ones(1) / 0\nexcept FloatingPointError as e: print(e)"),
    ("pandas_options", "import pandas as pd\nprint(pd.get_option('display.max_rows'), "
     "pd.options.mode.chained_assignment, pd.get_option('compute.use_numexpr'), pd.get_option('display.width'), "
     "pd.get_option('display.encoding'))"),
    ("pandas_in_a_terminal_of_none", "import pandas as pd\nprint(pd.DataFrame({'c%d' % i: range(100) for i in "
     "range(30)}))"),
    ("backend", "import matplotlib\nprint(matplotlib.get_backend(), matplotlib.rcParams['backend'], dict.__getitem__("
     "matplotlib.rcParams, 'backend').__class__.__name__)\nimport matplotlib.pyplot as p\nprint(p.get_backend(), "
     "p.isinteractive(), p.get_fignums())"),
    ("backend_before_pyplot", "import matplotlib, sys\nprint(repr(matplotlib.rcParams._get_backend_or_none()) if "
     "hasattr(matplotlib.rcParams, '_get_backend_or_none') else '')\nmatplotlib.use('svg'); import matplotlib.pyplot "
     "as p; print(matplotlib.get_backend(), [n for n in sys.modules if 'backend_' in n])"),
    ("backend_of_the_environment", "import os\nos.environ['MPLBACKEND'] = 'pdf'\nimport matplotlib.pyplot as p\n"
     "print(p.get_backend())"),
    ("backend_that_is_none", "import os\nos.environ['MPLBACKEND'] = 'nonsense'\ntry: import matplotlib.pyplot as p\n"
     "except Exception as e: print(type(e).__name__)"),
    ("file_of_settings", "open('matplotlibrc', 'w').write('lines.linewidth: 7')\nimport matplotlib\nprint(matplotlib."
     "rcParams['lines.linewidth'], matplotlib.matplotlib_fname())"),
    ("settings_of_matplotlib", "import matplotlib as m\nprint(*['%s: %s' % i for i in m.rcParams.items()], sep='\\n')"),
    ("directories_of_matplotlib", "import matplotlib as m, os\nimport "
     "matplotlib.pyplot\nprint(os.path.isdir(m.get_cachedir()), os.path.isdir(m.get_configdir()), "
     "sorted(os.listdir(m.get_cachedir())) == sorted(os.listdir(m.get_cachedir())))"),
    ("directory_of_settings_of_one_s_own", "import os\nos.makedirs('mpl'); open('mpl/matplotlibrc', 'w').write("
     "'lines.linewidth: 9')\nos.environ['MPLCONFIGDIR'] = 'mpl'\nimport matplotlib\nprint(matplotlib.rcParams["
     "'lines.linewidth'])"),
    ("fonts", "import matplotlib.font_manager as f\nprint(sorted({x.name for x in f.fontManager.ttflist})[:9], "
     "len(f.fontManager.ttflist), f.findfont('DejaVu Sans')[-15:])"),
    ("saved_figures", "import hashlib, io\nimport matplotlib.pyplot as p\np.rcParams['svg.hashsalt'] = 'x'\n"
     "p.plot([1, 2, 4], label='l'); p.title('t'); p.legend()\nfor k in ('png', 'svg', 'pdf', 'jpg'):\n    b = "
     "io.BytesIO(); p.savefig(b, format=k, **{'svg': {'metadata': {'Date': None}}, 'pdf': {'metadata': "
     "{'CreationDate': None}}}.get(k, {})); print(k, hashlib.md5(b.getvalue()).hexdigest(), len(b.getvalue()))"),
    ("figures_are_one_s_own", "import matplotlib.pyplot as p\nprint(p.get_fignums(), p.rcParams['figure.figsize']); f "
     "= p.figure(); print(f.number, p.gcf() is f); p.close('all'); print(p.get_fignums())"),
    ("style_is_one_s_own", "import matplotlib.pyplot as p\np.style.use('ggplot'); print(p.rcParams['axes.facecolor'], "
     "p.style.available[:4])"),
    ("threads_after_libraries", "import matplotlib.pyplot, numpy, pandas, os, "
     "threading\nprint(len(os.listdir('/proc/self/task')), threading.enumerate().__len__())"),
    ("descriptors_after_libraries", "import matplotlib.pyplot, numpy, pandas, "
     "os\nprint(len(os.listdir('/proc/self/fd')))"),
    ("numpy_twice_in_a_child", "import os, numpy\nfor _ in range(2):\n    if os.fork() == 0: "
     "print(numpy.dot(numpy.ones((50, 50)), numpy.ones(50)).sum(), flush=True); os._exit(0)\n    os.wait()"),
    ("start_over", "import os, sys\nif 'X' not in os.environ:\n    import numpy; os.environ['X'] = '1'; os.execv("
     "sys.executable, sys.orig_argv if hasattr(sys, 'orig_argv') else ['python3', 'main.py'])\nprint('numpy' in "
     "sys.modules, sys.argv)"),
    ("end_with_libraries", "import atexit, matplotlib.pyplot, numpy, pandas\nclass A:\n    def __del__(s): "
     "print('del', numpy is not None)\na = A(); l = [a]; l.append(l); atexit.register(print, 'exit'); x = "
     "numpy.ones(9); print('end')"),
    ("error_in_a_library", "import numpy\nprint('x')\nnumpy.linalg.inv(numpy.zeros((2, 2)))"),
    ("error_at_an_import", "import numpy\nfrom numpy import no_such_name"),
    ("missing_part", "import numpy.no_such_part"), ("error_in_pandas", "import pandas\npandas.read_csv('no.csv')"),
]

# What a copy shows of what its interpreter had loaded: a program that looks for it can tell. (label, program, what it
# prints when it is started cold, and as a copy of an interpreter that had loaded the libraries)
PRETEND = "\nif 0: import numpy, pandas, matplotlib.pyplot\n"
SHOWS = [
    ("objects_of_the_collector", "import gc\nprint(any(isinstance(o, type(gc)) and o.__name__ == 'numpy' for o in "
     "gc.get_objects()))" + PRETEND, "False\n", "True\n"),
    ("subclasses", "print('numpy.linalg' in {c.__module__ for c in Exception.__subclasses__()})" + PRETEND, "False\n",
     "True\n"),
    ("mapped_libraries", "print('_multiarray_umath' in open('/proc/self/maps').read())" + PRETEND, "False\n", "True\n"),
    ("registered_classes", "import copyreg\nprint(any('numpy' in str(c) for c in copyreg.dispatch_table))" + PRETEND,
     "False\n", "True\n"),
    ("finder_is_asked_once", "import sys\nn = []\nclass F:\n    def find_spec(name, *a): n.append(name)\n"
     "sys.meta_path.insert(0, F)\nimport numpy\nprint(len(n) > 20, n[0], numpy.ones(1))", "True numpy [1.]\n",
     "False numpy [1.]\n"),
    ("import_is_called_once", "import builtins\nn, o = [], builtins.__import__\ndef f(*a, **k): n.append(a[0]); return "
     "o(*a, **k)\nbuiltins.__import__ = f\nimport numpy\nprint(len(n) > 20, n[0], numpy.ones(1))", "True numpy [1.]\n",
     "False numpy [1.]\n"),
]

FAIL = ("error_in_a_library", "error_at_an_import", "missing_part", "error_in_pandas")


# Programs that import libraries take long; started cold, tests of the libraries themselves have them.
LIBRARY = re.compile(r"(?m)^\s*(?:import|from) (?:[\w.]+, )*(?:numpy|pandas|matplotlib)\b")


def judged(judge, code):
    """By a copy of an interpreter that had loaded the library, if there is one that it imports; else in every mode."""
    if LIBRARY.search(code) and warm.known():
        judge(code, within=("warm",), start=warm.PRELOADED)
    else:
        judge(code)


@cases(SETS)
def test_exactly_these_modules(code):
    judged(same_and_good, code)


@cases(LOOKS)
def test_seems_to_import(code):
    same_and_good(code)


@cases(SHADOWED)
def test_shadowed(code):
    judged(same_and_good, code)


@cases([row for row in IMPORTS if row[0] not in FAIL])
def test_import(code):
    judged(same_and_good, code)


@cases([row for row in IMPORTS if row[0] in FAIL])
def test_import_that_fails(code):
    judged(same, code)


@cases(SHOWS)
def test_a_copy_shows_what_its_interpreter_had_loaded(code, cold, copied):
    """Told in the documents; whoever can be without it switches warm runs off."""
    run_in("cold", code, lambda got: equal(got["stdout"], cold, got["stderr"]))
    if warm.known():
        run_in("warm", code, lambda got: check(got["stdout"] in (cold, copied), "odd", got), warm.PRELOADED)


def test_every_mode_was_tried():
    every_mode_was_tried()


def test_nothing_is_left():
    nothing_left()


main()
