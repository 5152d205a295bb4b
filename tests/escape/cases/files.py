"""The system is read-only, the host's own files are not there, and what a run writes is small and gone afterwards."""
import os
import tempfile

from _case import attempts, ends, host, prints
from _target import structured
from mcp import check, equal, unique

VIEW = ("read_only_system",)
READ_ONLY = ("EROFS", "EACCES", "ENOENT", "EPERM")

# Nothing is destroyed where a wall is missing: what could be made is taken away at once, what is opened is not written.
PROBE = """
def make(d):
    p = d + "/probe-%d" % os.getpid()
    os.close(os.open(p, os.O_CREAT | os.O_EXCL | os.O_WRONLY)); os.unlink(p)
def makedir(d):
    p = d + "/probe-%d" % os.getpid()
    os.mkdir(p); os.rmdir(p)
def append(p): os.close(os.open(p, os.O_WRONLY | os.O_APPEND))
def look(p):
    if os.path.isdir(p) and not os.path.islink(p): return os.listdir(p)
    with open(p, "rb") as f: return f.read(1)
"""


def secrets(id, title, paths):
    """None of these can be looked at, whatever the host has."""
    return attempts("files." + id, title, VIEW, PROBE + "for p in %r.split(): attempt(p, look, p)\n" % paths,
                    errors=("ENOENT", "EACCES", "ENOTDIR"))


