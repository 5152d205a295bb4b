"""What the tests over HTTP share: one server for tables, and what an answer must look like."""
import atexit
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import CAPABILITIES_KEY, LATEST, MODERN, VERSION_KEY, check, equal, named, named_program, unique, until
from web import HttpClient, HttpServer

PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
MISMATCH, UNSUPPORTED, TRANSPORT, NO_SESSION = -32020, -32022, -32000, -32001
JSON_ONLY = [("Accept", "application/json")]

_shared = None


def shared():
    """One server for the tables; a new one when a test has ended it."""
    global _shared
    if _shared is None or _shared.process.poll() is not None:
        _shared = HttpServer()
    return _shared


def end_shared():
    """Ends it, and checks its exit code: for the last test of a file."""
    global _shared
    server, _shared = _shared, None
    if server:
        server.__exit__()


atexit.register(lambda: _shared and _shared.process.kill())


def message(method, params=None, id=1):
    """A request; without an id a notification."""
    found = {"jsonrpc": "2.0", "method": method}
    if id is not None:
        found["id"] = id
    return found if params is None else dict(found, params=params)


def call(code, id=1, meta=None, **arguments):
    params = {"name": "exec", "arguments": dict({"code": code}, **arguments)}
    return message("tools/call", params if meta is None else dict(params, _meta=meta), id)


def initialize(version=LATEST, id=1):
    return message("initialize", {"protocolVersion": version, "capabilities": {},
                                  "clientInfo": {"name": "x", "version": "1"}}, id)


def meta(version=MODERN, **more):
    """A claim, with members of it replaced: None leaves one out. Names are short: capabilities, client, level."""
    keys = {"capabilities": CAPABILITIES_KEY, "client": "io.modelcontextprotocol/clientInfo",
            "level": "io.modelcontextprotocol/logLevel"}
    found = {VERSION_KEY: version, CAPABILITIES_KEY: {}}
    found.update({keys[name]: value for name, value in more.items()})
    return {key: value for key, value in found.items() if value is not None}


def outcome(reply):
    """(status, code of the error or None for a result, id). An answer without a body has "nothing" for both."""
    if reply.type != "text/event-stream" and not reply.body():
        return reply.status, "nothing", "nothing"
    found = HttpClient(None).response(reply)
    equal(found["jsonrpc"], "2.0")
    check(("error" in found) != ("result" in found), "neither or both:", found)
    if "error" in found:
        text = found["error"]["message"]
        check(isinstance(text, str) and text, "no sentence:", found)
    return reply.status, found.get("error", {}).get("code"), found.get("id", "absent")


def is_running(name):
    return bool(named(name))


def runs(client, code="import time; time.sleep(60)", id=1, headers=(), meta=None, **arguments):
    """Begins a call and waits until its program runs. Returns the connection, and the name of the process."""
    name = unique()
    connection = client.begin(call(named_program(name, code), id, meta, **arguments), headers)
    until(lambda: named(name), 15, "the program runs")
    return connection, name


def gone(name, seconds=3):
    until(lambda: not named(name), seconds, "the program is dead")


def descriptors(s):
    """How many the server has open. It is not dumpable, so that this is for root's eyes; others see none at all."""
    try:
        return len(os.listdir("/proc/%d/fd" % s.pid))
    except PermissionError:
        check(os.geteuid() != 0, "root may not look")
        return 0


def check_serves(client):
    """A call works. Revisions before 2025-06-18 have the text alone."""
    equal(json.loads(client.exec("print(2 + 2)")["content"][0]["text"])["stdout"], "4\n")


__all__ = [name for name in dir() if not name.startswith("_")] + ["HttpClient", "HttpServer"]
