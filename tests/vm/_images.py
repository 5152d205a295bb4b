"""Disks of virtual machines, made of Debian packages: one with the system for each release, kept below build/vm, and a
small one with what is to be tested. Making the first kind needs root and the machine's own mirror."""
import glob
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "lib"))
from debian import RELEASES, mirror  # noqa: E402
from mcp import ROOT  # noqa: E402

LIMIT_S = 600
SYSTEM = ("systemd", "systemd-sysv", "dbus", "dbus-user-session", "libpam-systemd", "python3", "kmod", "udev", "procps",
          "iproute2", "apparmor")
# The cloud kernels have NVMe and ext4 built in, so that no initramfs is needed; of their modules these are used.
KERNEL = "linux-image-cloud-amd64"
MODULES = ("virtio_pci", "virtio_net", "virtio_rng", "autofs4")
UNUSED = ("usr/share/man", "usr/share/doc", "usr/share/locale")
# What a machine that lives for minutes has no use for.
MASKED = ("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "e2scrub_all.timer", "fstrim.timer",
          "systemd-tmpfiles-clean.timer", "systemd-binfmt.service", "systemd-pstore.service", "getty@tty1.service",
          "serial-getty@ttyS0.service", "e2scrub_reap.service", "systemd-hwdb-update.service")
MOUNT, LABEL = "/opt/tests", "mcp-exec-tests"
SECTOR, START, PARTITION = 512, 1 << 20, "6d637078-01"
# As a file of the test's disk it can change without another system.
UNIT = """[Unit]
Description=Tests of mcp-exec
RequiresMountsFor={mount}
SuccessAction=poweroff-immediate
FailureAction=poweroff-immediate
[Service]
Type=oneshot
ExecStart=/usr/bin/python3 {mount}/vm/guest.py
StandardOutput=null
StandardError=journal+console
[Install]
WantedBy=multi-user.target
""".format(mount=MOUNT)
# The hook of mmdebstrap: apt as it was set up for this root brings the kernel, which is not to be installed, for then an
# initramfs would be made as well.
GET_KERNEL = r"""
cd %s; export APT_CONFIG=$MMDEBSTRAP_APT_CONFIG
name=$(apt-cache depends %s | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')
apt-get download -q -o APT::Sandbox::User=root "$name"
"""


class Failed(Exception):
    """An image cannot be made; the text says why."""


def command(argv, **more):
    """Runs a program that must work."""
    done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=LIMIT_S, universal_newlines=True, **more)
    if done.returncode:
        raise Failed("%s ended with %d: %s" % (argv[0], done.returncode, done.stdout[-2000:]))
    return done.stdout


def depends(deb):
    """The names of the packages that a .deb depends on; of alternatives the first."""
    listed = command(["dpkg-deb", "--field", deb, "Depends"])
    return sorted(re.match(r"[a-z0-9+.-]+", item.strip()).group() for item in listed.split(",") if item.strip())


def write(root, path, text):
    path = os.path.join(root, path.lstrip("/"))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(text)


def file_system(folder, image, size, label, start=0):
    """An ext4 file system with the contents of a folder, in a sparse file from some byte on."""
    with open(image, "w") as file:
        file.truncate(start + size)
    command(["mke2fs", "-q", "-F", "-t", "ext4", "-O", "^has_journal", "-m", "0", "-L", label, "-E",
             "offset=%d" % start, "-d", folder, image, "%dk" % (size >> 10)])


