"""A root file system of another Debian release, in which packages come and go; what is done there stays there."""
import atexit
import os
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "pythons"))
import _roots
from mcp import PATIENCE

ORDINARY = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups", "--"]
PLACES = ("/proc", "/dev", "/tmp", "/run", "/var/cache", "/var/log", "/var/lib/apt", "/var/lib/dpkg")


def unfit(release, libc):
    """Why a package that needs this version of the C library cannot be tried in the root of a release, or None."""
    why = _roots.missing(release)
    if why is None:
        there = subprocess.run(["dpkg-query", "--admindir=%s/var/lib/dpkg" % _roots.place(release), "-W", "-f",
                                "${Version}", "libc6"], stdout=subprocess.PIPE, check=True).stdout.decode()
        if subprocess.call(["dpkg", "--compare-versions", there, "lt", libc]) == 0:
            why = "left out: what is made here needs libc6 %s, there is %s" % (libc, there)
    return why


class Root:
    """The root of a release, with a folder's packages below /tmp/packages. It ends with this program."""

    def __init__(self, release, packages):
        here = os.path.dirname(os.path.abspath(__file__))
        self._inside = subprocess.Popen(
            ["unshare", "--mount", "--propagation", "private", "sh", os.path.join(here, "_enter.sh"),
             _roots.place(release), packages], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        atexit.register(self._end)
        if self._inside.stdout.readline() != b"ready\n":
            raise AssertionError("the root of Debian %s cannot be entered" % release)
        self.apt("update")

    def _end(self):
        self._inside.stdin.close()
        self._inside.wait(20)

    def run(self, *command, input="", limit_s=60):
        """Runs a command there as root. Returns its code, and what it printed."""
        env = {key: value for key, value in os.environ.items() if key.endswith("_proxy")}
        env.update(PATH="/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LANG="C.UTF-8",
                   HOME="/nonexistent", DEBIAN_FRONTEND="noninteractive")
        done = subprocess.run(["nsenter", "-t", str(self._inside.pid), "-m", "--"] + list(command), env=env,
                              input=input.encode(), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=limit_s * PATIENCE)
        return done.returncode, done.stdout.decode(errors="replace")

    def must(self, *command, **how):
        """The same for a command that has to succeed; only what it printed."""
        code, out = self.run(*command, **how)
        if code:
            raise AssertionError("%s ended with %d:\n%s" % (" ".join(command), code, out[-3000:]))
        return out

    def apt(self, *arguments):
        options = "-q -y --no-install-recommends -oAcquire::Languages=none -oAPT::Sandbox::User=root -oDpkg::Use-Pty=0"
        return self.must("apt-get", *options.split(), *arguments, limit_s=80)

    def read(self, path):
        """The text of a file, or None when there is none."""
        code, out = self.run("cat", path)
        return None if code else out

    def files(self):
        """All files but those of the package managers, of logs, and of what is no file system of ours."""
        pruned = " -o ".join("-path " + place for place in PLACES)
        out = self.must("sh", "-c", "find / -xdev \\( %s \\) -prune -o -print" % pruned)
        return set(out.splitlines())

    def owned(self):
        """What belongs to a package. Some say /lib for what is in /usr/lib."""
        paths = self.must("sh", "-c", "cat /var/lib/dpkg/info/*.list").splitlines()
        return set(paths) | {"/usr" + path for path in paths}
