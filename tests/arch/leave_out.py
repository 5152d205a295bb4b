#!/usr/bin/env python3
"""The test build that leaves out steps is complete, and no part of it is shipped."""
import os
import re
import tempfile

from _rules import ROOT, main, rule, tool

PROGRAMS = ("bin/mcp-exec", "libexec/mcp-exec/mcp-exec-worker")
TRACES = (b"__wrap_", b"leave-out", b"tests/leave_out")


class Tree:
    def __init__(self, root):
        self.root = root
        self.build = os.environ.get("MCP_EXEC_BUILD") if root == ROOT else None
        self.build = self.build or os.path.join(root, "build")

    def text(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def found(self, pattern, *paths):
        return {name for path in paths for name in re.findall(pattern, self.text(path), re.M)}


@rule({"build/" + path: "__wrap_open leave-out\n" for path in PROGRAMS}, make=lambda folder: None, objections=4)
def programs_carry_no_trace_of_the_test_build(tree):
    for path in PROGRAMS:
        with open(os.path.join(tree.build, path), "rb") as file:
            data = file.read()
        for trace in TRACES:
            if trace in data:
                yield "%s contains %s" % (path, trace.decode())


@rule({"Makefile": "all everything install:\n\techo leave-out\n"})
def it_is_made_only_where_it_is_asked_for(tree):
    with tempfile.TemporaryDirectory(prefix="mcp-exec-arch-") as folder:
        listed = tool("make", "-n", "-C", tree.root, "BUILD=" + folder, "all", "everything", "install")
    for line in listed.splitlines():
        if "leave-out" in line or "leave_out" in line:
            yield "make everything install: " + line[:200]


STEPS, ROWS = "tests/leave_out/leave_out.h", "tests/leave_out/steps.py"


@rule({STEPS: "\tX(a) \\\n\tX(b)\n", ROWS: 'ROWS = (\n    Row("b", "x.y"),\n    Row("c", "x.y"),\n)\n'},
      make=lambda folder: None, objections=2)
def every_step_has_a_row_and_every_row_a_step(tree):
    steps, rows = tree.found(r"^\s*X\((\w+)\)", STEPS), tree.found(r'^    Row\("(\w+)"', ROWS)
    for step in sorted(steps ^ rows):
        yield "%s stands only in %s" % (step, STEPS if step in steps else ROWS)


@rule({STEPS: "\tX(a) \\\n\tX(b)\n", "tests/leave_out/wrap_x.c": "STEP_a\n"}, make=lambda folder: None)
def every_step_is_left_out_somewhere(tree):
    folder = os.path.join(tree.root, "tests/leave_out")
    used = tree.found(r"\bSTEP_(\w+)", *["tests/leave_out/" + n for n in os.listdir(folder) if n.startswith("wrap_")])
    for step in sorted(tree.found(r"^\s*X\((\w+)\)", STEPS) - used):
        yield "%s is named and never left out" % step


@rule({"tests/leave_out/wrap_x.c": "WRAP(int, open, const char *path)\nWRAP(int,\n     close, int fd)\n"},
      make=lambda folder: None)
def the_linker_is_told_of_every_wrapper(tree):
    """The Makefile reads the name from the line on which WRAP stands."""
    folder = os.path.join(tree.root, "tests/leave_out")
    for name in sorted(n for n in os.listdir(folder) if n.startswith("wrap_")):
        for line in re.findall(r"^WRAP\(.*", tree.text("tests/leave_out/" + name), re.M):
            if not re.match(r"WRAP\([^,]*, \w+,", line):
                yield "%s: %s" % (name, line)


# Where the policy has a table: what a row names, and the file that must name it too.
TABLES = (
    ("policy/namespaces.c", r"^\t\{(CLONE_NEW\w+),", "tests/leave_out/wrap_worker.c", r"(CLONE_NEW\w+)"),
    ("policy/rlimits.c", r"^\t\{(RLIMIT_\w+),", "tests/leave_out/wrap_worker.c", r"(RLIMIT_\w+)"),
    ("policy/view_table.c", r'^\t\{VIEW_FILE, "([^"]+)"', "tests/leave_out/wrap_view.c", r'"(/etc/[^"]+)"'),
    ("policy/syscalls_table.c", r'^\t(?:REFUSE(?:_QUIETLY)?(?:_IF)?|ALLOW_IF)\("(\w+)"',
     "tests/leave_out/wrap_syscalls.c", r'"(\w+)"'),
)
# Rows for the errno that honest programs cope with: without them the calls were as unknown as any that is not listed.
COMPATIBLE = {"getxattr", "lgetxattr", "fgetxattr", "listxattr", "llistxattr", "flistxattr", "setxattr", "lsetxattr",
              "fsetxattr", "removexattr", "copy_file_range", "openat2", "faccessat2", "renameat2", "statx", "rseq",
              "set_robust_list", "close_range", "membarrier", "get_mempolicy", "set_mempolicy", "mbind", "fadvise64",
              "fchown", "fchownat", "lchown", "mlock", "capget", "pkey_alloc", "epoll_create"}
BAD_ROWS = {"policy/namespaces.c": "\t{CLONE_NEWTIME,\n", "policy/rlimits.c": "\t{RLIMIT_AS,\n",
            "policy/view_table.c": '\t{VIEW_FILE, "/etc/motd"',
            "policy/syscalls_table.c": '\tREFUSE("reboot"\n\tREFUSE_QUIETLY("acct"\n',
            **{wraps: "" for _, _, wraps, _ in TABLES}}


@rule(BAD_ROWS, make=lambda folder: None, objections=5)
def every_row_of_the_policy_can_be_left_out(tree):
    for table, row, wraps, name in TABLES:
        rows = tree.found(row, table)
        if not rows:
            yield "%s has no row that is understood here" % table
        for missing in sorted(rows - tree.found(name, wraps) - COMPATIBLE):
            yield "%s of %s is not in %s" % (missing, table, wraps)


if __name__ == "__main__":
    raise SystemExit(main(Tree))
