#!/usr/bin/env python3
"""Which system calls can be reached from inside a run: each is tried, by number, with arguments that can do nothing.

A call is reached when it answers otherwise than the filter would: EBADF and EFAULT come from the kernel's own look at
the arguments. Those that have an effect with any arguments (exit, fork, pause, ...) are tried in children that may be
lost.
With --print it tells what it found.
"""
import errno
import json
import os
import re
import subprocess
import sys

from _sandbox import equal, printed
from mcp import BINARY, ROOT, check, environment, main

MOST = 150
NUMBERS = range(601)
BAD = -1    # no descriptor, no pointer
# Linux 6.14 and later ask no filter about these two. They answer only to a process into which a probe was set.
UNFILTERED = {335: "uretprobe", 336: "uprobe"} if os.uname().machine == "x86_64" else {}

# Tries each of [number, arguments] in a child of its own. Prints what each returned: an errno, 0, or null when the
# child did not come to tell.
NATIVE = r"""
import ctypes, json, os, select, signal, sys
libc = ctypes.CDLL(None, use_errno=True)
def probe(number, arguments):
    r, w = os.pipe()
    pid = os.fork()
    if pid == 0:
        got = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in arguments])
        os.write(w, b"%d\n" % (ctypes.get_errno() if got == -1 else 0))
        os._exit(0)
    os.close(w)
    told = os.read(r, 16) if select.select([r], [], [], 1.5)[0] else b""
    os.kill(pid, signal.SIGKILL); os.waitpid(pid, 0); os.close(r)
    return int(told.split()[0]) if told else None
print(json.dumps([probe(*p) for p in json.load(sys.stdin)]))
"""

# The same numbers by x32, and by int 0x80 from an anonymous mapping that may run. Prints those that were not ENOSYS.
FOREIGN = r"""
import ctypes, mmap, os, sys
word = lambda n: n.to_bytes(4, "little")
m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
f = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
def run(code):
    m.seek(0); m.write(code)
    return f()
ways = {"x32": lambda nr: run(b"\xb8" + word(0x40000000 + nr) + b"\x48\xc7\xc7" + word(0xffffffff) + b"\x0f\x05\xc3"),
        "int 0x80": lambda nr: run(b"\x53\xb8" + word(nr) + b"\xbb" + word(0xffffffff) + b"\xcd\x80\x5b\xc3")}
for way in ways:
    sys.stdout.flush()
    pid = os.fork()
    if pid == 0:
        for nr in range(601):
            if ways[way](nr) != -38: print(way, nr, flush=True)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    print(way, "tried" if status == 0 else "ended by %d" % (status & 127))
"""


def names():
    """{number: name} of this machine's system calls, by the compiler's headers."""
    text = subprocess.run(["cc", "-E", "-dM", "-"], input="#include <sys/syscall.h>\n", stdout=subprocess.PIPE,
                          universal_newlines=True, check=True).stdout
    defined = dict(re.findall(r"^#define (__NR\w+) (\w+)$", text, re.M))

    def value(word):
        return value(defined[word]) if word in defined else int(word) if word.isdigit() else None
    skipped = ("__NR_syscalls", "__NR_arch_specific_syscall")
    found = {value(key): key[5:] for key in defined if key.startswith("__NR_") and key not in skipped}
    found.pop(None, None)
    return found


def policy():
    """[(name, errno or 0, arguments)] as --print-policy has it; arguments meet the row's conditions, or are bad."""
    text = subprocess.run([BINARY, "--print-policy"], stdout=subprocess.PIPE, universal_newlines=True, check=True,
                          env=environment()).stdout
    rows = []
    for line in text.split("# system calls")[1].splitlines()[1:]:
        if line.startswith("#"):
            continue
        name, verdict, rest = line.split(None, 2)
        # For sockets zero is what can be tried: a bad protocol would be refused by the kernel just as by the filter.
        arguments = [0 if name.startswith("socket") else BAD] * 6
        for number, value in re.findall(r"\barg(\d)(?:&0x[0-9a-f]+)?==(0x[0-9a-f]+|0)\b", rest.split("  ")[0]):
            arguments[int(number)] = int(value, 16)
        if name == "futex":     # an unknown operation is ENOSYS to the kernel, too; this is an address that is none
            arguments[1] = 1
        rows.append((name, 0 if verdict == "allow" else getattr(errno, verdict), arguments))
    return rows


