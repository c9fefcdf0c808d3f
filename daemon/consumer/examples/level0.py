#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A level-0 trigger: hits of some modules, of any floors, within a window; and which flashes of the beacons it finds.

    level0.py build/run/recordings/NAME level0.png --flashes flashes.txt
"""
import numpy as np
from common import arguments, reading, until_ctrl_c
from fcm_data import FRAME_NS
from fcmdata import blocks_of, datetime64_of, in_time_order
from matplotlib import pyplot as plt

WINDOW_NS, LIGHT_NS, LATE_NS = 350, 1000, 5_000_000  # of a trigger, of a flash's light, until a hit comes: at most


def pieces(args, holes):
    """(hits of all floors in time order, begin, end): what begins in [begin, end) has all its hits in the piece."""
    first, seen, later, begin = {}, {}, [], None
    blocks = (b for b in until_ctrl_c(blocks_of(args.where, "pmt", args.seconds)) if b.has_time)
    while some := [b for _, b in zip(range(100), blocks)]:
        for block, tai, f in ((b, b["tai_ns"], b["floor"]) for b in some):
            first.setdefault(f, tai + block.edge_begin * FRAME_NS)  # the edges: where a recording is cut
            seen[f] = tai + (block.frames - block.edge_end) * FRAME_NS
            if not block.missing()["edge"].all():
                holes.append((tai - block.gap_frames * FRAME_NS - LATE_NS, seen[f], f"floor {f} lacks frames"))
        begin, hits = begin or max(first.values()), in_time_order(np.concatenate([*later, *(b.hits() for b in some)]))
        yield hits, begin, (end := max(begin, min(seen.values()) - LATE_NS))
        later, begin = [hits[hits["tai_ns"] >= end]], end


def triggers(t, module, begin, end, least):
    last = np.searchsorted(t, t + WINDOW_NS, "right")
    for i in np.flatnonzero((last - np.arange(len(t)) >= least) & (t >= begin) & (t < end)):
        if t[i] >= begin and (n := len(set(module[i:last[i]]))) >= least:
            yield t[i], n
            begin = t[last[i] - 1] + 1  # the next one has other hits


args = arguments(__doc__, ("modules", 4, "with hits"), ("flashes", "/dev/null", "lines: TAI of a known flash in ns"))
with reading(args.flashes, "a list of flashes by their TAI in ns") as text:
    flashes, holes, found, known, span = np.loadtxt(text.splitlines(), np.int64, usecols=0, ndmin=1), [], [], {}, []
for hits, begin, end in pieces(args, holes):
    t, module, span = hits["tai_ns"], hits["floor"].astype(int) * 6 + hits["module"], [*span, begin, end]
    found += triggers(t, module, begin, end, args.modules)
    known |= {f: len(set(module[slice(*np.searchsorted(t, (f, f + LIGHT_NS)))]))
              for f in flashes[(flashes >= begin) & (flashes < end)]}
times, at = np.array([t for t, _ in found], np.int64), np.array([*known], np.int64)
hit = np.searchsorted(times, at + LIGHT_NS) - np.searchsorted(times, at - WINDOW_NS)  # how often each flash
whys = [next((why for a, b, why in holes if a <= f < b), f"{known[f]} modules saw it") for f in at[hit == 0]]
for why in sorted(set(whys)):
    print(f"missed: {whys.count(why)}: {why}")
if len(flashes) and span and not known:
    a, b, c, d = datetime64_of([flashes.min(), flashes.max(), span[0], span[-1]]).astype("datetime64[s]")
    raise SystemExit(f"level0.py: {args.flashes} covers {a} to {b}, the data {c} to {d}: nothing to compare")
print(f"{len(found)} triggers; {len(at)} known flashes, {(hit > 0).sum()} of them found; of the triggers "
      f"{hit[hit > 0].sum() - (hit > 0).sum()} are later hits of such a flash, {len(found) - hit.sum()} of no flash")
plt.hist([n for _, n in found], np.arange(args.modules, 26) - 0.5)
plt.gca().set(xlabel="modules with hits in a trigger", ylabel="triggers", yscale="log")
plt.savefig(args.png, bbox_inches="tight")
