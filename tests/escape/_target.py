"""Where the cases are sent: a target runs programs, takes raw requests, and says what else it can give.

A case that needs what its target does not offer is not applicable there, and is reported so by name.

    exec      runs programs and returns structured results; every target does
    raw       takes any bytes as a message
    second    another instance can be had beside the first
    host      the case can make things on the server's machine: files, listeners
    environment   an instance can be started with these variables
    start     an instance can be started by another program, or in another directory
    processes the processes of the server can be looked at
    listens   the server is reached by an address
    streamable    it speaks Streamable HTTP
    stream    it speaks the older transport, with a stream of answers
    proc      runs have a /proc, which a container may refuse; found out by asking
"""
import os
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import warm  # noqa: E402
from mcp import BINARY, PATIENCE, Server, Timeout, descendants, unique  # noqa: E402
from web import HttpClient, HttpServer, SseServer  # noqa: E402

# After a case that has cost the machine much the worker pauses before it makes another interpreter.
WARM_AGAIN_S = 10
OFFERS = ("exec", "raw", "second", "host", "environment", "start", "processes")


class Broken(Exception):
    """There is no outcome to judge: no answer, or one of another shape."""


def structured(result):
    """The structured result of a run, or of what should have been one."""
    if not isinstance(result, dict) or result.get("isError") is not False or "structuredContent" not in result:
        raise Broken("no run: %.600r" % (result,))
    return result["structuredContent"]


class Stdio:
    """The server as a child, over its pipes. command: what starts it instead of the binary, perhaps elsewhere. warm:
    the setting with which it starts programs, or None for its own."""

    name, starts = "stdio", Server

    def __init__(self, command=None, offers=OFFERS, warm=None):
        self.command, self.offers, self.warm = command, frozenset(offers), warm
        self._servers, self._proc, self._seen = {}, None, []

    def instance(self, env=None, **more):
        """Another server, for `with`."""
        own = {} if self.warm is None else {"MCP_EXEC_WARM": self.warm}
        if self.command:
            more["command"] = self.command
        return self.starts(env=dict(own, **env or {}), **more)

    def seen(self):
        """How the programs of call() were started since this was asked before."""
        seen, self._seen = self._seen, []
        return seen

    def server(self, env=None):
        """The server with these variables; a new one when a case has ended it."""
        key = tuple(sorted((env or {}).items()))
        if key in self._servers and self._servers[key].process.poll() is not None:
            self._servers.pop(key).__exit__()
        if key not in self._servers:
            self._servers[key] = self.instance(env)
            self._servers[key].initialize()
            self._warm_up(self._servers[key])
        return self._servers[key]

    def _warm_up(self, s):
        """A case that is about programs that start warm shows nothing before there is what they start from."""
        if self.warm == "1" and warm.known() and not s.exec("pass").get("isError"):
            try:
                warm.warmed(s, timeout=10)
            except Timeout as error:
                raise Broken("programs are never warm: %s" % error)

    def lacks(self, needs):
        """What of this the target does not offer."""
        if "proc" in needs and self._proc is None:
            self._proc = self.exec("import os; print(os.path.exists('/proc/self/status'))")["stdout"] == "True\n"
        return sorted(need for need in needs if need not in self.offers and not (need == "proc" and self._proc))

    def call(self, code, env=None, wait=20, **arguments):
        """Runs a program and returns the whole result of the tool."""
        s = self.server(env)
        deadline = time.monotonic() + WARM_AGAIN_S * PATIENCE
        while True:
            response = s.answer(s.start_exec(code, **arguments), wait)
            if "result" not in response:
                raise Broken("the call gave %.300r" % response)
            if self._is_as_wanted(response["result"]):
                return response["result"]
            if time.monotonic() > deadline:
                raise Broken("the program was started cold, time and again, and never warm")
            time.sleep(0.1)

    def _is_as_wanted(self, result):
        if warm.RUN_META not in result.get("_meta", {}):
            return True
        self._seen.append(warm.start_of(result))
        return self.warm != "1" or not warm.known() or self._seen[-1] != warm.COLD

    def exec(self, code, **more):
        """Runs a program and returns its structured result."""
        return structured(self.call(code, **more))

    def request(self, raw, timeout=20):
        """Sends one line of any bytes and returns the next message."""
        s = self.server()
        s.send_raw(raw + b"\n")
        return s.recv(timeout)

    def command_line(self, args):
        """How to start the server with these arguments."""
        return list(self.command or [BINARY]) + list(args)

    def settle(self):
        """After a case: what is wrong with a server that was used, or None. Such a server is not used again."""
        wrong = None
        for key, s in list(self._servers.items()):
            try:
                answer = s.request("ping", id=unique("settle"), timeout=10)
                fault = "unexpected messages: %.300r" % s.inbox if s.inbox else None
                if answer.get("result") != {}:
                    fault = "ping gave %.300r" % answer
            except (AssertionError, OSError) as error:
                fault = "the server is gone or mute: %s" % error
            if fault:
                wrong = fault
                self._servers.pop(key).kill()
        return wrong

    def close(self):
        for s in self._servers.values():
            s.__exit__()
        self._servers = {}


class Http(Stdio):
    """The server at an address on loopback. A raw message is the body of a request."""

    name, starts, speaks = "http", HttpServer, "streamable"

    def __init__(self, warm=None):
        super().__init__(None, set(OFFERS) - {"start"} | {"listens", self.speaks}, warm)

    def request(self, raw, timeout=20):
        s = self.server()
        return s.response(s.post(raw, timeout=timeout), timeout)


class Sse(Http):
    """The same over the older transport: what is accepted is answered on the stream, and what is refused at once."""

    name, starts, speaks = "sse", SseServer, "stream"

    def request(self, raw, timeout=20):
        s = self.server()
        reply = s.post(raw, timeout=timeout)
        return s.recv(timeout) if reply.status == 202 else reply.json()


class Elsewhere(Http):
    """A server that others have started, at an address: a client may try what a client can, and see what it is told."""

    name = "url"

    def __init__(self, address, token):
        super().__init__()
        self.address, self.token, self.offers = address, token, frozenset(("exec",))

    def server(self, env=None):
        if not self._servers:
            auth = [("Authorization", "Bearer " + self.token)] if self.token else []
            self._servers[()] = HttpClient(self.address, auth=auth)
            self._servers[()].initialize()
        return self._servers[()]

    def settle(self):
        """What is wrong with the server is seen by the next case too, which has no other."""
        try:
            answer = self.server().request("ping", id=unique("settle"), timeout=10)
            # A client that keeps hundreds of connections is what the server lets go first.
            self.server().close()
            return None if answer.get("result") == {} else "ping gave %.300r" % answer
        except (AssertionError, OSError) as error:
            self.close()
            return "the server is gone or mute: %s" % error


TARGETS = {target.name: target for target in (Stdio, Http, Sse)}


def below(s):
    """The processes below a server, as far as they live."""
    return descendants(s.pid)


def at_rest(s):
    """Whether below a server there is its worker, and below that only what waits for the next programs."""
    return warm.Below(s.worker()).at_rest()
