#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A whole machine as an administrator has it: Debian 12 with systemd in QEMU, our packages installed by apt, the module
built by DKMS, the board on its PCI bus, a receiver at a serial port, a consumer outside.

The receiver is this script, which tells the machine's time each second: the emulator's is silent, because a second of
the board takes 50 s here. So the way of its sentences through serial port, gpsd and AppArmor is tested. That seconds
are labelled by it is not: the emulator labels them, and tests/system has gpsd and the daemon in real time.

    system_vm.py --build DIR --cache DIR --debs DIR --before DIR

--debs has the packages, --before those of a version before: they are installed first, and upgraded in the guest while
data flow. Needs root (mmdebstrap, chroot) and a Debian mirror. Ends with `N passed, N failed`.

Everything of the run stays in DIR/vm/system: console, emu.log, shell.log (each command in the guest, and its output),
root.ext4.
"""
import argparse
import base64
import ctypes
import functools
import glob
import hashlib
import json
import operator
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import image
from run_vm import APPEND, QEMU, ROOT

CLONE_NEWNS = 0x20000  # sched.h
MEMORY, SPEED, IMAGE = 2048, "0.02", "8G"  # MB; of model time; sparse
BASE = ("systemd,systemd-sysv,udev,kmod,dbus,apt-utils,ca-certificates,apparmor,gpsd,initramfs-tools,zstd,sudo,"
        "linux-image-amd64,linux-headers-amd64,python3")
SHELL = """#!/bin/bash
# Commands of the host, a line each in base64; their output the same way.
stty -F /dev/ttyS1 raw -echo
exec 3<>/dev/ttyS1
echo "READY" >&3
while read -r line <&3; do
	out=$(base64 -d <<<"$line" | timeout -k 5 3000 bash 2>&1)
	code=$?
	echo "DONE $code $(base64 -w0 <<<"$out")" >&3
done
"""
SHELL_UNIT = """[Unit]
Description=Commands of the host
After=systemd-user-sessions.service
[Service]
ExecStart=/usr/local/sbin/host-shell
Restart=always
[Install]
WantedBy=multi-user.target
"""
NETWORK = "[Match]\nName=en*\n[Network]\nAddress=10.0.2.15/24\n"
GPSD = 'START_DAEMON="true"\nUSBAUTO="false"\nDEVICES="/dev/ttyS4 /dev/pps0"\nGPSD_OPTIONS="-n -b -s 9600 -f 8N1"\n'
# What a machine does in seconds, a guest without KVM does in minutes.
SLOW = {
    "system.conf.d/slow.conf": "[Manager]\nDefaultTimeoutStartSec=600\nDefaultTimeoutStopSec=300\n"
                               "DefaultDeviceTimeoutSec=600\n",
    "system/nanet3-selftest@.service.d/slow.conf": "[Service]\nTimeoutStartSec=400\n",
    "system/fcm-server@.service.d/slow.conf": "[Service]\nTimeoutStartSec=400\nTimeoutStopSec=240\nWatchdogSec=60\n",
}
CONFIG = """[data]
reserved_endpoint = tcp://0.0.0.0:5710
insecure = yes
[clock]
silence_ms = 60000
confirm = 1
system_tolerance_ms = 0
far_s = 0
[control]
expert_group = fcm
"""
# gpsd's client, as the daemon is one: a fix by the receiver.
FIX = """
import json, socket
with socket.create_connection(("127.0.0.1", 2947), 600) as s, s.makefile("rw") as gpsd:
    gpsd.write('?WATCH={"enable":true,"json":true};\\n')
    gpsd.flush()
    for line in gpsd:
        r = json.loads(line)
        if r["class"] == "TPV" and r.get("mode", 0) >= 2 and r["device"] == "/dev/ttyS4":
            print(line)
            break
