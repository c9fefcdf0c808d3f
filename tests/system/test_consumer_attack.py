#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Consumers that are broken, hostile or die again and again: the well-behaved ones lose nothing."""
import json
import os
import random
import socket
import struct
import sys
import time

import zmq

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import faults  # noqa: E402
import harness  # noqa: E402
from raw_peer import frame, knock, number, plain, pour, resident_mb  # noqa: E402

sys.path[:0] = [os.path.join(harness.ROOT, "schemas")]
import fcm_data  # noqa: E402

HELLO = {"protocol": 1, "name": "x-1", "group": "trigger", "credit": 16}


def peer(st, context):
    s = context.socket(zmq.DEALER)
    s.setsockopt(zmq.LINGER, 0)
    s.setsockopt(zmq.RCVTIMEO, 3000)
    s.setsockopt(zmq.SNDTIMEO, 1000)
    s.connect(st.reserved)
    return s


def said(s):
    """The first answer that is neither a block nor a sign of life: (verb, body)."""
    for _ in range(2000):
        try:
            parts = s.recv_multipart()
        except zmq.Again:
            return None, b""
        if parts[0] not in (b"ALIVE", b"BLOCK"):
            return parts[0], parts[1] if len(parts) > 1 else b""
    return None, b""


def row_of(st, member):
    """A member's row of `fcmctl consumer list`, which is written at each tick; None before its first."""
    return next((m for m in st.ask("consumer", "list")["members"] if m["member"] == member), None)


def descriptors(st):
    return len(os.listdir(f"/proc/{st.daemon.pid}/fd"))


def others_well(t, st, what):
    before = [l["cells"]["good"] for l in st.status()["links"]]
    time.sleep(1)
    after = st.status()
    groups = {g["group"]: g for g in after["groups"]}
    t.check(f"{what}: data flow", all(l["cells"]["good"] > b for b, l in zip(before, after["links"])), after["links"])
    t.check(f"{what}: nothing dropped", all(not d["blocks"] for g in groups.values() for d in g["dropped"].values()),
            groups)


