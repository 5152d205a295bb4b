#!/usr/bin/env python3
"""Processes, threads, signals and sockets: the same as under plain `python3 main.py`."""
from _parity import rows, same, same_and_good
from _sandbox import check, every_mode_was_tried, nothing_left
from mcp import cases, main

GUARD = "if __name__ == '__main__':\n"

THREADS = [
    ("daemon", "import threading, time\nthreading.Thread(target=time.sleep, args=(60,), daemon=True).start()\n"
     "print('m')"),
    ("not_daemon", "import threading, time\ndef f(): time.sleep(.1); print('late')\n"
     "threading.Thread(target=f).start()\nprint('main is done')"),
    ("exit_in_a_thread", "import sys, threading\ndef f(): print('t'); sys.exit(3)\nt = threading.Thread(target=f); "
     "t.start(); t.join(); print('m')"),
    ("exit_while_one_runs", "import sys, threading, time\nt = threading.Thread(target=lambda: (time.sleep(.1), "
     "print('t'))); t.start(); sys.exit(0)"),
    ("exception_in_a_thread", "import threading\ndef f(): raise ValueError('in thread')\nt = "
     "threading.Thread(target=f, name='n'); t.start(); t.join(); print('m')"),
    ("excepthook", "import threading\nthreading.excepthook = lambda a: print('hook', a.exc_type, a.thread.name)\nt = "
     "threading.Thread(target=lambda: 1/0, name='n'); t.start(); t.join()"),
    ("sixty_four", "import threading\nb = threading.Barrier(65)\nt = [threading.Thread(target=b.wait) for _ in "
     "range(64)]\n[x.start() for x in t]; b.wait(); print(threading.active_count() <= 65); [x.join() for x in t]; "
     "print('ok')"),
    ("synchronisation", "import queue, threading\nq, l, c, e, s = queue.Queue(), threading.RLock(), "
     "threading.Condition(), threading.Event(), threading.Semaphore(2)\ndef f(i):\n    with s, l: q.put(i)\n"
     "    e.wait(5)\n    with c: c.notify()\nt = [threading.Thread(target=f, args=(i,)) for i in range(8)]; "
     "[x.start() for x in t]\nwith c:\n    e.set(); print(c.wait(5))\n"
     "[x.join() for x in t]; print(sorted(q.get() for _ in t))"),
    ("timer_and_local", "import threading\nd = threading.local(); d.x = 1\ndef f(): print(hasattr(d, 'x'))\nt = "
     "threading.Timer(.05, f); t.start(); t.join()\nprint(threading.main_thread() is threading.current_thread())"),
    ("stack_size", "import threading\nprint(threading.stack_size(4 << 20))\nt = threading.Thread(target=print, "
     "args=('x',)); t.start(); t.join()"),
    ("fork_in_a_thread", "import os, threading, warnings\nwarnings.simplefilter('ignore')\ndef f():\n"
     "    pid = os.fork()\n    if pid == 0: os._exit(7)\n    print(os.waitpid(pid, 0)[1] >> 8)\n"
     "t = threading.Thread(target=f); t.start(); t.join()"),
    ("contextvars", "import contextvars, threading\nv = contextvars.ContextVar('v', default=0); v.set(5)\nt = "
     "threading.Thread(target=lambda: print(v.get())); t.start(); t.join(); contextvars.copy_context().run(lambda: "
     "print(v.get()))"),
    ("futures", "from concurrent.futures import ThreadPoolExecutor, as_completed, wait\n"
     "with ThreadPoolExecutor(8) as p:\n    f = [p.submit(pow, i, 2) for i in range(9)]; print(sorted(x.result() for "
     "x in as_completed(f)), len(wait(f).done))\n    print(repr(p.submit(lambda: 1/0).exception()))"),
]

