"""Debian's releases, and the mirror that this machine has its packages from. Standard library only, Python 3.9 or later."""
import glob
import os
import re

RELEASES = {"11": "bullseye", "12": "bookworm", "13": "trixie"}


def _stanzas(text):
    """(URIs, suites) of apt's sources in deb822 format, sources.list(5)."""
    for stanza in re.split(r"\n\s*\n", re.sub(r"(?m)^#.*\n?", "", text)):
        fields = dict((key.lower(), value.split()) for key, value in
                      re.findall(r"(?m)^([\w-]+):((?:.*\n?)(?:^[ \t].*\n?)*)", stanza))
        if "deb" in fields.get("types", ()) and "no" not in fields.get("enabled", ()):
            yield fields.get("uris", []), fields.get("suites", [])


def _lines(text):
    """The same for the one-line format."""
    for line in text.splitlines():
        words = re.sub(r"\[.*?\]", "", line.split("#")[0]).split()
        if len(words) > 2 and words[0] == "deb":
            yield [words[1]], [words[2]]


def mirror(folder="/etc/apt"):
    """The mirror of Debian that the machine itself uses, or None: the one that has a release by its bare name."""
    for path in [os.path.join(folder, "sources.list")] + sorted(glob.glob(os.path.join(folder, "sources.list.d", "*"))):
        if not os.path.isfile(path) or not path.endswith((".list", ".sources")):
            continue
        with open(path, errors="replace") as file:
            text = file.read()
        for uris, suites in (_stanzas if path.endswith(".sources") else _lines)(text):
            if uris and set(suites) & (set(RELEASES.values()) | {"stable", "oldstable", "testing", "sid", "unstable"}):
                return uris[0]
    return None