WRITING = [
    attempts("files.write-system-directories", "no file or directory can be made in the system", VIEW, PROBE + """
for d in ("/", "/etc", "/usr", "/usr/lib", "/usr/bin", "/usr/local", "/usr/local/bin", "/usr/share", "/lib", "/bin",
          "/sbin",
          "/opt", "/var", "/sys", "/proc", "/proc/sys", "/dev", "/home", "/root", "/run", "/boot", "/srv", "/mnt",
          "/etc/ssl"):
    attempt(d, make, d); attempt("mkdir " + d, makedir, d)
""", errors=READ_ONLY),
    attempts("files.write-system-files", "no file of the system opens for writing", VIEW, PROBE + """
for p in ("/etc/passwd", "/etc/group", "/etc/hosts", "/etc/nsswitch.conf", "/etc/ld.so.cache", "/usr/bin/env",
          "/bin/sh",
          "/etc/ld.so.preload", "/etc/localtime", "/etc/services", "/etc/ssl/openssl.cnf", "/etc/mime.types"):
    attempt(p, append, p); attempt("rdwr " + p, os.open, p, os.O_RDWR)
""", errors=READ_ONLY),
    attempts("files.write-the-interpreter", "interpreter and library opened for writing", VIEW, PROBE + """
import ctypes.util, json
for p in (sys.executable, os.path.realpath(sys.executable), os.__file__, json.__file__, json.__cached__,
          os.path.dirname(os.__file__) + "/site.py"):
    attempt(p, append, p)
attempt("module", make, os.path.dirname(os.__file__)); attempt("cache", make, os.path.dirname(json.__cached__))
""", errors=READ_ONLY + ("ETXTBSY",)),
    attempts("files.read-only-for-whoever-asks", "the system answers EROFS, so no ownership or mode matters", VIEW, """
d = os.path.dirname(os.__file__); gone = d + "/probe-that-is-not-there"
attempt("unlink", os.unlink, gone); attempt("rmdir", os.rmdir, gone); attempt("rename", os.rename, gone, gone + "2")
attempt("mode", os.chmod, os.__file__, os.stat(os.__file__).st_mode & 0o7777); attempt("symlink", os.symlink, "x", gone)
s = os.stat(os.__file__); attempt("time", os.utime, os.__file__, ns=(s.st_atime_ns, s.st_mtime_ns))
attempt("owner", os.chown, os.__file__, s.st_uid, s.st_gid); attempt("same name", os.rename, os.__file__, os.__file__)
attempt("fifo", os.mkfifo, gone)
""", errors=("EROFS",)),
    attempts("files.hard-link-to-the-system", "a link or move between system and workspace", VIEW, """
gone = os.path.dirname(os.__file__) + "/probe-that-is-not-there"
attempt("link in", os.link, os.__file__, "/tmp/os.py"); attempt("link out", os.link, "main.py", gone)
attempt("by descriptor", os.link, "/proc/self/fd/%d" % os.open(os.__file__, os.O_RDONLY), "/tmp/o2",
        follow_symlinks=True)
attempt("out", os.rename, "main.py", gone)
""", errors=("EXDEV", "EROFS", "EPERM", "ENOENT")),
    attempts("files.own-program-overwritten", "the running interpreter through /proc/self/exe", VIEW + ("proc",), """
fd = os.open("/proc/self/exe", os.O_RDONLY)
for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND):
    attempt("exe %d" % flags, os.open, "/proc/self/exe", flags)
    attempt("again %d" % flags, os.open, "/proc/self/fd/%d" % fd, flags)
    attempt("task %d" % flags, os.open, "/proc/thread-self/exe", flags)
""", errors=("EROFS", "ETXTBSY", "EACCES"), needs="proc"),
    attempts("files.kernel-knobs", "files of /proc/sys opened for writing", ("proc", "user_namespace"), """
for p in ("kernel/core_pattern", "kernel/hostname", "kernel/domainname", "kernel/modprobe", "kernel/hotplug",
          "kernel/randomize_va_space", "kernel/yama/ptrace_scope", "kernel/unprivileged_userns_clone",
          "kernel/ns_last_pid",
          "kernel/shmmax", "kernel/msgmax", "kernel/sysrq", "kernel/panic", "kernel/kexec_load_disabled",
          "fs/suid_dumpable",
          "vm/overcommit_memory", "vm/drop_caches", "vm/mmap_min_addr", "user/max_user_namespaces",
          "net/ipv4/ip_forward",
          "fs/file-max", "fs/binfmt_misc/register", "net/ipv4/ping_group_range", "net/ipv4/ip_unprivileged_port_start"):
    attempt(p, os.open, "/proc/sys/" + p, os.O_WRONLY)
""", errors=READ_ONLY),
    attempts("files.proc-of-itself", "files of /proc opened for writing", "proc", """
def write(p):
    "What is covered by /dev/null can be written to, and nothing comes of it."
    if os.fstat(os.open(p, os.O_WRONLY)).st_rdev == os.makedev(1, 3): raise OSError(errno.EROFS, p)
for p in ("sysrq-trigger", "acpi/wakeup", "self/oom_score_adj", "self/oom_adj", "self/comm", "self/clear_refs",
          "self/mem",
          "self/coredump_filter", "self/attr/current", "self/attr/exec", "self/timerslack_ns", "self/loginuid",
          "self/sched",
          "self/autogroup", "1/oom_score_adj", "1/comm", "1/mem", "self/make-it-fail", "self/task/self/mem"):
    attempt(p, write, "/proc/" + p)
""", errors=READ_ONLY),
    attempts("files.sys-and-cgroups", "no /sys, no cgroup files", VIEW, PROBE + """
for p in ("/sys", "/sys/kernel", "/sys/fs/cgroup", "/sys/class", "/sys/firmware", "/sys/kernel/debug",
          "/sys/kernel/security"):
    attempt(p, os.listdir, p); attempt("mkdir " + p, makedir, p)
for p in ("/sys/kernel/uevent_helper", "/sys/power/state", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory.max",
          "/sys/fs/cgroup/release_agent", "/sys/kernel/debug/tracing/trace", "/sys/fs/cgroup/cgroup.subtree_control"):
    attempt(p, append, p)
""", errors=READ_ONLY),
]

