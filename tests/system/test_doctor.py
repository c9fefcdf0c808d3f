#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""fcmctl doctor: a fault is planted for each check, the right line turns, and its fix can be typed. Whatever hangs, it
ends. Board, driver and bus are files below --root; the rest is a real station on the emulator."""
import concurrent.futures
import copy
import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import tarfile
import threading
import time

import faults
import harness
import station
import test_safe_disk

VERSION = re.search(r"^VERSION *:= *(\S+)", open(os.path.join(harness.ROOT, "Makefile")).read(), re.M)[1]
PASSWORD = "hunter2-of-the-shift"
ADDRESSEE = "anna@example.org"
KERNEL = "6.1.0-99-amd64"
ADDRESS = "0000:01:00.0"


def doctor(st, *args):
    """Its exit code, and its lines by check: [(state, text, fix)]."""
    code, out, err = st.ctl("--json", "doctor", *args)
    if code not in (0, 1):
        raise station.StationError(f"doctor: exit {code}: {err}")
    found = {}
    for line in json.loads(out)["checks"]:
        found.setdefault(line["check"], []).append((line["state"], line["text"], line["fix"] or ""))
    return code, found


def typed(st, fix):
    """The fix as a shell takes it, without its sudo. Exit code."""
    env = dict(os.environ, PATH=st.bin + ":" + os.environ["PATH"])
    return subprocess.run(["sh", "-c", fix.replace("sudo ", "")], capture_output=True, text=True, check=False, env=env,
                          cwd=st.dir, timeout=60, stdin=subprocess.DEVNULL).returncode


def turns(t, what, found, check, state, text, fix):
    """One line of the check is as wanted."""
    lines = found.get(check, [])
    t.check(f"{what}: {check} is {state}, and says what to type",
            any(s == state and re.search(text, said) and re.search(fix, do) for s, said, do in lines), lines)


def states(found, *checks):
    return {c: {s for s, _, _ in found[c]} for c in checks}


# --- a station on the emulator ---

def half_pace(t):
    """an emulator of another pace: the receiver's seconds are not the clock's, so nothing is wrong with them"""
    st = t.station(load="quiet", emulator_args=["--speed", "0.5"])
    st.start(consumers=False)
    st.wait_for("its clock is locked", lambda: st.status()["clock"]["state"] == "locked", 60)
    code, found = doctor(st)
    t.equal("no line is a fail", (code, [x for lines in found.values() for x in lines if x[0] == "fail"]), (0, []))
    t.equal("receiver and PPS do not apply", {found[c][0] for c in ("receiver", "pps")},
            {("n/a", "emulator: its time is not real time", "")})


def ipv6():
    try:
        with socket.socket(socket.AF_INET6) as s:
            s.bind(("::1", 0))
        return True
    except OSError:
        return False


def with_keys(t):
    """A station whose data need keys; its monitors connect by IPv6 where there is IPv6."""
    st = t.station(load="quiet", config=[])
    key, allow = st.path("network-0.key"), st.path("network-0.allow")
    subprocess.run([st.program("fcmctl"), "key", "server", key], check=True, capture_output=True)
    with open(allow, "w") as f:
        f.write("")
    os.chmod(allow, 0o600)
    st.monitor = f"tcp://[::1]:{station.free_port()}" if ipv6() else None
    st.config = ["[data]", "curve = yes", "[network]", f"key_file = {key}", f"allow_list = {allow}",
                 "[feed]", "enabled = yes", f"base_port = {station.free_base_port()}",
                 "[daemon]", f"name = password {PASSWORD}"]
    return st, key


def running(t):
    """a station that is well but for its consumers; then keys, configuration, gpsd, daemon, port, database, emulator"""
    st, key = with_keys(t)
    st.start(consumers=False)
    st.wait_ready()
    code, found = doctor(st)
    t.equal("no line is a fail", (code, [x for lines in found.values() for x in lines if x[0] == "fail"]), (0, []))
    t.equal("what works passes", states(found, "daemon", "configuration", "ports", "device", "gpsd", "receiver", "pps",
                                        "clock", "disk", "database", "keys"),
            {c: {"pass"} for c in ("daemon", "configuration", "ports", "device", "gpsd", "receiver", "pps", "clock",
                                   "disk",
                                   "database", "keys")})
    t.equal("each port has its line", sorted(x[1].split(":")[0] for x in found["ports"]),
            [*(f"feed of link {n}" for n in range(4)), "monitors", "reserved"])
    t.equal("there is no board", {x for c in ("driver", "module", "dkms", "secure boot", "iommu", "pcie",
                                              "interrupts", "access")
                                  for x in found[c]}, {("n/a", "emulator: no board", "")})
    turns(t, "no consumer", found, "consumers", "warn", "trigger has no member",
          rf"fcmctl --dir {st.dir} .*consumer list$")
    t.equal("its fix can be typed", typed(st, found["consumers"][0][2]), 0)
    bundled(t, st, key)
    planted_files(t, st, key)
    planted_processes(t, st)
    stopped(t, st)


def bundled(t, st, key):
    """Nothing secret leaves."""
    with open(st.path("daemon.log"), "a") as f:
        f.write(f"secret {open(key).read().split()[-1]} of a key\ntoken={PASSWORD}\nto {ADDRESSEE}\n")
    name = st.path("a bundle.tar")
    code, out, err = st.ctl("doctor", "--bundle", name)
    t.check("a bundle is written", code == 0 and "a bundle.tar is written" in out, (code, err))
    t.equal("for its owner only", stat.S_IMODE(os.stat(name).st_mode), 0o600)
    with tarfile.open(name) as tar:
        texts = {os.path.basename(m.name): tar.extractfile(m).read().decode() for m in tar.getmembers()}
    t.check("it has what a supporter needs", {"report.json", "configuration.txt", "daemon.json", "events.json",
                                              "journal.txt",
                                              "machine.txt", "kernel.txt"} <= set(texts) and
            "data.curve = yes" in texts["configuration.txt"] and "ready" in texts["journal.txt"] and
            json.loads(texts["daemon.json"])["info"]["version"] == VERSION, texts)
    words = [w for w in re.findall(r"\S+", open(key).read()) if len(w) == 40]
    t.check("the key file has keys", len(words) == 2, words)
    t.equal("no key, no password, no mail address",
            [(n, w) for n, x in texts.items() for w in [*words, PASSWORD, ADDRESSEE] if w in x], [])
    t.check("its README does not warn", "Not all key files" not in texts["README.txt"], texts["README.txt"])
    code, _, err = st.ctl("doctor", "--bundle", name)
    t.check("it is never written over", code == 1 and "never written over" in err, (code, err))
    code, _, err = st.ctl("doctor", "--bundle", "/no/such/place/x.tar")
    t.check("nor elsewhere", code == 1 and "No such file" in err, (code, err))


def planted_files(t, st, key):
    os.chmod(key, 0o644)
    code, found = doctor(st)
    turns(t, "a key that all can read", found, "keys", "fail", "others than its owner", rf"^sudo chmod \S+ {key}$")
    t.equal("exit 1", code, 1)
    t.equal("its fix is right", (typed(st, next(x[2] for x in found["keys"] if x[0] == "fail")),
                                 states(doctor(st)[1], "keys")),
            (0, {"keys": {"pass"}}))
    t.equal("and takes nothing from the daemon", stat.S_IMODE(os.stat(key).st_mode) & 0o600, 0o600)
    shutil.copy(st.path("board.conf"), st.path("board.kept"))
    with open(st.path("board.conf"), "a") as f:
        f.write("[data]\nblock_frames = \x1b[31m7\n")
    _, found = doctor(st)
    turns(t, "a mistake", found, "configuration", "fail", r"board.conf:\d+: ",
          rf"fcm-server --check-config --board 0 --config {st.dir}/board.conf$")
    t.equal("its fix names it", typed(st, found["configuration"][0][2]), 78)
    t.check("no control reaches the terminal", "\x1b" not in st.ctl("doctor")[1])
    os.unlink(st.path("board.conf"))
    os.mkfifo(st.path("board.conf"))
    _, found = doctor(st)
    turns(t, "a configuration that does not end", found, "configuration", "warn",
          "not checked: .*(did not end|no such file to read)", "")
    turns(t, "then", found, "ports", "warn", "not checked: the configuration is unknown", "")
    os.unlink(st.path("board.conf"))
    os.rename(st.path("board.kept"), st.path("board.conf"))


def planted_processes(t, st):
    st.gpsd.signal(signal.SIGSTOP)
    _, found = doctor(st)
    turns(t, "gpsd hangs", found, "gpsd", "fail", "says nothing: gpsd did not answer in",
          rf"^gpspipe -w -n 5 127.0.0.1:{st.gpsd_port}$")
    st.gpsd.signal(signal.SIGCONT)
    st.daemon.signal(signal.SIGSTOP)
    code, found = doctor(st)
    st.daemon.signal(signal.SIGCONT)
    turns(t, "the daemon hangs", found, "daemon", "fail", "does not answer", rf"fcmctl --dir {st.dir} .*status$")
    t.equal("exit 1", code, 1)
    t.equal("what needs it is not checked", states(found, "ports", "clock", "consumers"),
            {"ports": {"warn"}, "clock": {"warn"}, "consumers": {"warn"}})
    t.equal("the rest is", states(found, "configuration", "gpsd", "disk", "keys"),
            {c: {"pass"} for c in ("configuration", "gpsd", "disk", "keys")})


def stopped(t, st):
    t.equal("the daemon ends", st.daemon.end(30), 0)
    _, found = doctor(st, "--deep")
    turns(t, "stopped", found, "daemon", "warn", "not running", rf"fcm-server --board 0 --config {st.dir}/board.conf$")
    t.equal("its ports are free; of gpsd itself", states(found, "ports", "receiver", "database"),
            {c: {"pass"} for c in ("ports", "receiver", "database")})
    t.equal("without it", states(found, "clock", "consumers", "pps"),
            {c: {"n/a"} for c in ("clock", "consumers", "pps")})
    turns(t, "the whole file", found, "database", "pass", "no damage in the whole file", "")
    host, port = st.monitor[6:].rsplit(":", 1)
    with socket.create_server((host.strip("[]"), int(port)), family=socket.AF_INET6 if "[" in host else socket.AF_INET):
        _, found = doctor(st)
        turns(t, "a port is taken", found, "ports", "fail", f"monitors: port {port} is taken",
              f"^sudo ss -ltnp 'sport = :{port}'$")
    t.equal("only that one", sorted(s for s, _, _ in found["ports"]), ["fail"] + ["pass"] * 5)
    damage(st.database)
    _, found = doctor(st)
    turns(t, "a page of zeros", found, "database", "fail", "damaged|malformed",
          rf"^sqlite3 -readonly {st.database} \.dump > recovered.sql$")
    with open(st.database, "rb") as f:
        before = f.read()
    t.equal("its fix can be typed", typed(st, found["database"][0][2]), 0)
    with open(st.database, "rb") as f, open(st.path("recovered.sql")) as sql:
        t.check("it reads what can be read, and leaves the file as it is", f.read() == before and
                "command" in sql.read())
    st.gpsd.end(3)
    st.emu.end()
    fake = Gpsd(st.gpsd_port)
    _, found = doctor(st)
    turns(t, "what is not gpsd", found, "gpsd", "fail", "is not gpsd", "^gpspipe ")
    fake.close()
    _, found = doctor(st)
    turns(t, "no gpsd", found, "gpsd", "fail", "Connection refused", "^gpspipe ")
    turns(t, "no emulator", found, "device", "fail", "emulator: none at", "^make run$")
    t.equal("usage", st.ctl("doctor", "all")[0], 2)


def damage(path):
    """The first page of a table is zeros."""
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = db.execute("PRAGMA page_size").fetchone()[0]
        page = db.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'event'").fetchone()[0]
    with open(path, "r+b") as f:
        f.seek((page - 1) * size)
        f.write(bytes(size))


class Gpsd:
    """A server in gpsd's place that sends terminal sequences."""

    def __init__(self, port):
        self.server = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        try:
            while True:
                s, _ = self.server.accept()
                with s:
                    s.sendall(b"\x1b[2J" * 10000 + b"\n")
        except OSError:
            pass

    def close(self):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()


