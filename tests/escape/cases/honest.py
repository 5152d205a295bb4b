"""Programs that do nothing wrong do not notice the walls. A wall that stops one is as much a fault as a hole."""
from _case import host, works
from mcp import check, equal, skip


def library(id, title, name, code, want, **more):
    """As works(), where the target's Python has that package."""
    case = works(id, title, code, want, **more)

    def judge(target, inner=case.judge):
        found = "import importlib.util; print(importlib.util.find_spec(%r) is not None)" % name
        if target.exec(found)["stdout"] != "True\n":
            skip(name + " is not installed there")
        inner(target)
    case.judge = judge
    return case


ALONE = [
    works("honest.multiprocessing", "pools by fork, spawn and forkserver", """
import multiprocessing as mp
def f(x): return x * x
if __name__ == "__main__":
    for m in ("fork", "spawn", "forkserver"):
        with mp.get_context(m).Pool(2) as p: print(m, p.map(f, [1, 2, 3]))
""", "fork [1, 4, 9]\nspawn [1, 4, 9]\nforkserver [1, 4, 9]\n", arguments={"timeout_s": 20}),
    works("honest.shared-memory", "locks, queues and shared memory between processes", """
import multiprocessing as mp
from multiprocessing import shared_memory
def f(v, q, lock, name):
    with lock: v.value += 1
    m = shared_memory.SharedMemory(name); m.buf[0] += 1; m.close(); q.put(1)
v, q, lock, m = mp.Value("i", 0), mp.Queue(), mp.Lock(), shared_memory.SharedMemory(create=True, size=100)
ps = [mp.Process(target=f, args=(v, q, lock, m.name)) for _ in range(2)]
[p.start() for p in ps]; [p.join() for p in ps]; print(v.value, q.get(), m.buf[0]); m.close(); m.unlink()
""", "2 1 2\n"),
    works("honest.asyncio", "asyncio across threads, processes and sockets", """
import asyncio, threading, time
async def main():
    print(await asyncio.to_thread(lambda: (time.sleep(0.05), 42)[1]))
    p = await asyncio.create_subprocess_exec("echo", "sub", stdout=asyncio.subprocess.PIPE)
    print((await p.communicate())[0])
    server = await asyncio.start_server(lambda r, w: (w.write(b"hello"), w.close()), "127.0.0.1", 0)
    r, w = await asyncio.open_connection(*server.sockets[0].getsockname()); print(await r.read())
asyncio.run(main())
loop = asyncio.new_event_loop(); threading.Thread(target=loop.run_forever, daemon=True).start()
print(asyncio.run_coroutine_threadsafe(asyncio.sleep(0.05, result=43), loop).result(timeout=3))
""", "42\nb'sub\\n'\nb'hello'\n43\n"),
    works("honest.loopback-server", "a server on loopback, by name", """
import http.server, threading, urllib.request
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *a): pass
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
threading.Thread(target=s.serve_forever, daemon=True).start()
print(urllib.request.urlopen("http://localhost:%d/" % s.server_port, timeout=3).status)
""", "200\n"),
    works("honest.loopback-ipv6", "the same over IPv6, with a datagram", """
import socket
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.bind(("::1", 0))
c = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); c.sendto(b"x", s.getsockname()); print(s.recv(1))
""", "b'x'\n"),
    works("honest.unix-sockets", "unix sockets, by path and by name, with descriptors in them", """
import os, socket
for name in ("/tmp/s", "\\0name"):
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen()
    c = socket.socket(socket.AF_UNIX); c.connect(name); d, _ = s.accept()
    socket.send_fds(c, [b"f"], [0]); print(len(socket.recv_fds(d, 1, 1)[1]))
""", "1\n1\n"),
    works("honest.home-and-temporary-files", "temporary files, HOME, a name", """
import getpass, os, pathlib, tempfile
with tempfile.TemporaryDirectory() as d: pathlib.Path(d, "x").write_text("y")
with tempfile.NamedTemporaryFile() as f, tempfile.TemporaryFile() as g: f.write(b"x")
(pathlib.Path.home() / ".cache").mkdir(exist_ok=True); print(getpass.getuser(), os.path.expanduser("~"))
""", "sandbox /sandbox\n"),
    works("honest.locale-and-time-zone", "UTF-8 everywhere, and time zones", """
import datetime, locale, sys, zoneinfo
print(sys.stdout.encoding, locale.getpreferredencoding().lower(), sys.getfilesystemencoding())
print("\u0436\u2192\U0001F389", datetime.datetime(2026, 1, 1, tzinfo=zoneinfo.ZoneInfo("Europe/Berlin")).utcoffset())
""", "utf-8 utf-8 utf-8\n\u0436\u2192\U0001F389 1:00:00\n"),
    works("honest.signals", "alarms, handlers, an empty mask", """
import signal
signal.signal(signal.SIGALRM, lambda *a: print("alarm")); signal.setitimer(signal.ITIMER_REAL, 0.05); signal.pause()
print(signal.pthread_sigmask(signal.SIG_BLOCK, []), signal.getsignal(signal.SIGCHLD).name)
""", "alarm\nset() SIG_DFL\n"),
    works("honest.umask-and-ids", "umask, ids and modes", """
import os
print(oct(os.umask(0o22)), os.getuid(), os.getgid()); open("f", "w").close()
print(oct(os.stat("f").st_mode), os.stat("f").st_uid); os.mkfifo("p"); os.chmod("f", 0o4755); os.utime("f", (1, 1))
""", "0o22 1000 1000\n0o100644 1000\n"),
    works("honest.script-identity", "argv, __file__, __name__ and the source are there", """
import inspect, os, sys
def f(): return 1
print(os.path.basename(sys.argv[0]), __name__, os.path.abspath(__file__), os.listdir(), inspect.getsource(f).strip())
""", "main.py __main__ /sandbox/main.py ['main.py'] def f(): return 1\n"),
    works("honest.subprocesses", "shells, pipes and other programs", """
import os, subprocess, sys
print(subprocess.run("echo a | tr a-z A-Z; exit 3", shell=True, capture_output=True, text=True).stdout.strip())
print(subprocess.check_output([sys.executable, "-c", "print(5)"]), os.system("exit 4") >> 8,
      os.popen("echo b").read().strip())
""", "A\nb'5\\n' 4 b\n"),
    works("honest.files", "copies, links, locks, maps and archives", """
import fcntl, mmap, os, shutil
open("a", "wb").write(b"x" * 9999); shutil.copy2("a", "b"); shutil.copytree(".", "/tmp/t"); os.link("b", "c")
shutil.move("b", "/tmp/b"); f = open("a", "r+b"); fcntl.flock(f, fcntl.LOCK_EX); m = mmap.mmap(f.fileno(), 0); m[0] = 65
m.flush(); os.posix_fallocate(f.fileno(), 0, 20000); os.fsync(f.fileno()); shutil.make_archive("/tmp/z", "zip", ".")
print(sorted(os.listdir("/tmp")), os.path.getsize("a"), open("a").read(1), shutil.disk_usage("/tmp").total >> 20)
""", "['b', 't', 'z.zip'] 20000 A 64\n"),
    works("honest.fifty-threads", "fifty threads", """
import threading, time
t = [threading.Thread(target=time.sleep, args=(0.1,)) for _ in range(50)]
[x.start() for x in t]; [x.join() for x in t]; print(len(t))
""", "50\n"),
    works("honest.most-of-the-memory", "most of the memory can be used, and forks of it", """
import os
x = bytearray(150 << 20); x[::4096] = b"x" * len(x[::4096])
for _ in range(4):
    if os.fork() == 0: os._exit(0)
print([os.wait()[1] for _ in range(4)])
""", "[0, 0, 0, 0]\n"),
    works("honest.sqlite", "a database with a write-ahead log", """
import sqlite3
c = sqlite3.connect("d.db"); c.execute("pragma journal_mode=wal"); c.execute("create table t(x)")
c.executemany("insert into t values (?)", [(i,) for i in range(1000)]); c.commit()
print(c.execute("select sum(x) from t").fetchone())
""", "(499500,)\n"),
    works("honest.input", "input() reads stdin line by line",
          "print(input(), input())\ntry: input()\nexcept EOFError: print('end')",
          "a b\nend\n", arguments={"stdin": "a\nb\n"}),
    works("honest.pip-says-no", "pip fails at once, in words", """
import subprocess, sys
r = subprocess.run([sys.executable, "-m", "pip", "install", "six-nope"], capture_output=True, text=True)
print(r.returncode != 0, len(r.stderr) > 10)
""", "True True\n", seconds=8),
    library("honest.numpy", "numpy, on however many cores", "numpy", """
import numpy as np
print(int((np.ones((200, 200)) @ np.ones((200, 200))).sum()), np.linalg.det(np.eye(3)))
""", "8000000 1.0\n"),
    library("honest.pandas", "pandas", "pandas", """
import pandas as pd
d = pd.DataFrame({"a": [1, 2, 2], "b": [3.0, 4.0, 5.0]}); d.to_csv("x.csv"); print(pd.read_csv("x.csv").shape)
""", "(3, 3)\n"),
    library("honest.matplotlib", "a chart in a file, without a word on stderr", "matplotlib", """
import matplotlib, os; matplotlib.use("Agg")
import matplotlib.pyplot as plt
plt.plot([1, 2, 3]); plt.savefig("a.png"); print(os.path.getsize("a.png") > 1000, sorted(os.listdir()))
""", "True ['a.png', 'main.py']\n"),
]


