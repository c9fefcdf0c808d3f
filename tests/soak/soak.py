#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make soak MINUTES=n SEED=s RATE=mbps`: the station under everything at once, and a balance to the last frame.

Four links at full line rate, faults at random from the emulator, consumers that die, stop and return, the daemon killed
(-9) every minute and started again as systemd would. At the end the ledger must balance, every frame must be the
truth's or be lost by name, and memory and descriptors must have stayed bounded.

Exit: 0 all accounted; 1 not; 2 usage; 3 the host was too slow for this rate: neither. Ctrl-C ends it early, with the
balance of what there was.
"""
import argparse
import heapq
import os
import random
import shutil
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(os.path.dirname(HERE), "system"), HERE]
from station import DRIFT_NS, LINKS, Process, Station, StationError, free_base_port  # noqa: E402
import random_faults  # noqa: E402
from run import LOSSES, fresh, line_of  # noqa: E402
from usage import Usage  # noqa: E402

LINE_MBPS = 640
HIT_BYTES, FIXED_BYTES, FRAMES_PER_S, MODULES = 54, 392, 8000, 6  # as tests/bench/sea_frames.c; 54: the mean
DISK_BYTES_PER_S = 3 * 128 * LINKS * FRAMES_PER_S  # truth, and a record a frame of each of two streams
QUIET_S = 12  # at the end without faults and deaths, for all to be delivered
FAULTS_AFTER_S = 12  # of data: the links are aligned and the clock has locked
KILL_EVERY_S, FIRST_KILL_S = 60, 30
DEATH_MEAN_S = 6
CONSUMERS = {"trigger-1": "trigger", "trigger-2": "trigger", "acoustic-1": "acoustic"}  # reserved, by group
READERS = {"feed-1": 0, "feed-2": 0, "feed-3": 1}  # of the TriDAS feed, by link; links 2 and 3 have none
# Of the daemon: what is beyond its rings and its pool; and descriptors beyond those it began with.
DEPTH_MS, RING_KB_PER_MS, POOL_KB, OTHER_KB, FDS = 2000, 320, 512 * 1024, 200 * 1024, 24


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", default="build/bin")
    p.add_argument("--dir", default="build/soak")
    p.add_argument("--minutes", type=float, default=5)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--rate", type=float, default=LINE_MBPS, help=f"Mbps a link (default {LINE_MBPS}: every slot full)")
    p.add_argument("--kill-every", type=float, default=KILL_EVERY_S,
                   help="seconds; 0: the daemon is left alone (default %(default)s)")
    p.add_argument("--no-faults", action="store_true", help="the emulator's world is well")
    p.add_argument("--no-deaths", action="store_true", help="consumers are left alone")
    args = p.parse_args()
    if args.minutes < 1:
        p.error("--minutes: at least 1")
    if not 30 <= args.rate <= LINE_MBPS:
        p.error(f"--rate: 30 to {LINE_MBPS} Mbps a link")
    return args


def load_of(mbps):
    """Of the emulator, for a Station."""
    if mbps >= LINE_MBPS:
        return {"load": "full"}
    hz = (mbps * 1e6 / 8 - FIXED_BYTES * FRAMES_PER_S) / MODULES / HIT_BYTES
    return {"load": "quiet", "emulator_args": ["--rate", f"{hz:.0f}"]}


class Soak:
    """What happens, by the clock: one loop, events in a heap."""

    def __init__(self, args, st, feed_port):
        self.args, self.st, self.feed_port = args, st, feed_port
        self.rng, self.usage = random.Random(args.seed), Usage()
        self.seconds, self.events, self.order = args.minutes * 60, [], 0
        self.wrong, self.away, self.deaths, self.begin = [], [], 0, 0.0
        self.dead = set()  # consumers that we killed or stopped, and that will return

    def now(self):
        return time.monotonic() - self.begin

    def at(self, when, what, *args):
        self.order += 1
        heapq.heappush(self.events, (when, self.order, what, args))

    def busy_until(self):
        return self.seconds - QUIET_S

    # -- the daemon
    def start_daemon(self):
        self.st.start_daemon()
        self.usage.born("fcm-server", self.st.daemon)

    def kill_daemon(self):
        self.usage.look()
        self.st.daemon.kill9()
        gone = time.monotonic()
        time.sleep(0.1)  # RestartSec of the unit
        self.start_daemon()
        self.st.wait_for("the first buffer released after a kill",
                         lambda: self.st.status()["capture"]["first_release_s"] is not None, 20, 0.05)
        self.away.append(time.monotonic() - gone)
        self.say(f"killed -9 the daemon; back after {self.away[-1]:.2f} s")
        if self.now() + self.args.kill_every < self.busy_until():
            self.at(self.now() + self.args.kill_every, self.kill_daemon)

    # -- consumers
    def start_consumer(self, name):
        if name in CONSUMERS:
            self.st.start_consumer(name, CONSUMERS[name])
        else:
            self.st.consumers[name] = Process(name, [sys.executable, os.path.join(HERE, "feed_reader.py"),
                                                     str(self.feed_port + READERS[name])], self.st.path(f"{name}.log"))
        self.usage.born("consumers" if name in CONSUMERS else "feed readers", self.st.consumers[name])
        self.dead.discard(name)

    def consumer_dies(self):
        name, how = self.rng.choice([*CONSUMERS, *READERS]), self.rng.choice(["kill -9", "stop", "leave"])
        away = 0.2 * 30 ** self.rng.random()  # 0.2 to 6 s: below and beyond what makes it dead to the daemon
        self.at(self.now() + self.rng.expovariate(1 / DEATH_MEAN_S), self.consumer_dies)
        if name in self.dead or self.now() > self.busy_until() - away:
            return
        self.dead.add(name)
        self.deaths += 1
        self.usage.look()
        process = self.st.consumers[name]
        if how == "stop":
            process.signal(19)
            self.at(self.now() + away, self.consumer_goes_on, name)
        else:
            process.signal(9 if how == "kill -9" else 15)
            process.popen.wait()
            self.ended_well(name) if how == "leave" else None
            self.at(self.now() + away, self.start_consumer, name)
        self.say(f"{name}: {how}, for {away:.1f} s")

    def ended_well(self, name):
        """Consumers and readers end with 1 when they were given something that is not right."""
        process = self.st.consumers[name]
        if process.popen.returncode != 0:
            self.wrong.append(f"{name} ended with {process.popen.returncode}: {process.tail(2).strip()}")

    def consumer_goes_on(self, name):
        self.st.consumers[name].signal(18)
        self.dead.discard(name)

    # -- each second
    def look(self):
        self.usage.look()
        for part in (self.st.daemon, self.st.emu):
            if not part.alive():
                raise StationError(f"{part.name} ended by itself with {part.popen.returncode}:\n{part.tail()}")
        for name in {*CONSUMERS, *READERS} - self.dead:
            if not self.st.consumers[name].alive():
                self.wrong.append(f"{name} ended by itself with {self.st.consumers[name].popen.returncode}: "
                                  f"{self.st.consumers[name].tail(2).strip()}")
                self.start_consumer(name)
        self.at(self.now() + 1, self.look)

    def show(self):
        self.say(line_of(self.st.status()))
        self.at(self.now() + 10, self.show)

    def say(self, text):
        print(f"{self.now():6.1f} s  {text}", flush=True)

    def run(self):
        self.begin = time.monotonic()
        for name in [*CONSUMERS, *READERS]:
            self.start_consumer(name)
        self.start_daemon()
        self.usage.born("nanet3-emu", self.st.emu)
        self.st.wait_ready(60)
        self.say("all links up, clock locked")
        self.begin = time.monotonic()
        self.at(0, self.look)
        self.at(1, self.show)
        if self.args.kill_every > 0:
            self.at(min(FIRST_KILL_S, self.args.kill_every), self.kill_daemon)
        if not self.args.no_deaths:
            self.at(self.rng.expovariate(1 / DEATH_MEAN_S), self.consumer_dies)
        try:
            while self.now() < self.seconds:
                time.sleep(max(0.0, min(self.events[0][0], self.seconds) - self.now()))
                if self.now() >= self.events[0][0]:
                    _, _, what, args = heapq.heappop(self.events)
                    what(*args)
        except KeyboardInterrupt:
            self.say("ended early")
        self.seconds = self.now()

    # -- the end
    def finish(self):
        """All back, all delivered, all stopped."""
        for name in sorted(self.dead):
            if self.st.consumers[name].alive():
                self.consumer_goes_on(name)
            else:
                self.start_consumer(name)
        try:
            self.st.wait_for("all links up at the end",
                             lambda: all(l["state"] == "up" for l in self.st.status()["links"]), 30)
        except StationError as e:
            self.wrong.append(str(e))
        self.usage.look()
        code = self.st.stop()
        for name in self.st.consumers:
            self.ended_well(name)
        if code != 0:
            self.wrong.append(f"the daemon ended with {code}: {self.st.daemon.tail(5)}")


# -- the account

def show_links(ledger):
    print(f"\n{'link':>4} {'floor':>5} {'frames':>10} {'good':>10}  lost, by name")
    for t in ledger["totals"]["links"]:
        lost = ", ".join(f"{t[k]} {k}" for k in LOSSES if t[k])
        print(f"{t['link']:>4} {t['floor']:>5} {t['cells']:>10} {t['good']:>10}  {lost or 'none'}")
    print(f"\n{'link':>4} {'group':<9} {'stream':<11} {'offered':>10} {'delivered':>10} {'in flight':>9}  "
          "dropped, by name")
    for t in ledger["totals"]["streams"]:
        dropped = ", ".join(f"{n} {k}" for k, n in t["dropped"].items() if n)
        print(f"{t['link']:>4} {t['group']:<9} {t['stream']:<11} {t['offered']:>10} {t['acknowledged']:>10} "
              f"{t['in_flight']:>9}  {dropped or 'none'}")


def show_cpu(soak, wall):
    print("\nCPU, of one core: " + ", ".join(f"{part} {soak.usage.cpu(part) / wall:.2f}"
                                            for part in ("nanet3-emu", "fcm-server", "consumers", "feed readers")))
    for part in ("fcm-server", "nanet3-emu"):
        print(f"{part}: first, most, last")
        print("\n".join(soak.usage.table(part)))


def judge_memory(soak):
    """What the daemon held beyond its rings, its pool and what else it may."""
    most = DEPTH_MS * RING_KB_PER_MS + POOL_KB + OTHER_KB
    wrong = []
    for n, life in enumerate(soak.usage.of("fcm-server")):
        rss, _, fds = zip(*life.samples)
        if max(rss) > most:
            wrong.append(f"life {n + 1} of the daemon had {max(rss) // 1024} MB resident, more than {most // 1024} MB")
        if fds[-1] > fds[0] + FDS:
            wrong.append(f"life {n + 1} of the daemon: descriptors from {fds[0]} to {fds[-1]}")
    return wrong


def account(soak, wall):
    """Print the summary. What is wrong; and what found the rings full, for which a host that is too slow is an excuse."""
    st, wrong, lost = soak.st, soak.wrong + judge_memory(soak), []
    ledger = st.ask("ledger", "show", "--since", "1000d", "--limit", "1")
    code, truth = st.compare(timeout=60 + 20 * soak.args.minutes, drift_ns=DRIFT_NS)
    show_links(ledger)
    show_cpu(soak, wall)
    print(f"\nkilled    the daemon {len(soak.away)} times, back after at most {max(soak.away, default=0):.2f} s; "
          f"consumers {soak.deaths} times\nemulator  {st.emu.tail(1).strip()}")
    print(f"truth     {truth['equal']} equal, {truth['different']} different, {truth['missing_named']} missing by "
          f"name, {truth['missing_unnamed']} missing without a name")
    if not ledger["balanced"]:
        wrong.append(f"the ledger does not balance: {ledger['unbalanced'][:3]}")
    if code != 0:
        wrong.append(f"truth-compare ends with {code}: {truth.get('examples', truth)[:5]}" if truth["equal"] else
                     "nothing was delivered")
    full = sum(t["ring-full"] for t in ledger["totals"]["links"])
    if full:
        lost.append(f"{full} frames found the rings full ({DEPTH_MS} ms): the daemon was away for up to "
                     f"{max(soak.away, default=0):.2f} s")
    return wrong, lost


def enough_disk(args):
    os.makedirs(args.dir, exist_ok=True)
    want, free = args.minutes * 60 * DISK_BYTES_PER_S * 1.2, shutil.disk_usage(args.dir).free
    print(f"soak: {args.minutes:g} minutes at {args.rate:g} Mbps a link, seed {args.seed}; truth and records take "
          f"{want / 1.2e9:.1f} GB below {args.dir}", flush=True)
    if want > free:
        print(f"soak: only {free / 1e9:.1f} GB are free there; --dir names another place, fewer MINUTES take less",
              file=sys.stderr)
    return want <= free


def verdict(soak, wall):
    st = soak.st
    wrong, lost = account(soak, wall)
    lag = round(st.lag_s() * 1000, 1)
    if st.host_too_slow and lost:
        print(f"\nHOST TOO SLOW: the emulator fell behind by {lag} ms, the rings hold {DEPTH_MS} ms: neither well nor a "
              f"loss. A lower RATE may help (now {soak.args.rate:g} Mbps a link).")
    for text in wrong + (lost if not st.host_too_slow else []):
        print(f"NOT WELL: {text}")
    if not wrong and not lost:
        late = f", more than the rings hold ({DEPTH_MS} ms): this machine did not keep the pace" if st.host_too_slow else ""
        print(f"\nwell: every frame is accounted; worst lag of the emulator {lag} ms{late}")
    return 1 if wrong else 0 if not lost else 3 if st.host_too_slow else 1


def main():
    args = options()
    if not enough_disk(args):
        return 2
    if os.listdir(args.dir) and not os.path.exists(os.path.join(args.dir, "faults.scn")):
        print(f"soak: {args.dir} holds something else, and would be emptied: name another --dir", file=sys.stderr)
        return 2
    fresh(args.dir)
    scenario = os.path.join(args.dir, "faults.scn")
    with open(scenario, "w") as f:
        f.write(random_faults.scenario(args.seed, LINKS, FAULTS_AFTER_S, args.minutes * 60 - QUIET_S))
    feed_port = free_base_port()
    with Station(args.bin, args.dir, scenario=None if args.no_faults else scenario, seed=args.seed, depth_ms=DEPTH_MS,
                 config=["[feed]", "enabled = yes", f"base_port = {feed_port}"], **load_of(args.rate)) as st:
        soak = Soak(args, st, feed_port)
        try:
            st.start_emulator()
            st.start_gpsd()
            st.write_config()
            begin = time.monotonic()
            soak.run()
            soak.finish()
            code = verdict(soak, time.monotonic() - begin)
        except StationError as e:
            print(f"\nNOT WELL: {e}\nkept: {args.dir}", file=sys.stderr)
            return 1
        finally:
            st.close()
            os.remove(os.path.join(args.dir, "run.pid"))
    if code == 0:
        for name in os.listdir(args.dir):
            if name.endswith(".rec") or name == "truth.bin":
                os.remove(os.path.join(args.dir, name))
    else:
        print(f"kept: {args.dir}")
    return code


if __name__ == "__main__":
    sys.exit(main())
