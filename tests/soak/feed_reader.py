#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A reader of the TriDAS feed that does as a farm does: connects, reads as fast as it can, connects again when the
daemon went. Of each connection it looks at the beginning: whole legal hits from the first byte on. Ends on SIGTERM
with a line of JSON; exit 1 when something was not a hit.

    feed_reader.py PORT
"""
import json
import signal
import socket
import struct
import sys
import time

LOOK = 1 << 16  # bytes of each connection that are looked at
HIT_HEADER, HIT_MAX = 16, 88


def illegal(data):
    """Where a byte string that begins on a hit's border has something else; None: nowhere. The last may be cut."""
    at = 0
    while at + HIT_HEADER <= len(data):
        identity, time_word, shape = struct.unpack_from("<IQI", data, at)
        length = HIT_HEADER + ((shape & 0x3F) << (1 - (shape >> 31)))
        if identity >> 16 != 0x55AA or time_word & 0xFFFF > 24999 or time_word >> 16 & 0x1FFF > 7999 or length > HIT_MAX:
            return at
        at += length
    return None


class Reader:
    def __init__(self, port):
        self.port, self.connections, self.bytes, self.wrong, self.ended = port, 0, 0, [], False
        signal.signal(signal.SIGTERM, self.end)

    def end(self, *_):
        self.ended = True

    def read(self, s):
        s.settimeout(0.2)
        begin, buffer = b"", bytearray(1 << 20)
        while not self.ended:
            try:
                got = s.recv_into(buffer)
            except socket.timeout:
                continue
            if not got:
                break
            self.bytes += got
            if len(begin) < LOOK:
                begin += buffer[:got]
        at = illegal(begin[:LOOK])
        if at is not None:
            self.wrong.append({"connection": self.connections, "at": at, "bytes": begin[at:at + HIT_HEADER].hex()})

    def run(self):
        while not self.ended:
            try:
                with socket.create_connection(("127.0.0.1", self.port), timeout=1) as s:
                    self.connections += 1
                    self.read(s)
            except OSError:  # nobody there, or gone
                time.sleep(0.1)
        print(json.dumps({"connections": self.connections, "bytes": self.bytes, "wrong": self.wrong[:5]}), flush=True)
        return 1 if self.wrong else 0


if __name__ == "__main__":
    sys.exit(Reader(int(sys.argv[1])).run())
