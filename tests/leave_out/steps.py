#!/usr/bin/env python3
"""Each step of set-up is needed: when it is left out, a case that was HELD turns to OPEN.

usage: steps.py [--table] [BUILD/leave-out] [STEP...]

The test build (make leave-out-build) can leave out steps by name. For each row of ROWS there is a trial without that
step. One that the product notices itself is REFUSED; then, as where two walls do the same work, the step is left out
together with others (with_), which alone must not open anything. Prints TAP, or the table and how many were caught.

A program is started cold, by exec, or warm, as a copy of a pristine interpreter that locks itself down: what both do is
left out in both ways. What the worker does not do for a copy again, such as its view of files, is left out cold alone.
"""
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from _cases import CASES, FOREIGN, HERE  # noqa: E402
from mcp import PATIENCE, ROOT, environment  # noqa: E402

IS_ROOT = os.geteuid() == 0
TRIAL_LIMIT_S = 300 * PATIENCE
BATCH = 12
FOLDERS = {"libexec/mcp-exec": "mcp-exec-worker", "bin": "mcp-exec"}
NAMESPACES = ["--net", "--pid", "--fork", "--kill-child", "--mount", "--ipc", "--uts", "--mount-proc"]
EVERY_NNP = ("nnp_worker", "nnp_supervisor", "nnp_init")
COLD, WARM = "cold", "warm"
# Whatever is left out of a run's filter is left out of those around it, since each is made from the next one's table.
OUTER_FILTERS = ("seccomp_worker", "seccomp_supervisor")


class Row:
    """A step and the cases meant for it. alone: OPEN, HELD (another wall does the same), or "REFUSED stage".
    with_: what else is left out to see it OPEN; None when the kernel lets nobody leave it out. why: for the table.
    capable: the server has capabilities, without which nothing works where there is no user namespace. root: only root
    can show it. possible: whether this machine can show it. way: COLD or WARM."""

    def __init__(self, step, cases, alone="OPEN", with_=(), why="", capable=False, root=False, possible=None, way=COLD):
        self.step, self.cases, self.alone, self.with_, self.why = step, cases.split(), alone, with_, why
        self.capable, self.root, self.possible, self.way = capable, root, possible, way

    @property
    def needs_company(self):
        return self.alone != "OPEN" and self.with_ is not None

    @property
    def name(self):
        return self.step + (" warm" if self.way == WARM else "")

    @property
    def steps(self):
        return TOGETHER if self.way == WARM and self.step in TOGETHER else (self.step,)

    def warm(self):
        """The same for programs that are started warm."""
        options = dict(alone=self.alone, with_=self.with_, why=self.why, cases=" ".join(self.cases))
        options.update(WARM_TOO[self.step])
        return Row(self.step, capable=self.capable, root=self.root, possible=self.possible,
                   way=WARM, **options)


def has_foreign_abi():
    return subprocess.run([sys.executable, "-c", FOREIGN], stderr=subprocess.DEVNULL).returncode == 0 \
        if os.uname().machine == "x86_64" else False


def beyond(name, policy):
    """Whether a limit is, or can be made, higher than a run's before the server starts: else nobody sees it missing."""
    def look():
        which = getattr(resource, "RLIMIT_" + name)
        if resource.getrlimit(which)[1] % (1 << 64) > policy:
            return True
        code = "import resource; resource.setrlimit(%d, (%d, %d))" % (which, policy + 1, policy + 1)
        return subprocess.run([sys.executable, "-c", code], stderr=subprocess.DEVNULL).returncode == 0
    return look


