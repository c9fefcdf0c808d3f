#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make crash KILLS=n SEED=s`: the daemon killed (-9) n times under commands to all floors, at random moments and at
named points of a command's way (tests/system/kill_at.c), the journal after each kill checked against the emulator's own
record of what the FCMs executed. Runs begin and end meanwhile, blocks change their length, the disk is full, read-only
or hung. Ends with `N passed, N failed`.
"""
import argparse
import collections
import contextlib
import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "system")]
import harness  # noqa: E402
from command_book import BY_VALUE, Book, Operator, Safer  # noqa: E402
from run_book import ANSWER_S, RunBook  # noqa: E402
from station import StationError  # noqa: E402
from test_safe_disk import disk_that_hangs  # noqa: E402

NOT_YET = "executed, and not in the journal"
POINTS = ("queued", "synced", "send", "sent", "answered", "ended", "closed")
FLOORS = (1, 2, 3, 4)
POINT_LIMIT_S = 30


class Disk(threading.Thread):
    """The disk of the database: full or hung at times, for up to two seconds, and read-only when a daemon starts."""

    def __init__(self, st, server, seed):
        super().__init__(daemon=True)
        self.st, self.server, self.rng, self.stop = st, server, random.Random(f"{seed} disk"), threading.Event()
        self.faults, self.lock, self.timer = collections.Counter(), threading.Lock(), None

    def run(self):
        while not self.stop.wait(self.rng.uniform(2, 10)):
            with self.lock:
                self.fault(self.rng.choice(["full", "hung"] if self.server else ["full"]))

    def fault(self, how):
        self.faults[how] += 1
        self.full(4096) if how == "full" else os.kill(self.server.pid, signal.SIGSTOP)
        self.stop.wait(self.rng.uniform(0.2, 2))
        self.full(resource.RLIM_INFINITY) if how == "full" else os.kill(self.server.pid, signal.SIGCONT)

    def full(self, limit):
        with contextlib.suppress(ProcessLookupError):
            resource.prlimit(self.st.daemon.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))

    def remount(self, how):
        return subprocess.run(["mount", "-i", "-o", f"remount,{how}", os.path.dirname(self.st.database)], check=False,
                              stderr=subprocess.DEVNULL).returncode == 0

    def make_read_only(self, seconds):
        """Only while no daemon holds its files open for writing."""
        if not self.server:
            return
        with self.lock:
            self.st.wait_for("the disk is read-only", lambda: self.remount("ro"), 10, 0.02)
        self.faults["read-only"] += 1
        self.timer = threading.Timer(seconds, self.make_writable)
        self.timer.start()

    def make_writable(self):
        with self.lock:
            self.remount("rw")

    def wait_writable(self, now=False):
        if self.timer:
            if now:
                self.timer.cancel()
                self.make_writable()
            self.timer.join()
            self.timer = None


class Runner(threading.Thread):
    """Begins and ends runs, one after the other, whatever becomes of the daemon."""

    def __init__(self, book, seed):
        super().__init__(daemon=True)
        self.book, self.rng, self.stop = book, random.Random(f"{seed} runs"), threading.Event()

    def run(self):
        start = True
        while not self.stop.wait(self.rng.uniform(0, 1)):
            if self.book.ask(start, lives=lambda: False):
                start = not start


class Campaign:
    """One station, two operators a floor. A round: start, settle what the last kill has left, be killed."""

    def __init__(self, t, st, server, seed):
        self.t, self.st, self.rng = t, st, random.Random(seed)
        self.book, self.judged = Book(st), 0
        self.kills, self.settled, self.open_at_kill, self.late_points = collections.Counter(), 0, 0, 0
        self.operators = [Operator(st, name, floor, modules, seed) for floor in FLOORS
                          for name, modules in (("a", range(3)), ("b", range(3, 5)))]
        self.operators += [Safer(st, floor, 5, seed) for floor in FLOORS]
        self.disk = Disk(st, server, seed)
        self.runs = RunBook(st)
        self.runner = Runner(self.runs, seed)

    def begin(self):
        self.st.start(consumers=False)
        self.runs.start_consumers()
        self.st.wait_ready()
        self.runner.start()
        for o in self.operators:
            o.start()
        self.disk.start()

    def kill(self):
        """Once, and what the journal then has open."""
        how = self.rng.choices(["moment", "start", "point"], [45, 10, 45])[0]
        if self.t.sanitized and how == "point":
            how = "moment"  # nothing can be preloaded before the sanitizers
        if self.rng.random() < 0.15:
            self.disk.make_read_only(self.rng.uniform(0.2, 2))
        if how == "point":
            self.kill_at_point(self.rng.choice(POINTS))
        else:
            self.st.launch_daemon("--set", f"data.block_frames={self.rng.choice([16, 80, 320])}")
            if how == "moment":
                self.disk.wait_writable()
                self.wait_settled()
                time.sleep(self.rng.uniform(0, 0.8))
            else:
                time.sleep(self.rng.uniform(0, 0.5))
            self.st.daemon.kill9()
            self.kills[how] += 1
        self.disk.wait_writable(now=True)
        self.book.read()
        self.judge()
        self.open_at_kill += len(self.book.open())

    def judge(self):
        """Compares ended commands with the record, and the record with the journal. Commands sent before they were
        journaled are there when a daemon runs and its database answers: wait_settled() waits for them."""
        self.book.read_executed()  # after the journal, which may have been read again
        found = [f for f in self.book.faults(after=self.judged) if NOT_YET not in f]
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
        self.book.wait_settled(only=set(self.book.open()))
        missing = self.missing()
        self.st.wait_for("all that was executed is in the journal", lambda: not missing & self.missing(), 60, 0.2)
        self.settled += 1
        self.judge()

    def missing(self):
        """What was executed and is not in the journal; it may come while a safe is under way."""
        self.book.read()
        return {f for f in self.book.faults(after=self.judged) if NOT_YET in f}

    def end(self):
        """All settled, and everything judged once more, from the beginning."""
        t, book = self.t, self.book
        self.st.start_daemon()
        self.wait_settled()
        self.disk.stop.set()
        self.disk.join(10)
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
        safers = [o for o in self.operators if isinstance(o, Safer)]
        t.check("modules were made safe", all(o.safes > 0 for o in safers), [o.safes for o in safers])
        t.equal("HV was down and the module off whenever safe said so", [lie for o in safers for lie in o.lies], [])
        print(f"  safes that were asked for again: {dict(sum((o.failures for o in safers), collections.Counter()))}")
        by_value = {c for c in book.commands.values() if c.state == "DONE" and BY_VALUE in c.detail}
        t.equal("each DONE was executed exactly once, or the FCM held its value",
                [c for c in book.commands.values() if c.state == "DONE" and c not in by_value and book.times(c) != 1], [])
        done = sum(book.times(c) for c in book.commands.values() if c.state == "DONE")
        late = [c for c in book.commands.values() if book.late(c)]
        t.equal("each word that was executed ended DONE, or its proof came too late",
                sum(map(book.times, book.commands.values())), done + len(late))
        t.check("few came late", len(late) <= 3 + done / 100, [c.detail for c in late])
        self.end_runs()
        print(f"  {sum(self.kills.values()) + self.late_points} kills: {dict(self.kills)}, {self.late_points} more that came"
              f" before their point; each judged, {self.settled} when all had ended; {self.open_at_kill} commands open at"
              f" a kill; disk {dict(self.disk.faults)}; {sum(o.safes for o in safers)} modules made safe,"
              f" {sum('before it was journaled' in (c.detail or '') for c in book.commands.values())} commands sent before"
              f" they were journaled\n  {len(book.commands)} commands: {dict(states)}; {sum(map(len, book.executed.values()))} words"
              f" decided by the FCMs; {sum(o.repeats for o in self.operators)} repeats by clients", flush=True)


    def end_runs(self):
        """Runs, blocks and what consumers know of them."""
        t, runs = self.t, self.runs
        self.runner.stop.set()
        self.runner.join(60)
        t.check("the client that changes runs does not wait for ever", not self.runner.is_alive())
        runs.reach(True)
        runs.reach(False)
        time.sleep(1.5)
        t.equal("the daemon ends with 0", self.st.stop(), 0)
        t.equal("runs: journal, blocks and answers agree", runs.faults()[:20], [])
        slow = [a for a in runs.answers if a.seconds > 2 * ANSWER_S]
        t.equal("run changes are answered within the daemon's limit", slow, [])
        summaries = self.st.summaries()
        t.equal("no repeat is unflagged, none is only part of a block", {
            (name, what): s[what] for name, s in summaries.items()
            for what in ("repeats_unflagged", "partly_repeated", "misjudged") if s[what]}, {})
        t.check("blocks were sent again", sum(s["repeats"] for s in summaries.values()) > 0)
        print(f"  {len(runs.rows()[0])} runs, {len(runs.answers)} answers, {runs.unanswered} connections broke with the"
              f" daemon; {sum(s['repeats'] for s in summaries.values())} repeated blocks", flush=True)


def campaign(t, kills, seed, say=False):
    """`kills` times; a check each time something is not true, and all of them at the end."""
    st = t.station(load="quiet", truth=False)
    with disk_that_hangs(st) as server:
        if server:
            st.database = st.path("disk/station.db")
        c = Campaign(t, st, server, seed)
        c.begin()
        begin = time.monotonic()
        st.daemon.kill9()
        for n in range(kills):
            try:
                c.kill()
            except StationError:
                with contextlib.suppress(StationError, OSError, ValueError):
                    print(f"  the daemon's own word: {st.status()['store']}", flush=True)
                raise
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
