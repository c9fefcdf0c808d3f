#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Coincidences between the modules of a floor: pairs of hits of two modules within a window, as a list and as a picture
of their time differences.

    coincidences.py build/run/recordings/NAME coincidences.png --csv coincidences.csv

In the CSV module_a has the earlier hit: difference_ns = time of module_b - time of module_a, 0 or more. The picture has
the time of the module with the higher number - that of the lower one.
"""
import csv

import numpy as np
from common import Missing, arguments, until_ctrl_c
from fcmdata import blocks_of, in_time_order
from matplotlib import pyplot as plt

TICK_NS = 5  # what the time of a hit counts


def pairs(hits, window_ns):
    """The earlier and the later hits of pairs of modules, within the window. `hits`: of one floor, in time order."""
    first, second = [np.zeros(0, int)], [np.zeros(0, int)]
    for step in range(1, len(hits)):  # each hit with the next one, with the one after that, ...
        near = np.flatnonzero(hits["tai_ns"][step:] - hits["tai_ns"][:-step] <= window_ns)
        if not len(near):
            break
        near = near[hits["module"][near] != hits["module"][near + step]]
        first.append(near)
        second.append(near + step)
    return hits[np.concatenate(first)], hits[np.concatenate(second)]


args = arguments(__doc__, ("csv", "/dev/null", "the list: floor, TAI ns of the earlier hit, modules, b - a in ns"),
                 ("window", 100, "ns"))
edges, counts = np.arange(-args.window, args.window + TICK_NS + 1, TICK_NS) - TICK_NS / 2, {}
missing = Missing()
with open(args.csv, "w", newline="") as out:
    table = csv.writer(out)
    table.writerow(["floor", "tai_ns", "module_a", "module_b", "difference_ns"])
    for block in until_ctrl_c(blocks_of(args.where, streams="pmt", seconds=args.seconds)):
        missing.add(block)
        if not block.has_time:
            continue
        a, b = pairs(in_time_order(block.hits()), args.window)
        late = b["tai_ns"] - a["tai_ns"]
        table.writerows(zip([block["floor"]] * len(a), a["tai_ns"], a["module"], b["module"], late))
        signed = np.where(a["module"] < b["module"], late, -late)  # the higher module's time - the lower one's
        counts[block["floor"]] = counts.get(block["floor"], 0) + np.histogram(signed, edges)[0]

for floor, n in sorted(counts.items()):
    print(f"floor {floor}: {n.sum()} coincidences within {args.window} ns")
    plt.stairs(n, edges, label=f"floor {floor}")
print(missing)
plt.gca().set(xlabel="time difference (ns)", ylabel=f"pairs of hits per {TICK_NS} ns")
plt.legend()
plt.savefig(args.png, bbox_inches="tight")
