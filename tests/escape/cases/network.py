"""A run speaks to nobody: an interface lo of its own, and no socket but those of unix and internet."""
import os
import socket
import tempfile

from _case import attempts, host, prints
from _target import structured
from mcp import check, equal, unique

NET = "net_namespace"
# Guarded: without the wall nothing is sent, the program says OPEN instead.
OUTSIDE = "only_lo()\nimport socket, time\nt0 = time.monotonic()\n"
SOON = "print('slow OPEN' if time.monotonic() - t0 > 2 else 'soon DENIED ENETUNREACH')\n"
UNREACHED = ("ENETUNREACH",)


def outside(id, title, code):
    return attempts("net." + id, title, NET, OUTSIDE + code + SOON, errors=UNREACHED, timeout_s=10)


ALONE = [
    prints("net.only-lo", "lo is the only interface, and up", NET,
           "only_lo()\nimport fcntl, socket, struct\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
           "r = fcntl.ioctl(s, 0x8913, struct.pack('16sH14x', b'lo', 0))\n"
           "print(_interfaces(), struct.unpack('16sH14x', r)[1] & 1)", "['lo'] 1\n"),
    outside("tcp-outside", "TCP to an address outside", """
s = socket.socket(); s.settimeout(5); attempt("tcp", s.connect, ("198.51.100.1", 80))
s = socket.socket(); s.setblocking(False); attempt("tcp without waiting", s.connect, ("198.51.100.1", 443))
"""),
    outside("tcp6-outside", "TCP over IPv6, also as a mapped IPv4 address", """
for a in ("2001:db8::1", "::ffff:198.51.100.1"):
    s = socket.socket(socket.AF_INET6); s.settimeout(5); attempt(a, s.connect, (a, 80))
"""),
    outside("udp-outside", "a datagram, which needs no answer", """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); attempt("sendto", s.sendto, b"x", ("198.51.100.53", 53))
attempt("connect", s.connect, ("198.51.100.53", 53))
attempt("sendmsg", s.sendmsg, [b"x"], [], 0, ("198.51.100.53", 53))
s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); attempt("sendto 6", s.sendto, b"x", ("2001:db8::53", 53))
"""),
    outside("tcp-fast-open", "data in the first segment: MSG_FASTOPEN needs no connect()", """
s = socket.socket(); s.settimeout(5); attempt("fast open", s.sendto, b"x", 0x20000000, ("198.51.100.1", 80))
"""),
    outside("broadcast-and-multicast", "broadcast and multicast datagrams", """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
attempt("broadcast", s.sendto, b"x", ("255.255.255.255", 9)); attempt("multicast", s.sendto, b"x", ("233.252.0.1", 9))
"""),
    outside("http-library", "urllib gives up at once", """
import urllib.request
def get():
    try: urllib.request.urlopen("http://198.51.100.1/", timeout=5)
    except urllib.error.URLError as e: raise e.reason
attempt("urllib", get)
"""),
    prints("net.dns-fails-fast", "a look-up fails at once, without a resolver", (NET, "read_only_system"), """
only_lo()
import socket, time
t0 = time.monotonic()
for name in ("name.invalid", "example.com", "a" * 60 + ".test"):
    try: socket.getaddrinfo(name, 80); print("OPEN", name)
    except socket.gaierror: pass
print("soon" if time.monotonic() - t0 < 2 else "slow OPEN")
""", "soon\n"),
    prints("net.dns-query-of-its-own", "a resolver on loopback does not answer a hand-made query", NET, """
only_lo()
import socket
q = bytes.fromhex("123401000001000000000000") + b"\\4name\\7invalid\\0\\0\\1\\0\\1"
for a in ("127.0.0.53", "127.0.0.1", "127.0.0.11"):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(0.3); s.connect((a, 53))
    try: s.send(q); s.recv(512); print(a, "OPEN")
    except OSError: pass
print("nobody")
""", "nobody\n"),
    attempts("net.sockets-of-services", "well-known sockets of services cannot be connected to",
             ("read_only_system", "mount_namespace"), """
import glob, socket
for p in ("/run/docker.sock", "/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
          "/run/systemd/private", "/run/systemd/journal/socket", "/run/systemd/journal/dev-log", "/dev/log",
          "/run/dbus/system_bus_socket", "/run/user/0/bus", "/run/user/1000/bus", "/run/user/1000/wayland-0",
          "/tmp/.X11-unix/X0", "/run/nscd/socket", "/run/snapd.socket", "/run/udev/control",
          "/run/libvirt/libvirt-sock",
          "/run/postgresql/.s.PGSQL.5432", "/run/mysqld/mysqld.sock", "/run/user/1000/gnupg/S.gpg-agent"):
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        attempt("%s %d" % (p, kind), socket.socket(socket.AF_UNIX, kind).connect, p)
""", errors=("ENOENT",)),
    prints("net.families", "all that can be opened are unix and internet, streams and datagrams", "seccomp", """
import socket
ok = []
for family in range(0, 64):
    for kind in range(1, 11):
        try: socket.socket(family, kind).close(); ok.append((family, kind))
        except OSError: pass
print(ok)
""", "[(1, 1), (1, 2), (1, 5), (2, 1), (2, 2), (10, 1), (10, 2)]\n"),
    attempts("net.netlink", "every protocol of netlink", "seccomp", """
import socket
for protocol in range(23):
    for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM):
        attempt("netlink %d %d" % (protocol, kind), socket.socket, 16, kind, protocol)
""", errors=("EAFNOSUPPORT", "EPERM")),
    attempts("net.packet", "packet sockets, which see and send frames", ("seccomp", "no_capabilities"), """
import socket
for kind in (2, 3, 10): attempt("packet %d" % kind, socket.socket, 17, kind, 0x300)
""", errors=("EAFNOSUPPORT", "EPERM")),
    attempts("net.raw", "raw sockets, and datagrams of ICMP", "seccomp", """
import socket
for f, protocols in ((2, (1, 2, 6, 17, 47, 255)), (10, (58, 6, 255))):
    for p in protocols:
        attempt("raw %d %d" % (f, p), socket.socket, f, 3, p)
        attempt("rawc %d %d" % (f, p), socket.socket, f, 0x80803, p)
    attempt("icmp %d" % f, socket.socket, f, 2, 1 if f == 2 else 58)
""", errors=("EPERM", "EACCES", "ENOSYS")),
    attempts("net.rare-protocols", "SCTP, DCCP, MPTCP, UDP-Lite, SMC", "seccomp", """
import socket
for f in (2, 10):
    for name, kind, p in (("sctp", 1, 132), ("sctp many", 5, 132), ("dccp", 6, 33), ("mptcp", 1, 262), ("udplite", 2,
                                                                                                        136),
                          ("smc", 1, 256), ("l2tp", 2, 115)):
        attempt("%s %d" % (name, f), socket.socket, f, kind, p)
""", errors=("EPERM", "EACCES", "ENOSYS")),
    attempts("net.vsock", "vsock goes to the hypervisor and is in no namespace", "seccomp", """
import socket
for kind in (1, 2, 5): attempt("vsock %d" % kind, socket.socket, 40, kind)
""", errors=("EAFNOSUPPORT", "EPERM")),
    attempts("net.other-families", "ALG, XDP, Bluetooth, CAN, TIPC, QIPCRTR, RDS, AX.25 and more", "seccomp", """
import socket
for f in (3, 4, 5, 6, 8, 9, 15, 19, 21, 23, 24, 26, 29, 30, 31, 33, 35, 36, 37, 38, 39, 41, 42, 43, 44, 45):
    for kind in (1, 2, 3, 5): attempt("family %d %d" % (f, kind), socket.socket, f, kind)
""", errors=("EAFNOSUPPORT", "EPERM", "ENOSYS")),
    attempts("net.family-with-high-bits", "a family or kind that is another one in its low 32 bits", "seccomp", """
for name, f, k, p in (("vsock", 40 | 1 << 32, 1, 0), ("netlink", 16 | 1 << 32, 3, 0), ("raw", 2, 3 | 1 << 32, 1),
                      ("packet", 17 | 1 << 63, 3, 0), ("mptcp", 2, 1, 262 | 1 << 32), ("raw flags", 2, 3 | 0o2004000,
                                                                                       1)):
    attempt(name, call, "socket", f, k, p)
""", errors=("EAFNOSUPPORT", "EPERM", "ENOSYS")),
    attempts("net.io-uring", "io_uring opens sockets behind a filter", "seccomp", """
b = ctypes.create_string_buffer(256)
attempt("setup", call, "io_uring_setup", 8, b); attempt("setup high", call, "io_uring_setup", 8 | 1 << 32, b)
attempt("enter", call, "io_uring_enter", 0, 1, 0, 0, 0, 0); attempt("register", call, "io_uring_register", 0, 8, 0, 0)
""", errors=("ENOSYS", "EPERM")),
    attempts("net.change-the-interface", "its address, state and siblings cannot be changed", "seccomp", """
import fcntl, socket, struct
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
flags = struct.unpack("16sH14x", fcntl.ioctl(s, 0x8913, struct.pack("16sH14x", b"lo", 0)))[1]
for name, number, data in (("flags", 0x8914, struct.pack("16sH14x", b"lo", flags)),
                           ("address", 0x8916, struct.pack("16sHH4s8x", b"lo", 2, 0, bytes([127, 0, 0, 1]))),
                           ("mtu", 0x8922, struct.pack("16si12x", b"lo", 65536)), ("route", 0x890b, bytes(120)),
                           ("arp", 0x8955, bytes(68)), ("bridge", 0x89a0, b"a/b".ljust(16, b"\\0")),
                           ("ethtool", 0x8946, struct.pack("16sQ8x", b"lo", 0)), ("wireless", 0x8b00, bytes(32))):
    attempt(name, fcntl.ioctl, s, number, data)
""", errors=("EPERM", "ENOSYS")),
    attempts("net.tun-and-ppp", "no device that makes an interface", "read_only_system", """
for p in ("/dev/net/tun", "/dev/ppp", "/dev/vhost-net", "/dev/vhost-vsock", "/dev/tap0", "/dev/vsock"):
    attempt(p, os.open, p, os.O_RDWR)
""", errors=("ENOENT",)),
    attempts("net.firewall-by-sockopt", "tables of netfilter are not reached by socket options", "no_capabilities", """
import socket
for f, level in ((2, 0), (10, 41)):
    s = socket.socket(f, 1)
    for option in (64, 65, 128): attempt("%d %d" % (f, option), s.getsockopt, level, option, 84)
    attempt("set %d" % f, s.setsockopt, level, 64, bytes(84))
""", errors=("EPERM", "ENOPROTOOPT")),
    attempts("net.powerful-sockopts", "options that need CAP_NET_ADMIN or CAP_NET_RAW", "no_capabilities", """
import socket
s = socket.socket()
for name, level, option, value in (("mark", 1, 36, 1), ("rcvbufforce", 1, 33, 1 << 30), ("sndbufforce", 1, 32, 1 << 30),
                                   ("transparent", 0, 19, 1), ("debug", 1, 1, 1), ("priority", 1, 12, 15)):
    attempt(name, s.setsockopt, level, option, value)
""", errors=("EPERM", "EACCES")),
    prints("net.inherited-sockets", "no socket is inherited", "descriptors", """
found = []
for fd in range(1024):
    try: found += [fd] if os.readlink("/proc/self/fd/%d" % fd).startswith("socket:") else []
    except OSError: pass
import stat
for fd in range(1024):
    try: found += [fd] if stat.S_ISSOCK(os.fstat(fd).st_mode) else []
    except OSError: pass
print(found)
""", "[]\n"),
]