# --- a board that is files ---

class Machine:
    """The files of a machine with a board, all well, and a station of it."""

    def __init__(self, t):
        self.st = t.station("machine")
        self.root = os.path.join(t.base, "root")
        self.board = f"sys/devices/pci0000:00/0000:00:01.0/{ADDRESS}"
        self.uid, self.gid = (4243, 4242) if os.geteuid() == 0 else (os.geteuid(), os.getegid())
        os.chown(self.st.dir, self.uid, -1)  # the daemon's user is who has the database
        for path, text in {
                "sys/class/nanet3/nanet3-0/state": "ready", f"{self.board}/vendor": "0x1172",
                f"{self.board}/device": "0xe003",
                f"{self.board}/current_link_speed": "5.0 GT/s PCIe", f"{self.board}/current_link_width": "8",
                "sys/devices/pci0000:00/0000:00:01.0/current_link_speed": "8.0 GT/s PCIe",
                "sys/devices/pci0000:00/0000:00:01.0/current_link_width": "16",
                "sys/bus/pci/drivers/nanet3/x": "", "sys/bus/pci/drivers/vfio-pci/x": "",
                "sys/module/nanet3/version": f"{VERSION}.4", "proc/sys/kernel/osrelease": KERNEL,
                f"var/lib/dkms/nanet3/{VERSION}.4/{KERNEL}/x86_64/log": "", f"lib/modules/{KERNEL}/modules.order": "",
                f"lib/modules/{KERNEL}/build/Makefile": "", f"usr/src/nanet3-{VERSION}.4/dkms.conf": "",
                "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c": "\6\0\0\0\1",
                "sys/class/pps/pps0/name": "nanet3-0", "sys/class/pps/pps0/assert": "1.0#1",
                "sys/class/ptp/ptp0/clock_name": "igb", "dev/nanet3-0": "", "proc/net/tcp": "  sl  local_address",
                "dev/kmsg": f"6,1,1,-;nanet3 {ADDRESS}: ready\n",
                "etc/passwd": f"root:x:0:0::/:\nfcm:x:{self.uid}:998::/:\n",
                "etc/group": f"root:x:0:\nnanet3:x:{self.gid}:fcm\n"}.items():
            self.write(path, text)
        for n in range(5):
            self.write(f"{self.board}/msi_irqs/{60 + n}", "msix")
            self.write(f"proc/irq/{60 + n}/effective_affinity_list", str(n))
        self.link("sys/class/nanet3/nanet3-0/device", self.board)
        self.link(f"sys/bus/pci/devices/{ADDRESS}", self.board)
        self.link(f"{self.board}/driver", "sys/bus/pci/drivers/nanet3")
        os.chown(self.path("dev/nanet3-0"), -1, self.gid)
        os.chmod(self.path("dev/nanet3-0"), 0o660)
        with open(self.st.path("board.conf"), "w") as f:
            f.write(f"[board]\ndevice = /dev/nanet3-0\n[control]\nsocket = {self.st.dir}/control.sock\n[store]\n"
                    f"database = {self.st.database}\n[slowctl]\ndictionary = {harness.ROOT}/schemas/parameters.conf\n"
                    f"[clock]\ngpsd_port = {station.free_port()}\n[link 0]\nfloor = 1\n")

    def path(self, path):
        return os.path.join(self.root, path)

    def write(self, path, text):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        with open(self.path(path), "w") as f:
            f.write(text)

    def link(self, path, to):
        os.makedirs(os.path.dirname(self.path(path)), exist_ok=True)
        if os.path.lexists(self.path(path)):
            os.unlink(self.path(path))
        os.symlink(os.path.relpath(self.path(to), os.path.dirname(self.path(path))), self.path(path))

    def another(self, n):
        """The same machine, to break something of it."""
        copied = copy.copy(self)
        copied.root = f"{self.root}.{n}"
        shutil.copytree(self.root, copied.root, symlinks=True)
        os.chown(copied.path("dev/nanet3-0"), -1, self.gid)
        return copied

    def second(self):
        """Another board, first on the bus, well, with a name of its own."""
        other = "sys/devices/pci0000:00/0000:00:00.5/0000:00:01.5"
        for path, text in {"vendor": "0x1172", "device": "0xe003"}.items():
            self.write(f"{other}/{path}", text)
        self.write("sys/class/nanet3/nanet3-1/state", "ready")
        self.link("sys/class/nanet3/nanet3-1/device", other)
        self.link("sys/bus/pci/devices/0000:00:01.5", other)
        self.link(f"{other}/driver", "sys/bus/pci/drivers/nanet3")

    def unnamed(self):
        """The driver does not have it."""
        shutil.rmtree(self.path("sys/class/nanet3/nanet3-0"))
        os.unlink(self.path(f"{self.board}/driver"))

    def doctor(self):
        return doctor(self.st, "--root", self.root)[1]


