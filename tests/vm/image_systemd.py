# SPDX-License-Identifier: GPL-2.0-or-later
"""A guest in which systemd is the first process and udev finds the board: an initramfs like the others, of
Debian's own packages, with our files where `make install` puts them.

Of the packages only what such a guest needs; the libraries are the host's. Nothing of a package's
scripts is run: users and directories are made at boot, by systemd-sysusers and systemd-tmpfiles, ours too.
"""
import os
import re
import shutil
import stat
import subprocess
import tempfile

import image
from image import ImageError

ROOT = os.path.dirname(os.path.dirname(image.HERE))
DYGRAPHS = "/usr/share/javascript/dygraphs"
PACKAGES = ("systemd", "udev", "libsystemd-shared")
# What is taken of them, below / or /usr.
KEEP = re.compile(
    r"(lib/systemd/system/|lib/udev/rules\.d/|lib/(sysusers|tmpfiles)\.d/|lib/x86_64-linux-gnu/systemd/|"
    r"bin/(systemctl|journalctl|udevadm|systemd-(analyze|escape|sysusers|tmpfiles))$|"
    r"lib/systemd/systemd(-journald|-udevd|-sysctl|-shutdown|-update-done|-modules-load|-user-sessions|"
    r"-cgroups-agent|-remount-fs)?$)")
# What a guest of two minutes has no use for, or what needs programs that are left out.
MASKED = ("systemd-logind.service getty.target systemd-update-utmp.service systemd-update-utmp-runlevel.service "
          "systemd-random-seed.service systemd-pstore.service systemd-hwdb-update.service systemd-firstboot.service "
          "systemd-journal-flush.service systemd-machine-id-commit.service systemd-repart.service "
          "systemd-pcrphase.service systemd-pcrphase-sysinit.service systemd-binfmt.service systemd-sysctl.service "
          "proc-sys-fs-binfmt_misc.automount kmod-static-nodes.service sys-fs-fuse-connections.mount "
          "sys-kernel-config.mount sys-kernel-tracing.mount dev-hugepages.mount dev-mqueue.mount "
          "systemd-ask-password-wall.path systemd-ask-password-console.path systemd-tmpfiles-clean.timer "
          "systemd-initctl.socket systemd-journald-audit.socket cryptsetup.target veritysetup.target "
          "integritysetup.target remote-fs.target").split()
# Not asserted anywhere: what a machine does in seconds, a guest without KVM does in minutes.
SLOW = {
    "system.conf.d/slow.conf": "[Manager]\nDefaultTimeoutStartSec=300\nDefaultTimeoutStopSec=120\n"
                               "DefaultDeviceTimeoutSec=300\n",
    "system/nanet3-selftest@.service.d/slow.conf": "[Service]\nTimeoutStartSec=200\n",
    "system/fcm-server@.service.d/slow.conf": "[Service]\nTimeoutStartSec=200\nTimeoutStopSec=120\nWatchdogSec=30\n",
}
PLAN = """[Unit]
Description=The plan of this guest
[Service]
Type=simple
ExecStart=/vm/init
"""


class Root(image.Initramfs):
    INIT = "vm/init"

    def __init__(self, cache, build, release, module):
        super().__init__()
        for name in ("bin", "sbin", "lib", "lib64"):
            self.entries[name] = (stat.S_IFLNK | 0o777, b"usr/" + name.encode(), (0, 0))
        self.directory("sbin")
        with tempfile.TemporaryDirectory(dir=cache) as tmp:
            for package in PACKAGES:
                subprocess.run(["dpkg-deb", "-x", image.package_file(cache, package), tmp], check=True)
            self.tree(tmp, KEEP)
        with tempfile.TemporaryDirectory(dir=cache) as tmp:
            self._install(build, tmp)
            self._modules(tmp, release, module)
            self.tree(tmp, re.compile(r"(?!src/|include/|share/man/|bin/nanet3-emu|(bin|lib|share)/fcm-server-emulator|.*\.a$)"))
        self.file(image.LEAP_SECONDS, image.LEAP_SECONDS)
        for name in ("dygraph.min.js", "dygraph.min.css"):
            self.file(f"{DYGRAPHS}/{name}", f"{DYGRAPHS}/{name}")
        for name in subprocess.check_output([image.busybox(), "--list"], text=True).split():
            if self.where(f"bin/{name}") not in self.entries:
                self.link("busybox", f"bin/{name}")
        self._configure()

    def where(self, name):
        """With /usr merged."""
        name = name.strip("/")
        return "usr/" + name if re.match(r"(bin|sbin|lib|lib64)(/|$)", name) else name

    def tree(self, top, keep):
        """Files below `top` whose path, without usr/, is to be kept; of programs the libraries too."""
        programs = []
        for folder, folders, names in os.walk(top):
            for name in folders + names:
                source = os.path.join(folder, name)
                path = os.path.relpath(source, top)
                if not keep.match(path.removeprefix("usr/")):
                    continue
                if os.path.islink(source):
                    self.link(os.readlink(source), path)
                elif os.path.isfile(source):
                    self.file(source, path)
                    with open(source, "rb") as f:
                        if f.read(4) == b"\x7fELF" and not path.endswith(".ko"):
                            programs.append(source)
        self.libraries(*programs)

    @staticmethod
    def _install(build, to):
        """What has been built is installed; nothing is built (-o all)."""
        r = subprocess.run(["make", "-s", "--no-print-directory", "-C", ROOT, "-o", "all", "install",
                            f"B={os.path.relpath(build, ROOT)}", f"DESTDIR={to}"], capture_output=True, text=True,
                           check=False)
        if r.returncode:
            raise ImageError(f"make install: {r.stdout}{r.stderr}")

    @staticmethod
    def _modules(to, release, module):
        """The only module there is, with the alias by which udev finds it."""
        folder = os.path.join(to, "lib/modules", release, "extra")
        os.makedirs(folder)
        shutil.copy(module, folder)
        for name in ("order", "builtin", "builtin.modinfo"):
            open(os.path.join(to, "lib/modules", release, "modules." + name), "w").close()
        depmod = shutil.which("depmod", path=os.environ["PATH"] + ":/usr/sbin:/sbin") or "depmod"
        subprocess.run([depmod, "-b", to, release], check=True)

    def _configure(self):
        self.link("usr/lib/systemd/systemd", "init")
        self.text("etc/machine-id", "6d616368696e652d69642d6f662d766d\n")  # its first boot would enable all there is
        self.text("etc/hostname", "guest\n")
        self.text("etc/os-release", "ID=guest\nNAME=guest\n")
        self.text("etc/fstab", "")
        for unit in MASKED:
            self.link("/dev/null", f"etc/systemd/system/{unit}")
        for name, content in SLOW.items():
            self.text(f"etc/systemd/{name}", content)
        # Rings of 400 ms of model time: those of 2 s are more than half of this guest's memory.
        self.text("etc/modprobe.d/nanet3.conf", "options nanet3 depth_ms=400 linger_ms=60000\n")
        self.link("/usr/lib/systemd/system/multi-user.target", "etc/systemd/system/default.target")
        self.text("etc/systemd/system/vm-plan.service", PLAN)
        self.link("../vm-plan.service", "etc/systemd/system/multi-user.target.wants/vm-plan.service")
