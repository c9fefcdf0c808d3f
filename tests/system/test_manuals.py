#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""What the manual pages of the programs around the daemon show to be typed, typed on a station, and the configurations
that they show, read by what reads them. A display that is added to a page fails until PAGES names what takes it, or the
reason why it is not typed.
fcmctl(1) is typed by test_readme.py."""
import filecmp
import os
import re
import signal
import socket
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import station  # noqa: E402
from page_server import RULES, promtool  # noqa: E402
from test_readme import commands, typed  # noqa: E402

DISPLAY = re.compile(r"(?ms)^\.Bd -literal[^\n]*\n(.*?)^\.Ed$|^\.Dl ([^\n]*)$")
# What a command prints, and the file that is there then. Exit status 1 of fcm-convert says that frames are missing.
SHOWS = {
    "fcm-convert --cells": (r"", "storm.h5"),
    "fcm-convert storm.h5": (r"", "storm-again/recording.json"),
    "fcm-convert --streams": (r"", "ten.h5"),
    "fcm-convert --seconds": (r"", "now-T01F01H0.flac"),
    "nanet3-perf selftest": (r"(?m)^ +\d+ +\d+ +0 +1$", None),
    "nanet3-perf latency --sizes": (r"(?m)^ +65536 ", "latency.gp.svg"),
    "nanet3-perf latency unix:": (r"#", None),
}
NOT_TYPED = {"systemctl status nanet3-selftest@0": "of an installed system"}


class Desk:
    """A directory with a station, and a shell that has the programs of the tree."""

    def __init__(self, t):
        self.t, self.st, self.dir = t, t.station(load="quiet", truth=False), os.path.join(t.base, "desk")
        os.mkdir(self.dir)
        os.symlink(os.path.join(harness.ROOT, "tests"), os.path.join(self.dir, "tests"))
        self.env = {"PATH": ":".join([os.path.abspath(t.bin), os.environ["PATH"], "/usr/sbin"])}

    def path(self, name):
        return os.path.join(self.dir, name)

    def here(self, text):
        """As it is typed here: with places, board and port of this station, and shorter."""
        board = f"unix:{self.st.path('board.sock')}"
        for was, now in ((r"/var/lib/fcm-server/0/recordings/storm", self.st.path("recordings/storm")),
                         (r"(?<=--until \+70 )storm", self.st.path("recordings/storm")),
                         (r"--from \+60 --until \+70", "--from +0 --until +70"), (r"--seconds 60", "--seconds 2"),
                         (r"tcp://127\.0\.0\.1:5730", self.st.monitor or ""), (r"--board 0", board),
                         (r"(?<=nanet3-perf latency )(?=--sizes)", f"{board} "), (r"--count 100000", "--count 200"),
                         (r"unix:/run/nanet3/0", board), (r"/tmp/", f"{self.dir}/"),
                         (r"/usr/share/fcm-server/(?=fcm\.rules)", f"{os.path.dirname(RULES)}/")):
            text = re.sub(was, now, text)
        return text

    def write(self, name, text):
        with open(self.path(name), "w") as f:
            f.write(text)
        return self.path(name)


def displays(page):
    """What a manual page shows, in its order."""
    with open(os.path.join(harness.ROOT, page)) as f:
        found = DISPLAY.findall(f.read())
    return [re.sub(r"\\&", "", block or line).replace(r"\e", "\\") for block, line in found]


def shell(desk, page, text):
    """commands, each of which prints what SHOWS says and makes its file"""
    for command in commands(text):
        if command in NOT_TYPED:
            continue
        shows, made = next((v for s, v in SHOWS.items() if command.startswith(s)), (None, None))
        code, out, err = typed(["bash", "-c", desk.here(command)], desk.env, desk.dir)
        desk.t.check(f"{page}: {command}", code in ((0, 1) if command.startswith("fcm-convert") else (0,)) and
                     shows is not None and re.search(shows, out) and (made is None or os.path.exists(desk.path(made))),
                     (shows, made, code, out[-500:], err[-500:]))


def convert(desk, page, text):
    """as shell(); what comes back from HDF5 is the recording itself"""
    shell(desk, page, text)
    names = os.listdir(desk.st.path("recordings/storm"))
    same, *others = filecmp.cmpfiles(desk.st.path("recordings/storm"), desk.path("storm-again"), names, shallow=False)
    desk.t.check(f"{page}: the same files, byte by byte", len(same) > 1 and not any(others), (same, others))


def python(desk, page, text):
    """a program that prints tables"""
    code, out, err = typed(["/usr/bin/python3", "-c", text], desk.env, desk.dir)
    desk.t.check(f"{page}: the program prints hits and what is missing", code == 0 and
                 re.search(r"(?s)tai_ns +floor.*tai_ns +first_frame", out), (code, out, err))


def tells_time(port):
    """Whether gpsd does, within two seconds."""
    try:
        with socket.create_connection(("127.0.0.1", port), 2) as s, s.makefile() as said:
            s.sendall(b'?WATCH={"enable":true,"json":true};\n')
            return any('"class":"TPV"' in line and '"time":"' in line for line in said)
    except OSError:
        return False


def emulator_and_gpsd(desk, page, text):
    """a board, and gpsd, which gets the time from its receiver"""
    desk.st.stop()  # two boards are much for a small machine
    port, receiver = station.free_port(), station.free_port(socket.SOCK_DGRAM)
    lines = desk.here(text).replace("2950", str(port)).replace("2951", str(receiver))
    with open(desk.path("emulator.log"), "w") as log, subprocess.Popen(
            ["bash", "-c", lines], cwd=desk.dir, env={**os.environ, **desk.env}, stdin=subprocess.DEVNULL, stdout=log,
            stderr=log, start_new_session=True) as p:
        try:
            desk.st.wait_for("gpsd tells the time", lambda: tells_time(port))
        finally:
            os.killpg(p.pid, signal.SIGTERM)
    with open(desk.path("emulator.log")) as f:
        said = f.read()
    desk.t.check(f"{page}: a board with a scenario, and its gpsd", f"ready {desk.dir}/board.sock" in said, said)


def notices(desk, page, text):
    """a configuration that fcm-notify accepts"""
    path = desk.write("notify.conf", text)
    code, out, err = typed(["fcm-notify", "--check-config", "--config", path], desk.env)
    desk.t.check(f"{page}: fcm-notify accepts the receivers", code == 0 and "3 receivers" in out + err,
                 (code, out, err))


def prometheus(desk, page, text):
    """a configuration that Prometheus accepts, with the rules"""
    good, said = promtool("check", "config", desk.write("prometheus.yml", desk.here(text)))
    desk.t.check(f"{page}: promtool accepts the configuration", good, said)


# By page what takes its displays, in their order; or why they are not typed.
PAGES = {
    "daemon/convert/fcm-convert.1": [convert, python],
    "driver/perf/nanet3-perf.1": [shell],
    "driver/emu/nanet3-emu.1": ["a grammar", "as root, a setting of the machine: tests/setup/setup.sh has it",
                                emulator_and_gpsd, "it waits for a reader: test_play.py plays so", "a guest: make check-vm"],
    "slowctl/notify/fcm-notify.8": [notices, "of an installed system"],
    "slowctl/page/fcm-page.8": [prometheus, "from another machine",
                                "groups of an installed system; test_books.py reads the keys"],
    "training/fcm-server-emulator.1": ["of an installed system", "test_training.py starts, uses and stops one"],
}


def every_display_is_taken(t):
    """each display of the pages is typed by the next case or has a reason why not; what is named here is on a page"""
    t.equal("displays by page", {page: len(displays(page)) for page in PAGES},
            {page: len(takers) for page, takers in PAGES.items()})
    lines = [c for page, takers in PAGES.items() for take, text in zip(takers, displays(page))
             if take in (shell, convert) for c in commands(text)]
    t.equal("named, but on no page", [s for s in SHOWS if not any(c.startswith(s) for c in lines)] +
            [c for c in NOT_TYPED if c not in lines], [])


def typed_pages(t):
    """every display of the pages, from the top"""
    desk = Desk(t)
    desk.st.start(consumers=False)
    desk.st.wait_ready()
    desk.st.ask("record", "start", "--links", "0,1", "--name", "storm")
    desk.st.wait_for("enough of it", lambda: desk.st.status()["recording"]["frames"] > 2 * 4000)
    desk.st.ask("record", "stop")
    for page, takers in PAGES.items():
        for take, text in zip(takers, displays(page)):
            if callable(take):
                take(desk, page, text)


if __name__ == "__main__":
    harness.main([every_display_is_taken, typed_pages])
