#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make crash KILLS=n SEED=s`: the daemon killed (-9) n times under commands to all floors, at random moments and at
named points of a command's way (tests/system/kill_at.c), each restart checked against the emulator's own record of
what the FCMs executed. Ends with `N passed, N failed`.
"""
import argparse
import collections
import os
import random
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "system")]
import harness  # noqa: E402
from command_book import Book, Operator  # noqa: E402

POINTS = ("queued", "synced", "send", "sent", "answered", "ended", "closed")
FLOORS = (1, 2, 3, 4)
POINT_LIMIT_S = 30


class Campaign:
    """One station, two operators a floor. A round: start, settle what the last kill has left, be killed."""

    def __init__(self, t, st, seed):
        self.t, self.st, self.rng = t, st, random.Random(seed)
        self.book, self.judged = Book(st), 0
        self.kills, self.settled, self.open_at_kill, self.late_points = collections.Counter(), 0, 0, 0
        self.operators = [Operator(st, name, floor, modules, seed) for floor in FLOORS
                          for name, modules in (("a", range(3)), ("b", range(3, 6)))]

    def begin(self):
        self.st.start(consumers=False)
        self.st.wait_ready()
        for o in self.operators:
            o.start()

    def kill(self):
        """Once, and what the journal then has open."""
        how = self.rng.choices(["moment", "start", "point"], [45, 10, 45])[0]
        if self.t.sanitized and how == "point":
            how = "moment"  # nothing can be preloaded before the sanitizers
        if how == "point":
            self.kill_at_point(self.rng.choice(POINTS))
        else:
            self.st.launch_daemon()
            if how == "moment":
                self.wait_settled()
                time.sleep(self.rng.uniform(0, 0.8))
            else:
                time.sleep(self.rng.uniform(0, 0.5))
            self.st.daemon.kill9()
            self.kills[how] += 1
        self.book.read()
        self.judge()
        self.open_at_kill += len(self.book.open())

    def judge(self):
        """All that has ended against the record, and the record against the journal, as the killed daemon has left it."""
        found = self.book.faults(after=self.judged)
        self.judged = self.book.low
        if found:
            self.t.check(f"kill {sum(self.kills.values())}: journal and record agree", False, "\n    ".join(found))

    def kill_at_point(self, point):
        shim = os.path.join(os.path.dirname(self.st.bin), "lib", "kill-at.so")
        self.st.launch_daemon(env={**os.environ, "LD_PRELOAD": shim, "FCM_KILL_AT": f"{point}:{self.rng.randint(1, 150)}"})
        try:
            self.st.daemon.popen.wait(POINT_LIMIT_S)
            self.kills[point] += 1
        except subprocess.TimeoutExpired:  # too few commands came by: a moment like any other
            self.st.daemon.kill9()
            self.late_points += 1

    def wait_settled(self):
        """What the kill before has left open ends, and truly."""
        self.book.wait_settled(max(self.book.commands, default=0))
        self.settled += 1
        self.judge()

    def end(self):
        """All settled, and everything judged once more, from the beginning."""
        t, book = self.t, self.book
        self.st.start_daemon()
        self.wait_settled()
        for o in self.operators:
            o.stop.set()
        for o in self.operators:
            o.join(60)
        book.wait_settled()
        states = collections.Counter(c.state for c in book.commands.values())
        t.equal("no client waits for ever", [o.name for o in self.operators if o.is_alive()], [])
        t.equal("nothing is left open", book.open(), [])
        t.equal("nothing was executed twice", book.twice(), [])
        t.equal("each end in the journal is true, all that was executed is in it", book.faults(), [])
        t.equal("each client was told what the journal has, of all that it asked", book.told_faults(self.operators), [])
        t.equal("the floors hold what was set last", book.register_faults(), [])
        t.check("clients repeated what they did not know", sum(o.repeats for o in self.operators) > 0)
        t.check("commands were open at kills", self.open_at_kill > 0)
        done = sum(book.times(c) for c in book.commands.values() if c.state == "DONE")
        t.equal("each DONE was executed exactly once", done, states["DONE"])
        late = [c for c in book.commands.values() if book.late(c)]
        t.equal("each word that was executed ended DONE, or its proof came too late",
                sum(map(book.times, book.commands.values())), done + len(late))
        t.check("few came late", len(late) <= 3 + done / 100, [c.detail for c in late])
        t.equal("the daemon ends with 0", self.st.stop(), 0)
        print(f"  {sum(self.kills.values()) + self.late_points} kills: {dict(self.kills)}, {self.late_points} more that came"
              f" before their point; each judged, {self.settled} when all had ended; {self.open_at_kill} commands open at"
              f" a kill\n  {len(book.commands)} commands: {dict(states)}; {sum(map(len, book.executed.values()))} words"
              f" decided by the FCMs; {sum(o.repeats for o in self.operators)} repeats by clients", flush=True)


def campaign(t, kills, seed, say=False):
    """`kills` times; a check each time something is not true, and all of them at the end."""
    st = t.station(load="quiet", truth=False)
    c = Campaign(t, st, seed)
    c.begin()
    begin = time.monotonic()
    st.daemon.kill9()
    for n in range(kills):
        c.kill()
        if say and (n + 1) % 25 == 0:
            print(f"  {n + 1} kills, {len(c.book.commands)} commands, {time.monotonic() - begin:.0f} s", flush=True)
        if t.failed > 5:
            break
    c.end()


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--bin", default="build/bin")
    p.add_argument("--kills", type=int, default=500)
    p.add_argument("--seed", type=int, default=1)
    args = p.parse_args()

    def crash_campaign(t):
        """kill -9 under commands: nothing twice, nothing lost, nothing open"""
        campaign(t, args.kills, args.seed, say=True)
    sys.argv[1:] = ["--bin", args.bin]
    harness.main([crash_campaign])


if __name__ == "__main__":
    main()