ASYNC = "import asyncio, os, signal, sys, time\nasync def main():\n%s\nasyncio.run(main())"
ASYNCIO = [(label, ASYNC % "\n".join("    " + line for line in body.splitlines())) for label, body in (
    ("gather", "print(await asyncio.gather(*(asyncio.sleep(.01, i) for i in range(5))))"),
    ("timeout", "try: await asyncio.wait_for(asyncio.sleep(9), .05)\nexcept asyncio.TimeoutError: print('late')"),
    ("cancel", "t = asyncio.ensure_future(asyncio.sleep(9)); await asyncio.sleep(0); t.cancel()\ntry: await t\nexcept "
     "asyncio.CancelledError: print(t.cancelled())"),
    ("to_thread", "print(await asyncio.get_running_loop().run_in_executor(None, pow, 2, 9))"),
    ("subprocess", "p = await asyncio.create_subprocess_exec('sort', stdin=-1, stdout=-1)\nprint(await "
     "p.communicate(b'b\\na\\n'), p.returncode)\np = await asyncio.create_subprocess_shell('echo err >&2; exit 4', "
     "stderr=-1)\nprint(await p.communicate(), await p.wait())"),
    ("subprocess_killed", "p = await asyncio.create_subprocess_exec('sleep', '60'); p.terminate(); print(await "
     "p.wait())"),
    ("signal_handler", "e = asyncio.Event(); asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, e.set)\n"
     "os.kill(os.getpid(), signal.SIGTERM); await asyncio.wait_for(e.wait(), 5); print('seen')"),
    ("tcp", "async def serve(r, w): w.write((await r.readline()).upper()); await w.drain(); w.close()\ns = await "
     "asyncio.start_server(serve, '127.0.0.1', 0)\nr, w = await asyncio.open_connection(*s.sockets[0].getsockname())\n"
     "w.write(b'hello\\n'); print(await r.read()); w.close(); s.close()"),
    ("unix_socket", "async def serve(r, w): w.write(b'u'); w.close()\ns = await asyncio.start_unix_server(serve, "
     "'sock')\nr, w = await asyncio.open_unix_connection('sock'); print(await r.read()); w.close(); s.close()"),
    ("udp", "class P(asyncio.DatagramProtocol):\n    def datagram_received(s, d, a): got.set_result(d)\nl = "
     "asyncio.get_running_loop(); got = l.create_future()\nt, _ = await l.create_datagram_endpoint(P, "
     "('127.0.0.1', 0))\nt.sendto(b'd', t.get_extra_info('sockname')); print(await got); t.close()"),
    ("queues_and_locks", "q = asyncio.Queue(2); l = asyncio.Lock()\nasync def put():\n    for i in range(4):\n"
     "        async with l: await q.put(i)\nasyncio.ensure_future(put()); print([await q.get() for _ in range(4)])"),
    ("task_exception", "async def f(): 1/0\nt = asyncio.ensure_future(f()); print(repr((await "
     "asyncio.wait([t]))[0].pop().exception()))"),
    ("never_awaited", "asyncio.sleep(1)\nprint('x')"),
    ("generators", "async def g():\n    for i in range(3): yield i; await asyncio.sleep(0)\n"
     "print([i async for i in g()])"),
)]

