#!/usr/bin/env python3
"""The source archive is the same each time; what it holds builds, runs, installs and goes again, without git."""
import functools
import os
import subprocess
import sys
import tarfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import _make
from mcp import PATIENCE, check, equal, main

PREFIX = "/opt/some-place"


def content(path):
    with open(path, "rb") as file:
        return file.read()


@functools.lru_cache(None)
def tree():
    """The archive, unpacked; tests share it."""
    return _make.unpacked(_make.archive())


@functools.lru_cache(None)
def installed():
    """Where `make install` has put the tree's programs and all else."""
    place = _make.folder()
    _make.make(tree(), "install", "DESTDIR=" + place, "PREFIX=" + PREFIX)
    return place


def files(place):
    return sorted(os.path.relpath(os.path.join(folder, name), place)
                  for folder, _, names in os.walk(place) for name in names)


def output(*command):
    env = {key: value for key, value in os.environ.items() if not key.startswith("MCP_EXEC_")}
    done = subprocess.run(command, input=b"print(6 * 7)", stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env,
                          timeout=30 * PATIENCE)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def test_the_same_bytes_twice():
    first = _make.archive()
    equal(content(first) == content(_make.archive()), True)


def test_the_same_bytes_from_what_was_unpacked():
    """There is no git, and there are the files of a build."""
    with open(os.path.join(tree(), "compile_commands.json"), "w") as file:
        file.write("[]")
    equal(content(_make.archive()) == content(_make.archive(tree())), True)


def test_members():
    with tarfile.open(_make.archive()) as archive:
        members = archive.getmembers()
    names = [member.name for member in members]
    equal(names, sorted(names))
    equal({name.split("/")[0] for name in names}, {"mcp-exec-" + _make.version()})
    equal({(m.uid, m.gid, m.uname, m.gname) for m in members}, {(0, 0, "", "")})
    equal({oct(m.mode) for m in members if m.isfile()}, {"0o644", "0o755"})
    equal(len({m.mtime for m in members}), 1)
    for name in ("Makefile", "tests/run", "packaging/debian/rules", "LICENSE"):
        check("mcp-exec-%s/%s" % (_make.version(), name) in names, "not in it:", name)


def test_it_builds_and_runs():
    _make.make(tree())
    program = os.path.join(tree(), "build", "bin", "mcp-exec")
    equal(output(program, "--version"), (0, "mcp-exec %s\n" % _make.version(), ""))
    equal(output(program, "run", "-"), (0, "42\n", ""))


def test_it_installs():
    """Everything below the prefix, and the programs find each other there."""
    place = installed()
    names = files(place)
    wanted = ["bin/mcp-exec", "libexec/mcp-exec/mcp-exec-worker", "lib/systemd/system/mcp-exec.service",
              "lib/systemd/system/mcp-exec@.socket", "share/bash-completion/completions/mcp-exec",
              "share/zsh/site-functions/_mcp-exec", "share/fish/vendor_completions.d/mcp-exec.fish",
              "share/man/man1/mcp-exec.1", "share/man/man7/mcp-exec-http.7", "share/man/man8/mcp-exec-worker.8",
              "share/mcp-exec/apparmor/mcp-exec", "share/mcp-exec/mcp-exec.default", "share/doc/mcp-exec/LICENSE",
              "share/doc/mcp-exec/examples/nginx/mcp-exec.conf"]
    equal([name for name in wanted if os.path.join(PREFIX, name)[1:] not in names], [])
    equal([name for name in names if not name.startswith(PREFIX[1:] + "/")], [])
    program = place + PREFIX + "/bin/mcp-exec"
    equal(output(program, "run", "-"), (0, "42\n", ""))


def test_what_is_installed_names_its_own_paths():
    place = installed() + PREFIX
    for name in ("lib/systemd/system/mcp-exec.service", "lib/systemd/system/mcp-exec@.service",
                 "share/mcp-exec/apparmor/mcp-exec"):
        text = _make.read(place, name)
        check(PREFIX in text, "names no path of ours:", name)
        check("/usr/" not in text, "names another place:", name)


def test_it_goes_again():
    place = installed()
    mine = os.path.join(place + PREFIX, "share", "man", "man1", "of-somebody-else.1")
    with open(mine, "w"):
        pass
    _make.make(tree(), "uninstall", "DESTDIR=" + place, "PREFIX=" + PREFIX)
    equal(files(place), [os.path.relpath(mine, place)])
    equal([folder for folder, _, _ in os.walk(place) if "mcp-exec" in os.path.basename(folder)
           and folder != place], [])


if __name__ == "__main__":
    main()
