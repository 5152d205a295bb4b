#!/usr/bin/env python3
"""Which Python runs the programs, and that nothing but this Python is seen of the directory it lies in."""
import os
import shutil
import subprocess

from _sandbox import check, equal, expect, structured
from home import PYTHON, SYSTEM_PATH, Home
from mcp import cases, contains, main, skip, until


def needs_own_home():
    """When we are root the worker's home is that of the user it becomes, whatever HOME says."""
    if os.geteuid() == 0:
        skip("needs an ordinary user")


# Reads whatever it can, everywhere, and says where the canary is.
SEARCH = """
import os
for folder, _, files in os.walk("/"):
    if folder.startswith(("/proc", "/dev", "/usr", "/sandbox")): continue
    for name in files:
        try:
            path = os.path.join(folder, name)
            if os.path.getsize(path) < 100 and open(path).read() == "CANARY": print("SEEN", path)
        except (OSError, UnicodeDecodeError): pass
"""


def ran(s, code):
    result = structured(s.exec(code))
    equal((result["exit_code"], result["stderr"]), (0, ""), str(result))
    return result["stdout"]


PLACES = [("plain", "venv"), ("deep_and_private", "private/work/venv"), ("with_spaces", "my envs/the venv"),
          ("not_ascii", "Größe/環境"), ("quotes_and_backslash", "it's \"here\"\\n"), ("octal", "a\\040b"),
          ("hidden", ".venvs/x")]


@cases(PLACES)
def test_a_virtual_environment_below_home(name):
    with Home() as home:
        python = home.venv(name)
        home.write(os.path.join(home.packages(name), "only_here.py"), "x = 'here'", 0o644)
        if "/" in name:
            os.chmod(home(name.split("/")[0]), 0o700)
        with home.server(python) as s:
            equal(ran(s, "import sys, only_here\nprint(sys.prefix == %r, only_here.x, sys.executable == %r)"
                      % (home(name), python)),
                  "True here True\n")
            equal(ran(s, "import subprocess, sys\nfor python in (sys.executable, 'python3'): "
                         "print(subprocess.run([python, '-c', 'import only_here']).returncode)"), "0\n0\n")
            equal(ran(s, SEARCH), "")
            equal(ran(s, "import os\nprint(sorted(os.listdir(%r)))" % home.path), "%r\n" % [name.split("/")[0]])
            for part in (os.path.dirname(python), home.packages(name)):
                expect(structured(s.exec("open(%r, 'w')" % os.path.join(part, "x"))), exit_code=1)
        check(not os.path.exists(home(name, "x")), "written")


def test_a_virtual_environment_in_the_root_of_a_project_does_not_show_the_project():
    with Home() as home:
        python = home.venv("project")
        for secret in (".env", "main.c", "etc/token", "lib/own.py", "share/notes"):
            home.write("project/" + secret, "CANARY", 0o644)
        with home.server(python) as s:
            equal(ran(s, "import os\nfor d, _, names in os.walk(%r):\n"
                         "    print([n for n in names if b'CANARY' in open(os.path.join(d, n), 'rb').read()], end='')"
                      % home("project")).replace("[]", ""), "")


def test_a_virtual_environment_that_was_replaced_is_asked_again():
    with Home() as home:
        python = home.venv("venv")
        home.write("private/lib/python3/key", "CANARY", 0o644)
        with home.server(python) as s:
            equal(ran(s, "print(1)"), "1\n")
            os.rename(home("venv/lib"), home("venv/old"))
            os.symlink("../private/lib", home("venv/lib"))
            for _ in range(4):   # one sandbox was ready before; then the worker looks again
                result = s.exec("import glob\nfor p in glob.glob(%r, recursive=True): print(open(p).read())"
                                % home("venv/**/key"))
                check("CANARY" not in str(result), "seen", result)
            os.unlink(home("venv/lib"))
            os.rename(home("venv/old"), home("venv/lib"))
            until(lambda: not s.exec("print(1)")["isError"], 20, "a run")


def test_a_virtual_environment_along_path():
    with Home() as home:
        python = home.venv("v")
        with home.server("python3", os.path.dirname(python) + ":" + SYSTEM_PATH) as s:
            equal(ran(s, "import sys; print(sys.prefix)"), home("v") + "\n")


