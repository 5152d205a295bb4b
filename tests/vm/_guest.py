"""What programs of the guest share: units of systemd, and clients of the service. Loaded in the guest alone."""
import glob
import os
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import warm  # noqa: E402
from mcp import PATIENCE, Timeout, check, until, workers_of  # noqa: E402
from web import HttpClient  # noqa: E402

SERVICE, SOCKET, PORT = "mcp-exec.service", "mcp-exec.socket", 8080
CREDENTIAL = "/etc/credstore/mcp-exec-auth-token"
# That of the clients on the host.
TOKEN = "token-of-these-tests"
COMMAND_S = 60


def release():
    """Debian's, as a number."""
    with open("/etc/os-release") as file:
        return int([line.split("=")[1].strip('"\n') for line in file if line.startswith("VERSION_ID=")][0])


def command(*argv, code=0, **more):
    """Runs a program, which must end so (None: in any way). Returns what it printed."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=COMMAND_S * PATIENCE, universal_newlines=True, **more)
    check(code is None or done.returncode == code, " ".join(argv), done.returncode, done.stdout[-1500:])
    return done.stdout


def systemctl(*argv, **more):
    return command("systemctl", "--no-pager", *argv, **more)


def show(unit, name):
    """A property of a unit."""
    return systemctl("show", "--property=" + name, "--value", unit).strip()


def main_pid(unit=SERVICE):
    return int(show(unit, "MainPID"))


def journal(unit=SERVICE):
    """All that the unit has logged since the machine started."""
    return command("journalctl", "--no-pager", "--output=cat", "--unit=" + unit)


def start(unit=SERVICE):
    """Starts a unit; when that fails, what it said is the reason."""
    said = systemctl("start", unit, code=None)
    check(show(unit, "ActiveState") == "active", "%s does not start: %s %s" % (unit, said, journal(unit)[-1500:]))


def stop(*units):
    systemctl("stop", *(units or (SOCKET, SERVICE)))
    systemctl("reset-failed", *(units or (SOCKET, SERVICE)), code=None)


class Settings:
    """Lines added to a unit as `systemctl edit` adds them, for `with`; the unit is stopped before and afterwards."""

    def __init__(self, *lines, unit=SERVICE, section="Service"):
        self.unit, self.path = unit, "/run/systemd/system/%s.d/test.conf" % unit
        self.text = "[%s]\n%s\n" % (section, "\n".join(lines))

    def __enter__(self):
        stop(self.unit)
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        with open(self.path, "w") as file:
            file.write(self.text)
        systemctl("daemon-reload")
        return self

    def __exit__(self, *_):
        os.unlink(self.path)
        systemctl("daemon-reload")
        stop(self.unit)


def client(port=PORT, token=None):
    return HttpClient(("127.0.0.1", port), era="modern", auth=[("X-MCP-AUTH", token)] if token else ())


def run(code, port=PORT, token=None, **arguments):
    """Runs a program. Returns the result of the tool."""
    with client(port, token) as c:
        result = c.exec(code, **arguments)
    check(result.get("isError") is False, "no run:", result)
    return result


def prints(code, **more):
    """What a program prints, which must end well."""
    result = run(code, **more)["structuredContent"]
    check(result["exit_code"] == 0 and result["limit"] is None, "the program failed:", result)
    return result["stdout"]


def answers(**more):
    """Whether a call is answered."""
    try:
        return prints("print(2 + 2)", **more) == "4\n"
    except (OSError, AssertionError):
        return False


def until_it_answers(what, **more):
    until(lambda: answers(**more), 30, what)


def worker(unit=SERVICE):
    return until(lambda: next(iter(workers_of(main_pid(unit))), None), 20, "a worker")


def metrics(**more):
    """The text of /metrics."""
    with client(**more) as c:
        return c.http("GET", "/metrics").body().decode()
