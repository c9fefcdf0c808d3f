#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""A recording played to a fresh daemon makes the blocks that the live one made, byte for byte."""
import hashlib
import json
import os
import sys
import threading

import numpy as np
import zmq

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

sys.path.insert(0, os.path.join(harness.ROOT, "schemas"))
import fcm_data  # noqa: E402

WAIT = ["[group trigger]", "streams = pmt", "policy = wait",
        "[group acoustic]", "streams = hydrophone,instrument", "policy = wait"]
# Of the day, not of the data: which DMA epoch and run it is, and how the label is known.
DAY = ("dma_epoch", "sequence", "run", "time_epoch", "label_source", "clock_state", "uncertainty_ns", "flags",
       "header_crc")
DAY_FLAGS = sum(fcm_data.FLAGS[f] for f in ("resent", "relabel", "emulated"))


class Collector(threading.Thread):
    """A member of both groups that acknowledges all and keeps headers and the payloads' hashes."""

    def __init__(self, endpoint):
        super().__init__(daemon=True)
        self.endpoint, self.blocks, self.ended = endpoint, {}, False
        self.start()

    def run(self):
        context = zmq.Context()
        members = []
        for group in ("trigger", "acoustic"):
            s = context.socket(zmq.DEALER)
            s.linger = 0
            s.connect(self.endpoint)
            members.append((s, json.dumps({"protocol": 1, "name": group, "group": group, "credit": 256}).encode()))
            s.send_multipart([b"HELLO", members[-1][1]])
        poller = zmq.Poller()
        for s, _ in members:
            poller.register(s, zmq.POLLIN)
        while not self.ended:
            poller.poll(100)
            for s, hello in members:
                acks = []
                while len(acks) < 32 and s.getsockopt(zmq.EVENTS) & zmq.POLLIN:
                    verb, *body = s.recv_multipart()
                    if verb == b"BLOCK":
                        acks.append(self.take(*body[1:]))
                    elif verb == b"ERROR":
                        s.send_multipart([b"HELLO", hello])
                s.send_multipart([b"ACK", b"".join(acks)] if acks else [b"ALIVE"])
        context.destroy(linger=0)

    def take(self, header, payload):
        h = np.frombuffer(header, dtype=fcm_data.header_dtype)[0]
        self.blocks[int(h["link"]), int(h["stream"]), int(h["first_frame"])] = \
            (h, hashlib.sha256(payload).hexdigest())
        ack = np.zeros(1, dtype=fcm_data.ack_dtype)
        for name in ("sequence", "stream", "link", "tower", "floor"):
            ack[name] = h[name]
        return ack.tobytes()

    def end(self):
        self.ended = True
        self.join()
        return self.blocks


def record(t):
    """A live station with all kinds of loss: its blocks, the recording, each link's (first, end) count."""
    scenario = t.scenario("from data\n"
                          "at 2 every 0.11 times 300 link 1 crc 2\n"
                          "at 2 every 0.13 times 300 link 1 drop 9\n"
                          "at 2 every 0.5 times 60 link 3 unplug 0.12\n")
    st = t.station("live", load="quiet", truth=False, scenario=scenario,
                   emulator_args=["--rate", "4000"],
                   config=["[record]", "min_free_mb = 1", *WAIT])
    st.start(consumers=False)
    collector = Collector(st.reserved)
    st.wait_for("blocks with a time",
                lambda: len(b := list(collector.blocks.values())) > 300 and
                not any(int(h["flags"]) & fcm_data.FLAGS["no-time"] for h, _ in b[-100:]))
    for name in ("r1", "r2", "r3"):
        st.ask("record", "start", "--name", name, "--links", "1,3")
        st.wait_for("a second recorded", lambda: st.status()["recording"]["frames"] > 2 * 8000)
        st.ask("record", "stop")
        path = st.path(f"recordings/{name}")
        code, out, err = st.ctl("--json", "record", "dump", path)
        if '"let-go"' not in out:  # else a disk that is busy with others: that is not the same when played
            break
    t.equal("record dump: the recording is well", (code, err), (0, ""))
    ranges = {}
    for item in map(json.loads, out.splitlines()):
        if item["what"] == "record" and item["kind"] in ("data", "gap", "let-go"):
            # Begun or ended in the dark: the first and the last light count. Whether a slice that begins in the dark
            # has blocks or is one gap hangs on the light that comes after it.
            if item["kind"] != "gap":
                first, _ = ranges.get(item["link"], (item["count"], 0))
                ranges[item["link"]] = (first, item["count"] + item["frames"])
    t.check("the losses are in it by name", '"board-fifo"' in out and '"link-down"' in out, out[:2000])
    last = max(end for _, end in ranges.values())
    st.wait_for("the last recorded blocks",
                lambda: all(any(k[0] == link and k[2] > last for k in list(collector.blocks)) for link in ranges))
    blocks = collector.end()
    st.stop()
    st.host_too_slow = st.host_too_slow or '"let-go"' in out
    return st, blocks, path, ranges


