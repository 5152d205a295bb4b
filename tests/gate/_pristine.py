"""A pristine interpreter with stub_enter.c, whose copies run programs; and the same Python anew, in the same place."""
import array
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
GATE = os.environ.get("MCP_EXEC_GATE") or os.path.join(ROOT, "build", "gate", "gate.so")
LIMIT_S = 60


class Result:
    def __init__(self, status, out, err):
        self.out, self.err = out, err
        self.status = -os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

    def __repr__(self):
        return "%d\n--- stdout\n%s--- stderr\n%s" % (self.status, self.out.decode("utf-8", "backslashreplace"),
                                                   self.err.decode("utf-8", "backslashreplace"))


def environment(directory, more=None):
    env = {"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": directory, "LANG": "C.UTF-8", "USER": "sandbox",
           "LOGNAME": "sandbox", "PYTHONUNBUFFERED": "1", "XDG_CACHE_HOME": directory + ".cache",
           "MPLCONFIGDIR": directory + ".cache/mpl", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    env.update(more or {})
    return env


class Streams:
    """Pipes for one run, fed and read by threads."""

    def __init__(self, stdin):
        pairs = [os.pipe() for _ in range(3)]
        self.theirs = [pairs[0][0], pairs[1][1], pairs[2][1]]
        self.got = [b"", b""]
        self.threads = [threading.Thread(target=self._feed, args=(pairs[0][1], stdin))]
        self.threads += [threading.Thread(target=self._read, args=(pairs[i + 1][0], i)) for i in range(2)]

    def start(self):
        """Closes the run's ends here; to be called when it has them."""
        for fd in self.theirs:
            os.close(fd)
        for thread in self.threads:
            thread.start()

    def finish(self):
        for thread in self.threads:
            thread.join(LIMIT_S)
        return self.got

    @staticmethod
    def _feed(fd, data):
        try:
            while data:
                data = data[os.write(fd, data):]
        except BrokenPipeError:
            pass
        os.close(fd)

    def _read(self, fd, i):
        with open(fd, "rb") as file:
            self.got[i] = file.read()


def _defaults():
    os.umask(0o22)
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class Workplace:
    """A directory in which programs run, emptied for each."""

    def __init__(self, python, env=None):
        self.python = python
        self.base = tempfile.mkdtemp(prefix="gate", dir="/tmp")
        self.directory = os.path.join(self.base, "sandbox")
        self.env = environment(self.directory, env)
        self.empty()

    def empty(self):
        for path in (self.directory, self.directory + ".cache"):
            shutil.rmtree(path, ignore_errors=True)
        os.mkdir(self.directory)

    def plain(self, code, stdin=b""):
        self.empty()
        with open(os.path.join(self.directory, "main.py"), "wb") as file:
            file.write(code)
        streams = Streams(stdin)
        process = subprocess.Popen([self.python, "main.py"], cwd=self.directory, stdin=streams.theirs[0],
                                   stdout=streams.theirs[1], stderr=streams.theirs[2], env=self.env,
                                   start_new_session=True, preexec_fn=_defaults)
        streams.start()
        _, status = os.waitpid(process.pid, 0)
        process.returncode = 0
        return Result(status, *streams.finish())

    def close(self):
        shutil.rmtree(self.base, ignore_errors=True)


class Pristine:
    """The interpreter whose copies run programs. loaded and error are what it said of itself."""

    def __init__(self, place, modules=""):
        self.place = place
        place.empty()
        self.socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with open(os.path.join(ROOT, "worker", "gate", "main.py")) as file:
            text = file.read().replace("/gate.so", GATE)
        with open(os.path.join(place.directory, "main.py"), "w") as file:
            file.write(text)
        plan = tempfile.TemporaryFile()
        plan.write(modules.encode())
        plan.flush()
        streams = Streams(b"")
        # 3 and 4 are to be free for dup2 in the child.
        high = [os.dup2(fd, 100 + i) for i, fd in enumerate((theirs.fileno(), plan.fileno()))]

        def pass_on():
            _defaults()
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        self.process = subprocess.Popen([place.python, "main.py"], cwd=place.directory, stdin=streams.theirs[0],
                                        stdout=streams.theirs[1], stderr=streams.theirs[2], env=place.env,
                                        start_new_session=True, preexec_fn=pass_on, close_fds=False)
        streams.start()
        self.streams = streams
        for fd in high:
            os.close(fd)
        theirs.close()
        plan.close()
        self.socket.settimeout(LIMIT_S)
        answer = self.socket.recv(8)
        if not answer:
            self.close()
            raise AssertionError("the pristine interpreter ended: %r" % (streams.got,))
        self.loaded, self.error = struct.unpack("=Ii", answer)

    def run(self, code, stdin=b""):
        self.place.empty()
        streams = Streams(stdin)
        with tempfile.TemporaryFile() as program:
            program.write(code)
            program.flush()
            directory = os.open(self.place.directory, os.O_RDONLY)
            fds = [directory, program.fileno()] + streams.theirs
            self.socket.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
            os.close(directory)
        streams.start()
        answer = self.socket.recv(4)
        if not answer:
            self.close()
            raise AssertionError("the pristine interpreter ended: %r" % (self.streams.got,))
        status = struct.unpack("=i", answer)[0]
        return Result(status, *streams.finish())

    def close(self):
        self.socket.close()
        self.process.wait(LIMIT_S)
        self.streams.finish()


if __name__ == "__main__":
    workplace = Workplace(os.environ.get("GATE_PYTHON", "/usr/bin/python3"))
    pristine = Pristine(workplace, os.environ.get("GATE_MODULES", ""))
    source = sys.stdin.buffer.read()
    print("copy ", pristine.run(source))
    print("plain", workplace.plain(source))
    pristine.close()
    print("pristine", pristine.streams.got)
    workplace.close()