ROWS = (
    Row("ns_user", "ns.user", "REFUSED id_map", ("id_map",), capable=True),
    Row("ns_net", "priv.ns-net net.abstract-socket-of-the-host", "REFUSED loopback", ("loopback_check",)),
    Row("ns_pid", "proc.only-its-own-by-signal-0 proc.outlive-daemon"),
    Row("ns_mnt", "ns.mnt", "REFUSED root", ("view",)),
    Row("ns_ipc", "priv.ns-ipc ipc.host_segments"),
    Row("ns_uts", "priv.ns-uts files.identity"),
    Row("ns_cgroup", "priv.ns-cgroup"),
    Row("join_user", "ns.of_the_run", "REFUSED warm", None, "the kernel: the others need it", way=WARM),
    Row("join_net", "ns.of_the_run", way=WARM),
    Row("join_pid", "ns.of_the_run", way=WARM),
    Row("join_mnt", "ns.of_the_run", "REFUSED warm", None, "the program is there already", way=WARM),
    Row("join_ipc", "ns.of_the_run", way=WARM),
    Row("join_uts", "ns.of_the_run", way=WARM),
    Row("join_cgroup", "ns.of_the_run", way=WARM),
    Row("id_map", "priv.ids", "REFUSED root", None, "the kernel: ids without a map own nothing"),
    Row("id_map_not_root", "priv.ids"),
    # An ordinary user's trial lies in a user namespace already, in which the kernel has wanted it.
    Row("id_setgroups", "priv.ids", "REFUSED id_map" if IS_ROOT else "HELD", None, "the kernel wants it for a map"),
    Row("loopback_check", "net.abstract-socket-of-the-host", "HELD", ("ns_net",)),
    Row("private", "mnt.host_mounts_later"),
    Row("root_ro", "mount.root_rdonly"),
    Row("root_nosuid", "mount.root_nosuid"),
    Row("root_nodev", "mount.root_nodev"),
    Row("root_noexec", "mount.root_noexec"),
    Row("system_ro", "mount.system_rdonly files.read-only-for-whoever-asks"),
    Row("system_nosuid", "mount.system_nosuid"),
    Row("system_nodev", "mount.system_nodev"),
    Row("device_ro", "mount.device_rdonly"),
    Row("device_nosuid", "mount.device_nosuid"),
    Row("device_noexec", "mount.device_noexec"),
    Row("workspace_nosuid", "mount.workspace_nosuid"),
    Row("workspace_nodev", "mount.workspace_nodev"),
    Row("workspace_noexec", "mount.workspace_noexec files.execute-what-was-written"),
    Row("workspace_tmpfs", "res.workspace-bytes files.execute-what-was-written"),
    Row("workspace_size", "res.workspace-bytes"),
    Row("workspace_inodes", "res.inodes"),
    Row("proc_fresh", "proc.only-its-own"),
    Row("proc_ro", "mount.proc_rdonly"),
    Row("proc_nosuid", "mount.proc_nosuid"),
    Row("proc_nodev", "mount.proc_nodev"),
    Row("proc_noexec", "mount.proc_noexec"),
    Row("proc_masks", "proc.masks files.what-proc-shows"),
    Row("mask_ro", "mount.mask_rdonly"),
    Row("mask_nosuid", "mount.mask_nosuid"),
    Row("mask_nodev", "mount.mask_nodev"),
    Row("mask_noexec", "mount.mask_noexec"),
    Row("etc_passwd", "view.etc_passwd"),
    Row("etc_group", "view.etc_group"),
    Row("etc_hosts", "view.etc_hosts"),
    Row("etc_nsswitch", "view.etc_nsswitch"),
    Row("view", "view.host_file"),
    Row("pivot", "view.host_file", "REFUSED workspace", None, "the server cannot write the host's root; see view"),
    Row("old_root", "files.up-is-the-own-root files.secrets-of-disks"),
    Row("seal", "mount.root_noexec"),
    Row("rlimit_cpu", "limit.cpu res.cpu-time"),
    Row("rlimit_nproc", "limit.nproc res.processes-counted"),
    Row("rlimit_nofile", "limit.nofile res.descriptors"),
    Row("rlimit_fsize", "limit.fsize res.file-size"),
    Row("rlimit_stack", "limit.stack"),
    Row("rlimit_data", "limit.data"),
    Row("rlimit_core", "limit.core proc.no-core-for-a-handler", possible=beyond("CORE", 1)),
    Row("rlimit_memlock", "limit.memlock res.locked-memory", possible=beyond("MEMLOCK", 0)),
    Row("rlimit_msgqueue", "limit.msgqueue", possible=beyond("MSGQUEUE", 0)),
    Row("rlimit_nice", "limit.nice", possible=beyond("NICE", 0)),
    Row("rlimit_rtprio", "limit.rtprio", possible=beyond("RTPRIO", 0)),
    Row("rlimit_sigpending", "limit.sigpending", possible=beyond("SIGPENDING", 1024)),
    Row("cap_securebits", "cap.permitted filter.securebits", "HELD",
        EVERY_NNP + OUTER_FILTERS + ("id_map_not_root", "cap_bounding", "cap_verify", "seccomp")),
    Row("cap_bounding", "priv.caps", "REFUSED capabilities", ("cap_verify",)),
    Row("cap_sets", "cap.permitted cap.effective", "REFUSED capabilities", ("cap_verify",)),
    Row("cap_verify", "priv.caps", "HELD", ("cap_bounding",)),
    Row("nnp_init", "priv.no-new-privs", "HELD", ("nnp_worker", "nnp_supervisor", "seccomp") + OUTER_FILTERS),
    Row("nnp_worker", "privilege.no_new_worker", "HELD", ("nnp_supervisor",) + OUTER_FILTERS),
    Row("nnp_supervisor", "privilege.no_new_supervisor", "REFUSED start", ("seccomp_supervisor",)),
    Row("undumpable_init", "proc.memory-of-pid-1"),
    Row("undumpable_worker", "privilege.read_worker"),
    Row("undumpable_early", "privilege.read_supervisor", "HELD", ("undumpable_late",)),
    Row("undumpable_late", "privilege.read_supervisor", "HELD", ("undumpable_early",)),
    Row("seccomp", "priv.filter-is-on priv.filter-for-children", "HELD", OUTER_FILTERS),
    Row("seccomp_worker", "filter.worker"),
    Row("seccomp_supervisor", "filter.supervisor"),
    Row("landlock", "files.write-system-directories view.write_system", "HELD", ("root_ro", "system_ro")),
    Row("seccomp_default", "priv.unknown-numbers"),
    Row("seccomp_foreign_abi", "priv.other-tables", possible=has_foreign_abi),
    Row("seccomp_namespaces", "priv.unshare priv.setns"),
    Row("seccomp_clone", "priv.clone-namespaces"),
    Row("seccomp_mounts", "filter.mounts"),
    Row("seccomp_tracing", "proc.trace-a-child"),
    Row("seccomp_keyrings", "priv.keyrings"),
    Row("seccomp_kernel", "priv.kernel-surface"),
    Row("seccomp_ids", "filter.ids"),
    Row("seccomp_scheduling", "priv.scheduling"),
    Row("seccomp_host", "priv.scheduling"),
    Row("seccomp_sockets", "net.families net.netlink"),
    Row("seccomp_ioctl", "priv.terminal-ioctls"),
    Row("seccomp_prctl", "priv.prctls"),
    Row("seccomp_fcntl", "files.watching-others"),
    Row("seccomp_mknod", "files.make-a-device"),
    Row("seccomp_prlimit", "filter.prlimit"),
    Row("seccomp_memory", "priv.ipc files.execute-from-memory"),
    Row("seccomp_uncounted", "files.watching-others"),
    Row("seccomp_personality", "priv.personality"),
    Row("seccomp_needless", "priv.needless-timers"),
    Row("seccomp_filters", "priv.filter-of-its-own"),
    Row("close_inherited", "proc.descriptors env.leaked-descriptors", "HELD", ("cloexec_link",)),
    Row("close_received", "proc.descriptors", way=WARM),
    Row("cloexec_link", "proc.descriptors", "HELD", ("close_inherited",)),
    Row("close_spawn", "fds.worker", "HELD", ("close_start",)),
    Row("close_start", "fds.supervisor"),
    Row("cloexec_report", "proc.descriptors"),
    Row("cloexec_received", "proc.descriptors"),
    Row("environment", "env.canary"),
    Row("environment_worker", "environment.worker"),
    Row("signals", "signals.ignored"),
    Row("signal_mask", "signals.blocked"),
    Row("signals_spawn", "signals.worker", "HELD", ("signals_start",)),
    Row("signals_start", "signals.supervisor"),
    Row("session_init", "session.init"),
    Row("session_program", "session.program proc.no-terminal"),
    Row("session_worker", "session.worker"),
    Row("umask", "umask.run", "HELD", ("umask_start",)),
    Row("umask_start", "umask.supervisor"),
    Row("niceness", "limit.niceness"),
    Row("oom_score", "limit.oom_score"),
    Row("core_filter", "limit.core_filter"),
    Row("core_start", "limit.core_supervisor", possible=beyond("CORE", 0)),
    Row("affinity", "res.one-cpu", possible=lambda: len(os.sched_getaffinity(0)) > 1),
    Row("hostname", "files.identity"),
    Row("kill", "end.deadline"),
    Row("lifeline", "end.worker_dies"),
    Row("init_exit", "end.nothing_left"),
    Row("cancel", "req.cancel-running"),
    Row("pdeathsig", "end.supervisor_dies", "HELD", ("link_end",)),
    Row("link_end", "end.supervisor_dies", "HELD", ("pdeathsig",)),
    Row("memory_watch", "res.eight-children"),
    Row("deadline", "end.deadline"),
    Row("output_cap", "limit.output", "REFUSED link", ("output_check",)),
    Row("output_check", "limit.output", "HELD", ("output_cap",)),
    Row("blob_seal", "blob.sealed", "REFUSED link", ("blob_check",)),
    Row("blob_check", "blob.sealed", "HELD", ("blob_seal",)),
    Row("worker_not_root", "user.worker", "HELD", ("drop_root", "drop_verify"), root=True),
    Row("drop_root", "user.supervisor", "REFUSED start", ("drop_verify",), root=True),
    Row("drop_groups", "user.groups", "REFUSED start", ("drop_verify",), root=True),
    Row("drop_verify", "user.supervisor", "HELD", ("drop_root",), root=True),
    Row("hidden_root", "user.hidden_root", root=True),
    Row("working_directory", "directory.supervisor"),
    Row("secret", "environment.token environment.token_over_http"),
    Row("http_access", "http.token-none http.token-shown-once http.origin-foreign http.host-foreign"),
    Row("http_token", "http.token-wrong http.token-shown-once"),
    Row("http_token_once", "http.token-twice"),
    Row("http_origin", "http.origin-foreign"),
    Row("http_host", "http.host-foreign"),
    Row("http_loopback", "http.bind-default"),
    Row("http_body", "http.body-over-the-cap"),
    Row("http_peers", "http.crowd-is-bounded"),
    Row("http_head_time", "http.slow-heads"),
    Row("session_random", "http.session-ids"),
    Row("session_cap", "http.session-flood"),
    Row("session_idle", "http.session-expires"),
    Row("pristine_rlimits", "pristine.rlimits", way=WARM),
    Row("pristine_caps", "pristine.capabilities", way=WARM),
    Row("pristine_nnp", "pristine.no_new_privs", "HELD", ("nnp_worker", "nnp_supervisor", "pristine_seccomp") +
        OUTER_FILTERS, way=WARM),
    Row("pristine_undumpable", "pristine.memory_of_init", way=WARM),
    Row("pristine_seccomp", "pristine.seccomp", way=WARM),
)
# Each is seen by its own case alone, and is left out alone of programs that are started cold: warm, one trial does.
TOGETHER = tuple("""
    rlimit_cpu rlimit_nproc rlimit_nofile rlimit_fsize rlimit_stack rlimit_core rlimit_memlock rlimit_msgqueue
    rlimit_nice rlimit_rtprio rlimit_sigpending signals niceness oom_score core_filter affinity
    """.split())
