#!/usr/bin/env python3
"""What a run sees of the file system: the system read-only, one small tmpfs, and nothing else of the host."""
import ctypes
import os
import tempfile

from _sandbox import attempts, check, denied, equal, nothing_left, printed, server
from mcp import Server, cases, main, unique

READ_ONLY = ("EROFS", "EACCES", "ENOENT", "EPERM")
TOP = {"bin", "dev", "etc", "lib", "lib32", "lib64", "libx32", "proc", "sandbox", "sbin", "tmp", "usr", "var"}
ETC = {"alternatives", "fonts", "group", "hosts", "ld.so.cache", "localtime", "matplotlibrc", "mime.types",
       "nsswitch.conf", "passwd", "pki", "protocols", "services", "ssl"} | {"python3.%d" % n for n in range(8, 64)}
DEV = {"fd", "full", "null", "random", "shm", "stderr", "stdin", "stdout", "urandom", "zero"}


def listed(path):
    return set(printed("import os\nfor n in os.listdir(%r): print(n)" % path).splitlines())


@cases([("root", "/", TOP), ("etc", "/etc", ETC), ("dev", "/dev", DEV), ("var", "/var", {"tmp"}),
        ("workspace", "/sandbox", {"main.py"}), ("tmp", "/tmp", set()), ("var_tmp", "/var/tmp", set()),
        ("shm", "/dev/shm", set()), ("ssl", "/etc/ssl", {"certs", "openssl.cnf"})])
def test_only_these_names_are_in(path, names):
    check(listed(path) <= names, "unexpected", listed(path) - names)


def test_main_py_is_all_there_is():
    equal(printed("import os\nprint(os.getcwd(), os.listdir(), os.path.expanduser('~'))"),
          "/sandbox ['main.py'] /sandbox\n")


REFUSED = [
    ("writing_to_the_system", """
for d in ("/", "/etc", "/usr", "/usr/lib", "/usr/local", "/lib", "/bin", "/opt", "/var", "/sys", "/proc", "/dev",
          "/home", "/root", "/run"):
    attempt(d, open, d + "/hello", "w"); attempt("mkdir " + d, os.mkdir, d + "/hello")
"""),
    ("changing_the_interpreter", """
attempt("exe", open, sys.executable, "r+b"); attempt("library", open, os.__file__, "a")
attempt("remove", os.unlink, os.__file__); attempt("rename", os.rename, os.__file__, "/tmp/os.py")
attempt("mode", os.chmod, os.__file__, 0o777); attempt("time", os.utime, os.__file__)
attempt("link", os.link, os.__file__, "/tmp/os.py"); attempt("running", open, "/proc/self/exe", "wb")
fd = os.open("/proc/self/exe", os.O_RDONLY)
attempt("again", os.open, "/proc/self/fd/%d" % fd, os.O_WRONLY | os.O_TRUNC); attempt("truncate", os.truncate, fd, 0)
"""),
    ("secrets_of_the_host", """
for p in ("/etc/shadow", "/etc/gshadow", "/etc/machine-id", "/etc/resolv.conf", "/etc/hostname", "/etc/mcp-exec",
          "/etc/ssh", "/etc/ssl/private", "/root", "/home", "/run", "/var/run", "/run/secrets", "/var/lib", "/var/log",
          "/srv", "/opt", "/mnt", "/media", "/boot", "/sys", "/.old", "/oldroot", "/lost+found"):
    attempt(p, lambda: os.listdir(p) if os.path.isdir(p) else open(p).read(1))
"""),
    ("knobs_of_the_kernel", """
for p in ("kernel/core_pattern", "kernel/hostname", "vm/overcommit_memory", "vm/drop_caches", "kernel/modprobe",
          "user/max_user_namespaces", "net/ipv4/ip_forward", "kernel/randomize_va_space", "net/ipv4/ping_group_range"):
    attempt(p, os.open, "/proc/sys/" + p, os.O_WRONLY)
for p in ("sysrq-trigger", "self/oom_score_adj", "self/comm", "self/clear_refs", "self/coredump_filter", "self/mem",
          "self/timerslack_ns", "1/oom_score_adj"):
    attempt(p, os.open, "/proc/" + p, os.O_WRONLY)
"""),
    ("climbing_out", """
fd = os.open("/", os.O_RDONLY); os.fchdir(fd)
attempt("shadow", open, "etc/shadow"); attempt("own root", open, "/proc/self/root/etc/shadow")
attempt("pid 1's root", open, "/proc/1/root/etc/hostname"); attempt("cwd", open, "/proc/self/cwd/../etc/shadow")
attempt("up", open, "../" * 20 + "etc/shadow"); attempt("task", open, "/proc/self/task/2/root/etc/shadow")
"""),
    ("device_nodes", """
import stat
for name, kind, number in (("disk", stat.S_IFBLK, os.makedev(8, 0)), ("memory", stat.S_IFCHR, os.makedev(1, 1)),
                           ("null", stat.S_IFCHR, os.makedev(1, 3))):
    attempt(name, os.mknod, name, 0o600 | kind, number)
"""),
    ("changing_devices", """
for d in ("null", "zero", "full", "random", "urandom"):
    attempt("unlink " + d, os.unlink, "/dev/" + d); attempt("mode " + d, os.chmod, "/dev/" + d, 0)
"""),
]