def signed(value):
    return value - (1 << 64) if value >= 1 << 63 else value


class Found:
    """What was tried, and what came of it."""

    def __init__(self):
        self.names, self.rows = {**UNFILTERED, **names()}, policy()
        numbers = {name: number for number, name in self.names.items()}
        self.allowed = {name for name, error, _ in self.rows if not error and name in numbers}
        tries = [(number, [BAD] * 6) for number in NUMBERS if self.names.get(number) != "futex"]
        tries += [(numbers[name], [signed(a) for a in arguments]) for name, error, arguments in self.rows
                  if not error and name in numbers]
        told = json.loads(printed(NATIVE, stdin=json.dumps(tries), timeout_s=120, wait=200))
        equal(len(told), len(tries))
        self.reached = {}
        for (number, _), error in zip(tries, told):
            if error not in self.refusals(number):
                self.reached.setdefault(number, "no answer" if error is None else errno.errorcode.get(error, "works"))

    def refusals(self, number):
        """The errnos by which the filter may refuse this number."""
        name = self.names.get(number)
        return {error for called, error, _ in self.rows if called == name and error} | {errno.ENOSYS}

    def reached_names(self):
        return {self.names.get(number, "number %d" % number) for number in self.reached}


_found = []


def found():
    if not _found:
        _found.append(Found())
    return _found[0]


def foreign():
    """{way: [number reached, ...]} of the foreign ABIs that this processor has."""
    if os.uname().machine != "x86_64":
        return {}
    ways = {}
    for line in printed(FOREIGN, timeout_s=60, wait=90).splitlines():
        way, what = re.fullmatch(r"(x32|int 0x80) (.*)", line).groups()
        ways.setdefault(way, [])
        if what != "tried":
            ways[way].append(what)
    return ways


def test_few_system_calls_can_be_reached():
    check(100 <= len(found().reached) <= MOST, "%d are reached" % len(found().reached), found().reached_names())


def test_what_can_be_reached_is_what_the_policy_allows():
    equal(found().reached_names() - set(UNFILTERED.values()), found().allowed)


def test_the_documents_have_the_number():
    """Of the table; an architecture without some of the calls has fewer."""
    told = set()
    for name, sentence in (("README.md", r"allow-list of (\d+) system\s+calls"),
                           ("SECURITY.md", r"can\s+reach (\d+) of")):
        with open(os.path.join(ROOT, name)) as file:
            told |= set(re.findall(sentence, file.read()))
    equal(told, {str(len({name for name, error, _ in found().rows if not error}))})


def test_no_foreign_abi_reaches_any():
    if os.uname().machine != "x86_64":
        return equal(foreign(), {})
    # Without the 32-bit emulation in the kernel its instruction is a fault.
    ways = foreign()
    if ways["int 0x80"] == ["ended by 11"]:
        ways["int 0x80"] = []
    equal(ways, {"x32": [], "int 0x80": []})


def show():
    rows = found().rows
    print("%d system calls can be reached (of at most %d)" % (len(found().reached), MOST))
    for way, what in foreign().items():
        print("%d by %s" % (len(what), way))
    for number, how in sorted(found().reached.items()):
        print("  %3d %-20s %s" % (number, found().names.get(number, "?"), how))
    text = subprocess.run([BINARY, "--print-policy"], stdout=subprocess.PIPE, universal_newlines=True, check=True,
                          env=environment()).stdout
    print("\nWith some arguments only, and why:")
    conditional = {name for name, error, arguments in rows if error} & {name for name, error, _ in rows if not error}
    for line in text.split("# system calls")[1].splitlines()[1:]:
        if line.split()[0] in conditional:
            print("  " + line)


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        show()
    else:
        main()
