#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A consumer on the Python package fcmdata, for test_pyconsumer.py: appends what it processes to a book and
acknowledges it some blocks later, so that a kill leaves processed blocks behind that the daemon does not know of. Looks
its book up when it starts. Ends with a line of JSON on SIGTERM.

    py_consumer.py ENDPOINT NAME GROUP BOOK [PID]     waits until process PID has ended, then begins at once

A book: for each block its header (256 bytes) and payload, as received.
"""
import collections
import json
import os
import signal
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path[:0] = [os.path.join(ROOT, "schemas"), os.path.join(ROOT, "daemon", "consumer")]
sys.dont_write_bytecode = True
import fcmdata  # noqa: E402
from fcm_data import HEADER_BYTES, header_dtype, np  # noqa: E402

LAG = 12  # blocks between processing one and acknowledging it


def read_book(path):
    """The blocks of a book, and the length of what is whole: a killed writer may leave a part of one."""
    with open(path, "rb") as f:
        data = f.read()
    at, blocks = 0, []
    while at + HEADER_BYTES <= len(data):
        end = at + HEADER_BYTES + int(np.frombuffer(data, header_dtype, 1, at)["payload_bytes"][0])
        if end > len(data):
            break
        blocks.append(fcmdata.Block(data[at:at + HEADER_BYTES], data[at + HEADER_BYTES:end]))
        at = end
    return blocks, at


def main():
    endpoint, name, group, path, *before = sys.argv[1:]
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    done = collections.deque()
    while before and os.path.exists(f"/proc/{before[0]}") and not ended:
        time.sleep(0.01)
    with fcmdata.Member(endpoint, name, group, sole=True) as data, open(path, "ab", buffering=0) as book:
        known, whole = read_book(path)
        book.truncate(whole)
        for block in known:
            data.remember(block.key)
        while not ended:
            block = data.receive(timeout=0.05)
            if block and not (block.repeat or block.again):
                book.write(block.header.tobytes() + bytes(block.payload))
            if block:
                done.append(block.key)
            while len(done) > (LAG if block else 0):
                data.ack(done.popleft())
        while done:
            data.ack(done.popleft())
        data.flush()
        print(json.dumps({**data.stats, "known": len(known)}), flush=True)


if __name__ == "__main__":
    main()
