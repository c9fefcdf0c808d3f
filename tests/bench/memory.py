#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench-memory MINUTES=5`: does the daemon grow, does its database, do its rates drift? MINUTES=1440 is a day.

A station at design load, four links, consumers in other processes, and a client that asks for status every
second as a shift does. VmRSS and the number of descriptors of fcm-server are sampled each second. The first
30 s do not count: rings and pool are touched for the first time then. Exit 1 when resident memory has grown by
more than 1 % and the noise, or when descriptors have, or when the database or the hits have not behaved as
growth.py says.

VmRSS has the links' rings in it, 640 MB that never change, so 1 % of it would hide a leak of megabytes.
What only the daemon can have allocated (RssAnon) is therefore judged by itself, with the same noise rule.
"""
import argparse
import shutil
import statistics
import sys
import tempfile
import time

import growth
from proc import QuietStation, cpu_s, descriptors, frames_between, gone_wrong, memory_kb

SETTLE_S = 30
STEP_KB = 256
ENDS = 10  # samples that are averaged (median) at either end
# Share of the beginning, and kB, that each may grow by. SQLite's page cache fills up to 2 MB as the database
# grows, and block memory is touched bit by bit.
LIMIT = {"VmRSS": (0.01, 0), "RssAnon": (0, 4096), "RssShmem": (0.01, 0), "descriptors": (0, 0)}


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", default="build/bin")
    p.add_argument("--minutes", type=float, default=5)
    p.add_argument("--load", default="design", choices=["quiet", "design", "full"])
    args = p.parse_args()
    if args.minutes * 60 < SETTLE_S + 3 * ENDS:
        p.error(f"--minutes: at least {(SETTLE_S + 3 * ENDS) / 60:g}")
    return args


def without_steps(values):
    """The values less their rare steps up, and the height of the steps."""
    rises = [b - a for a, b in zip(values, values[1:])]
    steps = [r for r in rises if r > STEP_KB]
    if len(steps) > len(rises) / 20:
        return values, 0
    level, result = values[0], [values[0]]
    for r in rises:
        level += 0 if r > STEP_KB else r
        result.append(level)
    return result, sum(steps)


def line_through(times, values):
    """Least squares: slope per second, and what the values do around the line (3 x median deviation)."""
    t, v = statistics.fmean(times), statistics.fmean(values)
    slope = sum((x - t) * (y - v) for x, y in zip(times, values)) / sum((x - t) ** 2 for x in times)
    around = [abs(y - v - slope * (x - t)) for x, y in zip(times, values)]
    return slope, 3 * statistics.median(around)


class Samples:
    """Once a second: [(time, {what: value})], [(time, hits a second)], [(time, bytes of the database, of its WAL)];
    what the tables have after SETTLE_S."""

    def __init__(self):
        self.rows, self.hits, self.sizes, self.tables = [], [], [], None

    def take(self, st, now):
        self.rows.append((now, dict(memory_kb(st.daemon.pid), descriptors=descriptors(st.daemon.pid))))
        hits = [link["hits_per_s"] for link in st.links()]
        if now < SETTLE_S:
            return
        self.tables = self.tables or growth.tables(st.database)
        self.sizes.append((now, *growth.size(st.database)))
        if None not in hits:
            self.hits.append((now, sum(hits)))


def sample(st, seconds):
    samples, begin = Samples(), time.monotonic()
    rows = samples.rows
    while (now := time.monotonic() - begin) < seconds:
        samples.take(st, now)
        if now >= SETTLE_S and len(rows) % 60 == 0:
            print(f"# {now:4.0f} s  {rows[-1][1]}", flush=True)
        time.sleep(max(0, begin + len(rows) - time.monotonic()))
    return samples


def judge(what, rows, share, extra):
    """Print begin, end and slope; True when it has not grown beyond what is allowed."""
    times = [t for t, _ in rows]
    values, steps = without_steps([r[what] for _, r in rows])
    begin, end = statistics.median(values[:ENDS]), statistics.median(values[-ENDS:])
    slope, noise = line_through(times, values)
    unit = "" if what == "descriptors" else " kB"
    limit = share * begin + extra + noise
    good = end - begin <= limit
    print(f"bench-memory {what} begin {begin:.0f}{unit} end {end + steps:.0f}{unit}, steps {steps:.0f}{unit}, else "
          f"slope {slope * 60:+.1f}{unit}/min, grown {end - begin:+.0f}{unit}, allowed {limit:.0f}{unit}: "
          f"{'ok' if good else 'GROWS'}", flush=True)
    return good


def main():
    args = options()
    directory = tempfile.mkdtemp(prefix="fcm-memory-")
    try:
        with QuietStation(args.bin, directory, load=args.load) as st:
            st.start()
            st.wait_ready()
            before, started, used = st.links(), time.monotonic(), cpu_s(st.daemon.pid)
            samples = sample(st, args.minutes * 60)
            cores = (cpu_s(st.daemon.pid) - used) / (time.monotonic() - started)
            after, tables = st.links(), growth.tables(st.database)
            code = st.stop()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
    rows = [r for r in samples.rows if r[0] >= SETTLE_S]
    print(f"# {len(rows)} samples, {frames_between(before, after)} frames; "
          f"{'; '.join(gone_wrong(before, after)) or 'none lost'}; the daemon took {cores:.2f} of a core and ended "
          f"with {code}")
    good = [judge(what, rows, *allowed) for what, allowed in LIMIT.items()]
    good += [growth.judge_disk(samples.sizes, samples.tables, tables), growth.judge_rates("hits", samples.hits)]
    return 0 if all(good) and code == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
