"""Limits that a cgroup holds, as results and the file system tell them. For virtual machines."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import equal  # noqa: E402
from warm import RUN_META  # noqa: E402

ROOT = "/sys/fs/cgroup"
CGROUP = {"memory": "cgroup", "processes": "cgroup", "cpus": "cgroup"}
NEXT_BEST = {"memory": "polling", "processes": "rlimit", "cpus": "affinity"}
# Takes all the memory that it gets.
HOG = "data = []\nwhile True: data.append(bytearray(1 << 20))"


def limited_by(result):
    return result["_meta"][RUN_META]["limited_by"]


def ended(result):
    content = result["structuredContent"]
    return content["exit_code"], content["limit"], content["signal"]


def read(*path):
    with open(os.path.join(*path)) as file:
        return file.read().strip()


def below(cgroup):
    return sorted(name for name in os.listdir(cgroup) if os.path.isdir(os.path.join(cgroup, name)))


def is_well(s):
    """The server answers as if nothing had been."""
    result = s.exec("print(2 + 2)")
    equal(result["structuredContent"]["stdout"], "4\n")
    equal(limited_by(result), CGROUP)
