# SPDX-License-Identifier: GPL-2.0-or-later
"""Figures of nanet3-perf on a bare emulator: puts over the loop-back port and data of a link, waiting asleep and
polling in turn in one run; medians of several runs."""
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "system"))
from emulator import Emulator  # noqa: E402

RUNS = 3
NAMES = ("put_latency", "put_bandwidth", "put_walk", "receive")


def perf(bin_dir, where, *args):
    done = subprocess.run([os.path.join(bin_dir, "nanet3-perf"), args[0], where, "--json", *args[1:]],
                          capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"nanet3-perf {' '.join(args)}: {done.stderr.strip()}")
    return json.loads(done.stdout)[args[0]]


def median_of(runs, column, **wanted):
    """Median over the runs of one row's column."""
    rows = [next(r for r in run if all(r[k] == v for k, v in wanted.items())) for run in runs]
    return statistics.median(r[column] for r in rows)


def ratio(runs, column, over, under):
    return statistics.median(median_of([run], column, **over) / median_of([run], column, **under) for run in runs)


def latency(figures, bin_dir, where):
    runs = [perf(bin_dir, where, "latency", "--sizes", "16..4k", "--count", "500") for _ in range(RUNS)]
    asleep, polling = ({"size_bytes": 64, "mode": m} for m in ("interrupt", "polling"))
    figures.figure("put_latency_interrupt_over_polling", ratio(runs, "p50_us", asleep, polling), "ratio")
    figures.figure("put_latency_p99_interrupt_over_polling", ratio(runs, "p99_us", asleep, polling), "ratio")
    figures.figure("put_latency_4096_over_16", ratio(runs, "p50_us", {**polling, "size_bytes": 4096},
                                                     {**polling, "size_bytes": 16}), "ratio")
    for name, row in (("interrupt", asleep), ("polling", polling)):
        print(f"# put_latency: 64 bytes, {name}: p50 {median_of(runs, 'p50_us', **row):.1f} us, "
              f"p99 {median_of(runs, 'p99_us', **row):.1f} us")


def bandwidth(figures, bin_dir, where):
    runs = [perf(bin_dir, where, "bandwidth", "--sizes", "64..256k", "--count", "500") for _ in range(RUNS)]
    for size in (64, 4096, 65536, 262144):
        figures.figure(f"put_bandwidth_{size}", median_of(runs, "MB_per_s", size_bytes=size, mode="polling"), "MB/s")
    asleep, polling = ({"size_bytes": 4096, "mode": m} for m in ("interrupt", "polling"))
    figures.figure("put_bandwidth_polling_over_interrupt", ratio(runs, "MB_per_s", polling, asleep), "ratio")


def walk(figures, bin_dir, where):
    runs = [perf(bin_dir, where, "translation", "--count", "100") for _ in range(RUNS)]
    hit, page_walk, miss = (median_of(runs, "p50_ns", case=c, mode="polling") for c in ("hit", "walk", "miss"))
    figures.figure("put_walk_minus_hit", (page_walk - hit) / 1000, "us")
    print(f"# put_walk: hit {hit:.0f} ns a put, walk {page_walk:.0f}, miss {miss:.0f}")


def receive(figures, bin_dir, where):
    runs = [perf(bin_dir, where, "receive", "--count", "500") for _ in range(RUNS)]
    asleep, polling = {"mode": "interrupt"}, {"mode": "polling"}
    figures.figure("receive_interrupt_over_polling", ratio(runs, "p10_us", asleep, polling), "ratio")
    for row in (asleep, polling):
        print(f"# receive: {row['mode']}: later than the soonest by p10 {median_of(runs, 'p10_us', **row):.1f} us, "
              f"p50 {median_of(runs, 'p50_us', **row):.1f} us, p99 {median_of(runs, 'p99_us', **row):.1f} us")


def measure(figures, bin_dir, wanted):
    """The figures whose name `wanted` likes."""
    directory = tempfile.mkdtemp(prefix="fcm-bench-")
    try:
        with Emulator(bin_dir, directory) as emulator:
            for name, function in zip(NAMES, (latency, bandwidth, walk, receive)):
                if wanted(name):
                    function(figures, bin_dir, emulator.where)
    finally:
        shutil.rmtree(directory, ignore_errors=True)
