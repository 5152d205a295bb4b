#!/usr/bin/env python3
"""What happens where a wall cannot be built: no run, and a sentence that says what to do. What may be weaker is named.

Each machine is played by a user namespace around the server, in which something was taken away first.
"""
import errno
import os
import subprocess

from _sandbox import equal
from hostile import FILTER
from mcp import BINARY, Server, Skip, alive, cases, check, contains, descendants, environment, main, until

# Takes something away with the rights of the outer namespace, then drops them and becomes the server.
OUTER = "%s; exec setpriv --inh-caps=-all --ambient-caps=-all \"$0\" \"$@\""

NO_NAMESPACES = OUTER % "echo 0 > /proc/sys/user/max_user_namespaces"
MASKED_PROC = OUTER % "mount --bind /dev/null /proc/uptime"

# Both take the notes of refused calls away: a listener in a filter around the server (EBUSY for another), and a kernel
# before 5.19 (EINVAL for the flags of one; argument 1 of seccomp lies 24 bytes into struct seccomp_data).
LOADER = r"""
import ctypes, os, platform, struct, sys, time
seccomp = {"x86_64": 317, "aarch64": 277}[platform.machine()]
libc = ctypes.CDLL(None, use_errno=True)
def load(flags, *code):
    code = b"".join(struct.pack("=HBBI", *i) for i in code)
    buffer = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("@HP", len(code) // 8, ctypes.addressof(buffer)))
    assert libc.prctl(38, 1, 0, 0, 0) == 0
    r = libc.syscall(seccomp, 1, flags, program)
    assert r >= 0, os.strerror(ctypes.get_errno())
    return r
%s
os.execv(sys.argv[1], sys.argv[1:])
"""
# It is held by a process that ends with the server, which itself closes what it inherits. A signal at the parent's
# death would not do: a server that was started as root has no right to send it to root.
LISTENER = LOADER % r"""
load(8, (0x06, 0, 0, 0x7fff0000))
server = os.getpid()
if os.fork() == 0:
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3): os.dup2(null, fd)
    while os.getppid() == server: time.sleep(0.1)
    os._exit(0)
"""
OLD_KERNEL = LOADER % ("load(0, (0x20, 0, 0, 0), (0x15, 0, 3, seccomp), (0x20, 0, 0, 24), (0x45, 0, 1, 8), "
                       "(0x06, 0, 0, 0x00050016), (0x06, 0, 0, 0x7fff0000))")


def outer(script):
    if os.geteuid() == 0:
        raise Skip("needs an ordinary user")
    return ["unshare", "--user", "--mount", "--map-current-user", "--keep-caps", "sh", "-c", script]


def filtered(call="unshare", error=errno.EPERM):
    return ["/usr/bin/python3", "-c", FILTER, call, str(error)]


def refuses(through, *words):
    """Over stdio the server stays, answers the protocol, and gives the remedy as the tool error of every call."""
    with Server(through=through) as s:
        s.initialize()
        equal([t["name"] for t in s.request("tools/list")["result"]["tools"]], ["exec"])
        for _ in range(2):
            result = s.exec("print('ran')")
            equal(result["isError"], True)
            check("structuredContent" not in result, "a result", result)
            contains(result["content"][0]["text"], "Nothing was run", *words)
        equal(s.request("ping")["result"], {})


def refuses_on_the_command_line(through, *words):
    code, out, err = run_through(through, ["run", "-"], b"print('ran')")
    equal((code, out), (69, b""))
    contains(err.decode(), "Nothing was run", *words)
    code, out, err = run_through(through, ["check"])
    equal(code, 69)
    contains(out.decode(), "FAIL", "Runs are refused", *words)


def run_through(through, args, input=b""):
    done = subprocess.run(through + [BINARY] + args, input=input, capture_output=True, env=environment(), timeout=60)
    return done.returncode, done.stdout, done.stderr


def test_no_user_namespaces_over_stdio():
    refuses(outer(NO_NAMESPACES), "ENOSPC", "user.max_user_namespaces")


def test_no_user_namespaces_on_the_command_line():
    refuses_on_the_command_line(outer(NO_NAMESPACES), "user.max_user_namespaces")


def test_a_filter_around_us_over_stdio():
    refuses(filtered(), "user_namespace", "EPERM")


def test_a_filter_around_us_on_the_command_line():
    refuses_on_the_command_line(filtered(), "user_namespace")


def test_a_server_that_cannot_confine_itself_does_not_start():
    """What refuses it the filter of its own would refuse each run its filter too."""
    for args in (), ("run", "-"), ("check",), ("--print-policy",):
        code, out, err = run_through(filtered("seccomp"), list(args), b"print('ran')")
        equal((code, out), (70, b""), args)
        contains(err.decode(), "seccomp filter", "Operation not permitted")


def test_landlock_that_is_offered_and_then_refused():
    refuses(filtered("landlock_restrict_self"), "landlock, EPERM", "landlock_restrict_self")
    refuses_on_the_command_line(filtered("landlock_restrict_self"), "landlock, EPERM")