"""
# Warnings of doctor in this guest after the upgrade: (check, its text), and why.
WARNS = {
    ("module", r"nanet3 \S+ is of another release"): "that of before stays loaded until the machine starts again",
    ("system clock", "not synchronised"): "nothing sets it",
    ("consumers", r"group \w+ has no member"): "they have ended",
    ("unit", "not checked: systemd says nothing"): "systemctl has 1.5 s, and may need more here",
    ("sync", "a write is on disk after"): "the disk may be slow",
    ("database", "not checked to its end"): "the same",
}


class Failure(Exception):
    pass


def sh(*argv, **more):
    r = subprocess.run(argv, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, **more)
    if r.returncode:
        raise Failure(f"{' '.join(argv[:4])} ...: {r.stdout[-3000:]}")
    return r.stdout


# ---- the root

class Root:
    """A Debian root with the packages of before, as an image of ext4; made again when the packages change."""

    def __init__(self, o):
        self.o, self.top = o, os.path.join(o.build, "vm", "system", "root")
        self.image = os.path.join(o.build, "vm", "system", "root.ext4")

    def inside(self, *argv):
        return sh("chroot", self.top, "/usr/bin/env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/root",
                  "LC_ALL=C.UTF-8", "DEBIAN_FRONTEND=noninteractive", *argv)

    def write(self, path, text, mode=0o644):
        there = os.path.join(self.top, path)
        os.makedirs(os.path.dirname(there), exist_ok=True)
        with open(there, "w", encoding="utf-8") as f:
            f.write(text)
        os.chmod(there, mode)

    def base(self):
        """As a tar file in the cache, of these packages."""
        tar = os.path.join(self.o.cache, f"system-base-{hashlib.sha256(BASE.encode()).hexdigest()[:8]}.tar")
        if not os.path.exists(tar):
            mirror = os.environ.get("MIRROR", "http://deb.debian.org")
            sh("mmdebstrap", "--quiet", "--mode=root", "--variant=minbase", "--format=tar", f"--include={BASE}",
               "--aptopt=Apt::Install-Recommends \"false\"", "bookworm", tar + ".new",
               *(f"deb {mirror}/{where} main" for where in
                 ("debian bookworm", "debian bookworm-updates", "debian-security bookworm-security")))
            os.rename(tar + ".new", tar)
        return tar

    def debs(self, directory):
        return [d for d in sorted(glob.glob(f"{directory}/*.deb")) if "-dbgsym_" not in d]

    def make(self):
        shutil.rmtree(self.top, ignore_errors=True)
        os.makedirs(self.top)
        sh("tar", "-C", self.top, "-xf", self.base())
        for name, directory in (("before", self.o.before), ("now", self.o.debs)):
            os.makedirs(f"{self.top}/debs/{name}")
            for deb in self.debs(directory):
                shutil.copy(deb, f"{self.top}/debs/{name}")
        shutil.copy("/etc/resolv.conf", f"{self.top}/etc/resolv.conf")
        mounts = [("proc", "-t", "proc", "proc"), ("dev", "--bind", "/dev")]
        for where, *what in mounts:
            sh("mount", *what, f"{self.top}/{where}")
        try:
            self.inside("apt-get", "-q", "update")
            self.inside("sh", "-c", "apt-get -q install -y --no-install-recommends /debs/before/*.deb")
            # What the new ones need beside is there before: the guest has no network to Debian.
            self.inside("sh", "-c", "apt-get -q install -y --no-install-recommends --download-only /debs/now/*.deb")
        finally:
            for where, *_ in reversed(mounts):
                sh("umount", f"{self.top}/{where}")
        self.configure()
        self.release = sorted(os.listdir(f"{self.top}/lib/modules"))[-1]
        self.initrd = glob.glob(f"{self.top}/boot/initrd.img-{self.release}")[0]
        if os.path.exists(self.image):
            os.unlink(self.image)
        sh("mke2fs", "-q", "-t", "ext4", "-d", self.top, "-L", "root", self.image, IMAGE)

    def configure(self):
        self.write("usr/local/sbin/host-shell", SHELL, 0o755)
        self.write("etc/systemd/system/host-shell.service", SHELL_UNIT)
        self.write("etc/systemd/network/lan.network", NETWORK)
        self.write("etc/default/gpsd", GPSD)
        self.write("etc/fstab", "/dev/vda / ext4 defaults 0 1\n")
        self.write("etc/hostname", "shore\n")
        shutil.copy(f"{ROOT}/tests/system/freeze.py", f"{self.top}/usr/local/lib/freeze.py")
        self.write("usr/local/lib/fix.py", FIX)
        self.write("etc/modprobe.d/nanet3-depth.conf", "options nanet3 depth_ms=400 linger_ms=60000\n")
        for name, text in SLOW.items():
            self.write(f"etc/systemd/{name}", text)
        self.inside("systemctl", "enable", "host-shell.service", "systemd-networkd.service", "gpsd.service")
        self.inside("systemctl", "mask", "apt-daily.timer", "apt-daily-upgrade.timer", "fstrim.timer",
                    "e2scrub_all.timer", "dpkg-db-backup.timer", "systemd-networkd-wait-online.service")


# ---- the receiver

class Receiver(threading.Thread):
    """At a serial port of QEMU's, a Unix socket."""

    def __init__(self, port):
        super().__init__(daemon=True)
        self.port, self.ended = port, threading.Event()
        port.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)  # the smallest: what nobody reads is not kept
        port.setblocking(False)

    @staticmethod
    def sentences(now):
        t, d = time.strftime("%H%M%S.00", now), time.strftime("%d%m%y", now)
        place = "3641.1180,N,01508.2460,E"
        said = (f"GPRMC,{t},A,{place},0.00,0.00,{d},,,A", f"GPGGA,{t},{place},1,09,0.9,31.4,M,38.2,M,,",
                "GPGSA,A,3,02,05,07,09,13,16,20,27,30,,,,1.7,0.9,1.4")
        return "".join(f"${s}*{functools.reduce(operator.xor, s.encode()):02X}\r\n" for s in said).encode()

    def run(self):
        while not self.ended.wait(1 - time.time() % 1):
            try:
                self.port.send(self.sentences(time.gmtime()))
            except BlockingIOError:
                pass  # the port is closed
            except OSError:
                return  # the guest has ended


