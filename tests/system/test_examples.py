#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""TEN_MINUTES.md, typed word for word on a station: every command and every program works, and each example finds
what the model put into the sea: the rates, the flashes of the beacons, the positions of the pingers."""
import ast
import csv
import filecmp
import os
import re
import subprocess
import sys

import h5py

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from test_readme import Reader, blocks, commands, exit_codes, typed  # noqa: E402

PAGE = "daemon/consumer/TEN_MINUTES.md"
CONSUMER = os.path.join(harness.ROOT, "daemon", "consumer")
EXAMPLES = os.path.join(CONSUMER, "examples")
ENV = {"PYTHONPATH": "daemon/consumer:schemas"}
STATION, STATION_ARGS = "make run", ["--rate", "3000", "--beacons", "50"]
LOOK = "/usr/bin/python3 build/look.py"
LINES, LINES_SHARED = 60, 90
PNG = b"\x89PNG\r\n\x1a\n"
FLOORS, MODULES = 4, 6


def programs():
    return sorted(name for name in os.listdir(EXAMPLES) if os.access(os.path.join(EXAMPLES, name), os.X_OK))


class Physicist(Reader):
    """Types the page from its top, in one shell: what is set stays."""

    def __init__(self, t):
        super().__init__(t, emulator_args=STATION_ARGS)
        self.said = {}  # by program: what it printed

    def command(self, section, line):
        if line.startswith(STATION):
            self.t.check("the page's station is this one", " ".join(STATION_ARGS) in line, line)
            return
        if re.match(r"alias |export |\w+=", line):
            self.aliases.append(line)
            return
        code, out, err = self.types(line)
        self.said[line.split()[0].rpartition("/")[2]] = out
        quiet = re.search(r">build|fcm-convert|sleep|^g\+\+ ", line)
        self.t.check(f"{section}: {line}", code in ((0,) if "|" in line else exit_codes(line)) and (out or quiet) and
                     "Traceback" not in err, (code, out[-300:], err[-800:]))

    def source(self, text):
        with open(os.path.join(self.tree, "build", "look.cpp"), "w") as f:
            f.write(text)

    def program(self, section, text):
        with open(os.path.join(self.tree, "build", "look.py"), "w") as f:
            f.write(self.with_ports(text))
        code, out, err = typed(LOOK.split(), ENV, self.tree)
        self.t.check(f"{section}: the program ({text.splitlines()[0]})", code == 0 and out and not err,
                     (code, out[-300:], err[-800:]))


def without_library(t):
    if t.sanitized:
        t.check("an instrumented library is not for Python", True)
    return t.sanitized


def picture(t, r, name):
    path = os.path.join(r.tree, "build", f"{name}.png")
    with open(path, "rb") as f:
        head = f.read(len(PNG))
    t.check(f"{name}.png is a picture", head == PNG and os.path.getsize(path) > 8000, os.path.getsize(path))


def number(pattern, text):
    """nan: it is not there, and no comparison holds."""
    found = re.search(pattern, text)
    return float(found[1] if found else "nan")


def rates_agree(t, text):
    rates = [[float(x) for x in re.findall(r"\d+\.\d", line.split("floor")[1])] for line in text.splitlines()]
    t.check(f"rates of {len(rates)} floors in 10 seconds, of six modules each", len(rates) == 10 * FLOORS and
            {len(x) for x in rates} == {MODULES}, text[:500])
    flat = [x for row in rates for x in row]
    t.check("each is near the 3 kHz of the sea", all(1.5 < x < 6 for x in flat), (min(flat), max(flat)))


def flashes_are_found(t, text):
    known = number(r"(\d+) known flashes", text)
    found = number(r"(\d+) of them found", text)
    reasons = re.findall(r"^missed: (\d+): (\d+ modules saw it|floor \d+ lacks frames)$", text, re.M)
    whole = known - sum(int(n) for n, why in reasons if "lacks" in why)  # on a busy host the recorder lets frames go
    t.check(f"level0.py finds {found:g} of {known:g} flashes, at least 99 % of the {whole:g} whose frames are there",
            whole > 800 and found >= 0.99 * whole, text[-800:])
    t.equal("each of the others has its reason", sum(int(n) for n, _ in reasons), known - found)
    again, none = number(r"(\d+) are later hits", text), number(r"(\d+) of no flash", text)
    t.check("each trigger is the first or a later one of a flash, or of none", again >= 0 and none >= 0 and
            number(r"(\d+) triggers", text) == found + again + none, text[-400:])


def positions_are_right(t, text):
    off = [float(x) for x in re.findall(r"T\d\d:\d\d:\d\d pinger \d: .*, (\S+) m from where it is", text)]
    worst = max(off, default=99)
    t.check(f"positions.py: {len(off)} pings, the worst {worst} m off", len(off) >= 4 and worst < 0.1, text)


def coincidences_agree(t, r):
    with open(os.path.join(r.tree, "build", "coincidences.csv")) as f:
        rows = list(csv.DictReader(f))
    t.check(f"coincidences.csv: {len(rows)} pairs of two modules within 100 ns",
            len(rows) > 1000 and all(row["module_a"] != row["module_b"] and 0 <= int(row["difference_ns"]) <= 100
                                     for row in rows), rows[:3])
    sums = sum(int(n) for n in re.findall(r": (\d+) coincidences", r.said["coincidences.py"]))
    t.equal("as many as it says", len(rows), sums)


def slices_are_whole(t, text):
    numbers = [int(n) for n in re.findall(r"^slice (\d+):", text, re.M)]
    missing = [int(n) for n in re.findall(r"(\d+) frames are missing", text)]
    t.check(f"slices.py: {len(numbers)} slices, each once", len(numbers) == 10 == len(set(numbers)), text)
    t.check("all but the first and the last are whole", not any(sorted(missing)[:-2]), missing)
    t.check("the station's own member, which has less credit, gets no second slice of them",
            numbers and max(numbers) - min(numbers) < 15, numbers)


def recording_of(r):
    made = r.st.path("recordings")
    return os.path.join(made, next(name for name in os.listdir(made) if name.startswith("2")))  # no black box


def whole_recording(t, r):
    """What reads a recording reads all of it, or says how much."""
    with h5py.File(os.path.join(r.tree, "build", "data.h5")) as f:
        hits = len(f["hits/charge"])
    t.equal("charges.py has all hits of the recording", number(r"(\d+) hits", r.said["charges.py"]), hits)
    with open(os.path.join(CONSUMER, "fcmdata.3")) as f:
        text = re.search(r"^#include .*?^}$", f.read(), re.M | re.S)[0].replace("\\e", "\\")
    source, program = os.path.join(t.base, "manual.c"), os.path.join(t.base, "manual")
    with open(source, "w") as f:
        f.write(text.replace("<fcmdata/fcmdata.h>", '"daemon/consumer/fcmdata.h"'))
    made = typed(["gcc", "-Wall", "-Wextra", "-I.", source, "build/lib/libfcmdata.a", "-lzmq", "-ljansson", "-lisal",
                  "-o", program], cwd=r.tree)
    t.equal("the program of fcmdata(3)", made if made[0] else typed([program, recording_of(r)]),
            (0, f"{hits} hits\n", ""))
    say = [os.path.join(EXAMPLES, "spectrogram.py"), recording_of(r), os.path.join(t.base, "x.png")]
    code, _, err = typed(say, ENV)
    t.check("spectrogram.py says what it has read", code == 0 and re.search(r": the first 5 s of \d+\.\d s; ", err),
            err)
    t.equal("with --seconds it has nothing to say", typed([*say, "--seconds", "2"], ENV)[2], "")
    pipe = f"{EXAMPLES}/rates.py '{recording_of(r)}' {t.base}/x.png | head -1"
    code, out, err = typed(["bash", "-c", pipe], ENV)
    t.check("a pipe that is closed ends it quietly", code == 0 and out.count("\n") == 1 and not err, (code, out, err))


def wrong_uses(t, r):
    """Another port of the station; flashes of another day."""
    png, flashes = os.path.join(t.base, "x.png"), os.path.join(t.base, "flashes.txt")
    code, _, err = typed([os.path.join(EXAMPLES, "rates.py"), r.st.reserved, png], ENV)
    t.check("rates.py at the consumers' door", code == 1 and "monitors have port 5730 + board number" in
            err.splitlines()[0] and "nobody" not in err, (code, err))
    code, _, err = typed([os.path.join(EXAMPLES, "slices.py"), r.st.reserved, png, "--group", "none"], ENV)
    t.check("slices.py with a group that is not there", code == 1 and err.startswith("slices.py: no-such-group: ") and
            err.count("\n") == 1, (code, err))
    with open(flashes, "w") as f:
        f.write("1795866379000111170 0\n1795866379005075287 1\n".replace("17958", "16958"))
    code, out, err = typed([os.path.join(EXAMPLES, "level0.py"), recording_of(r), png, "--flashes", flashes], ENV)
    t.check("level0.py with flashes of another day", code == 1 and "nothing to compare" in err and not out, (out, err))
    for name, option, text in (("level0.py", "--flashes", "{}"), ("level0.py", "--flashes", "\xff\0"),
                               ("positions.py", "--geometry", "{}"), ("positions.py", "--geometry", "[1]"),
                               ("positions.py", "--geometry", '{"acoustic_beacons": []')):
        other = os.path.join(t.base, "other")
        with open(other, "w", encoding="latin-1") as f:
            f.write(text)
        code, out, err = typed([os.path.join(EXAMPLES, name), recording_of(r), png, option, other], ENV)
        t.check(f"{name} {option} with {text!r}", code == 1 and err.startswith(f"{name}: {other} is not ") and
                err.count("\n") == 1 and not out, (code, out, err))


def live_views_end(t, r):
    """Ctrl-C in a live view, or its station ends: the picture is drawn of what has come."""
    png = os.path.join(t.base, "interrupted.png")
    live = [os.path.join(EXAMPLES, "rates.py"), r.st.monitor, png, "--seconds", "600"]
    code, out, err = typed(live, ENV, until=r"(?s)(floor.*){8}", again_s=60)
    t.check("rates.py is interrupted", code is None and not err, (code, out, err))
    t.check("its picture is there", os.path.exists(png) and os.path.getsize(png) > 8000)
    os.unlink(png)
    env = {**os.environ, **ENV}
    with subprocess.Popen(live, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as p:
        for _ in range(2 * FLOORS):
            p.stdout.readline()
        t.equal("the station ends with 0", r.st.stop(), 0)
        _, err = p.communicate(timeout=120)
    t.check("rates.py says that no block comes", p.returncode == 0 and re.fullmatch("rates.py: .*: no block for .*\n", err),
            (p.returncode, err))
    t.check("the picture of before is there", os.path.exists(png) and os.path.getsize(png) > 8000)


def two_members(t, r):
    """Two slices.py of different names share the slices."""
    command = [os.path.join(EXAMPLES, "slices.py"), r.st.reserved, "--slices", "8"]
    both = [subprocess.Popen([*command, os.path.join(t.base, f"{name}.png"), "--name", name], env={**os.environ, **ENV},
                             stdout=subprocess.PIPE, text=True) for name in ("first", "second")]
    said = [p.communicate(timeout=120)[0] for p in both]
    numbers = [re.findall(r"^slice (\d+):", text, re.M) for text in said]
    t.equal("both end", [p.returncode for p in both], [0, 0])
    t.check("each slice is at one of them only", len(set(numbers[0] + numbers[1])) == 16, said)


def layout(t, r):
    """The program of LAYOUT.md, with the page's file."""
    with open(os.path.join(harness.ROOT, "daemon", "convert", "LAYOUT.md")) as f:
        program = re.search(r"```python\n(.*?)```", f.read(), re.S)[1]
    there = os.path.join(r.tree, "build", "data.h5")
    code, out, err = typed([sys.executable, "-c", program.replace("run.h5", there)], ENV)
    t.check("the program of LAYOUT.md", code == 0 and "EMULATED" in out and "first_frame" in out and not err,
            (code, out[-500:], err[-800:]))