PULSES = "pps"
BOARD = ("device", "driver", "module", "dkms", "secure boot", "iommu", "pcie", "interrupts", "access", "kernel log")
# What is planted, the check that turns, to what, its text, its fix.
FAULTS = (
    ("the board is gone", lambda m: m.write("sys/class/nanet3/nanet3-0/state", "gone"), "device", "fail", "is gone",
     r"^sudo sh -c 'echo 1 > /sys/class/nanet3/nanet3-0/device/reset'$"),
    ("no node", lambda m: os.unlink(m.path("dev/nanet3-0")), "device", "fail",
     f"no /dev/nanet3-0; a board is on the bus at {ADDRESS}",
     "^sudo modprobe nanet3$"),
    ("another driver", lambda m: m.link(f"{m.board}/driver", "sys/bus/pci/drivers/vfio-pci"), "driver", "fail",
     "belongs to driver vfio-pci",
     f"^lspci -k -s {ADDRESS}$"),
    ("no driver", lambda m: os.unlink(m.path(f"{m.board}/driver")), "driver", "fail", "no driver has the board",
     "^sudo modprobe nanet3$"),
    ("an old module", lambda m: m.write("sys/module/nanet3/version", "0.1.0.3"), "module", "fail",
     r"needs requests of version 4",
     rf"^sudo dkms install nanet3/{VERSION}.4 -k 6.1.0-99-amd64$"),
    ("a module of another release", lambda m: m.write("sys/module/nanet3/version", "0.1.9.4"), "module", "warn",
     "another release",
     rf"^sudo dkms install nanet3/{VERSION}.4 -k 6.1.0-99-amd64$"),
    ("no module", lambda m: os.unlink(m.path("sys/module/nanet3/version")), "module", "fail", "not loaded",
     "^sudo modprobe nanet3$"),
    ("signed modules only", lambda m: os.unlink(m.path("sys/module/nanet3/version")), "secure boot", "fail",
     "may not be enrolled",
     r"^sudo mokutil --import /var/lib/dkms/mok.pub$"),
    ("not built for this kernel", lambda m: m.write("proc/sys/kernel/osrelease", "6.1.0-98-amd64"), "dkms", "fail",
     "for the running kernel",
     r"^sudo apt-get install linux-headers-6.1.0-98-amd64$"),
    ("without its sources", lambda m: (m.write("proc/sys/kernel/osrelease", "6.1.0-98-amd64"),
                                       shutil.rmtree(m.path("usr/src"))), "dkms", "fail", "for the running kernel",
     "^sudo apt-get install nanet3-dkms$"),
    ("nor for the next", lambda m: (m.write("lib/modules/6.12.0-1-amd64/modules.order", ""),
                                m.write("lib/modules/6.12.0-1-amd64/build/Makefile", "")), "dkms", "warn",
     "may be started next",
     rf"^sudo dkms install nanet3/{VERSION}.4 -k 6.12.0-1-amd64$"),
    ("no driver, beside a board that has one", lambda m: (m.second(), m.unnamed()), "driver", "fail",
     f"no driver has the board at {ADDRESS}", "^sudo modprobe nanet3$"),
    ("no board, beside another", lambda m: (m.second(), os.unlink(m.path("dev/nanet3-0")), m.unnamed(),
                                            m.write(f"{m.board}/vendor", "0x8086")), "device", "fail",
     "no board .1172:e003. on the PCI bus", r"^sudo sh -c 'echo 1 > /sys/bus/pci/rescan'$"),
    ("IOMMU unknown", lambda m: os.mkdir(m.path(f"{m.board}/iommu_group")), "iommu", "warn", "not checked", ""),
    ("a narrow slot", lambda m: m.write(f"{m.board}/current_link_width", "4"), "pcie", "warn", "16000 Mb/s",
     f"^sudo lspci -vv -s {ADDRESS}$"),
    ("a slow bridge", lambda m: (m.write("sys/devices/pci0000:00/0000:00:01.0/current_link_speed", "2.5 GT/s PCIe"),
                                 m.write("sys/devices/pci0000:00/0000:00:01.0/current_link_width", "1")),
     "pcie", "fail", r"2000 Mb/s .* at 0000:00:01.0", f"^sudo lspci -vv -s {ADDRESS}$"),
    ("too few vectors", lambda m: os.unlink(m.path(f"{m.board}/msi_irqs/64")), "interrupts", "warn",
     "4 MSI-X vectors of 5", "^sudo journalctl -k"),
    ("a node for all", lambda m: os.chmod(m.path("dev/nanet3-0"), 0o666), "access", "fail", "every user may claim",
     "^sudo chmod o-rwx /dev/nanet3-0$"),
    ("a node for nobody", lambda m: os.chmod(m.path("dev/nanet3-0"), 0o600), "access", "fail",
     "60-nanet3.rules was not applied",
     "^sudo udevadm trigger --name-match=nanet3-0$"),
    ("of another group", lambda m: m.write("etc/group", f"root:x:0:\nvideo:x:{m.gid}:fcm\n"), "access", "fail",
     "is of group video",
     "^sudo udevadm trigger --name-match=nanet3-0$"),
    ("a user without the group", lambda m: m.write("etc/group", f"root:x:0:\nnanet3:x:{m.gid}:fcmx\n"), "access",
     "fail",
     "user fcm is not in group nanet3", "^sudo usermod -aG nanet3 fcm$"),
    ("silence of the receiver", lambda m: None, PULSES, "fail", "no pulse at /dev/pps0", "clock show$"),
    ("a warning of the driver",
     lambda m: m.write("dev/kmsg", "6,1,1,-;x\n3,2,2,-;nanet3 0000: no board answers \x1b[31m\xff" + "y" * 3000 + "\n"),
     "kernel log", "warn", "no board answers", "^sudo journalctl -k "),
    ("lost memory", lambda m: m.write("dev/kmsg", "3,2,2,-;nanet3: link 2: DMA does not stop, its memory is lost\n"),
     "kernel log", "fail",
     "switched off and on", "^sudo journalctl -k "),
    ("no log", lambda m: os.unlink(m.path("dev/kmsg")), "kernel log", "warn", "not checked", "^sudo journalctl -k "),
    ("no board", lambda m: (os.unlink(m.path("dev/nanet3-0")), m.write(f"{m.board}/vendor", "0x8086")), "device",
     "fail",
     "no board .1172:e003. on the PCI bus", r"^sudo sh -c 'echo 1 > /sys/bus/pci/rescan'$"),
)


