#!/usr/bin/env python3
"""A run has no network: an interface lo of its own, and nothing else to speak through.

Addresses outside are of TEST-NET-2 (RFC 5737), and a program first makes sure that it has no other interface.
"""
import socket

from _sandbox import Server, attempts, denied, equal, nothing_left, printed, server, structured
from mcp import cases, main, unique

# Stops a program that has more than lo: there must be no way out before it tries one.
ONLY_LO = r"""
import sys
names = [l.split(":")[0].strip() for l in open("/proc/net/dev") if ":" in l]
routes = open("/proc/net/route").read().splitlines()[1:]
if names != ["lo"] or routes: print("OPEN", names, routes); sys.exit()
import socket, time, errno
t0 = time.monotonic()
"""
SPENT = "print('fast' if time.monotonic() - t0 < 0.5 else 'slow')\n"

UNREACHABLE = [
    ("tcp", """
s = socket.socket(); s.settimeout(3)
try: s.connect(("198.51.100.1", 80)); print("OPEN")
except OSError as e: print(errno.errorcode[e.errno])
""", "ENETUNREACH\nfast\n"),
    ("udp", """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try: print("OPEN", s.sendto(b"x", ("198.51.100.53", 53)))
except OSError as e: print(errno.errorcode[e.errno])
""", "ENETUNREACH\nfast\n"),
    ("tcp6", """
s = socket.socket(socket.AF_INET6); s.settimeout(3)
try: s.connect(("2001:db8::1", 80)); print("OPEN")
except OSError as e: print(errno.errorcode[e.errno])
""", "ENETUNREACH\nfast\n"),
    ("broadcast", """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
try: print("OPEN", s.sendto(b"x", ("255.255.255.255", 53)))
except OSError as e: print(errno.errorcode[e.errno])
""", "ENETUNREACH\nfast\n"),
    ("dns", """
try: socket.getaddrinfo("name.invalid", 80); print("OPEN")
except socket.gaierror: print("no name")
""", "no name\nfast\n"),
    ("urllib", """
import urllib.request
try: urllib.request.urlopen("http://198.51.100.1/", timeout=3); print("OPEN")
except OSError as e: print(type(e).__name__)
""", "URLError\nfast\n"),
]


@cases(UNREACHABLE)
def test_nothing_outside_is_reached(code, want):
    equal(printed(ONLY_LO + code + SPENT), want)


def test_only_lo_is_there_and_it_is_up():
    equal(printed(ONLY_LO + "import fcntl, struct\n"
                  "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                  "r = fcntl.ioctl(s, 0x8913, struct.pack('16sH14x', b'lo', 0))\n"
                  "print('up' if struct.unpack('16sH14x', r)[1] & 1 else 'down')"), "up\n")


LOOPBACK = [
    ("ipv4", "socket.AF_INET", "127.0.0.1"),
    ("ipv6", "socket.AF_INET6", "::1"),
    ("by_name", "socket.AF_INET", "localhost"),
]


@cases(LOOPBACK)
def test_loopback_works_within_a_run(family, address):
    equal(printed("""
import socket, threading
s = socket.socket(%s); s.bind((%r, 0)); s.listen()
def serve():
    c, _ = s.accept(); c.sendall(c.recv(9).upper()); c.close()
threading.Thread(target=serve).start()
c = socket.create_connection((%r, s.getsockname()[1]), 3); c.sendall(b"hello"); print(c.recv(9).decode())
""" % (family, address, address)), "HELLO\n")


@cases([("ipv4", socket.AF_INET, "127.0.0.1"), ("ipv6", socket.AF_INET6, "::1")])
def test_a_port_of_the_host_is_not_reached(family, address):
    with socket.socket(family) as listener:
        listener.bind((address, 0))
        listener.listen()
        equal(printed("import socket, errno\ns = socket.socket(%d); s.settimeout(2)\n"
                      "try: s.connect((%r, %d)); print('OPEN')\n"
                      "except OSError as e: print(errno.errorcode[e.errno])"
                      % (family, address, listener.getsockname()[1])), "ECONNREFUSED\n")