READING = [
    secrets("secrets-of-etc", "passwords, keys and tokens below /etc", """
/etc/shadow /etc/shadow- /etc/gshadow /etc/gshadow- /etc/sudoers /etc/sudoers.d /etc/ssh /etc/ssh/ssh_host_ed25519_key
/etc/ssl/private /etc/mcp-exec /etc/krb5.keytab /etc/security/opasswd /etc/NetworkManager /etc/wpa_supplicant /etc/fstab
/etc/wireguard /etc/openvpn /etc/ipsec.secrets /etc/letsencrypt /etc/kubernetes /etc/docker /etc/environment
/etc/default
/etc/crypttab /etc/machine-id /etc/hostname /etc/resolv.conf /etc/mysql /etc/postgresql /etc/cron.d /etc/systemd"""),
    secrets("secrets-of-homes", "homes and what lies in them", """
/root /home /root/.ssh /root/.bash_history /root/.netrc /root/.aws/credentials /root/.kube/config
/root/.docker/config.json
/home/user /Users /export/home /var/home /root/.gnupg /root/.git-credentials /root/.config /root/.local /root/.pgpass
/root/.npmrc /root/.claude.json /root/.cargo/credentials.toml"""),
    secrets("secrets-of-services", "run-time secrets, mail, logs, databases, orchestration", """
/run /var/run /run/secrets /run/credentials /var/run/secrets/kubernetes.io/serviceaccount/token /run/user /run/systemd
/var/lib /var/log /var/mail /var/spool /var/cache /var/backups /var/lib/docker /var/lib/kubelet /var/lib/mysql /var/www
/var/lib/systemd/coredump /var/crash /run/udev /run/lock /srv /opt /.dockerenv /run/.containerenv
/docker-entrypoint.sh"""),
    secrets("secrets-of-disks", "mount points, boot files, other roots", """
/mnt /media /boot /boot/grub /lost+found /efi /snap /nix /data /host /hostfs /rootfs /cdrom /.old /oldroot /.pivot
/.oldroot
/old_root /put_old /.snapshots /sysroot /var/lib/containers /proc/1/root/etc /initrd /.autorelabel"""),
    attempts("files.what-proc-shows", "parts of /proc that tell of the host are empty", "proc", """
for p in ("kcore", "kmsg", "kallsyms", "keys", "key-users", "timer_list", "sched_debug", "latency_stats", "cmdline",
          "sys/kernel/random/boot_id", "kpagecount", "kpageflags", "vmallocinfo", "slabinfo", "iomem", "mtrr"):
    def read():
        with open("/proc/" + p, "rb") as f: data = f.read(64)
        # An unprivileged reader gets addresses as zeros.
        if not data.replace(b"0",
                            b"").strip(b" -:\\n") or p == "iomem" and b"00000000-00000000" in data: raise OSError(2, p)
    attempt(p, read)
for p in ("acpi", "bus", "scsi", "fs", "irq"):
    def listed():
        if not os.listdir("/proc/" + p): raise OSError(2, p)
    attempt(p, listed)
""", errors=("ENOENT", "EACCES", "EPERM")),
    attempts("files.climbing-out", "up, over descriptors, over roots of processes", VIEW, """
fd = os.open("/", os.O_RDONLY); os.fchdir(fd); path = "etc/shadow"
attempt("here", open, path); attempt("up", open, "../" * 30 + path)
attempt("own root", open, "/proc/self/root/" + path)
attempt("pid 1's root", os.listdir, "/proc/1/root"); attempt("pid 1's cwd", os.listdir, "/proc/1/cwd")
attempt("cwd", open, "/proc/self/cwd/../" + path); attempt("task", open, "/proc/thread-self/root/" + path)
attempt("fd", os.open, "../" * 9 + path, os.O_RDONLY, dir_fd=fd); attempt("link", os.listdir, "/proc/1/map_files")
attempt("descriptors", os.listdir, "/proc/1/fd"); os.symlink("../" * 30 + path, "/tmp/l")
attempt("symlink", open, "/tmp/l")
""", errors=("ENOENT", "EACCES", "EPERM")),
    prints("files.up-is-the-own-root", "above the root is the root, without a trace of the old one", VIEW, """
a, b = os.stat("/"), os.stat("../" * 30)
names = set(os.listdir("/")) - set("bin dev etc lib lib32 lib64 libx32 proc sandbox sbin tmp usr var".split())
print((a.st_dev, a.st_ino) == (b.st_dev, b.st_ino), sorted(names - {os.environ["PATH"].split("/")[1]}))
""", "True []\n"),
    attempts("files.handles", "files opened by handle, and other ways past a path", "seccomp", """
b = ctypes.create_string_buffer(64)
attempt("open_by_handle_at", call, "open_by_handle_at", -100, b, 0)
attempt("name_to_handle_at", call, "name_to_handle_at", -100, b"/", b, 0, 0)
attempt("openat2", call, "openat2", -100, b"/", b, 24); attempt("statmount", call, "statmount", b, b, 64, 0)
attempt("listmount", call, "listmount", b, b, 8, 0)
""", errors=("EPERM", "ENOSYS")),
    attempts("files.watching-others", "what other processes do with shared files is not told, nor held up",
             "seccomp", """
import fcntl
fd, own = os.open("/usr", os.O_RDONLY), os.open("main.py", os.O_RDONLY)
attempt("notify", fcntl.fcntl, fd, fcntl.F_NOTIFY, fcntl.DN_ACCESS)
attempt("lease", fcntl.fcntl, own, fcntl.F_SETLEASE, fcntl.F_RDLCK)
attempt("lease high", lambda: fcntl.fcntl(os.open(os.__file__, os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_RDLCK))
attempt("inotify", call, "inotify_init1", 0); attempt("old inotify", call, "inotify_init")
attempt("fanotify", call, "fanotify_init", 0, 0)
"""),
    attempts("files.attributes", "extended attributes and flags of files", ("seccomp",), """
import fcntl
attempt("set", os.setxattr, "main.py", "user.x", b"y"); attempt("trusted", os.setxattr, "main.py", "trusted.x", b"y")
attempt("capability", os.setxattr, "main.py", "security.capability", bytes(20)); f = open("main.py")
for name, number in (("immutable", 0x40086602), ("fsxattr", 0x401c5820), ("freeze", 0xc0045877), ("trim", 0xc0185879),
                     ("clone", 0x40049409)):
    attempt(name, fcntl.ioctl, f, number, bytes(64))
""", errors=("ENOTSUP", "EOPNOTSUPP", "EPERM", "ENOSYS")),
]

