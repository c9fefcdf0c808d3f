#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Light and sound of beacons through a real station: times of hits and samples against positions and speeds."""
import collections
import json
import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import truth_file  # noqa: E402
from py_consumer import fcmdata  # noqa: E402
from truth_file import Truth  # noqa: E402

import fcm_data  # noqa: E402  (py_consumer has set the path)

FLOORS = (1, 2, 3, 4)
TICK_NS = 5  # of a hit's time
BEACONS = ["--beacons", "50", "--rate", "3000"]
SECONDS = 5
FAR_NS = 2000  # hits further away are not those of the light
LINGER_FRAMES = 4  # a hit waits in its FIFO, here, for less
WAIT = 40


def geometry(t):
    out = subprocess.run([os.path.join(t.bin, "nanet3-emu"), "--geometry"], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


class Places:
    """Distances by the positions that the emulator prints."""

    def __init__(self, g):
        def at(rows, *names):
            return {tuple(r[n] for n in names): np.array([r["x_m"], r["y_m"], r["z_m"]]) for r in rows}
        self.modules = at(g["modules"], "floor", "module")
        self.hydrophones = at(g["hydrophones"], "floor", "hydrophone")
        self.leds, self.pingers = at(g["led_beacons"], "led"), at(g["acoustic_beacons"], "pinger")
        self.light_m_per_ns, self.sound_m_per_s = g["light_m_per_ns"], g["sound_m_per_s"]

    def light_ns(self, led, floor, module):
        return np.linalg.norm(self.leds[led,] - self.modules[floor, module]) / self.light_m_per_ns

    def sound_ns(self, pinger, floor, hydrophone):
        return np.linalg.norm(self.pingers[pinger,] - self.hydrophones[floor, hydrophone]) / self.sound_m_per_s * 1e9


class Data:
    """What a monitor receives: times of hits by floor and module, samples by floor, the frames that came whole."""

    def __init__(self):
        self.hits = collections.defaultdict(list)
        self.frames = collections.defaultdict(list)  # by floor: (first, end) of pmt blocks
        self.sound = collections.defaultdict(list)   # by floor: (tai_ns, samples of both hydrophones)

    def take(self, block):
        """False: of no use, as it has no time or is not whole."""
        if block["frames_lost"] or block["frames_bad"] or set(block.flags()) & {"no-time", "gap"}:
            return False
        floor = block["floor"]
        if block.stream == "hydrophone":
            self.sound[floor].append((block["tai_ns"], [block.samples(h).copy() for h in range(2)]))
            return True
        self.frames[floor].append((block["first_frame"], block["first_frame"] + block.frames))
        for module in range(block.channels):
            hits = block.hits(module)
            frame = (hits["frame"].astype("i8") - block["first_frame"] + 4000) % 8000 - 4000  # from the block's first
            in_block = frame * fcm_data.FRAME_NS + hits["t5ns"].astype("i8") * TICK_NS
            self.hits[floor, module].append(block["tai_ns"] + in_block)
        return True

    def receive(self, st, seconds):
        """Blocks of so many seconds of the floors' time."""
        first = None
        with fcmdata.Monitor(st.monitor, topics=("pmt.", "hydrophone."), queue=4000) as monitor:
            while True:
                block = monitor.receive(timeout=WAIT)
                if block is None:
                    raise RuntimeError(f"no block for {WAIT} s")
                if not self.take(block):
                    continue
                first = first or block["tai_ns"]
                if block["tai_ns"] - first > seconds * 1e9:
                    break
        self.hits = {key: np.sort(np.concatenate(times)) for key, times in self.hits.items()}

    def has_frames(self, flashes):
        """Of flashes of the truth: whether the frames came that may carry their hits."""
        came = np.zeros(len(flashes), bool)
        for floor, blocks in self.frames.items():
            spans = []
            for first, end in sorted(blocks):
                if spans and spans[-1][1] == first:
                    spans[-1][1] = end
                else:
                    spans.append([first, end])
            for first, end in spans:
                came |= ((flashes["floor"] == floor) & (flashes["floor_frame"] >= first) &
                         (flashes["floor_frame"] + LINGER_FRAMES < end))
        return came

    def residuals(self, flashes, places):
        """By row: the time of the nearest hit - (flash + distance / velocity) in ns, NaN where no hit is near."""
        result = np.full(len(flashes), np.nan)
        for i, f in enumerate(flashes):
            times = self.hits[int(f["floor"]), int(f["module"])]
            wanted = int(f["flash_tai_ns"])
            way = places.light_ns(int(f["led"]), int(f["floor"]), int(f["module"]))
            at = np.searchsorted(times, wanted + int(way))
            near = times[max(at - 1, 0):at + 1] - wanted - way
            if len(near) and np.abs(near).min() < FAR_NS:
                result[i] = near[np.abs(near).argmin()]
        return result


def by_flash(flashes, residuals, module=0):
    """By floor: {flash: residual} of one module of it."""
    return {floor: {int(f["flash_tai_ns"]): r for f, r in zip(flashes, residuals)
                    if f["floor"] == floor and f["module"] == module} for floor in FLOORS}


def light(t, data, truth, places, spread_ns):
    flashes = truth.flashes()
    flashes = flashes[data.has_frames(flashes)]
    tripped = (flashes["floor"] == 2) & (flashes["module"] == 3)
    t.check("a module without HV sees no flash", len(flashes[tripped]) > 100 and
            (flashes["outcome"][tripped] == truth_file.OFF).all(), np.bincount(flashes["outcome"][tripped]))
    outcomes = {truth_file.OUTCOMES[n]: int((flashes["outcome"][~tripped] == n).sum()) for n in range(7)}
    t.check("the others see most of them, far ones not all", outcomes["hit"] > outcomes["dim"] > 100 and
            outcomes["off"] + outcomes["away"] + outcomes["full"] == 0, outcomes)
    hits = flashes[flashes["outcome"] == truth_file.HIT]
    ways = np.array([places.light_ns(int(f["led"]), int(f["floor"]), int(f["module"])) for f in hits])
    t.check("the truth's ways are distance / group velocity", np.abs(hits["travel_ps"] / 1000 - ways).max() < 0.01,
            np.abs(hits["travel_ps"] / 1000 - ways).max())
    residuals = data.residuals(hits, places)
    for floor in FLOORS:
        mine = residuals[hits["floor"] == floor]
        share = float((np.abs(mine) <= TICK_NS + 3 * spread_ns).mean())
        t.check(f"floor {floor}: {len(mine)} hits are in time, within 5 ns and 3 sigma of the light's spread",
                len(mine) > 1000 and share >= 0.99, f"{share:.4f} of {len(mine)}, median {np.nanmedian(mine)} ns")
    exact = residuals - hits["spread_ps"] / 1000
    good = float(((exact > -TICK_NS - 1) & (exact < 1)).mean())
    t.check("each is in the 5 ns in which its light comes", good >= 0.999, f"{good:.5f} of {len(exact)}")
    floors = by_flash(hits, residuals)
    for a, b in ((1, 2), (2, 3), (3, 4), (1, 4)):
        both = [floors[a][f] - floors[b][f] for f in floors[a].keys() & floors[b].keys()]
        share = float((np.abs(both) <= TICK_NS + 3 * 2 ** 0.5 * spread_ns).mean())
        t.check(f"floors {a} and {b} agree on {len(both)} flashes", len(both) > 100 and share >= 0.99, f"{share:.4f}")


def sound(t, data, truth, places, g):
    """The carrier of each ping begins where distance and speed of sound say: its phase tells, and when it is loud."""
    worst_ns, heard, silent = 0, 0, 0
    pings = truth.pings()
    for p in pings[pings["outcome"] == truth_file.HIT]:
        floor, hydrophone = int(p["floor"]), int(p["hydrophone"])
        arrival = int(p["ping_tai_ns"]) + round(places.sound_ns(int(p["pinger"]), floor, hydrophone))
        samples, begin_ns = around(data.sound[floor], hydrophone, arrival)
        if samples is None:
            continue
        at = (arrival - begin_ns) * g["sample_hz"] / 1e9
        first, count = int(np.ceil(at)), int(g["ping_ms"] * g["sample_hz"] / 1e3) - 1
        turns = (first + np.arange(count) - at) * g["ping_hz"] / g["sample_hz"]
        wave = samples[first:first + count].astype(float) @ np.exp(-2j * np.pi * turns)
        worst_ns = max(worst_ns, abs(np.angle(1j * wave)) / 2 / np.pi / g["ping_hz"] * 1e9)
        silent += np.abs(samples[first - 100:first]).max() < 40000 < np.abs(samples[first + 120:first + 800]).max()
        heard += 1
    t.check(f"{heard} pings are heard where sound has come in that time", heard > 20 and worst_ns < 1000,
            f"{worst_ns:.0f} ns")
    t.equal("not before", silent, heard)


def span_ns(samples):
    return len(samples) // fcm_data.SAMPLES_PER_FRAME * fcm_data.FRAME_NS


def around(blocks, hydrophone, arrival_ns):
    """Samples of one hydrophone from 2 ms before to 10 ms after, and the time of the first; None when not all came.
    Whole numbers: a float has no ns of TAI."""
    near = sorted(b for b in ((tai, s[hydrophone]) for tai, s in blocks)
                  if -20e6 < b[0] - arrival_ns < 15e6)
    joined = [np.zeros(0, "i4")]
    for (tai, samples), after in zip(near, near[1:] + [None]):
        joined.append(samples)
        if after and abs(tai + span_ns(samples) - after[0]) > 10:
            return None, 0
    joined = np.concatenate(joined)
    begin = near[0][0] if near else 0
    if begin > arrival_ns - 2e6 or begin + span_ns(joined) < arrival_ns + 10e6:
        return None, 0
    return joined, begin


def floors_agree(t):
    """hits of one flash agree between floors within 5 ns and the light's spread; pings come in time"""
    st = t.station(load="quiet", emulator_args=BEACONS, scenario=t.scenario("from data\nat 0 link 1 hv-trip 3\n"))
    st.start()
    st.wait_ready()
    data, g = Data(), geometry(t)
    data.receive(st, SECONDS)
    t.account(st)
    truth, places = Truth(st.path("truth.bin")), Places(g)
    light(t, data, truth, places, g["light_spread_ns"])
    sound(t, data, truth, places, g)


def a_wrong_delay_shows(t):
    """a cable delay that is wrong by 700 ns: this floor's hits, and no others, are late by that"""
    st = t.station(load="quiet", emulator_args=BEACONS)
    st.start_emulator()
    delays = [int(d) for d in st.cable_delays()]
    delays[2] += 700
    st.delays = delays
    st.start_gpsd()
    st.write_config()
    st.start_daemon()
    st.wait_ready()
    data = Data()
    data.receive(st, SECONDS / 2)
    t.equal("the daemon ends with 0", st.stop(), 0)
    flashes, places = Truth(st.path("truth.bin")).flashes(), Places(geometry(t))
    hits = flashes[data.has_frames(flashes) & (flashes["outcome"] == truth_file.HIT)]
    residuals = data.residuals(hits, places)
    for floor in FLOORS:
        median, wanted = float(np.nanmedian(residuals[hits["floor"] == floor])), 700 * (floor == 3) - TICK_NS / 2
        t.check(f"floor {floor}: off by {wanted:g} ns", abs(median - wanted) < 1, f"{median} ns")


def layout_agrees(t):
    """truth_file.py has the fields where C has them"""
    out = subprocess.run([os.path.join(t.bin, "data-layout")], capture_output=True, text=True, check=True)
    layout = json.loads(out.stdout)
    for name, dtype in (("truth_head", truth_file.head_dtype), ("truth_record", truth_file.record_dtype),
                        ("truth_light", truth_file.light_dtype)):
        t.equal(name, {f: [dtype.fields[f][1], dtype.fields[f][0].itemsize] for f in dtype.names},
                layout[name]["fields"])
        t.equal(f"{name}: size", dtype.itemsize, layout[name]["bytes"])
    t.equal("version", truth_file.VERSION, layout["numbers"]["truth_version"])


if __name__ == "__main__":
    harness.main([layout_agrees, floors_agree, a_wrong_delay_shows])
