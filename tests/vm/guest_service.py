"""The service as the package brings it."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import equal, main  # noqa: E402


def test_installs():
    debs = [name for name in os.listdir("/opt/tests") if name.endswith(".deb")]
    done = subprocess.run(["dpkg", "-i", "/opt/tests/" + debs[0]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    equal((done.returncode, done.stdout), (0, b""))


main()
