#!/usr/bin/env python3
"""Where http and sse listen, who may connect, and the token's way in: from settings, files and systemd.

What takes the default port, a port below 1024 or an address that is not ours happens in a network namespace of its own.
"""
import os
import re
import shutil
import signal
import socket
import stat
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import (BINARY, PATIENCE, Server, Timeout, case, cases, check, contains, equal, main, run, service_ids,
                 skip, unique, until)
from _messages import ran

NO_ADDRESS, NO_SANDBOX, BAD_CONFIG = 71, 69, 78
ROOT = os.geteuid() == 0
LINE = re.compile(rb'event=http\.listen addr="([^"]*)" kind=(\w+) auth=(?:token|none)\n')

PREPARED = "import ctypes, fcntl, os, socket, struct, sys\n%s\nos.execv(sys.argv[1], sys.argv[1:])"
# Sockets made by `make` become descriptors 3, 4, … and are told of as systemd does it.
HANDED = """
def hand_over(made, pid=os.getpid(), count=None):
    high = [fcntl.fcntl(s if isinstance(s, int) else s.detach(), fcntl.F_DUPFD, 100) for s in made]
    for number, fd in enumerate(high, 3):
        os.dup2(fd, number)
        os.close(fd)
    os.environ.update(LISTEN_PID=str(pid), LISTEN_FDS=str(len(made) if count is None else count), LISTEN_FDNAMES="a:b")
def inet(address="127.0.0.1", kind=socket.SOCK_STREAM, listen=True):
    s = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, kind)
    s.bind((address, 0))
    if listen: s.listen()
    return s
def local(path, listen=True):
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    if listen: s.listen()
    return s
"""
# A network namespace where lo is up, and nothing else is. 1 << 28 and 1 << 30: CLONE_NEWUSER and CLONE_NEWNET of
# unshare(2); 0x8914: SIOCSIFFLAGS of netdevice(7), 1: IFF_UP.
OWN_NET = """
uid, gid = os.geteuid(), os.getegid()
if ctypes.CDLL(None, use_errno=True).unshare((0 if uid == 0 else 1 << 28) | 1 << 30):
    os.write(2, b"no namespace\\n"); sys.exit(99)
if uid:
    for name, text in (("setgroups", "deny"), ("uid_map", "%d %d 1" % (uid, uid)), ("gid_map", "%d %d 1" % (gid, gid))):
        with open("/proc/self/" + name, "w") as file: file.write(text)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 1))
try:
    with socket.socket(socket.AF_INET6) as s: s.bind(("::1", 0))
    os.write(2, b"has IPv6\\n")
except OSError: pass
"""


def prepared(text):
    return [sys.executable, "-c", PREPARED % text]


def handed(text):
    return prepared(HANDED + text)


def has_ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


class Http(Server):
    """A server that listens. Leaving the with block ends it by SIGTERM."""

    def __init__(self, addr=None, env=None, transport="http", **how):
        env = dict({"MCP_EXEC_TRANSPORT": transport, "MCP_EXEC_ADDR": addr}, **(env or {}))
        Server.__init__(self, env=env, **how)

    def listens(self, n=1):
        """[(address, kind)] of n listeners; more would be seen as well."""
        def found():
            if self.process.poll() is not None:
                raise AssertionError("it ended with %s: %r" % (self.process.returncode, self.stderr()))
            return [(a.decode(), k.decode()) for a, k in LINE.findall(self.stderr())]
        found_n = until(lambda: len(found()) >= n and found(), 15, "%d listeners" % n)
        equal(len(found_n), n, str(found_n))
        return found_n

    def end(self):
        if self.process.poll() is None:
            self.kill(signal.SIGTERM)
        return self.wait_exit(5)

    def __exit__(self, *_):
        try:
            self.end()
        except Timeout:
            pass
        Server.__exit__(self)