@cases(REFUSED)
def test_refuses(code):
    denied(code, allowed=READ_ONLY + ("ETXTBSY", "EXDEV", "EINVAL", "ENOTDIR", "EBUSY"))


def test_climbing_ends_at_its_own_root():
    equal(printed("import os\nprint(os.listdir('../' * 30) == os.listdir('/'), os.stat('../' * 30).st_ino == "
                  "os.stat('/').st_ino)"),
          "True True\n")


def test_every_mount_is_read_only_or_the_workspace():
    lines = printed("print(open('/proc/self/mountinfo').read())").split("\n")
    writable = {}
    for fields in (line.split() for line in lines if line):
        options = set(fields[5].split(","))
        check("nosuid" in options, "suid on", fields[4])
        check("nodev" in options or fields[4].startswith(("/dev/", "/proc/")), "devices on", fields[4])
        check(fields[4] != "/" or "noexec" in options, "exec on the root")
        if "ro" not in options:
            writable[fields[4]] = options
    equal(set(writable), {"/sandbox", "/tmp", "/var/tmp", "/dev/shm"})
    for path, options in writable.items():
        check({"nosuid", "nodev", "noexec"} <= options, path, options)


def test_the_workspace_is_one_tmpfs_with_the_limits_it_was_given():
    equal(printed("import os\nd = {os.stat(p).st_dev for p in ('/sandbox', '/tmp', '/var/tmp', '/dev/shm')}\n"
                  "v = os.statvfs('/tmp'); print(len(d), v.f_blocks * v.f_frsize >> 20, v.f_files)"), "1 64 16384\n")
    equal(printed("import os\nv = os.statvfs('/tmp'); print(v.f_blocks * v.f_frsize >> 20, v.f_files)",
                  env={"MCP_EXEC_TMP_BYTES": str(8 << 20)}), "8 2048\n")


def test_nothing_written_can_be_executed():
    equal(attempts("""
import mmap, shutil, subprocess
for d in ("/sandbox", "/tmp", "/var/tmp", "/dev/shm"):
    shutil.copy("/usr/bin/true", d + "/t"); attempt("exec " + d, subprocess.run, [d + "/t"])
    f = open(d + "/t", "rb")
    attempt("map " + d, mmap.mmap, f.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    open(d + "/s", "w").write("#!/bin/sh\\n"); os.chmod(d + "/s", 0o755)
    attempt("script " + d, subprocess.run, [d + "/s"])
"""), dict([("%s %s" % (what, d), error) for d in ("/sandbox", "/tmp", "/var/tmp", "/dev/shm")
            for what, error in (("exec", "EACCES"), ("map", "EPERM"), ("script", "EACCES"))]))


def test_a_library_that_was_written_does_not_load():
    equal(printed("import ctypes, glob, shutil\nshutil.copy(glob.glob('/lib/*/libm.so.6')[0], '/tmp/x.so')\n"
                  "try: ctypes.CDLL('/tmp/x.so'); print('OPEN')\nexcept OSError as e: print('refused')"), "refused\n")


def test_files_of_the_host_are_not_there():
    name, home = unique("canary"), tempfile.mkdtemp()
    os.chmod(home, 0o755)
    places = [p for p in ("/tmp", "/var/tmp", "/dev/shm", home) if os.access(p, os.W_OK)]
    try:
        for place in places:
            with open(os.path.join(place, name), "w") as file:
                file.write("CANARY")
        with Server(env={"HOME": home}, cwd=home) as s:
            s.initialize()
            result = s.exec("import os\nfor d, _, files in os.walk('/'):\n"
                            "    if %r in files or %r in d: print('SEEN', d)" % (name, os.path.basename(home)))
            equal(result["structuredContent"]["stdout"], "")
    finally:
        for place in places:
            os.unlink(os.path.join(place, name))
        os.rmdir(home)


