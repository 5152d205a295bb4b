#!/usr/bin/env python3
"""The Debian package: what is in it, and how it is installed, upgraded, removed and purged on Debian 12 and 13."""
import functools
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
import _make
from _root import ORDINARY, Root, unfit
from mcp import PATIENCE, ROOT, Skip, cases, check, contains, equal, main

VERSION = _make.version()
NEWER = VERSION + ".1"
SETTINGS = "/etc/default/mcp-exec"
PROFILE = "/etc/apparmor.d/mcp-exec"
SHIPPED_PROFILE = "/usr/share/mcp-exec/apparmor/mcp-exec"
UNITS = ["mcp-exec.service", "mcp-exec.socket", "mcp-exec@.service", "mcp-exec@.socket"]
RECOMMENDED = ["python3-" + name for name in "jinja2 matplotlib munkres numpy pandas pil yaml".split()]
ENTRY = """mcp-exec (%s-1) unstable; urgency=medium

  * Newer.

 -- Nobody <nobody@mcp-exec.example>  Tue, 01 Dec 2026 08:00:00 +0000

"""
RELEASES = [("Debian 12", "12"), ("Debian 13", "13")]
# Where AppArmor is so old that it fails over the profile.
WITHOUT_PROFILE = "12"


def prepend(path, text):
    old = _make.read(path)
    with open(path, "w") as file:
        file.write(text + old)


def newer_tree(archive):
    """A tree of a higher version, with another AppArmor profile."""
    tree = _make.unpacked(archive)
    header = os.path.join(tree, "common", "version.h")
    text = _make.read(header)
    with open(header, "w") as file:
        file.write(text.replace('"%s"' % VERSION, '"%s"' % NEWER))
    prepend(os.path.join(tree, "packaging", "debian", "changelog"), ENTRY % NEWER)
    prepend(os.path.join(tree, "packaging", "apparmor", "mcp-exec"), "# A newer profile.\n")
    return tree


CHECKOUT, ARCHIVE, HIGHER = range(3)


@functools.lru_cache(None)
def archive():
    return _make.archive()


@functools.lru_cache(None)
def built(what):
    """The folder with what `make deb` makes of the checkout, of its archive, or of a higher version."""
    if what == CHECKOUT:
        build = _make.folder()
        _make.make(ROOT, "deb", "BUILD=" + build)
        return os.path.join(build, "deb")
    tree = _make.unpacked(archive()) if what == ARCHIVE else newer_tree(archive())
    _make.make(tree, "deb")
    return os.path.join(tree, "build", "deb")


def package(what=CHECKOUT):
    found = [path for path in glob.glob(os.path.join(built(what), "*.deb")) if "dbgsym" not in path]
    equal(len(found), 1)
    return found[0]


def output(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60 * PATIENCE)
    return done.returncode, done.stdout.decode()


@functools.lru_cache(None)
def entered(release):
    both = _make.folder()
    for what in (CHECKOUT, HIGHER):
        shutil.copy(package(what), both)
    return Root(release, both)


def root(release):
    if os.geteuid() != 0:
        raise Skip("needs root")
    why = unfit(release, re.search(r"libc6 \(>= (.*?)\)", output("dpkg-deb", "-f", package(), "Depends")[1]).group(1))
    if why:
        raise Skip(why)
    return entered(release)


def in_root(version):
    """Where the package of this version lies in a root."""
    return "/tmp/packages/" + os.path.basename(package(CHECKOUT if version == VERSION else HIGHER))


def test_it_is_made():
    check(os.path.basename(package()).startswith("mcp-exec_%s-1_" % VERSION), "another name", package())


def test_the_same_package_from_the_archive():
    """Another path, and no git."""
    contents = [open(package(what), "rb").read() for what in (CHECKOUT, ARCHIVE)]
    equal(contents[0] == contents[1], True)


def test_a_higher_version_is_made():
    check(os.path.basename(package(HIGHER)).startswith("mcp-exec_%s-1_" % NEWER), "another name", package(HIGHER))


def test_lintian_has_nothing_to_say():
    changes = glob.glob(os.path.join(built(CHECKOUT), "*.changes"))
    equal(len(changes), 1)
    equal(output("lintian", "--allow-root", "--fail-on", "error,warning", *changes), (0, ""))


def test_contents():
    code, out = output("dpkg-deb", "-c", package())
    equal(code, 0, out)
    rows = [line.split(None, 5) for line in out.splitlines()]
    check(all(row[1] == "root/root" for row in rows), "not root's", out)
    files = {row[5][1:]: row[0] for row in rows if row[0][0] != "d"}
    check({mode for mode in files.values()} <= {"-rw-r--r--", "-rwxr-xr-x"}, "modes", files)
    files = {path.replace("/usr/lib/systemd/", "/lib/systemd/"): mode for path, mode in files.items()}
    equal({path for path, mode in files.items() if "x" in mode},
          {"/usr/bin/mcp-exec", "/usr/libexec/mcp-exec/mcp-exec-worker"})
    share = "/usr/share/"
    wanted = [SETTINGS, SHIPPED_PROFILE, share + "mcp-exec/mcp-exec.default",
              share + "bash-completion/completions/mcp-exec", share + "zsh/vendor-completions/_mcp-exec",
              share + "fish/vendor_completions.d/mcp-exec.fish", share + "man/man1/mcp-exec.1.gz",
              share + "man/man7/mcp-exec-http.7.gz", share + "man/man8/mcp-exec-worker.8.gz",
              share + "lintian/overrides/mcp-exec"] + ["/lib/systemd/system/" + unit for unit in UNITS]
    equal({path for path in files if not path.startswith(share + "doc/") and "x" not in files[path]}, set(wanted))