SUBPROCESS = [(label, "import os, subprocess as s, sys\n" + body) for label, body in (
    ("shell", "print(s.run('echo a | tr a b; echo $0; exit 5', shell=True, capture_output=True, text=True))"),
    ("check", "s.run(['true'], check=True)\ntry: s.run(['sh', '-c', 'exit 3'], check=True)\n"
     "except s.CalledProcessError as e: print(e, e.returncode)"),
    ("missing", "try: s.run(['no-such-program'])\nexcept FileNotFoundError as e: print(e)\nprint(s.call('no-such', "
     "shell=True, stderr=s.DEVNULL))"),
    ("not_executable", "open('f', 'w').close()\ntry: s.run(['./f'])\nexcept PermissionError as e: print(e)\n"
     "try: s.run('.')\nexcept PermissionError as e: print(e)"),
    ("timeout", "try: s.run(['sleep', '60'], timeout=.1)\nexcept s.TimeoutExpired as e: print(e.cmd)"),
    ("communicate", "p = s.Popen(['cat'], stdin=-1, stdout=-1); print(len(p.communicate(b'x' * 500000)[0]), "
     "p.returncode)"),
    ("both_streams", "p = s.run(['sh', '-c', 'echo o; echo e >&2'], stdout=-1, stderr=s.STDOUT); print(p.stdout)"),
    ("pipeline", "a = s.Popen(['printf', 'b\\na\\n'], stdout=-1); b = s.Popen(['sort'], stdin=a.stdout, stdout=-1); "
     "a.stdout.close(); print(b.communicate()[0], a.wait())"),
    ("pass_fds", "r, w = os.pipe(); s.run(['sh', '-c', 'echo x >&%d' % w], pass_fds=[w]); print(os.read(r, 9))"),
    ("closes_descriptors", "r, w = os.pipe(); print(s.run(['sh', '-c', 'echo x >&%d' % w], stderr=-1).returncode)"),
    ("text_and_encoding", "print(s.run(['printf', 'é\\r\\n'], stdout=-1, text=True).stdout, s.run(['printf', "
     "'\\\\351'], stdout=-1, encoding='latin-1').stdout)"),
    ("env", "print(s.run(['sh', '-c', 'echo $A-$HOME'], env={'A': '1'}, stdout=-1).stdout)\nos.environ['B'] = '2'; "
     "os.putenv('C', '3'); print(s.getoutput('echo $B$C'))"),
    ("cwd", "os.mkdir('d'); print(s.run(['pwd'], cwd='d', stdout=-1).stdout.endswith(b'/d\\n'))"),
    ("signalled", "p = s.Popen(['sleep', '60']); p.terminate(); print(p.wait()); p = s.Popen(['sleep', '60']); "
     "p.kill(); print(p.wait(), p.poll())"),
    ("child_traceback", "s.run([sys.executable, '-c', '1/0'])\ns.run([sys.executable, '-'], input=b'print(__name__)')"),
    ("start_new_session", "print(s.run([sys.executable, '-c', 'import os; print(os.getsid(0) == os.getpid())'], "
     "start_new_session=True, stdout=-1).stdout)"),
    ("preexec", "print(s.run(['sh', '-c', 'umask'], preexec_fn=lambda: os.umask(0o77), stdout=-1).stdout)"),
    ("sigpipe", "print(s.getoutput('yes | head -1'))\np = s.Popen(['yes'], stdout=-1); p.stdout.read(9); "
     "p.stdout.close(); print(p.wait())"),
    ("sigpipe_of_python", "p = s.Popen([sys.executable, '-c', 'print(1)'], stdout=-1, stderr=-1); p.stdout.close(); "
     "print(p.stderr.read()[-40:], p.wait())"),
    ("python_modules", "for m in (['json.tool', '--help'], ['timeit', '-n1', '-r1'], ['base64', '-t'], "
     "['platform'][:0] or ['this']): print(s.run([sys.executable, '-m'] + m, stdout=-1, stderr=-1).returncode)"),
    ("exec", "sys.stdout.flush(); os.execvp('echo', ['echo', 'a', 'b c'])"),
    ("exec_of_python", "os.execv(sys.executable, [sys.executable, '-c', 'import sys; print(sys.argv)', 'x'])"),
    ("exec_fails", "try: os.execv('/no/such', ['x'])\nexcept OSError as e: print(e)\n"
     "open('t', 'w').write('#!/no/such')\nos.chmod('t', 0o644)\ntry: os.execv('t', ['t'])\n"
     "except OSError as e: print(e)"),
    ("spawn", "print(os.spawnlp(os.P_WAIT, 'sh', 'sh', '-c', 'exit 6'), os.waitpid(os.posix_spawnp('true', ['true'], "
     "os.environ), 0)[1])"),
    ("system_and_popen", "print(os.system('exit 2') >> 8, os.popen('echo p').read(), os.popen('exit 3').close())"),
    ("forks", "r, w = os.pipe()\nfor i in range(3):\n    if os.fork() == 0: os.write(w, b'c'); os._exit(i)\n"
     "print(sorted(os.wait()[1] >> 8 for _ in range(3)), os.read(r, 9))\ntry: os.wait()\n"
     "except ChildProcessError as e: print(e)"),
    ("wait_in_every_way", "p = os.fork()\nif p == 0: os._exit(4)\nprint(os.waitid(os.P_PID, p, "
     "os.WEXITED).si_status)\np = os.fork()\nif p == 0: os.abort()\n_, st, ru = os.wait4(p, 0); "
     "print(os.WIFSIGNALED(st), os.WTERMSIG(st))"),
    ("process_groups", "p = os.fork()\nif p == 0: os.setpgid(0, 0); os.killpg(0, 15)\nprint(os.waitpid(p, 0)[1])\n"
     "print(os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid())"),
)]

