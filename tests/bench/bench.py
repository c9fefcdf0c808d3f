#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""`make bench`: the figures of the data path, a line each:

    bench NAME VALUE UNIT goal MUST/AIM

Ratios come from bench-demux (both sides in turn in one run). A core share is the CPU time of the
fcm-server process alone, all threads, over the wall clock, on a station with four links at full pace and
consumers in other processes: the median of several windows in one run. What the way to a consumer costs, holds and
takes is in ceilings.py, latencies.py and stalled.py, bare ZeroMQ in the same run; the journal's and fcmctl's in
slowcontrol.py; hits in Python in python_hits.py; fcm-convert's in convert.py. Puts over the board's loop-back port,
and how soon a link's data are there, are nanet3-perf's figures: on a bare emulator, and (vm_...) in a guest on the
real driver, where a kernel for guests is at hand. Lines with `#` say how a figure came about. Ends with `bench: N
figures, ...`; exit 1 when a figure could not be measured, not when it is below its goal.
"""
import argparse
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import ceilings
import convert
import guest
import latencies
import loopback
import peers
import python_hits
import slowcontrol
import stalled
from proc import LockedStation, QuietStation, cpu_s, frames_between, gone_wrong, thread_cpu_s

GOALS = {"core_share_design_load": "0.12/0.08", "core_share_full": "0.16/0.10"}
LOADS = [("core_share_design_load", "design"), ("core_share_full", "full")]
FULL_RATE = 4 * 8000  # frames a second of four links


def options():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--bin", default="build/bin")
    p.add_argument("--vm-cache", help="kernels for guests (tests/vm/run_vm.py); without one no vm_ figures")
    p.add_argument("--windows", type=int, default=5, help="windows a load (default 5)")
    p.add_argument("--seconds", type=float, default=4, help="of a window (default 4)")
    p.add_argument("--only", help="regular expression of the figures wanted: demux, core_share_full, vm_, ...")
    return p.parse_args()


class Figures:
    """Prints them, and keeps what became of each."""

    def __init__(self):
        self.lines, self.failed = [], []

    def line(self, text):
        print(text, flush=True)
        if text.startswith("bench "):
            self.lines.append(text)

    def figure(self, name, value, unit, goal="-"):
        self.line(f"bench {name} {value:.3f} {unit} goal {goal}")

    def failure(self, name, text):
        self.failed.append(name)
        print(f"bench: {name}: {text}", file=sys.stderr, flush=True)

    def closing(self):
        aim = must = below = 0
        for line in self.lines:
            found = re.fullmatch(r"bench (\S+) ([\d.]+) \S+ goal ([\d.]+)/([\d.]+)", line)
            if not found:
                continue
            value, must_value, aim_value = float(found[2]), float(found[3]), float(found[4])
            # Where the aim is the smaller number, less is better.
            sign = 1 if aim_value > must_value else -1
            if sign * value >= sign * aim_value:
                aim += 1
            elif sign * value >= sign * must_value:
                must += 1
            else:
                below += 1
        print(f"bench: {aim + must + below} figures with a goal: {aim} reach the aim, {must} what they must, "
              f"{below} do not; {len(self.failed)} could not be measured")


def demux(figures, bin_dir):
    """The lines of bench-demux as they come, and what the peer does in the same run."""
    peer = peers.Libav(figures, bin_dir)
    peer.lap()
    with subprocess.Popen([f"{bin_dir}/bench-demux"], stdout=subprocess.PIPE, text=True) as child:
        for line in child.stdout:
            figures.line(line.rstrip("\n"))
            peer.look(line)
    peer.lap()
    peer.figure()
    if child.returncode != 0:
        figures.failure("bench-demux", f"exit {child.returncode}")


def phase(figures, bin_dir):
    """The lines of bench-phase, with a week of noise."""
    done = subprocess.run([f"{bin_dir}/bench-phase", "0.25"], stdout=subprocess.PIPE, text=True, check=False)
    for line in done.stdout.splitlines():
        figures.line(line)
    if done.returncode != 0:
        figures.failure("bench-phase", f"exit {done.returncode}")


def threads_of(before, after, wall):
    """Core share by thread, those that do something."""
    shares = {k: (v - before.get(k, 0)) / wall for k, v in after.items()}
    return ", ".join(f"{k.partition('/')[0]} {v:.3f}" for k, v in sorted(shares.items(), key=lambda x: -x[1])
                     if v >= 0.0005)


def watch(st, windows, seconds):
    """Core shares of each window: {name: [share]}, and the threads of the daemon over all."""
    pids = {"fcm-server": [st.daemon.pid], "emulator": [st.emu.pid],
            "consumers": [c.pid for c in st.consumers.values()]}
    shares = {name: [] for name in pids}

    def look():
        return time.monotonic(), {name: sum(map(cpu_s, ids)) for name, ids in pids.items()}
    begin_threads = thread_cpu_s(st.daemon.pid)
    begin = last = look()
    for _ in range(windows):
        time.sleep(seconds)
        now = look()
        for name in pids:
            shares[name].append((now[1][name] - last[1][name]) / (now[0] - last[0]))
        last = now
    return shares, threads_of(begin_threads, thread_cpu_s(st.daemon.pid), last[0] - begin[0])


def run_station(name, load, args, kind=QuietStation):
    """Core shares, threads, the pace over real time, what was wrong, links at the end, consumers' summaries."""
    directory = tempfile.mkdtemp(prefix="fcm-bench-")
    try:
        with kind(args.bin, directory, load=load) as st:
            try:
                st.start()
                st.wait_ready()
                time.sleep(2)  # first use of memory is over
                before, begin, dropped = st.links(), time.monotonic(), st.dropped()
                shares, threads = watch(st, args.windows, args.seconds)
                after, wall = st.links(), time.monotonic() - begin
                wrong, dropped = gone_wrong(before, after), st.dropped() - dropped
                if dropped:
                    wrong.append(f"{dropped} frames were dropped for consumers")
                wrong += [f"{who} ended by itself with {c.popen.returncode}" for who, c in st.consumers.items()
                          if not c.alive()]
            except Exception:
                for part in (st.emu, st.daemon):
                    if part:
                        print(f"-- {name}: {part.name} (exit {part.popen.poll()}):\n{part.tail()}", file=sys.stderr)
                raise
            code = st.stop()
            if code != 0:
                wrong.append(f"the daemon ended with {code}")
            return shares, threads, frames_between(before, after) / wall / FULL_RATE, wrong, after, st.summaries()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def core_share(figures, name, load, args):
    shares, threads, pace, wrong, after, summaries = run_station(name, load, args)
    if pace < 0.98:
        wrong.append(f"only {pace:.1%} of the frames came: host too slow")
    if wrong:
        figures.failure(name, "; ".join(wrong))
        return
    own = shares["fcm-server"]
    figures.figure(name, statistics.median(own), "cores", GOALS[name])
    print(f"# {name}: {args.windows} windows of {args.seconds:g} s, {min(own):.3f} to {max(own):.3f}; threads: "
          f"{threads}")
    rate = sum(s["bytes"] for s in summaries.values()) / max(s["seconds"] for s in summaries.values()) / 1e6 \
        if all("seconds" in s for s in summaries.values()) and summaries else None
    print(f"# {name}: pace {pace:.3f}, nothing lost; links carry "
          f"{sum(l['bytes_per_s'] for l in after) / 1e6:.0f} MB/s" +
          (f", consumers took {rate:.0f} MB/s" if rate else ""))
    for other in ("emulator", "consumers"):
        figures.figure(f"{name}_{other}", statistics.median(shares[other]), "cores")