def test_control():
    fields = dict(line.split(": ", 1) for line in output("dpkg-deb", "-f", package())[1].splitlines() if ": " in line)
    equal((fields["Package"], fields["Version"]), ("mcp-exec", VERSION + "-1"))
    contains(fields["Depends"], "python3 (>= ", "libc6 (>= ", "libseccomp2")
    equal(sorted(fields["Recommends"].replace("python3-munkres | python3-scipy", "python3-munkres").split(", ")),
          sorted(RECOMMENDED))
    equal(output("dpkg-deb", "-I", package(), "conffiles"), (0, SETTINGS + "\n"))


def would_install(place, *arguments):
    return re.findall(r"^Inst (\S+)", place.must("apt-get", "-s", "install", in_root(VERSION), *arguments), re.M)


@cases(RELEASES)
def test_what_apt_would_recommend(release):
    place = root(release)
    there = place.must("dpkg-query", "-W", "-f", "${Package} ").split()
    named = would_install(place, "-o", "APT::Install-Recommends=1")
    equal(sorted(set(RECOMMENDED) - set(named) - set(there)), ["python3-munkres"], "pandas recommends scipy")
    named = would_install(place, "--no-install-recommends", *RECOMMENDED)
    equal(sorted(set(RECOMMENDED) - set(named) - set(there)), [])
    equal([name for name in named if name == "python3-scipy" or re.match(r"(?:gcc|g\+\+)(?:-\d+)?$", name)], [],
          "a compiler")


BEFORE = {}


@cases(RELEASES)
def test_apt_installs_it(release):
    place = root(release)
    BEFORE[release] = place.files()
    place.apt("install", in_root(VERSION))
    equal(place.must("dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Version}", "mcp-exec"), "ii %s-1" % VERSION)
    equal(place.must("dpkg", "--verify", "mcp-exec"), "")
    equal(place.run("sh", "-c", "find /etc/systemd -name 'mcp-exec*' | grep ."), (1, ""), "a unit is enabled")
    equal(place.read(PROFILE), None, "a profile, but no AppArmor")


def runs(place, version):
    equal(place.must(*ORDINARY, "mcp-exec", "--version"), "mcp-exec %s\n" % version)
    equal(place.must(*ORDINARY, "mcp-exec", "run", "-", input="print(6 * 7)"), "42\n")
    contains(place.must(*ORDINARY, "mcp-exec", "check"), "ok     user_namespace")


@cases(RELEASES)
def test_it_works_for_an_ordinary_user(release):
    runs(root(release), VERSION)


@cases(RELEASES)
def test_the_profile_comes_with_an_apparmor_that_can_read_it(release):
    place = root(release)
    place.apt("install", "apparmor")
    equal(place.read(PROFILE), None if release == WITHOUT_PROFILE else place.read(SHIPPED_PROFILE))
    if release != WITHOUT_PROFILE:
        place.must("apparmor_parser", "--skip-kernel-load", "--skip-cache", PROFILE)
        contains(place.read(PROFILE), " /usr/libexec/mcp-exec/mcp-exec-worker ")


def edit(place, path, line):
    place.must("sh", "-c", 'echo "$1" >>"$2"', "sh", line, path)


@cases(RELEASES)
def test_an_upgrade_keeps_what_was_edited(release):
    place = root(release)
    edit(place, SETTINGS, "MCP_EXEC_MAX_QUEUE=7")
    place.apt("install", in_root(NEWER))
    runs(place, NEWER)
    contains(place.read(SETTINGS), "\nMCP_EXEC_MAX_QUEUE=7\n")
    if release != WITHOUT_PROFILE:
        equal(place.read(PROFILE), place.read(SHIPPED_PROFILE), "nobody had changed the profile")
        contains(place.read(PROFILE), "# A newer profile.\n")
        edit(place, PROFILE, "# edited")
        place.apt("install", "--reinstall", in_root(NEWER))
        contains(place.read(PROFILE), "\n# edited\n")


@cases(RELEASES)
def test_removed_it_leaves_settings_and_purged_nothing(release):
    place = root(release)
    place.apt("remove", "mcp-exec")
    contains(place.read(SETTINGS), "\nMCP_EXEC_MAX_QUEUE=7\n")
    equal(place.run("sh", "-c", "command -v mcp-exec"), (127, ""))
    place.apt("purge", "mcp-exec")
    place.apt("purge", "apparmor")
    equal(sorted(place.files() - BEFORE[release] - place.owned()), [])
    equal(place.run("dpkg-query", "-W", "mcp-exec")[0], 1)


if __name__ == "__main__":
    main()
