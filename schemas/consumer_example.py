#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A consumer in a few lines: prints the hits per optical module once a second.

    consumer_example.py --monitor  tcp://127.0.0.1:5730       listen, best effort
    consumer_example.py --endpoint tcp://127.0.0.1:5710       reserved: every block, acknowledged
"""
import argparse
import json
import os
import sys
import time

import zmq

# Beside this file in the source tree; installed, in the package's data directory.
sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)), "/usr/share/fcm-server"]
from fcm_data import Block  # noqa: E402


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    way = p.add_mutually_exclusive_group(required=True)
    way.add_argument("--endpoint", help="of the daemon's reserved consumers")
    way.add_argument("--monitor", help="of the daemon's monitors")
    p.add_argument("--name", default="example", help="of this consumer")
    p.add_argument("--group", default="trigger", help="its group")
    p.add_argument("--seconds", type=float, default=float("inf"), help="end after so many")
    return p.parse_args()


class Reserved:
    """A DEALER that says HELLO, lives, and acknowledges."""

    def __init__(self, context, args):
        self.hello = json.dumps({"protocol": 1, "name": args.name, "group": args.group,
                                 "credit": 32}).encode()
        self.socket = context.socket(zmq.DEALER)
        self.socket.linger = 100
        self.socket.connect(args.endpoint)
        self.socket.send_multipart([b"HELLO", self.hello])

    def receive(self):
        """The next block, or None after 0.2 s without one."""
        if not self.socket.poll(200):
            self.socket.send(b"ALIVE")
            return None
        verb, *body = self.socket.recv_multipart()
        if verb == b"BLOCK":
            return Block(*body[1:])
        if verb == b"ERROR":
            error = json.loads(body[0])
            if error["error"] not in ("unknown-member", "too-slow"):
                raise SystemExit(f"refused: {error['error']}: {error['hint']}")
            self.socket.send_multipart([b"HELLO", self.hello])  # the daemon is a new one, or we were slow
        return None

    def done(self, block):
        self.socket.send_multipart([b"ACK", block.ack()])


class Monitor:
    """A SUB that listens."""

    def __init__(self, context, args):
        self.socket = context.socket(zmq.SUB)
        self.socket.linger = 0
        self.socket.subscribe(b"pmt.")
        self.socket.connect(args.monitor)

    def receive(self):
        return Block(*self.socket.recv_multipart()[1:]) if self.socket.poll(200) else None

    def done(self, block):
        pass


def show(counts):
    for (tower, floor), hits in sorted(counts.items()):
        print(f"T{tower:02} F{floor:02}  " + " ".join(f"{n:8}" for n in hits), flush=True)


def main():
    args = options()
    context = zmq.Context()
    consumer = Reserved(context, args) if args.endpoint else Monitor(context, args)
    counts, begin, shown = {}, time.monotonic(), time.monotonic()
    while time.monotonic() < begin + args.seconds:
        block = consumer.receive()
        if block is not None:
            if block.stream == "pmt":
                floor = counts.setdefault((block["tower"], block["floor"]), [0] * 6)
                for module in range(block.channels):
                    floor[module] += len(block.hit_offsets(module))
            consumer.done(block)
        if time.monotonic() - shown >= 1:
            show(counts)
            counts, shown = {}, time.monotonic()
    show(counts)
    context.destroy(linger=100)


if __name__ == "__main__":
    main()