POOL = "import multiprocessing as mp, os, sys\ndef f(x): return x * x\ndef g(*a):\n%s\n" + GUARD + "%s"


def _pool(main_lines, child="return a"):
    return POOL % ("\n".join(""
        "    " + x for x in child.splitlines()), "\n".join("    " + x for x in main_lines.splitlines()))


MULTIPROCESSING = [("%s_%s" % (label, kind), _pool("c = mp.get_context(%r)\n" % kind + body, child))
                   for kind in ("fork", "spawn", "forkserver") for label, body, child in (
    ("pool", "with c.Pool(3) as p: print(p.map(f, range(9)), p.apply_async(f, (5,)).get(20), "
     "sorted(p.imap_unordered(f, range(3))), p.starmap(pow, [(2, 3)]))", "pass"),
    ("exit_codes", "ps = [c.Process(target=g, args=(i,)) for i in range(2)]; [p.start() for p in ps]; [p.join() for p "
     "in ps]; print([p.exitcode for p in ps])", "os._exit(a[0] + 3)"),
    ("values", "v, l, s = c.Value('i', 1), c.Array('d', 3), c.Semaphore(1); p = c.Process(target=g, args=(v, l, s)); "
     "p.start(); p.join(); print(v.value, list(l))", "with a[2], a[0].get_lock(): a[0].value += 1; a[1][1] = 2.5"),
    ("queue_and_pipe", "q, (r, w) = c.Queue(), c.Pipe(); p = c.Process(target=g, args=(q, w)); p.start(); "
     "print(q.get(timeout=20), r.recv()); r.send('x'); p.join(); print(p.exitcode)",
     "a[0].put({'k': [1]}); a[1].send(b'y'); assert a[1].recv() == 'x'"),
)] + [(label, _pool(body, child)) for label, body, child in (
    ("exception", "with mp.get_context('fork').Pool(2) as p:\n    try: p.map(g, [1])\n    except ValueError as e: "
     "print(repr(e))", "raise ValueError('in child')"),
    ("killed", "p = mp.get_context('fork').Process(target=g); p.start(); p.kill(); p.join(); print(p.exitcode)",
     "import time; time.sleep(60)"),
    ("traceback", "p = mp.get_context('fork').Process(target=g, name='child'); p.start(); p.join(); print(p.exitcode)",
     "1/0"),
    ("manager", "with mp.Manager() as m:\n    d, l = m.dict(), m.list([1]); p = mp.Process(target=g, args=(d, l)); "
     "p.start(); p.join(); print(dict(d), list(l))", "a[0]['k'] = 1; a[1].append(2)"),
    ("shared_memory", "from multiprocessing.shared_memory import SharedMemory, ShareableList\n"
     "m = SharedMemory(create=True, size=99); p = mp.Process(target=g, args=(m.name,)); p.start(); p.join(); "
     "print(m.buf[0]); m.close(); m.unlink()\nl = ShareableList([1, 'a']); print(list(l)); l.shm.close(); "
     "l.shm.unlink()",
     "from multiprocessing import shared_memory\nm = shared_memory.SharedMemory(a[0]); m.buf[0] = 7; m.close()"),
    ("events_and_barriers", "c = mp.get_context('fork'); e, b = c.Event(), c.Barrier(3)\nps = [c.Process(target=g, "
     "args=(e, b)) for _ in range(2)]; [p.start() for p in ps]; b.wait(20); e.set(); [p.join() for p in ps]; "
     "print([p.exitcode for p in ps])", "a[1].wait(20); sys.exit(not a[0].wait(20))"),
    ("process_pool_executor", "from concurrent.futures import ProcessPoolExecutor\nwith ProcessPoolExecutor(2) as p:\n"
     "    print(list(p.map(f, range(5))), repr(p.submit(g, 1).exception()))", "raise KeyError('k')"),
    ("broken_pool", "from concurrent.futures import ProcessPoolExecutor\ntry:\n    with ProcessPoolExecutor(1) as p: "
     "p.submit(g).result()\nexcept Exception as e: print(type(e).__name__)", "os._exit(1)"),
    ("listener", "from multiprocessing.connection import Client, Listener\n"
     "with Listener(('127.0.0.1', 0), authkey=b'k') as l:\n    p = mp.get_context('fork').Process(target=g, "
     "args=(l.address,)); p.start(); print(l.accept().recv()); p.join()", "from multiprocessing.connection import "
         "Client\nClient(a[0], authkey=b'k').send('hello')"),
)]

