#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""The TriDAS feed: readers of a real station's ports, against the truth and the ledger."""
import json
import os
import re
import socket
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import harness  # noqa: E402
from station import free_base_port  # noqa: E402

BLOCK = 80  # frames


class Reader(threading.Thread):
    """Reads a port to its end, into a file. While `stalled` it stands still."""
    options = ()  # of its socket

    def __init__(self, st, name, link, port, stalled=False):
        super().__init__(daemon=True)
        self.path, self.link, self.go = st.path(name + ".hits"), link, threading.Event()
        self.socket = socket.socket()
        if stalled:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        else:
            self.go.set()
        for option in self.options:
            self.socket.setsockopt(*option)
        self.socket.settimeout(60)
        self.socket.connect(("127.0.0.1", port + link))
        self.name = "%s:%d" % self.socket.getsockname()
        self.error = None
        self.start()

    def take(self):
        """Some bytes; none: the end."""
        return self.socket.recv(1 << 20)

    def run(self):
        self.go.wait()
        try:
            with open(self.path, "wb") as f:
                while data := self.take():
                    f.write(data)
        except OSError as e:
            self.error = e
        self.socket.close()

    def compare(self, st):
        r = subprocess.run([st.program("feed-compare"), st.path("truth.bin"), str(self.link), str(BLOCK), self.path],
                           capture_output=True, text=True, timeout=300, check=False)
        return r.returncode, json.loads(r.stdout)


def example(port):
    """The program in schemas/README.md, at another port: its first lines."""
    with open(os.path.join(harness.ROOT, "schemas", "README.md")) as f:
        text = f.read().split("## The TriDAS feed")[1].split("```python\n")[1].split("```")[0]
    with subprocess.Popen([sys.executable, "-u", "-c", text.replace("5602", str(port))], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True) as p:
        lines = [p.stdout.readline().split() for _ in range(5)]
        p.kill()
    return lines


def readers_and_one_that_stalls(t):
    """two readers of a floor and one that stands still, one of another floor: hits equal the truth, drops are exact"""
    base = free_base_port()
    st = t.station(emulator_args=["--rate", "20000"],
                   config=["[feed]", "enabled = yes", f"base_port = {base}", "budget_mb = 1"])
    st.start()
    st.wait_ready()

    def feed():
        return st.ask("consumer", "list")["feed"]
    t.equal("a port a floor", [(f["link"], f["floor"], f["port"]) for f in feed()["floors"]],
            [(n, n + 1, base + n) for n in range(4)])
    st.wait_for("each floor without a reader is red", lambda: sorted(
        r["object"] for r in st.seen() if r["code"] == "consumer-none") ==
        [f"feed tower1.floor{n}" for n in (1, 2, 3, 4)])
    quick = [Reader(st, "first", 1, base), Reader(st, "second", 1, base), Reader(st, "other", 2, base)]
    lines = example(base + 2)
    t.check("the example prints hits of its floor", all(x[0] == "module" and int(x[1]) < 6 and x[2:4] == ["floor", "3"]
                                                        for x in lines), lines[:3])
    st.wait_for("the example is gone", lambda: len(feed()["readers"]) == len(quick))
    still = Reader(st, "still", 1, base, stalled=True)
    st.wait_for("the reader that stands still is dropped", lambda: feed()["dropped"] == 1, 30)
    listed = feed()
    gone = [r for r in listed["readers"] if r["dropped"]][0]
    t.check("by name, address and reason", gone["address"] == still.name and gone["floor"] == 2 and
            gone["dropped"]["outcome"] == "slow" and
            # Its budget, or half the ring; where a sanitizer has the sea dark, that comes first.
            (gone["behind_bytes"] > 1 << 20 or gone["behind_frames"] > 8000), gone)
    t.equal("the others are connected, nobody behind", sorted((r["address"], r["behind_bytes"] < 1 << 20)
                                                             for r in listed["readers"] if not r["dropped"]),
            sorted((r.name, True) for r in quick))
    st.wait_for("status names it", lambda: any(
        r["code"] == "feed-reader-dropped" and r["object"] == "feed tower1.floor2" and still.name in r["text"]
        for r in st.seen(cleared=True)))
    def told():
        return [e for e in st.ask("event", "list", "--limit", "100")["events"] if e["code"] == "feed-reader-dropped"]
    st.wait_for("its event", told)
    events = told()
    t.check("its group tells no other", not [e for e in st.ask("event", "list", "--limit", "100")["events"]
                                             if e["code"] == "consumer-disconnected"])
    t.check("one event names it", len(events) == 1 and still.name in events[0]["text"], events)
    still.go.set()
    ledger = t.account(st)
    for r in quick + [still]:
        r.join(30)
    results = [r.compare(st) for r in quick + [still]]
    for r, (code, found) in zip(quick + [still], results):
        t.check(f"floor {r.link + 1}: every hit is the truth's, in order, from a block's border to the end",
                code == 0 and not r.error and found["end"] > found["first"], (r.error, found))
    (_, first), (_, second), (_, other), (_, stopped) = results
    t.equal("no hit is cut off, also for the one that was dropped", [x["cut_bytes"] for _, x in results], [0] * 4)
    t.equal("the readers of a floor have the same end", first["end"], second["end"])

    # The ledger: nobody until the first came, slow from where the one that stood still had no whole block.
    def lost(link, code):
        return [(x["first"], x["first"] + x["frames"]) for x in ledger["losses"]
                if x["group"] == "tridas" and x["link"] == link and x["code"] == code]
    t.equal("what the dropped reader had not got is charged as slow, once, to the frame", lost(1, "slow"),
            [(stopped["end"], stopped["end"] + gone["dropped"]["frames"])])
    for link, begin in ((1, first), (2, other)):
        # Where the first reader came with the label, there was none without him.
        before = sorted(x for x in lost(link, "no-member") + lost(link, "no-time") if x[0] < begin["first"])
        t.check(f"link {link}: nobody, or no label, was there until the first reader's first frame",
                before and before[-1][1] == begin["first"], (before, begin))
    sums = {}
    for row in ledger["streams"]:
        if row["group"] == "tridas":
            a = sums.setdefault(row["link"], {"acknowledged": 0, "no-member": 0, "slow": 0, "no-time": 0})
            a["acknowledged"] += row["acknowledged"]
            for name in ("no-member", "slow", "no-time"):
                a[name] += row["dropped"][name]
    t.equal("acknowledged are the frames that the readers have, less the slow ones",
            [sums[1]["acknowledged"] + sums[1]["slow"], sums[2]["acknowledged"]],
            [first["end"] - first["first"], other["end"] - other["first"]])
    t.check("a floor that nobody read has no delivery", sums[0]["acknowledged"] == 0 and sums[0]["no-member"] > 0, sums)
    t.equal("nobody else was charged with anything for a policy's sake", [x for x in ledger["losses"] if x["group"]
                                                                          in ("trigger", "acoustic")], [])