def curve(figures, args):
    """CPU time of the daemon at design load with encrypted data over the same without, by turns."""
    name, own = "curve_cpu_over_plain", {QuietStation: [], LockedStation: []}
    consumers = {QuietStation: [], LockedStation: []}
    for kind in (QuietStation, LockedStation) * 2:
        shares, _, pace, wrong, _, _ = run_station(name, "design", args, kind)
        if pace < 0.98 or wrong:
            figures.failure(name, "; ".join([*wrong, f"{pace:.1%} of the frames came"]))
            return
        own[kind] += shares["fcm-server"]
        consumers[kind] += shares["consumers"]
    figures.figure(name, statistics.median(own[LockedStation]) / statistics.median(own[QuietStation]), "ratio")
    figures.figure(f"{name}_consumers", statistics.median(consumers[LockedStation]) / statistics.median(consumers[QuietStation]),
                   "ratio")
    print(f"# {name}: cores of the daemon, {statistics.median(own[QuietStation]):.3f} plain, "
          f"{statistics.median(own[LockedStation]):.3f} encrypted")


def in_guest(figures, args, wanted):
    if args.vm_cache:
        guest.measure(figures, os.path.dirname(os.path.abspath(args.bin)), args.vm_cache, wanted)
    else:
        print("# vm_...: no kernel for guests at hand; make bench-vm gets one")


def main():
    args = options()
    figures = Figures()

    def wanted(name):
        return not args.only or re.search(args.only, name)
    if wanted("demux"):
        demux(figures, args.bin)
    if wanted("phase"):
        phase(figures, args.bin)
    python_hits.measure(figures, args.bin, wanted)
    if any(wanted(name) for name in loopback.FIGURES):
        try:
            loopback.measure(figures, args.bin, wanted)
        except Exception as e:  # the other figures are wanted all the same
            figures.failure("loopback", f"{type(e).__name__}: {e}")
    if any(wanted(name) for name in guest.FIGURES):
        try:
            in_guest(figures, args, wanted)
        except Exception as e:  # the other figures are wanted all the same
            figures.failure("guest", f"{type(e).__name__}: {e}")
    for name, load in LOADS:
        if wanted(name):
            try:
                core_share(figures, name, load, args)
            except Exception as e:  # the other figures are wanted all the same
                figures.failure(name, f"{type(e).__name__}: {e}")
    if wanted("curve_cpu_over_plain"):
        try:
            curve(figures, args)
        except Exception as e:  # the other figures are wanted all the same
            figures.failure("curve_cpu_over_plain", f"{type(e).__name__}: {e}")
    for part in (ceilings, latencies, stalled, slowcontrol, convert):
        part.measure(figures, args.bin, wanted)
    figures.closing()
    return 1 if figures.failed else 0


if __name__ == "__main__":
    sys.exit(main())