def back_again(t, r):
    with open(os.path.join(harness.ROOT, PAGE)) as f:
        page = f.read()
    t.equal("the page says how its programs are run", page.count(f"`{LOOK}`"), page.count("```python"))
    t.check("$recording is quoted: its name may have blanks", not re.search(r'(?<!")\$recording', page))
    recording = recording_of(r)
    names = sorted(os.listdir(recording))
    t.equal("build/back is the recording", filecmp.cmpfiles(recording, os.path.join(r.tree, "build", "back"), names,
                                                            shallow=False), (names, [], []))


def ten_minutes(t):
    """the page from its top to its end; what the examples say is what is there"""
    if without_library(t):
        return
    r = Physicist(t)
    for block in blocks(PAGE):
        if block.language == "python":
            r.program(block.section, block.text)
        elif block.language == "cpp":
            r.source(block.text)
        else:
            for line in commands(block.text):
                r.command(block.section, line)
    for name in programs():
        t.check(f"{name} is on the page", name in r.said)
        picture(t, r, name[:-3])
    rates_agree(t, r.said["rates.py"])
    wrong_uses(t, r)
    two_members(t, r)
    layout(t, r)
    live_views_end(t, r)
    back_again(t, r)
    whole_recording(t, r)
    flashes_are_found(t, r.said["level0.py"])
    positions_are_right(t, r.said["positions.py"])
    coincidences_agree(t, r)
    slices_are_whole(t, r.said["slices.py"])
    t.check("phase.py has seconds of the phase", number(r"(\d+) seconds", r.said["phase.py"]) > 10,
            r.said["phase.py"])
    t.check("spectrogram.py misses few samples", number(r"(\d+) are missing", r.said["spectrogram.py"]) < 10000,
            r.said["spectrogram.py"])
    with open(r.st.path("daemon.log")) as log:  # 400 MB/s, to a disk that may be in memory
        r.st.host_too_slow = r.st.host_too_slow or "the recorder did not keep up" in log.read()


