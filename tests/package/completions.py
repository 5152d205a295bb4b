#!/usr/bin/env python3
"""Each shell offers what --help lists, where it may stand: bash, fish and zsh are asked themselves."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import PATIENCE, ROOT, Skip, Timeout, cases, check, equal, main, run

FOLDER = os.path.join(ROOT, "packaging", "completions")
HELP = run(["--help"])[1].decode()
SETTINGS = dict(re.findall(r"^ +(--\S+) +MCP_EXEC_[A-Z_]+ +(.*)$", HELP, re.M))
# {command: its own flags}; "" has those that stand for a command themselves.
COMMANDS = {"": []}
for words in re.findall(r"^  mcp-exec (.*?)(?:   .*)?$", HELP, re.M):
    command = words.split()[0] if words[0].isalpha() else ""
    COMMANDS.setdefault(command, []).extend(re.findall(r"--[a-z-]+", words))
# {setting: its words}, of those that have few
VALUES = {flag: found.group().split("|") for flag, text in SETTINGS.items()
          for found in [re.search(r"\b[a-z0-9]+(?:\|[a-z0-9]+)+\b", text)] if found}

BASH = """source "$1" && complete -p mcp-exec | grep -q -- "-F _mcp_exec " || exit 1
shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _mcp_exec; printf '%s\\n' "${COMPREPLY[@]}\""""
# zsh's own function is replaced by one that shows what it was given.
ZSH = """_arguments() { print -rl -- "$@" }; words=("${@:2}"); source "$1\""""


def shell(name, *arguments):
    if shutil.which(name) is None:
        raise Skip("needs " + name)
    done = subprocess.run([name] + list(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=60 * PATIENCE, env=dict(os.environ, HOME="/dev/null"), universal_newlines=True)
    equal((done.returncode, done.stderr), (0, ""), done.stdout)
    return done.stdout.splitlines()


def bash(*typed):
    """What bash offers for the last of these words. It takes a "=" for a word of its own."""
    words = [part for word in typed for part in re.split("(=)", word) if part or word == ""]
    path = os.path.join(FOLDER, "mcp-exec.bash")
    return set(shell("bash", "--norc", "-c", BASH, "bash", path, "mcp-exec", *words)) - {""}


def fish(*typed):
    lines = shell("fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
                  os.path.join(FOLDER, "mcp-exec.fish"), " ".join(("mcp-exec",) + typed))
    return {line.split("\t")[0] for line in lines}


def zsh(*typed):
    """{flag: what may follow it} of the table that zsh's function for completions is given."""
    lines = shell("zsh", "-f", "-c", ZSH, "zsh", os.path.join(FOLDER, "mcp-exec.zsh"), "mcp-exec", *typed)
    return dict(re.findall(r"^(?:\([^()]*\))?(--[a-z-]+)=?\[[^]]*\](?::[^:]*:(.*))?$", "\n".join(lines), re.M))


SHELLS = [("bash", bash), ("fish", fish), ("zsh", zsh)]


def test_help_was_understood():
    equal(sorted(COMMANDS), ["", "check", "client-config", "run"])
    check(len(SETTINGS) > 20 and all(COMMANDS.values()) and "--transport" in VALUES, "not much", SETTINGS, VALUES)


@cases([("%s %s" % (name, command), ask, command) for name, ask in SHELLS for command in COMMANDS])
def test_flags(ask, command):
    equal(set(ask(*[command, "--"] if command else ["--"])), set(SETTINGS) | set(COMMANDS[command]))


@cases([("bash", bash), ("fish", fish)])
def test_commands(ask):
    equal({word for word in ask("") if word[0] != "-"}, {"run", "check", "client-config", "help"})


CLIENTS = run(["client-config"])[1].decode().split()


@cases([("bash", bash), ("fish", fish)])
def test_clients(ask):
    equal({word for word in ask("client-config", "") if word[0] != "-"}, set(CLIENTS))


def test_clients_in_zsh():
    with open(os.path.join(FOLDER, "mcp-exec.zsh")) as file:
        equal(re.search(r"'2:client:\((.*?)\)'", file.read()).group(1).split(), CLIENTS)


@cases([("%s %s" % (name, flag), ask, flag) for name, ask in SHELLS[:2] for flag in VALUES])
def test_values(ask, flag):
    equal(ask(flag, ""), set(VALUES[flag]))
    equal(ask("run", flag, VALUES[flag][0][:2]), {VALUES[flag][0]})
    equal({word.split("=")[-1] for word in ask(flag + "=")}, set(VALUES[flag]))


def test_values_in_zsh():
    equal({flag: words[1:-1].split() for flag, words in zsh("--").items() if words.startswith("(")}, VALUES)


@cases([("bash", bash), ("fish", fish)])
def test_files(ask):
    """A program to run, with a blank in its name, and a file as a value."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "ab.py")
        open(path, "w").close()
        for typed in (["run", path[:-3]], ["--auth-token-file", path[:-3]]):
            equal({os.path.basename(word) for word in ask(*typed)}, {"ab.py"})


def test_files_with_blanks_in_bash():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "a b.py")
        open(path, "w").close()
        equal(bash("run", path[:-4]), {path})


def _read_until(terminal, pattern):
    text, deadline = "", time.monotonic() + 30 * PATIENCE
    while not re.search(pattern, text):
        left = deadline - time.monotonic()
        if left < 0 or not select.select([terminal], [], [], left)[0]:
            raise Timeout("zsh shows %r, not %s" % (text, pattern))
        text += os.read(terminal, 65536).decode(errors="replace")


@cases([
    ("a flag", "mcp-exec --transp\t", "--transport="), ("a flag of run", "mcp-exec run --js\t", "--json"),
    ("a value", "mcp-exec check --log-level=wa\t", "=warn"), ("a command", "mcp-exec ch\t", "check")])
def test_a_real_zsh_completes(line, pattern):
    if shutil.which("zsh") is None:
        raise Skip("needs zsh")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(os.path.join(FOLDER, "mcp-exec.zsh"), os.path.join(folder, "_mcp-exec"))
        pid, terminal = pty.fork()
        if pid == 0:
            os.execvpe("zsh", ["zsh", "-f", "-i"], dict(os.environ, TERM="dumb", HOME=folder, ZDOTDIR=folder))
        try:
            # The prompt is written so that its echo is another text.
            os.write(terminal, b"PS1='REA''DY '; fpath=(%s $fpath); autoload -Uz compinit; compinit -u -D\r"
                     % folder.encode())
            _read_until(terminal, "READY")
            os.write(terminal, line.encode())
            _read_until(terminal, pattern)
        finally:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            os.close(terminal)


if __name__ == "__main__":
    main()