# What is left out of programs that are started warm, too; what differs then.
WARM_TOO = dict.fromkeys("""
    landlock rlimit_data cap_bounding cap_sets cap_verify undumpable_init
    seccomp_default seccomp_foreign_abi seccomp_namespaces seccomp_clone seccomp_mounts seccomp_tracing seccomp_keyrings
    seccomp_kernel seccomp_ids seccomp_scheduling seccomp_host seccomp_sockets seccomp_ioctl seccomp_prctl seccomp_fcntl
    seccomp_mknod seccomp_prlimit seccomp_memory seccomp_uncounted seccomp_personality seccomp_needless seccomp_filters
    environment signal_mask session_program umask kill lifeline init_exit cancel memory_watch deadline
    """.split() + list(TOGETHER), {})
WARM_TOO.update({
    # Nothing is started by exec, which would close what is close-on-exec.
    "close_inherited": {"cases": "proc.descriptors", "alone": "OPEN"},
    # The filter of the pristine interpreter lies around a copy, too. Without it no thread can be started.
    "seccomp": {"cases": "priv.filter-is-on", "with_": OUTER_FILTERS + ("pristine_seccomp",)},
    "nnp_init": {"with_": ("nnp_worker", "nnp_supervisor", "seccomp", "pristine_seccomp") + OUTER_FILTERS},
    "cap_securebits": {"with_": EVERY_NNP + OUTER_FILTERS + ("id_map_not_root", "cap_bounding", "cap_verify", "seccomp",
                                                             "pristine_seccomp")},
})


