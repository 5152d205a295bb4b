"""Rules about the tree, each of which shows that it can fail.

A rule is a generator of objections. It carries a small bad tree, and is shown that before it judges the real one; a
rule that has nothing to say against its bad tree is reported as a failure itself.
"""
import os
import shutil
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
RULES = []


def rule(bad, make=None, objections=1):
    """Registers a rule. bad: files that it must refuse, each alone; make: builds in the bad tree what the rule looks
    at, and then all the files are looked at together; objections: at least so many there must be."""
    def register(check):
        RULES.append((check, bad, make, objections))
        return check
    return register


def tool(*argv):
    """The output of a program that must succeed."""
    done = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True)
    if done.returncode:
        raise OSError("%s: %s" % (argv[0], done.stderr.strip()))
    return done.stdout


def _write(folder, files):
    for name, text in files.items():
        os.makedirs(os.path.join(folder, os.path.dirname(name)), exist_ok=True)
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


def _can_fail(tree_of, check, bad, make, least):
    for files in [bad] if make else [{name: bad[name]} for name in bad]:
        folder = tempfile.mkdtemp(prefix="mcp-exec-arch-")
        try:
            _write(folder, files)
            if make:
                make(folder)
            found = list(check(tree_of(folder)))
            if len(found) < least:
                yield "%d objections to %s, %d expected: %s" % (len(found), ", ".join(files), least, found)
        finally:
            shutil.rmtree(folder)


def _report(name, problems):
    try:
        problems = list(problems)
    except OSError as error:
        problems = ["cannot be checked: %s" % error]
    print(("not ok " if problems else "ok ") + name)
    for problem in problems:
        print("# " + problem)
    return not problems


def main(tree_of):
    """Judges the tree that tree_of(ROOT) gives by every rule. Returns the exit code."""
    print("1..%d" % (2 * len(RULES)))
    good = True
    for check, bad, make, least in RULES:
        good &= _report(check.__name__ + "_can_fail", _can_fail(tree_of, check, bad, make, least))
        good &= _report(check.__name__, check(tree_of(ROOT)))
    return 0 if good else 1