def test_one_that_sees_the_system_s_packages():
    with Home() as home:
        with home.server(home.venv("v", "--system-site-packages")) as s:
            equal(ran(s, "import numpy; print(int(numpy.ones(3).sum()))"), "3\n")


def test_a_copied_interpreter():
    with Home() as home:
        with home.server(home.venv("v", "--copies")) as s:
            equal(ran(s, "import sys; print(sys.prefix)\n" + SEARCH), home("v") + "\n")


SHIMS = [("script", '#!/bin/sh\nexec %s "$@"\n'),
         ("script_that_talks", '#!/bin/sh\necho hello\necho careful >&2\nexec %s "$@"\n'),
         ("script_that_stays", '#!/bin/sh\n%s "$@"\n'),
         ("script_with_a_child_that_stays", '#!/bin/sh\nsleep 3 &\nexec %s "$@"\n')]


@cases(SHIMS)
def test_a_shim_is_asked_for_what_it_starts(text):
    with Home() as home:
        shim = home.write(".pyenv/shims/python3", text % PYTHON, 0o755)
        for python, path in (("python3", os.path.dirname(shim) + ":" + SYSTEM_PATH), (shim, SYSTEM_PATH)):
            with home.server(python, path) as s:
                equal(ran(s, "import sys; print(sys.executable)\n" + SEARCH), PYTHON + "\n")


def test_a_shim_for_a_virtual_environment():
    with Home() as home:
        shim = home.write(".pyenv/shims/python3", '#!/bin/sh\nexec "%s" "$@"\n' % home.venv(".pyenv/versions/3.x"),
                          0o755)
        with home.server(shim) as s:
            equal(ran(s, "import sys; print(sys.prefix)"), home(".pyenv/versions/3.x") + "\n")
            equal(ran(s, "import os; print(os.listdir(%r), os.listdir(%r))" % (home.path, home(".pyenv"))),
                  "['.pyenv'] ['versions']\n")


def test_links_to_an_environment():
    with Home() as home:
        python = home.venv("real/v")
        os.symlink(home("real/v"), home("link"))
        for path in (home("link/bin/python3"), python):
            with home.server(path) as s:
                equal(ran(s, "import json, sys; print(sys.prefix in (%r, %r))\n" % (home("link"),
                                                                                    home("real/v")) + SEARCH), "True\n")


def test_links_to_an_interpreter_from_elsewhere():
    """As uv puts them into ~/.local/bin, of which nothing is seen."""
    with Home() as home:
        prefix = home("share/python-3.x")
        os.makedirs(os.path.join(prefix, "bin"))
        os.makedirs(os.path.join(prefix, "lib"))
        shutil.copy(os.path.realpath(PYTHON), os.path.join(prefix, "bin"))
        name = os.path.basename(os.path.realpath(PYTHON))
        os.symlink("/usr/lib/" + name, os.path.join(prefix, "lib", name))
        os.symlink("python-3.x", home("share/python-3"))
        os.makedirs(home(".local/bin"))
        home.write(".local/bin/tool", "CANARY")
        for link, to in (("a", home("share/python-3/bin", name)), ("b", "a"),
                         ("c", "../../share/python-3.x/bin/" + name), ("d", PYTHON)):
            os.symlink(to, home(".local/bin", link))
            with home.server(home(".local/bin", link)) as s:
                equal(ran(s, "import os, sys\nprint(os.path.realpath(sys.prefix), os.path.exists(sys.executable), "
                          "os.path.exists(%r))\n" % home(".local") + SEARCH),
                      "%s True False\n" % ("/usr" if link == "d" else prefix))


# Answers as an interpreter does when it is asked, with this version and prefix.
LIAR = "#!/bin/sh\n" \
       "printf 'mcp-exec-answer\\0001\\0version\\000%s\\0executable\\0/usr/bin/python3\\0prefix\\0%s\\0' >&3\n"

