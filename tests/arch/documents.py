#!/usr/bin/env python3
"""What people read says what the program does, and no file carries a trace of the machine that it was written on."""
import os
import re
import subprocess

from _rules import ROOT, main, rule, tool

TEXTS = ("README.md", "packaging/man/mcp-exec.1")


class Tree:
    """The files of a checkout that git tracks or would track; in a plain folder all files."""

    def __init__(self, root):
        self.root = root
        self.help = os.path.join(root, "help")
        self.binary = os.path.join(os.environ.get("MCP_EXEC_BUILD") or os.path.join(root, "build"), "bin/mcp-exec")

    def files(self):
        if os.path.exists(os.path.join(self.root, ".git")):
            listed = tool("git", "-c", "safe.directory=*", "-C", self.root, "ls-files", "-z", "--cached", "--others",
                          "--exclude-standard").split("\0")
        else:
            listed = list(self._walk())
        return [path for path in listed if os.path.isfile(os.path.join(self.root, path))]

    def _walk(self):
        for folder, folders, names in os.walk(self.root):
            folders[:] = [f for f in folders if f not in ("node_modules", "__pycache__", "build", "build-san")]
            for name in names:
                if name != "compile_commands.json":
                    yield os.path.relpath(os.path.join(folder, name), self.root)

    def text(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
            return file.read()

    def help_text(self):
        """What --help prints; a bad tree has it as a file."""
        return self.text("help") if os.path.exists(self.help) else tool(self.binary, "--help")


MACHINE = (
    (r"(?<![\w.$})*])/(?:root|work|Users)/\w", "an absolute path of somebody's machine"),
    (r"\.\./(?:shared|scratch)\b", "a path out of the tree"),
    (r"\b(?:registry\.npmjs\.org|registry\.yarnpkg\.com|pypi\.org|pythonhosted\.org|(?:deb|security)\.debian\.org|"
     r"(?:archive|security)\.ubuntu\.com)\b", "the host of a package registry"),
)


@rule({"a.md": "See /wo" "rk/notes.\n", "b.c": "/* as in .." "/shared */\n", "c.json": '"https://pypi' '.org/x"\n',
       "d.sh": "cat /ro" "ot/x\n"})
def no_file_names_a_machine(tree):
    for path in tree.files():
        for number, line in enumerate(tree.text(path).splitlines(), 1):
            for pattern, what in MACHINE:
                if re.search(pattern, line):
                    yield "%s:%d has %s" % (path, number, what)


SETTING = re.compile(r"^ +--(\S+) +(MCP_EXEC_[A-Z_]+) +.*?(?:\(([^()]*)\))?$", re.M)


def help_settings(text):
    """(flag, variable, default) of each setting in --help; the default stands in parentheses at the end of its line."""
    return SETTING.findall(text)


def known_variables(text):
    """Every variable in --help; one has no flag."""
    return re.findall(r"^ +(?:--\S+|\(environment only\)) +(MCP_EXEC_[A-Z_]+) ", text, re.M)


def spellings(default):
    """How a default may be written: as it is, or in MiB."""
    found = [default]
    if default.isdigit() and int(default) and int(default) % (1 << 20) == 0:
        found += ["%d%sMiB" % (int(default) >> 20, gap) for gap in (" ", "\u00a0", "")]
    return found


def says(text, variable, default):
    """Whether a text names a setting with this default in the same row, list entry or paragraph."""
    for match in re.finditer(r"\b%s\b" % variable, text):
        row = text.rfind("\n", 0, match.start()) + 1
        near = re.split(r"\n" if text[row] == "|" else r"\n\s*\n|\n\.(?:TP|IP|It)", text[match.end():])[0]
        if not default or any(re.search(r"(?<![\w.])%s(?!\w)" % re.escape(s), near) for s in spellings(default)):
            return True
    return False


@rule({"help": "nothing\n"})
def help_lists_the_settings(tree):
    if len(help_settings(tree.help_text())) < 8:
        yield "--help names fewer settings than the contract has"


EXAMPLE = {
    "help": "  --max-queue  MCP_EXEC_MAX_QUEUE  calls that wait (64)\n  --python  MCP_EXEC_PYTHON  which (python3)\n",
    "README.md": "| `MCP_EXEC_MAX_QUEUE` | calls | `65` |\n| `MCP_EXEC_USER` | who | |\n",
    "packaging/man/mcp-exec.1": ".TP\n\\-\\-python, MCP_EXEC_PYTHON\npython3\n"}


@rule(EXAMPLE, make=lambda folder: None, objections=4)
def documents_name_every_setting_with_its_default(tree):
    for path in TEXTS:
        text = tree.text(path).replace("\\-", "-").replace("\\", "")
        for flag, variable, default in help_settings(tree.help_text()):
            if not says(text, variable, default):
                yield "%s does not name %s with its default %s" % (path, variable, default or "(none)")
            if path.endswith(".1") and not re.search(r"(?:--|Fl -)%s\b" % flag, text):
                yield "%s does not name --%s" % (path, flag)


@rule(dict(EXAMPLE, **{"README.md": "`MCP_EXEC_MAX_QUEU` and `MCP_EXEC_PYTHON`\n"}), make=lambda folder: None)
def documents_name_no_setting_that_is_not_there(tree):
    known = known_variables(tree.help_text())
    for path in TEXTS:
        for name in sorted(set(re.findall(r"\bMCP_EXEC_[A-Z_]+[A-Z]\b", tree.text(path)))):
            if name not in known:
                yield "%s names %s, which --help does not know" % (path, name)


@rule({"README.md": "# a\n```\nmake\n```\n```\nmake test\n```\n"})
def readme_begins_with_the_test_command(tree):
    block = re.search(r"^```\w*\n(.*?)^```", tree.text("README.md"), re.S | re.M)
    if not block or not re.search(r"^(?:\$ )?make test\b", block.group(1), re.M):
        yield "the first code block of README.md has no line `make test`"


DEFAULTS = "packaging/mcp-exec.default"


@rule(dict(EXAMPLE, **{DEFAULTS: "# calls that wait\n#MCP_EXEC_MAX_QUEUE=65\n\nMCP_EXEC_PYTHON=python3\n"}),
      make=lambda folder: None, objections=4)
def settings_file_is_that_of_help(tree):
    """Comments and values are those of --help, and none is in force."""
    text = tree.text(DEFAULTS)
    for line in text.splitlines():
        if line and line[0] != "#":
            yield "%s sets something: %s" % (DEFAULTS, line)
    wanted = re.findall(r"^ +--\S+ +(MCP_EXEC_[A-Z_]+) +(.*?)(?: \(([^()]*)\))?$", tree.help_text(), re.M)
    wanted = ["# %s\n#%s=%s" % (about, variable, default) for variable, about, default in wanted]
    found = [block.strip() for block in text.split("\n\n")]
    for block in wanted:
        if block not in found:
            yield "%s has not: %r" % (DEFAULTS, block)
    for block in re.findall(r"^#.*\n#MCP_EXEC.*$", text, re.M):
        if block not in wanted:
            yield "%s has what --help does not say: %r" % (DEFAULTS, block)


VERSIONS = {"common/version.h": '#define MCP_EXEC_VERSION "1.2.3"\n', "CHANGELOG.md": "## [Unreleased]\n\n## [1.2.2]\n",
            "packaging/debian/changelog": "mcp-exec (1.2.30-1) unstable; urgency=medium\n"}


@rule(VERSIONS, make=lambda folder: None, objections=2)
def changelogs_begin_with_the_version(tree):
    version = re.search(r'MCP_EXEC_VERSION "(.*)"', tree.text("common/version.h")).group(1)
    for path, pattern in (("CHANGELOG.md", r"\A.*?^## \[(\d.*?)\]"),
                          ("packaging/debian/changelog", r"\Amcp-exec \(([^)]*)-[^-)]*\) ")):
        found = re.search(pattern, tree.text(path), re.S | re.M)
        if not found or found.group(1) != version:
            yield "%s begins with %s, not with %s" % (path, found and found.group(1), version)


RESULTS = "tests/bench/RESULTS.md"
SPEED = "How fast it is"


def tables(text):
    """Each table of a text: a list of rows, as dictionaries by the names of its head."""
    for block in re.findall(r"(?:^\|.*\n)+", text, re.M):
        lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        yield [dict(zip(lines[0], line)) for line in lines[2:]]


MEASURED = "| what | mcp-exec | ratio |\n| --- | --- | --- |\n| print | 0.61 ms | 0.039 |\n| numpy | 2 ms | 0.02 |\n"
QUOTED = "# a\n## How fast it is\n\n| what | ratio |\n|---|---|\n| print | 0.03 |\n| numpy | 0.02 |\n"


@rule({"README.md": QUOTED, RESULTS: MEASURED}, make=lambda folder: None)
def readme_quotes_the_benchmark(tree):
    section = re.search(r"^## %s$(.*?)(?=^## |\Z)" % SPEED, tree.text("README.md"), re.S | re.M)
    quoted = [row for rows in tables(section.group(1) if section else "") for row in rows]
    measured = [row for rows in tables(tree.text(RESULTS)) for row in rows]
    if not quoted:
        yield "README.md has no table under \"%s\"" % SPEED
    for row in quoted:
        if not any(row.items() <= found.items() for found in measured):
            yield "README.md quotes what %s does not say: %s" % (RESULTS, row)


@rule({"packaging/man/a.1": ".TH A 1 2026-01-01\n.SH NAME\na \\- b\n.NONSENSE\n"})
def manual_pages_are_well_formed(tree):
    folder = os.path.join(tree.root, "packaging/man")
    pages = [os.path.join(folder, name) for name in sorted(os.listdir(folder)) if name.endswith((".1", ".7", ".8"))]
    if not pages:
        yield "there is no manual page"
        return
    done = subprocess.run(["mandoc", "-T", "lint", "-W", "warning"] + pages, stdout=subprocess.PIPE,
                          universal_newlines=True)
    if done.returncode:
        yield from done.stdout.splitlines()


if __name__ == "__main__":
    raise SystemExit(main(Tree))
