#!/usr/bin/env python3
"""Programs that do nothing wrong must not notice that they are in a sandbox."""
import re
import time

from _sandbox import check, equal, expect, nothing_left, printed, run
from mcp import cases, main, within

# (name, program, what it prints)
WORKS = [
    ("multiprocessing_fork_and_spawn_and_forkserver", """
import multiprocessing as mp
def f(x): return x * x
if __name__ == "__main__":
    for m in ("fork", "spawn", "forkserver"):
        with mp.get_context(m).Pool(2) as p: print(m, p.map(f, [1, 2, 3]))
""", "fork [1, 4, 9]\nspawn [1, 4, 9]\nforkserver [1, 4, 9]\n"),
    ("multiprocessing_shared_state", """
import multiprocessing as mp
from multiprocessing import shared_memory
def f(v, q, lock, name):
    with lock: v.value += 1
    m = shared_memory.SharedMemory(name); m.buf[0] += 1; m.close(); q.put(v.value)
v, q, lock, m = mp.Value("i", 0), mp.Queue(), mp.Lock(), shared_memory.SharedMemory(create=True, size=100)
ps = [mp.Process(target=f, args=(v, q, lock, m.name)) for _ in range(2)]
[p.start() for p in ps]; [p.join() for p in ps]; print(v.value, sorted(q.get() for _ in ps)[-1], m.buf[0])
m.close(); m.unlink()
""", "2 2 2\n"),
    ("multiprocessing_manager", """
import multiprocessing as mp
if __name__ == "__main__":
    with mp.Manager() as m:
        d = m.dict(); p = mp.Process(target=d.update, args=({"a": 1},)); p.start(); p.join(); print(dict(d))
""", "{'a': 1}\n"),
    ("process_pool", """
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
if __name__ == "__main__":
    for kind in (ProcessPoolExecutor, ThreadPoolExecutor):
        with kind(2) as p: print(list(p.map(abs, [-1, -2])))
""", "[1, 2]\n[1, 2]\n"),
    ("fifty_threads", """
import threading, time
t = [threading.Thread(target=time.sleep, args=(0.1,)) for _ in range(50)]
[x.start() for x in t]; [x.join() for x in t]; print(len(t))
""", "50\n"),
    ("asyncio", """
import asyncio, threading, time
async def main():
    print(await asyncio.to_thread(lambda: (time.sleep(0.05), 42)[1]))
    p = await asyncio.create_subprocess_exec("echo", "sub", stdout=asyncio.subprocess.PIPE)
    print((await p.communicate())[0])
    server = await asyncio.start_server(lambda r, w: (w.write(b"hello"), w.close()), "127.0.0.1", 0)
    r, w = await asyncio.open_connection(*server.sockets[0].getsockname()); print(await r.read())
    print(await asyncio.gather(*(asyncio.sleep(0.01, i) for i in range(3))))
asyncio.run(main())
loop = asyncio.new_event_loop(); threading.Thread(target=loop.run_forever, daemon=True).start()
print(asyncio.run_coroutine_threadsafe(asyncio.sleep(0.05, result=43), loop).result(timeout=3))
""", "42\nb'sub\\n'\nb'hello'\n[0, 1, 2]\n43\n"),
    ("asyncio_signal_handler", """
import asyncio, os, signal
async def main():
    e = asyncio.Event(); asyncio.get_running_loop().add_signal_handler(signal.SIGUSR1, e.set)
    os.kill(os.getpid(), signal.SIGUSR1); await asyncio.wait_for(e.wait(), 2); print("got it")
asyncio.run(main())
""", "got it\n"),
    ("http_server_on_loopback", """
import http.server, threading, urllib.request
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
threading.Thread(target=s.serve_forever, daemon=True).start()
print(urllib.request.urlopen("http://localhost:%d/" % s.server_port, timeout=3).status)
""", "200\n"),
    ("unix_socket", """
import os, socket
a, b = socket.socketpair(); a.sendall(b"x"); print(b.recv(1))
s = socket.socket(socket.AF_UNIX); s.bind("/tmp/s"); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect("/tmp/s"); d, _ = s.accept()
socket.send_fds(c, [b"f"], [0]); print(len(socket.recv_fds(d, 1, 1)[1]))
""", "b'x'\n1\n"),
    ("temporary_files_and_home", """
import getpass, os, pathlib, tempfile
with tempfile.TemporaryDirectory() as d: pathlib.Path(d, "x").write_text("y"); print(os.path.dirname(d))
with tempfile.NamedTemporaryFile() as f: f.write(b"x")
with tempfile.TemporaryFile() as f: f.write(b"x")
(pathlib.Path.home() / ".cache").mkdir(); print(getpass.getuser(), os.path.expanduser("~"), pathlib.Path.home())
""", "/tmp\nsandbox /sandbox /sandbox\n"),
    ("users_and_groups", """
import grp, os, pwd
print(pwd.getpwuid(os.getuid()).pw_name, pwd.getpwnam("sandbox").pw_dir, grp.getgrgid(os.getgid()).gr_name)
""", "sandbox /sandbox sandbox\n"),
    ("text_and_time_zone", """
import datetime, locale, sys, time, zoneinfo
print(sys.stdout.encoding, locale.getpreferredencoding().lower(), sys.getfilesystemencoding())
print("\u0436\u2192\U0001F389")
print(datetime.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")).utcoffset())
open("\u0436.txt", "w").close()
print(locale.setlocale(locale.LC_ALL, ""))
""", "utf-8 utf-8 utf-8\n\u0436\u2192\U0001F389\n1:00:00\nC.UTF-8\n"),
    ("numpy", """
import numpy as np
print(int((np.ones((200, 200)) @ np.ones((200, 200))).sum()), np.linalg.det(np.eye(3)), np.fft.fft([1, 0]).tolist())
""", "8000000 1.0 [(1+0j), (1+0j)]\n"),
    ("numpy_memmap", """
import numpy as np
m = np.memmap("m", dtype="u1", mode="w+", shape=(4096,)); m[:] = 7; m.flush(); print(int(np.fromfile("m", "u1").sum()))
""", "28672\n"),
    ("pandas", """
import pandas as pd
d = pd.DataFrame({"a": [1, 2, 2], "b": [3.0, 4.0, 5.0]}); print(d.groupby("a").b.mean().to_dict()); d.to_csv("x.csv")
print(pd.read_csv("x.csv").shape, pd.date_range("2026-01-01", periods=2, tz="Europe/Berlin")[1].isoformat())
""", "{1: 3.0, 2: 4.5}\n(3, 3) 2026-01-02T00:00:00+01:00\n"),
    ("matplotlib", """
import matplotlib; matplotlib.use("Agg")
import matplotlib.pyplot as plt, os
plt.plot([1, 2, 3]); plt.title("\u00e4 $x^2$"); plt.savefig("a.png"); plt.savefig("a.svg"); plt.savefig("a.pdf")
print([os.path.getsize("a." + k) > 1000 for k in ("png", "svg", "pdf")], sorted(os.listdir()))
""", "[True, True, True] ['a.pdf', 'a.png', 'a.svg', 'main.py']\n"),
    ("yaml_and_jinja_and_pillow", """
import io, jinja2, yaml
from PIL import Image
print(yaml.safe_load("a: [1, 2]"), jinja2.Template("{% for x in y %}<{{ x }}>{% endfor %}").render(y=[1, 2]))
i = Image.new("RGB", (20, 10), "red"); b = io.BytesIO(); i.save(b, "PNG")
print(Image.open(io.BytesIO(b.getvalue())).size)
""", "{'a': [1, 2]} <1><2>\n(20, 10)\n"),
    ("sqlite", """
import sqlite3
c = sqlite3.connect("d.db"); c.execute("pragma journal_mode=wal"); c.execute("create table t(x)")
c.executemany("insert into t values (?)", [(i,) for i in range(1000)]); c.commit()
print(c.execute("select sum(x) from t").fetchone())
print(sqlite3.connect(":memory:").execute("select 1").fetchone())
""", "(499500,)\n(1,)\n"),
    ("ssl", """
import hashlib, hmac, secrets, ssl
c = ssl.create_default_context(); print(len(c.get_ca_certs()) > 20, c.verify_mode.name)
print(hashlib.sha256(b"").hexdigest()[:8], len(secrets.token_bytes(9)))
""", "True CERT_REQUIRED\ne3b0c442 9\n"),
    ("subprocesses", """
import os, subprocess, sys
print(subprocess.run("echo $HOME | tr a-z A-Z; exit 3", shell=True, capture_output=True, text=True))
print(subprocess.check_output([sys.executable, "-c", "print(5)"]), os.system("exit 4") >> 8)
print(os.popen("cat main.py | grep -c popen").read().strip())
print(subprocess.run(["sort"], input=b"b\\na\\n", capture_output=True).stdout)
pid = os.posix_spawn("/bin/true", ["true"], os.environ); print(os.waitpid(pid, 0)[1])
""", "CompletedProcess(args='echo $HOME | tr a-z A-Z; exit 3', returncode=3, stdout='/SANDBOX\\n', stderr='')\n"
     "b'5\\n' 4\n1\nb'a\\nb\\n'\n0\n"),
    ("ctypes", """
import ctypes
libc = ctypes.CDLL(None); print(libc.abs(-5), ctypes.CDLL("libm.so.6").floor.restype)
CMP = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_int), ctypes.POINTER(ctypes.c_int))
a = (ctypes.c_int * 3)(3, 1, 2); libc.qsort(a, 3, 4, CMP(lambda x, y: x[0] - y[0])); print(list(a))
""", "5 <class 'ctypes.c_int'>\n[1, 2, 3]\n"),
    ("signals_and_alarms", """
import signal, time
signal.signal(signal.SIGALRM, lambda *a: print("alarm")); signal.setitimer(signal.ITIMER_REAL, 0.05); signal.pause()
signal.alarm(0); signal.signal(signal.SIGUSR1, lambda *a: print("usr1")); signal.raise_signal(signal.SIGUSR1)
print(signal.sigtimedwait([signal.SIGUSR2], 0.01), signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2]))
""", "alarm\nusr1\nNone set()\n"),
    ("umask_and_ids", """
import os
print(oct(os.umask(0o22)), os.getuid(), os.geteuid(), os.getgid(), os.getpid() < 4); open("f", "w").close()
print(oct(os.stat("f").st_mode), os.stat("f").st_uid, oct(os.stat("/tmp").st_mode), os.stat("main.py").st_uid)
os.chmod("f", 0o600); os.chown("f", -1, -1); os.utime("f", (1, 1)); print(os.stat("f").st_mtime)
""", "0o22 1000 1000 1000 True\n0o100644 1000 0o41777 1000\n1.0\n"),
    ("files", """
import fcntl, mmap, os, shutil
with open("a", "wb") as f: f.write(b"x" * 10000)
shutil.copy2("a", "b"); shutil.copytree(".", "/tmp/t"); shutil.move("b", "/tmp/b"); shutil.move("/tmp/b", "c")
os.link("c", "d")
f = open("a", "r+b"); fcntl.flock(f, fcntl.LOCK_EX); fcntl.lockf(f, fcntl.LOCK_EX); m = mmap.mmap(f.fileno(), 0)
m[0] = 65; m.flush()
os.truncate("c", 5); os.replace("c", "e"); os.symlink("e", "l")
print(os.readlink("l"), os.path.getsize("l"), open("a").read(1))
shutil.make_archive("/tmp/z", "zip", "."); shutil.rmtree("/tmp/t")
print(sorted(os.listdir("/tmp")), os.statvfs(".").f_bsize)
os.posix_fallocate(f.fileno(), 0, 20000); os.fsync(f.fileno())
print(os.path.getsize("a"), shutil.disk_usage("/tmp").total >> 20)
""", "e 5 A\n['z.zip'] 4096\n20000 64\n"),
    ("archives_and_formats", """
import bz2, csv, gzip, io, json, lzma, pickle, tarfile, xml.etree.ElementTree as E, zipfile, zlib
print([len(m.decompress(m.compress(b"x" * 99))) for m in (bz2, gzip, lzma, zlib)], E.fromstring("<a><b/></a>")[0].tag)
with tarfile.open("t.tar.gz", "w:gz") as t: t.add("main.py")
print(tarfile.open("t.tar.gz").getnames(), pickle.loads(pickle.dumps({1: [2]})))
print(list(csv.reader(io.StringIO("a,b")))[0])
""", "[99, 99, 99, 99] b\n['main.py'] {1: [2]}\n['a', 'b']\n"),
    ("bytecode_caches_are_used", """
import importlib.util, json, os, sys
print(os.path.exists(importlib.util.cache_from_source(json.__file__)), sys.dont_write_bytecode)
open("m.py", "w").write("x = 1"); import m; print(os.listdir("__pycache__") != [])
""", "True False\nTrue\n"),
    ("selectors_and_timers", """
import os, select, selectors, signal, time
e = select.epoll(); r, w = os.pipe(); e.register(r, select.EPOLLIN); os.write(w, b"x"); print(len(e.poll(1)))
p = select.poll(); p.register(r, select.POLLIN); print(len(p.poll(100)), len(select.select([r], [], [], 1)[0]))
pid = os.fork()
if pid == 0: os._exit(5)
fd = os.pidfd_open(pid); print(len(select.select([fd], [], [], 2)[0]), os.waitid(os.P_PIDFD, fd, os.WEXITED).si_status)
""", "1\n1 1\n1 5\n"),
    ("programs_of_the_system", """
import subprocess
for c in ("cp -a main.py a", "mv a b", "ls -la", "stat b", "du -s .", "find . -name b", "tar cf t.tar b",
          "tar xf t.tar", "gzip -k b", "sort b", "touch -d yesterday b", "chmod 600 b", "ln -s b l",
          "install -m 644 b c", "sed -i s/a/b/ b", "split b", "truncate -s 5 b", "mkfifo p", "test -w b",
          "timeout 5 true", "nice true", "flock b true", "setsid true", "mktemp", "realpath b",
          "dd if=/dev/zero of=z bs=1k count=9", "rm -r b l", "sh -c 'sleep 0.1& wait'", "bash -c :"):
    r = subprocess.run(c, shell=True, capture_output=True, text=True)
    if r.returncode not in (0, 127): print(c, r.returncode, r.stderr)
""", ""),
    ("pseudo_random_and_uuid", """
import random, uuid
random.seed(1); print(random.randint(0, 99), len(str(uuid.uuid4())), uuid.getnode() > 0)
""", "17 36 True\n"),
    ("the_interpreter_starts_itself", """
import runpy, subprocess, sys
open("p.py", "w").write("print(__name__)"); runpy.run_path("p.py", run_name="x")
print(subprocess.run([sys.executable, "-m", "json.tool"], input=b"[1]", capture_output=True).stdout.split())
print(subprocess.run([sys.executable, "-m", "unittest", "-q"], capture_output=True).returncode in (0, 5))
""", "x\n[b'[', b'1', b']']\nTrue\n"),
    ("resource_and_faulthandler", """
import faulthandler, gc, resource, sys, tracemalloc
faulthandler.enable(); tracemalloc.start(); gc.collect()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > 1000)
resource.setrlimit(resource.RLIMIT_NOFILE, (50, 50)); print(resource.getrlimit(resource.RLIMIT_NOFILE))
""", "True\n(50, 50)\n"),
]


