"""link - a fake supervisor: speaks frames with a real worker over a socket pair, with memfds, and can break every rule.

The layout is that of common/frame.h: 16 bytes of head, 112 of body, native byte order.
"""
import fcntl
import os
import select
import socket
import struct
import subprocess

READY, RUN, CANCEL, DONE, FAIL, WARM = 1, 2, 3, 4, 5, 6
TIMED_OUT, STDOUT_CUT, CANCELLED, MEMORY_KILLED, CPU_USED_UP, DISK_FULL, STDERR_CUT, NOTING = (1 << i for i in range(8))
FORKED, PRELOADED = 1 << 8, 1 << 9
TRUNCATED = STDOUT_CUT | STDERR_CUT
SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
SIZE = 128


def blob(data, seals=SEALS):
    """A memfd with this content, sealed."""
    fd = os.memfd_create("test", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    os.write(fd, data) if data else None
    os.lseek(fd, 0, os.SEEK_SET)
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    return fd


def pack(kind, ident, nfds, body=b"", version=1):
    return struct.pack("=IHHQ", version, kind, nfds, ident) + body.ljust(SIZE - 16, b"\0")


def run_frame(ident, deadline_ms=10000, output_max=1 << 20, uses=0):
    return pack(RUN, ident, 2, struct.pack("=QII", output_max, deadline_ms, uses))


class Frame:
    """A frame that came, with its body unpacked and its descriptors read."""

    def __init__(self, data, fds):
        self.version, self.kind, self.nfds, self.id = struct.unpack("=IHHQ", data[:16])
        body = data[16:]
        if self.kind == READY:
            self.build_id, self.layers, self.python, self.by_cgroup = struct.unpack("=QIII", body[:20])
        elif self.kind == FAIL:
            self.stage, self.error = struct.unpack("=Ii", body[:8])
        elif self.kind == DONE:
            (self.wall_us, self.cpu_us, self.peak, self.exit_code, self.signal, self.flags,
             self.layers, self.by_cgroup) = struct.unpack("=QQQiIIII", body[:44])
            self.noting, self.start = bool(self.flags & NOTING), self.flags & (FORKED | PRELOADED)
            self.flags &= ~(NOTING | FORKED | PRELOADED)
            self.blocked = [number - 1 for number in struct.unpack("=8H", body[44:60]) if number]
        elif self.kind == WARM:
            self.bare, self.modules, self.unfit, self.started, self.failed = struct.unpack("=5I", body[:20])
        self.content = [self._read(fd) for fd in fds]

    @staticmethod
    def _read(fd):
        with os.fdopen(fd, "rb") as f:
            seals = fcntl.fcntl(f, fcntl.F_GET_SEALS)
            f.seek(0)
            return f.read() if seals & SEALS == SEALS else None


class Worker:
    """A worker with us as its supervisor."""

    def __init__(self, binary, *args, env=None, wait=True):
        self.sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        # pass_fds keeps the number, and the worker wants 3: a shell moves it there.
        script = 'exec 3<&%d %d<&-; exec "$0" "$@"' % (theirs.fileno(), theirs.fileno())
        self.process = subprocess.Popen(["/bin/sh", "-c", script, binary, *args], stdin=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, pass_fds=[theirs.fileno()], env=env)
        theirs.close()
        self.warm = []
        self.ready = self.recv() if wait else None

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.sock.close()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stderr.close()

    def send(self, data, fds=()):
        """Sends raw bytes with descriptors, which are closed."""
        try:
            socket.send_fds(self.sock, [data], list(fds))
        finally:
            for fd in fds:
                os.close(fd)

    def recv(self, timeout=30):
        """The next frame, or None at the end of the stream. What is said of warm starts is kept in warm."""
        frame = self._recv(timeout)
        while frame is not None and frame.kind == WARM:
            self.warm.append(frame)
            frame = self._recv(timeout)
        return frame

    def _recv(self, timeout):
        if not select.select([self.sock], [], [], timeout)[0]:
            raise TimeoutError("no frame in %s s" % timeout)
        try:
            data, fds, _, _ = socket.recv_fds(self.sock, 4096, 8)
        except ConnectionResetError:
            return None
        return Frame(data, fds) if data else None

    def run(self, code, stdin=b"", ident=1, deadline_ms=10000, output_max=1 << 20, uses=0):
        code = code.encode() if isinstance(code, str) else code
        self.send(run_frame(ident, deadline_ms, output_max, uses), [blob(code), blob(stdin)])
        return self.recv()