def board(t):
    """a machine with a board: all of it well, then one fault after another"""
    m = Machine(t)
    beats = threading.Event()

    def pulse():
        n = 1
        while not beats.wait(0.2):
            n += 1
            m.write("sys/class/pps/pps0/assert", f"{n}.0#{n}")
    thread = threading.Thread(target=pulse)
    thread.start()
    found = m.doctor()
    beats.set()
    thread.join()
    t.equal("all is well", {c: found[c] for c in (*BOARD, PULSES) if {s for s, _, _ in found[c]} - {"pass", "n/a"}}, {})
    t.check("a PTP clock is named", any("/dev/ptp0 (igb)" in x for _, x, _ in found["pps"]), found["pps"])
    t.check("the machine's own clock is not taken for it", found["system clock"][0][1].startswith("not checked"),
            found["system clock"])
    machines = [m.another(n) for n in range(len(FAULTS))]
    for fault, machine in zip(FAULTS, machines):
        fault[1](machine)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:  # each waits a second for a pulse
        for (what, _, *wanted), lines in zip(FAULTS, pool.map(Machine.doctor, machines)):
            turns(t, what, lines, *wanted)


THP = "sys/kernel/mm/transparent_hugepage/shmem_enabled"
CPU = "flags\t\t: fpu vme apic hypervisor lahf_lm\n"
# Reserved pages of 2 MiB and of 1 GiB (all, free, promised), MiB available, other files; state, text, fix of its line.
HUGE_PAGES = (
    ("none", (0, 0, 0), (0, 0, 0), 9000, {}, "pass", "^none are reserved$", "^$"),
    ("transparent ones", (0, 0, 0), (0, 0, 0), 9000, {}, "pass",
     "^transparent: enabled madvise, shmem_enabled never$", "^$"),
    ("enough memory beside them", (512, 512, 0), (0, 0, 0), 4096, {}, "pass", "1024 MiB of them unused", "^$"),
    ("all of them are used", (512, 12, 12), (0, 0, 0), 100, {}, "pass", "512 pages of 2048 kB .* 0 MiB", "^$"),
    ("nobody uses them", (512, 512, 0), (0, 0, 0), 4095, {}, "warn",
     "512 pages of 2048 kB are reserved, 1024 MiB of them unused: .* 4095 MiB", r"^sudo sysctl vm\.nr_hugepages=0$"),
    ("what is used stays", (512, 500, 4), (0, 0, 0), 100, {}, "warn", " 992 MiB of them unused",
     r"^sudo sysctl vm\.nr_hugepages=16$"),
    ("of another size", (0, 0, 0), (3, 3, 0), 100, {}, "warn", "3 pages of 1048576 kB .* 3072 MiB of them unused",
     r"^sudo sh -c 'echo 0 > /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages'$"),
    ("a machine of its own", (0, 0, 0), (0, 0, 0), 9000, {"proc/cpuinfo": CPU.replace("hypervisor ", "")}, "pass",
     "shmem_enabled never", "^$"),
    ("a virtual machine", (0, 0, 0), (0, 0, 0), 9000, {"proc/cpuinfo": CPU}, "warn", "shmem_enabled is never: ",
     f"^sudo sh -c 'echo advise > /{THP}'$"),
    ("a virtual machine that has them", (0, 0, 0), (0, 0, 0), 9000,
     {"proc/cpuinfo": CPU, THP: "always within_size [advise] never deny force"}, "pass", "shmem_enabled advise", "^$"),
    ("a kernel without them", (0, 0, 0), (0, 0, 0), 9000, {THP: ""}, "n/a", "not in this kernel", "^$"),
    ("no answer", (0, 0, 0), (0, 0, 0), 9000, {"proc/meminfo": ""}, "warn", "^not checked: ", "^$"),
)


