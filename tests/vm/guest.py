"""What a virtual machine does for the tests: it runs the programs of the guest, one after the other, and tells the host
what they say; in between it asks the host to do its part. Started by the machine's init as root.

On the line to the host each line is TAP or begins with "@": "@host NAME" asks for what has this name and waits for an
answer, "@end" is the last one.
"""
import glob
import os
import subprocess
import sys
import time
import tty

HERE = os.path.dirname(os.path.abspath(__file__))
LINE = "/dev/ttyS1"
# A program, with words that choose some of its tests; or, behind a "@", what the host does between them. Of cgroups
# what systems and units could make different: the rest says the same wherever there is a cgroup to divide.
PLAN = (
    ("guest_package",), ("guest_service",), ("guest_walls",),
    ("guest_cgroup", "[one]", "[shared]", "fork_bomb", "busy", "begins[warm]", "fifty", "own_cgroup",
     "subgroup_of_systemd", "says_by_what", "not_delegated"),
    ("guest_desktop", "in_a_session", "ends_with_its_client"),
    ("guest_open",), ("@clients",), ("@escapes",), ("guest_upgrade",))
LIMIT_S = 900
# qemu computes everything, on processors that others use too.
PATIENCE = "4"


def network():
    """qemu's network of the user has this address, and forwards to it; what the machine sends elsewhere is dropped."""
    for _ in range(100):
        if os.path.exists("/sys/class/net/eth0"):
            break
        time.sleep(0.1)
    subprocess.run(["ip", "address", "add", "10.0.2.15/24", "dev", "eth0"], check=True)
    subprocess.run(["ip", "link", "set", "eth0", "up"], check=True)


def install(line):
    """The package, with its dependencies there already; without it there is nothing to test."""
    debs = glob.glob(os.path.join(HERE, "..", "*.deb"))
    done = subprocess.run(["dpkg", "--install"] + debs, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=LIMIT_S)
    said = "".join("\n# " + text for text in done.stdout.decode("utf-8", "replace").splitlines())
    tell(line, "ok the package is installed" if done.returncode == 0 else "not ok the package is installed" + said)


def run(program, words, line):
    env = dict(os.environ, MCP_EXEC_BIN="/usr/bin/mcp-exec", MCP_EXEC_PATIENCE=PATIENCE, PYTHONDONTWRITEBYTECODE="1",
               HOME="/root", PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL="C.UTF-8")
    start = time.monotonic()
    with subprocess.Popen([sys.executable, os.path.join(HERE, program + ".py")] + words, stdin=subprocess.DEVNULL,
                          stdout=line, stderr=subprocess.STDOUT, env=env) as process:
        try:
            code = process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            code = None
    tell(line, "@took %s %.1f s" % (program, time.monotonic() - start))
    if code not in (0, 1):
        tell(line, "not ok %s came to its end\n# exit code: %s" % (program, code))


def tell(line, text):
    line.write(text.encode() + b"\n")


def main():
    with open(LINE, "r+b", buffering=0) as line:
        tty.setraw(line)
        tell(line, "@start %s" % open("/proc/uptime").read().split()[0])
        network()
        install(line)
        for name, *words in PLAN:
            if name.startswith("@"):
                tell(line, "@host " + name[1:])
                line.readline()
            else:
                run(name, words, line)
        tell(line, "@end")
        time.sleep(0.2)


if __name__ == "__main__":
    main()
