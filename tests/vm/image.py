# SPDX-License-Identifier: GPL-2.0-or-later
"""What QEMU boots: a kernel and an initramfs, made without root and without installing either.

Debian's kernels are downloaded as packages and unpacked in the cache. The bzImage of 6.1 is XZ, which takes TCG
3 to 10 s to unpack, so the ELF inside is taken out once and booted by PVH. Those of later kernels are ZSTD, and
booted as they are. The instrumented ones are made by debug_kernel.sh and booted as bzImage: with KASAN, PVH ends in
silence.
"""
import glob
import lzma
import os
import re
import stat
import struct
import subprocess
import tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
SERIES = ("6.1", "6.12")  # that stations run
LEAP_SECONDS = "/usr/share/zoneinfo/leap-seconds.list"


class ImageError(Exception):
    pass


def unpack_bzimage(image):
    """The ELF inside a bzImage with an XZ payload (the boot protocol says where it lies); another as it is."""
    sectors = image[0x1f1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    begin = (sectors + 1) * 512 + offset
    payload = image[begin:begin + length]
    if payload[:6] != b"\xfd7zXZ\0":
        return image
    elf = lzma.LZMADecompressor().decompress(payload)
    if elf[:4] != b"\x7fELF":
        raise ImageError("no ELF inside the kernel")
    return elf


def package_file(cache, package, hint=""):
    """Path of a Debian package, downloaded once."""
    debs = os.path.join(cache, "debs")
    os.makedirs(debs, exist_ok=True)
    if not glob.glob(f"{debs}/{package}_*.deb"):
        print(f"vm: downloading {package}", flush=True)
        if subprocess.call(["apt-get", "-qq", "download", package], cwd=debs):
            raise ImageError(f"no package {package}{hint}")
    return glob.glob(f"{debs}/{package}_*.deb")[0]


def file_of_package(deb, name):
    """The content of one file: what comes after it, of a kernel 400 MB of modules, is not unpacked."""
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", deb], stdout=subprocess.PIPE) as child:
        try:
            with tarfile.open(fileobj=child.stdout, mode="r|") as tar:
                for member in tar:
                    if member.name.removeprefix("./") == name:
                        content = tar.extractfile(member).read()
                        child.kill()
                        return content
        except tarfile.ReadError as e:
            raise ImageError(f"{deb}: {e}") from e
    raise ImageError(f"{deb}: no {name}")


def headers(cache, series):
    """Release of the newest kernel of the series, and its headers: installed, or unpacked in the cache, once."""
    found = [d.split("/")[3] for d in glob.glob(f"/lib/modules/{series}.*-amd64/build/Makefile")]
    if found:
        release = max(found, key=lambda r: [int(p) for p in re.findall(r"\d+", r)])
        return release, f"/lib/modules/{release}/build"
    depends = subprocess.run(["apt-cache", "depends", f"linux-headers-{series}-amd64"], capture_output=True, text=True,
                             check=False).stdout
    found = re.search(r"Depends: linux-headers-(\S+)-amd64", depends)
    if not found:
        raise ImageError(f"no headers of a {series} kernel in the archive (apt-get update?)")
    version = found.group(1)
    release, root = f"{version}-amd64", os.path.abspath(os.path.join(cache, f"headers-{version}"))
    build = f"{root}/usr/src/linux-headers-{release}"
    if not os.path.exists(f"{build}/ready"):
        for package in (f"linux-headers-{release}", f"linux-headers-{version}-common", f"linux-kbuild-{version}"):
            subprocess.run(["dpkg", "-x", package_file(cache, package), root], check=True)
        with open(f"{build}/Makefile", encoding="utf-8") as f:  # they name each other by absolute paths
            makefile = f.read()
        with open(f"{build}/Makefile", "w", encoding="utf-8") as f:
            f.write(makefile.replace("include /usr/src", f"include {root}/usr/src"))
        open(f"{build}/ready", "w").close()
    return release, build


def stock_kernel(cache, release):
    """Path of Debian's kernel, ready to boot, downloaded once."""
    out = os.path.join(cache, f"vmlinux-{release}")
    if os.path.exists(out):
        return out
    deb = package_file(cache, f"linux-image-{release}",
                       ": headers older than the archive? Upgrade linux-headers-amd64")
    elf = unpack_bzimage(file_of_package(deb, f"boot/vmlinuz-{release}"))
    with open(out + ".new", "wb") as f:
        f.write(elf)
    os.rename(out + ".new", out)
    return out


def debug_kernel(cache, series):
    """The instrumented bzImage of a series, built once, and what modules for it are built against."""
    if subprocess.call([os.path.join(HERE, "debug_kernel.sh"), cache, series]):
        raise ImageError(f"no instrumented kernel of {series}")
    directory = os.path.join(os.path.abspath(cache), f"debug-{series}")
    return os.path.join(directory, "bzImage"), os.path.join(directory, "build")


def busybox():
    for path in ("/bin/busybox", "/usr/bin/busybox"):
        if os.path.exists(path):
            return path
    raise ImageError("busybox is missing (tests/setup/setup.sh vm)")


class Initramfs:
    """A newc archive, written by hand: device nodes need no root that way."""
    INIT = "init"  # where the script of this name goes: it is the first process

    def __init__(self):
        self.entries = {}
        for d in ("dev", "proc", "sys", "tmp", "run", "bin", "lib", "lib64", "vm", "etc", "root", "var"):
            self.directory(d)
        self.entries["dev/console"] = (stat.S_IFCHR | 0o600, b"", (5, 1))
        self.program(busybox(), "bin/busybox")
        for name in ("sh", "mount", "insmod", "rmmod", "ls"):
            self.link("busybox", f"bin/{name}")

    def where(self, name):
        """Where a file of this name lies, from the root."""
        return name.strip("/")

    def _put(self, name, mode, content):
        self.directory(os.path.dirname(name))
        self.entries[self.where(name)] = (mode, content, (0, 0))

    def directory(self, name):
        parts = [p for p in self.where(name).split("/") if p]
        for i in range(1, len(parts) + 1):
            self.entries.setdefault("/".join(parts[:i]), (stat.S_IFDIR | 0o755, b"", (0, 0)))

    def text(self, name, content, mode=0o644):
        self._put(name, stat.S_IFREG | mode, content.encode())

    def link(self, target, name):
        self._put(name, stat.S_IFLNK | 0o777, target.encode())

    def file(self, source, name, mode=None):
        with open(source, "rb") as f:
            self._put(name, stat.S_IFREG | (mode or os.stat(source).st_mode & 0o777), f.read())

    def program(self, source, name):
        """A program and, by ldd, the libraries that it needs."""
        self.file(source, name, 0o755)
        self.libraries(source)

    def libraries(self, *programs):
        """What ldd finds for them, unless it is there: also a library that is in a folder of its own."""
        there = {os.path.basename(name) for name in self.entries}
        ldd = subprocess.run(["ldd", *programs], capture_output=True, text=True, check=False)
        for line in ldd.stdout.splitlines():
            if "not found" in line and line.split()[0] not in there:
                raise ImageError(f"{programs[0]} or another: {line.strip()}")
            for path in line.split():
                if path.startswith("/") and not path.endswith(":") and self.where(path) not in self.entries:
                    self.file(os.path.realpath(path), path, 0o755)

    def write(self, path):
        with open(path, "wb") as f:
            for number, name in enumerate(sorted(self.entries), 1):
                self._entry(f, number, name, *self.entries[name])
            self._entry(f, 0, "TRAILER!!!", 0, b"", (0, 0))

    @staticmethod
    def _entry(f, number, name, mode, data, device):
        fields = (number, mode, 0, 0, 1, 0, len(data), 0, 0, *device, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08x" % x for x in fields) + name.encode() + b"\0"
        f.write(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))