def bad_words(t):
    """bad HELLOs, unknown verbs, ACKs of things never sent, floods: refused with a hint, the others lose nothing"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    context = zmq.Context()
    before = descriptors(st)
    # Below 64 KiB: a connection that has sent so much without the end of a message may be cut off before it is answered.
    bad = [b"", b"\0" * 100, b"[]", b"{", b"[" * 4000, b"x" * 60000, json.dumps(HELLO)[:-3].encode(),
           *(json.dumps(HELLO | change).encode() for change in (
               {"credit": 0}, {"credit": -1}, {"credit": 1 << 62}, {"credit": "7"}, {"credit": None}, {"name": ""},
               {"name": "x" * 5000}, {"name": "a\nb"}, {"name": 7}, {"group": "none"}, {"group": "g" * 3000},
               {"group": None}, {"protocol": 2}, {"protocol": "1"}))]
    for body in bad:
        s = peer(st, context)
        s.send_multipart([b"HELLO", body])
        verb, text = said(s)
        t.check(f"HELLO of {len(body)} bytes, {body[-60:]!r}: refused with a hint", verb == b"ERROR" and json.loads(text).get("hint"),
                (verb, text))
        s.close()
    rng = random.Random(3)
    s = peer(st, context)
    for parts in ([b"ACK"], [b"ACK", b"x"], [b""], [b"BYE", b"BYE"], [b"HELLO"], [b"x" * 50000], [b"a"] * 300,
                  [b"ACK", b"\xff" * 16 * 3750], [b"ALIVE"], [b"BYE"]):
        s.send_multipart(parts)
    s.send_multipart([b"HELLO", json.dumps(HELLO | {"name": "flood", "group": "acoustic", "credit": 1}).encode()])
    verb = None
    while verb != b"WELCOME":
        verb, _ = said(s)
        if verb is None:
            break
    t.equal("a member after all", verb, b"WELCOME")
    for _ in range(3000):  # never sent, of this member or of others
        try:
            s.send_multipart([b"ACK", b"".join(struct.pack("<QBBBB4x", rng.getrandbits(64), rng.randrange(4),
                                                           rng.randrange(4), 1, rng.randrange(5))
                                               for _ in range(64))])
        except zmq.Again:
            break
    s.send_multipart([b"BYE"])
    s.close()
    raw = []
    host, port = st.reserved[6:].rsplit(":", 1)
    for _ in range(100):  # not ZeroMQ at all
        r = socket.create_connection((host, int(port)), timeout=2)
        r.sendall(rng.randbytes(200) if len(raw) % 2 else b"GET / HTTP/1.0\r\n\r\n")
        raw.append(r)
    others_well(t, st, "after the bad words")
    for r in raw:
        r.close()
    context.term()
    st.wait_for("descriptors as before", lambda: descriptors(st) <= before + 3, 10)
    t.check("descriptors do not grow", descriptors(st) <= before + 3, (before, descriptors(st)))
    t.account(st)


def comes_and_dies(t):
    """a member that joins, takes blocks and dies, 40 times; then two of one name, of which the second is refused: all
    is sent again, nothing lost, and an event has both addresses"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    context = zmq.Context()
    for n in range(40):
        s = peer(st, context)
        s.send_multipart([b"HELLO", json.dumps(HELLO | {"name": f"mayfly-{n % 3}"}).encode()])
        said(s) if n % 2 else time.sleep(0.03)
        s.close()
    first, second = peer(st, context), peer(st, context)
    twin = json.dumps(HELLO | {"name": "twin", "credit": 1}).encode()
    first.send_multipart([b"HELLO", twin])
    t.equal("WELCOME", said(first)[0], b"WELCOME")
    second.send_multipart([b"HELLO", twin])
    verb, text = said(second)
    t.check("the second of two of one name is refused", verb == b"ERROR" and b"name-taken" in text, (verb, text))
    st.wait_for("an event", lambda: faults.events(st, "consumer-name-taken"), 10)
    event = faults.events(st, "consumer-name-taken")[0]
    row = row_of(st, "twin")
    t.check("the member lives", row["alive"], row)
    t.check("an event names the member and both addresses",
            "member twin" in event["text"] and row["address"] in event["text"] and event["text"].count("127.0.0.1:") == 2,
            (event, row))
    for s in (first, second):
        s.close()
    time.sleep(4)  # the dead ones' blocks go to trigger-1
    others_well(t, st, "after the deaths")
    context.term()
    t.check("no dead member is left", sum(m["alive"] for m in st.ask("consumer", "list")["members"]) == 2,
            st.ask("consumer", "list")["members"])
    ledger = t.account(st)
    t.equal("nothing dropped", [x for x in ledger["losses"] if x["kind"] == "group"], [])


