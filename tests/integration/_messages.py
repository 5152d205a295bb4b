"""What the tests of the protocol share: messages as text, and what an answer must look like."""
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import Server, check, contains, equal

PARSE, REQUEST, METHOD, PARAMS, VERSION = -32700, -32600, -32601, -32602, -32022
ANY = object()
LEGACY = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]
# What this machine may add to a time that the contract bounds.
SLACK_S = 0.4
# A program that takes a while, and what it prints then.
SLEEP = "import time; time.sleep(%s); print(%r)"

_shared = None


def shared():
    """One server for the tables, that never saw initialize; a new one when a test has failed and left it in doubt."""
    global _shared
    if _shared is not None:
        try:
            still_there(_shared)
            return _shared
        except (AssertionError, OSError):
            _shared.kill()
    _shared = Server()
    return _shared


def request(method, params=None, id=1, **more):
    message = dict({"jsonrpc": "2.0", "id": id, "method": method}, **more)
    if params is not None:
        message["params"] = params
    return json.dumps(message)


def call(arguments, id=1, name="exec"):
    return request("tools/call", {"name": name, "arguments": arguments}, id)


def raw_call(arguments):
    """A call whose arguments are given as JSON text, right or wrong."""
    return '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"exec","arguments":%s}}' % arguments


def is_in(value, wanted):
    return wanted is ANY or value == wanted or isinstance(wanted, tuple) and value in wanted


def check_error(message, code, id):
    check("error" in message, "no error:", message)
    check(is_in(message["error"]["code"], code), "code is not %r:" % (code,), message)
    check(is_in(message.get("id", "absent"), id), "id is not %r:" % (id,), message)
    equal(message["jsonrpc"], "2.0")
    check(isinstance(message["error"]["message"], str) and message["error"]["message"], "no sentence", message)


def still_there(s):
    """The server answers the next line, and nothing else was in the pipe."""
    equal(s.request("ping", id="still there"), {"jsonrpc": "2.0", "id": "still there", "result": {}})
    equal(s.inbox, [])


def tool_error(result, *words):
    """Checks a result with isError, and returns its text."""
    equal(result.get("isError"), True, str(result)[:300])
    # SDK v1 validates structuredContent even on an error, so there must be none.
    check("structuredContent" not in result, "structured content on an error:", result)
    text = result["content"][0]["text"]
    contains(text, *words)
    return text


def ran(result):
    """Checks a result without isError, and returns its structured content."""
    equal(result.get("isError"), False, str(result)[:300])
    return result["structuredContent"]


# Ready-made messages and questions.

def init(version, **more):
    return request("initialize", dict({"protocolVersion": version}, **more))


def the_tool(s, **params):
    result = s.request("tools/list", params)["result"]
    check("nextCursor" not in result, "a next page of one tool")
    tools = result["tools"]
    equal([t["name"] for t in tools], ["exec"])
    return tools[0]


def peak_kib(pid, name="VmHWM"):
    with open("/proc/%d/status" % pid) as file:
        return int(next(line for line in file if line.startswith(name)).split()[1])
