#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""The rate of each optical module in each whole second, live or of a recording; a picture at the end.

    rates.py tcp://127.0.0.1:5730 rates.png --seconds 20
"""
import collections

import numpy as np
from common import arguments, until_ctrl_c
from fcmdata import blocks_of, datetime64_of
from matplotlib import pyplot as plt

FRAME_S = 125e-6
counts = collections.defaultdict(lambda: np.zeros(7))  # by (second, floor): hits of modules 0..5, and good seconds


def show(second):
    for (when, floor), row in sorted(counts.items()):
        if first < when == second and row[6]:
            print(f"{datetime64_of(second * 10**9).astype('datetime64[s]')}  floor {floor:2}",
                  *(f"{n / row[6] / 1e3:7.1f}" for n in row[:6]), " kHz", flush=True)


args, first, newest = arguments(__doc__), None, None
seconds = args.seconds and args.seconds + 1  # they begin and end inside a second
for block in until_ctrl_c(blocks_of(args.where, streams="pmt", seconds=seconds)):
    if not block.has_time:
        continue
    second = block["tai_ns"] // 10**9
    counts[second, block["floor"]][:6] += np.bincount(block.hits()["module"], minlength=6)
    # Frames that are lost or damaged had no chance to have hits.
    counts[second, block["floor"]][6] += (block.status() == 0).sum() * FRAME_S
    if newest is None or second > newest:
        first = second if first is None else first
        show(second - 2)  # another floor may be a little later
        newest = second
if newest is None:
    raise SystemExit("rates.py: no hits with a time")
show(newest - 1)

floors = sorted({floor for _, floor in counts})
_, axes = plt.subplots(len(floors), sharex=True, squeeze=False, figsize=(9, 2.2 * len(floors)))
for axis, floor in zip(axes[:, 0], floors):
    whole = sorted((s, row) for (s, f), row in counts.items() if f == floor and first < s < newest)
    for module in range(6):
        axis.plot([datetime64_of(s * 10**9) for s, _ in whole], [row[module] / row[6] / 1e3 for _, row in whole],
                  marker=".", label=f"module {module}")
    axis.set_ylabel(f"floor {floor}\nkHz")
axes[0, 0].legend(ncol=6, fontsize="x-small")
axes[-1, 0].set_xlabel("UTC")
plt.savefig(args.png, bbox_inches="tight")
