#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""schemas/fcm.lua in tshark: real traffic and real frames field by field, damage, captures cut off anywhere."""
import glob
import itertools
import os
import random
import re
import struct
import subprocess
import sys
import threading

import zmq

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from keys import Keys, secret_of  # noqa: E402
from recording_proxy import CLIENT, ETHERNET, SERVER, USER0, Flow, Proxy, segments, write_pcap  # noqa: E402

sys.path.insert(0, os.path.join(harness.ROOT, "schemas"))
import fcm_data  # noqa: E402

SCRIPT = os.path.join(harness.ROOT, "schemas", "fcm.lua")
HITS = [n for n in fcm_data.hit_fields_dtype.names if n != "offset"]
HEADER = [n for n in fcm_data.header_dtype.names if n != "reserved"]
GROWN = 500  # inputs that `make fuzz` has left
LIMIT = 130_000  # bytes kept of each connection
# Client ports of connections made here begin at 61000: no dissector of tshark's own claims those.


def tshark(t, path, *args):
    """What it prints. Nothing may go wrong in the script, whatever it reads."""
    r = subprocess.run(["tshark", "-X", f"lua_script:{SCRIPT}", "-n", "-r", path, *args], capture_output=True, text=True,
                       timeout=120, check=False)
    wrong = [line for line in (r.stderr + r.stdout).splitlines() if re.search(r"lua.*error|stack traceback", line, re.I)]
    if wrong or r.returncode not in (0, 2):  # 2: the file is cut short
        t.check(f"tshark reads {os.path.basename(path)} without a Lua error", False,
                (r.returncode, wrong[:5], r.stderr[-2000:]))
    return r.stdout


def columns(t, path, names, *args):
    """[{name: [value, ...]}], one a packet."""
    out = tshark(t, path, "-T", "fields", "-E", "occurrence=a", "-E", "aggregator=|", "-E", "separator=/t", *args,
                 *(x for n in names for x in ("-e", n)))
    return [dict(zip(names, (v.split("|") if v else [] for v in line.split("\t")))) for line in out.splitlines()]


def number(text):
    return {"True": 1, "False": 0}.get(text) if text in ("True", "False") else int(text, 0)


def flat(rows, name):
    return [v for row in rows for v in row[name]]


# -- an own reader of the stream

def messages(stream):
    """Whole messages of one direction: lists of parts, and commands as [None, name]."""
    at, parts = 64, []
    while at + 2 <= len(stream):
        flags, size, body = stream[at], stream[at + 1], at + 2
        if flags & 2:
            if at + 9 > len(stream):
                return
            size, body = struct.unpack_from(">Q", stream, at + 1)[0], at + 9
        if body + size > len(stream):
            return
        part = stream[body:body + size]
        if flags & 4:
            yield [None, part[1:1 + part[0]]]
        else:
            parts.append(part)
            if not flags & 1:
                yield parts
                parts = []
        at = body + size


def blocks(flow):
    return [fcm_data.Block(*m[-2:]) for m in messages(flow.sent(SERVER)) if len(m) >= 3]


# -- real traffic, once for all cases

def ports_of(st):
    return [int(x.rsplit(":", 1)[1]) for x in (st.reserved, st.monitor)]


def listen(endpoint, proxy, keys=None):
    context = zmq.Context()
    sub = context.socket(zmq.SUB)
    if keys:
        secret = secret_of(keys.file("display"))
        sub.curve_secretkey, sub.curve_publickey, sub.curve_serverkey = secret, zmq.curve_public(secret), keys.server.encode()
    sub.linger = 0
    sub.subscribe(b"pmt.")
    sub.connect(endpoint)
    while not proxy.full() and sub.poll(20000):
        sub.recv_multipart()
    context.destroy(linger=0)


