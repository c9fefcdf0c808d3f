#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Histograms of the charge and of the time over threshold of all hits.

    charges.py build/run/recordings/NAME charges.png
"""
import numpy as np
from common import Missing, arguments, until_ctrl_c
from fcmdata import blocks_of
from matplotlib import pyplot as plt

PEDESTAL, ABOVE = 8, 4  # counts of the emulated board's converter: the base line, and what counts as above it
SAMPLE_NS = 5
CHARGES, WIDTHS = np.arange(0, 2001, 20), np.arange(0, 326, SAMPLE_NS) - SAMPLE_NS / 2


def widths(block, hits):
    """Of each hit that has samples: ns in which its pulse is above the base line."""
    hits = hits[hits["samples"] > 0]
    if not len(hits):
        return np.zeros(0, int)
    samples = block.waveforms(hits)
    above = samples.values > PEDESTAL + ABOVE
    return np.add.reduceat(above, samples.offsets[:-1].astype(np.intp), dtype=np.int64) * SAMPLE_NS


args = arguments(__doc__)
charge, width, n = np.zeros(len(CHARGES) - 1, int), np.zeros(len(WIDTHS) - 1, int), 0
missing = Missing()
for block in until_ctrl_c(blocks_of(args.where, streams="pmt", seconds=args.seconds)):
    hits = block.hits()
    charge += np.histogram(hits["charge"], CHARGES)[0]
    width += np.histogram(widths(block, hits), WIDTHS)[0]
    n += len(hits)
    missing.add(block)
if not n:
    raise SystemExit("charges.py: no hits")
print(f"{n} hits, {n - charge.sum()} with a charge above {CHARGES[-1]}; the mode of the charge is "
      f"{CHARGES[charge.argmax()]} to {CHARGES[charge.argmax() + 1]} counts, of the time over threshold "
      f"{width.argmax() * SAMPLE_NS} ns; {missing}")

_, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
left.stairs(charge, CHARGES, fill=True)
left.set(xlabel="charge (counts)", ylabel="hits", title=f"{n} hits")
right.stairs(width, WIDTHS, fill=True)
right.set(xlabel="time over threshold (ns)", ylabel="hits", yscale="log")
plt.savefig(args.png, bbox_inches="tight")
