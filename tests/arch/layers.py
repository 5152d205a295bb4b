#!/usr/bin/env python3
"""The rules of ARCHITECTURE.md that a machine can check: who includes, links and calls what, and how large it is."""
import hashlib
import os
import re
import statistics

from _csource import bare, functions
from _rules import ROOT, main, rule, tool

MODULES = {"common": ("common",), "policy": ("policy", "common"), "worker": ("worker", "policy", "common"),
           "worker/gate": ("worker/gate", "policy", "common"), "supervisor": ("supervisor", "common")}
# The one thing of policy that the supervisor uses: the filter that it puts on itself. And what the worker and the gate,
# which pristine interpreters load, have in common: the plan, and how a process locks itself down and reports it.
SHARED = {"supervisor": ("policy/confine.h",), "worker": ("worker/gate/plan.h",),
          "worker/gate": ("worker/inside.h", "worker/lockdown.h", "worker/report.h")}
PROGRAMS = {"supervisor": "bin/mcp-exec", "worker": "libexec/mcp-exec/mcp-exec-worker"}


def module_of(path):
    return "worker/gate" if path.startswith("worker/gate/") else path.split("/")[0]


class Tree:
    """The C files of a source tree and what was built from it."""

    def __init__(self, root, build=None):
        self.root = root
        self.build = build or os.path.join(root, "build")
        self.sources = self._find(MODULES)
        self.embedded = self._find(["worker/gate"], (".py",))
        self.tests = self._find(["tests/unit", "tests/fake", "tests/bench"])

    def _find(self, folders, suffixes=(".c", ".h")):
        return [f + "/" + n for f in folders if os.path.isdir(os.path.join(self.root, f))
                for n in sorted(os.listdir(os.path.join(self.root, f))) if n.endswith(suffixes)]

    def text(self, path):
        with open(os.path.join(self.root, path), encoding="utf-8") as file:
            return file.read()

    def lines(self, paths, clean=bare):
        """(path:line, text of the line) without comments and strings."""
        for path in paths:
            for number, line in enumerate(clean(self.text(path)).splitlines(), 1):
                yield "%s:%d" % (path, number), line

    def includes(self, paths):
        """(path, place, "quote" or "system", what)"""
        for path in paths:
            for place, line in self.lines([path], clean=lambda text: text):
                match = re.match(r'\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', line)
                if match:
                    yield path, place, "quote" if match.group(1) else "system", match.group(1) or match.group(2)

    def program(self, module):
        return os.path.join(self.build, PROGRAMS[module])

    def object(self, path):
        """What was compiled from a source."""
        return os.path.join(self.build, "gate" if path.startswith("worker/gate/") else "obj", path[:-2] + ".o")


# --- who includes what -----------------------------------------------------------------------------------------------

@rule({"supervisor/a.c": '#include "worker/init.h"\n', "common/b.h": '#include "policy/view.h"\n',
       "policy/c.c": '#include "c.h"\n', "worker/d.c": '#include "supervisor/spawn.h"\n',
       "supervisor/e.c": '#include "policy/filter.h"\n', "worker/f.c": '#include "worker/gate/python.h"\n',
       "worker/gate/g.c": '#include "worker/sandbox.h"\n'})
def includes_follow_the_layers(tree):
    for path, place, kind, what in tree.includes(tree.sources):
        module = module_of(path)
        if kind == "quote" and module_of(what) not in MODULES[module] and what not in SHARED.get(module, ()):
            yield "%s includes %s" % (place, what)


# header, and the only files that may include it
PRIVATE = (
    (r"linux/seccomp\.h", r"policy/.*|worker/notify\.c"),
    (r"seccomp.*\.h|sys/capability\.h|linux/capability\.h", r"policy/.*"),
    (r"netlink/.*|linux/r?t?netlink\.h", r"worker/loopback\.c|policy/confine_table\.c"),
    (r"(cjson/)?cJSON\.h", r"supervisor/(rpc|tool|mcp\w*|exec_\w*)\.[ch]"),
    (r"event2/.*|event\.h|ev\w+\.h", r"supervisor/.*"),
)


@rule({"worker/a.c": "#include <seccomp.h>\n", "supervisor/b.c": "#include <sys/capability.h>\n",
       "worker/c.c": "#include <netlink/netlink.h>\n", "supervisor/queue.c": "#include <cjson/cJSON.h>\n",
       "common/d.c": "#include <event2/event.h>\n"})
def a_library_has_one_user(tree):
    for path, place, kind, what in tree.includes(tree.sources):
        for header, users in PRIVATE:
            if kind == "system" and re.fullmatch(header, what) and not re.fullmatch(users, path):
                yield "%s includes <%s>" % (place, what)


