#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""First looks at the data, `fcmctl data tail --hits` and `fcmctl data plot`, on a real station: to the digit what
another monitor has received, decoded here on its own; as many hits, at the time of their light, as the floors sent."""
import collections
import json
import math
import os
import re
import signal
import struct
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402

RATE = 3000  # Hz a module: Python decodes all of it
TAI_UTC_S = 37
Hit = collections.namedtuple("Hit", "tai_ns module charge samples zip fragment fifo_full frame t5ns values")


class Block:
    """A pmt block, as schemas/fcm_data.h has it."""

    def __init__(self, header, payload):
        self.link, self.channels = header[10], header[11]
        self.frames, = struct.unpack_from("<I", header, 36)
        _, self.first_frame, self.tai_ns = struct.unpack_from("<QQq", header, 48)
        status_at, index_at = struct.unpack_from("<II", header, 108)
        self.good = payload[status_at:status_at + self.frames].count(0)
        self.payload, self.sorted = payload, {}
        self.index = [struct.unpack_from(f"<{self.frames + 1}I", payload, index_at + 4 * (self.frames + 1) * c)
                      for c in range(self.channels)]

    def hits(self, module):
        """In the order sent."""
        for carrier in range(self.frames if self.channels else 0):
            at, end = self.index[module][carrier:carrier + 2]
            while at < end:
                time_word, shape = struct.unpack_from("<QI", self.payload, at + 4)
                count, packed = shape & 63, shape >> 31
                values = struct.unpack_from(f"<{count}{'B' if packed else 'H'}", self.payload, at + 16)
                born = time_word >> 16 & 0x1fff
                age = (self.first_frame + carrier - born) % 8000
                tai_ns = self.tai_ns + (carrier - age) * 125000 + (time_word & 0xffff) * 5
                yield Hit(tai_ns, module, shape >> 8 & 0x3fffff, count, bool(packed), bool(shape >> 30 & 1),
                          bool(shape >> 7 & 1), born, time_word & 0xffff, values)
                at += 16 + count * (1 if packed else 2)

    def in_time(self, modules=range(6)):
        if modules not in self.sorted:
            self.sorted[modules] = sorted((h for m in modules for h in self.hits(m)), key=lambda h: h.tai_ns)
        return self.sorted[modules]


class Monitor(threading.Thread):
    """All blocks of hits, by link and first frame."""

    def __init__(self, st):
        import zmq
        super().__init__(daemon=True)
        self.socket = zmq.Context.instance().socket(zmq.SUB)
        self.socket.set_hwm(0)
        self.socket.subscribe(b"pmt.")
        self.socket.connect(st.monitor)
        self.blocks, self.ended = {}, False
        self.start()

    def run(self):
        while not self.ended:
            if self.socket.poll(200):
                _, header, payload = self.socket.recv_multipart()
                block = Block(header, payload)
                self.blocks[block.link, block.first_frame] = block
        self.socket.close(0)

    def until(self, link, frame):
        """Wait until a block that reaches `frame` has come."""
        end = time.monotonic() + 20
        while time.monotonic() < end:
            if any(n == link and b.first_frame + b.frames >= frame for (n, _), b in list(self.blocks.items())):
                return
            time.sleep(0.05)
        raise AssertionError(f"link {link}: no block up to frame {frame}")

    def between(self, link, first, end):
        return [b for (n, frame), b in sorted(self.blocks.items()) if n == link and first <= frame < end]


def start(t, rate=RATE):
    st = t.station(load="quiet", emulator_args=["--rate", str(rate)])
    st.start()
    st.wait_ready()
    monitor = Monitor(st)
    for link in range(4):
        monitor.until(link, 0)
    return st, monitor


def truth(st):
    """{(link, floor frame): (hits by module, TAI of its light)} of frames that arrived well."""
    with open(st.path("truth.bin"), "rb") as f:
        data = f.read()
    size, = struct.unpack_from("<I", data, 8)
    found = {}
    for at in range(128, len(data) - size + 1, size):
        _, frame, tai_ns, link, _, _, fate, _, _, *hits = struct.unpack_from("<QQqBBBBHH6H", data, at)
        if fate == 0:
            found[link, frame] = hits, tai_ns
    return found


def ask(st, *args):
    """The lines of JSON. A monitor is best effort: again where it says that it has missed something."""
    for _ in range(5):
        code, out, err = st.ctl("--json", "data", *args)
        assert code == 0, (args, code, err)
        if not err:
            break
    assert not err, (args, err)
    return [json.loads(line) for line in out.splitlines()]


# --- a line a hit ---

def as_shown(hit, block):
    s, ns = divmod(hit.tai_ns - TAI_UTC_S * 10 ** 9, 10 ** 9)
    return {"v": 2, "link": block.link, "tower": 1, "floor": block.link + 1, "om": hit.module, "tai_ns": hit.tai_ns,
            "utc": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(s)) + f".{ns:09}", "pmt": hit.module,
            "frame": hit.frame, "t5ns": hit.t5ns, "charge": hit.charge, "samples": hit.samples, "zip": hit.zip,
            "fragment": hit.fragment, "fifo_full": hit.fifo_full}


def wanted(monitor, link, first, count, modules=range(6)):
    """So many hits of a link from the block on that has the hit `first`; None: the monitor has missed a block of them."""
    lines, end = [], time.monotonic() + 20
    while len(lines) < count and time.monotonic() < end:
        lines, follows = [], None
        for b in [b for (n, _), b in sorted(list(monitor.blocks.items())) if n == link]:
            hits = b.in_time(modules) if len(lines) < count else []
            if lines and len(lines) < count and b.first_frame != follows:
                return None
            if lines or (hits and hits[0].tai_ns == first["tai_ns"]):
                lines += [as_shown(h, b) for h in hits]
            follows = b.first_frame + b.frames
        time.sleep(0.1)
    return lines[:count] if lines else None


def as_another(t, st, monitor, what, link, count, *args, modules=range(6)):
    """The lines, which have to be those of another monitor. Both are best effort: again where one has missed something."""
    for _ in range(5):
        lines = ask(st, "tail", "--hits", "--count", str(count), *args)
        other = wanted(monitor, link, lines[0], count, modules)
        if other is not None:
            break
    t.equal(f"{what} are those that another monitor has", lines, other)
    return lines


def a_line_a_hit(t):
    """data tail --hits: every hit of a floor, of a module, in the order of time; their light is the truth's"""
    st, monitor = start(t)
    lines = as_another(t, st, monitor, "hits of a floor", 1, 4000, "--link", "1")
    as_another(t, st, monitor, "hits of a module", 3, 300, "--floor", "4", "--module", "om5", modules=(5,))
    code, out, _ = st.ctl("data", "tail", "--hits", "--link", "0", "--count", "40")
    text = re.findall(r"^(\S{29}) link0 T01\.F01 om([0-5]) charge +(\d+) samples +(\d+)"
                      r"((?: zip| fragment| fifo-full)*)$", out, re.M)
    t.check("a person's lines are lines of hits", code == 0 and len(text) == 40, out)
    shown = {as_shown(h, b)["utc"]: h for b in list(monitor.blocks.values()) if b.link == 0 for h in b.in_time()}
    t.equal("with the same numbers", [(int(m), int(c), int(s), "zip" in f, "fragment" in f) for _, m, c, s, f in text],
            [(h.module, h.charge, h.samples, h.zip, h.fragment) for h in (shown[utc] for utc, *_ in text)])
    monitor.ended = True
    t.account(st)
    light = {(link, frame % 8000, tai_ns // 10 ** 9): tai_ns for (link, frame), (_, tai_ns) in truth(st).items()}
    off = [line["tai_ns"] - line["t5ns"] * 5 - light.get((line["link"], line["frame"],
           (line["tai_ns"] - line["t5ns"] * 5) // 10 ** 9), 0) for line in lines]
    t.check("the hits' times are those of their light", max(map(abs, off)) <= 1, (min(off), max(off)))


# --- histograms ---

def values_of(blocks, quantity, modules, over):
    """What a histogram of these blocks of a link is of."""
    for m in modules:
        pulse = None
        for b in blocks:
            hits = list(b.hits(m))
            if quantity == "rate":
                yield int(sum(not h.fragment for h in hits) * 80 / b.good + 0.5) / 10
            for h in hits:
                if quantity in ("charge", "samples"):
                    yield getattr(h, quantity)
                elif quantity == "time-over-threshold" and not h.fragment:
                    if pulse is not None:
                        yield 5 * pulse
                    base, pulse = sum(h.values[:4]) / 4, 0
                if pulse is not None:
                    pulse += sum(v >= base + over for v in h.values)


def in_bins(found, values):
    first, width = found["bins"][0][0], found["bin"]
    counts = collections.Counter(math.floor((v - first) / width + 1e-9) for v in values)
    bins = len(found["bins"])
    return ([counts[n] for n in range(bins)], sum(c for n, c in counts.items() if n < 0),
            sum(c for n, c in counts.items() if n >= bins))


def histograms(t):
    """data plot: entries, bins, mean, median, extremes of each quantity; as many hits as the floors have sent"""
    st, monitor = start(t)
    seen = []
    for quantity, args, modules, over in (
            ("charge", [], range(6), 0), ("samples", ["--link", "2"], range(6), 0),
            ("rate", ["--module", "3"], [3], 0), ("rate", ["--floor", "1"], range(6), 0),
            ("time-over-threshold", ["--module", "2"], [2], 4),
            ("time-over-threshold", ["--floor", "3", "--over", "20"], range(6), 20)):
        found, = ask(st, "plot", quantity, "--for", "2s", *args)
        what = " ".join([quantity, *args])
        t.check(f"{what}: nothing was missed or lost", not any(x["missed"] or x["lost"] for x in found["links"]), found)
        seen += found["links"] if len(modules) == 6 else []
        values = []
        for x in found["links"]:
            monitor.until(x["link"], x["end_frame"])
            blocks = monitor.between(x["link"], x["first_frame"], x["end_frame"])
            t.equal(f"{what}: link {x['link']} has all frames of two seconds or so",
                    (x["frames"], 14000 < x["frames"] < 20000), (sum(b.frames for b in blocks), True))
            values += values_of(blocks, quantity, modules, over)
        values.sort()
        t.equal(f"{what}: so many values", found["entries"], len(values))
        t.equal(f"{what}: its bins", ([n for _, n in found["bins"]], found["below"], found["above"]),
                in_bins(found, values))
        t.check(f"{what}: within 16 bins are all but the far ones", len(found["bins"]) <= 16 and
                found["below"] + found["above"] <= len(values) / 20 + 1, found)
        t.equal(f"{what}: least, median, greatest", (found["least"], found["median"], found["greatest"]),
                (values[0], values[(len(values) - 1) // 2], values[-1]))
        t.check(f"{what}: mean", abs(found["mean"] - sum(values) / len(values)) < 1e-6, found["mean"])
    monitor.ended = True
    t.account(st)
    sent = truth(st)
    t.equal("as many hits as the floors have sent", [x["hits"] for x in seen],
            [sum(sum(sent[x["link"], n][0]) for n in range(x["first_frame"], x["end_frame"])) for x in seen])


# --- best effort ---

@harness.long
def behind(t):
    """data tail --hits that is stopped for longer than its queue holds: it goes on, and says what it has missed"""
    st, monitor = start(t)
    p = subprocess.Popen([st.program("fcmctl"), "--dir", st.dir, "data", "tail", "--hits", "--module", "0"],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    lines = []
    reader = threading.Thread(target=lambda: lines.extend(p.stdout), daemon=True)
    reader.start()
    st.wait_for("hits", lambda: len(lines) > 1000)
    p.send_signal(signal.SIGSTOP)
    time.sleep(20)
    before = len(lines)
    p.send_signal(signal.SIGCONT)
    st.wait_for("it goes on", lambda: len(lines) > before + 100000, 60)
    with open(f"/proc/{p.pid}/statm") as f:
        pages = int(f.read().split()[1])
    p.send_signal(signal.SIGINT)
    reader.join(20)
    err = re.sub(r"\n {8}", " ", p.stderr.read())
    t.equal("Ctrl-C is its usual end", p.wait(20), 0)
    t.check("it says what it has missed, by link and frame", len(re.findall(
        r"link [0-3] pmt: (?:frames \d+|\d+ frames in \d+ gaps from \d+) to \d+ were missed here", err)) >= 4, err)
    t.check("not line by line", err.count("\n") < 200, err[:2000])
    t.check("within its memory", pages < 100 << 8, pages)
    monitor.ended = True
    t.account(st)


if __name__ == "__main__":
    harness.main([a_line_a_hit, histograms, behind])