@cases(WORKS)
def test_works(code, want):
    """And is refused no system call, but for those that are refused quietly: a program that fails would be told."""
    result = run(code + "\nif __name__ == '__main__': raise SystemExit(7)\n", timeout_s=20, wait=30)
    expect(result, stdout=want, stderr="", exit_code=7, warnings=[])


def test_pip_says_no_at_once():
    start = time.monotonic()
    result = run("import subprocess, sys\nr = subprocess.run([sys.executable, '-m', 'pip', 'install', 'six-nope'], "
                 "capture_output=True, text=True)\nprint(r.returncode != 0)\nprint(r.stderr[-300:])")
    within(time.monotonic() - start, 0, 6)
    expect(result, exit_code=0, stdout=re.compile(r"^True\n"))


def test_matplotlib_is_quick_the_second_time():
    code = "import matplotlib; matplotlib.use('Agg'); import matplotlib.pyplot as p; p.plot([1]); p.savefig('a.png')"
    run(code)
    start = time.monotonic()
    equal(printed(code), "")
    within(time.monotonic() - start, 0, 3)


DIFFERS = "import random, os, uuid, tempfile, secrets, numpy\n" \
          "for v in (random.random(), uuid.uuid4(), next(tempfile._get_candidate_names()), " \
          "numpy.random.rand(), os.urandom(8), secrets.token_hex(4)): print(v)"


def test_randomness_is_fresh_in_every_run():
    """For the seed of hashes and for addresses see randomness.py."""
    first, second, third = (printed(DIFFERS).splitlines() for _ in range(3))
    for values in zip(first, second, third):
        check(len(set(values)) == 3, "repeats", values)


def test_what_a_run_breaks_is_whole_in_the_next():
    run("import builtins, os, sys, signal\nbuiltins.print = None\nsys.path.clear()\nos.umask(0o777)\nsignal.alarm(1)\n"
        "os.environ.clear()\nos.chdir('/')\nos.nice(5)\nimport resource; resource.setrlimit(resource.RLIMIT_NOFILE, "
        "(5, 5))")
    equal(printed("import os, sys, resource\nprint(oct(os.umask(0)), os.getcwd(), len(os.environ) > 5, os.nice(0), "
                  "resource.getrlimit(resource.RLIMIT_NOFILE))"), "0o22 /sandbox True 10 (256, 256)\n")


def test_nothing_is_left():
    nothing_left()


main()
