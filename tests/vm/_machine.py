"""A virtual machine that computes for itself: qemu without KVM, so that it is the same wherever the tests run. Its only
way out is one port of its own, at which this machine's loopback has another one."""
import os
import select
import socket
import subprocess
import time

from _images import PARTITION

# Without accelerators of the host, and without its fifth level of page tables, which only costs time.
QEMU = ["qemu-system-x86_64", "-accel", "tcg,thread=multi", "-cpu", "max,la57=off", "-M", "q35", "-m", "1024", "-smp", "2",
        "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-device", "virtio-rng-pci"]
# no_timer_check: on a busy host Linux 6.12 takes a late timer for a broken one.
APPEND = ("console=ttyS0 root=PARTUUID=%s rootwait rw quiet mitigations=off systemd.show_status=0 net.ifnames=0 "
          "audit=0 no_timer_check" % PARTITION)
PORT = 8080
END = "@end"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def drive(path, name):
    # What is written is gone with the machine.
    return ["-drive", "file=%s,if=none,id=%s,format=raw,snapshot=on" % (path, name), "-device",
            "nvme,drive=%s,serial=%s" % (name, name)]


class Machine:
    """One machine, from its start until it has said all, for `with`. console: the file for what its kernel says."""

    def __init__(self, system, disk, console, limit_s):
        self.port, self.console, self._deadline, self._rest = free_port(), console, time.monotonic() + limit_s, b""
        argv = QEMU + ["-kernel", system.kernel, "-append", APPEND, "-serial", "file:" + console, "-chardev",
                       "stdio,id=talk,signal=off", "-serial", "chardev:talk", "-netdev",
                       "user,id=net,restrict=on,hostfwd=tcp:127.0.0.1:%d-:%d" % (self.port, PORT),
                       "-device", "virtio-net-pci,netdev=net,romfile="]
        argv += drive(system.disk, "system") + drive(disk, "tests")
        self._process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()

    def _line(self):
        """The next line, or None when there will be none."""
        while b"\n" not in self._rest:
            left = self._deadline - time.monotonic()
            if left <= 0 or not select.select([self._process.stdout], [], [], left)[0]:
                return None
            data = os.read(self._process.stdout.fileno(), 1 << 16)
            if not data:
                return None
            self._rest += data
        line, self._rest = self._rest.split(b"\n", 1)
        return line.decode("utf-8", "replace").rstrip("\r")

    def lines(self):
        """What it says, line by line. Ends with END as the last one, if it came to its end in time."""
        while True:
            line = self._line()
            if line is None:
                return
            yield line
            if line == END:
                return

    def say(self, line):
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def last_words(self):
        """The end of what the kernel and the services said."""
        try:
            with open(self.console, errors="replace") as file:
                return file.read().splitlines()[-30:]
        except OSError:
            return []
