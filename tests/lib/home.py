"""A home directory for the worker's user, with interpreters in it."""
import os
import shutil
import subprocess
import tempfile

from mcp import Server, run, service_ids

PYTHON = "/usr/bin/python3"
SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
SECRETS = (".ssh/id", ".env", "project/notes.txt", ".local/share/secret", ".bash_history")


class Home:
    """A home directory of the worker's user, private as homes are, with secrets in it."""

    def __init__(self):
        self.path = os.path.realpath(tempfile.mkdtemp(prefix="home "))
        for name in SECRETS:
            self.write(name, "CANARY")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path)

    def __call__(self, *names):
        return os.path.join(self.path, *names)

    def write(self, name, text, mode=0o600):
        path = self(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, mode)
        return path

    def venv(self, name, *options):
        subprocess.run([PYTHON, "-m", "venv", "--without-pip", *options, self(name)], check=True, capture_output=True)
        return os.path.join(self(name), "bin", "python3")

    def packages(self, venv):
        lib = os.path.join(venv, "lib")
        return os.path.join(lib, os.listdir(self(lib))[0], "site-packages")

    def hand_over(self):
        """Everything to the worker's user."""
        for folder, folders, files in os.walk(self.path):
            for path in [folder] + [os.path.join(folder, n) for n in folders + files]:
                os.lchown(path, *service_ids())

    def server(self, python, path=SYSTEM_PATH, **env):
        self.hand_over()
        s = Server(env=dict({"HOME": self.path, "PATH": path, "MCP_EXEC_PYTHON": python}, **env), cwd="/")
        s.initialize()
        return s

    def check(self, python, path=SYSTEM_PATH, **env):
        self.hand_over()
        code, out, err = run(["check"], env=dict({"HOME": self.path, "PATH": path, "MCP_EXEC_PYTHON": python}, **env),
                             cwd="/")
        return code, out.decode(), err.decode()