def traffic(t):
    """Flows of two reserved consumers and a monitor of a station."""
    st = t.station(load="quiet", truth=False, gpsd=False, emulator_args=["--rate", "3000"])
    st.start(consumers=False)
    reserved, monitor = ports_of(st)
    with Proxy(reserved, LIMIT) as a, Proxy(monitor, LIMIT) as b:
        st.reserved = f"tcp://127.0.0.1:{a.port}"
        st.start_consumer("trigger-1", "trigger")
        st.start_consumer("acoustic-1", "acoustic")
        listener = threading.Thread(target=listen, args=(f"tcp://127.0.0.1:{b.port}", b))
        listener.start()
        st.wait_for("traffic", lambda: len(a.full()) == 2 and b.full(), 30)
        listener.join()
        t.equal("the daemon ends with 0", st.stop(), 0)
    t.check("the consumers found nothing wrong", all(not s["crc_errors"] and not s["malformed"] and s["blocks"]
                                                   for s in st.summaries().values()), st.summaries())
    return a.full() + b.full()


def data_messages(t):
    """every field of every block, hit, sample and acknowledgement as fcm_data.py has them"""
    flows = traffic(t)
    damage_is_told(t, flows)
    path = os.path.join(t.base, "traffic.pcap")
    again = [Flow(61_000 + n, f.ports[SERVER], f.chunks) for n, f in enumerate(flows)]
    write_pcap(path, ETHERNET, segments(flows, 1448) + segments(again, 65483))
    names = ["tcp.dstport", "tcp.srcport", *(f"fcm.block.{n}" for n in HEADER), *(f"fcm.hit.{n}" for n in HITS),
             "fcm.hit.waveform", "fcm.sample", "fcm.topic", "fcm.channel.items", "fcm.verb", "fcm.json",
             "fcm.ack.sequence", "fcm.telemetry.boot_count", "fcm.zmtp.mechanism", "fcm.zmtp.topic", "fcm.frame_status",
             "fcm.block.header_crc.good", "fcm.block.payload_crc.good", "fcm.status", "_ws.expert.message"]
    rows = columns(t, path, names, "-o", "fcm.items:1000000", *as_ours(flows))
    for mss, flow in [(1448, f) for f in flows] + [(65483, f) for f in again]:
        compare(t, f"segments of {mss}", flow, to_client(rows, flow),
                [r for r in rows if r["tcp.srcport"] == [str(flow.ports[CLIENT])]])


def to_client(rows, flow):
    return [r for r in rows if r["tcp.dstport"] == [str(flow.ports[CLIENT])]]


def as_ours(flows):
    return ("-o", "fcm.ports:" + ",".join(sorted({str(f.ports[SERVER]) for f in flows})))


