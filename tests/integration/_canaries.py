"""Words that stand for what a caller said, to be looked for where none of it may be."""
import base64
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "lib"))
from mcp import unique


class Canaries(dict):
    """c["code"] makes a word for code, or gives the one that was made."""

    def __missing__(self, place):
        self[place] = unique("canary")
        return self[place]

    def found_in(self, data):
        """The places whose word is in these bytes, as it is, in hex or in base64."""
        forms = lambda w: (w, w.encode().hex(), base64.b64encode(w.encode()).decode().rstrip("=")[:-1])
        return [place for place, word in self.items() if any(form.encode() in data for form in forms(word))]


def readable(pid):
    """What /proc shows of a process to those who may look: command line and environment."""
    data = b""
    for name in ("cmdline", "environ"):
        try:
            with open("/proc/%d/%s" % (pid, name), "rb") as file:
                data += file.read()
        except (PermissionError, FileNotFoundError, ProcessLookupError):
            pass
    return data