@cases([("not_in_the_kernel", errno.ENOSYS), ("switched_off", errno.EOPNOTSUPP), ("kept_from_us", errno.EPERM)])
def test_no_landlock(error):
    with Server(through=filtered("landlock_create_ruleset", error)) as s:
        s.initialize()
        good = s.exec("print('ran')")
        equal(good["structuredContent"]["stdout"], "ran\n")
        meta = good["_meta"]["io.github.mcp-exec/run"]
        check("landlock" in meta["degraded"] and "landlock" not in meta["layers"], "said to be there", meta)
        # No program fails for want of it.
        bad = s.exec("raise SystemExit(1)")["structuredContent"]
        equal((bad["exit_code"], bad["warnings"]), (1, []))
    code, out, _ = run_through(filtered("landlock_create_ruleset", error), ["check"])
    equal(code, 0)
    contains(out.decode(), "weaker landlock", "Linux 5.19")
    equal(run_through(filtered("landlock_create_ruleset", error), ["check", "--strict"])[0], 1)


MOUNTS = ("import os\nfor line in open('/proc/self/mountinfo'): print(*line.split()[4:6])\n"
          "print(os.statvfs('/usr').f_flag & os.ST_RDONLY)\n")


@cases([("not_in_the_kernel", errno.ENOSYS), ("kept_from_us", errno.EPERM)])
def test_mounts_are_the_same_without_mount_setattr(error):
    """Each mount is made read-only by itself then."""
    seen = []
    for through in [], filtered("mount_setattr", error):
        with Server(through=through) as s:
            s.initialize()
            seen.append(s.exec(MOUNTS)["structuredContent"]["stdout"].splitlines())
    contains("\n".join(seen[0]), "/usr ro,nosuid,nodev")
    equal(seen[0][-1], "1")
    equal(seen[1], seen[0])


def test_it_serves_again_when_the_cause_is_gone():
    knob = "/proc/sys/user/max_user_namespaces"
    with Server(through=outer(OUTER % ("echo 0 > %s; { sleep 2; echo 99 > %s; } & true" % (knob, knob)))) as s:
        s.initialize()
        equal(s.exec("print(1)")["isError"], True)
        answer = until(lambda: s.exec("print(1)").get("structuredContent"), 10, "a run")
        equal(answer["stdout"], "1\n")


def test_a_masked_proc_gives_a_run_without_proc():
    with Server(through=outer(MASKED_PROC)) as s:
        s.initialize()
        good = s.exec("import os; print(os.listdir('/proc'))")
        equal(good["structuredContent"]["stdout"], "[]\n")
        equal(good["structuredContent"]["warnings"], [])
        equal(good["_meta"]["io.github.mcp-exec/run"]["degraded"], ["proc"])
        bad = s.exec("open('/proc/self/status')")["structuredContent"]
        equal(bad["exit_code"], 1)
        check(any("/proc" in w for w in bad["warnings"]), "no word about /proc", bad["warnings"])


def test_check_names_what_is_weaker():
    code, out, _ = run_through(outer(MASKED_PROC), ["check"])
    equal(code, 0)
    contains(out.decode(), "weaker proc", "unmask=/proc/*")
    code, _, _ = run_through(outer(MASKED_PROC), ["check", "--strict"])
    equal(code, 1)


@cases([("a_listener_around_us", LISTENER), ("an_old_kernel", OLD_KERNEL)])
def test_without_notes_calls_are_refused_all_the_same_but_not_named(loader):
    """And nothing counts as weaker: no wall is."""
    through = ["/usr/bin/python3", "-c", loader]
    with Server(through=through) as s:
        s.initialize()
        for _ in range(2):
            answer = s.exec("import os\ntry: os.setuid(0)\nexcept OSError as e: print(e)\nos.mknod('x', 0o20600)")
            bad = answer["structuredContent"]
            equal((bad["exit_code"], bad["stdout"], bad["warnings"]), (1, "[Errno 1] Operation not permitted\n", []))
            contains(bad["stderr"], "PermissionError: [Errno 1]")
            meta = answer["_meta"]["io.github.mcp-exec/run"]
            equal((meta["refusals_named"], meta["degraded"]), (False, []))
        family = descendants(s.pid)
    until(lambda: not any(map(alive, family)), 10, "all of them end")
    code, out, _ = run_through(through, ["check", "--strict"])
    equal(code, 0)
    contains(out.decode(), "note   refusals: system calls are refused, but not named")
    contains(run_through([], ["check"])[1].decode(), "ok     refusals:")


def test_root_of_a_namespace_without_another_user_is_refused():
    """As uid 0 where no other uid is mapped nobody unprivileged can be become."""
    if os.geteuid() == 0:
        raise Skip("needs an ordinary user")
    code, out, err = run_through(["unshare", "--user", "--map-root-user"], ["run", "-"], b"print('ran')")
    equal((code, out), (78, b""))
    contains(err.decode(), "Cannot become user", "MCP_EXEC_USER")


main()