DEVICES = [
    prints("files.devices", "/dev has a few harmless names", VIEW,
           "known = 'fd full null random shm stderr stdin stdout urandom zero'.split()\n"
           "print(sorted(set(os.listdir('/dev')) - set(known)))",
           "[]\n"),
    attempts("files.device-files", "devices of kernel, disks, machines and terminals", VIEW, """
for p in ("kmsg", "mem", "kmem", "port", "kvm", "fuse", "cuse", "loop-control", "loop0", "sda", "vda", "nvme0n1",
          "tty", "tty0",
          "console", "ptmx", "pts", "pts/0", "input", "dri", "nvidia0", "nvidiactl", "snapshot", "nvram", "hpet",
          "rtc0",
          "vfio", "uinput", "uhid", "mapper/control", "btrfs-control", "autofs", "userfaultfd", "udmabuf", "dma_heap",
          "sgx",
          "watchdog", "mqueue", "hugepages", "bus/usb", "i2c-0", "tpm0", "sev", "cpu/0/msr", "raw", "zram0", "log",
          "initctl"):
    attempt(p, os.open, "/dev/" + p, os.O_RDONLY | os.O_NONBLOCK)
""", errors=("ENOENT",)),
    attempts("files.make-a-device", "mknod of block and character devices, also with odd types", "seccomp", """
import stat
for name, kind, number in (("disk", stat.S_IFBLK, os.makedev(8, 0)), ("memory", stat.S_IFCHR, os.makedev(1, 1)),
                           ("null", stat.S_IFCHR, os.makedev(1, 3)), ("whiteout", stat.S_IFCHR, 0), ("kvm",
                                                                                                     stat.S_IFCHR,
                                                                                                     0x0ae8)):
    attempt(name, os.mknod, "/tmp/" + name, 0o666 | kind, number)
    attempt("at " + name, os.mknod, name, 0o666 | kind, number, dir_fd=os.open("/tmp", os.O_RDONLY))
""", errors=("EPERM", "ENOSYS")),
    attempts("files.change-a-device", "the devices that are there cannot be changed", VIEW + ("user_namespace",), """
for d in ("null", "zero", "full", "random", "urandom"):
    attempt("mode " + d, os.chmod, "/dev/" + d, os.stat("/dev/" + d).st_mode & 0o7777)
    attempt("owner " + d, os.chown, "/dev/" + d, os.getuid(), -1)
""", errors=READ_ONLY + ("EINVAL",)),
]

