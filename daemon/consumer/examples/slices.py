#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Builds slices of 200 ms from the blocks of all floors, as a member of the trigger's group. Start it several times,
with a name each, and they take turns: a slice goes to the member with the most credit free, and a member with less
credit (64 by default) gets none meanwhile. A block is acknowledged when its slice has been processed.

    slices.py tcp://127.0.0.1:5710 slices.png --name mine-1 --slices 20
"""
import time

import numpy as np
from common import arguments
from fcmdata import Member, datetime64_of, merge
from matplotlib import pyplot as plt

SLICE_FRAMES, PATIENCE_S = 1600, 3


def process(number, blocks, links):
    """What a trigger would do with a slice. Returns what the picture shows: hits by link."""
    hits = merge(blocks)
    lost = sum(b["frames_lost"] + b["frames_bad"] for b in blocks) + sum(
        SLICE_FRAMES - sum(b.frames for b in blocks if b["link"] == link) for link in range(links))
    when = datetime64_of(hits["tai_ns"][0]) if len(hits) else "no hits"
    print(f"slice {number}: {when}, {len(hits)} hits, {lost} frames are missing", flush=True)
    return [sum(b["items"] for b in blocks if b["link"] == link) for link in range(links)]


args = arguments(__doc__, ("name", "example-1", "of this member: no two have the same"),
                 ("group", "trigger", "its group"), ("links", 4, "of the board that are in use"),
                 ("slices", 20, "after so many it ends"), seconds=None, where="endpoint of the reserved consumers")
slices, since, done = {}, {}, []
with Member(args.where, args.name, args.group, credit=1024, auto_ack=False) as data:
    while len(done) < args.slices:
        block = data.receive(timeout=0.2)
        if block and (block.repeat or block.stream != "pmt"):
            data.ack(block.key)
        elif block:
            slices.setdefault(block["slice_id"], {})[block.key] = block  # one that comes again replaces itself
            since.setdefault(block["slice_id"], time.monotonic())
        for number in sorted(slices):
            blocks = list(slices[number].values())
            whole = sum(b.frames for b in blocks) == args.links * SLICE_FRAMES
            if whole or time.monotonic() - since[number] > PATIENCE_S:  # a dark link sends no blocks
                done.append(process(number, blocks, args.links))
                for key in slices.pop(number):
                    data.ack(key)

plt.bar(range(len(done)), np.sum(done, axis=1))
plt.gca().set(xlabel="slice of this member", ylabel="hits of all floors")
plt.savefig(args.png, bbox_inches="tight")
