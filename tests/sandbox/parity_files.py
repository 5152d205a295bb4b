#!/usr/bin/env python3
"""Files, archives, databases, clocks, and what Python says of itself: the same as under plain `python3 main.py`."""
from _parity import rows, same_and_good
from _sandbox import every_mode_was_tried, nothing_left
from mcp import cases, main

FILES = [
    ("read_and_write", "open('f', 'w').write('aé\\n'); print(open('f').read(), open('f', 'rb').read(), open('f', "
     "encoding='latin-1').read())\nwith open('f', 'a+') as f: f.write('more'); f.seek(0); print(f.readlines())"),
    ("modes", "for m in ('x', 'r', 'r+', 'z', 'rw'):\n    try: open('f', m).close(); print(m)\n    except (OSError, "
     "ValueError) as e: print(m, e)"),
    ("walk", "import os\nos.makedirs('a/b/c'); open('a/b/f', 'w').close(); os.symlink('b', 'a/l')\n"
     "for x in sorted((d, sorted(s), f) for d, s, f in os.walk('a')): print(x)\n"
     "for e in sorted(os.scandir('a'), key=lambda e: e.name): print(e.name, e.is_dir(), e.is_symlink(), "
     "e.is_file(follow_symlinks=False))\nprint(sorted(os.listdir('a/b')))"),
    ("stat", "import os, stat\nopen('f', 'w').write('x' * 5000); s = os.stat('f'); print(s.st_size, oct(s.st_mode), "
     "s.st_nlink, s.st_uid == os.getuid(), s.st_gid == os.getgid(), stat.filemode(s.st_mode))\nos.mkdir('d'); "
     "print(oct(os.stat('d').st_mode), oct(os.stat('main.py').st_mode)[-3:], os.path.samefile('f', './f'))"),
    ("chmod_and_access", "import os\nopen('f', 'w').close()\nfor m in (0, 0o400, 0o200, 0o755, 0o4755, 0o1777):\n"
     "    os.chmod('f', m); print(oct(os.stat('f').st_mode), os.access('f', 4), os.access('f', 2))\nos.chmod('f', 0)\n"
     "try: open('f')\nexcept PermissionError as e: print(e)\nos.mkdir('d', 0o500)\ntry: open('d/x', 'w')\n"
     "except PermissionError as e: print(e)"),
    ("umask", "import os\nprint(oct(os.umask(0o77))); open('f', 'w').close(); print(oct(os.stat('f').st_mode))"),
    ("utime", "import os\nopen('f', 'w').close(); os.utime('f', ns=(1500000000123456789, 1600000000987654321)); s = "
     "os.stat('f'); print(s.st_atime_ns, s.st_mtime_ns, s.st_mtime, os.path.getmtime('f'))"),
    ("links", "import os\nopen('f', 'w').write('x'); os.link('f', 'g'); os.symlink('f', 's'); os.symlink('no', 'b'); "
     "print(os.stat('f').st_nlink, os.readlink('s'), os.path.lexists('b'), os.path.exists('b'), os.path.realpath('s') "
     "== os.path.abspath('f'))\nos.remove('f'); print(open('g').read(), os.path.islink('s'))\nos.symlink('l', 'l')\n"
     "try: open('l')\nexcept OSError as e: print(e)"),
    ("rename_and_replace", "import os\nopen('a', 'w').write('1'); open('b', 'w').write('2'); os.replace('a', 'b'); "
     "print(open('b').read())\nos.mkdir('d'); os.mkdir('e'); open('e/x', 'w').close()\ntry: os.rename('d', 'e')\n"
     "except OSError as e: print(e)\ntry: os.rmdir('e')\nexcept OSError as e: print(e)"),
    ("errors", "import os\nfor f, a in ((open, ('no',)), (os.mkdir, ('main.py',)), (os.listdir, ('main.py',)), "
     "(os.rmdir, ('no',)), (open, ('x' * 300, 'w')), (open, ('main.py/x',)), (open, ('a\\0b',))):\n    try: f(*a)\n"
     "    except (OSError, ValueError) as e: print(type(e).__name__, e)"),
    ("seek_and_truncate", "f = open('f', 'w+b'); f.write(b'0123456789'); f.seek(-3, 2); print(f.read(), f.tell()); "
     "f.truncate(4); f.seek(100); f.write(b'x'); f.flush(); import os; print(os.path.getsize('f'), "
     "os.pread(f.fileno(), 2, 3), os.pwrite(f.fileno(), b'ab', 1), os.lseek(f.fileno(), 0, 1))"),
    ("holes", "import os\nf = os.open('f', os.O_RDWR | os.O_CREAT); os.ftruncate(f, 1 << 20); os.pwrite(f, b'x', "
     "500000); print(os.lseek(f, 0, os.SEEK_DATA) > 0, os.stat(f).st_blocks < 100, os.posix_fallocate(f, 0, 10))"),
    ("copies", "import os, shutil\nos.makedirs('a/b'); open('a/b/f', 'w').write('x' * 99); os.chmod('a/b/f', 0o640); "
     "os.symlink('b', 'a/l')\nshutil.copytree('a', 'c', symlinks=True); shutil.copy2('a/b/f', 'f'); "
     "print(oct(os.stat('f').st_mode), os.readlink('c/l')); shutil.move('c', 'm'); print(sorted(os.listdir('m'))); "
     "shutil.rmtree('m'); print(os.path.exists('m'), shutil.which('sh') is not None)\ntry: shutil.copytree('a', 'a')\n"
     "except FileExistsError as e: print(e)"),
    ("sendfile_and_splice", "import os\nopen('f', 'wb').write(b'x' * 9999); i = os.open('f', 0); o = os.open('g', 66); "
     "print(os.sendfile(o, i, 0, 5000)); print("
     "os.fstat(o).st_size)"),
    ("make_archive", "import os, shutil\nos.mkdir('d'); open('d/f', 'w').write('x' * 999)\nfor k in ('zip', 'tar', "
     "'gztar', 'bztar', 'xztar'): n = shutil.make_archive('a' + k, k, 'd'); shutil.unpack_archive(n, 'u' + k); "
     "print(os.path.basename(n), open('u' + k + '/f').read() == 'x' * 999)"),
    ("zipfile", "import zipfile\nwith zipfile.ZipFile('z.zip', 'w', zipfile.ZIP_DEFLATED) as z: z.writestr('a/ü.txt', "
     "'text'); z.write('main.py')\nz = zipfile.ZipFile('z.zip'); print(z.namelist(), z.read('a/ü.txt'), z.testzip())"),
    ("run_from_a_zip", "import subprocess, sys, zipfile\nwith zipfile.ZipFile('p.zip', 'w') as z: "
     "z.writestr('__main__.py', 'import m; print(m.x, __name__)'); z.writestr('m.py', 'x = 5')\n"
     "print(subprocess.run([sys.executable, 'p.zip'], stdout=-1).stdout); sys.path.insert(0, 'p.zip'); import m; "
     "print(m.__file__)"),
    ("tarfile", "import io, tarfile\nfor k in ('', 'gz', 'bz2', 'xz'):\n    b = io.BytesIO()\n    with "
     "tarfile.open(fileobj=b, mode='w:' + k) as t: t.add('main.py', 'x/main.py')\n    b.seek(0); t = "
     "tarfile.open(fileobj=b); print(t.getnames(), t.extractfile('x/main.py').read() == open('main.py', 'rb').read())"),
    ("temporary", "import os, tempfile\nwith tempfile.TemporaryDirectory() as d, tempfile.NamedTemporaryFile('w+', "
     "suffix='.x', dir=d) as f, tempfile.TemporaryFile() as g, tempfile.SpooledTemporaryFile(9) as s:\n"
     "    f.write('1'); f.flush(); g.write(b'22'); s.write(b'3' * 99); print(os.path.getsize(f.name), g.tell(), "
     "s.tell(), oct(os.stat(f.name).st_mode), oct(os.stat(d).st_mode), f.name.endswith('.x'))\n"
     "print(os.path.exists(d), tempfile.gettempdir(), tempfile.gettempprefix()); n, p = tempfile.mkstemp(); "
     "os.write(n, b'x'); os.remove(p); os.rmdir(tempfile.mkdtemp())"),
    ("mmap", "import mmap\nopen('f', 'wb').write(b'0' * 9000)\nwith open('f', 'r+b') as f, mmap.mmap(f.fileno(), 0) "
     "as m:\n    m[0:3] = b'abc'; m.flush(); print(len(m), m.find(b'c'), m.resize(20000) or len(m)); "
     "m.madvise(mmap.MADV_RANDOM)\nprint(open('f', 'rb').read(4)); a = mmap.mmap(-1, 8192); a.write(b'x'); "
     "print(a[:2])\nf = open('f', 'rb')\ntry: mmap.mmap(f.fileno(), 0)\nexcept PermissionError as e: print(e)"),
    ("locks", "import fcntl, os\nf, g = open('l', 'w'), open('l', 'w'); fcntl.flock(f, fcntl.LOCK_EX)\n"
     "try: fcntl.flock(g, fcntl.LOCK_EX | fcntl.LOCK_NB)\nexcept BlockingIOError as e: print(e)\n"
     "fcntl.lockf(f, fcntl.LOCK_EX)\nif os.fork() == 0:\n    try: fcntl.lockf(open('l', 'w'), fcntl.LOCK_EX | "
     "fcntl.LOCK_NB)\n    except OSError as e: print(e.errno)\n    os._exit(0)\n"
     "os.wait(); print(fcntl.fcntl(f, fcntl.F_GETFD), fcntl.fcntl(f, fcntl.F_GETFL) & 3)"),
    ("descriptors", "import os\na = os.open('main.py', 0); print(os.dup2(a, 50), os.get_inheritable(50), "
     "os.get_blocking(a)); os.close(50)\ntry: os.read(50, 1)\nexcept OSError as e: print(e)\n"
     "r, w = os.pipe2(os.O_NONBLOCK)\ntry: os.read(r, 1)\nexcept BlockingIOError as e: print(e)\n"
     "d = os.open('.', 0); print(os.stat('main.py', dir_fd=d).st_size == os.fstat(a).st_size)"),
    ("fifo", "import os, threading\nos.mkfifo('p'); threading.Thread(target=lambda: open('p', "
     "'w').write('through')).start(); print(open('p').read())"),
    ("pathlib", "from pathlib import Path\np = Path('a') / 'b'; p.mkdir(parents=True); (p / 'x.txt').write_text('é'); "
     "print([str(x) for x in sorted(Path('.').rglob('*'))], (p / 'x.txt').stat().st_size, Path('~/x').expanduser(), "
     "Path.home(), Path.cwd())\n(p / 'x.txt').rename(p / 'y'); (p / 'y').unlink(); p.rmdir(); print(p.exists())"),
    ("glob_and_fnmatch", "import fnmatch, glob, os\n[open(n, 'w').close() for n in ('a.py', 'b.txt', '.c', 'd[1]')]; "
     "print(sorted(glob.glob('*')), glob.glob(glob.escape('d[1]')), fnmatch.filter(os.listdir(), '*.txt'))"),
    ("names_that_are_no_text", "import os\nopen(b'\\xff\\xfe', 'w').close(); open('ñ 😀', 'w').close(); "
     "print(ascii(sorted(os.listdir())), os.path.exists(os.fsdecode(b'\\xff\\xfe')), os.listdir(b'.') != [])"),
    ("attributes", "import os\nopen('f', 'w').close()\nfor f in (lambda: os.chown('f', os.getuid(), os.getgid()), "
     "lambda: os.mknod('n', 0o20644, 0x103)):\n    try: print(f())\n    except OSError as e: print(e)"),
]

