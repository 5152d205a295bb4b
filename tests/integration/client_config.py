#!/usr/bin/env python3
"""mcp-exec client-config: it prints what lies in packaging/clients, and a client or a shell takes it as it is."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import BINARY, PATIENCE, ROOT, WAIT_S, case, cases, check, contains, environment, equal, main, run

USAGE, BAD_CONFIG = 64, 78
CLIENTS = os.path.join(ROOT, "packaging", "clients")
INSTALLED = "/usr/local/bin/mcp-exec"
# How each way is asked for, by the word in the file's name.
WAYS = {"": [], "http": ["--url", "https://mcp.example.com/mcp"], "podman": ["--image", "localhost/mcp-exec"]}
# file: (client, way, settings in it)
FILES = [
    ("claude-code.mcp.json", "claude-code-project", "", []),
    ("claude-code.http.mcp.json", "claude-code-project", "http", []),
    ("claude-code.podman.mcp.json", "claude-code-project", "podman", []),
    ("claude-desktop.json", "claude-desktop", "", []),
    ("claude-desktop.podman.json", "claude-desktop", "podman", []),
    ("cursor.json", "cursor", "", ["--max-timeout-s", "60"]),
    ("cursor.http.json", "cursor", "http", []),
    ("cursor.podman.json", "cursor", "podman", []),
    ("vscode.json", "vscode", "", []),
    ("vscode.http.json", "vscode", "http", []),
    ("vscode.podman.json", "vscode", "podman", []),
]


def own_path():
    return os.path.realpath(BINARY)


def printed(*args, binary=BINARY):
    """The snippet, after checking that there is one and that something is said to the person."""
    done = subprocess.run([binary, "client-config"] + list(args), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, env=environment(), timeout=WAIT_S * PATIENCE)
    equal(done.returncode, 0, str(done.stderr))
    check(done.stdout.endswith(b"\n") and done.stderr.endswith(b".\n"), "no line", done.stdout, done.stderr)
    return done.stdout.decode("utf-8")


@cases([(row[0],) + row for row in FILES])
def test_the_same_lies_in_packaging(name, client, way, settings):
    snippet = printed(client, *(WAYS[way] + settings)).replace(json.dumps(own_path()), json.dumps(INSTALLED))
    with open(os.path.join(CLIENTS, name), encoding="utf-8") as file:
        equal(snippet, file.read())


def test_every_file_and_every_client_is_compared():
    equal(sorted(os.listdir(CLIENTS)), sorted(row[0] for row in FILES))
    code, out, err = run(["client-config"])
    equal((code, err), (0, b""))
    equal(set(out.decode().split()), {row[1] for row in FILES} | {"claude-code"})


def test_readme_shows_the_same():
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
        readme = json_blocks(file.read())
    for name, client, way, _ in FILES:
        if way != "podman" and (client, way) != ("cursor", "http"):
            with open(os.path.join(CLIENTS, name), encoding="utf-8") as file:
                snippet = json.load(file)
            if (client, way) == ("claude-code-project", ""):
                del snippet["mcpServers"]["mcp-exec"]["type"]
            check(snippet in readme, "not in README:", name)


def json_blocks(text):
    return [json.loads(block.split("\n", 1)[1]) for block in text.split("```")[1::2] if block.startswith("json\n")]


# Names that a person may give a directory.
NAMES = [("blanks", "my own tools"), ("not_ascii", "Größe 環境"), ("quotes", "it's \"here\""),
         ("backslash", "a\\b\\n"), ("shell", "$(id) `id` $HOME *;&|<>!#~")]


class Copy:
    """The program in a directory of this name. It starts nothing, so that it needs no worker beside it."""

    def __init__(self, name):
        self._place = tempfile.mkdtemp()
        self.path = os.path.join(os.path.realpath(self._place).encode(), os.fsencode(name), b"mcp-exec")
        os.mkdir(os.path.dirname(self.path))
        shutil.copy(os.path.realpath(BINARY), self.path)

    def __enter__(self):
        return self.path

    def __exit__(self, *_):
        shutil.rmtree(self._place)


@cases(NAMES)
def test_json_has_the_path_as_it_is(name):
    with Copy(name) as path:
        for client in ("claude-desktop", "vscode"):
            servers = next(iter(json.loads(printed(client, "--python", "/o p/q'\"\\", binary=path)).values()))
            equal(servers["mcp-exec"]["command"], os.fsdecode(path))
            equal(servers["mcp-exec"]["args"], ["--python", "/o p/q'\"\\"])


# Stands for the client's own program, and tells what the shell gave it.
CLAUDE = "#!/bin/sh\nfor word; do printf '%s\\0' \"$word\"; done\n"


def as_a_shell_takes_it(line):
    with tempfile.TemporaryDirectory() as place:
        with open(os.path.join(place, "claude"), "w") as file:
            file.write(CLAUDE)
        os.chmod(file.name, 0o755)
        done = subprocess.run(["sh", "-c", line], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              timeout=WAIT_S * PATIENCE, env=environment({"PATH": place + ":/usr/bin:/bin"}))
        equal((done.returncode, done.stderr), (0, b""))
        return done.stdout.decode().split("\0")[:-1]


@cases(NAMES)
def test_a_shell_gets_the_path_as_it_is(name):
    with Copy(name) as path:
        equal(as_a_shell_takes_it(printed("claude-code", "--python", "/o p/q'\"\\", binary=path)),
              ["mcp", "add", "mcp-exec", "--", os.fsdecode(path), "--python", "/o p/q'\"\\"])


def test_a_shell_gets_image_and_address_as_they_are():
    words = as_a_shell_takes_it(printed("claude-code", "--image", "localhost/mcp-exec:1", "--cpus", "2"))
    equal(words[:6], ["mcp", "add", "mcp-exec", "--", "podman", "run"])
    equal(words[-3:], ["localhost/mcp-exec:1", "--cpus", "2"])
    check("unmask=/proc/*" in words, "a word is missing", words)
    equal(as_a_shell_takes_it(printed("claude-code", "--url", "https://a.example/m?x=1&y=$z")),
          ["mcp", "add", "--transport", "http", "mcp-exec", "https://a.example/m?x=1&y=$z", "--header",
           "X-MCP-AUTH: TOKEN"])


def test_a_link_is_followed():
    """So that the worker is found beside it."""
    with tempfile.TemporaryDirectory() as place:
        link = os.path.join(place, "link")
        os.symlink(own_path(), link)
        contains(printed("claude-desktop", binary=link), json.dumps(own_path()))


@case("bytes that are no UTF-8", b"gr\xf6sse")
@case("a control character", b"a\x1b[31mb")
@case("a newline", b"a\nb")
def test_a_path_that_settings_cannot_hold(name):
    with Copy(name) as path:
        for client in ("claude-code", "cursor"):
            done = subprocess.run([path, "client-config", client], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=environment(), timeout=WAIT_S * PATIENCE)
            equal((done.returncode, done.stdout), (USAGE, b""))
            contains(done.stderr, b"rename it")
            check(b"\x1b" not in done.stderr and done.stderr.count(b"\n") == 1, "not one clean line", done.stderr)


@case("no such client", ["emacs"], "claude-desktop")
@case("two clients", ["cursor", "vscode"], "vscode")
@case("image and URL", ["cursor", "--image", "x", "--url", "https://x"], "together")
@case("no URL", ["cursor", "--url", "mcp.example.com"], "https://")
@case("an empty URL", ["cursor", "--url="], "https://")
@case("an empty image", ["cursor", "--image="], "image")
@case("a flag for an image", ["cursor", "--image", "--rm"], "image")
@case("a client without HTTP", ["claude-desktop", "--url", "https://x"], "README")
@case("settings for a URL", ["cursor", "--url", "https://x", "--cpus", "2"], "own settings")
@case("another transport", ["cursor", "--transport", "http"], "--url")
@case("an image for all", ["--image", "x"], "client-config NAME")
@case("json", ["cursor", "--json"], "--json")
def test_usage(args, part):
    code, out, err = run(["client-config"] + args)
    equal((code, out), (USAGE, b""))
    contains(err.decode(), part)
    equal(err.count(b"\n"), 1, str(err))


def test_settings_are_checked_before_a_client_fails_by_them():
    code, out, err = run(["client-config", "cursor", "--cpus", "none"])
    equal((code, out), (BAD_CONFIG, b""))
    contains(err, b"MCP_EXEC_CPUS")


def test_the_environment_is_not_the_client_s():
    equal(run(["client-config", "cursor"], env={"MCP_EXEC_CPUS": "none", "MCP_EXEC_TRANSPORT": "http"})[:2],
          run(["client-config", "cursor"])[:2])


def test_output_that_cannot_be_written():
    with open("/dev/full", "wb") as full:
        done = subprocess.run([BINARY, "client-config", "cursor"], stdout=full, stderr=subprocess.PIPE,
                              env=environment(), timeout=WAIT_S * PATIENCE)
    equal(done.returncode, 70)


if __name__ == "__main__":
    main()