class Trials:
    """Runs each trial once, however many rows ask for it."""

    def __init__(self, build):
        self.build, self.wanted, self.found = build, {}, {}
        product = os.path.join(os.path.dirname(build), "bin", "mcp-exec")
        self.policy = subprocess.run([product, "--print-policy"], stdout=subprocess.PIPE, universal_newlines=True,
                                     check=True, timeout=TRIAL_LIMIT_S, env=environment()).stdout

    def want(self, steps, cases, capable=False, way=COLD):
        key = frozenset(steps), capable, way
        self.wanted.setdefault(key, set()).update(cases)
        return key

    def run(self):
        jobs = []
        for key, cases in self.wanted.items():
            names = sorted(cases)
            jobs += [(key, names[i:i + BATCH]) for i in range(0, len(names), BATCH)]
        with ThreadPoolExecutor(min(4, os.cpu_count())) as pool:
            for (key, _), verdicts in zip(jobs, pool.map(lambda job: self.trial(*job), jobs)):
                self.found.setdefault(key, {}).update(verdicts)

    def trial(self, key, cases):
        steps, capable, way = key
        with tempfile.TemporaryDirectory(prefix="mcp-exec-leave-out-") as directory:
            self.fill(directory, steps)
            plan = {"directory": directory, "cases": cases, "capable": capable, "policy": self.policy,
                    "warm": way == WARM}
            code, out, err = self.execute(json.dumps(plan))
        # A trial that was ended may have broken off in a line.
        lines = out.splitlines() if code == 0 else out.split("\n")[:-1]
        verdicts = {name: (word, detail) for name, word, detail in map(json.loads, lines)}
        for name in cases:
            verdicts.setdefault(name, ("BROKEN", "the trial ended with %s: %s" % (code, err[-600:])))
        return verdicts

    def fill(self, directory, steps):
        os.chmod(directory, 0o755)
        for folder in FOLDERS:
            shutil.copytree(os.path.join(self.build, folder), os.path.join(directory, folder))
            choose(os.path.join(directory, folder), sorted(steps))
        home = os.path.join(directory, "libexec/mcp-exec/home")
        os.mkdir(home)
        os.chmod(home, 0o1777)
        with open(os.path.join(directory, "host-file"), "w") as file:
            file.write("of the host\n")

    @staticmethod
    def execute(plan):
        """One process that holds everything: when it ends, the kernel ends the rest of its pid namespace."""
        user = [] if IS_ROOT else ["--user", "--map-current-user", "--keep-caps"]
        argv = ["unshare"] + user + NAMESPACES + ["--", sys.executable, os.path.join(HERE, "_trial.py")]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              universal_newlines=True) as process:
            try:
                out, err = process.communicate(plan, TRIAL_LIMIT_S)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                out, err = process.communicate()
            return process.returncode, out, err


