#!/usr/bin/env python3
"""Shows mcp-exec at work: starts it as an MCP client does, over stdio, calls its tool once and prints both sides.

usage: demo.py [PATH-OF-MCP-EXEC]

Exits non-zero when anything is not as it should be. Standard library only.
"""
import json
import os
import select
import subprocess
import sys
import time

WAIT_S = 30
PROGRAM = """\
import os, platform, socket
print("Hello from Python", platform.python_version(), "as user", os.getuid(), "in", os.getcwd())
print("files here:", os.listdir("."))
try:
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(("192.0.2.1", 9))
    print("there is a way out to the network")
except OSError as error:
    print("no network:", error.strerror)
"""


class Failure(Exception):
    """Something is not as it should be; the text says what."""


def paint(code, text):
    return "\033[%sm%s\033[0m" % (code, text) if sys.stdout.isatty() else text


def show(arrow, message):
    """One message on one line, cut to what a person wants to see of it."""
    text = json.dumps(message, ensure_ascii=False)
    print(paint("36" if arrow == "->" else "32", arrow), text if len(text) <= 160 else text[:157] + "...")


class Client:
    def __init__(self, binary):
        env = dict({"MCP_EXEC_LOG_LEVEL": "warn"}, **os.environ)
        self.server = subprocess.Popen([binary], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env)
        self.last_id, self.rest = 0, b""

    def _send(self, message):
        show("->", message)
        try:
            self.server.stdin.write(json.dumps(message).encode() + b"\n")
            self.server.stdin.flush()
        except BrokenPipeError:
            raise Failure("the server has ended with exit code %s" % self.server.wait(WAIT_S))

    def _receive(self):
        deadline = time.monotonic() + WAIT_S
        out = self.server.stdout.fileno()
        while b"\n" not in self.rest:
            if not select.select([out], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Failure("no answer within %d seconds" % WAIT_S)
            data = os.read(out, 65536)
            if not data:
                raise Failure("the server closed its output")
            self.rest += data
        line, self.rest = self.rest.split(b"\n", 1)
        return json.loads(line)

    def notify(self, method):
        self._send({"jsonrpc": "2.0", "method": method})

    def ask(self, method, params):
        """The result of a request."""
        self.last_id += 1
        self._send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        answer = self._receive()
        show("<-", answer)
        if answer.get("id") != self.last_id or "result" not in answer:
            raise Failure("%s was not answered with a result" % method)
        return answer["result"]

    def close(self):
        self.server.stdin.close()
        return self.server.wait(WAIT_S)


def check(holds, what):
    if not holds:
        raise Failure(what)


def converse(client):
    print("Who are you?")
    about = client.ask("initialize", {"protocolVersion": "2025-11-25", "capabilities": {},
                                      "clientInfo": {"name": "demo", "version": "1"}})
    check(about["serverInfo"]["name"] == "mcp-exec", "the server has another name")
    client.notify("notifications/initialized")

    print("\nWhat can you do?")
    tools = client.ask("tools/list", {})["tools"]
    check([tool["name"] for tool in tools] == ["exec"], "there is another tool than exec")

    print("\nRun this program:")
    print("\n".join("   | " + line for line in PROGRAM.splitlines()))
    result = client.ask("tools/call", {"name": "exec", "arguments": {"code": PROGRAM}})
    check(not result.get("isError"), result["content"][0]["text"])
    run = result["structuredContent"]
    print("\nIt ended with exit code %s after %s ms and printed:" % (run["exit_code"], run["duration_ms"]))
    print("\n".join("   | " + line for line in (run["stdout"] + run["stderr"]).splitlines()))
    check(run["exit_code"] == 0, "the program did not end with exit code 0")
    check("Hello from Python 3" in run["stdout"] and "no network" in run["stdout"], "it printed something else")
    check("['main.py']" in run["stdout"], "its directory holds more than main.py")


def main():
    binary = sys.argv[1] if len(sys.argv) > 1 else "build/bin/mcp-exec"
    try:
        client = Client(binary)
        try:
            converse(client)
        finally:
            code = client.close()
        check(code == 0, "the server ended with exit code %d" % code)
    except (Failure, OSError, subprocess.TimeoutExpired, ValueError, KeyError, IndexError) as problem:
        print(paint("31", "\nThis is not as it should be: %s" % (problem if str(problem) else type(problem).__name__)))
        print("`%s check` says what is missing here." % binary)
        return 1
    print("\nAll is well. Next: `%s check` says what protects a run on this machine; README.md shows how to add the"
          " server to your MCP client." % binary)
    return 0


if __name__ == "__main__":
    sys.exit(main())
