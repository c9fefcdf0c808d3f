#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Readers of the TriDAS feed that read in odd ways: single bytes, odd pieces, large gulps, with pauses, not at all
until the daemon is killed. Each gets the hits of its floor, all of them, in order, and only whole ones."""
import os
import random
import socket
import struct
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from station import free_base_port  # noqa: E402
from test_feed import Reader  # noqa: E402

MEGA = 1 << 20


class SingleBytes(Reader):
    def take(self):
        return self.socket.recv(1)


class OddPieces(Reader):
    sizes = random.Random(2026)

    def take(self):
        return self.socket.recv(self.sizes.randrange(1, 2000, 2))


class Gulps(Reader):
    """8 MiB or the end; more than the connection holds."""
    def take(self):
        self.socket.settimeout(None)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", 60, 0))
        return self.socket.recv(8 * MEGA, socket.MSG_WAITALL)


class Stalls(Reader):
    """Stops for a while after each MiB, with little memory of its own: the daemon's side fills up."""
    options, until_pause = ((socket.SOL_SOCKET, socket.SO_RCVBUF, 65536),), MEGA

    def take(self):
        data = self.socket.recv(min(self.until_pause, 100000))
        self.until_pause -= len(data)
        if self.until_pause == 0:
            self.until_pause = MEGA
            time.sleep(0.1)
        return data


class SmallSegments(Reader):
    """As over a line that carries small packets only: each costs the daemon's kernel more memory than it has bytes."""
    options = ((socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536),)


def station(t, rate, **kwargs):
    base = free_base_port()
    st = t.station(emulator_args=["--rate", str(rate)],
                   config=["[feed]", "enabled = yes", f"base_port = {base}"], **kwargs)
    st.start()
    st.wait_ready()
    return st, base


def feed(st):
    return st.ask("consumer", "list")["feed"]


def bytes_of(reader):
    with open(reader.path, "rb") as f:
        return f.read()


def all_is_there(t, st, readers):
    """Stop the station; what each reader has is the truth, whole hits, and the same as its neighbours have."""
    ledger = t.account(st)
    for r in readers:
        r.join(60)
        code, found = r.compare(st)
        t.check(f"{type(r).__name__} of link {r.link}: every hit is the truth's, in order, none is cut off",
                code == 0 and not r.error and found["end"] > found["first"] and found["cut_bytes"] == 0,
                (r.error, found))
    for link in sorted({r.link for r in readers}):
        # They joined at different blocks.
        got = sorted((bytes_of(r) for r in readers if r.link == link), key=len)
        t.check(f"link {link}: its {len(got)} readers have the same bytes", all(got[-1].endswith(x) for x in got),
                [len(x) for x in got])
    t.equal("nobody was too slow", [x for x in ledger["losses"] if x["group"] == "tridas" and x["code"] == "slow"], [])


def single_bytes(t):
    """readers that take one byte at a time, beside one that takes all there is"""
    st, base = station(t, 500, load="quiet")
    readers = [SingleBytes(st, f"single{link}", link, base) for link in (0, 3)] + [Reader(st, "whole", 0, base)]
    st.wait_for("some thousand hits each", lambda: all(os.path.getsize(r.path) > 300000 for r in readers), 30)
    all_is_there(t, st, readers)


def odd_pieces_and_gulps(t):
    """readers of one floor that take odd pieces, large gulps, and pause"""
    st, base = station(t, 20000)
    readers = [kind(st, kind.__name__, 1, base) for kind in (OddPieces, Gulps, Stalls, Reader)]
    st.wait_for("some gulps", lambda: all(os.path.getsize(r.path) > 16 * MEGA for r in readers), 60)
    t.equal("all are connected", len(feed(st)["readers"]), len(readers))
    all_is_there(t, st, readers)


def killed(t):
    """the daemon is killed while the connections of readers that stand still are full: all get whole hits"""
    st, base = station(t, 20000, depth_ms=8000)
    readers = []
    # Small segments are full first: they connect last, so that no one is cut off before all are full. Each was filled by
    # many writes.
    for kind in (Reader, SmallSegments):
        readers += [kind(st, f"still{n}.{kind.__name__}", n % 3, base, stalled=True) for n in range(12)]
        st.wait_for(f"all are behind, {kind.__name__}, too", lambda: len(feed(st)["readers"]) == len(readers) and
                    all(r["behind_bytes"] > 0 and not r["dropped"] for r in feed(st)["readers"]), 20)
    st.daemon.kill9()
    for r in readers:
        r.go.set()
    for r in readers:
        r.join(60)
    st.start_daemon()
    st.wait_ready()
    t.account(st)
    results = [r.compare(st) for r in readers]
    t.equal("each has read to the end", [r.error for r in readers], [None] * len(readers))
    # One that joined last may have a part of one block only.
    t.check("each has hits of the truth", all(code == 0 and x["frames"] > 0 for code, x in results), results)
    t.equal("and none of them is cut off", [x["cut_bytes"] for _, x in results], [0] * len(readers))


if __name__ == "__main__":
    harness.main([single_bytes, odd_pieces_and_gulps, killed])