SIGNALS = [(label, "import os, signal, sys, time\n" + body) for label, body in (
    ("alarm", "def h(n, f): raise TimeoutError('alarm')\nsignal.signal(signal.SIGALRM, h); signal.setitimer(0, .05)\n"
     "try: time.sleep(9)\nexcept TimeoutError as e: print(e)"),
    ("itimers", "n = []\nsignal.signal(signal.SIGALRM, lambda *a: n.append(1)); signal.setitimer(0, .02, .02)\n"
     "while len(n) < 3: signal.pause()\nsignal.setitimer(0, 0); print(signal.setitimer(0, 0))\n"
     "signal.signal(signal.SIGPROF, lambda *a: (print('prof'), signal.setitimer(2, 0))); signal.setitimer(2, .01)\n"
     "t = time.process_time()\nwhile time.process_time() < t + .1: pass"),
    ("default_alarm", "print('x'); signal.alarm(1); time.sleep(9)"),
    ("sigwait", "s = {signal.SIGUSR1}; signal.pthread_sigmask(0, s); os.kill(os.getpid(), 10); "
     "print(signal.sigpending(), signal.sigwait(s), signal.sigtimedwait(s, .01))"),
    ("sigwaitinfo", "s = {signal.SIGUSR2}; signal.pthread_sigmask(0, s); os.kill(os.getpid(), 12); i = "
     "signal.sigwaitinfo(s); print(i.si_signo, i.si_pid == os.getpid(), i.si_uid == os.getuid())"),
    ("sigchld", "signal.signal(signal.SIGCHLD, lambda *a: print('child'))\nif os.fork() == 0: os._exit(0)\nos.wait(); "
     "time.sleep(.01)"),
    ("sigchld_ignored", "signal.signal(signal.SIGCHLD, signal.SIG_IGN)\nif os.fork() == 0: os._exit(0)\n"
     "try: os.wait()\nexcept ChildProcessError: print('none')"),
    ("sigpipe", "r, w = os.pipe(); os.close(r)\ntry: os.write(w, b'x')\nexcept BrokenPipeError as e: print(e)\n"
     "signal.signal(13, signal.SIG_DFL); os.write(w, b'x')"),
    ("interrupt", "try: signal.raise_signal(2)\nexcept KeyboardInterrupt: print('caught')"),
    ("interrupt_not_caught", "signal.raise_signal(2)"),
    ("dispositions", "print([s.name for s in signal.valid_signals() if isinstance(s, signal.Signals) and "
     "signal.getsignal(s) is not signal.SIG_DFL], signal.pthread_sigmask(0, []))"),
    ("wakeup", "import socket\na, b = socket.socketpair(); b.setblocking(False); signal.set_wakeup_fd(b.fileno()); "
     "signal.signal(10, lambda *x: None); os.kill(os.getpid(), 10); print(a.recv(9))"),
    ("stop_and_go_on", "p = os.fork()\nif p == 0:\n    os.kill(os.getpid(), 19); os._exit(5)\nprint(os.waitpid(p, "
     "os.WUNTRACED)[1] >> 8); os.kill(p, 18); print(os.waitpid(p, 0)[1] >> 8)"),
    ("in_threads", "import threading\nsignal.signal(10, lambda *a: print(threading.current_thread() is "
     "threading.main_thread()))\nt = threading.Thread(target=lambda: "
     "signal.pthread_kill(threading.main_thread().ident, 10)); t.start(); t.join(); time.sleep(.01)"),
    ("handler_fails", "def h(*a): raise ValueError('in handler')\nsignal.signal(10, h); os.kill(os.getpid(), 10); "
     "time.sleep(1)"),
    ("faulthandler", "import ctypes, faulthandler\nfaulthandler.enable(); faulthandler.dump_traceback()\n"
     "faulthandler.register(10, chain=False); os.kill(os.getpid(), 10); print('x')"),
    ("exit_by_each", "for n in (1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 25, 26, 27, 29, 30, 31, 34, "
     "64):\n    p = os.fork()\n    if p == 0:\n        if n != 9: signal.signal(n, 0)\n"
     "        import resource; resource.setrlimit(4, (0, 0)); os.kill(os.getpid(), n); os._exit(99)\n"
     "    print(n, os.waitpid(p, 0)[1] & 127)"),
    ("real_time", "n = []\nsignal.signal(signal.SIGRTMIN + 1, lambda s, f: n.append(s - signal.SIGRTMIN)); "
     "os.kill(os.getpid(), signal.SIGRTMIN + 1); print(n, signal.SIGRTMAX - signal.SIGRTMIN, signal.strsignal(11))"),
    ("segfault_of_a_child", "import ctypes, subprocess\nprint(subprocess.run([sys.executable, '-c', 'import ctypes; "
     "ctypes.string_at(0)']).returncode)"),
    ("pidfd", "import select\np = os.fork()\nif p == 0: signal.pause()\nf = os.pidfd_open(p); os.kill(p, 15); "
     "print(select.select([f], [], [], 9)[0] == [f], os.waitpid(p, 0)[1])"),
)]