def test_an_abstract_socket_of_the_host_is_not_reached():
    name = unique("probe")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("\0" + name)
        listener.listen()
        equal(printed("import socket, errno\ns = socket.socket(socket.AF_UNIX)\n"
                      "try: s.connect('\\0%s'); print('OPEN')\n"
                      "except OSError as e: print(errno.errorcode[e.errno])" % name), "ECONNREFUSED\n")


def test_two_runs_at_once_share_neither_ports_nor_names():
    first = server()
    code = "import socket, time\ns = socket.socket(); s.bind(('127.0.0.1', 5555)); s.listen()\n" \
           "u = socket.socket(socket.AF_UNIX); u.bind('\\0same'); u.listen(); print('bound'); time.sleep(0.5)"
    with Server() as second:
        second.initialize()
        ids = first.start_exec(code), second.start_exec(code)
        equal(structured(first.answer(ids[0])["result"])["stdout"], "bound\n")
        equal(structured(second.answer(ids[1])["result"])["stdout"], "bound\n")


def test_a_run_does_not_reach_what_another_one_listens_on():
    first = server()
    with Server() as second:
        second.initialize()
        listens = first.start_exec("import socket, time\ns = socket.socket(); s.bind(('127.0.0.1', 5556))\n"
                                   "s.listen(); s.settimeout(0.6)\n"
                                   "try: s.accept(); print('OPEN')\nexcept OSError: print('nobody')")
        result = structured(second.exec("import socket, time\ntime.sleep(0.2)\n"
                                        "try: socket.create_connection(('127.0.0.1', 5556), 1); print('OPEN')\n"
                                        "except ConnectionRefusedError: print('refused')"))
        equal(result["stdout"], "refused\n")
        equal(structured(first.answer(listens)["result"])["stdout"], "nobody\n")


def test_only_unix_and_internet_sockets_exist():
    equal(printed("import socket\nok = []\n"
                  "for family in range(0, 64):\n"
                  "    for kind in (1, 2, 3, 4, 5, 6, 10):\n"
                  "        try: socket.socket(family, kind).close(); ok.append((family, kind))\n"
                  "        except OSError: pass\nprint(ok)"),
          "[(1, 1), (1, 2), (1, 5), (2, 1), (2, 2), (10, 1), (10, 2)]\n")


def test_vsock_and_others_are_no_family():
    equal(attempts("import socket\nfor f in (16, 17, 38, 40, 44): attempt(f, socket.socket, f, socket.SOCK_STREAM)"),
          {str(f): "EAFNOSUPPORT" for f in (16, 17, 38, 40, 44)})


def test_no_raw_and_no_rare_protocol():
    denied("import socket\n"
           "for f in (2, 10):\n"
           "    attempt('raw %d' % f, socket.socket, f, socket.SOCK_RAW, 1)\n"
           "    attempt('sctp %d' % f, socket.socket, f, socket.SOCK_STREAM, 132)\n"
           "    attempt('mptcp %d' % f, socket.socket, f, socket.SOCK_STREAM, 262)\n"
           "    attempt('icmp %d' % f, socket.socket, f, socket.SOCK_DGRAM, 1)\n"
           "attempt('high bits', call, 'io_uring_setup', 8, ctypes.create_string_buffer(256))\n",
           allowed=("EPERM", "EACCES", "ENOSYS", "EPROTONOSUPPORT", "EAFNOSUPPORT"))


def test_the_interface_cannot_be_changed():
    denied("import fcntl, socket, struct\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
           "attempt('down', fcntl.ioctl, s, 0x8914, struct.pack('16sH14x', b'lo', 0))\n"
           "attempt('address', fcntl.ioctl, s, 0x8916, struct.pack('16sHH12x', b'lo', 2, 0))\n"
           "attempt('bridge', fcntl.ioctl, s, 0x89a0, b'br0'.ljust(16, b'\\0'))\n"
           "attempt('tun', os.open, '/dev/net/tun', os.O_RDWR)\n", allowed=("EPERM", "ENOENT"))


def test_nothing_is_left():
    nothing_left()


main()