DATA = [
    ("sqlite_wal", "import sqlite3\na, b = sqlite3.connect('d.db'), sqlite3.connect('d.db', timeout=.1)\n"
     "print(a.execute('pragma journal_mode=wal').fetchone()); a.execute('create table t(x)'); a.executemany('insert "
     "into t values(?)', ((i,) for i in range(5000))); print(b.execute('select count(*) from t').fetchone()); "
     "a.commit(); print(b.execute('select sum(x) from t').fetchone())\na.execute('begin immediate')\n"
     "try: b.execute('begin immediate')\nexcept sqlite3.OperationalError as e: print(e)\n"
     "a.rollback(); a.execute('vacuum'); print(a.execute('pragma integrity_check').fetchone())"),
    ("sqlite_functions", "import sqlite3\nc = sqlite3.connect(':memory:'); c.create_function('f', 1, lambda x: x * "
     "2); print(c.execute('select f(4), date(\"2026-01-31\", \"+1 month\"), json_extract(\"[1,2]\", "
     "\"$[1]\")').fetchone(), sqlite3.sqlite_version); print(list(c.iterdump()))\ntry: c.execute('nonsense')\n"
     "except sqlite3.Error as e: print(e)"),
    ("dbm_and_shelve", "import dbm.dumb, shelve\nwith dbm.dumb.open('d', 'c') as d: d['k'] = 'v'; print(d[b'k'])\nwith "
     "shelve.open('s') as s: s['x'] = {'a': [1]}\nwith shelve.open('s') as s: print(dict(s))"),
    ("pickle_of_main", "import copy, pickle\nclass P:\n    def __init__(s): s.x = [s]\n"
     "    def __reduce__(s): return P, ()\nprint(type(pickle.loads(pickle.dumps(P()))).__module__, P in "
     "[type(copy.deepcopy(P()))])\nfor n in range(6): print(pickle.loads(pickle.dumps({'a': (1, 2.5, None)}, n)))\n"
     "try: pickle.dumps(lambda: 0)\nexcept Exception as e: print(type(e).__name__)"),
    ("csv", "import csv\nwith open('c', 'w', newline='') as f: csv.writer(f).writerows([['a', 'b c'], [1, "
     "'x,\"y\"\\n']])\nprint(list(csv.reader(open('c', newline=''))), open('c', 'rb').read())"),
    ("xml", "import xml.dom.minidom, xml.etree.ElementTree as E, xml.sax\nt = E.fromstring('<a x=\"1\"><b>é</b></a>'); "
     "print(E.tostring(t), t.find('b').text, xml.dom.minidom.parseString('<a><b/></a>').toprettyxml())\ntry: "
     "E.fromstring('<a>')\nexcept E.ParseError as e: print(e)"),
    ("html_and_email", "import email, email.message, html, html.parser\nprint(html.escape('<&>'), "
     "html.unescape('&eacute;')); m = email.message.EmailMessage(); m['Subject'] = 'é'; m.set_content('x'); "
     "print(m.as_string(), email.message_from_string('A: b\\n\\nc')['a'])"),
    ("configuration", "import configparser, io\nc = configparser.ConfigParser(); c.read_string('[s]\\na = 1\\nb = "
     "%(a)s2'); print(dict(c['s'])); o = io.StringIO(); c.write(o); print(o.getvalue())"),
    ("compression", "import bz2, gzip, lzma, zlib\nd = bytes(range(256)) * 400\nfor m in (bz2, lzma, zlib): c = "
     "m.compress(d); print(len(c), m.decompress(c) == d)\nwith gzip.open('g', 'wt') as f: f.write('x')\nprint("
     "gzip.open('g', 'rt').read())"),
    ("hashes", "import hashlib, hmac\nprint([hashlib.new(n, b'x').hexdigest()[:6] for n in ('md5', 'sha1', 'sha256', "
     "'sha3_512', 'blake2b')], hmac.new(b'k', b'm', 'sha256').hexdigest(), hashlib.pbkdf2_hmac('sha256', b'p', b's', "
     "1000).hex())\nprint(sorted(hashlib.algorithms_available))"),
    ("ssl", "import ssl\nc = ssl.create_default_context(); print(c.verify_mode, c.check_hostname, "
     "ssl.OPENSSL_VERSION, len(c.get_ciphers()) > 5)\nc = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n"
     "try: c.load_cert_chain('no')\nexcept OSError as e: print(e)"),
    ("struct_and_array", "import array, binascii, base64, struct\nprint(struct.pack('>IhQ', 1, -2, 3), struct.calcsize("
     "'@iql'), array.array('d', [1, 2]).tobytes()[:9], base64.b85encode(b'abc'), binascii.crc32(b'x'))"),
    ("ctypes", "import ctypes, ctypes.util\nc = ctypes.CDLL(None, use_errno=True); print(c.strlen(b'four'), "
     "c.open(b'/no/such', 0), ctypes.get_errno()); m = ctypes.CDLL(ctypes.util.find_library('m') or 'libm.so.6'); "
     "m.cos.restype = ctypes.c_double; m.cos.argtypes = [ctypes.c_double]; print(m.cos(0))\n"
     "class S(ctypes.Structure): _fields_ = [('a', ctypes.c_int), ('b', ctypes.c_char * 3)]\n"
     "print(ctypes.sizeof(S), bytes(S(5, b'x'))); F = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int); print(F(lambda x: "
     "x + 1)(4))"),
    ("decimal", "import decimal\nfrom decimal import Decimal as D\nwith decimal.localcontext() as c: c.prec = 50; "
     "print(D(2).sqrt(), D(1) / 7)\nprint(D('1.10') + D('2'), D(10) ** -3, round(D('2.675'), 2))\ntry: D(1) / 0\n"
     "except decimal.DivisionByZero as e: print(repr(e))"),
    ("numbers", "import cmath, fractions, math, statistics\nprint(math.fsum([.1] * 10), math.gamma(5.5), "
     "math.comb(50, 25), cmath.sqrt(-1), fractions.Fraction(.1).limit_denominator(9), statistics.stdev([1, 2, 4]), "
     "math.sin(1e22), float.hex(.1), (2.5).as_integer_ratio())"),
    ("random", "import random\nr = random.Random(7); print(r.random(), r.sample(range(99), 5), r.shuffle([1]) , "
     "r.choices('abc', k=4), r.betavariate(1, 2), r.getrandbits(70)); random.seed('text'); print(random.random())"),
    ("uuid", "import uuid\nprint(uuid.uuid5(uuid.NAMESPACE_DNS, 'x'), uuid.UUID(int=5), uuid.uuid4().version, "
     "uuid.uuid1().version)"),
]

