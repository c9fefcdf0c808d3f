#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Monitor and Member of the Python package fcmdata: their rules against a ROUTER of the test's, their data against the
truth."""
import ctypes
import faulthandler
import gc
import json
import os
import random
import sys
import time
import weakref

import numpy as np
import zmq

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
import py_consumer  # noqa: E402
from py_consumer import fcmdata  # noqa: E402
from consumer_record import MAGIC, record_dtype  # noqa: E402
from station import Process  # noqa: E402

import fcm_data  # noqa: E402  (py_consumer has set the path)
from fcmdata import handles, tracks as tracks_of  # noqa: E402

BORN_MASK = 0x1FFFFFFF  # of a hit's time word: what the floor has filled; the rest is time of day

xxhash = ctypes.CDLL("libxxhash.so.0").XXH3_64bits
xxhash.argtypes, xxhash.restype = (ctypes.c_char_p, ctypes.c_size_t), ctypes.c_uint64


def records(block):
    """What fcm-consumer would write of a block: a record a frame."""
    r = np.zeros(block.frames, record_dtype)
    r["magic"] = MAGIC
    for name in ("link", "tower", "floor", "stream", "dma_epoch", "uncertainty_ns", "clock_state", "label_source",
                 "sequence"):
        r[name] = block[name]
    r["status"], r["block_flags"], r["flags"] = block.status(), block["flags"], block["flags"] & 1
    frames = np.arange(block.frames)
    r["floor_frame"] = block["first_frame"] + frames
    r["tai_ns"] = block["tai_ns"] + frames * fcm_data.FRAME_NS if "no-time" not in block.flags() else fcm_data.NO_TAI
    data = bytearray(block.payload)
    whole = np.frombuffer(data, np.uint8)
    index = block.index()
    for module in range(block.channels):
        at = block.hit_offsets(module)
        if not len(at):
            continue
        time_word = at[:, None] + np.arange(4, 12)
        times = np.ascontiguousarray(whole[time_word]).view("<u8") & np.uint64(BORN_MASK)
        whole[time_word] = times.view(np.uint8).reshape(-1, 8)
        per_frame = np.diff(np.searchsorted(at, index[module]))
        r["hits"][:, module] = per_frame
        for f in np.flatnonzero(per_frame).tolist():
            begin, end = int(index[module, f]), int(index[module, f + 1])
            r["hash"][f, module] = xxhash(bytes(data[begin:end]), end - begin)
    return r


# ---- a daemon of the test's own

def message(n, flags=0, floor=2, link=0, epoch=5, length=80, frames=None, damage=None):
    """Topic, header, payload of block `n`: a status and nothing else."""
    frames = frames or length
    header = np.zeros(1, fcm_data.header_dtype)
    payload = bytearray(frames)
    for name, value in {"magic": fcm_data.MAGIC, "version": 1, "header_bytes": 256, "tower": 1, "floor": floor,
                        "link": link, "flags": flags, "dma_epoch": epoch, "frames": frames, "first_frame": n * length,
                        "sequence": epoch << 40 | n, "payload_bytes": frames,
                        "payload_crc": fcm_data.crc32c(payload)}.items():
        header[name] = value
    if damage == "numbers":
        header["link"] = 9
    header["header_crc"] = fcm_data.crc32c(header.tobytes()[:-4]) ^ (damage == "header")
    if damage == "payload":
        payload[7] ^= 1
    return [b"pmt.T01.F%02d" % floor, header.tobytes(), bytes(payload)]


class FakeDaemon:
    def __init__(self, context):
        self.router = context.socket(zmq.ROUTER)
        self.router.linger = 0
        self.port = self.router.bind_to_random_port("tcp://127.0.0.1")
        self.peer = None

    def say(self, *words):
        self.router.send_multipart([self.peer, *words])

    def block(self, n, **kwargs):
        self.say(b"BLOCK", *message(n, **kwargs))

    def hears(self, data, patience=10):
        """The next word that is no ALIVE; meanwhile the consumer lives."""
        end = time.monotonic() + patience
        while time.monotonic() < end:
            if data:
                assert data.receive(timeout=0) is None
            if self.router.poll(5):
                self.peer, verb, *body = self.router.recv_multipart()
                if verb != b"ALIVE":
                    return verb, *body
        return None


RESENT = 1


def facts(block):
    return (block.repeat, block.again, block.gap_first // 80, block.gap_frames // 80, block.gap_lost // 80)


NEW = (False, False, 0, 0, 0)
SHORT = {"length": 16}
# (name, sole or monitor, blocks as (number, flags, more), the facts of the last)
RULES = [
    ("the first", False, [(1003, 0)], NEW),
    ("a gap inside a slice", False, [(1003, 0), (1005, 0)], (False, False, 1004, 1, 1)),
    ("a gap over a slice's end", False, [(1003, 0), (1023, 0)], (False, False, 1004, 19, 16)),
    ("what another member left", False, [(1003, RESENT), (1005, RESENT)], (False, False, 1004, 1, 0)),
    ("a gap of a sole member", True, [(1003, 0), (1050, 0)], (False, False, 1004, 46, 46)),
    ("what an earlier life of it had", True, [(1003, RESENT), (1050, 0)], (False, False, 1004, 46, 0)),
    ("numbers that may never have been", True, [(1003, 0), (1050, 0x10)], (False, False, 1004, 46, 0)),
    ("between memberships", False, [(1003, 0), "anew", (1005, 0)], (False, False, 1004, 1, 0)),
    ("handed out before", False, [(1003, 0), (1003, RESENT)], (False, True, 0, 0, 0)),
    ("acknowledged before", False, [(1003, 0), "ack", (1003, RESENT)], (True, False, 0, 0, 0)),
    ("late", False, [(1003, 0), (1023, 0), (1010, RESENT)], NEW),
    ("two floors of one block", False, [(1003, 0), (1003, 0, {"floor": 3})], NEW),
    ("a GAP block", False, [(1019, 0), (1020, 2, {"frames": 1600}), (1040, 0)], NEW),
    ("another epoch", False, [(1003, 0), (0, 0, {"epoch": 6})], NEW),
    ("a straggler", False, [(0, 0, {"epoch": 6}), (1003, RESENT), (1, 0, {"epoch": 6})], NEW),
    ("the board begins anew", False, [(1003, 0), "ack", (1003, 0)], NEW),
    ("a monitor's board begins anew", "monitor", [(1003, 0), (2, 0), (4, 0)], (False, False, 3, 1, 1)),
    ("far behind, flagged", False, [(100000, 0), (1, RESENT)], NEW),
    ("over a change of length", False, [(1001, 0), "ack", (5010, 0, SHORT), (1001, RESENT)], (True, *NEW[1:])),
    ("over two changes", False, [(5010, 0, SHORT), "ack", (1003, 0), (5010, RESENT, SHORT)], (True, *NEW[1:])),
    ("the same number, another length", False, [(5010, 0), "ack", (5010, RESENT, SHORT)], NEW),
    ("the board restarts with another length before", False,
     [(5009, 0, SHORT), "ack", (1002, 0), (1002, 0), (5009, RESENT, SHORT)], NEW),
]


def rules(t):
    """repeats and gaps by the rules of libfcmdata; a checksum of isa-l's and one of numpy's"""
    for name, sole, steps, wanted in RULES:
        tracks, block = tracks_of.Tracks(sole is True, sole == "monitor"), None
        tracks.restart()
        for step in steps:
            if step == "anew":
                tracks.restart()
            elif step == "ack":
                t.equal(f"{name}: acknowledged once", (tracks.ack(block.key), tracks.ack(block.key)), (True, False))
            else:
                _, header, payload = message(step[0], flags=step[1], **(step[2] if len(step) > 2 else {}))
                block = fcmdata.Block(header, payload)
                tracks.take(block, True)
        t.equal(name, facts(block), wanted)
    rng = random.Random(4)
    texts = [rng.randbytes(n) for n in (*range(9), 63, 64, 65, 252, 1000, 4096, 70000)]
    t.equal("CRC-32C of 123456789", fcm_data.crc32c(b"123456789"), 0xE3069283)
    t.equal("numpy's as isa-l's", [fcm_data.crc32c_numpy(np.frombuffer(x, np.uint8)) for x in texts],
            [fcm_data.crc32c(x) for x in texts])


def words(t):
    """HELLO, ACK, a daemon that forgets, damages, says nonsense, refuses"""
    context = zmq.Context()
    daemon = FakeDaemon(context)
    endpoint = f"tcp://127.0.0.1:{daemon.port}"
    data = fcmdata.Member(endpoint, name="t-1", group="trigger", credit=8)
    said = daemon.hears(data)
    t.equal("HELLO", (said[0], json.loads(said[1])),
            (b"HELLO", {"protocol": 1, "name": "t-1", "group": "trigger", "credit": 8}))
    daemon.say(b"WELCOME", b"{}")
    for words_ in ([b"x"], [b"BLOCK"], [b"BLOCK", b"x"] * 20, [b"WELCOME"], [b"ERROR"], [b""], [b"ALIVE"]):
        daemon.say(*words_)
    for n in range(3):
        daemon.block(n)
    blocks = [data.receive(10) for _ in range(3)]
    t.equal("the good ones, in order", [b["sequence"] & 0xff for b in blocks], [0, 1, 2])
    t.equal("nonsense is counted", data.stats["strangers"], 6)
    for b in blocks[:2]:
        data.ack(b.key)
        data.ack(b.key)
    acks = b""
    while len(acks) < 32:
        acks += daemon.hears(data)[1]
    t.equal("acknowledged once each", acks, blocks[0].key + blocks[1].key)
    for damage in ("header", "payload", "numbers"):
        daemon.block(7, damage=damage)
    t.equal("damaged ones are asked for again", daemon.hears(data)[0], b"HELLO")
    t.equal("and counted", data.stats["damaged"], 3)
    daemon.say(b"ERROR", b'{"error":"unknown-member"}')  # to what was said before
    daemon.say(b"WELCOME", b"{}")
    daemon.block(1, flags=RESENT)
    daemon.block(2, flags=RESENT)
    t.equal("repeats", [facts(data.receive(10)) for _ in range(2)], [(True, *NEW[1:]), (False, True, *NEW[2:])])
    data.ack(blocks[1].key)
    data.ack(blocks[1].key)
    t.equal("a repeat is acknowledged, once", daemon.hears(data), (b"ACK", blocks[1].key))
    daemon.say(b"ERROR", b'{"error":"unknown-member"}')
    t.equal("HELLO again", daemon.hears(data)[0], b"HELLO")
    daemon.say(b"WELCOME", b"{}")
    for n in (20, 21):
        daemon.block(n)
    blocks = [data.receive(10) for _ in range(2)]
    data.ack(blocks[0].key)
    data.ack(blocks[1].key)
    t.equal("a quarter of the credit is acknowledged at once", data.stats["acknowledged"], 5)
    t.equal("so it is", daemon.hears(None), (b"ACK", blocks[0].key + blocks[1].key))
    daemon.say(b"WELCOME", b"{}")
    daemon.block(25)
    t.equal("of two HELLOs each begins a membership: nothing is certain", facts(data.receive(10))[2:], (22, 3, 0))
    daemon.say(b"BLOCK", b"pmt.T01.F02")
    t.equal("a block without all its parts is asked for again", daemon.hears(data)[0], b"HELLO")
    daemon.say(b"WELCOME", b"{}")
    end = time.monotonic() + handles.ANSWER_S + 0.25
    while time.monotonic() < end:  # computes, and keeps its duty
        data.alive()
        time.sleep(0.05)
    heard = set()
    while daemon.router.poll(0):
        heard.add(daemon.router.recv_multipart()[1])
    t.equal("a WELCOME that is not read yet is an answer", heard, {b"ALIVE"})
    daemon.say(b"ERROR", b'{"error":"no-such-group","hint":"groups: a b"}')
    refused = []
    for ask in (lambda: data.receive(10), data.alive):
        try:
            ask()
        except fcmdata.Refused as e:
            refused.append(str(e))
    t.equal("refused, and it stays so", refused, ["no-such-group: groups: a b"] * 2)
    faulthandler.dump_traceback_later(20, exit=True)  # it may hang
    forgotten = weakref.ref(data)
    data.itself = data  # as the traceback of an exception may hold it
    del data, ask
    gc.collect()
    faulthandler.cancel_dump_traceback_later()
    t.equal("one that nothing has closed can be collected", forgotten(), None)
    for bad in ({"name": ""}, {"name": "a b"}, {"group": "x" * 32}, {"credit": 0}, {"endpoint": "nonsense"}):
        try:
            fcmdata.Member(**{"endpoint": endpoint, "name": "a", "group": "b", **bad})
            t.check(f"{bad}: refused", False, "taken")
        except ValueError as e:
            t.check(f"{bad}: refused", bool(str(e)))
    daemon.router.close()
    context.term()


def golden(name):
    with open(os.path.join(harness.ROOT, "tests", "data", "golden", name), "rb") as f:
        return f.read()


def versions(t):
    """a grown WELCOME and block are taken, those of the next major version refused for good, as a member and as a monitor"""
    context = zmq.Context()
    daemon = FakeDaemon(context)
    endpoint = f"tcp://127.0.0.1:{daemon.port}"

    def member():
        data = fcmdata.Member(endpoint, name="t-1", group="trigger")
        t.equal("HELLO", daemon.hears(data)[0], b"HELLO")
        return data

    def block(header):
        return [b"pmt.T01.F07", golden(header), golden("block.payload")]

    def refusal(data, say):
        end = time.monotonic() + 10
        while time.monotonic() < end:
            say()
            try:
                data.receive(0.1)
            except fcmdata.Refused as e:
                return str(e)
        return None

    with member() as data:
        daemon.say(b"WELCOME", golden("welcome-grown.json"))
        daemon.say(b"BLOCK", *block("block-grown.header"))
        got = data.receive(10)
        t.equal("a grown block", (got.flags(), got["floor"], got.hits(5)["charge"].tolist()), (["partial", "emulated"], 7, [4000000]))
        refused = refusal(data, lambda: daemon.say(b"BLOCK", *block("block-next.header")))
        t.check("the next version is refused, by name", refused and "of version 2" in refused and "install" in refused, refused)
    with member() as data:
        refused = refusal(data, lambda: daemon.say(b"WELCOME", golden("welcome-next.json")))
        t.check("so is the next protocol", refused and "protocol 2" in refused and "install" in refused, refused)
    publisher = context.socket(zmq.PUB)
    publisher.linger = 0
    port = publisher.bind_to_random_port("tcp://127.0.0.1")
    with fcmdata.Monitor(f"tcp://127.0.0.1:{port}") as data:
        refused = refusal(data, lambda: publisher.send_multipart(block("block-next.header")))
        t.check("and to a monitor", refused and "of version 2" in refused, refused)
    publisher.close()
    daemon.router.close()
    context.term()


def name_taken(t):
    """the name may be its own, of a connection whose end nobody has seen: asked again until it is free, or must be another's"""
    context = zmq.Context()
    daemon = FakeDaemon(context)
    with fcmdata.Member(f"tcp://127.0.0.1:{daemon.port}", name="t-1", group="trigger") as data:
        for _ in range(3):
            t.equal("HELLO", daemon.hears(data)[0], b"HELLO")
            daemon.say(b"ERROR", b'{"error":"name-taken","retry_ms":60000}')
        t.equal("and again", daemon.hears(data)[0], b"HELLO")
        daemon.say(b"WELCOME", b"{}")
        daemon.block(0)
        t.equal("a member in the end", data.receive(10)["sequence"] & 0xff, 0)
    daemon.router.close()
    daemon = FakeDaemon(context)
    with fcmdata.Member(f"tcp://127.0.0.1:{daemon.port}", name="t-1", group="trigger") as data:
        t.equal("HELLO", daemon.hears(data)[0], b"HELLO")
        refusal = None
        while refusal is None and data.stats["hellos"] < 20:
            daemon.say(b"ERROR", b'{"error":"name-taken","hint":"t-1 at 127.0.0.1:7"}')
            try:
                data.receive(0.1)
            except fcmdata.Refused as e:
                refusal = str(e)
        t.equal("refused", refusal, "name-taken: t-1 at 127.0.0.1:7")
        t.check("not at once", data.stats["hellos"] > 1, data.stats)
    daemon.router.close()
    context.term()


