"""Packages of npm that tests need, installed into the build directory. Standard library only, Python 3.9 or later."""
import filecmp
import os
import shutil
import subprocess
import sys

INSTALL_S = 600


def install(source, place):
    """Installs into place what the lock file of source names, unless it is there already. The lock file is copied last,
    and only after an install that worked: it says what node_modules holds. Gives up the whole program otherwise."""
    lock, installed = os.path.join(source, "package-lock.json"), os.path.join(place, "installed.json")
    os.makedirs(place, exist_ok=True)
    if os.path.exists(installed) and filecmp.cmp(lock, installed, shallow=False):
        return
    if os.path.exists(installed):
        os.unlink(installed)
    for name in ("package.json", "package-lock.json", ".npmrc"):
        shutil.copy(os.path.join(source, name), place)
    done = subprocess.run(["npm", "ci"], cwd=place, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=INSTALL_S)
    if done.returncode:
        print("\n".join("# " + line for line in done.stdout.decode("utf-8", "replace").splitlines()))
        print("Bail out! npm ci failed")
        sys.exit(1)
    shutil.copy(lock, installed)