def test_only_its_own_processes_are_in_proc():
    equal(printed("import os\nfound = {int(p) for p in os.listdir('/proc') if p.isdigit()}\n"
                  "print(found == {1, os.getpid()}, os.getpid() < 4)"), "True True\n")


def test_parts_of_proc_are_covered():
    verdicts = attempts("for p in ('kcore', 'kmsg', 'kallsyms', 'keys', 'key-users', 'timer_list', 'sched_debug', "
                        "'cmdline',\n"
                        "          'sys/kernel/random/boot_id'):\n"
                        "    if os.path.exists('/proc/' + p): attempt(p, lambda: 1 / (len(open('/proc/' + p).read()) "
                        "== 0))\n"
                        "for p in ('acpi', 'bus', 'scsi', 'fs', 'irq'):\n"
                        "    if os.path.exists('/proc/' + p): attempt(p, lambda: 1 / (os.listdir('/proc/' + p) == "
                        "[]))\n")
    # 1 / False: something could be read.
    check(verdicts and "ZeroDivisionError" not in verdicts.values(), "something is shown:", verdicts)


def test_the_host_cannot_be_told():
    equal(printed("import os, socket, platform\nprint(socket.gethostname(), platform.node(), os.uname().nodename)"),
          "sandbox sandbox sandbox\n")
    check(os.uname().nodename not in printed("import subprocess\nprint(open('/etc/hosts').read(), "
                                             "open('/etc/passwd').read())"), "the host's name")


def test_special_files_that_harm_nobody_work():
    equal(printed("import os, socket, stat\nos.mkfifo('f'); os.symlink('/etc/shadow', 'l'); os.link('main.py', 'h')\n"
                  "s = socket.socket(socket.AF_UNIX); s.bind('s'); os.mknod('r', 0o600 | stat.S_IFREG)\n"
                  "os.rename('h', '/sandbox/i'); os.makedirs('a/b/c'); print(sorted(os.listdir()))"),
          "['a', 'f', 'i', 'l', 'main.py', 'r', 's']\n")


def test_a_deep_directory_is_no_burden():
    equal(printed("import os\nfor _ in range(1000): os.mkdir('d'); os.chdir('d')\nopen('leaf', 'w').close(); "
                  "print('deep')"),
          "deep\n")
    equal(printed("print('next')"), "next\n")


MARK = """
import os
places = ('.', '/tmp', '/var/tmp', '/dev/shm')
print([d for d in places if os.path.exists(d + '/MARK')])
for d in places: open(d + '/MARK', 'w').close()
"""


def test_nothing_written_reaches_the_next_run():
    equal([printed(MARK) for _ in range(3)], ["[]\n"] * 3)


def test_nothing_written_reaches_another_server():
    equal([printed(MARK), printed(MARK, env={"MCP_EXEC_TMP_BYTES": str(8 << 20)})], ["[]\n"] * 2)


def test_landlock_stands_wherever_the_kernel_has_it():
    """What it adds is tried in tests/unit/test_landlock.c, with a hole in the view that a run does not have."""
    abi = ctypes.CDLL(None).syscall(444, None, 0, 1)  # landlock_create_ruleset, the version
    meta = server().exec("pass")["_meta"]["io.github.mcp-exec/run"]
    equal("landlock" in meta["layers"], abi >= 2, "ABI %d: %s" % (abi, meta))


@cases([("rename_and_link", """
os.mkdir("a"); os.mkdir("b"); open("a/f", "w").write("text"); os.rename("a/f", "b/f"); os.link("b/f", "a/g")
os.truncate("a/g", 1); os.replace("a/g", "b/h"); os.symlink("f", "b/s"); print(sorted(os.listdir("b")))
""", "['f', 'h', 's']\n"), ("named_pipes_and_sockets", """
import socket
os.mkfifo("/tmp/p"); s = socket.socket(socket.AF_UNIX); s.bind("/dev/shm/s"); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect("/dev/shm/s"); a = socket.socket(socket.AF_UNIX); a.bind("\\0a")
a.listen(); c = socket.socket(socket.AF_UNIX); c.connect("\\0a"); t = socket.socket(); t.bind(("127.0.0.1", 0))
print(sorted(os.listdir("/tmp")))
""", "['p']\n"), ("devices", """
fd = os.open("/dev/null", os.O_RDWR | os.O_TRUNC); os.write(fd, b"x")
try: os.ttyname(fd)
except OSError as e: print(e.errno == 25)
""", "True\n")])
def test_landlock_leaves_programs_what_they_do(code, wanted):
    equal(printed("import os\n" + code), wanted)


def test_nothing_is_left():
    nothing_left()


main()