def bytes_without_end(t):
    """messages of parts that never end, and parts without end, at both doors of the data: cut off before they cost memory"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    others_well(t, st, "before")
    endpoints = st.status()["data"]
    before = resident_mb(st.daemon.pid)
    tiny, huge = b"\1\0" * 50000, b"\3" + struct.pack(">Q", 400) + bytes(400)
    for door, kind in (("reserved", b"DEALER"), ("monitors", b"SUB")):
        for what in (tiny, huge * 250, tiny):
            with plain(endpoints[door], kind) as s:
                seconds, most = pour(st.daemon.pid, s, lambda what=what: what)
            t.check(f"{door}: cut off", seconds is not None, (seconds, most))
            t.check(f"{door}: it cost no memory to speak of", t.sanitized or most < before + 64, (before, most))
    # Large parts of a monitor libzmq itself does not take.
    st.wait_for("each is counted", lambda: [st.ask("consumer", "list")["doors"][door][count] for door, count in (
        ("reserved", "unfinished"), ("monitors", "greedy"))] == [3, 2])
    others_well(t, st, "after it")
    ledger = t.account(st)
    t.equal("nothing dropped", [x for x in ledger["losses"] if x["kind"] == "group"], [])


def crowds(t):
    """hundreds of connections at each door of the data: there are never many, new consumers get in, safe is answered"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    endpoints = st.status()["data"]
    before, most = descriptors(st), 0
    context = zmq.Context()
    crowd = []
    for n in range(600):
        crowd.append(knock(endpoints["reserved" if n % 2 else "monitors"]))
        if n % 50 == 49:
            most = max(most, descriptors(st))
            with peer(st, context) as s:
                s.send_multipart([b"HELLO", json.dumps(HELLO | {"name": f"late-{n}", "credit": 1}).encode()])
                t.equal(f"a consumer gets in behind {n + 1} others", said(s)[0], b"WELCOME")
                s.send_multipart([b"BYE"])
            code, out, err = st.ctl("safe", "floor1", "--yes")
            t.check("safe is answered", code == 0, (code, out, err))
    t.check("there are never many", most < before + 200, (before, most))
    doors = st.ask("consumer", "list")["doors"]
    t.check("those beyond are counted", all(doors[d]["crowded"] >= 50 for d in doors), doors)
    others_well(t, st, "in the crowd")
    for s in crowd:
        s.close()
    st.wait_for("descriptors as before", lambda: descriptors(st) <= before + 3, 10)
    context.term()
    ledger = t.account(st)
    t.equal("nothing dropped", [x for x in ledger["losses"] if x["kind"] == "group"], [])


def next_numbers(t):
    """who names its connection as ZeroMQ would number the next ones: nobody can know those numbers, so the daemon lives"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    named = [plain(st.reserved, b"DEALER", number(n)) for n in range(25)]
    time.sleep(1)
    context = zmq.Context()
    for n in range(5):
        with peer(st, context) as s:
            s.send_multipart([b"HELLO", json.dumps(HELLO | {"name": f"late-{n}", "credit": 1}).encode()])
            t.equal("a consumer that comes then gets in", said(s)[0], b"WELCOME")
            s.send_multipart([b"BYE"])
    context.term()
    for s in named:
        s.close()
    t.check("the daemon lives", st.daemon.alive(), st.daemon.tail(3))
    t.account(st)


def long_name(t):
    """a routing id of more than 255 bytes that begins as a member's: its ACKs do not count as that member's"""
    st = t.station(load="quiet")
    st.start()
    st.wait_ready()
    st.consumers["trigger-1"].end()
    context = zmq.Context()
    member = context.socket(zmq.DEALER)
    member.linger, member.rcvtimeo = 0, 5000
    member.setsockopt(zmq.IDENTITY, b"known")
    member.connect(st.reserved)
    member.send_multipart([b"HELLO", json.dumps(HELLO | {"name": "slow-1"}).encode()])
    held = []
    while len(held) < 5:
        parts = member.recv_multipart()
        held += [fcm_data.Block(*parts[2:]).key] if parts[0] == b"BLOCK" else []
    st.wait_for("the member in the list", lambda: row_of(st, "slow-1"))
    time.sleep(1)  # whatever the list learns of it after the blocks have gone out
    before = row_of(st, "slow-1")
    with plain(st.reserved, b"DEALER", b"known" + b"x" * 256) as thief:
        thief.sendall(frame(b"ACK", more=True) + frame(b"".join(held)))
        time.sleep(1)
    t.equal("nothing is delivered by it", row_of(st, "slow-1")["delivered"], before["delivered"])
    member.send_multipart([b"BYE"])
    member.close()
    context.term()
    st.start_consumer("trigger-1", "trigger")
    t.account(st)


if __name__ == "__main__":
    harness.main([bad_words, comes_and_dies, bytes_without_end, crowds, next_numbers, long_name])