def refused(addr, env=None, through=(), transport="http"):
    """(exit code, what stderr says) of a server that does not start."""
    with Http(addr, env, transport, through=through) as s:
        code = s.wait_exit(15)
        text = s.stderr().decode()
    if code == 99:
        skip("no namespace can be had here")
    equal(text.count("mcp-exec: "), 1, "not one sentence: " + text)
    check(text.endswith(".\n"), "no sentence:", text)
    return code, text


def port_of(name):
    return int(name.rpartition(":")[2])


def connects(family, address):
    with socket.socket(family) as s:
        s.settimeout(5 * PATIENCE)
        s.connect(address)


def check_connects(name):
    if name.startswith("unix:"):
        connects(socket.AF_UNIX, name[5:])
    elif name.startswith("["):
        connects(socket.AF_INET6, (name[1:name.index("]")], port_of(name)))
    else:
        connects(socket.AF_INET, (name.rpartition(":")[0], port_of(name)))


# Addresses.

@case("http", "http")
@case("sse", "sse")
def test_a_free_port_is_told(transport):
    with Http("127.0.0.1:0", transport=transport) as s:
        (name, kind), = s.listens()
        equal((name.startswith("127.0.0.1:"), kind), (True, "loopback"))
        check(port_of(name) > 0, "no port", name)
        check_connects(name)
        check(b"event=http.unguarded" not in s.stderr(), "a warning", s.stderr())
        equal(s.end(), 0)


def test_an_ipv6_address():
    if not has_ipv6():
        skip("no IPv6 here")
    with Http("[::1]:0") as s:
        (name, kind), = s.listens()
        equal((name.startswith("[::1]:"), kind), (True, "loopback"))
        check_connects(name)


@case("localhost", "localhost")
@case("LOCALHOST", "LOCALHOST")
def test_localhost_is_both_with_one_port(host):
    with Http(host + ":0") as s:
        names = s.listens(2 if has_ipv6() else 1)
        equal(len(set(port_of(name) for name, _ in names)), 1, str(names))
        for name, kind in names:
            equal(kind, "loopback")
            check_connects(name)


def test_port_alone_is_every_address():
    with Http(":0", env={"MCP_EXEC_AUTH_TOKEN": "t0ken"}) as s:
        (name, kind), = s.listens()
        equal(kind, "open")
        connects(socket.AF_INET, ("127.0.0.1", port_of(name)))
        if has_ipv6():
            equal(name, ":%d" % port_of(name))
            connects(socket.AF_INET6, ("::1", port_of(name)))
        check(b"event=http.unguarded" not in s.stderr(), "a warning", s.stderr())


def test_ipv6_in_brackets_is_ipv6_alone():
    """So that it can stand beside 0.0.0.0 with the same port."""
    if not has_ipv6():
        skip("no IPv6 here")
    with Http("[::]:0", env={"MCP_EXEC_AUTH_TOKEN": "t0ken"}) as s:
        port = port_of(s.listens()[0][0])
        connects(socket.AF_INET6, ("::1", port))
        try:
            connects(socket.AF_INET, ("127.0.0.1", port))
        except ConnectionRefusedError:
            return
    raise AssertionError("IPv4 is served")


def test_several_listeners():
    with tempfile.TemporaryDirectory() as place:
        path = os.path.join(place, "socket")
        with Http(" 127.0.0.1:0,127.0.0.2:0 unix:%s, " % path) as s:
            names = s.listens(3)
            equal([kind for _, kind in names], ["loopback", "loopback", "unix"])
            for name, _ in names:
                check_connects(name)


def test_whom_everybody_can_reach_without_a_token_is_warned():
    with Http(":0 0.0.0.0:0 127.0.0.1:0") as s:
        names = [name for name, kind in s.listens(3) if kind == "open"]
        text = until(lambda: b"\nmcp-exec: " in s.stderr() and s.stderr().decode(), 5, "a sentence")
        for name in names:
            contains(text, 'level=warn event=http.unguarded addr="%s"\n' % name)
        equal((text.count("event=http.unguarded"), text.count("mcp-exec: ")), (2, 1))
        contains(text, "no token is set", "MCP_EXEC_AUTH_TOKEN")


