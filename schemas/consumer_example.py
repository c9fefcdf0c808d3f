#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A consumer in a few lines: prints the hits per optical module once a second.

    consumer_example.py --monitor  tcp://127.0.0.1:5730       listen, best effort
    consumer_example.py --endpoint tcp://127.0.0.1:5710       reserved: every block, acknowledged
    consumer_example.py --recording recordings/night          the blocks of a recording
"""
import argparse
import os
import sys
import time

import numpy as np

# In the source tree the package lies here; installed, where Python looks by itself.
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "daemon", "consumer")]
from fcmdata import Member, Monitor, Recording, Refused  # noqa: E402


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    way = p.add_mutually_exclusive_group(required=True)
    way.add_argument("--endpoint", help="of the daemon's reserved consumers")
    way.add_argument("--monitor", help="of the daemon's monitors")
    way.add_argument("--recording", help="a directory of segments, or one segment")
    p.add_argument("--name", default="example", help="of this consumer")
    p.add_argument("--group", default="trigger", help="its group")
    p.add_argument("--seconds", type=float, default=float("inf"), help="end after so many")
    return p.parse_args()


def show(counts):
    for (tower, floor), hits in sorted(counts.items()):
        print(f"T{tower:02} F{floor:02}  " + " ".join(f"{n:8}" for n in hits), flush=True)


def count(counts, block):
    if block.stream == "pmt" and not (block.repeat or block.again):
        floor = counts.setdefault((block["tower"], block["floor"]), np.zeros(6, int))
        floor += np.bincount(block.hits()["module"], minlength=6)
    if block.gap_lost:
        print(f"T{block['tower']:02} F{block['floor']:02}  lost {block.gap_lost} frames from {block.gap_first}",
              file=sys.stderr)


def consume(data, seconds):
    """Until so many seconds are over, or a recording is."""
    counts, begin, shown = {}, time.monotonic(), time.monotonic()
    more = True
    while more and time.monotonic() < begin + seconds:
        more = not isinstance(data, Recording)
        for block in data:  # a member acknowledges a block when it asks for the next one; a second without one ends it
            count(counts, block)
            if time.monotonic() - shown >= 1:
                more = True
                break
        show(counts)
        counts, shown = {}, time.monotonic()


def source(args):
    if args.recording:
        return Recording(args.recording, streams=["pmt"])
    if args.monitor:
        return Monitor(args.monitor, topics=["pmt."], timeout=1)
    return Member(args.endpoint, args.name, args.group, timeout=1)


def main():
    args = options()
    try:
        with source(args) as data:
            consume(data, args.seconds)
    except (Refused, ValueError, OSError, ImportError) as e:
        raise SystemExit(f"consumer_example: {e}")


if __name__ == "__main__":
    main()