ITSELF = [
    ("time_zones", "import datetime as d, os, time, zoneinfo\nfor z in ('UTC', 'Europe/Berlin', 'Asia/Kolkata', "
     "'America/St_Johns'): print(d.datetime(2026, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo(z)).isoformat())\n"
     "print(time.tzname, time.timezone, time.localtime(0)[:6], len(zoneinfo.available_timezones()) > 300)\n"
     "os.environ['TZ'] = 'America/New_York'; time.tzset(); print(time.tzname, time.localtime(0)[:6])\n"
     "try: zoneinfo.ZoneInfo('No/Where')\nexcept zoneinfo.ZoneInfoNotFoundError as e: print(e)"),
    ("clocks", "import time\nprint(time.get_clock_info('monotonic'), time.get_clock_info('time'), time.strftime('%c', "
     "time.gmtime(0)), time.time() > 1.7e9); a = time.perf_counter(); time.sleep(.05); print(.05 <= "
     "time.perf_counter() - a < 5, time.process_time() < 5, time.thread_time_ns() > 0)"),
    ("calendar", "import calendar, datetime\nprint(calendar.month(2026, 2)); "
     "print(datetime.datetime.fromtimestamp(1e9, datetime.timezone.utc), datetime.date(2026, 1, 1).isocalendar()[1], "
     "datetime.datetime.strptime('3 Mar 2026', '%d %b %Y'))"),
    ("locale", "import locale\nprint(locale.getlocale(), locale.getpreferredencoding(), locale.localeconv()"
     "['decimal_point'], locale.setlocale(locale.LC_ALL, ''), locale.strcoll('a', 'B'))\ntry: locale.setlocale("
     "locale.LC_ALL, 'xx_YY')\nexcept locale.Error as e: print(e)"),
    ("encodings", "import codecs, sys\nprint(sys.getdefaultencoding(), sys.getfilesystemencoding(), "
     "sys.getfilesystemencodeerrors(), sys.flags.utf8_mode, 'ß'.encode('cp1252'), codecs.decode('uryyb', 'rot13'), "
     "b'\\xe9'.decode('shift_jis', 'replace'))\ntry: b'\\xff'.decode()\nexcept UnicodeDecodeError as e: print(e)"),
    ("argv_and_main", "import __main__, os, sys\nprint(sys.argv, __file__, __main__.__file__, __name__, __spec__, "
     "__package__, sys.path[0], os.getcwd(), sys.orig_argv[1:] if hasattr(sys, 'orig_argv') else ['main.py'])"),
    ("source_of_itself", "import inspect, linecache, sys\ndef f():\n    # a comment\n    return 1\nclass C:\n"
     "    x = 1\nprint(inspect.getsource(f), inspect.getsource(C), linecache.getline(__file__, 1), "
     "inspect.getsourcefile(f), inspect.currentframe().f_lineno); print(inspect.getsource(sys.modules['__main__']) == "
     "open('main.py').read())"),
    ("frames_and_code", "import dis, sys, traceback\ndef f(): return [x.name for x in traceback.extract_stack()]\n"
     "print(f(), f.__code__.co_filename, sys._getframe().f_code.co_name)\ndis.dis(lambda x: x + 1)"),
    ("modules", "import importlib.util, os, sys\nos.mkdir('p'); open('p/__init__.py', 'w').write('from . import q'); "
     "open('p/q.py', 'w').write('print(__name__, __package__)'); import p; importlib.reload(p.q); print(p.__path__, "
     "p.q.__cached__.endswith('.pyc'), os.path.isdir('p/__pycache__'), importlib.util.find_spec('json').origin)"),
    ("a_module_that_is_like_a_standard_one", "open('random.py', 'w').write('x = 1')\nimport random\n"
     "print(random.__file__)"),
    ("compile_and_ast", "import ast, compileall, py_compile\nprint(ast.dump(ast.parse('x = 1'))); "
     "print(py_compile.compile('main.py') is not None, compileall.compile_dir('.', quiet=1))"),
    ("names_of_the_user", "import getpass, os, os.path\nprint(getpass.getuser(), os.path.expanduser('~'), "
     "os.environ['HOME'], os.environ['USER'])"),
    ("platform", "import os, platform, struct, sys, sysconfig\nprint(platform.system(), platform.machine(), "
     "platform.python_version(), platform.release(), platform.architecture(), platform.libc_ver(), sys.platform, "
     "sys.maxsize, sys.byteorder, sys.float_info.max, os.name, os.sep, sys.implementation.name, sys.version, "
     "sysconfig.get_platform(), sysconfig.get_paths()['stdlib'])"),
    ("paths", "import site, sys\nprint(sys.executable, sys.prefix, sys.base_prefix, sys.exec_prefix, sys.path[1:], "
     "site.getsitepackages(), sys.flags, sys.warnoptions, sys.dont_write_bytecode, sys.pycache_prefix)"),
    ("limits_of_python", "import gc, sys, threading\nprint(sys.getrecursionlimit(), sys.getswitchinterval(), "
     "gc.get_threshold(), gc.isenabled(), threading.stack_size(), sys.hash_info, sys.thread_info, sys.int_info)"),
    ("logging", "import logging, logging.handlers, sys\nlogging.basicConfig(format='%(levelname)s %(name)s "
     "%(filename)s %(lineno)d %(funcName)s %(message)s', level=0); logging.info('a'); "
     "logging.getLogger('x.y').error('b %d', 5)\ntry: 1/0\nexcept ZeroDivisionError: logging.exception('c')\n"
     "h = logging.handlers.RotatingFileHandler('l', maxBytes=50, backupCount=2); l = logging.getLogger('f'); "
     "l.addHandler(h); l.propagate = False; [l.error('x' * 30) for _ in range(5)]; h.close(); import os; "
     "print(sorted(os.listdir()))"),
    ("warnings", "import warnings\nwarnings.warn('one'); warnings.warn('dep', DeprecationWarning)\nfor _ in range(3): "
     "warnings.warn('same')\nwith warnings.catch_warnings(record=True) as w: warnings.simplefilter('always'); "
     "warnings.warn('r', ResourceWarning); print(w[0].category, w[0].lineno, w[0].filename)"),
    ("unittest", "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): pass\n    @unittest.skip('s')\n"
     "    def test_b(self): pass\n    @unittest.expectedFailure\n    def test_c(self): self.fail()\n"
     "r = unittest.main(exit=False, argv=['x'], testRunner=unittest.TextTestRunner(open('/dev/null', 'w'))).result; "
     "print(r.testsRun, len(r.skipped), len(r.expectedFailures), r.wasSuccessful())"),
    ("profilers", "import cProfile, io, pstats, timeit, trace, tracemalloc\n"
     "p = cProfile.Profile(); p.runcall(sorted, [2, 1]); print(pstats.Stats(p, stream=io.StringIO()).total_calls > 0, "
     "timeit.timeit('1', number=5) < 9); tracemalloc.start(); x = [0] * 9999; "
     "print(tracemalloc.get_traced_memory()[0] > 9999)"),
    ("garbage", "import gc, sys, weakref\nclass A: pass\na = A(); a.me = a; w = weakref.ref(a); del a; "
     "print(gc.collect() > 0, w(), sys.getrefcount(gc) > 1, len(gc.get_objects()) > 100)"),
    ("resource", "import resource, sys\nu = resource.getrusage(0); print(u.ru_utime < 9, u.ru_maxrss > 1000, "
     "resource.getpagesize()); resource.setrlimit(resource.RLIMIT_NOFILE, (20, 20))\nl = []\ntry:\n    while True: "
     "l.append(open('main.py'))\nexcept OSError as e: print(e.errno, len(l))"),
    ("environment", "import os, subprocess\nos.environ['X'] = 'é'; del os.environ['LANG']; print(os.environb[b'X'], "
     "os.getenv('NO', 'd'), os.path.expandvars('$X/$HOME'), subprocess.getoutput('echo $X:$LANG'))"),
    ("tk_is_missing_alike", "try:\n    import tkinter; tkinter.Tk()\nexcept Exception as e: print(type(e).__name__)"),
    ("browser", "import webbrowser\nprint(webbrowser.open('http://localhost/'))"),
    ("curses", "import curses, os\ntry: curses.setupterm('xterm', 1); print(curses.tigetnum('colors'))\nexcept "
     "curses.error as e: print(e)"),
    ("readline", "import readline, rlcompleter\nprint(rlcompleter.Completer().complete('impor', 0))"),
    ("gettext_and_shlex", "import gettext, shlex, string\nprint(gettext.gettext('x'), shlex.split('a \"b c\"'), "
     "shlex.quote('a b'), string.Template('$x').substitute(x=1))"),
    ("interpreter_modes", "import subprocess, sys\nfor o in ('-O', '-I', '-S', '-E', '-B', '-u', '-X dev', '-W "
     "error'): print(o, subprocess.run([sys.executable] + o.split() + ['-c', 'import sys; print(sys.flags)'], "
     "stdout=-1).stdout)"),
]


GROUPS = (("files", FILES), ("data", DATA), ("itself", ITSELF))


@cases(rows([("%s_%s" % (group, row[0]), *row[1:]) for group, programs in GROUPS for row in programs]))
def test_same_and_good(code, stdin):
    same_and_good(code, stdin)


def test_every_mode_was_tried():
    every_mode_was_tried()


def test_nothing_is_left():
    nothing_left()


main()
