#!/usr/bin/env python3
"""The scientific stack under the default limits, with either BLAS: the same as under plain `python3 main.py`."""
import glob
import os
import re

from _parity import rows, same_and_good
from _sandbox import check, equal, every_mode_was_tried, nothing_left, printed, server
from mcp import cases, main
import warm

# They import what another mode would pretend to.
WITHIN = ("cold", "warm")

# Debian's alternatives choose one BLAS for all programs; a program can choose for itself, before it starts again.
BLAS = {"reference": ("blas", "lapack"), "openblas": ("openblas-pthread",)}
CHOOSE = """
import os, sys
if not os.environ.get("LD_LIBRARY_PATH"):
    os.environ["LD_LIBRARY_PATH"] = %r
    os.execv(sys.executable, [sys.executable] + sys.argv)
import numpy as np
loaded = open("/proc/self/maps").read()
print("openblas" in loaded, "/blas/" in loaded)
"""


def choose(name):
    """The beginning of a program that has numpy use this BLAS."""
    found = [glob.glob("/usr/lib/*/" + folder) for folder in BLAS[name]]
    check(all(found), "%s is not installed" % name)
    return CHOOSE % ":".join(folders[0] for folders in found)


NUMPY = [
    ("matmul", "a = np.arange(90000.).reshape(300, 300) %% 7; print((a @ a).sum(), np.dot(a[0], a[1]), "
     "(a.astype('f4') @ a.astype('f4')).trace(), np.einsum('ij,jk->', a[:9, :9], a[:9, :9]))"),
    ("linear_algebra", "a = np.array([[4., 1, 0], [1, 3, 1], [0, 1, 2]]); print(np.linalg.solve(a, [1, 2, "
     "3]).round(9), np.linalg.det(a).round(9), np.linalg.inv(a).round(9), np.linalg.eigvalsh(a).round(9), "
     "np.linalg.svd(a)[1].round(9), np.linalg.lstsq(a, np.ones(3), rcond=None)[0].round(9), "
     "np.linalg.cholesky(a).round(9))"),
    ("large_matmul", "a = np.ones((1200, 1200)); print((a @ a)[5, 7], np.linalg.norm(a))"),
    ("in_two_threads", "import threading\na, out = np.ones((400, 400)), [0, 0]\ndef f(i): out[i] = (a @ a).sum()\n"
     "t = [threading.Thread(target=f, args=(i,)) for i in range(2)]; [x.start() for x in t]; [x.join() for x in t]; "
     "print(out)"),
    ("in_a_child", "import os\na = np.ones((300, 300)); print((a @ a).sum(), flush=True)\n"
     "if os.fork() == 0: print((a @ a).sum(), flush=True); os._exit(0)\nprint(os.wait()[1])"),
    ("in_a_pool", "from concurrent.futures import ThreadPoolExecutor\nwith ThreadPoolExecutor(8) as p: "
     "print(list(p.map(lambda n: float((np.ones((n, n)) @ np.ones((n, n))).sum()), [50, 100, 150] * 4)))"),
]


@cases([("%s_%s" % (label, blas), blas, code) for label, code in NUMPY for blas in BLAS])
def test_numpy_is_the_same_with(blas, code):
    got = same_and_good(choose(blas) + code.replace("%%", "%"), within=WITHIN)["stdout"]
    equal(got.splitlines()[0], "%s %s" % (blas == "openblas", blas == "reference"), "which BLAS")


def test_sixty_four_threads_and_the_whole_stack_fit_with_openblas():
    code = choose("openblas") + \
        "import matplotlib; matplotlib.use('Agg')\nimport matplotlib.pyplot, pandas, threading\n" \
        "b = threading.Barrier(65)\ndef f(): b.wait(); (np.ones((40, 40)) @ np.ones((40, 40))).sum(); b.wait()\n" \
        "t = [threading.Thread(target=f) for _ in range(64)]\n[x.start() for x in t]; b.wait(); b.wait(); " \
        "[x.join() for x in t]; print('all')"
    equal(printed(code).split("\n")[1], "all")
    peak = server().exec(code)["_meta"]["io.github.mcp-exec/run"]["peak_memory_bytes"]
    check(50 << 20 < peak < 200 << 20, "peak of memory", peak)


@cases([("2", 2), ("8", 8)])
def test_openblas_with_more_threads_than_granted(threads):
    """Each reserves memory that it does not touch; reservations are no use."""
    code = choose("openblas").replace("os.execv(", "os.environ['OPENBLAS_NUM_THREADS'] = '%d'; os.execv(" % threads, 1)
    equal(printed(code + "print(int((np.ones((500, 500)) @ np.ones((500, 500))).sum()))").split("\n")[1], "125000000")


