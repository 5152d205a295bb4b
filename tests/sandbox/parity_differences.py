#!/usr/bin/env python3
"""What is not as under plain `python3 main.py`: all of it, with the reason. README has what a user may meet."""
from _parity import outside
from _sandbox import equal, nothing_left, printed
from mcp import cases, check, main

TRY = "import os\ntry: print(%s)\nexcept OSError as e: print(e.strerror)"

# (label, program, what it prints inside, why)
DIFFERENT = [
    ("process_ids", "import os; print(os.getpid() < 4, os.getppid())", "True 1", "they are the sandbox's own; pid 1 is "
     "init"),
    ("host_name", "import socket; print(socket.gethostname())", "sandbox", "the host's name stays hidden"),
    ("working_directory", "import os; print(os.getcwd(), os.stat('..').st_ino == os.stat('/').st_ino)",
     "/sandbox True", "the same path in every run"),
    ("user_id", "import os; print(os.getuid(), os.getgid())", "1000 1000", "ids of a user namespace"),
    ("users", "import pwd; print(sorted(p.pw_name for p in pwd.getpwall()))", "['sandbox']",
     "the host's users stay hidden"),
    ("niceness", "import os; print(os.nice(0) % 20 >= 10)", "True", "others on the machine go first"),
    ("files_of_the_host", "import os; print([d for d in ('/home', '/root', '/srv', '/opt', '/boot') if "
     "os.path.exists(d)])",
     "[]", "only the system and the interpreter are shown"),
    ("processes", "import os; print(len([p for p in os.listdir('/proc') if p.isdigit()]))", "2",
     "only the run's own processes"),
    ("writes_to_the_system", TRY % "open('/usr/x', 'w')", "Read-only file system", "read-only mounts say so before "
     "permissions do"),
    ("terminal", TRY % "open('/dev/tty')", "No such file or directory", "no terminal, and no device of one"),
    ("pseudo_terminal", TRY % "len(os.openpty())", "No such file or directory", "pseudo-terminals are devices of the "
     "host"),
    ("execution_of_a_file", "import os\nopen('s', 'w').write('#!/bin/sh\\n'); os.chmod('s', 0o755)\n" +
     "print(os.access('s', os.X_OK), os.system('./s 2>/dev/null'))", "False 32256", "the workspace is noexec"),
    ("chown_to_an_unknown_id", TRY % "os.chown('main.py', 0, 0)", "Invalid argument", "root has no id in the sandbox"),
    ("extended_attributes", TRY % "os.listxattr('.')", "Operation not supported", "they hold memory of the kernel "
     "that no limit counts"),
    ("copy_file_range", "import os\nopen('a', 'w').write('x')\ntry: print(os.copy_file_range(os.open('a', 0), "
     "os.open('b', 66), 1))\nexcept OSError as e: print(e.strerror)", "Invalid cross-device link", "refused as "
         "between file systems; callers fall back"),
    ("memfd", TRY % "os.memfd_create('x') > 0", "Function not implemented", "gets round the size limit of the "
     "workspace"),
    ("inotify", "import ctypes; print(ctypes.CDLL(None).inotify_init() > 0)", "False", "instances are counted per host "
     "user"),
    ("cpus_may_not_be_chosen", TRY % "os.sched_setaffinity(0, os.sched_getaffinity(0))", "Operation not permitted",
     "the granted CPUs are a limit"),
    ("network", "import socket\ntry: socket.create_connection(('198.51.100.1', 80), 5)\nexcept OSError as e: "
     "print(e.strerror)", "Network is unreachable", "no network"),
    ("raw_sockets", "import socket\ntry: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)\nexcept OSError as e: "
     "print(e.strerror)", "Protocol not supported", "with a capability they would reach past the run"),
    ("calls_of_no_need", "import ctypes, os, signal\nf = open('main.py')\nfor name, call in (('fchown', lambda: "
     "os.fchown(f.fileno(), -1, -1)),\n    ('lchown', lambda: os.lchown('main.py', -1, -1)),\n    "
     "('advice', lambda: os.posix_fadvise(f.fileno(), 0, 0, 0)), ('preadv', lambda: os.preadv(f.fileno(), "
     "[bytearray(1)], 0)),\n    ('policy', lambda: os.sched_getscheduler(0)), ('aslr', "
     "lambda: ctypes.CDLL(None).personality(-1) >= 0 or 1 / 0)):\n    try: call(); print(name, end=' ')\n    except "
     "(OSError, ZeroDivisionError): pass\nprint()", "", "few system calls can be reached; these have a fallback, or "
     "hardly a use"),
    ("file_size", "import os\nf = open('f', 'w')\ntry: f.truncate(1 << 27); print('ok')\nexcept OSError as e: "
     "print(e.strerror)", "File too large", "the workspace's limit holds for one file too"),
    ("limits", "import resource as r; print(r.getrlimit(r.RLIMIT_NPROC)[0], r.getrlimit(r.RLIMIT_NOFILE)[0], "
     "r.getrlimit(r.RLIMIT_STACK)[0] >> 20)", "128 256 2", "limits of the run"),
    ("core_files", "import os\nos.umask(0); p = os.fork()\nif p == 0:\n    import resource; resource.setrlimit(4, "
     "(resource.getrlimit(4)[1],) * 2); print(resource.getrlimit(4)[1]); os._exit(0)\nos.wait()", "1", "a core file "
         "would hold the program's memory"),
    ("file_systems", "import os; print(os.statvfs('.').f_blocks * 4096 >> 20)", "64", "one tmpfs of this size"),
    ("packages_from_the_internet", "import os; print(os.environ.get('PIP_NO_INDEX'))", "1", "pip fails at once"),
]

# Some are the same where the host happens to be so; and an address outside is not asked for outside.
NOT_ASKED_OUTSIDE = {"network", "user_id", "limits", "niceness", "core_files", "memfd"}


@cases([row[:3] + (row[0] not in NOT_ASKED_OUTSIDE,) for row in DIFFERENT])
def test_differs_as_it_should(code, want, also_outside):
    equal(printed(code), want + "\n")
    if also_outside:
        plain = outside(code)
        check(plain["exit_code"] == 0, "fails outside", plain)
        check(plain["stdout"] != want + "\n", "is no difference", plain)


@cases([("cold", {"MCP_EXEC_WARM": "0"}, ("None",)), ("warm", {}, ("None", "Operation not permitted"))])
def test_pid_1_does_not_mind_signals(env, wants):
    """It is the sandbox's own. A copy's Landlock domain is not that of init, and from Linux 6.12 on that shows."""
    said = printed(TRY % "os.kill(1, 0)" + "\n" + TRY % "os.kill(1, 9)", env=env).splitlines()
    check(len(said) == 2 and set(said) <= set(wants), "signals to pid 1", said)


def test_every_difference_has_a_reason():
    for label, _, _, why in DIFFERENT:
        check(len(why) > 8, "no reason for", label)


def test_nothing_is_left():
    nothing_left()


main()
