#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""A consumer in a few lines: prints the hits per optical module once a second.

    consumer_example.py --monitor  tcp://127.0.0.1:5730       listen, best effort
    consumer_example.py --endpoint tcp://127.0.0.1:5710       reserved: every block, acknowledged
"""
import argparse
import os
import sys
import time

# In the source tree the modules lie here; installed, where Python looks by itself.
here = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [here, os.path.join(here, "..", "daemon", "consumer")]
from fcmdata import Member, Monitor, Refused  # noqa: E402


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    way = p.add_mutually_exclusive_group(required=True)
    way.add_argument("--endpoint", help="of the daemon's reserved consumers")
    way.add_argument("--monitor", help="of the daemon's monitors")
    p.add_argument("--name", default="example", help="of this consumer")
    p.add_argument("--group", default="trigger", help="its group")
    p.add_argument("--seconds", type=float, default=float("inf"), help="end after so many")
    return p.parse_args()


def show(counts):
    for (tower, floor), hits in sorted(counts.items()):
        print(f"T{tower:02} F{floor:02}  " + " ".join(f"{n:8}" for n in hits), flush=True)


def count(counts, block):
    floor = counts.setdefault((block["tower"], block["floor"]), [0] * 6)
    for module in range(block.channels):
        floor[module] += len(block.hit_offsets(module))


def consume(data, seconds):
    counts, begin, shown = {}, time.monotonic(), time.monotonic()
    while time.monotonic() < begin + seconds:
        block = data.receive(timeout=0.2)
        if block and block.stream == "pmt" and not (block.repeat or block.again):
            count(counts, block)
        if block and block.gap_lost:
            print(f"T{block['tower']:02} F{block['floor']:02}  lost {block.gap_lost} frames from {block.gap_first}",
                  file=sys.stderr)
        if block and isinstance(data, Member):
            data.ack(block.key)
        if time.monotonic() - shown >= 1:
            show(counts)
            counts, shown = {}, time.monotonic()
    show(counts)


def main():
    args = options()
    try:
        with Member(args.endpoint, args.name, args.group) if args.endpoint else \
                Monitor(args.monitor, topics=("pmt.",)) as data:
            consume(data, args.seconds)
    except (Refused, ValueError) as e:
        raise SystemExit(f"consumer_example: {e}")


if __name__ == "__main__":
    main()