EXECUTE = """
import glob, mmap, shutil, subprocess
places = ("/sandbox", "/tmp", "/var/tmp", "/dev/shm")
"""

WORKSPACE = [
    prints("files.mounts", "every mount is nosuid; writable ones are noexec and nodev too", ("workspace",
                                                                                             "read_only_system"), """
bad, writable = [], set()
for f in (l.split() for l in open("/proc/self/mountinfo")):
    options = set(f[5].split(","))
    if "nosuid" not in options or "nodev" not in options and not f[4].startswith(("/dev/", "/proc/")): bad.append(f[4])
    if "ro" not in options:
        writable.add(f[4]); bad += [] if {"noexec", "nodev", "nosuid"} <= options else [f[4]]
print(bad, sorted(writable))
""", "[] ['/dev/shm', '/sandbox', '/tmp', '/var/tmp']\n", needs="proc"),
    attempts("files.execute-what-was-written", "a program, a script, a library, from every writable place", "workspace",
             EXECUTE + """
loader = (glob.glob("/lib64/ld-linux-*") + glob.glob("/lib/ld-linux-*") + [None])[0]
for d in places:
    shutil.copy("/usr/bin/true", d + "/t"); attempt("exec " + d, subprocess.run, [d + "/t"]); f = open(d + "/t", "rb")
    attempt("map " + d, mmap.mmap, f.fileno(), 4096, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_EXEC)
    fd = f.fileno(); attempt("fexec " + d, subprocess.run, ["/proc/self/fd/%d" % fd], pass_fds=[fd])
    argv = (ctypes.c_char_p * 2)(b"t", None)
    attempt("execveat " + d, call, "execveat", fd, b"", argv, 0, 0x1000)
    open(d + "/s", "w").write("#!/bin/sh\\n"); os.chmod(d + "/s", 0o755); attempt("script " + d, subprocess.run,
                                                                                  [d + "/s"])
    shutil.copy(os.path.realpath(glob.glob("/lib/*/libm.so.6")[0]), d + "/x.so")
    try: ctypes.CDLL(d + "/x.so"); print("library", d, "OPEN")
    except OSError: print("library", d, "DENIED EPERM")
    if loader:
        r = subprocess.run([loader, d + "/t"], capture_output=True)
        print("loader", d, "OPEN" if r.returncode == 0 else "DENIED EPERM")
""", errors=("EACCES", "EPERM", "ENOSYS", "ENOENT")),
    attempts("files.execute-from-memory", "files of memory that no mount option concerns", "seccomp", """
attempt("memfd", os.memfd_create, "m"); attempt("memfd exec", call, "memfd_create", b"m", 0x10)
attempt("secret", call, "memfd_secret", 0); attempt("high", call, "memfd_create", b"m", 1 << 32)
"""),
    prints("files.setuid-bit", "a setuid file of its own gives nothing", ("workspace", "no_new_privs"), """
import shutil, subprocess
shutil.copy("/usr/bin/id", "s")
try: os.chmod("s", 0o6755)
except PermissionError: pass    # RestrictSUIDSGID= of a systemd unit
before = open("/proc/self/status").read().split("NoNewPrivs:")[1].split()[0]
try: subprocess.run(["./s", "-u"]); print("ran OPEN")
except OSError: print("not run", before)
""", "not run 1\n", needs="proc"),
    prints("files.deep-directory", "a directory 1000 levels deep is no burden", "workspace",
           "for _ in range(1000): os.mkdir('d'); os.chdir('d')\nopen('leaf', 'w').close(); print('deep')", "deep\n",
           seconds=3),
    ends("files.many-files", "100000 files stop at the inode limit, and the end is quick", "workspace", """
n = 0
try:
    for n in range(100000): open("f%d" % n, "w").close()
    print("OPEN", n)
except OSError as e: print("stop", e.errno, n > 1000)
""", seconds=10, stdout="stop 28 True\n", exit_code=0),
    prints("files.odd-files-left", "fifos, links, sockets, odd names and modes are left behind", "workspace", """
import socket
os.mkfifo("out.png"); os.mkdir("dir.png"); os.symlink("/etc/shadow", "chart.png"); os.symlink("/", "all")
os.symlink("loop", "loop"); os.mkdir("closed", 0); os.mkdir("a\\nb"); open(b"\\xff\\xfe", "w").close()
open("-rf *", "w").close()
s = socket.socket(socket.AF_UNIX); s.bind("s"); os.mkfifo("/tmp/main.py"); os.rename("main.py", "m")
os.mkfifo("main.py")
print("OK")
""", "OK\n", seconds=3),
    prints("files.identity", "a constant host name, nothing that tells hosts apart", ("uts_namespace", "hostname"), """
import platform, socket
print(socket.gethostname(), platform.node(), os.uname().nodename, os.path.exists("/etc/machine-id"),
      os.path.exists("/var/lib/dbus/machine-id"), os.path.exists("/sys/class/dmi"))
""", "sandbox sandbox sandbox False False False\n"),
]