def compare(t, what, flow, down, up):
    """One connection: `down` what the daemon sent, `up` what the consumer said, as tshark has it."""
    wanted = blocks(flow)
    what = f"{what}, {wanted[0].stream}{', monitor' if not flat(down, 'fcm.json') else ''}"
    t.check(f"{what}: there are blocks", len(wanted) > 5, len(wanted))
    wrong = [n for n in HEADER if [number(v) for v in flat(down, f"fcm.block.{n}")] !=
             [int(x) for b in wanted for x in b.header[n].ravel()]]
    t.equal(f"{what}: header fields that differ in {len(wanted)} blocks", wrong, [])
    t.equal(f"{what}: checksums", (set(flat(down, "fcm.block.header_crc.good")), set(flat(down, "fcm.block.payload_crc.good"))),
            ({"1"}, {"1"}))
    t.equal(f"{what}: status", flat(down, "fcm.status"), [b.status().tobytes().hex() for b in wanted])
    t.equal(f"{what}: runs of frames that are not good", [int(x) for x in flat(down, "fcm.frame_status")],
            [int(x) for b in wanted for x, _ in itertools.groupby(b.status()) if x])
    pmt = [b for b in wanted if b.stream == "pmt"]
    if pmt:
        hits = [b.hit_fields(m) for b in pmt for m in range(b.channels)]
        wrong = [n for n in HITS if [number(v) for v in flat(down, f"fcm.hit.{n}")] != [int(x) for h in hits for x in h[n]]]
        t.equal(f"{what}: hit fields that differ in {sum(map(len, hits))} hits", wrong, [])
        t.equal(f"{what}: hits a module", [int(n) for n in flat(down, "fcm.channel.items")], [len(h) for h in hits])
        t.equal(f"{what}: samples", flat(down, "fcm.hit.waveform"),
                [bytes(h[16:]).hex() for b in pmt for m in range(b.channels) for h in b.iterate_hits(m) if len(h) > 16])
    else:
        t.equal(f"{what}: hydrophone samples", [int(x) for x in flat(down, "fcm.sample")],
                [int(x) for b in wanted if b.stream == "hydrophone" for c in range(b.channels) for x in b.samples(c)])
        t.equal(f"{what}: telemetry", len(flat(down, "fcm.telemetry.boot_count")),
                sum(len(b.channel(0)) // 64 for b in wanted if b.stream == "instrument"))
    said = list(messages(flow.sent(CLIENT)))
    t.equal(f"{what}: mechanism", set(flat(down + up, "fcm.zmtp.mechanism")), {"NULL"})
    t.equal(f"{what}: verbs", flat(up, "fcm.verb"), [m[0].decode() for m in said if m[0] and m[0].isupper()])
    t.equal(f"{what}: acknowledgements", [int(x) for x in flat(up, "fcm.ack.sequence")],
            [s for m in said if m[0] == b"ACK" for s, _ in struct.iter_unpack("<QQ", m[1])])
    t.check(f"{what}: HELLO or a subscription", any('"protocol":1' in x for x in flat(up, "fcm.json")) or
            flat(up, "fcm.zmtp.topic") == ["pmt."], (flat(up, "fcm.json"), flat(up, "fcm.zmtp.topic")))
    bad = [x for x in flat(down + up, "_ws.expert.message") if "lost" not in x and "Frames:" not in x and "TCP" not in x and
           "onnection" not in x]
    t.check(f"{what}: nothing to complain about but the end of the capture", len(bad) <= 2 and
            all("not in the capture" in x or "cut off" in x for x in bad), bad[:5])


# -- damage

def mangled(rng, flow, n):
    """The flow with one kind of damage, as another connection; and the kind."""
    data, chunks = bytearray(flow.sent(SERVER)[:40_000]), []
    kind = ("bytes", "begin", "hole", "noise", "insert")[n % 5]
    if kind == "bytes":
        for _ in range(rng.randrange(1, 20)):
            data[rng.randrange(64, len(data))] = rng.randrange(256)
    elif kind == "begin":
        del data[:rng.randrange(1, 15_000)]
    elif kind == "hole":
        at = rng.randrange(64, len(data))
        del data[at:at + rng.randrange(1, 5000)]
    elif kind == "noise":
        at = rng.randrange(64, len(data) - 200)
        data[at:at + 200] = rng.randbytes(200)
    else:
        at = rng.randrange(64, len(data))
        data[at:at] = bytes(rng.randrange(1, 40))
    for i in range(0, len(data), 4000):
        chunks.append((1e9 + n, SERVER, bytes(data[i:i + 4000])))
    return Flow(63_000 + n, flow.ports[SERVER], chunks)


def damage_is_told(t, flows):
    """Damage anywhere: no Lua error, and the blocks behind it are read; lost segments; captures cut short."""
    rng = random.Random(5)
    broken = [mangled(rng, flows[n % len(flows)], n) for n in range(40)]
    lossy = [Flow(62_000 + n, f.ports[SERVER], f.chunks) for n, f in enumerate(flows)]
    path = os.path.join(t.base, "damaged.pcap")
    write_pcap(path, ETHERNET, segments(broken, 1448, handshake=False) +
               [p for p in segments(lossy, 1448) if rng.random() > 0.02])
    rows = columns(t, path, ["tcp.dstport", "fcm.block.sequence", "_ws.expert.message"], *as_ours(flows))
    found = [len(flat(to_client(rows, f), "fcm.block.sequence")) for f in broken + lossy]
    silent = [n for n, x in enumerate(found) if not x]
    # A byte changed in a length that stays believable hides what is behind it.
    t.check("in nearly every damaged connection blocks are found", len(silent) <= 2, silent)
    told = flat(rows, "_ws.expert.message")
    t.check("bad checksums, malformed and unknown bytes are told",
            all(any(x in m for m in told) for x in ("Bad CRC", "inside a message", "beyond")), sorted(set(told))[:20])
    good = sum(len(blocks(f)) for f in lossy)
    t.check("with every 50th segment lost, many blocks are read all the same", good / 4 < sum(found[-len(lossy):]) < good,
            (found[-len(lossy):], good))
    short = os.path.join(t.base, "short.pcap")
    write_pcap(short, ETHERNET, segments(flows, 1448)[:100], snaplen=300)
    with open(short, "r+b") as f:
        f.truncate(os.path.getsize(short) - 77)
    t.check("what is not in the capture is told", "cut off" in tshark(t, short, "-V", *as_ours(flows)))


def wire(parts):
    """The parts of a message as ZeroMQ frames them."""
    return b"".join(bytes(((i + 1 < len(parts)) + 2 * (len(p) > 255),)) + len(p).to_bytes(8 if len(p) > 255 else 1, "big") + p
                    for i, p in enumerate(parts))


def empty_parts(t):
    """messages whose last part has no bytes, and captures that end where a part begins"""
    header = bytearray(256)
    struct.pack_into("<IHH", header, 0, fcm_data.MAGIC, 1, 256)
    struct.pack_into("<I", header, 252, fcm_data.crc32c(header[:252]))
    topic, whole, verb = b"pmt.T01.F07", bytes(header), b"BLOCK"
    cases = [([topic, whole, b""], 0, "Status or index outside"), ([verb, topic, whole, b""], 0, "Status or index outside"),
             ([topic, b""], 0, "Header of 0 bytes"), ([verb, topic, b""], 0, "Header of 0 bytes"),
             ([topic, whole], 256, "nothing of it is here"), ([topic, whole, bytes(80)], 80, "0 of 80 bytes are here")]
    flows = [Flow(61_000 + n, 5710, [(1e9 + n, SERVER, wire(parts))]) for n, (parts, _, _) in enumerate(cases)]
    rows = []
    for n, cut in enumerate((0, *(c for _, c, _ in cases if c))):
        of = [f for f, c in zip(flows, cases) if c[1] == cut]
        packets, path = segments(of, 1448, handshake=False), os.path.join(t.base, f"empty{n}.pcap")
        write_pcap(path, ETHERNET, packets, snaplen=max(len(p) for _, p in packets) - cut)
        rows += columns(t, path, ["tcp.dstport", "_ws.expert.message"], *as_ours(flows))
    for flow, (parts, cut, told) in zip(flows, cases):
        found = flat(to_client(rows, flow), "_ws.expert.message")
        t.check(f"parts of {[len(p) for p in parts]} bytes, {cut} cut off: told", any(told in x for x in found), found)


def golden_blocks(t):
    """the golden block and a grown one are read, fields of a later version shown as such; the next version is told"""
    def golden(name):
        with open(os.path.join(harness.ROOT, "tests", "data", "golden", name), "rb") as f:
            return f.read()
    names = ("block.header", "block-grown.header", "block-next.header")
    flows = [Flow(61_000 + n, 5710, [(1e9 + n, SERVER, wire([b"BLOCK", b"pmt.T01.F07", golden(name), golden("block.payload")]))])
             for n, name in enumerate(names)]
    path = os.path.join(t.base, "golden.pcap")
    write_pcap(path, ETHERNET, segments(flows, 1448, handshake=False))
    rows = columns(t, path, ["tcp.dstport", "fcm.hit.charge", "fcm.block.header_crc.good", "fcm.block.payload_crc.good",
                             "fcm.block.extension", "fcm.block.items", "_ws.col.Info", "_ws.expert.message"], *as_ours(flows))
    today, grown, following = (to_client(rows, f) for f in flows)
    for what, of in (("today", today), ("grown", grown)):
        t.equal(f"{what}: hits", flat(of, "fcm.hit.charge"), ["1500", "700", "4000000"])
        t.equal(f"{what}: checksums", (flat(of, "fcm.block.header_crc.good"), flat(of, "fcm.block.payload_crc.good")), (["1"], ["1"]))
        t.check(f"{what}: nothing but the lost frame is told", all("Frames: 1 crc, 1 good" in x or "onnection" in x or "TCP" in x
                for x in flat(of, "_ws.expert.message")), flat(of, "_ws.expert.message"))
    t.equal("fields of a later version", (flat(today, "fcm.block.extension"), flat(grown, "fcm.block.extension")), ([], ["5a" * 32]))
    t.check("a flag of a later version", "unknown 0x80000000" in flat(grown, "_ws.col.Info")[0], flat(grown, "_ws.col.Info"))
    t.check("the next version", any("No block header of version 1" in x for x in flat(following, "_ws.expert.message")) and
            not flat(following, "fcm.hit.charge"), flat(following, "_ws.expert.message"))


def encrypted(t):
    """with keys: handshake and messages are named as encrypted, nothing is taken for data or for damage"""
    keys = Keys(t.station(name="keys", load="quiet", truth=False, gpsd=False))
    st = keys.st
    keys.add("trigger-1", "consumer:trigger")
    keys.add("display", "monitor")
    keys.write_list()
    st.config += ["[data]", "curve = yes"]
    st.start(consumers=False)
    reserved, monitor = ports_of(st)
    with Proxy(reserved, LIMIT) as a, Proxy(monitor, LIMIT) as b:
        st.reserved = f"tcp://127.0.0.1:{a.port}"
        st.start_consumer("trigger-1", "trigger", "--server-key", keys.server, "--key-file", keys.file("trigger-1"))
        watch = threading.Thread(target=listen, args=(f"tcp://127.0.0.1:{b.port}", b, keys))
        watch.start()
        st.wait_for("traffic", lambda: a.full() and b.full(), 60)
        watch.join()
        t.equal("the daemon ends with 0", st.stop(), 0)
    flows = a.full() + b.full()
    path = os.path.join(t.base, "encrypted.pcap")
    # A message of CURVE's or a command of its handshake; in front of a cut there may be the half of one more.
    whole = sum(1 for f in flows for who in (CLIENT, SERVER) for _ in messages(f.sent(who)))
    for mss in (1448, 65483, 7):
        write_pcap(path, ETHERNET, segments(flows, mss))
        rows = columns(t, path, ["_ws.col.Info", "fcm.zmtp.mechanism", "fcm.zmtp.command", "fcm.zmtp.encrypted",
                                 "fcm.verb", "fcm.block.sequence", "_ws.expert.message"], *as_ours(flows))
        t.check(f"segments of {mss}: greetings of CURVE", set(flat(rows, "fcm.zmtp.mechanism")) == {"CURVE"})
        t.equal(f"segments of {mss}: the handshake by name", sorted(set(flat(rows, "fcm.zmtp.command"))),
                ["HELLO", "INITIATE", "READY", "WELCOME"])
        told = [x for x in flat(rows, "_ws.expert.message") if "FCM" in x or "message" in x or "CRC" in x or "ommand" in x]
        t.check(f"segments of {mss}: messages are encrypted, none is taken for another or for damage",
                4 * len(flows) < whole <= len(flat(rows, "fcm.zmtp.encrypted")) <= whole + 2 * len(flows) and
                not flat(rows, "fcm.verb") and not told and not flat(rows, "fcm.block.sequence"),
                (whole, len(flat(rows, "fcm.zmtp.encrypted")), told[:5]))
        t.check(f"segments of {mss}: the list of packets says so", any("encrypted, " in x for x in flat(rows, "_ws.col.Info")))


# -- frames

def capture(t):
    """The packets of tdm-capture."""
    data = subprocess.run([os.path.join(t.bin, "tdm-capture")], stdout=subprocess.PIPE, check=True).stdout[24:]
    return [data[i + 16:i + 10016] for i in range(0, len(data), 10016)]


def slot_hits(frame):
    """Fields of the hits whose header is whole in this frame's slots, and how many begin there, a module."""
    raw, counts = [], []
    for m in range(6):
        slot = frame[32 + m * 1536:32 + (m + 1) * 1536]
        length, at = struct.unpack_from("<HH", slot)
        n = 0
        while at < length:
            n += 1
            if at + 16 > length:
                break
            raw.append(slot[8 + at:24 + at])
            shape = struct.unpack_from("<I", slot, 8 + at + 12)[0]
            at += 16 + ((shape & 63) << (1 - (shape >> 31)))
        counts.append(n)
    return fcm_data.unpack_hits(fcm_data.np.frombuffer(b"".join(raw), fcm_data.hit_dtype), 0), counts


def raw_frames(t):
    """every field of frames as floors and shore send them; damaged ones"""
    frames = capture(t)
    t.equal("frames in the capture", len(frames), 66)
    up = frames[:-1]
    tdm = {"tower": "B4", "floor": "B5", "flags": "B6", "slot_map": "B7", "sequence": "I8", "time": "Q12", "echo": "I20",
           "slot_valid": "H24", "crc_errors": "B26", "code_errors": "B27", "parity": "H28", "header_crc": "H30", "crc": "I9992"}
    telemetry = ["boot_count", "uptime_s", "temperature_mc", "humidity_ppm", "supply_mv", "current_ma", "rx_power_nw",
                 "heading_mdeg", "pitch_mdeg", "roll_mdeg", "power_mask", "executed", "rejected"]
    times = {"frame": (0, 13), "second": (13, 17), "day": (30, 9), "year": (39, 7), "quality": (46, 4), "leap": (50, 2), "lock": (52, 4)}
    words = ["op", "module", "reg", "status", "value", "sequence", "boot", "crc.good"]
    names = [*(f"fcm.tdm.{n}" for n in tdm), *(f"fcm.telemetry.{n}" for n in telemetry), *(f"fcm.hit.{n}" for n in HITS),
             *(f"fcm.tdm.time.{n}" for n in times), *(f"fcm.word.{n}" for n in words), "fcm.slot.hits", "fcm.sample",
             "fcm.tdm.header_crc.good", "fcm.tdm.crc.good", "fcm.serial.bytes", "fcm.serial.channel", "fcm.timing.command",
             "fcm.timing.argument", "_ws.expert.message"]
    bad = damaged(frames)
    path = os.path.join(t.base, "frames.pcap")
    write_pcap(path, USER0, [(float(n), f) for n, f in enumerate(frames + bad)])
    rows = columns(t, path, names, "-o", "fcm.items:1000")
    damage_of_frames_is_told(t, rows[len(frames):])
    rows = rows[:len(frames)]
    wrong = [n for n, at in tdm.items() if [[number(v) for v in r[f"fcm.tdm.{n}"]] for r in rows] !=
             [list(struct.unpack_from("<" + at[0], f, int(at[1:]))) for f in frames]]
    t.equal("header fields that differ", wrong, [])
    words64 = [struct.unpack_from("<Q", f, 12)[0] for f in frames]
    wrong = [n for n, (bit, width) in times.items() if [number(v) for v in flat(rows, f"fcm.tdm.time.{n}")] !=
             [(w >> bit & (1 << width) - 1) + 2000 * (n == "year") for w in words64]]
    t.equal("fields of the time word that differ", wrong, [])
    t.check("checksums", all(r["fcm.tdm.header_crc.good"] == ["1"] and r["fcm.tdm.crc.good"] == ["1"] for r in rows))
    wrong = [n for i, n in enumerate(telemetry) if [number(v) for v in flat(rows, f"fcm.telemetry.{n}")] !=
             [struct.unpack_from("<i" if i in (2, 8, 9) else "<I", f, 9728 + 4 * i)[0] for f in up]]
    t.equal("telemetry that differs", wrong, [])
    hits = [slot_hits(f) for f in up]
    wrong = [n for n in HITS if [number(v) for v in flat(rows, f"fcm.hit.{n}")] != [int(x) for h, _ in hits for x in h[n]]]
    t.equal(f"hit fields that differ in {sum(len(h) for h, _ in hits)} hits", wrong, [])
    t.equal("hits that begin in each slot", [int(x) for x in flat(rows, "fcm.slot.hits")], [n for _, c in hits for n in c])
    t.equal("hydrophone samples", [int(x) for x in flat(rows, "fcm.sample")],
            [x for f in up for h in (9256, 9360) for x in struct.unpack_from("<24i", f, h)])
    made = [n for n in range(8)], [n for n in range(0, 16, 5)]
    t.equal("words", [[number(v) for v in flat(rows, f"fcm.word.{n}")] for n in words],
            [[1 + n % 4 | r for r, l in zip((128, 0), made) for n in l], [n for l in made for n in l],
             [2 * n for l in made for n in l], [*range(8), 0, 0, 0, 0], [-1000 * n for l in made for n in l],
             [70000 + n for l in made for n in l], [3] * 8 + [0] * 4, [1] * 12])
    t.equal("serial tunnels and timing", [flat(rows, f"fcm.{n}") for n in
                                          ("serial.bytes", "serial.channel", "timing.command", "timing.argument")],
            [[b"$PING*".hex(), b"down".hex()], ["2", "1"], ["4"], ["4242"]])
    t.equal("nothing to complain about", flat(rows, "_ws.expert.message"), [])


def damaged(frames):
    """By number: cut off, changed, slipped."""
    rng, bad = random.Random(6), []
    for n in range(150):
        frame = bytearray(frames[n % len(frames)])
        if n % 3 == 0:
            frame = frame[:rng.randrange(1, 10000)]
        elif n % 3 == 1:
            for _ in range(rng.randrange(1, 9)):
                frame[rng.randrange(32, 9992)] ^= rng.randrange(1, 256)
        else:
            slip = rng.randrange(1, 9999)
            frame = frame[slip:] + frame[:slip]
        bad.append(bytes(frame))
    return bad


def damage_of_frames_is_told(t, rows):
    wanted = ("cut off|No sync", "Bad CRC", "begins at byte|No sync")
    silent = [n for n, r in enumerate(rows) if not any(re.search(wanted[n % 3], x) for x in r["_ws.expert.message"])]
    t.equal(f"damaged frames, of {len(rows)}, of which that is not told", silent, [])


# -- what the fuzzers have found worth keeping (tests/fuzz)

def kept():
    """{target: [bytes]} of the corpora in the tree, and of what `make fuzz` has added to them."""
    found = {}
    for path in sorted(glob.glob(os.path.join(harness.ROOT, "tests", "fuzz", "corpus", "*", "*"))) + \
            sorted(glob.glob(os.path.join(harness.ROOT, "build", "fuzz", "found", "corpus-*", "*")))[:GROWN]:
        with open(path, "rb") as f:
            found.setdefault(os.path.basename(os.path.dirname(path)).replace("corpus-", ""), []).append(f.read())
    return found


def as_message(data):
    """The data message that fuzz_data.c makes of an input: topic, header, payload."""
    how, length = data[0], data[1] % 32
    topic, header, payload = data[2:2 + length], bytearray(data[2 + length:258 + length].ljust(256, b"\0")), data[258 + length:]
    if how & 2:
        struct.pack_into("<IHH", header, 0, fcm_data.MAGIC, 1, 256)
        struct.pack_into("<I", header, 104, len(payload))
    if how & 1:
        struct.pack_into("<I", header, 248, fcm_data.crc32c(payload))
        struct.pack_into("<I", header, 252, fcm_data.crc32c(bytes(header[:252])))
    return [topic, bytes(header), payload]


def fuzzers_corpus(t):
    """the inputs of the fuzzers, as messages, as what consumers say, as bytes of a stream and in frames: no Lua error"""
    corpus = kept()
    t.check("there are inputs of each kind", all(len(corpus.get(n, [])) >= 5 for n in ("data", "member", "fibre", "record")),
            {n: len(c) for n, c in corpus.items()})
    messages_of = [as_message(d) for d in corpus["data"] if len(d) > 2]
    every = [d for c in corpus.values() for d in c]
    streams = [wire(m) for m in messages_of] + [wire([b"BLOCK", *m]) for m in messages_of] + every
    said = [wire([verb, d[:4000]]) for verb in (b"HELLO", b"ACK") for d in every] + [wire([d[:200], d]) for d in corpus["member"]]
    flows = [Flow(61_000 + n % 4000, 5710 + n // 4000, [(1e9 + n, SERVER, d or b"?")]) for n, d in enumerate(streams)] + \
        [Flow(57_000 + n % 4000, 5710 + n // 4000, [(1e9 + n, CLIENT, d or b"?")]) for n, d in enumerate(said)]
    path = os.path.join(t.base, "corpus.pcap")
    write_pcap(path, ETHERNET, segments(flows, 1448, handshake=False))
    rows = columns(t, path, ["tcp.srcport", "fcm.hit.pmt", "fcm.sample", "fcm.verb", "fcm.ack.sequence"], "-o", "fcm.items:1000",
                   *as_ours(flows))
    t.check("every packet is read", len(rows) >= len(flows), (len(rows), len(flows)))
    t.check("hits, samples, verbs and acknowledgements are found in them",
            all(flat(rows, n) for n in ("fcm.hit.pmt", "fcm.sample", "fcm.verb", "fcm.ack.sequence")))
    good, frames = capture(t)[0], []
    for n, d in enumerate(every):
        at = (n * 997) % 9000
        frames += [good[:at] + d[:10000 - at] + good[at + len(d):], d[:10000]]
    path = os.path.join(t.base, "corpus_frames.pcap")
    write_pcap(path, USER0, [(float(n), f or b"?") for n, f in enumerate(frames)])
    rows = columns(t, path, ["fcm.tdm.sequence", "_ws.expert.message"], "-o", "fcm.items:1000")
    t.equal("every frame is read", len(rows), len(frames))


def names_agree(t):
    """names of streams, losses, states and flags are those of fcm_data.py"""
    with open(SCRIPT) as f:
        text = f.read()
    for name, wanted in (("STREAMS", fcm_data.STREAMS), ("LOSSES", fcm_data.LOSSES), ("BLOCK_FLAGS", tuple(fcm_data.FLAGS)),
                         ("CLOCK_STATES", fcm_data.CLOCK_STATES), ("LABEL_SOURCES", fcm_data.LABEL_SOURCES)):
        found = re.search(rf"^local {name} = \{{(.*?)\}}", text, re.M | re.S)
        t.equal(name, tuple(re.findall(r'"([^"]*)"', found[1])), wanted)
    t.equal("flags are single bits in order", list(fcm_data.FLAGS.values()), [1 << i for i in range(len(fcm_data.FLAGS))])


if __name__ == "__main__":
    harness.main([names_agree, empty_parts, golden_blocks, encrypted, data_messages, raw_frames, fuzzers_corpus])