def partitioned(image, start):
    """Makes all from some byte on the only partition of a disk: an MBR, whose identifier gives the partition a name
    that kernels know without an initramfs. They number disks as they like."""
    sectors = os.path.getsize(image) // SECTOR
    entry = struct.pack("<8sII", bytes([0, 255, 255, 255, 0x83, 255, 255, 255]), start // SECTOR,
                        sectors - start // SECTOR)
    with open(image, "r+b") as file:
        file.seek(440)
        file.write(struct.pack("<IH", int(PARTITION[:8], 16), 0) + entry + bytes(48) + b"\x55\xaa")


class System:
    """A release's kernel and disk. deb: the package whose dependencies are in it."""

    def __init__(self, release, folder, deb):
        self.release, self.packages = release, SYSTEM + tuple(depends(deb))
        with open(os.path.abspath(__file__), "rb") as file:
            key = hashlib.sha256(file.read() + " ".join(self.packages).encode()).hexdigest()[:8]
        self.place = os.path.join(folder, "debian-%s-%s" % (release, key))
        self.disk, self.kernel = os.path.join(self.place, "disk"), os.path.join(self.place, "vmlinuz")

    def make(self):
        """Makes them, unless they are there."""
        if os.path.isdir(self.place):
            return
        if os.geteuid() != 0:
            raise Failed("making the system of a virtual machine needs root")
        if not mirror():
            raise Failed("apt has no mirror of Debian here")
        new = self.place + ".new"
        # One that was interrupted may have file systems of the host mounted below it.
        subprocess.run(["rm", "-rf", "--one-file-system", "--", new], check=True)
        os.makedirs(new)
        root = os.path.join(new, "root")
        command(["mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--include=" + ",".join(self.packages)] +
                ["--dpkgopt=path-exclude=/%s/*" % path for path in UNUSED] +
                ["--customize-hook=" + GET_KERNEL % (new, KERNEL), RELEASES[self.release], root, mirror()])
        self._kernel(new, root)
        self._settings(root)
        file_system(root, os.path.join(new, "disk"), 2 << 30, "system", START)
        partitioned(os.path.join(new, "disk"), START)
        shutil.rmtree(root)
        shutil.rmtree(os.path.join(new, "kernel"))
        for path in glob.glob(os.path.join(new, "*.deb")):
            os.unlink(path)
        os.rename(new, self.place)

    @staticmethod
    def _kernel(new, root):
        """Of the kernel's package itself, and of its modules those that are used, with what they need."""
        unpacked = os.path.join(new, "kernel")
        command(["dpkg-deb", "-x"] + glob.glob(os.path.join(new, "linux-image-*.deb")) + [unpacked])
        found, = glob.glob(os.path.join(unpacked, "boot", "vmlinuz-*"))
        shutil.copy(found, os.path.join(new, "vmlinuz"))
        version = os.path.basename(found)[len("vmlinuz-"):]
        modules, = glob.glob(os.path.join(unpacked, "lib/modules", version)) or \
            glob.glob(os.path.join(unpacked, "usr/lib/modules", version))
        inside = os.path.join(root, "usr/lib/modules", version)
        shutil.copytree(modules, inside)
        command(["chroot", root, "depmod", version])
        needed = command(["chroot", root, "modprobe", "-S", version, "-a", "-D"] + list(MODULES))
        keep = set(re.findall(r"^insmod (\S+)", needed, re.M))
        for folder, _, names in os.walk(inside):
            for path in (os.path.join(folder, name) for name in names if ".ko" in name):
                if re.sub(r"^/lib/", "/usr/lib/", "/" + os.path.relpath(path, root)) not in \
                        {re.sub(r"^/lib/", "/usr/lib/", kept) for kept in keep}:
                    os.unlink(path)
        command(["chroot", root, "depmod", version])

    @staticmethod
    def _settings(root):
        write(root, "/etc/fstab", "LABEL=%s %s ext4 ro 0 0\n" % (LABEL, MOUNT))
        write(root, "/etc/hostname", "machine\n")
        write(root, "/etc/hosts", "127.0.0.1 localhost machine\n::1 localhost\n")
        write(root, "/etc/machine-id", os.urandom(16).hex() + "\n")
        write(root, "/etc/systemd/system/mcp-exec-tests.service", UNIT)
        os.makedirs(root + MOUNT)
        # Profiles of other programs take seconds to load, and bear no witness here.
        for path in glob.glob(root + "/etc/apparmor.d/*"):
            if os.path.isfile(path):
                os.unlink(path)
        command(["chroot", root, "systemctl", "--quiet", "mask"] + list(MASKED))
        command(["chroot", root, "systemctl", "--quiet", "enable", "mcp-exec-tests.service"])
        # Nothing is to be brought up to date at the first start.
        for path in ("etc", "var"):
            write(root, path + "/.updated", "")


def tests(folder, debs):
    """The disk with what is to be tested: the packages, and the programs of the guest. Returns its path."""
    tree, image = os.path.join(folder, "tests"), os.path.join(folder, "tests.disk")
    shutil.rmtree(tree, ignore_errors=True)
    os.makedirs(tree)
    for name in ("lib", "vm"):
        shutil.copytree(os.path.join(ROOT, "tests", name), os.path.join(tree, name),
                        ignore=shutil.ignore_patterns("__pycache__"))
    for deb in debs:
        shutil.copy(deb, tree)
    file_system(tree, image, 64 << 20, LABEL)
    return image