def listeners_in_own_net(addr, **env):
    with Http(addr, env, through=prepared(OWN_NET)) as s:
        ended = lambda: s.process.poll() is not None
        until(lambda: ended() or b"event=http.listen" in s.stderr(), 15, "it listens")
        if ended() and s.process.returncode == 99:
            skip("no namespace can be had here")
        text = s.stderr()
        if b"has IPv6" in text and addr is None and not env:
            until(lambda: s.stderr().count(b"event=http.listen") == 2, 5, "two listeners")
        equal(s.end(), 0, str(s.stderr()))
        return b"has IPv6" in text, LINE.findall(s.stderr())


@case("not set", None)
@case("empty", "")
def test_default_without_a_token_is_loopback(addr):
    ipv6, names = listeners_in_own_net(addr or None)
    want = [(b"127.0.0.1:8080", b"loopback")] + [(b"[::1]:8080", b"loopback")] * ipv6
    equal(names, want)


@case("none", {}, b"none")
@case("credential of another name", {"CREDENTIALS_DIRECTORY": "other"}, b"none")
@case("credential", {"CREDENTIALS_DIRECTORY": "mcp-exec-auth-token"}, b"token")
@case("variable", {"MCP_EXEC_AUTH_TOKEN": "t0ken"}, b"token")
def test_log_says_whether_a_token_is_asked_for(env, want):
    """A credential whose name is misspelt is none: that must be seen where nobody is warned, on loopback."""
    with tempfile.TemporaryDirectory() as directory:
        if "CREDENTIALS_DIRECTORY" in env:
            with open(os.path.join(directory, env["CREDENTIALS_DIRECTORY"]), "w", encoding="ascii") as file:
                file.write("t0ken\n")
            env = {"CREDENTIALS_DIRECTORY": directory}
        with Http("127.0.0.1:0", env) as s:
            s.listens()
            contains(s.stderr().decode(), "kind=loopback auth=%s\n" % want.decode())


def test_default_with_a_token_is_every_address():
    ipv6, names = listeners_in_own_net(None, MCP_EXEC_AUTH_TOKEN="t0ken")
    equal(names, [(b":8080" if ipv6 else b"0.0.0.0:8080", b"open")])


def test_port_below_1024():
    """Root opens it, and is root no more when it serves; others are told what to do."""
    if ROOT:
        equal(listeners_in_own_net("127.0.0.1:80")[1], [(b"127.0.0.1:80", b"loopback")])
        return
    code, text = refused("127.0.0.1:80", through=prepared(OWN_NET))
    equal(code, NO_ADDRESS)
    contains(text, "127.0.0.1:80", "1024")


def test_address_of_another_machine():
    code, text = refused("198.51.100.1:8080", through=prepared(OWN_NET))
    equal(code, NO_ADDRESS)
    contains(text, "198.51.100.1:8080", "does not have that address")


def test_address_in_use():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        s.listen()
        name = "127.0.0.1:%d" % s.getsockname()[1]
        code, text = refused(name)
    equal(code, NO_ADDRESS)
    contains(text, name, "MCP_EXEC_ADDR", "in use")


def test_too_many_listeners():
    code, text = refused(" ".join(["127.0.0.1:0"] * 17))
    equal(code, BAD_CONFIG)
    contains(text, "16")
    with Http(" ".join(["127.0.0.1:0"] * 16)) as s:
        s.listens(16)


@cases([("bare port", "8080", "written :8080."), ("bare host", "localhost", "like localhost:8080."),
        ("bare IPv6", "::1:8080", "brackets"), ("URL", "http://localhost:8080", "no scheme"),
        ("relative path", "unix:run/s", "full path"), ("no address", " , ", "no address"),
        ("an empty scope", "[fe80::1%]:80", "IPv6 address"), ("no such interface", "[fe80::1%nosuch]:80", "nosuch"),
        ("the second of two", "127.0.0.1:0 :x", '":x"'), ("long path", "unix:/" + "p" * 107, "107")])