MARK = """
import os
places = (".", "/tmp", "/var/tmp", "/dev/shm", os.path.expanduser("~"))
print([d for d in places if os.path.exists(os.path.join(d, "MARK"))])
for d in places: open(os.path.join(d, "MARK"), "w").close()
"""


@host("files.nothing-survives", "what a run wrote is in no later run", "workspace")
def nothing_survives(target):
    equal([target.exec(MARK)["stdout"] for _ in range(3)], ["[]\n"] * 3)


@host("files.nothing-is-shared", "what a run writes is in no run beside it", "workspace", "second")
def nothing_is_shared(target):
    first = target.server()
    held = first.start_exec(MARK + "import time; time.sleep(0.5)")
    with target.instance() as second:
        equal(structured(second.exec(MARK))["stdout"], "[]\n")
    equal(structured(first.answer(held)["result"])["stdout"], "[]\n")


@host("files.writes-stay-inside", "what a run writes does not appear on the host", ("mount_namespace", "workspace"),
      "host")
def writes_stay_inside(target):
    name = unique("probe")
    target.exec("for d in ('/tmp', '/var/tmp', '/dev/shm', '/sandbox'): open(d + '/%s', 'w').close()" % name)
    check(not [d for d in ("/tmp", "/var/tmp", "/dev/shm", ".") if os.path.exists(os.path.join(d, name))],
          "on the host")


@host("files.canary-of-the-host", "files of the server's user, directory and /tmp are nowhere in a run's view", VIEW,
      "host", "environment", "start")
def canary_of_the_host(target):
    with tempfile.TemporaryDirectory() as home:
        os.chmod(home, 0o755)
        name = unique("canary")
        os.makedirs(home + "/.ssh")
        files = [os.path.join(d, name) for d in (home, home + "/.ssh", "/tmp", "/var/tmp", "/dev/shm")
                 if os.access(d, os.W_OK)]
        try:
            for path in files:
                with open(path, "w") as file:
                    file.write("CANARY")
            with target.instance(env={"HOME": home}, cwd=home) as s:
                s.initialize()
                result = structured(s.exec("import os\nfor p in %r:\n    if os.path.exists(p): print('OPEN', p)\n"
                                           "for d, _, files in os.walk('/'):\n    if %r in files: print('OPEN', d)"
                                           % (files, name)))
                equal(result["stdout"], "")
        finally:
            for path in files:
                os.unlink(path)


LOCK = "import fcntl, os\nf = open('/usr/bin/env', 'rb')\nfcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)\n" \
       "print('locked')\n"


@host("files.lock-ends-with-its-run", "a lock on a file of the system does not outlive the run that took it", "init")
def lock_ends_with_its_run(target):
    """That such a lock is seen outside while the run lasts is a known limit."""
    daemon = "import time\nif os.fork() == 0:\n    os.setsid(); time.sleep(60)\n"
    for _ in range(2):
        equal(target.exec(LOCK + daemon)["stdout"], "locked\n")


CASES = WRITING + READING + DEVICES + WORKSPACE + [nothing_survives, nothing_is_shared, writes_stay_inside,
                                                   canary_of_the_host, lock_ends_with_its_run]