@host("honest.random-is-fresh", "no random value repeats from run to run", "none")
def random_is_fresh(target):
    """The seed of hashes and addresses may, among copies of one interpreter; tests/sandbox has how often."""
    code = "import random, os, uuid, tempfile, secrets\nfor v in (random.random(), uuid.uuid4(), " \
           "next(tempfile._get_candidate_names()), os.urandom(8), secrets.token_hex(4)): print(v)"
    runs = [target.exec(code)["stdout"].splitlines() for _ in range(3)]
    for values in zip(*runs):
        check(len(set(values)) == 3, "repeats", values)


@host("honest.broken-and-whole", "what a run breaks is whole in the next", "none")
def broken_and_whole(target):
    target.exec("import builtins, os, sys, signal, resource\nbuiltins.print = None\nsys.path.clear()\nos.umask(0o777)\n"
                "signal.alarm(1)\nos.environ.clear()\nos.chdir('/')\nos.nice(5)\n"
                "resource.setrlimit(resource.RLIMIT_NOFILE, (5, 5))\nopen('/sandbox/json.py', 'w').write('1/0')")
    equal(target.exec("import json, os, resource\nprint(oct(os.umask(0)), os.getcwd(), len(os.environ) > 5, "
                      "os.nice(0), resource.getrlimit(resource.RLIMIT_NOFILE)[0] > 5)")["stdout"],
          "0o22 /sandbox True 10 True\n")


CASES = ALONE + [random_is_fresh, broken_and_whole]
