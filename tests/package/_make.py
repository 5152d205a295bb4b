"""Archives and packages, made below folders of their own: the checkout and its build are left alone."""
import atexit
import os
import re
import shutil
import subprocess
import tempfile

from mcp import PATIENCE, ROOT

LIMIT_S = 300 * PATIENCE


def folder():
    """A new folder that all can read, as what is run in it becomes another user. It goes at the end."""
    path = tempfile.mkdtemp(prefix="mcp-exec-package-")
    atexit.register(shutil.rmtree, path, ignore_errors=True)
    os.chmod(path, 0o755)
    return path


def start(tree, *arguments):
    """Starts make in a tree, as nobody else's make had called it."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS", "MCP_EXEC_"))}
    return subprocess.Popen(["make", "--no-print-directory", "-j2", "-C", tree] + list(arguments), env=env,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finish(process):
    """Waits for it. What it prints must not be much."""
    out = process.communicate(timeout=LIMIT_S)[0].decode(errors="replace")
    if process.returncode:
        raise AssertionError("%s ended with %d:\n%s" % (process.args, process.returncode, out[-4000:]))
    return out


def make(tree, *arguments):
    return finish(start(tree, *arguments))


def read(*names):
    with open(os.path.join(*names)) as file:
        return file.read()


def version(tree=ROOT):
    return re.search(r'MCP_EXEC_VERSION "(.*)"', read(tree, "common", "version.h")).group(1)


def archive(tree=ROOT):
    """The archive that `make dist` makes of a tree."""
    build = folder()
    make(tree, "dist", "BUILD=" + build)
    return os.path.join(build, "mcp-exec-%s.tar.xz" % version(tree))


def unpacked(path):
    """A tree of its own, from an archive."""
    place = folder()
    subprocess.run(["tar", "-xJf", path, "-C", place], check=True, timeout=LIMIT_S)
    return os.path.join(place, os.listdir(place)[0])
