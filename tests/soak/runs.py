#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make runs CHANGES=n SEED=s`: n run changes while the board reboots and stalls, links lose frames, are dark, the daemon
is killed (-9), stopped, kept away until its rings are given up, and the database is held. Every request is answered;
journal, blocks and status agree. Ends with `N passed, N failed`.
"""
import argparse
import collections
import os
import random
import sqlite3
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "system")]
import harness  # noqa: E402
from run_book import ANSWER_S, RunBook  # noqa: E402
from station import StationError  # noqa: E402

LINGER_MS = 1000
LINKS = range(4)
# What happens to the daemon around a change: weight by name.
TROUBLE = {"none": 50, "kill": 25, "away": 4, "stop": 8, "held": 7, "held, kill": 4, "twice": 10, "hasty": 10}
# What happens to the board, about every three seconds: weight, actions.
BOARD = [
    (2, lambda r: [f"board-gone {r.uniform(0.2, 2.5):.3f}"]),
    (2, lambda r: [f"stall {r.uniform(0.1, 1.5):.3f}"]),
    (2, lambda r: [f"link {link} unplug {r.uniform(0.3, 1.5):.3f}" for link in LINKS]),
    (2, lambda r: [f"link {r.choice(LINKS)} unplug {r.uniform(0.05, 2):.3f}"]),
    (1, lambda r: [f"link {r.choice(LINKS)} unalign {r.randint(1, 9999)}"]),
    (1, lambda r: [f"link {r.choice(LINKS)} crc {r.randint(1, 200)}"]),
    (1, lambda r: [f"link {r.choice(LINKS)} drop {r.randint(1, 200)}"]),
    (1, lambda r: [f"link {r.choice(LINKS)} fcm-boot"]),
]


def scenario(rng, seconds):
    lines, at = ["from data"], 3.0
    while at < seconds:
        at += rng.expovariate(1 / 3)
        actions = rng.choices([b[1] for b in BOARD], [b[0] for b in BOARD])[0](rng)
        lines += [f"at {at:.3f} {a}" for a in actions]
    return "\n".join(lines) + "\n"


class Campaign:
    """One station; one change at a time, with faults around it."""

    def __init__(self, t, st, seed):
        self.t, self.st, self.rng, self.book = t, st, random.Random(seed), RunBook(st)
        self.kinds, self.dead = collections.Counter(), False

    def begin(self):
        self.st.start(consumers=False)
        self.book.start_consumers()
        self.st.wait_ready()

    # -- the daemon: restarted as by its unit, until there is a board
    def revive(self):
        begin = time.monotonic()
        self.st.launch_daemon()
        while self.book.number() is None:
            if not self.st.daemon.alive():
                time.sleep(0.1)
                self.st.launch_daemon()
            if time.monotonic() > begin + 120:
                raise StationError("the daemon does not come back:\n" + self.st.daemon.tail())
            time.sleep(0.02)
        self.dead = False

    def kill(self, away_s=0.0, stop=False):
        self.dead = True
        if stop:
            self.stop_daemon()
        else:
            self.st.daemon.kill9()
        time.sleep(away_s)
        self.revive()

    def stop_daemon(self):
        code = self.st.daemon.end(30)
        if code != 0:
            self.book.complaints.append(f"the daemon ended with {code}")

    def hold(self, seconds):
        db = sqlite3.connect(self.st.path("station.db"), isolation_level=None, timeout=10)
        db.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        db.execute("ROLLBACK")
        db.close()

    # -- a change
    def trouble(self, kind):
        pause = self.rng.uniform(0, 0.9)
        if kind == "kill":
            time.sleep(pause)
            self.kill()
        elif kind == "away":
            time.sleep(pause)
            self.kill(away_s=LINGER_MS / 1000 + 0.7)
        elif kind == "stop":
            time.sleep(pause)
            self.kill(stop=True)
        elif kind == "held":
            self.hold(pause + 0.2)
        elif kind == "held, kill":
            holder = threading.Thread(target=self.hold, args=(pause + 0.3,))
            holder.start()
            time.sleep(pause)
            self.kill()
            holder.join()

    def clients(self, kind, start):
        """The client that requests the change; at times a second one, or one that ends the run at once."""
        asks = [threading.Thread(target=self.book.ask, args=(start, lambda: not self.dead))]
        if kind in ("twice", "hasty"):
            asks.append(threading.Thread(target=self.book.ask, args=(start if kind == "twice" else False,
                                                                     lambda: not self.dead)))
        for a in asks:
            a.start()
            if kind == "hasty":
                time.sleep(self.rng.uniform(0, 0.3))
        return asks

    def await_time(self):
        """Waits for a time, so that slices have names; after a reboot that takes some seconds."""
        end = time.monotonic() + 10
        while time.monotonic() < end and self.st.status()["clock"]["state"] not in ("locked", "holdover"):
            time.sleep(0.2)

    def change(self, start):
        kind = self.rng.choices(list(TROUBLE), list(TROUBLE.values()))[0]
        self.kinds[kind] += 1
        if self.rng.random() < 0.6:
            self.await_time()
        asks = self.clients(kind, start)
        self.trouble(kind)
        for a in asks:
            a.join(90)
        if any(a.is_alive() for a in asks):
            self.book.complaints.append("a client waits forever")
        self.book.reach(start)

    def end(self):
        t, book = self.t, self.book
        book.reach(True)
        book.reach(False)
        time.sleep(1.5)
        t.equal("the daemon ends with 0", self.st.stop(), 0)
        faults = book.faults()
        t.check("every request is answered; journal, blocks and status agree", not faults, "\n    ".join(faults[:20]))
        rows, _ = book.rows()
        t.equal("every run has ended", [r.number for r in rows if r.ended is None], [])
        t.equal("each number is used once", [r.number for r in rows], list(range(1, len(rows) + 1)))
        slow = [a for a in book.answers if a.seconds > 2 * ANSWER_S]
        t.check("answers come within the daemon's limit", not slow, slow[:5])
        done = [a.seconds for a in book.answers if a.ok]
        sliced = sum(r.begun_slice > 0 and r.ended_slice > 0 for r in rows)
        t.check("many runs have both their slices", sliced * 4 > len(rows), f"{sliced} of {len(rows)}")
        print(f"  {len(rows)} runs, {sliced} with both slices; {len(book.answers)} answers, {len(done)} of them done (median"
              f" {sorted(done)[len(done) // 2]:.2f} s, longest {max(a.seconds for a in book.answers):.2f} s),"
              f" {book.unanswered} connections broke with the daemon; {dict(self.kinds)}", flush=True)


def campaign(t, changes, seed, say=False):
    rng = random.Random(seed)
    st = t.station(load="quiet", truth=False, scenario=t.scenario(scenario(rng, 4 * changes)),
                   emulator_args=["--linger-ms", str(LINGER_MS)])
    c = Campaign(t, st, seed)
    c.begin()
    begin = time.monotonic()
    for n in range(changes):
        c.change(n % 2 == 0)
        if say and (n + 1) % 25 == 0:
            print(f"  {n + 1} changes, {time.monotonic() - begin:.0f} s", flush=True)
        if c.book.complaints:
            break
    c.end()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--bin", default="build/bin")
    p.add_argument("--changes", type=int, default=300)
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()

    def run_campaign(t):
        """run changes among reboots, losses, new rings, kills: all answered; journal, blocks and status agree"""
        campaign(t, args.changes, args.seed, say=True)
    sys.argv[1:] = ["--bin", args.bin]
    harness.main([run_campaign])


if __name__ == "__main__":
    main()