def huge_pages(t):
    """huge pages that nobody uses, and those that an emulated board's rings want"""
    m = Machine(t)
    with open(m.st.path("board.conf")) as f:
        config = f.read()
    with open(m.st.path("board.conf"), "w") as f:
        f.write(config.replace("/dev/nanet3-0", f"unix:{m.st.dir}/board.sock"))
    for what, small, large, available, files, *wanted in HUGE_PAGES:
        m.write("proc/meminfo", f"MemAvailable: {available * 1024} kB\nHugePages_Total: 0\nHugepagesize:  2048 kB\n")
        m.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never")
        m.write(THP, "always within_size advise [never] deny force")
        for kb, counts in ((2048, small), (1048576, large)):
            for name, count in zip(("nr", "free", "resv"), counts):
                m.write(f"sys/kernel/mm/hugepages/hugepages-{kb}kB/{name}_hugepages", f"{count}\n")
        for path, text in files.items():
            m.write(path, text)
        turns(t, what, m.doctor(), "huge pages", *wanted)


def installed(t):
    """files of an installed station: not started at boot, notices that every user can read, foreign files, none"""
    m = Machine(t)
    where = ("--socket", "/run/fcm-server/0/control.sock", "--root", m.root)
    m.write("etc/fcm-server/notify-0.conf", "[receiver shift]\n")
    os.chmod(m.path("etc/fcm-server/notify-0.conf"), 0o644)
    shutil.copy(m.st.path("board.conf"), m.path("etc/fcm-server/board-0.conf"))
    _, found = doctor(m.st, *where)
    turns(t, "not enabled", found, "unit", "warn", "not started at boot", "^sudo systemctl enable fcm-server@0$")
    turns(t, "notices", found, "keys", "warn", "may name secrets",
          "^sudo chgrp fcm-notify {0} && sudo chmod 640 {0}$".format(m.path("etc/fcm-server/notify-0.conf")))
    turns(t, "stopped", found, "daemon", "warn", "not running", "^sudo systemctl start fcm-server@0$")
    turns(t, "not started yet", found, "database", "n/a", "no .* yet", "^$")
    os.mkdir(m.path("etc/fcm-server/old.key"))
    name = m.path("bundle.tar")
    code, _, err = m.st.ctl("doctor", *where, "--bundle", name)
    with tarfile.open(name) as tar:
        about = tar.extractfile("fcm-doctor/README.txt").read().decode()
    t.check("a key file that cannot be read: the README says so",
            "Not all key files could be read" in about, (err, about))
    turns(t, "its configuration", found, "configuration", "pass", f"{m.root}/etc/fcm-server/board-0.conf is valid", "")
    m.link("etc/systemd/system/multi-user.target.wants/fcm-server@0.service", "etc/fcm-server/board-0.conf")
    m.write("etc/passwd", f"fcm:x:{m.uid + 1}:998::/:\n")
    _, found = doctor(m.st, *where)
    turns(t, "enabled", found, "unit", "pass", "started at boot", "")
    turns(t, "and no database", found, "database", "warn", "its disk may not be mounted", "^findmnt$")
    turns(t, "another user's directory", found, "disk", "fail", "cannot write there", rf"^sudo chown fcm {m.st.dir}$")
    foreign_files(t, m, where)