@rule({"common/a.h": "size_t f(void);\n"})
def headers_stand_alone(tree):
    headers = [path for path in tree.sources if path.endswith(".h")]
    flags = tool("pkg-config", "--cflags", "libcjson", "libnl-3.0").split()
    try:
        tool("gcc", "-std=gnu17", "-D_GNU_SOURCE", "-DBUILD_ID=1", "-I" + tree.root, *flags, "-fsyntax-only",
             *[os.path.join(tree.root, path) for path in headers])
    except OSError as error:
        yield from (line for line in str(error).splitlines() if "error:" in line)


# --- what is not written ---------------------------------------------------------------------------------------------

BANNED = ("strcpy", "stpcpy", "strcat", "sprintf", "vsprintf", "gets", "strtok", "atoi", "atol", "atoll", "atof",
          "system", "popen", "alloca", "cJSON_GetObjectItem", "cJSON_HasObjectItem", "cJSON_Parse",
          "cJSON_ParseWithLength", "cJSON_ParseWithOpts")
CALL = re.compile(r"(?<![\w.>])(?:%s)\s*\(" % "|".join(BANNED))
UNCHECKED = re.compile(r"(?:^|[;{}]|\(void\))\s*v?asprintf\s*\(")


@rule(dict({"worker/%s.c" % name: "void f(void)\n{\n\t%s(x);\n}\n" % name for name in BANNED},
           **{"worker/asprintf.c": 'void f(char **s)\n{\n\tasprintf(s, "x");\n}\n'}))
def no_banned_call(tree):
    for place, line in tree.lines(tree.sources + tree.tests):
        match = CALL.search(line) or UNCHECKED.search(line)
        if match:
            yield "%s: %s" % (place, match.group().strip())


@rule({"worker/a.c": "int f(void)\n{\n\tgoto out;\nout:\n\treturn 0;\n}\n"})
def no_goto(tree):
    for place, line in tree.lines(tree.sources + tree.tests):
        if re.search(r"\bgoto\b", line):
            yield place


@rule({"worker/a.c": "long f(void)\n{\n\treturn syscall(39);\n}\n", "worker/b.c": "#define __NR_getpid 39\n",
       "worker/c.c": 'void f(void)\n{\n\t__asm__ volatile("nop");\n}\n'})
def no_system_call_number_and_no_assembler(tree):
    bad = re.compile(r"\bsyscall\s*\(\s*\d|#\s*define\s+(?:__NR_|SYS_)\w+\s+\(?\d|"
                     r"\b(?:__asm__|asm)\b\s*(?:volatile|goto|inline|\()")
    # No code: how the linker calls what it embeds, and the one file that embeds a text by the assembler.
    label = re.compile(r"extern const char \w+\[\] __asm__\(\s*\);")
    for place, line in tree.lines(tree.sources + tree.tests):
        if bad.search(line) and not label.fullmatch(line) and not place.startswith("worker/gate/preload.c:"):
            yield "%s: %s" % (place, line.strip())


@rule({"worker/a.c": "int f = SECCOMP_USER_NOTIF_FLAG_CONTINUE;\n",
       "policy/b.c": "void f(void)\n{\n\tioctl(0, SECCOMP_IOCTL_NOTIF_ADDFD, 0);\n}\n"})
def no_refused_system_call_is_let_pass(tree):
    """What a call's arguments point to can change between our look and the kernel's: seccomp_unotify(2)."""
    for place, line in tree.lines(tree.sources):
        if re.search(r"FLAG_CONTINUE|NOTIF_ADDFD", line):
            yield "%s: %s" % (place, line.strip())


@rule({"worker/a.c": "#define _GNU_SOURCE\n"})
def feature_macros_come_from_the_command_line(tree):
    for place, line in tree.lines(tree.sources + tree.tests):
        if re.match(r"\s*#\s*define\s+_(?:GNU|DEFAULT|POSIX|XOPEN)\w*_SOURCE\b", line):
            yield place


# --- how large things are --------------------------------------------------------------------------------------------

FUNCTION_MAX, FUNCTION_P90, FUNCTION_MEDIAN, FILE_MAX = 80, 40, 15, 449


def function_of(lines):
    return "int f(void)\n{\n" + "\t;\n" * (lines - 3) + "}\n"


@rule({"worker/a.c": function_of(FUNCTION_MAX + 1)})
def no_function_is_too_long(tree):
    for path in tree.sources:
        for name, line, length in functions(tree.text(path)):
            if length > FUNCTION_MAX:
                yield "%s:%d: %s has %d lines, %d are allowed" % (path, line, name, length, FUNCTION_MAX)


@rule({"worker/a.c": function_of(FUNCTION_MEDIAN + 1) * 3})
def the_median_function_is_short(tree):
    lengths = [f[2] for path in tree.sources for f in functions(tree.text(path))]
    if not lengths or statistics.median(lengths) > FUNCTION_MEDIAN:
        yield "the median of %d functions is over %d lines" % (len(lengths), FUNCTION_MEDIAN)


