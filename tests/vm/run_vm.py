#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The real kernel module in a real kernel, the board emulated: boots guests, as many at a time as there are cores, and
counts.

    run_vm.py --build DIR --cache DIR [--debug] [--only TEST] [--seconds N] [BOOT ...]

A boot is a kernel, a command line and a plan (tests/vm/plans/NAME.sh, run by the guest's init). NAME@6.12 is
the boot NAME with that kernel of Debian's; without, it is 6.1. What the
guest's programs say in TAP is counted, as is each judgement made here: that the kernel's log is free of
reports, that what consumers recorded is the truth. Ends with one line, `N passed, N failed`, and status 0
only when something passed and nothing failed.

Everything of a boot stays in DIR/vm/BOOT: console (the kernel's log), tap, out.tar (what the guest handed
out), emu.log, initramfs.cpio.
"""
import argparse
import concurrent.futures
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass

import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(os.path.dirname(HERE), "system")]
import consumer_record
import image
import image_systemd
import report

ROOT = os.path.dirname(os.path.dirname(HERE))
# No model of a serial port or timer for TCG to be slow with, nothing that needs a file of the host.
QEMU = ["qemu-system-x86_64", "-accel", "tcg,thread=single", "-machine", "q35", "-cpu", "max", "-nodefaults",
        "-no-user-config", "-display", "none", "-no-reboot", "-smp", "2"]
# Where errors of the bus are reported; a sleeping port would hide what is below it.
ROOT_PORT = ("-global", "ICH9-LPC.acpi-pci-hotplug-with-bridge-support=off",
             "-device", "pcie-root-port,id=rp0,chassis=1,slot=1")
APPEND = "console=ttyS0 loglevel=7 panic=-1 mitigations=off nokaslr cryptomgr.notests"
DRIVER_TESTS = ("test_contract", "guest_ring", "guest_owner", "guest_buffer", "guest_abuse", "guest_fault",
                "guest_stuck", "guest_recover", "guest_sys", "guest_inject", "fuzz_ioctl")


@dataclass
class Boot:
    """`limit`: seconds after which it counts as hung. `speed`: of model time, in the stock kernel."""
    plan: str
    limit: int = 300
    memory: int = 512
    append: str = ""
    speed: str = "0.1"
    emulator: tuple = ("--load", "quiet")
    kernel_flags: str = ""
    qemu: tuple = ()       # further arguments
    meant: tuple = ()      # kernel reports that the plan provokes
    must_report: str = ""  # a report that must come, or the net has a hole
    judge: str = ""        # of a plan with a station: "truth", or only what it says by itself ("tap")
    boards: int = 1
    outage_s: float = 0    # model time for which the board is away, each time


BOOTS = {
    "driver": Boot("driver", limit=600),
    "swiotlb": Boot("content", append="swiotlb=force"),
    "high-memory": Boot("content", memory=5120),
    "iommu": Boot("iommu", append="intel_iommu=on iommu.strict=1", emulator=("--load", "quiet", "--iommu")),
    "power": Boot("power", memory=1024, speed="0.05", emulator=("--rate", "500"), judge="tap"),
    "daemon": Boot("daemon", memory=1024, limit=400, speed="0.05", emulator=("--rate", "500"), judge="truth"),
    "heal": Boot("heal", memory=1024, limit=400, speed="0.05", judge="truth", append="pcie_port_pm=off",
                 emulator=("--rate", "500", "--slot", "rp0", "--scenario", os.path.join(HERE, "heal.scn")),
                 qemu=ROOT_PORT),
    "outages": Boot("outages", memory=2048, limit=700, speed="0.02", judge="truth", outage_s=0.05,
                    emulator=("--load", "design", "--scenario", os.path.join(HERE, "outages.scn"))),
    "two": Boot("two", memory=1024, limit=400, speed="0.03", emulator=("--rate", "500"), judge="truth", boards=2),
    # Where the kernel could not make an entry below /proc/irq, it warns when it removes it.
    "inject": Boot("inject", limit=1800, speed="0.04", meant=("WARNING: .*remove_proc_entry",)),
    "seeded": Boot("seeded", kernel_flags="NANET3_SEEDED_BUG=y", must_report="KASAN: .*use-after-free"),
    # Memory that the board may still write to is never freed; the DMA debugger sees just that.
    "quarantine": Boot("quarantine", meant=("DMA-API: .*device driver has pending DMA allocations",
                                            "WARNING: .*dma_debug_device_change")),
    "recover": Boot("recover", append="pcie_port_pm=off", emulator=("--load", "quiet", "--slot", "rp0"),
                    qemu=ROOT_PORT),
    "stranger": Boot("stranger", append="pcie_port_pm=off", emulator=("--load", "quiet", "--slot", "rp0:0.1"),
                     qemu=(*ROOT_PORT, "-device", "pci-testdev,bus=rp0,addr=0.0,multifunction=on")),
    "fuzz": Boot("fuzz"),
    "systemd": Boot("systemd", memory=1024, limit=400, speed="0.02"),
    "bench": Boot("bench", limit=600, speed="1", emulator=("--rate", "100")),
}
# The longest first: the others then fill the other cores.
STOCK = ("systemd", "driver", "daemon", "heal", "power", "two", "stranger", "swiotlb", "high-memory", "iommu", "recover",
         "quarantine")
# No station: on an instrumented kernel a daemon is too slow for its own clocks (its answers take longer than 5 s).
DEBUG = ("driver", "recover", "swiotlb", "quarantine", "inject", "seeded")


class Kernel:
    """What boots of a kernel share: the kernel, and the module built for it."""
    def __init__(self, options, series):
        self.o = options
        self.module = {}
        self.neighbour = None
        if options.debug:
            self.image, self.headers = image.debug_kernel(options.cache, series)
            self.release = f"debug-{series}"
        else:
            self.release, self.headers = image.headers(options.cache, series)
            self.image = image.stock_kernel(options.cache, self.release)

    def build_module(self, flags):
        """nanet3.ko for this kernel, once a set of flags."""
        if flags not in self.module:
            out = os.path.abspath(os.path.join(self.o.build, "vm", "module",
                                               self.release + ("-" + flags.replace("=", "-") if flags else "")))
            log = out + ".log"
            os.makedirs(out, exist_ok=True)
            with open(log, "w") as f:
                code = subprocess.call(["make", "-C", os.path.join(ROOT, "driver/kernel"), f"OUT={out}",
                                        f"KDIR={self.headers}", f"KVERSION={self.release}",
                                        f"KFLAGS={flags}"], stdout=f, stderr=f)
            if code:
                with open(log) as f:
                    sys.exit("".join(f.readlines()[-30:]) + f"vm: the module does not build, see {log}")
            self.module[flags] = os.path.join(out, "nanet3.ko")
        return self.module[flags]

    def build_neighbour(self):
        """neighbour.ko for this kernel."""
        if not self.neighbour:
            out = os.path.abspath(os.path.join(self.o.build, "vm", "neighbour", self.release))
            os.makedirs(out, exist_ok=True)
            shutil.copy(os.path.join(HERE, "neighbour.c"), out)
            with open(os.path.join(out, "Kbuild"), "w") as f:
                f.write("obj-m := neighbour.o\n")
            with open(out + ".log", "w") as f:
                if subprocess.call(["make", "-C", self.headers, f"M={out}", "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"],
                                   stdout=f, stderr=f):
                    sys.exit(f"vm: neighbour.ko does not build, see {out}.log")
            self.neighbour = os.path.join(out, "neighbour.ko")
        return self.neighbour


class Run:
    """One boot: its guest, what it passed and failed."""
    def __init__(self, name, kernel, options):
        self.name, self.kernel, self.o = name, kernel, options
        self.boot = BOOTS[name.split("@")[0]]
        self.directory = os.path.join(options.build, "vm", name + ("-debug" if options.debug else ""))
        self.passed = self.failed = self.skipped = 0
        self.failures = []
        self.child = None
        self.speed = 0.0  # of model time, as it was run

    def say(self, text):
        """Guests run side by side: a line says whose it is."""
        for line in text.rstrip().split("\n"):
            print(f"{self.name}: {line.rstrip()}", flush=True)

    def prepare(self):
        """What goes into the guest."""
        boot = self.boot
        os.makedirs(self.directory, exist_ok=True)
        module = self.kernel.build_module(boot.kernel_flags)
        if boot.plan == "systemd":
            fs = image_systemd.Root(self.o.cache, self.o.build, self.kernel.release, module)
        else:
            fs = image.Initramfs()
            fs.file(module, "vm/nanet3.ko")
        if boot.plan == "stranger":
            fs.file(self.kernel.build_neighbour(), "vm/neighbour.ko")
        fs.file(os.path.join(HERE, "init"), fs.INIT, 0o755)
        fs.file(os.path.join(HERE, "plans", boot.plan + ".sh"), "vm/plan")
        fs.text("vm/environment", f"DEBUG={int(self.o.debug)}\nSECONDS_TO_RUN={self.o.seconds}\n"
                f"SEED={self.o.seed}\n")
        fs.text("vm/only", self.o.only or "")
        for name in os.listdir(os.path.join(HERE, "plans")):
            if name.startswith("step_"):
                fs.file(os.path.join(HERE, "plans", name), "vm/" + name[:-3], 0o755)
        if boot.judge:
            fs.file(os.path.join(HERE, "plans", "station.sh"), "vm/station.sh")
            for name in ("fcm-server", "fcmctl", "fcm-consumer"):
                fs.program(os.path.join(self.o.build, "bin", name), "vm/" + name)
            fs.program(os.path.join(self.o.build, "vm/bin/break_board"), "vm/break_board")
            fs.file(os.path.join(ROOT, "schemas/parameters.conf"), "vm/parameters.conf")
            fs.file(image.LEAP_SECONDS, image.LEAP_SECONDS)
        elif boot.plan != "systemd":
            fs.program(os.path.join(self.o.build, "bin", "nanet3-perf"), "vm/nanet3-perf")
            for name in DRIVER_TESTS if boot.plan != "bench" else ():
                where = "tests" if name.startswith("test_") else "vm/bin"
                fs.program(os.path.join(self.o.build, where, name), "vm/" + name)
        fs.write(f"{self.directory}/initramfs.cpio")

    def command(self, slower):
        boot, directory = self.boot, self.directory
        speed = self.o.speed or str(float(boot.speed) * (0.5 if self.o.debug else 1) * slower)
        self.speed = float(speed)
        append = f"{APPEND} {boot.append}"
        if self.o.debug:  # else 6.1 leaves bus errors to the firmware: debug.config has no ASPM
            append += " pcie_ports=native"
        if boot.plan == "inject":  # with ACPI, injected failures hit bugs of ACPI's own
            append += " acpi=off"
        emulator = [os.path.join(self.o.build, "bin", "nanet3-emu"), "--qemu", str(boot.memory)]
        if boot.boards > 1:
            emulator = [os.path.join(HERE, "boards.py"), str(boot.boards), str(boot.memory), emulator[0]]
        seed = f"{self.o.seed}{{n}}" if boot.boards > 1 else str(self.o.seed)  # boards have different seas
        emulator += ["--speed", speed, "--seed", seed, *boot.emulator]
        if boot.judge == "truth":
            emulator += ["--truth", os.path.join(directory, "truth-{n}.bin" if boot.boards > 1 else "truth.bin")]
        serial = []
        for name in ("console", "tap", "out.tar"):
            serial += ["-serial", f"file:{directory}/{name}"]
        monitor = ["-monitor", f"unix:{directory}/monitor,server=on,wait=off"]
        # A hung QEMU ignores SIGTERM.
        return ["timeout", "-k", "3", str(boot.limit * (2 if self.o.debug else 1) / slower + self.o.seconds), *emulator, "--", *QEMU, *boot.qemu,
                *serial, *monitor, "-kernel", self.kernel.image, "-initrd", f"{directory}/initramfs.cpio",
                "-append", append]

    def run(self):
        started = time.monotonic()
        guest = self.follow(self.command(1))
        if guest.too_slow and guest.failed:
            self.say("host too slow: once more, at half the pace")
            guest = self.follow(self.command(0.5))
        self.passed += guest.passed
        self.skipped += guest.skipped
        for failure in guest.failures:
            self.fail(failure)
        self.judge_log()
        if self.boot.judge == "truth" and guest.done:
            self.judge_truth()
        self.say(f"== {time.monotonic() - started:.0f} s, {guest.passed} passed, {guest.failed} failed")

    def stop(self):
        if self.child and self.child.poll() is None:
            os.killpg(self.child.pid, signal.SIGKILL)
            self.child.wait()

    def follow(self, command):
        guest = report.Guest()
        self.say(shlex.join(command))
        for leftover in os.listdir(self.directory):
            path = os.path.join(self.directory, leftover)
            if leftover != "initramfs.cpio" and not os.path.isdir(path):
                os.unlink(path)
        with open(f"{self.directory}/emu.log", "wb") as log:
            self.child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                          start_new_session=True)
        try:
            with open_when_there(f"{self.directory}/tap", self.child) as tap:
                self.follow_tap(guest, tap)
        finally:
            self.stop()
        if self.child.returncode in (124, 137):
            guest.failures.append(f"hung: ended by its limit, in {guest.program or 'init'}")
            guest.failed += 1
        guest.end()
        return guest

    def follow_tap(self, guest, tap):
        """Lines of the TAP port as they come, until the machine is off."""
        rest = ""
        while True:
            ended = self.child.poll() is not None
            text = tap.read()
            *lines, rest = (rest + text).split("\n")
            for line in lines:
                guest.line(line)
                if line.startswith("# monitor: "):
                    tell_monitor(f"{self.directory}/monitor", line[11:].strip())
                if self.o.verbose or not re.match(r"ok |1\.\.|# (begin|end) |#? *$", line):
                    self.say(line)
            if ended and not text:
                return
            if not text:
                time.sleep(0.1)

    # -- judgements
    def ok(self, what, good, why=""):
        if good:
            self.passed += 1
            if self.o.verbose:
                self.say(f"ok - {what}")
        else:
            self.fail(f"{what}{': ' if why else ''}{why}")

    def fail(self, what):
        self.failed += 1
        self.failures.append(f"{self.name}: {what}")

    def judge_log(self):
        boot = self.boot
        try:
            with open(f"{self.directory}/console", errors="replace") as f:
                log = f.read()
        except OSError:
            log = ""
        if boot.must_report:
            self.ok(f"the net catches the seeded bug ({boot.must_report})", re.search(boot.must_report, log))
            return
        found = report.kernel_reports(log, boot.meant)
        self.ok("the kernel's log has no report", "Linux version" in log and not found,
                "; ".join(found[:3]) or "no log")

    def judge_truth(self):
        with tarfile.open(f"{self.directory}/out.tar", ignore_zeros=True) as t:
            t.extractall(self.directory)
        if self.boot.boards == 1:
            self.judge_station(self.directory, "truth.bin")
        else:
            for n in range(self.boot.boards):
                self.judge_station(os.path.join(self.directory, str(n)), f"../truth-{n}.bin")

    def judge_station(self, directory, truth):
        """What a station's consumers recorded, frame by frame against what the floors sent."""
        records = sorted(os.path.join(directory, f) for f in os.listdir(directory) if f.endswith(".rec"))
        self.ok("consumers recorded", len(records) > 0)
        if not records:
            return
        r = subprocess.run([os.path.join(self.o.build, "bin", "truth-compare"), "--ledger", f"{directory}/station.db",
                            os.path.join(directory, truth), *records], capture_output=True, text=True, check=False)
        with open(f"{directory}/compare.txt", "w") as f:
            f.write(r.stdout + r.stderr)
        if self.o.verbose or r.returncode:
            self.say(r.stdout + r.stderr)
        self.ok("every delivered frame is the truth's, every other is named", r.returncode == 0)
        if self.boot.outage_s:
            self.judge_outages(directory)

    def judge_outages(self, directory):
        """No loss of the board lasts for more than its outage, a second of model time and the emulator's own lag."""
        with open(f"{self.directory}/emu.log", errors="replace") as f:
            lag = re.search(r"worst lag ([\d.]+) ms", f.read())
        limit = 8000 * (self.boot.outage_s + 1 + float(lag[1]) / 1000 * self.speed)
        records = consumer_record.read(f"{directory}/trigger.rec")
        records = records[records["status"] == consumer_record.GOOD]
        gaps = {}
        for link in range(4):
            steps = np.diff(np.unique(records["floor_frame"][records["link"] == link]).astype("i8"))
            gaps[link] = sorted((steps[steps > 1] - 1).tolist())
        self.say(f"frames lost in each loss of the board, by link: {gaps}")
        self.ok("all links lost frames equally often, and none for more than a second after the board's return",
                all(g and g[-1] <= limit for g in gaps.values()) and
                max(map(len, gaps.values())) - min(map(len, gaps.values())) <= 1,  # it may end in the middle of one
                f"limit {limit:.0f}")


def run_all(runs):
    """A guest keeps one core busy: as many at a time as there are cores."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as lanes:
        try:
            for done in [lanes.submit(run.run) for run in runs]:
                done.result()
        finally:  # ended in the middle of a boot, it must not leave a guest behind
            lanes.shutdown(wait=False, cancel_futures=True)
            for run in runs:
                run.stop()


def tell_monitor(path, command):
    """What a guest cannot do to its own machine: it asks, on its TAP port."""
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path)
        s.sendall(command.encode() + b"\n")
        time.sleep(0.2)


def open_when_there(path, child):
    while not os.path.exists(path) and child.poll() is None:
        time.sleep(0.05)
    if not os.path.exists(path):
        open(path, "w").close()
    return open(path, errors="replace")


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("boots", nargs="*", metavar="BOOT", help=", ".join(BOOTS))
    p.add_argument("--build", default="build")
    p.add_argument("--cache", required=True, help="kernels, made once")
    p.add_argument("--debug", action="store_true", help="the instrumented kernels")
    p.add_argument("--only", help="of each plan only this program")
    p.add_argument("--seconds", type=int, default=0, help="of fuzzing, of outages")
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--speed", help="model time, as of nanet3-emu")
    p.add_argument("-v", "--verbose", action="store_true", help="every result, not only what is wrong")
    o = p.parse_args()
    default = DEBUG if o.debug else STOCK
    boots = o.boots or default + tuple(f"{name}@{image.SERIES[1]}" for name in default)
    for name in boots:
        boot, _, series = name.partition("@")
        if boot not in BOOTS or series not in ("", *image.SERIES):
            p.error(f"no boot {name}; there are {', '.join(BOOTS)}, with @{' or @'.join(image.SERIES)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.makedirs(o.cache, exist_ok=True)
    try:
        series = [name.partition("@")[2] or image.SERIES[0] for name in boots]
        kernels = {s: Kernel(o, s) for s in set(series)}
        runs = [Run(name, kernels[s], o) for name, s in zip(boots, series)]
        for run in runs:
            run.prepare()
    except image.ImageError as e:
        sys.exit(f"vm: {e}")
    run_all(runs)
    for run in runs:
        for failure in run.failures:
            print(f"FAILED {failure}")
    passed, failed, skipped = (sum(getattr(run, what) for run in runs) for what in ("passed", "failed", "skipped"))
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    sys.exit(0 if passed > 0 and failed == 0 else 1)


if __name__ == "__main__":
    main()