def short(t):
    """each example has fewer than 60 lines, what they share fewer than 90; each says how it is called"""
    for name in os.listdir(EXAMPLES):
        if name.endswith(".py"):
            with open(os.path.join(EXAMPLES, name)) as f:
                text = f.read()
            t.check(f"{name}: {text.count(chr(10))} lines", text.count("\n") < (LINES_SHARED if name == "common.py" else LINES))
            says = ast.get_docstring(ast.parse(text), clean=False)
            t.check(f"{name}: its text says how it is called", name == "common.py" or f"    {name} " in says)


def troubles(t):
    """a wrong name, a station that is not there: one line says it"""
    if without_library(t):
        return
    hdf5 = os.path.join(t.base, "data.h5")
    with open(hdf5, "wb") as f:
        f.write(b"\x89HDF\r\n\x1a\n" + bytes(1000))
    for name, where, says in (("charges.py", "/nowhere", "No such file"),
                              ("charges.py", hdf5, "is an HDF5 file: open it"),
                              ("rates.py", "127.0.0.1:5730", "an endpoint is tcp://127.0.0.1:5730"),
                              ("rates.py", "tcp://127.0.0.1:1", "no block for"),
                              ("rates.py", "tcp://127.0.0.1", "endpoint tcp://127.0.0.1: "),
                              ("slices.py", "tcp://127.0.0.1", "endpoint tcp://127.0.0.1: ")):
        code, _, err = typed([os.path.join(EXAMPLES, name), where, os.path.join(t.base, "x.png")], ENV)
        t.check(f"{name} {where}: {says}", code == 1 and says in (err.splitlines() or [""])[-1] and
                all(line.startswith(f"{name}: ") for line in err.splitlines()), (code, err))


if __name__ == "__main__":
    harness.main([short, troubles, ten_minutes])