@rule({"worker/a.c": function_of(5) * 8 + function_of(FUNCTION_P90 + 1) * 2})
def nine_of_ten_functions_fit_on_a_screen(tree):
    lengths = sorted(f[2] for path in tree.sources for f in functions(tree.text(path)))
    if not lengths or lengths[int(len(lengths) * 0.9)] > FUNCTION_P90:
        yield "more than a tenth of %d functions is over %d lines" % (len(lengths), FUNCTION_P90)


@rule({"worker/a.c": "\n" * (FILE_MAX + 1)})
def no_file_is_too_long(tree):
    for path in tree.sources + tree.tests:
        length = tree.text(path).count("\n")
        if length > FILE_MAX:
            yield "%s has %d lines, %d are allowed" % (path, length, FILE_MAX)


# --- what was built --------------------------------------------------------------------------------------------------

STATEFUL = re.compile(r"(?:supervisor|worker)/main|common/log|supervisor/secret")
# CPython calls the gate back without an argument that were ours, and wants some of its own structs to stay. There is
# one gate in a process, with one thread.
GATE_STATE = {"collector": {"collector", "methods"}, "ending": {"ending", "method"}, "module": {"gate", "module"},
              "objects": {"known"}, "pages": {"pages", "areas"}, "preload": {"preload", "method"}}
# A variable of its own in a section that stays writable; what is only written by the loader is constant.
VARIABLE = re.compile(r"^\S+ .{6}O \.t?(?:bss|data)(?!\.rel\.ro)\S*\s+\S+\s+(?:\.hidden )?(\S+)$|"
                      r"^\S+ .{6}O \*COM\*\s+\S+\s+(?:\.hidden )?(\S+)$", re.M)


def compiled(folder, source, *flags):
    target = Tree(folder).object(source)
    os.makedirs(os.path.dirname(target))
    tool("gcc", "-c", "-fPIE", *flags, "-o", target, os.path.join(folder, source))


COUNTS = "static int count;\nint f(void);\nint f(void)\n{\n\treturn ++count;\n}\n"


@rule({"worker/a.c": COUNTS, "worker/gate/enter.c": COUNTS}, objections=2,
      make=lambda folder: [compiled(folder, source) for source in ("worker/a.c", "worker/gate/enter.c")])
def no_state_outside_main_log_and_secret(tree):
    for path in tree.sources:
        if path.endswith(".h") or STATEFUL.match(path):
            continue
        allowed = GATE_STATE.get(path[len("worker/gate/"):-2], ()) if module_of(path) == "worker/gate" else ()
        for match in VARIABLE.finditer(tool("objdump", "-t", tree.object(path))):
            # What is static in a function has a number behind it, or the function before it.
            name = re.sub(r"\.\d+$", "", match.group(1) or match.group(2)).split(".")[-1]
            if name not in allowed:
                yield "%s: %s can be changed" % (path, name)


def symbols(tree, path):
    """(defined, wanted) names of the object of a source."""
    listed = [line.split() for line in tool("nm", tree.object(path)).splitlines()]
    return {f[-1] for f in listed if f[-2] == "T"}, {f[-1] for f in listed if f[-2] == "U"}


@rule({"worker/a.c": "int f(void);\nint f(void)\n{\n\treturn 1;\n}\n"},
      make=lambda folder: compiled(folder, "worker/a.c"))
def every_public_function_has_a_caller_elsewhere(tree):
    found = {path: symbols(tree, path) for path in tree.sources + tree.tests
             if path.endswith(".c") and not path.startswith("tests/bench/")}
    wanted = set().union(*(names for _, names in found.values()))
    for path in tree.sources:
        for name in sorted(found[path][0] - wanted - {"main", "PyInit_gate"}) if path in found else []:
            yield "%s: %s could be static, or go" % (path, name)


def linked(folder, *flags):
    """Builds both programs of a bad tree from one file."""
    for path in PROGRAMS.values():
        target = os.path.join(folder, "build", path)
        os.makedirs(os.path.dirname(target))
        tool("gcc", *flags, "-o", target, os.path.join(folder, "worker/main.c"))


NEEDED = re.compile(r"\(NEEDED\).*\[(.*)\]")
# The link line is the wall between the two: a library that is not there cannot be called.
FOREIGN = {"supervisor": r"lib(cap|nl-.*)\.so.*", "worker": r"lib(cjson|event.*)\.so.*"}
ALLOWED = {"supervisor": r"lib(c|cjson|seccomp|event_core-[\d.]+|event-[\d.]+)\.so.*",
           "worker": r"lib(c|seccomp|cap|nl-3|nl-route-3)\.so.*"}