def foreign_files(t, m, where):
    m.write("etc/passwd", f"fcm:x:{m.uid}:998::/:\n")
    for end in ("", "-wal", "-shm"):
        with open(m.st.database + end, "w"):
            pass
        os.chown(m.st.database + end, m.uid, -1)
    _, found = doctor(m.st, *where)
    t.equal("the daemon's own files", states(found, "disk"), {"disk": {"pass"}})
    os.chmod(m.st.database, 0o444)
    _, found = doctor(m.st, *where)
    turns(t, "a file that cannot be written", found, "disk", "fail", "has mode 444",
          rf"^sudo chmod u\+rw {m.st.database}$")
    os.chmod(m.st.database, 0o644)
    for end in ("", "-wal", "-shm") if os.geteuid() == 0 else ():
        os.chown(m.st.database + end, 0, -1)
        _, found = doctor(m.st, *where)
        turns(t, f"station.db{end} of root", found, "disk", "fail", "cannot write there",
              rf"^sudo chown fcm {m.st.database}{end}$")
        os.chown(m.st.database + end, m.uid, -1)
    os.rename(m.st.dir, m.st.dir + ".kept")
    m.link("etc/systemd/system/multi-user.target.wants/fcm-server@0.service", "etc/fcm-server/board-0.conf")
    _, found = doctor(m.st, *where)
    t.equal("no directory", states(found, "disk", "sync", "database"),
            {c: {"warn"} for c in ("disk", "sync", "database")})
    os.rename(m.st.dir + ".kept", m.st.dir)