CONNECT = """
import errno, socket
for family, address in %r:
    s = socket.socket(family); s.settimeout(2)
    attempt(str(address), s.connect, (address, %d))
"""


@host("net.port-of-the-host", "a TCP port of the host, by every name of loopback", NET, "host")
def port_of_the_host(target):
    for family, names in ((2, ("127.0.0.1", "0.0.0.0", "localhost")), (10, ("::1", "::"))):
        with socket.socket(family) as listener:
            try:
                listener.bind((names[0], 0))
            except OSError:
                continue  # a host without IPv6
            listener.listen()
            places = [(family, a) for a in names] + ([(10, "::ffff:127.0.0.1")] if family == 2 else [])
            attempts("", "", NET, CONNECT % (places, listener.getsockname()[1]), errors=("ECONNREFUSED",)).judge(target)


@host("net.datagram-to-the-host", "a datagram to a port of the host does not arrive", NET, "host")
def datagram_to_the_host(target):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as listener:
        listener.bind(("127.0.0.1", 0))
        target.exec("import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                    "s.sendto(b'x', ('127.0.0.1', %d))" % listener.getsockname()[1])
        listener.settimeout(0.2)
        try:
            check(False, "it arrived:", listener.recv(9))
        except socket.timeout:
            pass


KINDS = (("stream", socket.SOCK_STREAM), ("dgram", socket.SOCK_DGRAM), ("seqpacket", socket.SOCK_SEQPACKET))


@host("net.abstract-socket-of-the-host", "abstract sockets of the host, of all kinds", NET, "host")
def abstract_socket_of_the_host(target):
    for _, kind in KINDS:
        with socket.socket(socket.AF_UNIX, kind) as listener:
            name = unique("probe")
            listener.bind("\0" + name)
            if kind != socket.SOCK_DGRAM:
                listener.listen()
            attempts("", "", NET, "import socket\nattempt('abstract', socket.socket(1, %d).connect, '\\0%s')"
                     % (kind, name), errors=("ECONNREFUSED",)).judge(target)


@host("net.path-socket-of-the-host", "a unix socket in a directory of the host, also the run's /tmp", "mount_namespace",
      "host")
def path_socket_of_the_host(target):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, 0o755)
        path = os.path.join(folder, "s")
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(path)
            os.chmod(path, 0o777)
            listener.listen()
            attempts("", "", NET, "import socket\nfor p in (%r, '/proc/1/root' + %r, '../' * 9 + %r):\n"
                     "    attempt(p, socket.socket(1).connect, p)" % (path, path, path)).judge(target)