def best(verdicts, cases):
    """The one word for all cases, and those that are OPEN; n/a: the case needs another kind of user."""
    opened = [case for case in cases if verdicts[case][0] == "OPEN"]
    words = {verdicts[case][0] for case in cases} - {"n/a"}
    if opened:
        return "OPEN", opened
    if words == {"REFUSED"}:
        return "REFUSED " + next(verdicts[case][1] for case in cases if verdicts[case][0] == "REFUSED"), []
    return "HELD" if words == {"HELD"} else "BROKEN", []


class Judge:
    """What the trials say about a row: its line of the table, and what is wrong with it."""

    def __init__(self, trials, row):
        self.row, self.problems, self.caught = row, [], []
        alone = trials.found[self.plan(trials, row)[0]]
        word, opened = best(alone, row.cases)
        self.words = word
        self.caught = opened
        if word != row.alone:
            self.object("left out alone: %s, expected %s" % (word, row.alone), alone)
        if row.needs_company and word != "OPEN":
            self.together(trials)
        if opened and any(alone[case][0] not in ("OPEN", "n/a") for case in row.cases):
            self.object("not all of its cases see it", alone)
        if row.with_ is None and not self.problems:
            self.words += " (%s)" % row.why

    @staticmethod
    def plan(trials, row):
        left = [row.steps] + ([(row.step,) + row.with_, row.with_] if row.needs_company else [])
        return [trials.want(steps, row.cases, row.capable, row.way) for steps in left]

    def together(self, trials):
        row = self.row
        _, both, others = (trials.found[key] for key in self.plan(trials, row))
        word, self.caught = best(both, row.cases)
        self.words += "; with " + " ".join(row.with_)
        if word != "OPEN":
            self.object("with %s: %s" % (row.with_, word), both)
        if any(others[case][0] not in ("HELD", "REFUSED") for case in self.caught):
            self.object("not held by %s when only %s is missing" % (row.step, " ".join(row.with_)), others)

    def object(self, what, verdicts):
        self.problems.append(what)
        self.problems += ["%s: %s %s" % ((case,) + verdicts[case]) for case in self.row.cases]

    @property
    def line(self):
        caught = " -> " + (", ".join(self.caught) or "nothing") if self.problems or self.caught else ""
        return "%-25s %s%s" % (self.row.name, self.words, caught)