SOCKETS = [(label, "import select, socket, threading\n" + body) for label, body in (
    ("tcp", "s = socket.create_server(('127.0.0.1', 0)); c = socket.create_connection(s.getsockname()); d, _ = "
     "s.accept()\nc.sendall(b'x' * 100000); c.shutdown(1); n = 0\nwhile True:\n    b = d.recv(65536)\n"
     "    if not b: break\n    n += len(b)\nprint(n, d.getpeername() == c.getsockname())"),
    ("tcp_6", "s = socket.create_server(('::1', 0), family=socket.AF_INET6); c = "
     "socket.create_connection(s.getsockname()[:2]); print(c.getpeername()[0])"),
    ("udp", "a, b = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in 'ab'); a.bind(('127.0.0.1', 0)); "
     "b.sendto(b'd', a.getsockname()); print(a.recvfrom(9)[0])"),
    ("unix", "for k in (socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):\n    a, b = "
     "socket.socketpair(socket.AF_UNIX, k); a.send(b'p'); print(b.recv(9))\ns = socket.socket(socket.AF_UNIX); "
     "s.bind('s'); s.listen(); c = socket.socket(socket.AF_UNIX); c.connect('s'); print(s.accept()[0].getsockname())"),
    ("options", "s = socket.socket()\nfor l, o in ((1, socket.SO_REUSEADDR), (1, socket.SO_KEEPALIVE), (6, "
     "socket.TCP_NODELAY)):\n    s.setsockopt(l, o, 1); print(s.getsockopt(l, o))\n"
     "s.settimeout(.05); s.bind(('127.0.0.1', 0)); s.listen()\ntry: s.accept()\nexcept socket.timeout as e: print(e)"),
    ("refused_and_in_use", "s = socket.create_server(('127.0.0.1', 0)); a = s.getsockname()\n"
     "try: socket.create_server(a)\nexcept OSError as e: print(e.errno)\ns.close()\ntry: socket.create_connection(a)\n"
     "except OSError as e: print(e)"),
    ("nonblocking", "a, b = socket.socketpair(); a.setblocking(False)\ntry: a.recv(1)\nexcept BlockingIOError as e: "
     "print(e)\ntry:\n    while True: a.send(b'x' * 65536)\nexcept BlockingIOError as e: print(e.errno)"),
    ("poll_and_epoll", "import selectors\na, b = socket.socketpair(); b.send(b'x'); e = select.epoll(); e.register(a, "
     "1); print(e.poll(1)[0][1], len(select.select([a], [b], [], 1)[1]))\n"
     "p = select.poll(); p.register(a); print(p.poll(99)[0][1]); s = selectors.DefaultSelector(); s.register(a, 1, "
     "'d'); print(s.select(1)[0][0].data)"),
    ("http", "import http.server, urllib.error, urllib.request\nclass H(http.server.BaseHTTPRequestHandler):\n"
     "    def do_GET(s): s.send_response(200 if s.path == '/' else 404); s.end_headers(); s.wfile.write(b'page')\n"
     "    def log_message(s, *a): pass\ns = http.server.HTTPServer(('127.0.0.1', 0), H); "
     "threading.Thread(target=s.serve_forever, daemon=True).start(); u = 'http://127.0.0.1:%d/' % s.server_port\n"
     "print(urllib.request.urlopen(u).read())\ntry: urllib.request.urlopen(u + 'x')\n"
     "except urllib.error.HTTPError as e: print(e.code)\ns.shutdown()"),
    ("xmlrpc", "import xmlrpc.client, xmlrpc.server\ns = xmlrpc.server.SimpleXMLRPCServer(('127.0.0.1', 0), "
     "logRequests=False); s.register_function(pow)\nthreading.Thread(target=s.serve_forever, daemon=True).start(); "
     "print(xmlrpc.client.ServerProxy('http://127.0.0.1:%d' % s.server_address[1]).pow(2, 5)); s.shutdown()"),
    ("names", "def tried(f, *a):\n    try: return f(*a)\n    except OSError as e: return type(e)\n"
     "print(socket.gethostbyname('localhost'), tried(socket.getservbyname, 'http'), socket.getaddrinfo('127.0.0.1', "
     "80, type=1)[0][4], socket.inet_pton(10, '::1')[-1], tried(socket.getprotobyname, 'tcp'))"),
    ("passing_descriptors", "import array, os\na, b = socket.socketpair(); r, w = os.pipe(); socket.send_fds(a, "
     "[b'x'], [w]); f = socket.recv_fds(b, 9, 1)[1][0]; os.write(f, b'through'); print(os.read(r, 9))"),
    ("socketserver", "import socketserver\nclass H(socketserver.StreamRequestHandler):\n    def handle(s): "
     "s.wfile.write(s.rfile.readline()[::-1])\ns = socketserver.ThreadingTCPServer(('127.0.0.1', 0), H); "
     "threading.Thread(target=s.serve_forever, daemon=True).start(); c = socket.create_connection(s.server_address); "
     "c.sendall(b'abc\\n'); print(c.recv(9)); s.shutdown()"),
)]

FAIL = ("default_alarm", "sigpipe", "interrupt_not_caught", "handler_fails")
GROUPS = (("thread", THREADS), ("asyncio", ASYNCIO), ("subprocess", SUBPROCESS), ("multiprocessing", MULTIPROCESSING),
          ("signal", [row for row in SIGNALS if row[0] not in FAIL]), ("socket", SOCKETS))


@cases(rows([("%s_%s" % (group, row[0]), *row[1:]) for group, programs in GROUPS for row in programs]))
def test_same_and_good(code, stdin):
    same_and_good(code, stdin)


@cases([row for row in SIGNALS if row[0] in FAIL])
def test_ends_the_same(code):
    result = same(code)
    check(result["exit_code"] != 0, "did not fail", result)


def test_every_mode_was_tried():
    every_mode_was_tried()


def test_nothing_is_left():
    nothing_left()


main()