HOLD = "import socket, time\n%s\nprint('bound', flush=True)\ntime.sleep(%s)\n"
BIND = "s = socket.socket(); s.bind(('127.0.0.1', 5555)); s.listen()\n" \
       "u = socket.socket(1); u.bind('\\0same'); u.listen()"


@host("net.same-port-in-two-runs", "two runs at once use the same port and the same abstract name", NET, "second")
def same_port_in_two_runs(target):
    first = target.server()
    with target.instance() as second:
        calls = [(s, s.start_exec(HOLD % (BIND, 0.5))) for s in (first, second)]
        equal([structured(s.answer(c)["result"])["stdout"] for s, c in calls], ["bound\n"] * 2)


@host("net.from-run-to-run", "a run does not reach what another one listens on", NET, "second")
def from_run_to_run(target):
    first = target.server()
    with target.instance() as second:
        second.exec("pass")
        held = first.start_exec("import socket\n" + BIND + "\ns.settimeout(0.6)\n"
                                "try: s.accept(); print('OPEN')\nexcept OSError: print('nobody')")
        result = structured(second.exec("import socket, time\ntime.sleep(0.2)\n"
                                        "for s, a in ((socket.socket(), ('127.0.0.1', 5555)), "
                                        "(socket.socket(1), '\\0same')):\n"
                                        "    try: s.connect(a); print('OPEN')\n"
                                        "    except ConnectionRefusedError: print('refused')"))
        equal(result["stdout"], "refused\nrefused\n")
        equal(structured(first.answer(held)["result"])["stdout"], "nobody\n")


CASES = ALONE + [port_of_the_host, datagram_to_the_host, abstract_socket_of_the_host, path_socket_of_the_host,
                 same_port_in_two_runs, from_run_to_run]
