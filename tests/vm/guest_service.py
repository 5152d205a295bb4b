"""The service under its own unit: it starts, runs programs, and comes back."""
import os
import re
import signal
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _guest import (CREDENTIAL, PORT, SERVICE, SOCKET, TOKEN, Settings, answers, client, journal, main_pid, prints,  # noqa: E402
                    run, show, start, stop, systemctl, until_it_answers, worker)
from mcp import case, check, contains, equal, main, matches, until  # noqa: E402
import warm  # noqa: E402

WATCHDOG_S = 5
LAYERS = """
import os
status = dict(l.rstrip("\\n").split(":\\t", 1) for l in open("/proc/self/status"))
print(status["CapBnd"], status["NoNewPrivs"], status["Seccomp"], sorted(int(p) for p in os.listdir("/proc") if p.isdigit())[0],
      os.uname().nodename, os.getuid(), len([l for l in open("/proc/net/dev") if ":" in l]))
"""


def test_starts():
    start()
    equal((show(SERVICE, "SubState"), show(SERVICE, "StatusErrno")), ("running", "0"))
    with client() as c:
        equal(c.http("GET", "/healthz").status, 200)
    equal(prints("print(2 + 2)"), "4\n")


def test_every_wall_stands():
    """The unit takes nothing from a run: no layer is weaker than the README says."""
    said = re.findall(r"event=worker\.ready .*", journal())
    check(said, "the worker is not ready:", journal()[-1000:])
    contains(said[-1], " weaker=0 ")
    equal(prints(LAYERS), "0000000000000000 1 2 1 sandbox 1000 1\n")


@case("warm", "1", warm.WARM)
@case("cold", "0", warm.COLD)
def test_starts_programs(setting, how):
    with Settings("Environment=MCP_EXEC_WARM=" + setting):
        start()
        until(lambda: warm.start_of(run("pass")) == how, 30, "programs that start " + how)


def test_listens_to_this_machine_alone():
    start()
    matches(r"kind=loopback auth=none", journal())


def test_token_from_a_credential():
    os.makedirs(os.path.dirname(CREDENTIAL), mode=0o700, exist_ok=True)
    with open(CREDENTIAL, "w") as file:
        os.chmod(CREDENTIAL, 0o600)
        file.write(TOKEN + "\n")
    try:
        stop()
        start()
        for token, status in ((None, 401), (TOKEN + "x", 401), (TOKEN, 200)):
            with client(token=token) as c:
                equal(c.http("GET", "/metrics").status, status)
        equal(prints("import os; print([k for k in os.environ if 'MCP' in k or 'CRED' in k])", token=TOKEN), "[]\n")
    finally:
        os.unlink(CREDENTIAL)
        stop()


def test_killed_server_comes_back():
    start()
    before = main_pid()
    os.kill(before, signal.SIGKILL)
    until(lambda: main_pid() not in (0, before), 30, "another main process")
    until_it_answers("an answer of the one that was started again")


def test_killed_worker_is_replaced():
    start()
    until_it_answers("an answer")
    server, before = main_pid(), worker()
    os.kill(before, signal.SIGKILL)
    until_it_answers("an answer without that worker")
    check(worker() != before and main_pid() == server, "not another worker of the same server")


def test_stop_lets_a_call_end():
    start()
    until_it_answers("an answer")
    with client() as c:
        call = c.start_exec("import time; time.sleep(3); print('done')")
        until(lambda: "1 running" in show(SERVICE, "StatusText"), 20, "the run")
        systemctl("stop", SERVICE)
        equal(c.answer(call)["result"]["structuredContent"]["stdout"], "done\n")
    equal((show(SERVICE, "Result"), show(SERVICE, "ExecMainStatus")), ("success", "0"))


def test_watchdog():
    """A server whose loop does not turn is ended, and started again."""
    with Settings("WatchdogSec=%d" % WATCHDOG_S):
        start()
        before = main_pid()
        time.sleep(WATCHDOG_S * 1.5)
        equal(main_pid(), before, "a server that is well is left alone:")
        os.kill(before, signal.SIGSTOP)
        until(lambda: main_pid() not in (0, before), 30, "another main process")
        contains(journal(), "Watchdog timeout")
        until_it_answers("an answer of the one that was started again")


def test_socket_starts_the_service():
    stop()
    start(SOCKET)
    equal(show(SERVICE, "ActiveState"), "inactive")
    equal(prints("print(2 + 2)"), "4\n")
    equal(show(SERVICE, "ActiveState"), "active")
    os.kill(main_pid(), signal.SIGKILL)
    equal(prints("print(3 + 3)", wait=15), "6\n", "a connection that comes meanwhile waits:")
    stop()


def test_socket_without_a_network():
    """As the socket's unit says: a server that gets its socket needs none."""
    with Settings("PrivateNetwork=yes"):
        start(SOCKET)
        equal(prints("print(2 + 2)"), "4\n")
        stop()


def test_replicas():
    units = ["mcp-exec@%d.service" % port for port in (8081, 8082)]
    try:
        for unit in units:
            start(unit)
        pids = [main_pid(unit) for unit in units]
        equal([prints("print(2 + 2)", port=port) for port in (8081, 8082)], ["4\n", "4\n"])
        os.kill(pids[0], signal.SIGSTOP)
        equal(prints("print(3)", port=8082), "3\n", "the other one does not wait for it:")
        os.kill(pids[0], signal.SIGCONT)
        stop(units[0])
        check(answers(port=8082) and not answers(port=8081), "not the one that was stopped")
    finally:
        stop(*units)


main()