def test_wrong_address(addr, part):
    code, text = refused(addr)
    equal(code, BAD_CONFIG)
    contains(text, "MCP_EXEC_ADDR", part)


def test_whoever_is_told_that_it_listens_may_end_it():
    """A signal that comes with the line finds somebody who looks for signals."""
    for _ in range(20):
        with Http("127.0.0.1:0") as s:
            deadline = time.monotonic() + 15 * PATIENCE
            while b"event=http.listen" not in s.stderr() and time.monotonic() < deadline:
                pass
            equal(s.end(), 0, str(s.stderr()))


# Unix sockets.

class Place:
    """A directory for sockets, which the server's user may write to."""

    def __init__(self):
        self.name = tempfile.mkdtemp()
        os.chown(self.name, *service_ids())
        self.path = os.path.join(self.name, "socket")
        self.addr = "unix:" + self.path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.name)

    def stale(self, kind=socket.SOCK_STREAM):
        """A socket that nobody has open any more. Returns its inode."""
        with socket.socket(socket.AF_UNIX, kind) as s:
            s.bind(self.path)
        return os.lstat(self.path).st_ino


def test_unix_socket_is_for_user_and_group():
    with Place() as place:
        with Http(place.addr) as s:
            equal(s.listens(), [(place.addr, "unix")])
            status = os.lstat(place.path)
            equal((stat.S_ISSOCK(status.st_mode), oct(stat.S_IMODE(status.st_mode))), (True, oct(0o660)))
            equal((status.st_uid, status.st_gid), service_ids())
            check_connects(place.addr)
            equal(s.end(), 0)
        equal(os.listdir(place.name), [], "left behind:")


def test_an_odd_umask_does_not_open_the_unix_socket():
    with Place() as place, Http(place.addr, through=prepared("os.umask(0)")) as s:
        s.listens()
        equal(oct(stat.S_IMODE(os.lstat(place.path).st_mode)), oct(0o660))


def test_unix_socket_of_another_name():
    """Neither blanks nor commas, but whatever else."""
    with Place() as place:
        path = os.path.join(place.name, "s\u00f6:[x]'%n%s")
        with Http("unix:" + path) as s:
            s.listens()
            connects(socket.AF_UNIX, path)
            equal(s.end(), 0)
        equal(os.listdir(place.name), [])


@case("by a killed server", True)
@case("by another program", False)
def test_stale_socket_is_replaced(ours):
    with Place() as place:
        if ours:
            with Http(place.addr) as s:
                s.listens()
                s.kill(signal.SIGKILL)
                s.wait_exit(5)
        else:
            place.stale()
        check(stat.S_ISSOCK(os.lstat(place.path).st_mode), "nothing is left")
        with Http(place.addr) as s:
            s.listens()
            check_connects(place.addr)


def test_socket_that_answers_is_left_alone():
    with Place() as place, Http(place.addr) as s:
        s.listens()
        before = os.lstat(place.path)
        code, text = refused(place.addr)
        equal(code, NO_ADDRESS)
        contains(text, place.path, "another server listens there")
        equal(os.lstat(place.path)[:7], before[:7])   # all but its times
        check_connects(place.addr)


def test_socket_of_another_user_is_left_alone():
    if not ROOT:
        skip("only root can give a socket away")
    with Place() as place:
        inode = place.stale()
        os.chown(place.path, 12345, 12345)
        code, text = refused(place.addr)
        equal((code, os.lstat(place.path).st_ino), (NO_ADDRESS, inode))
        contains(text, place.path, "another user")