LISTENS = """import socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen()
while True:
    s.accept()
"""


def stranger(t):
    """who listens in the daemon's place cannot make root read a file"""
    st = t.station("stranger")
    st.write_config()
    secret, link = st.path("secret"), st.path("x.conf")
    with open(secret, "w") as f:
        f.write("root:$6$opensesame:\n")
    os.chmod(secret, 0o600)
    os.symlink(secret, link)
    fake = station.Process("a stranger", ["/usr/bin/python3", "-c", LISTENS, st.path("control.sock"), "--config", link],
                           st.path("stranger.log"))
    st.extras.append(fake)
    st.wait_for("it listens", lambda: os.path.exists(st.path("control.sock")))
    if os.geteuid() == 0:
        code, out, err = st.ctl("--json", "doctor")
        t.check("its file is not read", code in (0, 1) and "opensesame" not in out + err, (code, out, err))
        turns(t, "and says so", doctor(st)[1], "configuration", "warn", "another user could have put it there", "")
    else:
        t.check("nothing to check: it can make us read only what is ours", True)


SYSTEMCTL = """#!/usr/bin/python3
# In the place of systemctl: `show` of units, as systemd 252 prints it.
import json, os, sys
units = [x for x in sys.argv[2:] if not x.startswith("--")]
wanted = next(x for x in sys.argv if x.startswith("--property="))[11:].split(",")
with open(os.environ["UNITS"]) as f:
    known = json.load(f)
well = {"LoadState": "loaded", "ActiveState": "inactive", "SubState": "dead",
        "UnitFileState": "disabled"}
said = [{"NRestarts": "0", "Id": u, **well, **known.get(u, {})} for u in units]
print("\\n\\n".join("\\n".join(f"{k}={v}" for k, v in one.items() if k in wanted) for one in said))
"""
RUNS = {"ActiveState": "active", "SubState": "running", "UnitFileState": "enabled"}
AGAIN = {"ActiveState": "activating", "SubState": "auto-restart", "UnitFileState": "enabled", "NRestarts": "37"}
# What systemd says, the line that turns, its text, its fix.
UNITS = (
    ("all run", {"fcm-server@0.service": RUNS, "fcm-page@0.service": RUNS, "fcm-notify@0.service": RUNS}, None, "", ""),
    ("it ends again and again", {"fcm-server@0.service": AGAIN}, "fail",
     "fcm-server@0.service ends at once.* 37 restarts", "^journalctl -u fcm-server@0.service "),
    ("it was restarted", {"fcm-server@0.service": {**RUNS, "NRestarts": "1"}}, "warn",
     "has restarted fcm-server@0.service 1 time$", "^journalctl -u fcm-server@0.service "),
    ("it is masked", {"fcm-server@0.service": {"LoadState": "masked", "UnitFileState": "masked"}}, "fail", "is masked",
     "^sudo systemctl unmask fcm-server@0.service$"),
    ("it has failed", {"fcm-server@0.service": {"ActiveState": "failed", "SubState": "failed"}}, "fail",
     "the daemon has failed", "^journalctl -u fcm-server@0.service "),
    ("the self-test has failed", {"nanet3-selftest@0.service": {"ActiveState": "failed"}}, "warn",
     "failed its self-test", "^journalctl -u nanet3-selftest@0.service "),
    ("no page, although it is enabled", {"fcm-page@0.service": {"UnitFileState": "enabled"}}, "warn",
     "fcm-page@0.service is not running", "^sudo systemctl start fcm-page@0.service$"),
    ("the page has failed", {"fcm-page@0.service": {"ActiveState": "failed", "UnitFileState": "enabled"}}, "fail",
     "fcm-page@0.service has failed", "^journalctl -u fcm-page@0.service "),
    ("no notices", {"fcm-notify@0.service": {"UnitFileState": "enabled"}}, "warn",
     "fcm-notify@0.service is not running", "^sudo systemctl start fcm-notify@0.service$"),
)