# ---- the guest

class Guest:
    def __init__(self, o, root):
        self.o, self.root, self.directory = o, root, os.path.join(o.build, "vm", "system")
        self.receiver = None
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]

    def __enter__(self):
        d = self.directory
        for left in ("shell", "gps"):  # by an earlier run
            if os.path.lexists(f"{d}/{left}"):
                os.unlink(f"{d}/{left}")
        emulator = [os.path.join(self.o.build, "bin", "nanet3-emu"), "--qemu", str(MEMORY), "--speed", SPEED,
                    "--load", "quiet", "--truth", f"{d}/truth.bin"]
        kernel = image.stock_kernel(self.o.cache, self.root.release)
        qemu = [*QEMU, "-drive", f"file={self.root.image},if=virtio,format=raw,snapshot=on",
                "-netdev", f"user,id=lan,restrict=on,hostfwd=tcp:127.0.0.1:{self.port}-:5710",
                "-device", "virtio-net-pci,netdev=lan",
                "-chardev", f"socket,id=gps,path={d}/gps,server=on,wait=off", "-serial", f"file:{d}/console",
                "-chardev", f"socket,id=shell,path={d}/shell,server=on,wait=off", "-serial", "chardev:shell",
                "-device", "pci-serial,chardev=gps",
                "-kernel", kernel, "-initrd", self.root.initrd,
                "-append", f"{APPEND} root=/dev/vda rw 8250.nr_uarts=8 systemd.show_status=1"]
        self.log = open(f"{d}/shell.log", "w", encoding="utf-8")
        with open(f"{d}/emu.log", "wb") as log:
            self.child = subprocess.Popen(["timeout", "-k", "3", "7200", *emulator, "--", *qemu],
                                          stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True)
        try:
            self.receiver = Receiver(self.connected("gps"))
            self.receiver.start()
            self.socket = self.connected("shell")
            self.lines = self.socket.makefile()
            self.socket.settimeout(600)
            while self.lines.readline().strip() != "READY":
                pass
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
        self.child.wait()
        if self.receiver:
            self.receiver.ended.set()
        self.log.close()

    def connected(self, name):
        """A socket of QEMU's; the file is there before QEMU listens."""
        s = socket.socket(socket.AF_UNIX)
        self.until(f"QEMU listens at {name}", lambda: s.connect_ex(f"{self.directory}/{name}") == 0, 60)
        return s

    def until(self, what, condition, seconds):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end or self.child.poll() is not None:
                raise Failure(f"{what}: not so")
            time.sleep(0.2)

    def run(self, command, timeout=3100):
        """(exit status, output) of a command in the guest."""
        self.socket.settimeout(timeout)
        self.socket.sendall(base64.b64encode(command.encode()) + b"\n")
        line = self.lines.readline()
        found = re.match(r"DONE (\d+) (\S*)", line)
        if not found:
            raise Failure(f"{command}: no answer: {line!r}")
        out = base64.b64decode(found[2]).decode(errors="replace").rstrip("\n")
        self.log.write(f"$ {command}\n{out}\n-> {found[1]}\n")
        self.log.flush()
        return int(found[1]), out

    def yes(self, command):
        return self.run(command)[0] == 0

    def json(self, command):
        code, out = self.run(f"{command} 2>/dev/null")
        try:
            return json.loads(out)
        except ValueError:
            return {"code": code, "text": out}


