"""Root file systems of other Debian releases, for their Pythons: made once by mmdebstrap, kept below build/roots.

usage: _roots.py     makes those that are missing, all at once; needs root and the machine's own mirror
"""
import hashlib
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tests", "lib"))
from debian import RELEASES, mirror  # noqa: E402

KEPT = os.path.join(ROOT, "build", "roots")
# mount is there for umount: the old root must be gone when tests run.
PACKAGES = ("python3", "python3-numpy", "mount", "tzdata", "ca-certificates", "libpython3-stdlib")
LIMIT_S = 600
# What apt says when a mirror does not have a release (any more).
NOT_THERE = re.compile(r"does not have a Release file|no longer has a Release file")


def place(release):
    """Where the root of a release lies; another list of packages makes another root."""
    key = hashlib.sha256(" ".join(PACKAGES).encode()).hexdigest()[:8]
    return os.path.join(KEPT, "debian-%s-%s" % (release, key))


def missing(release):
    """Why there is no root of this release, in a word for people; None when there is one."""
    if os.geteuid() != 0:
        return "needs root"
    if os.path.isdir(place(release)):
        return None
    try:
        with open(place(release) + ".missing") as file:
            return file.read().strip()
    except FileNotFoundError:
        return "no root file system was made"


def _start(release, url):
    unfinished = place(release) + ".new"
    # One that was interrupted may have file systems of the host mounted below it.
    subprocess.run(["rm", "-rf", "--one-file-system", "--", unfinished], check=True)
    log = open(place(release) + ".log", "w+")
    return log, subprocess.Popen(["mmdebstrap", "--quiet", "--variant=apt", "--include=" + ",".join(PACKAGES),
                                  RELEASES[release], unfinished, url],
                                 stdin=subprocess.DEVNULL, stdout=log, stderr=log)


def _finish(release, log, process):
    """Returns whether this release is settled: there, or not to be had."""
    try:
        code = process.wait(LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    log.seek(0)
    said = log.read()
    log.close()
    if code == 0:
        with open(os.path.join(place(release) + ".new", "etc", "hosts"), "w") as file:
            file.write("127.0.0.1 localhost\n::1 localhost\n")
        os.rename(place(release) + ".new", place(release))
    elif NOT_THERE.search(said):
        with open(place(release) + ".missing", "w") as file:
            file.write("left out: the machine's mirror has no Debian %s" % release)
    else:
        print("Debian %s, mmdebstrap ended with %s:\n%s" % (release, code, said[-2000:]), file=sys.stderr)
        return False
    return True


def make():
    os.makedirs(KEPT, exist_ok=True)
    url = mirror()
    wanted = [release for release in RELEASES if not os.path.isdir(place(release))]
    if not url:
        for release in wanted:
            with open(place(release) + ".missing", "w") as file:
                file.write("left out: apt has no mirror of Debian here")
        return True
    started = [(release,) + _start(release, url) for release in wanted]
    return all([_finish(*one) for one in started])


if __name__ == "__main__":
    if os.geteuid() != 0:
        sys.exit("Making root file systems needs root.")
    sys.exit(0 if make() else 1)