def choose(folder, steps):
    with open(os.path.join(folder, "leave-out"), "w") as file:
        file.writelines(step + "\n" for step in steps)


def starts_without_a_choice(build):
    """What is wrong with a test build that has no file, or one with an unknown name: it must not start."""
    with tempfile.TemporaryDirectory(prefix="mcp-exec-leave-out-") as directory:
        os.chmod(directory, 0o755)
        shutil.copytree(build, directory + "/build")
        for steps, good in ((None, False), (["no_such_step"], False), ([row.step for row in ROWS], True), ([], True)):
            for folder, program in FOLDERS.items():
                folder = os.path.join(directory, "build", folder)
                if steps is not None:
                    choose(folder, steps)
                done = subprocess.run([os.path.join(folder, program), "--print-policy"], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.PIPE, timeout=60)
                # With everything left out the worker may still refuse for reasons of its own.
                if done.returncode == 64 if good else done.returncode != 64:
                    yield "%s with %s: exit code %d, %s" % (program, steps, done.returncode, done.stderr[-200:])


def unknown_cases():
    """Cases without a row, and rows that name a case which is neither here nor in the escape suite."""
    listed = subprocess.run([sys.executable, os.path.join(ROOT, "tests", "escape", "run"), "--list"], check=True,
                            stdout=subprocess.PIPE, universal_newlines=True, timeout=60).stdout
    attacks = {line.split()[0] for line in listed.splitlines()}
    named = {case for row in ROWS for case in row.cases}
    yield from sorted("%s has no row" % case for case in set(CASES) - named)
    yield from sorted("there is no case %s" % case for case in named - set(CASES) - attacks)