def play(t, name, path, speed, delays):
    """Its blocks, and the line that the emulator says at the end."""
    st = t.station(name, play=path, speed=speed, truth=False, gpsd=False, emulator_args=["--play-once"], config=WAIT,
                   delays=delays)
    st.start_emulator()
    st.write_config()
    collector = Collector(st.reserved)
    st.start_daemon()
    st.wait_for("the end of the recording", lambda: not st.emu.alive(), 40)
    st.host_too_slow = st.emu.popen.returncode == 3
    blocks = collector.end()
    st.stop()
    played = [line for line in st.emu.tail(40).splitlines() if line.startswith("played ")]
    t.check(f"{name}: played whole, nothing missed, one DMA epoch", len(played) == 1 and "missed 0," in played[0] and
            "absent 0, DMA epochs 1, damaged segments 0" in played[0] and "not all" not in played[0],
            st.emu.tail(20))
    return blocks


def inside(key, header, ranges):
    """All its frames, and the one behind, come in recorded cells from the fourth on (7 or 8 behind their count)."""
    first, end = ranges.get(key[0], (0, 0))
    return first + 3 - 7 <= key[2] and key[2] + int(header["frames"]) + 8 < end


def same(a, b):
    """Names of what differs, but for what is of the day."""
    (ha, pa), (hb, pb) = a, b
    wrong = [n for n in ha.dtype.names if n not in DAY and not np.array_equal(ha[n], hb[n])]
    if (int(ha["flags"]) ^ int(hb["flags"])) & ~DAY_FLAGS:
        wrong.append("flags")
    if (int(ha["sequence"]) ^ int(hb["sequence"])) & ((1 << 40) - 1):
        wrong.append("sequence")
    return wrong + (["payload"] if pa != pb else [])


def compare(t, name, live, played, ranges):
    wanted = {k: v for k, v in live.items() if inside(k, v[0], ranges)}
    t.equal(f"{name}: every block inside the recording is there", [k for k in wanted if k not in played][:5], [])
    different = {k: same(v, played[k]) for k, v in wanted.items() if k in played and same(v, played[k])}
    t.equal(f"{name}: and is the same, byte for byte", (len(different), list(different.items())[:5]), (0, []))
    per = {key: sum(k[:2] == key for k in wanted) for key in {k[:2] for k in wanted}}
    t.check(f"{name}: both links, all streams, most of a second", len(per) == 6 and min(per.values()) > 20, per)
    edge = [k for k in played if k not in wanted and k[0] in ranges and ranges[k[0]][0] <= k[2] < ranges[k[0]][1]]
    t.check(f"{name}: only the first and the last block of a link and stream may be others",
            len(edge) <= 2 * len(per), sorted(edge))
    locked = [h for h, _ in played.values() if not int(h["flags"]) & fcm_data.FLAGS["no-time"]]
    t.check(f"{name}: every block has its time, by the emulator's label", len(locked) == len(played) and
            {int(h["label_source"]) for h in locked} == {fcm_data.LABEL_SOURCES.index("emulator")})


def hits_of_a_block(t, st, live, path, ranges):
    """record dump shows as many hits as the block of the same frames has."""
    first, _ = ranges[1]
    code, out, _ = st.ctl("--json", "record", "dump", path, "--link", "1", "--what", "frames", "--from",
                          str(first + 400), "--frames", "1")
    frame = json.loads(out)
    delay = frame["count"] - frame["floor_frame"]
    key = min(k for k in live if k[:2] == (1, fcm_data.PMT) and k[2] > first + 400)
    code, out, err = st.ctl("--json", "record", "dump", path, "--link", "1", "--what", "hits", "--from",
                            str(key[2] + delay), "--frames", "90")
    hits = [h for h in map(json.loads, out.splitlines()) if h["count"] < key[2] + delay + 80]
    t.equal("record dump: the hits of a block", (code, len(hits)), (0, int(live[key][0]["items"]))) or print(err)
    utc = min(h["utc"] for h in hits)
    tai = int(live[key][0]["first_item_tai_ns"]) - int(live[key][0]["cable_delay_ns"])  # what the frames say
    t.equal("and the time of the first one", utc.split(".")[1], f"{tai % 10**9:09d}")


def a_recording_is_the_same_data(t):
    """two links with losses recorded for a second, played at its own pace and at full speed: equal blocks"""
    st, live, path, ranges = record(t)
    t.equal("the links asked for are recorded", sorted(ranges), [1, 3])
    hits_of_a_block(t, st, live, path, ranges)
    for name, speed in (("pace", None), ("max", "max")):
        compare(t, name, live, play(t, name, path, speed, st.cable_delays()), ranges)


if __name__ == "__main__":
    harness.main([a_recording_is_the_same_data])