REFUSED = [
    ("nonexistent", lambda home: "/nonexistent", ["/nonexistent"]),
    ("no_such_name", lambda home: "no-such-python", ["no-such-python"]),
    ("a_directory", lambda home: home.path, []),
    ("not_executable", lambda home: home.write("python3", "#!/bin/sh\n", 0o644), []),
    ("true", lambda home: "/bin/true", ["/bin/true"]),
    ("a_shell", lambda home: "/bin/sh", ["/bin/sh"]),
    ("cat", lambda home: "/bin/cat", []),
    ("one_that_lies", lambda home: home.write("python3", "#!/bin/sh\nprintf 'a\\0b\\0c' >&3\n", 0o755), []),
    ("one_that_floods", lambda home: home.write("python3", "#!/bin/sh\nexec cat /dev/zero >&3\n", 0o755), []),
    ("python_2", lambda home: home.write("python3", LIAR % ("132882", "/usr"), 0o755), []),
    ("prefix_is_root", lambda home: home.write("python3", LIAR % ("199334", "/"), 0o755), []),
    ("prefix_above_home", lambda home: home.write("python3", LIAR % ("199334", os.path.dirname(home.path)), 0o755), []),
]


@cases(REFUSED)
def test_is_refused_with_a_sentence(make, words):
    with Home() as home:
        python = make(home)
        with home.server(python) as s:
            result = s.exec("print(1)")
            equal(result["isError"], True)
            text = result["content"][0]["text"]
            contains(text, *words)
            check("." in text and len(text) > 40, "no sentence:", text)
            equal(s.request("ping")["result"], {})
        code, out, _ = home.check(python)
        equal(code, 69)
        contains(out, "FAIL", "interpreter")


def test_a_prefix_that_is_home_is_refused():
    needs_own_home()
    with Home() as home:
        python = home.venv(".") and home("bin/python3")
        with home.server(python) as s:
            result = s.exec("print(1)")
            equal(result["isError"], True)
            contains(result["content"][0]["text"], "home")
        code, out, _ = home.check(python)
        equal(code, 69)
        contains(out, "FAIL", "home")


def test_the_next_candidate_is_taken_and_named():
    with Home() as home:
        broken = home.write("bin/python3", "#!/bin/sh\nexit 1\n", 0o755)
        path = "%s:%s" % (os.path.dirname(broken), SYSTEM_PATH)
        with home.server("python3", path) as s:
            equal(ran(s, "import sys; print(sys.executable)"), PYTHON + "\n")
        code, out, _ = home.check("python3", path)
        equal(code, 0)
        contains(out, "passed over " + broken, "interpreter: " + PYTHON)


def test_a_full_path_is_never_replaced():
    with Home() as home:
        with home.server(home("no/python3")) as s:
            equal(s.exec("print(1)")["isError"], True)


def test_directories_of_pythonpath_and_pth_files_are_left_out():
    with Home() as home:
        python = home.venv("v")
        home.write("project/mine.py", "x = 1", 0o644)
        home.write("other/also_mine.py", "x = 1", 0o644)
        home.write(os.path.join(home.packages("v"), "editable.pth"), home("project") + "\n", 0o644)
        with home.server(python, PYTHONPATH=home("other")) as s:
            for name in ("mine", "also_mine"):
                result = structured(s.exec("import " + name))
                expect(result, exit_code=1)
                contains(result["stderr"], "ModuleNotFoundError")
            equal(ran(s, SEARCH), "")
            equal(ran(s, "import os; print(os.listdir(%r))" % home.path), "['v']\n")
        code, out, _ = home.check(python, PYTHONPATH=home("other"))
        equal(code, 0)
        contains(out, "do not see " + home("project"), "do not see " + home("other"))


def test_pth_files_that_run_code_do_not_disturb():
    with Home() as home:
        python = home.venv("v")
        home.write(os.path.join(home.packages("v"), "noisy.pth"), "import sys; print('noise'); sys.stdout.flush()\n",
                   0o644)
        with home.server(python) as s:
            equal(structured(s.exec("print(1)"))["exit_code"], 0)


def test_the_user_s_own_packages_are_seen_and_nothing_beside_them():
    needs_own_home()
    with Home() as home:
        version = subprocess.run([PYTHON, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
                                 capture_output=True,
                                 text=True).stdout.strip()
        home.write(".local/lib/python%s/site-packages/of_the_user.py" % version, "x = 'mine'", 0o644)
        with home.server(PYTHON) as s:
            equal(ran(s, "import of_the_user; print(of_the_user.x)\n" + SEARCH), "mine\n")
            equal(ran(s, "import os; print(os.listdir(%r), os.listdir(%r))" % (home.path, home(".local"))),
                  "['.local'] ['lib']\n")


main()