def mounts():
    """Mounts of the machine that look like those of a sandbox or a trial."""
    with open("/proc/self/mountinfo") as file:
        return {line for line in file if re.search(r" - \S+ (canary|root|workspace|mask) |mcp-exec-leave-out", line)}


def tap(name, problems):
    print(("not ok " if problems else "ok ") + name)
    for problem in problems:
        print("\n".join("# " + line for line in problem.splitlines()))
    sys.stdout.flush()
    return not problems


def skipped(row):
    if row.root and not IS_ROOT:
        return "needs root"
    return None if row.possible is None or row.possible() else "cannot be seen on this machine"


def select(words):
    """(rows to judge, rows that cannot be seen here with the reason)"""
    rows = [row for row in ROWS + tuple(row.warm() for row in ROWS if row.step in WARM_TOO)
            if not words or row.step in words]
    reasons = {row: skipped(row) for row in rows}
    return [row for row in rows if not reasons[row]], [(row, reasons[row]) for row in rows if reasons[row]]


def main():
    arguments = [word for word in sys.argv[1:] if word != "--table"]
    build = os.environ.get("MCP_EXEC_BUILD", os.path.join(ROOT, "build")) + "/leave-out"
    if arguments and os.path.isdir(arguments[0]):
        build = arguments.pop(0)
    if not os.access(os.path.join(build, "bin", "mcp-exec"), os.X_OK):
        print("Bail out! no test build in %s: make leave-out-build" % build)
        return 1
    before, trials = mounts(), Trials(os.path.abspath(build))
    rows, others = select(arguments)
    held = [trials.want((), [case for row in rows if row.way == way for case in row.cases], way=way)
            for way in (COLD, WARM)]
    for row in rows:
        Judge.plan(trials, row)
    trials.run()
    judges = [Judge(trials, row) for row in rows]
    caught = sum(not judge.problems for judge in judges)
    if "--table" in sys.argv:
        print("\n".join(judge.line for judge in judges))
        print("".join("%-25s not here: %s\n" % (row.name, reason) for row, reason in others), end="")
        never = sum(judge.row.with_ is None and not judge.problems for judge in judges)
        print("%d of %d steps are caught by a case, %d never run without, %d cannot be shown here" % (
            caught - never, len(judges) + len(others), never, len(others)))
        for judge in judges:
            print("".join("# %s: %s\n" % (judge.row.name, problem) for problem in judge.problems), end="")
        return 0 if caught == len(judges) else 1
    print("1..%d" % (len(judges) + len(others) + 4))
    good = all([tap("%s caught by: %s" % (judge.row.name, ", ".join(judge.caught) or judge.words), judge.problems)
                for judge in judges])
    for row, reason in others:
        print("ok %s # SKIP %s" % (row.name, reason))
    opened = [(case + " " + key[2],) + said for key in held for case, said in sorted(trials.found.get(key, {}).items())
              if said[0] not in ("HELD", "n/a")]
    good &= tap("every_case_is_held_when_nothing_is_left_out", ["%s: %s %s" % case for case in opened])
    good &= tap("rows_and_cases_name_each_other", list(unknown_cases()))
    good &= tap("it_does_not_start_without_a_choice", list(starts_without_a_choice(build)))
    good &= tap("no_mount_is_left_on_the_machine", sorted(mounts() - before))
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