def killed_and_back(t):
    """a Python member, killed and back; the daemon killed, too: every block processed once, all as the truth has it"""
    st = t.station(load="quiet", emulator_args=["--rate", "100"], depth_ms=4000)  # Python, on a busy machine
    book = st.path("trigger-1.book")

    def start_member(*before):
        return Process("trigger-1", [sys.executable, os.path.join(harness.ROOT, "tests", "system", "py_consumer.py"),
                                     st.reserved, "trigger-1", "trigger", book, *before], st.path("trigger-1.log"))
    st.start_emulator()
    st.start_gpsd()
    st.write_config()
    st.start_consumer("acoustic-1", "acoustic")
    first = start_member()
    st.start_daemon()
    st.consumers["trigger-1"] = start_member(str(first.pid))
    st.wait_ready()
    first.kill9()
    size = os.path.getsize(book)
    st.wait_for("blocks for the second life", lambda: os.path.getsize(book) > size, pause=0.01)
    st.daemon.kill9()
    st.start_daemon()
    example = Process("example", [sys.executable, os.path.join(harness.ROOT, "schemas", "consumer_example.py"),
                                  "--monitor", st.monitor, "--seconds", "2"], st.path("example.log"))
    t.equal("the example ends well", example.popen.wait(60), 0)
    t.check("it saw hits of every floor", all(f"F0{f}" in example.tail(50) for f in (1, 2, 3, 4)), example.tail())
    st.stop()
    t.equal("the member ends well", st.consumers["trigger-1"].popen.returncode, 0)
    s = st.summaries()["trigger-1"]
    t.check("it knew its book", s["known"] > 0, s)
    t.check("what it had processed unacknowledged came again, as repeats", s["repeats"] > 0, s)
    t.check("it met both daemons", s["connections"] >= 2 and s["welcomes"] >= 2, s)
    t.equal("nothing damaged, nothing lost", (s["damaged"], s["strangers"], s["gap_lost"]), (0, 0, 0))
    blocks, _ = py_consumer.read_book(book)
    keys = [b.key for b in blocks]
    t.check("no block is in the book twice", len(keys) == len(set(keys)) > 0, (len(keys), len(set(keys))))
    with open(st.path("trigger-1.rec"), "wb") as f:
        for b in blocks:
            f.write(records(b).tobytes())
    st.records.append(st.path("trigger-1.rec"))
    t.account(st)


if __name__ == "__main__":
    harness.main([rules, words, versions, name_taken, killed_and_back])