LIBRARIES = [
    ("numpy", "import numpy as np\nr = np.random.default_rng(5); print(r.random(3), r.integers(0, 9, 5), "
     "np.random.RandomState(1).normal(size=3))\nprint(np.fft.rfft(np.arange(8.)).round(6), np.linspace(0, 1, 5), "
     "np.sort([3, 1, 2]), np.array([[1, 2]]).T, np.histogram([1, 2, 2], 2), np.nan, np.array(['a', 'bc']), "
     "np.datetime64('2026-01-01') + 5, repr(np.float32(.1)))\nnp.save('a', np.eye(3)); np.savez('b', x=[1]); "
     "np.savetxt('c', [[1.5, 2]]); print(np.load('a.npy'), np.load('b.npz')['x'], np.loadtxt('c'), open('c').read())"),
    ("numpy_errors", "import numpy as np\nprint(np.array([1., 0]) / 0, np.sqrt(-1.), np.array([100], 'i1') * "
     "np.int8(3))\ntry: np.ones((2, 3)) @ np.ones((2, 3))\nexcept ValueError as e: print(e)\n"
     "try: np.linalg.inv(np.zeros((2, 2)))\nexcept np.linalg.LinAlgError as e: print(e)"),
    ("numpy_memmap", "import numpy as np\nm = np.memmap('m', 'f8', 'w+', shape=(100, 100)); m[:] = 3; m.flush(); "
     "print(np.memmap('m', 'f8', 'r', shape=(100, 100)).sum(), np.fromfile('m').mean())"),
    ("pandas_from_stdin", "import pandas as pd, sys\nd = pd.read_csv(sys.stdin, parse_dates=['day']); print(d, "
     "d.dtypes, d.describe())\nprint(d.groupby('k').v.agg(['sum', 'mean']), d.to_json(), "
     "d.set_index('day').v.resample('M').sum(), d.pivot_table('v', 'k').to_dict(), d.sort_values('v', "
     "ascending=False).head(1).to_csv())",
     "day,k,v\n2026-01-05,a,1\n2026-01-20,b,2.5\n2026-02-03,a,\n"),
    ("pandas_files", "import pandas as pd\nd = pd.DataFrame({'a': [1, 2], 'b': ['x', 'é']}); d.to_csv('d.csv'); "
     "d.to_pickle('d.pkl'); d.to_json('d.json', orient='records'); print(pd.read_csv('d.csv'), "
     "pd.read_pickle('d.pkl'), open('d.json').read(), d.to_html())\nimport sqlite3; c = sqlite3.connect('d.db'); "
     "d.to_sql('t', c); print(pd.read_sql('select * from t', c), pd.merge(d, d, on='a'), pd.concat([d, "
     "d]).duplicated().tolist())"),
    ("pandas_time", "import pandas as pd\nprint(pd.date_range('2026-03-28', periods=3, tz='Europe/Berlin'), "
     "pd.Timestamp('2026-01-01') - pd.Timedelta('1h'), pd.to_datetime(['1/2/2026']).day_name(), "
     "pd.Series(range(9)).rolling(3).mean().tolist(), pd.cut([1, 5], 2))"),
    ("matplotlib_files", "import hashlib, io, os\nimport matplotlib; matplotlib.use('Agg')\n"
     "import matplotlib.pyplot as plt\nf, (a, b) = plt.subplots(1, 2); a.plot([1, 3, 2], label='é $x^2$'); a.legend(); "
     "b.imshow([[1, 2], [3, 4]]); b.set_title('t'); o = io.BytesIO()\nf.savefig(o, format='png'); "
     "f.savefig('a.png'); f.savefig('a.svg'); f.savefig('a.pdf'); print(hashlib.md5(o.getvalue()).hexdigest(), "
     "open('a.png', 'rb').read() == o.getvalue(), os.path.getsize('a.pdf'), open('a.svg').read().count('<path'))"),
    ("matplotlib_backend", "import matplotlib, matplotlib.pyplot as plt\nplt.hist([1, 2, 2]); plt.savefig('h.png'); "
     "print(matplotlib.get_backend().lower()); plt.show()"),
    ("yaml", "import yaml\nprint(yaml.safe_load('a: [1, x]\\nb: {c: 2026-01-01}\\n'), yaml.dump({'k': ['é', None, "
     "1.5]}))\ntry: yaml.safe_load('a: [')\nexcept yaml.YAMLError as e: print(e)"),
    ("jinja2", "import jinja2\ne = jinja2.Environment(loader=jinja2.DictLoader({'b': '{% block x %}{% endblock %}!', "
     "'t': '{% extends \"b\" %}{% block x %}{% for i in l if i %}{{ loop.index }}{{ i|upper }}{% endfor %}"
     "{% endblock %}'})); print(e.get_template('t').render(l=['a', '', 'b']))\n"
     "try: jinja2.Template('{% if %}')\nexcept jinja2.TemplateSyntaxError as e: print(e)"),
    ("pillow", "import hashlib, io\nfrom PIL import Image, ImageDraw, ImageFilter\n"
     "i = Image.new('RGB', (64, 48), 'navy'); d = ImageDraw.Draw(i); d.ellipse((5, 5, 40, 40), fill='red'); "
     "d.text((2, 2), 'text'); i = i.filter(ImageFilter.BLUR).resize((32, 24)).rotate(30)\n"
     "for k in ('PNG', 'JPEG', 'GIF', 'BMP', 'WEBP', 'TIFF'):\n    b = io.BytesIO(); i.save(b, k); "
     "print(k, len(b.getvalue()), Image.open(io.BytesIO(b.getvalue())).size)\n"
     "print(hashlib.md5(i.tobytes()).hexdigest())"),
    ("all_together", "import io, sys\nimport jinja2, matplotlib, numpy as np, pandas as pd, yaml\n"
     "from PIL import Image\nmatplotlib.use('Agg'); import matplotlib.pyplot as plt\n"
     "d = pd.DataFrame(np.arange(20000.).reshape(-1, 2), columns=list('ab')); d.plot(); b = io.BytesIO(); "
     "plt.savefig(b); print(Image.open(b).size, yaml.safe_dump(d.sum().to_dict()), jinja2.Template('{{ n "
     "}}').render(n=len(d)))"),
]


@cases(rows(LIBRARIES))
def test_same_and_good(code, stdin):
    """Also by a copy of an interpreter that had loaded the library before."""
    preloaded = any(re.search(r"\bimport %s\b" % name, code) for name in warm.LIBRARIES)
    same_and_good(code, stdin, within=WITHIN, start=warm.PRELOADED if preloaded else None)


def test_every_mode_was_tried():
    every_mode_was_tried()


def test_nothing_is_left():
    nothing_left()


main()