def units(t):
    """what systemd says of daemon, self-test, page and notifier"""
    st = t.station("units")
    st.write_config()
    programs, said = st.path("programs"), st.path("units.json")
    os.mkdir(programs)
    with open(os.path.join(programs, "systemctl"), "w") as f:
        f.write(SYSTEMCTL)
    os.chmod(os.path.join(programs, "systemctl"), 0o755)
    path = os.environ["PATH"]
    os.environ.update(PATH=f"{programs}:{path}", UNITS=said)
    try:
        for what, known, state, text, fix in UNITS:
            with open(said, "w") as f:
                json.dump(known, f)
            _, found = doctor(st, "--socket", "/run/fcm-server/0/control.sock")
            found["unit"] = [x for x in found["unit"] if "started at boot" not in x[1]]
            if state is None:
                t.equal(f"{what}: nothing to say", found["unit"], [])
            else:
                turns(t, what, found, "unit", state, text, fix)
    finally:
        os.environ["PATH"] = path
        del os.environ["UNITS"]


def frozen(t):
    """the disk of the database hangs, or the one that the bundle shall go to: it ends, and says so"""
    st = t.station(load="quiet")
    st.database = st.path("disk/station.db")
    with test_safe_disk.disk_that_hangs(st) as disk:
        if disk is None:
            print("  no file system of ours may be mounted here: left out")
            t.check("nothing to check", True)
            return
        st.start_emulator()
        st.write_config()
        st.start_daemon()
        st.status()  # it has started
        disk.send_signal(signal.SIGSTOP)
        begun = time.monotonic()
        code, found = doctor(st)
        t.check("it ends while the disk hangs", True, time.monotonic() - begun)
        t.equal("exit 1", code, 1)
        turns(t, "the disk hangs", found, "database", "fail", "did not answer in", "^iostat ")
        turns(t, "the disk hangs", found, "sync", "fail", "did not answer in", "^iostat ")
        t.equal("the rest is checked", states(found, "daemon", "configuration", "device"),
                {c: {"pass"} for c in ("daemon", "configuration", "device")})
        code, _, err = st.ctl("doctor", "--bundle", st.path("disk/x.tar"))
        t.check("nor does a bundle hold it", code == 1 and "timed out" in err, (code, err))


def sky(t):
    """the receiver has no fix, then is silent"""
    st = t.station(load="quiet", scenario=faults.scenario(t, (0, "gps void"), (60, "gps silent")))
    st.start()
    st.wait_for("gpsd has heard it", lambda: st.status()["clock"]["gpsd"]["connected"], 30, 0.3)
    st.wait_for("no fix", lambda: "warn" in states(doctor(st)[1], "receiver")["receiver"], 30, 0.3)
    _, found = doctor(st)
    turns(t, "no fix", found, "receiver", "warn", "no fix: it has to see the sky", "^gpspipe ")
    st.wait_for("silence", lambda: "fail" in states(doctor(st)[1], "receiver")["receiver"], 120, 0.3)
    _, found = doctor(st)
    turns(t, "silence", found, "receiver", "fail", "the receiver is silent", "^gpspipe ")
    turns(t, "silence", found, "clock", "warn", "^holdover by gpsd: ", "clock show$")


CHRONYC = """#!/bin/sh
echo "00000000,,0,0.000000000,0.000000000,0.000000000,0.000000000,0.000,0.000,0.000,1.0,1.0,0.0,Not synchronised"
"""


def second_opinion(t):
    """what chrony says of the system clock; it is silent"""
    st = t.station("chrony")
    st.write_config()
    programs = st.path("programs")
    os.mkdir(programs)
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{programs}:{path}"
    try:
        for what, text, says in (("not synchronised", CHRONYC, "; chrony: Not synchronised$"),
                                 ("no chronyd", "#!/bin/sh\nexit 1\n", "; chronyd does not answer$")):
            with open(os.path.join(programs, "chronyc"), "w") as f:
                f.write(text)
            os.chmod(os.path.join(programs, "chronyc"), 0o755)
            found = doctor(st)[1]
            synchronised = states(found, "system clock")["system clock"] == {"pass"}  # as this machine's kernel has it
            turns(t, what, found, "system clock", "pass" if synchronised else "warn", says,
                  "^$" if synchronised else "^chronyc sources -v$|^sudo systemctl start chrony$")
    finally:
        os.environ["PATH"] = path


def full_disk(t):
    """the disk of the database is nearly full, then mounted read only"""
    m = Machine(t)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "none", m.st.dir], check=False,
                      stderr=subprocess.DEVNULL).returncode:
        print("  no file system of ours may be mounted here: left out")
        t.check("nothing to check", True)
        return
    try:
        where = ("--database", m.st.database, "--root", m.root)
        turns(t, "nearly full", doctor(m.st, *where)[1], "disk", "fail", "6[0-9] MiB and .* files free in ", ".")
        subprocess.run(["mount", "-o", "remount,ro", m.st.dir], check=True)
        found = doctor(m.st, *where)[1]
        turns(t, "read only", found, "disk", "fail", "is mounted read only", "^sudo journalctl -k ")
        turns(t, "read only", found, "sync", "fail", "cannot be written: Read-only file system", "^iostat ")
    finally:
        subprocess.run(["umount", "-l", m.st.dir], check=False)


if __name__ == "__main__":
    harness.main([running, half_pace, board, huge_pages, installed, stranger, units, frozen, sky, second_opinion,
                  full_disk])