GATE_MAX = 128 << 10
MAIN = "int main(void)\n{\n\treturn 0;\n}\n"


@rule({"worker/main.c": MAIN},
      make=lambda folder: linked(folder, "-Wl,--no-as-needed", "-lcjson", "-lcap"))
def programs_link_only_their_own_libraries(tree):
    for module in PROGRAMS:
        for library in NEEDED.findall(tool("readelf", "-dW", tree.program(module))):
            if re.fullmatch(FOREIGN[module], library):
                yield "the %s is linked with %s, which belongs to the other" % (module, library)
            elif not re.fullmatch(ALLOWED[module], library) and not library.startswith("ld-linux"):
                yield "the %s is linked with %s" % (module, library)


def gate_linked(folder, *flags):
    os.makedirs(os.path.join(folder, "build"))
    tool("gcc", "-shared", "-fPIC", *flags, "-o", os.path.join(folder, "build/gate.so"),
         os.path.join(folder, "worker/gate/a.c"))


@rule({"worker/gate/a.c": "int other(void);\nint other(void)\n{\n\treturn 1;\n}\n"}, objections=3,
      make=lambda folder: gate_linked(folder, "-Wl,--no-as-needed", "-lseccomp"))
def the_gate_is_small_and_shows_one_name(tree):
    """It lies in the memory of each run: PyInit_gate is all that CPython needs, libc and libcap all that it needs."""
    gate = os.path.join(tree.build, "gate.so")
    for library in NEEDED.findall(tool("readelf", "-dW", gate)):
        if not re.fullmatch(r"lib(c|cap)\.so.*|ld-linux.*", library):
            yield "it is linked with %s" % library
    shown = [line.split()[-1] for line in tool("nm", "-D", "--defined-only", gate).splitlines()]
    if shown != ["PyInit_gate"]:
        yield "it shows %s" % ", ".join(shown)
    if os.path.getsize(gate) > GATE_MAX:
        yield "it has %d bytes, %d are allowed" % (os.path.getsize(gate), GATE_MAX)
    for what in hardening_of(gate):
        if what != "PIE flag":
            yield "it lacks: %s" % what


def hardening_of(program):
    """What is missing in a program."""
    headers = tool("readelf", "-hldW", program)
    symbols = tool("readelf", "-W", "--dyn-syms", program)
    wanted = (
        ("position independent code", r"Type:\s+DYN.*", headers), ("PIE flag", r"FLAGS_1.*PIE", headers),
        ("read-only relocations", r"GNU_RELRO", headers), ("immediate binding", r"\bNOW\b|BIND_NOW", headers),
        ("stack that is not executable", r"GNU_STACK.* RW +0x", headers),
        ("stack protector", r"__stack_chk_(fail|guard)", symbols), ("checked buffers", r"__\w+_chk\b", symbols))
    for what, pattern, text in wanted:
        if not re.search(pattern, text):
            yield what
    if re.search(r"LOAD.* RWE ", headers):
        yield "no segment both writable and executable"


@rule({"worker/main.c": MAIN}, make=lambda folder: linked(
    folder, "-no-pie", "-Wl,-z,norelro", "-Wl,-z,lazy", "-Wl,-z,execstack", "-fno-stack-protector"), objections=14)
def programs_are_hardened(tree):
    for module in PROGRAMS:
        for what in hardening_of(tree.program(module)):
            yield "the %s lacks: %s" % (module, what)


def same_build_id(folder):
    linked(folder)
    os.makedirs(os.path.join(folder, "build/obj/worker"))
    with open(os.path.join(folder, "build/build_id.h"), "w") as file:
        file.write("#define BUILD_ID 0x1ULL\n")


@rule({"worker/main.c": MAIN}, make=same_build_id)
def build_id_is_the_hash_of_the_sources(tree):
    def digest(data):
        return hashlib.sha256(data).hexdigest()

    def lines(paths):
        return ["%s  %s\n" % (digest(tree.text(path).encode()), path) for path in paths]

    def names(*suffixes, gate):
        return sorted(path for path in tree.sources + tree.embedded if path.endswith(suffixes) and
                      gate in (None, module_of(path) == "worker/gate"))

    with open(os.path.join(tree.build, "build_id.h")) as file:
        have = re.search(r"0x(\w{16})ULL", file.read())
    wanted = names(".c", gate=False) + names(".c", gate=True) + names(".py", gate=True) + names(".h", gate=None)
    if not have or have.group(1) != digest("".join(lines(wanted)).encode())[:16]:
        yield "build_id.h is not made from the sources as they are"

if __name__ == "__main__":
    raise SystemExit(main(lambda root: Tree(root, os.environ.get("MCP_EXEC_BUILD") if root == ROOT else None)))
