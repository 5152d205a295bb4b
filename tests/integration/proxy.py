#!/usr/bin/env python3
"""nginx in front, with the configuration that we recommend: streams, cancellation, large bodies and replicas."""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import (PATIENCE, ROOT, case, check, equal, main, named, named_program, skip, unique, until, within)
from web import HttpClient, HttpServer, SseClient, SseServer

CONFIGURATION = os.path.join(ROOT, "packaging", "nginx", "mcp-exec.conf")
NAME = "mcp.example.com"
HOSTS = {"MCP_EXEC_ALLOWED_HOSTS": NAME}
# What an installation has elsewhere. All that nginx writes stays below the directory of the test.
AROUND = """
daemon off;
worker_processes 1;
pid %(folder)s/pid;
error_log stderr warn;
events { worker_connections 256; }
http {
	access_log off;
	client_body_temp_path %(folder)s/body;
	proxy_temp_path %(folder)s/proxy;
	fastcgi_temp_path %(folder)s/fastcgi;
	uwsgi_temp_path %(folder)s/uwsgi;
	scgi_temp_path %(folder)s/scgi;
	include %(folder)s/mcp-exec.conf;
}
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def replaced(text, pattern, by):
    text, count = re.subn(pattern, lambda _: by, text, flags=re.M)
    equal(count, 1, "lines like %r in the configuration" % pattern)
    return text


class Nginx:
    """nginx with our configuration, in which only ports and the certificate are replaced; sticky: with its ip_hash."""

    def __init__(self, *servers, sticky=False):
        program = shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin:/usr/local/sbin")
        if not program:
            skip("needs nginx")
        self.folder = tempfile.mkdtemp(prefix="mcp-exec-nginx-")
        os.chmod(self.folder, 0o755)  # started as root, its workers are somebody else
        self.address = ("127.0.0.1", free_port())
        with open(CONFIGURATION) as file:
            text = file.read()
        text = replaced(text, r"^\tserver 127\.0\.0\.1:8080;$",
                        "\n".join("\tserver %s:%d;" % s.address for s in servers))
        text = replaced(text, r"^\tlisten 443 ssl;$", "\tlisten %s:%d;" % self.address)
        text = replaced(text, r"^\tssl_certificate \S+;$", "")
        text = replaced(text, r"^\tssl_certificate_key \S+;$", "")
        if sticky:
            text = replaced(text, r"^\t#ip_hash;$", "\tip_hash;")
        for name, content in (("mcp-exec.conf", text), ("nginx.conf", AROUND % {"folder": self.folder})):
            with open(os.path.join(self.folder, name), "w") as file:
                file.write(content)
        self.log = open(os.path.join(self.folder, "log"), "w+b")
        self.process = subprocess.Popen([program, "-e", "stderr", "-c", self.folder + "/nginx.conf", "-p", self.folder],
                                        stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        try:
            until(self._listens, 10, "nginx listens")
        except AssertionError as error:
            self.__exit__()
            raise AssertionError("%s: %s" % (error, self.said))

    def _listens(self):
        if self.process.poll() is not None:
            raise AssertionError("nginx ended with exit code %d" % self.process.returncode)
        with socket.socket() as s:
            return s.connect_ex(self.address) == 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(5 * PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(5)
        self.log.seek(0)
        self.said = self.log.read()[-2000:]
        self.log.close()
        shutil.rmtree(self.folder)

    def client(self, kind=HttpClient, host=NAME, **more):
        return kind(self.address, host=host, **more)


ERAS = (("legacy", "legacy"), ("modern", "modern"))
SHORT = "import time; time.sleep(2.5); print('done')"


def check_stream(client, name):
    """Progress arrives while the program runs, and not with the answer."""
    call = client.start_exec(named_program(name, SHORT), meta={"progressToken": "p"})
    until(lambda: named(name), 10, "the program runs")
    reply = client._asked.pop(call).reply()
    equal((reply.status, reply.type), (200, "text/event-stream"))
    first = reply.event()
    check(named(name), "the first event came when the program had ended:", first)
    equal(first.json()["method"], "notifications/progress")
    rest = [item for item in reply.events() if item.comment is None]
    within(rest[-1].at - first.at, 0.5, 5)
    equal(rest[-1].json()["result"]["structuredContent"]["stdout"], "done\n")


@case(*ERAS[0])
@case(*ERAS[1])
def test_events_arrive_one_by_one(era):
    with HttpServer(env=HOSTS) as s, Nginx(s) as nginx, nginx.client(era=era) as client:
        client.initialize()
        check_stream(client, unique())


def test_a_call_without_events():
    """A client that takes only JSON gets the answer when the program has ended, with a length or in chunks."""
    with HttpServer(env=HOSTS) as s, Nginx(s) as nginx, nginx.client(era="modern") as client:
        reply = client.post({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "exec", "arguments": {"code": SHORT}}}, [("Accept", "application/json")])
        equal((reply.status, reply.type), (200, "application/json"))
        equal(reply.json()["result"]["structuredContent"]["stdout"], "done\n")


@case("events", "application/json, text/event-stream")
@case("plain JSON", "application/json")
def test_a_dropped_connection_cancels(accept):
    with HttpServer(env=HOSTS) as s, Nginx(s) as nginx, nginx.client(era="modern") as client:
        name = unique()
        connection = client.begin({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
            "name": "exec", "arguments": {"code": named_program(name)}}}, [("Accept", accept)])
        until(lambda: named(name), 10, "the program runs")
        connection.close()
        until(lambda: not named(name), 3, "the program is dead")
        equal(client.exec("print(1)")["structuredContent"]["stdout"], "1\n")


def test_a_cancelled_call_of_a_session():
    with HttpServer(env=HOSTS) as s, Nginx(s) as nginx, nginx.client() as client:
        client.initialize()
        name = unique()
        call = client.start_exec(named_program(name))
        until(lambda: named(name), 10, "the program runs")
        client.cancel(call)
        until(lambda: not named(name), 3, "the program is dead")
        equal(client.exec("print(1)")["structuredContent"]["stdout"], "1\n")


def test_a_session_of_sse():
    with SseServer(env=HOSTS) as s, Nginx(s) as nginx, nginx.client(SseClient) as client:
        client.initialize()
        equal(client.exec("print(1)")["structuredContent"]["stdout"], "1\n")
        name = unique()
        call = client.start_exec(named_program(name, SHORT), meta={"progressToken": "p"})
        first = client.recv()
        equal(first["method"], "notifications/progress")
        check(named(name), "the first event came when the program had ended:", first)
        equal(client.answer(call)["result"]["structuredContent"]["stdout"], "done\n")
        client.start_exec(named_program(name))
        until(lambda: named(name), 10, "the program runs")
        client.stream.connection.close()
        until(lambda: not named(name), 3, "the program is dead when its session is gone")


def test_large_bodies():
    """The largest code, in the longest form that JSON has for it; one byte more than nginx lets pass is its own 413."""
    with HttpServer(env=HOSTS) as s, Nginx(s) as nginx, nginx.client(era="modern") as client:
        code = "print(1) #" + "\x01" * (4194304 - 10)
        equal(client.exec(code, wait=60)["structuredContent"]["stdout"], "1\n")
        equal(client.http("POST", body=b" " * ((31 << 20) + 1), timeout=60).status, 413)


def test_the_token_passes():
    env = dict(HOSTS, MCP_EXEC_AUTH_TOKEN="right")
    with HttpServer(env=env) as s, Nginx(s) as nginx:
        for auth, status in (([], 401), ([("X-MCP-AUTH", "wrong")], 401), ([("X-MCP-AUTH", "right")], 200),
                             ([("Authorization", "Bearer right")], 200)):
            with nginx.client(auth=auth) as client:
                reply = client.post({"jsonrpc": "2.0", "id": 1, "method": "ping"})
                equal(reply.status, status, repr(auth))
                if status == 401:
                    check(reply.get("WWW-Authenticate").startswith("Bearer "), "no challenge", reply.fields)


def test_names_of_the_proxy():
    """Host as a client sent it, and the Origin of a page of that name; a page of another one is refused."""
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    env = dict(HOSTS, MCP_EXEC_ALLOWED_ORIGINS="https://" + NAME)
    with HttpServer(env=env) as s, Nginx(s) as nginx:
        for host, origin, status in ((NAME, None, 200), (NAME, "https://" + NAME, 200), ("localhost", None, 200),
                                     (NAME, "https://evil.example", 403), ("evil.example", None, 403)):
            with nginx.client(host=host) as client:
                equal(client.post(ping, [("Origin", origin)]).status, status, "%s %s" % (host, origin))
    with HttpServer() as s, Nginx(s) as nginx, nginx.client() as client:
        equal(client.post(ping).status, 403, "a name that was not allowed")


def served(s):
    return len(re.findall(rb"event=exec\.done", s.stderr()))


def test_replicas_need_no_stickiness_in_the_modern_era():
    with HttpServer(env=HOSTS) as one, HttpServer(env=HOSTS) as two, Nginx(one, two) as nginx:
        with nginx.client(era="modern") as client:
            for i in range(8):
                equal(client.exec("print(%d)" % i)["structuredContent"]["stdout"], "%d\n" % i)
            check(served(one) >= 2 and served(two) >= 2, "not both have served:", served(one), served(two))
            # A replica that ends is missed by nobody.
            one.kill(signal.SIGTERM)
            equal(one.wait_exit(), 0)
            for i in range(4):
                equal(client.exec("print(%d)" % i)["structuredContent"]["stdout"], "%d\n" % i)


def test_replicas_with_sessions():
    with HttpServer(env=HOSTS) as one, HttpServer(env=HOSTS) as two:
        with Nginx(one, two, sticky=True) as nginx, nginx.client() as client:
            client.initialize()
            for i in range(4):
                equal(client.exec("print(%d)" % i)["structuredContent"]["stdout"], "%d\n" % i)
        # Without it the other replica does not know the session, and says so in the way that makes a client start anew.
        with Nginx(one, two) as nginx, nginx.client() as client:
            client.session = one.session = two.session = None
            reply = client.post({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}})
            client.session = reply.get("Mcp-Session-Id")
            equal(sorted({client.post({"jsonrpc": "2.0", "id": i, "method": "ping"}).status for i in range(4)}),
                  [200, 404])


def test_connections_are_kept():
    """Many requests one after the other on one connection: none meets one behind nginx that is just being closed."""
    with HttpServer(env=HOSTS) as s, Nginx(s) as nginx, nginx.client(era="modern") as client:
        connection = client.connect()
        start = time.monotonic()
        for i in range(200):
            reply = client.post({"jsonrpc": "2.0", "id": i, "method": "tools/list"}, connection=connection)
            equal((reply.status, reply.json()["id"]), (200, i))
        within(time.monotonic() - start, 0, 20)


main()
