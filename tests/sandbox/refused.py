#!/usr/bin/env python3
"""What happens where a wall cannot be built: no run, and a sentence that says what to do. What may be weaker is named.

Each machine is played by a user namespace around the server, in which something was taken away first.
"""
import os
import subprocess

from _sandbox import equal
from hostile import FILTER
from mcp import BINARY, Server, Skip, check, contains, environment, main, until

# Takes something away with the rights of the outer namespace, then drops them and becomes the server.
OUTER = "%s; exec setpriv --inh-caps=-all --ambient-caps=-all \"$0\" \"$@\""

NO_NAMESPACES = OUTER % "echo 0 > /proc/sys/user/max_user_namespaces"
MASKED_PROC = OUTER % "mount --bind /dev/null /proc/uptime"


def outer(script):
    if os.geteuid() == 0:
        raise Skip("needs an ordinary user")
    return ["unshare", "--user", "--mount", "--map-current-user", "--keep-caps", "sh", "-c", script]


def filtered():
    return ["/usr/bin/python3", "-c", FILTER]


def refuses(through, *words):
    """Over stdio the server stays, answers the protocol, and gives the remedy as the tool error of every call."""
    with Server(through=through) as s:
        s.initialize()
        equal([t["name"] for t in s.request("tools/list")["result"]["tools"]], ["exec"])
        for _ in range(2):
            result = s.exec("print('ran')")
            equal(result["isError"], True)
            check("structuredContent" not in result, "a result", result)
            contains(result["content"][0]["text"], "Nothing was run", *words)
        equal(s.request("ping")["result"], {})


def refuses_on_the_command_line(through, *words):
    code, out, err = run_through(through, ["run", "-"], b"print('ran')")
    equal((code, out), (69, b""))
    contains(err.decode(), "Nothing was run", *words)
    code, out, err = run_through(through, ["check"])
    equal(code, 69)
    contains(out.decode(), "FAIL", "Runs are refused", *words)


def run_through(through, args, input=b""):
    done = subprocess.run(through + [BINARY] + args, input=input, capture_output=True, env=environment(), timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_no_user_namespaces_over_stdio():
    refuses(outer(NO_NAMESPACES), "ENOSPC", "user.max_user_namespaces")


def test_no_user_namespaces_on_the_command_line():
    refuses_on_the_command_line(outer(NO_NAMESPACES), "user.max_user_namespaces")


def test_a_filter_around_us_over_stdio():
    refuses(filtered(), "user_namespace", "EPERM")


def test_a_filter_around_us_on_the_command_line():
    refuses_on_the_command_line(filtered(), "user_namespace")


def test_it_serves_again_when_the_cause_is_gone():
    knob = "/proc/sys/user/max_user_namespaces"
    with Server(through=outer(OUTER % ("echo 0 > %s; { sleep 2; echo 99 > %s; } & true" % (knob, knob)))) as s:
        s.initialize()
        equal(s.exec("print(1)")["isError"], True)
        answer = until(lambda: s.exec("print(1)").get("structuredContent"), 10, "a run")
        equal(answer["stdout"], "1\n")


def test_a_masked_proc_gives_a_run_without_proc():
    with Server(through=outer(MASKED_PROC)) as s:
        s.initialize()
        good = s.exec("import os; print(os.listdir('/proc'))")
        equal(good["structuredContent"]["stdout"], "[]\n")
        equal(good["structuredContent"]["warnings"], [])
        equal(good["_meta"]["io.github.mcp-exec/run"]["degraded"], ["proc"])
        bad = s.exec("open('/proc/self/status')")["structuredContent"]
        equal(bad["exit_code"], 1)
        check(any("/proc" in w for w in bad["warnings"]), "no word about /proc", bad["warnings"])


def test_check_names_what_is_weaker():
    code, out, _ = run_through(outer(MASKED_PROC), ["check"])
    equal(code, 0)
    contains(out.decode(), "weaker proc", "unmask=/proc/*")
    code, _, _ = run_through(outer(MASKED_PROC), ["check", "--strict"])
    equal(code, 1)


def test_root_of_a_namespace_without_another_user_is_refused():
    """As uid 0 where no other uid is mapped nobody unprivileged can be become."""
    if os.geteuid() == 0:
        raise Skip("needs an ordinary user")
    code, out, err = run_through(["unshare", "--user", "--map-root-user"], ["run", "-"], b"print('ran')")
    equal((code, out), (78, b""))
    contains(err.decode(), "Cannot become user", "MCP_EXEC_USER")


main()
