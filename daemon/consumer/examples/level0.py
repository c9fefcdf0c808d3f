#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A level-0 trigger: hits of some modules, of any floors, within a window; and which flashes of the beacons it finds.

    level0.py build/run/recordings/NAME level0.png --flashes flashes.txt
"""
import numpy as np
from common import arguments
from fcm_data import FRAME_NS
from fcmdata import blocks_of, datetime64_of, in_time_order
from matplotlib import pyplot as plt

WINDOW_NS, LIGHT_NS, LATE_NS = 350, 1000, 5_000_000  # of a trigger, of a flash's light, until a hit comes: at most


def pieces(args, holes):
    """(hits of all floors in time order, begin, end): what begins in [begin, end) has all its hits in the piece."""
    first, seen, waiting, begin = {}, {}, [], None
    for block in (b for b in blocks_of(args.where, "pmt", args.seconds) if b.has_time):
        tai, floor = block["tai_ns"], block["floor"]
        seen[floor], first[floor] = tai + block.frames * FRAME_NS, first.get(floor, tai)
        waiting.append(block.hits())
        if block.gap_frames or block["frames_lost"] or block["frames_bad"]:
            holes.append((tai - block.gap_frames * FRAME_NS - LATE_NS, seen[floor], f"floor {floor} lacks frames"))
        if len(waiting) > 100:
            begin = max(first.values()) if begin is None else begin
            hits, end = in_time_order(np.concatenate(waiting)), max(begin, min(seen.values()) - LATE_NS)
            yield hits, begin, end
            waiting, begin = [hits[hits["tai_ns"] >= end]], end


def triggers(t, module, begin, end, least):
    last = np.searchsorted(t, t + WINDOW_NS, "right")
    for i in np.flatnonzero((last - np.arange(len(t)) >= least) & (t >= begin) & (t < end)):
        if t[i] >= begin and (n := len(set(module[i:last[i]]))) >= least:
            yield t[i], n
            begin = t[last[i] - 1] + 1  # the next one has other hits


args = arguments(__doc__, ("modules", 4, "with hits"), ("flashes", "/dev/null", "lines: TAI of a known flash in ns"))
flashes, holes, found, known, span = np.loadtxt(args.flashes, np.int64, usecols=0, ndmin=1), [], [], [], []
for hits, begin, end in pieces(args, holes):
    span += [begin, end]
    t, module = hits["tai_ns"], hits["floor"].astype(int) * 6 + hits["module"]
    found += triggers(t, module, begin, end, args.modules)
    for flash in flashes[(flashes >= begin) & (flashes < end)]:
        lit = set(module[slice(*np.searchsorted(t, (flash, flash + LIGHT_NS)))])
        known.append((flash, f"{len(lit)} modules saw it"))
times = np.array([t for t, _ in found], np.int64)
missed = [(flash, next((text for begin, end, text in holes if begin <= flash < end), why)) for flash, why in known
          if np.searchsorted(times, flash + LIGHT_NS) == np.searchsorted(times, flash - WINDOW_NS)]
print(*(f"missed: {datetime64_of(flash)}: {why}\n" for flash, why in missed), sep="", end="")
if len(flashes) and span and not known:
    a, b, c, d = datetime64_of([flashes.min(), flashes.max(), span[0], span[-1]]).astype("datetime64[s]")
    raise SystemExit(f"level0.py: {args.flashes} covers {a} to {b}, the data {c} to {d}: nothing to compare")
print(f"{len(found)} triggers; {len(known)} known flashes, {len(known) - len(missed)} of them found")
plt.hist([n for _, n in found], np.arange(args.modules, 26) - 0.5)
plt.gca().set(xlabel="modules with hits in a trigger", ylabel="triggers", yscale="log")
plt.savefig(args.png, bbox_inches="tight")