# ---- the checks

class System:
    def __init__(self, o, guest):
        self.o, self.g, self.passed, self.failed = o, guest, 0, 0

    def check(self, what, good, why=""):
        if good:
            self.passed += 1
            print(f"ok      {what}", flush=True)
        else:
            self.failed += 1
            print(f"FAILED  {what}: {str(why)[-1500:]}", flush=True)
        return good

    def does(self, what, command):
        code, out = self.g.run(command)
        return self.check(what, code == 0, out)

    def waits(self, what, command, seconds=300):
        end = time.monotonic() + seconds
        while True:
            code, out = self.g.run(command)
            if code == 0 or time.monotonic() > end:
                return self.check(what, code == 0, out)
            time.sleep(2)

    def status(self):
        return self.g.json("fcmctl --board 0 --json status")

    def waits_for(self, what, condition, seconds=300):
        end = time.monotonic() + seconds
        while True:
            s = self.status()
            try:
                good = condition(s)
            except (KeyError, TypeError):
                good = False
            if good or time.monotonic() > end:
                return self.check(what, good, s)
            time.sleep(3)

    def waits_until(self, what, condition, seconds=600):
        end = time.monotonic() + seconds
        while not (good := condition()) and time.monotonic() < end:
            time.sleep(5)
        return self.check(what, good)

    def links_up(self, what):
        return self.waits_for(what, lambda s: [x["state"] for x in s["links"]] == ["up"] * 4)

    # -- the day of an administrator

    def first_start(self):
        self.check("no unit has failed", not self.g.run("systemctl --failed --no-legend")[1],
                   self.g.run("systemctl --failed --no-legend")[1])
        self.waits("udev has loaded the module", "test -c /dev/nanet3-0")
        self.does("DKMS has built it", "modinfo -F filename nanet3 | grep updates/dkms && dkms status nanet3 | grep installed")
        self.g.run(f"cat >/etc/fcm-server/board-0.conf <<'END'\n{CONFIG}{self.links()}END\n")
        self.does("the configuration is right", "fcm-server --board 0 --check-config")
        self.does("systemctl enable --now fcm-server@0", "systemctl enable --now fcm-server@0")
        self.links_up("four links are up")
        self.does("gpsd runs under Debian's AppArmor profile",
                  "grep gpsd /sys/kernel/security/apparmor/profiles; "
                  "grep -x '/usr/sbin/gpsd (enforce)' /proc/$(pidof gpsd)/attr/current")
        self.does("gpsd has the receiver's serial port open", "ls -l /proc/$(pidof gpsd)/fd | grep /dev/ttyS4")
        self.does("and a fix for its clients", "timeout 600 python3 /usr/local/lib/fix.py | grep TPV")
        self.waits_for("the clock is locked", lambda s: s["clock"]["state"] == "locked", 900)

    def links(self):
        with open(f"{self.g.directory}/emu.log", encoding="utf-8") as f:
            delays = re.search(r"cable_delay_ns of links 0 to 3: (\d+) (\d+) (\d+) (\d+)\n", f.read()).groups()
        return "".join(f"[link {n}]\nfloor = {n + 1}\ncable_delay_ns = {delay}\n" for n, delay in enumerate(delays))

    def codes(self, since):
        """Names of the losses that have grown since then."""
        losses = self.g.json(f"fcmctl --board 0 --json ledger show --since {since} --limit 10000").get("losses")
        return {x["code"] for x in losses} if losses is not None else {"no answer"}

    def upgraded(self):
        consumers = [self.consumer(group) for group in ("trigger", "acoustic")]
        try:
            self.upgrade()
        finally:
            for consumer in consumers:
                self.ended("a consumer outside the guest, through the upgrade", consumer)

    def upgrade(self):
        self.waits_for("both groups have a consumer", lambda s: [g["members"] for g in s["groups"]] == [1, 1])
        self.waits_until("no data are dropped any more", lambda: "no-member" not in self.codes("70s"))
        since = self.g.run("date +@%s")[1]
        before = self.status()
        self.does("apt installs the packages of now, while data flow",
                  "DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends /debs/now/*.deb")
        self.waits_for("the daemon is of the new version", lambda s: s["version"] != before["version"])
        self.links_up("its links are up")
        account = self.g.json("fcmctl --board 0 --json ledger show --since 1d --limit 10000")
        self.check("every frame is accounted for", account.get("balanced"), account)
        codes = self.codes(since)
        self.check("while there were consumers, no frame was lost but those that a full ring names",
                   codes <= {"ring-full"}, (codes, account))
        self.does("DKMS has the module of now, and only that", "test $(dkms status nanet3 | wc -l) = 1")

    def consumer(self, group):
        return subprocess.Popen([os.path.join(self.o.build, "bin", "fcm-consumer"), "--endpoint",
                                 f"tcp://127.0.0.1:{self.g.port}", "--name", f"outside-{group}", "--group", group,
                                 "--check"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def ended(self, what, consumer):
        """It says at its end what it got."""
        consumer.terminate()
        try:
            out, err = consumer.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            consumer.kill()
            out, err = consumer.communicate()
        blocks = re.search(r'"blocks":(\d+)', out)
        self.check(f"{what}: it got blocks, and nothing is wrong with them",
                   consumer.returncode == 0 and blocks and int(blocks[1]) > 10,
                   (consumer.returncode, out[-800:], err[-800:]))

    def consumer_outside(self):
        consumer = self.consumer("trigger")
        time.sleep(40)
        self.ended("a consumer outside the guest", consumer)

    def command(self):
        self.waits("a set is done", "fcmctl --board 0 set floor1.om0.threshold 31")
        self.does("it is in the journal", "fcmctl --board 0 command list | grep -E 'om0.threshold .*31 .*DONE'")

    def units(self):
        """As fcm-server(8), UNITS, says. The guest has two processors: one for the daemon."""
        pid, there = "$(systemctl show -P MainPID fcm-server@0)", "/etc/systemd/system/fcm-server@0.service.d"
        before = self.g.run(f"echo {pid}")[1]
        self.does("systemctl restart fcm-server.target", "systemctl restart fcm-server.target")
        self.waits("restarts the daemon", f"test {pid} != {before} && systemctl is-active fcm-server@0")
        self.links_up("which reads all links")
        self.does("the drop-ins are put in", "cd /usr/share/doc/fcm-server/systemd && "
                  f"install -D -m 644 -t {there} realtime.conf cpu-pinning.conf && "
                  f"sed -i 's/^CPUAffinity=.*/CPUAffinity=1/' {there}/cpu-pinning.conf && "
                  "systemctl daemon-reload && systemctl restart fcm-server@0")
        self.does("the daemon has real-time priority",
                  f"chrt -p {pid} | tee /dev/stderr | grep -c -e 'policy: SCHED_RR$' -e 'priority: 10$' | grep -x 2")
        self.does("on its processor alone", f"taskset -cp {pid} | tee /dev/stderr | grep -x '.* list: 1'")
        self.links_up("and reads all links")
        self.does("the drop-ins are removed", f"rm -r {there} && systemctl daemon-reload && systemctl restart fcm-server@0")
        self.does("the daemon has none of this", f"chrt -p {pid} | tee /dev/stderr | grep 'policy: SCHED_OTHER$' && "
                  f"taskset -cp {pid} | tee /dev/stderr | grep -x '.* list: 0,1'")
        self.links_up("and reads all links again")

    def killed(self):
        self.g.run("kill -9 $(systemctl show -P MainPID fcm-server@0)")
        self.waits("after kill -9 there is a new one", "systemctl is-active fcm-server@0")
        self.links_up("which has taken the rings over")

    def frozen(self):
        pid = self.g.run("systemctl show -P MainPID fcm-server@0")[1]
        self.does("the capture thread is frozen", f"(python3 /usr/local/lib/freeze.py {pid} capture >/tmp/frozen 2>&1 &) ; "
                                                  "sleep 5; grep frozen /tmp/frozen || ! cat /tmp/frozen")
        self.waits("the watchdog ends the daemon, whose other threads live",
                   f"test $(systemctl show -P MainPID fcm-server@0) != {pid} && systemctl is-active fcm-server@0", 600)
        self.does("and the journal says that it was the watchdog", "journalctl -u fcm-server@0 | grep -i watchdog")
        self.links_up("the new one reads all links")

    def board_away(self):
        self.does("the board leaves", "echo 1 >$(readlink -f /sys/class/nanet3/nanet3-0/device)/remove")
        self.waits("no board, no daemon", "! systemctl is-active fcm-server@0")
        self.does("the bus is looked at again", "echo 1 >/sys/bus/pci/rescan")
        self.waits("board and daemon are back", "systemctl is-active fcm-server@0")
        self.links_up("all links are up")

    def spare_pc(self):
        """As fcm-server(8), A SPARE PC, with the same board: its floors know more commands than the backup."""
        ids = "fcmctl --board 0 --json command list --limit 1000 | python3 -c " \
              "'import json, sys; print(*sorted(c[\"command\"] for c in json.load(sys.stdin)[\"commands\"]))'"
        change = "fcmctl --board 0 set floor1.om0.threshold"
        self.does("a backup", "mkdir -m 700 /root/backup && fcmctl --board 0 backup /root/backup --with-keys")
        self.waits("a command that it does not have", f"{change} 32")
        before = self.g.run(ids)[1].split()
        self.does("the old PC ends, the spare one has nothing", "systemctl disable --now fcm-server@0 && "
                  "rm -r /var/lib/fcm-server/0 /run/fcm-server/0 /etc/fcm-server/board-0.conf")
        self.does("the backup would be put in place", "fcmctl --board 0 restore /root/backup --dry-run && "
                  "! test -e /etc/fcm-server/board-0.conf")
        self.does("and is", "fcmctl --board 0 restore /root/backup")
        self.does("its configuration is right", "fcm-server --board 0 --check-config")
        self.does("the daemon is enabled and started", "systemctl enable --now fcm-server@0")
        self.links_up("four links are up on the spare PC")
        self.does("it says that it began with a backup", "fcmctl --board 0 event list --limit 1000 | grep database-restored")
        self.waits("the floor executes a command", f"{change} 33")
        after = self.g.run(ids)[1].split()
        self.check("no number is given twice", before and int(after[-1]) > int(before[-1]), (before, after))

    def reloaded(self):
        self.g.run("printf '[daemon]\\nlog_level = debug\\n[phase]\\ntolerance_ps = 90\\n' >>/etc/fcm-server/board-0.conf")
        self.does("systemctl reload", "systemctl reload fcm-server@0")
        for key, says in (("log_level", "has changed$"), ("tolerance_ps", "has changed: takes effect after")):
            self.waits(f"the journal says that {key} {says.strip('$')}",
                       f"journalctl -u fcm-server@0 | grep '{key} {says}'", 30)

    def refused(self):
        """An upgrade leaves a daemon alone that could not start again: data of the night would be lost."""
        conf, pid = "/etc/fcm-server/board-0.conf", "systemctl show -P MainPID fcm-server@0"
        before = self.g.run(f"echo 'nonsense = 1' >>{conf}; {pid}")[1]
        self.does("installed again, with a mistake in the configuration",
                  "DEBIAN_FRONTEND=noninteractive apt-get -q install -y --reinstall /debs/now/fcm-server_*.deb | tee /tmp/again")
        self.does("which is said", f"grep 'keeps running' /tmp/again && grep nonsense /tmp/again; sed -i '$d' {conf}")
        self.does("the daemon is the one of before", f"test $({pid}) = {before} && systemctl is-active fcm-server@0")

    def doctor(self):
        return self.g.json("fcmctl --board 0 --json doctor").get("checks", [])

    def doctor_green(self):
        """A check that was too late for doctor is looked at again."""
        for _ in range(5):
            lines = self.doctor()
            bad = [c for c in lines if c["state"] == "fail"]
            warns = [c for c in lines if c["state"] == "warn" and
                     not any(c["check"] == check and re.match(text, c["text"]) for check, text in WARNS)]
            if lines and not bad and not warns:
                break
        self.check("doctor has no red line", lines and not bad, bad)
        self.check("nor a warning but those of this guest", not warns, warns)

    def planted(self):
        """(what, plant, the red line, mend): each is seen by doctor, by its line."""
        stop, start = "systemctl stop fcm-server@0", "systemctl start fcm-server@0"
        faults = (
            ("gpsd is stopped", "systemctl stop gpsd.socket gpsd.service", "gpsd", "systemctl start gpsd.service"),
            ("a mistake in the configuration", "echo 'nonsense = 1' >>/etc/fcm-server/board-0.conf", "configuration",
             "sed -i '$d' /etc/fcm-server/board-0.conf"),
            ("the node is root's alone", "chmod 600 /dev/nanet3-0", "access", "chmod 660 /dev/nanet3-0"),
            ("a port is taken", f"{stop}; (python3 -m http.server 5710 >/dev/null 2>&1 & echo $! >/tmp/pid); sleep 8",
             "ports", f"kill $(cat /tmp/pid); {start}"),
            ("the daemon hangs", "kill -STOP $(systemctl show -P MainPID fcm-server@0)", "daemon",
             "kill -CONT $(systemctl show -P MainPID fcm-server@0)"),
            ("the module is unloaded", f"{stop}; rmmod nanet3", "module", f"modprobe nanet3; sleep 20; {start}"),
            ("another driver has the board",
             f"{stop}; B=$(basename $(readlink -f /sys/class/nanet3/nanet3-0/device)); echo $B >/tmp/board; "
             "echo $B >/sys/bus/pci/drivers/nanet3/unbind", "driver",
             f"cat /tmp/board >/sys/bus/pci/drivers/nanet3/bind; sleep 20; {start}"),
            ("the database is damaged",
             f"{stop}; cp -a /var/lib/fcm-server/0/station.db /tmp/db; "
             "dd if=/dev/zero of=/var/lib/fcm-server/0/station.db bs=4096 seek=2 count=4 conv=notrunc", "database",
             f"cp -a /tmp/db /var/lib/fcm-server/0/station.db; {start}"),
            ("its directory is another's", f"{stop}; chown root: /var/lib/fcm-server/0", "disk",
             f"chown fcm: /var/lib/fcm-server/0; {start}"),
            ("the unit is masked", f"{stop}; systemctl mask --runtime fcm-server@0", "unit",
             f"systemctl unmask --runtime fcm-server@0; {start}"),
        )
        for what, plant, line, mend in faults:
            self.g.run(plant)
            red = [c["check"] for c in self.doctor() if c["state"] == "fail"]
            self.check(f"{what}: doctor's line '{line}' is red", line in red, red)
            self.g.run(mend)
            self.waits("  mended, the daemon runs", "systemctl is-active fcm-server@0", 300)

    def purged(self):
        names = "$(dpkg-query -W -f '${Package}\\n' | grep -E '^(fcm|nanet3|libnanet3|libfcmdata|python3-fcmdata)')"
        self.does("removed", f"DEBIAN_FRONTEND=noninteractive apt-get -q remove -y {names}")
        self.does("the data are kept", "test -s /var/lib/fcm-server/0/station.db && test -s /etc/fcm-server/board-0.conf")
        self.does("purged", f"dpkg --purge {names}")
        code, left = self.g.run(
            "find / -xdev \\( -path /debs -o -path /var/log -o -path /var/tmp -o -path /proc -o -path /sys -o -path /tmp -o -path /run "
            "-o -path /etc/systemd/system/fcm-server@.service.d -o -path /etc/systemd/system/nanet3-selftest@.service.d "
            "-o -path /etc/modprobe.d \\) -prune -o \\( -iname '*fcm-*' -o -iname '*fcmctl*' -o -iname '*fcmdata*' -o "
            "-iname '*nanet3*' \\) -print")
        self.check("nothing is left", code == 0 and not left, left)

    def day(self):
        for step in (self.first_start, self.upgraded, self.doctor_green, self.consumer_outside, self.command, self.units,
                     self.killed, self.frozen, self.board_away, self.spare_pc, self.reloaded,
                     self.refused, self.planted, self.purged):
            begin = time.monotonic()
            try:
                step()
            except (Failure, OSError, subprocess.SubprocessError) as e:
                self.check(step.__name__, False, e)
                if self.g.child.poll() is not None:
                    return
            print(f"        {step.__name__}: {time.monotonic() - begin:.0f} s", flush=True)


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    for name in ("build", "cache", "debs", "before"):
        p.add_argument(f"--{name}", required=True)
    o = p.parse_args()
    o.build, o.cache = os.path.abspath(o.build), os.path.abspath(o.cache)
    if os.geteuid():
        sys.exit("system_vm.py: needs root")
    os.chdir(ROOT)
    # What is mounted in the root is mounted for this process only, and gone with it, however it ends: /dev is the machine's.
    if ctypes.CDLL(None).unshare(CLONE_NEWNS):
        sys.exit("system_vm.py: no mount namespace of its own")
    sh("mount", "--make-rprivate", "/")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.makedirs(os.path.join(o.build, "vm", "system"), exist_ok=True)
    root = Root(o)
    try:
        root.make()
        with Guest(o, root) as guest:
            system = System(o, guest)
            system.day()
    except (Failure, image.ImageError) as e:
        sys.exit(f"system_vm.py: {e}")
    print(f"{system.passed} passed, {system.failed} failed")
    sys.exit(0 if system.passed and not system.failed else 1)


if __name__ == "__main__":
    main()