def make_link(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.bind(path + "2")
    os.symlink(path + "2", path)


@case("file", lambda path: open(path, "w").close())
@case("directory", os.mkdir)
@case("fifo", os.mkfifo)
@case("link to a stale socket", make_link)
@case("dangling link", lambda path: os.symlink(path + "2", path))
@case("link to a socket that answers", None)
def test_any_other_file_is_left_alone(make):
    with Place() as place, socket.socket(socket.AF_UNIX) as answering:
        if make is None:
            answering.bind(place.path + "2")
            answering.listen()
            os.symlink(place.path + "2", place.path)
        else:
            make(place.path)
        before, names = os.lstat(place.path), sorted(os.listdir(place.name))
        code, text = refused(place.addr)
        equal((code, os.lstat(place.path), sorted(os.listdir(place.name))), (NO_ADDRESS, before, names))
        contains(text, place.path, "no socket")


def test_datagram_socket_is_left_alone():
    with Place() as place, socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as s:
        s.bind(place.path)
        before = os.lstat(place.path)
        code, text = refused(place.addr)
        equal((code, os.lstat(place.path)), (NO_ADDRESS, before))
        contains(text, place.path)


def test_directory_that_is_not_there():
    code, text = refused("unix:/nonexistent/socket")
    equal(code, NO_ADDRESS)
    contains(text, "unix:/nonexistent/socket", "its directory is not there")


def test_socket_of_another_server_is_not_removed():
    """When somebody has put another one in its place meanwhile."""
    with Place() as place, Http(place.addr) as s:
        s.listens()
        os.rename(place.path, place.path + "2")
        inode = place.stale()
        equal(s.end(), 0)
        equal(os.lstat(place.path).st_ino, inode)


def test_a_start_that_fails_leaves_no_socket():
    with Place() as place:
        code, _ = refused(place.addr + " :x")
        equal((code, os.listdir(place.name)), (BAD_CONFIG, []))
        alone = shutil.copy(BINARY, place.name)
        with Http(place.addr, command=[alone]) as s:
            equal(s.wait_exit(15), NO_SANDBOX, str(s.stderr()))
        equal(os.listdir(place.name), [os.path.basename(alone)])


# Socket activation.

def test_sockets_of_systemd_are_taken():
    with Place() as place:
        sockets = "hand_over([inet(), local(%r), inet(), inet()])" % place.path
        with Http("127.0.0.1:1", through=handed(sockets)) as s:
            names = s.listens(4)
            equal([kind for _, kind in names], ["loopback", "unix", "loopback", "loopback"])
            equal(names[1][0], place.addr)
            for name, _ in names:
                check_connects(name)
            contains(s.stderr(), b"level=info event=config.addr_unused descriptors=4\n")
            equal(s.end(), 0)
        check(os.path.exists(place.path), "what systemd made was removed")


def test_an_abstract_socket():
    name = unique()
    with Http(through=handed("hand_over([local('\\0%s')])" % name)) as s:
        equal(s.listens(), [("unix:@" + name, "unix")])
        connects(socket.AF_UNIX, "\0" + name)
        check(b"config.addr_unused" not in s.stderr(), "a setting that is not there is unused", s.stderr())


def test_sockets_of_systemd_without_standard_descriptors():
    """What is opened in the place of the missing ones does not come between."""
    closed = "hand_over([inet(), inet()])\nos.close(0); os.close(1)"
    with Http(through=handed(closed)) as s:
        for name, _ in s.listens(2):
            check_connects(name)


def test_sockets_of_systemd_do_not_block_and_are_not_passed_on():
    if not ROOT:
        skip("only root may look")
    with Http(through=handed("hand_over([inet()])")) as s:
        s.listens()
        with open("/proc/%d/fdinfo/3" % s.pid) as file:
            flags = int(re.search(r"flags:\s+(\d+)", file.read()).group(1), 8)
        equal((flags & os.O_NONBLOCK, flags & os.O_CLOEXEC), (os.O_NONBLOCK, os.O_CLOEXEC))


@cases([("datagram", "hand_over([inet(kind=socket.SOCK_DGRAM, listen=False)])", "Descriptor 3", "stream"),
        ("not listening", "hand_over([inet(listen=False)])", "Descriptor 3", "does not listen"),
        ("connected", "a, b = socket.socketpair(); hand_over([a])", "Descriptor 3", "Accept=no"),
        ("the second of two", "hand_over([inet(), os.pipe()[0]])", "Descriptor 4", "no socket"),
        ("a file", "hand_over([os.open('/dev/null', os.O_RDONLY)])", "Descriptor 3", "no socket"),
        ("one too few", "hand_over([inet()], count=2)", "Descriptor 4", ""),
        ("none of all", "hand_over([], count=1)", "Descriptor 3", ""),
        ("too many", "hand_over([inet()], count=17)", "LISTEN_FDS", "16"),
        ("a huge number", "hand_over([inet()], count='99999999999999999999')", "LISTEN_FDS", "16"),
        ("no number", "hand_over([inet()], count='1x')", "LISTEN_FDS", "16")])
def test_sockets_that_cannot_be_served(sockets, *parts):
    code, text = refused("127.0.0.1:0", through=handed(sockets))
    equal(code, BAD_CONFIG)
    contains(text, *parts)


@cases([("another pid", "hand_over([inet()], pid=os.getpid() + 1)"), ("no pid", "hand_over([inet()], pid='')"),
        ("none", "hand_over([], count=0)")])
def test_sockets_that_were_meant_for_another(sockets):
    with Http("127.0.0.2:0", through=handed(sockets)) as s:
        contains(s.listens()[0][0], "127.0.0.2:")
        check(b"config.addr_unused" not in s.stderr(), "unused", s.stderr())


def test_stdio_closes_sockets_of_systemd():
    with Place() as place, Server(through=handed("hand_over([local(%r)])" % place.path)) as s:
        equal(ran(s.exec("print(1)"))["stdout"], "1\n")
        try:
            check_connects(place.addr)
        except ConnectionRefusedError:
            return
        raise AssertionError("the socket is open")


# The token.

class Token:
    """A file with a token, which only its owner may read."""

    def __init__(self, text):
        self.text = text

    def __enter__(self):
        fd, self.path = tempfile.mkstemp()
        with os.fdopen(fd, "w") as file:
            file.write(self.text)
        return self.path

    def __exit__(self, *_):
        os.unlink(self.path)


def opens_all(env, through=(), **how):
    """Whether a server on every address was started without a warning: so it has a token."""
    with Http(":0", env, through=through, **how) as s:
        s.listens()
        equal(s.end(), 0)
        return b"http.unguarded" not in s.stderr()


@case("plain", "t0ken")
@case("newline", "t0ken\n")
@case("newline of Windows", "t0ken\r\n")
def test_token_of_a_file(text):
    """Read before the change of user."""
    with Token(text) as path:
        check(opens_all({"MCP_EXEC_AUTH_TOKEN_FILE": path}), "no token")
        check(opens_all({}, args=["--auth-token-file", path]), "no token")


def test_empty_variables_are_no_token():
    check(not opens_all({"MCP_EXEC_AUTH_TOKEN": "", "MCP_EXEC_AUTH_TOKEN_FILE": ""}), "a token")


def test_token_of_a_descriptor():
    """A shell's <(command) is one."""
    pipe = "r, w = os.pipe(); os.write(w, b't0ken\\n'); os.dup2(r, 60); os.close(w)"
    check(opens_all({"MCP_EXEC_AUTH_TOKEN_FILE": "/dev/fd/60"}, through=prepared(pipe)), "no token")


@case("the default", "mcp-exec-auth-token", None)
@case("by name", "other", "other")
def test_token_of_a_credential(file, setting):
    with tempfile.TemporaryDirectory() as place:
        env = {"CREDENTIALS_DIRECTORY": place, "MCP_EXEC_AUTH_TOKEN_FILE": setting}
        if setting is None:
            check(not opens_all(env), "a token")
        else:
            equal(refused(":0", env)[0], BAD_CONFIG)
        with open(os.path.join(place, file), "w") as out:
            out.write("t0ken\n")
        check(opens_all(env), "no token")


@cases([("missing", "/nonexistent/token", "/nonexistent/token"), ("directory", "/tmp", "directory"),
        ("empty", "/dev/null", "empty"), ("endless", "/dev/zero", "4095"),
        ("name without credentials", "s3cret", "CREDENTIALS_DIRECTORY")])
def test_file_without_a_token(path, part):
    code, text = refused("127.0.0.1:0", {"MCP_EXEC_AUTH_TOKEN_FILE": path, "CREDENTIALS_DIRECTORY": None})
    equal(code, BAD_CONFIG)
    contains(text, "MCP_EXEC_AUTH_TOKEN_FILE", part)
    check("s3cret" not in text, "shown:", text)


@cases([("blank", "s3cret s3cret"), ("not ASCII", "s3cr\u00e9t"), ("two newlines", "s3cret\n\n"),
        ("newline alone", "\n"), ("too long", "s3cret" * 700)])
def test_doubtful_token(token):
    with Token(token) as path:
        for env in ({"MCP_EXEC_AUTH_TOKEN": token}, {"MCP_EXEC_AUTH_TOKEN_FILE": path}):
            code, text = refused("127.0.0.1:0", env)
            equal(code, BAD_CONFIG)
            contains(text, next(iter(env)))
            check("s3cr" not in text, "shown:", text)


def test_unreadable_file():
    if ROOT:
        skip("root can read every file")
    with Token("t0ken") as path:
        os.chmod(path, 0)
        code, text = refused("127.0.0.1:0", {"MCP_EXEC_AUTH_TOKEN_FILE": path})
    equal(code, BAD_CONFIG)
    contains(text, path, "Permission denied")


def test_variable_and_file_together():
    with Token("t0ken") as path:
        code, text = refused("127.0.0.1:0", {"MCP_EXEC_AUTH_TOKEN": "t0ken", "MCP_EXEC_AUTH_TOKEN_FILE": path})
    equal(code, BAD_CONFIG)
    contains(text, "both set")
    check("t0ken" not in text, "shown:", text)


@case("serving stdio", None)
@case("run over http's settings", "http")
def test_what_listens_nowhere_reads_none_of_it(transport):
    env = {"MCP_EXEC_AUTH_TOKEN": "a b", "MCP_EXEC_AUTH_TOKEN_FILE": "/nonexistent/token", "MCP_EXEC_ADDR": "8080",
           "MCP_EXEC_ALLOWED_ORIGINS": "?", "MCP_EXEC_ALLOWED_HOSTS": "?", "MCP_EXEC_TRANSPORT": transport}
    if transport:
        equal(run(["run", "-"], input=b"print(1)", env=env), (0, b"1\n", b""))
        return
    with Server(env=env) as s:
        equal(ran(s.exec("print(1)"))["stdout"], "1\n")
        check(b"config." not in s.stderr(), "complaints", s.stderr())


def test_token_is_not_to_be_seen():
    word = unique("canary")
    with Token(word + "\n") as path:
        for env in ({"MCP_EXEC_AUTH_TOKEN": word}, {"MCP_EXEC_AUTH_TOKEN_FILE": path}):
            with Http("127.0.0.1:0", dict(env, MCP_EXEC_LOG_LEVEL="debug")) as s:
                s.listens()
                for name in ("cmdline", "environ"):
                    try:
                        with open("/proc/%d/%s" % (s.pid, name), "rb") as file:
                            check(word.encode() not in file.read(), "seen in " + name)
                    except PermissionError:
                        pass
                check(word.encode() not in s.stderr(), "in the log")


# Open files.

def test_connections_within_the_limit_on_descriptors():
    limit = prepared("import resource; resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))")
    with Http("127.0.0.1:0", through=limit) as s:
        s.listens()
        contains(s.stderr(), b"event=config.queue_lowered max_queue=4 open_files=64\n",
                 b"event=config.connections_lowered max_connections=8 open_files=64\n")


if __name__ == "__main__":
    main()