@harness.long
def readers_that_come_again(t):
    """readers that stall, are dropped and come again: an event a minute and floor, which tells how many there were"""
    base = free_base_port()
    st = t.station(emulator_args=["--rate", "20000"], config=["[feed]", "enabled = yes", f"base_port = {base}", "budget_mb = 1"])
    st.start()
    st.wait_ready()

    def dropped():
        return st.ask("consumer", "list")["feed"]["dropped"]

    def told(floor):
        return [e for e in st.ask("event", "list", "--limit", "200")["events"]
                if e["code"] == "feed-reader-dropped" and e["object"] == f"feed tower1.floor{floor}"]
    readers = []
    for turn in range(3):
        readers += [Reader(st, f"still{turn}.{n}", 1, base, stalled=True) for n in range(4)]
        st.wait_for("they are dropped", lambda: dropped() == len(readers), 60)
    st.wait_for("an event", lambda: told(2))
    readers.append(Reader(st, "other", 2, base, stalled=True))
    st.wait_for("an event of another floor does not wait for that", lambda: told(3), 30)
    t.check("not one each", len(told(2)) < 3, told(2))

    def all_told():
        counts = [re.search(r"the last of (\d+) readers", e["text"]) for e in told(2)]
        return sum(int(c.group(1)) if c else 1 for c in counts) == len(readers) - 1
    st.wait_for("the events tell of all of them", all_told, 80, 1)
    t.check("still not one each", len(told(2)) < 4, told(2))
    for r in readers:
        r.go.set()
    t.account(st)


def daemon_killed(t):
    """a daemon killed and back: who connects again goes on; what he has not got is in the ledger, by name"""
    base = free_base_port()
    st = t.station(emulator_args=["--rate", "20000"], depth_ms=4000,
                   config=["[feed]", "enabled = yes", f"base_port = {base}"])
    st.start()
    st.wait_ready()
    before = Reader(st, "before", 1, base)
    st.wait_for("some hits", lambda: os.path.getsize(before.path) > 1 << 20)
    st.daemon.kill9()
    before.join(30)
    st.start_daemon()
    st.wait_ready()
    after = Reader(st, "after", 1, base)
    st.wait_for("some hits", lambda: os.path.getsize(after.path) > 1 << 20)
    ledger = t.account(st)
    after.join(30)
    results = [r.compare(st) for r in (before, after)]
    t.check("before and after, every hit is the truth's, none is cut off",
            all(code == 0 and x["cut_bytes"] == 0 for code, x in results), results)
    (_, a), (_, b) = results
    named = [(x["first"], x["first"] + x["frames"]) for x in ledger["losses"] if x["link"] == 1 and
             (x["group"] == "tridas" or x["kind"] == "link")]
    lacking = [n for n in range(a["end"], b["first"]) if not any(x <= n < y for x, y in named)]
    t.check("every frame between the two is named", not lacking, (a, b, lacking[:5], named))


if __name__ == "__main__":
    harness.main([readers_and_one_that_stalls, readers_that_come_again, daemon_killed])
